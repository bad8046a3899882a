"""`--help mechanisms`, estimators, …: all parts of a kind, described by their own declarations."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from pipeline.cli.help import headings, table
from pipeline.execution.clusters import CLUSTERS
from pipeline.execution.systems.registry import systems
from pipeline.identity.registry import problems
from pipeline.reporting import specs
from pipeline.study.parameters import InvalidInput, closest, describe, fields, nearest
from pipeline.study.problem import Problem
from pipeline.study.protocols import Mechanism, Metric
from pipeline.workflow.config_files import options
from pipeline.workflow.tasks import TASKS

SINGULAR = {
    "models": "model",
    "mechanisms": "mechanism",
    "estimators": "estimator",
    "metrics": "metric",
    "derivations": "derivation",
}


def text(kind: str) -> str:
    """All of a kind, problem by problem; InvalidInput for an unknown kind."""
    others: dict[str, Callable[[], Iterable[str]]] = {
        "figures": _figures,
        "clusters": _clusters,
        "problems": _problems,
        "experiments": lambda: headings("experiment"),
        "suites": lambda: headings("suite"),
    }
    if kind in others:
        return "\n".join(others[kind]())
    if kind not in SINGULAR:
        raise InvalidInput("--help", kind, _instead(kind, [*SINGULAR, *others]))
    lines: list[str] = []
    for problem in problems().values():
        if problem.names(SINGULAR[kind]):
            lines += _parts(problem, SINGULAR[kind])
    return "\n".join(lines)


def _instead(typed: str, kinds: list[str]) -> str:
    """What --help takes: kinds of parts, unless a task was meant."""
    close = closest(typed, [*kinds, *TASKS])
    if close in TASKS:
        return f"no such task; did you mean {close!r}? pipeline --help lists all"
    return f"takes kinds of parts only; {nearest(typed, kinds)}"


def _problems() -> Iterator[str]:
    for problem in problems().values():
        yield from _contents(problem)


def _contents(problem: Problem) -> Iterator[str]:
    """What a problem has of each kind."""
    yield f"problem={problem.name}: {problem.title}"
    rows = [(plural, ", ".join(sorted(problem.names(kind)))) for plural, kind in SINGULAR.items()]
    experiments = [
        name for name in options("experiment") if name.partition("/")[0] in problem.experiments
    ]
    rows.append(("experiments", ", ".join(sorted(experiments))))
    yield from _indented(row for row in rows if row[1])
    yield ""


def _parts(problem: Problem, kind: str) -> Iterator[str]:
    """All parts of a kind of a problem, with their parameters."""
    yield f"{kind}s of problem={problem.name}: {problem.title}"
    for name in sorted(problem.names(kind)):
        yield f"  {name}"
        try:
            part = problem.code(kind, name)
        except InvalidInput as error:  # somebody's own; all others are shown
            yield f"      {error.allowed}"
            continue
        yield f"      {_about(part, kind)}"
        if kind == "mechanism":
            for aspect, text in cast(type[Mechanism], part).guarantee.rows():
                yield f"      {aspect}: {text}"
        if isinstance(part, type):
            yield from _parameters(part)
    yield ""


def _about(part: object, kind: str) -> str:
    """First line of a part's docstring; of a metric its name and unit."""
    if kind == "metric":
        metric = cast(type[Metric], part)
        return metric.long_name if metric.units == "1" else f"{metric.long_name} ({metric.units})"
    return (inspect.getdoc(part) or "").partition("\n")[0]


def _parameters(part: type[Any]) -> Iterator[str]:
    """Parameters with their meanings, as a table."""
    rows = []
    for name, declared in fields(part).items():
        meaning = str(declared.metadata["meaning"])
        if "unit" not in declared.metadata:  # names a part of the study
            rows.append((name, meaning))
            continue
        unit = declared.metadata["unit"]
        if unit != "1":
            meaning = f"{meaning}, in {unit}"
        rows.append((name, f"{meaning} ({describe(declared)})"))
    yield from _indented(rows)


def _figures() -> Iterator[str]:
    yield "figures=[{kind: KIND, …}]; title and caption go with all kinds"
    yield from _classes(specs.KINDS)


def _clusters() -> Iterator[str]:
    yield "cluster=NAME, each field as cluster.FIELD=VALUE"
    yield from _classes({**CLUSTERS, **systems()})


def _classes(known: Mapping[str, type[Any]]) -> Iterator[str]:
    """Classes by name, each with the first line of its docstring and its parameters."""
    for name, component in known.items():
        yield f"  {name}"
        yield f"      {_about(component, '')}"
        yield from _parameters(component)
    yield ""


def _indented(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A table of rows, below a name."""
    for line in table(rows):
        yield f"    {line}"
