"""The Rasch model: persons answer items, rightly or wrongly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, TypeAlias, cast

import numpy as np
from scipy.special import expit

from pipeline.problems.common.sampling import bernoulli
from pipeline.study.arrays import Array, Booleans, Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseModel

from .questions import DESIGN, QUESTIONS, survey_of
from .releases import (
    CountedResponses,
    FlippedResponses,
    Inclusion,
    ItemCounts,
    OpenResponses,
    item_counts_of,
)
from .sampling.answers import draw_answers
from .sampling.pair_counts import differences_of, pairs_of, slices
from .sampling.pattern_counts import PatternCounts, draw_patterns
from .sampling.surveys import Survey
from .theory.abilities import ability_points
from .theory.connectivity import connected
from .theory.cramer_rao import cramer_rao_risk
from .theory.noise_risk import expected_counts

KEPT = 1 << 24  # responses, up to which all are drawn and kept at once
Part: TypeAlias = tuple[slice, slice, Booleans, Booleans | None]


@dataclass(frozen=True)
class ItemParameters:
    """Truth of the model: difficulties of items and abilities of persons.

    theta: (reps, m), β*, rows sum to 0. ability: (reps, n), θ*; (reps,
    0) in a survey of some of the items, whose persons are drawn with
    their answers. Metrics of all problems call what is estimated theta;
    here that is β*, while θ* is the ability.
    """

    theta: Annotated[Floats, "reps", "m"]
    ability: Annotated[Floats, "reps", "n"]

    @cached_property
    def bound(self) -> Floats:
        """`cramer_rao_risk` where all responses are observed, (reps,).

        Once for all cells that share the truth.
        """
        return cramer_rao_risk(self.theta, self.ability)

    @property
    def has_counts(self) -> bool:
        """Whether `expected_counts` are known."""
        return self.ability.size > 0

    @cached_property
    def expected_counts(self) -> Floats:
        """`expected_counts` where all responses are observed, (reps, m, m).

        Once for all cells that share the truth.
        """
        return expected_counts(self.theta, self.ability)


@dataclass(frozen=True)
class Asked:
    """Persons who are asked three of the items or more, but not all.

    persons: n. survey: who answers what. law, spread: of their
    abilities, as in `Rasch`; shift: by how much all are abler.
    """

    persons: int
    survey: Survey
    law: str
    spread: float
    shift: float = 0.0

    def abilities(self, rng: np.random.Generator, reps: int, people: int) -> Floats:
        """θ of some persons, (reps, people)."""
        return _draw(self.law, self.spread, (reps, people), rng) + self.shift


class Responses:
    """Raw responses of a block, drawn when first asked for; asking again gives the same numbers.

    ability: θ, (reps, n). theta: β, (reps, m). p: probability that a response is
    observed. people_asked: who is asked what, and has abilities of which law; None where
    all are asked everything. P(X_li = 1) is that of the model to within rounding,
    2⁻⁵². Memory reps · n · m bytes, twice that if responses are missing; of more
    than `KEPT`, if only counts are asked for, that of the abilities.
    """

    plain_release: ClassVar[type] = OpenResponses
    persons: int
    items: int
    complete: bool  # whether all responses are observed
    most_answers: int | None = None  # items of the person who was asked most; None is all

    def __init__(
        self,
        ability: Floats,
        theta: Floats,
        p: float,
        rng: np.random.Generator,
        people_asked: Asked | None = None,
    ):
        self._ability = ability
        self._theta = theta
        self._p = p
        self._rng = rng
        self._people_asked = people_asked
        self._rewind: Callable[[], None] | None = None
        self.persons = ability.shape[1]
        self.items = theta.shape[1]
        self.complete = p == 1 and people_asked is None
        if people_asked is not None:
            self.persons = people_asked.persons
            self.most_answers = people_asked.survey.questions

    @classmethod
    def from_array(cls, answers: Array) -> "GivenResponses":
        """One data set. answers: (persons, items), 1 right, 0 wrong, NaN not observed.

        Raises InvalidInput.
        """
        if answers.ndim != 2 or answers.shape[1] < 2:
            shape = f"array of shape {answers.shape}"
            raise InvalidInput("data", shape, "must be (persons, items), 2 items or more")
        observed = ~np.isnan(answers.astype(float))
        if not np.isin(answers[observed], (0, 1)).all():
            allowed = "must hold 1 for right, 0 for wrong and NaN for missing answers"
            raise InvalidInput("data", "array", allowed)
        is_right = (answers == 1)[None]
        if observed.all():
            return GivenResponses(is_right, None)
        return GivenResponses(is_right, observed[None])

    @property
    def answers(self) -> Booleans:
        """X, whether person l has item i right, (reps, n, m); False where it is not observed."""
        return self._drawn[0]

    @property
    def observed(self) -> Booleans | None:
        """A, whether a person's response to an item is observed, (reps, n, m); None for all."""
        return self._drawn[1]

    @cached_property
    def _drawn(self) -> tuple[Booleans, Booleans | None]:
        shape = (len(self._theta), self.persons, self.items)
        answers = np.empty(shape, bool)
        observed = None if self.complete else np.empty(shape, bool)
        for rows, people, part, seen in self._parts():
            answers[rows, people] = part
            if observed is not None:
                observed[rows, people] = seen
        return answers, observed

    def _parts(self) -> Iterator[Part]:
        """Replications, persons, their answers, and which are observed.

        The same whenever they are drawn.
        """
        bits = self._rng.bit_generator
        if self._rewind is None:
            self._rewind = _returning(bits)
            yield from self._draw()
            return
        go_on = _returning(bits)
        self._rewind()
        yield from self._draw()
        go_on()

    def _draw(self) -> Iterator[Part]:
        with np.errstate(over="ignore"):  # where e^β is infinite every answer to the item is wrong
            skills = np.exp(self._ability)
            difficulty = np.exp(self._theta)
        for rows, people in self._slices():
            skill = self._skill(skills, rows, people)
            part = np.empty((*skill.shape, self.items), bool)
            observed = None
            draw_answers(skill, difficulty[rows], self._rng, part)
            if not self.complete:
                observed = self._seen(part.shape)
                part &= observed
            yield rows, people, part, observed

    def _slices(self) -> Iterator[tuple[slice, slice]]:
        """Replications and persons that are drawn at a time."""
        if self._people_asked is None:
            return slices(len(self._theta), self.persons, self.items)
        return self._people_asked.survey.slices(len(self._theta), self.persons, self.items)

    def _skill(self, skills: Floats, rows: slice, people: slice) -> Floats:
        """e^θ of some persons, (reps, people), from those of all, or drawn where they are asked."""
        if self._people_asked is None:
            return skills[rows, people]
        reps = min(rows.stop, len(self._theta)) - rows.start
        number = min(people.stop, self.persons) - people.start
        with np.errstate(over="ignore"):
            return np.exp(self._people_asked.abilities(self._rng, reps, number))

    def _seen(self, shape: tuple[int, ...]) -> Booleans:
        """Which of the responses of some persons are observed, (reps, people, m)."""
        if self._people_asked is None:
            return bernoulli(self._p, shape, self._rng)
        seen = self._people_asked.survey.items(self._rng, *shape)
        if self._p < 1:
            seen &= bernoulli(self._p, shape, self._rng)
        return seen

    def differences(self) -> Integers:
        """Pairwise differential measurements, (reps, m, m), read-only, 0 on the diagonal.

        Y_ij = Σ_l A_li A_lj X_li (1 − X_lj): persons who have i
        right and j wrong.
        Source: Nguyen and Zhang, eq. (2). O(reps · n · m²), once,
        for all mechanisms that share the data.
        """
        return self._counts[0]

    def pairs(self) -> Integers:
        """Persons who answered both items, B_ij = Σ_l A_li A_lj; (reps, m, m)."""
        if self.complete:
            return np.full(self.differences().shape, self.persons)
        counted = self._counts[1]
        if counted is None:
            return pairs_of(self.answers, self.observed).astype(np.int64)
        return counted

    def item_counts(self) -> ItemCounts:
        """Right answers to each item, and all that are observed."""
        return item_counts_of(self.answers, self.observed)

    def linked(self, edges: Booleans | None = None) -> Booleans | None:
        """Whether persons who answered both items of an edge link all items, (reps,).

        None where all answered all. edges: (reps, m, m), None is
        all pairs, for which it is computed once for all
        mechanisms that share the data.
        """
        if self.complete:
            return None
        if edges is None:
            return self._linked
        return connected(edges & (self.pairs() > 0))

    @cached_property
    def _linked(self) -> Booleans:
        counted = self._counts[1]
        if counted is None:
            return connected(pairs_of(self.answers, self.observed) > 0)
        return connected(counted > 0)

    @cached_property
    def _counts(self) -> tuple[Integers, Integers | None]:
        """Y, and B where both are counted part by part, as the parts stay in the cache."""
        if self._keeps:
            differences = differences_of(self.answers, self.observed).astype(np.int64)
            differences.setflags(write=False)
            return differences, None
        shape = (2, len(self._theta), self.items, self.items)
        differences, pairs = np.zeros(shape, np.int64)
        for rows, _, answers, observed in self._parts():
            differences[rows] += differences_of(answers, observed).astype(np.int64)
            if observed is not None:
                pairs[rows] += pairs_of(answers, observed).astype(np.int64)
        differences.setflags(write=False)
        pairs.setflags(write=False)
        return differences, pairs

    @property
    def _keeps(self) -> bool:
        if "_drawn" in vars(self):
            return True
        return len(self._theta) * self.persons * self.items <= KEPT

    @property
    def inclusion(self) -> Inclusion | None:
        """Chances that a person answers pairs and triples; None where only the answers say so.

        Of `balanced` surveys, means over all pairs and triples.
        """
        if self.complete:
            return Inclusion(1.0, 1.0)
        if self._people_asked is None:
            return Inclusion(self._p**2, self._p**3)
        chances = chances_of(self._people_asked.survey.questions, self.items)
        return Inclusion(self._p**2 * chances.pair, self._p**3 * chances.triple)

    def release_plainly(self) -> OpenResponses:
        """The responses as they are, without privacy; drawn by now, if not all at once."""
        self.differences()
        return PlainResponses.of(self)


class PlainResponses(OpenResponses):
    """Simulated responses as they are.

    Their counts are computed once for all who need them, and they
    are drawn where they are needed.
    """

    _data: Responses | None = None  # none in a changed copy, which has arrays of its own

    @classmethod
    def of(cls, data: Responses) -> "PlainResponses":
        """The release of simulated responses."""
        release = cls.__new__(cls)
        vars(release).update(_data=data)
        return release

    @cached_property
    def answers(self) -> Booleans:
        """X, (reps, n, m)."""
        return cast(Responses, self._data).answers

    @cached_property
    def observed(self) -> Booleans | None:
        """A, (reps, n, m); None for all."""
        return cast(Responses, self._data).observed

    @property
    def persons(self) -> int:
        """Number of persons n."""
        if self._data is None:
            return super().persons
        return self._data.persons

    @cached_property
    def pairs(self) -> Array:
        """Persons who answered both items, (reps, m, m)."""
        if self._data is None:
            return pairs_of(self.answers, self.observed)
        return self._data.pairs()

    @property
    def edges(self) -> Booleans | None:
        """Pairs that somebody answered, (reps, m, m); None where all are observed."""
        if self._data is not None and self._data.complete:
            return None
        return super().edges

    def differences(self, debiased: bool = False) -> Array:
        """Y, which is unbiased as it is; (reps, m, m)."""
        if self._data is None:
            return super().differences()
        return self._data.differences()

    def item_counts(self, debiased: bool = False) -> ItemCounts:
        """Right answers to each item, and all; unbiased as they are."""
        if self._data is None:
            return super().item_counts()
        return self._data.item_counts()


class CountedPersons(Responses):
    """Responses of persons who are asked one item or two: counted, not drawn one by one."""

    def __init__(self, patterns: PatternCounts, questions: int):
        self.patterns = patterns
        self.persons = patterns.persons
        self.items = patterns.items
        self.most_answers = questions
        self.complete = False

    @property
    def inclusion(self) -> Inclusion:
        """Nobody answers three items."""
        return chances_of(int(self.most_answers or 0), self.items)

    @cached_property
    def _drawn(self) -> tuple[Booleans, Booleans | None]:
        return self.patterns.rows()

    @cached_property
    def _counts(self) -> tuple[Integers, Integers | None]:
        differences = self.patterns.differences()
        pairs = self.patterns.pairs()
        differences.setflags(write=False)
        pairs.setflags(write=False)
        return differences, pairs

    def item_counts(self) -> ItemCounts:
        """Right answers to each item, and all that are observed."""
        return ItemCounts(self.patterns.right.astype(float), self.patterns.answered.astype(float))

    def release_flipped(
        self, rng: np.random.Generator, flip: float, epsilon: float
    ) -> FlippedResponses:
        """The release of all answers, each flipped with chance `flip`; epsilon: of an answer."""
        return CountedResponses.of(self.patterns.flipped(rng, flip), epsilon)


class GivenResponses(Responses):
    """Responses of one data set. answers, observed: (1, n, m); None is all."""

    def __init__(self, answers: Booleans, observed: Booleans | None):
        self._drawn = (answers, observed)
        self.complete = observed is None
        self.most_answers = answers.shape[2]
        if observed is not None:
            self.most_answers = int(observed.sum(axis=2).max(initial=0))
        self.persons, self.items = answers.shape[1:]
        self.n = self.persons
        self.m = self.items

    @property
    def inclusion(self) -> Inclusion | None:
        """Known where everybody answered everything."""
        return Inclusion(1.0, 1.0) if self.complete else None


@dataclass(frozen=True)
class Rasch(BaseModel):
    """P(X_li = 1) = σ(θ_l − β_i), Σβ = 0, of n persons and m items, all or `questions` of them.

    Each response is observed with probability p, of those that a
    person is asked for. Persons who are asked one item or two are
    counted, not drawn: their number costs nothing.
    Source: Nguyen and Zhang, eq. (1) and §2; their Figure 1 has
    β, θ ~ N(0, 1), p = 1.
    """

    n: int = parameter("persons", unit="persons", low=1, high=10**9 - 1)
    m: int = parameter("items", unit="items", low=2)
    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)
    item_law: str = parameter(
        "law of the difficulties β*, then centred; spaced has equal gaps, in random order",
        default="normal",
        choices=("normal", "uniform", "spaced"),
    )
    item_spread: float = parameter(
        "standard deviation of normal, half-width of uniform difficulties",
        unit="logits",
        default=1.0,
        low=0,
        high=50,
    )
    spacing: float = parameter(
        "gap Δ between neighbours in β* if evenly spaced",
        unit="logits",
        default=0.1,
        above=0,
        high=50,
    )
    items: str = parameter(
        "β* anew in every replication, or one for all",
        default="redrawn",
        choices=("redrawn", "fixed"),
    )
    person_law: str = parameter(
        "law of the abilities θ*, anew in every replication",
        default="normal",
        choices=("normal", "uniform"),
    )
    person_spread: float = parameter(
        "standard deviation of normal, half-width of uniform abilities",
        unit="logits",
        default=1.0,
        low=0,
        high=50,
    )

    questions: int | None = QUESTIONS
    design: str = DESIGN

    population: ClassVar[tuple[str, ...]] = ("m", "item_law", "item_spread", "spacing")
    produces: ClassVar[type] = Responses

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.survey  # raises InvalidInput

    @property
    def in_order(self) -> bool:  # type: ignore[override]  # of an object: who answers what decides
        """Where persons are drawn one after the other; counts of all of them are not."""
        return not self.counts_persons

    @property
    def survey(self) -> Survey | None:
        """Who answers what; None where all persons answer all items."""
        return survey_of(self.questions, self.design, self.m)

    @property
    def counts_persons(self) -> bool:
        """Whether persons are counted by their answers, and not drawn one by one."""
        survey = self.survey
        return survey is not None and survey.questions <= 2

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> ItemParameters:
        """β* (reps, m), centred, and θ* (reps, n) of a block.

        With items=fixed β* is drawn from `population`.
        """
        if self.items == "fixed":
            theta = self._difficulties(population, 1)
        else:
            theta = self._difficulties(rng, reps)
        theta -= theta.mean(axis=1, keepdims=True)
        ability = np.empty((reps, 0))
        if self.survey is None:
            ability = _draw(self.person_law, self.person_spread, (reps, self.n), rng)
        return ItemParameters(np.broadcast_to(theta, (reps, self.m)), ability)

    def _difficulties(self, rng: np.random.Generator, rows: int) -> Floats:
        if self.item_law == "spaced":
            ordered = np.tile(self.spacing * np.arange(self.m), (rows, 1))
            # In random order, since metrics resolve ties by the item's number.
            return rng.permuted(ordered, axis=1)
        return _draw(self.item_law, self.item_spread, (rows, self.m), rng)

    def simulate(self, truth: ItemParameters, rng: np.random.Generator) -> Responses:
        """Responses of n persons to m items.

        O(reps · n · m), and O(reps · n · m²) of `differences`;
        O(reps · m²), whatever n, where persons are counted.
        """
        if self.counts_persons:
            return self.counted(truth, rng)
        return Responses(truth.ability, truth.theta, self.p, rng, self.people_asked)

    @property
    def people_asked(self) -> Asked | None:
        """Persons who are drawn one by one, and asked some of the items."""
        survey = self.survey
        if survey is None:
            return None
        return Asked(self.n, survey, self.person_law, self.person_spread)

    def counted(self, truth: ItemParameters, rng: np.random.Generator) -> CountedPersons:
        """Responses of persons who are asked one item or two."""
        survey = cast(Survey, self.survey)
        points, weights = ability_points(self.person_law, self.person_spread)
        times = survey.times(rng, len(truth.theta), self.n, self.m)

        def kinds_of(rows: slice) -> Floats:
            return self.kinds(truth, rows, points)

        patterns = draw_patterns(rng, times, survey.sets(self.m), kinds_of, weights)
        return CountedPersons(patterns, survey.questions)

    def kinds(self, truth: ItemParameters, rows: slice, points: Floats) -> Floats:
        """Chances of right, wrong and, for p < 1, missing answers, (kinds, reps, points, m).

        points: (points,), abilities.
        """
        above = points[:, None] - truth.theta[rows, None]
        right = self.p * expit(above)
        wrong = self.p * expit(-above)
        if self.p == 1:
            return np.stack([right, wrong])
        return np.stack([right, wrong, np.full_like(right, 1 - self.p)])

    def cost(self) -> float:
        """Predicted cost of one replication and its differences, in steps of about a nanosecond."""
        if self.counts_persons:
            return 300 * self.m**2
        if self.survey is not None:
            return self.n * self.m * 12 + 0.009 * self.n * self.m**2
        if self.p < 1:
            return self.n * self.m * 6 + 0.009 * self.n * self.m**2
        return self.n * self.m * 4 + 0.005 * self.n * self.m**2

    def memory(self) -> float:
        """Bytes of one replication: responses, which are observed, and the same as released."""
        if self.counts_persons:
            return 200 * self.m**2
        if self.p == 1 and self.survey is None:
            return 2 * self.n * self.m
        return 3 * self.n * self.m

    def together(self) -> int:
        """Replications whose responses are drawn at a time."""
        if self.counts_persons:
            return 1
        rows, _ = next(slices(1, self.n, self.m))
        return int(rows.stop)


def chances_of(questions: int, m: int) -> Inclusion:
    """Chances that `questions` items of m, any of them, hold two items, and three."""
    pair = questions * (questions - 1) / (m * (m - 1))
    if m == 2:
        return Inclusion(pair, 0.0)
    return Inclusion(pair, pair * (questions - 2) / (m - 2))


def _returning(bits: np.random.BitGenerator) -> Callable[[], None]:
    """A function by which a generator returns to where it is now.

    No dictionary: whoever searches what `Responses` hold need not
    search its state.
    """
    state = bits.state

    def go_back() -> None:
        bits.state = state

    return go_back


def _draw(law: str, spread: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if law == "normal":
        return spread * rng.standard_normal(shape)
    return rng.uniform(-spread, spread, shape)
