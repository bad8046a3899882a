"""The least falsehood that a claim sees, against simulation and by hand, and what is said of it."""

import math

import numpy as np
import pytest
from scipy import stats

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.intervals import clopper_pearson, wilson
from pipeline.analysis.measures import normal
from pipeline.analysis.power import beyond, detected, sentence
from pipeline.analysis.tolerances import (
    CONTRADICTED,
    AtLeast,
    AtMost,
    Contains,
    Exactly,
    NoException,
    Within,
)

ONE = normal(0.5, 0.05, 0.99)
HALF, FURTHER = ONE.high - ONE.value, stats.norm.ppf(0.9) * 0.05


@pytest.mark.parametrize(
    "tolerance, below, above",
    [
        (Within(1, 0.1), 0.9, 1.1),
        (AtMost(1), -math.inf, 1),
        (AtLeast(-0.5), -0.5, math.inf),
        (Contains(1), 1, 1),
        (Exactly(0), 0, 0),
    ],
)
def test_half_an_interval_and_a_quantile_beyond_the_border(tolerance, below, above):
    found = below - HALF - FURTHER, above + HALF + FURTHER
    assert detected(ONE, tolerance) == pytest.approx(found)
    unknown = Estimate(
        ONE.value, ONE.low, ONE.high
    )  # a standard error that follows from the interval
    assert detected(unknown, tolerance) == pytest.approx(found)


def test_ratios_are_moved_in_their_logarithm():
    """[109/1.2, 109·1.2] and a relative error of 7 %: a bound 1 is missed from 1/1.2 over exp(z 0.07) on."""
    ratio = Estimate(109.0, 109 / 1.2, 109 * 1.2, 109 * 0.07)
    factor = math.exp(stats.norm.ppf(0.9) * 0.07) * 1.2
    assert detected(ratio, AtLeast(1)) == (pytest.approx(1 / factor), math.inf)
    assert detected(ratio, Within(1, 0.15)) == pytest.approx((0.85 / factor, 1.15 * factor))
    assert sentence({"": ratio}, AtLeast(1)).startswith(
        "a true value below 0.761 would"
    )  # it is 0.7618
    plain = Estimate(
        109.0, 109 / 1.2, 109 * 1.25, 109 * 0.07
    )  # another interval is moved as it is: the wrong variant
    assert detected(plain, AtLeast(1))[0] < 0
    wide = Estimate(109.0, 109 / 1.2, 109 * 1.2, 1e6)
    assert detected(wide, AtLeast(1))[0] < 1e-200  # no overflow


@pytest.mark.parametrize("tolerance", [Within(1, 0.1), AtMost(1), AtLeast(-0.5)])
def test_nine_of_ten_such_estimates_contradict(tolerance):
    """n estimates of a truth there; the negative control is the truth at the border itself."""
    below, above = detected(ONE, tolerance)
    truth, n = above if math.isfinite(above) else below, 4000
    drawn = truth + 0.05 * np.random.default_rng(1).standard_normal(n)
    found = sum(
        tolerance.verdict(normal(value, 0.05, 0.99)) == CONTRADICTED for value in drawn.tolist()
    )
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], n, 0.9)
    near = (
        drawn
        - (truth - tolerance.target)
        + (getattr(tolerance, "margin", 0) if truth == above else 0)
    )
    control = sum(
        tolerance.verdict(normal(value, 0.05, 0.99)) == CONTRADICTED for value in near.tolist()
    )
    print(
        f"contradicted: n={n} statistic={found} bounds={least:g} to {most:g} alpha=1e-06; control {control}"
    )
    assert least <= found <= most and control < least


def counted(count, n, interval, error=None):
    """A share as it is estimated, with the interval of a count."""
    share = count / n
    return Estimate(
        share, *map(float, interval(count, n)), math.sqrt(share * (1 - share) / (error or n))
    )


def exact(count, n):
    return clopper_pearson(np.array(count), np.array(n), 0.99)


def of_many(count, n):
    return clopper_pearson(np.array(count), np.array(n), 0.9999)  # one of a hundred cells


def score(count, n):
    return wilson(np.array(count / n), np.array(n), 0.9999)  # one of a hundred cells


@pytest.mark.parametrize(
    "count, n, interval, tolerance, nominal",
    [
        (0, 600, exact, AtMost(0.03), 0.9),
        (600, 600, exact, AtLeast(0.9), 0.9),
        (7, 600, exact, AtMost(0.03), 0.9),
        (7, 600, exact, Within(0.3, 0.1), 0.9),
        (570, 600, score, AtLeast(0.9), 0.9),
        (7, 600, score, AtMost(0.03), 0.9),
        (7, 600, of_many, AtMost(0.03), 0.9),
        (570, 600, of_many, AtLeast(0.9), 0.9),
        (0, 600, score, AtMost(0.1), 0.99),
        (0, 5, exact, AtMost(0.999), 0),
    ],
)
def test_counts_of_shares_are_binomial(count, n, interval, tolerance, nominal):
    """All counts with their exact chances; a normal law with the errors of this count is the wrong variant.

    Where Wilson's interval is taken for the exact one, more is detected than said.
    """
    one = counted(count, n, interval, n if interval is exact else n - 1)
    counts = np.arange(n + 1)
    against = np.array(
        [tolerance.verdict(counted(k, n, interval)) == CONTRADICTED for k in counts.tolist()]
    )
    ends = [end for end in detected(one, tolerance) if math.isfinite(end)]
    powers = [float(stats.binom.pmf(counts, n, end)[against].sum()) for end in ends]
    shifted = Estimate(
        one.value, one.low, one.high + 1e-5, one.standard_error or 1e-9
    )  # is no share's: normal
    wrong = [
        float(stats.binom.pmf(counts, n, min(max(end, 0), 1))[against].sum())
        for end in detected(shifted, tolerance)
        if math.isfinite(end)
    ]
    print(ends, "power", powers, "by a normal law", wrong)
    assert len(ends) == (0 if nominal == 0 else 2 if isinstance(tolerance, Within) else 1)
    if nominal == 0.99:
        assert powers[0] > 0.9
    else:
        assert powers == pytest.approx([0.9] * len(ends), abs=1e-4)
    assert not ends or min(wrong) < 0.89


@pytest.mark.parametrize("n", [50, 4000])
def test_exceptions_are_seen_by_the_first(n):
    none = Estimate(0.0, 0.0, 1 - 0.01 ** (1 / n), 0.0)
    below, share = detected(none, NoException(0.1))
    assert below == -math.inf and 1 - (1 - share) ** n == pytest.approx(0.9)
    assert math.isnan(detected(Estimate(0.5, 0.2, 0.8, 0.1), NoException(0.1))[1])


@pytest.mark.parametrize(
    "below, above, tolerance, said",
    [
        (-math.inf, 1.2345, AtMost(1), "above 1.24"),
        (-1.2345, math.inf, AtLeast(-1), "below −1.24"),
        (0.76543, math.inf, AtLeast(1), "below 0.765"),
        (-math.inf, 1.00012345, AtMost(1), "above 1 + 0.000124"),
        (0.9, 1.1, Within(1, 0.1), "below 0.9 or above 1.1"),
        (0.89981, 1.10019, Within(1, 0.1), "below 0.89981 or above 1.10019"),
        (1 - 1e-6, 1 + 1e-6, Within(1, 1e-6), "below 1 − 10⁻⁶ or above 1 + 10⁻⁶"),
        (
            1 - 1.23456e-6,
            1 + 1.23456e-6,
            Within(1, 1e-6),
            "below 1 − 1.24·10⁻⁶ or above 1 + 1.24·10⁻⁶",
        ),
        (-math.inf, 1.001, AtMost(1.001), "above 1.001"),
        (-math.inf, math.nextafter(1, 2), AtMost(1), "above 1"),
        (-math.inf, 1e-30, AtMost(0), "above 0"),
        (-math.inf, 6.0712e-5, AtMost(0), "above 6.08·10⁻⁵"),
        (2 / 3, math.inf, AtLeast(2 / 3), "below 0.666666"),
        (1 / 3 - 1e-9, math.inf, AtLeast(1 / 3), "below 0.333333"),
        (-1e-17, 1, Within(0.5, 0.5), "below 0 or above 1"),
        (-math.inf, math.inf, AtMost(1), ""),
    ],
)
def test_what_is_shown_is_beyond_what_is_detected(below, above, tolerance, said):
    assert beyond(below, above, tolerance) == said


def test_a_sentence_is_true_of_every_cell():
    cells = {
        "m=2": normal(0.5, 0.01, 0.99),
        "m=3": normal(0.4, 0.02, 0.99),
        "m=4": normal(0.1, 0.001, 0.99),
    }
    found = sentence(cells, AtMost(1))
    above = detected(cells["m=3"], AtMost(1))[1]
    assert found == (
        f"in each of the 3 cells, a true value above {math.ceil(100 * above) / 100:g} would be "
        "contradicted by data as precise as these in at least 90 % of all cases (the least precise: m=3)"
    )
    below = detected(cells["m=3"], AtLeast(-1))[0]
    assert f"a true value below −{math.ceil(-100 * below) / 100:g} would" in sentence(
        cells, AtLeast(-1)
    )
    open_ended = {"m=5": Estimate(1.0, -math.inf, math.inf, math.inf)}
    assert sentence(cells | open_ended, AtMost(1)) == found.replace(
        "3 cells", "3 cells that the data determine"
    )
    assert sentence({"m=2": cells["m=2"]}, AtMost(1)).startswith("at m=2, a true value above 1.0")
    alike = sentence({"m=2": Estimate(1, 1, 1, 0), "m=3": Estimate(1, 1, 1, 0)}, Within(1, 0.1))
    assert alike.startswith("in each of the 2 cells, a true value below 0.9 or above 1.1 would")
    assert "the least precise" not in alike


def test_what_the_data_do_not_determine_says_nothing():
    assert (
        sentence({"": Estimate(1.0, -math.inf, math.inf, math.inf)}, AtMost(1))
        == sentence({}, AtMost(1))
        == ""
    )
    assert sentence({"": Estimate(1.0, 0.5, 2.0, math.inf)}, AtLeast(1)) == ""
    assert sentence({"": ONE}, Within(1, 0.1)) == (
        "a true value below 0.707 or above 1.3 would be contradicted by "
        "data as precise as these in at least 90 % of all cases"
    )
