"""Whether what is stored of a study's replications is what this program wrote, file by file.

And repair.
"""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pipeline.storage import packs, units
from pipeline.storage.packs import PackedUnit
from pipeline.storage.replications import DESCRIPTION, FAILED_END, RAW, REMEMBERED, Store, is_unit
from pipeline.storage.units import Damaged
from pipeline.study.files import PARTIAL
from pipeline.study.grid import cell_key

# Seconds after which a file or folder that was half made belongs to a process that was
# killed.
ABANDONED = 3600.0
LEFT_OVER = "left over from an interrupted write"
PACKS = packs.FOLDER.removeprefix(f"{RAW}/")


class Damage(NamedTuple):
    """A file that is not what it must be: its key within the replications, and its fault."""

    key: str
    fault: str


class Integrity:
    """Checks and repairs the files of a study's replications, also of units outside of
    its grid.
    """

    def __init__(self, store: Store):
        self.store = store
        self._names: dict[bytes, str] = {}

    def strays(self) -> Iterator[Damage]:
        """Files of no unit: left over, misnamed, or a description that is not the study's."""
        backend = self.store.backend
        for partial in backend.left_over(RAW):
            yield Damage(partial, LEFT_OVER)
        wrong = self.store.wrong_description()
        if wrong:
            yield Damage(DESCRIPTION.removeprefix(f"{RAW}/"), wrong)
        for key in backend.keys(f"{RAW}/units"):
            # A process was killed after its last unit was packed.
            emptied = key.endswith("/") and key[:-1].isdecimal()
            if not is_unit(key) and not key.endswith(PARTIAL) and not emptied:
                yield Damage(f"units/{key}", "is not the file of a unit")
        for key in self.store.packs.strays():
            yield Damage(f"{PACKS}/{key}", "is not a pack of units")

    def files(self) -> list[str]:
        """Keys, below the replications, of the files of all units and of all packs; sorted."""
        keys = self.store.backend.keys(f"{RAW}/units")
        units = [f"units/{key}" for key in keys if is_unit(key)]
        self.store.packs.refresh()
        packs = [f"{PACKS}/{pack.key}" for pack in self.store.packs.listing()]
        return sorted([*units, *packs])

    def units(self, files: list[str]) -> int:
        """Number of units in some of the files."""
        packed = {f"{PACKS}/{pack.key}": pack.size for pack in self.store.packs.listing()}
        return sum(packed.get(key, 1) for key in files)

    def check_file(self, key: str) -> Damage | None:
        """What is wrong with the file of a unit or with a pack; None if nothing is.
        O(its size).
        """
        folder, _, name = key.partition("/")
        if folder == PACKS:
            return self._check_pack(key, name)
        content = self.store.backend.read(f"{RAW}/{key}")
        if content is None:
            return None  # taken back since it was listed
        block, _, cell = name.partition("/")
        wrong = self._wrong(content, int(block), cell)
        return Damage(key, wrong) if wrong else None

    def repair(self, damage: Damage) -> None:
        """Delete a damaged file, or write the study's description again.

        Of a pack the sound units are kept.
        """
        folder, _, name = damage.key.partition("/")
        if f"{RAW}/{damage.key}" == DESCRIPTION:
            self.store.begin(anew=True)
        elif folder == PACKS:
            with suppress(Damaged):
                packed = self.store.packs.units(name)
                self.store.unpack([unit for unit in packed if not self._wrong_unit(unit)])
            self.store.packs.delete(name)
        else:
            self.store.backend.delete(f"{RAW}/{damage.key}")

    def sweep_partials(self) -> int:
        """Delete what interrupted writes left behind, if no sweep is under way.

        Returns how many files and folders.

        Half-made reports only after a while, as another process may be writing one.
        """
        store = self.store
        partials = store.backend.left_over(RAW)
        store.backend.delete(*(f"{RAW}/{key}" for key in partials))
        if not any(abandoned(store.folder)):
            return len(partials)
        with store.locked():  # so that no process is sealing
            return len(partials) + remove_abandoned(store.folder)

    def _check_pack(self, key: str, name: str) -> Damage | None:
        try:
            faults = [self._wrong_unit(unit) for unit in self.store.packs.units(name)]
        except Damaged as error:
            return Damage(key, str(error))
        wrong = [fault for fault in faults if fault]
        if not wrong:
            return None
        return Damage(key, f"holds {len(wrong)} damaged units, the first {wrong[0]}")

    def _wrong_unit(self, unit: PackedUnit) -> str:
        return self._wrong(unit.content, unit.block, f"{unit.cell:016x}")

    def _wrong(self, content: bytes, block: int, name: str) -> str:
        """What is wrong with the content of the file of a unit; empty if nothing is."""
        study = self.store.study
        try:
            common = content[content.index(b",") + 1 : content.index(b"\n") + 1]
            record = units.decode(
                content, units.describe(common, block), len(study.metrics), study.block
            )
            cell = self._name_of(common)
        except Damaged as error:
            return str(error)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return "its first line cannot be read"
        expected = f"{cell}{FAILED_END}" if record.failed else cell
        return "" if name == expected else "is the file of another unit"

    def _name_of(self, common: bytes) -> str:
        """Name of the files whose first lines have this in common.

        Empty where this program wrote no such line.
        """
        if common not in self._names:
            if len(self._names) >= REMEMBERED:
                self._names.clear()
            labels = json.loads(b"{" + common)["cell"]
            is_sound = units.describe_cell(self.store.study, labels) == common
            self._names[common] = f"{cell_key(labels):016x}" if is_sound else ""
        return self._names[common]


def abandoned(folder: Path) -> Iterator[Path]:
    """Files and folders, directly in a folder, that a killed process left half made."""
    for path in folder.glob(f"*{PARTIAL}"):
        with suppress(OSError):  # it was renamed or removed just now
            if time.time() - path.lstat().st_mtime > ABANDONED:
                yield path


def remove_abandoned(folder: Path) -> int:
    """Remove what killed processes left half made directly in a folder.

    Returns how many files and folders.
    """
    old = list(abandoned(folder))
    for path in old:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return len(old)
