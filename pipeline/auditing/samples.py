"""Level 3: samples of both data sets.

Some learn a score and a threshold, the others certify.

At look after look there are more samples of either; the error probability is
spent over looks as that of claims is (`pipeline.study.until`). What certifies was
never learned from.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from pipeline.auditing.boosted import boosted
from pipeline.auditing.bounds import (
    APPROXIMATE,
    RULES,
    Bounded,
    Counts,
    Rule,
    certified,
    foreseen,
)
from pipeline.auditing.offered import DensityScore
from pipeline.auditing.promise import Promise
from pipeline.auditing.scores import Score, TableScore, learned
from pipeline.auditing.subject import Subject
from pipeline.study.arrays import Floats
from pipeline.study.until import Until

LEARN = 0.2  # share of samples from which scores are learned
CHOOSE = 0.1  # share on which score and threshold are chosen; the rest certifies
FIRST_LOOK = 1_000
LEARNED_FROM = 200_000  # samples, from which on more teach little
CHOSEN_ON = 400_000
THRESHOLDS = 200  # that are tried
HOPED = 0.25  # alarms that may have been missed, of an event that is hoped to be rare
CURVE = 12  # points of the certified trade-off curve
CURVE_SHARE = 0.1  # of the error probability, for the curve
CHUNK = 1 << 21  # numbers of one call
MOST_NUMBERS = 24_000_000  # of either data set, that are kept


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets. name: what differs."""

    name: str
    first: Any
    second: Any

    def swapped(self) -> "Pair":
        """The same, the other way round."""
        return Pair(self.name, self.second, self.first)


@dataclass(frozen=True, eq=False)
class Event:
    """Outputs whose score is at least a threshold, or below it.

    `swapped`: likely on D′, not D.
    """

    score: Score
    threshold: float
    above: bool
    swapped: bool

    def happened(self, scores: Floats) -> int:
        """How many outputs are in the event, by their scores."""
        return int(np.count_nonzero((scores >= self.threshold) == self.above))

    def same(self, other: "Event") -> bool:
        """Whether it is that event of the same score."""
        ours = (self.threshold, self.above, self.swapped)
        return self.score is other.score and ours == (other.threshold, other.above, other.swapped)

    def __str__(self) -> str:
        return self.score.event(self.threshold, self.above)


@dataclass(frozen=True)
class Finding:
    """What samples certify of a pair. counts: of the event, first on the data set
    on which it is likely. samples: of either data set. points: of the trade-off
    curve.
    """

    pair: Pair
    event: str
    counts: Counts
    bounded: Bounded
    samples: int
    violates: bool
    points: Sequence[Bounded] = ()


@dataclass(frozen=True)
class Plan:
    """How many samples of either data set there are at most, and what may err
    with what probability. deadline: `time.monotonic()` after which no look
    begins.
    """

    samples: int
    error: float
    seed: int
    deadline: float = float("inf")

    def looks(self) -> Iterator[tuple[int, float]]:
        """Samples of either data set at a look, and the error probability that it
        spends.
        """
        first = min(FIRST_LOOK, self.samples)
        rule = Until(least=max(first, 2), most=max(self.samples, 2))
        wanted = 0.0
        share = 0.0
        for look in rule.looks(1):
            share += look.share
            is_last = look.replications >= self.samples
            if look.replications < wanted and not is_last:
                continue  # every second look or so is enough
            yield look.replications, self.error * share
            share = 0.0
            wanted = look.replications * 2.5


def strength(subject: Subject, pair: Pair, promise: Promise, samples: int, seed: int) -> float:
    """The budget that a few samples seem to show, over the one promised.

    No certificate.

    The same seed gives both data sets the same stream, so that pairs are compared
    on equal numbers.
    """
    outputs = [subject.sample(data, samples, [seed, 5]) for data in (pair.first, pair.second)]
    width = max(side.shape[1] for side in outputs)
    first, second = (padded(side, width) for side in outputs)
    half = samples // 2
    scores = learned(first[:half], second[:half])
    error = 0.05
    scored = Scored(first[half:], second[half:])
    (event, *_) = chosen(scores, scored, promise, error, half)
    counts = scored.counted(event)
    return promise.spent_by(certified(counts, error))


@dataclass
class Shares:
    """Samples of one data set, by what they are for."""

    learn: list[Floats]
    choose: list[Floats]
    certify: list[Floats]

    def add(self, outputs: Floats) -> None:
        """Share out the samples of one call.

        Few are needed to learn and to choose.
        """
        learned_from = sum(map(len, self.learn))
        chosen_on = sum(map(len, self.choose))
        taught = min(round(LEARN * len(outputs)), LEARNED_FROM - learned_from)
        tried = min(round(CHOOSE * len(outputs)), CHOSEN_ON - chosen_on)
        self.learn.append(outputs[:taught])
        self.choose.append(outputs[taught : taught + tried])
        self.certify.append(outputs[taught + tried :])


class Streams:
    """Samples of both data sets, more at every look."""

    def __init__(self, subject: Subject, pair: Pair, seed: int):
        self.subject = subject
        self.pair = pair
        self.seed = seed
        self.sides = (Shares([], [], []), Shares([], [], []))
        self.drawn = 0
        self.calls = 0
        self.width = 0

    def up_to(self, samples: int, deadline: float) -> None:
        """Draw until there are so many samples in all, or as many as time and
        memory allow.
        """
        while self.drawn < samples and not self.full:
            if self.drawn and time.monotonic() > deadline:
                return
            size = min(samples - self.drawn, self._chunk())
            self.calls += 1
            datasets = (self.pair.first, self.pair.second)
            for number, (side, dataset) in enumerate(zip(self.sides, datasets, strict=True)):
                outputs = self.subject.sample(dataset, size, [self.seed, self.calls, number])
                self.width = max(self.width, outputs.shape[1])
                side.add(outputs)
            self.drawn += size

    def all_of(self, share: str) -> tuple[Floats, Floats]:
        """Samples of a share so far, of both data sets, with equally many
        numbers.
        """
        first, second = (getattr(side, share) for side in self.sides)
        return self._together(first), self._together(second)

    def _together(self, parts: list[Floats]) -> Floats:
        return np.concatenate([padded(part, self.width) for part in parts])

    @property
    def full(self) -> bool:
        """Whether no more are kept."""
        return self.drawn * self.width >= MOST_NUMBERS

    def _chunk(self) -> int:
        """Samples of one call: no more than there are, so that time is looked at;
        little memory.
        """
        if not self.width:
            return FIRST_LOOK
        return max(min(CHUNK // self.width, self.drawn), 1)


def scores_of(
    subject: Subject, pair: Pair, first: Floats, second: Floats, with_trees: bool = True
) -> list[Score]:
    """All scores by which events may be chosen: those that are learned from samples of both data
    sets, and one from the log-density that is offered.

    with_trees: whether boosted trees are among them, which are not the same in all environments.
    """
    scores = learned(first, second)
    if with_trees:
        table = next((score for score in scores if isinstance(score, TableScore)), None)
        scores += boosted(first, second, table)
    if subject.log_density is not None:
        scores.append(DensityScore(subject.log_density, pair.first, pair.second))
    return scores


class Scored:
    """Samples of both data sets, whose scores are found once."""

    def __init__(self, first: Floats, second: Floats):
        self.sides = (first, second)
        self._values: dict[int, tuple[Score, tuple[Floats, Floats]]] = {}  # by id, which lives here

    def by(self, score: Score) -> tuple[Floats, Floats]:
        """(samples,) of either data set: their scores."""
        number = id(score)
        if number not in self._values:
            first, second = self.sides
            self._values[number] = (score, (score(first), score(second)))
        return self._values[number][1]

    def counted(self, event: Event) -> Counts:
        """How often an event happened, first on the data set on which it is likely."""
        return counted(event, *self.by(event.score))


@dataclass(frozen=True, eq=False)
class Look:
    """One look at samples. finding: what it certifies. event: by whose score the
    trade-off curve is certified.
    """

    finding: Finding
    event: Event
    choose: Scored
    certify: Scored
    error: float

    def with_curve(self) -> Finding:
        """The finding with certified points of the trade-off curve, by events of
        one score.
        """
        thresholds = curve_thresholds(np.concatenate(self.choose.by(self.event.score)))
        points = []
        for threshold in thresholds:
            counts = self.certify.counted(replace(self.event, threshold=threshold))
            points.append(certified(counts, self.error / len(thresholds)))
        return replace(self.finding, points=tuple(points))


def look(streams: Streams, promise: Promise, error: float) -> Look:
    """Learn, choose and certify on the samples so far."""
    scores = scores_of(streams.subject, streams.pair, *streams.all_of("learn"))
    choose = Scored(*streams.all_of("choose"))
    certify = Scored(*streams.all_of("certify"))
    size = len(certify.sides[0])
    main_error = error * (1 - CURVE_SHARE)
    events = chosen(scores, choose, promise, main_error, size)
    findings: list[Finding] = []
    for event in events:
        counts = certify.counted(event)
        rule = best_rule(choose.counted(event), promise, main_error / len(events), size)
        bounded = rule.bounded(counts, main_error / len(events))
        violates = promise.broken_by(bounded)
        findings.append(Finding(streams.pair, str(event), counts, bounded, streams.drawn, violates))
    best = max(findings, key=lambda finding: promise.spent_by(finding.bounded))
    return Look(best, events[0], choose, certify, error * CURVE_SHARE)


def best_rule(tried: Counts, promise: Promise, error: float, size: int) -> Rule:
    """The rule that would certify most, if the event happens as often among
    `size` samples as it did where it was chosen.
    """
    hits = round((tried.hits + 0.5) / (tried.trials + 1) * size)
    alarms = round((tried.alarms + 0.5) / (tried.others + 1) * size)
    corners = foreseen(Counts(hits, size, alarms, size), error)
    shares = promise.share(corners.hits, corners.alarms)
    least_of_rules = np.minimum.reduceat(shares, corners.starts)
    return RULES[int(np.argmax(least_of_rules))]


def curve_thresholds(scores: Floats, most: int = CURVE) -> list[float]:
    """Thresholds of the events of a trade-off curve."""
    tried = thresholds_of(scores)
    places = np.unique(np.linspace(0, len(tried) - 1, most).astype(int))
    thresholds: list[float] = tried[places].tolist()
    return thresholds


def padded(outputs: Floats, width: int) -> Floats:
    """Outputs with as many numbers as those of the other data set."""
    missing = width - outputs.shape[1]
    if missing == 0:
        return outputs
    return np.pad(outputs, ((0, 0), (0, missing)), constant_values=np.nan)


def counted(event: Event, first: Floats, second: Floats) -> Counts:
    """How often an event happened, first on the data set on which it is likely.

    From scores.
    """
    on_first = event.happened(first)
    on_second = event.happened(second)
    if event.swapped:
        return Counts(on_second, len(second), on_first, len(first))
    return Counts(on_first, len(first), on_second, len(second))


def chosen(
    scores: Sequence[Score], choose: Scored, promise: Promise, error: float, size: int
) -> list[Event]:
    """The event that is sure to certify most, and the one that may certify most,
    if that differs.

    size: samples that will certify. Of rare events little is sure before these
    are counted.
    """
    trials = len(choose.sides[0])
    surest: list[tuple[float, Event]] = []
    hopeful: list[tuple[float, Event]] = []
    for score in scores:
        ours, theirs = choose.by(score)
        thresholds = thresholds_of(np.concatenate([ours, theirs]))
        above = np.array([_share_above(side, thresholds) for side in (ours, theirs)])
        hits = np.array([above, 1 - above])  # (above or below, data set, thresholds)
        alarms = hits[:, ::-1]
        sure = _merits(hits, alarms, promise, error, min(trials, size))
        hope = _merits(hits, alarms + HOPED / trials, promise, error, size)
        surest.append(_best_event(score, thresholds, sure))
        hopeful.append(_best_event(score, thresholds, hope))
    events = [max(offers, key=lambda offer: offer[0])[1] for offers in (surest, hopeful)]
    surest_event, hopeful_event = events
    if surest_event.same(hopeful_event):
        return events[:1]
    return events


def _best_event(score: Score, thresholds: Floats, merits: Floats) -> tuple[float, Event]:
    """The largest of merits (above or below, data set, thresholds), and its event."""
    below, swapped, place = np.unravel_index(int(np.argmax(merits)), merits.shape)
    threshold = float(thresholds[place])
    event = Event(score, threshold, above=not below, swapped=bool(swapped))
    return float(merits[below, swapped, place]), event


def _merits(hits: Floats, alarms: Floats, promise: Promise, error: float, size: int) -> Floats:
    """The budget that events of these shares certify by so many samples, over the
    one promised; shape of `hits`.
    """
    deviation = np.full(hits.shape, -special.ndtri(error / 2))
    low = APPROXIMATE.least(np.round(hits * size), size, deviation)
    high = APPROXIMATE.most(np.minimum(np.round(alarms * size), size), size, deviation)
    return promise.share(low, high)


def thresholds_of(scores: Floats) -> Floats:
    """Values of the score that are tried, rising.

    More of the ends, as rare events are there.
    """
    values = np.unique(scores)
    if len(values) <= THRESHOLDS:
        return values
    tail = np.geomspace(1, len(values), THRESHOLDS // 2).astype(int) - 1
    middle = np.linspace(0, len(values) - 1, THRESHOLDS // 2).astype(int)
    places = np.unique(np.concatenate([tail, len(values) - 1 - tail, middle]))
    tried: Floats = values[places]
    return tried


def _share_above(scores: Floats, thresholds: Floats) -> Floats:
    """Share of scores at or above each threshold."""
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, thresholds)
    return np.subtract(1, below / len(ordered), dtype=float)
