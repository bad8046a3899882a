"""`task=reproduce`: an archive checked on another machine, with a bound on what could be false.

Units are drawn by a number that this machine makes, so that whoever made the archive could not know
which. Everything else is made again from the stored numbers, by the code that is here.
"""

import csv
import dataclasses
import hashlib
import io
import math
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pipeline.execution.clusters import Cluster, workers_of
from pipeline.execution.environment import environment
from pipeline.execution.schedule import COST_OF_A_SECOND
from pipeline.identity import own_files
from pipeline.storage import results
from pipeline.study.errors import PipelineError
from pipeline.study.files import read_regular
from pipeline.study.parameters import InvalidInput, shorten
from pipeline.workflow import archive_contents, archive_readme, report_record, reports
from pipeline.workflow.archive import write_report
from pipeline.workflow.archive_contents import ArchivedStudy
from pipeline.workflow.archive_reader import Unpacked, check_archive, unpack
from pipeline.workflow.archived_numbers import (
    ArchivedNumbers,
    differences,
    sealed_anew,
    units_of,
)
from pipeline.workflow.archived_studies import study_of
from pipeline.workflow.events import Event, PartChecked, Reproduced
from pipeline.workflow.likeness import same
from pipeline.workflow.recomputed_units import CONFIDENCE, Compared, Numbered, compare
from pipeline.workflow.rounds import continued
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.wheel import has_code_of_here

LEAST = 60  # units that are drawn at least: 5 % of false ones are then found with 95 % confidence
FEW_SECONDS = 20.0  # of predicted work, for which no workers are started
LONGEST_REASON = 200  # letters of why an archive cannot be read
PAGE = "report.html"
TABLES = ("verdicts.csv", "summary.csv")


@dataclass(frozen=True)
class ReproduceRequest:
    """What is to be checked. share: of all units, that are simulated again, 60 at least.

    files: of people's data, by path, items and truth, for studies that were made of such.
    """

    archive: str | None
    cluster: Cluster
    share: float = 0.01
    files: Mapping[str, str] = field(default_factory=dict)


def reproduce(
    request: ReproduceRequest, tell: Callable[[Event], None], nonce: str | None = None
) -> Reproduced:
    """Check an archive; nothing is kept. nonce: draws the units; None: made here, as it should be.

    Raises InvalidInput for what is no archive, and where files of data or parts are missing.
    """
    nonce = nonce or secrets.token_hex(16)
    check_archive(request.archive)
    with tempfile.TemporaryDirectory(prefix="pipeline-reproduce-") as name:
        folder = Path(name)
        check = _Check(request, tell, unpack(request.archive, folder / "archive"), nonce)
        with _whatever_it_holds(request.archive):
            reproduced = check.run(folder / "again")
    tell(reproduced)
    return reproduced


def checked_share(share: float, typed: object = None) -> float:
    """A share of all units. typed: as a person typed it. Raises InvalidInput for another number."""
    if not 0 < share <= 1:
        value = share if typed is None else typed
        raise InvalidInput("share", value, "must be a share of all units, as 1% or 0.01")
    return share


@contextmanager
def _whatever_it_holds(archive: str | None) -> Iterator[None]:
    """Within this, an error that the files of an archive cause is one line.

    Its digests may fit, and its files say what no program has written. Errors of the machine and of
    a person are raised as they are.
    """
    try:
        yield
    except (PipelineError, OSError, MemoryError):
        raise
    except Exception as error:
        reason = shorten(f"{type(error).__name__}: {error}", LONGEST_REASON)
        allowed = f"has files that no program of this kind has written ({reason})"
        raise InvalidInput("archive", archive, allowed) from error


class _Check:
    """The check of one unpacked archive, part by part."""

    def __init__(
        self,
        request: ReproduceRequest,
        tell: Callable[[Event], None],
        unpacked: Unpacked,
        nonce: str,
    ):
        self.request = request
        self.unpacked = unpacked
        self.nonce = nonce
        self.parts: list[PartChecked] = []
        self._tell = tell

    def run(self, again: Path) -> Reproduced:
        """Check files, units, results, verdicts, figures and page."""
        unpacked = self.unpacked
        sound_files = unpacked.files - len(unpacked.wrong)
        self._add("files", sound_files, unpacked.files, unpacked.wrong)
        studies = [self._study(archived) for archived in unpacked.manifest.studies]
        numbers = [ArchivedNumbers(stored) for stored in studies]
        units = self._units(numbers)
        # Units may be equal to the last bit where fits of claims, and so the page, are not.
        is_made_alike = dict(unpacked.manifest.arithmetic) == environment()
        exactly = is_made_alike and units.close == 0
        sealed = self._sealed_anew(numbers, again, exactly)
        self._check_report(sealed, again, exactly)
        return Reproduced(
            archive=Path(str(self.request.archive)).name,
            title=unpacked.manifest.title,
            nonce=self.nonce,
            parts=tuple(self.parts),
            units=units.units,
            drawn=units.drawn,
            close=units.close,
            exactly=exactly,
            confidence=CONFIDENCE,
            most_false=units.most_false,
        )

    def _add(self, part: str, equal: int, total: int, wrong: Sequence[str]) -> None:
        checked = PartChecked(part, equal, total, tuple(wrong))
        self.parts.append(checked)
        self._tell(checked)

    def _study(self, archived: ArchivedStudy) -> StoredStudy:
        """A study of the archive, as its config and its results have it."""
        _check_parts(archived)
        outputs = self.unpacked.folder / archive_contents.OUTPUTS
        stored = study_of(archived.config, Settings(outputs=str(outputs)), self.request.files)
        whole = continued(stored)
        attributes = results.attributes(whole.store)
        folder = f"{whole.study.name}-{whole.study.key}"
        is_archived = attributes.get("request") == results.request(whole.study)
        is_in_place = (folder, results.place(whole.store)) == (archived.folder, archived.place)
        if not is_in_place or not is_archived:
            allowed = (
                f"its results are not those of {archived.folder} as its config says, with this "
                "program and these files of data"
            )
            raise InvalidInput("archive", self.request.archive, allowed)
        return whole

    def _units(self, numbers: Sequence[ArchivedNumbers]) -> Compared:
        """Draw units, simulate them, and compare."""
        sizes = [int(of_study.counted.sum()) for of_study in numbers]
        drawn = drawn_units(numbers, self.request.share, self.nonce, self._digest())
        costs = [numbers[unit.study].study.costs[unit.unit.cell] for unit in drawn]
        seconds = float(sum(costs)) / COST_OF_A_SECOND
        studies = [of_study.study for of_study in numbers]
        with workers_of(self.request.cluster, seconds > FEW_SECONDS) as executor:
            units = compare(
                studies,
                drawn,
                lambda unit: numbers[unit.study].record(unit.unit),
                executor,
                sum(sizes),
            )
        self._add("units", units.equal, units.drawn, units.false)
        return units

    def _digest(self) -> str:
        """Digest of what the archive says of itself, so that one nonce draws differently."""
        manifest = self.unpacked.folder / archive_contents.MANIFEST
        return hashlib.sha256(read_regular(manifest)).hexdigest()

    def _sealed_anew(
        self, numbers: Sequence[ArchivedNumbers], again: Path, exactly: bool
    ) -> list[StoredStudy]:
        """Seal all studies anew, and compare."""
        sealed = []
        wrong: list[str] = []
        outputs = again / archive_contents.OUTPUTS
        with workers_of(self.request.cluster, False) as executor:
            for of_study in numbers:
                after = sealed_anew(of_study, outputs, executor)
                wrong += differences(of_study.stored, after, exactly)
                sealed.append(after)
        total = 2 * len(sealed)
        self._add("results and summaries", total - len(wrong), total, wrong)
        return sealed

    def _check_report(self, sealed: Sequence[StoredStudy], again: Path, exactly: bool) -> None:
        """Make the report again, and compare verdicts, figures, tables and page."""
        manifest = self.unpacked.manifest
        where = again / archive_contents.REPORT
        where.mkdir(parents=True)
        outputs = again / archive_contents.OUTPUTS
        folders = [outputs / study.folder / study.place for study in manifest.studies]
        write_report(where, sealed, self.request.cluster, manifest.program, folders)
        before = self.unpacked.folder / archive_contents.REPORT
        total, wrong_verdicts = _verdicts(before, where)
        self._add("verdicts", total - len(wrong_verdicts), total, wrong_verdicts)
        if manifest.code != report_record.code_of(sealed):
            line = f"were made by another program, version {manifest.program.version}"
            self._add("figures and page", 0, 1, [f"figures and page {line}: not compared"])
            return
        figures = _names(before / "figures") | _names(where / "figures")
        self._add_files("figures", before / "figures", where / "figures", figures, exactly)
        self._add_files("page and tables", before, where, {PAGE, *TABLES}, exactly)
        self._add_texts(sealed)

    def _add_texts(self, sealed: Sequence[StoredStudy]) -> None:
        """Compare what the archive says of itself with what this program would say."""
        unpacked = self.unpacked
        manifest = dataclasses.replace(unpacked.manifest, title=reports.title_of(sealed))
        pages = [archive_readme.text(manifest, has_hashes) for has_hashes in (True, False)]
        allowed = {archive_contents.README: pages}
        for stored, study in zip(sealed, manifest.studies, strict=True):
            name = f"{archive_contents.OUTPUTS}/{study.folder}/{archive_contents.CONFIG}"
            allowed[name] = [report_record.shown(stored.raw)]
        wrong = []
        for name, texts in allowed.items():
            path = unpacked.folder / name
            if not path.is_file() or read_regular(path) not in [text.encode() for text in texts]:
                wrong.append(f"{name}: is not what this program writes for these studies")
        wrong += _wrong_code(unpacked.folder)
        total = len(allowed) + 1
        self._add("descriptions and program", total - len(wrong), total, wrong)

    def _add_files(
        self, part: str, before: Path, after: Path, names: set[str], exactly: bool
    ) -> None:
        wrong = [
            f"{name}: is not what the stored numbers give"
            for name in sorted(names)
            if not same(before / name, after / name, exactly)
        ]
        self._add(part, len(names) - len(wrong), len(names), wrong)


def drawn_units(
    numbers: Sequence[ArchivedNumbers], share: float, nonce: str, digest: str
) -> list[Numbered]:
    """Units drawn without replacement from those of all studies, by a nonce."""
    sizes = [int(of_study.counted.sum()) for of_study in numbers]
    total = sum(sizes)
    wanted = min(max(math.ceil(share * total), LEAST), total)
    seed = int(hashlib.sha256(f"{nonce} {digest}".encode()).hexdigest(), 16)
    chosen = np.sort(np.random.default_rng(seed).choice(total, wanted, replace=False))
    drawn = []
    start = 0
    for number, of_study in enumerate(numbers):
        inside = chosen[(chosen >= start) & (chosen < start + sizes[number])] - start
        units = list(units_of(of_study.counted))
        drawn += [Numbered(number, units[int(place)]) for place in inside]
        start += sizes[number]
    return drawn


def _check_parts(archived: ArchivedStudy) -> None:
    """Raise InvalidInput where a person's files of parts are not loaded: none is run unasked."""
    loaded = {file.sha256 for file in own_files.loaded()}
    for name, digest in archived.parts.items():
        if digest not in loaded:
            path = f"{archive_contents.OUTPUTS}/{archived.folder}/{name}"
            allowed = (
                f"has parts of its authors in {path}: unzip it, read it, and give it with "
                f"--with={name}"
            )
            raise InvalidInput("archive", archived.folder, allowed)


def _verdicts(before: Path, after: Path) -> tuple[int, list[str]]:
    """How many verdicts there are, and those that differ."""
    first = _rows(before / TABLES[0])
    second = _rows(after / TABLES[0])
    wrong = []
    for key in sorted({*first, *second}):
        was = first.get(key, "missing")
        is_now = second.get(key, "missing")
        if was != is_now:
            wrong.append(f"{' '.join(key)}: says {was}, the stored numbers say {is_now}")
    return len({*first, *second}), wrong


def _rows(table: Path) -> dict[tuple[str, str], str]:
    """(study, claim) -> verdict, of a table of verdicts."""
    rows: dict[tuple[str, str], str] = {}
    if not table.is_file():
        return rows
    text = read_regular(table).decode()
    for row in csv.DictReader(io.StringIO(text, newline="")):
        rows[row.get("section", ""), row.get("id", "")] = row.get("verdict", "")
    return rows


def _wrong_code(folder: Path) -> list[str]:
    """A line if the program in an archive is not the one that runs here, else nothing."""
    wheels = sorted((folder / archive_contents.PROGRAM).glob("*.whl"))
    names = ", ".join(path.name for path in wheels) or archive_contents.PROGRAM
    if len(wheels) == 1 and has_code_of_here(wheels[0]):
        return []
    return [f"{names}: is not the program that checks it here"]


def _names(folder: Path) -> set[str]:
    """Names of the files in a folder."""
    if not folder.is_dir():
        return set()
    return {path.name for path in folder.iterdir() if path.is_file()}
