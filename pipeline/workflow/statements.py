"""What a report says of the parts of a study: what they are, where data come from, what mechanisms
promise.
"""

import dataclasses
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pipeline.study.checks import ROLES
from pipeline.study.factors import parts_of
from pipeline.study.guarantee import Guarantee
from pipeline.study.parts import BaseMechanism
from pipeline.study.protocols import Mechanism, Model
from pipeline.study.study import Study


@dataclass
class Statement:
    """What a mechanism promises. remarks: on its cells, where it has any.

    guarantee: (aspect, text) of each guarantee that it has in a cell, in order. spent: meaning of
    the number -> (least, greatest) over the mechanism's cells of the largest budget of a user, in
    nats; empty for a mechanism that does not state it.
    """

    mechanism: str
    guarantee: list[tuple[str, str]] = field(default_factory=list)
    spent: dict[str, tuple[float, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def add(self, guarantee: Guarantee) -> None:
        """Take in what the mechanism guarantees in another cell, where that is something else."""
        rows = [row for row in guarantee.rows() if row not in self.guarantee]
        self.guarantee += rows

    def widen(self, spent: Mapping[str, float]) -> None:
        """Let the ranges hold what another cell spends."""
        for meaning, value in spent.items():
            least, greatest = self.spent.get(meaning, (value, value))
            self.spent[meaning] = min(least, value), max(greatest, value)


def parts(study: Study) -> dict[str, dict[str, str]]:
    """Names of each role that the study uses, with the first line that the code says of them."""
    return {role: _first_lines(study, role) for role in ROLES}


def _first_lines(study: Study, role: str) -> dict[str, str]:
    """Name -> first line of the documentation, of the parts of a role."""
    lines = {}
    for name in study.grid.axes.get(role, (study.parameters.get(role),)):
        text = inspect.getdoc(study.part(role, str(name))) or ""
        lines[str(name)] = text.partition("\n")[0]
    return lines


def source(study: Study) -> str:
    """The source of the data, as the first cell's model states it; empty if it states none."""
    return cast(Model, _component(study, ROLES[0], study.grid.labels(0))).source


def privacy(study: Study) -> list[dict[str, Any]]:
    """Privacy statement of every mechanism of the study, as the page has it; see `Statement`."""
    statements: dict[str, Statement] = {}
    remarks_of = remarks(study)
    for name, mechanism in parts_of(study, ROLES[1]):
        if name not in statements:
            statements[name] = Statement(name, remarks=remarks_of.get(name, []))
        statements[name].add(mechanism.stated())
        statements[name].widen(mechanism.spent())
    if "none" in statements:
        meanings: dict[str, None] = {}
        for statement in statements.values():
            meanings.update(dict.fromkeys(statement.spent))
        statements["none"].spent = dict.fromkeys(meanings, (math.inf, math.inf))
    return [dataclasses.asdict(statement) for statement in statements.values()]


def remarks(study: Study) -> dict[str, list[str]]:
    """What mechanisms remark on their cells, by the name of the mechanism; most have no remarks."""
    names = study.grid.axes.get(ROLES[1], (study.parameters.get(ROLES[1]),))
    classes = [cast(type[BaseMechanism], study.part(ROLES[1], name)) for name in names]
    if all(cls.remark is BaseMechanism.remark for cls in classes):
        return {}
    texts: dict[str, list[str]] = {}
    for labels in study.grid:
        mechanism = cast(Mechanism, _component(study, ROLES[1], labels))
        remark = mechanism.remark(_component(study, ROLES[0], labels))
        if remark:
            texts.setdefault(study.values(labels)[ROLES[1]], []).append(remark)
    return texts


def _component(study: Study, role: str, labels: Mapping[str, Any]) -> object:
    values = study.values(labels)
    return study.component(role, values[role], values)
