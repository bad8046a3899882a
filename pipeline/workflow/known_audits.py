"""Kept audits of the mechanisms that a study uses, for its report."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.identity.fingerprints import fingerprint
from pipeline.reporting.section import Protection
from pipeline.study.checks import ROLES
from pipeline.study.files import read_regular
from pipeline.study.study import Study
from pipeline.workflow.studies import StoredStudy

FOLDER = "audit"  # of outputs
RECORD = "audit.json"
LONGEST = 1 << 20  # bytes of a record
MOST = 5  # audits of a mechanism that are told
NONE = "no audit was made"


@dataclass(frozen=True)
class KeptAudit:
    """An audit in a folder of outputs. answer: as --json prints it. sha256: of the file.

    date: when it was decided. code: digest of the code that was audited; empty for a callable.
    """

    folder: str
    sha256: str
    answer: dict[str, Any]
    date: str
    code: str

    def told(self, code: str) -> str:
        """The audit in a sentence. code: digest of the mechanism as the study has it."""
        answer = self.answer
        how = f"with {_percent(answer['confidence'])} confidence, by {answer['samples']:,} samples"
        if answer["confidence"] == 1:
            how = "exactly"
        bound = f"ε is at least {_number(answer['epsilon_lower'])}"
        if answer["delta"]:
            bound = f"{bound} at δ = {answer['delta']:g}"
        promise = _promise(answer["guarantee"])
        told = f"{self.date}: {answer['verdict']}; it promises {promise}, {bound}, {how}"
        told = f"{told} (level {answer['level']}); {_power(answer)}; audit {self.folder}"
        if self.code != code:
            told = f"{told}, of other code than this study's"
        return told


def all_of(outputs: Path) -> Iterator[KeptAudit]:
    """The audits that are kept in a folder of outputs; files that are no records are passed over."""
    for path in sorted((outputs / FOLDER).glob(f"*/{RECORD}")):
        try:
            content = read_regular(path, LONGEST)
            answer = json.loads(content)
            audit = KeptAudit(
                folder=f"{FOLDER}/{path.parent.name}",
                sha256=hashlib.sha256(content).hexdigest(),
                answer=answer,
                date=str(answer["date"]),
                code=str(answer["code"]),
            )
            audit.told("")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        yield audit


def of_study(stored: StoredStudy) -> dict[str, list[KeptAudit]]:
    """Name of each mechanism of a study -> its audits, the newest first."""
    classes = _classes(stored.study)
    known: dict[str, list[KeptAudit]] = {name: [] for name in classes}
    for audit in all_of(_outputs_of(stored)):
        for name, kind in classes.items():
            if audit.code and audit.answer["mechanism"] == kind.__name__:
                known[name].append(audit)
    for audits in known.values():
        audits.sort(key=lambda audit: audit.date, reverse=True)
    return known


def told(stored: StoredStudy, privacy: Sequence[Protection]) -> list[Protection]:
    """What mechanisms promise, with their audits in words; `NONE` where there is none.

    Mechanisms that protect nothing have nothing to audit.
    """
    known = of_study(stored)
    classes = _classes(stored.study)
    protections = []
    for protection in privacy:
        kind = classes[protection.mechanism]
        lines = [NONE]
        audits = known[protection.mechanism][:MOST]
        if audits:
            code = fingerprint(kind)
            lines = [audit.told(code) for audit in audits]
        if not kind.guarantee.protected:
            lines = []
        protections.append(dataclasses.replace(protection, audits=lines))
    return protections


def digests(stored: StoredStudy) -> list[str]:
    """Digests of the records that a report tells of: other ones ask for another page."""
    every = of_study(stored).values()
    return sorted({audit.sha256 for audits in every for audit in audits})


def _classes(study: Study) -> dict[str, Any]:
    names = study.grid.axes.get(ROLES[1], (study.parameters.get(ROLES[1]),))
    return {str(name): study.part(ROLES[1], str(name)) for name in names}


def _outputs_of(stored: StoredStudy) -> Path:
    """The folder that holds the folder of a study, whose name may have several parts."""
    return stored.store.folder.parents[stored.study.name.count("/")]


def _promise(guarantee: dict[str, Any]) -> str:
    symbols = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}
    parts = [f"{symbols[name]} = {value:g}" for name, value in guarantee.items() if value]
    return ", ".join(parts)


def _power(answer: dict[str, Any]) -> str:
    """How many planted faults were found, of all kinds together."""
    planted = sum(power["planted"] for power in answer["power"].values())
    found = sum(power["found"] for power in answer["power"].values())
    if planted == 0:
        return "power was not measured"
    return f"it found {found} of {planted} planted faults"


def _number(value: float | str) -> str:
    return "infinite" if value == "inf" else f"{float(value):.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
