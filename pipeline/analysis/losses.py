"""Lost replications: what a claim measures, whatever their values would have been.

The ends of the metrics' ranges bound it.

A replication is lost for a metric where it failed, where the value is not finite, and
where the estimate did not converge; the latter does not matter to a metric that does
not read the estimate.

The mean of a metric over the replications of a cell, of which a share p is lost, is
(1 − p) times that of the known ones, of which there is an interval, plus p times a number
between the least and the greatest value of the metric. What is measured, g, is a
function of such means, over cells and metrics, that rises or falls in each of them over
the little way between the two. So the known replications are measured, and again with
every lost value at the mean of the known ones of its cell, which changes nothing but
for pairs of which one is known. The ends of the interval are moved by that, and by what
it changes in the value of g to count the lost ones of a cell and metric as the least,
or as the greatest, whichever is worse; what this changes in all cells and metrics is
added up. That is exact for sums of means, such as means and differences, and right to
the first order for ratios, exponents and crossings. Where g has no standard error, as
the range of exact numbers or a share of exceptions of which there is none, its interval
moves as it does when they are counted.

The interval holds for the share that was lost: no end of a range, however rare, adds to
the error.
"""

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.metric_classes import reads_estimate
from pipeline.analysis.reads import cells_read
from pipeline.analysis.selection import NUMBER, LostReplications, naming, recording, without_lost
from pipeline.analysis.summary import REPLICATION
from pipeline.study.status import FAILED, NOT_CONVERGED, OK

FEW = 4  # cells and metrics with losses that are measured one by one at once
MOST_GROUPS = 60  # of cells that are counted one after the other
Measured = Estimate | Mapping[str, Any]  # an estimate, or several by name, in any depth
Tree = TypeVar("Tree")


def bounded(measure: Callable[[xr.Dataset], Tree], results: xr.Dataset) -> Tree:
    """What is measured on results, whatever lost replications would have been.

    Where some are lost, its intervals are wider by what they could change. O(metrics,
    and cells with losses that one estimate reads) measurements. Raises what the measure
    does, and `LostReplications` where a metric without a range lost some, or where an
    estimate reads too many such cells.
    """
    try:
        return measure(results)
    except LostReplications:
        return cast(Tree, _bounded(cast(Callable[[xr.Dataset], Measured], measure), results))


def _bounded(measure: Callable[[xr.Dataset], Measured], results: xr.Dataset) -> Measured:
    """`bounded` where replications are lost."""
    known = Known.of(results)
    with without_lost():
        with recording() as cells, naming() as names:
            measured = measure(known.results)
        groups = _groups(measure, known, [*known.losses(names, cells)])
        if not groups:
            return measured
        at_means = known.at_means()
        filled = measure(at_means)
        counted = []
        for group in groups:
            least = measure(known.counting(at_means, group.name, group.cells, "least"))
            most = measure(known.counting(at_means, group.name, group.cells, "most"))
            counted.append(Counted(filled, least, most, group.lost))
    return _widened(measured, counted)


@dataclasses.dataclass
class Group:
    """Cells whose lost values of a metric are counted together.

    No estimate reads two of them. name: of the metric. lost: replications of each of
    these cells. cells: their numbers.
    """

    name: str
    lost: int
    cells: set[int]


def _groups(
    measure: Callable[[xr.Dataset], Measured],
    known: "Known",
    losses: Sequence[tuple[str, int, int]],
) -> list[Group]:
    """Groups of all cells with losses.

    losses: metric, number of the cell, lost replications. Raises LostReplications where
    that makes too many groups to be measured one by one.
    """
    if len(losses) <= FEW:
        return [Group(name, lost, {number}) for name, number, lost in losses]
    reads = cells_read(lambda data: _by_label(measure(data)), known.results)
    numbers = known.results[NUMBER].values
    read = [frozenset(numbers[cells].tolist()) for cells in reads.values()]
    groups: list[Group] = []
    for name, number, lost in losses:
        read_with_it: set[int] = set()
        for cells in read:
            if number in cells:
                read_with_it |= cells
        group = _group_for(name, lost, read_with_it, groups)
        group.cells.add(number)
    if len(groups) > MOST_GROUPS:
        raise LostReplications(
            f"replications are lost in {len(losses)} cells that one estimate reads: too "
            "many to bound what they could change"
        )
    return groups


def _group_for(
    name: str,
    lost: int,
    read_with_it: set[int],
    groups: list[Group],
) -> Group:
    """The group that a cell joins: the first that fits, or else a new one.

    name: of the metric. lost: replications of the cell. read_with_it: numbers of the
    cells that estimates read beside it. groups: so far; a new one is added.
    """
    for group in groups:
        is_alike = (group.name, group.lost) == (name, lost)
        if is_alike and not read_with_it & group.cells:
            return group
    group = Group(name, lost, set())
    groups.append(group)
    return group


def _by_label(measured: Measured, label: str = "") -> dict[str, tuple[Estimate, ...]]:
    """All estimates by the innermost name, which is the label of a cell, whatever the part."""
    if isinstance(measured, Estimate):
        return {label: (measured,)}
    by_label: dict[str, tuple[Estimate, ...]] = {}
    for name, inner in measured.items():
        for cell, estimates in _by_label(inner, name).items():
            by_label[cell] = (*by_label.get(cell, ()), *estimates)
    return by_label


class Counted(NamedTuple):
    """What is measured where some lost replications count as an end of the range.

    They are those of some cells. filled: as the mean of the known ones, as are all
    others. least, most: as the least, and as the greatest value. lost: how many they
    are in each of these cells.
    """

    filled: Any
    least: Any
    most: Any
    lost: int

    def part(self, name: str) -> "Counted":
        """Of what is measured in parts, one."""
        return Counted(self.filled[name], self.least[name], self.most[name], self.lost)


@dataclasses.dataclass(frozen=True)
class Known:
    """Results in which lost values are NaN, which `select` leaves out.

    Those of metrics without a range are infinite. lost: metric with a range -> (grid…,
    replication) where its value is lost.
    """

    results: xr.Dataset
    lost: Mapping[str, xr.DataArray]

    @classmethod
    def of(cls, results: xr.Dataset) -> "Known":
        """From results with lost replications."""
        known = _numbered(results)
        status = results["status"]
        ran = status > 0
        lost = {}
        for name, values in _metrics(results).items():
            unusable = (status == FAILED) | ~np.isfinite(values)
            if reads_estimate(results.attrs, name):
                unusable |= status == NOT_CONVERGED
            unknown = (ran & unusable).transpose(*values.dims)
            in_its_place = math.inf
            if _has_range(values):
                lost[name] = unknown
                in_its_place = math.nan
            known[name] = values.where(~unknown, in_its_place)
        known["status"] = status.where(~ran, OK).astype(status.dtype)
        return cls(known, lost)

    def losses(
        self,
        names: set[str],
        cells: set[int],
    ) -> Iterator[tuple[str, int, int]]:
        """Metric, number of a cell, and how many replications it lost, where any.

        names: metrics. cells: numbers.
        """
        numbers = self.results[NUMBER]
        for name in sorted(names & self.lost.keys()):
            counts = self.lost[name].sum(REPLICATION)
            for number in sorted(cells):
                lost = int(counts.where(numbers == number, 0).sum())
                if lost:
                    yield name, number, lost

    def at_means(self) -> xr.Dataset:
        """Results with every lost value at the mean of the known ones of its metric and cell."""
        filled = self.results.copy()
        for name, lost in self.lost.items():
            values = self.results[name]
            mean = values.mean(REPLICATION)
            filled[name] = values.where(~lost, mean).transpose(*values.dims)
        return filled

    def counting(
        self, at_means: xr.Dataset, name: str, cells: Collection[int], end: str
    ) -> xr.Dataset:
        """`at_means` with some lost values at an end of the metric's range.

        name, cells: the metric and the cells whose lost values these are. end: `least`
        or `most`.
        """
        values = at_means[name]
        here = self.lost[name] & self.results[NUMBER].isin([*cells])
        at_end = values.where(~here, float(values.attrs[end])).transpose(*values.dims)
        return at_means.assign({name: at_end})


def _metrics(results: xr.Dataset) -> dict[str, xr.DataArray]:
    return {
        str(name): values
        for name, values in results.data_vars.items()
        if values.dtype.kind == "f" and REPLICATION in values.dims
    }


def _has_range(values: xr.DataArray) -> bool:
    """Whether a metric has a least and a greatest value."""
    least = float(values.attrs.get("least", math.nan))
    most = float(values.attrs.get("most", math.nan))
    return math.isfinite(least) and math.isfinite(most)


def _numbered(results: xr.Dataset) -> xr.Dataset:
    """Results with a number for every cell."""
    if NUMBER in results:
        return results.copy()
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    sizes = [results.sizes[axis] for axis in axes]
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    return results.assign({NUMBER: (axes, numbers)})


def _widened(measured: Measured, counted: Sequence[Counted]) -> Measured:
    """What was measured, with intervals moved by what counting lost replications
    changes.

    See the module.
    """
    if isinstance(measured, Estimate):
        return _moved(measured, counted)
    trees = [measured]
    lost = 0
    for group in counted:
        trees += [group.filled, group.least, group.most]
        lost += group.lost
    everywhere = set(measured)
    parts: dict[str, Any] = {}
    for tree in trees:
        everywhere &= set(tree)
        parts = {**tree, **parts}
    widened: dict[str, Any] = {}
    for name, part in parts.items():
        if name in everywhere:
            of_part = [group.part(name) for group in counted]
            widened[name] = _widened(part, of_part)
        else:
            widened[name] = _unbounded(part, lost)
    return widened


def _unbounded(measured: Measured, lost: int) -> Measured:
    """What is measured, or not, as lost replications may have it: nothing bounds it."""
    if isinstance(measured, Estimate):
        return dataclasses.replace(measured, low=-math.inf, high=math.inf, lost=lost)
    return {name: _unbounded(part, lost) for name, part in measured.items()}


def _moved(known: Estimate, counted: Sequence[Counted]) -> Estimate:
    """One estimate from the known replications, moved."""
    if not counted:
        return known
    filled: Estimate = counted[0].filled
    moved = filled.value - known.value
    low = known.low + moved
    high = known.high + moved
    least_value = filled.value
    most_value = filled.value
    lost = 0
    for group in counted:
        ends: tuple[Estimate, Estimate] = (group.least, group.most)
        down, up = _shifts(filled.value, [end.value for end in ends])
        least_value += down
        most_value += up
        below = down
        above = up
        if known.standard_error == 0:
            of_lows = _shifts(filled.low, [end.low for end in ends])
            of_highs = _shifts(filled.high, [end.high for end in ends])
            below = min(down, of_lows[0])
            above = max(up, of_highs[1])
        low += below
        high += above
        if below or above:
            lost += group.lost
    if not math.isfinite(high - low):
        low = -math.inf
        high = math.inf
    middle = (least_value + most_value) / 2
    return dataclasses.replace(known, value=middle, low=low, high=high, lost=lost)


def _shifts(start: float, ends: Sequence[float]) -> tuple[float, float]:
    """How far down and how far up some ends are from a start: at most 0, and at least 0."""
    shifts = [end - start for end in ends]
    return min(0.0, *shifts), max(0.0, *shifts)
