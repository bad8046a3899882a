"""Metrics of inference, for every estimate that says how sure it is, a
person's own included.

They read `errors` and `interval` of an estimate, and the array of truth and
estimate that its `quantity` names
(`pipeline.study.protocols.EstimateWithErrors`). Where an estimate has no
errors they are NaN. Each gives one number a replication, so that summaries
give its Monte Carlo error. Sources of measures: Morris, White and Crowther
(2019), Using simulation studies to evaluate statistical methods, Table 6.
"""

from typing import NamedTuple

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.intervals import Interval, normal_quantile
from pipeline.study.metric import metric, share
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.protocols import EstimateWithErrors, Truth
from pipeline.study.untyped import AnyField

from .ranks import RankIntervals, true_ranks

CONFIDENCE: AnyField = parameter("confidence of intervals", default=0.95, above=0, below=1)
AGAINST: AnyField = parameter("value that a test says an item has", default=0.0)
TOP: AnyField = parameter("size of the top set", unit="items", default=None, low=1)
ITEM: AnyField = parameter("number of the item, from 0", default=0, low=0)


class _Numbers(NamedTuple):
    """A quantity: as it is, as it is estimated, and its standard errors; (reps, k) each."""

    true: Floats
    estimated: Floats
    errors: Floats


@metric("bias of the estimate of an item")
def bias(truth: Truth, estimate: EstimateWithErrors, *, item: int = ITEM) -> Floats:
    """θ̂_i − θ*_i of one item.

    Its mean is the bias, and its standard deviation, where θ* is the same in all replications, the
    empirical standard error.
    """
    numbers = _numbers(truth, estimate)
    _check_item(item, numbers)
    return np.asarray(numbers.estimated[:, item] - numbers.true[:, item])


@metric("bias along the truth, relative")
def relative_bias(truth: Truth, estimate: EstimateWithErrors) -> Floats:
    """⟨θ̂ − θ*, θ*⟩/‖θ*‖²: 0 without a bias, −1 where everything is shrunk to 0.

    NaN where θ* is 0. That of all items, also where θ* is redrawn.
    """
    numbers = _numbers(truth, estimate)
    along = np.vecdot(numbers.estimated - numbers.true, numbers.true)
    square = np.vecdot(numbers.true, numbers.true)
    unknown = np.full(len(along), np.nan)
    relative: Floats = np.divide(along, square, out=unknown, where=square > 0)
    return relative


@metric("model standard error of an item", least=0.0)
def model_error(truth: Truth, estimate: EstimateWithErrors, *, item: int = ITEM) -> Floats:
    """The standard error that the estimate states of one item."""
    numbers = _numbers(truth, estimate)
    _check_item(item, numbers)
    return np.asarray(numbers.errors[:, item])


@metric("squared error over its model variance", least=0.0)
def error_ratio_squared(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """Mean over items of ((c − θ*)/s)²: 1 in the mean where standard errors are right.

    c is the middle of an item's interval and s its half-width over the normal quantile, so that
    biases are taken off that the estimate knows of. The root of its mean is empirical over model
    standard error.
    """
    interval = interval_of(estimate, confidence)
    true = _numbers(truth, estimate).true
    half = (interval.high - interval.low) / 2
    centre = (interval.high + interval.low) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (centre - true) / half * normal_quantile(confidence)
    ratio: Floats = np.square(scaled).mean(axis=1)
    return ratio


@share("coverage of intervals", units="share of items")
def coverage(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """Share of items whose interval covers the truth: pointwise coverage."""
    return _or_nan(_covers(truth, estimate, confidence).mean(axis=1), estimate, confidence)


@share("numbers that have an interval", units="share of items")
def intervals_known(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """Share of items that have an interval: the others have none, as noise outweighs all there is.

    Coverage and width are those of releases in which all items have one.
    """
    interval = interval_of(estimate, confidence)
    known: Floats = np.isfinite(interval.high - interval.low).mean(axis=1)
    return known


@share("simultaneous coverage of intervals", units="probability")
def coverage_of_all(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """1 where the intervals of all items cover the truth at once.

    Pointwise intervals promise less than that: its mean may be far below their confidence.
    """
    are_covered = np.all(_covers(truth, estimate, confidence), axis=1)
    return _or_nan(np.asarray(are_covered), estimate, confidence)


@share("coverage of simultaneous intervals", units="probability")
def coverage_at_once(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """1 where intervals that are wide enough for all items at once cover all of them.

    Each has the level confidence^(1/k) for k items: jointly normal errors, however they are
    correlated, are then all within their intervals with probability `confidence` at least.
    Source: Šidák (1967), see `pipeline.study.intervals.simultaneous_quantile`.
    """
    number = _numbers(truth, estimate).estimated.shape[1]
    level = confidence ** (1 / number)
    are_covered = np.all(_covers(truth, estimate, level), axis=1)
    return _or_nan(np.asarray(are_covered), estimate, level)


@metric("error of an item over its standard error")
def z_error(
    truth: Truth,
    estimate: EstimateWithErrors,
    *,
    item: int = ITEM,
    confidence: float = CONFIDENCE,
) -> Floats:
    """(c − θ*_i)/s, c the middle of the interval of item i, s its half-width over the normal
    quantile.

    Mean 0 and variance 1 where inference is right. NaN where s is 0 or not available.
    """
    numbers = _numbers(truth, estimate)
    _check_item(item, numbers)
    interval = interval_of(estimate, confidence)
    column = min(item, interval.low.shape[1] - 1)
    half = (interval.high - interval.low)[:, column] / 2
    centre = (interval.high + interval.low)[:, column] / 2
    scale = half / normal_quantile(confidence)
    unknown = np.full(len(scale), np.nan)
    error = centre - numbers.true[:, item]
    z: Floats = np.divide(error, scale, out=unknown, where=scale > 0)
    return z


@share("an item is said to differ from a value", units="probability")
def rejected(
    truth: Truth,
    estimate: EstimateWithErrors,
    *,
    item: int = ITEM,
    against: float = AGAINST,
    confidence: float = CONFIDENCE,
) -> Floats:
    """1 where the interval of item i leaves out the value `against`.

    Its mean is the power of the test of θ*_i = `against` at level 1 − confidence, or, where that is
    true, its rate of false rejections. NaN where there is no interval.
    """
    _check_item(item, _numbers(truth, estimate))
    interval = interval_of(estimate, confidence)
    column = min(item, interval.low.shape[1] - 1)
    low = interval.low[:, column]
    high = interval.high[:, column]
    is_out = (against < low) | (high < against)
    return np.where(np.isfinite(high - low), is_out, np.nan)


@share("pairs of items that are told apart")
def pairs_told_apart(estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE) -> Floats:
    """Share of pairs whose ranks cannot be in the other order: power of the ranking.

    With the probability `confidence` none of all pairs is told apart wrongly. NaN for estimates
    without intervals of ranks, and of a single item.
    """
    ranks = ranks_of(estimate, confidence)
    if ranks is None:
        return np.full(len(estimate.converged), np.nan)
    is_ahead = ranks.high[:, :, None] < ranks.low[:, None]
    items = ranks.low.shape[1]
    if items == 1:
        return np.full(len(estimate.converged), np.nan)
    apart = is_ahead.sum(axis=(1, 2)) / (items * (items - 1) / 2)
    return _or_nan(apart, estimate, confidence)


@share("the true top K are in the set of those that may be", units="probability")
def top_covered(
    truth: Truth,
    estimate: EstimateWithErrors,
    *,
    K: int | None = TOP,
    confidence: float = CONFIDENCE,
) -> Floats:
    """1 where all items that are truly among the best K are in the set that may be.

    K defaults to half of the items. NaN for estimates without intervals of ranks.
    """
    ranks = ranks_of(estimate, confidence)
    if ranks is None:
        return np.full(len(estimate.converged), np.nan)
    numbers = _numbers(truth, estimate)
    true = true_ranks(np.broadcast_to(numbers.true, numbers.estimated.shape))
    top = _top(K, ranks)
    is_missed = (true.high <= top) & ~ranks.possible_top(top)
    return _or_nan(~np.any(is_missed, axis=1), estimate, confidence)


@metric("items that may be among the top K", units="items", least=0.0)
def top_size(
    estimate: EstimateWithErrors, *, K: int | None = TOP, confidence: float = CONFIDENCE
) -> Floats:
    """Number of items in the set that holds the true top K with probability `confidence`.

    K defaults to half of the items. NaN for estimates without intervals of ranks.
    """
    ranks = ranks_of(estimate, confidence)
    if ranks is None:
        return np.full(len(estimate.converged), np.nan)
    size = ranks.possible_top(_top(K, ranks)).sum(axis=1)
    return _or_nan(size, estimate, confidence)


@metric("mean width of intervals", least=0.0)
def interval_width(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """Mean over items of the width of intervals, in the unit of the quantity."""
    interval = interval_of(estimate, confidence)
    width: Floats = (interval.high - interval.low).mean(axis=1)
    return width


@share("coverage of all ranks at once", units="probability")
def rank_coverage(
    truth: Truth, estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE
) -> Floats:
    """1 where the ranks of all items are in their intervals at once; equal scores share ranks.

    NaN for estimates without intervals of ranks.
    """
    ranks = ranks_of(estimate, confidence)
    if ranks is None:
        return np.full(len(estimate.converged), np.nan)
    numbers = _numbers(truth, estimate)
    true = true_ranks(np.broadcast_to(numbers.true, numbers.estimated.shape))
    is_covered = (ranks.low <= true.low) & (true.high <= ranks.high)
    return _or_nan(np.asarray(np.all(is_covered, axis=1)), estimate, confidence)


@metric("mean width of intervals of ranks", units="ranks", least=0.0)
def rank_width(estimate: EstimateWithErrors, *, confidence: float = CONFIDENCE) -> Floats:
    """Mean over items of highest less lowest possible rank: 0 where the order is certain.

    NaN for estimates without intervals of ranks.
    """
    ranks = ranks_of(estimate, confidence)
    if ranks is None:
        return np.full(len(estimate.converged), np.nan)
    return _or_nan(np.mean(ranks.high - ranks.low, axis=1), estimate, confidence)


def _numbers(truth: Truth, estimate: EstimateWithErrors) -> _Numbers:
    """NaN for the errors of an estimate that has none, and the estimate itself as `theta`."""
    quantity = getattr(estimate, "quantity", "theta")
    estimated = np.asarray(getattr(estimate, quantity), float)
    true = np.asarray(getattr(truth, quantity), float)
    errors = getattr(estimate, "errors", None)
    if errors is None:
        errors = np.full(estimated.shape, np.nan)
    return _Numbers(true, estimated, errors)


def _check_item(item: int, numbers: _Numbers) -> None:
    number = numbers.estimated.shape[1]
    if item >= number:
        raise InvalidInput("item", item, f"must be below the number of items, {number:,}")


def interval_of(estimate: EstimateWithErrors, confidence: float) -> Interval:
    """Intervals of the quantity, (reps, k); NaN, (reps, 1), of an estimate that has none."""
    if hasattr(type(estimate), "interval"):
        return estimate.interval(confidence)
    unknown = np.full((len(estimate.converged), 1), np.nan)
    return Interval(unknown, unknown)


def ranks_of(estimate: EstimateWithErrors, confidence: float) -> RankIntervals | None:
    """Intervals of all ranks; None of an estimate that has none."""
    if not hasattr(type(estimate), "ranks"):
        return None
    ranks: RankIntervals = estimate.ranks(confidence)  # type: ignore[attr-defined]
    return ranks


def _top(size: int | None, ranks: RankIntervals) -> int:
    """K, or half of the items. Raises InvalidInput for more than all."""
    number = int(ranks.low.shape[1])
    if size is None:
        return number // 2
    if size > number:
        raise InvalidInput("K", size, f"must be at most the number of items, {number:,}")
    return size


def _covers(truth: Truth, estimate: EstimateWithErrors, confidence: float) -> Booleans:
    interval = interval_of(estimate, confidence)
    true = _numbers(truth, estimate).true
    return np.asarray((interval.low <= true) & (true <= interval.high))


def _or_nan(values: Array, estimate: EstimateWithErrors, confidence: float) -> Floats:
    """NaN for replications whose intervals are not all available."""
    interval = interval_of(estimate, confidence)
    is_known = np.isfinite(interval.high - interval.low).all(axis=1)
    return np.where(is_known, values, np.nan)
