"""The tasks of the command, on checked experiments."""

import contextlib
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline import plan, present, seal, sweep
from pipeline.codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO, OK
from pipeline.config import Experiment, Settings
from pipeline.parameters import InvalidInput
from pipeline.progress import Progress, duration, interruptible
from pipeline.session import Session, sessions
from pipeline.store import Store
from pipeline.work import Agenda, Work, failures, find_unit

MOST_FAILURES = 20  # named by status
MOST_REMARKS = 2  # on a mechanism's cells, made by plan
ROUNDS = 5  # of sealing and reporting, while another driver replaces the results


class _Replaced(OSError):
    """Another driver sealed its view of the study in between."""

    def __init__(self):
        super().__init__("the results changed while the report was written")


def perform(
    settings: Settings, cluster: Any, experiments: Sequence[Experiment], raw: Sequence[Mapping], command: str
) -> int:
    """Carry out the task; returns the exit code. Raises InvalidInput for what only the disk can tell."""
    stores = [Store(*experiment.address(settings)) for experiment in experiments]
    stores[0].place.check()
    for experiment, store in zip(experiments, stores, strict=True):
        if store.exists():
            store.check_identity(experiment.study)
    if settings.task == "run":
        return _run(settings, cluster, experiments, stores, raw, command)
    if settings.task == "plan":
        for experiment, store in zip(experiments, stores, strict=True):
            print(plan.text(experiment.study, store, cluster))
            for mechanism in present.privacy(experiment.study):
                for remark in list(dict.fromkeys(mechanism["remarks"]))[:MOST_REMARKS]:
                    print(f"  remark        {mechanism['mechanism']}: {remark}")
        if script := cluster.script():
            print(f"each job runs\n\n{script}")
        return EXIT_DONE
    if settings.task == "report":
        return _report(settings, experiments, stores, raw, command)
    task = {"status": _status, "verify": _verify, "replay": _replay}[settings.task]
    return max(task(settings, e, s, command) for e, s in zip(experiments, stores, strict=True))


def _run(settings, cluster, experiments, stores, raw, command) -> int:
    studies = [(e.study, s) for e, s in zip(experiments, stores, strict=True)]
    cluster.check()
    plan.check_lifetime(studies, cluster)
    plan.check_room(studies)
    agendas, new = [], False
    for experiment, store in zip(experiments, stores, strict=True):
        agenda = _agenda(settings, experiment, store)
        agendas.append(agenda)
        new |= bool(agenda.pending)
    if new:
        code = _sweep(settings, cluster, experiments, stores, agendas, command)
        if code != EXIT_DONE:
            return code
    else:
        print(f"nothing to do: all {sum(a.units for a in agendas):,} units were done before")
    if settings.shard:
        print(f"shard {settings.shard} is done; the same command without it simulates what is left, seals and reports")
        return EXIT_DONE
    for left in reversed(range(ROUNDS)):
        for experiment, store, agenda in zip(experiments, stores, agendas, strict=True):
            if not seal.is_sealed(store, experiment.study):
                seal.seal(store, experiment.study, agenda.rows, present.words(experiment))
        try:
            return _report(settings, experiments, stores, raw, command)
        except _Replaced:  # by a driver with another grid or more replications
            if not left:
                raise


def _agenda(settings: Settings, experiment: Experiment, store: Store) -> Agenda:
    study = experiment.study
    rows = store.prepare(study)
    sealed = seal.is_sealed(store, study)  # before the listing: another driver may come to its end in between
    done = store.done(study, rows)
    if sealed and not done.all():  # units were lost, or taken away by hand
        with seal.unsealed(store):
            pass
    agenda = Agenda(study, rows, done, settings.part)
    if settings.retry_failed:
        failed = [unit for unit in failures(study, store, rows) if agenda.mine[unit.cell, unit.block]]
        with seal.unsealed(store) if failed else contextlib.nullcontext():
            for cell, row, block in failed:
                store.forget(row, block)
                done[cell, block] = False
        agenda = Agenda(study, rows, done, settings.part)
    return agenda


def _sweep(settings, cluster, experiments, stores, agendas, command) -> int:
    total = sum(a.cost for a in agendas)
    pending = sum(a.pending for a in agendas)
    failed = 0
    print(f"{pending:,} units to do, {sum(a.units for a in agendas) - pending:,} done before"
          + (f", in shard {settings.shard}" if settings.shard else ""), flush=True)
    with interruptible(settings.stop_after) as stop, cluster.open() as executor:
        print(executor.description, flush=True)
        with Progress(pending, total) as progress:
            for experiment, store, agenda in zip(experiments, stores, agendas, strict=True):
                if not agenda.pending or stop.is_set():
                    continue
                session = Session(store.folder, command, agenda.pending)

                def on_done(flags, cost, workers):
                    nonlocal failed
                    failed += sum(flags)
                    progress.advance(len(flags), cost, workers)

                witness = agenda.witness(store, executor.elsewhere or settings.shard is not None)
                try:
                    with store.place.sweeping():
                        outcome = sweep.run(
                            executor, Work(experiment.study, store, witness), iter(agenda), total_cost=agenda.cost,
                            stop=stop, on_done=on_done)
                except InvalidInput as error:
                    session.end("failed", error=str(error))
                    raise
                except sweep.SweepError as error:
                    session.end("failed", error=str(error))
                    print(f"error: {error}; finished units are kept, the same command goes on", file=sys.stderr)
                    return EXIT_FAILED
                session.end("stopped" if outcome.interrupted else "finished", units=outcome.units_done,
                            workers=outcome.workers, lost=outcome.lost, seconds_work=round(outcome.seconds_work, 1))
    if failed:
        for experiment, store, agenda in zip(experiments, stores, agendas, strict=True):
            _print_failures(experiment.study, store, agenda.rows, command)
    left = sum(int((a.mine & ~s.done(e.study, a.rows)).sum())
               for e, s, a in zip(experiments, stores, agendas, strict=True))
    if left:
        print(f"stopped: {left:,} units to do, the rest is kept; the same command goes on")
        return EXIT_MORE_TO_DO
    return EXIT_DONE


def _report(settings, experiments, stores, raw, command) -> int:
    folder = present.folder(settings, experiments, stores, raw)
    path, shown = folder / "report.html", folder / "report.yaml"
    stamps = [seal.stamp(store) for store in stores]
    wanted = "---\n".join(map(present.shown, raw)) + "".join(f"# of results {stamp}\n" for stamp in stamps)
    running = settings.task == "run"  # which writes only what is out of date
    if not (running and path.exists() and _says(shown, wanted)):
        for experiment, store in zip(experiments, stores, strict=True):
            if not seal.is_sealed(store, experiment.study):
                if running:
                    raise _Replaced
                raise InvalidInput("task", "report", f"{experiment.study.name} is not complete; run it first")
        start = time.monotonic()
        try:
            path, verdicts = present.write(folder, experiments, stores, raw, command)
        except Exception:  # whatever half of a dataset makes a reader raise
            if [seal.stamp(store) for store in stores] != stamps:
                raise _Replaced from None
            raise
        if [seal.stamp(store) for store in stores] != stamps:  # another driver sealed while they were read
            raise _Replaced
        shown.write_text(wanted, "utf-8")  # last: without it the page counts as stale
        for line in verdicts:
            print(line)
        print(f"report written in {duration(time.monotonic() - start)}")
    print(f"report: {path}")
    return EXIT_DONE


def _says(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


def _status(settings: Settings, experiment: Experiment, store: Store, command: str) -> int:
    study = experiment.study
    print(f"{study.name}: {store.place}")
    if not store.exists():
        print("  not begun")
        return EXIT_MORE_TO_DO
    rows = store.rows(study)
    done = store.done(study, rows)
    sealed = seal.is_sealed(store, study)
    print(f"  {int(done.sum()):,} of {done.size:,} units done ({100 * done.mean():.1f} %), "
          f"{len(study.grid):,} cells × {study.blocks} blocks of {study.block:,} replications; "
          f"{'sealed' if sealed else 'not sealed'}")
    _print_failures(study, store, rows, command)
    for past in sessions(store.folder)[-3:]:
        print(f"  session {past['started']}: {past['state']}, {past['units']:,} units in {duration(past['seconds'])}")
    return EXIT_DONE if done.all() else EXIT_MORE_TO_DO


def _print_failures(study, store: Store, rows, command: str) -> None:
    """How many units failed, and for the first of them what happened and the command that replays it."""
    failed = list(failures(study, store, rows))
    for cell, row, block in failed[:MOST_FAILURES]:
        last = store.error(row, block).strip().splitlines()[-1]
        print(f"  failed: {present.replay_command(command, study, cell, block)}  # {last}")
    print(f"  {len(failed)} failed units" + (f", {MOST_FAILURES} shown" if len(failed) > MOST_FAILURES else ""))


def _verify(settings: Settings, experiment: Experiment, store: Store, command: str) -> int:
    study = experiment.study
    if not store.exists():
        raise InvalidInput("task", "verify", f"{study.name} is not begun; nothing at {store.place}")
    beyond, count = 0, store.units()
    damages = list(store.verify())
    found = len(damages)
    with seal.unsealed(store) if settings.repair and found else contextlib.nullcontext():
        for damage in damages:
            place = f"{damage.variable}" + (f" row {damage.row} block {damage.block}" if damage.block >= 0 else "")
            print(f"  damaged: {place}: {damage.what}")
            if settings.repair and not store.repair(damage, study):
                beyond += 1
                print("    cannot be repaired")
    if not found and seal.is_sealed(store, study):
        for name in seal.altered(store, study, store.rows(study)):
            found += 1
            print(f"  damaged: results.zarr {name}: not what the replications say")
        if found and settings.repair:
            with seal.unsealed(store):
                pass
    print(f"{study.name}: {count:,} done units, {count * (1 + len(study.metrics)):,} chunks checked, {found} damaged"
          + (f", {found - beyond} repaired: run again to simulate them anew" if settings.repair and found else "")
          + ("; repair=true marks them as not run" if found and not settings.repair else ""))
    return EXIT_DONE if found == 0 or (settings.repair and not beyond) else EXIT_FAILED


def _replay(settings: Settings, experiment: Experiment, store: Store, command: str) -> int:
    study = experiment.study
    if settings.unit is None:
        raise InvalidInput("unit", None, "is needed with task=replay; task=status prints those that failed")
    place = find_unit(study, settings.unit)
    if place is None:
        raise InvalidInput("unit", settings.unit, f"no such unit in {study.name}; task=status prints those that failed")
    labels, block = study.grid.labels(place[0]), place[1]
    print(f"{study.name} {labels} block {block} of {study.blocks}, {study.block:,} replications")
    try:
        with np.errstate(all="ignore"):
            values = study.simulate(labels, block)
    except Exception:
        traceback.print_exc()
        return EXIT_FAILED
    for name, value in values.items():
        good = np.isfinite(value)
        print(f"  {name}: mean {value[good].mean() if good.any() else float('nan'):.6g}, "
              f"{int((~good).sum())} of {value.size} not finite")
    print(f"  {int((values['status'] == OK).sum()):,} ok, {int((values['status'] != OK).sum()):,} not converged")
    return EXIT_DONE


