"""What every unit took, in files beside the units, which are compared with nothing.

    efforts/SESSION-K         seconds and peak memory of up to 4,096 units that one session did
    efforts/reference-UNIT-0  the same of a unit that a process made before its session, to be
    compared

A file is entries, see ENTRY, and the CRC-32C of these. A session writes its last file
again as it goes on. Whatever becomes of the files of units, as when they are packed,
these stay. A unit that was done twice has two entries.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from pipeline.storage.replications import Store
from pipeline.storage.units import CHECKSUM_BYTES, Damaged, checksum
from pipeline.study.arrays import Array
from pipeline.study.files import PARTIAL

FOLDER = "efforts"
ENTRY = np.dtype([("block", "<u4"), ("cell", "<u8"), ("seconds", "<f4"), ("memory", "<u8")])
MOST = 4096  # entries of one file
EVERY = 5.0  # seconds between two writes


class UnitEffort(NamedTuple):
    """What a unit took: seconds, and the most bytes of memory of the process that made it."""

    seconds: float
    memory: int


class Efforts:
    """The entries of one session, written from time to time by the thread that adds one.

    `flush` writes all that is left.
    """

    def __init__(self, store: Store, session: str):
        self.store = store
        self.session = session
        self._names: Array = store.study.grid.digests()
        self._entries: list[tuple[int, int, float, int]] = []  # of the last file
        self._file = 0
        self._new = False
        self._written = time.monotonic()
        self._lock = threading.Lock()

    def add(self, units: Iterable[tuple[int, int]], efforts: Iterable[UnitEffort | None]) -> None:
        """Note what some units took.

        units: (cell, block).
        efforts: one for each unit, None for a unit that another driver made.
        """
        with self._lock:
            for (cell, block), effort in zip(units, efforts, strict=True):
                if effort is None:
                    continue
                name = int(self._names[cell])
                self._entries.append((block, name, effort.seconds, effort.memory))
                self._new = True
                if len(self._entries) >= MOST:
                    self._write()
                    self._file = self._file + 1
                    self._entries = []
            if time.monotonic() - self._written > EVERY:
                self._write()

    def flush(self) -> None:
        """Write what is not written yet. Raises OSError."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        if self._new:
            content = np.array(self._entries, ENTRY).tobytes()
            self.store.backend.put(
                f"{FOLDER}/{self.session}-{self._file}", content + checksum(content)
            )
            self._new = False
            self._written = time.monotonic()


def record(store: Store, name: str, unit: tuple[int, int], effort: UnitEffort) -> None:
    """Write the entry of one unit, (cell, block), that no session counts. name: of the unit.

    Raises OSError.
    """
    entry = Efforts(store, f"reference-{name}")
    entry.add([unit], [effort])
    entry.flush()


def read(store: Store) -> Array:
    """All entries, see ENTRY, of files that are whole."""
    parts = [np.zeros(0, ENTRY)]
    for key in _keys(store):
        with suppress(Damaged):
            parts.append(_entries(store, key))
    return np.concatenate(parts)


def damaged(store: Store) -> list[str]:
    """Keys of files that are not what this program wrote."""
    return [key for key in _keys(store) if not _is_whole(store, key)]


def _is_whole(store: Store, key: str) -> bool:
    try:
        _entries(store, key)
    except Damaged:
        return False
    return True


def _keys(store: Store) -> Iterator[str]:
    return (
        f"{FOLDER}/{key}" for key in sorted(store.backend.keys(FOLDER)) if not key.endswith(PARTIAL)
    )


def _entries(store: Store, key: str) -> Array:
    """The entries of a file; Damaged where it is not whole."""
    content = b""
    if not key.endswith("/"):  # an empty folder
        content = store.backend.read(key) or b""
    body = content[:-CHECKSUM_BYTES]
    if len(body) % ENTRY.itemsize or not body or checksum(body) != content[-CHECKSUM_BYTES:]:
        raise Damaged("is not what this program wrote")
    return np.frombuffer(body, ENTRY)
