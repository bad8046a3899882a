"""Rounds of new levels where a curve crosses, on curves with a known crossing: the interval of the place covers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.analysis.boundaries import boundary_exponent
from pipeline.analysis.crossings import SIDES, Curve, boundary, find, says, statements
from pipeline.analysis.moments import COUNTS, STATISTICS, block_moments
from pipeline.analysis.refined_levels import next_levels
from pipeline.study.refinement import LEVELS, Refinement

ASKED = Refinement("x", "share", level=0.5, width=0.03, most=3)
BASE = (0.25, 0.7, 2.0, 5.6, 16.0)


def refined(values, asked=ASKED, base=BASE, bounds=(0, 1)):
    """What is found of a curve after all rounds, and its cells. values: level -> (reps,) of a cell."""
    cells, new = {}, base
    for done in range(asked.most + 1):
        for level in new:
            drawn = values(level)[None, None]
            cells[level] = block_moments(drawn, np.ones(drawn.shape[1:], np.int8)).values[0, 0]
        curve = Curve(tuple(sorted(cells)), np.array([cells[level] for level in sorted(cells)]).T)
        found = find(curve, asked, bounds)
        if not (new := next_levels(curve, found, asked, done)):
            break
    return found, curve


def shares(rng, probability, reps=200):
    """Zeros and ones, drawn anew for every cell."""
    drawn = {}
    return lambda level: drawn.setdefault(
        level, (rng.random(reps) < probability(level)).astype(float)
    )


def rising(slope, truth=2.1):
    return lambda x: 1 / (1 + (x / truth) ** -slope)


CURVES = {
    "steep": (lambda rng: shares(rng, rising(40.0)), ASKED, (0, 1), 2.1),
    "shallow": (lambda rng: shares(rng, rising(0.8)), ASKED, (0, 1), 2.1),
    "skewed errors, not symmetric": (
        lambda rng: lambda x: rng.exponential(1 / x, 200),
        ASKED,
        (0, math.inf),
        2.0,
    ),
}


@pytest.mark.parametrize("kind", CURVES)
def test_the_interval_of_the_place_covers(kind, covered):
    values, asked, bounds, truth = CURVES[kind]
    rng, kept = np.random.default_rng(1), {}
    places = []
    for _ in range(120):
        draw, kept = values(rng), {}
        found, _ = refined(
            lambda x, draw=draw, kept=kept: kept.setdefault(x, draw(x)), asked, bounds=bounds
        )
        assert found.count == 1
        places += found.places
    width = np.median([one.width for one in places])
    assert covered(
        [one.low <= truth <= one.high for one in places],
        0.95,
        f"crossing, {kind}, width {width:.3f}",
    )
    off = truth * (1 + 1.5 * width)
    assert not covered(
        [one.low <= off <= one.high for one in places], 0.95, "negative control: 1.5 widths off"
    )


def test_no_crossing_and_two_are_said():
    rng, never, twice = np.random.default_rng(2), [], []
    for _ in range(30):
        never.append(refined(shares(rng, lambda x: 0.15 + 0.03 * math.log(x), 1000)))
        twice.append(refined(shares(rng, lambda x: 0.85 * math.exp(-(math.log(x / 2) ** 2)), 1000)))
    assert all(found.count == 0 and not found.places for found, _ in never)
    assert all(
        -0.4 < found.distance < 0 and len(curve.levels) == len(BASE) + LEVELS
        for found, curve in never
    )
    assert says(never[0][0], ASKED).startswith(
        "does not cross within x: the mean stays below, by 0."
    )
    ends = [2 * math.exp(sign * math.log(1.7) ** 0.5) for sign in (-1, 1)]
    assert all(found.count == 2 for found, _ in twice)
    for k, end in enumerate(ends):
        hit = sum(found.places[k].low <= end <= found.places[k].high for found, _ in twice)
        print(f"crossing {k + 1} of 2: n=30 covered={hit}, bound 20 (P(less) ≤ 1e-6 at 0.95)")
        assert hit >= 20 and not any(
            found.places[k].low <= 2.0 <= found.places[k].high for found, _ in twice
        )
    assert says(twice[0][0], ASKED).startswith("crosses 2 times, at x = ")


def test_a_curve_that_lies_on_the_level_is_not_decided():
    found, curve = refined(shares(np.random.default_rng(3), lambda x: 0.5))
    assert found.count == 0 and [(one.low, one.high) for one in found.places] == [(0.0, math.inf)]
    assert says(found, ASKED).startswith("not decided: may cross at x in [0, inf]")
    toward, _ = refined(shares(np.random.default_rng(3), lambda x: min(0.5, 0.1 * x), 1000))
    assert (
        toward.count == 0 and toward.places[-1].high == math.inf and 2 < toward.places[-1].low < 5.6
    )


@pytest.mark.parametrize("factor, decided", [(0.99, False), (1.01, True)])
def test_sides_hold_together_for_all_cells_that_a_curve_may_get(factor, decided):
    """Three cells, and `LEVELS` more in each round: sides by t at the share of 1 − confidence of one of all these."""
    asked, reps = replace(ASKED, level=0.0), 400
    z = stats.norm.ppf((np.arange(reps) + 0.5) / reps)
    cells = 3 + LEVELS * asked.most
    limit = (
        stats.t.isf(SIDES * (1 - asked.confidence) / cells / 2, reps - 1)
        * z.std(ddof=1)
        / reps**0.5
    )
    drawn = (z + factor * limit * np.array([[-1], [1], [1]]))[None]
    curve = Curve(
        (1.0, 2.0, 3.0), block_moments(drawn, np.ones(drawn.shape[1:], np.int8)).values[0].T
    )
    assert (find(curve, asked, (-math.inf, math.inf)).count == 1) == decided


def test_levels_of_a_round_follow_from_the_moments_and_are_rounded():
    curve = refined(shares(np.random.default_rng(4), rising(2.0)), replace(ASKED, most=1))[1]
    found = find(curve, ASKED, (0, 1))
    assert len(curve.levels) == len(BASE) + LEVELS and all(
        float(f"{x:.4g}") == x for x in curve.levels
    )
    more = next_levels(curve, found, ASKED, 1)
    noisy = Curve(curve.levels, curve.moments * (1 + 1e-13))  # another machine's last digits
    assert len(more) == LEVELS and next_levels(noisy, find(noisy, ASKED, (0, 1)), ASKED, 1) == more
    place = found.places[0]
    assert all(curve.levels[place.first] < x < curve.levels[place.last] for x in more)
    assert next_levels(curve, found, ASKED, ASKED.most) == ()
    known = replace(found, places=(place._replace(width=0.02),))  # narrower than asked for
    assert (
        next_levels(curve, known, ASKED, 1) == ()
        and len(next_levels(curve, known, ASKED, 0)) == LEVELS
    )


def test_whole_numbers_end_at_neighbours_and_levels_may_be_negative():
    rng = np.random.default_rng(5)
    found, curve = refined(shares(rng, rising(60.0, 7.5)), base=(2, 30))
    assert {7, 8} <= {*curve.levels} and all(type(level) is int for level in curve.levels)
    assert (found.places[0].low, found.places[0].high) == (pytest.approx(7), pytest.approx(8))
    assert next_levels(curve, found, ASKED, 1) == ()
    found, curve = refined(
        shares(rng, lambda x: 1 / (1 + math.exp(-9 * (x + 0.3)))), base=(-2.0, 0.0, 2.0)
    )
    assert found.places[0].low < -0.3 < found.places[0].high and found.places[0].width < 0.1


def test_equal_values_of_a_metric_without_a_range_decide_nothing():
    found, _ = refined(
        lambda x: np.full(50, x), replace(ASKED, most=1), bounds=(-math.inf, math.inf)
    )
    assert found.count == 0 and found.places[0].high == math.inf


def test_the_boundary_of_a_family_has_an_exponent():
    """x = 2 √(N/100): the exponent carries the uncertainty of the places."""
    rng, sizes = np.random.default_rng(6), [100, 200, 400, 800]
    curves = [refined(shares(rng, rising(2.0, 2 * (n / 100) ** 0.5)))[1] for n in sizes]
    levels = sorted({level for curve in curves for level in curve.levels})
    moments = np.full((len(sizes), len(levels), len(STATISTICS)), np.nan)
    counts = np.zeros((len(sizes), len(levels), len(COUNTS)), int)
    for k, curve in enumerate(curves):
        at = [levels.index(level) for level in curve.levels]
        moments[k, at], counts[k, at] = curve.moments.T, 200
    summary = xr.Dataset(
        {
            "share": (("N", "x", "statistic"), moments, {"least": 0.0, "most": 1.0}),
            "status": (("N", "x", "count"), counts),
        },
        {"N": sizes, "x": levels, "statistic": [*STATISTICS], "count": [*COUNTS]},
    )
    found = boundary(summary, ASKED)
    assert (
        (found.crossings == 1).all()
        and (found.low < found.value).all()
        and (found.value < found.high).all()
    )
    exponent = boundary_exponent(found, N=found.N).exponents["N"]
    assert (
        exponent.covers(0.5)
        and not exponent.covers(0.5 + 1 / 3)
        and exponent.standard_error > 0.005
    )
    assert [where for where, _ in statements(summary, ASKED)] == [f"N = {n}" for n in sizes]
