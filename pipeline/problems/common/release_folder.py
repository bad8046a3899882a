"""The private folder of a release, and its tables, which spreadsheets open
safely.
"""

import csv
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeAlias

from pipeline.study.disclosure import Disclosure
from pipeline.study.parameters import InvalidInput
from pipeline.study.texts import plain_text as plain_text

LAWS = {
    "variance": "discrete Gaussian, P(x) ∝ exp(−x²/(2·variance))",
    "scale": "discrete Laplace, P(x) ∝ exp(−|x|/scale)",
}
NAMES = (
    "in all tables a name that a spreadsheet might compute has ' before "
    "=, +, -, @, ' or a quotation mark, at its beginning and after "
    "semicolons, tabs and ends of lines"
)
LEFT_OUT = (
    "rows that cannot be read by themselves, or say what is not listed, "
    "count as not there; whether there are some is not said"
)
PROMISE = "promise.html"
# Makes a page of what a release says of itself.
PageOf: TypeAlias = Callable[[Disclosure], str]
# Header, rows.
Table = tuple[Sequence[str], Sequence[Sequence[str | int | float]]]


@contextmanager
def new_folder(target: Path, typed: str) -> Iterator[Path]:
    """A private folder, mode 0700, which becomes the target at the end, or
    is removed.

    typed: the target as the person gave it. Raises InvalidInput if the
    folder cannot be made. Whoever is killed leaves a folder that only its
    owner can read.
    """
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            partial.mkdir(mode=0o700)
        except OSError as error:
            raise InvalidInput(
                "outputs",
                typed,
                f"cannot be made ({error.strerror}); must be a new folder in one that is there",
            ) from None
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write(
    folder: Path, tables: Mapping[str, Table], disclosure: Disclosure, page_of: PageOf
) -> None:
    """The files of a release: tables by name of the file, the account as
    `release.json`, and what is promised to people as a page,
    `promise.html`.
    """
    page = page_of(disclosure)
    for name, (header, rows) in tables.items():
        write_table(folder / name, header, rows)
    (folder / "release.json").write_text(
        json.dumps(disclosure.account, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )
    (folder / PROMISE).write_text(page, "utf-8")


def write_table(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str | int | float]]
) -> None:
    """A CSV file."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def made_by() -> dict[str, str]:
    """What makes the noise, with which program, and when."""
    try:
        program = f"private-learning-pipeline {version('private-learning-pipeline')}"
    except PackageNotFoundError:  # run from a folder, not installed
        program = "private-learning-pipeline"
    return {
        "sampler": f"OpenDP {version('opendp')}, without a seed",
        "program": program,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
