"""What a report says of the program: version, commit of its checkout, and how to cite it."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from pipeline.study.files import read_regular
from pipeline.study.texts import visible

PACKAGE = "private-learning-pipeline"
# In the table of papers' mistakes: a row, what parts its cells, and what is markup within them.
ROW = re.compile(r"\| [A-Z][0-9]+ \|")
BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
MARKUP = re.compile(r"\\(?=\|)|`")
COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Program:
    """Which program wrote a report. commit: of its checkout; empty without one."""

    version: str
    commit: str


def version() -> str:
    """The version of the program."""
    return metadata.version(PACKAGE)


def program() -> Program:
    """The program that runs here."""
    return Program(version(), commit())


@cache
def commit() -> str:
    """The commit of this program's checkout, "-dirty" where files differ from it.

    Empty without a checkout.
    """
    here = Path(__file__).resolve().parent
    try:
        _git(
            here, "ls-files", "--error-unmatch", Path(__file__).name
        )  # else it is somebody else's repository
        return _git(here, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12").strip()
    except (OSError, subprocess.SubprocessError):
        return ""


@cache
def mistakes() -> dict[str, tuple[str, ...]]:
    """The mistakes of papers, name of the row -> its cells.

    These are where, printed, right, how to see it, and of what kind it is. From docs/papers.md,
    inside the installed package or in its checkout; empty without it.
    """
    package = Path(__file__).resolve().parent.parent
    file = package / "papers.md"
    if not file.is_file():
        file = package.parent / "docs" / "papers.md"
    if not file.is_file():
        return {}
    mistakes = {}
    for line in read_regular(file).decode().splitlines():
        if ROW.match(line):
            name, *cells = BETWEEN_CELLS.split(line.strip().strip("|"))
            mistakes[name.strip()] = tuple(MARKUP.sub("", cell).strip(" .") for cell in cells)
    return mistakes


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=True
    ).stdout


def bibtex(title: str, years: Sequence[str], writer: Program | None = None) -> str:
    """An entry for the program as it computed a study. years: of the study's sessions, as text.

    writer: the program; None: the one that runs here.
    """
    writer = writer or program()
    about = metadata.metadata(PACKAGE)
    author = (about["Author"] or about["Author-email"] or f"{PACKAGE} authors").strip()
    note = title
    if writer.commit:
        note += f", commit {writer.commit}"
    fields = {
        "author": author,
        "title": "Private learning pipeline",
        "version": writer.version,
        "year": max(years, default=""),
        "note": note,
    }
    texts = {name: escape(value) for name, value in fields.items() if value}
    texts["author"] = f"{{{texts['author']}}}"  # one name, not parted at "and"
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in texts.items())
    return f"@software{{{PACKAGE.replace('-', '_')},\n{lines}}}"


def escape(text: str) -> str:
    """Text whose signs BibTeX does not read as commands.

    Braces by name: it counts them also after a backslash.
    """
    return re.sub(
        r"[%&_#$\\{}~^]", lambda match: COMMANDS.get(match[0], f"\\{match[0]}"), visible(text)
    )
