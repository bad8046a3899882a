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
        share_to_do = 1 - _listing(store).done.mean()
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
        if _listing(store).done.all():
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
    schedule = Schedule(store.study, listing or _listing(store))
    check_own_parts(store.study, schedule.trials)
    measured = probe(store.study, schedule.costs)
    seconds = None
    if measured.pace is not None:
        seconds = schedule.cost * measured.pace
    return Prediction(
        schedule.pending, seconds, measured.longest, measured.memory, measured.most_replications
    )


def text(store: Store, cluster: Cluster) -> str:
    """The plan of one study, for a person."""
    study = store.study
    listing = _listing(store)
    expected = predict(store, listing)
    workers = cluster.workers or default_workers()
    lines = [
        f"{study.name}: {store.backend}",
        *_units(study, listing, expected),
        *_precision(study),
        *_refinement(study),
        *_looks(study),
        *_effort(expected, workers, study),
        _room(store),
    ]
    return "\n".join(lines)


def _units(study: Study, listing: Listing, expected: Prediction) -> list[str]:
    """The lines on cells and units."""
    wanted = counted(study)
    axes = " × ".join(f"{axis}[{len(levels)}]" for axis, levels in study.grid.axes.items())
    blocks = f"{study.blocks} blocks of {study.block:,} replications"
    if not wanted.all():
        blocks = f"up to {blocks}"
    pending = f"{expected.pending:,}"
    if study.precision:
        pending = f"at most {pending}"
    return [
        f"  cells         {len(study.grid):,} = {axes}",
        f"  units         {wanted.sum():,} = cells × {blocks}",
        f"  done          {int((listing.done & wanted).sum()):,}; to do {pending}",
    ]


def _precision(study: Study) -> list[str]:
    """A line for each target of precision."""
    return [
        f"  precision     {target}; {study.replications:,} replications at most"
        for target in study.precision
    ]


def _refinement(study: Study) -> list[str]:
    """The line on levels that are added; none for a study that adds none."""
    refine = study.refine
    if not refine:
        return []
    curves = ""
    if refine.second:
        curves = f", and {LEVELS} curves over {refine.second}"
    return [
        f"  refine        {refine}; up to {refine.most} rounds add {LEVELS} levels to a curve "
        f"each{curves}, of which these numbers know none before it is reached"
    ]


def _looks(study: Study) -> list[str]:
    """The line on looks at claims; none for a study of a fixed number of replications."""
    until = study.until
    if not until:
        return []
    looks = ", ".join(f"{look.replications:,}" for look in until.looks(study.block))
    if not looks:
        return []
    earlier = ""
    if study.block > until.least:
        earlier = "; a smaller block looks earlier"
    return [
        f"  until         {until}; looks after {looks}: these numbers are of the one that is "
        f"reached{earlier}"
    ]


def _room(store: Store) -> str:
    """The line on bytes and files."""
    study = store.study
    size = format_bytes(stored_bytes(study))
    return (
        f"  {store.backend.kind:14}about {size} when complete, raw and sealed; "
        f"{counted(study).sum():,} files until then, one for each unit"
    )


def _effort(expected: Prediction, workers: int, study: Study) -> list[str]:
    """The lines on time and memory."""
    if expected.seconds is None:
        return [
            f"  time, memory  unknown: one replication takes more than {SECONDS:g} s or "
            f"{format_bytes(BYTES)}; task=replay simulates one unit"
        ]
    about = "about"
    if study.precision:
        about = "at most"
    time = (
        f"  time          {about} {format_time(expected.seconds / workers)} on {workers} workers "
        f"({format_time(expected.seconds)} of work)"
    )
    return [time, _memory(expected, workers)]


def _memory(expected: Prediction, workers: int) -> str:
    """The line on memory, where that on time is known."""
    if expected.memory is None:
        return (
            "  memory        unknown: one replication of some cell takes more than "
            f"{format_bytes(BYTES)}; task=replay simulates one unit"
        )
    line = f"  memory        about {format_bytes(int(expected.memory))} per worker"
    if expected.most_replications is not None:
        line += (
            f", extrapolated: {expected.most_replications:,} replications at once take more than "
            f"{format_bytes(BYTES)}"
        )
    if expected.memory * workers > memory():
        line += ": more than there is here; fewer workers, or a smaller block"
    return line


def _listing(store: Store) -> Listing:
    """What is done; nothing, where the study is not begun."""
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
