"""Which units were in work when a whole job was killed: notes beside the units, no part of them.

    replications/in_work/DRIVER.PROCESS-THREAD    what a worker of a driver has begun

A worker notes the units of a bundle before it begins, over its last note, so that a
bundle takes one more small file and no unit does. A driver removes the notes of its
workers when it ends, and when it is told to stop, as what happens then is no unit's
fault. So notes are left by drivers that were killed with all of their workers, as by a
batch system whose job takes too much memory.
"""

import json
import os
import socket
import threading
import uuid
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.storage.replications import RAW, Store
from pipeline.study.files import PARTIAL

FOLDER = f"{RAW}/in_work"
_ME = uuid.uuid4().hex[:12]  # names this process, as numbers of processes come again


@dataclass(frozen=True)
class Driver:
    """The process that hands out units.

    job: what its batch system calls its job, if it runs in one.
    token: tells it from others of that number.
    """

    host: str
    process: int
    job: str | None
    token: str

    @classmethod
    def here(cls, job: str | None) -> "Driver":
        """This process."""
        return cls(socket.gethostname(), os.getpid(), job, _ME)

    @property
    def name(self) -> str:
        """Its name in those of its workers' notes."""
        host = "".join(character if character.isalnum() else "_" for character in self.host)
        return f"{host}-{self.process}-{self.token}"


@dataclass(frozen=True)
class Note:
    """What a worker had begun.

    ends: how many jobs before had ended with these units.
    units: (block, cell's digest).
    """

    driver: Driver
    ends: int
    units: Sequence[tuple[int, int]]


def write(store: Store, driver: Driver, units: Sequence[tuple[int, int]], ends: int) -> None:
    """Note that this thread begins units, each (cell, block). Raises OSError."""
    begun = [[block, store.key(cell, block).rpartition("/")[2]] for cell, block in units]
    content = {**asdict(driver), "ends": ends, "units": begun}
    worker = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
    store.backend.put(f"{FOLDER}/{driver.name}.{worker}", json.dumps(content).encode())


def read(store: Store) -> dict[str, Note]:
    """All notes, by their keys; those that are not what this program wrote are left out."""
    notes = {}
    for key in store.backend.keys(FOLDER):
        if key.endswith(("/", PARTIAL)):
            continue
        note = _read(store.backend.read(f"{FOLDER}/{key}"))
        if note is not None:
            notes[key] = note
    return notes


def begun_elsewhere(store: Store, driver: Driver) -> list[tuple[int, int]]:
    """(block, cell's digest) of units that other drivers' workers began, and may have ended."""
    begun: list[tuple[int, int]] = []
    for key in store.backend.keys(FOLDER):
        if key.startswith(f"{driver.name}.") or key.endswith(("/", PARTIAL)):
            continue
        note = _read(store.backend.read(f"{FOLDER}/{key}"))
        if note is not None:
            begun.extend(note.units)
    return begun


def forget(store: Store, keys: Collection[str]) -> None:
    """Remove some notes."""
    if keys:
        store.backend.delete(*(f"{FOLDER}/{key}" for key in keys))


def forget_driver(store: Store, driver: Driver) -> None:
    """Remove the notes of a driver's workers."""
    start = f"{driver.name}."
    notes = [key for key in store.backend.keys(FOLDER) if key.startswith(start)]
    forget(store, notes)


def _read(content: bytes | None) -> Note | None:
    try:
        fields: dict[str, Any] = json.loads(content or b"")
        units = [(int(block), int(cell, 16)) for block, cell in fields["units"]]
        job = fields["job"] if fields["job"] is None else str(fields["job"])
        driver = Driver(str(fields["host"]), int(fields["process"]), job, str(fields["token"]))
        return Note(driver, int(fields["ends"]), units)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
