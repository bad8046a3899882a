"""`task=plan`, `task=status` and `task=replay`: tasks that change nothing."""

import sys
import traceback
from collections.abc import Sequence

import numpy as np
from dask.utils import format_time

from pipeline.cli import reports
from pipeline.cli.config import Settings
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.cli.precision import all_done, on_target, settled
from pipeline.cli.studies import StoredStudy
from pipeline.execution import plan
from pipeline.execution.clusters import Cluster
from pipeline.execution.schedule import failures, find_unit
from pipeline.execution.sessions import sessions
from pipeline.storage import agreement, results
from pipeline.storage.replications import Listing
from pipeline.study.parameters import InvalidInput, printable
from pipeline.study.status import OK

MOST_FAILURES = 20  # that status lists
MOST_REMARKS = 2  # on a mechanism's cells, made by plan


def plan_of(studies: Sequence[StoredStudy], cluster: Cluster) -> int:
    """Print what a run would do; returns the exit code."""
    for stored in studies:
        print(plan.text(stored.store, cluster))
        for mechanism in reports.privacy(stored.study):
            for remark in list(dict.fromkeys(mechanism["remarks"]))[:MOST_REMARKS]:
                print(f"  remark        {mechanism['mechanism']}: {remark}")
    if script := cluster.script():
        print(f"each job runs\n\n{script}")
    return EXIT_DONE


def status(stored: StoredStudy, command: str) -> int:
    """Print what is done of a study and what failed, from its storage alone; returns the exit code."""
    study, store = stored.study, stored.store
    print(f"{study.name}: {store.backend}")
    if not store.exists():
        print("  not begun")
        return EXIT_MORE_TO_DO
    listing = store.listing()
    done, sealed = listing.done, results.is_sealed(store)
    print(f"  {int(done.sum()):,} of {'at most ' * bool(study.precision)}{done.size:,} units done "
          f"({100 * done.mean():.1f} %), {len(study.grid):,} cells × {study.blocks} blocks of {study.block:,} "
          f"replications; {'sealed' if sealed else 'not sealed'}")
    for target in study.precision:
        print(f"  target: {target}")
    if line := on_target(store):
        print(f"  {line}")
    print_failures(stored, listing, command)
    for one in agreement.recorded(store):
        if one.accepted:
            print(f"  mixed: numbers of different code or arithmetic ({one.accepted})")
    for past in sessions(store.folder)[-3:]:
        print(f"  session {past['started']}: {past['state']}, {past['units']:,} units in "
              + format_time(past["seconds"]))
    if not all_done(listing, settled(store, listing) if sealed else None):
        return EXIT_MORE_TO_DO
    return EXIT_FAILED if listing.failed.any() else EXIT_DONE


def print_failures(stored: StoredStudy, listing: Listing, command: str) -> None:
    """How many units failed, and for the first of them what happened and the command that replays it."""
    failed = list(failures(listing))
    for unit in failed[:MOST_FAILURES]:
        replayed = reports.replay_command(command, stored.study, unit)
        print(f"  failed: {replayed}  # {reports.last_line(stored.store, unit)}")
    print(f"  {len(failed)} failed units" + (f", {MOST_FAILURES} shown" if len(failed) > MOST_FAILURES else "")
          + ("; retry_failed=true runs them again" if failed else ""))


def replay(stored: StoredStudy, settings: Settings, command: str) -> int:
    """Simulate one unit here, without storing it, and print its traceback or its means; returns the exit code."""
    study = stored.study
    if settings.unit is None:
        raise InvalidInput("unit", None, "is needed with task=replay; task=status prints those that failed")
    unit = find_unit(study, settings.unit)
    if unit is None:
        raise InvalidInput("unit", settings.unit, f"no such unit in {study.name}; task=status prints those that failed")
    labels = study.grid.labels(unit.cell)
    print(f"{study.name} {labels} block {unit.block} of {study.blocks}, {study.block:,} replications")
    try:
        with np.errstate(all="ignore"):
            values = study.simulate(labels, unit.block)
    except Exception:
        for line in traceback.format_exc().splitlines():
            print(printable(line), file=sys.stderr)
        return EXIT_FAILED
    for name, value in values.items():
        good = np.isfinite(value)
        print(f"  {name}: mean {value[good].mean() if good.any() else float('nan'):.6g}, "
              f"{int((~good).sum())} of {value.size} not finite")
    print(f"  {int((values['status'] == OK).sum()):,} ok, {int((values['status'] != OK).sum()):,} not converged")
    return EXIT_DONE
