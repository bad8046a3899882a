"""Stepwise intervals of ranks: never wider than those of one step, and as sure."""

import numpy as np
import pytest
from scipy.stats import norm

from pipeline.problems.common.ranks import RankIntervals, rank_intervals, true_ranks
from pipeline.study.intervals import simultaneous_quantile


def by_hand(scores: np.ndarray, error: float, level: float) -> tuple[list[int], list[int]]:
    """Ranks of one data set of equal independent errors, a pair at a time."""
    m = len(scores)
    reach = error * np.sqrt(2) * simultaneous_quantile(level, m * (m - 1) // 2)
    ahead: set[tuple[int, int]] = set()
    while True:
        found = {(i, j) for i in range(m) for j in range(m) if scores[i] - scores[j] > reach}
        if found == ahead:
            break
        ahead = found
        remaining = m * (m - 1) - len(ahead)
        reach = min(reach, error * np.sqrt(2) * norm.isf((1 - level) / remaining))
    low = [1 + sum((j, i) in ahead for j in range(m)) for i in range(m)]
    high = [m - sum((i, j) in ahead for j in range(m)) for i in range(m)]
    return low, high


@pytest.mark.parametrize("m", [2, 5])
def test_steps_are_those_of_their_definition(m: int) -> None:
    scores = np.random.default_rng(m).uniform(-1, 1, (200, m))
    covariance = np.broadcast_to(0.01 * np.eye(m), (200, m, m))
    ranks = rank_intervals(scores, covariance, 0.95)
    expected = [by_hand(row, 0.1, 0.95) for row in scores]
    assert ranks.low.tolist() == [low for low, _ in expected]
    assert ranks.high.tolist() == [high for _, high in expected]


def in_one_step(scores: np.ndarray, error: float) -> RankIntervals:
    """Without the steps after the first."""
    m = scores.shape[1]
    reach = error * np.sqrt(2) * simultaneous_quantile(0.95, m * (m - 1) // 2)
    lead = scores[:, :, None] - scores[:, None]
    return RankIntervals(1 + (lead < -reach).sum(axis=2), m - (lead > reach).sum(axis=2))


def missed(ranks: RankIntervals, truth: np.ndarray) -> float:
    """Share of the replications with some rank outside of its interval."""
    true = true_ranks(np.broadcast_to(truth, ranks.low.shape))
    is_covered = (ranks.low <= true.low) & (true.high <= ranks.high)
    return float(1 - is_covered.all(axis=1).mean())


@pytest.mark.parametrize("pairs", [1, 2])
def test_where_steps_matter_most_ranks_hold(pairs: int) -> None:
    """Pairs of equal items, far from each other: n = 20,000, α = 1e-6.

    Nearly all orders are found in the first step, so that the quantile of the last is smallest. With
    the noise taken as half as wide ranks are missed too often.
    """
    reps = 20_000
    truth = np.repeat(100.0 * np.arange(pairs), 2)
    m = 2 * pairs
    scores = truth + np.random.default_rng(5).standard_normal((reps, m))
    covariance = np.broadcast_to(np.eye(m), (reps, m, m))
    rate = missed(rank_intervals(scores, covariance, 0.95), truth)
    careless = missed(rank_intervals(scores, covariance / 4, 0.95), truth)
    one_step = missed(in_one_step(scores, 1.0), truth)
    bound = 0.05 + 4.9 * np.sqrt(0.05 * 0.95 / reps)
    print(f"n={reps}: missed {rate:.4f} ≤ {bound:.4f}; one step {one_step:.4f}; {careless:.4f}")
    assert one_step <= rate <= bound
    assert careless > bound


def test_ranks_are_narrower_than_in_one_step() -> None:
    scores = np.random.default_rng(1).uniform(-1, 1, (4000, 8))
    ranks = rank_intervals(scores, np.broadcast_to(0.01 * np.eye(8), (4000, 8, 8)), 0.95)
    before = in_one_step(scores, 0.1)
    assert (ranks.low >= before.low).all()
    assert (ranks.high <= before.high).all()
    ratio = (ranks.high - ranks.low).mean() / (before.high - before.low).mean()
    assert 0.9 < ratio < 0.985


def test_heavy_tails_make_ranks_wider() -> None:
    """Kurtosis 0 is the normal law, to what rounding the number of hypotheses costs."""
    scores = np.random.default_rng(1).uniform(-1, 1, (500, 6))
    covariance = np.broadcast_to(0.01 * np.eye(6), (500, 6, 6))
    widths = []
    for kurtosis in (None, 0.0, 1.5):
        excess = None if kurtosis is None else np.full(covariance.shape, kurtosis)
        ranks = rank_intervals(scores, covariance, 0.95, excess)
        widths.append((ranks.high - ranks.low).mean())
    assert widths[0] <= widths[1] < 1.02 * widths[0]
    assert widths[2] > 1.05 * widths[1]


def test_a_low_level_contradicts_nothing() -> None:
    """Of two items one at most is surely ahead, whatever the level."""
    scores = np.array([[0.0, 0.5], [0.5, 0.0]])
    for excess in (None, np.ones((2, 2, 2))):
        ranks = rank_intervals(scores, np.broadcast_to(np.eye(2), (2, 2, 2)), 0.05, excess)
        assert (ranks.low <= ranks.high).all()
