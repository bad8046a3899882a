"""`task=plan` and `task=replay`: tasks that change nothing."""

import sys
import traceback
from collections.abc import Sequence

import numpy as np

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.execution import plan
from pipeline.execution.clusters import Cluster
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.schedule import find_unit
from pipeline.execution.systems.base import UNTRIED
from pipeline.study.parameters import InvalidInput, printable
from pipeline.study.status import OK
from pipeline.workflow import statements
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
        warning = f" ({UNTRIED})" if untried else ""
        print(f"each job runs{warning}\n\n{script}")
    return EXIT_DONE


def replay(stored: StoredStudy, settings: Settings) -> int:
    """Simulate one unit here, without storing it, and print its traceback or its means.

    Returns the exit code.
    """
    study = stored.study
    if settings.unit is None:
        raise InvalidInput(
            "unit", None, "is needed with task=replay; task=status prints those that failed"
        )
    unit = find_unit(study, settings.unit)
    if unit is None:
        raise InvalidInput(
            "unit",
            settings.unit,
            f"no such unit in {study.name}; task=status prints those that failed",
        )
    labels = study.grid.labels(unit.cell)
    print(
        f"{study.name} {labels} block {unit.block} of {study.blocks}, {study.block:,} replications"
    )
    try:
        with np.errstate(all="ignore"):
            values = study.simulate(labels, unit.block)
    except Exception:
        for line in traceback.format_exc().splitlines():
            print(printable(line), file=sys.stderr)
        return EXIT_FAILED
    for name, value in values.items():
        good = np.isfinite(value)
        print(
            f"  {name}: mean {value[good].mean() if good.any() else float('nan'):.6g}, "
            f"{int((~good).sum())} of {value.size} not finite"
        )
    print(
        f"  {int((values['status'] == OK).sum()):,} ok, {int((values['status'] != OK).sum()):,} "
        "not converged"
    )
    return EXIT_DONE
