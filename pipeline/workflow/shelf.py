"""`task=list` and `task=remove`: the finished studies in the folder of outputs, from their files
alone.
"""

import csv
import fcntl
import html
import io
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.execution.amounts import format_bytes
from pipeline.execution.sessions import sessions
from pipeline.reporting.formatting import count
from pipeline.storage.folder import SWEEPS, Folder, locked
from pipeline.storage.replications import DESCRIPTION, RAW
from pipeline.storage.results import REQUESTS, SEALED, root_attributes
from pipeline.study.files import open_to_lock, read_regular, write_whole
from pipeline.study.parameters import InvalidInput, nearest, printable
from pipeline.workflow.own_experiments import RECORD
from pipeline.workflow.reports import OF_FILES, OF_RESULTS, finished_size, is_whole

INDEX = "index.html"
# Which an index page names, so that no page of somebody else is overwritten.
GENERATOR = "pipeline task=list"
SUITE = "suite-"
LONGEST_HEAD = 10_000  # bytes of a page in which its title is looked for
# Parts of a folder: what its files start with, and what it costs to delete them.
PARTS = {
    "units": (
        "replications efforts",
        "once sealed and if no more replications are wanted: results and report stay, "
        "but run and report of that study simulate it again from the start",
    ),
    "results": ("results.zarr summary.zarr", "made again from the units, nothing is simulated"),
    "report": (
        "report.html figures summary.csv verdicts.csv",
        "made again from the results in seconds",
    ),
    "temporary": ("interim reductions", "of unfinished studies; made again when they are needed"),
}


@dataclass(frozen=True)
class Shelved:
    """A study, or the report of a suite, in the folder of outputs. name: of its folder, relative to
    that of outputs.

    state: sealed, not sealed, report only (arrays in a bucket), interim (a report beside a finished
    one) or suite. verdicts: word -> number of claims. changed: whether files of its report are not
    as they were written; no verdicts are read from them. when: last session, UTC; empty without
    one. parts: name of PARTS, or other -> bytes. picture: first figure, of its own report or that
    of a suite, relative to the folder of outputs; empty without one.
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

    @property
    def size(self) -> int:
        """Bytes on disk, without the results of smaller requests, which have a line of their own."""
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


def shelved(outputs: Path) -> list[Shelved]:
    """All studies and suites below a folder, by name; what is not of this program is passed over."""
    folders = {
        path.parent.parent
        for deep in ("*", "*/*")
        for name in (DESCRIPTION, f"{SEALED}/zarr.json")
        for path in outputs.glob(f"{deep}/{name}")
    }
    folders |= {
        path.parent
        for deep in ("*", "*/*")
        for path in outputs.glob(f"{deep}/{RECORD}")
        if _says(path, OF_FILES)
    }
    folders |= {
        path for folder in [*folders] for path in folder.glob(f"{REQUESTS}/*") if _is_request(path)
    }
    reports = sorted(folder for folder in folders if is_whole(folder))
    return [_shelved(outputs, folder, reports) for folder in sorted(folders)]


def _is_request(folder: Path) -> bool:
    """Whether a folder has results or a report of a smaller request."""
    return (folder / SEALED).exists() or _says(folder / RECORD, OF_FILES)


def _shelved(outputs: Path, folder: Path, reports: Sequence[Path]) -> Shelved:
    """One study. reports: folders whose reports are as they were written.

    What its own lacks, that of a suite has.
    """
    name = folder.relative_to(outputs).as_posix()
    said = root_attributes(Folder(folder))
    suite = name.startswith(SUITE)
    past = sessions(folder)
    study = name.rpartition("-")[0]
    stamp = Folder(folder).stamp(f"{SEALED}/zarr.json")
    shared = [
        one
        for one in reports
        if one.name.startswith(SUITE) and stamp and _says(one / RECORD, f"{OF_RESULTS} {stamp}\n")
    ]  # it may be of another study of the same name
    places = [(one, study) for one in shared]
    if folder in reports:
        places.insert(0, (folder, ""))
    return Shelved(
        name=name,
        path=folder,
        title=str(said.get("title") or _title(folder / "report.html") or name),
        state="suite"
        if suite
        else "sealed"
        if said
        else "not sealed"
        if (folder / RAW).exists()
        else "report only"
        if finished_size(folder / RECORD)
        else "interim",
        replications=int(said.get("replications") or 0),
        verdicts=next(
            filter(None, (_verdicts(one / "verdicts.csv", study) for one, study in places)), {}
        ),
        picture=next(
            (
                f"{one.relative_to(outputs).as_posix()}/figures/{picture}"
                for one, study in places
                if (picture := _first_figure(one, study))
            ),
            "",
        ),
        parts=_parts(folder),
        changed=folder not in reports and (folder / "report.html").exists(),
        when=past[-1].started[:16] if past else "",
    )


def _says(record: Path, line: str) -> bool:
    """Whether the record of a report has a line; others may have files of that name."""
    try:
        return line in read_regular(record).decode()
    except (OSError, ValueError):
        return False


def _title(page: Path) -> str:
    """The title of a report; empty if there is none."""
    found = _head(page, "<title>(.*?)</title>")
    return html.unescape(found[1]) if found else ""


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
            found = (
                part for part, (starts, _) in PARTS.items() if key.startswith((*starts.split(),))
            )
            sizes[next(found, "other")] += size
    return {part: sizes[part] for part in (*PARTS, "other") if sizes[part]}


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


def list_studies(outputs: Path) -> int:
    """Print all studies with their verdicts and sizes, and write a page with their pictures.

    Returns the exit code.
    """
    if not (found := shelved(outputs)):
        print(f"no study in {outputs}")
        if _is_index(outputs / INDEX):  # of those that were removed
            (outputs / INDEX).unlink()
        return EXIT_DONE
    for line in _table(found):
        print(printable(line))
    print("may be deleted from a study's folder:")
    for part, files, size, cost in _deletable(found):
        print(f"  {part}, {format_bytes(size)} in all ({', '.join(files)}): {cost}")
    print(
        f"{len(found)} in all, {format_bytes(sum(one.size for one in found))} on disk; "
        "task=remove studies=NAME takes one away, task=compare studies=NAME,NAME compares two"
    )
    page = outputs / INDEX
    if (page.exists() or page.is_symlink()) and not _is_index(page):
        print(f"page: not written, as {page} is no page of task=list; move it away first")
    else:
        write_whole(page, _page(found).encode())
        print(f"page: {page}")
    return EXIT_DONE


def _is_index(page: Path) -> bool:
    """Whether a file is an index page that this task wrote."""
    return _head(page, f'<meta name="generator" content="{GENERATOR}">') is not None


def _deletable(found: Sequence[Shelved]) -> list[tuple[str, list[str], int, str]]:
    """Of every part that is there: what its files start with, bytes over all studies, what it costs
    to delete them.
    """
    sizes = {part: sum(one.parts.get(part, 0) for one in found) for part in PARTS}
    return [
        (part, starts.split(), sizes[part], cost)
        for part, (starts, cost) in PARTS.items()
        if sizes[part]
    ]


def _table(found: Sequence[Shelved]) -> Iterator[str]:
    wide = max(len(one.name) for one in found)
    for one in found:
        size = (
            ""
            if one.state == "suite"
            else count(one.replications, "replication")
            if one.replications
            else ""
        )
        words = [
            one.name.ljust(wide),
            one.state.ljust(10),
            one.when.ljust(16),
            format_bytes(one.size).rjust(10),
            size.rjust(20),
            one.tally,
        ]
        yield "  ".join(words).rstrip()
        if one.sizes:
            yield f"{' ' * wide}  {one.sizes}"


def _page(found: Sequence[Shelved]) -> str:
    from pipeline.reporting.page import rendered
    from pipeline.reporting.verdict_words import SYMBOLS

    ordered = sorted(found, key=lambda one: (one.state != "suite", one.name))
    return rendered(
        "index.html.j2",
        generator=GENERATOR,
        studies=ordered,
        symbols=SYMBOLS,
        size=sum(one.size for one in found),
        deletable=_deletable(found),
    )


def named(
    outputs: Path, names: str | None, task: str, how_many: int | None = None
) -> list[Shelved]:
    """The studies that a command names.

    InvalidInput for another number of them, or one that is not there.
    """
    known = {one.name: one for one in shelved(outputs)}
    asked = asked_for(names, task, how_many, f"{outputs}/")
    for name in asked:
        if name not in known:
            raise InvalidInput(
                "studies", name, f"no such study in {outputs}; {nearest(name, known)}"
            )
    return [known[name] for name in asked]


def asked_for(
    names: str | None, task: str, how_many: int | None = None, before: str = ""
) -> list[str]:
    """The names that a command gives.

    InvalidInput for another number of them. before: may stand before a name.
    """
    words = (name.strip().removeprefix(before).rstrip("/") for name in (names or "").split(","))
    asked = [*dict.fromkeys(filter(None, words))]
    if not asked or (how_many and len(asked) != how_many):
        number = f"{how_many} names" if how_many else "names"
        raise InvalidInput(
            "studies",
            names,
            f"task={task} needs {number} of studies with commas between, as task=list prints them",
        )
    return asked


def remove(outputs: Path, names: str | None, sure: bool) -> int:
    """Remove studies with all that was simulated, if `sure`; else print what would go.

    Returns the exit code.

    Raises InvalidInput where another process works on one of them.
    """
    asked = named(outputs, names, "remove")
    for one in asked:
        print(
            f"{'removes' if sure else 'would remove'} {one.name}: {one.state}, "
            f"{format_bytes(one.size)}"
        )
        if sure:
            _remove(one)
    if not sure:
        print("nothing is removed without sure=true; what was simulated is lost then")
    elif (outputs / INDEX).exists():
        list_studies(outputs)
    return EXIT_DONE


def _remove(one: Shelved) -> None:
    """Remove the folder of a study while holding its locks, so that no other process simulates or
    seals there.
    """
    study = one.path.parent.parent if one.path.parent.name == REQUESTS else one.path
    with locked(study), open_to_lock(study / SWEEPS) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidInput(
                "studies", one.name, "is being simulated; stop that run first"
            ) from None
        shutil.rmtree(one.path)
