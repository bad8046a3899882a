"""Simulate what is missing of some studies, until it is done or stopped."""

import dataclasses
import functools
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pipeline.execution import plan, suspects, sweep
from pipeline.execution.amounts import format_time
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import Cluster, Executor, queued
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.clusters.local import STARTING
from pipeline.execution.elsewhere import Elsewhere
from pipeline.execution.errors import SweepError
from pipeline.execution.failures import FailuresAlike
from pipeline.execution.progress import interruptible
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import COST_OF_A_SECOND, Schedule, Unit
from pipeline.execution.sessions import FAILED, Session
from pipeline.execution.unit_work import UnitWork, advance_of
from pipeline.identity.registry import registrations
from pipeline.storage import agreement
from pipeline.storage.efforts import Efforts
from pipeline.storage.integrity import Integrity, remove_abandoned
from pipeline.study.errors import Stopped
from pipeline.workflow import report_record, variants
from pipeline.workflow.events import (
    ExecutorOpened,
    NothingToDo,
    Progressed,
    SweepBegins,
    SweepStarted,
    Swept,
    Warned,
)
from pipeline.workflow.failed_units import failed_units, last_line
from pipeline.workflow.job import Job
from pipeline.workflow.studies import ScheduledStudy, check_code, runner, scheduled

# Times its predicted seconds: as long this process computes before it starts workers all the same.
MISJUDGED = 10
SHORTEST = 10  # seconds that this process computes at least before that


def simulate(job: Job) -> list[ScheduledStudy]:
    """Simulate what is missing; the studies with their schedules afterwards, in which nothing is
    pending.

    Raises Stopped where units are left, SweepError where the sweep cannot go on, InvalidInput.
    """
    job.cluster.check()
    stores = [stored.store for stored in job.studies]
    plan.check_lifetime(stores, job.cluster)
    plan.check_room(stores)
    for store in stores:
        store.begin()
        Integrity(store).sweep_partials()
    for stored in job.studies:
        command = str(job.invocation.alone(stored.study).again())
        variants.write_about(stored.store.folder, stored.experiment.text.title, command)
    remove_abandoned(report_record.folder(job.settings, job.studies))
    parts = [
        ScheduledStudy(stored, scheduled(stored, job.settings, job.cluster))
        for stored in job.studies
    ]
    if any(part.schedule.pending for part in parts):
        parts = _swept(job, parts)
    else:
        _tell_that_all_was_done(job, parts)
    for part in parts:
        check_code(part.stored, part.schedule, job.settings, job.cluster)
    return parts


def _tell_that_all_was_done(job: Job, parts: Sequence[ScheduledStudy]) -> None:
    job.tell(NothingToDo(sum(part.schedule.units for part in parts)))
    for part in parts:
        listing = part.schedule.listing
        if listing.failed.any():
            job.tell(failed_units(part.stored, listing, job.invocation))


def _swept(job: Job, parts: Sequence[ScheduledStudy]) -> list[ScheduledStudy]:
    """The studies after a sweep. Raises Stopped and SweepError where units are left."""
    too_many_alike = Sweeping(job, parts).run()
    after = [left_to_do(part, job) for part in parts]
    left = sum(part.schedule.pending for part in after)
    if left and too_many_alike:
        raise SweepError(
            f"{too_many_alike}; task=status says how to see why, most_failures=0 goes on all the "
            "same"
        )
    if left:
        raise Stopped(f"stopped: {left:,} units to do, the rest is kept; the same command goes on")
    return after


def left_to_do(part: ScheduledStudy, job: Job) -> ScheduledStudy:
    """The study with what is left to do after a sweep, whoever did the rest."""
    store = part.stored.store
    listing = store.listing()
    needed = part.schedule.needed
    if needed:
        done = np.argwhere(listing.done).tolist()
        needed.learn(Unit(cell, block) for cell, block in done)
    shard = job.settings.shard_numbers
    after = Schedule(part.stored.study, listing, shard, needed, np.random.default_rng())
    suspects.find(store, after)
    return ScheduledStudy(part.stored, after)


class Sweeping:
    """One sweep over the studies of a job: by this process where that is faster, else by workers.

    waiting: the studies that have something to do, which become fewer where this process does them.
    """

    def __init__(self, job: Job, parts: Sequence[ScheduledStudy]):
        self.job = job
        self.parts = parts
        self.waiting = [part for part in parts if part.schedule.pending]
        self.alike = FailuresAlike(job.settings.most_failures)
        self.stop = threading.Event()
        self.seconds = sum(part.schedule.cost for part in parts) / COST_OF_A_SECOND
        # Code that a person added to this program may end the process, which then had better be a
        # worker's.
        self.safe = not any(registrations())
        self.needs_no_workers = job.cluster.needless(self.seconds) and self.safe

    def run(self) -> str:
        """Sweep. Returns why too many units failed alike, "" where they did not.

        Raises SweepError where the sweep cannot go on.
        """
        with interruptible(self.job.settings.stop_after) as self.stop:
            self._tell_what_is_to_do()
            if self.needs_no_workers:
                self._compute_here()
            if self.waiting and not self.stop.is_set():
                with self.job.cluster.open_while(self._agree) as executor:
                    self._compute(executor)
        self._tell_failures()
        return self.alike.too_many

    def _tell_what_is_to_do(self) -> None:
        schedules = [part.schedule for part in self.parts]
        pending = sum(schedule.pending for schedule in schedules)
        done = sum(schedule.units for schedule in schedules) - pending
        open_ended = what_is_left(self.parts) is not None
        self.job.tell(SweepBegins(pending, done, self.job.settings.shard, open_ended))

    def _tell_failures(self) -> None:
        gave_up = any(part.schedule.given_up for part in self.parts)
        if not self.alike.kinds and not gave_up:
            return
        for part in self.parts:
            listing = part.stored.store.listing()
            self.job.tell(failed_units(part.stored, listing, self.job.invocation))

    def _compute_here(self) -> None:
        """Compute in this process for a while, and leave the rest to workers."""
        self._agree()
        work = format_time(self.seconds)
        here = Executor(description=f"about {work} of work: no workers, computing in this process")
        if self._compute(here, patience=MISJUDGED * self.seconds + SHORTEST):
            self.waiting = []
            return
        after = [left_to_do(part, self.job) for part in self.waiting]
        self.waiting = [part for part in after if part.schedule.pending]

    def _agree(self) -> None:
        """Make sure that this process computes the stored numbers, so that workers need not
        compare them."""
        if self.job.cluster.elsewhere:
            return
        for number, part in enumerate(self.waiting):
            if self._is_compared_here(part, is_first=number == 0):
                with part.stored.store.backend.sweeping():
                    self._runner(part).agree()

    def _is_compared_here(self, part: ScheduledStudy, is_first: bool) -> bool:
        """Whether this process simulates the reference units of a study, to compare them."""
        cluster = self.job.cluster
        if self.needs_no_workers or not cluster.starts_processes:
            return True
        if agreement.tries(part.stored.store):
            return False  # a process ended: workers find out in which unit
        if part.schedule.listing.done.any():
            return True
        may_compute = is_first and self.safe and not cluster.limits_memory
        return may_compute and _takes_less_than_starting_workers(part.schedule)

    def _compute(self, executor: Executor, patience: float = math.inf) -> bool:
        """Simulate what is missing, one study after the other; start nothing after `patience`
        seconds.

        Returns whether all was done in that time.
        """
        self.job.tell(ExecutorOpened(executor.description))
        ends = time.monotonic() + patience
        self.job.tell(
            SweepStarted(
                units=sum(part.schedule.pending for part in self.waiting),
                cost=sum(part.schedule.cost for part in self.waiting),
                left=what_is_left(self.waiting),
                waits=functools.partial(_waits, self.job.cluster),
            )
        )
        try:
            for part in self.waiting:
                if not self.stop.is_set() and time.monotonic() < ends:
                    self._sweep_study(part, executor, ends)
        finally:
            self.job.tell(Swept())
        return time.monotonic() < ends

    def _sweep_study(self, part: ScheduledStudy, executor: Executor, ends: float) -> None:
        """Sweep one study and note how the session ended."""
        schedule = part.schedule
        session = Session(
            part.stored.store.folder,
            str(self.job.invocation),
            schedule.pending,
            schedule.cost,
            self.job.settings.shard,
        )
        study_sweep = _StudySweep(self, part, session)
        try:
            with part.stored.store.backend.sweeping():
                outcome = study_sweep.run(executor, self._runner(part), ends)
        except BaseException as error:
            state = "abandoned" if isinstance(error, KeyboardInterrupt) else FAILED
            session.end(state, error=str(error))
            raise
        self._end(session, outcome)

    def _end(self, session: Session, outcome: sweep.SweepOutcome) -> None:
        """Note what a sweep of one study did."""
        if not outcome.interrupted:
            session.end("finished", outcome)
        elif self.alike.too_many:
            session.end(FAILED, outcome, self.alike.too_many)
        else:
            session.end("stopped", outcome)

    def _runner(self, part: ScheduledStudy) -> Runner:
        return runner(part.stored, part.schedule, self.job.settings)


class _StudySweep:
    """The sweep of one study of a `Sweeping`: counts what is done and what failed."""

    def __init__(self, sweeping: Sweeping, part: ScheduledStudy, session: Session):
        self.sweeping = sweeping
        self.store = part.stored.store
        self.schedule = part.schedule
        self.session = session
        self.efforts = Efforts(self.store, session.name)
        session.at_beats(self.efforts.flush)

    def run(self, executor: Executor, work: Runner, ends: float) -> sweep.SweepOutcome:
        """Sweep, and start nothing after `ends`, a time of the monotonic clock."""
        total_cost = pace = driver = None
        # With targets it is not known how much is wanted, and large first bundles could be far more
        # than that.
        if not self.schedule.needed:
            total_cost = self.schedule.cost
            pace = 1 / COST_OF_A_SECOND
            driver = work.notes.driver
        elsewhere = Elsewhere(self.store, self.schedule, driver)
        units = elsewhere.others(self.schedule)
        units_in_time = itertools.takewhile(lambda _: time.monotonic() < ends, units)
        if self.schedule.suspects:
            self._warn(suspects.in_words(self.schedule))
        with suspects.noted(self.store, work.notes.driver) as forget:
            outcome = sweep.run(
                executor,
                work,
                units_in_time,
                stop=self.sweeping.stop,
                on_done=self.count,
                lost_workers=sweep.LostWorkers(
                    on_retired=self._warn, blame=work.blame, on_halt=forget
                ),
                bundling=sweep.Bundling(
                    total_cost=total_cost,
                    pace=pace,
                    shares=self.schedule.shares,
                    last=lambda: elsewhere.bundles() + suspects.bundles(self.schedule),
                ),
            )
        interrupted = outcome.interrupted or time.monotonic() >= ends
        return dataclasses.replace(outcome, interrupted=interrupted)

    def count(self, works: list[UnitWork], bundle: Bundle, workers: int) -> None:
        """Count the units of a bundle, and stop the sweep where too many failed alike."""
        alike = self.sweeping.alike
        alike.add(len(works), list(self._errors(works, bundle)))
        self.efforts.add(bundle.units, [work.effort for work in works])
        if alike.too_many:
            self.sweeping.stop.set()
        if self.schedule.needed:
            self.schedule.needed.learn(bundle.units)
        advance = advance_of(works, bundle, workers)
        self.sweeping.job.tell(Progressed(advance))
        self.session.advance(advance)

    def _errors(self, works: list[UnitWork], bundle: Bundle) -> Iterator[str]:
        """The last line of the error of each unit that failed."""
        for unit, work in zip(bundle.units, works, strict=True):
            if work.failed:
                yield last_line(self.store, unit)

    def _warn(self, text: str) -> None:
        self.sweeping.job.tell(Warned(text))


def what_is_left(parts: Sequence[ScheduledStudy]) -> Callable[[], tuple[int, float]] | None:
    """What gives the units and the cost that are left, where these change on the way.

    None where they do not: without targets of precision.
    """
    schedules = [part.schedule for part in parts]
    if not any(schedule.needed for schedule in schedules):
        return None

    def left() -> tuple[int, float]:
        units = sum(schedule.pending for schedule in schedules)
        cost = sum(schedule.cost for schedule in schedules)
        return units, cost

    return left


def _waits(cluster: Cluster) -> str:
    """What a driver waits for while no unit has ended: its jobs in a queue, and why they wait."""
    if not isinstance(cluster, BatchWorkers):
        return ""
    jobs = queued.waiting_workers(cluster.system)
    if not jobs:
        return ""
    return f"jobs of {cluster.system.name}: {queued.in_words(jobs)}"


def _takes_less_than_starting_workers(schedule: Schedule) -> bool:
    """Whether reference units take less time than workers to start, by their predicted costs."""
    cost = float(sum(schedule.costs[unit.cell] for unit in schedule.references))
    return 0 < cost <= STARTING * COST_OF_A_SECOND
