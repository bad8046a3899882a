"""`task=replay` in the terminal: one unit, simulated here."""

import dataclasses
import sys
import traceback
from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.cli.json_answer import print_json
from pipeline.study.parameters import printable
from pipeline.study.untyped import JsonObject
from pipeline.workflow.replay import UnitReplay, converged, metrics_of, replay_of
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy


def perform(stored: StoredStudy, settings: Settings) -> int:
    """Simulate one unit here, without storing it, and print its traceback or its means.

    Returns the exit code.
    """
    replayed = replay_of(stored.study, settings.unit)
    study = replayed.study
    print(
        f"{study.name} {replayed.labels} block {replayed.unit.block} of {study.blocks}, "
        f"{study.block:,} replications"
    )
    try:
        values = replayed.values()
    except Exception:
        for line in traceback.format_exc().splitlines():
            print(printable(line), file=sys.stderr)
        return EXIT_FAILED
    for metric in metrics_of(values):
        print(
            f"  {metric.name}: mean {metric.mean:.6g}, {metric.infinite} of {metric.size} not "
            "finite"
        )
    good = converged(values)
    print(f"  {good:,} ok, {values['status'].size - good:,} not converged")
    return EXIT_DONE


def perform_as_json(studies: Sequence[StoredStudy], settings: Settings) -> int:
    """Simulate one unit of each study, and print one object of JSON; returns the exit code."""
    records = [record(replay_of(stored.study, settings.unit)) for stored in studies]
    code = EXIT_DONE
    if any(entries["error"] for entries in records):
        code = EXIT_FAILED
    return print_json(code, {"studies": records})


def record(replayed: UnitReplay) -> JsonObject:
    """A unit that was simulated again, as one object of JSON. error: its traceback, or empty."""
    study = replayed.study
    entries = {
        "name": study.name,
        "labels": dict(replayed.labels),
        "block": replayed.unit.block,
        "replications": study.block,
        "metrics": [],
        "ok": 0,
        "error": "",
    }
    try:
        values = replayed.values()
    except Exception:
        return {**entries, "error": traceback.format_exc()}
    metrics = [dataclasses.asdict(metric) for metric in metrics_of(values)]
    return {**entries, "metrics": metrics, "ok": converged(values)}
