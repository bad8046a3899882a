"""Moments of pairs of cells that share their data, against sums written out in full."""

import numpy as np
import pytest

from pipeline.analysis.moments import block_moments, merged
from pipeline.analysis.pairs import PAIR, merged_pairs, pair_moments
from pipeline.study.status import FAILED, NOT_CONVERGED, OK


def sample(reps, seed=3):
    """Values (metrics, 2, 3, reps), far from 0 and with some missing, and their status."""
    rng = np.random.default_rng(seed)
    values = 1e6 + rng.standard_normal((2, 2, 3, reps)) + rng.standard_normal((2, 2, 1, reps))
    values[rng.random(values.shape) < 0.1] = np.nan
    status = rng.choice([0, OK, NOT_CONVERGED, FAILED], values.shape[1:], p=[0.05, 0.8, 0.1, 0.05])
    return values, status.astype(np.int8)


def literal(x, y, usable):
    """The moments of one pair, summed in long double."""
    both = usable & np.isfinite(x) & np.isfinite(y)
    x, y = (one[both].astype(np.longdouble) for one in (x, y))
    return [len(x), x.mean(), ((x - x.mean()) ** 2).sum(), ((x - x.mean()) * (y - y.mean())).sum()]


@pytest.mark.parametrize("axis", [0, 1])
def test_moments_of_pairs_are_the_sums(axis):
    values, status = sample(40)
    usable = (status > 0) & (status != FAILED)
    pairs = pair_moments(values, status, axis)
    assert pairs.shape == (2, 2, 3, (2, 3)[axis], len(PAIR))
    for at in np.ndindex(pairs.shape[:-1]):
        metric, one, other = at[0], at[1:3], list(at[1:3])
        other[axis] = at[3]
        expected = literal(
            values[metric][one], values[metric][tuple(other)], usable[one] & usable[tuple(other)]
        )
        np.testing.assert_allclose(
            pairs[at].astype(float), np.array(expected, float), rtol=1e-8, atol=1e-8
        )


def test_moments_of_pairs_merge():
    values, status = sample(60)
    parts = [slice(0, 7), slice(7, 8), slice(8, 60)]
    whole = block_moments(values, status, (1,))
    joined = block_moments(values[..., parts[0]], status[..., parts[0]], (1,))
    for part in parts[1:]:
        joined = merged(joined, block_moments(values[..., part], status[..., part], (1,)))
    np.testing.assert_allclose(joined.pairs[1], whole.pairs[1], rtol=1e-8, atol=1e-8)
    first, rest = (
        pair_moments(values[..., part], status[..., part], 1)
        for part in (slice(0, 20), slice(20, 60))
    )
    forgetful = (
        first[..., 3] + rest[..., 3]
    )  # the negative control: without the distance of the means
    assert not np.allclose(forgetful, merged_pairs(first, rest, 1)[..., 3], rtol=1e-3)


def test_no_common_replication_and_equal_values():
    values, status = np.full((1, 2, 4), 0.1), np.ones((2, 4), np.int8)
    assert (pair_moments(values, status, 0)[0, :, :, 2:] == 0).all()
    values[0, 0, :2] = values[0, 1, 2:] = np.nan
    pairs = pair_moments(values, status, 0)
    assert (
        pairs[0, 0, 1, 0] == 0 and np.isnan(pairs[0, 0, 1, 1]) and (pairs[0, 0, 1, 2:] == 0).all()
    )
    again = merged_pairs(pairs, pair_moments(np.full((1, 2, 4), 0.1), status, 0), 0)
    assert again[0, 0, 1].tolist() == [4, 0.1, 0, 0]
