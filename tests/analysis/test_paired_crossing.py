"""Crossings of means whose levels share random numbers: intervals cover, also of the last of
several curves.
"""

import math

import numpy as np
import pytest

from pipeline.analysis.paired_crossing import paired_crossings

AT = np.linspace(-0.3, 0.3, 5)


def drawn(rng, shared, reps=400, truth=0.04):
    """(reps, levels): a falling power law less its value at `truth`.

    Errors of which a share is common to all levels.
    """
    errors = math.sqrt(shared) * rng.exponential(1, (reps, 1)) + math.sqrt(
        1 - shared
    ) * rng.exponential(1, (reps, 5))
    errors -= math.sqrt(shared) + math.sqrt(1 - shared)
    return np.exp(-0.5 * AT) - math.exp(-0.5 * truth) + 0.5 * errors


def unpaired(values):
    """The negative control: the same means and variances, with covariances lost."""
    return np.stack([np.roll(column, 7 * k) for k, column in enumerate(values.T)], axis=1)


def hits(rng, shared, change=lambda values: values, truth=0.04):
    found = [paired_crossings(AT, [change(drawn(rng, shared))], 0.95)[0] for _ in range(600)]
    return [one.low <= truth <= one.high for one in found]


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_the_interval_covers(shared, covered):
    assert covered(hits(np.random.default_rng(1), shared), what=f"{shared} shared")


def test_without_covariances_it_does_not(covered):
    assert not covered(
        hits(np.random.default_rng(2), 0.9, unpaired), what="negative control: covariances lost"
    )


@pytest.mark.parametrize(
    "truths, least, most", [((0.04, 0.02), 0.975, 0.9875), ((0.04,) * 8, 0.975, 0.976)]
)
def test_the_last_of_several_crossings_is_covered(truths, least, most, covered):
    """Curves that cross so near each other that any may seem the last.

    None shares its errors with another.

    The last is missed where a low is above it, of K equal curves with probability 1 − (1 −
    0.025/K)^K, or all highs are below it, which is rare; of two that cross apart where those of the
    last alone are, or else more often.
    """
    rng, inside = np.random.default_rng(3), []
    for _ in range(1200):
        found = paired_crossings(AT, [drawn(rng, 0.5, truth=truth) for truth in truths], 0.95)
        inside.append(max(one.low for one in found) <= 0.04 <= max(one.high for one in found))
    assert covered(inside, least, f"last of {len(truths)}", most=most)


def test_beyond_the_window_the_ends_are_infinite():
    (above,), (below,) = (
        paired_crossings(AT, [drawn(np.random.default_rng(4), 0.5) + move], 0.95)
        for move in (1.0, -1.0)
    )
    assert (above.value, above.low, above.high) == (math.inf,) * 3
    assert (below.value, below.low, below.high) == (-math.inf,) * 3


def test_equal_values_of_a_bounded_metric_are_not_taken_for_certain():
    """100 of 100 say little of a chance near 1: the interval is as wide as a few other values would
    make it.
    """
    values = np.tile(np.array([0.5, 0.5, 0.5, -0.5, -0.5]), (100, 1))
    (certain,), (bounded,) = (
        paired_crossings(AT, [values], 0.95),
        paired_crossings(AT, [values], 0.95, [1.0]),
    )
    assert bounded.high - bounded.low > certain.high - certain.low + 1e-3
