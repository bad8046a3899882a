"""What a report says of the parts of a study: what they are, where data come from, what mechanisms
promise.
"""

import inspect
import itertools
import math
from collections.abc import Mapping
from typing import cast

from pipeline.reporting.section import Protection
from pipeline.study.checks import ROLES
from pipeline.study.factors import parts_of
from pipeline.study.parts import BaseMechanism
from pipeline.study.protocols import Mechanism, Model
from pipeline.study.study import Study
from pipeline.study.untyped import CellLabels


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


def privacy(study: Study) -> list[Protection]:
    """What every mechanism of the study promises and spends, over its cells."""
    guarantees: dict[str, dict[tuple[str, str], None]] = {}
    trusts: dict[str, str] = {}
    units: dict[str, str] = {}
    spent: dict[str, dict[str, tuple[float, float]]] = {}
    for name, mechanism in parts_of(study, ROLES[1]):
        guarantee = mechanism.stated()
        guarantees.setdefault(name, {}).update(dict.fromkeys(guarantee.rows()))
        trusts[name] = guarantee.trust
        units[name] = guarantee.unit
        _widen(spent.setdefault(name, {}), mechanism.spent())
    if "none" in spent:
        meanings = itertools.chain.from_iterable(spent.values())
        spent["none"] = dict.fromkeys(meanings, (math.inf, math.inf))
    remarks_of = remarks(study)
    return [
        Protection(name, [*rows], spent[name], remarks_of.get(name, []), trusts[name], units[name])
        for name, rows in guarantees.items()
    ]


def _widen(ranges: dict[str, tuple[float, float]], spent: Mapping[str, float]) -> None:
    """Let the ranges hold what another cell spends, too."""
    for meaning, value in spent.items():
        least, greatest = ranges.get(meaning, (value, value))
        ranges[meaning] = min(least, value), max(greatest, value)


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


def _component(study: Study, role: str, labels: CellLabels) -> object:
    values = study.values(labels)
    return study.component(role, values[role], values)
