"""Exhaustive search for the least level of an unknown that meets a target: studies on grids of
levels, and no more.

It knows a problem by its parts only, and nothing of how `task=advise` searches: every level of a
coarse grid is simulated, then every level of a fine one around the place where the mean passes the
target, all levels on the same replications; a straight line through the means of the fine grid says
where that is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study

BLOCK = 100
COARSE, FINE = 1.35, 1.02  # steps of the grids
WIDE = 7.0  # times the level around which the coarse grid lies, on either side
NARROW = 1.12  # the same of the fine grid
MOST = 17  # levels of the fine grid


@dataclass(frozen=True)
class Task:
    """What is searched: the parameter of a problem at which the mean of a metric is at most a
    target, or at least.

    parameters: all others, the names of the parts among them. whole: whether levels are whole
    numbers.
    """

    problem: str
    parameters: Mapping[str, Any]
    parameter: str
    whole: bool
    metric: str
    relation: str
    target: float

    @property
    def sign(self) -> int:
        """1 where the mean is to be small."""
        return 1 if self.relation == "<=" else -1


@dataclass(frozen=True)
class Optimum:
    """Where the target begins to be met. level: by a straight line.

    error: its standard error, of the logarithm;

    better: 1 where it is met above."""

    level: float
    error: float
    better: int

    def over(self, level: float, whole: bool) -> float:
        """How many times a level is the least that meets the target, which may have to be whole.

        1 or more if it does.

        Where less is better: how many times the greatest is the level.
        """
        least = self.level
        if whole:
            least = math.ceil(least) if self.better > 0 else max(1, math.floor(least))
        return level / least if self.better > 0 else least / level


def exists(task: Task, level: float) -> bool:
    """Whether all parts can be made at a level."""
    try:
        _study(task, [level], 0)
    except InvalidInput:
        return False
    return True


def excess(task: Task, levels: Sequence[float], reps: int, seed: int) -> np.ndarray:
    """sign · (value − target) of replications, (levels, reps).

    Those without a value are left out as NaN.
    """
    study = _study(task, levels, seed)
    rows = []
    for labels in study.grid:
        blocks = [
            study.simulate(labels, number)[task.metric] for number in range(-(-reps // BLOCK))
        ]
        rows.append(np.concatenate(blocks)[:reps])
    return task.sign * (np.array(rows) - task.target)


def _study(task: Task, levels: Sequence[float], seed: int) -> Study:
    return Study(
        "exhaustive",
        task.problem,
        seed=seed,
        replications=BLOCK,
        block=BLOCK,
        metrics=(task.metric,),
        grid={task.parameter: list(levels)},
        parameters=dict(task.parameters),
        paired=(task.parameter,),
    )


def optimum(
    task: Task, near: float, seed: int, reps: tuple[int, int] = (400, 4000)
) -> Optimum | None:
    """The crossing of a target in a wide range around a level.

    None where the mean crosses it nowhere there.

    reps: replications of each level of the coarse grid, and of the fine one.
    """
    centre = max(1, round(near)) if task.whole else near
    coarse = sorted({*grid(task, near / WIDE, near * WIDE, COARSE), centre})
    means = np.nanmean(excess(task, coarse, reps[0], seed), axis=1)
    sides = means <= 0
    changes = np.flatnonzero(sides[1:] != sides[:-1])
    if not len(changes):
        return None
    # where the mean passes the target several times by chance, in the middle
    change = changes[len(changes) // 2]
    first, last = coarse[change], coarse[change + 1]
    middle = math.sqrt(first * last)
    for attempt in range(3):
        fine = grid(task, middle / NARROW, middle * NARROW, FINE)
        while task.whole and len(fine) < 3:
            fine = sorted(
                {*fine, *(level for level in (fine[0] - 1, fine[-1] + 1) if exists(task, level))}
            )
        found = line(task, fine, reps[1], seed + 1 + attempt)
        if fine[0] <= found.level <= fine[-1]:
            return found
        middle = min(max(found.level, middle / 1.3), middle * 1.3)
    return found


def line(task: Task, levels: Sequence[float], reps: int, seed: int) -> Optimum:
    """Where a straight line through the means at levels, against their logarithms, crosses 0."""
    values = excess(task, levels, reps, seed)
    at = np.log(levels)
    design = np.stack([np.ones_like(at), at - at.mean()])
    weights = np.linalg.pinv(design.T)
    fits = weights @ np.where(
        np.isfinite(values), values, np.nanmax(values)
    )  # of every replication
    height, slope = fits.mean(axis=1)
    moved = fits[0] - height / slope * fits[1]  # whose mean is 0 at the crossing
    error = moved.std(ddof=1) / math.sqrt(reps) / abs(slope)
    return Optimum(float(np.exp(at.mean() - height / slope)), float(error), 1 if slope < 0 else -1)


def grid(task: Task, low: float, high: float, step: float) -> list[float]:
    """Levels from low to high in steps of a factor, of 1 at least where they are whole, at which
    parts exist.
    """
    count = max(2, round(math.log(high / low) / math.log(step)) + 1)
    levels = np.exp(np.linspace(math.log(low), math.log(high), count))
    if task.whole:
        chosen = sorted({max(1, round(level)) for level in levels})
    else:
        chosen = [float(f"{level:.5g}") for level in levels]
    if len(chosen) > MOST + 4:
        chosen = chosen[:: -(-len(chosen) // MOST)]
    return [level for level in chosen if exists(task, level)]
