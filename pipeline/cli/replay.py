"""`task=replay` in the terminal: one unit, simulated here."""

import sys
import traceback

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.study.parameters import printable
from pipeline.workflow.replay import converged, metrics_of, replay_of
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
            f"  {metric.name}: mean {metric.mean:.6g}, {metric.infinite} of {metric.size} not finite"
        )
    good = converged(values)
    print(f"  {good:,} ok, {values['status'].size - good:,} not converged")
    return EXIT_DONE
