"""Makes the atlas of every problem, or of those named.

Run it by `python -m pipeline.advice.solve [PROBLEM …]`, or `make atlas`.

What was made by the code that runs is left alone. What was made by other code is tried first: if
some of its cells come out as they are, they stay and get the new digest; else the mechanism is
solved again. The file is written after each mechanism, so that what was stopped goes on there.
"""

import itertools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.advice.atlas import (
    ANSWER,
    AT,
    PERSON,
    SEED,
    UNITS,
    Atlas,
    NotInAtlas,
    axes_of,
    code,
    declared,
    path,
    question,
    stored,
)
from pipeline.advice.person import Attack, terms
from pipeline.advice.processes import end_with_parent, most_processes
from pipeline.advice.simulation import Simulator
from pipeline.identity import registry
from pipeline.study.files import write_whole
from pipeline.study.parameters import InvalidInput
from pipeline.study.problem import Problem
from pipeline.study.untyped import ParameterValues

STEPS = 1e8  # predicted steps of about a nanosecond of one cell
FEWEST = 100
MOST = 400  # replications of a cell
# With others of these there are other cells.
EFFORT = {"seed": SEED, "steps": STEPS, "fewest": FEWEST, "most": MOST}
TRIED = 2  # combinations of sizes that are solved again before new code takes over old cells

Row = dict[str, Any]


def solve(
    name: str,
    mechanism: str,
    sizes: Mapping[str, float],
    levels: Sequence[float],
    replications: int | None = None,
    unit: str = ANSWER,
) -> Row:
    """The cells of one combination of sizes, at every budget of a unit.

    They are of the same people, so that a curve is smooth. replications: as many as the effort
    allows, unless given. The row's entries: estimator, replications; mean, error: metric -> a
    number for each budget; risk: "answer" or "person" -> the same, of ε of one answer only.
    """
    cell_question = question(registry.problem(name), mechanism, sizes, unit)
    simulator = Simulator(cell_question)
    steps = max(map(simulator.cost, levels))
    sample = simulator.sample(
        levels, replications or int(np.clip(round(STEPS / steps, -2), FEWEST, MOST))
    )
    row: Row = {
        "estimator": cell_question.values["estimator"],
        "replications": sample.status.shape[-1],
        "mean": {},
        "error": {},
        "risk": {},
    }
    for target, values in zip(cell_question.targets, sample.values, strict=True):
        if not np.isfinite(values).all():
            raise InvalidInput(
                "atlas", target.metric, f"has replications without a value at {dict(sizes)}"
            )
        deviation = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        # Equal values in all replications are known no better than one in so many.
        errors = np.where(deviation == 0, 1 / values.shape[1], deviation)
        row["error"][target.metric] = [_digits(error, 2) for error in errors]
        row["mean"][target.metric] = [_digits(mean, 4) for mean in values.mean(axis=1)]
    if unit == PERSON:
        return row
    for level in levels:
        for attacked, risk in terms(cell_question.parts(level).mechanism).items():
            if risk is not None:
                power = _power(risk.attacker)
                row["risk"].setdefault(attacked, []).append(_digits(power, 4))
    return row


def _power(attacker: Iterable[Attack]) -> float:
    """True alarms of the best attack at the false alarms of the atlas."""
    return next(attack.true_alarms for attack in attacker if attack.false_alarms == AT)


def rows(problem: Problem, mechanism: str, unit: str = ANSWER) -> list[dict[str, float]]:
    """All combinations of sizes of a mechanism's cells, in their order."""
    axes = axes_of(problem, mechanism, unit)
    *sizes, _ = axes
    combinations = itertools.product(*(axes[name] for name in sizes))
    return [dict(zip(sizes, levels, strict=True)) for levels in combinations]


def levels_of(problem: Problem, unit: str = ANSWER) -> list[float]:
    """The levels of the budget."""
    wanted = declared(problem, unit)
    assert wanted is not None
    *_, levels = wanted.axes.values()
    return list(levels)


def equal_rows(row: Row, other: Row) -> bool:
    """Whether two solutions are the same.

    But for what another processor's rounding may do to a few replications.
    """
    for name in ("estimator", "replications"):
        if row[name] != other[name]:
            return False
    for table in ("mean", "risk"):
        if row[table].keys() != other[table].keys():
            return False
        for name, values in row[table].items():
            errors = row["error"].get(name, [0.0 for _ in values])
            if not _close(values, other[table][name], errors):
                return False
    return True


def _close(values: Sequence[float], others: Sequence[float], errors: Sequence[float]) -> bool:
    """Whether numbers are equal to a tenth of their error and 2 in 1,000."""
    if len(values) != len(others):
        return False
    a = np.array(values)
    room = 0.1 * np.array(errors) + 2e-3 * np.abs(a)
    return bool((np.abs(a - np.array(others)) <= room).all())


def cut(atlas: Atlas, mechanism: str, number: int) -> Row:
    """The row of a combination of sizes, as `solve` gives it, from the atlas."""
    solved = atlas.mechanisms[mechanism]
    *_, levels = solved.axes.values()
    last = len(levels)

    def part(table: Mapping[str, Any]) -> dict[str, list[float]]:
        return {name: values.reshape(-1, last)[number].tolist() for name, values in table.items()}

    return {
        "estimator": solved.estimator,
        "replications": solved.replications[number],
        "mean": part(solved.mean),
        "error": part(solved.error),
        "risk": part(solved.risk),
    }


def tried(problem: Problem, mechanism: str, unit: str = ANSWER) -> list[int]:
    """Numbers of the combinations of sizes that are tried: the smallest, and one in the middle."""
    count = len(rows(problem, mechanism, unit))
    return [k * count // TRIED for k in range(TRIED)]


@dataclass(frozen=True)
class _Former:
    """Cells of a mechanism that the atlas has already. digest: of the code that made them."""

    cells: list[Row]
    digest: str


@dataclass(frozen=True)
class _Maker:
    """Makes the atlas of one problem, in budgets of a unit. pool: of processes that solve; levels:
    of the budget.
    """

    problem: Problem
    unit: str
    pool: ProcessPoolExecutor
    levels: Sequence[float]

    def solved(
        self, mechanism: str, numbers: Sequence[int], replications: Sequence[int | None]
    ) -> list[Row]:
        """The cells of some combinations of sizes; replications: of each, None for as many as the
        effort allows.
        """
        count = len(numbers)
        sizes = rows(self.problem, mechanism, self.unit)
        answers = self.pool.map(
            solve,
            itertools.repeat(self.problem.name, count),
            itertools.repeat(mechanism, count),
            [sizes[k] for k in numbers],
            itertools.repeat(self.levels, count),
            replications,
            itertools.repeat(self.unit, count),
        )
        return [*answers]

    def comes_out_as(self, mechanism: str, cells: Sequence[Row]) -> bool:
        """Whether some cells come out as they are, solved again by the code here."""
        numbers = tried(self.problem, mechanism, self.unit)
        tried_before = [cells[k] for k in numbers]
        again = self.solved(mechanism, numbers, [row["replications"] for row in tried_before])
        return all(map(equal_rows, tried_before, again))

    def table(self, mechanism: str, former: _Former | None) -> tuple[dict[str, Any], str]:
        """The mechanism's cells as a table, and what was done for it, in words."""
        sizes = rows(self.problem, mechanism, self.unit)
        digest = code(question(self.problem, mechanism, sizes[0], self.unit))
        axes = axes_of(self.problem, mechanism, self.unit)
        if former is not None and former.digest == digest:
            return _table(former.cells, axes, digest), "made by this code already"
        if former is not None and self.comes_out_as(mechanism, former.cells):
            text = f"{TRIED} combinations of sizes come out as they are; all are kept"
            return _table(former.cells, axes, digest), text
        count = len(sizes)
        cells = self.solved(mechanism, range(count), [None for _ in sizes])
        return _table(cells, axes, digest), f"solved, {count * len(self.levels)} cells"


def make(problem: Problem, pool: ProcessPoolExecutor, unit: str = ANSWER) -> None:
    """Make the atlas of one problem, in budgets of a unit, where it is missing, or was made by
    other code.

    Says what it does.
    """
    wanted = declared(problem, unit)
    file = path(problem, unit)
    assert wanted is not None and file is not None
    heading = _heading(wanted.axes, wanted.parameters, EFFORT)
    formers = _formers(problem, unit, heading)
    tables: dict[str, Any] = {}
    for name, former in formers.items():
        tables[name] = _table(former.cells, axes_of(problem, name, unit), former.digest)
    maker = _Maker(problem, unit, pool, levels_of(problem, unit))
    for mechanism in wanted.mechanisms:
        tables[mechanism], text = maker.table(mechanism, formers.get(mechanism))
        content = {
            **heading,
            "mechanisms": {name: tables[name] for name in wanted.mechanisms if name in tables},
        }
        write_whole(file, (_text(content) + "\n").encode())
        print(f"{problem.name}, ε of one {unit}: {mechanism}: {text}", flush=True)


def _formers(problem: Problem, unit: str, heading: Mapping[str, Any]) -> dict[str, _Former]:
    """What may stay of the atlas that there is: mechanism -> cells of the wanted sizes, metrics and
    effort.
    """
    wanted = declared(problem, unit)
    assert wanted is not None
    before = _before(problem, unit)
    if before is None or _heading(before.axes, before.parameters, before.effort) != heading:
        return {}
    formers: dict[str, _Former] = {}
    for name, former in before.mechanisms.items():
        if name not in wanted.mechanisms or tuple(former.mean) != wanted.metrics:
            continue
        if former.axes == axes_of(problem, name, unit):
            cells = [cut(before, name, k) for k in range(len(rows(problem, name, unit)))]
            formers[name] = _Former(cells, former.code)
    return formers


def _before(problem: Problem, unit: str) -> Atlas | None:
    """The atlas that there is, if it can be read."""
    try:
        return stored(problem, unit)
    except NotInAtlas:
        return None


def _table(some: list[Row], axes: Iterable[str], digest: str) -> dict[str, Any]:
    """Rows as one table: every array in the order of the cells, along axes of these names."""
    first = some[0]
    table: dict[str, Any] = {
        "axes": [*axes],
        "estimator": first["estimator"],
        "code": digest,
        "replications": [row["replications"] for row in some],
    }
    for values in ("mean", "error", "risk"):
        table[values] = {
            name: [*itertools.chain.from_iterable(row[values][name] for row in some)]
            for name in first[values]
        }
    return table


def _heading(
    axes: Mapping[str, Any], parameters: ParameterValues, effort: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "axes": {name: tuple(levels) for name, levels in axes.items()},
        "parameters": dict(parameters),
        "effort": dict(effort),
    }


def _text(value: object) -> str:
    """JSON with a line for every entry that is no mapping."""
    if isinstance(value, Mapping):
        entries = [f"{json.dumps(name)}: {_text(entry)}" for name, entry in value.items()]
        return "{\n" + ",\n".join(entries) + "}"
    return json.dumps(value, separators=(",", ":"))


def _digits(value: float, count: int) -> float:
    return float(f"{value:.{count}g}")


def _units(problem: Problem) -> list[str]:
    """Units of the budgets of the cells that a problem declares."""
    return [unit for unit in UNITS if declared(problem, unit) is not None]


def main(names: Sequence[str]) -> int:
    """Make the atlas of the problems of these names, or of all that declare one; the exit code."""
    try:
        chosen = [registry.problem(name) for name in names]
        if not chosen:
            chosen = [problem for problem in registry.problems().values() if _units(problem)]
        for problem in chosen:
            if not _units(problem) or path(problem) is None:
                raise InvalidInput(
                    "problem", problem.name, "declares no atlas in its Advice, or is in no package"
                )
        with ProcessPoolExecutor(most_processes(), initializer=end_with_parent) as pool:
            for problem in chosen:
                for unit in _units(problem):
                    make(problem, pool, unit)
    except InvalidInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
