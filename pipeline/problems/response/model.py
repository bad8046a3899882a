"""The Rasch model: persons answer items, rightly or wrongly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, TypeAlias, cast

import numpy as np

from pipeline.problems.common.sampling import bernoulli
from pipeline.study.arrays import Array, Booleans, Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseModel

from .releases import OpenResponses
from .sampling.answers import draw_answers
from .sampling.pair_counts import differences_of, pairs_of, slices
from .theory.connectivity import connected
from .theory.cramer_rao import cramer_rao_risk
from .theory.noise_risk import expected_counts

KEPT = 1 << 24  # responses, up to which all are drawn and kept at once
Part: TypeAlias = tuple[slice, slice, Booleans, Booleans | None]


@dataclass(frozen=True)
class ItemParameters:
    """Truth of the model: difficulties of items and abilities of persons.

    theta: (reps, m), β*, rows sum to 0. ability: (reps, n), θ*. Metrics of all
    problems call what is estimated theta; here that is β*, while θ* is the ability.
    """

    theta: Annotated[Floats, "reps", "m"]
    ability: Annotated[Floats, "reps", "n"]

    @cached_property
    def bound(self) -> Floats:
        """`cramer_rao_risk` where all responses are observed, (reps,).

        Once for all cells that share the truth.
        """
        return cramer_rao_risk(self.theta, self.ability)

    @cached_property
    def expected_counts(self) -> Floats:
        """`expected_counts` where all responses are observed, (reps, m, m).

        Once for all cells that share the truth.
        """
        return expected_counts(self.theta, self.ability)


class Responses:
    """Raw responses of a block, drawn when first asked for; asking again gives the same numbers.

    ability: θ, (reps, n). theta: β, (reps, m). p: probability that a response is
    observed. P(X_li = 1) is that of the model to within rounding, 2⁻⁵². Memory
    reps · n · m bytes, twice that if p < 1; of more than `KEPT`, if only counts are
    asked for, that of the abilities.
    """

    plain_release: ClassVar[type] = OpenResponses
    persons: int
    items: int
    complete: bool  # whether all responses are observed

    def __init__(self, ability: Floats, theta: Floats, p: float, rng: np.random.Generator):
        self._ability = ability
        self._theta = theta
        self._p = p
        self._rng = rng
        self._rewind: Callable[[], None] | None = None
        self.persons = ability.shape[1]
        self.items = theta.shape[1]
        self.complete = p == 1

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
        shape = (*self._ability.shape, self.items)
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
            skill = np.exp(self._ability)
            difficulty = np.exp(self._theta)
        for rows, people in slices(len(self._ability), self.persons, self.items):
            part = np.empty((*skill[rows, people].shape, self.items), bool)
            observed = None
            draw_answers(skill[rows, people], difficulty[rows], self._rng, part)
            if not self.complete:
                observed = bernoulli(self._p, part.shape, self._rng)
                part &= observed
            yield rows, people, part, observed

    def differences(self) -> Integers:
        """Pairwise differential measurements, (reps, m, m), read-only, 0 on the diagonal.

        Y_ij = Σ_l A_li A_lj X_li (1 − X_lj): persons who have i right and j wrong.
        Source: Nguyen and Zhang, eq. (2). O(reps · n · m²), once, for all
        mechanisms that share the data.
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

    def linked(self, edges: Booleans | None = None) -> Booleans | None:
        """Whether persons who answered both items of an edge link all items, (reps,).

        None where all answered all. edges: (reps, m, m), None is all pairs, for
        which it is computed once for all mechanisms that share the data.
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
        shape = (2, len(self._ability), self.items, self.items)
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
        return "_drawn" in vars(self) or self._ability.size * self.items <= KEPT

    def release_plainly(self) -> OpenResponses:
        """The responses as they are, without privacy; drawn by now, if not all at once."""
        self.differences()
        return PlainResponses.of(self)


class PlainResponses(OpenResponses):
    """Simulated responses as they are.

    Their counts are computed once for all who need them, and they are drawn where
    they are needed.
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


class GivenResponses(Responses):
    """Responses of one data set. answers, observed: (1, n, m); None is all."""

    def __init__(self, answers: Booleans, observed: Booleans | None):
        self._drawn = (answers, observed)
        self.complete = observed is None
        self.persons, self.items = answers.shape[1:]
        self.n = self.persons
        self.m = self.items


@dataclass(frozen=True)
class Rasch(BaseModel):
    """P(X_li = 1) = σ(θ_l − β_i), Σβ = 0, of n persons and m items.

    Each response is observed with probability p.
    Source: Nguyen and Zhang, eq. (1) and §2; their Figure 1 has β, θ ~ N(0, 1),
    p = 1.
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

    population: ClassVar[tuple[str, ...]] = ("m", "item_law", "item_spread", "spacing")
    produces: ClassVar[type] = Responses
    in_order: ClassVar[bool] = True

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

        O(reps · n · m), and O(reps · n · m²) of `differences`.
        """
        return Responses(truth.ability, truth.theta, self.p, rng)

    def cost(self) -> float:
        """Predicted cost of one replication and its differences, in steps of about a nanosecond."""
        if self.p < 1:
            return self.n * self.m * 6 + 0.009 * self.n * self.m**2
        return self.n * self.m * 4 + 0.005 * self.n * self.m**2

    def memory(self) -> float:
        """Bytes of one replication: responses, which are observed, and the same as released."""
        if self.p == 1:
            return 2 * self.n * self.m
        return 3 * self.n * self.m

    def together(self) -> int:
        """Replications whose responses are drawn at a time."""
        rows, _ = next(slices(1, self.n, self.m))
        return int(rows.stop)


def _returning(bits: np.random.BitGenerator) -> Callable[[], None]:
    """A function by which a generator returns to where it is now.

    No dictionary: whoever searches what `Responses` hold need not search its state.
    """
    state = bits.state

    def go_back() -> None:
        bits.state = state

    return go_back


def _draw(law: str, spread: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if law == "normal":
        return spread * rng.standard_normal(shape)
    return rng.uniform(-spread, spread, shape)
