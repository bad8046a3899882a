"""Run many units on a cluster: bounded, in bundles, whatever happens to workers; knows no statistics.

Units must be deterministic and idempotent: whatever is lost is simply computed again.
"""

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pipeline.execution.backups import HandedOut
from pipeline.execution.bundles import MOST_BUNDLES, Bundle, Bundler
from pipeline.execution.clusters.executor import Executor
from pipeline.execution.errors import SweepError
from pipeline.execution.pool import DaskPool, Pool, ThisProcess
from pipeline.execution.task import Ending, Runner
from pipeline.study.parameters import InvalidInput, shorten

__all__ = ["Outcome", "SweepError", "run"]

OnDone = Callable[[list[Any], Bundle, int], None]
Blame = Callable[[Any, str], Any]
LOOK = 0.5  # seconds between two looks for idle workers near the end: each asks the scheduler
LOOK_EARLY = 5.0  # the same before that


@dataclass(frozen=True)
class Outcome:
    """What a sweep did.

    `seconds_work` is the time inside the runner, summed over workers; `workers` the most that were there at once
    (threads count); `lost` the workers that vanished; `interrupted` that `stop` left units undone.
    """

    units_done: int
    seconds_wall: float
    seconds_work: float
    workers: int
    lost: int
    interrupted: bool


def warn(line: str) -> None:
    """Print a warning on standard error: how a sweep reports a retired worker by default."""
    print(f"warning: {line}", file=sys.stderr, flush=True)


def run(
    executor: Executor,
    runner: Runner,
    units: Iterable[tuple[Any, float]],
    *,
    total_cost: float | None = None,
    bundle_seconds: float | None = None,
    pace: float | None = None,
    shares: Callable[[Any], bool] = lambda unit: False,
    window: int | None = None,
    kills: int = 10,
    blame: Blame | None = None,
    worker_timeout: float = 45.0,
    backups: bool = False,
    stop: threading.Event | None = None,
    on_done: OnDone | None = None,
    on_retired: Callable[[str], None] = warn,
) -> Outcome:
    """Compute all units; memory is flat in their number, and order does not matter to the result.

    Args:
        executor: from `open()` of a cluster.
        runner: picklable, sent once to each worker; `runner(units)` computes and stores a list of units and
            returns something tiny for each. It raises Unfit in a worker that must not compute; its other exceptions
            are faults of the environment and end the sweep. If it has `careful(bundle)`, that is called instead.
        units: lazy pairs (unit, predicted cost in any measure), largest first. Never kept as a whole.
        total_cost: sum of the costs, if known: the last bundles then shrink so that workers end together.
        bundle_seconds: duration of a bundle, by default a second, or more with very many workers; learned from
            finished ones.
        pace: predicted seconds per cost, by which the first bundles are cut where there are very many workers, see
            `Bundler`; None: they have one unit.
        shares: whether the unit after this one shares its data, see `Bundler`.
        window: bundles handed out per worker thread, computing or waiting; the executor's by default.
        kills: how many workers a unit may kill, the last two while nothing else runs, before it is given up.
        blame: called in this thread with such a unit and what happened; returns what the runner would, or None if it
            was not the unit, and the sweep goes on. Without it, such a unit ends the sweep.
        worker_timeout: seconds without any worker after which the sweep gives up; the cluster's own patience,
            as with a queue, counts instead.
        backups: whether, near the end, units that take long are handed out once more to workers with nothing to do.
            Of all copies of a unit the first that ends counts, and others may go on after the sweep: only for units
            that may be computed several times at once.
        stop: once set, nothing more starts, and what runs is finished.
        on_done: called in this thread after each bundle with (what the runner returned, the bundle, workers now).
        on_retired: called in this thread with one line for each worker that is retired as unfit.

    Raises:
        SweepError: the runner raised; without `blame`, a unit killed `kills` workers; every worker was unfit; or there
            was no worker for `worker_timeout` seconds.
        InvalidInput: the runner raised it.
    """
    stop = stop or threading.Event()
    start = time.monotonic()
    pool: Pool = ThisProcess(runner) if executor.client is None else DaskPool(
        executor, runner, window or executor.window, executor.patience or worker_timeout, on_retired)
    sweep = Sweep(pool, Bundler(units, total_cost, bundle_seconds, pace, shares), kills, on_done, backups, blame)
    try:
        sweep.drive(stop)
    except KeyboardInterrupt:
        if not stop.is_set():
            raise
        sweep.abandon()  # a second signal: leave at once, closing the cluster ends what runs
    if sweep.failure:
        raise sweep.failure
    return Outcome(sweep.units_done, time.monotonic() - start, sweep.seconds, pool.most, pool.lost,
                   sweep.interrupted())


@dataclass
class Sweep:
    """State of a sweep: what runs, what must be handed out again, what was done. See `run`."""

    pool: Pool
    bundler: Bundler
    kills: int
    on_done: OnDone | None
    backups: bool = False
    blame: Blame | None = None
    clock: Callable[[], float] = time.monotonic
    retry: deque[Bundle] = field(default_factory=deque)
    running: HandedOut = field(default_factory=HandedOut)
    looked: float = -math.inf  # when idle workers were last looked for
    units_done: int = 0
    seconds: float = 0.0
    failure: Exception | None = None  # the first one
    halted: bool = False
    alone: bool = False  # a bundle runs that killed workers before, and nothing besides it
    abandoned: bool = False

    def drive(self, stop: threading.Event) -> None:
        """Hand out bundles until all are done, `stop` is set and what runs has ended, or no worker is left."""
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
        self.halted = True
        self.pool.halt()

    def abandon(self) -> None:
        """Leave what runs undone."""
        self.abandoned = True

    def hand_out(self) -> None:
        """Give bundles to the pool while it has room, and copies to idle workers when nothing else is left.

        Or when there is no room, as one worker that came first, and then froze, has what was meant for all.
        """
        while not self.halted and not self.alone:
            if len(self.running) >= self.pool.room:
                self._back_up(LOOK_EARLY, self.pool.room / self.pool.capacity)
                break
            if not (bundle := self._next()):
                self._back_up(LOOK)
                break
            self._submit(bundle)
            self.running.add(bundle, self.clock())

    def collect(self) -> None:
        """Take what the pool has finished."""
        for bundle, ending in self.pool.finished():
            self.alone = False
            if ending.state == "done":
                self._done(bundle, ending)
                continue
            left = self.running.gone(bundle)
            if ending.state == "failed":
                self._fail(ending.value)
            elif left and ending.state == "lost":
                self._lost(left, ending.value)
            elif left:  # halted, or its worker was unfit
                self.retry.append(left)

    def interrupted(self) -> bool:
        """Whether units are left undone."""
        return bool(self.abandoned or self.retry or (self.halted and self.bundler.next(1)))

    def _next(self) -> Bundle | None:
        if not self.retry:
            return self.bundler.next(self.pool.capacity)
        # A dying worker takes down what waited there as well: before a unit is blamed it runs alone.
        suspect = self.retry[0].kills >= max(1, self.kills - 2)
        if suspect and self.running:
            return None
        self.alone = suspect
        return self.retry.popleft()

    def _back_up(self, every: float, ahead: float | None = None) -> None:
        """Hand bundles that take long out once more, cut among the workers with nothing to do.

        every: seconds between two looks for such workers. ahead: see `HandedOut.late`.
        """
        now = self.clock()
        if not self.backups or now - self.looked < every:
            return
        self.looked = now
        late = self.running.late(now, self.bundler.seconds_per_cost, ahead)
        idle = self.pool.idle()[:MOST_BUNDLES] if late else []
        for handed in late:
            if not idle:
                break
            for part in self.running.copy(handed, len(idle), now):
                self._submit(part, idle.pop())

    def _submit(self, bundle: Bundle, worker: str | None = None) -> None:
        bundle.expected = self.bundler.expected(bundle)
        self.pool.submit(bundle, worker)

    def _done(self, bundle: Bundle, ending: Ending) -> None:
        self.bundler.learn(bundle, ending.seconds)
        new, values, dropped = self.running.done(bundle, ending.value)
        for copy in dropped:
            self.pool.drop(copy)
        self.seconds += ending.seconds * len(new.units) / len(bundle.units)
        self._count(new, values)

    def _count(self, bundle: Bundle, values: list[Any]) -> None:
        self.units_done += len(bundle.units)
        if self.on_done and bundle.units:
            self.on_done(values, bundle, self.pool.workers)

    def _lost(self, bundle: Bundle, reason: str) -> None:
        if bundle.kills + 1 < self.kills or len(bundle.units) > 1:
            self.retry.extend(bundle.split())
            return
        (unit,), what = bundle.units, f"{reason} {self.kills} times"
        if self.blame:
            if (value := self.blame(unit, what)) is None:
                self.retry.append(Bundle(bundle.units, bundle.cost))
            else:
                self._count(bundle, [value])
        else:
            self.retry.append(bundle)
            self._fail(f"unit {shorten(unit, 200)}: {what}; give workers more memory, or leave the unit out")

    def _fail(self, reason: str | InvalidInput) -> None:
        if not self.failure:
            self.failure = reason if isinstance(reason, InvalidInput) else SweepError(reason)
