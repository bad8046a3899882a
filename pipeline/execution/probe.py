"""How long a study's units take and how much memory, measured on a few replications in a process of their own."""

import contextlib
import copy
import multiprocessing
import os
import resource
import time
import tracemalloc
import warnings
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.grid import Level
from pipeline.study.parameters import InvalidInput
from pipeline.study.slices import slices
from pipeline.study.study import Study

SECONDS, BYTES = 1.0, 200 * 2**20  # of all that is simulated, and of the memory that it takes
WORKER = 150 * 2**20  # bytes of a worker process with nothing to do
STEP = SECONDS / 20  # a cell is tried with more replications until they take so long


class Trial(NamedTuple):
    """So many replications of a cell: seconds, and most bytes at once."""

    cell: int
    replications: int
    seconds: float
    memory: int


class Probe(NamedTuple):
    """What was measured; None where not even one replication was within the limits.

    pace: seconds per predicted cost. longest: seconds of the most costly unit. memory: bytes of a worker.
    """

    pace: float | None
    longest: float | None
    memory: float | None


def probe(study: Study, costs: Floats) -> Probe:
    """Measure a cell of small, of middle and of large cost, for a second and in 200 MB at most.

    costs: (cells,), predicted. Among cells of equal cost one is drawn at random: those at the corners of a grid are
    often unusual. Units are extrapolated from fewer replications, cells that were not reached by their predicted cost.
    """
    order = np.random.default_rng(0).permutation(len(costs))
    order = order[np.argsort(costs[order], kind="stable")]
    cells = dict.fromkeys(int(order[int(q * (len(order) - 1))]) for q in (0, 0.5, 1))
    trials: dict[int, list[Trial]] = {}
    for cell in cells:
        study.components(study.grid.labels(cell))  # imports, which are not timed
    for trial in _trials(study, list(cells)):
        trials.setdefault(trial.cell, []).append(trial)
    if not trials:
        return Probe(None, None, None)
    seconds = {cell: _extrapolated(own, "seconds", study.block) for cell, own in trials.items()}
    pace = sum(seconds.values()) / sum(costs[cell] for cell in seconds)
    most = max(trials, key=lambda cell: costs[cell])
    beyond = costs.max() / costs[most]  # 1 where the most costly cell was reached
    cuts = slices(study.block, study.components(study.grid.labels(most)))
    return Probe(pace, max(seconds[most], pace * costs.max() * (beyond > 1)),
                 WORKER + _extrapolated(trials[most], "memory", cuts[0].stop if cuts else study.block) * beyond)


def _extrapolated(trials: list[Trial], what: str, block: int) -> float:
    """Seconds, or most bytes at once, of a block, on a line through the last two trials.

    Of bytes rather too many: what kernels take for a few replications at a time still grows there.
    """
    count, last = trials[-1].replications, float(getattr(trials[-1], what))
    if len(trials) == 1:
        return last * block / count
    slope: float = (last - getattr(trials[-2], what)) / (count - trials[-2].replications)
    return last + max(0.0, slope) * (block - count)


def _trials(study: Study, cells: list[int]) -> Iterator[Trial]:
    """Trials of cells, as they end; the process that makes them is killed after SECONDS."""
    context = multiprocessing.get_context("fork")  # which has read the study's files already
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(study, cells, sender))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child uses none of their locks
        child.start()
    sender.close()
    end = time.monotonic() + SECONDS
    try:
        with contextlib.suppress(EOFError):
            while receiver.poll(max(0.0, end - time.monotonic())):
                yield receiver.recv()
    finally:
        child.kill()
        child.join()
        receiver.close()


def _measure(study: Study, cells: list[int], sender: Connection) -> None:
    """In the child: try each cell with more and more replications."""
    _limit_memory()
    tracemalloc.start()
    with contextlib.suppress(MemoryError, OSError, InvalidInput):  # a file that is gone: the caller reads it, too
        for cell in cells:
            labels = study.grid.labels(cell)
            count = 1
            attempt(_part(study, 1), labels)  # what is read and cached once
            while True:
                part = _part(study, count)
                tracemalloc.reset_peak()
                start, before = time.perf_counter(), tracemalloc.get_traced_memory()[0]
                attempt(part, labels)
                seconds = time.perf_counter() - start
                sender.send(Trial(cell, count, seconds, tracemalloc.get_traced_memory()[1] - before))
                if count == study.block or seconds > STEP:
                    break
                count = min(4 * count, study.block)
    sender.close()


def _part(study: Study, count: int) -> Study:
    """The study with blocks of so many replications; what is checked of its cells takes longer than a unit."""
    part = copy.copy(study)
    for name in ("block", "replications"):
        object.__setattr__(part, name, count)
    return part


def _limit_memory() -> None:
    """Let this process take BYTES more than it has."""
    with contextlib.suppress(OSError, ValueError):  # no Linux, or a lower limit already
        pages = int(Path("/proc/self/statm").read_text().split()[0])
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
