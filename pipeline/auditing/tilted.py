"""Draws that are tilted towards their ends, with exact weights: what happens once in a million
samples happens often, and its chance is bounded from a few thousand.

A sample is drawn as the mechanism draws it, or one of its numbers is drawn near an end of that
number's law. Each sample has as its weight the chance of its numbers under the mechanism over their
chance under this mixture, which is at most `1 / PLAIN`; so the chance of an event is the mean of the
weights of samples in it. Numbers of uniform laws and of geometric ones are tilted: of these the
chance of every value is known, to the last digit. Others are drawn as they are. Source: Owen and
Zhou, Safe and effective importance sampling (2000), for mixtures that keep a share of the law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from pipeline.auditing.recorder import Recorder, Seed
from pipeline.auditing.subject import Raised, Subject
from pipeline.study.arrays import Array, Floats, Integers

PLAIN = 0.5  # share of samples that are drawn as they are
LEVELS = 24  # of a tilt: the j-th draws among the last 2⁻ʲ of the law
MOST_PLACES = 64  # numbers of a sample, up to which each is tilted
PROBED = 64  # samples, by which one sees what is drawn
DOUBLE = 2.0**-53  # step of uniform doubles
SHARES = np.geomspace(1e-5, 0.5, 32)  # of the capital that is bet
HALVINGS = 40
LARGEST_RANGE = 1 << 62
Shape: TypeAlias = tuple[int, ...]


class NotTilted(Exception):
    """Weights are not known: what is drawn depends on samples, or nothing can be tilted."""


class End:
    """One end of the law of a draw, and how to draw near it.

    gains: (LEVELS + 1,), of a value that the first levels reach the sum of their densities over
    that of the law.
    """

    gains: Floats

    def drawn(self, values: Array, levels: Integers, rng: np.random.Generator) -> Array:
        """Values near the end, each as near as its level says. values: drawn as they are."""
        raise NotImplementedError

    def reached(self, values: Array) -> Integers:
        """How many levels reach a value, at most `LEVELS`; the first ones do."""
        raise NotImplementedError

    def density(self, values: Array) -> Floats:
        """Density of all levels together over that of the law, of each value."""
        return self.gains[self.reached(values)] / LEVELS


@dataclass(frozen=True)
class UniformEnd(End):
    """Uniform doubles in [0, 1) near 0, or near 1. All are multiples of `DOUBLE`."""

    upper: bool
    gains = np.concatenate([[0.0], np.cumsum(2.0 ** np.arange(1, LEVELS + 1))])

    def drawn(self, values: Array, levels: Integers, rng: np.random.Generator) -> Array:
        """The same digits, further behind the point."""
        whole = (values / DOUBLE).astype(np.uint64) >> levels.astype(np.uint64)
        return self._turned(whole * DOUBLE)

    def reached(self, values: Array) -> Integers:
        """By the power of 2 below which a number is."""
        _, exponents = np.frexp(self._turned(values))
        levels = np.clip(np.where(exponents > 0, 0, -exponents), 0, LEVELS)
        reached: Integers = np.where(self._turned(values) == 0, LEVELS, levels)
        return reached

    def _turned(self, values: Array) -> Array:
        return (1 - DOUBLE) - values if self.upper else values


@dataclass(frozen=True)
class IntegerEnd(End):
    """Uniform integers of one range, near its first or its last."""

    low: int
    count: int
    upper: bool

    @property
    def sizes(self) -> Integers:
        """(LEVELS,): how many integers each level draws among."""
        sizes: Integers = np.maximum(self.count >> np.arange(1, LEVELS + 1), 1)
        return sizes

    @property
    def gains(self) -> Floats:  # type: ignore[override]  # it follows from the range
        """See `End`."""
        return np.concatenate([[0.0], np.cumsum(self.count / self.sizes)])

    def drawn(self, values: Array, levels: Integers, rng: np.random.Generator) -> Array:
        """Anew, among fewer."""
        places = rng.integers(self.sizes[levels - 1])
        return self.low + self.count - 1 - places if self.upper else self.low + places

    def reached(self, values: Array) -> Integers:
        """By the distance from the end."""
        places = np.asarray(values, np.int64) - self.low
        if self.upper:
            places = self.count - 1 - places
        reached: Integers = np.searchsorted(-self.sizes, -places, side="left")
        return reached


@dataclass(frozen=True)
class GeometricEnd(End):
    """Geometric numbers from 1 on, far from 0: beyond any number the law is the same again."""

    chance: float

    @property
    def starts(self) -> Integers:
        """(LEVELS,): beyond which a level draws."""
        steps = np.arange(1, LEVELS + 1) * math.log(2) / -math.log1p(-self.chance)
        starts: Integers = np.floor(steps).astype(np.int64)
        return starts

    @property
    def gains(self) -> Floats:  # type: ignore[override]  # it follows from the chance
        """See `End`."""
        return np.concatenate([[0.0], np.cumsum(np.exp(-self.starts * np.log1p(-self.chance)))])

    def drawn(self, values: Array, levels: Integers, rng: np.random.Generator) -> Array:
        """The same, that much later."""
        return values + self.starts[levels - 1]

    def reached(self, values: Array) -> Integers:
        """By the starts that lie before a number."""
        reached: Integers = np.searchsorted(self.starts, values, side="left")
        return reached


@dataclass(frozen=True)
class Drawn:
    """A draw of one call. kind: name of the method. of_samples: whether its first axis is samples.
    shape: of what is drawn for each, or in all. ends: that can be tilted.
    """

    kind: str
    of_samples: bool
    shape: Shape
    ends: tuple[End, ...] = ()


@dataclass(frozen=True)
class Place:
    """A number of a sample that is tilted: of which draw, which of its numbers, at which end."""

    draw: int
    column: int
    end: End


@dataclass(frozen=True)
class Layout:
    """What one call draws, in order, and what of it is tilted."""

    draws: Sequence[Drawn]
    places: Sequence[Place]


class Tilted(Recorder):
    """A generator that tilts one number of some samples, and knows the weight of each sample.

    Without a layout nothing is tilted; it sees what is drawn.
    """

    def __init__(self, seed: Seed, samples: int, layout: Layout | None = None):
        super().__init__(seed, [])
        self.samples = samples
        self.seen: list[Drawn] = []
        self.places: Sequence[Place] = () if layout is None else layout.places
        self.own = np.random.default_rng([*np.atleast_1d(np.asarray(seed)).tolist(), 1])
        is_plain = self.own.random(samples) < PLAIN
        which = self.own.integers(max(len(self.places), 1), size=samples)
        self.chosen = np.where(is_plain, -1, which)
        self.levels = self.own.integers(1, LEVELS + 1, size=samples)
        self.density = np.full(samples, PLAIN)

    def _drawn(self, kind: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> object:
        before = len(self.draws)
        values = super()._drawn(kind, arguments, named)
        if len(self.draws) == before:
            return values  # a part of another draw
        self.draws.clear()
        number = len(self.seen)
        if not isinstance(values, np.ndarray) or values.shape[:1] != (self.samples,):
            self.seen.append(Drawn(kind, False, np.asarray(values).shape))
            return values
        ends = _ends(kind, arguments, named, values)
        self.seen.append(Drawn(kind, True, values.shape[1:], ends))
        columns = values.reshape(self.samples, -1)
        for index, place in enumerate(self.places):
            if place.draw == number:
                columns[:, place.column] = self._tilted(index, place, columns[:, place.column])
        return columns.reshape(values.shape)

    def _tilted(self, index: int, place: Place, values: Array) -> Array:
        """Numbers of one place; the densities of samples grow by those of what was drawn."""
        here = self.chosen == index
        tilted = values.copy()
        tilted[here] = place.end.drawn(values[here], self.levels[here], self.own)
        self.density += (1 - PLAIN) / len(self.places) * place.end.density(tilted)
        return tilted

    @property
    def weights(self) -> Floats:
        """(samples,): chance under the mechanism over that of the mixture."""
        return 1 / self.density


def _ends(
    kind: str, arguments: tuple[Any, ...], named: dict[str, Any], values: Array
) -> tuple[End, ...]:
    """The ends of a draw's law that can be tilted."""
    if kind == "random" and values.dtype == np.float64:
        return UniformEnd(False), UniformEnd(True)
    if kind == "geometric":
        chance = _argument(0, "p", arguments, named)
        if isinstance(chance, float | np.floating) and 0 < chance < 1:
            return (GeometricEnd(float(chance)),)
    if kind == "integers":
        low = _argument(0, "low", arguments, named)
        high = _argument(1, "high", arguments, named)
        if high is None:
            high = low
            low = 0
        if isinstance(low, int | np.integer) and isinstance(high, int | np.integer):
            count = int(high) - int(low) + int(bool(named.get("endpoint")))
            if 1 < count < LARGEST_RANGE:
                return IntegerEnd(int(low), count, False), IntegerEnd(int(low), count, True)
    return ()


def _argument(place: int, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> object:
    """An argument of a call, by its place or its name; None without it."""
    if place < len(arguments):
        return arguments[place]
    return named.get(name)


def layout_of(subject: Subject, dataset: object) -> Layout:
    """What is drawn for a data set, and what of it is tilted. Raises NotTilted."""
    if not subject.takes_rng:
        raise NotTilted("the mechanism has no parameter rng")
    seen = []
    for seed in range(2):
        rng = Tilted([seed, PROBED], PROBED)
        try:
            subject.called_with(dataset, PROBED, rng)
        except Raised as error:
            raise NotTilted("the mechanism fails") from error
        seen.append(rng.seen)
    if seen[0] != seen[1]:
        raise NotTilted("what is drawn depends on what was drawn")
    places: list[Place] = []
    for number, drawn in enumerate(seen[0]):
        columns = math.prod(drawn.shape)
        if columns * len(drawn.ends) > MOST_PLACES:
            raise NotTilted("too many numbers are drawn for a sample")
        places += [Place(number, column, end) for column in range(columns) for end in drawn.ends]
    if not 0 < len(places) <= MOST_PLACES:
        raise NotTilted("no number of a sample can be tilted, or too many")
    return Layout(seen[0], places)


def sampled(
    subject: Subject, dataset: object, layout: Layout, samples: int, seed: Seed
) -> tuple[Floats, Floats]:
    """(samples, numbers), outputs of one call, and (samples,), their weights. Raises NotTilted."""
    rng = Tilted(seed, samples, layout)
    outputs = subject.numbers(subject.called_with(dataset, samples, rng), samples)
    if rng.seen != list(layout.draws):
        raise NotTilted("what is drawn depends on the number of samples, or on what was drawn")
    return outputs, rng.weights


def mean_at_least(values: Floats, error: float) -> float:
    """A lower bound of the mean of independent numbers ≥ 0, wrong with probability `error` at most.

    A mean of at most m is rejected where the product of 1 − f + f X/m, averaged over shares f of
    the capital, is at least 1/error: its expectation is at most 1, so Markov's inequality bounds
    the chance of that. Source: Waudby-Smith and Ramdas (2024), for fixed bets.

    >>> 0.4 < mean_at_least(np.repeat([0.0, 1.0], 5_000), 0.001) < 0.5
    True
    """
    mean = float(values.mean())
    if mean <= 0:
        return 0.0
    distinct, counts = np.unique(values, return_counts=True)
    low = math.log(mean) - 20.0
    high = math.log(mean)
    if _capital(distinct, counts, math.exp(low)) < -math.log(error):
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _capital(distinct, counts, math.exp(middle)) >= -math.log(error):
            low = middle
        else:
            high = middle
    return math.exp(low)


def _capital(distinct: Floats, counts: Integers, mean: float) -> float:
    """Logarithm of what bets against a mean have become, from a capital of 1."""
    gains = np.log1p(SHARES[:, None] * (distinct / mean - 1)) @ counts
    return float(special.logsumexp(gains) - math.log(len(SHARES)))
