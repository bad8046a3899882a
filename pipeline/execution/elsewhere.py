"""Units that other drivers of a study have in work are left until the end, when most of them are
done.

Each driver begins units in an order of its own, so that two drivers seldom begin the same unit;
this happens more often when few units are left. What workers have begun is noted beside the units
anyway (`suspects`).
"""

import time
from collections.abc import Iterable, Iterator

from pipeline.execution.bundles import Bundle
from pipeline.execution.schedule import Schedule, Unit
from pipeline.storage import in_work
from pipeline.storage.in_work import Driver
from pipeline.storage.replications import Store

SHARE = 0.01  # of the time of a sweep: what reading the notes of others may take
LONGEST = 60.0  # seconds between two looks for other drivers where there was none


class Elsewhere:
    """Leaves out what others have begun, as their notes say.

    `bundles` gives these units one by one at the end.
    """

    def __init__(self, store: Store, schedule: Schedule, driver: Driver | None):
        self.store = store
        self.schedule = schedule
        self.driver = driver
        self.left: list[Unit] = []
        self._begun: set[tuple[int, int]] = set()
        self._names = store.study.grid.digests()
        self._start = time.monotonic()
        self._reading = 0.0  # seconds
        self._next = self._start  # when to read again
        self._pause = min(1.0, LONGEST)  # seconds, while there are no others

    def others(self, units: Iterable[tuple[Unit, float]]) -> Iterator[tuple[Unit, float]]:
        """The units that no other driver has begun, as far as is known, with their costs."""
        for unit, cost in units:
            if self._is_begun(unit):
                self.left.append(unit)
            else:
                yield unit, cost

    def bundles(self) -> list[Bundle]:
        """The units that were left out, one in each bundle."""
        left = self.left
        self.left = []
        return [Bundle([unit], float(self.schedule.costs[unit.cell])) for unit in left]

    def _is_begun(self, unit: Unit) -> bool:
        if self.driver is None:
            return False
        now = time.monotonic()
        if now >= self._next:
            self._read(self.driver, now)
        return bool(self._begun) and (unit.block, int(self._names[unit.cell])) in self._begun

    def _read(self, driver: Driver, now: float) -> None:
        self._begun = set(in_work.begun_elsewhere(self.store, driver))
        seconds = time.monotonic() - now
        self._reading += seconds
        self._next = max(now, self._start + self._reading / SHARE)
        if not self._begun:
            self._next = max(self._next, now + self._pause)
            self._pause = min(2 * self._pause, LONGEST)
