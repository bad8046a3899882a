"""Units that were in work when whole jobs were killed.

They are done again last, one by one, and given up after some jobs.

What ends a worker is seen by its driver (`sweep`). What ends driver and workers together leaves
notes (`storage.in_work`), which the next driver reads.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from pipeline.execution.bundles import KILLS, Bundle
from pipeline.execution.schedule import Schedule, Unit
from pipeline.execution.sessions import RUNNING, sessions
from pipeline.execution.systems.registry import job
from pipeline.storage import in_work
from pipeline.storage.in_work import Driver
from pipeline.storage.replications import Store
from pipeline.study import signals

SHARE = 0.01  # of the time in which units are simulated: what notes may take
FIRST = 0.1  # seconds that they may take besides
NOBODY = "0" * 16  # the writer of a unit whose worker could not store that it failed


class Notes:
    """Notes of one worker thread or process. driver: None where nothing is noted."""

    def __init__(self, store: Store, driver: Driver | None):
        self.store = store
        self.driver = driver
        self.noting = 0.0  # seconds

    def begin(self, bundle: Bundle, simulating: float) -> None:
        """Note the units of a bundle, unless notes took too much of the time.

        simulating: seconds that units took so far.
        """
        if self.driver is None or self.noting > SHARE * simulating + FIRST:
            return
        start = time.perf_counter()
        in_work.write(self.store, self.driver, bundle.units, bundle.jobs)
        self.noting += time.perf_counter() - start


@contextlib.contextmanager
def noted(store: Store, driver: Driver | None) -> Iterator[Callable[[], None]]:
    """While this driver's workers may leave notes, which it removes in the end.

    Yields what removes them before that.

    Once the driver was told to stop, no unit is blamed for how it ends.
    """

    def forget() -> None:
        if driver is not None:
            in_work.forget_driver(store, driver)

    try:
        yield forget
    finally:
        forget()


def in_words(schedule: Schedule) -> str:
    """The line on the suspects of a schedule, for a person."""
    count = len(schedule.suspects)
    units = f"{count:,} units were"
    if count == 1:
        units = "1 unit was"
    return (
        f"{units} in work when a job was killed as a whole: done last, one by one; what ends "
        f"{KILLS} jobs is stored as failed"
    )


def find(store: Store, schedule: Schedule) -> None:
    """Tell a schedule which of its units were in work when jobs were killed, and how many jobs.

    What ended `KILLS` jobs is stored as failed and counts as done. Notes that name no unit that is
    still to be done are removed.
    """
    notes = _left_behind(store)
    if not notes:
        return
    cells = {int(name): cell for cell, name in enumerate(store.study.grid.digests())}
    units = {key: _units(note, cells, store.study.blocks) for key, note in notes.items()}
    ends: dict[Unit, int] = {}
    for key, note in notes.items():
        for unit in units[key]:
            if schedule.mine[unit] and not schedule.listing.done[unit]:
                ends[unit] = max(ends.get(unit, 0), note.ends + 1)
    schedule.suspects = {unit: count for unit, count in ends.items() if count < KILLS}
    for unit in ends.keys() - schedule.suspects.keys():
        _give_up(store, schedule, unit, ends[unit])
    done = schedule.listing.done
    needless = [key for key, of_note in units.items() if all(done[unit] for unit in of_note)]
    in_work.forget(store, needless)


def forget(store: Store) -> None:
    """Clear the schedule of suspects."""
    in_work.forget(store, _left_behind(store))


def bundles(schedule: Schedule) -> list[Bundle]:
    """The suspects of a schedule one by one, those that ended fewest jobs first.

    Without those that are not wanted any more.
    """
    needed = schedule.needed
    by_ends = sorted(schedule.suspects.items(), key=lambda item: item[1])
    return [
        Bundle([unit], float(schedule.costs[unit.cell]), ends, jobs=ends)
        for unit, ends in by_ends
        if needed is None or not needed.decided(unit.cell)
    ]


def _units(note: in_work.Note, cells: dict[int, int], blocks: int) -> list[Unit]:
    """Units of a note that the study has."""
    return [
        Unit(cells[name], block)
        for block, name in note.units
        if name in cells and 0 <= block < blocks
    ]


def _give_up(store: Store, schedule: Schedule, unit: Unit, ends: int) -> None:
    if not store.holds(*unit):
        store.fail(
            *unit,
            f"job killed: {ends} whole jobs ended while they made this unit, the last ones while "
            "they made nothing else, and in smaller slices; give jobs more memory, or limit that "
            "of their workers (cluster.memory), then retry_failed=true",
            NOBODY,
        )
        schedule.listing.failed[unit] = True
        schedule.given_up.append(unit)
    schedule.listing.done[unit] = True
    schedule.done[unit] = True
    if schedule.needed is not None:
        schedule.needed.learn([unit])


def _left_behind(store: Store) -> dict[str, in_work.Note]:
    """Notes, by their keys, of drivers that are not at work any more."""
    notes = in_work.read(store)
    if not notes:
        return {}
    me = Driver.here(job(os.environ))
    ended = _ended(store)
    return {key: note for key, note in notes.items() if not _is_at_work(note.driver, me, ended)}


def _ended(store: Store) -> set[tuple[str, int]]:
    """Host and number of every process that has ended, by the sessions of the study."""
    known = sessions(store.folder)
    processes = {(session.host, session.process) for session in known}
    running = [session for session in known if session.state == RUNNING]
    return processes - {(session.host, session.process) for session in running}


def _is_at_work(driver: Driver, me: Driver, ended: set[tuple[str, int]]) -> bool:
    """Whether a driver may be at work. me: this process. ended: see `_ended`."""
    if driver == me:
        return True
    if driver.job is not None and driver.job == me.job:  # before it was queued again
        return False
    if (driver.host, driver.process) == (me.host, me.process):  # an earlier process of that number
        return False
    if (driver.host, driver.process) in ended:
        return False
    return driver.host != me.host or signals.process_exists(driver.process)
