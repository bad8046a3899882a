"""`task=verify`: check every stored byte of a study, or of a copy of its results alone.

`verify` yields what it found of each study as soon as that is checked.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution import sessions, sweep
from pipeline.execution.clusters import Cluster, Executor, workers_of
from pipeline.execution.reduction import Digest, FileCheck
from pipeline.execution.schedule import Schedule
from pipeline.storage import agreement, contributions, efforts, results
from pipeline.storage.datasets import ZarrLocation
from pipeline.storage.folder import Folder
from pipeline.storage.integrity import LEFT_OVER, Damage, Integrity
from pipeline.study.parameters import InvalidInput, path_of, shorten
from pipeline.workflow import own_experiments, report_record
from pipeline.workflow.reduce import worth_a_cluster
from pipeline.workflow.sealed import is_current
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, check_code

OF_REPORT = "it or another file of this report is not as it was written; task=report makes it anew"
LONGEST = 300  # characters of what is said of a damage
DATASETS = (results.SEALED, results.SUMMARY)


@dataclass(frozen=True)
class Damages:
    """What is damaged of a study: files of its replications, of its sealed datasets, and records of
    its sessions.

    Records are also those of what units took. reports: records of reports of which a file is not
    as it was written, such as the copy of a person's file beside it.
    """

    replications: Sequence[Damage]
    datasets: Sequence[str]
    records: Sequence[str]
    reports: Sequence[str]

    def lines(self) -> list[str]:
        """One line for each file."""
        lines = [f"{shorten(damage.key, LONGEST)}: {damage.fault}" for damage in self.replications]
        lines += [shorten(line, LONGEST) for line in self.datasets]
        for record in self.records:
            lines.append(shorten(f"{record}: is not what this program wrote", LONGEST))
        for record in self.reports:
            lines.append(shorten(f"{record}: {OF_REPORT}", LONGEST))
        return lines


@dataclass(frozen=True)
class Verified:
    """What the check of one study found. study: its name; units: how many were checked.

    repaired: whether damaged units were marked as not run.
    """

    study: str
    units: int
    damages: Damages
    repaired: bool

    @property
    def sound(self) -> bool:
        """Whether every byte is as it was written."""
        return not self.damages.lines()


@dataclass(frozen=True)
class VerifiedCopy:
    """What the check of a copy of results found: a line for each damaged file."""

    folder: Path
    damaged: Sequence[str]


def verify(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster
) -> Iterator[Verified]:
    """Check every file of every study, and repair with `settings.repair`.

    Where all are sound or repaired, the code here is compared last. Raises InvalidInput where it
    computes other numbers than those stored.
    """
    failed = False
    for stored in studies:
        verified = _verify(stored, settings.repair, cluster)
        failed = failed or not (verified.sound or verified.repaired)
        yield verified
    if failed:
        return
    for stored in studies:
        check_code(stored, Schedule(stored.study, stored.store.listing()), settings, cluster)


def verify_copy(path: str) -> VerifiedCopy:
    """Check a copy of a study's results, by the digests that it holds."""
    folder = path_of(path, "results")
    if not (folder / "zarr.json").is_file():
        raise InvalidInput(
            "results", path, "must be a folder with a copy of results.zarr; it has no zarr.json"
        )
    return VerifiedCopy(folder, list(results.problems_of(Folder(folder.parent), folder.name)))


def _verify(stored: StoredStudy, repair: bool, cluster: Cluster) -> Verified:
    """Check one study, and repair what is damaged if that is wanted."""
    if not repair and not _begun(stored):
        raise InvalidInput(
            "task", "verify", f"{stored.study.name} is not begun; nothing at {stored.store.backend}"
        )
    integrity = Integrity(stored.store)
    files = integrity.files()
    with workers_of(cluster, worth_a_cluster([stored])) as executor:
        damages = _damages(stored, integrity, files, executor)
    if repair:
        _repair(stored, integrity, damages)
    return Verified(stored.study.name, integrity.units(files), damages, repair)


def _damages(
    stored: StoredStudy, integrity: Integrity, files: list[str], executor: Executor
) -> Damages:
    """All damages of a study.

    Its datasets are not read where replications are damaged: they are made again.
    """
    replications = [
        *integrity.strays(),
        *agreement.damaged(stored.store),
        *contributions.damaged(stored.store),
        *_damaged(integrity, files, executor),
    ]
    datasets = [] if replications else _wrong_results(stored, executor)
    return Damages(
        replications,
        datasets,
        [*sessions.damaged(stored.store.folder), *efforts.damaged(stored.store)],
        _changed_reports(stored),
    )


def _changed_reports(stored: StoredStudy) -> list[str]:
    """Records of the study's reports of which it or another file is not as it was written."""
    folder = stored.store.folder
    changed: list[str] = []
    for where in ("", f"{results.REQUESTS}/*/"):
        changed.extend(
            record.relative_to(folder).as_posix()
            for record in sorted(folder.glob(where + own_experiments.RECORD))
            if not report_record.is_whole(record.parent)
        )
    return changed


def _repair(stored: StoredStudy, integrity: Integrity, damages: Damages) -> None:
    """Remove damaged records, damaged files of replications, and sealed datasets where their own
    files or those of replications are damaged.

    A report without a record is made again by the next run.
    """
    for record in (*damages.records, *damages.reports):
        (stored.store.folder / record).unlink(missing_ok=True)
    of_units = [record for record in damages.records if record.startswith(f"{efforts.FOLDER}/")]
    stored.store.backend.delete(*of_units)
    if not damages.replications and not damages.datasets:
        return
    # Results do not depend on what was left over.
    lost = [damage for damage in damages.replications if damage.fault != LEFT_OVER]
    with stored.store.locked():
        if lost or damages.datasets:
            results.unseal(stored.store)
        for damage in damages.replications:
            integrity.repair(damage)


def _begun(stored: StoredStudy) -> bool:
    return stored.store.backend.read("replications/study.json") is not None or bool(
        Integrity(stored.store).files()
    )


def _wrong_results(stored: StoredStudy, executor: Executor) -> list[str]:
    """What is wrong with the sealed datasets, if there are any."""
    backend = stored.store.backend

    def digests_of(location: ZarrLocation, keys: list[str]) -> list[str]:
        digests: dict[str, str] = {}
        sweep.run(
            executor,
            Digest(stored.store, location.key),
            ((key, 1.0) for key in keys),
            on_done=lambda some, *_: digests.update(some),
        )
        return [digests[key] for key in keys]

    wrong = []
    for name in _names_of_datasets(stored):
        problems = results.problems_of(backend, name, digests_of=digests_of)
        wrong += [f"{name}/{problem}" for problem in problems]
    if wrong:
        return wrong
    misplaced = []
    for place in results.places(backend):
        misplaced += _misplaced(stored, place)
    return misplaced


def _names_of_datasets(stored: StoredStudy) -> list[str]:
    """Datasets that must be there, as they are this request's, or are there."""
    backend = stored.store.backend
    current = results.place(stored.store) if is_current(stored.store) else None
    names: list[str] = []
    for place in results.places(backend):
        names.extend(
            place + dataset
            for dataset in DATASETS
            if place == current or any(backend.keys(place + dataset))
        )
    return names


def _misplaced(stored: StoredStudy, where: str) -> list[str]:
    """Sound results that belong elsewhere: to another study, or to another request than that of
    their folder.
    """
    attributes = results.root_attributes(stored.store.backend, where)
    root = f"{where}{results.SEALED}/zarr.json"
    if not attributes:
        return []
    if attributes["study"] != json.dumps(stored.study.description, sort_keys=True):
        return [f"{root}: is of another study"]
    if where and where != f"{results.REQUESTS}/{attributes['request']}/":
        return [f"{root}: is of another request"]
    return []


def _damaged(integrity: Integrity, files: list[str], executor: Executor) -> Iterator[Damage]:
    """Damages of the files of units."""
    damaged: list[Damage] = []

    def collect(damages: list[Damage | None], *_: object) -> None:
        damaged.extend(damage for damage in damages if damage)

    sweep.run(
        executor,
        FileCheck(integrity),
        ((key, 1.0) for key in files),
        bundling=sweep.Bundling(total_cost=float(len(files))),
        on_done=collect,
    )
    yield from sorted(damaged)
