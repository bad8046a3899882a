"""The studies of one task, each with where it is stored."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.execution import suspects, sweep
from pipeline.execution.clusters import Cluster
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import NeededBlocks, Schedule, Unit, failures
from pipeline.execution.systems.registry import job
from pipeline.storage import agreement, results
from pipeline.storage.in_work import Driver
from pipeline.storage.replications import Listing, Store
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
    if settings.retry_failed:
        agreement.forget_tries(stored.store)
        suspects.forget(stored.store)
        failed = [unit for unit in failures(listing) if schedule.mine[unit]]
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
