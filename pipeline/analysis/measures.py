"""What claims measure, as estimates with their intervals.

That is means, differences, ratios, shares and exponents.

The intervals of one claim hold together with probability `CONFIDENCE`: where several
cells decide it they share the error (Bonferroni). A claim of several parts gives each
an `error_share`. Where claims are judged at several looks, each look has a share, too;
so intervals take their confidence from `confidence_for`.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import xarray as xr

from pipeline.analysis.estimate import Estimate, floored
from pipeline.analysis.intervals import clopper_pearson, half_width, rule_of_three
from pipeline.analysis.leans import lean_over_cells
from pipeline.analysis.metric_classes import is_exact
from pipeline.analysis.rates import fit_rate
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.selection import InsufficientEvidence, Level, NotTested, remembered
from pipeline.analysis.summary import REPLICATION, paired_difference, summarise

CONFIDENCE = 0.99  # of all intervals of one claim together
_OF_LOOK: ContextVar[float] = ContextVar(
    "share of a claim's error probability that is spent at this look", default=1.0
)

Cells = Mapping[str, Estimate]  # by label of the cell
Measured = Estimate | Cells
Compute = Callable[[xr.Dataset], Measured | Mapping[str, Measured]]  # see `Measure`


@dataclass(frozen=True)
class Measure:
    """What a claim estimates, and a description of it.

    `measure` or `measure_every_cell` makes it from a function. `compute` takes a sealed
    dataset and returns an estimate, or with `every_cell` the estimates of all cells;
    for a claim of several parts, a mapping of the parts' names to these.
    """

    estimand: str
    compute: Compute
    every_cell: bool = False


def measure(estimand: str) -> Callable[[Compute], Measure]:
    """Decorator: the function measures this one number, or these parts."""
    return lambda compute: Measure(estimand, compute)


def measure_every_cell(estimand: str) -> Callable[[Compute], Measure]:
    """Decorator: the function measures this in every cell.

    The tolerance has to hold in each.
    """
    return lambda compute: Measure(estimand, compute, every_cell=True)


@contextmanager
def spending(share: float) -> Iterator[None]:
    """Within, intervals may miss with this share of a claim's error probability only.

    It is the share of a look.
    """
    token = _OF_LOOK.set(share)
    try:
        yield
    finally:
        _OF_LOOK.reset(token)


def of_look() -> float:
    """The share of a claim's error probability that may be spent now: 1, but within `spending`."""
    return _OF_LOOK.get()


def confidence_for(cells: xr.Dataset | int = 1, error_share: float = 1.0) -> float:
    """Confidence of one interval out of several.

    All these cells together spend `error_share` of a claim's error. cells: their
    number, or selected data, whose cells in use are counted. Within `spending`, of the
    error of that look.
    """
    if isinstance(cells, int):
        used = cells
    else:
        used = int((cells["status"] > 0).any(REPLICATION).sum())
    return 1 - (1 - CONFIDENCE) * of_look() * error_share / used


# --------------------------------------------------------------------------------------- every cell


def mean_cells(data: xr.Dataset, metric: str, error_share: float = 1.0) -> Cells:
    """Mean of a metric in every cell with the interval of `summarise`.

    Intervals are simultaneous over the cells in use. Shares have the exact interval: at
    the confidence of many cells Wilson's ends too early near 0 and 1, so that of 24
    cells at 99 % one or more missed the truth in a quarter of all cases.
    """
    confidence = confidence_for(data, error_share)
    cells = summarise(data[[metric, "status"]], confidence)
    attributes = cells[metric].attrs
    if (attributes.get("least"), attributes.get("most")) == (0, 1):
        cells = _with_exact_shares(cells, metric, confidence)
    return labelled(cells, metric, f"{metric}_low", f"{metric}_high", f"{metric}_mcse")


def _with_exact_shares(
    cells: xr.Dataset,
    metric: str,
    confidence: float,
) -> xr.Dataset:
    """A summary with the exact interval where all replications of a metric are 0 or 1."""
    mean = cells[metric].values
    n = cells[f"{metric}_n"].values
    error = cells[f"{metric}_mcse"].values
    with np.errstate(invalid="ignore"):
        binary = np.isclose(error**2 * (n - 1), mean * (1 - mean))
        low, high = clopper_pearson(np.rint(mean * n), n, confidence)
    exact = {}
    for name, end in ((f"{metric}_low", low), (f"{metric}_high", high)):
        exact[name] = cells[name].copy(data=np.where(binary, end, cells[name].values))
    return cells.assign(exact)


def paired_cells(
    data: xr.Dataset,
    metric: str,
    axis: str,
    first: Level,
    second: Level,
    error_share: float = 1.0,
) -> Cells:
    """Mean of a metric at one level of an axis less that at another, in every cell.

    Both are of the same data. Intervals as in `paired_difference`, simultaneous over
    the cells in use.
    """
    cells = difference(data, metric, axis, first, second, confidence_for(data, error_share))
    return labelled(cells, "mean", error="mcse")


def difference(
    data: xr.Dataset,
    metric: str,
    axis: str,
    first: Level,
    second: Level,
    confidence: float = CONFIDENCE,
) -> xr.Dataset:
    """`paired_difference`; `NotTested` where a level is missing."""
    for level in (first, second):
        if level not in data[axis].values.tolist():
            raise NotTested(f"needs {axis}={level}")
    return paired_difference(data, metric, axis, first, second, confidence)


def ratio_cells(
    data: xr.Dataset,
    metric: str,
    yardstick: str,
    power: float = 2,
    error_share: float = 1.0,
) -> Cells:
    """Mean of metric^power over the mean of its yardstick, in every cell.

    The two are paired: see `risk_ratio`.
    """
    cells = risk_ratio(data, metric, yardstick, power, confidence_for(data, error_share))
    return labelled(cells.reset_coords(drop=True), "ratio", "low", "high", "mcse")


def exponent_cells(
    data: xr.Dataset, metric: str, exponent: xr.DataArray, error_share: float = 1.0
) -> Cells:
    """−log of the mean of a metric over an exponent, in every cell.

    It is 1 or more for a mean of exp(−exponent) or less. Intervals are those of
    `summarise` for the mean, simultaneous over the cells in use. Raises
    InsufficientEvidence where a mean is 0: errors that were never seen have no
    logarithm.
    """
    summary = summarise(data[[metric, "status"]], confidence_for(data, error_share))
    mean = summary[metric]
    if bool((mean == 0).any()):
        raise InsufficientEvidence(f"{metric} is 0 in all replications of a cell")
    error = summary[f"{metric}_mcse"] / mean / exponent
    # −log falls, so the ends change places.
    ends = dict(value=mean, low=summary[f"{metric}_high"], high=summary[f"{metric}_low"])
    cells = {}
    with np.errstate(divide="ignore"):  # an interval that reaches 0
        for name, end in ends.items():
            cells[name] = -xr.ufuncs.log(end.clip(0)) / exponent
    return labelled(xr.Dataset({**cells, "error": error}).reset_coords(drop=True))


def normal_cells(
    data: xr.Dataset,
    value: xr.DataArray,
    error: xr.DataArray,
    error_share: float = 1.0,
) -> Cells:
    """Cells with their normal intervals, for functions of several means.

    Intervals are simultaneous over the cells of `data` in use. Where all replications
    are alike there is no error to go by: of numbers in [0, 1], or differences of such,
    all R of which are v, the mean is within (1 + |v|)(1 − (α/2)^(1/R)) of v by the
    exact interval of a share.
    """
    confidence = confidence_for(data, error_share)
    runs = (data["status"] > 0).sum(REPLICATION)
    fewest = int(runs.where(runs > 0).min())
    alike = (1 + abs(value)) * rule_of_three(np.array(fewest), (1 + confidence) / 2)
    half = (normal(0, 1, confidence).high * error).where(error > 0, alike)
    cells = xr.Dataset(dict(value=value, low=value - half, high=value + half, error=error))
    return labelled(cells.reset_coords(drop=True))


def exact_cells(values: xr.DataArray) -> Cells:
    """A number that all replications of a cell agree on, up to their range, in every cell."""
    low = values.min(REPLICATION)
    high = values.max(REPLICATION)
    middle = (low + high) / 2  # a mean of equal values would be rounded
    cells = xr.Dataset(dict(value=middle, low=low, high=high, error=xr.zeros_like(low)))
    return labelled(cells.reset_coords(drop=True))


def labelled(
    cells: xr.Dataset,
    value: str = "value",
    low: str = "low",
    high: str = "high",
    error: str = "error",
) -> dict[str, Estimate]:
    """Cells as estimates by label, from the names of four variables.

    Cells without a value are left out.

    Variables `finest_low` and `finest_high` are the ends of `Estimate.finest`, if they
    are there.
    """
    columns = xr.broadcast(*(cells[name] for name in (value, low, high, error)))
    first = columns[0]
    finest = [
        cells[name].broadcast_like(first).transpose(*first.dims)
        for name in ("finest_low", "finest_high")
        if name in cells
    ]
    levels_of = {axis: first[axis].values for axis in first.dims}
    estimates = {}
    for index in np.ndindex(first.shape):
        numbers = [float(column.values[index]) for column in columns]
        if not np.isfinite(numbers[0]):
            continue
        estimate = Estimate(*numbers)
        if finest:
            finest_low, finest_high = (float(end.values[index]) for end in finest)
            estimate = replace(estimate, finest=(finest_low, finest_high))
        axes = zip(levels_of.values(), index, strict=True)
        of_cell = [levels[i] for levels, i in axes]
        label = ", ".join(map(level_label, levels_of, of_cell))
        estimates[label] = estimate
    return estimates


def level_label(axis: Hashable, level: object) -> str:
    """How the label of a cell names its level of an axis."""
    is_number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
    if is_number:
        return f"{axis}={level:g}"
    return f"{axis}={level}"


# --------------------------------------------------------------------------------------- one number


def normal(value: float, error: float, confidence: float) -> Estimate:
    """Estimate with its normal interval."""
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return Estimate(value, value - half, value + half, error)


def mean_over_cells(
    mean: xr.DataArray,
    mcse: xr.DataArray,
    error_share: float = 1.0,
) -> Estimate:
    """Mean of independent cells with its normal interval; cells without a value are
    left out.

    A cell in which all replications agree has the smallest error of the others; where
    they agree in all cells, nothing is known of the error, and the interval is
    infinite. Within `spending` the interval is long enough for the skewness of what
    `select` gave out, see `pipeline.analysis.leans`. Raises `InsufficientEvidence` if
    no cell has a value.
    """
    used = np.isfinite(mean.values) & np.isfinite(mcse.values)
    count = int(used.sum())
    if not count:
        raise InsufficientEvidence("no cell has a value")
    total = float(mean.values[used].sum())
    errors = floored(mcse.values[used])
    if not errors.any():
        return Estimate(total / count, -math.inf, math.inf, 0.0)
    error = float(np.sqrt((errors**2).sum())) / count
    confidence = confidence_for(error_share=error_share)
    if of_look() == 1:
        return normal(total / count, error, confidence)
    lean = lean_over_cells(mean, remembered())
    half = float(half_width(np.array(error), np.array(lean), confidence))
    return Estimate(total / count, total / count - half, total / count + half, error)


def exponent(
    data: xr.Dataset,
    metric: str,
    groups: tuple[str, ...],
    error_share: float = 1.0,
    **predictors: xr.DataArray,
) -> Estimate:
    """Exponent of the mean of `metric` in the first of the predictors.

    Each level of the groups has its constant. Where all replications agree in every
    cell, nothing is known of the error, and the interval is infinite unless the metric
    is an exact number.
    """
    summary = summarise(data[[metric, "status"]])
    mean = summary[metric]
    mcse = summary[f"{metric}_mcse"]
    confidence = confidence_for(error_share=error_share)
    rate = fit_rate(mean, mcse, groups=groups, confidence=confidence, **predictors)
    fitted = next(iter(rate.exponents.values()))
    has_error = bool((mcse > 0).any()) or is_exact(data.attrs, metric)
    if has_error:
        return fitted
    return replace(fitted, low=-math.inf, high=math.inf)


def share(flags: xr.DataArray) -> Estimate:
    """Share of replications whose flag is true, with Clopper and Pearson's exact
    interval.

    NaN where not in use.
    """
    used = flags.notnull()
    n = int(used.sum())
    count = int(flags.where(used, 0).sum())
    low, high = _exact(count, n)
    return Estimate(count / n, low, high, _error_of_share(count, n))


def share_of_exceptions(broken: xr.DataArray, used: xr.DataArray) -> Estimate:
    """Share of the replications used that break a law; for the tolerance `NoException`.

    The interval is exact: Clopper and Pearson's, or from 0 to the one-sided bound where
    no replication breaks it.
    """
    count = int((broken & used).sum())
    n = int(used.sum())
    low = 0.0
    if count:
        low, high = _exact(count, n)
    else:
        high = float(rule_of_three(np.array(n), confidence_for()))
    return Estimate(count / n, low, high, _error_of_share(count, n))


def _exact(count: int, n: int) -> tuple[float, float]:
    low, high = clopper_pearson(np.array(count), np.array(n), confidence_for())
    return float(low), float(high)


def _error_of_share(count: int, n: int) -> float:
    """Standard error √(p(1 − p)/n) of a share p = count/n."""
    return math.sqrt(count * (n - count) / n**3)


def share_above(data: xr.Dataset, metric: str, bound: xr.DataArray) -> Estimate:
    """Share of all replications in use whose metric is above its bound.

    For the tolerance `NoException`.
    """
    return share_of_exceptions(data[metric] > bound, data["status"] > 0)
