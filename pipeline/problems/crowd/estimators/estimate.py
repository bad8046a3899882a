"""What estimators of labels and abilities give."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from pipeline.problems.common.bootstrap import BootstrapScores
from pipeline.problems.common.normal_scores import NormalScores, UnknownScores
from pipeline.problems.common.ranks import RankIntervals
from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.intervals import Interval

from ..releases import CrowdRelease
from ..theory.inference import Abilities, AnswerLaw, posterior_interval


@dataclass(frozen=True)
class CrowdEstimate:
    """Labels of tasks and abilities of workers, as estimated.

    labels: (reps, m) int8, 1 where the posterior is at
    least ½, so also on ties and on tasks without answers
    (step 8 of Algorithm 1). posterior: (reps, m), y.
    abilities: (reps, n), unbiased for p* where the labels
    are right, so not cut to [0, 1]; ½ for workers without
    answers; NaN where released answers are coins (see
    `of`). start: (reps, m), y⁽⁰⁾. converged: (reps,).
    iterations: (reps,). law: how abilities vary; None where
    that is not known, and errors and intervals are NaN. It is
    computed when it is asked for. drawn: errors of the
    bootstrap, where that was wanted.
    """

    quantity: ClassVar[str] = "abilities"

    labels: Annotated[NDArray[np.int8], "reps", "m"]
    posterior: Annotated[Floats, "reps", "m"]
    abilities: Annotated[Floats, "reps", "n"]
    start: Annotated[Floats, "reps", "m"]
    converged: Annotated[Booleans, "reps"]
    iterations: Annotated[Integers, "reps"]
    law: AnswerLaw | None = None
    drawn: BootstrapScores | None = None

    @cached_property
    def corrected(self) -> NormalScores:
        """The abilities, and how they vary jointly; (reps, n). Source: `theory.inference`."""
        if self.drawn is not None:
            return self.drawn.like(self.abilities)
        if self.law is None:
            return UnknownScores(np.full(self.abilities.shape, np.nan))
        return Abilities(self.abilities, self.law)

    @property
    def errors(self) -> Floats:
        """(reps, n): standard errors of abilities; NaN for those at an end of their range."""
        return self.corrected.errors

    def interval(self, level: float = 0.95) -> Interval:
        """An interval for each ability, which covers it with probability `level`.

        The flips of the mechanism are in it. Source: `theory.inference`.
        """
        return self.corrected.interval(level)

    def ranks(self, level: float = 0.95) -> RankIntervals:
        """Intervals of all workers' ranks, 1 for the ablest, which cover all at once."""
        return self.corrected.ranks(level)

    def posterior_interval(self, level: float = 0.95) -> Interval:
        """Each covers the posterior probability of a label at the true abilities, (reps, m).

        The posterior at estimated abilities is a number with an error of its own.
        Source: `theory.inference`.
        """
        if self.law is None:
            unknown = np.full(self.posterior.shape, np.nan)
            return Interval(unknown, unknown)
        return posterior_interval(Abilities(self.abilities, self.law), level)

    @classmethod
    def of(
        cls,
        release: CrowdRelease,
        leaning: Floats,
        agreement: Floats,
        start: Floats,
        converged: Booleans,
        iterations: Integers,
    ) -> "CrowdEstimate":
        """From u = 2y − 1 (reps, m) and c = 2p − 1 (reps, n) of the released answers; start: u⁽⁰⁾.

        Debiased: a(ε)(p − 1/(e^ε + 1)) = ½ + a(ε) c/2, a(ε)
        = 1/(1 − 2 flip). Where flip is ½ in floating point,
        at ε below 2·10⁻¹⁶, answers say nothing about
        abilities: these are NaN, and no replication
        converged. Source: Wang and Xu, Algorithm 1, step 7.
        """
        attenuation = 1 - 2 * release.flip
        if attenuation > 0:
            abilities = 0.5 + agreement / (2 * attenuation)
        else:
            abilities = np.full_like(agreement, np.nan)
            converged = np.zeros_like(converged)
        return cls(
            (leaning >= 0).view(np.int8),
            (1 + leaning) / 2,
            abilities,
            (1 + start) / 2,
            converged,
            iterations,
        )
