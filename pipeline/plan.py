"""What a run would do, before anything starts: units, time, memory, bytes."""

import dataclasses
import os
import resource
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.clusters import cores
from pipeline.parameters import InvalidInput
from pipeline.progress import duration
from pipeline.store import Store
from pipeline.study import Study
from pipeline.work import Agenda

CHUNK_OVERHEAD = 4  # bytes of checksum
PROBE_SECONDS = 3.0
KIB = 1024


def stored_bytes(study: Study) -> int:
    """Bytes of a whole study on disk: raw chunks, each at least one 4 KiB block, and the sealed copy."""
    values = study.block * 8 + CHUNK_OVERHEAD
    chunk = max(4 * KIB, -(-values // (4 * KIB)) * 4 * KIB)
    units = len(study.grid) * study.blocks
    return units * (len(study.metrics) * chunk + 4 * KIB) + sealed_bytes(study)


def sealed_bytes(study: Study) -> int:
    """Bytes of results.zarr, at most: it is made on the local disk, also on its way to a bucket."""
    return len(study.grid) * study.replications * 8 * len(study.metrics)


def check_room(studies: Sequence[tuple[Study, Store]]) -> None:
    """Raise InvalidInput unless the outputs can be written and have room for what is to come."""
    needed = 0
    for study, store in studies:
        place = _existing(store.folder.absolute())
        if not place.is_dir():
            raise InvalidInput("outputs", store.folder, f"{place} is a file, not a folder")
        if not os.access(place, os.W_OK | os.X_OK):
            raise InvalidInput("outputs", store.folder, f"no permission to write in {place}")
        share = 1 - store.done(study, store.rows(study)).mean() if store.exists() else 1
        store.place.check(write=True)
        needed += int((sealed_bytes(study) if store.url else stored_bytes(study)) * share)
        free = shutil.disk_usage(place).free
        if needed > free:
            raise InvalidInput("outputs", store.folder, f"needs {size(needed)}, but only {size(free)} are free there")


def check_lifetime(studies: Sequence[tuple[Study, Store]], cluster: Any) -> None:
    """Raise InvalidInput where a worker does not live for two of the dearest units, the first of which checks it."""
    for study, store in studies if cluster.lifetime else ():
        if store.exists() and store.done(study, store.rows(study)).all():
            continue
        if 2 * (seconds := _longest(study)) > cluster.lifetime:
            raise InvalidInput("cluster.walltime", cluster.walltime, f"a unit of {study.name} takes about "
                               f"{duration(seconds)}, and a worker makes a finished one again first, but it surely "
                               f"lives for {duration(cluster.lifetime)} only; give more, or a smaller block")


def text(study: Study, store: Store, cluster: Any) -> str:
    """The plan of one study, for a person; simulates a few units, without storing them, to predict time."""
    rows = store.rows(study) if store.exists() else np.full(len(study.grid), -1)
    done = store.done(study, rows) if store.exists() else np.zeros((len(study.grid), study.blocks), bool)
    agenda = Agenda(study, rows, done)
    pace = _pace(study, agenda.costs)
    workers = cluster.workers or cores()
    work = agenda.cost * pace
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB  # of the largest unit, among others
    crowded = memory * workers > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    axes = " × ".join(f"{axis}[{len(levels)}]" for axis, levels in study.grid.axes.items())
    return "\n".join([
        f"{study.name}: {store.place}",
        f"  cells         {len(study.grid):,} = {axes}",
        f"  units         {done.size:,} = cells × {study.blocks} blocks of {study.block:,} replications",
        f"  done          {int(done.sum()):,}; to do {agenda.pending:,}",
        f"  time          about {duration(work / workers)} on {workers} workers ({duration(work)} of work)",
        f"  memory        about {size(memory)} per worker"
        + (": more than this machine has; fewer workers, or a smaller block" if crowded else ""),
        f"  {'bucket' if store.url else 'disk  '}        about {size(stored_bytes(study))} when complete, raw and "
        "sealed",
    ])


def _pace(study: Study, costs: np.ndarray) -> float:
    """Seconds per unit of predicted cost, from one unit each of a large, a middle and a small cell.

    Of cells with equal predictions any may be taken: those at the grid's corners are the odd ones.
    """
    order = np.random.default_rng(0).permutation(len(costs))
    order = order[np.argsort(-costs[order], kind="stable")]
    start, seconds, cost = time.perf_counter(), 0.0, 0.0
    for cell in dict.fromkeys(int(order[int(q * (len(order) - 1))]) for q in (0, 0.5, 1)):
        labels = study.grid.labels(cell)
        if not seconds:
            study.components(labels)  # imports are not work
        before = time.perf_counter()
        with np.errstate(all="ignore"):
            study.simulate(labels, 0)
        seconds += time.perf_counter() - before
        cost += costs[cell]
        if time.perf_counter() - start > PROBE_SECONDS:
            break
    return seconds / cost


def _longest(study: Study) -> float:
    """Seconds of the dearest unit, from fewer replications of it where it takes long."""
    labels = max(study.grid, key=study.work)
    study.components(labels)
    count = 1
    while True:
        part = dataclasses.replace(study, block=count, replications=count)
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            part.simulate(labels, 0)
        seconds = time.perf_counter() - start
        if count == study.block or seconds > PROBE_SECONDS / 10:
            return seconds * study.block / count
        count = min(4 * count, study.block)


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def size(count: float) -> str:
    """Bytes in words."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
