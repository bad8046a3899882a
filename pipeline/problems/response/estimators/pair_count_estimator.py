"""Estimates of difficulties, and the base of estimators that need counts of pairs only."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.problems.common.normal_scores import NormalScores, UnknownScores
from pipeline.problems.common.ranks import RankIntervals
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.intervals import Interval
from pipeline.study.parameters import parameter

from ..questions import QUESTIONS, check_pairs
from ..releases import PairwiseRelease
from ..theory.inference import DifficultyLaw, difficulties, law_of


@dataclass(frozen=True)
class ItemEstimate:
    """theta: (reps, m), difficulties β̂ in logits, rows sum to 0; NaN where there is none.

    converged: (reps,). law: how its estimating equations vary; None where that is not known, and
    errors and intervals are NaN. is_spectral: which equations. All is computed when it is asked
    for. drawn: how theta varies where no law of estimating equations says it: the bootstrap, or the
    delta method.
    """

    quantity: ClassVar[str] = "theta"

    theta: Annotated[Floats, "reps", "m"]
    converged: Annotated[Booleans, "reps"]
    law: DifficultyLaw | None = None
    is_spectral: bool = False
    drawn: NormalScores | None = None

    @classmethod
    def of(cls, theta: Floats, converged: Booleans | bool = True) -> "ItemEstimate":
        """The estimate centred, with NaN where it is not finite or did not converge."""
        with np.errstate(invalid="ignore"):
            theta = theta - theta.mean(axis=1, keepdims=True)
        valid: Booleans = np.all(np.isfinite(theta), axis=1)
        valid &= converged
        theta[~valid] = np.nan
        return cls(theta, valid)

    @cached_property
    def corrected(self) -> NormalScores:
        """β̃, without the bias of pseudo-counts and ridges, and how it varies.

        Source: `theory.inference`, or `problems.common.bootstrap`.
        """
        if self.drawn is not None:
            return self.drawn.like(self.theta)
        if self.law is None:
            return UnknownScores(np.full(self.theta.shape, np.nan))
        block = difficulties(np.atleast_2d(self.theta), self.law, self.is_spectral)
        shape = self.theta.shape
        return replace(
            block,
            theta=block.theta.reshape(shape),
            errors=block.errors.reshape(shape),
            fitted=self.theta,
        )

    @property
    def errors(self) -> Floats:
        """(reps, m): standard errors, logits; of `corrected`."""
        return self.corrected.errors

    def interval(self, level: float = 0.95) -> Interval:
        """An interval for each difficulty, which covers it with probability `level`; logits.

        The noise of privacy is in it; the centre is `corrected.theta`. Source: `theory.inference`.
        """
        return self.corrected.interval(level)

    def ranks(self, level: float = 0.95) -> RankIntervals:
        """Intervals of all ranks, 1 for the hardest item, which cover all at once.

        Source: `pipeline.problems.common.ranks`.
        """
        return self.corrected.ranks(level)


@dataclass(frozen=True)
class PairCountEstimator(Bootstrapped):
    """An estimator that needs the released Y alone, made positive.

    max(Y_ij, floor) + pseudo_count on the edges. Noise and
    debiasing make counts negative, and zero counts may disconnect
    items. This uses only what is public or released. pseudo_count
    = floor = 0 keeps Y as it is, but for negative counts, which
    become 0.
    Source: Nguyen and Zhang (supplement, code): λ = 1, floor 1.
    """

    m: int = parameter("items", unit="items", low=2)
    pseudo_count: float = parameter(
        "λ, added to every released count", unit="persons", default=1.0, low=0
    )
    floor: float = parameter(
        "lowest count: smaller ones are raised to it", unit="persons", default=1.0, low=0
    )

    questions: int | None = QUESTIONS
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = PairwiseRelease
    debiased: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pairs(self.questions, self.m, "an estimate from counts of pairs")

    def law(self, release: PairwiseRelease) -> DifficultyLaw | None:
        """How the counts vary that this estimator needs."""
        return law_of(release, self.debiased)

    def memory(self) -> float:
        """Bytes of one replication: counts, debiased and cleaned, of pairs in both orders."""
        return 40 * self.m**2

    def counts(self, release: PairwiseRelease) -> Floats:
        """Cleaned counts, (reps, m, m), 0 on the diagonal and off the edges; a new array."""
        counts: Floats = np.maximum(
            release.differences(self.debiased), self.floor, dtype=float, order="C"
        )
        counts += self.pseudo_count
        if release.edges is not None:
            counts *= release.edges
        np.einsum("rii->ri", counts)[...] = 0
        return counts
