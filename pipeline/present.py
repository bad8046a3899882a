"""From sealed results to verdicts and the report: gathers what the page shows."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline import seal
from pipeline.config import Experiment, Settings
from pipeline.parameters import shorten
from pipeline.registry import lookup
from pipeline.session import sessions
from pipeline.store import Store
from pipeline.study import ROLES, Study, build
from pipeline.work import failures, unit_name

PASSING = ("task", "stop_after", "retry_failed", "repair", "unit")  # not part of the command that repeats a study
MOST_LETTERS = 150  # of what was found, in the line of a claim that is not contradicted
QUOTES = "'\""
SETTING_KEYS = (*PASSING, "outputs", "store", "cluster", "experiments", "suite")


def words(experiment: Experiment) -> dict[str, str]:
    """Texts that go into the sealed dataset."""
    return {"title": experiment.text.title, "question": experiment.text.question, "experiment": experiment.text.name}


def shown(raw: Mapping) -> str:
    """YAML of what a report shows of a config: another title or figure asks for another page."""
    import yaml

    lasting = {name: value for name, value in raw.items() if name not in SETTING_KEYS}
    if files := {name: Path(path).name for name, path in (raw.get("data") or {}).items() if path is not None}:
        lasting["data"] = files  # without their folders
    return yaml.safe_dump(lasting, sort_keys=False, allow_unicode=True)


def folder(
    settings: Settings, experiments: Sequence[Experiment], stores: Sequence[Store], raw: Sequence[Mapping]
) -> Path:
    """Where the report goes: the study's folder, or that of the suite."""
    suite = raw[0].get("suite")
    return Path(settings.outputs) / f"suite-{suite}" if suite else stores[0].folder


def replay_command(command: str, study: Study, cell: int, block: int) -> str:
    """Command that simulates one unit again, here and with its traceback: the same overrides, another task."""
    def matters(word):
        key = word.partition("=")[0]
        return key == "outputs" or key.partition(".")[0] not in (*SETTING_KEYS, "experiment")

    words = shlex.split(command)[1:]
    experiment = [f"experiment={study.name}"]
    if any(word.startswith("name=") for word in words):  # the study is not called as its config any more
        experiment = [word for word in words if word.startswith("experiment=")]
    unit = unit_name(study, cell, block)
    return shlex.join(["pipeline", *experiment, *filter(matters, words), "task=replay", f"unit={unit}"])


def write(
    where: Path, experiments: Sequence[Experiment], stores: Sequence[Store], raw: Sequence[Mapping], command: str
) -> tuple[Path, list[str]]:
    """Judge the claims and write the report; returns its path and one line per verdict, the worst last."""
    from pipeline.claims.claim import judge
    from pipeline.report import page

    sections, judged = [], []
    for experiment, store, mapping in zip(experiments, stores, raw, strict=True):
        results = seal.load(store).load()
        claims = lookup("claims", experiment.text.claims) if experiment.text.claims else ()
        verdicts = [judge(claim, results) for claim in claims if claim.experiment == experiment.study.name]
        judged += verdicts
        sections.append(page.Section(
            name=experiment.study.name, title=experiment.text.title, question=experiment.text.question,
            results=results, figures=experiment.figures, verdicts=verdicts,
            facts=facts(experiment.study, store, mapping, command),
        ))
    title = experiments[0].text.title if len(experiments) == 1 else \
        "What does privacy cost, and where does learning break down?"
    lasting = (_public(word) for word in shlex.split(command) if word.partition("=")[0] not in PASSING)
    said = (f"  data of {s.name}: {s.facts['source']}" for s in sections if s.facts["source"])
    return page.write(where, title, sections, {"command": shlex.join(lasting)}), [*said, *lines(judged)]


def _public(word: str) -> str:
    """A word of a command without the folder of a data file, which is nobody's business."""
    key, sign, path = word.partition("=")
    return f"{key}{sign}{Path(path.strip(QUOTES)).name}" if key.startswith("data.") else word


def lines(judged: Sequence[Any]) -> Iterator[str]:
    """One line per verdict: supported, inconclusive, then contradicted, where a person looks first."""
    from pipeline.claims.claim import CONTRADICTED, INCONCLUSIVE, SUPPORTED

    for verdict in (SUPPORTED, INCONCLUSIVE, CONTRADICTED):
        for claim, check in ((one.claim, one.check) for one in judged if one.check.verdict == verdict):
            text = check.text if verdict == CONTRADICTED else shorten(check.text, MOST_LETTERS)
            yield f"{'✗' if verdict == CONTRADICTED else ' '} {verdict:<13} {claim.id}: {text}"


def facts(study: Study, store: Store, raw: Mapping, command: str) -> dict[str, Any]:
    """What was run, for the page: data, config, sessions, failures, privacy."""
    rows = store.rows(study)
    failed = [
        {"unit": unit_name(study, cell, block), "error": store.error(row, block).strip().splitlines()[-1],
         "replay": replay_command(command, study, cell, block)}
        for cell, row, block in failures(study, store, rows)
    ]
    return {
        "command": command, "folder": str(store.place), "seed": study.seed, "replications": study.replications,
        "block": study.block, "cells": len(study.grid), "units": len(study.grid) * study.blocks,
        "config": shown(raw),
        "sessions": sessions(store.folder), "failures": failed, "privacy": privacy(study), "key": study.key,
        "source": source(study),
    }


def source(study: Study) -> str:
    """Where the data come from, in the words of the first cell's model; empty if it says nothing."""
    return getattr(_component(study, ROLES[0], study.grid.labels(0)), "source", "")


def privacy(study: Study) -> list[dict[str, Any]]:
    """Privacy statement of every mechanism of the study: unit, neighbours, budget, and `spent`.

    spent: what is meant -> (least, greatest) over the mechanism's cells of the largest budget of a user, in
    nats; empty for a mechanism that does not say. remarks: of its cells, where it has one.
    """
    found: dict[str, dict[str, Any]] = {}
    for labels in study.grid:
        mechanism = _component(study, ROLES[1], labels)
        one = found.setdefault(study.values(labels)[ROLES[1]], {
            "unit": mechanism.unit, "neighbours": mechanism.neighbours, "budget": mechanism.budget, "spent": {},
            "remarks": []})
        if remark := getattr(mechanism, "remark", None):
            one["remarks"].append(remark)
        for what, value in (mechanism.spent() if hasattr(mechanism, "spent") else {}).items():
            least, most = one["spent"].get(what, (value, value))
            one["spent"][what] = min(least, value), max(most, value)
    kinds = dict.fromkeys(what for one in found.values() for what in one["spent"])
    if "none" in found:
        found["none"]["spent"] = dict.fromkeys(kinds, (math.inf, math.inf))
    return [{"mechanism": name, **said} for name, said in found.items()]


def _component(study: Study, role: str, labels: Mapping[str, Any]) -> Any:
    values = study.values(labels)
    return build(lookup(role, values[role]), values)
