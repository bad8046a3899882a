"""Intervals of shares and of skewed values, against SciPy and against their definition."""

import numpy as np
import pytest
from scipy import optimize, stats

from pipeline.analysis.intervals import mean_interval, skewed_mean, wilson


@pytest.mark.parametrize("n", [1, 2, 9, 400, 10**7])
@pytest.mark.parametrize("confidence", [0.6, 0.95, 0.999])
def test_wilson_is_scipys(n, confidence):
    for hits in sorted({0, 1, n // 3, n}):
        low, high = wilson(np.array(hits / n), np.array(n), confidence)
        expected = stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
        assert low == pytest.approx(expected.low, abs=1e-14) and high == pytest.approx(
            expected.high, abs=1e-14
        )
    assert np.isnan(wilson(np.array(np.nan), np.array(0), confidence)).all()


def sums(values):
    deviations = values - values.mean()
    return values.mean(), (deviations**2).sum(), (deviations**3).sum(), len(values)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(1.0, 9) ** 3,
        -np.exp(np.arange(5.0)),
        np.array([0, 0, 0, 0, 1.0]),
        np.array([2.0, 3.0]),
    ],
    ids=["cubes", "left", "rare", "two"],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_skewed_mean_solves_its_equation(values, confidence):
    mean, m2, m3, n = sums(values)
    low, high = skewed_mean(*map(np.array, sums(values)), confidence)
    lean = m3 * np.sqrt(n) / m2**1.5 / np.sqrt(n)

    def g(t):
        return t + lean * t**2 / 3 + lean**2 * t**3 / 27 + lean / 6

    quantile = stats.t.ppf(0.5 + confidence / 2, n - 1)
    error = np.sqrt(m2 / n / (n - 1))
    ends = [
        mean - error * optimize.brentq(lambda t, q=q: g(t) - q, -1e4, 1e4, xtol=1e-13)
        for q in (quantile, -quantile)
    ]
    assert low == pytest.approx(ends[0], rel=1e-9) and high == pytest.approx(ends[1], rel=1e-9)


def test_without_skewness_it_is_the_t_interval():
    values = np.array([1.0, 2.0, 4.0, 5.0])
    low, high = skewed_mean(*map(np.array, sums(values)), 0.9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert low == pytest.approx(expected.low, rel=1e-12) and high == pytest.approx(
        expected.high, rel=1e-12
    )
    assert skewed_mean(np.array(1.0), np.array(0.0), np.array(0.0), np.array(1), 0.9) == (
        -np.inf,
        np.inf,
    )
    assert skewed_mean(np.array(1.0), np.array(0.0), np.array(0.0), np.array(5), 0.9) == (1, 1)


def test_shares_are_known_by_their_values():
    def interval(values, share):
        mean, m2, m3, n = sums(np.array(values, float))
        part = {
            name: np.array(one)
            for name, one in zip(("n", "mean", "m2", "m3"), (n, mean, m2, m3), strict=True)
        }
        return tuple(map(float, mean_interval(part, 0.95, share)))

    rare = [0, 0, 0, 0, 0, 0, 0, 1]
    assert interval(rare, True) == pytest.approx(
        tuple(map(float, wilson(np.array(1 / 8), np.array(8), 0.95)))
    )
    assert interval([1] * 8, True)[1] == 1 and 0.6 < interval([1] * 8, True)[0] < 0.7
    assert interval(rare, False) != interval(rare, True)
    assert interval([*rare, 0.5], True) == interval([*rare, 0.5], False)  # not all are 0 or 1
