"""Rounds of new levels in two axes, on surfaces with a known boundary: where it bends or ends, its
place covers.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from pipeline.analysis.crossings import Curve, find
from pipeline.analysis.moments import block_moments
from pipeline.analysis.refined_levels import families, open_gaps, walked
from pipeline.study.grid import Grid
from pipeline.study.refinement import LEVELS, Refinement, curves

ASKED = Refinement("x", "share", level=0.5, width=0.1, most=4, second="y")
START = Grid.of({"x": [0.1, 0.5, 2.0, 10.0], "k": ["a"], "y": [0.5, 4.0, 32.0]})


class Surface:
    """Shares of successes with probability 1/(1 + (x/boundary)⁻⁴), drawn anew for every cell."""

    def __init__(self, boundary, reps=400, seed=0, start=START):
        self.boundary, self.reps, self.rng, self.start = (
            boundary,
            reps,
            np.random.default_rng(seed),
            start,
        )
        self.cells = {}

    def moments(self, labels):
        probability = 1 / (1 + (labels["x"] / self.boundary(labels["y"])) ** -4)
        drawn = (self.rng.random((1, 1, self.reps)) < probability).astype(float)
        return block_moments(drawn, np.ones((1, self.reps), np.int8)).values[0, 0]

    def known(self, grid, asked):
        for labels in grid:
            self.cells.setdefault(tuple(labels.items()), self.moments(labels))

        def cell(labels, x):
            return self.cells[tuple((axis, dict(labels).get(axis, x)) for axis in grid.axes)]

        return {
            labels: Curve(levels, np.array([cell(labels, x) for x in levels]).T)
            for labels, levels in curves(grid, asked.along).items()
        }

    def refined(self, asked=ASKED):
        """The grid of every round, and what is known of the curves of the last."""
        grids = [self.start]
        while True:
            known = self.known(grids[-1], asked)
            if len(new := walked(self.start, known, (0, 1), asked)) == len(grids[-1]):
                return grids, known
            grids.append(new)


def crossings(known, asked=ASKED):
    """Level of y -> what is found of its curve."""
    found = {labels: find(curve, asked, (0, 1)) for labels, curve in known.items()}
    (members,) = families(known, asked).values()
    return {y: found[labels] for y, labels in members.items()}, open_gaps(
        members, known, found, asked
    )


def bend(y):
    """Steps from 1 to 3 between y = 2.2 and 4.1, nearly."""
    return 1 + 2 / (1 + (y / 3) ** -12)


def test_curves_are_added_where_the_boundary_bends_and_its_places_cover(covered):
    places, truths = [], []
    for seed in range(2):
        _, known = Surface(bend, seed=seed).refined()
        found, open_ones = crossings(known)
        assert all(one.count == 1 for one in found.values()) and not open_ones
        inside = [y for y in found if 2 < y < 6]
        assert len(inside) >= 6 and len(found) - len(inside) <= 9  # of 4.2 in log y, 1.1 are inside
        places += [one.places[0] for one in found.values()]
        truths += [bend(y) for y in found]

    def hit(widths):
        return [
            one.low <= y * math.exp(widths * one.width) <= one.high
            for one, y in zip(places, truths, strict=True)
        ]

    assert covered(hit(0), 0.95, "boundary over y")
    assert not covered(hit(1.5), 0.95, "negative control: 1.5 widths off")


def test_a_straight_boundary_needs_no_more_curves():
    """A power law is straight in the logarithms of both: curves of the first round only, each near
    its crossing.
    """
    _, known = Surface(lambda y: 2 * y**0.3).refined()
    found, open_ones = crossings(known)
    assert len(found) == 3 + LEVELS and not open_ones
    new = [
        known[labels].levels
        for (members,) in [families(known, ASKED).values()]
        for y, labels in members.items()
        if y not in START.axes["y"]
    ]
    near = [
        sum(abs(math.log(x / (2 * y**0.3))) < 0.5 for x in levels) / len(levels)
        for y, levels in zip([y for y in found if y not in START.axes["y"]], new, strict=True)
    ]
    assert min(near) >= 0.5 and all({0.1, 10.0} <= {*levels} for levels in new)


def test_where_the_boundary_leaves_the_axis_is_narrowed_down():
    """It crosses x = 10, the end, at y = 5."""
    _, known = Surface(lambda y: 10 * (y / 5) ** 2, reps=2000).refined(
        asked := replace(ASKED, width=0.2)
    )
    found, _ = crossings(known, asked)
    inside, outside = (
        max(y for y, one in found.items() if one.count),
        min(y for y, one in found.items() if not one.count and not one.places),
    )
    assert 3.5 < inside < 5 < outside < 8


def test_rounds_follow_from_what_is_known_alone():
    surface = Surface(bend)
    grids, known = surface.refined()
    assert len(grids) > 5 and all(
        {*map(str, a)} < {*map(str, b)} for a, b in zip(grids, grids[1:], strict=False)
    )
    for k, grid in enumerate(grids[:-1:4]):  # an interrupted study, with the results of some rounds
        part = surface.known(grid, ASKED)
        assert walked(START, dict(reversed(part.items())), (0, 1), ASKED) == grids[4 * k + 1]
    first, _ = Surface(bend).refined(replace(ASKED, second=""))
    assert len(curves(first[-1], "x")) == 3
    assert walked(START, known, (0, 1), replace(ASKED, most=1)).axes["y"] != START.axes["y"]


def test_whole_numbers_stay_whole():
    start = Grid.of({"x": [1, 200], "k": [0], "y": [-3, 0, 3]})
    _, known = Surface(lambda y: 20 + 15 * math.tanh(9 * y), start=start).refined(
        replace(ASKED, width=0.05)
    )
    assert all(type(x) is int for curve in known.values() for x in curve.levels)
    assert {dict(labels)["y"] for labels in known} == {-3, -2, -1, 0, 1, 2, 3}


@pytest.mark.parametrize("most", [1, 2])
def test_rounds_are_bounded(most):
    """White noise at the level: nothing is ever decided."""
    surface = Surface(lambda y: 1.0, reps=50)
    surface.moments = lambda labels: block_moments(
        (surface.rng.random((1, 1, 50)) < 0.5).astype(float), np.ones((1, 50), np.int8)
    ).values[0, 0]
    _, known = surface.refined(replace(ASKED, most=most))
    assert len(known) <= 3 + LEVELS * most
    assert max(len(curve.levels) for curve in known.values()) <= 2 + LEVELS * (most + 1)
