"""The numbers of an archive: read unit by unit, and sealed anew from these.

The second time they are sealed, by the code that is here, in a folder of its own. So summaries are
recomputed by the one code that makes them.
"""

import itertools
import json
import shutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.execution.clusters import Executor
from pipeline.execution.schedule import Unit
from pipeline.storage import results
from pipeline.storage.agreement import FOLDER as AGREED
from pipeline.storage.backend import ROOT
from pipeline.storage.contributions import FOLDER as MERGED
from pipeline.storage.layout import Layout, positions
from pipeline.storage.replications import FAILED_END, RAW, Store
from pipeline.storage.units import Record
from pipeline.study.arrays import Array, Booleans, Integers
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import FAILED
from pipeline.study.untyped import JsonObject, LoadedTable
from pipeline.workflow import protocol_record, reduce
from pipeline.workflow.recomputed_units import near
from pipeline.workflow.studies import StoredStudy

NOT_RUN = 0
# Of a dataset's attributes: what depends on where and by which version it was sealed.
OF_SEALING = ("files", "digest", "versions", "reduced_by")
SUBFOLDERS = ("sessions", AGREED, MERGED)  # copied as they are


class ArchivedNumbers:
    """The sealed results of a study in an unpacked archive.

    name: of the dataset of replications, as `results.place` has it.
    """

    def __init__(self, stored: StoredStudy):
        self.stored = stored
        self.study = stored.study
        self.place = results.place(stored.store)
        self._cell = -1
        self._values: tuple[Array, Array] = (np.zeros(0), np.zeros(0))

    @cached_property
    def data(self) -> LoadedTable:
        """The dataset of all replications."""
        return results.load(self.stored.store, self.place + results.SEALED)

    @cached_property
    def _positions(self) -> Integers:
        """(cells,) position of every cell among all combinations of levels."""
        return positions(self.study, Layout.of(self.study))

    def values(self, cell: int) -> tuple[Array, Array]:
        """(metrics, reps) and (reps,) status of a cell; of the last cell without reading again."""
        if cell != self._cell:
            shape = Layout.of(self.study).shape
            place = np.unravel_index(int(self._positions[cell]), shape)
            of_cell = dict(zip(self.study.grid.axes, map(int, place), strict=True))
            data = self.data.isel(of_cell)
            metrics = [np.asarray(data[name].values, "<f8") for name in self.study.metrics]
            status = np.asarray(data["status"].values, np.int8)
            self._values = (np.array(metrics), status)
            self._cell = cell
        return self._values

    def record(self, unit: Unit) -> Record:
        """What is stored of a unit."""
        metrics, status = self.values(unit.cell)
        within = slice(unit.block * self.study.block, (unit.block + 1) * self.study.block)
        of_unit = status[within]
        failed = bool((of_unit == FAILED).any())
        return Record(np.ascontiguousarray(metrics[:, within]), of_unit, "", "", failed)

    @cached_property
    def counted(self) -> Booleans:
        """(cells, blocks) units that count.

        Without a rule that ends cells these are all: one that was taken away is false.
        """
        study = self.study
        there = np.ones((len(study.grid), study.blocks), bool)
        if not study.precision and not study.until:
            return there
        for cell in range(len(study.grid)):
            _, status = self.values(cell)
            there[cell] = (status.reshape(study.blocks, study.block) != NOT_RUN).any(1)
        return there


def sealed_anew(numbers: ArchivedNumbers, folder: Path, executor: Executor) -> StoredStudy:
    """The study in another folder, made of its stored units, and sealed there by this program."""
    stored = numbers.stored
    where = folder / f"{stored.study.name}-{stored.study.key}"
    store = Store(stored.study, where)
    again = stored._replace(store=store)
    store.begin()
    for name in SUBFOLDERS:
        if (stored.store.folder / name).is_dir():
            shutil.copytree(stored.store.folder / name, where / name, dirs_exist_ok=True)
    for path in (stored.store.folder / RAW / "units").glob(f"*/*{FAILED_END}"):
        target = where / path.relative_to(stored.store.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    protocol = protocol_record.path_for(stored.store)
    if protocol.exists():
        shutil.copyfile(protocol, protocol_record.path_for(store))
    _write_units(numbers, store)
    reduce.seal(again, executor)
    return again


def _write_units(numbers: ArchivedNumbers, store: Store) -> None:
    """Write all units that did not fail, as if the writers of the results had made them.

    Results do not say which writer made which unit, only who they were.
    """
    attributes = results.root_attributes(numbers.stored.store.backend, numbers.place)
    known = [entry["writer"] for entry in json.loads(attributes.get("writers", "[]"))]
    if not known:
        raise InvalidInput("archive", store.study.name, "its results do not say who wrote them")
    names = itertools.chain(known, itertools.repeat(known[0]))
    for unit in units_of(numbers.counted):
        record = numbers.record(unit)
        if record.failed or (record.status == NOT_RUN).any():
            continue
        values = dict(zip(store.study.metrics, record.metrics, strict=True))
        store.write(*unit, {**values, "status": record.status}, next(names))


def units_of(table: Booleans) -> Iterator[Unit]:
    """The units that are marked in a table, cell by cell."""
    for cell, block in np.argwhere(table).tolist():
        yield Unit(cell, block)


def differences(before: StoredStudy, after: StoredStudy, exactly: bool) -> list[str]:
    """Sealed datasets that are not the same, in words. exactly: to the last byte."""
    different = []
    place = results.place(before.store)
    for dataset in (results.SEALED, results.SUMMARY):
        name = place + dataset
        reason = _difference(before, after, name, results.place(after.store) + dataset, exactly)
        if reason:
            different.append(f"{before.study.name}: {dataset}: {reason}")
    return different


def _difference(
    before: StoredStudy, after: StoredStudy, name: str, name_after: str, exactly: bool
) -> str:
    """Why two datasets are not the same; "" if they are."""
    # What a root document says of its files is compared below; so they must be these files.
    damages = results.problems_of(before.store.backend, name)
    if damages:
        return f"{damages[0]} ({len(damages):,} files are wrong)"
    first = _document(before, name)
    second = _document(after, name_after)
    files = first["attributes"].get("files")
    files_after = second["attributes"].get("files")
    if _lasting(first) != _lasting(second):
        return "its description is another one"
    if files == files_after:
        return ""
    changed = [key for key in files if files[key] != files_after.get(key)]
    variables = sorted({key.partition("/")[0] for key in changed})
    if not exactly and _are_near(before, after, name, name_after):
        return ""
    return f"{', '.join(variables)} cannot be recomputed from the stored numbers"


def _document(stored: StoredStudy, name: str) -> JsonObject:
    """The root document of a sound dataset."""
    content = stored.store.backend.read(f"{name}/{ROOT}")
    document: JsonObject = json.loads(content or b"")
    return document


def _lasting(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a root document says, without what depends on where it was sealed."""
    attributes = document["attributes"]
    lasting = {key: attributes[key] for key in attributes if key not in OF_SEALING}
    return {**document, "attributes": lasting}


def _are_near(before: StoredStudy, after: StoredStudy, name: str, name_after: str) -> bool:
    """Whether all values of two datasets are equal within 1e-9."""
    first = results.load(before.store, name)
    second = results.load(after.store, name_after)
    if set(first.variables) != set(second.variables):
        return False
    for variable in first.variables:
        values = np.atleast_1d(first[variable].values)
        others = np.atleast_1d(second[variable].values)
        if values.dtype.kind != "f":
            if not np.array_equal(values, others):
                return False
        elif not near(values.reshape(1, -1), others.reshape(1, -1)):
            return False
    return True
