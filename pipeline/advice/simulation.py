"""Replications for a question: each call draws fresh ones, shared by all of its levels as far as
that is possible.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pipeline.advice.processes import spread
from pipeline.advice.question import Question
from pipeline.study.arrays import Array, Floats
from pipeline.study.machine import memory
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import OK

BLOCK = 100  # replications simulated together, fewer where they are large
BYTES = 2**28  # of the data of a block
LITTLE = (
    2**26
)  # bytes that there are in any case: Dask, which knows the limits, takes a moment to load
STEPS = 9e10  # predicted steps of about a nanosecond that an answer may take in all
LEAST = 3000  # replications that an answer takes at least
OVERHEAD = 5e4  # steps of a replication that no part counts


class Sample(NamedTuple):
    """Values of replications. values: (targets, levels, reps), not finite where there is none.

    Status the same of

    levels."""

    values: Floats
    status: Array


@dataclass
class Simulator:
    """Simulates a question's levels. drawn: blocks of replications that were used.

    Each is used by one call only. portion: of an answer's steps that this may take.

    Levels of a call share truth, data and noise as the study's paired streams do, so that
    differences between them are known better than each; calls share nothing, so what was chosen by
    the results of one is no bias in another.
    """

    question: Question
    drawn: int = 0
    portion: float = 1.0

    def sample(self, levels: Sequence[float], reps: int) -> Sample:
        """Values of `reps` replications, or a few more, at each level.

        InvalidInput where one takes too much memory.
        """
        block = min(self.block(level) for level in levels)
        studies = [self.question.study(level, block) for level in levels]
        labels = [next(iter(study.grid)) for study in studies]
        names = [target.metric for target in self.question.targets]

        def simulate(number: int) -> Sample:
            values = np.empty((len(names), len(levels), block))
            status = np.empty((len(levels), block), np.int8)
            memo = dict[str, Any]()
            with np.errstate(all="ignore"):
                for k, (study, cell) in enumerate(zip(studies, labels, strict=True)):
                    result = study.simulate(cell, number, memo)
                    values[:, k] = [result[name] for name in names]
                    status[k] = result["status"]
            return Sample(values, status)

        numbers = range(self.drawn, self.drawn + -(-reps // block))
        steps = len(numbers) * block * sum(map(self.cost, levels))
        size = max(block * max(map(self._memory, levels)), 1)
        parts = list(spread(simulate, numbers, steps * 1e-9, size))
        self.drawn += len(numbers)
        return Sample(*(np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)))

    def excess(self, levels: Sequence[float], reps: int) -> list[Floats]:
        """For each target (reps, levels): sign · (value − target), which is to be at most 0 in the
        mean.

        A value that is not finite counts as the worst of the metric's range, or as twice the worst
        that was seen.
        """
        sample = self.sample(levels, reps)
        excess = []
        for target, values in zip(self.question.targets, sample.values, strict=True):
            excess.append(
                (target.sign * (finite(values, target.worst, target.sign) - target.value)).T
            )
        return excess

    def cost(self, level: float) -> float:
        """Predicted steps of one replication, in units of about a nanosecond."""
        parts = self.question.parts(level)
        cost = float(parts.model.cost() + parts.mechanism.cost() + parts.estimator.cost())
        if any(metric.reads_errors for metric in parts.metrics):
            cost += parts.estimator.errors_cost()
        return cost + OVERHEAD

    def check_time(self, level: float) -> None:
        """Raise InvalidInput where a level takes too much memory, or too long for an answer."""
        self.block(level)
        seconds = self.cost(level) * 1e-9
        if seconds * LEAST > STEPS * 1e-9:
            mechanism = self.question.values["mechanism"]
            raise InvalidInput(
                "mechanism",
                mechanism,
                f"takes too long: some {seconds:.2g} s for one replication at "
                f"{self.question.word} = {self.question.shown(level):g}, of which an answer needs "
                f"{LEAST:,} or more; ask for smaller sizes, or give another mechanism",
            )

    def block(self, level: float) -> int:
        """Replications simulated together.

        InvalidInput where one takes more than half of this machine's memory.
        """
        size = self._memory(level)
        if size > LITTLE and size > memory() / 2:
            raise InvalidInput(
                *self._largest(level),
                f"takes {size / 2**30:,.1f} GiB for one replication, more than "
                "half of this machine's memory; ask for smaller sizes",
            )
        return int(min(BLOCK, max(1, BYTES // max(size, 1.0))))

    def _memory(self, level: float) -> float:
        """Bytes of one replication."""
        return math.fsum(part.memory() for part in self.question.parts(level)[:3])

    def _largest(self, level: float) -> tuple[str, Any]:
        """The largest size at a level, by its name, and its value."""
        question = self.question
        values = {**question.values, question.parameter: level}
        sizes = {
            unknown.parameter: values[unknown.parameter]
            for word, unknown in question.advice.unknowns.items()
            if word != "epsilon"
            and not unknown.left
            and isinstance(values.get(unknown.parameter), (int, float))
        }
        largest = max(sizes, key=sizes.__getitem__, default=question.parameter)
        return largest, sizes.get(largest, level)

    def affordable(self, level: float, share: float) -> int:
        """Replications of a level that a share of the steps allows, 100 at least."""
        return max(100, int(share * self.portion * STEPS / self.cost(level)))


def finite(values: Floats, worst: float, sign: int) -> Floats:
    """Values, those that are not finite replaced by the worst there can be."""
    good = np.isfinite(values)
    if good.all():
        return values
    if not math.isfinite(worst):
        seen = (sign * values[good]).max(initial=0.0)
        worst = sign * (2 * abs(float(seen)) + 1)
    return np.where(good, values, worst)


def not_converged(status: Array) -> float:
    """Share of replications whose estimate is not valid."""
    return float((status != OK).mean())
