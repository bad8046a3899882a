"""`task=run` and `task=report`: simulate what is missing, seal, judge claims, write the report."""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.execution.clusters import Cluster, workers_of
from pipeline.execution.schedule import Schedule
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reduce, report_record
from pipeline.workflow.events import FellShort, ShardDone
from pipeline.workflow.job import Job
from pipeline.workflow.precision import needed_blocks, on_target
from pipeline.workflow.refinement import crossings
from pipeline.workflow.rounds import Judged, continued, grows, what_follows
from pipeline.workflow.sealed import is_current
from pipeline.workflow.shortfalls import line_of
from pipeline.workflow.simulate import simulate
from pipeline.workflow.studies import ScheduledStudy, StoredStudy, check_code

ROUNDS = 5  # of sealing and reporting, while another driver replaces the results
LEAST_TIME = 1e-3  # seconds that a later round has at least, so that it stops in its own way


@dataclass(frozen=True)
class RunOutcome:
    """How a task ended. failed_units: those of this shard."""

    failed_units: int

    @classmethod
    def of(cls, parts: Sequence[ScheduledStudy]) -> "RunOutcome":
        """The outcome of a task on some studies."""
        schedules = [part.schedule for part in parts]
        failed = (schedule.listing.failed & schedule.mine for schedule in schedules)
        return cls(sum(int(units.sum()) for units in failed))


def run(job: Job) -> RunOutcome:
    """Simulate what is missing, seal and report.

    Raises Stopped where units are left, SweepError where the sweep cannot go on, InvalidInput.
    """
    with job.taking_notices():
        parts = complete(job)
        if job.settings.shard:
            job.tell(ShardDone(job.settings.shard))
        else:
            _seal_and_report(job.of([part.stored for part in parts]))
    return RunOutcome.of(parts)


def _seal_and_report(job: Job) -> None:
    """Seal and report; begin again if another driver replaced the results meanwhile."""
    from pipeline.workflow.publish import publish  # what draws, which a share does not need

    for rounds_left in reversed(range(ROUNDS)):
        seal_results(job.studies, job.cluster)
        for stored in job.studies:
            _tell_what_was_reached(job, stored)
        try:
            publish(job)
            return
        except report_record.Replaced:
            if not rounds_left:
                raise


def _tell_what_was_reached(job: Job, stored: StoredStudy) -> None:
    """Tell which targets of precision were met, and where curves cross."""
    met = on_target(stored.store)
    if met is not None:
        job.tell(met)
    for crossing in crossings(stored):
        job.tell(crossing)


def complete(job: Job) -> list[ScheduledStudy]:
    """Simulate what is missing. Of studies that grow in rounds, seal each round and go on with the
    levels or replications that follow from it.

    Returns the studies with all of these and their schedules, in which nothing is pending. Raises
    what `simulate` does.
    """
    deadline = None
    if job.settings.stop_after is not None:
        deadline = time.monotonic() + job.settings.stop_after
    judged: Judged = {}
    known = [continued(stored, judged) for stored in job.studies]
    while True:
        parts = simulate(_until(deadline, job.of(known)))
        growing = [stored for stored in known if grows(stored)]
        if not growing:
            return parts
        seal_results(growing, job.cluster)
        following = [continued(stored, judged) for stored in job.studies]
        rounds = map(what_follows, known, following)
        growths = [growth for growth in rounds if growth is not None]
        if not growths:
            return parts
        for growth in growths:
            job.tell(growth)
        known = following


def results_of(job: Job) -> ScheduledStudy:
    """Simulate and seal the study of a job, and tell what fell short; no report.

    Returns the study with what was simulated. Raises what `simulate` does.
    """
    with job.taking_notices():
        (part,) = complete(job)
        seal_results([part.stored], job.cluster)
        shortfalls = line_of(part.stored) if job.subscribers else ""
        if shortfalls:
            job.tell(FellShort(part.stored.study.name, shortfalls))
    return part


def _until(deadline: float | None, job: Job) -> Job:
    """The job with the time that is left. deadline: of the monotonic clock; None: no limit."""
    if deadline is None:
        return job
    time_left = max(deadline - time.monotonic(), LEAST_TIME)
    return dataclasses.replace(
        job, settings=dataclasses.replace(job.settings, stop_after=time_left)
    )


def report(job: Job) -> RunOutcome:
    """Write the report of what is known: of the sealed results or, before the end, of the units
    that are done.
    """
    from pipeline.workflow.publish import publish

    with job.taking_notices():
        parts = [*_begun(job)]
        for part in parts:
            check_code(part.stored, part.schedule, job.settings, job.cluster)
            if not part.schedule.listing.done.any():
                name = part.stored.study.name
                raise InvalidInput(
                    "task", "report", f"{name} has no finished unit yet; run it first"
                )
        unfinished = [
            part.stored
            for part in parts
            if part.schedule.pending and not is_current(part.stored.store)
        ]
        seal_results([stored for stored in job.studies if stored not in unfinished], job.cluster)
        with workers_of(job.cluster, reduce.worth_a_cluster(unfinished)) as executor:
            for stored in unfinished:
                reduce.interim(stored, executor)
        publish(job, unfinished)
    return RunOutcome.of(parts)


def _begun(job: Job) -> Iterator[ScheduledStudy]:
    """The studies with what is left to do. Raises InvalidInput where one was never begun."""
    for stored in job.studies:
        if not stored.store.exists():
            raise InvalidInput("task", "report", f"{stored.study.name} is not begun; run it first")
    for stored in job.studies:
        listing = stored.store.listing()
        needed = needed_blocks(stored.store, listing, job.cluster)
        yield ScheduledStudy(stored, Schedule(stored.study, listing, needed=needed))


def seal_results(studies: Sequence[StoredStudy], cluster: Cluster) -> None:
    """Seal the results of finished studies, where they are not sealed already."""
    waiting = [stored for stored in studies if not is_current(stored.store)]
    with workers_of(cluster, reduce.worth_a_cluster(waiting)) as executor:
        for stored in waiting:
            reduce.seal(stored, executor)
