"""`task=run` and `task=report`: simulate what is missing, seal, judge the claims, write the report."""

import contextlib
import dataclasses
import functools
import itertools
import math
import sys
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.execution import plan, suspects, sweep
from pipeline.execution.amounts import format_time
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import Cluster, Executor, queued, workers_of
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.clusters.local import STARTING
from pipeline.execution.elsewhere import Elsewhere
from pipeline.execution.errors import SweepError
from pipeline.execution.failures import FailuresAlike
from pipeline.execution.progress import Progress, interruptible
from pipeline.execution.schedule import COST_OF_A_SECOND, Schedule, Unit
from pipeline.execution.sessions import FAILED, Session
from pipeline.execution.unit_work import UnitWork, advance_of
from pipeline.identity.registry import registrations
from pipeline.storage import agreement, results
from pipeline.storage.efforts import Efforts
from pipeline.storage.integrity import Integrity, remove_abandoned
from pipeline.study.errors import Stopped
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reduce, reports, status
from pipeline.workflow.precision import limits, on_target
from pipeline.workflow.refinement import boundary_lines
from pipeline.workflow.rounds import Judged, grows, reached, what_follows
from pipeline.workflow.sealed import is_current
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, agree, runner, scheduled

# Times its predicted seconds: as long this process computes before it starts workers all the same.
MISJUDGED = 10
ROUNDS = 5  # of sealing and reporting, while another driver replaces the results


def run(studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, command: str) -> int:
    """Simulate what is missing, seal and report; returns the exit code."""
    try:
        studies, schedules = complete(studies, settings, cluster, command)
    except Stopped as stopped:
        print(stopped)
        return EXIT_MORE_TO_DO
    except SweepError as error:
        print(f"error: {error}; finished units are kept, the same command goes on", file=sys.stderr)
        return EXIT_FAILED
    if settings.shard:
        print(
            f"shard {settings.shard} is done; the same command without it simulates what is left, "
            "seals and reports"
        )
        return _exit_code(schedules)
    for left in reversed(range(ROUNDS)):
        seal(studies, cluster)
        for stored in studies:
            for line in [*filter(None, [on_target(stored.store)]), *boundary_lines(stored)]:
                print(line)
        try:
            _report(studies, settings, cluster, command)
            return _exit_code(schedules)
        except reports.Replaced:  # by a driver with another grid or more replications
            if not left:
                raise
    raise AssertionError  # the last round returns or raises


def complete(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, command: str
) -> tuple[Sequence[StoredStudy], list[Schedule]]:
    """Simulate what is missing.

    Seal studies that grow by what they show, and go on with new levels or replications.

    Returns the studies with all of these, and their schedules, in which nothing is pending. Raises
    what `simulate` does.
    """
    ends = None if settings.stop_after is None else time.monotonic() + settings.stop_after
    judged: Judged = {}
    known = [reached(stored, judged) for stored in studies]
    while True:
        if ends is not None:
            settings = dataclasses.replace(settings, stop_after=max(ends - time.monotonic(), 1e-3))
        schedules = simulate(known, settings, cluster, command)
        if not any(map(grows, studies)):
            return known, schedules
        seal([*filter(grows, known)], cluster)
        grown = [reached(stored, judged) for stored in studies]
        more = [*filter(None, map(what_follows, known, grown))]
        if not more:
            return known, schedules
        print(*more, sep="\n", flush=True)
        known = grown


def simulate(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, command: str
) -> list[Schedule]:
    """Simulate what is missing; the schedules afterwards, in which nothing is pending.

    Raises Stopped where units are left, SweepError where the sweep cannot go on, InvalidInput.
    """
    cluster.check()
    stores = [stored.store for stored in studies]
    plan.check_lifetime(stores, cluster)
    plan.check_room(stores)
    for stored in studies:
        stored.store.begin()
        Integrity(stored.store).sweep_partials()
    remove_abandoned(reports.folder(settings, studies))
    schedules = [scheduled(stored, settings, cluster) for stored in studies]
    if not any(schedule.pending for schedule in schedules):
        print(
            f"nothing to do: all {sum(schedule.units for schedule in schedules):,} units were "
            "done before"
        )
        for stored, schedule in zip(studies, schedules, strict=True):
            if schedule.listing.failed.any():
                status.print_failures(stored, schedule.listing, command)
    else:
        alike = _sweep(studies, schedules, settings, cluster, command)
        schedules = [
            _again(stored, schedule, settings)
            for stored, schedule in zip(studies, schedules, strict=True)
        ]
        left = sum(schedule.pending for schedule in schedules)
        if left and alike:
            raise SweepError(
                f"{alike}; task=status says how to see why, most_failures=0 goes on all the same"
            )
        if left:
            raise Stopped(
                f"stopped: {left:,} units to do, the rest is kept; the same command goes on"
            )
    for stored, schedule in zip(studies, schedules, strict=True):
        agree(stored, schedule, settings, cluster)
    return schedules


def _again(stored: StoredStudy, schedule: Schedule, settings: Settings) -> Schedule:
    """What is left to do after a sweep, whoever did it."""
    listing = stored.store.listing()
    if schedule.limits:
        schedule.limits.learn(
            Unit(cell, block) for cell, block in np.argwhere(listing.done).tolist()
        )
    again = Schedule(
        stored.study, listing, settings.shard_numbers, schedule.limits, np.random.default_rng()
    )
    suspects.find(stored.store, again)
    return again


def report(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, command: str
) -> int:
    """Write the report of what is known: of the sealed results or, before the end, of the units
    that are done.
    """
    for stored in studies:
        if not stored.store.exists():
            raise InvalidInput("task", "report", f"{stored.study.name} is not begun; run it first")
    listings = [stored.store.listing() for stored in studies]
    schedules = [
        Schedule(stored.study, listing, limits=limits(stored.store, listing, cluster))
        for stored, listing in zip(studies, listings, strict=True)
    ]
    for stored, schedule in zip(studies, schedules, strict=True):
        agree(stored, schedule, settings, cluster)
        if not schedule.listing.done.any():
            raise InvalidInput(
                "task", "report", f"{stored.study.name} has no finished unit yet; run it first"
            )
    unfinished = [
        stored
        for stored, schedule in zip(studies, schedules, strict=True)
        if schedule.pending and not is_current(stored.store)
    ]
    seal([stored for stored in studies if stored not in unfinished], cluster)
    with workers_of(cluster, reduce.worth_a_cluster(unfinished)) as executor:
        for stored in unfinished:
            reduce.interim(stored, executor)
    _report(studies, settings, cluster, command, interim=unfinished)
    return _exit_code(schedules)


def _exit_code(schedules: Sequence[Schedule]) -> int:
    """The exit code: 1 if a unit of this shard failed."""
    return (
        EXIT_FAILED
        if any((one.listing.failed & one.mine).any() for one in schedules)
        else EXIT_DONE
    )


def seal(studies: Sequence[StoredStudy], cluster: Cluster) -> None:
    """Seal the results of finished studies, where they are not sealed already."""
    waiting = [stored for stored in studies if not is_current(stored.store)]
    with workers_of(cluster, reduce.worth_a_cluster(waiting)) as executor:
        for stored in waiting:
            reduce.seal(stored, executor)


def _sweep(
    studies: Sequence[StoredStudy],
    schedules: Sequence[Schedule],
    settings: Settings,
    cluster: Cluster,
    command: str,
) -> str:
    """Simulate what is missing, until it is done or stopped.

    Returns why, where too many units failed alike.

    Raises SweepError where the sweep cannot go on.
    """
    pending = sum(one.pending for one in schedules)
    seconds = sum(one.cost for one in schedules) / COST_OF_A_SECOND
    waiting = [
        (stored, schedule)
        for stored, schedule in zip(studies, schedules, strict=True)
        if schedule.pending
    ]
    alike = FailuresAlike(settings.most_failures)
    compute = functools.partial(
        _compute,
        settings=settings,
        command=command,
        alike=alike,
        waits=functools.partial(_waits, cluster),
    )
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(interruptible(settings.stop_after))
        print(
            f"{pending:,} units to do, {sum(one.units for one in schedules) - pending:,} done "
            "before"
            + (f", in shard {settings.shard}" if settings.shard else "")
            + ("; and as many more as the targets of precision need" if _left(schedules) else ""),
            flush=True,
        )
        # Code that a person added to this program may end the process, which then had better be a
        # worker's.
        safe = not any(registrations())
        needless = cluster.needless(seconds) and safe

        def agree() -> None:
            for number, (stored, schedule) in enumerate(waiting if not cluster.elsewhere else ()):
                tried = agreement.tries(
                    stored.store
                )  # a process ended: workers find out in which unit
                at_start = (
                    number == 0 and safe and not tried and not needless and _made_soon(schedule)
                )
                first = at_start and not cluster.limits_memory
                comparable = schedule.listing.done.any() and not tried
                if comparable or needless or first or not cluster.starts_processes:
                    with stored.store.backend.sweeping():
                        runner(stored, schedule, settings).agree()

        if needless:
            agree()
            here = Executor(
                description=(
                    f"about {format_time(seconds)} of work: no workers, computing in this process"
                )
            )
            if compute(waiting, here, stop, patience=MISJUDGED * seconds + 10):
                waiting = []
            else:
                again = [
                    (stored, _again(stored, schedule, settings)) for stored, schedule in waiting
                ]
                waiting = [(stored, schedule) for stored, schedule in again if schedule.pending]
        if waiting and not stop.is_set():
            compute(waiting, stack.enter_context(cluster.open_while(agree)), stop)
    for stored in (
        studies if alike.kinds or any(schedule.given_up for schedule in schedules) else ()
    ):
        status.print_failures(stored, stored.store.listing(), command)
    return alike.too_many


def _waits(cluster: Cluster) -> str:
    """What a driver waits for while no unit has ended: its jobs in a queue, and why they wait."""
    if not isinstance(cluster, BatchWorkers):
        return ""
    jobs = queued.waiting_workers(cluster.system)
    return f"jobs of {cluster.system.name}: {queued.in_words(jobs)}" if jobs else ""


def _made_soon(schedule: Schedule) -> bool:
    """Whether the reference units take less time than workers to start, by their predicted costs."""
    cost = float(sum(schedule.costs[unit.cell] for unit in schedule.references))
    return 0 < cost <= STARTING * COST_OF_A_SECOND


def _compute(
    waiting: Sequence[tuple[StoredStudy, Schedule]],
    executor: Executor,
    stop: threading.Event,
    settings: Settings,
    command: str,
    alike: FailuresAlike,
    waits: Callable[[], str],
    patience: float = math.inf,
) -> bool:
    """Simulate what is missing of some studies, one after the other.

    Start nothing after `patience` seconds.

    Returns whether it took no longer.
    """
    print(executor.description, flush=True)
    schedules = [schedule for _, schedule in waiting]
    ends = time.monotonic() + patience
    with Progress(
        sum(one.pending for one in schedules),
        sum(one.cost for one in schedules),
        left=_left(schedules),
        waits=waits,
    ) as progress:

        def swept(stored: StoredStudy, schedule: Schedule, session: Session) -> sweep.Outcome:
            efforts = Efforts(stored.store, session.name)
            session.at_beats(efforts.flush)

            def on_done(works: list[UnitWork], bundle: Bundle, workers: int) -> None:
                failed = [
                    unit for unit, work in zip(bundle.units, works, strict=True) if work.failed
                ]
                alike.add(len(works), [reports.last_line(stored.store, unit) for unit in failed])
                efforts.add(bundle.units, [work.effort for work in works])
                if alike.too_many:
                    stop.set()
                if schedule.limits:
                    schedule.limits.learn(bundle.units)
                done = advance_of(works, bundle, workers)
                progress.advance(done)
                session.advance(done)

            # With targets what is wanted is not known, and large first bundles could be far more
            # than that.
            total_cost, pace = (
                (None, None) if schedule.limits else (schedule.cost, 1 / COST_OF_A_SECOND)
            )
            work = runner(stored, schedule, settings)
            elsewhere = Elsewhere(
                stored.store, schedule, None if schedule.limits else work.notes.driver
            )
            units = itertools.takewhile(
                lambda _: time.monotonic() < ends, elsewhere.others(schedule)
            )
            if schedule.suspects:
                progress.warn(suspects.in_words(schedule))
            with suspects.noted(stored.store, work.notes.driver) as forget:
                outcome = sweep.run(
                    executor,
                    work,
                    units,
                    stop=stop,
                    on_done=on_done,
                    on_retired=progress.warn,
                    total_cost=total_cost,
                    pace=pace,
                    shares=schedule.shares,
                    blame=work.blame,
                    last=lambda: elsewhere.bundles() + suspects.bundles(schedule),
                    on_halt=forget,
                )
            return dataclasses.replace(
                outcome, interrupted=outcome.interrupted or time.monotonic() >= ends
            )

        for stored, schedule in waiting:
            if not stop.is_set() and time.monotonic() < ends:
                session = Session(
                    stored.store.folder, command, schedule.pending, schedule.cost, settings.shard
                )
                _in_session(
                    stored, session, functools.partial(swept, stored, schedule, session), alike
                )
    return time.monotonic() < ends


def _left(schedules: Sequence[Schedule]) -> Callable[[], tuple[int, float]] | None:
    """What is left to do of all, as units and cost, where that changes on the way: with targets of
    precision.
    """
    if not any(schedule.limits for schedule in schedules):
        return None
    return lambda: (sum(one.pending for one in schedules), sum(one.cost for one in schedules))


def _in_session(
    stored: StoredStudy, session: Session, swept: Callable[[], sweep.Outcome], alike: FailuresAlike
) -> None:
    """Sweep one study and note how the session ended."""
    try:
        with stored.store.backend.sweeping():
            outcome = swept()
    except BaseException as error:
        state = FAILED
        if isinstance(error, KeyboardInterrupt):
            state = "abandoned"
        session.end(state, error=str(error))
        raise
    if not outcome.interrupted:
        session.end("finished", outcome)
    elif alike.too_many:
        session.end(FAILED, outcome, alike.too_many)
    else:
        session.end("stopped", outcome)


def _report(
    studies: Sequence[StoredStudy],
    settings: Settings,
    cluster: Cluster,
    command: str,
    interim: Sequence[StoredStudy] = (),
) -> None:
    """Write the report, if it is not up to date, and print the verdicts.

    Raises Replaced, see `reports.publishing`.
    """
    folder = reports.folder(settings, studies, bool(interim))
    path = folder / "report.html"
    record = folder / "report.yaml"
    stores = [stored.store for stored in studies]
    stamps = [results.stamp(store) for store in stores]
    wanted = reports.content(studies, stamps)
    running = settings.task == "run"  # which writes only what is out of date
    if not (running and reports.is_current(path, record, wanted)):
        if running and not all(map(is_current, stores)):
            raise reports.Replaced
        for stored in studies:
            _check_results(stored, stored in interim)
        start = time.monotonic()
        try:
            turn = reports.publishing(settings, studies, stamps, path, wanted, bool(interim))
            path, verdicts = reports.write(
                folder,
                studies,
                command,
                cluster,
                interim=interim,
                formats=settings.figure_formats,
                turn=turn,
            )
        except reports.Replaced:
            raise
        except Exception:  # a reader raises anything over half a dataset
            if [results.stamp(store) for store in stores] != stamps:
                raise reports.Replaced from None
            for stored in studies:
                _check_results(stored, stored in interim, thorough=True)
            raise
        for line in verdicts:
            print(line)
        print(f"report written in {format_time(time.monotonic() - start)}")
    print(f"report: {path}")


def _check_results(stored: StoredStudy, interim: bool, thorough: bool = False) -> None:
    for name in reduce.names(stored.store, interim):
        if wrong := results.problems_of(stored.store.backend, name, thorough):
            raise stored.store.invalid(
                f"is damaged ({wrong[0]}); task=verify repair=true removes it, and the same "
                "command makes it again",
                name,
            )
