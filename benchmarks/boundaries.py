"""Boundaries found in rounds, against the uniform grid, on four surfaces with known truth.

The probability of a probit model, the exact error of majority vote, MaxSense's predicted success,
and the sandwich risk of the debiased estimator, each along one axis; replications are drawn from
these laws. The uniform grid gets the better of two intervals, that of the refinement and that of
the monotone fit, and as many levels as the same width needs: more than the last of rising numbers
before the first that gives it.
"""

import itertools
import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq
from scipy.stats import norm

from pipeline.analysis.boundaries import crossing
from pipeline.analysis.crossings import Crossings, Curve, find
from pipeline.analysis.moments import STATISTICS
from pipeline.analysis.refined_levels import next_levels
from pipeline.problems.clustering.design import Design
from pipeline.problems.clustering.theory.success import maxsense_success
from pipeline.problems.crowd.theory.vote_errors import vote_error
from pipeline.problems.crowd.theory.wisdom import private_ability
from pipeline.problems.ranking.theory.risk import sandwich_risk
from pipeline.study.refinement import Refinement

RUNS, REPS, START, WIDTH = 500, 2000, 5, 0.02
FEW = 11  # runs of a uniform grid, for its median width
GRIDS = [round(10 * 1.25**k) for k in range(30)]  # levels of uniform grids


class Surface(NamedTuple):
    """One curve of a surface: its mean and the level that it crosses, the ends of its axis, whether
    values are 0 or 1.
    """

    mean: Callable[[float], float]
    level: float
    ends: tuple[float, float]
    share: bool
    degrees: int = 1  # of freedom of the χ² law of the other values


def surfaces() -> dict[str, Surface]:
    """Name -> surface; each crosses its level once."""
    workers = np.full(25, 0.8)
    theta = np.linspace(-1, 1, 10)[None]
    design = Design(100, 8, 2.0, "0.5, 0.5", "0.5, 0.5", "0.9, 0.1; 0.2, 0.8")
    return {
        "probit sheet": Surface(
            lambda x: float(norm.cdf(3 * math.log(x / 2.1))), 0.5, (0.05, 50), True
        ),
        "majority vote, exact": Surface(
            lambda x: float(vote_error(private_ability(workers, x))), 0.1, (0.1, 10), True
        ),
        "MaxSense, predicted": Surface(
            lambda x: maxsense_success(x, design), 0.5, (1e5, 1e8), True
        ),
        "BTL, sandwich": Surface(
            lambda x: float(sandwich_risk(theta, x, 500)[0]), 0.01, (0.1, 10), False, 9
        ),
    }


class Drawn:
    """A curve of which every level is simulated once. reps: of a level.

    The law of all is computed once a level.
    """

    known: dict[tuple[str, float], float] = {}

    def __init__(self, name: str, surface: Surface, rng: np.random.Generator):
        self.name, self.surface, self.rng = name, surface, rng
        self.cells: dict[float, np.ndarray] = {}

    def add(self, levels: tuple[float, ...]) -> Curve:
        """The curve with further levels."""
        for level in levels:
            mean = self.known.setdefault((self.name, level), self.surface.mean(level))
            if self.surface.share:
                share = self.rng.binomial(REPS, mean) / REPS
                m2 = REPS * share * (1 - share)
                powers = {"n": REPS, "mean": share, "m2": m2, "m3": m2 * (1 - 2 * share)}
            else:
                values = (
                    mean * self.rng.chisquare(self.surface.degrees, REPS) / self.surface.degrees
                )
                apart = values - values.mean()
                powers = {
                    "n": REPS,
                    "mean": values.mean(),
                    "m2": (apart**2).sum(),
                    "m3": (apart**3).sum(),
                }
            self.cells[level] = np.array([powers.get(one, 0.0) for one in STATISTICS])
        rising = tuple(sorted(self.cells))
        return Curve(rising, np.array([self.cells[level] for level in rising]).T)


def asked_of(surface: Surface) -> Refinement:
    """What is asked of a surface."""
    return Refinement("x", "v", level=surface.level, width=WIDTH, most=20)


def in_rounds(name: str, surface: Surface, rng: np.random.Generator) -> tuple[Crossings, int]:
    """What is found of a curve, and its levels."""
    drawn, asked, bounds = (
        Drawn(name, surface, rng),
        asked_of(surface),
        (0.0, 1.0 if surface.share else math.inf),
    )
    new: tuple[float, ...] = tuple(np.geomspace(*surface.ends, START).tolist())
    for done in itertools.count():
        curve = drawn.add(new)
        found = find(curve, asked, bounds)
        if not (new := next_levels(curve, found, asked, done)):
            return found, len(curve.levels)
    raise AssertionError


def uniform_width(name: str, surface: Surface, levels: int, rng: np.random.Generator) -> float:
    """Width of the interval of a uniform grid: of the refinement's or of the monotone fit's,
    whichever is narrower.
    """
    curve = Drawn(name, surface, rng).add(tuple(np.geomspace(*surface.ends, levels).tolist()))
    found = find(curve, asked_of(surface), (0.0, 1.0 if surface.share else math.inf))
    part = dict(zip(STATISTICS, curve.moments, strict=True))
    x = {"x": [*curve.levels]}
    fitted = crossing(
        xr.DataArray(part["mean"], x, ["x"]),
        xr.DataArray(np.sqrt(part["m2"] / REPS / (REPS - 1)), x, ["x"]),
        "x",
        surface.level,
        draws=200,
    )
    low, high = float(fitted["low"]), float(fitted["high"])
    monotone = math.log(high / low) if 0 < low and high < math.inf else math.inf
    return min(found.places[0].width if found.count == 1 else math.inf, monotone)


def main() -> None:
    """Print coverage, width and replications of each surface in rounds, and those of the uniform
    grid.
    """
    rng = np.random.default_rng(5)
    for name, surface in surfaces().items():
        start = time.perf_counter()
        truth = brentq(lambda x, surface=surface: surface.mean(x) - surface.level, *surface.ends)
        runs = [in_rounds(name, surface, rng) for _ in range(RUNS)]
        once = [(found.places[0], levels) for found, levels in runs if found.count == 1]
        covered = np.mean([one.low <= truth <= one.high for one, _ in once])
        width, used = (
            np.median([one.width for one, _ in once]),
            REPS * np.mean([levels for _, levels in runs]),
        )

        levels = START
        for number in GRIDS:
            if np.median([uniform_width(name, surface, number, rng) for _ in range(FEW)]) <= width:
                break
            levels = number
        print(
            f"{name:22s} at {truth:.4g}: {len(once)} of {RUNS} runs find one crossing, covered "
            f"{covered:.1%}, width {width:.3f} with {used:,.0f} replications; a uniform grid is "
            f"wider with {levels * REPS:,}, {levels * REPS / used:.1f} times as many; "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
