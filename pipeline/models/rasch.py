"""Rasch model: persons answer items, rightly or wrongly. And what mechanisms release of that."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pipeline.parameters import parameter
from pipeline.theory.btl import flip_probability

SLICE_CELLS = 1 << 17  # responses worked on at a time: near the L2 cache, and long enough to amortise calls


@dataclass(frozen=True)
class ItemParameters:
    """Truth of the model. theta: (reps, m), difficulties β* of items, rows sum to 0. ability: (reps, n), θ* of persons.

    What is estimated, and what the metrics of rankings read, is called theta in every paper; here that is β*.
    """

    theta: np.ndarray
    ability: np.ndarray


class Responses:
    """Raw responses of a block, drawn when first asked for; asking again gives the same numbers.

    ability: (reps, n). theta: (reps, m), β. p: probability that a response is observed.
    P(X_li = 1) is that of the model to within rounding, 2⁻⁵². Memory reps · n · m bytes, twice that if p < 1.
    """

    def __init__(self, ability: np.ndarray, theta: np.ndarray, p: float, rng: np.random.Generator):
        self._ability, self._theta, self._p, self._rng = ability, theta, p, rng
        self.persons, self.items = ability.shape[1], theta.shape[1]

    @property
    def answers(self) -> np.ndarray:
        """(reps, n, m) bool: X, whether person l has item i right; False where it is not observed."""
        return self._drawn[0]

    @property
    def observed(self) -> np.ndarray | None:
        """(reps, n, m) bool: A; None where p = 1 and every response is observed."""
        return self._drawn[1]

    @cached_property
    def _drawn(self):
        shape = (*self._ability.shape, self.items)
        answers, observed = np.empty(shape, bool), None if self._p == 1 else np.empty(shape, bool)
        with np.errstate(over="ignore"):  # an infinite difficulty is a right answer never given, as it should be
            person, item = np.exp(self._ability)[:, :, None], np.exp(self._theta)[:, None]
        for rows, people in _slices(*shape):
            skill = person[rows, people]
            part = _bernoulli(skill / (skill + item[rows]), self._rng)
            if observed is not None:
                observed[rows, people] = _bernoulli(np.full(part.shape, self._p), self._rng)
                part &= observed[rows, people]
            answers[rows, people] = part
        return answers, observed

    def differences(self) -> np.ndarray:
        """(reps, m, m) int64, read-only: pairwise differential measurements, 0 on the diagonal.

        Y_ij = Σ_l A_li A_lj X_li (1 − X_lj): persons who have i right and j wrong. Source: Nguyen and Zhang,
        eq. (2). O(reps · n · m²) in float32, exact; kept, for mechanisms that share the data.
        """
        return self._differences

    @cached_property
    def _differences(self):
        counts = differences_of(self.answers, self.observed).astype(np.int64)
        counts.setflags(write=False)
        return counts

    def pairs(self) -> np.ndarray:
        """(reps, m, m) int64: B_ij = Σ_l A_li A_lj, persons who answered both."""
        return pairs_of(self.answers, self.observed).astype(np.int64)

    def opened(self) -> "OpenResponses":
        """The responses as they are, without privacy."""
        return OpenResponses(self.answers, self.observed)


class PairwiseRelease:
    """What the public sees, as far as pairs of items are concerned.

    items: m. persons: n. edges: (reps or 1, m, m) bool, pairs of which something was released, symmetric; None is all.
    """

    items: int
    persons: int
    edges: np.ndarray | None

    def differences(self, debiased: bool = False) -> np.ndarray:
        """(reps, m, m): released measurements of Y, any reals; of no meaning on the diagonal and off the edges."""
        raise NotImplementedError


@dataclass(frozen=True)
class Differences(PairwiseRelease):
    """Pairwise differential measurements with noise on every released entry.

    counts: (reps, m, m), integers or reals. persons: n. variance: (reps,), of the noise of one entry. edges: of a
    public graph, (reps or 1, m, m) bool, symmetric; None is the complete graph.
    """

    counts: np.ndarray
    persons: int
    variance: np.ndarray
    edges: np.ndarray | None = None

    @property
    def items(self) -> int:
        """m"""
        return self.counts.shape[1]

    def differences(self, debiased: bool = False) -> np.ndarray:
        """(reps, m, m): the counts, which are unbiased as they are."""
        return self.counts


@dataclass(frozen=True)
class FlippedResponses(PairwiseRelease):
    """Responses after randomized response: each is flipped with probability f = 1/(1 + e^ε).

    answers: (reps, n, m) bool. observed: (reps, n, m) bool or None; who answered what is public. epsilon: per response.
    """

    answers: np.ndarray
    observed: np.ndarray | None
    epsilon: float

    @property
    def items(self) -> int:
        """m"""
        return self.answers.shape[2]

    @property
    def persons(self) -> int:
        """n"""
        return self.answers.shape[1]

    @cached_property
    def pairs(self) -> np.ndarray:
        """(reps, m, m): B_ij, persons who answered both."""
        return pairs_of(self.answers, self.observed)

    @property
    def edges(self) -> np.ndarray | None:
        """(reps, m, m) bool: pairs that somebody answered; None where all are observed."""
        return None if self.observed is None else self.pairs > 0

    def differences(self, debiased: bool = False) -> np.ndarray:
        """(reps, m, m): Ỹ of the flipped responses as they are, or, debiased, Ŷ with E[Ŷ | X] = Y, zero diagonals.

        With x̂ = (x̃ − f)/(1 − 2f), flips being independent over items, Σ_l A_li A_lj x̂_li (1 − x̂_lj) is
        Ŷ_ij = [(1 − f) Ỹ_ij + f Ỹ_ji − f(1 − f) B_ij]/(1 − 2f)², unbiased for i ≠ j. O(reps · n · m²).
        """
        counts, flip = differences_of(self.answers, self.observed), flip_probability(self.epsilon)
        if not debiased or flip == 0:
            return counts
        counts = (1 - flip) * counts + flip * counts.swapaxes(1, 2) - flip * (1 - flip) * self.pairs
        counts /= np.tanh(self.epsilon / 2) ** 2
        np.einsum("rii->ri", counts)[...] = 0
        return counts


@dataclass(frozen=True)
class OpenResponses(FlippedResponses):
    """Responses released as they are: no privacy."""

    epsilon: float = np.inf


Responses.opens = OpenResponses


@dataclass(frozen=True)
class Rasch:
    """P(X_li = 1) = σ(θ_l − β_i), Σβ = 0: n persons, m items, each response observed with probability p.

    Source: Nguyen and Zhang, eq. (1) and §2; their Figure 1 has β, θ ~ N(0, 1), p = 1.
    """

    n: int = parameter("persons", unit="persons", low=1, high=10**9 - 1)
    m: int = parameter("items", unit="items", low=2)
    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)
    item_law: str = parameter("law of the difficulties β*, then centred; spaced has equal gaps, in random order",
                              default="normal", choices=("normal", "uniform", "spaced"))
    item_spread: float = parameter("standard deviation of normal, half-width of uniform difficulties", unit="logits",
                                   default=1.0, low=0, high=50)
    spacing: float = parameter("gap Δ between neighbours in β* if evenly spaced", unit="logits", default=0.1,
                               above=0, high=50)
    items: str = parameter("β* anew in every replication, or one for all", default="redrawn",
                           choices=("redrawn", "fixed"))
    person_law: str = parameter("law of the abilities θ*, anew in every replication", default="normal",
                                choices=("normal", "uniform"))
    person_spread: float = parameter("standard deviation of normal, half-width of uniform abilities", unit="logits",
                                     default=1.0, low=0, high=50)

    population: ClassVar[tuple[str, ...]] = ("m", "item_law", "item_spread", "spacing")
    produces: ClassVar[type] = Responses

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> ItemParameters:
        """β* (reps, m), centred, and θ* (reps, n) of a block of replications."""
        fixed = self.items == "fixed"
        theta = self._difficulties(population if fixed else rng, 1 if fixed else reps)
        theta -= theta.mean(axis=1, keepdims=True)
        ability = _draw(self.person_law, self.person_spread, (reps, self.n), rng)
        return ItemParameters(np.broadcast_to(theta, (reps, self.m)), ability)

    def _difficulties(self, rng, rows):
        if self.item_law == "spaced":  # the order is random because ties are resolved by an item's number
            return rng.permuted(np.tile(self.spacing * np.arange(self.m), (rows, 1)), axis=1)
        return _draw(self.item_law, self.item_spread, (rows, self.m), rng)

    def simulate(self, truth: ItemParameters, rng: np.random.Generator) -> Responses:
        """Responses of n persons to m items; cost O(reps · n · m), and O(reps · n · m²) of `differences`."""
        return Responses(truth.ability, truth.theta, self.p, rng)

    def work(self) -> float:
        """Predicted cost of one replication and its differences, in steps of about a nanosecond."""
        missing = self.p < 1
        return self.n * self.m * (6 if missing else 4) + (0.03 if missing else 0.018) * self.n * self.m**2


def differences_of(answers: np.ndarray, observed: np.ndarray | None) -> np.ndarray:
    """(reps, m, m) float64, whole: Σ_l A_li A_lj X_li (1 − X_lj); answers and observed (reps, n, m) bool, None is all.

    Where all are observed it is Σ_l X_li − Σ_l X_li X_lj, half the work.
    """
    if observed is None:
        both = _total(answers.shape, lambda part: _product(answers[part]))
        right = np.einsum("rii->ri", both).copy()
        return np.subtract(right[:, :, None], both, out=both)
    return _total(answers.shape, lambda part: _product(answers[part] & observed[part], observed[part] & ~answers[part]))


def pairs_of(answers: np.ndarray, observed: np.ndarray | None) -> np.ndarray:
    """(reps, m, m) float64, whole: Σ_l A_li A_lj; arguments as in `differences_of`."""
    reps, n, m = answers.shape
    if observed is None:
        return np.full((reps, m, m), float(n))
    return _total(answers.shape, lambda part: _product(observed[part]))


def _total(shape, product):
    """(reps, m, m): product(slices of replications and persons), summed over persons."""
    reps, n, m = shape
    total = np.zeros((reps, m, m))  # what nobody adds up to
    for rows, people in _slices(reps, n, m):
        if people.start == 0:
            total[rows] = product((rows, people))
        else:
            total[rows] += product((rows, people))
    return total


def _product(x, y=None):
    """Σ_l x_li y_lj, y = x if None; whole and below 2²⁴ within a slice of persons, so float32 has it exactly."""
    x = x.astype(np.float32)  # NumPy does half of a product with itself
    return x.swapaxes(1, 2) @ (x if y is None else y.astype(np.float32))


def _slices(reps: int, n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """Slices of replications and of persons with at most `SLICE_CELLS` responses, or one person's."""
    length, width = max(1, SLICE_CELLS // max(1, n * m)), max(1, SLICE_CELLS // m)
    for row in range(0, reps, length):
        for person in range(0, n, width):
            yield slice(row, row + length), slice(person, person + width)


def _draw(law, spread, shape, rng):
    return rng.normal(0, spread, shape) if law == "normal" else rng.uniform(-spread, spread, shape)


def _bernoulli(probability, rng):
    """Bernoulli draws, exact to 2⁻⁵²: a random byte decides all but one in 256, a further uniform these."""
    bound = probability * (256 - 2**-44)  # whole parts are bytes, also at probability 1
    whole = bound.astype(np.uint8)
    words = rng.integers(0, 1 << 64, -(-bound.size // 8), np.uint64)
    byte = words.astype("<u8", copy=False).view(np.uint8)[: bound.size].reshape(bound.shape)
    drawn = byte < whole
    tie = np.flatnonzero(byte == whole)
    drawn.reshape(-1)[tie] = rng.random(tie.size) < bound.reshape(-1)[tie] - whole.reshape(-1)[tie]
    return drawn
