"""The replications of a study, one file per unit, by name: a unit is done exactly when its file is
there.

    replications/study.json           what the study is: all but the levels of its grid and the
    number of replications replications/units/BLOCK/CELL     a finished unit (see `units`); CELL is
    the digest of its labels replications/units/BLOCK/CELL.failed    a unit that raised
    replications/packs/…              many finished units in one file, once results are sealed (see
    `packs`) replications/trying/WRITER        a unit that a process of a new kind makes to compare,
    and how many ended in it replications/in_work/…            what workers have begun, until their
    driver ends (see `in_work`) replications/agreed/WRITER.json   code and arithmetic that compute
    the same numbers (see `agreement`)

Nothing is ever appended or numbered: grids may grow and replications be added, and any number of
processes may write at once. Workers write each file whole or not at all. In a folder or in a
bucket: see `backend`.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.storage import units
from pipeline.storage.backend import Backend, Unreachable
from pipeline.storage.folder import Folder
from pipeline.storage.packs import PackedUnit, Packs
from pipeline.storage.schemes import open_backend
from pipeline.storage.units import Damaged, Record
from pipeline.study.arrays import Array, Booleans
from pipeline.study.files import make_folders
from pipeline.study.grid import cell_key
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import FAILED
from pipeline.study.streams import canonical, digest
from pipeline.study.study import Study

RAW = "replications"
FORMER = "replications.zarr"  # of earlier versions
DESCRIPTION = f"{RAW}/study.json"
FAILED_END = ".failed"
NAME = re.compile(
    rf"([0-9a-f]{{16}})({re.escape(FAILED_END)})?"
)  # of a unit's file in the folder of its block
LISTED = 2**14  # files whose names are in memory at once
REMEMBERED = 20_000  # cells whose names a process caches
PACKED_FROM = 1000  # files of units: fewer stay as they are
PACK_UNITS = 1000
PACK_BYTES = 2**25  # most units in a pack, and most bytes of their values


class Listing(NamedTuple):
    """Which units are there: done and, among these, failed; (cells, blocks) bool both."""

    done: Booleans
    failed: Booleans


class Store:
    """The replications of a study under `folder` or, if given, under `url`.

    With a url the folder holds what is for people only, and a store that is sent to another process
    has none; `timeout` is for how many seconds a failing request is tried again. Creating the
    object touches nothing.
    """

    def __init__(
        self, study: Study, folder: Path | str | None, url: str | None = None, timeout: float = 60.0
    ):
        self.study = study
        self.url = url
        self.timeout = timeout
        self._folder = None if folder is None else Path(folder)
        self.backend: Backend
        if url is None:
            self.backend = Folder(self.folder)
        else:
            self.backend = open_backend(url, timeout)
        self._cells: dict[int, tuple[str, bytes]] = {}
        self.packs = Packs(self.backend)

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker may be in another folder, or on a machine without the driver's.
        folder = None if self.url else self.folder.absolute()
        return Store, (self.study, folder, self.url, self.timeout)

    @property
    def folder(self) -> Path:
        """The study's folder on this machine.

        Raises AttributeError in a process that was sent a store with a url.
        """
        if self._folder is None:
            raise AttributeError(f"the study in {self.url} has no folder in this process")
        return self._folder

    def exists(self) -> bool:
        """Whether the study was ever begun here.

        Raises InvalidInput if another one was, or an older version's.
        """
        if not self.url and (self.folder / FORMER).exists():
            raise self.invalid(
                "was made by an earlier version of this program, whose files are not read; choose "
                "another folder with outputs=…"
            )
        description = self.backend.read(DESCRIPTION)
        if description is None:
            there = self.packs.listing() or any(map(is_unit, self.backend.keys(f"{RAW}/units")))
            if there and self.backend.read(DESCRIPTION) is None:
                raise self.invalid(
                    "is lost, while units are there; task=verify repair=true writes it again",
                    DESCRIPTION,
                )
            return False
        if description != self._description():
            raise self._another(description)
        return True

    def begin(self, anew: bool = False) -> None:
        """Create what is missing.

        Safe to repeat and to interrupt anywhere. anew: write the description again.

        Raises InvalidInput when the folder belongs to another study, or cannot be written.
        """
        try:
            make_folders(self.folder)
            if anew or not self.exists():
                with self.backend.sweeping():
                    self.backend.put(DESCRIPTION, self._description())
        except Unreachable:
            raise
        except OSError as error:
            raise InvalidInput(
                "outputs", self.folder, f"cannot write there: {error.strerror or error}"
            ) from None

    def invalid(self, advice: str, key: str = "") -> InvalidInput:
        """The error to raise when the folder or bucket itself, or what lies there under a key, is
        not as it must be.
        """
        return InvalidInput(
            self.backend.setting, self.backend, f"{key} {advice}" if key else advice
        )

    def listing(self) -> Listing:
        """Which units of the study are there, by one listing; O(units) bits of memory."""
        study = self.study
        names = study.grid.digests()
        order = np.argsort(names)
        names = names[order]
        done, failed = np.zeros((2, len(names), study.blocks), bool)

        def mark(table: Booleans, blocks: Array, keys: Array) -> None:
            position = np.minimum(np.searchsorted(names, keys), len(names) - 1)
            known = (names[position] == keys) & (blocks < study.blocks)
            table[order[position[known]], blocks[known]] = True

        files = self._files()
        while some := [*itertools.islice(files, LISTED)]:
            blocks, cells, bad = (
                np.array(column, kind)
                for column, kind in zip(
                    zip(*some, strict=True), (np.int64, np.uint64, bool), strict=True
                )
            )
            mark(failed, blocks[bad], cells[bad])
            mark(done, blocks[~bad], cells[~bad])
        self.packs.refresh()  # after the files: a unit is in a pack before its file is deleted
        for index in self.packs.indexes():
            mark(done, index["block"], index["cell"])
        return Listing(done | failed, failed & ~done)

    def write(
        self, cell: int, block: int, values: Mapping[str, Array], writer: str, error: str = ""
    ) -> None:
        """Store one unit: (block,) per metric and status, who computed it and, if it failed, the
        error's text.

        Raises ValueError unless the values are those of one whole unit of the study.
        """
        study = self.study
        if [*values] != [*study.metrics, "status"] or any(
            v.shape != (study.block,) for v in values.values()
        ):
            raise ValueError(
                "these are not the values of one unit: "
                f"{ ({n: v.shape for n, v in values.items()}) }"
            )
        name, common = self._cell(cell)
        failed = bool((np.asarray(values["status"]) == FAILED).any())
        self.backend.put(
            _key(name, block, failed),
            units.encode(units.describe(common, block), values, writer, error),
        )

    def fail(self, cell: int, block: int, error: str, writer: str) -> None:
        """Store a unit that raised: no values, status failed, the error's text."""
        values = {name: np.full(self.study.block, np.nan) for name in self.study.metrics}
        self.write(
            cell,
            block,
            values | {"status": np.full(self.study.block, FAILED, np.int8)},
            writer,
            error,
        )

    def read(self, cell: int, block: int, failed: bool | None = None) -> Record:
        """What is stored of a unit; None for failed looks for either.

        Raises Damaged if it is missing or damaged.
        """
        name, common = self._cell(cell)
        for ending in (False, True) if failed is None else (failed,):
            content = self.backend.read(_key(name, block, ending))
            if content is None and not ending:
                content = self.packs.read(block, self._number(cell))
            if content is not None:
                description = units.describe(common, block)
                record = units.decode(
                    content, description, len(self.study.metrics), self.study.block
                )
                if record.failed != ending:
                    raise Damaged("its name does not say whether it failed")
                return record
        raise Damaged("its file is missing")

    def holds(self, cell: int, block: int) -> bool:
        """Whether a unit is done."""
        return (
            self._is_file(cell, block)
            or self._is_file(cell, block, failed=True)
            or self._is_packed(cell, block)
        )

    def has_numbers(self, cell: int, block: int) -> bool:
        """Whether a unit that did not fail is in a file of its own; one look, unlike `holds`."""
        return self._is_file(cell, block)

    def has_failed(self, cell: int, block: int) -> bool:
        """Whether a unit is done, and failed."""
        good = self._is_file(cell, block) or self._is_packed(cell, block)
        return not good and self._is_file(cell, block, failed=True)

    def _is_file(self, cell: int, block: int, failed: bool = False) -> bool:
        return self.backend.stamp(self.key(cell, block, failed)) is not None

    def _is_packed(self, cell: int, block: int) -> bool:
        return self.packs.find(block, self._number(cell)) is not None

    def forget(self, cell: int, block: int) -> None:
        """Mark a unit as not run; the caller holds the lock."""
        name = self._number(cell)
        if pack := self.packs.find(block, name):
            self.unpack(
                unit
                for unit in self.packs.units(pack.key)
                if (unit.block, unit.cell) != (block, name)
            )
            self.packs.delete(pack.key)
        self.backend.delete(self.key(cell, block), self.key(cell, block, True))

    def unpacked(self) -> Iterator[list[str]]:
        """Keys of files of units that may be packed together, pack by pack.

        Nothing where there are only a few.

        Units that failed stay in files of their own: they may be done again. 16 bytes of memory a
        unit.
        """
        size = self.study.block * (8 * len(self.study.metrics) + 1)
        finished = (
            _position(key)
            for key in self.backend.keys(f"{RAW}/units")
            if is_unit(key) and not key.endswith(FAILED_END)
        )
        units = np.fromiter(finished, [("block", np.uint64), ("cell", np.uint64)])
        units = units[np.lexsort((units["cell"], units["block"]))]
        if len(units) >= PACKED_FROM:
            step = max(min(PACK_UNITS, PACK_BYTES // size), 1)
            for start in range(0, len(units), step):
                yield [
                    f"{block}/{cell:016x}" for block, cell in units[start : start + step].tolist()
                ]

    def pack(self, keys: list[str]) -> int:
        """Write a pack of the files of some units, then delete these; returns how many.

        Whoever asks holds the lock.
        """
        contents = self.backend.map(lambda key: self.backend.read(f"{RAW}/units/{key}"), keys)
        units = [
            PackedUnit(*_position(key), content)
            for key, content in zip(keys, contents, strict=True)
            if content
        ]
        if units:
            self.packs.write(units)
            self.backend.delete(*(f"{RAW}/units/{unit.block}/{unit.cell:016x}" for unit in units))
        return len(units)

    def unpack(self, units_of_a_pack: Iterable[PackedUnit]) -> None:
        """Give units files of their own again, where they have none; the caller deletes the pack."""
        for unit in units_of_a_pack:
            key = _key(f"{unit.cell:016x}", unit.block, failed=False)
            if self.backend.stamp(key) is None:
                self.backend.put(key, unit.content)

    def key(self, cell: int, block: int, failed: bool = False) -> str:
        """Key of a unit's file."""
        return _key(self._cell(cell)[0], block, failed)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time may seal, take back, or agree on numbers.

        The lock ends with its process.

        Others remove nothing that it is writing.
        """
        with self.backend.locked(), self.backend.sweeping():
            self.packs.refresh()
            yield

    def _cell(self, cell: int) -> tuple[str, bytes]:
        """Name of the files of a cell's units, and what their first lines have in common."""
        if cell not in self._cells:
            if len(self._cells) >= REMEMBERED:
                self._cells.clear()
            labels = self.study.grid.labels(cell)
            self._cells[cell] = f"{cell_key(labels):016x}", units.describe_cell(self.study, labels)
        return self._cells[cell]

    def _number(self, cell: int) -> int:
        """Digest of a cell's labels, which names its files."""
        return int(self._cell(cell)[0], 16)

    def _description(self) -> bytes:
        return _describe(self.study.identity)

    def wrong_description(self) -> str:
        """What is wrong with the study's description; empty if nothing is.

        InvalidInput if it is another study's.
        """
        description = self.backend.read(DESCRIPTION)
        if description is None:
            return "is missing"
        if self._of_another(description) and description != self._description():
            raise self._another(description)
        return "" if description == self._description() else "is not what this program wrote"

    def _of_another(self, description: bytes) -> bool:
        """Whether a description is a whole one of another study."""
        try:
            identity = json.loads(description)
            del identity["digest"]
            return set(identity) == set(self.study.identity) and _describe(identity) == description
        except (ValueError, TypeError, KeyError, RecursionError):
            return False

    def _another(self, description: bytes) -> InvalidInput:
        if not self._of_another(description):
            return self.invalid("is damaged; task=verify repair=true writes it again", DESCRIPTION)
        other = json.loads(description)
        own = json.loads(self._description())
        different = ", ".join(name for name in self.study.identity if other[name] != own[name])
        return self.invalid(f"holds another study ({different} differ); choose another folder")

    def _files(self) -> Iterator[tuple[int, int, bool]]:
        """Block, digest of the cell, and whether it failed, of every unit in a file of its own."""
        for block in range(self.study.blocks):
            for name in self.backend.keys(f"{RAW}/units/{block}"):
                if found := NAME.fullmatch(name):
                    yield block, int(found[1], 16), found[2] is not None


def _describe(identity: Mapping[str, Any]) -> bytes:
    """What study.json holds: an identity, and a digest by which a damaged one is known."""
    whole = {**identity, "digest": digest(canonical(identity), 8).hex()}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _key(name: str, block: int, failed: bool) -> str:
    return f"{RAW}/units/{block}/{name}{FAILED_END if failed else ''}"


def _position(key: str) -> tuple[int, int]:
    """Block and digest of the cell of a unit, from the key of its file."""
    block, _, cell = key.partition("/")
    return int(block), int(cell, 16)


def is_unit(key: str) -> bool:
    """Whether a key below the units is that of a unit's file."""
    block, _, name = key.partition("/")
    return block.isdecimal() and NAME.fullmatch(name) is not None
