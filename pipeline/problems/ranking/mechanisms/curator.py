"""Noise that a trusted curator adds to sums of all comparisons."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.curator_sums import (
    CuratorSums,
    changed_by_person,
    curator_guarantee,
)
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, promised
from pipeline.study.arrays import Floats, Integers
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import REPLACED, Guarantee
from pipeline.study.parameters import parameter

from ..design import QUESTIONS, WORDS, asked_of_person, check_charge
from ..model import Comparisons
from ..releases import NoisyScoreWins, NoisyWins, leads_of
from .sums import ProtectedCounts, ProtectedScores, ProtectedSums, scores_of


class _Moments(NamedTuple):
    """Second and fourth cumulant of noise."""

    variance: float
    fourth: float


@dataclass(frozen=True)
class CuratorNoise(CuratorSums):
    """L users hand their comparisons to a curator, who adds integer noise to sums and releases
    them.

    The budget is that of all comparisons of a user, whose number is `questions`. With
    person_delta = 0 noise is discrete Laplace and the release is pure ε-DP; otherwise
    it is discrete Gaussian, ρ-zCDP, and (ε, δ)-DP. Of several `rounds` each has an
    equal part of ε, or of ρ. How often each pair is compared is public: it follows
    from the number of users and from the design. Cost O(reps · m²).
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1)
    person: float = promised(WORDS)
    person_delta: float = PERSON_DELTA
    questions: int | None = QUESTIONS
    neighbours_are: str = changed_by_person("a user's comparisons")
    rounds: int = ROUNDS

    covered = WORDS.all_answers
    absent = "these comparisons there or not there"
    guarantee: ClassVar[Guarantee] = curator_guarantee(
        WORDS,
        protects="and which pairs these are",
        neighbours="these comparisons replaced by others, also of other pairs",
        public="the number of users, how often each pair is compared, the law of the noise",
    )
    accepts: ClassVar[type] = Comparisons
    releases: ClassVar[type] = NoisyWins

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noise.checked_width("person", self.person, self.charge, f" at m={self.m}")

    @property
    @abstractmethod
    def protected(self) -> ProtectedSums:
        """What gets noise, and the law of that: what `task=release` does, too."""

    @property
    def answers(self) -> int:
        """Comparisons of a user."""
        return asked_of_person("questions", self.questions, self.m)

    @property
    def sensitivity(self) -> Sensitivity:
        """What one user's comparisons can change."""
        return self.protected.sensitivity(self.m, self.answers)

    def memory(self) -> float:
        """Bytes of one replication: wins, noise, and what is released."""
        return 32 * self.m**2

    def cost(self) -> float:
        """Predicted cost of one replication beyond the model's, in steps of about a nanosecond."""
        return 60 * self.m**2

    def _counted(self, data: Comparisons) -> tuple[Integers, Integers | None, Any]:
        """Wins (reps, pairs), comparisons (reps, 1, pairs) or None, and how often
        each pair is compared, to broadcast against wins.

        Raises InvalidInput where users made more comparisons than are charged.
        """
        check_charge(self.questions, self.answers, data.most_answers)
        compared = data.compared(np.array([self.L]))
        trials = self.L if compared is None else compared[:, 0]
        return data.wins, compared, trials

    def _released(
        self, wins: Floats, noise: _Moments, compared: Integers | None, items: int
    ) -> NoisyWins:
        users = np.array([self.L])
        return NoisyWins(
            wins[:, None],
            users,
            np.array([np.inf]),
            items,
            compared,
            variance=noise.variance,
            fourth=noise.fourth,
        )


@dataclass(frozen=True)
class NoisyCounts(CuratorNoise):
    """How often each item of a pair won, with noise on both numbers.

    `task=release` does exactly this, at the same charge. compared_are: `protected`,
    where both counts of a pair carry noise, so that nobody learns who compared what;
    or `public`, where who compared what may be known and noise on one of the counts
    is enough. What is learned is half the difference of both counts, as their sum is
    public.
    Source: Canonne, Kamath and Steinke (2020); Ghosh, Roughgarden and Sundararajan
    (2009).
    """

    compared_are: str = parameter(
        "whether who compared what is protected like the answers",
        default="protected",
        choices=("protected", "public"),
    )

    by_replication: ClassVar[bool] = True

    def stated(self) -> Guarantee:
        """Which pairs a user compares is protected, or public."""
        stated = super().stated()
        if self.compared_are == "protected":
            return stated
        return replace(
            stated,
            protects="which item won, in all comparisons of one user",
            relation=REPLACED,
            neighbours="these comparisons replaced by others of the same pairs",
            public=f"which pairs each user compares; {stated.public}",
        )

    @property
    def protected(self) -> ProtectedCounts:
        """Counts, as in a release."""
        return ProtectedCounts(
            self.person, self.person_delta, self.neighbours_are, rounds=self.rounds
        )

    @property
    def sensitivity(self) -> Sensitivity:
        """Of both counts of all pairs; of one count of each where pairs are public."""
        if self.compared_are == "public":
            return Sensitivity(self.answers, self.answers)
        return super().sensitivity

    def release(self, data: Comparisons, rng: np.random.Generator) -> NoisyWins:
        """Noisy wins of a block, (reps, 1, pairs)."""
        wins, compared, trials = self._counted(data)
        variance = self.noise.variance(self.width)
        fourth = self.noise.fourth_cumulant(self.width)
        if self.compared_are == "public":
            noisy = wins + self.noise.draw(rng, self.width, wins.shape)
            moments = _Moments(variance, fourth)
            return self._released(noisy.astype(float), moments, compared, data.items)
        of_both = self.noise.draw(rng, self.width, (*wins.shape, 2))
        noisy_difference = 2 * wins - trials + of_both[..., 0] - of_both[..., 1]
        halves = (trials + noisy_difference) / 2
        moments = _Moments(variance / 2, fourth / 8)  # of half of two
        return self._released(halves, moments, compared, data.items)

    def attacks(self) -> dict[str, Attack]:
        """The best attacks on one comparison and on all of a user."""
        return self.best_attacks(1 if self.compared_are == "public" else 2)


@dataclass(frozen=True)
class NoisyScores(CuratorNoise):
    """Wins minus losses of each item, with noise: m numbers in place of m(m−1).

    Given how often each pair is compared, the scores are sufficient for the model:
    estimators get wins that have these scores, (x_i − x_j)/2 above a half of each
    pair's comparisons. Where all pairs are compared x = s/m; otherwise x = K⁺s, K
    the Laplacian of the graph of pairs that are.
    """

    by_replication: ClassVar[bool] = True

    @property
    def protected(self) -> ProtectedScores:
        """Scores, as in a release."""
        return ProtectedScores(
            self.person, self.person_delta, self.neighbours_are, rounds=self.rounds
        )

    def release(self, data: Comparisons, rng: np.random.Generator) -> NoisyWins:
        """Wins with the noisy scores of a block, (reps, 1, pairs)."""
        wins, compared, trials = self._counted(data)
        scores = scores_of(2 * wins - trials)
        noisy = scores + self.noise.draw(rng, self.width, scores.shape)
        leads = leads_of(noisy, None if compared is None else compared[:, 0])
        halves = (trials + leads) / 2
        variance = self.noise.variance(self.width) / (4 * self.m)
        fourth = self.noise.fourth_cumulant(self.width) / 16
        moments = _Moments(variance, fourth)
        released = self._released(halves, moments, compared, data.items)
        return NoisyScoreWins(**vars(released))
