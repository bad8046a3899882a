"""The folder of a release: its statement, and tables of noisy counts and difficulties that spreadsheets open safely."""

import csv
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, fields

from .estimators.spectral import Spectral
from .mechanisms.integer_noise import NoisyDifferences
from .releases import Published

NEIGHBOURS = {"replace_one": "one person's row, answers and which of them are missing, replaced by another",
              "add_remove": "one person's row, answers and which of them are missing, there or not"}
LAWS = {"variance": "discrete Gaussian, P(x) ∝ exp(−x²/(2·variance))",
        "scale": "discrete Laplace, P(x) ∝ exp(−|x|/scale)"}
SETTINGS = ("epsilon_user", "delta", "conversion", "calibration", "neighbours_are", "p0")
# Where a cell may begin, whether a program parts fields at commas, semicolons or tabs, and signs that are not text.
FORMULA = re.compile(r"""(^|[;\t\r\n])(?=[=+\-@\t\r\n'"])""")


@contextmanager
def new_folder(target: Path, typed: str) -> Iterator[Path]:
    """A private folder beside the target, mode 0700, which becomes the target at the end, or is removed.

    typed: the target as the person gave it. Raises InvalidInput if the folder cannot be made. Whoever is killed leaves
    a folder that only its owner can read.
    """
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            partial.mkdir(mode=0o700)
        except OSError as error:
            raise InvalidInput("outputs", typed, f"cannot be made ({error.strerror}); must be a new folder in "
                               "one that is there") from None
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def statement(name: str, mechanism: NoisyDifferences, estimator: Spectral, published: Published) -> dict[str, Any]:
    """What was released, how private it is, and what was not released; nothing in it depends on the data."""
    (noise,) = published.noise
    return {
        "unit": f"{mechanism.unit}, who is one row of the file, or one of a row's count; of several rows with one "
                "person's name the first",
        "neighbours": NEIGHBOURS[mechanism.neighbours_are],
        "spent": published.spent,
        "asked": {key: getattr(mechanism, key) for key in SETTINGS if hasattr(mechanism, key)},
        "mechanism": name, "noise": published.noise, "noise_law": LAWS[noise],
        "sensitivity": {"squared L2, and L1": published.sensitivity, "that the noise is made for": published.charged},
        "sampler": f"OpenDP {version('opendp')}, without a seed", "program": _program(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "differences.csv": "persons who have one item right and another wrong, plus noise; may be negative"
                           + ("" if mechanism.p0 == 1 else "; pairs not listed are not edges of the public graph"),
        "items.csv": "difficulties in logits, centred, by the spectral algorithm from differences.csv alone",
        "names": "in both tables a name that a spreadsheet might compute has ' before =, +, -, @, ' or a quotation "
                 "mark, at its beginning and after semicolons, tabs and ends of lines",
        "estimator": {key: getattr(estimator, key) for key in fields(Spectral) if key != "m"},
        "public": "names of the items, pairs released, law of the noise, all in this file",
        "not released": "the number of persons, who answered what, any count without noise",
    }


def _program() -> str:
    try:
        return f"private-learning-pipeline {version('private-learning-pipeline')}"
    except PackageNotFoundError:  # run from a folder, not installed
        return "private-learning-pipeline"


def write(
    folder: Path, items: Sequence[str], published: Published, difficulties: Floats, account: Mapping[str, Any]
) -> None:
    """The three files of a release. items: names, m. difficulties: (m,), logits."""
    names = [plain_text(name) for name in items]
    counts = [(names[i], names[j], int(published.counts[i, j])) for i, j in np.argwhere(published.edges)]
    _write_table(folder / "differences.csv", ("right", "wrong", "count"), counts)
    _write_table(folder / "items.csv", ("item", "difficulty"), list(zip(names, difficulties.tolist(), strict=True)))
    (folder / "release.json").write_text(json.dumps(account, indent=1, ensure_ascii=False) + "\n", "utf-8")


def plain_text(name: str) -> str:
    """The name with ' where a spreadsheet might begin a formula; different names stay different."""
    return FORMULA.sub(r"\1'", name)


def _write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[str | int | float]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
