"""What a run would do, before anything starts: units, time, memory, bytes."""

import dataclasses
import os
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from dask.utils import format_bytes, format_time

from pipeline.execution.clusters import Cluster, cores
from pipeline.execution.schedule import Schedule
from pipeline.storage.replications import Listing, Store
from pipeline.storage.results import is_sealed
from pipeline.study.grid import Grid, Level
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study

UNIT_OVERHEAD = 500  # bytes of a unit's description, about
PROBE_SECONDS = 3.0
KIB = 1024


def stored_bytes(study: Study) -> int:
    """Bytes of a whole study on disk: a file per unit, in blocks of 4 KiB, and the sealed copy."""
    values = study.block * (8 * len(study.metrics) + 1) + UNIT_OVERHEAD
    units = len(study.grid) * study.blocks
    return units * -(-values // (4 * KIB)) * 4 * KIB + sealed_bytes(study)


def sealed_bytes(study: Study) -> int:
    """Bytes of results.zarr, at most."""
    return len(study.grid) * study.replications * 8 * len(study.metrics)


def check_room(stores: Sequence[Store]) -> None:
    """Raise InvalidInput unless the outputs can be written and have room for what is to come."""
    needed = 0
    for store in stores:
        study = store.study
        if is_sealed(store):
            continue
        folder = _existing(store.folder.absolute())
        if not folder.is_dir():
            raise InvalidInput("outputs", store.folder, f"{folder} is a file, not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InvalidInput("outputs", store.folder, f"no permission to write in {folder}")
        share = 1 - store.listing().done.mean() if store.exists() else 1
        store.backend.check(write=True)
        sealed = sealed_bytes(study)
        needed += 0 if store.url else int((stored_bytes(study) - sealed) * share) + sealed
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise InvalidInput("outputs", store.folder, f"needs {format_bytes(needed)}, but only "
                               f"{format_bytes(free)} are free there")


def check_lifetime(stores: Sequence[Store], cluster: Cluster) -> None:
    """Raise InvalidInput where the walltime is too short for two of the most costly units: a new worker makes a
    finished one again, then its first own."""
    if (lifetime := cluster.lifetime) is None:
        return
    for store in stores:
        study = store.study
        if store.exists() and store.listing().done.all():
            continue
        if 2 * (seconds := _longest(study)) > lifetime:
            raise InvalidInput("cluster.walltime", getattr(cluster, "walltime", None),
                               f"a unit of {study.name} takes about {format_time(seconds)}, and a new worker first "
                               f"simulates a finished one again, but a worker is sure to live for only "
                               f"{format_time(lifetime)}; give more, or a smaller block")


def text(store: Store, cluster: Cluster) -> str:
    """The plan of one study, for a person; simulates a few units, without storing them, to predict time."""
    study = store.study
    listing = store.listing() if store.exists() else Listing(*np.zeros((2, len(study.grid), study.blocks), bool))
    schedule = Schedule(study, listing)
    workers = cluster.workers or cores()
    seconds = schedule.cost * _pace(study, schedule.costs)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB  # of the largest unit, among others
    crowded = memory * workers > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    asked = [f"  precision     {target}; {study.replications:,} replications at most" for target in study.precision]
    axes = " × ".join(f"{axis}[{len(levels)}]" for axis, levels in study.grid.axes.items())
    return "\n".join([
        f"{study.name}: {store.backend}",
        f"  cells         {len(study.grid):,} = {axes}",
        f"  units         {listing.done.size:,} = cells × {study.blocks} blocks of {study.block:,} replications",
        f"  done          {int(listing.done.sum()):,}; to do {'at most ' * bool(asked)}{schedule.pending:,}",
        *asked,
        f"  time          {'at most' if asked else 'about'} {format_time(seconds / workers)} on {workers} workers "
        f"({format_time(seconds)} of work)",
        f"  memory        about {format_bytes(memory)} per worker"
        + (": more than this machine has; fewer workers, or a smaller block" if crowded else ""),
        f"  {'bucket' if store.url else 'disk  '}        about {format_bytes(stored_bytes(study))} when complete, raw "
        "and sealed",
    ])


def _pace(study: Study, costs: np.ndarray) -> float:
    """Seconds per predicted cost, measured on one unit each of a large, a middle and a small cell.

    Among cells of equal predicted cost one is drawn at random: those at the corners of a grid are often unusual.
    """
    order = np.random.default_rng(0).permutation(len(costs))
    order = order[np.argsort(-costs[order], kind="stable")]
    start, seconds, cost = time.perf_counter(), 0.0, 0.0
    for cell in dict.fromkeys(int(order[int(q * (len(order) - 1))]) for q in (0, 0.5, 1)):
        labels = study.grid.labels(cell)
        if not seconds:
            study.components(labels)  # imports, which are not timed
        before = time.perf_counter()
        _try(study, labels)
        seconds += time.perf_counter() - before
        cost += costs[cell]
        if time.perf_counter() - start > PROBE_SECONDS:
            break
    return seconds / cost


def _try(study: Study, labels: Mapping[str, Level]) -> None:
    """Simulate a unit and ignore what it raises, which a run stores as a failure."""
    try:
        with np.errstate(all="ignore"):
            study.simulate(labels, 0)
    except (MemoryError, OSError):
        raise
    except Exception:
        pass


def _longest(study: Study) -> float:
    """Seconds that the most costly unit takes, extrapolated from fewer replications where that is long."""
    labels = max(study.grid, key=study.cost)
    study.components(labels)
    cell, count = Grid.of({axis: [level] for axis, level in labels.items()}), 1
    while True:
        part = dataclasses.replace(study, block=count, replications=count, grid=cell)
        start = time.perf_counter()
        _try(part, labels)
        seconds = time.perf_counter() - start
        if count == study.block or seconds > PROBE_SECONDS / 10:
            return seconds * study.block / count
        count = min(4 * count, study.block)


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
