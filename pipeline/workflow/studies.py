"""The studies of one task, each with where it is stored."""

import contextlib
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.execution import notices, suspects, sweep
from pipeline.execution.clusters import Cluster
from pipeline.execution.runner import Runner, writer
from pipeline.execution.schedule import NeededBlocks, Schedule, Unit, failures
from pipeline.execution.systems.registry import job
from pipeline.storage import agreement, results
from pipeline.storage.in_work import Driver
from pipeline.storage.replications import Listing, Store
from pipeline.storage.units import Damaged
from pipeline.study.study import Study
from pipeline.study.untyped import Config
from pipeline.workflow.experiment import Experiment
from pipeline.workflow.precision import all_done, needed_blocks
from pipeline.workflow.sealed import is_current
from pipeline.workflow.settings import Settings


class StoredStudy(NamedTuple):
    """One study of a task. raw: its composed config, as a plain mapping."""

    experiment: Experiment
    store: Store
    raw: Config

    @property
    def study(self) -> Study:
        """The study itself."""
        return self.experiment.study

    def grown(self, study: Study) -> "StoredStudy":
        """The same study with more levels or other replications, in the same place."""
        store = Store(study, self.store.folder, self.store.url, self.store.timeout)
        return self._replace(
            experiment=dataclasses.replace(self.experiment, study=study), store=store
        )


class ScheduledStudy(NamedTuple):
    """A study with what is left to do of it."""

    stored: StoredStudy
    schedule: Schedule


def varying_labels(study: Study, cell: int) -> dict[str, Any]:
    """The labels of a cell, without those that all cells have in common."""
    labels = study.grid.labels(cell)
    return {axis: labels[axis] for axis, levels in study.grid.axes.items() if len(levels) > 1}


def stored_studies(
    settings: Settings, experiments: Sequence[Experiment], raw: Sequence[Mapping[str, Any]]
) -> list[StoredStudy]:
    """The studies of a task; touches nothing."""
    studies = []
    for experiment, config in zip(experiments, raw, strict=True):
        store = Store(experiment.study, *experiment.address(settings))
        studies.append(StoredStudy(experiment, store, config))
    return studies


def scheduled(stored: StoredStudy, settings: Settings, cluster: Cluster) -> Schedule:
    """What is left to do of a study that was begun; takes failed units back if asked to.

    Those that failed by other code than that of now are taken back without being asked.
    Results that were sealed are removed where units are missing: they were lost, or taken away.
    """
    # Before the listing: another driver may come to its end in between.
    sealed = is_current(stored.store)
    listing = stored.store.listing()
    known = needed_blocks(stored.store, listing, cluster)
    if sealed and not all_done(stored.study, listing, known):
        with stored.store.locked():
            results.unseal(stored.store, every=False)
        known = needed_blocks(stored.store, listing, cluster)
    schedule = _schedule(stored, settings, listing, known)
    failed = [unit for unit in failures(listing) if schedule.mine[unit]]
    if failed and not settings.retry_failed:
        failed = _of_other_code(stored, failed)
    if failed or settings.retry_failed:
        agreement.forget_tries(stored.store)
        suspects.forget(stored.store)
        if failed:
            _take_back(stored.store, listing, failed)
            known = needed_blocks(stored.store, listing, cluster)
            schedule = _schedule(stored, settings, listing, known)
    suspects.find(stored.store, schedule)
    return schedule


def _schedule(
    stored: StoredStudy, settings: Settings, listing: Listing, known: NeededBlocks | None
) -> Schedule:
    """What is left to do, in an order of this driver's own."""
    order = np.random.default_rng()
    return Schedule(stored.study, listing, settings.shard_numbers, known, order)


def _of_other_code(stored: StoredStudy, failed: Sequence[Unit]) -> list[Unit]:
    """Units that failed in code which has changed since; a note says how many, and what changed.

    A unit whose record is damaged, or whose writer is not known, is left out.
    """
    now = writer(stored.study).code
    changed = {}
    for agreed in agreement.recorded(stored.store):
        before = agreed.writer.code
        names = [name for name in agreement.unlike(before, now) if name in before and name in now]
        if names:
            changed[agreed.writer.id] = names
    if not changed:
        return []
    taken = []
    parts: set[str] = set()
    for unit in failed:
        with contextlib.suppress(Damaged):
            by = stored.store.read(*unit, failed=True).writer
            if by in changed:
                taken.append(unit)
                parts.update(changed[by])
    if taken:
        named = agreement.some(sorted(parts))
        notices.note(f"{len(taken)} failed units run again, as the code of {named} has changed")
    return taken


def _take_back(store: Store, listing: Listing, failed: Sequence[Unit]) -> None:
    """Let failed units be done again."""
    with store.locked():
        results.unseal(store)
        for unit in failed:
            store.forget(*unit)
            listing.done[unit] = False
            listing.failed[unit] = False


def runner(stored: StoredStudy, schedule: Schedule, settings: Settings) -> Runner:
    """What simulates and stores the study's units, after it made sure that its numbers are those
    stored.
    """
    return Runner(
        stored.store,
        schedule.references,
        settings.accept_code,
        settings.most_seconds,
        schedule.trials,
        Driver.here(job(os.environ)),
    )


def check_code(
    stored: StoredStudy, schedule: Schedule, settings: Settings, cluster: Cluster
) -> None:
    """Make sure that the code here computes the stored numbers.

    Where workers are elsewhere, on one of them.
    """
    here = runner(stored, schedule, settings)
    if not cluster.elsewhere:
        here.agree(compare_only=True)
    elif not here.knows_code() and schedule.listing.done.any():
        with cluster.open() as executor:
            sweep.run(executor, here.check, [(schedule.references[0], 1.0)])
