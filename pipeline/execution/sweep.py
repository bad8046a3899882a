"""Run many units on a cluster: bounded, in bundles, whatever happens to workers.

Knows no statistics.

Units must be deterministic and idempotent: whatever is lost is simply computed again.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.execution import notices
from pipeline.execution.bundles import ALONE, CLEARED, DOUBTED, KILLS, Bundle, Bundler, Bundling
from pipeline.execution.clusters.executor import Executor
from pipeline.execution.deaths import DOUBT, SPACING, Deaths
from pipeline.execution.errors import SweepError
from pipeline.execution.pool import Pool, ThisProcess
from pipeline.execution.task import Ending, UnitFunction
from pipeline.study.parameters import InvalidInput, shorten

__all__ = ["Bundling", "LostWorkers", "SweepOutcome", "SweepError", "run"]

OnDone = Callable[[list[Any], Bundle, int], None]
Blame = Callable[[Any, str], Any]


@dataclass(frozen=True)
class SweepOutcome:
    """What a sweep did.

    `seconds_work` is the time inside the runner, summed over workers; `workers` the most that were
    there at once (threads count); `lost` the workers that vanished; `interrupted` that `stop` left
    units undone.
    """

    units_done: int
    seconds_wall: float
    seconds_work: float
    workers: int
    lost: int
    interrupted: bool


@dataclass(frozen=True)
class LostWorkers:
    """What a sweep does where it loses workers or time; all is called in its own thread.

    kills: how many workers a unit may end at least, the last `ALONE` of them while nothing else
    runs, before it is given up. doubt: it is given up where other causes would end as many workers
    with this probability at most, see `deaths`. blame: called with such a unit and what happened;
    returns what the runner would, or None if it was not the unit, and the sweep goes on. Without
    it, such a unit ends the sweep.
    worker_timeout: seconds without any worker after which the sweep gives up, unless a process of
    this machine is still starting; the cluster's own patience, as with a queue, counts instead.
    on_retired: called with one line for each worker that is retired as unfit. on_halt: called when
    the sweep begins to stop early.
    """

    kills: int = KILLS
    doubt: float = DOUBT
    blame: Blame | None = None
    worker_timeout: float = 45.0
    on_retired: Callable[[str], None] = notices.warn
    on_halt: Callable[[], None] = lambda: None


def run(
    executor: Executor,
    runner: UnitFunction,
    units: Iterable[tuple[Any, float]],
    *,
    bundling: Bundling | None = None,
    lost_workers: LostWorkers | None = None,
    on_done: OnDone | None = None,
    stop: threading.Event | None = None,
) -> SweepOutcome:
    """Compute all units; memory is flat in their number, and order does not matter to the result.

    Args:
        executor: from `open()` of a cluster.
        runner: picklable, sent once to each worker; `runner(units)` computes and stores a list of
            units and returns something tiny for each. It raises Unfit in a worker that must not
            compute; its other exceptions are faults of the environment and end the sweep. If it
            has `careful(bundle)`, that is called instead.
        units: lazy pairs (unit, predicted cost in any measure), largest first. Never kept as a
            whole.
        bundling: how units are put into bundles.
        lost_workers: what is done where workers are lost.
        on_done: called in this thread after each bundle with (what the runner returned, the bundle,
            workers now).
        stop: once set, nothing more starts, and what runs is finished.

    Raises:
        SweepError: the runner raised; a unit killed too many workers, and there is no `blame`;
            every worker was unfit; or there was no worker for too long.
        InvalidInput: the runner raised it.
    """
    start = time.monotonic()
    lost_workers = lost_workers or LostWorkers()
    pool: Pool = ThisProcess(runner)
    if executor.client is not None:
        from pipeline.execution.dask_pool import DaskPool

        patience = executor.patience or lost_workers.worker_timeout
        pool = DaskPool(executor, runner, executor.window, patience, lost_workers.on_retired)
    sweep = Sweep(pool, Bundler(units, bundling), lost_workers, on_done)
    sweep.complete(stop or threading.Event())
    return SweepOutcome(
        units_done=sweep.units_done,
        seconds_wall=time.monotonic() - start,
        seconds_work=sweep.seconds,
        workers=pool.most,
        lost=pool.lost,
        interrupted=sweep.interrupted(),
    )


@dataclass
class Sweep:
    """State of a sweep: what runs, what must be handed out again, what was done. See `run`."""

    pool: Pool
    bundler: Bundler
    lost_workers: LostWorkers = LostWorkers()
    on_done: OnDone | None = None
    retry: deque[Bundle] = field(default_factory=deque)
    deaths: Deaths = field(default_factory=Deaths)
    running: int = 0  # bundles that were handed out and have not ended
    ended: int = 0  # bundles that are done or lost their worker
    units_done: int = 0
    seconds: float = 0.0
    failure: Exception | None = None  # the first one
    halted: bool = False
    alone: bool = False  # a bundle runs that may soon be blamed, and nothing besides it
    survivors_alone: int = 0  # bundles that were done alone since one was lost alone
    abandoned: bool = False

    def complete(self, stop: threading.Event) -> None:
        """`drive`, and leave nothing behind in workers. Raises what ended the sweep."""
        try:
            self.drive(stop)
        except KeyboardInterrupt:
            if not stop.is_set():
                raise
            self.abandon()  # a second signal: leave at once, closing the cluster ends what runs
        finally:
            self.pool.close()
        if self.failure:
            raise self.failure

    def drive(self, stop: threading.Event) -> None:
        """Hand out bundles until all are done, `stop` is set and what runs has ended, or no worker
        is left.
        """
        while True:
            if stop.is_set() or self.failure:
                self.halt()
            self.hand_out()
            if not self.running:
                break
            self.collect()
            self.pool.watch()
            if self.pool.deserted:
                self.abandon()
                break

    def halt(self) -> None:
        """Hand out nothing more."""
        if not self.halted:
            self.lost_workers.on_halt()
        self.halted = True
        self.pool.halt()

    def abandon(self) -> None:
        """Leave what runs undone."""
        self.abandoned = True

    def hand_out(self) -> None:
        """Give bundles to the pool while it has room."""
        while not self.halted and not self.alone and self.running < self.pool.room:
            bundle = self._next()
            if bundle is None:
                break
            bundle.expected = self.bundler.expected(bundle)
            self.pool.submit(bundle)
            self.running += 1

    def collect(self) -> None:
        """Take what the pool has finished."""
        for bundle, ending in self.pool.finished():
            was_alone = self.alone
            self.alone = False
            self.running -= 1
            if ending.state == "done":
                self.survivors_alone += was_alone
                self._done(bundle, ending)
            elif ending.state == "failed":
                self._fail(ending.value)
            elif ending.state == "lost":
                if was_alone:
                    bundle.alone += 1
                    self.survivors_alone = 0
                self._lost(bundle, ending.value)
            else:  # halted, or its worker was unfit or unprepared
                # First again: what ended workers must stay behind what did not.
                self.retry.appendleft(bundle)

    def interrupted(self) -> bool:
        """Whether units are left undone."""
        if self.abandoned or self.retry:
            return True
        return self.halted and bool(self.bundler.next(1) or self.bundler.last())

    def _next(self) -> Bundle | None:
        goes_on_alone = self._goes_on_alone()
        if not goes_on_alone and (not self.retry or self.retry[0].not_before > self.ended):
            bundle = self.bundler.next(self.pool.capacity)
            if bundle is not None:
                return bundle
        if not self.retry:
            self.retry.extend(self.bundler.last())
        if not self.retry:
            return None
        if not goes_on_alone and not self._must_run_alone(self.retry[0]):
            return self.retry.popleft()
        if self.running:
            return None
        self.alone = True
        return self._take_to_run_alone()

    def _goes_on_alone(self) -> bool:
        """Whether another bundle follows one that was done alone, as no other worker is busy now."""
        return 0 < self.survivors_alone < CLEARED and bool(self._due_alone())

    def _due_alone(self) -> list[Bundle]:
        """Bundles that may be tried again now, and must run alone while other workers wait."""
        if self.pool.workers <= 1:
            return []
        due = [bundle for bundle in self.retry if bundle.not_before <= self.ended]
        return [bundle for bundle in due if self._must_run_alone(bundle)]

    def _take_to_run_alone(self) -> Bundle:
        """The bundle that must run alone and ended the fewest jobs; of several, the cheapest.

        The first that waits, where there is no other worker.
        """
        due = self._due_alone() or [self.retry[0]]
        bundle = min(due, key=lambda bundle: (bundle.jobs, bundle.cost))
        self.retry.remove(bundle)
        return bundle

    def _must_run_alone(self, bundle: Bundle) -> bool:
        """Whether nothing may run beside a bundle, as its unit may be found to end workers.

        A dying worker takes down what waited there as well. So the last attempts before a unit is
        blamed are made alone; earlier ones, too, unless the last `CLEARED` units that were tried
        alone were done: then others end workers. Each `DOUBTED`th attempt is made alone even then,
        as both may end workers. All are if whole jobs ended, since the next job is told only what
        was in work.
        """
        if bundle.kills < max(1, self.lost_workers.kills - ALONE):
            return False
        if bundle.jobs or self.survivors_alone < CLEARED or bundle.kills % DOUBTED == 0:
            return True
        after = replace(bundle, kills=bundle.kills + ALONE)
        return self.deaths.chance(after) <= self.lost_workers.doubt

    def _done(self, bundle: Bundle, ending: Ending) -> None:
        self.ended += 1
        self.bundler.learn(bundle, ending.seconds)
        self.deaths.finished(bundle)
        self.seconds += ending.seconds
        self._count(bundle, ending.value)

    def _count(self, bundle: Bundle, values: list[Any]) -> None:
        self.units_done += len(bundle.units)
        if self.on_done:
            self.on_done(values, bundle, self.pool.workers)

    def _lost(self, bundle: Bundle, reason: str) -> None:
        self.ended += 1
        singles = bundle.singles(not_before=self.ended + SPACING)
        if len(singles) > 1 or not self._is_to_blame(singles[0]):
            self.retry.extend(singles)
            return
        unit = bundle.units[0]
        event = f"{reason} {singles[0].kills} times"
        if not self.lost_workers.blame:
            self.retry.append(bundle)
            self._fail(
                f"unit {shorten(unit, 200)}: {event}; give workers more memory, or leave the unit "
                "out"
            )
            return
        value = self.lost_workers.blame(unit, event)
        if value is None:
            self.retry.append(Bundle(bundle.units, bundle.cost))
        else:
            self._count(bundle, [value])

    def _is_to_blame(self, single: Bundle) -> bool:
        """Whether a unit itself ends its workers, as far as can be told."""
        if single.kills < self.lost_workers.kills:
            return False
        if single.alone < min(ALONE, self.lost_workers.kills - 1):
            return False
        return self.deaths.chance(single) <= self.lost_workers.doubt

    def _fail(self, reason: str | InvalidInput) -> None:
        if self.failure:
            return
        if isinstance(reason, InvalidInput):
            self.failure = reason
        else:
            self.failure = SweepError(reason)
