"""`task=archive`: finished studies as one zip file, which a stranger can check.

What is small is made first, in a folder of its own: the page, the tables, configs, records. Sealed
datasets are then read from where they are, file by file, each compared with its digest, and written
to the zip file as they are read. So memory is flat, and an archive that was interrupted goes on.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.execution.clusters import Cluster
from pipeline.execution.environment import environment
from pipeline.execution.schedule import failures
from pipeline.execution.sessions import RUNNING, for_others, sessions
from pipeline.identity import own_files
from pipeline.storage import results
from pipeline.storage.agreement import FOLDER as AGREED
from pipeline.storage.backend import ROOT, Backend
from pipeline.storage.contributions import FOLDER as MERGED
from pipeline.storage.datasets import FileDigest
from pipeline.storage.units import Damaged
from pipeline.storage.zip_files import PART, Busy, Entry, Written, ZipWriter, key_of
from pipeline.study.files import make_folders, read_regular, write_whole
from pipeline.study.parameters import DataFile, InvalidInput, path_of
from pipeline.study.study import Study
from pipeline.workflow import (
    archive_contents,
    archive_readme,
    protocol_record,
    provenance,
    report_record,
    reports,
    ro_crate,
)
from pipeline.workflow.archive_contents import ArchivedInvocation, ArchivedStudy, Manifest
from pipeline.workflow.archived_studies import OF_SUITES, RUN_FIRST, finished
from pipeline.workflow.events import Archived, Event
from pipeline.workflow.job import Job
from pipeline.workflow.requirements import requirements
from pipeline.workflow.ro_crate import Crate, Run
from pipeline.workflow.settings import Settings, Storage
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.wheel import file_of_program, wheel

KIND = ".zip"
DATASETS = {results.SEALED: "Every replication", results.SUMMARY: "Moments of the replications"}


@dataclass(frozen=True)
class ArchiveRequest:
    """What is to be archived, and where.

    names: of studies and suites in the folder of outputs, with commas between. files: of people's
    data, by path, items and truth; they are read, and stay where they are. licence: of the results,
    in words or by its address.
    """

    outputs: Path
    names: str | None
    save: str | None
    cluster: Cluster
    storage: Storage = Storage()
    files: Mapping[str, str] = field(default_factory=dict)
    licence: str = ""


def archive(request: ArchiveRequest, tell: Callable[[Event], None]) -> Archived:
    """Write the archive, or go on with one that was interrupted. Returns what was told last.

    Raises InvalidInput for a mistake, OSError for a disk that is full: what was written stays, and
    the same request goes on.
    """
    target = _target(request.save)
    studies = finished(request.outputs, request.names, request.storage, request.files)
    for stored in studies:
        _check_at_rest(stored)
    with tempfile.TemporaryDirectory(prefix="pipeline-archive-") as name:
        staged = Staged(Path(name), studies, request)
        staged.fill()
        archived = _written(target, staged)
    tell(archived)
    return archived


def _target(save: str | None) -> Path:
    """The zip file; InvalidInput for one that cannot be meant."""
    if save is None or not save.lower().endswith(KIND):
        raise InvalidInput("save", save, f"must be a file that ends with {KIND}, as study.zip")
    path = path_of(save, "save")
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise InvalidInput("save", save, "must be a file in a folder that is there")
    return path


def _check_at_rest(stored: StoredStudy) -> None:
    """Raise InvalidInput for a study that is being simulated."""
    if any(past.state == RUNNING for past in sessions(stored.store.folder)):
        raise InvalidInput(
            "studies", stored.store.folder.name, "is being simulated; wait until that run ends"
        )


class Staged:
    """The small files of an archive, in a folder, and what else goes into it.

    folder: where they are made. wheel: name of the file of the program.
    """

    def __init__(self, folder: Path, studies: Sequence[StoredStudy], request: ArchiveRequest):
        self.folder = folder
        self.studies = studies
        self.request = request
        self.places = [results.place(stored.store) for stored in studies]
        self.program = provenance.program()
        self.title = reports.title_of(studies)
        self.archived: list[ArchivedStudy] = []
        self.wheel = ""

    def fill(self) -> None:
        """Make all small files."""
        for stored, place in zip(self.studies, self.places, strict=True):
            self._add_study(stored, place)
        self._add_report()
        name, content = wheel()
        self.wheel = f"{archive_contents.PROGRAM}/{name}"
        self._put(self.wheel, content)
        packages, has_hashes = requirements()
        digest = hashlib.sha256(content).hexdigest()
        line = f"./{self.wheel} --hash=sha256:{digest}\n" if has_hashes else f"./{self.wheel}\n"
        self._put(archive_contents.REQUIREMENTS, (packages + line).encode())
        citation = file_of_program(archive_contents.CITATION)
        if citation is not None:
            self._put(archive_contents.CITATION, citation)
        manifest = self.manifest()
        self._put(archive_contents.MANIFEST, manifest.content())
        readme = archive_readme.text(manifest, has_hashes)
        self._put(archive_contents.README, readme.encode())

    def manifest(self) -> Manifest:
        """What the archive says of itself."""
        code = report_record.code_of(self.studies)
        return Manifest(self.title, self.program, code, environment(), self.archived)

    def entries(self) -> list[Entry]:
        """Everything that goes into the archive but its metadata, in order."""
        entries = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                name = path.relative_to(self.folder).as_posix()
                entries.append(_entry_of_file(name, path))
        for stored, study in zip(self.studies, self.archived, strict=True):
            for dataset in DATASETS:
                entries += _entries_of_dataset(stored, study, dataset)
        return entries

    def crate(self) -> Crate:
        """What the metadata say."""
        runs = []
        datasets = {}
        for stored, study in zip(self.studies, self.archived, strict=True):
            folders = []
            for dataset, meaning in DATASETS.items():
                folder = archive_contents.dataset_folder(study, dataset)
                folders.append(folder)
                datasets[folder] = f"{meaning} of {stored.study.name}"
            runs += _runs(stored, study, folders)
        return Crate(
            title=self.title or ", ".join(study.folder for study in self.archived),
            description=archive_readme.description(self.manifest()),
            program=self.program,
            wheel=self.wheel,
            runs=runs,
            datasets=datasets,
            licence=self.request.licence,
        )

    def _put(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content)

    def _add_study(self, stored: StoredStudy, place: str) -> None:
        """Make the small files of a study."""
        folder = f"{stored.study.name}-{stored.study.key}"
        where = f"{archive_contents.OUTPUTS}/{folder}"
        config = report_record.shown(stored.raw)
        self._put(f"{where}/{archive_contents.CONFIG}", config.encode())
        for name, content in for_others(stored.store.folder).items():
            self._put(f"{where}/sessions/{name}", content)
        for key in _keys_of_records(stored):
            content_or_none = stored.store.backend.read(key)
            if content_or_none is not None:
                self._put(f"{where}/{key}", content_or_none)
        for key, content in _failed(stored):
            self._put(f"{where}/{key}", content)
        protocol = protocol_record.path_for(stored.store)
        if protocol.exists():
            beside = Path(where).with_name(protocol.name)
            self._put(beside.as_posix(), read_regular(protocol))
        parts = {}
        for file in own_files.kept_beside_results():
            self._put(f"{where}/{file.name}", file.content)
        for file in own_files.loaded():
            parts[file.name] = file.sha256
        data = _digests_of_data(stored.study)
        archived = ArchivedStudy(folder, config_of(stored), place, data, parts)
        self.archived.append(archived)

    def _add_report(self) -> None:
        """Judge the claims and draw the figures on what is sealed; write the page."""
        where = self.folder / archive_contents.REPORT
        make_folders(where)
        folders = [
            self.folder / archive_contents.OUTPUTS / study.folder / study.place
            for study in self.archived
        ]
        write_report(where, self.studies, self.request.cluster, self.program, folders)


def write_report(
    where: Path,
    studies: Sequence[StoredStudy],
    cluster: Cluster,
    program: provenance.Program,
    folders: Sequence[Path],
) -> None:
    """Write the report of an archive: a function of what is in the archive. folders: of studies."""
    job = Job(tuple(studies), Settings(), cluster, ArchivedInvocation(()))
    with job.taking_notices():
        reports.write(where, job, program=program, folders=folders)


def config_of(stored: StoredStudy) -> dict[str, object]:
    """The config of a study as a manifest has it."""
    from pipeline.workflow import yaml_text

    config = yaml_text.load(report_record.shown(stored.raw))
    assert isinstance(config, dict)
    of_suite = {key: stored.raw[key] for key in OF_SUITES if key in stored.raw}
    return {**config, **of_suite}


def _digests_of_data(study: Study) -> dict[str, str]:
    """Digests of the files of people's data that a study was made of."""
    digests = {}
    for name, value in study.parameters.items():
        if isinstance(value, DataFile):
            digests[name.removeprefix("data_")] = value.sha256
    return digests


def _keys_of_records(stored: StoredStudy) -> Iterator[str]:
    """Keys of the records of writers, and of contributors."""
    store = stored.store
    for key in sorted(store.backend.keys(AGREED)):
        yield f"{AGREED}/{key}"
    for key in sorted(store.backend.keys(MERGED)):
        yield f"{MERGED}/{key}"


def _failed(stored: StoredStudy) -> Iterator[tuple[str, bytes]]:
    """Keys and files of the units that failed. Raises InvalidInput where one is damaged."""
    store = stored.store
    for unit in failures(store.listing()):
        key = store.key(*unit, failed=True)
        try:
            yield key, store.failure(*unit)
        except Damaged as error:
            raise store.invalid(f"is damaged ({error}); {results.REPAIR}", key) from None


def _runs(stored: StoredStudy, study: ArchivedStudy, folders: Sequence[str]) -> list[Run]:
    """The sessions of a study, as the metadata have them."""
    config = f"{archive_contents.OUTPUTS}/{study.folder}/{archive_contents.CONFIG}"
    runs = []
    for number, past in enumerate(sessions(stored.store.folder)):
        run = Run(study.folder, number, config, folders, past.started, past.seconds, past.state)
        runs.append(run)
    return runs


def _entry_of_file(name: str, path: Path) -> Entry:
    """A small file, as an entry."""
    return Entry(name, path.stat().st_size, lambda: iter([read_regular(path)]))


def _entries_of_dataset(stored: StoredStudy, study: ArchivedStudy, dataset: str) -> Iterator[Entry]:
    """The files of a sealed dataset, its root document last."""
    backend = stored.store.backend
    name = f"{study.place}{dataset}"
    digests = results.sealed_attributes(backend, name).get("files", {})
    sizes = backend.sizes(name)
    folder = archive_contents.dataset_folder(study, dataset)
    for key in sorted(digests):
        if key not in sizes:
            raise stored.store.invalid(f"is damaged ({key}: is missing); {results.REPAIR}", name)
        source = _Source(stored, f"{name}/{key}", sizes[key], digests[key])
        yield Entry(f"{folder}{key}", sizes[key], source.parts)
    root = _Source(stored, f"{name}/{ROOT}", sizes[ROOT], None)
    yield Entry(f"{folder}{ROOT}", sizes[ROOT], root.parts)


@dataclass(frozen=True)
class _Source:
    """A file of a sealed dataset, which is read part by part. digest: that it must have."""

    stored: StoredStudy
    key: str
    size: int
    digest: str | None

    def parts(self) -> Iterator[bytes]:
        """Its content. Raises InvalidInput at the end where it is not what was written."""
        backend: Backend = self.stored.store.backend
        digest = FileDigest()
        for start in range(0, self.size, PART):
            part = backend.read(self.key, start, min(start + PART, self.size)) or b""
            digest.add(part)
            yield part
        if self.digest is not None and digest.text() != self.digest:
            raise self.stored.store.invalid(f"is damaged; {results.REPAIR}", self.key)


def _written(target: Path, staged: Staged) -> Archived:
    """Write all entries, then the metadata."""
    stamps = _stamps(staged)
    entries = staged.entries()
    plan = [f"{entry.name} {entry.size}" for entry in entries]
    small = [hashlib.sha256(part).hexdigest() for part in _small_parts(staged.folder)]
    try:
        with ZipWriter(target, key_of([*plan, *small, *stamps])) as writer:
            written: list[Written] = [writer.add(entry) for entry in entries]
            metadata = ro_crate.metadata_of(staged.crate(), written)
            writer.add(Entry(ro_crate.NAME, len(metadata), lambda: iter([metadata])))
            if _stamps(staged) != stamps:
                allowed = f"was sealed again while it was archived; {RUN_FIRST}"
                raise InvalidInput("studies", staged.request.names, allowed)
            writer.finish()
    except Busy as error:
        raise InvalidInput("save", str(target), str(error)) from None
    size = sum(file.size for file in written)
    return Archived(target, len(staged.studies), len(written), size, writer.resumed)


def _small_parts(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield read_regular(path)


def _stamps(staged: Staged) -> list[str]:
    """Digests of the root documents of all datasets, which change when a study is sealed again."""
    stamps = []
    for stored, place in zip(staged.studies, staged.places, strict=True):
        for dataset in DATASETS:
            attributes = results.sealed_attributes(stored.store.backend, f"{place}{dataset}")
            stamps.append(str(attributes.get("digest")))
    return stamps
