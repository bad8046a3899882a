"""A first answer, from the atlas alone: in a second or two, and never certified."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from pipeline.advice import atlas, text, words
from pipeline.advice.advised import Advised, better_side
from pipeline.advice.atlas import PERSON, NotInAtlas, Solved
from pipeline.advice.axis import Axis
from pipeline.advice.interpolation import band
from pipeline.advice.question import Question
from pipeline.advice.records import Mean, MechanismRow
from pipeline.advice.targets import Target
from pipeline.study.arrays import Floats
from pipeline.study.guarantee import WHOM

POINTS = 2001  # of a curve
FROM_ATLAS = "  from the atlas, NOT certified: interpolated between cells simulated in advance"


class NotReached(NotInAtlas):
    """No level of the cells meets the targets."""


@dataclass(frozen=True)
class Curve:
    """A mechanism's means along the unknown. levels: of its parameter, ascending.

    bands: metric -> mean, low, high.
    """

    question: Question
    levels: Floats
    bands: Mapping[str, tuple[Floats, Floats, Floats]]

    def excess(self, side: int) -> Floats:
        """The greatest sign · (mean − value) of all targets.

        side: 1 at the ends of bands that are worse for a target,

        −1 at those that are better, 0 in between."""
        excesses = [
            target.sign * (self._end(target, side) - target.value)
            for target in self.question.targets
        ]
        worst: Floats = np.max(excesses, axis=0)
        return worst

    def _end(self, target: Target, side: int) -> Floats:
        """The mean, or the end of its band that is worse (1) or better (−1) for a target."""
        mean, low, high = self.bands[target.metric]
        if side == 0:
            return mean
        if side == target.sign:
            return high
        return low


@dataclass(frozen=True)
class _Crossed:
    """Where a mechanism's targets begin to be met, in levels. low, high: of the band; None where
    that meets no target within the cells.
    """

    curve: Curve
    axis: Axis
    low: float | None
    boundary: float
    high: float | None

    @property
    def reach(self) -> float:
        """How far along the unknown the targets are met."""
        return self.axis.reach(self.axis.position(self.boundary))

    @property
    def level(self) -> float:
        """The level that is advised: the safe end of the band."""
        safe = self.low
        if self.axis.better > 0:
            safe = self.high
        if safe is None:
            safe = self.boundary
        return self.axis.advisable(self.axis.position(safe))

    def shown(self) -> tuple[float | None, float, float | None]:
        """Low end, boundary and high end, as the person names the unknown."""
        boundary = self.curve.question.shown(self.boundary)
        low = self._shown_end(self.low)
        high = self._shown_end(self.high)
        if self.curve.question.unknown.left:
            return high, boundary, low
        return low, boundary, high

    def _shown_end(self, level: float | None) -> float | None:
        """An end of the band as the person names the unknown; None where the cells have none."""
        if level is None:
            return None
        return self.curve.question.shown(level)


@dataclass(frozen=True)
class FirstWay:
    """What a promise needs by one mechanism, as the cells say. questions: of each person; None for
    all. value: of the unknown, which is advised; None where `why` says why there is none.
    """

    trust: str
    mechanism: str
    questions: int | None
    value: float | None
    why: str = ""

    def cells(self) -> tuple[str, ...]:
        """Cells of a row of the table."""
        questions = "all" if self.questions is None else f"{self.questions:,}"
        value = self.why if self.value is None else f"{self.value:,g}"
        return WHOM[self.trust], value, questions, self.mechanism


@dataclass(frozen=True, repr=False)
class First(Advised):
    """A first answer. low, high: of the band; None where that meets no target within the cells.

    curve: means along the unknown, of the mechanism that is advised. measured: for each target, at
    the value. ways: what each mechanism needs to keep a promise to a person, by whom one trusts,
    the one that needs least first; empty where the question is about ε of one answer.
    """

    curve: Curve
    measured: Sequence[Mean]
    ways: Sequence[FirstWay] = ()

    interval = "band"
    source = "atlas"
    certified = False
    confidence = None
    recorded = (
        "value",
        "low",
        "boundary",
        "high",
        "better",
        "source",
        "certified",
        "confidence",
        "measured",
        "mechanisms",
        "ways",
    )

    @property
    def result(self) -> str:
        """What is learned, in one sentence."""
        return words.interpolated(self.question)

    def basis(self) -> list[str]:
        """That it is not of this very question, and the means; lines for a person."""
        return [FROM_ATLAS, *(f"    {text.mean(mean)} on average" for mean in self.measured)]

    def numbers(self) -> list[str]:
        """The answer in numbers, below the table by trust."""
        return [*self.table(), *super().numbers()]

    def table(self) -> list[str]:
        """What is needed by whom one trusts, line by line; nothing about ε of one answer."""
        if not self.ways:
            return []
        heads = ("trust", self.question.level_name, "questions each", "mechanism")
        return text.table([heads, *(way.cells() for way in self.ways)])

    def in_short(self) -> list[str]:
        """Its sentences, its headline, its band, and where it comes from."""
        return [*self.opening(), *self.table(), self.headline, self.boundary_line(), FROM_ATLAS]


def first(question: Question) -> First:
    """The first answer to a question; NotInAtlas, and why, if the atlas has none."""
    best = None
    rows = list[MechanismRow]()
    crossings = dict[str, _Crossed | NotReached]()
    refused = ""
    for name, (fitted, solved) in atlas.fitting(question).items():
        try:
            crossed = _furthest(fitted, solved)
        except NotReached as error:
            rows.append(MechanismRow(name, solved.estimator, None, None, None, str(error)))
            crossings[name] = error
            refused = refused or str(error)
            continue
        crossings[name] = crossed
        low, boundary, high = crossed.shown()
        left_out = question.left_out(fitted)
        rows.append(MechanismRow(name, solved.estimator, boundary, low, high, None, left_out))
        if best is None or crossed.reach > best.reach:
            best = crossed
    if best is None:
        raise NotInAtlas(refused)
    answer = _first(best, rows)
    if atlas.unit_of(question) == PERSON:
        return replace(answer, ways=_ways(question, crossings))
    return answer


def _furthest(question: Question, solved: Solved) -> _Crossed:
    """Where a mechanism's targets are met, with the number of questions that needs least, where it
    is open.

    NotReached where they are met with none.
    """
    crossings = list[_Crossed]()
    refused = None
    for candidate in _with_questions(question, solved):
        try:
            crossings.append(_crossed(curve(candidate, solved)))
        except NotReached as error:
            refused = refused or error
    if not crossings:
        assert refused is not None
        raise refused
    return max(crossings, key=lambda crossed: crossed.reach)


def _with_questions(question: Question, solved: Solved) -> Iterator[Question]:
    """The question, with each number of questions that the cells reach, where it is open."""
    name = question.advice.parameter_of("questions")
    is_open = name in solved.axes and name != question.parameter
    if not is_open or atlas.size(question, name) is not None:
        yield question
        return
    fewest, most = int(solved.axes[name][0]), int(solved.axes[name][-1])
    for questions in range(fewest, most + 1):
        yield replace(question, values={**question.values, name: questions})


def _ways(
    question: Question, crossings: Mapping[str, _Crossed | NotReached]
) -> tuple[FirstWay, ...]:
    """What each mechanism needs, by whom one trusts, the one that needs least first."""
    trusts = {str(plan.parameters["mechanism"]): plan.trust for plan in question.advice.plans}
    reached = list[tuple[float, FirstWay]]()
    missed = list[FirstWay]()
    for mechanism, crossed in crossings.items():
        if isinstance(crossed, NotReached):
            missed.append(FirstWay(trusts[mechanism], mechanism, None, None, "out of its cells"))
            continue
        planned = crossed.curve.question
        name = planned.advice.parameter_of("questions")
        value = planned.shown(crossed.level)
        questions = int(value) if planned.parameter == name else planned.values.get(name)
        reached.append((crossed.reach, FirstWay(trusts[mechanism], mechanism, questions, value)))
    reached.sort(key=lambda pair: -pair[0])
    return (*(way for _, way in reached), *missed)


def curves(question: Question) -> list[Curve]:
    """The curve of each mechanism along the unknown; NotInAtlas where there is none.

    Where the number of questions is open, it is the one that needs least, or the first.
    """
    drawn = []
    for fitted, solved in atlas.fitting(question).values():
        try:
            drawn.append(_furthest(fitted, solved).curve)
        except NotInAtlas:
            drawn.append(curve(next(_with_questions(fitted, solved)), solved))
    return drawn


def _first(crossed: _Crossed, rows: Sequence[MechanismRow]) -> First:
    """The first answer, by the mechanism whose targets are met furthest along the unknown."""
    question = crossed.curve.question
    level = crossed.level
    low, boundary, high = crossed.shown()
    return First(
        question=question,
        level=level,
        value=question.shown(level),
        boundary=boundary,
        low=low,
        high=high,
        better=better_side(crossed.axis),
        mechanisms=rows,
        curve=crossed.curve,
        measured=_means(crossed.curve, crossed.axis, level),
    )


def _means(curve_: Curve, axis: Axis, level: float) -> list[Mean]:
    """Means and bands of all targets at a level, between those of the curve."""
    position = np.log(level) * axis.better
    positions = np.log(curve_.levels) * axis.better
    order = np.argsort(positions)
    means = []
    for target in curve_.question.targets:
        mean, low, high = (
            float(np.interp(position, positions[order], part[order]))
            for part in curve_.bands[target.metric]
        )
        means.append(Mean(target.metric, mean, low, high))
    return means


def curve(question: Question, solved: Solved) -> Curve:
    """Means and bands of a mechanism along the unknown.

    All other sizes are given, or have defaults.
    """
    along = question.parameter
    at: list[float | None] = []
    for name in solved.axes:
        if name == along:
            at.append(None)
        else:
            at.append(float(np.log(cast(float, atlas.size(question, name)))))
    levels = solved.axes[along]
    positions = np.linspace(np.log(levels[0]), np.log(levels[-1]), POINTS)
    bands = {
        target.metric: band(
            solved.mean[target.metric],
            solved.error[target.metric],
            (target.least, target.most),
            solved.logarithms,
            at,
            positions,
        )
        for target in question.targets
    }
    return Curve(question, np.exp(positions), bands)


def _crossed(curve_: Curve) -> _Crossed:
    """Where the targets begin to be met.

    NotReached where they are met at no level of the cells, NotInAtlas where they are at all.
    """
    question = curve_.question
    met = curve_.excess(0) <= 0
    helps = question.unknown.helps
    if helps is None:
        helps = not met[0]
    better = -1
    if helps:
        better = 1
    ends = "{:.4g} to {:.4g}".format(*sorted(map(question.shown, curve_.levels[[0, -1]].tolist())))
    if met.all():
        raise NotInAtlas(f"the targets are met at every {question.level_name} of its cells, {ends}")
    if not met.any():
        missed = f"the targets are met at no {question.level_name} of its cells, {ends}"
        if (curve_.excess(-1) <= 0).any():
            missed += ", but may be: they are within its band"
        raise NotReached(missed)
    middle = _begin(curve_, 0, better)
    if middle is None:
        raise NotInAtlas(f"of its cells, {ends}, the targets are met where least is learned")
    low = _begin(curve_, -better, better)
    high = _begin(curve_, better, better)
    return _Crossed(curve_, Axis(question, better), low, middle, high)


def _begin(curve_: Curve, side: int, better: int) -> float | None:
    """The level from which on the targets are met, from the worse end on.

    None if they are not, or are at once.
    """
    excess = curve_.excess(side)[::better]
    levels = curve_.levels[::better]
    met = excess <= 0
    k = int(met.argmax())
    if not met[k] or k == 0:
        return None
    share = excess[k - 1] / (excess[k - 1] - excess[k])
    return float(f"{levels[k - 1] * (levels[k] / levels[k - 1]) ** share:.6g}")
