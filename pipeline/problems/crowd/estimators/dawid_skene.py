"""Labels of tasks and abilities of workers by expectation–maximisation of the
one-coin Dawid–Skene model.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter

from ..releases import ReleasedAnswers
from ..theory.inference import AnswerLaw
from .em import maximise
from .estimate import CrowdEstimate
from .spectral import spectral_start

TOLERANCE = 1e-8  # change of the abilities of released answers at which steps end


@dataclass(frozen=True)
class DawidSkene(Bootstrapped):
    """Algorithm 1 of Wang and Xu: projected EM on the released answers as they are,
    abilities debiased at the end.

    Steps (10), (7), (8) until no ability changes by 1e-8,
    or T steps with `until: iterations`, as in the paper. A
    replication has not converged if some ability still
    changes after `iterations` steps with `until:
    convergence`, or at a saddle point of the likelihood,
    where EM stays if the answers are exactly symmetric.
    Missing answers are left out of all sums.
    initialisation: y⁽⁰⁾ is the mean vote, the labels at
    spectral abilities, or the vector that the model
    supplies. λ: the range of Theorem 2 is empty below m ≈
    2·10⁵, hence a small default.
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    projection: float = parameter(
        "λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0, below=0.5
    )
    iterations: int = parameter("T, most steps of EM", unit="steps", default=100, low=1, high=10**6)
    until: str = parameter(
        "what ends the steps: convergence, or T of them too",
        default="convergence",
        choices=("convergence", "iterations"),
    )
    initialisation: str = parameter(
        "initial vector y⁽⁰⁾", default="majority", choices=("majority", "spectral", "given")
    )
    initial_error: float | None = parameter(
        "share of the true labels that are flipped in the initial vector, if given",
        default=None,
        low=0,
        high=1,
    )
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = ReleasedAnswers
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.initialisation == "given" and self.initial_error is None:
            raise InvalidInput(
                "initialisation", "given", "needs parameters.initial_error, a number from 0 to 1"
            )

    def _projection(self, flip: float) -> float:
        """λ at a probability of a flip."""
        return self.projection

    def fit(self, release: ReleasedAnswers, rng: np.random.Generator) -> CrowdEstimate:
        """Estimate of a block; O(reps · n · m) a step, and O(reps · n² m) for a
        spectral initial vector.

        InvalidInput where the initial vector should be the
        model's and the model supplies none.
        """
        if self.initialisation == "given" and release.start is None:
            raise InvalidInput(
                "initialisation",
                "given",
                "this model lends no initial vector: majority or spectral",
            )
        largest_limit = float(np.nextafter(1, 0))
        limit = min(1 - 2 * self._projection(release.flip), largest_limit)
        fit, converged = maximise(
            release.answers,
            self._start(release, limit),
            limit,
            self.iterations,
            TOLERANCE,
            all_steps=self.until == "iterations",
        )
        estimate = CrowdEstimate.of(
            release, fit.labels, fit.abilities, fit.start, converged, fit.taken
        )
        law = AnswerLaw(release.answers, fit.labels, fit.abilities, 1 - 2 * release.flip, limit)
        return self.with_bootstrap(release, replace(estimate, law=law), rng)

    def _start(self, release: ReleasedAnswers, limit: float) -> Floats | None:
        """u⁽⁰⁾, (reps, m); None is the mean vote."""
        if self.initialisation == "given" and release.start is not None:
            return 2 * release.start - 1
        if self.initialisation == "spectral":
            return spectral_start(release.answers, limit)
        return None

    def cost(self) -> float:
        """Predicted cost of one replication with some 30 steps, in steps of about a nanosecond.

        It takes 6 in a strong crowd, and hundreds in a weak
        one.
        """
        steps = min(self.iterations, 30) * (0.1 * self.n + 3) * self.m
        if self.initialisation == "spectral":
            return steps + 0.06 * self.n**2 * self.m
        return steps

    def errors_cost(self) -> float:
        """Predicted cost of the standard errors of one replication: of the information's inverse."""
        information = self.n**2 * (0.25 * self.m + 0.2 * self.n) + 3 * self.n * self.m
        return super().errors_cost() + 2e4 + information


@dataclass(frozen=True)
class KnownFlip(DawidSkene):
    """EM of the likelihood in which the probability f of a flip is known.

    Abilities p are of unflipped answers.

    A released answer is right with probability p̂ = f + (1
    − 2f)p, which p ∈ [0, 1] keeps in [f, 1 − f]. The
    M-step's objective is concave in p̂, so its maximiser is
    (6) projected there: the estimator is Algorithm 1 with λ
    = f, and knowing f gains nothing else. The debiased
    abilities are then in [0, 1] without clipping. A larger
    λ still applies.
    """

    by_replication: ClassVar[bool] = True

    def _projection(self, flip: float) -> float:
        return max(self.projection, flip)
