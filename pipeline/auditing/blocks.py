"""An audit as studies: blocks of samples and planted faults are units, and their
metrics are counts.

So samples are kept, resumed, merged, and drawn on any cluster, as all numbers of
this program are. Each audit is a problem of its own, whose name has a digest of
the code and the data that it is about: other code is another study. What tells
the data sets apart is learned again in each process, from samples of the
population's stream, which is the same for all units.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np

from pipeline.auditing import audit as levels
from pipeline.auditing import rare, samples
from pipeline.auditing.audit import Case
from pipeline.auditing.bounds import Bounded, Counts, certified
from pipeline.auditing.faults import FAULTS, Site, planted
from pipeline.auditing.rare import Tilts
from pipeline.auditing.samples import CURVE_SHARE, Event, Finding, Plan, counted
from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.guarantee import Guarantee, unprotected
from pipeline.study.known import problem_named
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseEstimator, BaseMechanism, BaseMetric, BaseModel
from pipeline.study.problem import Problem

PREFIX = "audit_"
EVENTS = 2  # that may certify most
RARE = EVENTS  # number of the rare event that tilted draws find
CURVE = 6  # points of the trade-off curve
POINTS = RARE + 1 + CURVE
UNIT = 50_000  # samples of either data set in a unit
STEPS = 50.0  # about nanoseconds that a number of a sample takes
COUNTS = unprotected("it counts events of the mechanism that is audited")


@dataclass(frozen=True)
class Sizes:
    """How samples of either data set are used. certified: those that are counted,
    in units.
    """

    learned: int
    chosen: int
    units: int
    unit: int

    @classmethod
    def of(cls, total: int, unit: int = UNIT) -> "Sizes":
        """The sizes for so many samples in all, with at least one unit.

        >>> Sizes.of(100_000)
        Sizes(learned=20000, chosen=10000, units=2, unit=35000)
        """
        taught = min(round(samples.LEARN * total), samples.LEARNED_FROM)
        tried = min(round(samples.CHOOSE * total), samples.CHOSEN_ON)
        left = max(total - taught - tried, 1)
        units = -(-left // unit)
        return cls(taught, tried, units, left // units)

    @property
    def certified(self) -> int:
        """Samples that are counted."""
        return self.units * self.unit


@dataclass(frozen=True, eq=False)
class AuditProblem(Problem):
    """The problem of one audit. case: what is audited, with the pairs that
    samples certify.
    """

    case: Case | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AuditProblem) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def problem_of(case: Case, digest: str) -> AuditProblem:
    """The problem of an audit. digest: of all that it is about."""
    return AuditProblem(
        PREFIX + digest,
        f"an audit of {case.subject.name}",
        "pipeline.auditing",
        models={"seeds": SampleSeeds},
        mechanisms={"counts": EventCounts, "faults": PlantedFaults},
        estimators={"nothing": Nothing},
        metrics={"hits": Hits, "alarms": Alarms, "found": Found},
        case=case,
    )


def _case(digest: str) -> Case:
    """What an audit is about, in whatever process."""
    problem = problem_named(PREFIX + digest)
    assert isinstance(problem, AuditProblem) and problem.case is not None
    return problem.case


@dataclass(frozen=True)
class Seeds:
    """The seed of what is learned, the same for all units, and one of each
    replication.
    """

    learning: int
    of_replications: Annotated[Integers, "reps"]


@dataclass(frozen=True)
class SampleSeeds(BaseModel):
    """Seeds of samples.

    The data of an audit are two data sets, which are no random ones.
    """

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Seeds

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> Seeds:
        """The seed of what is learned, and none of the replications."""
        return Seeds(int(population.integers(1 << 62)), np.zeros(reps, int))

    def simulate(self, truth: Seeds, rng: np.random.Generator) -> Seeds:
        """All seeds."""
        return Seeds(truth.learning, rng.integers(1 << 62, size=len(truth.of_replications)))

    def cost(self) -> float:
        """Next to nothing."""
        return 1.0


@dataclass(frozen=True)
class Counted:
    """How often events happened on either data set.

    First on that on which they are likely.
    """

    hits: Annotated[Floats, "reps", "points"]
    alarms: Annotated[Floats, "reps", "points"]
    points: int = POINTS


@dataclass(frozen=True)
class EventCounts(BaseMechanism):
    """Counts events among fresh samples of both data sets of a pair."""

    case: str = parameter("digest of what is audited")
    pair: int = parameter("number of the pair of neighbours", low=0)
    learned_from: int = parameter("samples from which scores are learned", low=1)
    chosen_on: int = parameter("samples on which an event is chosen", low=1)
    certified: int = parameter("samples that are counted in all", low=1)
    unit_samples: int = parameter("samples of one replication", low=1)
    error: float = parameter("error probability of the bounds of this pair", above=0, below=1)
    guarantee: ClassVar[Guarantee] = COUNTS
    accepts: ClassVar[type] = Seeds
    releases: ClassVar[type] = Counted

    def release(self, data: Seeds, rng: np.random.Generator) -> Counted:
        """(reps, points): how often each event happened."""
        events = self.events(data.learning).padded
        seeds = rng.integers(1 << 62, size=len(data.of_replications))
        counts = np.array([self._counts(events, int(seed)) for seed in seeds], float)
        return Counted(counts[:, 0], counts[:, 1])

    def events(self, seed: int) -> "Events":
        """What is counted, learned of the seed."""
        return _events(self, seed)

    @property
    def tilts(self) -> Tilts | None:
        """What can be tilted of the draws of its pair; None where nothing can."""
        case = _case(self.case)
        total = self.learned_from + self.chosen_on + self.certified
        return Tilts.of(case.subject, case.pairs[self.pair], total)

    def drawn(self, count: int, seed: int) -> tuple[Floats, Floats]:
        """(count, numbers): samples of both data sets, with equally many numbers."""
        case = _case(self.case)
        streams = samples.Streams(case.subject, case.pairs[self.pair], seed)
        streams.up_to(count, float("inf"))
        parts = [streams.all_of(name) for name in ("learn", "choose", "certify")]
        first, second = (np.concatenate(sides) for sides in zip(*parts, strict=True))
        return first, second

    def _counts(self, events: Iterable[Event], seed: int) -> tuple[list[int], list[int]]:
        first, second = self.drawn(self.unit_samples, seed)
        hits = []
        alarms = []
        for event in events:
            counts = counted(event, event.score(first), event.score(second))
            hits.append(counts.hits)
            alarms.append(counts.alarms)
        return hits, alarms

    def cost(self) -> float:
        """About the time of the samples of a replication."""
        return STEPS * self.unit_samples


@dataclass(frozen=True, eq=False)
class Events:
    """best: those that may certify most. curve: of the trade-off curve. tried:
    counts of the best. rare: that tilted draws find, None without any.
    """

    best: tuple[Event, ...]
    curve: tuple[Event, ...]
    tried: tuple[Counts, ...]
    rare: Event | None

    @property
    def padded(self) -> tuple[Event, ...]:
        """`POINTS` events: the best ones, the rare one, and those of the curve,
        the last of either repeated.
        """
        best = (*self.best, *self.best[-1:] * EVENTS)
        curve = (*self.curve, *self.curve[-1:] * CURVE)
        return (*best[:EVENTS], self.rare or best[0], *curve[:CURVE])


@lru_cache(maxsize=8)
def _events(mechanism: EventCounts, seed: int) -> Events:
    """Learn scores from some samples, and choose events on others."""
    case = _case(mechanism.case)
    promise = case.promise
    taught = mechanism.drawn(mechanism.learned_from, seed)
    pair = case.pairs[mechanism.pair]
    scores = samples.scores_of(case.subject, pair, *taught, with_trees=False)
    first, second = mechanism.drawn(mechanism.chosen_on, seed + 1)
    tilts = mechanism.tilts
    rare_event: Event | None = None
    if tilts is not None:
        of_rare = mechanism.error * rare.SHARE
        sides = (first, second)
        rare_event = rare.chosen(tilts, sides, promise, of_rare, mechanism.certified, seed)
    error = mechanism.error * _share_of_best(rare_event)
    choose = samples.Scored(first, second)
    best = samples.chosen(scores, choose, promise, error, mechanism.certified)
    of_best = choose.by(best[0].score)
    curve = [
        dataclasses.replace(best[0], threshold=threshold)
        for threshold in samples.curve_thresholds(np.concatenate(of_best), CURVE)
    ]
    tried = [choose.counted(event) for event in best]
    return Events(tuple(best), tuple(curve), tuple(tried), rare_event)


def _share_of_best(rare_event: Event | None) -> float:
    """Share of the error probability for the events that may certify most."""
    if rare_event is None:
        return 1 - CURVE_SHARE
    return 1 - CURVE_SHARE - rare.SHARE


def finding_of(
    mechanism: EventCounts, learning: int, hits: Floats, alarms: Floats, size: int
) -> Finding:
    """What the counts of all units of a pair certify. hits, alarms: (points,).

    size: samples.
    """
    case = _case(mechanism.case)
    events = mechanism.events(learning)
    error = mechanism.error * _share_of_best(events.rare) / len(events.best)
    findings = []
    pair = case.pairs[mechanism.pair]
    total = size + mechanism.learned_from + mechanism.chosen_on
    for number, event in enumerate(events.best):
        counts = Counts(int(hits[number]), size, int(alarms[number]), size)
        rule = samples.best_rule(events.tried[number], case.promise, error, size)
        bounded = rule.bounded(counts, error)
        violates = case.promise.broken_by(bounded)
        findings.append(Finding(pair, str(event), counts, bounded, total, violates))
    if events.rare is not None:
        findings += _of_rare(mechanism, events.rare, learning, int(alarms[RARE]), size)
    best = max(findings, key=lambda finding: case.promise.spent_by(finding.bounded))
    points: list[Bounded] = []
    for number in range(len(events.curve)):
        place = RARE + 1 + number
        counts = Counts(int(hits[place]), size, int(alarms[place]), size)
        points.append(certified(counts, mechanism.error * CURVE_SHARE / len(events.curve)))
    return dataclasses.replace(best, points=points)


def _of_rare(
    mechanism: EventCounts, event: Event, learning: int, alarms: int, size: int
) -> list[Finding]:
    """What tilted draws certify of the rare event; nothing where weights are not known."""
    tilts = mechanism.tilts
    assert tilts is not None
    error = mechanism.error * rare.SHARE
    hits = rare.counted(tilts, event, error, learning)
    if hits is None:
        return []
    promise = _case(mechanism.case).promise
    return [rare.finding_of(tilts, event, promise, hits, alarms, size, error)]


@dataclass(frozen=True)
class Verdicts:
    """Whether audits found a fault."""

    fault_found: Annotated[Booleans, "reps"]


@dataclass(frozen=True)
class PlantedFaults(BaseMechanism):
    """Plants a fault in the mechanism, and audits that.

    Each replication with a seed of its own.
    """

    case: str = parameter("digest of what is audited")
    pair: int = parameter("number of the pair of neighbours", low=0)
    fault: str = parameter("kind of the fault", choices=tuple(FAULTS))
    shown: float = parameter("ε that is certified of the mechanism as it is", low=0)
    samples: int = parameter("samples of either data set, at most", low=1)
    error: float = parameter("error probability of an audit", above=0, below=1)
    guarantee: ClassVar[Guarantee] = COUNTS
    accepts: ClassVar[type] = Seeds
    releases: ClassVar[type] = Verdicts

    def release(self, data: Seeds, rng: np.random.Generator) -> Verdicts:
        """(reps,): whether each audit found the fault."""
        case = _case(self.case)
        subject = planted(self.fault, site_of(case, self.pair, self.shown))
        assert subject is not None
        faulty = Case(subject, case.promise, [case.pairs[self.pair]])
        verdicts = []
        for seed in rng.integers(1 << 31, size=len(data.of_replications)):
            plan = Plan(self.samples, self.error, int(seed))
            verdicts.append(levels.decided(faulty, plan).violates)
        return Verdicts(np.array(verdicts, bool))

    def cost(self) -> float:
        """About the time of an audit."""
        return STEPS * self.samples


def site_of(case: Case, pair: int, spent: float) -> Site:
    """Where faults are planted."""
    return Site.of(case.subject, case.pairs[pair], case.promise, spent)


def plantable(site: Site) -> Mapping[str, bool]:
    """Fault -> whether it can be planted."""
    return {name: planted(name, site) is not None for name in FAULTS}


@dataclass(frozen=True)
class Converged:
    """Nothing is estimated."""

    converged: Annotated[Booleans, "reps"]


@dataclass(frozen=True)
class Nothing(BaseEstimator):
    """No estimator: counts are as they are."""

    accepts: ClassVar[type] = object

    def fit(self, release: Counted | Verdicts, rng: np.random.Generator) -> Converged:
        """(reps,): all valid."""
        rows = release.fault_found if isinstance(release, Verdicts) else release.hits
        return Converged(np.ones(len(rows), bool))

    def cost(self) -> float:
        """Next to nothing."""
        return 1.0


@dataclass(frozen=True)
class OfEvent(BaseMetric):
    """A count of one event."""

    point: int = parameter("number of the event", low=0, below=POINTS)
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Hits(OfEvent):
    """How often an event happened on the data set on which it is likely."""

    long_name: ClassVar[str] = "samples with the event"

    def __call__(self, truth: Seeds, release: Counted, estimate: Converged) -> Floats:
        """(reps,): the number."""
        return release.hits[:, self.point]


@dataclass(frozen=True)
class Alarms(OfEvent):
    """How often it happened on the neighbour."""

    long_name: ClassVar[str] = "samples of the neighbour with the event"

    def __call__(self, truth: Seeds, release: Counted, estimate: Converged) -> Floats:
        """(reps,): the number."""
        return release.alarms[:, self.point]


@dataclass(frozen=True)
class Found(BaseMetric):
    """Whether an audit found a planted fault."""

    long_name: ClassVar[str] = "fault found"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: Seeds, release: Verdicts, estimate: Converged) -> Floats:
        """(reps,): 1 where it did."""
        return release.fault_found.astype(float)
