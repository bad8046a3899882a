"""How long a study's units take and how much memory, measured on a few replications.

That is done in a process of its own. Seconds are of the processor, so that other programs on the
machine do not count.
"""

import contextlib
import copy
import os
import resource
import time
import tracemalloc
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.study import forks, proc, signals
from pipeline.study.arrays import Floats
from pipeline.study.grid import Level
from pipeline.study.parameters import InvalidInput
from pipeline.study.slices import slices
from pipeline.study.study import Study

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SECONDS = 1.0  # of the processor for all that is simulated
BYTES = 200 * 2**20  # of memory that it may take
PATIENCE = 10  # times SECONDS that this may take by the clock, on a machine with much to do
WORKER = 150 * 2**20  # bytes of a worker process with nothing to do
STEP = SECONDS / 20  # a cell is tried with more replications until they take so long


class TimedTrial(NamedTuple):
    """So many replications of a cell: seconds of the processor, and most bytes at once."""

    cell: int
    replications: int
    seconds: float
    memory: int


class TooLarge(NamedTuple):
    """So many replications of a cell take more than BYTES."""

    cell: int
    replications: int = 1


class Probe(NamedTuple):
    """What was measured; None where not even one replication was within the limits.

    pace: seconds per predicted cost. longest: seconds of the most costly unit. memory: bytes of a
    worker, None as well where one replication of some cell takes more than BYTES.
    most_replications: that took more than BYTES together; None where no trial did.
    """

    pace: float | None
    longest: float | None
    memory: float | None
    most_replications: int | None = None


def probe(study: Study, costs: Floats) -> Probe:
    """Measure a cell of small, of middle and of large cost, for a second and in 200 MB at most.

    costs: (cells,), predicted. Among cells of equal cost one is drawn at random: those at the
    corners of a grid are often unusual. Units are extrapolated from fewer replications, cells
    that were not tried by their predicted cost.
    """
    cells = _cells_to_try(costs)
    _load(study, cells)
    trials: dict[int, list[TimedTrial]] = {}
    too_large: list[int] = []  # numbers of replications
    for outcome in _trials(study, cells):
        if isinstance(outcome, TimedTrial):
            trials.setdefault(outcome.cell, []).append(outcome)
        else:
            too_large.append(outcome.replications)
    if not trials:
        return Probe(None, None, None)
    seconds = {cell: _seconds(of_cell, study.block) for cell, of_cell in trials.items()}
    pace = sum(seconds.values()) / sum(costs[cell] for cell in seconds)
    most = max(trials, key=lambda cell: costs[cell])
    beyond = costs.max() / costs[most]  # 1 where the most costly cell was reached
    longest = seconds[most]
    if beyond > 1:
        longest = max(longest, pace * costs.max())
    if 1 in too_large:
        return Probe(pace, longest, None)
    size = study.block
    cuts = slices(study.block, study.components(study.grid.labels(most)))
    if cuts:
        size = cuts[0].stop
    memory = WORKER + _memory(trials[most], size) * beyond
    return Probe(pace, longest, memory, min(too_large, default=None))


def _load(study: Study, cells: list[int]) -> None:
    """Import what the parts need, which is not timed; a copy of a process has it already."""
    for cell in cells:
        study.components(study.grid.labels(cell))


def _cells_to_try(costs: Floats) -> list[int]:
    """A cell of small, of middle and of large cost."""
    order = np.random.default_rng(0).permutation(len(costs))
    order = order[np.argsort(costs[order], kind="stable")]
    last = len(order) - 1
    return list(dict.fromkeys(int(order[int(share * last)]) for share in (0, 0.5, 1)))


def _seconds(trials: list[TimedTrial], replications: int) -> float:
    """Seconds of so many replications, by trials of a cell."""
    return _extrapolated([(trial.replications, trial.seconds) for trial in trials], replications)


def _memory(trials: list[TimedTrial], replications: int) -> float:
    """Most bytes at once of so many replications, by trials of a cell.

    Rather too many: what kernels take for a few replications at a time still grows there.
    """
    points = [(trial.replications, float(trial.memory)) for trial in trials]
    return _extrapolated(points, replications)


def _extrapolated(points: list[tuple[int, float]], count: int) -> float:
    """The value at a count, on a line through the last two points (count, value) that never falls.

    On a line through the origin if there is one point only.
    """
    last_count, last = points[-1]
    if len(points) == 1:
        return last * count / last_count
    count_before, before = points[-2]
    slope = (last - before) / (last_count - count_before)
    return last + max(0.0, slope) * (count - last_count)


def _trials(study: Study, cells: list[int]) -> Iterator[TimedTrial | TooLarge]:
    """Trials of cells, as they end; the process that makes them ends after SECONDS of its own.

    It is killed after PATIENCE times as many by the clock.
    """
    context = forks.context()  # a copy has read the study's files already
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(study, cells, sender))
    with warnings.catch_warnings():
        # Of threads: the child uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    sender.close()
    end = time.monotonic() + PATIENCE * SECONDS
    try:
        with contextlib.suppress(EOFError):
            while receiver.poll(max(0.0, end - time.monotonic())):
                yield receiver.recv()
    finally:
        child.kill()
        child.join()
        receiver.close()


def _measure(study: Study, cells: list[int], sender: "Connection") -> None:
    """In the child: try each cell with more and more replications."""
    _load(study, cells)
    signals.end_after(max(SECONDS, 1e-6))
    _limit_memory()
    tracemalloc.start()
    # A file may be gone: the caller reads it, too, and says so.
    with contextlib.suppress(OSError, InvalidInput):
        for cell in cells:
            _measure_cell(study, cell, sender)
    sender.close()


def _measure_cell(study: Study, cell: int, sender: "Connection") -> None:
    """Send trials of a cell, until one takes STEP or the memory.

    `TooLarge` if not even one replication has room.
    """
    labels = study.grid.labels(cell)
    count = 1
    try:
        attempt(_part(study, 1), labels)  # what is read and cached once
    except MemoryError:
        sender.send(TooLarge(cell))
        return
    try:
        while True:
            part = _part(study, count)
            tracemalloc.reset_peak()
            start = time.process_time()
            before = tracemalloc.get_traced_memory()[0]
            attempt(part, labels)
            seconds = time.process_time() - start
            sender.send(
                TimedTrial(cell, count, seconds, tracemalloc.get_traced_memory()[1] - before)
            )
            if count == study.block or seconds > STEP:
                return
            count = min(4 * count, study.block)
    except MemoryError:  # of so many replications; fewer are known
        sender.send(TooLarge(cell, count))


def _part(study: Study, count: int) -> Study:
    """The study with blocks of so many replications.

    What is checked of its cells takes longer than a unit.
    """
    part = copy.copy(study)
    for name in ("block", "replications"):
        object.__setattr__(part, name, count)
    return part


def _limit_memory() -> None:
    """Let this process take BYTES more than it has."""
    with contextlib.suppress(OSError, ValueError):  # no Linux, or a lower limit already
        pages = int(proc.PAGES.read_text().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def attempt(study: Study, labels: Mapping[str, Level]) -> None:
    """Simulate a unit and ignore what it raises, which a run stores as a failure."""
    try:
        with np.errstate(all="ignore"):
            study.simulate(labels, 0)
    except (MemoryError, OSError):
        raise
    except Exception:
        pass
