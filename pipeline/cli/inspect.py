"""`task=plan` and `task=replay`: tasks that change nothing."""

import sys
import traceback
from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.execution import plan
from pipeline.execution.clusters import Cluster
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.systems.base import UNTRIED
from pipeline.study.parameters import printable
from pipeline.workflow import statements
from pipeline.workflow.replay import converged, metrics_of, replay_of
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

MOST_REMARKS = 2  # on a mechanism's cells, made by plan


def plan_of(studies: Sequence[StoredStudy], cluster: Cluster) -> int:
    """Print what a run would do; returns the exit code."""
    for stored in studies:
        print(plan.text(stored.store, cluster))
        for mechanism, remarks in statements.remarks(stored.study).items():
            for remark in list(dict.fromkeys(remarks))[:MOST_REMARKS]:
                print(f"  remark        {mechanism}: {remark}")
    missing = plan.shortage([stored.store for stored in studies])
    if missing is not None:
        print(f"  warning: {missing}")
    script = cluster.script()
    if script:
        untried = isinstance(cluster, BatchWorkers) and cluster.system.untried
        remark = f" ({UNTRIED})" if untried else ""
        print(f"each job runs{remark}\n\n{script}")
    return EXIT_DONE


def replay(stored: StoredStudy, settings: Settings) -> int:
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
