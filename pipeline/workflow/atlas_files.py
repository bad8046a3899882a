"""What the atlas of first answers says, in a file: a page over all of it, or the curves of one
question as a table or a figure.
"""

import csv
import io
import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any

from pipeline.advice import atlas
from pipeline.advice.first import Curve, curves
from pipeline.advice.question import Question
from pipeline.advice.targets import advice_of
from pipeline.identity.registry import problems
from pipeline.reporting.shown_atlas import (
    ShownAxis,
    ShownMechanism,
    ShownMetric,
    ShownProblem,
    Start,
)
from pipeline.study.arrays import Floats
from pipeline.study.files import write_whole
from pipeline.study.guarantee import WHOM
from pipeline.study.parameters import InvalidInput, fields, path_of
from pipeline.study.problem import Problem

PAGE = ".html"
PROMISE = "promise"  # with which the name of the page of a promise begins
FIGURES = (".svg", ".pdf", ".png")
KINDS = (PAGE, ".csv", *FIGURES)
POINTS = 201  # of a curve in a table


@dataclass(frozen=True)
class Saved:
    """A file that was written. contents: what it is, in words."""

    path: Path
    contents: str

    def __str__(self) -> str:
        return f"{self.path}: {self.contents}"


def destination(value: object) -> Path:
    """The path that is given as `save`; InvalidInput for another kind of file."""
    if not isinstance(value, str) or Path(value).suffix.lower() not in KINDS:
        raise InvalidInput("save", value, f"must be a file that ends with {', '.join(KINDS)}")
    path = path_of(value, "save")
    folder = path.absolute().parent
    if not os.path.isdir(folder):  # also false for a name that is too long
        raise InvalidInput("save", value, "there is no such folder")
    if not os.access(folder, os.W_OK) or os.path.isdir(path):
        raise InvalidInput(
            "save", value, "cannot be written there; give a file in a folder of your own"
        )
    return path


def is_page(path: Path) -> bool:
    """Whether a file is to be a page."""
    return path.suffix.lower() == PAGE


def is_promise(path: Path) -> bool:
    """Whether a file is to be the page of what is promised to people: its name says so."""
    return is_page(path) and path.stem.lower().startswith(PROMISE)


def save(path: Path, question: Question | None, quick: bool = True) -> Saved:
    """Write what the atlas says into a file.

    Without a question, only the page can be written. InvalidInput where the atlas has no cells for
    the question: then nothing is written.
    """
    if question is not None:
        _check_cells(path, question, quick)
    if is_page(path):
        write(path, _page(question).encode())
        return Saved(path, "a page over the atlas, not certified")
    if question is None:
        raise InvalidInput(
            "save", path, f"needs a problem, sizes and a target; only {PAGE} does without"
        )
    curves = _curves(question)
    kind = path.suffix.lower()
    write(path, _table(curves).encode() if kind == ".csv" else _figure(curves, kind[1:]))
    return Saved(path, "curves from the atlas, not certified")


def write(path: Path, content: bytes) -> None:
    """Write a file that a person asked for; InvalidInput where that is not possible."""
    try:
        write_whole(path, content)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput("save", path, f"cannot be written ({reason})") from None


def _check_cells(path: Path, question: Question, quick: bool) -> None:
    """Raise InvalidInput where a file about a question would be made of cells of another."""
    try:
        atlas.fitting(question)
    except atlas.NotInAtlas as error:
        instead = f"save=FILE{PAGE} writes the certified answer"
        if quick:
            instead = "leave out quick=true"
        if is_page(path):
            instead += ", and the page is about the certified answer"
        raise InvalidInput(
            "save", path, f"the atlas has nothing to write about this question: {error}; {instead}"
        ) from None


def _page(question: Question | None) -> str:
    """The page over all problems whose cells were made by the code that is here."""
    from pipeline.reporting.advice_page import page  # Jinja

    shown: list[ShownProblem] = []
    skipped = list[str]()
    for problem in problems().values():
        for unit in reversed(atlas.UNITS):  # a person's budgets first
            try:
                stored = atlas.stored(problem, unit)
            except atlas.NotInAtlas as error:
                skipped.append(f"{problem.name}: {error}")
                continue
            if stored is None:
                continue
            usable = _usable(problem, stored, unit)
            skipped += [
                f"{problem.name} with {name}, whose cells were made by other code"
                for name in stored.mechanisms
                if name not in usable
            ]
            if usable:
                shown.append(_shown(problem, stored, usable, unit))
    if not shown:
        why = "; ".join(skipped) or "there are none"
        raise InvalidInput(
            "save", PAGE, f"no cells of the atlas can be used: {why}; `make atlas` makes them again"
        )
    return page(shown, _start(question, {entry.key for entry in shown}), skipped)


def _usable(problem: Problem, stored: atlas.Atlas, unit: str) -> dict[str, atlas.Solved]:
    """The cells of mechanisms that were made by the code that is here."""
    return {
        name: solved
        for name, solved in stored.mechanisms.items()
        if atlas.current(problem, name, solved, unit)
    }


def _key(problem: Problem, unit: str) -> str:
    """What tells the cells of a problem in budgets of a unit from all others on the page."""
    if unit == atlas.ANSWER:
        return problem.name
    return f"{problem.name}, {unit}"


def _shown(
    problem: Problem, stored: atlas.Atlas, usable: Mapping[str, atlas.Solved], unit: str
) -> ShownProblem:
    """A problem as the page's script takes it."""
    first = next(iter(usable.values()))
    mechanisms = [_mechanism(problem, name, solved, unit) for name, solved in usable.items()]
    known_risks = set[str]()
    for solved in usable.values():
        known_risks.update(solved.risk)
    word = atlas.WORDS[unit]
    return ShownProblem(
        key=_key(problem, unit),
        unknown=word,
        name=problem.name,
        title=f"{problem.title}: {advice_of(problem).unknowns[word].meaning}",
        people=advice_of(problem).parameter_of("people") or None,
        parameters=stored.parameters,
        axes=[_axis(problem, stored, usable, name, unit) for name in stored.axes],
        metrics=[_metric(problem, name, mean) for name, mean in first.mean.items()],
        risks=sorted(known_risks & {"answer", "person"}),
        mechanisms=mechanisms,
    )


def _axis(
    problem: Problem,
    stored: atlas.Atlas,
    usable: Mapping[str, atlas.Solved],
    name: str,
    unit: str,
) -> ShownAxis:
    """An axis of the cells as the page's script takes it."""
    levels = stored.axes[name]
    *_, last_axis = stored.axes
    short = name
    if name == last_axis:
        short = "ε" if unit == atlas.ANSWER else "E"
    having = []
    for mechanism, solved in usable.items():
        if name in solved.axes:
            having.append(mechanism.replace("_", " "))
    only = ""
    if len(having) < len(usable):
        only = f", only with {' and '.join(having)}"
    declared = _declared(problem, name)
    whole = "int" in str(declared.type)
    middle = float(f"{math.sqrt(levels[0] * levels[-1]):.2g}")
    usual: Any = declared.default
    if usual not in levels:
        usual = round(middle) if whole else middle
    label = f"{meaning(problem, name)} ({short}{only})"
    return ShownAxis(name, label, short, levels, whole, usual)


def _metric(problem: Problem, name: str, mean: Floats) -> ShownMetric:
    """A metric as the page's script takes it. mean: (axes…, ε) of any mechanism."""
    metric = problem.metric(name)
    limits = [limit if math.isfinite(limit) else None for limit in atlas.range_of(metric)]
    falls_with_epsilon = float((mean[..., 0] - mean[..., -1]).sum()) > 0  # so it is to be small
    halves = {half: axis for half, axis in _halves(problem).items() if half in fields(metric)}
    label = metric.long_name + "".join(f", {half} = {axis}/2" for half, axis in halves.items())
    sign = 1 if falls_with_epsilon else -1
    return ShownMetric(name, label, limits, sign, halves)


def _mechanism(problem: Problem, name: str, solved: atlas.Solved, unit: str) -> ShownMechanism:
    """A mechanism's cells as the page's script takes them."""
    trusted = ""
    if unit == atlas.PERSON:
        plans = advice_of(problem).plans
        trusted = next(WHOM[plan.trust] for plan in plans if plan.parameters["mechanism"] == name)
    return ShownMechanism(
        name=name,
        estimator=solved.estimator,
        axes=[*solved.axes],
        mean=_lists(solved.mean),
        error=_lists(solved.error),
        risk=_lists(solved.risk),
        trusted=trusted,
        whole=_whole(problem, name, solved) if unit == atlas.ANSWER else (),
    )


def _whole(problem: Problem, name: str, solved: atlas.Solved) -> Sequence[float]:
    """Budget of all answers of a person over ε, in the order of the cells; empty where a mechanism
    does not say it, or ε is that of a person.
    """
    *sizes, last = solved.axes
    levels = solved.axes[last]
    shares = []
    for row in itertools.product(*(solved.axes[size] for size in sizes)):
        about = atlas.question(problem, name, dict(zip(sizes, row, strict=True)))
        promise = about.parts(levels[0]).mechanism.promise()
        if promise.epsilon is None:
            return ()
        shares += [promise.epsilon / levels[0] for _ in levels]
    return shares if max(shares) > 1 + 1e-6 else ()


def _lists(arrays: Mapping[str, Any]) -> dict[str, list[float]]:
    """Arrays as flat lists, for JSON."""
    return {name: values.ravel().tolist() for name, values in arrays.items()}


def _halves(problem: Problem) -> Mapping[str, str]:
    """Parameters that are half of an axis in all cells of a problem."""
    declared = atlas.declared(problem)
    if declared is None:
        return {}
    return declared.halves


def meaning(problem: Problem, name: str) -> str:
    """What a parameter means, as the problem's advice says, or its own declaration."""
    for unknown in advice_of(problem).unknowns.values():
        if unknown.parameter == name and not unknown.left:
            return unknown.meaning
    return str(_declared(problem, name).metadata["meaning"])


def _declared(problem: Problem, name: str) -> Field[Any]:
    """Declaration of a parameter by the model that is usual, or else by a mechanism."""
    usual = advice_of(problem).parameters["model"]
    parts = [problem.part("model", usual)]
    parts += [problem.part("mechanism", mechanism) for mechanism in problem.mechanisms]
    for part in parts:
        if name in fields(part):
            return fields(part)[name]
    raise AssertionError(name)  # an axis is a parameter of one of them


def _start(question: Question | None, keys: set[str]) -> Start | None:
    """Where the page begins: at a question's problem, sizes and first target."""
    if question is None:
        return None
    unit = atlas.unit_of(question)
    key = _key(question.problem, unit)
    if key not in keys:
        return None
    stored = atlas.stored(question.problem, unit)
    assert stored is not None
    first = question.targets[0]
    known = any(first.metric in solved.mean for solved in stored.mechanisms.values())
    sizes = {
        name: value for name, value in question.values.items() if isinstance(value, (int, float))
    }
    if not known:
        return Start(key, None, None, sizes)
    return Start(key, first.metric, first.value, sizes)


def _curves(question: Question) -> list[Curve]:
    """The curve of each mechanism along the unknown."""
    return curves(question)


def _table(curves: Sequence[Curve]) -> str:
    """A row for each mechanism, level of the unknown, and metric."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    question = curves[0].question
    sizes = []
    for name, value in question.values.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            sizes.append(name)
    heads = ["problem", "mechanism", "estimator", *sizes, question.parameter]
    rows.writerow([*heads, "metric", "mean", "low", "high"])
    for mechanism_curve in curves:
        rows.writerows(_rows(mechanism_curve, sizes))
    return text.getvalue()


def _rows(mechanism_curve: Curve, sizes: Sequence[str]) -> Iterable[list[str]]:
    """Rows of a mechanism's curve. sizes: names of the parameters that stand in front."""
    question = mechanism_curve.question
    values = question.values
    levels = mechanism_curve.levels
    every = max(1, (len(levels) - 1) // (POINTS - 1))
    front = [question.problem.name, values["mechanism"], values["estimator"]]
    front += [values.get(name, "") for name in sizes]
    for metric, bands in mechanism_curve.bands.items():
        for k in range(0, len(levels), every):
            yield [*front, f"{levels[k]:.6g}", metric, *(f"{part[k]:.5g}" for part in bands)]


def _figure(curves: Sequence[Curve], kind: str) -> bytes:
    """The curves as a figure."""
    from pipeline.reporting.advice_figure import draw  # Matplotlib

    question = curves[0].question
    drawn = []
    for each in curves:
        mechanism = str(each.question.values["mechanism"])
        drawn.append((mechanism, each.levels, each.bands))
    targets = {}
    for target in question.targets:
        label = question.problem.metric(target.metric).long_name
        is_share = (target.least, target.most) == (0, 1)
        targets[target.metric] = (label, target.value, is_share)
    name = "ε" if question.word == "epsilon" else question.parameter
    along = f"{meaning(question.problem, question.parameter)} ({name})"
    return draw(drawn, targets, along, kind)
