"""Errors of an estimated ranking: each metric gives one value per replication.

A metric is called with (truth, release, estimate) of a block; theta is (reps, m) in both truth and estimate.
`units`, `long_name`, `least` and `most` (its range) go into the dataset.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.parameters import InvalidInput, parameter


@dataclass(frozen=True)
class ErrorInf:
    """‖θ̂ − θ*‖∞. Source: Xu, Sun and Cheng, Theorem 2."""

    long_name: ClassVar[str] = "largest error ‖θ̂ − θ*‖∞"
    units: ClassVar[str] = "logits"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        return np.abs(estimate.theta - truth.theta).max(axis=1)


@dataclass(frozen=True)
class ErrorL2:
    """‖θ̂ − θ*‖₂/√m. Source: Xu, Sun and Cheng, Theorem 2."""

    long_name: ClassVar[str] = "root mean square error ‖θ̂ − θ*‖₂/√m"
    units: ClassVar[str] = "logits"
    least: ClassVar[float] = 0.0

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,)"""
        return np.sqrt(np.square(estimate.theta - truth.theta).mean(axis=1))


@dataclass(frozen=True)
class HammingTopK:
    """H_K: share of the true top K items that are missed. K defaults to half of the items.

    Source: Xu, Sun and Cheng, §4.2; with as many wrongly in as wrongly out, its 1/(2K) sum is this share.
    """

    m: int = parameter("items", unit="items", low=2)
    K: int | None = parameter("size of the top set", unit="items", default=None, low=1)

    long_name: ClassVar[str] = "top-K Hamming error H_K"
    units: ClassVar[str] = "share of K"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __post_init__(self):
        if self.K is not None and self.K >= self.m:
            raise InvalidInput("K", self.K, f"must be below the number of items, m={self.m}")

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,); O(reps · m)"""
        top = self.K or self.m // 2
        hits = (_top(estimate.theta, top) & _top(truth.theta, top)).sum(axis=1)
        return np.where(np.isfinite(estimate.theta).all(axis=1), 1 - hits / top, np.nan)


def _top(theta: np.ndarray, top: int) -> np.ndarray:
    chosen = np.zeros(theta.shape, bool)
    np.put_along_axis(chosen, np.argpartition(-theta, top - 1, axis=1)[:, :top], True, axis=1)
    return chosen


@dataclass(frozen=True)
class Kendall:
    """Share of pairs of items in the wrong order; a tie counts one half.

    Source: Xu, Sun and Cheng, §4.3.
    """

    long_name: ClassVar[str] = "Kendall distance"
    units: ClassVar[str] = "share of pairs"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: Any, release: Any, estimate: Any) -> np.ndarray:
        """(reps,); O(reps · m²) comparisons"""
        m = truth.theta.shape[1]
        ordered = np.take_along_axis(estimate.theta, np.argsort(-truth.theta, axis=1), axis=1)
        wrong = np.zeros(len(ordered))
        for gap in range(1, m):
            difference = ordered[:, gap:] - ordered[:, :-gap]
            wrong += (difference > 0).sum(axis=1) + 0.5 * (difference == 0).sum(axis=1)
        return np.where(np.isfinite(ordered).all(axis=1), wrong / (m * (m - 1) / 2), np.nan)
