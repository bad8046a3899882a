"""Makes the atlas of every problem, or of those named: `python -m pipeline.advice.solve [PROBLEM …]`, `make atlas`.

What was made by the code that runs is left alone. What was made by other code is tried first: if some of its cells come
out as they are, they stay and get the new digest; else the mechanism is solved again. The file is written after each
mechanism, so that what was stopped goes on there.
"""

import itertools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from pipeline.advice.atlas import AT, SEED, Atlas, NotInAtlas, axes_of, code, declared, path, question, stored
from pipeline.advice.person import terms
from pipeline.advice.processes import end_with_parent, most_processes
from pipeline.advice.simulation import Simulator
from pipeline.study.files import write_whole
from pipeline.study.parameters import InvalidInput
from pipeline.study.problem import Problem
from pipeline.study.registry import problem, problems

STEPS = 1e8  # predicted steps of about a nanosecond of one cell
FEWEST, MOST = 100, 400  # replications of a cell
EFFORT = {"seed": SEED, "steps": STEPS, "fewest": FEWEST, "most": MOST}  # other cells with others of these
TRIED = 2  # combinations of sizes that are solved again before new code takes over old cells

Row = dict[str, Any]


def solve(
    name: str, mechanism: str, sizes: Mapping[str, float], levels: Sequence[float], replications: int | None = None
) -> Row:
    """The cells of one combination of sizes, at every ε: on the same people, so that a curve is smooth.

    replications: as many as the effort allows, unless given. The row's entries: estimator, replications; mean, error:
    metric -> a number for each ε; risk: "answer" or "person" -> the same.
    """
    asked = question(problem(name), mechanism, sizes)
    simulator = Simulator(asked)
    steps = max(map(simulator.cost, levels))
    sample = simulator.sample(levels, replications or int(np.clip(round(STEPS / steps, -2), FEWEST, MOST)))
    row: Row = {"estimator": asked.values["estimator"], "replications": sample.status.shape[-1], "mean": {},
                "error": {}, "risk": {}}
    for target, values in zip(asked.targets, sample.values, strict=True):
        if not np.isfinite(values).all():
            raise InvalidInput("atlas", target.metric, f"has replications without a value at {dict(sizes)}")
        deviation = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        # equal values in all replications are known no better than one in so many
        row["error"][target.metric] = [_digits(max(one, 1 / values.shape[1]) if one == 0 else one, 2)
                                       for one in deviation]
        row["mean"][target.metric] = [_digits(one, 4) for one in values.mean(axis=1)]
    for level in levels:
        for what, one in terms(asked.parts(level).mechanism).items():
            if one is not None:
                power = next(a["true_alarms"] for a in one["attacker"] if a["false_alarms"] == AT)
                row["risk"].setdefault(what, []).append(_digits(power, 4))
    return row


def rows(found: Problem, mechanism: str) -> list[dict[str, float]]:
    """All combinations of sizes of a mechanism's cells, in their order."""
    axes = axes_of(found, mechanism)
    *sizes, _ = axes
    return [dict(zip(sizes, one, strict=True)) for one in itertools.product(*(axes[name] for name in sizes))]


def levels_of(found: Problem) -> list[float]:
    """The levels of ε."""
    wanted = declared(found)
    assert wanted is not None
    return list([*wanted.axes.values()][-1])


def agree(one: Row, other: Row) -> bool:
    """Whether two solutions are the same, but for what another processor's rounding may do to a few replications."""
    def same(what: str, metric: str) -> bool:
        return all(abs(a - b) <= 0.1 * error + 2e-3 * abs(a) for a, b, error in
                   zip(one[what][metric], other[what][metric], one["error"].get(metric, [0] * 99)))  # noqa: B905

    return (one["estimator"] == other["estimator"] and one["replications"] == other["replications"] and
            all(one[what].keys() == other[what].keys() and all(same(what, name) for name in one[what])
                for what in ("mean", "risk")))


def cut(atlas: Atlas, mechanism: str, number: int) -> Row:
    """The row of a combination of sizes, as `solve` gives it, from the atlas."""
    solved = atlas.mechanisms[mechanism]
    last = len([*solved.axes.values()][-1])

    def part(table: Mapping[str, Any]) -> dict[str, list[float]]:
        return {name: values.reshape(-1, last)[number].tolist() for name, values in table.items()}

    return {"estimator": solved.estimator, "replications": solved.replications[number], "mean": part(solved.mean),
            "error": part(solved.error), "risk": part(solved.risk)}


def tried(found: Problem, mechanism: str) -> list[int]:
    """Numbers of the combinations of sizes that are tried: the smallest, and others that are not the largest."""
    count = len(rows(found, mechanism))
    return [k * count // TRIED for k in range(TRIED)]


def make(found: Problem, pool: ProcessPoolExecutor) -> None:
    """Make the atlas of one problem where it is missing, or was made by other code; says what it does."""
    wanted, file, before = declared(found), path(found), _before(found)
    assert wanted is not None and file is not None
    heading = _heading(wanted.axes, wanted.parameters, EFFORT)
    levels = levels_of(found)
    old: dict[str, list[Row]] = {}
    tables: dict[str, Any] = {}
    if before is not None and _heading(before.axes, before.parameters, before.effort) == heading:
        for name, one in before.mechanisms.items():
            if (name in wanted.mechanisms and tuple(one.mean) == wanted.metrics
                    and one.axes == axes_of(found, name)):
                old[name] = [cut(before, name, k) for k in range(len(rows(found, name)))]
                tables[name] = _table(old[name], one.axes, one.code)

    def solved(mechanism: str, numbers: Sequence[int], cells: Sequence[Row] | None = None) -> list[Row]:
        count, sizes = len(numbers), rows(found, mechanism)
        before = [None if cells is None else cells[k]["replications"] for k in numbers]
        return [*pool.map(solve, [found.name] * count, [mechanism] * count, [sizes[k] for k in numbers],
                          [levels] * count, before)]

    for mechanism in wanted.mechanisms:
        sizes, trial = rows(found, mechanism), tried(found, mechanism)
        digest, cells = code(question(found, mechanism, sizes[0])), old.get(mechanism)
        if cells and tables[mechanism]["code"] == digest:
            said = "made by this code already"
        elif cells and all(map(agree, [cells[k] for k in trial], solved(mechanism, trial, cells))):
            said = f"{TRIED} combinations of sizes come out as they are; all are kept"
        else:
            cells = solved(mechanism, range(len(sizes)))
            said = f"solved, {len(sizes) * len(levels)} cells"
        tables[mechanism] = _table(cells, axes_of(found, mechanism), digest)
        content = {**heading, "mechanisms": {name: tables[name] for name in wanted.mechanisms if name in tables}}
        write_whole(file, (_text(content) + "\n").encode())
        print(f"{found.name}: {mechanism}: {said}", flush=True)


def _before(found: Problem) -> Atlas | None:
    """The atlas that there is, if it can be read."""
    try:
        return stored(found)
    except NotInAtlas:
        return None


def _table(some: list[Row], axes: Iterable[str], digest: str) -> dict[str, Any]:
    """Rows as one table: every array in the order of the cells, along axes of these names."""
    first = some[0]
    return {"axes": [*axes], "estimator": first["estimator"], "code": digest,
            "replications": [one["replications"] for one in some]} | {
        what: {name: [value for one in some for value in one[what][name]] for name in first[what]}
        for what in ("mean", "error", "risk")}


def _heading(axes: Mapping[str, Any], parameters: Mapping[str, Any], effort: Mapping[str, float]) -> dict[str, Any]:
    return {"axes": {name: tuple(levels) for name, levels in axes.items()}, "parameters": dict(parameters),
            "effort": dict(effort)}


def _text(value: Any) -> str:
    """JSON with a line for every entry that is no mapping."""
    if isinstance(value, Mapping):
        return "{\n" + ",\n".join(f"{json.dumps(name)}: {_text(one)}" for name, one in value.items()) + "}"
    return json.dumps(value, separators=(",", ":"))


def _digits(value: float, count: int) -> float:
    return float(f"{value:.{count}g}")


def main(names: Sequence[str]) -> int:
    """Make the atlas of the problems of these names, or of all that declare one; the exit code."""
    try:
        chosen = [problem(name) for name in names] or [one for one in problems().values() if declared(one)]
        for one in chosen:
            if declared(one) is None or path(one) is None:
                raise InvalidInput("problem", one.name, "declares no atlas in its Advice, or is in no package")
        with ProcessPoolExecutor(most_processes(), initializer=end_with_parent) as pool:
            for one in chosen:
                make(one, pool)
    except InvalidInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
