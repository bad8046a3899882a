"""What a report says of the parts of a study: what they are, where data come from, what mechanisms
promise.
"""

import inspect
import math
from collections.abc import Mapping
from typing import Any

from pipeline.study.checks import ROLES
from pipeline.study.factors import parts_of
from pipeline.study.parts import BaseMechanism
from pipeline.study.study import Study


def parts(study: Study) -> dict[str, dict[str, str]]:
    """Of each role the names that the study uses, with the first line that the code says of them."""
    used = {
        role: [str(name) for name in study.grid.axes.get(role, (study.parameters.get(role),))]
        for role in ROLES
    }
    return {
        role: {
            name: (inspect.getdoc(study.part(role, name)) or "").partition("\n")[0]
            for name in names
        }
        for role, names in used.items()
    }


def source(study: Study) -> str:
    """The source of the data, as the first cell's model states it; empty if it states none."""
    source: str = _component(study, ROLES[0], study.grid.labels(0)).source
    return source


def privacy(study: Study) -> list[dict[str, Any]]:
    """Privacy statement of every mechanism of the study: unit, neighbours, budget, and `spent`.

    spent: meaning of the number -> (least, greatest) over the mechanism's cells of the largest
    budget of a user, in nats; empty for a mechanism that does not state it. remarks: of its cells,
    where it has one.
    """
    statements: dict[str, dict[str, Any]] = {}
    remarked = remarks(study)
    for name, mechanism in parts_of(study, ROLES[1]):
        statement = statements.setdefault(
            name,
            {
                "unit": mechanism.unit,
                "neighbours": mechanism.neighbours,
                "budget": mechanism.budget,
                "spent": {},
                "remarks": remarked.get(name, []),
            },
        )
        for what, value in mechanism.spent().items():
            least, most = statement["spent"].get(what, (value, value))
            statement["spent"][what] = min(least, value), max(most, value)
    kinds = dict.fromkeys(what for statement in statements.values() for what in statement["spent"])
    if "none" in statements:
        statements["none"]["spent"] = dict.fromkeys(kinds, (math.inf, math.inf))
    return [{"mechanism": name, **statement} for name, statement in statements.items()]


def remarks(study: Study) -> dict[str, list[str]]:
    """What mechanisms remark on their cells, by the name of the mechanism; most have no remarks."""
    names = study.grid.axes.get(ROLES[1], (study.parameters.get(ROLES[1]),))
    if all(study.part(ROLES[1], name).remark is BaseMechanism.remark for name in names):
        return {}
    texts: dict[str, list[str]] = {}
    for labels in study.grid:
        mechanism = _component(study, ROLES[1], labels)
        remark = mechanism.remark(_component(study, ROLES[0], labels))
        if remark:
            texts.setdefault(study.values(labels)[ROLES[1]], []).append(remark)
    return texts


def _component(study: Study, role: str, labels: Mapping[str, Any]) -> Any:
    values = study.values(labels)
    return study.component(role, values[role], values)
