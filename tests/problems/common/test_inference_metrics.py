"""Metrics of inference by hand, for an estimate that is nobody's but a person's own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from pipeline.problems.common import inference
from pipeline.problems.common.ranks import RankIntervals, rank_intervals
from pipeline.study.intervals import Interval, normal_interval


@dataclass(frozen=True)
class Means:
    """Independent normal means with a known standard error, and ranks."""

    means: np.ndarray
    converged: np.ndarray
    error: float
    quantity = "means"

    @property
    def errors(self) -> np.ndarray:
        """The same for all."""
        return np.full(self.means.shape, self.error)

    def interval(self, level: float) -> Interval:
        """Normal ones."""
        return normal_interval(self.means, self.errors, level)

    def ranks(self, level: float) -> RankIntervals:
        """Of independent means."""
        reps, items = self.means.shape
        covariance = np.broadcast_to(self.error**2 * np.eye(items), (reps, items, items))
        return rank_intervals(self.means, covariance, level)


@dataclass(frozen=True)
class TrueMeans:
    """What is to be learned."""

    means: np.ndarray


REPS = 4000
TRUE = TrueMeans(np.tile([0.0, 0.5, 3.0, 3.05], (REPS, 1)))


def drawn(error: float, stated: float) -> Means:
    """Means with one error that state another."""
    noise = error * np.random.default_rng(7).standard_normal(TRUE.means.shape)
    return Means(TRUE.means + noise, np.ones(REPS, bool), stated)


def test_honest_means_give_what_theory_says_and_careless_ones_do_not() -> None:
    """n = 4,000, α = 1e-6: power, false rejections, z, simultaneous coverage, top sets."""
    honest = drawn(0.2, 0.2)
    careless = drawn(0.2, 0.1)
    power = norm.cdf(0.5 / 0.2 - 1.96) + norm.cdf(-0.5 / 0.2 - 1.96)
    expected = {
        "rejected": (inference.rejected(item=0), 0.05),
        "power": (inference.rejected(item=1), power),
        "reversed": (inference.rejected(item=1, against=0.5), 0.05),
        "all at once": (inference.coverage_at_once(), 0.95),
        "z": (inference.z_error(item=3), 0.0),
    }
    for name, (metric, mean) in expected.items():
        values = metric(TRUE, None, honest)
        band = 4.9 * values.std() / np.sqrt(REPS)
        print(f"{name}: n={REPS}, {values.mean():.4f}, {mean:.4f} ± {band:.4f}")
        assert abs(values.mean() - mean) <= band
    z = inference.z_error(item=3)
    assert z(TRUE, None, honest).std() == pytest.approx(1, abs=0.06)
    assert z(TRUE, None, careless).std() == pytest.approx(2, abs=0.12)
    assert inference.rejected(item=0)(TRUE, None, careless).mean() > 0.2
    assert inference.coverage_at_once()(TRUE, None, careless).mean() < 0.5
    for top in (1, 2, 3):
        assert inference.top_covered(K=top)(TRUE, None, honest).mean() >= 0.95
    assert inference.top_size(K=1)(TRUE, None, honest).mean() == pytest.approx(2, abs=0.1)
    assert 4 / 6 - 0.1 < inference.pairs_told_apart()(TRUE, None, honest).mean() < 5 / 6


def test_without_intervals_all_is_unknown() -> None:
    plain: Any = Means(TRUE.means[:3], np.ones(3, bool), np.nan)
    for name in ("coverage_at_once", "z_error", "rejected", "pairs_told_apart", "top_size"):
        values = getattr(inference, name)()(TrueMeans(TRUE.means[:3]), None, plain)
        assert np.isnan(values).all(), name
