"""Tolerances: what an interval may and may not support, and that each prints what it decides."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.tolerances import (
    CONTRADICTED,
    INCONCLUSIVE,
    SUPPORTED,
    AtLeast,
    AtMost,
    Contains,
    Exactly,
    NoException,
    Within,
    by_badness,
    open_for_good,
    written,
)

number = st.floats(-10, 10)
width = st.floats(0, 10)
TOLERANCES = (Within(0.5, 1.0), AtLeast(0.5), AtMost(0.5))


def interval(low, high):
    return Estimate((low + high) / 2, low, high)


@pytest.mark.parametrize(
    "low, high, verdict",
    [
        (-0.1, 0.1, SUPPORTED),
        (-0.3, 0.3, SUPPORTED),
        (0.2, 0.4, INCONCLUSIVE),
        (-1, 1, INCONCLUSIVE),
        (0.31, 0.4, CONTRADICTED),
        (-2, -0.31, CONTRADICTED),
    ],
)
def test_within(low, high, verdict):
    assert Within(0, 0.3).verdict(interval(low, high)) == verdict


@pytest.mark.parametrize(
    "tolerance, low, high, verdict",
    [
        (AtMost(1), 0.5, 1, SUPPORTED),
        (AtMost(1), 0.9, 1.1, INCONCLUSIVE),
        (AtMost(1), 1.01, 2, CONTRADICTED),
        (AtLeast(1), 1, 2, SUPPORTED),
        (AtLeast(1), 0.9, 1.1, INCONCLUSIVE),
        (AtLeast(1), 0, 0.99, CONTRADICTED),
        (Exactly(1), 1, 1, SUPPORTED),
        (Exactly(1), 0.9, 1.1, INCONCLUSIVE),
        (Exactly(1), 1.01, 2, CONTRADICTED),
        (Contains(1), 0.1, 9, SUPPORTED),
        (Contains(1, 0.1), 1.05, 9, SUPPORTED),
        (Contains(1, 0.1), 1.11, 9, CONTRADICTED),
        (Contains(1), 1.01, 2, CONTRADICTED),
        (Contains(1), 0, 0.99, CONTRADICTED),
    ],
)
def test_bounds_and_exact_numbers(tolerance, low, high, verdict):
    assert tolerance.verdict(interval(low, high)) == verdict


@pytest.mark.parametrize(
    "value, high, verdict",
    [(0, 0.05, SUPPORTED), (0, 0.051, INCONCLUSIVE), (0.001, 0.01, CONTRADICTED)],
)
def test_one_exception_is_too_many_and_none_needs_enough_data(value, high, verdict):
    assert NoException(0.05).verdict(Estimate(value, 0, high)) == verdict


@pytest.mark.parametrize(
    "value, low, high, verdict",
    [
        (2, -math.inf, math.inf, SUPPORTED),
        (2, 0.9, math.inf, SUPPORTED),
        (2, 1.2, math.inf, INCONCLUSIVE),
        (0, -math.inf, 0.8, INCONCLUSIVE),
        (2, math.nan, math.nan, INCONCLUSIVE),
        (math.nan, 0, 2, INCONCLUSIVE),
    ],
)
def test_an_interval_without_ends_contains_every_number(value, low, high, verdict):
    assert Contains(1, 0.1).verdict(Estimate(value, low, high)) == verdict


@pytest.mark.parametrize("tolerance", [*TOLERANCES, Exactly(0.5)])
@given(
    value=number,
    low=width,
    high=width,
    ends=st.sampled_from(["low", "high", "both", "value"]),
    missing=st.sampled_from([math.inf, math.nan]),
)
def test_an_open_interval_supports_nothing(tolerance, value, low, high, ends, missing):
    """It contradicts only what a bound that it has excludes, wherever its other end may be."""
    numbers = dict(value=value, low=value - low, high=value + high)
    numbers |= {"low": -missing} if ends in ("low", "both") else {}
    numbers |= {"high": missing} if ends in ("high", "both") else {}
    numbers |= {"value": math.nan} if ends == "value" else {}
    verdict = tolerance.verdict(Estimate(**numbers))
    if ends in ("both", "value") or math.isnan(missing):
        assert verdict == INCONCLUSIVE
        return
    assert verdict != SUPPORTED
    if verdict == CONTRADICTED:
        far = 1e6
        closed = numbers | {"low": max(numbers["low"], -far), "high": min(numbers["high"], far)}
        assert tolerance.verdict(Estimate(**closed)) == CONTRADICTED


@pytest.mark.parametrize("tolerance", TOLERANCES)
@given(low=number, size=width, inner=st.floats(0, 1), start=st.floats(0, 1))
def test_a_narrower_interval_keeps_a_decision(tolerance, low, size, inner, start):
    wide = interval(low, low + size)
    begin = low + start * (1 - inner) * size
    narrow = interval(begin, min(begin + inner * size, low + size))
    if tolerance.verdict(wide) != INCONCLUSIVE:
        assert tolerance.verdict(narrow) == tolerance.verdict(wide)


@pytest.mark.parametrize(
    "tolerance, holds",
    [
        (TOLERANCES[0], lambda truth: -0.5 <= truth <= 1.5),
        (TOLERANCES[1], lambda truth: truth >= 0.5),
        (TOLERANCES[2], lambda truth: truth <= 0.5),
    ],
)
@given(truth=number, below=width, above=width)
def test_an_interval_with_the_truth_never_decides_against_it(tolerance, holds, truth, below, above):
    verdict = tolerance.verdict(interval(truth - below, truth + above))
    assert verdict != (CONTRADICTED if holds(truth) else SUPPORTED)


@given(low=number, size=width, bound=number)
def test_one_sided_tolerances_mirror_each_other(low, size, bound):
    assert AtLeast(bound).verdict(interval(low, low + size)) == AtMost(-bound).verdict(
        interval(-low - size, -low)
    )


@pytest.mark.parametrize(
    "tolerance, text",
    [
        (Within(-0.5, 0.05), "−½ ± 0.05"),
        (Within(1, 0.25), "1 ± 0.25"),
        (Within(1, 1e-6), "1 ± 10⁻⁶"),
        (AtMost(1), "at most 1"),
        (AtMost(-0.05), "at most −0.05"),
        (AtLeast(2 / 3), "at least ⅔"),
        (Exactly(1), "exactly 1"),
        (Contains(1), "an interval that contains 1"),
        (Contains(1, 0.02), "an interval that meets 1 ± 0.02"),
        (NoException(0.02), "none, in enough data to exclude a share of 2 %"),
    ],
)
def test_a_tolerance_prints_itself(tolerance, text):
    assert str(tolerance) == text


@pytest.mark.parametrize(
    "number, text", [(0, "0"), (-1.5, "−1.5"), (2.5e-12, "2.5·10⁻¹²"), (3e7, "3·10⁷")]
)
def test_numbers_as_in_print(number, text):
    assert written(number) == text


@pytest.mark.parametrize(
    "tolerance, low, high, finest, expected",
    [
        (Within(1, 0.1), 0.7, 1.4, 1.3, True),  # whatever the value, one end at least is outside
        (
            Within(1, 0.1),
            0.7,
            1.4,
            1.05,
            False,
        ),  # more replications may lead into the tolerance, or out of it
        (Within(1, 0.3), 0.7, 1.4, 1.3, False),  # at 0.95 to 1 it would be supported
        (Within(1, 0.1), 0.95, 1.05, 1.04, False),  # supported
        (Within(1, 0.1), 2.0, 3.0, 1.2, False),  # contradicted
        (Within(1, 0.1), 0.5, 3.0, 1.3, False),  # at 2 it would be contradicted
        (AtMost(1.05), 0.75, 1.35, 1.3, True),
        (AtMost(1.05), 0.5, 2.0, 1.3, False),
        (Within(1, 0.1), 0.7, math.inf, 1.3, False),
        (Within(1, 0.1), 0.7, 1.4, None, False),
    ],
)
def test_what_no_number_of_replications_can_decide(tolerance, low, high, finest, expected):
    """finest: factor by which the levels of a grid leave the number open to either side."""
    ends = finest and (1 / finest, finest)
    assert open_for_good(Estimate(1.0, low, high, finest=ends), tolerance) == expected


@pytest.mark.parametrize(
    "tolerance, order",
    [
        (AtMost(1), [2, 0, 1]),
        (AtLeast(1), [1, 0, 2]),
        (Within(-5, 1), [2, 0, 1]),
        (Within(5, 1), [1, 0, 2]),
        (AtMost(5, worst="farthest"), [1, 0, 2]),
        (AtLeast(1, worst="largest"), [2, 0, 1]),
        (NoException(0.1), [2, 0, 1]),
    ],
)
def test_the_worst_cell_follows_from_the_tolerance(tolerance, order):
    assert by_badness([0.0, -1.0, 2.0], tolerance) == order


def test_equal_cells_keep_their_order():
    assert by_badness([1.0, 1.0, 1.0], AtMost(0)) == [0, 1, 2]
