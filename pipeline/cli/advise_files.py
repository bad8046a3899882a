"""`save=FILE` of `task=advise`: the page over the atlas, or the curves of one question as a table
or a figure.
"""

import csv
import io
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.advice import atlas
from pipeline.advice.first import Curve, curve
from pipeline.advice.question import Question
from pipeline.advice.targets import advice_of
from pipeline.identity.registry import problems
from pipeline.study.files import write_whole
from pipeline.study.parameters import InvalidInput, fields, path_of
from pipeline.study.problem import Problem

PAGE = ".html"
FIGURES = (".svg", ".pdf", ".png")
POINTS = 201  # of a curve in a table


def file(value: Any) -> Path:
    """The path that is given as `save`; InvalidInput if it names no kind of file that is written."""
    kinds = (PAGE, ".csv", *FIGURES)
    if not isinstance(value, str) or Path(value).suffix.lower() not in kinds:
        raise InvalidInput("save", value, f"must be a file that ends with {', '.join(kinds)}")
    found = path_of(value, "save")
    folder = found.absolute().parent
    if not os.path.isdir(folder):  # also false for a name that is too long
        raise InvalidInput("save", value, "there is no such folder")
    if not os.access(folder, os.W_OK) or os.path.isdir(found):
        raise InvalidInput(
            "save", value, "cannot be written there; give a file in a folder of your own"
        )
    return found


def is_page(where: Path) -> bool:
    """Whether a file is to be a page."""
    return where.suffix.lower() == PAGE


def save(where: Path, question: Question | None, quick: bool = True) -> str:
    """Write what the atlas says into a file; says what it is.

    Without a question, only the page can be written.

    InvalidInput where the atlas has no cells for the question: then nothing is written.
    """
    kind = where.suffix.lower()
    if question is not None:
        _check_cells(where, question, quick)
    if kind == PAGE:
        content = _page(question).encode()
    elif question is None:
        raise InvalidInput(
            "save", where, f"needs a problem, sizes and a target; only {PAGE} does without"
        )
    else:
        curves = _curves(question)
        content = _table(curves).encode() if kind == ".csv" else _figure(curves, kind[1:])
    try:
        write_whole(where, content)
    except OSError as error:
        raise InvalidInput(
            "save", where, f"cannot be written ({error.strerror or error})"
        ) from None
    return (
        f"{where}: {'a page over the atlas' if kind == PAGE else 'curves from the atlas'}, not "
        "certified"
    )


def _check_cells(where: Path, question: Question, quick: bool) -> None:
    """Raise InvalidInput where a file about a question would be made of cells of another."""
    try:
        atlas.fitting(question)
    except atlas.NotInAtlas as error:
        instead = (
            "leave out quick=true" if quick else f"save=FILE{PAGE} writes the certified answer"
        )
        if is_page(where):
            instead += ", and the page is about the certified answer"
        raise InvalidInput(
            "save", where, f"the atlas has nothing to write about this question: {error}; {instead}"
        ) from None


def _page(question: Question | None) -> str:
    from pipeline.reporting.advice_page import page  # Jinja

    shown = list[dict[str, Any]]()
    skipped = list[str]()
    for one in problems().values():
        try:
            stored = atlas.stored(one)
        except atlas.NotInAtlas as error:
            skipped.append(f"{one.name}: {error}")
            continue
        if stored is None:
            continue
        usable = {
            name: solved
            for name, solved in stored.mechanisms.items()
            if atlas.current(one, name, solved)
        }
        skipped += [
            f"{one.name} with {name}, whose cells were made by other code"
            for name in stored.mechanisms
            if name not in usable
        ]
        if usable:
            shown.append(_shown(one, stored, usable))
    if not shown:
        why = "; ".join(skipped) or "there are none"
        raise InvalidInput(
            "save", PAGE, f"no cells of the atlas can be used: {why}; `make atlas` makes them again"
        )
    return page(shown, _start(question, {one["name"] for one in shown}), skipped)


def _shown(
    problem: Problem, stored: atlas.Atlas, usable: Mapping[str, atlas.Solved]
) -> dict[str, Any]:
    """A problem as the page takes it."""
    axes = list[dict[str, Any]]()
    for name, levels in stored.axes.items():
        short = name if len(axes) + 1 < len(stored.axes) else "ε"
        some = [
            mechanism.replace("_", " ") for mechanism, one in usable.items() if name in one.axes
        ]
        only = f", only with {' and '.join(some)}" if len(some) < len(usable) else ""
        default = _declared(problem, name).default
        whole = "int" in str(_declared(problem, name).type)
        middle = float(f"{math.sqrt(levels[0] * levels[-1]):.2g}")
        axes.append(
            {
                "name": name,
                "label": f"{meaning(problem, name)} ({short}{only})",
                "short": short,
                "levels": levels,
                "whole": whole,
                "usual": default if default in levels else round(middle) if whole else middle,
            }
        )
    first = next(iter(usable.values()))
    metrics = []
    for name, mean in first.mean.items():
        metric = problem.part("metric", name)
        limits = [one if math.isfinite(one) else None for one in atlas.limits(metric)]
        falls = float((mean[..., 0] - mean[..., -1]).sum()) > 0  # with ε: it is to be small
        halves = {half: axis for half, axis in _halves(problem).items() if half in fields(metric)}
        label = metric.long_name + "".join(f", {half} = {axis}/2" for half, axis in halves.items())
        metrics.append(
            {
                "name": name,
                "label": label,
                "limits": limits,
                "sign": 1 if falls else -1,
                "halves": halves,
            }
        )
    mechanisms = [
        {"name": name, "estimator": one.estimator, "axes": [*one.axes]}
        | {
            what: {metric: values.ravel().tolist() for metric, values in getattr(one, what).items()}
            for what in ("mean", "error", "risk")
        }
        for name, one in usable.items()
    ]
    risks = [
        what for what in ("answer", "person") if any(what in one["risk"] for one in mechanisms)
    ]
    people = advice_of(problem).unknowns.get("people")
    return {
        "name": problem.name,
        "title": problem.title,
        "people": people and people.parameter,
        "parameters": stored.parameters,
        "axes": axes,
        "metrics": metrics,
        "risks": risks,
        "mechanisms": mechanisms,
    }


def _halves(problem: Problem) -> Mapping[str, str]:
    """Parameters that are half of an axis in all cells of a problem."""
    wanted = atlas.declared(problem)
    return {} if wanted is None else wanted.halves


def meaning(problem: Problem, name: str) -> str:
    """What a parameter means, as the problem's advice says, or its own declaration."""
    unknowns = {
        one.parameter: one.meaning for one in advice_of(problem).unknowns.values() if not one.left
    }
    return unknowns.get(name) or str(_declared(problem, name).metadata["meaning"])


def _declared(problem: Problem, name: str) -> Any:
    """Declaration of a parameter by the model that is usual, or else by a mechanism."""
    usual = advice_of(problem).parameters["model"]
    parts = [
        problem.part("model", usual),
        *(problem.part("mechanism", one) for one in problem.mechanisms),
    ]
    return next(fields(part)[name] for part in parts if name in fields(part))


def _start(question: Question | None, names: set[str]) -> dict[str, Any] | None:
    """Where the page begins: at a question's problem, sizes and first target."""
    if question is None or question.problem.name not in names:
        return None
    stored = atlas.stored(question.problem)
    first = question.targets[0]
    known = any(first.metric in one.mean for one in stored.mechanisms.values()) if stored else False
    return {
        "problem": question.problem.name,
        "metric": first.metric if known else None,
        "target": first.value if known else None,
        "sizes": {
            name: value
            for name, value in question.values.items()
            if isinstance(value, (int, float))
        },
    }


def _curves(question: Question) -> list[Curve]:
    """The curve of each mechanism along the unknown."""
    return [curve(other, solved) for other, solved in atlas.fitting(question).values()]


def _table(curves: list[Curve]) -> str:
    """A row for each mechanism, level of the unknown, and metric."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    given = [
        name
        for name, value in curves[0].question.values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    unknown = curves[0].question.parameter
    rows.writerow(
        ["problem", "mechanism", "estimator", *given, unknown, "metric", "mean", "low", "high"]
    )
    for one in curves:
        values = one.question.values
        every = max(1, (len(one.levels) - 1) // (POINTS - 1))
        for metric, bands in one.bands.items():
            for k in range(0, len(one.levels), every):
                rows.writerow(
                    [
                        one.question.problem.name,
                        values["mechanism"],
                        values["estimator"],
                        *(values.get(name, "") for name in given),
                        f"{one.levels[k]:.6g}",
                        metric,
                        *(f"{part[k]:.5g}" for part in bands),
                    ]
                )
    return text.getvalue()


def _figure(curves: list[Curve], kind: str) -> bytes:
    from pipeline.reporting.advice_figure import draw  # Matplotlib

    asked = curves[0].question
    labels = {
        one.metric: asked.problem.part("metric", one.metric).long_name for one in asked.targets
    }
    return draw(
        [(str(one.question.values["mechanism"]), one.levels, one.bands) for one in curves],
        {
            one.metric: (labels[one.metric], one.value, (one.least, one.most) == (0, 1))
            for one in asked.targets
        },
        f"{meaning(asked.problem, asked.parameter)} "
        f"({'ε' if asked.word == 'epsilon' else asked.parameter})",
        kind,
    )
