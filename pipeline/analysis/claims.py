"""Claims as data, and their judgement.

What is measured on sealed results is compared with what is allowed.

A claim holds what it measures (`measures`), a tolerance that decides (`tolerances`),
and a negative control: data made wrong on purpose, which it must reject. A claim that
is contradicted may have a positive control: data in which it would hold, and which must
support it.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.losses import bounded
from pipeline.analysis.measures import CONFIDENCE, Measure, Measured, confidence_for
from pipeline.analysis.power import sentence
from pipeline.analysis.selection import (
    InsufficientEvidence,
    Level,
    NotTested,
    RecordedData,
    at_constants,
    remembering,
)
from pipeline.analysis.tolerances import (
    CONTRADICTED,
    HELD,
    IDENTITY,
    INCONCLUSIVE,
    NOT_REFUTED,
    NOT_TESTED,
    SUPPORTED,
    TOO_WEAK,
    VERDICTS,
    Tolerance,
    beside,
    by_badness,
    finite,
    open_for_good,
)
from pipeline.study.parameters import InvalidInput
from pipeline.study.wrong_worlds import Change

__all__ = [
    "CONFIDENCE",
    "CONTRADICTED",
    "HELD",
    "IDENTITY",
    "INCONCLUSIVE",
    "NOT_REFUTED",
    "NOT_TESTED",
    "SUPPORTED",
    "TOO_WEAK",
    "VERDICTS",
    "Check",
    "Claim",
    "InsufficientEvidence",
    "Judgement",
    "NegativeControl",
    "NotSimulated",
    "NotTested",
    "PositiveControl",
    "SimulatedControl",
    "judge",
]

Make = Callable[[xr.Dataset], xr.Dataset]  # of sealed results what a control is measured on
MOST_CELLS = 12  # that a check lists


@dataclass(frozen=True)
class Check:
    """One decision, with the estimate that decided.

    verdict, tolerance: of that estimate, which is None without data. text: a sentence
    on both. cells: where several decide, those nearest to a contradiction, that one
    first: label, estimate and verdict. confidence: of all intervals of the claim
    together. parts: name, empty for the only one, all cells by label, empty for a
    number that is about no cell, and tolerance.
    """

    verdict: str
    estimate: Estimate | None
    text: str
    tolerance: Tolerance | None = None
    cells: tuple[tuple[str, Estimate, str], ...] = ()
    confidence: float = CONFIDENCE
    parts: tuple[tuple[str, Mapping[str, Estimate], Tolerance], ...] = ()

    @property
    def open_for_good(self) -> bool:
        """Whether it is undecided and no number of replications could decide it.

        The levels of the grid are then too far apart.
        """
        if self.verdict != INCONCLUSIVE:
            return False
        undecided: list[bool] = []
        for _, cells, tolerance in self.parts:
            undecided.extend(
                open_for_good(cell, tolerance)
                for cell in cells.values()
                if tolerance.verdict(cell) == INCONCLUSIVE
            )
        return bool(undecided) and all(undecided)

    @property
    def detected(self) -> str:
        """The smallest violation that data like these contradict with power 90 %.

        A sentence for each part.
        """
        sentences = []
        for name, cells, tolerance in self.parts:
            text = sentence(cells, tolerance, self.confidence)
            if text and name:
                sentences.append(f"{name}: {text}")
            elif text:
                sentences.append(text[0].upper() + text[1:])
        return "; ".join(sentences)


@dataclass(frozen=True)
class NegativeControl:
    """Data that are wrong on purpose, made from sealed results without simulating.

    The claim must reject them.
    """

    description: str
    make: Make


@dataclass(frozen=True)
class PositiveControl:
    """Data in which a claim would hold, made from results that contradict it.

    The claim must be supported by them.
    """

    description: str
    make: Make


@dataclass(frozen=True)
class SimulatedControl:
    """A wrong world that is simulated.

    Parts of every cell are changed, under labels that stay. description: of what is
    wrong there. change: the parts of a cell -> those that simulate it; helpers are in
    `pipeline.problems.common.changes`. verdict: what the claim must say of that world:
    contradicted, or supported where the claim does not hold and the world is one in
    which it would. Claims with one and the same control share its simulations.
    """

    description: str
    change: Change
    verdict: str = CONTRADICTED

    def __post_init__(self) -> None:
        change: object = self.change  # whatever a person gave
        if not callable(change):
            allowed = "must be a function that gives the parts of a cell for those declared"
            raise InvalidInput("change", change, allowed)
        if self.verdict not in (CONTRADICTED, SUPPORTED):
            allowed = f"must be {CONTRADICTED!r} or {SUPPORTED!r}"
            raise InvalidInput("verdict", self.verdict, allowed)


@dataclass(frozen=True)
class NotSimulated:
    """Why no wrong world is simulated for a claim. reason: a sentence."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement that an experiment can support or contradict.

    id: unique name. statement: one sentence. source: paper and theorem. experiment:
    name of the study. measure: what is estimated. tolerance: what the estimate may be;
    for a claim of several parts, one for each part that the measure returns. why:
    reason for the tolerance. conditions: where the theorem speaks, and which cells are
    used. control: the negative control. positive: the positive control, in place of the
    negative one where the data contradict the claim: it shows that the claim can be
    supported at all. simulated: the wrong world in which it is tested by simulation, or
    why there is none. only_refutable: the claim is a one-sided bound so loose that
    plausible data cannot come near it; data on its right side are then "not refuted"
    instead of "supported". by_construction: the claim holds by construction, as a number is
    compared with itself in another form; data that agree are then "identity" instead of
    "supported". recorded: the real data that the claim is about, if any; on other data
    it is "not tested". row: of docs/papers.md, which shows why the paper is wrong
    there, or the proof incomplete; empty without one. headline: whether it is among the
    main findings of its experiment, which a report says first. levels: axis -> the level at which
    it is judged, where results have several levels of what the experiment has one of.
    """

    id: str
    statement: str
    source: str
    experiment: str
    why: str
    conditions: str
    measure: Measure
    tolerance: Tolerance | Mapping[str, Tolerance]
    control: NegativeControl
    positive: PositiveControl | None = None
    simulated: SimulatedControl | NotSimulated | None = None
    only_refutable: bool = False
    by_construction: bool = False
    recorded: RecordedData | None = None
    headline: bool = False
    row: str = ""
    levels: Mapping[str, Level] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.by_construction and self.only_refutable:
            raise ValueError(f"{self.id} must be by_construction or only_refutable, not both")

    def judged_at(self, levels: Mapping[str, Level]) -> "Claim":
        """The claim, judged at these levels of axes."""
        if not levels:
            return self
        return replace(self, levels=levels)

    @property
    def best(self) -> str:
        """The verdict on data that agree with the claim: supported, identity or not refuted."""
        if self.by_construction:
            return IDENTITY
        return NOT_REFUTED if self.only_refutable else SUPPORTED

    @property
    def estimand(self) -> str:
        """Description of what is measured."""
        return self.measure.estimand

    @property
    def claimed(self) -> str:
        """Description of the tolerance; for several parts, each after its name."""
        text = str(self.tolerance)
        if isinstance(self.tolerance, Mapping):
            parts = self.tolerance.items()
            text = "; ".join(f"{part}: {tolerance}" for part, tolerance in parts)
        if self.measure.every_cell:
            return f"{text} in every cell (simultaneous intervals)"
        return text

    def control_of(self, verdict: str) -> NegativeControl | PositiveControl:
        """The control that goes with a verdict on the data."""
        return self.positive if verdict == CONTRADICTED and self.positive else self.control

    def decide(self, results: xr.Dataset, make: Make | None = None) -> Check:
        """Measure on sealed results and compare with the tolerance.

        Raises `InsufficientEvidence`. make: what is measured is what this makes of the
        results, such as a control.
        """
        return self.decision(self.measured(results, make))

    def measured(
        self, results: xr.Dataset, make: Make | None = None
    ) -> Measured | Mapping[str, Measured]:
        """What it measures on sealed results.

        Raises `InsufficientEvidence`, and ValueError for other parts.

        Intervals are wider by what lost replications could change: see
        `pipeline.analysis.losses`.
        """
        if self.recorded is not None:
            self.recorded.require(results)
        results = at_constants(results, self.levels)
        compute = self.measure.compute
        with remembering():
            if make is None:
                measured = bounded(compute, results)
            else:
                measured = bounded(lambda data: compute(make(data)), results)
        if isinstance(self.tolerance, Mapping):
            _check_parts(measured, self.tolerance)
        return measured

    def decision(self, measured: Measured | Mapping[str, Measured]) -> Check:
        """What was measured, compared with the tolerance.

        Raises `InsufficientEvidence` for no cell.
        """
        if isinstance(self.tolerance, Mapping):
            parts = cast(Mapping[str, Measured], measured)
            tolerances = self.tolerance.items()
            checks = [_decide(parts[part], tolerance, part) for part, tolerance in tolerances]
            check = every(*checks)
        else:
            check = _decide(measured, self.tolerance)
        if self.levels:
            words = []
            for axis, level in self.levels.items():
                words.append(f"{axis}={level}")
            place = ", ".join(words)
            text = f"at {place}: {check.text}"
            check = replace(check, text=text)
        if check.verdict == SUPPORTED:
            return replace(check, verdict=self.best)
        return check


def _check_parts(
    measured: Measured | Mapping[str, Measured], tolerances: Mapping[str, Tolerance]
) -> None:
    """Raise ValueError unless the parts measured are those that have a tolerance."""
    if not isinstance(measured, Mapping) or measured.keys() != tolerances.keys():
        raise ValueError(f"the measure must return the parts {', '.join(tolerances)}")


@dataclass(frozen=True)
class Judgement:
    """A claim, and the decisions on the data and on its control.

    See `Claim.control_of`. Reports print `verdict` and `text`: a claim that would hold,
    but whose control is not rejected, is "too weak".
    """

    claim: Claim
    check: Check
    control: Check

    @property
    def sound(self) -> bool:
        """Whether the control was decided as it must be: otherwise than the data."""
        used = self.claim.control_of(self.check.verdict)
        if isinstance(used, PositiveControl):
            return self.control.verdict == self.claim.best
        return self.control.verdict == CONTRADICTED

    @property
    def verdict(self) -> str:
        """That of the check, or "too weak".

        The latter where data agree with the claim and its control does as well.
        """
        if self.check.verdict in HELD and not self.sound:
            return TOO_WEAK
        return self.check.verdict

    @property
    def text(self) -> str:
        """What was found or, first, that the check does not tell the data from the control."""
        decided = self.check.verdict in (*HELD, CONTRADICTED)
        if self.sound or not decided:
            return self.check.text
        description = self.claim.control_of(self.check.verdict).description
        return (
            f"{self.check.verdict}, but the check is too weak: its control ({description}) is "
            f"{self.control.verdict}; {self.check.text}"
        )


def judge(claim: Claim, results: xr.Dataset) -> Judgement:
    """Decide a claim on a sealed dataset, and on its control if there are data.

    results: (grid axes…, replication).
    """
    return with_control(claim, check_of(claim, results), results)


def check_of(claim: Claim, results: xr.Dataset) -> Check:
    """Decide a claim on a dataset, without its control."""
    return _judge(claim, results)


def with_control(claim: Claim, check: Check, results: xr.Dataset) -> Judgement:
    """The judgement of which the decision on the data is known."""
    if check.estimate is None:
        return Judgement(claim, check, check)
    return Judgement(claim, check, control_check(claim, check.verdict, results))


def control_check(claim: Claim, verdict: str, results: xr.Dataset) -> Check:
    """The decision on the control that goes with a verdict on the data."""
    return _judge(claim, results, claim.control_of(verdict).make)


def _judge(claim: Claim, results: xr.Dataset, make: Make | None = None) -> Check:
    try:
        return replace(claim.decide(results, make), confidence=confidence_for())
    except InsufficientEvidence as reason:
        return Check(reason.verdict, None, str(reason))


def _decide(
    measured: Measured | Mapping[str, Measured],
    tolerance: Tolerance,
    part: str = "",
) -> Check:
    """The decision on an estimate, or on the worst of several cells.

    That is the one nearest to a contradiction.
    """
    before = ""
    if part:
        before = f"{part}: "
    if isinstance(measured, Estimate):
        return Check(
            verdict=tolerance.verdict(measured),
            estimate=measured,
            text=before + _text(measured, tolerance),
            tolerance=tolerance,
            parts=((part, {"": measured}, tolerance),),
        )
    cells = {name: cell for name, cell in measured.items() if isinstance(cell, Estimate)}
    if not cells:
        raise NotTested("no cell meets the conditions")
    order = _worst_first(cells, tolerance)
    worst = order[0]
    listed = []
    if len(cells) > 1:
        for name in order[:MOST_CELLS]:
            verdict = tolerance.verdict(cells[name])
            listed.append((before + name, cells[name], verdict))
    return Check(
        verdict=tolerance.verdict(cells[worst]),
        estimate=cells[worst],
        text=before + _text(cells[worst], tolerance, _where(worst, len(cells))),
        tolerance=tolerance,
        cells=tuple(listed),
        parts=((part, cells, tolerance),),
    )


def _worst_first(cells: Mapping[str, Estimate], tolerance: Tolerance) -> list[str]:
    """Labels of cells, the one nearest to a contradiction first."""
    names = list(cells)
    values = [cell.value for cell in cells.values()]
    by_value = [names[i] for i in by_badness(values, tolerance)]
    return sorted(by_value, key=lambda name: -VERDICTS.index(tolerance.verdict(cells[name])))


def _where(label: str, count: int) -> str:
    """In words, at which of so many cells the estimate is that decides."""
    where = ""
    if label:
        where = f" at {label}"
    if count > 1:
        where += f" (the worst of {count} cells)"
    return where


def _text(estimate: Estimate, tolerance: Tolerance, where: str = "") -> str:
    """An estimate beside its tolerance, and what its interval is about, in words."""
    text = f"{estimate}{where}, {beside(tolerance)}"
    if estimate.lost:
        replications = "replication" if estimate.lost == 1 else "replications"
        text += f"; whatever the values of {estimate.lost:,} lost {replications} would be"
    if open_for_good(estimate, tolerance):
        text += (
            "; the levels of the grid leave this open, whatever the number of "
            "replications: add levels"
        )
    if not finite(estimate):
        text += ": the data do not determine it"
    return text


def every(*checks: Check) -> Check:
    """All must hold: contradicted by one, supported by all.

    The estimate is that of the first worst check.
    """
    return replace(
        _worst(checks),
        text="; ".join(check.text for check in checks),
        cells=tuple(itertools.chain.from_iterable(check.cells for check in checks)),
        parts=tuple(itertools.chain.from_iterable(check.parts for check in checks)),
    )


def _worst(checks: Sequence[Check]) -> Check:
    return max(checks, key=lambda check: VERDICTS.index(check.verdict))
