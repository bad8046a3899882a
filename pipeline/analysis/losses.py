"""Lost replications: what a claim measures whatever they would have been, by the ends of the metrics' ranges.

A replication is lost for a metric where it failed, where the value is not finite, and where the estimate did not
converge; the latter does not matter to a metric that does not read the estimate. Where a metric has a least and a
greatest value, two metrics are known in every replication: the one in which all lost values are the least, and the one
in which they are the greatest. The mean of the metric lies between the means of these two.

What is measured, g, is a function of such means, over cells and metrics, that rises or falls in each of them over the
little way from the one to the other. So g of the true means lies between its least and its greatest value over the ends
of all these ways, and its interval with them: low = min over ends of the interval's low end, which misses with half of
the error probability, and high likewise. The interval is made at one end, where all lost values are the least, and its
two ends are moved by what each single way moves them, all of them added up. That is exact for sums of means, such as
means and differences, and right to the first order for ratios, exponents and crossings.
"""

import dataclasses
import dis
import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.selection import NUMBER, LostReplications, naming, recording
from pipeline.analysis.summary import REPLICATION
from pipeline.study.parameters import InvalidInput
from pipeline.study.registry import problem
from pipeline.study.status import FAILED, NOT_CONVERGED, OK

Measured = Estimate | Mapping[str, Any]  # an estimate, or several by name, in any depth
Tree = TypeVar("Tree")


def bounded(measure: Callable[[xr.Dataset], Tree], results: xr.Dataset) -> Tree:
    """What is measured on results or, where replications are lost, its intervals widened by what they could change.

    O(cells and metrics with lost replications) measurements. Raises what the measure does; `LostReplications` where a
    metric without a range lost some.
    """
    try:
        return measure(results)
    except LostReplications:
        return cast(Tree, _bounded(cast(Callable[[xr.Dataset], Measured], measure), results))


def _bounded(measure: Callable[[xr.Dataset], Measured], results: xr.Dataset) -> Measured:
    least = Completed.of(results)
    with recording() as cells, naming() as names:
        measured = measure(least.results)
    moved = [(measure(changed), lost) for changed, lost in least.moved(names, cells)]
    return _widened(measured, moved)


@dataclasses.dataclass(frozen=True)
class Completed:
    """Results in which every lost value of a metric with a range is its least one, and is counted.

    lost: metric -> (grid…, replication) where that is so. Lost values of a metric without a range are NaN.
    """

    results: xr.Dataset
    lost: Mapping[str, xr.DataArray]

    @classmethod
    def of(cls, results: xr.Dataset) -> "Completed":
        """From results with lost replications."""
        completed = _numbered(results)
        status = results["status"]
        ran = status > 0
        lost = {}
        for name, values in _metrics(results).items():
            unusable = (status == FAILED) | ~np.isfinite(values)
            if reads_estimate(results, name):
                unusable |= status == NOT_CONVERGED
            unknown = (ran & unusable).transpose(*values.dims)
            least, most = _ends(values)
            if math.isfinite(most - least):
                lost[name] = unknown
                completed[name] = values.where(~unknown, least)
            else:
                completed[name] = values.where(~unknown)
        completed["status"] = status.where(~ran, OK).astype(status.dtype)
        return cls(completed, lost)

    def moved(self, names: set[str], cells: set[int]) -> Iterator[tuple[xr.Dataset, int]]:
        """Results with the lost values of one cell and metric at the greatest, and how many these are."""
        numbers = self.results[NUMBER]
        for name in sorted(names & self.lost.keys()):
            counts = self.lost[name].sum(REPLICATION)
            affected = set(numbers.where(counts > 0, -1).values.astype(int).ravel().tolist())
            values = self.results[name]
            for number in sorted(affected & cells):
                here = numbers == number
                _, most = _ends(values)
                changed = values.where(~(self.lost[name] & here), most).transpose(*values.dims)
                yield self.results.assign({name: changed}), int(counts.where(here, 0).sum())


def reads_estimate(results: xr.Dataset, name: str) -> bool:
    """Whether a metric of the study of some results reads the estimate: if not, it does not matter if that converged.

    True where the metric is not known.
    """
    study = json.loads(results.attrs.get("study", "{}"))
    try:
        metric = problem(study["problem"]).part("metric", name)
    except (KeyError, InvalidInput):
        return True
    return _reads_third(metric)


@cache
def _reads_third(metric: Any) -> bool:
    """Whether the code of a metric loads its third argument, the estimate."""
    code = metric.__call__
    try:
        *_, estimate = inspect.signature(code).parameters
        instructions = [*dis.get_instructions(code)]
    except (TypeError, ValueError):  # not written in Python
        return True
    loaded = [one.argval if isinstance(one.argval, tuple) else (one.argval,) for one in instructions]
    return any(estimate in names for names in loaded)


def _metrics(results: xr.Dataset) -> dict[str, xr.DataArray]:
    return {str(name): values for name, values in results.data_vars.items()
            if values.dtype.kind == "f" and REPLICATION in values.dims}


def _ends(values: xr.DataArray) -> tuple[float, float]:
    return float(values.attrs.get("least", -math.inf)), float(values.attrs.get("most", math.inf))


def _numbered(results: xr.Dataset) -> xr.Dataset:
    """Results with a number for every cell."""
    if NUMBER in results:
        return results.copy()
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    sizes = [results.sizes[axis] for axis in axes]
    return results.assign({NUMBER: (axes, np.arange(math.prod(sizes)).reshape(sizes))})


def _widened(measured: Measured, moved: Sequence[tuple[Measured, int]]) -> Measured:
    """What was measured, with intervals moved by all that was measured elsewhere; see the module."""
    if isinstance(measured, Estimate):
        return _moved(measured, [(cast(Estimate, other), lost) for other, lost in moved])
    names = {*measured}
    for other, _ in moved:
        names &= {*cast(Mapping[str, Any], other)}
    return {name: _widened(measured[name], [(cast(Mapping[str, Any], other)[name], lost) for other, lost in moved])
            for name in measured if name in names}


def _moved(estimate: Estimate, others: Sequence[tuple[Estimate, int]]) -> Estimate:
    """One estimate, moved; it counts the lost replications that move it."""
    value, low, high, count = estimate.value, estimate.low, estimate.high, 0
    for other, lost in others:
        if (other.value, other.low, other.high) == (estimate.value, estimate.low, estimate.high):
            continue
        count += lost
        value += (other.value - estimate.value) / 2
        low += min(other.low - estimate.low, 0.0)
        high += max(other.high - estimate.high, 0.0)
    if math.isnan(low) or math.isnan(high):
        low, high = -math.inf, math.inf
    return dataclasses.replace(estimate, value=value, low=low, high=high, lost=estimate.lost + count)
