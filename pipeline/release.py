"""`task=release`: real people's responses, released once and privately, with noise that nothing can seed.

What leaves is made of the noisy measurements alone and of settings: no count without noise, no number of persons, no
hash of the file, no sign of who answered what. Nor does anything that the rows say together decide whether a release
is made, or which.
"""

import csv
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.codes import EXIT_DONE, EXIT_FAILED
from pipeline.estimators.rasch_spectral import Spectral
from pipeline.mechanisms.rasch import Published
from pipeline.models.rasch import Differences
from pipeline.models.response_files import responses
from pipeline.parameters import DataFile, InvalidInput, check, describe, fields, nearest, parameter
from pipeline.registry import lookup
from pipeline.study import build


@dataclass(frozen=True)
class Place:
    """What is released, and where to."""

    data_path: DataFile = parameter("responses, persons × items, a person a row")
    outputs: str = parameter("new folder for what is released")


KEYS = ("task", "data.path", "outputs")
MECHANISMS = ("discrete_gaussian", "discrete_laplace")
NEEDED = ("epsilon_user", "delta")  # no default decides how private somebody is
NEIGHBOURS = {"replace_one": "one person's row, answers and which of them are missing, replaced by another",
              "add_remove": "one person's row, answers and which of them are missing, there or not"}
LAWS = {"variance": "discrete Gaussian, P(x) ∝ exp(−x²/(2·variance))",
        "scale": "discrete Laplace, P(x) ∝ exp(−|x|/scale)"}


def perform(given: Mapping[str, Any]) -> int:
    """Release what `data.path` says into the new folder `outputs`; returns the exit code.

    given: key -> value of the command's words. Raises InvalidInput for any mistake in them or in the file, before
    anything is written. The folder is there with all its files, or not at all.
    """
    try:
        target, said = _release(given)
    except OSError as error:  # a full disk
        print(f"error: {error}; nothing was released", file=sys.stderr)
        return EXIT_FAILED
    spent = ", ".join(f"{what} {value:.6g}" for what, value in said["spent"].items())
    print(f"released: {target}\n  unit: {said['unit']}\n  neighbours: {said['neighbours']}\n  spent: {spent}\n"
          "  Whatever else is released of these people, this too if it is made again, adds to that.")
    return EXIT_DONE


def _release(given):
    name, mechanism, settings = _read(given)
    target = _target(given)
    file = check(fields(Place)["data_path"], given.get("data.path"), "data.path")
    answers, observed, items = _told(responses, file)
    settings["m"] = len(items)
    mechanism, estimator = _told(build, mechanism, settings), _told(build, Spectral, settings)
    if estimator.pseudo_count + estimator.floor == 0:
        raise InvalidInput("parameters.pseudo_count", 0, "with floor=0 noise may leave no estimate; one must be > 0")
    published = _told(mechanism.publish, answers, observed)
    said = statement(name, mechanism, estimator, published)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.mkdir()
    except OSError as error:
        raise InvalidInput("outputs", given["outputs"], f"cannot be made ({error.strerror}); must be a new folder in "
                           "one that is there") from None
    try:
        _write(partial, items, published, _estimate(estimator, published), said)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target, said


def _read(given):
    """The mechanism's name and class, and parameters, checked, from words that are all known."""
    settings = {key.removeprefix("parameters."): value for key, value in given.items() if key not in KEYS}
    name = settings.pop("mechanism", MECHANISMS[0])
    if name not in MECHANISMS:
        raise InvalidInput("parameters.mechanism", name, nearest(name, MECHANISMS))
    mechanism = lookup("mechanism", name)
    known = {**fields(mechanism), **fields(Spectral)}
    del known["m"]  # the file says
    for key, value in given.items():
        if key.rpartition(".")[2] == "seed":
            raise InvalidInput(key, value, "noise for real data takes no seed; must be left out")
        if key not in KEYS and not key.startswith("parameters."):
            raise InvalidInput(key, value, f"goes with no release, which simulates nothing; allowed: "
                               f"{', '.join(KEYS)}, parameters.NAME")
    for one, value in settings.items():
        if one not in known:
            raise InvalidInput(f"parameters.{one}", value, f"no such parameter here; {nearest(one, known)}")
    for need in NEEDED:
        if need in known and settings.get(need) is None:
            raise InvalidInput(f"parameters.{need}", None, f"is needed, {describe(known[need])} "
                               f"({known[need].metadata['meaning']})")
    if settings.get("conversion") == "paper":
        raise InvalidInput("parameters.conversion", "paper", "spends more than ε; must be tight or bun_steinke")
    return name, mechanism, {one: check(known[one], value, f"parameters.{one}") for one, value in settings.items()}


def _told(function, *arguments):
    """The function's value; an InvalidInput names what the person typed."""
    try:
        return function(*arguments)
    except InvalidInput as error:
        key = "data.path" if error.key == "data_path" else f"parameters.{error.key}"
        raise InvalidInput("opendp" if error.key == "opendp" else key, error.value, error.allowed) from None


def _target(given) -> Path:
    outputs = check(fields(Place)["outputs"], given.get("outputs"), "outputs")
    try:
        target = Path(outputs).expanduser().absolute()
    except RuntimeError:  # of ~ and a name
        raise InvalidInput("outputs", outputs, "nobody here has that name; must be a new folder") from None
    if not outputs.strip() or os.path.lexists(target):
        raise InvalidInput("outputs", outputs, "is there already, and a release is never overwritten; must be a new "
                           "folder")
    return target


def _estimate(estimator: Spectral, published: Published) -> np.ndarray:
    """(m,): difficulties, of the noisy measurements alone. The estimator asks for no number of persons."""
    release = Differences(published.counts[None], 0, np.zeros(1), published.edges[None])
    return estimator.fit(release, np.random.default_rng(0)).theta[0]


def statement(name: str, mechanism: Any, estimator: Spectral, published: Published) -> dict[str, Any]:
    """What was released, how private it is, and what was not released; nothing in it depends on the data."""
    (noise,) = published.noise
    return {
        "unit": f"{mechanism.unit}, who is one row of the file, or one of a row's count",
        "neighbours": NEIGHBOURS[mechanism.neighbours_are],
        "spent": published.spent,
        "asked": {key: getattr(mechanism, key) for key in ("epsilon_user", *NEEDED[1:], "conversion", "calibration",
                                                           "neighbours_are", "p0") if hasattr(mechanism, key)},
        "mechanism": name, "noise": published.noise, "noise_law": LAWS[noise],
        "sensitivity": {"squared L2, and L1": published.sensitivity, "that the noise is made for": published.charged},
        "sampler": f"OpenDP {version('opendp')}, without a seed", "program": _program(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "differences.csv": "persons who have one item right and another wrong, plus noise; may be negative"
                           + ("" if mechanism.p0 == 1 else "; pairs not listed are not edges of the public graph"),
        "items.csv": "difficulties in logits, centred, by the spectral algorithm from differences.csv alone",
        "estimator": {key: getattr(estimator, key) for key in fields(Spectral) if key != "m"},
        "public": "names of the items, pairs released, law of the noise, all in this file",
        "not released": "the number of persons, who answered what, any count without noise",
    }


def _program():
    try:
        return f"private-learning-pipeline {version('private-learning-pipeline')}"
    except PackageNotFoundError:  # run from a folder, not installed
        return "private-learning-pipeline"


def _write(folder, items, published, theta, said):
    rows = ((items[i], items[j], int(published.counts[i, j])) for i, j in np.argwhere(published.edges))
    found = ((item, repr(float(difficulty))) for item, difficulty in zip(items, theta, strict=True))
    tables = {"differences.csv": (("right", "wrong", "count"), rows), "items.csv": (("item", "difficulty"), found)}
    for name, (header, body) in tables.items():
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *body])
    (folder / "release.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", "utf-8")
