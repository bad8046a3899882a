"""The replications of a study, a file per unit: a unit is done exactly when its file is there.

    replications/study.json           what the study is: all but its levels and replications
    replications/units/BLOCK/CELL     a finished unit, see `units`; CELL: digest of its labels
    replications/units/BLOCK/CELL.failed    a unit that raised
    replications/packs/…              many finished units in one file, once sealed, see `packs`
    replications/agreed/WRITER.json   code and arithmetic that compute the same, see `agreement`
    replications/merged/CONTRIBUTOR   units of other people, and what was verified, `contributions`
    replications/trying/WRITER        a unit that is made to compare, and how many ended in it
    replications/in_work/…            what workers have begun, until their driver ends: `in_work`

Nothing is ever appended or numbered: grids may grow and replications be added, and any
number of processes may write at once. Workers write each file whole or not at all. In a
folder or in a bucket: see `backend`.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
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
# Name of a unit's file in the folder of its block.
NAME = re.compile(rf"([0-9a-f]{{16}})({re.escape(FAILED_END)})?")
LISTED = 2**14  # files whose names are in memory at once
REMEMBERED = 20_000  # cells whose names a process caches
PACKED_FROM = 1000  # files of units: fewer stay as they are
PACK_UNITS = 1000  # at most, in a pack
PACK_BYTES = 2**25  # at most, of the values in a pack


class Listing(NamedTuple):
    """Which units are there: done and, among these, failed; (cells, blocks) bool both."""

    done: Booleans
    failed: Booleans


class UnitFile(NamedTuple):
    """What the name of a unit's file says. cell: the digest of its labels."""

    block: int
    cell: int
    failed: bool


class Marks:
    """A table of units, (cells, blocks), in which those that are seen are marked.

    names: (cells,) digest of each cell's labels. Units of other cells, or of later
    blocks, are left out.
    """

    def __init__(self, names: Array, blocks: int):
        self.order = np.argsort(names)
        self.names = names[self.order]
        self.blocks = blocks
        self.table = np.zeros((len(names), blocks), bool)

    def add(self, blocks: Array, cells: Array) -> None:
        """Mark units by their blocks and the digests of their cells."""
        nearest = np.searchsorted(self.names, cells)
        position = np.minimum(nearest, len(self.names) - 1)
        is_known = (self.names[position] == cells) & (blocks < self.blocks)
        self.table[self.order[position[is_known]], blocks[is_known]] = True


class Store:
    """The replications of a study under `folder` or, if given, under `url`.

    With a url the folder holds what is for people only, and a store that is sent to
    another process has none; `timeout` is for how many seconds a failing request is
    tried again. Creating the object touches nothing.
    """

    def __init__(
        self, study: Study, folder: Path | str | None, url: str | None = None, timeout: float = 60.0
    ):
        self.study = study
        self.url = url
        self.timeout = timeout
        self._folder = None if folder is None else Path(folder)
        self._cells: dict[int, tuple[str, bytes]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker may be in another folder, or on a machine without the driver's.
        if self.url is not None:
            return Store, (self.study, None, self.url, self.timeout)
        return Store, (self.study, self.folder.absolute(), None, self.timeout)

    @cached_property
    def backend(self) -> Backend:
        """Where the study is stored; opened when it is first used.

        A worker that was sent the store first executes what registers the backend's class.
        """
        if self.url is None:
            return Folder(self.folder)
        return open_backend(self.url, self.timeout)

    @cached_property
    def packs(self) -> Packs:
        """Many units in one file each."""
        return Packs(self.backend)

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
            files = self.backend.keys(f"{RAW}/units")
            there = self.packs.listing() or any(map(is_unit, files))
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

        Raises InvalidInput when the folder belongs to another study, or cannot be
        written.
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
        """The error for a folder or bucket, or for what lies there under a key."""
        text = f"{key} {advice}".lstrip()
        return InvalidInput(self.backend.setting, self.backend, text)

    def listing(self) -> Listing:
        """Which units of the study are there, by one listing; O(units) bits of memory."""
        names = self.study.grid.digests()
        done = Marks(names, self.study.blocks)
        failed = Marks(names, self.study.blocks)
        files = self._files()
        while True:
            some = [*itertools.islice(files, LISTED)]
            if not some:
                break
            blocks = np.array([file.block for file in some], np.int64)
            cells = np.array([file.cell for file in some], np.uint64)
            is_failed = np.array([file.failed for file in some], bool)
            failed.add(blocks[is_failed], cells[is_failed])
            done.add(blocks[~is_failed], cells[~is_failed])
        # After the files: a unit is in a pack before its file is deleted.
        self.packs.refresh()
        for index in self.packs.indexes():
            done.add(index["block"], index["cell"])
        return Listing(done.table | failed.table, failed.table & ~done.table)

    def write(
        self, cell: int, block: int, values: Mapping[str, Array], writer: str, error: str = ""
    ) -> None:
        """Store one unit.

        values: (block,) per metric, and `status`.
        writer: who computed it.
        error: text, if it failed.

        Raises ValueError unless the values are those of one whole unit of the study.
        """
        study = self.study
        shapes = {name: column.shape for name, column in values.items()}
        if [*shapes] != [*study.metrics, "status"] or set(shapes.values()) != {(study.block,)}:
            raise ValueError(f"these are not the values of one unit: {shapes}")
        name, common = self._cell(cell)
        failed = bool((np.asarray(values["status"]) == FAILED).any())
        content = units.encode(units.describe(common, block), values, writer, error)
        self.backend.put(_key(name, block, failed), content)

    def fail(self, cell: int, block: int, error: str, writer: str) -> None:
        """Store a unit that raised: no values, status failed, the error's text."""
        values: dict[str, Array] = {
            name: np.full(self.study.block, np.nan) for name in self.study.metrics
        }
        values["status"] = np.full(self.study.block, FAILED, np.int8)
        self.write(cell, block, values, writer, error)

    def read(self, cell: int, block: int, failed: bool | None = None) -> Record:
        """What is stored of a unit. failed: whether it failed; None where that is not known.

        Raises Damaged if it is missing or damaged.
        """
        endings = (False, True) if failed is None else (failed,)
        for ending in endings:
            content = self._content(cell, block, ending)
            if content is not None:
                return self._decoded(content, cell, block, ending)
        raise Damaged("its file is missing")

    def content(self, cell: int, block: int) -> bytes | None:
        """The file of a unit that did not fail, for another store; None without one."""
        return self._content(cell, block, failed=False)

    def decoded(self, cell: int, block: int, content: bytes | None) -> Record:
        """What the file of a unit that did not fail says, see `content`.

        Raises Damaged where it is damaged, or there is none.
        """
        if content is None:
            raise Damaged("its file is missing")
        return self._decoded(content, cell, block, failed=False)

    def failure(self, cell: int, block: int) -> bytes:
        """The file of a unit that failed, for other people: with the last line of its error only.

        The lines before name folders of a person's machine. Raises Damaged.
        """
        record = self.read(cell, block, failed=True)
        (*_, last_line) = record.error.strip().splitlines() or [""]
        values = dict(zip(self.study.metrics, record.metrics, strict=True))
        description = units.describe(self._cell(cell)[1], block)
        columns = {**values, "status": record.status}
        return units.encode(description, columns, record.writer, last_line)

    def take(self, cell: int, block: int, content: bytes) -> bool:
        """Store the file of a unit of another store, where there is none; whether this call did.

        One that failed here is replaced. Raises Damaged unless it is a whole file of that unit.
        """
        self._decoded(content, cell, block, failed=False)
        is_new = self.backend.create(self.key(cell, block), content)
        self.backend.delete(self.key(cell, block, failed=True))
        return is_new

    def _content(self, cell: int, block: int, failed: bool) -> bytes | None:
        """Content of a unit's file, which may be in a pack if it did not fail."""
        content = self.backend.read(self.key(cell, block, failed))
        if content is None and not failed:
            return self.packs.read(block, self._number(cell))
        return content

    def _decoded(self, content: bytes, cell: int, block: int, failed: bool) -> Record:
        """What a unit's file says; Damaged unless it says as well whether the unit failed."""
        description = units.describe(self._cell(cell)[1], block)
        metrics = len(self.study.metrics)
        record = units.decode(content, description, metrics, self.study.block)
        if record.failed != failed:
            raise Damaged("its name does not say whether it failed")
        return record

    def holds(self, cell: int, block: int) -> bool:
        """Whether a unit is done."""
        return (
            self._is_file(cell, block)
            or self._is_file(cell, block, failed=True)
            or self._is_packed(cell, block)
        )

    def has_numbers(self, cell: int, block: int) -> bool:
        """Whether a unit that did not fail is in a file of its own. This is one
        request, unlike `holds`.
        """
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
        pack = self.packs.find(block, name)
        if pack is not None:
            packed = self.packs.units(pack.key)
            self.unpack(unit for unit in packed if (unit.block, unit.cell) != (block, name))
            self.packs.delete(pack.key)
        self.backend.delete(self.key(cell, block), self.key(cell, block, True))

    def unpacked(self) -> Iterator[list[str]]:
        """Keys of files of units that may be packed together, pack by pack.

        Nothing where there are only a few.

        Units that failed stay in files of their own: they may be done again. 16 bytes
        of memory a unit.
        """
        positions = (
            _position(key)
            for key in self.backend.keys(f"{RAW}/units")
            if is_unit(key) and not key.endswith(FAILED_END)
        )
        finished = np.fromiter(positions, [("block", np.uint64), ("cell", np.uint64)])
        if len(finished) < PACKED_FROM:
            return
        finished = finished[np.lexsort((finished["cell"], finished["block"]))]
        bytes_of_a_unit = self.study.block * (8 * len(self.study.metrics) + 1)
        step = max(min(PACK_UNITS, PACK_BYTES // bytes_of_a_unit), 1)
        for start in range(0, len(finished), step):
            some = finished[start : start + step].tolist()
            yield [f"{block}/{cell:016x}" for block, cell in some]

    def pack(self, keys: list[str]) -> int:
        """Write a pack of the files of some units, then delete these; returns how many.

        Whoever asks holds the lock.
        """
        contents = self.backend.map(lambda key: self.backend.read(f"{RAW}/units/{key}"), keys)
        packed = [
            PackedUnit(*_position(key), content)
            for key, content in zip(keys, contents, strict=True)
            if content
        ]
        if packed:
            self.packs.write(packed)
            packed_keys = [f"{RAW}/units/{unit.block}/{unit.cell:016x}" for unit in packed]
            self.backend.delete(*packed_keys)
        return len(packed)

    def unpack(self, units_of_a_pack: Iterable[PackedUnit]) -> None:
        """Give units files of their own again, where they have none.

        The caller deletes the pack.
        """
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
            described = units.describe_cell(self.study, labels)
            self._cells[cell] = f"{cell_key(labels):016x}", described
        return self._cells[cell]

    def _number(self, cell: int) -> int:
        """Digest of a cell's labels, which names its files."""
        return int(self._cell(cell)[0], 16)

    def _description(self) -> bytes:
        return _describe(self.study.description)

    def wrong_description(self) -> str:
        """What is wrong with the study's description; empty if nothing is.

        InvalidInput if it is another study's.
        """
        description = self.backend.read(DESCRIPTION)
        if description is None:
            return "is missing"
        if description == self._description():
            return ""
        if self._of_another(description):
            raise self._another(description)
        return "is not what this program wrote"

    def _of_another(self, description: bytes) -> bool:
        """Whether a description is a whole one of another study."""
        try:
            identity = json.loads(description)
            del identity["digest"]
            return (
                set(identity) == set(self.study.description) and _describe(identity) == description
            )
        except (ValueError, TypeError, KeyError, RecursionError):
            return False

    def _another(self, description: bytes) -> InvalidInput:
        if not self._of_another(description):
            return self.invalid("is damaged; task=verify repair=true writes it again", DESCRIPTION)
        theirs = json.loads(description)
        ours = json.loads(self._description())
        names = [name for name in self.study.description if theirs[name] != ours[name]]
        different = ", ".join(names)
        return self.invalid(f"holds another study ({different} differ); choose another folder")

    def _files(self) -> Iterator[UnitFile]:
        """Every unit in a file of its own."""
        for block in range(self.study.blocks):
            for name in self.backend.keys(f"{RAW}/units/{block}"):
                match = NAME.fullmatch(name)
                if match is not None:
                    yield UnitFile(block, int(match[1], 16), match[2] is not None)


def _describe(identity: Mapping[str, Any]) -> bytes:
    """What study.json holds: an identity, and a digest by which a damaged one is known."""
    whole = {**identity, "digest": digest(canonical(identity), 8).hex()}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _key(name: str, block: int, failed: bool) -> str:
    ending = FAILED_END if failed else ""
    return f"{RAW}/units/{block}/{name}{ending}"


def _position(key: str) -> tuple[int, int]:
    """Block and digest of the cell of a unit, from the key of its file."""
    block, _, cell = key.partition("/")
    return int(block), int(cell, 16)


def is_unit(key: str) -> bool:
    """Whether a key below the units is that of a unit's file."""
    block, _, name = key.partition("/")
    return block.isdecimal() and NAME.fullmatch(name) is not None
