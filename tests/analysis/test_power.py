"""The least falsehood that a claim sees, against simulation and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import normal
from pipeline.analysis.power import detected, sentence
from pipeline.analysis.tolerances import CONTRADICTED, AtLeast, AtMost, Contains, Exactly, NoException, Within

ONE = normal(0.5, 0.05, 0.99)
HALF, FURTHER = ONE.high - ONE.value, stats.norm.ppf(0.9) * 0.05


@pytest.mark.parametrize("tolerance, below, above", [
    (Within(1, 0.1), 0.9, 1.1), (AtMost(1), -math.inf, 1), (AtLeast(-0.5), -0.5, math.inf), (Contains(1), 1, 1),
    (Exactly(0), 0, 0)])
def test_half_an_interval_and_a_quantile_beyond_the_border(tolerance, below, above):
    assert detected(ONE, tolerance) == pytest.approx((below - HALF - FURTHER, above + HALF + FURTHER))


def test_ratios_are_moved_in_their_logarithm():
    """[109/1.2, 109·1.2] and a relative error of 7 %: a bound 1 is missed from 1/1.2 over exp(z 0.07) on."""
    ratio = Estimate(109.0, 109 / 1.2, 109 * 1.2, 109 * 0.07)
    factor = math.exp(stats.norm.ppf(0.9) * 0.07) * 1.2
    assert detected(ratio, AtLeast(1)) == (pytest.approx(1 / factor), math.inf)
    assert detected(ratio, Within(1, 0.15)) == pytest.approx((0.85 / factor, 1.15 * factor))
    assert sentence(ratio, AtLeast(1)).startswith("A true value of 0.762 or less would")
    plain = Estimate(109.0, 109 / 1.2, 109 * 1.25, 109 * 0.07)  # another interval is moved as it is: the wrong variant
    assert detected(plain, AtLeast(1))[0] < 0


@pytest.mark.parametrize("tolerance", [Within(1, 0.1), AtMost(1), AtLeast(-0.5)])
def test_nine_of_ten_such_estimates_contradict(tolerance):
    """n estimates of a truth there; the negative control is the truth at the border itself."""
    below, above = detected(ONE, tolerance)
    truth, n = above if math.isfinite(above) else below, 4000
    drawn = truth + 0.05 * np.random.default_rng(1).standard_normal(n)
    found = sum(tolerance.verdict(normal(value, 0.05, 0.99)) == CONTRADICTED for value in drawn.tolist())
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], n, 0.9)
    near = drawn - (truth - tolerance.target) + (getattr(tolerance, "margin", 0) if truth == above else 0)
    control = sum(tolerance.verdict(normal(value, 0.05, 0.99)) == CONTRADICTED for value in near.tolist())
    print(f"contradicted: n={n} statistic={found} bounds={least:g} to {most:g} alpha=1e-06; control {control}")
    assert least <= found <= most and control < least


@pytest.mark.parametrize("n", [50, 4000])
def test_exceptions_are_seen_by_the_first(n):
    none = Estimate(0.0, 0.0, 1 - 0.01 ** (1 / n), 0.0)
    below, share = detected(none, NoException(0.1))
    assert below == -math.inf and 1 - (1 - share) ** n == pytest.approx(0.9)
    assert math.isnan(detected(Estimate(0.5, 0.2, 0.8, 0.1), NoException(0.1))[1])


def test_what_the_data_do_not_determine_says_nothing():
    assert sentence(Estimate(1.0, -math.inf, math.inf, math.inf), AtMost(1)) == ""
    assert sentence(ONE, Within(1, 0.1)) == ("A true value of 0.707 or less, or of 1.29 or more would be contradicted "
                                             "in 90 % of all cases")
