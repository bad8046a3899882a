"""Labels of tasks and abilities of workers from released answers: private Dawid–Skene, and majority vote."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.estimators.crowd_em import blocks, maximise, mean_vote
from pipeline.estimators.crowd_spectral import spectral_start
from pipeline.models.crowd import ReleasedAnswers
from pipeline.parameters import InvalidInput, parameter

TOLERANCE = 1e-8  # change of the abilities of released answers at which steps end


@dataclass(frozen=True)
class CrowdEstimate:
    """What estimators find.

    labels: (reps, m) int8, 1 where the posterior is at least ½, so also on ties and on tasks without answers (step 8
    of Algorithm 1). posterior: (reps, m), y. abilities: (reps, n), unbiased for p* where the labels are right, so not
    cut to [0, 1]; ½ for workers without answers. start: (reps, m), y⁽⁰⁾. converged: (reps,). iterations: (reps,).
    """

    labels: np.ndarray
    posterior: np.ndarray
    abilities: np.ndarray
    start: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray

    @classmethod
    def of(cls, release, leaning, agreement, start, converged, iterations) -> "CrowdEstimate":
        """From u = 2y − 1 (reps, m) and c = 2p − 1 (reps, n) of the released answers; start: u⁽⁰⁾.

        Debiased: a(ε)(p − 1/(e^ε + 1)) = ½ + a(ε) c/2, a(ε) = 1/(1 − 2 flip). Source: Algorithm 1, step 7.
        """
        return cls((leaning >= 0).astype(np.int8), (1 + leaning) / 2, 0.5 + agreement / (2 * (1 - 2 * release.flip)),
                   (1 + start) / 2, converged, iterations)


@dataclass(frozen=True)
class DawidSkene:
    """Algorithm 1 of Wang and Xu: projected EM on the released answers as they are, abilities debiased at the end.

    Steps (10), (7), (8) until no ability moves by 1e-8, or not converged after `iterations`. Missing answers are left
    out of all sums. initialisation: y⁽⁰⁾ is the mean vote, the labels at spectral abilities, or the vector that the
    model lends. λ: the range of Theorem 2 is empty below m ≈ 2·10⁵, hence a small default.
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)
    projection: float = parameter("λ: abilities of released answers are kept in [λ, 1 − λ]", default=1e-3, above=0,
                                  below=0.5)
    iterations: int = parameter("T, most steps of EM", unit="steps", default=100, low=1, high=10**6)
    initialisation: str = parameter("initial vector y⁽⁰⁾", default="majority",
                                    choices=("majority", "spectral", "given"))
    initial_error: float | None = parameter("share of the true labels that are flipped in the initial vector, if given",
                                            default=None, low=0, high=1)

    accepts: ClassVar[type] = ReleasedAnswers

    def __post_init__(self):
        if self.initialisation == "given" and self.initial_error is None:
            raise InvalidInput("initialisation", "given", "needs parameters.initial_error, a number from 0 to 1")

    def _projection(self, release):
        return self.projection

    def fit(self, release: ReleasedAnswers, rng: np.random.Generator) -> CrowdEstimate:
        """Estimate of a block; O(reps · n · m) a step, and O(reps · n² m) for a spectral initial vector."""
        limit = min(1 - 2 * self._projection(release), np.nextafter(1, 0))
        started = np.empty(release.answers.shape[::2])
        if self.initialisation == "given" and release.start is None:
            raise InvalidInput("initialisation", "given", "this model lends no initial vector: majority or spectral")

        def start(signs, answered, rows):
            if self.initialisation == "given":
                started[rows] = 2 * release.start[rows] - 1
            else:
                started[rows] = (mean_vote(signs, answered) if self.initialisation == "majority" else
                                 spectral_start(signs, limit))
            return started[rows]

        agreement, leaning, converged, taken = maximise(release.answers, start, limit, self.iterations, TOLERANCE)
        return CrowdEstimate.of(release, leaning, agreement, started, converged, taken)

    def work(self) -> float:
        """Predicted cost of one replication with some 30 steps, in steps of about a nanosecond.

        It takes 6 in a strong crowd, and hundreds in a weak one.
        """
        spectral = 0.06 * self.n**2 * self.m if self.initialisation == "spectral" else 0
        return min(self.iterations, 30) * (0.2 * self.n + 8) * self.m + spectral


@dataclass(frozen=True)
class KnownFlip(DawidSkene):
    """EM of the likelihood in which the probability f of a flip is known; abilities p are of unflipped answers.

    A released answer is right with probability p̂ = f + (1 − 2f)p, which p ∈ [0, 1] keeps in [f, 1 − f]. The M-step's
    objective is concave in p̂, so its maximiser is (6) projected there: Algorithm 1 with λ = f. To know f is worth no
    more than that; the debiased abilities are then in [0, 1] by themselves. λ still holds if it is larger.
    """

    def _projection(self, release):
        return max(self.projection, release.flip)


@dataclass(frozen=True)
class MajorityVote:
    """Each task by its majority, ties and no answers to label 1; abilities: agreement with these labels, debiased.

    posterior and start are the share of votes for 1. Source: Wang and Xu, eq. (18).
    """

    n: int = parameter("workers", unit="workers", low=1)
    m: int = parameter("tasks", unit="tasks", low=1)

    accepts: ClassVar[type] = ReleasedAnswers

    def fit(self, release: ReleasedAnswers, rng: np.random.Generator) -> CrowdEstimate:
        """Estimate of a block; O(reps · n · m)."""
        reps, n, m = release.answers.shape
        leaning, agreement = np.empty((reps, m)), np.empty((reps, n))
        for rows, signs, answered in blocks(release.answers):
            leaning[rows] = mean_vote(signs, answered)
            agreement[rows] = np.matvec(signs, np.where(leaning[rows] >= 0, np.float32(1), np.float32(-1))) / answered
        return CrowdEstimate.of(release, leaning, agreement, leaning, np.ones(reps, bool), np.zeros(reps, int))

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 0.35 * self.n * self.m + 10 * self.m
