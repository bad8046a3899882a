"""Bradley–Terry–Luce model: every user compares every pair of items once."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from pipeline.problems.common.questions import DESIGNS, times_asked
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseModel

from .design import QUESTIONS, asked_of_person
from .releases import FlippedWins
from .sampling.binomial import binomial
from .theory.rates import win_probability


@dataclass(frozen=True)
class Preferences:
    """Truth of the model. theta: (reps, m), each row sums to 0."""

    theta: Annotated[Floats, "reps", "m"]


class Comparisons:
    """Raw comparisons of a block, drawn when first asked for; asking again gives the same numbers.

    probability: (reps, pairs), P(i beats j) for i < j in the order of
    `numpy.triu_indices(m, 1)`. users: L. items: m. Given the truth users
    are exchangeable, so counts are sufficient. Data of another origin offer
    the same; their probability is None where the law is not known.
    """

    plain_release: ClassVar[type] = FlippedWins

    def __init__(
        self, probability: Floats | None, users: int, items: int, rng: np.random.Generator
    ):
        self.probability = probability
        self.users = users
        self.items = items
        self._rng = rng

    @classmethod
    def from_array(cls, wins: Array) -> "CountedComparisons":
        """One data set. wins: (m, m), how many users prefer item i to j; its diagonal is 0.

        Raises InvalidInput.
        """
        if wins.ndim != 2 or wins.shape[0] != wins.shape[1] or len(wins) < 2:
            shape = f"array of shape {wins.shape}"
            raise InvalidInput("data", shape, "must be (m, m): users who prefer i to j")
        are_counts = (np.isfinite(wins) & (wins >= 0) & (wins == np.floor(wins))).all()
        if not are_counts or np.diagonal(wins).any():
            allowed = "must hold whole numbers ≥ 0, and 0 on the diagonal"
            raise InvalidInput("data", "array", allowed)
        first, second = np.triu_indices(len(wins), 1)
        won = wins[first, second].astype(int)[None]
        lost = wins[second, first].astype(int)[None]
        return CountedComparisons(won, won + lost, len(wins))

    def compared(self, sizes: Integers) -> Integers | None:
        """(reps, groups, pairs): comparisons made within the groups of `split`.

        None if all users made all.
        """
        return None

    def release_plainly(self) -> FlippedWins:
        """Raw win counts without privacy, as one group with an infinite budget."""
        users = np.array([self.users])
        no_privacy = np.array([np.inf])
        compared = self.compared(users)
        return FlippedWins(self.wins[:, None], users, no_privacy, self.items, compared)

    @property
    def most_answers(self) -> int | None:
        """Comparisons of the user who made most; None where the data do not tell."""
        return None if self.probability is None else self.items * (self.items - 1) // 2

    @cached_property
    def wins(self) -> Integers:
        """(reps, pairs): number of users who prefer i to j; Binomial(L, P(i beats j))."""
        if self.probability is None:
            raise NotImplementedError("data without a known law count their own wins")
        return binomial(self._rng, self.users, self.probability)

    def split(self, sizes: Integers, rng: np.random.Generator) -> Integers:
        """(reps, groups, pairs): wins within disjoint groups of users of the given sizes.

        Given the total, the wins of a group of exchangeable users are
        hypergeometric: exact in law.
        """
        if len(sizes) == 1:
            return self.wins[:, None]
        return divided(self.wins, self.users - self.wins, sizes[:-1], rng)


def divided(
    wins: Integers, losses: Integers, sizes: Iterable[Integers | int], rng: np.random.Generator
) -> Integers:
    """(reps, groups, pairs): wins in each group, drawn without replacement, and in the rest.

    wins, losses: (reps, pairs), of all groups. sizes: comparisons of each
    group but the last, as numbers or (reps, pairs).
    """
    groups = []
    for size in sizes:
        drawn = rng.hypergeometric(wins, losses, size)
        groups.append(drawn)
        wins = wins - drawn
        losses = losses - (size - drawn)
    return np.stack([*groups, wins], axis=1)


class CountedComparisons(Comparisons):
    """Comparisons of one data set, counted.

    wins, trials: (1, pairs), of i over j for i < j, and comparisons made.
    """

    def __init__(self, wins: Integers, trials: Integers, items: int):
        super().__init__(None, int(trials.max()), items, np.random.default_rng(0))
        self.wins = wins
        self.trials = trials
        self.m = items

    def compared(self, sizes: Integers) -> Integers | None:
        """(1, 1, pairs): comparisons made; None if all users made all.

        Raises InvalidInput for more groups than one, and for fewer users
        than compared a pair.
        """
        if len(sizes) > 1:
            allowed = "wins are counted over all users: give one budget for all"
            raise InvalidInput("profile", len(sizes), allowed)
        if self.users > sizes[0]:
            allowed = f"a pair was compared {self.users:,} times; give as many users or more"
            raise InvalidInput("L", int(sizes[0]), allowed)
        if (self.trials == sizes[0]).all():
            return None
        return self.trials[:, None]


class AskedComparisons(Comparisons):
    """Comparisons of users who are asked some of the pairs, as `times_asked` says.

    Given how often a pair is compared, its wins are binomial. All draws
    start from streams of their own, so that asking again gives the same
    numbers; groups of other sizes have another survey of the same law.
    presence: (reps, pairs), chance that a comparison which is asked for is
    made; None where all are.
    """

    def __init__(
        self,
        probability: Floats,
        users: int,
        items: int,
        survey: "Survey",
        rng: np.random.Generator,
        presence: Floats | None = None,
    ):
        super().__init__(probability, users, items, rng)
        self._chance = probability
        self._survey = survey
        self._presence = presence
        self._survey_rng, self._wins_rng = rng.spawn(2)
        self._last_sizes: tuple[int, ...] = ()
        self._last_counts: tuple[Integers, Integers] | None = None

    @property
    def most_answers(self) -> int:
        """Pairs that each user is asked for."""
        return self._survey.questions

    def compared(self, sizes: Integers) -> Integers:
        """(reps, groups, pairs): comparisons made within groups of these sizes."""
        comparisons, _ = self._counts(sizes)
        return comparisons

    def split(self, sizes: Integers, rng: np.random.Generator) -> Integers:
        """(reps, groups, pairs): wins within these groups; who is in one belongs to the data."""
        _, wins = self._counts(sizes)
        return wins

    @cached_property
    def wins(self) -> Integers:
        """(reps, pairs): number of users who prefer i to j."""
        _, wins = self._counts(np.array([self.users]))
        return wins[:, 0]

    def _counts(self, sizes: Integers) -> tuple[Integers, Integers]:
        """Comparisons and wins of each group, (reps, groups, pairs) both."""
        if self._last_counts is None or self._last_sizes != tuple(sizes):
            survey_rng = copy.deepcopy(self._survey_rng)
            wins_rng = copy.deepcopy(self._wins_rng)
            comparisons = self._survey.times(sizes, self.items, len(self._chance), survey_rng)
            if self._presence is not None:
                comparisons = binomial(survey_rng, comparisons, self._presence[:, None])
            self._last_counts = (
                comparisons,
                binomial(wins_rng, comparisons, self._chance[:, None]),
            )
            self._last_sizes = tuple(sizes)
        return self._last_counts


class Survey(NamedTuple):
    """Who is asked what. questions: pairs of each user. design: see `times_asked`."""

    questions: int
    design: str

    def times(self, sizes: Integers, items: int, reps: int, rng: np.random.Generator) -> Integers:
        """(reps, groups, pairs): users of each group who compare a pair."""
        pairs = items * (items - 1) // 2
        return times_asked(self.design, sizes, self.questions, pairs, reps, rng)


@dataclass(frozen=True)
class BTL(BaseModel):
    """P(i beats j) = σ(θ_i − θ_j), Σθ = 0; L users compare pairs, all m(m−1)/2 or `questions`.

    Source: Xu, Sun and Cheng, §2 and §5.1, where all users compare all
    pairs.
    """

    m: int = parameter("items", unit="items", low=2)
    L: int = parameter("users", unit="users", low=1, high=10**9 - 1)
    spread: float = parameter(
        "half-width of the law of θ*, before it is centred",
        unit="logits",
        default=2.0,
        low=0,
        high=50,
    )
    theta: str = parameter(
        "θ* anew in every replication, one for all, evenly spaced, or two groups at ±spread",
        default="redrawn",
        choices=("redrawn", "fixed", "spaced", "two_groups"),
    )
    spacing: float = parameter(
        "gap Δ between neighbours in θ* if evenly spaced",
        unit="logits",
        default=0.1,
        above=0,
        high=50,
    )

    questions: int | None = QUESTIONS
    design: str = parameter(
        "who compares what: every pair equally often, or each user's own random pairs",
        default="balanced",
        choices=DESIGNS,
    )

    population: ClassVar[tuple[str, ...]] = ("m", "spread")
    produces: ClassVar[type] = Comparisons

    def __post_init__(self) -> None:
        super().__post_init__()
        asked_of_person("questions", self.questions, self.m)

    @property
    def by_replication(self) -> bool:  # type: ignore[override]  # of an object
        """Whether a block may be cut: a survey has streams of its own."""
        return self.survey is None

    @property
    def survey(self) -> Survey | None:
        """Who is asked what; None where all users compare all pairs."""
        questions = asked_of_person("questions", self.questions, self.m)
        if questions == asked_of_person("questions", None, self.m):
            return None
        return Survey(questions, self.design)

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> Preferences:
        """θ* of a block of replications, (reps, m), centred.

        Evenly spaced ones and groups in random order.
        """
        if self.theta in ("spaced", "two_groups"):
            # The order is random because ties are resolved by an item's number.
            unordered = placed(self.theta, self.m, self.spacing, self.spread)
            return Preferences(rng.permuted(np.tile(unordered, (reps, 1)), axis=1))
        if self.theta == "fixed":
            theta = population.uniform(-self.spread, self.spread, (1, self.m))
        else:
            theta = rng.uniform(-self.spread, self.spread, (reps, self.m))
        theta -= theta.mean(axis=1, keepdims=True)
        return Preferences(np.broadcast_to(theta, (reps, self.m)))

    def simulate(self, truth: Preferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users; cost O(reps · m²), whatever L."""
        probability = win_probability(truth.theta)
        survey = self.survey
        if survey is None:
            return Comparisons(probability, self.L, self.m, rng)
        return AskedComparisons(probability, self.L, self.m, survey, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 20 * self.m**2

    def memory(self) -> float:
        """Bytes of one replication: probabilities and wins of all pairs."""
        return 8 * self.m**2


def placed(theta: str, m: int, spacing: float, spread: float) -> Floats:
    """(m,): θ* that is not drawn, `spaced` evenly or in `two_groups`; rising and centred."""
    rank = np.arange(m) - (m - 1) / 2
    if theta == "spaced":
        return np.asarray(spacing * rank, float)
    return np.asarray(spread * np.sign(rank), float)
