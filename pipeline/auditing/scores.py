"""Scores that tell outputs of one data set from those of its neighbour, learned from samples.

A score is any function of an output; the event that it exceeds a threshold is
what an audit counts on fresh samples. So a poor score makes an audit weak, and
never wrong. What is learned: the exact table of outputs, where these are few; a
linear score, which also finds what no noise covers; the laws of single numbers,
their last bits included; and pairs of numbers, such as answers of two people
that share their noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pipeline.study.arrays import Array, Floats, Integers

MOST_OUTPUTS = 10**6  # of a table
FEW_VALUES = 64  # of a number, up to which each is by itself
BINS = 24  # of a number with more values
MOST_COLUMNS = 512  # of linear scores
PAIRED_COLUMNS = 48  # of pairs of numbers, those with few values
PAIRED_VALUES = 8
FREE = 1e-9  # share of the largest variance, below which a direction has no noise
RIDGE = 1e-9
ABSENT = 2.0**60  # stands for values that are no number
LISTED = 3  # outputs of an event that are named
LISTED_NUMBERS = 12
BITS = 53  # of a double's significand


class Score(ABC):
    """A function of outputs, larger where they are more likely on the first data set."""

    @abstractmethod
    def __call__(self, outputs: Floats) -> Floats:
        """(samples,): the score of each output, (samples, numbers)."""

    @abstractmethod
    def describe(self) -> str:
        """What the score looks at, in words."""

    def event(self, threshold: float, above: bool) -> str:
        """The event that the score is at least a threshold, or below it, in words."""
        relation = "at least" if above else "below"
        return f"score of {self.describe()} {relation} {threshold:.4g}"


@dataclass(frozen=True)
class TableScore(Score):
    """The log ratio of how often an output was seen on either data set, 0 for others.

    keys: rising, of outputs; see `keys_of`. ratios: their scores. outputs: the
    rows themselves.
    """

    keys: Array
    ratios: Floats
    outputs: Floats

    def __call__(self, outputs: Floats) -> Floats:
        """The ratio of each output."""
        return _looked_up(self.keys, self.ratios, keys_of(outputs))

    def describe(self) -> str:
        """Number of outputs."""
        return f"the table of {len(self.keys):,} outputs"

    def event(self, threshold: float, above: bool) -> str:
        """The outputs of the event, where they are few; else their number."""
        inside = np.flatnonzero((self.ratios >= threshold) == above)
        if not 0 < len(inside) <= LISTED or self.outputs.shape[1] > LISTED_NUMBERS:
            return f"the output is one of {len(inside):,} of {len(self.keys):,}"
        texts = []
        for row in self.outputs[inside]:
            numbers = ", ".join(f"{number:g}" for number in row)
            texts.append(f"({numbers})" if len(row) > 1 else numbers)
        return f"the output is {' or '.join(texts)}"


@dataclass(frozen=True)
class Feature:
    """One discrete feature of an output, and the log ratios of its values.

    kind: value, bits or pair. columns: numbers that it reads. edges: of the
    bins of a value with many values; empty where each value is by itself.
    """

    kind: str
    columns: tuple[int, ...]
    edges: Floats
    keys: Array
    ratios: Floats

    def __call__(self, outputs: Floats) -> Floats:
        """The ratio of each output."""
        codes = codes_of(self.kind, outputs[:, list(self.columns)], self.edges)
        return _looked_up(self.keys, self.ratios, codes)

    def describe(self) -> str:
        """What it reads."""
        numbers = " and ".join(str(column + 1) for column in self.columns)
        if self.kind == "bits":
            return f"the last bits of number {numbers}"
        if self.kind == "pair":
            return f"numbers {numbers} together"
        return f"number {numbers}"


@dataclass(frozen=True)
class FeatureScore(Score):
    """The sum of the ratios of features, which is the log ratio of the laws if they are
    independent.
    """

    features: Sequence[Feature]

    def __call__(self, outputs: Floats) -> Floats:
        """The sum for each output."""
        total = np.zeros(len(outputs))
        for feature in self.features:
            total += feature(outputs)
        return total

    def describe(self) -> str:
        """The feature, or how many."""
        if len(self.features) == 1:
            return self.features[0].describe()
        return f"{len(self.features)} features of single numbers"


@dataclass(frozen=True)
class LinearScore(Score):
    """A weighted sum of numbers, and the log ratio of its law on both data sets.

    digits: the step to which a sum without noise is rounded, so that equal sums are equal; 0 for
    other sums.
    """

    weights: Floats
    digits: float
    of_sum: Feature | None
    text: str

    def __call__(self, outputs: Floats) -> Floats:
        """The ratio of each sum, or the sum itself."""
        sums = finite(outputs) @ self.weights
        if self.digits > 0:
            sums = np.round(sums / self.digits)
        if self.of_sum is None:
            return sums
        return self.of_sum(sums[:, None])

    def describe(self) -> str:
        """The sum, in words."""
        return self.text


def learned(first: Floats, second: Floats, features: bool = True) -> list[Score]:
    """Scores that were learned from samples (samples, numbers) of both data sets."""
    scores: list[Score] = []
    table = _table(first, second)
    if table is not None:
        scores.append(table)
        if first.shape[1] == 1 and len(table.keys) <= FEW_VALUES:
            return [table, *_sums(first, second)]  # all others would be that table again
    if features:
        singles = _singles(first, second)
        scores.append(FeatureScore(singles))
        if len(singles) > 1:
            best = max(singles, key=lambda feature: _distance(feature, first, second))
            scores.append(FeatureScore([best]))
        scores += [FeatureScore([pair]) for pair in _pairs(first, second)]
    if first.shape[1] <= MOST_COLUMNS:
        scores += _linear(first, second)
    return scores


def finite(outputs: Floats) -> Floats:
    """Outputs with 0 in place of values that are no number."""
    return np.where(np.abs(outputs) < ABSENT, outputs, 0.0)


def keys_of(rows: Floats) -> Array:
    """(samples,): a hash of each row; rows that differ may, very rarely, have one hash."""
    words = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # −0 is 0
    keys = np.zeros(len(rows), np.uint64)
    factor = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        for column in range(words.shape[1]):
            keys = (keys ^ words[:, column]) * factor
            keys ^= keys >> np.uint64(29)
    return keys


def codes_of(kind: str, columns: Floats, edges: Floats) -> Array:
    """(samples,): the code of a feature's value."""
    if kind == "bits":
        return last_bits(columns[:, 0])
    if kind == "pair" or not edges.size:
        return keys_of(columns)
    values = np.where(np.isfinite(columns[:, 0]), columns[:, 0], ABSENT)
    return np.searchsorted(edges, values).astype(np.uint64)


def last_bits(values: Floats) -> Array:
    """A code of the power of 2 of a number's last bit that is not 0, and of the number's size.

    Sums in floating-point arithmetic have last bits that depend on what was
    added. Source: Mironov (2012).
    """
    fractions, exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(fractions * 2.0**BITS).astype(np.int64)
    lowest = (whole & -whole).astype(float)
    place = np.where(lowest > 0, np.log2(np.maximum(lowest, 1)), 0)
    codes = (exponents + place.astype(int) + 4096) * 8192 + exponents + 4096
    return np.asarray(codes).astype(np.uint64)


def _looked_up(keys: Array, ratios: Floats, wanted: Array) -> Floats:
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, ratios[place], 0.0)


def _ratios(first: Array, second: Array) -> tuple[Array, Floats, Integers]:
    """Codes that were seen, rising, the log ratio of their counts, half a count added, and where
    each was first seen.
    """
    both = np.concatenate([first, second])
    keys = np.unique(both)
    places = np.searchsorted(keys, both)
    seen = np.empty(len(keys), int)
    seen[places[::-1]] = np.arange(len(both))[::-1]  # of equal places the last one written stays
    hits = np.bincount(places[: len(first)], minlength=len(keys))
    alarms = np.bincount(places[len(first) :], minlength=len(keys))
    return keys, np.log((hits + 0.5) / (alarms + 0.5)), seen


def _table(first: Floats, second: Floats) -> TableScore | None:
    """The table of outputs; None where most were seen once."""
    keys, ratios, seen = _ratios(keys_of(first), keys_of(second))
    if len(keys) > min(MOST_OUTPUTS, len(first)):
        return None
    in_first = seen < len(first)
    outputs = np.empty((len(keys), first.shape[1]))
    outputs[in_first] = first[seen[in_first]]
    outputs[~in_first] = second[seen[~in_first] - len(first)]
    return TableScore(keys, ratios, outputs)


def _feature(kind: str, columns: tuple[int, ...], edges: Floats, *sides: Floats) -> Feature:
    codes = [codes_of(kind, side[:, list(columns)], edges) for side in sides]
    keys, ratios, _ = _ratios(*codes)
    return Feature(kind, columns, edges, keys, ratios)


def _singles(first: Floats, second: Floats) -> list[Feature]:
    """Features of every number by itself, and of its last bits where it has a fraction."""
    features = []
    nothing = np.zeros(0)
    for column in range(first.shape[1]):
        values = np.concatenate([first[:, column], second[:, column]])
        edges = _edges(values)
        features.append(_feature("value", (column,), edges, first, second))
        with np.errstate(invalid="ignore"):
            is_fraction = np.isfinite(values) & (values != np.floor(values))
        if is_fraction.mean() > 0.01:
            features.append(_feature("bits", (column,), nothing, first, second))
    return features


def _edges(values: Floats) -> Floats:
    """Edges of bins that hold about as many values each; none for few values."""
    some = values[: 4 * 4096] if len(values) > 4 * 4096 else values
    if len(np.unique(some)) <= FEW_VALUES:
        return np.zeros(0)
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    numbers = np.where(np.isfinite(values), values, ABSENT)
    return np.unique(np.quantile(numbers, shares))


def _distance(feature: Feature, first: Floats, second: Floats) -> float:
    """How far apart the laws of a feature are, in the samples it was learned from."""
    part = slice(0, 20_000)
    above = np.mean(feature(first[part]) > 0)
    return float(above - np.mean(feature(second[part]) > 0))


def _pairs(first: Floats, second: Floats) -> Iterator[Feature]:
    """The pair of numbers with few values whose joint law differs most."""
    part = slice(0, 10_000)
    both = np.concatenate([first[part], second[part]])
    columns: list[int] = []
    for column in range(both.shape[1]):
        values = np.unique(both[:200, column])
        if 1 < len(values) <= PAIRED_VALUES:
            columns.append(column)
    most = -1.0
    best: Feature | None = None
    for pair in combinations(columns[:PAIRED_COLUMNS], 2):
        feature = _feature("pair", pair, np.zeros(0), first[part], second[part])
        distance = _distance(feature, first, second)
        if distance > most:
            most = distance
            best = feature
    if best is not None:
        yield _feature("pair", best.columns, best.edges, first, second)


@dataclass(frozen=True)
class _Fisher:
    """Weights of the sum that tells most, among directions with noise, and the sum of those without.

    sides: finite outputs of both data sets. Either may be all 0.
    """

    sides: tuple[Floats, Floats]
    weights: Floats
    plain: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats) -> "_Fisher":
        """By means and covariances of both data sets."""
        ours = finite(first)
        theirs = finite(second)
        shift = ours.mean(axis=0) - theirs.mean(axis=0)
        spread = np.atleast_2d(np.cov(ours, rowvar=False) + np.cov(theirs, rowvar=False)) / 2
        sizes = np.sqrt(np.maximum(np.diag(spread), 0))
        scale = np.where(sizes > 0, sizes, 1.0)
        variances, directions = np.linalg.eigh(spread / np.outer(scale, scale))
        along = directions.T @ (shift / scale)
        noisy = variances > FREE * max(float(variances.max()), 1.0)
        weights = directions[:, noisy] @ (along[noisy] / (variances[noisy] + RIDGE)) / scale
        plain = directions[:, ~noisy] @ along[~noisy] / scale
        return cls((ours, theirs), weights, plain)


def _sums(first: Floats, second: Floats) -> Iterator[Score]:
    """Fisher's linear score by itself."""
    fisher = _Fisher.of(first, second)
    if fisher.weights.any():
        yield LinearScore(fisher.weights, 0.0, None, "a weighted sum of all numbers")


def _linear(first: Floats, second: Floats) -> Iterator[Score]:
    """Fisher's linear score, with and without the law of its sum, and the sum without noise."""
    fisher = _Fisher.of(first, second)
    ours, theirs = fisher.sides
    if fisher.weights.any():
        yield LinearScore(fisher.weights, 0.0, None, "a weighted sum of all numbers")
        yield _with_law(
            fisher.weights, 0.0, ours, theirs, "the law of a weighted sum of all numbers"
        )
    size = sum(float(np.abs(side @ fisher.plain).max(initial=0)) for side in fisher.sides)
    if size > 0:
        yield _with_law(fisher.plain, size * 1e-7, ours, theirs, "a sum of numbers without noise")


def _with_law(weights: Floats, digits: float, first: Floats, second: Floats, text: str) -> Score:
    sums = [side @ weights for side in (first, second)]
    if digits > 0:
        sums = [np.round(side / digits) for side in sums]
    edges = _edges(np.concatenate(sums))
    feature = _feature("value", (0,), edges, sums[0][:, None], sums[1][:, None])
    return LinearScore(weights, digits, feature, text)
