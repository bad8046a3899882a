"""Sweeps on hundreds of workers: the project's own scheduler, driven by a clock that is simulated.

    python -m benchmarks scheduler

`Sweep` and `Bundler` are those of real sweeps; only workers, Dask and the time are modelled. Each
worker has a speed of its own, 1 ± 30 %, and in a second round one is 20 times slower. Each bundle
costs the driver `DRIVER` seconds of CPU, half when it is handed out and half when it ends, one
after the other; what heartbeats of workers leave of its time goes into that. Dask gives a bundle to
the worker that has the fewest; one that has nothing to do takes, `STEAL` later, what waits
elsewhere. Efficiency: seconds that all workers would need if no time were lost, by their true
speeds, over seconds that they took.
"""

import heapq
import itertools
import random
import threading
import time
from collections import deque
from typing import NamedTuple

from pipeline.execution.bundles import Bundle, Bundler, Bundling
from pipeline.execution.sweep import Sweep
from pipeline.execution.task import Ending

DRIVER, HEARTBEAT = (
    2.7e-3,
    1e-3,
)  # of 480 workers, by `python -m benchmarks driver`, see docs/scale.md
STEAL = 0.1  # seconds between two rounds of Dask's work stealing
WINDOW = 2  # bundles handed out for each worker
SPREAD, SLOWEST = 0.3, 0.05
SEEDS = range(1, 4)  # of the speeds


class Case(NamedTuple):
    """A sweep: drivers have equal shares of workers and units, as shard=K/10. wanted: its least
    efficiency.
    """

    workers: int
    drivers: int
    units: int
    seconds: float
    wanted: float | None = None


CASES = (
    Case(480, 1, 48_000, 1.0, 0.93),
    Case(480, 1, 480_000, 0.1),
    Case(1_000, 2, 100_000, 1.0, 0.9),
    Case(1_000, 1, 100_000, 1.0),
)


class Simulated:
    """A pool of workers with a simulated clock; see `pipeline.execution.pool.Pool`.

    speeds: of the workers. seconds: that a unit takes at speed 1.
    """

    lost, deserted = 0, False

    def __init__(self, speeds: list[float], seconds: float):
        self.speeds, self.seconds = speeds, seconds
        self.workers = self.capacity = self.most = len(speeds)
        self.room = WINDOW * len(speeds)
        self.now = 0.0  # of the driver
        beats = len(speeds) / (
            len(speeds) / 200 + 1
        )  # a second, of 200 workers and more; Dask's own rule
        self.cost = DRIVER / (1 - HEARTBEAT * beats)
        self.handed_out = 0
        self.running: list[Bundle | None] = [None] * len(speeds)
        self.waiting: list[deque[Bundle]] = [deque() for _ in speeds]
        self.queued: dict[int, int] = {}  # id of a bundle that waits -> its worker; oldest first
        self.free = set(range(len(speeds)))  # workers with nothing to do
        self.turn = 0
        self.events: list[
            tuple[float, int, int, Bundle | None]
        ] = []  # when, order, worker, what ends; None: steals
        self.order = itertools.count()

    def submit(self, bundle: Bundle) -> None:
        """Give a bundle to a worker with nothing to do, or else to the one with the fewest."""
        self.now += self.cost / 2
        self.handed_out += 1
        worker = next(iter(self.free)) if self.free else self._least()
        self._arrive(bundle, worker, self.now)

    def finished(self) -> list[tuple[Bundle, Ending]]:
        """The next bundle that ends, if that is within a second: then the driver looks around."""
        while self.events and self.events[0][0] <= self.now + 1.0:
            when, _, worker, bundle = heapq.heappop(self.events)
            if bundle is None:
                self._steal(worker, when)
                continue
            self._next(worker, when)
            self.now = max(self.now, when) + self.cost / 2
            seconds = len(bundle.units) * self.seconds / self.speeds[worker]
            return [(bundle, Ending("done", bundle.units, seconds))]
        self.now += 1.0
        return []

    def halt(self) -> None:
        """Nothing stops these sweeps."""

    def watch(self) -> None:
        """No worker dies."""

    def _least(self) -> int:
        self.turn = (self.turn + 1) % len(self.speeds)
        tried = [
            (self.turn + step) % len(self.speeds)
            for step in range(0, len(self.speeds), len(self.speeds) // 8)
        ]
        return min(tried, key=lambda worker: len(self.waiting[worker]))

    def _arrive(self, bundle: Bundle, worker: int, when: float) -> None:
        if self.running[worker] is None:
            self.free.discard(worker)
            self._start(bundle, worker, when)
        else:
            self.waiting[worker].append(bundle)
            self.queued[id(bundle)] = worker

    def _start(self, bundle: Bundle, worker: int, when: float) -> None:
        self.running[worker] = bundle
        ends = when + len(bundle.units) * self.seconds / self.speeds[worker]
        heapq.heappush(self.events, (ends, next(self.order), worker, bundle))

    def _next(self, worker: int, when: float) -> None:
        self.running[worker] = None
        if self.waiting[worker]:
            bundle = self.waiting[worker].popleft()
            del self.queued[id(bundle)]
            self._start(bundle, worker, when)
        else:
            self.free.add(worker)
            if self.queued:
                heapq.heappush(self.events, (when + STEAL, next(self.order), worker, None))

    def _steal(self, worker: int, when: float) -> None:
        if self.running[worker] is None and self.queued:
            victim = self.queued.pop(next(iter(self.queued)))
            self._arrive(self.waiting[victim].popleft(), worker, when)


def speeds(workers: int, seed: int, slowest: float | None = None) -> list[float]:
    """1 ± 30 % each; the first one `slowest`, if that is given."""
    chance = random.Random(seed)
    usual = [chance.uniform(1 - SPREAD, 1 + SPREAD) for _ in range(workers)]
    return usual if slowest is None else [slowest, *usual[1:]]


def simulate(speeds: list[float], units: int, seconds: float) -> tuple[float, int]:
    """Seconds that one driver with these workers takes, and bundles that it hands out."""
    pool, done = Simulated(speeds, seconds), bytearray(units)

    def count(values: list[int], bundle: Bundle, workers: int) -> None:
        for unit in values:
            done[unit] += 1

    stream = ((unit, seconds * 1e9) for unit in range(units))
    bundler = Bundler(stream, Bundling(units * seconds * 1e9, pace=1e-9))
    Sweep(pool, bundler, on_done=count).drive(threading.Event())
    assert done == b"\1" * units  # each counted once
    return pool.now, pool.handed_out


def efficiency(case: Case, seed: int, slowest: float | None = None) -> tuple[float, int]:
    """Of a sweep that ends when the last of its drivers does; and bundles of all."""
    every = speeds(case.workers, seed, slowest)
    shares = [every[driver :: case.drivers] for driver in range(case.drivers)]
    ends = [simulate(share, case.units // case.drivers, case.seconds) for share in shares]
    last = max(end for end, _ in ends)
    return case.units * case.seconds / sum(every) / last, sum(bundles for _, bundles in ends)


def main() -> None:
    """Print a table."""
    print(
        f"speeds 1 ± {SPREAD:.0%}; a bundle costs the driver {1e3 * DRIVER:g} ms, a heartbeat "
        f"{1e3 * HEARTBEAT:g}; least and most of {len(SEEDS)} seeds"
    )
    print(
        "workers  drivers      units  s a unit   efficiency  one 20 times slower  wanted  bundles "
        " simulated in"
    )
    for case in CASES:
        start = time.perf_counter()
        results = [efficiency(case, seed) for seed in SEEDS]
        reached = sorted(share for share, _ in results)
        slow = min(efficiency(case, seed, SLOWEST)[0] for seed in SEEDS)
        print(
            f"{case.workers:>7,} {case.drivers:>8} {case.units:>10,} {case.seconds:>9g} "
            f"{reached[0]:>6.3f}–{reached[-1]:.3f} {slow:>20.3f} {case.wanted or '':>7} "
            f"{results[0][1]:>8,} {time.perf_counter() - start:>11.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
