"""From sealed results to verdicts and the report: gathers what the page shows."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.config import Experiment, Settings
from pipeline.registry import lookup
from pipeline.session import sessions
from pipeline.store import Store
from pipeline.study import ROLES, Study
from pipeline.work import failures, unit_name

PASSING = ("task", "stop_after", "retry_failed", "repair", "unit")  # not part of the command that repeats a study
SETTING_KEYS = (*PASSING, "outputs", "cluster", "experiments", "suite")


def words(experiment: Experiment) -> dict[str, str]:
    """Texts that go into the sealed dataset."""
    return {"title": experiment.text.title, "question": experiment.text.question, "experiment": experiment.text.name}


def shown(raw: Mapping) -> str:
    """YAML of what a report shows of a config: another title or figure asks for another page."""
    import yaml

    lasting = {name: value for name, value in raw.items() if name not in SETTING_KEYS}
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
    """Judge the claims and write the report; returns its path and one line per verdict."""
    import xarray as xr

    from pipeline.claims.claim import judge
    from pipeline.report import page

    sections, lines = [], []
    for experiment, store, mapping in zip(experiments, stores, raw, strict=True):
        results = xr.open_zarr(store.folder / "results.zarr", consolidated=True).load()
        claims = lookup("claims", experiment.text.claims) if experiment.text.claims else ()
        verdicts = [judge(claim, results) for claim in claims if claim.experiment == experiment.study.name]
        lines += [f"  {v.check.verdict:<13} {v.claim.id}: {v.check.text}" for v in verdicts]
        sections.append(page.Section(
            name=experiment.study.name, title=experiment.text.title, question=experiment.text.question,
            results=results, figures=experiment.figures, verdicts=verdicts,
            facts=facts(experiment.study, store, mapping, command),
        ))
    title = experiments[0].text.title if len(experiments) == 1 else "What privacy costs: " + experiments[0].text.title
    lasting = (word for word in shlex.split(command) if word.partition("=")[0] not in PASSING)
    return page.write(where, title, sections, {"command": shlex.join(lasting)}), lines


def facts(study: Study, store: Store, raw: Mapping, command: str) -> dict[str, Any]:
    """What was run, for the page: config, sessions, failures, privacy."""
    rows = store.rows(study)
    failed = [
        {"unit": unit_name(study, cell, block), "error": text.strip().splitlines()[-1],
         "replay": replay_command(command, study, cell, block)}
        for cell, _, block, text in failures(study, store, rows)
    ]
    return {
        "command": command, "folder": str(store.folder), "seed": study.seed, "replications": study.replications,
        "block": study.block, "cells": len(study.grid), "units": len(study.grid) * study.blocks,
        "config": shown(raw),
        "sessions": sessions(store.folder), "failures": failed, "privacy": privacy(study), "key": study.key,
    }


def privacy(study: Study) -> list[dict[str, str]]:
    """Privacy statement of every mechanism of the study: unit, neighbours, budget."""
    found = []
    role = ROLES[1]
    for name in study.grid.axes.get(role, (study.parameters.get(role),)):
        mechanism = lookup(role, name)
        found.append({"mechanism": name, "unit": mechanism.unit, "neighbours": mechanism.neighbours,
                      "budget": mechanism.budget})
    return found
