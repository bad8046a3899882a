"""Run many units of work on a cluster: bounded, bundled, indifferent to lost workers; knows no statistics.

Units must be deterministic and idempotent: whatever is lost is simply computed again.
"""

import asyncio
import contextlib
import functools
import math
import queue
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pipeline.parameters import InvalidInput, shorten

MOST_UNITS = 1000  # in one bundle: bounds a message, and what a lost worker costs when units are tiny
MOST_BUNDLES = 100  # a second, from all workers together: each costs the scheduler some 4 ms of CPU
LEAST_SECONDS = 0.05  # no bundle is planned shorter, so that scheduling stays a small share
# What a client raises when a worker dies under its feet. A wait that is cancelled inside Dask comes out of its
# `sync` as UnboundLocalError; errors of the work itself never get here, they arrive as text.
LOST = (OSError, asyncio.CancelledError, UnboundLocalError)
POLL = 0.2  # seconds between looks at signals and workers
DESERTED = 5.0  # seconds without any worker after which a sweep that is stopping waits no more


class SweepError(RuntimeError):
    """The sweep cannot go on: one line that says what and where. Units finished before are kept."""


@dataclass(frozen=True)
class Outcome:
    """What a sweep did.

    `seconds_work` is the time inside `work`, summed over workers; `workers` the most that were there at once
    (threads count); `lost` the workers that vanished; `interrupted` that `stop` left units undone.
    """

    units_done: int
    seconds_wall: float
    seconds_work: float
    workers: int
    lost: int
    interrupted: bool


@dataclass
class _Bundle:
    units: list
    cost: float
    kills: int = 0
    result: tuple | None = None

    def split(self) -> list["_Bundle"]:
        """Ten parts, so that a unit that kills its worker is alone after a few deaths."""
        if len(self.units) == 1:
            return [_Bundle(self.units, self.cost, self.kills + 1)]
        size = math.ceil(len(self.units) / 10)
        parts = [self.units[i : i + size] for i in range(0, len(self.units), size)]
        return [_Bundle(part, self.cost * len(part) / len(self.units), 1) for part in parts]


def run(
    executor,
    work: Callable[[list], list],
    units: Iterable[tuple[Any, float]],
    *,
    total_cost: float | None = None,
    bundle_seconds: float | None = None,
    window: int = 2,
    kills: int = 10,
    worker_timeout: float = 45.0,
    stop: threading.Event | None = None,
    on_done: Callable[[list, float, int], None] | None = None,
) -> Outcome:
    """Compute all units; memory is flat in their number, and order does not matter to the result.

    Args:
        executor: from `open()` of a cluster.
        work: picklable, sent once to each worker; `work(units)` computes and stores a list of units and
            returns something tiny for each. Its exceptions are faults of the environment and end the sweep.
        units: lazy pairs (unit, predicted cost in any unit), largest first. Never held as a whole.
        total_cost: sum of the costs, if known: the last bundles then shrink so that workers end together.
        bundle_seconds: work in one bundle, by default a second, or more with over MOST_BUNDLES workers; learned from
            finished ones, the first bundles hold one unit.
        window: bundles handed out per worker thread, computing or waiting.
        kills: how many workers a unit may kill before the sweep gives up on it.
        worker_timeout: seconds without any worker after which the sweep gives up; the cluster's own patience,
            as with a queue, counts instead.
        stop: once set, nothing more starts, and what runs is finished.
        on_done: called in this thread after each bundle with (results, its cost, workers now).

    Raises:
        SweepError: `work` raised, a unit killed `kills` workers, or no worker for `worker_timeout` seconds.
        InvalidInput: `work` raised it.
    """
    stop = stop or threading.Event()
    start = time.monotonic()
    slots = executor.workers * executor.threads
    worker_timeout = executor.patience or worker_timeout
    bundler = _Bundler(units, total_cost, bundle_seconds or max(1.0, slots / MOST_BUNDLES), slots)
    where = _Here(work) if executor.client is None else _Pool(executor, work, window * slots, worker_timeout)
    retry: deque[_Bundle] = deque()
    running = units_done = dropped = 0
    seconds_work, failure, halted, alone = 0.0, None, False, False
    try:
        while True:
            if (failure or stop.is_set()) and not halted:
                halted = True
                where.halt()
            while not halted and not alone and running < where.room:
                # A dying worker takes down what waited there as well: before a unit is blamed it runs alone.
                suspect = bool(retry) and retry[0].kills >= max(1, kills - 2)
                if suspect and running or not (bundle := retry.popleft() if retry else bundler.next()):
                    break
                where.submit(bundle)
                running, alone = running + 1, suspect
            if not running:
                break
            for bundle in where.finished():
                running, alone = running - 1, False
                state, value, seconds = bundle.result
                if state == "done":
                    units_done, seconds_work = units_done + len(bundle.units), seconds_work + seconds
                    bundler.learn(bundle, seconds)
                    if on_done:
                        on_done(value, bundle.cost, where.alive * executor.threads)
                elif state == "failed":
                    failure = failure or value
                elif state == "lost":
                    retry.extend(bundle.split())
                    if retry[-1].kills >= kills:
                        failure = failure or (f"unit {shorten(bundle.units[0], 200)}: {value} {kills} times; "
                                              "give workers more memory, or leave the unit out")
                else:
                    dropped += len(bundle.units)
            where.watch()
            if where.deserted:  # nobody is there to finish what was handed out
                dropped += running
                break
    except KeyboardInterrupt:
        if not stop.is_set():
            raise
        dropped += 1  # a second signal: leave at once, closing the cluster ends what runs
    if failure:
        raise failure if isinstance(failure, InvalidInput) else SweepError(failure)
    interrupted = bool(dropped or retry or (halted and bundler.next()))
    wall = time.monotonic() - start
    return Outcome(units_done, wall, seconds_work, where.most, where.lost, interrupted)


class _Bundler:
    """Cut a lazy stream of units into bundles of about the wanted seconds, smaller towards the end."""

    def __init__(self, units, total_cost, bundle_seconds, slots):
        self.units, self.total, self.wanted, self.slots = iter(units), total_cost, bundle_seconds, slots
        # `seconds` and `cost` are of recent bundles: their ratio is the price of a unit of cost.
        self.handed_out = self.seconds = self.cost = 0.0
        self.most = 1

    def next(self) -> _Bundle | None:
        target = math.inf
        if self.cost:
            price = max(self.seconds / self.cost, 1e-12)
            target = self.wanted / price
            if self.total is not None:
                share = (self.total - self.handed_out) / (2 * self.slots)
                target = min(target, max(share, LEAST_SECONDS / price))
        units, cost = [], 0.0
        for unit, unit_cost in self.units:
            units.append(unit)
            cost += max(float(unit_cost), 1e-12)
            if len(units) >= self.most or cost + unit_cost / 2 > target:
                break
        self.handed_out += cost
        return _Bundle(units, cost) if units else None

    def learn(self, bundle: _Bundle, seconds: float) -> None:
        self.seconds = 0.8 * self.seconds + seconds
        self.cost = 0.8 * self.cost + bundle.cost
        # A wrong prediction of cost must not make one bundle run for hours: grow step by step.
        self.most = min(MOST_UNITS, max(self.most, 4 * len(bundle.units)))


# In a worker: the callables of the sweeps it takes part in, and the sweeps that start nothing more.
_WORK: dict[str, Callable] = {}
_HALTED: set[str] = set()


def _install(name, work, admit=None):
    reason = admit() if admit else None
    _WORK[name] = functools.partial(_refuse, reason) if reason else work


def _refuse(reason, units):
    raise OSError(f"{socket.gethostname()} {reason}")


async def _halt(name):  # in the worker's event loop: its only thread is computing
    _HALTED.add(name)


def _compute(name, units):
    if name in _HALTED:
        return "halted", None, 0.0
    if name not in _WORK:
        return "lost", "a worker was not told its work", 0.0
    start = time.perf_counter()
    try:
        return "done", _WORK[name](units), time.perf_counter() - start
    except InvalidInput as error:
        return "failed", error, 0.0
    except Exception as error:  # as text: the exception itself may not survive pickling
        return "failed", _one_line(error), 0.0


def _one_line(error: BaseException) -> str:
    plain = isinstance(error, OSError) and str(error)  # of the disk or the network, which speak for themselves
    return shorten(error, 300) if plain else f"{type(error).__name__}: {shorten(error, 300)}"


class _Here:
    """Compute in this process, one bundle at a time."""

    alive, most, lost, room, deserted = 1, 1, 0, 1, False

    def __init__(self, work):
        self.name = uuid.uuid4().hex
        _install(self.name, work)

    def submit(self, bundle):
        self.bundle = bundle

    def finished(self):
        self.bundle.result = _compute(self.name, self.bundle.units)
        return [self.bundle]

    def halt(self):
        pass

    def watch(self):
        pass


class _Pool:
    """Compute on the workers of a Dask client."""

    def __init__(self, executor, work, room, worker_timeout):
        self.executor, self.room, self.timeout = executor, room, worker_timeout
        self.name, self.known = uuid.uuid4().hex, set()  # addresses of workers at the last look
        self.count = self.alive = self.most = self.lost = 0
        self.halted = self.deserted = False
        self.futures: dict[int, tuple[Any, _Bundle]] = {}
        self.ready: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.looked, self.last_alive = 0.0, time.monotonic()
        setup = functools.partial(_install, self.name, work, executor.admit)
        for attempt in (1, 2, 3):
            try:  # reaches present workers now and later ones as they join
                executor.client.register_worker_callbacks(setup)
                break
            except LOST:  # a worker died while being told
                if attempt == 3:
                    raise SweepError("workers die when given work: look at their output") from None
        self.watch()

    def submit(self, bundle):
        self.count = number = self.count + 1
        key = (f"units-{self.name}", number)
        future = self.executor.client.submit(_compute, self.name, bundle.units, key=key)
        self.futures[number] = future, bundle
        future.add_done_callback(lambda _: self.ready.put(number))

    def finished(self):
        try:
            number = self.ready.get(timeout=POLL)
        except queue.Empty:
            return []
        future, bundle = self.futures.pop(number)
        bundle.result = self._result(future)
        if bundle.result is None:  # look again later
            self.futures[number] = future, bundle
            self.ready.put(number)
        return [bundle] if bundle.result else []

    def _result(self, future):
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        try:
            return future.result(timeout=1)
        except TimeoutError:  # its worker died with the result, which is being computed again
            return None
        except KilledWorker:
            return "lost", "its worker was killed", 0.0
        except LOST as error:
            return "lost", f"lost ({_one_line(error)})", 0.0
        except FutureCancelledError as error:
            return "failed", f"no scheduler any more ({error.reason}): look at its output", 0.0
        except Exception as error:
            return "failed", _one_line(error), 0.0

    def halt(self):
        self.halted = True
        with contextlib.suppress(*LOST):  # no answer from a dying worker is as good
            self.executor.client.run(_halt, self.name, on_error="ignore")

    def watch(self):
        now = time.monotonic()
        if self.alive and now - self.looked < POLL:
            return
        self.looked, addresses = now, self.executor.alive()
        self.lost, self.known = self.lost + len(self.known - addresses), addresses
        self.alive = len(addresses)
        self.most = max(self.most, self.alive * self.executor.threads)
        if self.alive:
            self.last_alive = now
        elif now - self.last_alive > self.timeout:
            raise SweepError(f"no worker for {self.timeout:g} s ({self.executor.description}): "
                             "look at the workers' output")
        self.deserted = self.halted and not self.alive and now - self.last_alive > DESERTED
        try:
            if not self.halted:
                self.executor.revive()
        except OSError as error:
            raise SweepError(str(error)) from None
