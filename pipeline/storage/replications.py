"""The replications of a study, one file per unit, by name: a unit is done exactly when its file is there.

    replications/study.json           what the study is: all but the levels of its grid and the number of replications
    replications/units/BLOCK/CELL     a finished unit (see `units`); CELL is the digest of its labels
    replications/units/BLOCK/CELL.failed    a unit that raised
    replications/agreed/WRITER.json   code and arithmetic that compute the same numbers (see `agreement`)

Nothing is ever appended or numbered: grids may grow and replications be added, and any number of processes may write at
once. Workers write each file whole or not at all. In a folder or in a bucket: see `backend`.
"""

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.storage import units
from pipeline.storage.backend import Backend, Unreachable
from pipeline.storage.folder import Folder, locked
from pipeline.storage.units import Damaged, Record
from pipeline.study.arrays import Array, Booleans
from pipeline.study.files import PARTIAL
from pipeline.study.grid import cell_key
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import FAILED
from pipeline.study.study import Study

RAW = "replications"
FORMER = "replications.zarr"  # of earlier versions
DESCRIPTION = f"{RAW}/study.json"
FAILED_END = ".failed"
ABANDONED = 3600.0  # seconds after which a file or folder that was half made belongs to a process that was killed
REMEMBERED = 20_000  # cells whose names a process keeps in mind


class Listing(NamedTuple):
    """Which units are there: done and, among these, failed; (cells, blocks) bool both."""

    done: Booleans
    failed: Booleans


class Damage(NamedTuple):
    """A file that is not what it must be: its key within the replications, and what is wrong with it."""

    key: str
    what: str


class Store:
    """The replications of a study under `folder` or, if given, under `url`.

    With a url the folder holds what is for people only; `timeout` is for how many seconds a failing request is tried
    again. Creating the object touches nothing.
    """

    def __init__(self, study: Study, folder: Path | str, url: str | None = None, timeout: float = 60.0):
        self.study, self.folder, self.url, self.timeout = study, Path(folder), url, timeout
        self.backend: Backend = _bucket(url, timeout) if url else Folder(self.folder)
        self._cells: dict[int, tuple[str, bytes]] = {}
        self._names: dict[bytes, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.study, self.folder.absolute(), self.url, self.timeout)  # a worker may be in another folder

    def exists(self) -> bool:
        """Whether the study was ever begun here. Raises InvalidInput if another one was, or an older version's."""
        if not self.url and (self.folder / FORMER).exists():
            raise self.invalid("was made by an earlier version of this program, whose files are not read; choose "
                               "another folder with outputs=…")
        description = self.backend.read(DESCRIPTION)
        if description is None:
            if next(self.backend.keys(f"{RAW}/units"), None) and self.backend.read(DESCRIPTION) is None:
                raise self.invalid("is lost, while units are there; task=verify repair=true writes it again",
                                   DESCRIPTION)
            return False
        if description != self._description():
            raise self._another(description)
        return True

    def begin(self) -> None:
        """Create what is missing. Safe to repeat and to interrupt anywhere.

        Raises InvalidInput when the folder belongs to another study, or cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self.exists():
                self.backend.put(DESCRIPTION, self._description())
        except Unreachable:
            raise
        except OSError as error:
            raise InvalidInput("outputs", self.folder, f"cannot write there: {error.strerror or error}") from None

    def invalid(self, advice: str, key: str = "") -> InvalidInput:
        """The error to raise when the folder or bucket itself, or what lies there under a key, is not as it must be."""
        return InvalidInput(self.backend.setting, self.backend, f"{key} {advice}" if key else advice)

    def listing(self) -> Listing:
        """Which units of the study are there, by one listing; O(units) bits of memory."""
        study = self.study
        names = np.fromiter(study.grid.keys(), np.uint64, len(study.grid))
        order = np.argsort(names)
        done, failed = np.zeros((2, len(names), study.blocks), bool)
        for block in range(study.blocks):
            for table, keys in zip((done, failed), self._cells_in(block), strict=True):
                position = np.minimum(np.searchsorted(names[order], keys), len(names) - 1)
                table[order[position[names[order][position] == keys]], block] = True
        return Listing(done | failed, failed & ~done)

    def write(self, cell: int, block: int, values: Mapping[str, Array], writer: str, error: str = "") -> None:
        """Store one unit: (block,) per metric and status, who computed it and, if it failed, the error's text.

        Raises ValueError unless the values are those of one whole unit of the study.
        """
        study = self.study
        if [*values] != [*study.metrics, "status"] or any(v.shape != (study.block,) for v in values.values()):
            raise ValueError(f"these are not the values of one unit: {({n: v.shape for n, v in values.items()})}")
        name, common = self._cell(cell)
        failed = bool((np.asarray(values["status"]) == FAILED).any())
        self.backend.put(_key(name, block, failed), units.encode(units.describe(common, block), values, writer, error))

    def fail(self, cell: int, block: int, error: str, writer: str) -> None:
        """Store a unit that raised: no values, status failed, the error's text."""
        values = {name: np.full(self.study.block, np.nan) for name in self.study.metrics}
        self.write(cell, block, values | {"status": np.full(self.study.block, FAILED, np.int8)}, writer, error)

    def read(self, cell: int, block: int, failed: bool | None = None) -> Record:
        """What is stored of a unit; None for failed looks for either. Raises Damaged if it is missing or damaged."""
        name, common = self._cell(cell)
        for ending in (False, True) if failed is None else (failed,):
            content = self.backend.read(_key(name, block, ending))
            if content is not None:
                description = units.describe(common, block)
                record = units.decode(content, description, len(self.study.metrics), self.study.block)
                if record.failed != ending:
                    raise Damaged("its name does not say whether it failed")
                return record
        raise Damaged("its file is missing")

    def holds(self, cell: int, block: int) -> bool:
        """Whether a unit is done."""
        return any(self.backend.stamp(self.key(cell, block, failed)) is not None for failed in (False, True))

    def forget(self, cell: int, block: int) -> None:
        """Mark a unit as not run."""
        self.backend.delete(self.key(cell, block), self.key(cell, block, True))

    def key(self, cell: int, block: int, failed: bool = False) -> str:
        """Key of a unit's file."""
        return _key(self._cell(cell)[0], block, failed)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time may seal, take back, or agree on numbers; the lock ends with its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder) as owner, self.backend.locked(owner):
            yield

    def sweep_partials(self) -> int:
        """Delete what interrupted writes left behind, if no sweep is under way; returns how many files and folders.

        Half-made reports only after a while, as another process may be writing one.
        """
        partials = self.backend.left_over(RAW)
        self.backend.delete(*(f"{RAW}/{key}" for key in partials))
        old = [path for path in self.folder.glob(f"*{PARTIAL}") if _is_abandoned(path)]
        with self.locked() if old else nullcontext():  # so that no process is sealing
            for path in old:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        return len(partials) + len(old)

    def strays(self) -> Iterator[Damage]:
        """Files that are no unit's of any grid: left over, misnamed, or a description that is not the study's."""
        for partial in self.backend.left_over(RAW):
            yield Damage(partial, "left over from an interrupted write")
        if (description := self.backend.read(DESCRIPTION)) != self._description():
            if description is not None and self._of_another(description):
                raise self._another(description)
            yield Damage("study.json", "is missing" if description is None else "is not what this program wrote")
        for key in self.backend.keys(f"{RAW}/units"):
            if not _is_unit(key) and not key.endswith(".partial"):
                yield Damage(f"units/{key}", "is not the file of a unit")

    def files(self) -> list[str]:
        """Keys, below the replications, of the files of all units, also of those of a larger grid; sorted."""
        return sorted(f"units/{key}" for key in self.backend.keys(f"{RAW}/units") if _is_unit(key))

    def check_file(self, key: str) -> Damage | None:
        """What is wrong with the file of a unit, whatever grid it belongs to; None if nothing is."""
        content = self.backend.read(f"{RAW}/{key}")
        if content is None:
            return None  # taken back since it was listed
        _, block, name = key.split("/")
        try:
            common = content[content.index(b",") + 1 : content.index(b"\n") + 1]
            record = units.decode(content, units.describe(common, int(block)), len(self.study.metrics),
                                  self.study.block)
            if self._name_of(common) + FAILED_END * record.failed != name:
                raise Damaged("is the file of another unit")
        except Damaged as error:
            return Damage(key, str(error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Damage(key, "its first line cannot be read")
        return None

    def repair(self, damage: Damage) -> bool:
        """Delete a damaged file, or write the study's description again; whether that was possible."""
        if damage.key == "study.json":
            self.backend.put(DESCRIPTION, self._description())
        else:
            self.backend.delete(f"{RAW}/{damage.key}")
        return True

    def _cell(self, cell: int) -> tuple[str, bytes]:
        """Name of the files of a cell's units, and what their first lines have in common."""
        if cell not in self._cells:
            if len(self._cells) >= REMEMBERED:
                self._cells.clear()
            labels = self.study.grid.labels(cell)
            self._cells[cell] = f"{cell_key(labels):016x}", units.describe_cell(self.study, labels)
        return self._cells[cell]

    def _name_of(self, common: bytes) -> str:
        """Name of the files whose first lines have this in common; empty where this program wrote no such line."""
        if common not in self._names:
            if len(self._names) >= REMEMBERED:
                self._names.clear()
            labels = json.loads(b"{" + common)["cell"]
            written = units.describe_cell(self.study, labels) == common
            self._names[common] = f"{cell_key(labels):016x}" if written else ""
        return self._names[common]

    def _description(self) -> bytes:
        return (json.dumps(self.study.identity, sort_keys=True, indent=1) + "\n").encode()

    def _of_another(self, description: bytes) -> bool:
        """Whether a description is a whole one of another study."""
        try:
            identity = json.loads(description)
            return (set(identity) == set(self.study.identity) and identity["name"] != ""
                    and (json.dumps(identity, sort_keys=True, indent=1) + "\n").encode() == description)
        except (ValueError, TypeError, KeyError, RecursionError):
            return False

    def _another(self, description: bytes) -> InvalidInput:
        if not self._of_another(description):
            return self.invalid("is damaged; task=verify repair=true writes it again", DESCRIPTION)
        other, own = json.loads(description), json.loads(self._description())
        different = ", ".join(name for name in own if other[name] != own[name])
        return self.invalid(f"holds another study ({different} differ); choose another folder")

    def _cells_in(self, block: int) -> tuple[Array, Array]:
        """Digests of the cells whose unit of a block is done, and of those whose unit failed."""
        good: list[int] = []
        bad: list[int] = []
        for name in self.backend.keys(f"{RAW}/units/{block}"):
            if _is_unit(f"{block}/{name}"):
                (bad if name.endswith(FAILED_END) else good).append(int(name[:16], 16))
        return np.array(good, np.uint64), np.array(bad, np.uint64)


def _is_abandoned(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > ABANDONED
    except OSError:  # it was renamed or removed just now
        return False


def _key(name: str, block: int, failed: bool) -> str:
    return f"{RAW}/units/{block}/{name}{FAILED_END if failed else ''}"


def _is_unit(key: str) -> bool:
    block, _, name = key.partition("/")
    name = name.removesuffix(FAILED_END)
    return block.isdecimal() and len(name) == 16 and not name.strip("0123456789abcdef")


def _bucket(url: str, timeout: float) -> Backend:
    from pipeline.storage.s3 import Bucket

    return Bucket(url, timeout)
