"""`task=shelf`: a static site of many archives, which any web host serves, and any disk.

An index with a search field, a page for each archive, its report, and the archive itself to
download. Nothing is loaded from elsewhere, and no server is needed.
"""

import csv
import io
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.amounts import format_bytes
from pipeline.reporting.page import rendered, script
from pipeline.study.files import make_folders, write_whole
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow.archive_contents import REPORT, Manifest
from pipeline.workflow.archive_reader import (
    MADE_BY,
    NO_ARCHIVE,
    NOT_THERE,
    manifest_of,
    opened,
)
from pipeline.workflow.events import Event, SiteWritten

INDEX = "index.html"
MARK = "site-of-archives"  # a file in the site, so that nothing of somebody else is replaced
TABLE = f"{REPORT}/verdicts.csv"


@dataclass(frozen=True)
class Shown:
    """An archive on the site. name: of its folder there. verdicts: word -> how many claims.

    words: what the search field looks through. bytes_: of the archive, in words.
    """

    name: str
    file: str
    title: str
    studies: tuple[str, ...]
    verdicts: tuple[tuple[str, int], ...]
    program: str
    size: str
    words: str


def shelf(archives: str | None, save: str | None, tell: Callable[[Event], None]) -> SiteWritten:
    """Write the site. archives: files with commas between, or a folder of them.

    Raises InvalidInput for what is no archive, and for a folder with files of somebody else.
    """
    paths = _archives(archives)
    where = _target(save)
    shown = [_add(path, where) for path in paths]
    page = rendered("site.html.j2", archives=shown, script=script("site.js"))
    write_whole(where / INDEX, page.encode())
    written = SiteWritten(where / INDEX, len(shown))
    tell(written)
    return written


def _archives(archives: str | None) -> list[Path]:
    """The files of archives."""
    paths: list[Path] = []
    for word in filter(None, (archives or "").split(",")):
        path = path_of(word.strip(), "archives")
        paths += sorted(path.glob("*.zip")) if path.is_dir() else [path]
    if not paths:
        raise InvalidInput(
            "archives", archives, "is needed: files, with commas between, or a folder"
        )
    names = Counter(path.stem for path in paths)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise InvalidInput("archives", archives, f"has two of the name {twice[0]}; rename one")
    return paths


def _target(save: str | None) -> Path:
    """The folder of the site, made if it is not there."""
    if not save:
        raise InvalidInput("save", save, "is needed: a folder for the site, as save=site")
    path = path_of(save, "save")
    if path.exists() and not path.is_dir():
        raise InvalidInput("save", save, "must be a folder")
    if path.is_dir() and any(path.iterdir()) and not (path / MARK).exists():
        raise InvalidInput("save", save, "has files of another kind; give an empty folder")
    make_folders(path)
    write_whole(path / MARK, b"written by pipeline task=shelf\n")
    return path


def _add(path: Path, where: Path) -> Shown:
    """Put an archive and its report onto the site."""
    try:
        manifest = manifest_of(path)
        folder = where / path.stem
        with opened(path) as source:
            verdicts = _verdicts(source.read(TABLE).decode())
            write_whole(folder / "report.html", source.read(f"{REPORT}/report.html"))
    except (*NO_ARCHIVE, *NOT_THERE, csv.Error):
        raise InvalidInput("archives", str(path), MADE_BY) from None
    partial = folder / f"{path.name}.partial"
    shutil.copyfile(path, partial)
    partial.replace(folder / path.name)
    return _shown(path, manifest, verdicts)


def _verdicts(table: str) -> tuple[tuple[str, int], ...]:
    """How many claims have each verdict."""
    rows = csv.DictReader(io.StringIO(table, newline=""))
    return tuple(Counter(row["verdict"] for row in rows).most_common())


def _shown(path: Path, manifest: Manifest, verdicts: tuple[tuple[str, int], ...]) -> Shown:
    """What the index says of an archive."""
    studies = tuple(study.folder for study in manifest.studies)
    questions = [str(study.config.get("question", "")) for study in manifest.studies]
    titles = [str(study.config.get("title", "")) for study in manifest.studies]
    program = f"version {manifest.program.version}"
    if manifest.program.commit:
        program += f", commit {manifest.program.commit}"
    words = " ".join([manifest.title, path.stem, *studies, *titles, *questions, *dict(verdicts)])
    return Shown(
        name=path.stem,
        file=path.name,
        title=manifest.title or path.stem,
        studies=studies,
        verdicts=verdicts,
        program=program,
        size=format_bytes(path.stat().st_size),
        words=words.lower(),
    )
