"""Quantiles and trimmed means: exact where they can be, the same in any order, with honest errors."""

import numpy as np
import pytest
from scipy import stats

from pipeline.analysis.order_statistics import MOST, Sketch
from pipeline.study.parameters import InvalidInput


def merged(blocks):
    total = Sketch.of(blocks[0])
    for block in blocks[1:]:
        total = total.merged(Sketch.of(block))
    return total


def test_few_values_are_exact():
    values = np.array([3.0, -1.0, 0.0, -0.0, 2.5, 2.5, np.nan, np.inf])
    sketch = Sketch.of(values)
    assert sketch.n == 6
    assert [sketch.order_statistic(k) for k in range(1, 7)] == [-1.0, 0.0, 0.0, 2.5, 2.5, 3.0]
    assert sketch.quantile(0.5).value == 0.0
    drawn = np.random.default_rng(1).standard_normal(1001)
    assert Sketch.of(drawn).quantile(0.5).value == np.median(drawn)
    trimmed = Sketch.of(drawn).trimmed_mean(0.1)
    assert trimmed.value == pytest.approx(stats.trim_mean(drawn, 0.1), rel=1e-12)


@pytest.mark.parametrize("law", ["normal", "wide", "lattice"])
def test_order_and_blocks_do_not_matter(law):
    """To the byte; and quantiles are those of all values, to the resolution."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal(150_000)
    if law == "wide":
        values = np.exp(20 * values) * rng.choice([-1, 1], values.size)
    if law == "lattice":
        values = np.rint(values * 30) / 30
    ways = [
        merged(np.split(values, 6)),
        merged(np.split(rng.permutation(values), 60)),
        Sketch.of(values[::-1]),
        Sketch.of(values[:100]).merged(merged(np.array_split(values[100:], 7))),
    ]
    for other in ways[1:]:
        assert other.dropped == ways[0].dropped
        assert other.keys.tobytes() == ways[0].keys.tobytes()
        assert other.counts.tobytes() == ways[0].counts.tobytes()
    assert len(ways[0].keys) <= MOST
    assert (ways[0].dropped > 0) == (law != "lattice")
    for share in (0.01, 0.3, 0.5, 0.99):
        exact = np.quantile(values, share, method="inverted_cdf")
        width = 2.0 ** (ways[0].dropped - 52)
        estimate = ways[0].quantile(share)
        assert estimate.value == pytest.approx(exact, rel=2 * width, abs=1e-300)
        assert estimate.low <= exact <= estimate.high
        if law == "lattice":
            assert ways[0].quantile(share).value == exact


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_intervals_cover(share):
    """Of quantiles and trimmed means of exponential values; n = 2,000, α = 1e-6; halved ones do not."""
    rng = np.random.default_rng(3)
    runs = 2000
    truth = {
        "quantile": -np.log1p(-share),
        "trimmed": stats.expon.expect(lb=stats.expon.ppf(0.2), ub=stats.expon.ppf(0.8)) / 0.6,
    }
    covered = {"quantile": 0, "trimmed": 0, "halved": 0}
    for _ in range(runs):
        sketch = Sketch.of(rng.exponential(size=200))
        quantile = sketch.quantile(share)
        trimmed = sketch.trimmed_mean(0.2)
        covered["quantile"] += quantile.low <= truth["quantile"] <= quantile.high
        covered["trimmed"] += trimmed.low <= truth["trimmed"] <= trimmed.high
        covered["halved"] += abs(trimmed.value - truth["trimmed"]) <= trimmed.standard_error
    band = 4.9 * np.sqrt(0.05 * 0.95 / runs)
    print(f"n={runs}: {covered}, least {0.95 - band:.4f}")
    assert covered["quantile"] / runs >= 0.95 - band
    assert covered["trimmed"] / runs >= 0.935 - band
    assert covered["halved"] / runs < 0.75


def test_mistakes_are_named():
    sketch = Sketch.of(np.arange(3.0))
    for call in (
        lambda: sketch.quantile(1.0),
        lambda: sketch.trimmed_mean(0.5),
        lambda: sketch.order_statistic(4),
        lambda: Sketch.of(np.array([np.nan])).quantile(0.5),
        lambda: Sketch.of(np.array([np.nan])).trimmed_mean(0.1),
    ):
        with pytest.raises(InvalidInput):
            call()
    assert sketch.quantile(0.5).low == -np.inf


@pytest.mark.parametrize("values, share", [([7.0], 0.0), ([1.0, 2.0, 9.0], 0.4)])
def test_a_single_value_that_stays_is_not_certain(values, share):
    trimmed = Sketch.of(np.array(values)).trimmed_mean(share)
    assert trimmed.value == np.median(values)
    assert (trimmed.low, trimmed.high, trimmed.standard_error) == (-np.inf, np.inf, np.inf)
    assert Sketch.of(np.array([*values, *values])).trimmed_mean(share).high < np.inf
