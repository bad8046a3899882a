"""`task=list` and `task=remove`: the finished studies in the folder of outputs, from their files
alone.
"""

import csv
import html
import io
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.execution.amounts import format_bytes
from pipeline.execution.sessions import sessions
from pipeline.storage.file_locks import lock_at_once
from pipeline.storage.folder import SWEEPS, Folder, locked
from pipeline.storage.replications import DESCRIPTION, RAW
from pipeline.storage.results import REQUESTS, SEALED, root_attributes
from pipeline.study.files import open_to_lock, read_regular, write_whole
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.workflow.own_experiments import RECORD
from pipeline.workflow.report_record import OF_FILES, OF_RESULTS, finished_size, is_whole
from pipeline.workflow.variants import in_words as variants_in_words

INDEX = "index.html"
# Which an index page names, so that no page of somebody else is overwritten.
GENERATOR = "pipeline task=list"
SUITE = "suite-"
OTHER = "other"  # part of a folder that is none of PARTS
LONGEST_HEAD = 10_000  # bytes of a page in which its title is looked for


@dataclass(frozen=True)
class StudyPart:
    """A part of a study that may be deleted. starts: of its files; cost: of deleting it."""

    starts: tuple[str, ...]
    cost: str


PARTS = {
    "units": StudyPart(
        ("replications", "efforts"),
        "once sealed and if no more replications are wanted: results and report stay, "
        "but run and report of that study simulate it again from the start",
    ),
    "results": StudyPart(
        ("results.zarr", "summary.zarr"), "made again from the units, nothing is simulated"
    ),
    "report": StudyPart(
        ("report.html", "figures", "summary.csv", "verdicts.csv"),
        "made again from the results in seconds",
    ),
    "temporary": StudyPart(
        ("interim", "reductions"), "of unfinished studies; made again when they are needed"
    ),
}


@dataclass(frozen=True)
class Shelved:
    """A study, or the report of a suite, in the folder of outputs. name: of its folder, relative to
    that of outputs.

    state: sealed, not sealed, report only (arrays in a bucket), interim (a report beside a finished
    one) or suite. verdicts: word -> number of claims. changed: whether files of its report are not
    as they were written; no verdicts are read from them. when: last session, UTC; empty without
    one. parts: name of PARTS, or other -> bytes. picture: first figure, of its own report or that
    of a suite, relative to the folder of outputs; empty without one. variant: what differs from the
    experiment, or from other studies of its name, in words; empty where nothing does.
    """

    name: str
    path: Path
    title: str
    state: str
    replications: int
    verdicts: dict[str, int]
    parts: dict[str, int]
    when: str
    picture: str
    changed: bool
    variant: str = ""

    @property
    def size(self) -> int:
        """Bytes on disk, without the results of smaller requests, which have their own line."""
        return sum(self.parts.values())

    @property
    def sizes(self) -> str:
        """`units 1.20 MiB, results 300.00 kiB`: the parts that may be deleted."""
        return ", ".join(
            f"{part} {format_bytes(size)}" for part, size in self.parts.items() if part in PARTS
        )

    @property
    def tally(self) -> str:
        """`25 supported, 1 contradicted`."""
        if self.changed:
            return "files of its report were changed; task=report writes them again"
        return ", ".join(f"{n} {word}" for word, n in self.verdicts.items())

    @property
    def page(self) -> str:
        """Its report, relative to the folder of outputs; empty without one."""
        return f"{self.name}/report.html" if (self.path / "report.html").exists() else ""


@dataclass(frozen=True)
class DeletablePart:
    """A part that may be deleted, over all studies. name: of PARTS; size: bytes."""

    name: str
    starts: tuple[str, ...]
    size: int
    cost: str


@dataclass(frozen=True)
class Shelf:
    """All studies of a folder of outputs. page: with their pictures; None where there are none.

    page_is_foreign: whether a file that this program did not write is in the page's place.
    """

    outputs: Path
    studies: Sequence[Shelved]
    page: Path | None = None
    page_is_foreign: bool = False

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(study.size for study in self.studies)

    @property
    def deletable(self) -> list[DeletablePart]:
        """Every part that is there."""
        parts = []
        for name, part in PARTS.items():
            size = sum(study.parts.get(name, 0) for study in self.studies)
            if size:
                parts.append(DeletablePart(name, part.starts, size, part.cost))
        return parts


@dataclass(frozen=True)
class Removed:
    """A study that was removed, or would be. sure: whether it was."""

    study: Shelved
    sure: bool


def shelved(outputs: Path) -> list[Shelved]:
    """All studies and suites below a folder, by name; anything else is passed over."""
    folders = _folders(outputs)
    reports = sorted(folder for folder in folders if is_whole(folder))
    variants = variants_in_words(sorted(folders))
    studies = []
    for folder in sorted(folders):
        study = _shelved(outputs, folder, reports)
        studies.append(replace(study, variant=variants[folder]))
    return studies


def _folders(outputs: Path) -> set[Path]:
    """Folders of studies, of suites' reports, and of smaller requests."""
    folders = set[Path]()
    for deep in ("*", "*/*"):
        for name in (DESCRIPTION, f"{SEALED}/zarr.json"):
            folders.update(path.parent.parent for path in outputs.glob(f"{deep}/{name}"))
        for record in outputs.glob(f"{deep}/{RECORD}"):
            if _says(record, OF_FILES):
                folders.add(record.parent)
    for folder in list(folders):
        folders.update(path for path in folder.glob(f"{REQUESTS}/*") if _is_request(path))
    return folders


def _is_request(folder: Path) -> bool:
    """Whether a folder has results or a report of a smaller request."""
    return (folder / SEALED).exists() or _says(folder / RECORD, OF_FILES)


def _shelved(outputs: Path, folder: Path, reports: Sequence[Path]) -> Shelved:
    """One study. reports: folders whose reports are as they were written.

    What its own lacks, that of a suite has.
    """
    name = folder.relative_to(outputs).as_posix()
    attributes = root_attributes(Folder(folder))
    past = sessions(folder)
    places = list(_places(folder, name, reports))
    title = attributes.get("title") or _title(folder / "report.html") or name
    return Shelved(
        name=name,
        path=folder,
        title=str(title),
        state=_state(folder, name, sealed=bool(attributes)),
        replications=int(attributes.get("replications") or 0),
        verdicts=_first_verdicts(places),
        picture=_first_picture(outputs, places),
        parts=_parts(folder),
        changed=folder not in reports and (folder / "report.html").exists(),
        when=past[-1].started[:16] if past else "",
    )


def _state(folder: Path, name: str, sealed: bool) -> str:
    """The state of a folder in words; see `Shelved`."""
    if name.startswith(SUITE):
        return "suite"
    if sealed:
        return "sealed"
    if (folder / RAW).exists():
        return "not sealed"
    if finished_size(folder / RECORD):
        return "report only"
    return "interim"


def _places(folder: Path, name: str, reports: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Reports on a study: its own first, then those of suites, with the study's name in them.

    A suite may be about another study of the same name: it counts if it was made of these results.
    """
    if folder in reports:
        yield folder, ""
    stamp = Folder(folder).stamp(f"{SEALED}/zarr.json")
    if not stamp:
        return
    for report in reports:
        if report.name.startswith(SUITE) and _says(report / RECORD, f"{OF_RESULTS} {stamp}\n"):
            yield report, name.rpartition("-")[0]


def _first_verdicts(places: Sequence[tuple[Path, str]]) -> dict[str, int]:
    """Verdicts of the first report that has some."""
    for report, study in places:
        verdicts = _verdicts(report / "verdicts.csv", study)
        if verdicts:
            return verdicts
    return {}


def _first_picture(outputs: Path, places: Sequence[tuple[Path, str]]) -> str:
    """The first figure of the first report that has one; empty without one."""
    for report, study in places:
        picture = _first_figure(report, study)
        if picture:
            return f"{report.relative_to(outputs).as_posix()}/figures/{picture}"
    return ""


def _says(record: Path, line: str) -> bool:
    """Whether the record of a report has a line; others may have files of that name."""
    try:
        return line in read_regular(record).decode()
    except (OSError, ValueError):
        return False


def _title(page: Path) -> str:
    """The title of a report; empty if there is none."""
    title = _head(page, "<title>(.*?)</title>")
    return html.unescape(title[1]) if title else ""


def _head(page: Path, pattern: str) -> re.Match[str] | None:
    """What matches in the first part of a page; None also where there is no page."""
    try:
        return re.search(pattern, read_regular(page, LONGEST_HEAD).decode(errors="ignore"))
    except (OSError, ValueError):
        return None


def _parts(folder: Path) -> dict[str, int]:
    """Bytes of the parts of a folder that are there."""
    sizes: Counter[str] = Counter()
    for key, size in Folder(folder).sizes("").items():
        if not key.startswith(f"{REQUESTS}/"):
            sizes[_part_of(key)] += size
    return {name: sizes[name] for name in (*PARTS, OTHER) if sizes[name]}


def _part_of(key: str) -> str:
    """The part to which a file belongs."""
    for name, part in PARTS.items():
        if key.startswith(part.starts):
            return name
    return OTHER


def _first_figure(report: Path, study: str) -> str:
    """Name of the first figure of a report, of one of its studies if one is named.

    Empty without one.
    """
    pattern = f"{study.replace('/', '-')}-[0-9]*.svg" if study else "*.svg"
    return min((path.name for path in (report / "figures").glob(pattern)), default="")


def _verdicts(table: Path, study: str) -> dict[str, int]:
    """Verdicts of a report, on one of its studies if one is named.

    None where there is no such table.
    """
    try:
        file = io.StringIO(read_regular(table).decode(), newline="")
        rows = [row["verdict"] for row in csv.DictReader(file) if study in ("", row["section"])]
        return dict(Counter(rows).most_common())
    except (OSError, ValueError, KeyError, csv.Error):
        return {}


def listed(outputs: Path) -> Shelf:
    """All studies of a folder of outputs; writes a page with their pictures beside them.

    A page that is not of this program stays as it is. Without a study, an old page is removed.
    """
    studies = shelved(outputs)
    page = outputs / INDEX
    if not studies:
        if _is_index(page):  # of those that were removed
            page.unlink()
        return Shelf(outputs, ())
    if (page.exists() or page.is_symlink()) and not _is_index(page):
        return Shelf(outputs, studies, page, page_is_foreign=True)
    shelf = Shelf(outputs, studies, page)
    write_whole(page, _page(shelf).encode())
    return shelf


def _is_index(page: Path) -> bool:
    """Whether a file is an index page that this program wrote."""
    return _head(page, f'<meta name="generator" content="{GENERATOR}">') is not None


def has_index(outputs: Path) -> bool:
    """Whether there is a file in the place of the index page."""
    return (outputs / INDEX).exists()


def _page(shelf: Shelf) -> str:
    """The index page."""
    from pipeline.reporting.page import rendered
    from pipeline.reporting.verdict_words import SYMBOLS

    ordered = sorted(shelf.studies, key=lambda study: (study.state != "suite", study.name))
    return rendered(
        "index.html.j2",
        generator=GENERATOR,
        studies=ordered,
        symbols=SYMBOLS,
        size=shelf.size,
        deletable=shelf.deletable,
    )


def named(
    outputs: Path, names: str | None, task: str, how_many: int | None = None
) -> list[Shelved]:
    """The studies that a command names.

    InvalidInput for another number of them, or one that is not there.
    """
    known = {study.name: study for study in shelved(outputs)}
    wanted = names_in(names, task, how_many, f"{outputs}/")
    for name in wanted:
        if name not in known:
            raise InvalidInput(
                "studies", name, f"no such study in {outputs}; {nearest(name, known)}"
            )
    return [known[name] for name in wanted]


def names_in(
    names: str | None, task: str, how_many: int | None = None, before: str = ""
) -> list[str]:
    """The names that a command gives.

    InvalidInput for another number of them. before: may stand before a name.
    """
    words = (name.strip().removeprefix(before).rstrip("/") for name in (names or "").split(","))
    wanted = [*dict.fromkeys(filter(None, words))]
    if not wanted or (how_many and len(wanted) != how_many):
        number = f"{how_many} names" if how_many else "names"
        raise InvalidInput(
            "studies",
            names,
            f"task={task} needs {number} of studies with commas between, as task=list prints them",
        )
    return wanted


def remove(outputs: Path, names: str | None, sure: bool) -> Iterator[Removed]:
    """Remove studies with all that was simulated, if `sure`; else only say which these are.

    Each is yielded before it is removed. Raises InvalidInput where another process works on one.
    """
    for study in named(outputs, names, "remove"):
        yield Removed(study, sure)
        if sure:
            _remove(study)


def _remove(shelved_study: Shelved) -> None:
    """Remove the folder of a study while holding its locks, so that no other process simulates or
    seals there.
    """
    folder = shelved_study.path
    study = folder.parent.parent if folder.parent.name == REQUESTS else folder
    with locked(study), open_to_lock(study / SWEEPS) as handle:
        try:
            lock_at_once(handle)
        except OSError:
            raise InvalidInput(
                "studies", shelved_study.name, "is being simulated; stop that run first"
            ) from None
        shutil.rmtree(folder)
