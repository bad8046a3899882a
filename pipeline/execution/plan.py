"""What a run will take, before anything starts: time, memory, bytes, and whether there is room."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import Cluster
from pipeline.execution.probe import probe
from pipeline.execution.room import room_in
from pipeline.execution.schedule import Schedule
from pipeline.execution.trials import check_own_parts
from pipeline.storage.replications import Listing, Store
from pipeline.storage.results import is_sealed
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study

UNIT_OVERHEAD = 500  # bytes of a unit's description, about
KIB = 1024
FILE_BLOCK = 4 * KIB  # of a file system: a file takes a whole number of them


def stored_bytes(study: Study) -> int:
    """Bytes of a whole study on disk: a file per unit, in blocks of 4 KiB, and the sealed copy."""
    values = study.block * (8 * len(study.metrics) + 1) + UNIT_OVERHEAD
    units = len(study.grid) * study.blocks
    file_blocks = -(-values // FILE_BLOCK)
    return units * file_blocks * FILE_BLOCK + sealed_bytes(study)


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
            into_it = "all that is made goes"
            if store.url:
                into_it = "reports go"
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
    """What there is no room for, in bytes or in numbers of files; None if all fits.

    Room is what the file system has, and what quotas leave.
    """
    needed = 0
    files = 0
    for store in stores:
        study = store.study
        if is_sealed(store) or store.url:
            continue
        share_to_do = 1 - listing_of(store).done.mean()
        sealed = sealed_bytes(study)
        needed += int((stored_bytes(study) - sealed) * share_to_do) + sealed
        files += int(len(study.grid) * study.blocks * share_to_do)
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
    """Raise InvalidInput where the walltime is too short for two of the most costly units.

    A new worker makes a finished one again, then the first of its own.
    """
    lifetime = cluster.lifetime
    if lifetime is None:
        return
    for store in stores:
        study = store.study
        if listing_of(store).done.all():
            continue
        seconds = _longest(study)
        if seconds is not None and 2 * seconds > lifetime:
            raise InvalidInput(
                "cluster.walltime",
                cluster.walltime,
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
    schedule = Schedule(store.study, listing or listing_of(store))
    check_own_parts(store.study, schedule.trials)
    measured = probe(store.study, schedule.costs)
    seconds = None
    if measured.pace is not None:
        seconds = schedule.cost * measured.pace
    return Prediction(
        schedule.pending, seconds, measured.longest, measured.memory, measured.most_replications
    )


def listing_of(store: Store) -> Listing:
    """What is done of a study; nothing, where it is not begun."""
    if store.exists():
        return store.listing()
    study = store.study
    return Listing(*np.zeros((2, len(study.grid), study.blocks), bool))


def _longest(study: Study) -> float | None:
    """Seconds that the most costly unit takes.

    None where one replication is too long or too large to measure.
    """
    return probe(study, study.costs).longest


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path
