"""What a release of a person's own data lets a reader believe of each item: its score and its rank.

Ends of intervals at `confidence`, made of the release alone; their means say what a reader will
see. Intervals of ranks of one release hold all at once. NaN where an estimate has none.
"""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.protocols import EstimateWithErrors

from .inference import CONFIDENCE, interval_of, ranks_of
from .own_items import ALL, ITEM, NamedScores, position


@metric("low end of an item's interval of the score", units="logits")
def score_low(
    truth: NamedScores,
    estimate: EstimateWithErrors,
    *,
    item: str = ITEM,
    confidence: float = CONFIDENCE,
) -> Floats:
    """The least score that a release allows."""
    return _of_item(interval_of(estimate, confidence).low, truth, item)


@metric("high end of an item's interval of the score", units="logits")
def score_high(
    truth: NamedScores,
    estimate: EstimateWithErrors,
    *,
    item: str = ITEM,
    confidence: float = CONFIDENCE,
) -> Floats:
    """The greatest score that a release allows."""
    return _of_item(interval_of(estimate, confidence).high, truth, item)


@metric("best rank that a release allows", units="ranks", least=1.0)
def rank_low(
    truth: NamedScores,
    estimate: EstimateWithErrors,
    *,
    item: str = ITEM,
    confidence: float = CONFIDENCE,
) -> Floats:
    """The best rank that the item may have, 1 for the highest score."""
    return _of_item(_ranks(estimate, confidence)[0], truth, item)


@metric("worst rank that a release allows", units="ranks", least=1.0)
def rank_high(
    truth: NamedScores,
    estimate: EstimateWithErrors,
    *,
    item: str = ITEM,
    confidence: float = CONFIDENCE,
) -> Floats:
    """The worst rank that the item may have."""
    return _of_item(_ranks(estimate, confidence)[1], truth, item)


def _ranks(estimate: EstimateWithErrors, confidence: float) -> tuple[Floats, Floats]:
    """Best and worst ranks, (reps, m); NaN where the estimate has no interval of a score."""
    interval = interval_of(estimate, confidence)
    ranks = ranks_of(estimate, confidence)
    unknown = np.full(interval.low.shape, np.nan)
    if ranks is None:
        return unknown, unknown
    widths = interval.high - interval.low
    is_known = np.isfinite(widths).all(axis=1, keepdims=True)
    return np.where(is_known, ranks.low, np.nan), np.where(is_known, ranks.high, np.nan)


def _of_item(ends: Floats, truth: NamedScores, item: str) -> Floats:
    """(reps,): the end of an item, or the mean of all. ends: (reps, m)."""
    if ends.shape[1] != len(truth.names):  # the estimate has none
        return np.full(len(ends), np.nan)
    if item == ALL:
        mean: Floats = ends.mean(axis=1)
        return mean
    of_one: Floats = ends[:, position(item, truth.names)]
    return of_one
