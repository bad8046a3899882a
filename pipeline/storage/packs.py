"""Packs: many finished units in one file, so that a million units are not a million files.

    replications/packs/FIRST-LAST-COUNT-DIGEST

A pack holds the files of `COUNT` units one after the other, each as it was, then an
index, the CRC-32C of the index, and `END`. Units are in the order of their blocks and,
within a block, of the digests of their cells; FIRST and LAST are `BLOCK.CELL` of the
first and of the last unit. Units are packed once results are sealed. A pack is written
whole before the files that it holds are deleted, so at any time each unit is in a file
of its own, in a pack, or in both.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from pipeline.storage.backend import Backend
from pipeline.storage.units import CHECKSUM_BYTES, Damaged, checksum
from pipeline.study.arrays import Array
from pipeline.study.files import PARTIAL

FOLDER = "replications/packs"
ENTRY = np.dtype([("block", "<u8"), ("cell", "<u8"), ("start", "<u8"), ("length", "<u8")])
END = b"UNITPACK"
NAME = re.compile(
    r"(\d{1,15})\.([0-9a-f]{16})-(\d{1,15})\.([0-9a-f]{16})-(\d{1,9})-[0-9a-f]{16}", re.ASCII
)
TAIL = CHECKSUM_BYTES + len(END)  # bytes after the index
REMEMBERED = 1000  # indexes that a process caches, of some 32 kB each


class PackedUnit(NamedTuple):
    """A unit in a pack: its block, the digest of its cell, and its file's content."""

    block: int
    cell: int
    content: bytes


class Pack(NamedTuple):
    """A pack, by its key below `FOLDER`, of `size` units. first, last: (block, cell) both."""

    key: str
    first: tuple[int, int]
    last: tuple[int, int]
    size: int


class Packs:
    """All packs of a study."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self._listing: list[Pack] | None = None
        self._indexes: dict[str, Array] = {}

    def refresh(self) -> None:
        """Forget what was listed: others may have packed units since."""
        self._listing = None

    def listing(self) -> list[Pack]:
        """All packs, by their first units."""
        if self._listing is None:
            packs = map(_named, self.backend.keys(FOLDER))
            self._listing = sorted((pack for pack in packs if pack is not None), key=_first)
        return self._listing

    def strays(self) -> Iterator[str]:
        """Keys, below `FOLDER`, of files that are no packs."""
        for key in sorted(self.backend.keys(FOLDER)):
            if not key.endswith(PARTIAL) and _named(key) is None:
                yield key

    def indexes(self) -> Iterator[Array]:
        """The index of every pack, see ENTRY.

        A damaged one is left out: its units count as not run.
        """
        for pack in self.listing():
            with suppress(Damaged):
                yield self._read_index(pack)

    def read(self, block: int, cell: int) -> bytes | None:
        """Content of a unit's file; None if no pack has it. cell: the digest that names it."""
        for pack, entry in self._entries(block, cell):
            return self.backend.read(f"{FOLDER}/{pack.key}", *_span(entry))
        return None

    def find(self, block: int, cell: int) -> Pack | None:
        """The pack that has a unit."""
        return next((pack for pack, _ in self._entries(block, cell)), None)

    def delete(self, key: str) -> None:
        """Delete a pack."""
        self.backend.delete(f"{FOLDER}/{key}")
        self.refresh()

    def _entries(self, block: int, cell: int) -> Iterator[tuple[Pack, Array]]:
        """Places of a unit; usually one, in the last pack that begins before it."""
        packs = self.listing()
        begun = bisect_right(packs, (block, cell), key=_first)
        for pack in reversed(packs[:begun]):
            if (block, cell) <= pack.last:
                with suppress(Damaged):
                    index = self._index(pack)
                    is_unit = (index["block"] == block) & (index["cell"] == cell)
                    for entry in index[is_unit]:
                        yield pack, entry

    def write(self, units: Iterable[PackedUnit]) -> None:
        """Write one pack."""
        units = sorted(units)
        lengths = np.array([len(unit.content) for unit in units], np.uint64)
        index = np.zeros(len(units), ENTRY)
        index["block"] = [unit.block for unit in units]
        index["cell"] = [unit.cell for unit in units]
        index["start"] = np.cumsum(lengths) - lengths
        index["length"] = lengths
        tail = index.tobytes()
        contents = [unit.content for unit in units]
        content = b"".join([*contents, tail, checksum(tail), END])
        name = hashlib.blake2b(content, digest_size=8).hexdigest()
        key = f"{_place(units[0])}-{_place(units[-1])}-{len(units)}-{name}"
        self.backend.put(f"{FOLDER}/{key}", content)
        self.refresh()

    def units(self, key: str) -> Iterator[PackedUnit]:
        """All units of a pack. Raises Damaged where its index is."""
        pack = _named(key)
        if pack is None:
            raise Damaged("is not the file of a pack")
        content = self.backend.read(f"{FOLDER}/{key}") or b""
        index = _index_of(pack, content[-_tail_bytes(pack) :])
        size = int(index["length"].sum()) + _tail_bytes(pack)
        if len(content) != size:
            raise Damaged(f"has {len(content)} bytes, not {size}")
        for entry in index:
            unit = content[slice(*_span(entry))]
            yield PackedUnit(int(entry["block"]), int(entry["cell"]), unit)

    def _index(self, pack: Pack) -> Array:
        if pack.key not in self._indexes:
            if len(self._indexes) >= REMEMBERED:
                self._indexes.clear()
            self._indexes[pack.key] = self._read_index(pack)
        return self._indexes[pack.key]

    def _read_index(self, pack: Pack) -> Array:
        tail = self.backend.read(f"{FOLDER}/{pack.key}", -_tail_bytes(pack))
        return _index_of(pack, tail or b"")


def _tail_bytes(pack: Pack) -> int:
    return pack.size * ENTRY.itemsize + TAIL


def _index_of(pack: Pack, tail: bytes) -> Array:
    """The index from what follows the units of a pack."""
    index = tail[:-TAIL]
    if len(tail) != _tail_bytes(pack) or tail[-TAIL:] != checksum(index) + END:
        raise Damaged("its index is damaged")
    return np.frombuffer(index, ENTRY, pack.size)


def _place(unit: PackedUnit) -> str:
    """How the name of a pack says which unit is its first or last."""
    return f"{unit.block}.{unit.cell:016x}"


def _first(pack: Pack) -> tuple[int, int]:
    return pack.first


def _span(entry: Array) -> tuple[int, int]:
    return int(entry["start"]), int(entry["start"] + entry["length"])


def _named(key: str) -> Pack | None:
    parts = NAME.fullmatch(key)
    if not parts:
        return None
    first = int(parts[1]), int(parts[2], 16)
    last = int(parts[3]), int(parts[4], 16)
    return Pack(key, first, last, int(parts[5]))
