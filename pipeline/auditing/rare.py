"""Rare events: found and bounded by tilted draws, whose weights are exact.

Tilted draws bound from below how likely an event is on one data set. On the neighbour its chance is
bounded by samples as they are drawn: an event that tilted draws do not reach may happen there in
another way, and no weight bounds that. So a leak of δ takes about 10 e^ε/δ samples of the neighbour,
and few of the other data set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from pipeline.auditing import samples, tilted
from pipeline.auditing.bounds import APPROXIMATE, EXACT, Bounded, Counts
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Event, Pair
from pipeline.auditing.scores import Score, learned
from pipeline.auditing.subject import Subject
from pipeline.auditing.tilted import Layout, NotTilted
from pipeline.study.arrays import Floats

SHARE = 0.1  # of the error probability, for rare events
LEAST = 200_000  # samples, from which on there are tilted draws
TAUGHT = 60_000  # tilted samples of either data set, from which scores are learned
TRIED = 60_000  # on which an event is chosen
COUNTED = 200_000  # that bound the chance of the event
PROBED = 2  # samples, by which one sees how many numbers a sample has
DEVIATIONS = 2.0
FOR_ALARMS = 0.7  # share of the error of a rare event
Sides: TypeAlias = tuple[Floats, Floats]


@dataclass(frozen=True)
class Tilts:
    """What is tilted of the draws for either data set of a pair."""

    subject: Subject
    pair: Pair
    layouts: tuple[Layout, Layout]
    width: int

    @classmethod
    def of(cls, subject: Subject, pair: Pair, total: int) -> "Tilts | None":
        """None where weights are not known, or there are too few samples."""
        if total < LEAST:
            return None
        datasets = (pair.first, pair.second)
        try:
            layouts = [tilted.layout_of(subject, dataset) for dataset in datasets]
        except NotTilted:
            return None
        width = max(subject.sample(dataset, PROBED, [0]).shape[1] for dataset in datasets)
        return cls(subject, pair, (layouts[0], layouts[1]), width)

    def drawn(self, side: int, count: int, seed: tuple[int, ...]) -> tuple[Floats, Floats]:
        """(count, numbers) and (count,): tilted samples of a data set, and their weights."""
        dataset = self.pair.second if side else self.pair.first
        layout = self.layouts[side]
        outputs, weights = tilted.sampled(self.subject, dataset, layout, count, [*seed, side])
        return samples.padded(outputs, self.width), weights


@dataclass(frozen=True)
class Hits:
    """How often an event happened among tilted draws. chance: at least, of the event."""

    chance: float
    hits: int
    trials: int


@dataclass(frozen=True)
class Scores:
    """Scores of samples, and their weights."""

    values: Floats
    weights: Floats

    @classmethod
    def plain(cls, values: Floats) -> "Scores":
        """Of samples that are drawn as they are."""
        return cls(values, np.ones(len(values)))

    def chances(self, thresholds: Floats) -> Sides:
        """Chances that the score is below each threshold, and at least it."""
        return self._means(thresholds, self.weights)

    def surely(self, thresholds: Floats) -> Sides:
        """These chances less `DEVIATIONS` of their standard errors, at least 0."""
        means = self._means(thresholds, self.weights)
        squares = self._means(thresholds, self.weights**2)
        errors = [np.sqrt(square / len(self.values)) for square in squares]
        low, high = (
            np.maximum(mean - DEVIATIONS * error, 0)
            for mean, error in zip(means, errors, strict=True)
        )
        return low, high

    def _means(self, thresholds: Floats, numbers: Floats) -> Sides:
        """Mean of numbers, where the score is below each threshold, and where it is at least it.

        Each is a sum of its own: what is missing to 1 would have the error of all weights.
        """
        order = np.argsort(self.values)
        count = len(order)
        places = np.searchsorted(self.values[order], thresholds)
        upwards = np.concatenate([[0.0], np.cumsum(numbers[order])])
        downwards = np.concatenate([[0.0], np.cumsum(numbers[order][::-1])])
        return upwards[places] / count, downwards[count - places] / count


def chosen(
    tilts: Tilts, plain: Sides, promise: Promise, error: float, size: int, seed: int
) -> Event | None:
    """The event that tilted draws show to tell most.

    plain: samples of both data sets as they are drawn, by which alarms are expected. error: of the
    bounds. size: samples that will count alarms. None where weights turn out not to be known.
    """
    try:
        taught = [tilts.drawn(side, TAUGHT, (seed, 21))[0] for side in range(2)]
        tried = [tilts.drawn(side, TRIED, (seed, 22)) for side in range(2)]
    except NotTilted:
        return None
    best: tuple[float, Event] | None = None
    for score in learned(taught[0], taught[1]):
        scores = [Scores(score(rows), weights) for rows, weights in tried]
        as_drawn = [Scores.plain(score(rows)) for rows in plain]
        merits = _Merits(promise, error * FOR_ALARMS, size)
        offer = merits.best_event(score, scores, as_drawn)
        if best is None or offer[0] > best[0]:
            best = offer
    assert best is not None
    return best[1]


@dataclass(frozen=True)
class _Merits:
    """What events certify over what is promised. error: of alarms among `size` samples."""

    promise: Promise
    error: float
    size: int

    def best_event(
        self, score: Score, tilted_ones: Sequence[Scores], plain: Sequence[Scores]
    ) -> tuple[float, Event]:
        """What the best event of a score seems to certify, and that event."""
        thresholds = samples.thresholds_of(np.concatenate([side.values for side in tilted_ones]))
        sure = [side.surely(thresholds) for side in tilted_ones]
        by_weight = [side.chances(thresholds) for side in tilted_ones]
        as_drawn = [side.chances(thresholds) for side in plain]
        offers = []
        for is_above in (False, True):
            for swapped in (False, True):
                hits = sure[int(swapped)][int(is_above)]
                neighbour = int(not swapped)
                alarms = [side[neighbour][int(is_above)] for side in (by_weight, as_drawn)]
                merits = self._of(hits, np.maximum(*alarms))
                place = int(np.argmax(merits))
                event = Event(score, float(thresholds[place]), is_above, swapped)
                offers.append((float(merits[place]), event))
        return max(offers, key=lambda offer: offer[0])

    def _of(self, hits: Floats, alarms: Floats) -> Floats:
        deviation = np.full(hits.shape, -special.ndtri(self.error))
        expected = np.minimum(np.round(alarms * self.size), self.size)
        most = APPROXIMATE.most(expected, self.size, deviation)
        return self.promise.share(hits, most)


def counted(tilts: Tilts, event: Event, error: float, seed: int) -> Hits | None:
    """How likely an event is on the data set on which it is likely, by fresh tilted draws.

    None where weights turn out not to be known.
    """
    try:
        outputs, weights = tilts.drawn(int(event.swapped), COUNTED, (seed, 23))
    except NotTilted:
        return None
    happened = (event.score(outputs) >= event.threshold) == event.above
    chance = tilted.mean_at_least(weights * happened, error * (1 - FOR_ALARMS))
    return Hits(chance, int(happened.sum()), COUNTED)


def bounded(hits: Hits, alarms: int, size: int, error: float) -> Bounded:
    """Both chances, with `alarms` among `size` samples of the neighbour."""
    deviation = np.array([-special.ndtri(error * FOR_ALARMS)])
    most = EXACT.most(alarms, size, deviation)
    return Bounded(hits.chance, float(most[0]), 1 - error)


def finding_of(
    tilts: Tilts, event: Event, promise: Promise, hits: Hits, alarms: int, size: int, error: float
) -> samples.Finding:
    """What is certified of a rare event."""
    bounds = bounded(hits, alarms, size, error)
    text = f"{event}, whose chance is at least {hits.chance:.3g} by weights of tilted draws"
    counts = Counts(hits.hits, hits.trials, alarms, size)
    violates = promise.broken_by(bounds)
    total = size + TAUGHT + TRIED + COUNTED
    return samples.Finding(tilts.pair, text, counts, bounds, total, violates)
