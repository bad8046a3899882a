"""Errors of an estimated ranking: each metric gives one value per replication.

A metric is called with (truth, release, estimate) of a block; theta is
(reps, m) in both truth and estimate. `units`, `long_name`, `least` and
`most` (its range) go into the dataset.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMetric

# Equal scores leave a solver with estimates that differ a little, either way: up to
# 2e-12 of the estimates' range was measured. They are ties. In units of the range,
# since a strong ridge shrinks all estimates: different scores have differed by 2e-7
# logits at a range of 6e-6.
TIE = 1e-8
ROUNDING = 1e-14  # logits, where all scores are equal


class Scores(Protocol):
    """A truth or an estimate of scores."""

    @property
    def theta(self) -> Floats:
        """(reps, m), in logits."""


@metric("largest error ‖θ̂ − θ*‖∞", units="logits", least=0.0)
def error_inf(truth: Scores, estimate: Scores) -> Floats:
    """‖θ̂ − θ*‖∞. Source: Xu, Sun and Cheng, Theorem 2."""
    largest: Floats = np.abs(estimate.theta - truth.theta).max(axis=1)
    return largest


@metric("root mean square error ‖θ̂ − θ*‖₂/√m", units="logits", least=0.0)
def error_l2(truth: Scores, estimate: Scores) -> Floats:
    """‖θ̂ − θ*‖₂/√m. Source: Xu, Sun and Cheng, Theorem 2."""
    root: Floats = np.sqrt(np.square(estimate.theta - truth.theta).mean(axis=1))
    return root


@dataclass(frozen=True)
class TopK(BaseMetric):
    """Base of metrics of the top K items. K defaults to half of the items."""

    m: int = parameter("items", unit="items", low=2)
    K: int | None = parameter("size of the top set", unit="items", default=None, low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.K is not None and self.K >= self.m:
            raise InvalidInput("K", self.K, f"must be below the number of items, m={self.m}")

    @property
    def top(self) -> int:
        """K."""
        return self.K or self.m // 2

    def hits(self, truth: Scores, estimate: Scores) -> Floats:
        """(reps,): true top items among the estimated ones, NaN where the estimate is not finite.

        O(reps · m log m).
        """
        is_hit = self._is_top(truth.theta) & self._is_top(estimate.theta)
        return _or_nan(is_hit.sum(axis=1), estimate.theta)

    def _is_top(self, theta: Floats) -> Booleans:
        """(reps, m): whether an item is among the K that score highest."""
        order = np.argsort(-levels(theta), axis=1, kind="stable")
        is_top = np.zeros(theta.shape, bool)
        np.put_along_axis(is_top, order[:, : self.top], True, axis=1)
        return is_top


@dataclass(frozen=True)
class HammingTopK(TopK):
    """H_K: share of the true top K items that are missed.

    Ties at the edge are resolved by the item's number. Source: Xu, Sun and
    Cheng, §4.2; with as many wrongly in as wrongly out, its 1/(2K) sum is
    this share.
    """

    long_name: ClassVar[str] = "top-K Hamming error H_K"
    units: ClassVar[str] = "share of K"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: Scores, release: object, estimate: Scores) -> Floats:
        """One value per replication, (reps,). O(reps · m log m)."""
        return (self.top - self.hits(truth, estimate)) / self.top


@dataclass(frozen=True)
class ExactTopK(TopK):
    """1 where the set of the top K items is recovered exactly, else 0.

    Its mean is the chance of that. Ties as in `HammingTopK`.
    Source: Xu, Sun and Cheng, Theorem 4.
    """

    long_name: ClassVar[str] = "exact recovery of the top K"
    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: Scores, release: object, estimate: Scores) -> Floats:
        """One value per replication, (reps,). O(reps · m log m)."""
        return _or_nan(self.hits(truth, estimate) == self.top, estimate.theta)


@dataclass(frozen=True)
class Lemma4Bound(TopK):
    """K⁻¹ [#{i in the top K: θ̂_i ≤ t} + #{i not in it: θ̂_i ≥ t}].

    t is midway between θ*_(K) and θ*_(K+1). Its mean is the right side of
    Lemma 4; it is at least H_K in every replication. An estimate that ties
    with t counts on both sides. Source: Xu, Sun and Cheng, Lemma 4.
    """

    long_name: ClassVar[str] = "Lemma 4's bound on H_K"
    units: ClassVar[str] = "share of K"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: Scores, release: object, estimate: Scores) -> Floats:
        """One value per replication, (reps,). O(reps · m log m)."""
        order = np.argsort(-levels(truth.theta), axis=1, kind="stable")
        true_scores = np.take_along_axis(truth.theta, order, axis=1)
        scores = np.take_along_axis(estimate.theta, order, axis=1)
        threshold = true_scores[:, self.top - 1 : self.top + 1].mean(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            above = scores - threshold
            tie = tie_width(scores)
        missed = (above[:, : self.top] <= tie).sum(axis=1)
        intruding = (above[:, self.top :] >= -tie).sum(axis=1)
        return _or_nan((missed + intruding) / self.top, estimate.theta)


@metric("Kendall distance", units="share of pairs", least=0.0, most=1.0)
def kendall(truth: Scores, estimate: Scores) -> Floats:
    """Share of pairs of items in the wrong order; a tie counts one half.

    O(reps · m²) comparisons.
    Source: Xu, Sun and Cheng, §4.3.
    """
    return kendall_distance(truth.theta, estimate.theta)


def kendall_distance(theta: Floats, estimate: Floats) -> Floats:
    """(reps,): the value of `kendall`. theta, estimate: (reps, m)."""
    m = theta.shape[1]
    order = np.argsort(-theta, axis=1)
    ordered = np.take_along_axis(levels(estimate), order, axis=1)
    wrong = np.zeros(len(ordered))
    for gap in range(1, m):
        difference = ordered[:, gap:] - ordered[:, :-gap]
        wrong += (difference > 0).sum(axis=1) + 0.5 * (difference == 0).sum(axis=1)
    return _or_nan(wrong / (m * (m - 1) / 2), estimate)


def levels(theta: Floats) -> Floats:
    """(reps, m): 0 for the lowest items, 1 for the next, and so on.

    Neighbours within `tie_width` share a level. O(reps · m log m).
    """
    order = np.argsort(theta, axis=1)
    with np.errstate(invalid="ignore"):
        is_step = np.diff(np.take_along_axis(theta, order, axis=1), axis=1) > tie_width(theta)
    level = np.zeros(theta.shape, int)
    np.put_along_axis(level, order[:, 1:], is_step.cumsum(axis=1), axis=1)
    return level


def tie_width(theta: Floats) -> Floats:
    """(reps, 1): difference up to which two items tie."""
    width: Floats = TIE * np.ptp(theta, axis=1, keepdims=True) + ROUNDING
    return width


def _or_nan(values: Floats, theta: Floats) -> Floats:
    return np.where(np.isfinite(theta).all(axis=1), values, np.nan)
