"""How the studies of a page were run: sessions, versions, budgets, and what mechanisms protect."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from pipeline.reporting.formatting import count, number, symbol
from pipeline.reporting.section import Facts, PastSession, Protection
from pipeline.study.guarantee import ONE_ANSWER

Versions = Mapping[str, str]  # package -> version


@dataclass(frozen=True)
class Budgets:
    """A table of budgets. kinds: whose budget each column is; remarks: sentences below."""

    kinds: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str]


@dataclass(frozen=True)
class Statement:
    """What a mechanism protects. guarantee: (aspect, text), such as ("unit", "one answer").

    audits: of that promise, in sentences.
    """

    mechanism: str
    guarantee: tuple[tuple[str, str], ...]
    audits: tuple[str, ...] = ()


@dataclass(frozen=True)
class VersionsOf:
    """Versions in words, and the names of the sections that they computed."""

    text: str
    sections: Sequence[str]


def budgets(privacy: Sequence[Protection]) -> Budgets | None:
    """The table of budgets; None if no mechanism says what it spends."""
    spending = [mechanism for mechanism in privacy if mechanism.spent]
    if not spending:
        return None
    kinds: dict[str, None] = {}
    for mechanism in spending:
        kinds |= dict.fromkeys(mechanism.spent)
    rows = []
    for mechanism in spending:
        cells = [_spent(mechanism.spent.get(kind)) for kind in kinds]
        rows.append([symbol(mechanism.mechanism), *cells])
    remarks = [_remark(mechanism) for mechanism in privacy if mechanism.remarks]
    return Budgets([*kinds], rows, remarks)


def per_answer(privacy: Sequence[Protection]) -> list[str]:
    """Of each mechanism that promises something about one answer only, that it does, and what
    all answers of a person cost together; sentences.
    """
    sentences = []
    for mechanism in privacy:
        if mechanism.unit != ONE_ANSWER or len(mechanism.spent) < 2:
            continue
        (one, of_one), *others = mechanism.spent.items()
        totals = " and ".join(f"{whose} {_nats(ends)}" for whose, ends in others)
        name = symbol(mechanism.mechanism)
        sentences.append(f"{name} promises {_nats(of_one)} for {one}; that costs {totals}")
    return sentences


def _nats(ends: tuple[float, float]) -> str:
    return f"{_spent(ends)} nats"


def _spent(ends: tuple[float, float] | None) -> str:
    """Least and greatest budget."""
    if ends is None:
        return "–"
    least, greatest = (number(end, 3) for end in ends)
    if least == greatest:
        return least
    return f"{least} to {greatest}"


def _remark(mechanism: Protection) -> str:
    """The first remark on a mechanism, and on how many cells there is one."""
    remarks = mechanism.remarks
    sentence = f"{symbol(mechanism.mechanism)}, {count(len(remarks), 'cell')}: {remarks[0]}"
    if len(set(remarks)) > 1:
        sentence += "; and so on"
    return sentence


def statements(sections: Iterable[Facts]) -> list[Statement]:
    """What the mechanisms of all sections protect, each once."""
    every: dict[Statement, None] = {}
    for facts in sections:
        for mechanism in facts.privacy:
            guarantee = tuple(mechanism.guarantee)
            statement = Statement(mechanism.mechanism, guarantee, tuple(mechanism.audits))
            every[statement] = None
    return [*every]


def versions(results: xr.Dataset, sessions: Sequence[PastSession]) -> list[Versions]:
    """Distinct sets of versions that took part, oldest first, from the sessions or else the
    dataset.
    """
    sets = [session.versions for session in sessions if session.versions]
    if not sets and isinstance(results.attrs.get("versions"), str):
        sets = [json.loads(results.attrs["versions"])]
    distinct: list[Versions] = []
    for packages in sets:
        if packages not in distinct:
            distinct.append(packages)
    return distinct


def by_versions(sections: Mapping[str, Sequence[Versions]]) -> list[VersionsOf]:
    """Versions that took part, each set once with the sections that it computed.

    sections: name -> sets of versions.
    """
    names: dict[str, list[str]] = {}
    for section, sets in sections.items():
        for packages in sets:
            text = ", ".join(f"{package} {version}" for package, version in packages.items())
            names.setdefault(text, []).append(section)
    return [VersionsOf(text, of_text) for text, of_text in names.items()]


def mixed(data: xr.Dataset) -> list[str]:
    """Why numbers of code or arithmetic that do not agree are together in a dataset.

    Empty if all agree.
    """
    writers = json.loads(data.attrs.get("writers", "[]"))
    return [writer["accepted"] for writer in writers if writer["accepted"]]


def results_of(facts: Facts, folder: Path) -> str:
    """Where the results are, relative to the folder of the page, so that a page does not name the
    disk it was written on.

    A URL as it is.
    """
    results = facts.folder or "."
    if "://" not in results:
        results = os.path.relpath(results, folder)
    return f"{results}/results.zarr"
