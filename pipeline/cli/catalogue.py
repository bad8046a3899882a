"""`--help mechanisms`, estimators, …: all parts of a kind, described by their own declarations."""

import inspect
from collections.abc import Iterator
from typing import Any

from pipeline.cli.help import table
from pipeline.identity.registry import problems
from pipeline.reporting import specs
from pipeline.study.parameters import InvalidInput, describe, fields, nearest
from pipeline.study.problem import Problem
from pipeline.workflow.config_files import options

SINGULAR = {
    f"{kind}s": kind for kind in ("model", "mechanism", "estimator", "metric", "derivation")
}
KINDS = (*SINGULAR, "figures", "problems")


def text(kind: str) -> str:
    """All of a kind, problem by problem; InvalidInput for an unknown kind."""
    if kind not in KINDS:
        raise InvalidInput("--help", kind, f"takes kinds of parts only; {nearest(kind, KINDS)}")
    if kind == "figures":
        return "\n".join(_figures())
    if kind == "problems":
        return "\n".join(line for one in problems().values() for line in _contents(one))
    known = [(one, SINGULAR[kind]) for one in problems().values() if one.names(SINGULAR[kind])]
    return "\n".join(line for one, single in known for line in _problem(one, single))


def _contents(problem: Problem) -> Iterator[str]:
    yield f"problem={problem.name}: {problem.title}"
    rows = [(plural, ", ".join(sorted(problem.names(kind)))) for plural, kind in SINGULAR.items()]
    experiments = sorted(
        name for name in options("experiment") if name.partition("/")[0] in problem.experiments
    )
    rows.append(("experiments", ", ".join(experiments)))
    yield from (f"    {line}" for line in table([row for row in rows if row[1]]))
    yield ""


def _problem(problem: Problem, kind: str) -> Iterator[str]:
    yield f"{kind}s of problem={problem.name}: {problem.title}"
    for name in sorted(problem.names(kind)):
        yield f"  {name}"
        try:
            part = problem.part(kind, name)
        except InvalidInput as error:  # somebody's own; all others are shown
            yield f"      {error.allowed}"
            continue
        yield f"      {_about(part, kind)}"
        if kind == "mechanism":
            yield from (
                f"      {what}: {getattr(part, what)}" for what in ("unit", "neighbours", "budget")
            )
        if isinstance(part, type):
            yield from _parameters(part)
    yield ""


def _about(part: Any, kind: str) -> str:
    """First line of a part's docstring; of a metric its name and unit."""
    if kind == "metric":
        return f"{part.long_name} ({part.units})" if part.units != "1" else str(part.long_name)
    return (inspect.getdoc(part) or "").partition("\n")[0]


def _parameters(part: type[Any]) -> Iterator[str]:
    """Parameters with their meanings, as a table."""
    rows = []
    for name, declared in fields(part).items():
        if "unit" not in declared.metadata:  # names a part of the study
            rows.append((name, str(declared.metadata["meaning"])))
            continue
        unit = declared.metadata["unit"]
        rows.append(
            (
                name,
                f"{declared.metadata['meaning']}{'' if unit == '1' else f', in {unit}'} "
                f"({describe(declared)})",
            )
        )
    yield from (f"    {line}" for line in table(rows))


def _figures() -> Iterator[str]:
    yield "figures=[{kind: KIND, …}]; title and caption go with all kinds"
    for kind, cls in specs.KINDS.items():
        yield f"  {kind}"
        yield f"      {(inspect.getdoc(cls) or '').partition(chr(10))[0]}"
        yield from _parameters(cls)
    yield ""
