"""An audit from the first level to the last; each stops it as soon as it decides."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.auditing import forms, integers, looks, neighbours
from pipeline.auditing.exact import Law
from pipeline.auditing.faults import FAULTS, Site, planted
from pipeline.auditing.laws import Exact, LawOf, compared, enumerated
from pipeline.auditing.neighbours import Relation
from pipeline.auditing.promise import Promise
from pipeline.auditing.replay import Replay, replayed
from pipeline.auditing.samples import Finding, Pair, Plan
from pipeline.auditing.subject import NotFinite, Raised, Subject
from pipeline.auditing.verdict import NOT_REFUTED, VIOLATES, Audited, Point, Power
from pipeline.study.audits import StatedNoise
from pipeline.study.parameters import Checked, InvalidInput, parameter

CERTIFIED = 2  # pairs that samples certify, of those that seem to tell most
MOST_LAWS = 200  # pairs whose laws are compared exactly
CURVE_POINTS = 200
SAMPLED = 20_000  # samples that must agree where the law of the noise decides


@dataclass(frozen=True)
class Options(Checked):
    """How much an audit does.

    >>> Options().confidence
    0.999
    """

    samples: int = parameter("samples of either data set, at most", default=3_000_000, low=100)
    confidence: float = parameter("of the bounds", default=0.999, above=0.5, below=1)
    repeats: int = parameter("faults of each kind that are planted; 0 is none", default=2, low=0)
    seconds: float = parameter(
        "after which nothing new begins", default=120.0, unit="seconds", above=0
    )
    seed: int = parameter("of all random numbers", default=0, low=0)
    grid: float | None = parameter(
        "outputs are rounded to multiples of it; null leaves them as they are",
        default=None,
        above=0,
    )
    sensitivity: float | None = parameter(
        "largest change of any number, as declared", default=None, above=0
    )


@dataclass(frozen=True)
class Case:
    """What is audited: a mechanism, its promise, pairs of neighbours, and how to find others."""

    subject: Subject
    promise: Promise
    pairs: Sequence[Pair]
    relation: Relation | None = None
    law: LawOf | None = None
    noise: StatedNoise | None = None


def audit(case: Case, options: Options, command: str = "") -> Audited:
    """Audit a mechanism, and count which planted faults the same audit finds.

    Raises InvalidInput where the mechanism gives no samples, or has no neighbours.
    """
    if not case.pairs:
        raise InvalidInput("pair", None, "is needed: two neighbouring data sets")
    started = time.monotonic()
    plan = Plan(
        options.samples,
        1 - options.confidence,
        options.seed,
        started + options.seconds,
    )
    audited, pair = _decide(case, plan, options.sensitivity)
    audited = dataclasses.replace(audited, command=command)
    if audited.violates or options.repeats == 0:
        return audited
    power = _power(case, pair, audited, plan, options)
    return dataclasses.replace(audited, power=power)


def decided(case: Case, plan: Plan) -> Audited:
    """The verdict by all levels, in this process."""
    return _decide(case, plan)[0]


def _decide(case: Case, plan: Plan, sensitivity: float | None = None) -> tuple[Audited, Pair]:
    """The verdict, and the pair that tells most."""
    without = before_samples(case, plan, sensitivity)
    if without.audited is not None:
        return without.audited, without.pair
    finding = _by_samples(case, plan)
    return audited_of(case, finding, plan, without.notes), finding.pair


@dataclass(frozen=True)
class WithoutSamples:
    """What levels before samples say. audited: None where samples must decide.

    pair: that tells most, if they decided.
    """

    audited: Audited | None
    pair: Pair
    notes: tuple[str, ...] = ()


def before_samples(case: Case, plan: Plan, sensitivity: float | None = None) -> WithoutSamples:
    """Audit by forms, laws and replay."""
    finding = forms.broken(case.subject, case.pairs, case.promise, plan)
    if finding is not None:
        return WithoutSamples(audited_of(case, finding, plan, (), "form"), finding.pair)
    exact = _exactly(case)
    if exact is not None:
        return WithoutSamples(_by_law(case, exact), exact.pair)
    if case.noise is not None:
        shifted = integers.shifted(case.subject, case.pairs, case.promise, case.noise, plan.seed)
        if shifted is not None:
            return WithoutSamples(_by_shift(case, plan, shifted), shifted.pair)
    return _by_replays(case, plan, sensitivity)


def _by_shift(case: Case, plan: Plan, shifted: integers.Shifted) -> Audited:
    """By the exact sensitivity and the stated noise; samples must not contradict both."""
    few = dataclasses.replace(plan, samples=min(SAMPLED, plan.samples))
    finding = looks.audited(case.subject, shifted.pair, case.promise, few)
    if finding.violates and not shifted.violates:
        return audited_of(case, finding, plan, (shifted.event,))
    note = f"exact over {len(case.pairs)} pairs of neighbours; {finding.samples:,} samples agree"
    return _of_laws(case, shifted, note)


def _by_law(case: Case, exact: Exact) -> Audited:
    points = [Point(float(alarm), float(power)) for alarm, power in exact.curve[:CURVE_POINTS]]
    note = f"{exact.outputs:,} outputs, whose chances follow from all paths of the code"
    if case.law is not None:
        note = f"{exact.outputs:,} outputs, whose chances the mechanism states"
    return _of_laws(case, exact, note, points)


def _of_laws(
    case: Case, exact: Exact | integers.Shifted, note: str, points: Sequence[Point] = ()
) -> Audited:
    """The record of what is known exactly."""
    return Audited(
        verdict=_verdict(exact.violates),
        mechanism=case.subject.name,
        promise=case.promise,
        epsilon_lower=exact.epsilon,
        rho_lower=exact.rho,
        mu_lower=None,
        confidence=1.0,
        level="law",
        pair=exact.pair.name,
        event=case.subject.codes.in_words(exact.event),
        samples=0,
        points=points,
        notes=(note,),
    )


def _by_replays(case: Case, plan: Plan, sensitivity: float | None) -> WithoutSamples:
    """By replay, where laws are not finite."""
    notes: dict[str, None] = {}
    additive: Replay | None = None
    for pair in case.pairs:
        replay = replayed(case.subject, pair, case.promise, plan.seed, sensitivity)
        notes.update(dict.fromkeys(replay.notes))
        if replay.violates:
            return WithoutSamples(_by_replay(case, replay, tuple(notes)), pair)
        if replay.epsilon is not None:
            additive = _larger(additive, replay)
    forms.check_steady(case.subject, case.pairs[0], plan)
    if additive is not None:
        notes[f"the replay accounts for ε = {additive.epsilon:.6g}: {additive.event}"] = None
    return WithoutSamples(None, case.pairs[0], tuple(notes))


def _by_samples(case: Case, plan: Plan) -> Finding:
    """What samples certify of the pair of which they certify most."""
    pairs = ranked(case, plan)
    strongest: Finding | None = None
    for number, pair in enumerate(pairs):
        each = dataclasses.replace(plan, error=plan.error / len(pairs), seed=plan.seed + number)
        try:
            finding = looks.audited(case.subject, pair, case.promise, each)
        except Raised as error:
            raise InvalidInput("mechanism", case.subject.name, f"fails: {error}") from error
        if strongest is None or _share(case, finding) > _share(case, strongest):
            strongest = finding
        if finding.violates:
            break
    assert strongest is not None
    return strongest


def ranked(case: Case, plan: Plan) -> list[Pair]:
    """The pairs that samples certify, the one that seems to tell most first."""
    if len(case.pairs) == 1 and case.relation is None:
        return [case.pairs[0]]
    entries = neighbours.worst(case.subject, case.pairs, case.promise, plan, case.relation)
    return [pair for _, pair in entries[:CERTIFIED]]


def _verdict(violates: bool) -> str:
    return VIOLATES if violates else NOT_REFUTED


def _share(case: Case, finding: Finding) -> float:
    return case.promise.spent_by(finding.bounded)


def _larger(first: Replay | None, second: Replay) -> Replay:
    if first is None or first.epsilon is None or second.epsilon is None:
        return second
    return first if first.epsilon >= second.epsilon else second


def _exactly(case: Case) -> Exact | None:
    """The pair whose exact laws tell most; None where they are not finite."""
    strongest: Exact | None = None
    try:
        law = _once(case.law or enumerated(case.subject))
        for pair in case.pairs[:MOST_LAWS]:
            exact = compared(pair, case.promise, law)
            if exact.violates:
                return exact
            if strongest is None or exact.epsilon > strongest.epsilon:
                strongest = exact
    except (NotFinite, Raised):
        return None
    return strongest


def _once(law: LawOf) -> LawOf:
    """The same function, which finds the law of each data set once; many are in several pairs."""
    laws: dict[int, Law] = {}

    def law_of(dataset: object) -> Law:
        number = id(dataset)  # all data sets live as long as their pairs
        if number not in laws:
            laws[number] = law(dataset)
        return laws[number]

    return law_of


def _by_replay(case: Case, replay: Replay, notes: tuple[str, ...]) -> Audited:
    assert replay.epsilon is not None
    return Audited(
        verdict=VIOLATES,
        mechanism=case.subject.name,
        promise=case.promise,
        epsilon_lower=replay.epsilon,
        rho_lower=replay.rho,
        mu_lower=replay.mu,
        confidence=1.0,
        level="replay",
        pair=replay.pair.name,
        event=case.subject.codes.in_words(replay.event),
        samples=0,
        notes=notes,
    )


def audited_of(
    case: Case, finding: Finding, plan: Plan, notes: tuple[str, ...], level: str = "samples"
) -> Audited:
    """The record of what samples, or calls, certify."""
    bounded = finding.bounded
    counts = finding.counts
    happened = case.subject.codes.in_words(finding.event)
    event = f"{happened}: {counts.hits:,} of {counts.trials:,} times"
    event = f"{event} against {counts.alarms:,} of {counts.others:,}"
    points = [Point(point.false_alarm, point.hit) for point in (*finding.points, bounded)]
    return Audited(
        verdict=_verdict(finding.violates),
        mechanism=case.subject.name,
        promise=case.promise,
        epsilon_lower=bounded.epsilon(case.promise.delta),
        rho_lower=bounded.rho,
        mu_lower=bounded.mu,
        confidence=1 - plan.error,
        level=level,
        pair=finding.pair.name,
        event=event,
        samples=finding.samples,
        points=sorted(points, key=lambda point: point.false_alarm),
        notes=notes,
    )


def _power(
    case: Case, pair: Pair, audited: Audited, plan: Plan, options: Options
) -> dict[str, Power]:
    """Plant each fault several times, and count how often the audit finds it."""
    site = Site.of(case.subject, pair, case.promise, audited.epsilon_lower)
    power = {}
    for name in FAULTS:
        subject = planted(name, site)
        if subject is None:
            power[name] = Power(0, 0)
            continue
        caught = 0
        faulty = Case(subject, case.promise, [pair])
        for number in range(options.repeats):
            seed = plan.seed + 1_000 * (number + 1)
            deadline = time.monotonic() + options.seconds
            again = dataclasses.replace(plan, seed=seed, deadline=deadline)
            caught += _decide(faulty, again)[0].violates
        power[name] = Power(caught, options.repeats)
    return power
