"""Backup copies: whatever workers do, every unit counts once, and a sweep ends while any worker computes."""

import math
import random
import threading

import pytest

from pipeline.execution.backups import HandedOut
from pipeline.execution.bundles import Bundle, Bundler
from pipeline.execution.sweep import Sweep
from pipeline.execution.task import Ending


class Clockwork:
    """A pool whose workers take `speeds` (units a second; 0: frozen) of a clock that is turned on by waiting.

    Bundles go to the worker with the fewest, whether it is frozen or not; like Dask, this does not count what was
    dropped, even where it runs. Each of `deaths` is the time at which a worker dies and is replaced: what it had is
    lost. All but the first join at the time `join`.
    """

    lost, deserted = 0, False

    def __init__(self, speeds, deaths=(), chance=None, join=0.0):
        self.speeds, self.deaths, self.chance = speeds, sorted(deaths, reverse=True), chance
        self.now = 0.0
        self.given = [[] for _ in speeds]  # [bundle, seconds of work left]
        self.computed = []  # units, each time they were computed
        self.workers = self.capacity = self.most = len(speeds)
        self.room, self.join = 2 * len(speeds), join

    def here(self):
        return range(len(self.speeds) if self.now >= self.join else 1)

    def wanted(self, worker):
        return sum(bundle is not None for bundle, _ in self.given[worker])

    def submit(self, bundle, worker=None):
        if worker is None:
            worker = min(self.here(), key=self.wanted)
        speed = self.speeds[worker]
        self.given[worker].append([bundle, len(bundle.units) / speed if speed else math.inf])

    def idle(self):
        return [worker for worker in self.here() if not self.wanted(worker)]

    def drop(self, bundle):
        """As Dask does: what runs goes on."""
        (given,) = [given for given in self.given if any(one is bundle for one, _ in given)]
        place = next(place for place, (one, _) in enumerate(given) if one is bundle)
        if place:
            del given[place]
        else:
            given[0][0] = None

    def finished(self):
        """What ends within a fifth of a second."""
        until = self.now + 0.2
        if self.deaths and self.deaths[-1] <= until:
            self.deaths.pop()
            given = self.given[self.chance.randrange(len(self.given))]
            gone = [(bundle, Ending("lost", "killed")) for bundle, _ in given if bundle]
            given.clear()
            return gone
        first = min((given for given in self.given if given), key=lambda given: given[0][1], default=None)
        step = min(first[0][1] if first else math.inf, until - self.now)
        self.now += step
        for given in self.given:
            if given:
                given[0][1] -= step
        if first and first[0][1] <= 1e-9:
            bundle, _ = first.pop(0)
            if bundle:
                self.computed += bundle.units
                return [(bundle, Ending("done", [-unit for unit in bundle.units], 1.0))]
        return []

    def halt(self):
        raise AssertionError("nothing stops these sweeps")

    def watch(self):
        assert self.now < 3e3, "the sweep does not end"


def swept(pool, units, backups=True):
    """The sweep, once it has ended; every unit must have counted once."""
    counted = {}

    def on_done(values, bundle, workers):
        assert len(values) == len(bundle.units) > 0 and bundle.cost == pytest.approx(len(values))
        for unit, value in zip(bundle.units, values, strict=True):
            assert unit not in counted
            counted[unit] = value

    sweep = Sweep(pool, Bundler(((unit, 1.0) for unit in range(units)), float(units)), 10, on_done, backups,
                  clock=lambda: pool.now)
    sweep.drive(threading.Event())
    assert counted == {unit: -unit for unit in range(units)} and sweep.units_done == units
    assert not sweep.interrupted() and not sweep.failure
    return sweep


@pytest.mark.parametrize("seed", range(30))
def test_every_unit_counts_once_whatever_workers_do(seed):
    chance = random.Random(seed)
    speeds = [chance.choice((0.05, 1.0, 1.3, 20.0)) for _ in range(chance.randrange(3, 12))]
    for worker in chance.sample(range(1, len(speeds)), chance.randrange(3)):  # at most two are frozen
        speeds[worker] = 0.0
    deaths = [chance.uniform(0, 30) for _ in range(chance.randrange(4))] if 0.0 not in speeds else []
    swept(Clockwork(speeds, deaths, chance), chance.randrange(1, 400))


def test_without_copies_a_frozen_worker_would_hold_the_sweep_for_ever():
    with pytest.raises(AssertionError, match="does not end"):
        swept(Clockwork([1.0, 0.0]), 20, backups=False)
    assert swept(Clockwork([1.0, 0.0]), 20).pool.now < 40


@pytest.mark.parametrize("workers, units", [(2, 4), (2, 400), (8, 16), (8, 1000)])
def test_a_worker_that_came_first_and_froze_does_not_keep_the_others_from_work(workers, units):
    """It has all that may be handed out at once, so nothing more can be, however much is left."""
    pool = Clockwork([0.0] + [1.0] * (workers - 1), join=3.0)
    assert swept(pool, units).pool.now < 30 + 2 * units / (workers - 1)


def test_a_unit_is_copied_until_a_worker_ends_it():
    """Workers that are stuck may look as if they had nothing to do: what they had was done by others."""
    handed, bundle, times = HandedOut(), Bundle([1], 1.0), []
    handed.add(bundle, 0.0)
    for quarter in range(600):
        for late in handed.late(quarter / 4, 1.0):
            handed.copy(late, 1, quarter / 4)
            times.append(quarter / 4)
    assert times == [2.25, 6.5, 14.75, 31.0, 63.25, 127.5]


@pytest.mark.parametrize("ahead, seconds", [(None, 4.0), (1.0, 12.0), (2.5, 30.0), (0.1, 1.2), (0.01, 1.0)])
def test_bundles_have_time_for_one_unit_near_the_end_and_for_all_that_a_worker_has_before(ahead, seconds):
    """Three units of 2 s: twice as long as expected, and a second at least."""
    handed = HandedOut()
    handed.add(Bundle([1, 2, 3], 3.0), 10.0)
    early, late = (handed.late(10 + seconds * share, 2.0, ahead) for share in (0.999, 1.001))
    assert early == [] and len(late) == 1


def test_a_slow_worker_costs_little():
    """Ten workers, one of them 20 times slower: 400 units take 44 s at best."""
    speeds = [1.0] * 9 + [0.05]
    slow, fast = (swept(Clockwork(speeds), 400, backups).pool for backups in (False, True))
    assert fast.now < 55 < slow.now


def test_workers_of_one_speed_copy_nothing():
    pool = swept(Clockwork([1.0] * 8), 1000).pool
    assert sorted(pool.computed) == list(range(1000))


def test_what_kills_workers_is_not_copied():
    sweep = Sweep(Clockwork([1.0, 1.0]), Bundler([], None), 10, None, True)
    sweep.running.add(Bundle([1], 1.0, kills=1), 0.0)
    assert not sweep.running.late(1e9)
