"""What a run would do, before anything starts: units, time, memory, bytes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import Cluster, default_workers
from pipeline.execution.probe import BYTES, SECONDS, probe
from pipeline.execution.room import room_in
from pipeline.execution.schedule import Schedule
from pipeline.execution.trials import check_own_parts
from pipeline.storage.layout import counted
from pipeline.storage.replications import Listing, Store
from pipeline.storage.results import is_sealed
from pipeline.study.machine import memory
from pipeline.study.parameters import InvalidInput
from pipeline.study.refinement import LEVELS
from pipeline.study.study import Study

UNIT_OVERHEAD = 500  # bytes of a unit's description, about
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
    for store in stores:
        if is_sealed(store):
            continue
        folder = _existing(store.folder.absolute())
        if not folder.is_dir():
            raise InvalidInput("outputs", store.folder, f"{folder} is a file, not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            into_it = "reports go" if store.url else "all that is made goes"
            raise InvalidInput(
                "outputs",
                store.folder,
                f"no permission to write in {folder}, where {into_it}; name "
                "another folder, such as outputs=/tmp/outputs",
            )
        store.backend.check(write=True)
    missing = shortage(stores)
    if missing is not None:
        raise missing


def shortage(stores: Sequence[Store]) -> InvalidInput | None:
    """What there is no room for, in bytes or in numbers of files, by the file system and by quotas;
    None if it fits.
    """
    needed = files = 0
    for store in stores:
        study = store.study
        if is_sealed(store) or store.url:
            continue
        share = 1 - store.listing().done.mean() if store.exists() else 1
        sealed = sealed_bytes(study)
        needed += int((stored_bytes(study) - sealed) * share) + sealed
        files += int(len(study.grid) * study.blocks * share)
        room = room_in(_existing(store.folder.absolute()))
        if needed > room.bytes:
            return InvalidInput(
                "outputs",
                store.folder,
                f"needs {format_bytes(needed)}, but only "
                f"{format_bytes(room.bytes)} are free there, or left of a quota",
            )
        if room.files is not None and files > room.files:
            return InvalidInput(
                "outputs",
                store.folder,
                f"needs {files:,} files, one for each unit, but only {room.files:,} more can be "
                "made there, or are left of a quota; a larger block makes fewer units",
            )
    return None


def check_lifetime(stores: Sequence[Store], cluster: Cluster) -> None:
    """Raise InvalidInput where the walltime is too short for two of the most costly units: a new
    worker makes a

    finished one again, then its first own."""
    if (lifetime := cluster.lifetime) is None:
        return
    for store in stores:
        study = store.study
        if store.exists() and store.listing().done.all():
            continue
        if (seconds := _longest(study)) is not None and 2 * seconds > lifetime:
            raise InvalidInput(
                "cluster.walltime",
                getattr(cluster, "walltime", None),
                f"a unit of {study.name} takes about {format_time(seconds)}, and a new worker "
                "first simulates a finished one again, but a worker is sure to live for only "
                f"{format_time(lifetime)}; give more, or a smaller block",
            )


class Prediction(NamedTuple):
    """What is left to do of a study.

    Seconds, longest and memory are None where they could not be measured.

    pending: units. seconds: of work, on one worker. longest: seconds of the most costly unit.
    memory: bytes of a worker. most_replications: from which on a trial had no memory; None where it
    always had.
    """

    pending: int
    seconds: float | None
    longest: float | None
    memory: float | None
    most_replications: int | None = None


def predict(store: Store, listing: Listing | None = None) -> Prediction:
    """Predict what is left to do, from at most a second of simulation; nothing is stored.

    Raises WrongPart where a part of one's own is not deterministic, or gives what its protocol does
    not allow.
    """
    schedule = Schedule(store.study, listing or _listing(store))
    check_own_parts(store.study, schedule.trials)
    measured = probe(store.study, schedule.costs)
    seconds = None if measured.pace is None else schedule.cost * measured.pace
    return Prediction(
        schedule.pending, seconds, measured.longest, measured.memory, measured.most_replications
    )


def text(store: Store, cluster: Cluster) -> str:
    """The plan of one study, for a person."""
    study = store.study
    listing = _listing(store)
    wanted = counted(store.study)
    expected = predict(store, listing)
    workers = cluster.workers or default_workers()
    asked = [
        f"  precision     {target}; {study.replications:,} replications at most"
        for target in study.precision
    ]
    curves = (
        f", and {LEVELS} curves over {study.refine.second}"
        if study.refine and study.refine.second
        else ""
    )
    refined = (
        [
            f"  refine        {study.refine}; up to {study.refine.most} rounds add {LEVELS} "
            f"levels to a curve each{curves}, of which these numbers know none before it is "
            "reached"
        ]
        if study.refine
        else []
    )
    looks = (
        [f"{look.replications:,}" for look in study.until.looks(study.block)] if study.until else []
    )
    early = "; a smaller block looks earlier" * bool(
        study.until and study.block > study.until.least
    )
    refined += (
        [
            f"  until         {study.until}; looks after {', '.join(looks)}: these numbers are of "
            f"the one that is reached{early}"
        ]
        if looks
        else []
    )
    axes = " × ".join(f"{axis}[{len(levels)}]" for axis, levels in study.grid.axes.items())
    return "\n".join(
        [
            f"{study.name}: {store.backend}",
            f"  cells         {len(study.grid):,} = {axes}",
            f"  units         {wanted.sum():,} = cells × "
            f"{'up to ' * (not wanted.all())}{study.blocks} blocks of {study.block:,} replications",
            f"  done          {int((listing.done & wanted).sum()):,}; to do "
            f"{'at most ' * bool(asked)}{expected.pending:,}",
            *asked,
            *refined,
            *_effort(expected, workers, "at most" if asked else "about"),
            f"  {store.backend.kind:14}about "
            f"{format_bytes(stored_bytes(study))} when complete, raw and sealed; {wanted.sum():,} "
            "files until then, one for each unit",
        ]
    )


def _effort(expected: Prediction, workers: int, about: str) -> list[str]:
    """The lines on time and memory."""
    if expected.seconds is None:
        return [
            f"  time, memory  unknown: one replication takes more than {SECONDS:g} s or "
            f"{format_bytes(BYTES)}; task=replay simulates one unit"
        ]
    time = (
        f"  time          {about} {format_time(expected.seconds / workers)} on {workers} workers "
        f"({format_time(expected.seconds)} of work)"
    )
    if expected.memory is None:
        return [
            time,
            "  memory        unknown: one replication of some cell takes more than "
            f"{format_bytes(BYTES)}; task=replay simulates one unit",
        ]
    needed = expected.memory * workers
    advice = (
        ": more than there is here; fewer workers, or a smaller block" if needed > memory() else ""
    )
    guess = (
        ""
        if expected.most_replications is None
        else (
            f", extrapolated: {expected.most_replications:,} replications at once take more than "
            f"{format_bytes(BYTES)}"
        )
    )
    return [
        time,
        f"  memory        about {format_bytes(int(expected.memory))} per worker{guess}{advice}",
    ]


def _listing(store: Store) -> Listing:
    """What is done; nothing, where the study is not begun."""
    study = store.study
    return (
        store.listing()
        if store.exists()
        else Listing(*np.zeros((2, len(study.grid), study.blocks), bool))
    )


def _longest(study: Study) -> float | None:
    """Seconds that the most costly unit takes.

    None where one replication is too long or too large to measure.
    """
    return probe(study, study.costs).longest


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
