"""`task=verify`: check every stored byte of a study.

And `task=verify results=PATH`, of a copy of its results alone.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.execution import sessions, sweep
from pipeline.execution.clusters import Cluster, Executor, workers_of
from pipeline.execution.reduction import Check, Digest
from pipeline.execution.schedule import Schedule
from pipeline.storage import agreement, efforts, results
from pipeline.storage.datasets import ZarrLocation
from pipeline.storage.folder import Folder
from pipeline.storage.integrity import LEFT_OVER, Damage, Integrity
from pipeline.study.parameters import InvalidInput, path_of, shorten
from pipeline.workflow import own_experiments, reports
from pipeline.workflow.reduce import worth_a_cluster
from pipeline.workflow.sealed import is_current
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, agree

OF_REPORT = "it or another file of this report is not as it was written; task=report makes it anew"
LONGEST = 300  # characters of what is printed of a damage


def verify(studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster) -> int:
    """Check every file of every study, and repair if asked to; returns the exit code.

    Raises InvalidInput where the code here computes other numbers than those stored.
    """
    code = max(_verify(stored, settings, cluster) for stored in studies)
    for stored in studies if code == EXIT_DONE else ():
        agree(stored, Schedule(stored.study, stored.store.listing()), settings, cluster)
    return code


def verify_copy(path: str) -> int:
    """Check a copy of a study's results, by the digests that it holds; returns the exit code."""
    folder = path_of(path, "results")
    if not (folder / "zarr.json").is_file():
        raise InvalidInput(
            "results", path, "must be a folder with a copy of results.zarr; it has no zarr.json"
        )
    wrong = results.problems_of(Folder(folder.parent), folder.name)
    for one in wrong:
        print(f"  damaged: {one}")
    print(
        f"{folder}: {len(wrong)} damaged files"
        if wrong
        else f"{folder}: every byte is as it was written"
    )
    return EXIT_FAILED if wrong else EXIT_DONE


def _verify(stored: StoredStudy, settings: Settings, cluster: Cluster) -> int:
    """Check one study, print what is damaged, repair it if asked to; returns the exit code."""
    if not settings.repair and not _begun(stored):
        raise InvalidInput(
            "task", "verify", f"{stored.study.name} is not begun; nothing at {stored.store.backend}"
        )
    integrity = Integrity(stored.store)
    files = integrity.files()
    with workers_of(cluster, worth_a_cluster([stored])) as executor:
        damages = _damages(stored, integrity, files, executor)
    for line in damages.lines():
        print(f"  damaged: {line}")
    if settings.repair:
        _repair(stored, integrity, damages)
    count = len([*damages.lines()])
    print(
        f"{stored.study.name}: {integrity.units(files):,} units checked, {count} damaged"
        + (
            f", {count} repaired: run again to simulate them anew"
            if settings.repair and count
            else ""
        )
        + ("; repair=true marks them as not run" if count and not settings.repair else "")
    )
    return EXIT_DONE if count == 0 or settings.repair else EXIT_FAILED


class Damages(NamedTuple):
    """What is damaged of a study: files of its replications, of its sealed datasets, and records of
    its sessions.

    Records are also those of what units took. reports: records of reports of which a file is not
    as it was written, such as the copy of a person's file beside it.
    """

    replications: list[Damage]
    datasets: list[str]
    records: list[str]
    reports: list[str]

    def lines(self) -> Iterator[str]:
        """One line for each file."""
        yield from (
            f"{shorten(damage.key, LONGEST)}: {damage.fault}" for damage in self.replications
        )
        others = [
            *self.datasets,
            *(f"{record}: is not what this program wrote" for record in self.records),
            *(f"{record}: {OF_REPORT}" for record in self.reports),
        ]
        yield from (shorten(line, LONGEST) for line in others)


def _damages(
    stored: StoredStudy, integrity: Integrity, files: list[str], executor: Executor
) -> Damages:
    """All damages of a study.

    Its datasets are not read where replications are damaged: they are made again.
    """
    replications = [
        *integrity.strays(),
        *agreement.damaged(stored.store),
        *_damaged(integrity, files, executor),
    ]
    return Damages(
        replications,
        [] if replications else _wrong_results(stored, executor),
        [*sessions.damaged(stored.store.folder), *efforts.damaged(stored.store)],
        _changed_reports(stored),
    )


def _changed_reports(stored: StoredStudy) -> list[str]:
    """Records of the study's reports of which it or another file is not as it was written."""
    folder = stored.store.folder
    changed = []
    for where in ("", f"{results.REQUESTS}/*/"):
        for record in sorted(folder.glob(where + own_experiments.RECORD)):
            if not reports.is_whole(record.parent):
                changed.append(record.relative_to(folder).as_posix())
    return changed


def _repair(stored: StoredStudy, integrity: Integrity, damages: Damages) -> None:
    """Remove damaged records, and sealed datasets whose own or whose replications' files are
    damaged.

    A report without a record is made again by the next run.
    """
    for record in (*damages.records, *damages.reports):
        (stored.store.folder / record).unlink(missing_ok=True)
    stored.store.backend.delete(
        *(record for record in damages.records if record.startswith(f"{efforts.FOLDER}/"))
    )
    lost = [
        damage for damage in damages.replications if damage.fault != LEFT_OVER
    ]  # results do not depend on others
    if damages.replications or damages.datasets:
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
    both = (results.SEALED, results.SUMMARY)

    def digests_of(location: ZarrLocation, keys: list[str]) -> list[str]:
        found: dict[str, str] = {}
        sweep.run(
            executor,
            Digest(stored.store, location.key),
            ((key, 1.0) for key in keys),
            on_done=lambda some, *_: found.update(some),
        )
        return [found[key] for key in keys]

    own = results.place(stored.store) if is_current(stored.store) else None
    names = [
        where + name
        for where in results.places(backend)
        for name in both
        if where == own or any(backend.keys(where + name))
    ]
    wrong = [
        f"{name}/{one}"
        for name in names
        for one in results.problems_of(backend, name, digests_of=digests_of)
    ]
    return wrong or [
        line for where in results.places(backend) for line in _misplaced(stored, where)
    ]


def _misplaced(stored: StoredStudy, where: str) -> list[str]:
    """Sound results that belong elsewhere: to another study, or to another request than that of
    their folder.
    """
    attributes = results.root_attributes(stored.store.backend, where)
    root = f"{where}{results.SEALED}/zarr.json"
    if not attributes:
        return []
    if attributes["study"] != json.dumps(stored.study.identity, sort_keys=True):
        return [f"{root}: is of another study"]
    if where and where != f"{results.REQUESTS}/{attributes['request']}/":
        return [f"{root}: is of another request"]
    return []


def _damaged(integrity: Integrity, files: list[str], executor: Executor) -> Iterator[Damage]:
    """Damages of the files of units."""
    damaged: list[Damage] = []

    def collect(damages: list[Damage | None], *_: Any) -> None:
        damaged.extend(damage for damage in damages if damage)

    sweep.run(
        executor,
        Check(integrity),
        ((key, 1.0) for key in files),
        total_cost=float(len(files)),
        on_done=collect,
    )
    yield from sorted(damaged)
