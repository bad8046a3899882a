"""Several drivers of one study at once do little of it twice."""

import heapq
import itertools
import threading
import types
from typing import ClassVar

import numpy as np
import pytest

from pipeline.execution import elsewhere, looks
from pipeline.execution import runner as runner_module
from pipeline.execution.clusters import Executor, Synchronous
from pipeline.execution.elsewhere import Elsewhere
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.execution.sweep import run
from pipeline.storage import in_work
from pipeline.storage.in_work import Driver
from pipeline.storage.replications import Listing, Store
from pipeline.workflow.config import read_settings
from pipeline.workflow.studies import scheduled
from tests.helpers.engine import mapping, stored, study

UNITS, DRIVERS = 320, 3
FEW = study(
    grid={"m": [3, 4], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]},
    block=10,
    replications=400,
)
WHAT = study(
    grid={"m": [3, 4], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]},
    block=10,
    replications=1600,
)


class Clock:
    """Time that passes only while all drivers wait; one of them goes on at a time, whatever the machine does."""

    def __init__(self, drivers):
        self.now = 0.0
        self.going_on = drivers
        self.waiting = []
        self.changed = threading.Condition()

    def wait(self, seconds, driver):
        with self.changed:
            mine = (self.now + seconds, driver)
            heapq.heappush(self.waiting, mine)
            self._leave()
            while mine in self.waiting:
                self.changed.wait()

    def end(self):
        with self.changed:
            self._leave()

    def _leave(self):
        self.going_on -= 1
        if not self.going_on and self.waiting:
            self.now, _ = heapq.heappop(self.waiting)
            self.going_on = 1
            self.changed.notify_all()


class Timed(Runner):
    """A runner whose units take .7 to 1.3 of a clock; notes what it simulates."""

    simulated: ClassVar[list] = []
    clock = None

    def begin(self, clock, number):
        self.clock, self.number, self.pace = clock, number, np.random.default_rng(100 + number)
        clock.wait(self.pace.random(), number)

    def _simulate(self, unit, *rest):
        self.simulated.append(unit)
        if self.clock:
            self.clock.wait(self.pace.uniform(0.7, 1.3), self.number)
        return super()._simulate(unit, *rest)


def driven(folder, *chances) -> int:
    """How many units are simulated by drivers that work together, each with an order drawn from one of the chances."""
    Timed.simulated.clear()
    clock = Clock(len(chances))

    def drive(number, chance):
        store = Store(WHAT, folder)
        store.begin()
        schedule = Schedule(WHAT, store.listing(), chance=chance)
        runner = Timed(store)
        runner.agree()
        runner.begin(clock, number)
        try:
            run(Executor(), runner, iter(schedule))
        finally:
            clock.end()

    drivers = [threading.Thread(target=drive, args=each) for each in enumerate(chances)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    assert len(set(Timed.simulated)) == UNITS and Store(WHAT, folder).listing().done.all()
    print(f"{len(Timed.simulated)} units simulated by {len(chances)} drivers, for {UNITS}")
    return len(Timed.simulated)


def test_three_drivers_at_once_simulate_few_units_twice(tmp_path, monkeypatch):
    """At most a tenth more than the units; the control: in one order all three begin the same units, each time."""
    monkeypatch.setattr(looks, "SHARE", np.inf)  # of the time: a look before each unit
    assert driven(tmp_path / "alone", None) == UNITS
    chances = [np.random.default_rng(seed) for seed in range(DRIVERS)]
    assert driven(tmp_path / "together", *chances) <= 1.1 * UNITS
    assert driven(tmp_path / "in one order", *[None] * DRIVERS) > 1.3 * UNITS


def in_turns(folder, seed, noted) -> int:
    """How many units three drivers begin whose units take .7 to 1.3 of a simulated clock, of 80; with their notes."""
    chance = np.random.default_rng(seed)
    store = Store(FEW, folder)
    store.begin()
    drivers = [Driver("host", 1, None, str(number)) for number in range(DRIVERS)]
    schedules = [Schedule(FEW, store.listing(), chance=chance) for _ in drivers]
    parts = [
        Elsewhere(store, *pair)
        for pair in zip(schedules, drivers if noted else [None] * DRIVERS, strict=True)
    ]
    waiting = [iter(part.others(schedule)) for part, schedule in zip(parts, schedules, strict=True)]
    done, begun = set(), 0
    events = [(chance.random(), number, None) for number in range(DRIVERS)]
    while events:
        clock, number, ended = heapq.heappop(events)
        done.add(ended)
        first = (unit for unit, _ in waiting[number])
        last = (
            unit for _ in range(1) for bundle in parts[number].bundles() for unit in bundle.units
        )
        unit = next((unit for unit in itertools.chain(first, last) if unit not in done), None)
        if unit is not None:
            begun += 1
            in_work.write(store, drivers[number], [unit], 0)
            heapq.heappush(events, (clock + chance.uniform(0.7, 1.3), number, unit))
    assert len(done - {None}) == FEW.blocks * len(FEW.grid)
    return begun


def test_what_others_have_begun_is_left_to_the_end(tmp_path, monkeypatch):
    """80 units, three drivers, 12 orders: at most 1.1 times the units; the control: without notes it is more."""
    monkeypatch.setattr(
        elsewhere, "SHARE", 1e9
    )  # of the time: a look before each unit, whatever it takes
    monkeypatch.setattr(elsewhere, "LONGEST", 0.0)
    counts = {
        noted: [in_turns(tmp_path / f"{noted} {seed}", seed, noted) for seed in range(12)]
        for noted in (True, False)
    }
    print(f"of 80 units three drivers begin {counts[True]}, without notes {counts[False]}")
    assert max(counts[True]) <= 1.1 * 80 and np.mean(counts[True]) < 1.05 * 80 < np.mean(
        counts[False]
    )


def test_a_driver_alone_looks_seldom_for_others(tmp_path, monkeypatch):
    """The longer it is alone, the more seldom: of a minute, with a look whenever one is due, some six."""
    seen, clock = [], [0.0]
    monkeypatch.setattr(elsewhere.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(in_work, "begun_elsewhere", lambda *_: seen.append(clock[0]) or [])
    store = Store(FEW, tmp_path)
    store.begin()
    schedule = Schedule(FEW, store.listing())
    for _ in Elsewhere(store, schedule, Driver("host", 1, None, "0")).others([*schedule]):
        clock[0] += 1.0
    assert 4 <= len(seen) <= 7


def test_each_command_draws_an_order_of_its_own(tmp_path):
    commands = [stored(WHAT, tmp_path) for _ in range(2)]
    commands[0].store.begin()
    settings = read_settings(mapping())
    orders = [
        [unit for unit, _ in scheduled(command, settings, Synchronous())] for command in commands
    ]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_looking_for_units_of_others_takes_little_of_the_time(tmp_path, monkeypatch):
    """Where a look takes as long as a unit, one is looked for after some fifty that were simulated."""
    seen, clock = [], [0.0]
    timer = types.SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr(looks, "time", timer)
    monkeypatch.setattr(runner_module, "time", timer)
    simulate = Runner._simulate

    def look(_, *unit):
        seen.append(unit)
        clock[0] += 0.002
        return False

    def lasting(self, *rest):
        clock[0] += 0.002
        return simulate(self, *rest)

    monkeypatch.setattr(Store, "has_numbers", look)
    monkeypatch.setattr(Runner, "_simulate", lasting)
    store = Store(WHAT, tmp_path)
    store.begin()
    runner = Runner(store)
    runner.agree()
    run(Executor(), runner, iter(Schedule(WHAT, store.listing())))
    print(f"{len(seen)} looks, {runner.looks.looking:.3f} s of {runner.looks.simulating:.3f} s")
    assert UNITS / 60 <= len(seen) <= UNITS / 40


@pytest.mark.parametrize("shard", [(0, 1), (1, 3)])
def test_an_order_that_is_drawn_has_the_same_units_and_keeps_together_what_shares_data(shard):
    one = study()
    nothing = Listing(*np.zeros((2, len(one.grid), one.blocks), bool))
    in_order = Schedule(one, nothing, shard)
    drawn = [Schedule(one, nothing, shard, chance=np.random.default_rng(seed)) for seed in range(3)]
    units = [[unit for unit, _ in schedule] for schedule in drawn]
    assert len({tuple(some) for some in units}) == 3
    for schedule, some in zip(drawn, units, strict=True):
        assert sorted(some) == sorted(unit for unit, _ in in_order)
        groups = np.cumsum([True, *(not schedule.shares(unit) for unit in some[:-1])])
        assert len(set(groups.tolist())) == len(some) / 2, (
            "both estimators of a release stand next to each other"
        )


def test_the_more_costly_cells_come_sooner():
    """So that no long unit is begun last: in 200 orders, of 24 cells of six costs."""
    grid = {
        "m": [3, 10, 40],
        "L": [50, 400],
        "epsilon": [0.5, 1.0],
        "estimator": ["debiased", "plug_in"],
    }
    one = study(grid=grid, block=10, replications=10)
    nothing = Listing(*np.zeros((2, len(one.grid), one.blocks), bool))
    most = np.argsort(one.costs)[-4:]
    places, orders = [], set()
    for seed in range(200):
        schedule = Schedule(one, nothing, chance=np.random.default_rng(seed))
        order = schedule._cells.tolist()
        places.append(np.mean([order.index(cell) for cell in most]))
        orders.add(tuple(schedule._group[order].tolist()))
    print(f"the four most costly of {len(one.grid)} cells come at {np.mean(places):.2f} on average")
    assert np.mean(places) < 0.6 * (len(one.grid) - 1) / 2
    assert len(orders) > 190, "drivers of a study of one block do not begin alike either"
