"""Quantiles of intervals, pointwise and simultaneous."""

import numpy as np
import pytest
from scipy.stats import norm

from pipeline.study.intervals import normal_interval, normal_quantile, simultaneous_quantile
from pipeline.study.parameters import InvalidInput


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
def test_quantiles_are_those_of_scipy(level: float) -> None:
    assert normal_quantile(level) == pytest.approx(norm.ppf((1 + level) / 2), rel=1e-9)
    for number in (1, 3, 45):
        chance = (1 - level ** (1 / number)) / 2
        assert simultaneous_quantile(level, number) == pytest.approx(norm.isf(chance), rel=1e-7)


def test_sidaks_quantile_holds_for_correlated_differences() -> None:
    """Of 6 scores' 15 differences; n = 20,000 draws, α = 1e-6; pointwise intervals do not hold."""
    draws = np.random.default_rng(5).standard_normal((20_000, 6))
    first, second = np.triu_indices(6, 1)
    largest = np.abs(draws[:, first] - draws[:, second]).max(axis=1) / np.sqrt(2)
    share = (largest <= simultaneous_quantile(0.95, 15)).mean()
    pointwise = (largest <= normal_quantile(0.95)).mean()
    band = 4.9 * np.sqrt(0.05 * 0.95 / 20_000)
    print(f"n=20000: simultaneous {share:.4f} ≥ {0.95 - band:.4f}; pointwise {pointwise:.4f}")
    assert 0.95 - band <= share <= 0.97
    assert pointwise < 0.7


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0, float("nan")])
def test_levels_that_are_none(level: float) -> None:
    with pytest.raises(InvalidInput, match="level"):
        normal_interval(np.zeros(1), np.ones(1), level)
    with pytest.raises(InvalidInput, match="level"):
        simultaneous_quantile(level, 3)
