"""`task=release`: real people's responses, released once and privately, with noise that nothing can seed.

What is released is made of the noisy measurements and of settings alone: no count without noise, no number of persons,
no hash of the file, no trace of who answered what. A file is refused for its header, for having no row at all, or for
a row that is wrong by itself, never for what several rows say together: of the rows that name one person, the first
counts and the others are left out.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, DataFile, InvalidInput, check, describe, fields, nearest, parameter
from pipeline.study.study import build

from .estimators.spectral import Spectral
from .files import Rows, load_rows
from .mechanisms.integer_noise import DiscreteGaussian, DiscreteLaplace, NoisyDifferences
from .release_folder import new_folder, statement, write
from .releases import Differences, Published


@dataclass(frozen=True)
class Place(Checked):
    """What is released, and where to."""

    data_path: DataFile = parameter("responses, persons × items, a person a row")
    outputs: str = parameter("new folder for what is released")


KEYS = ("task", "data.path", "outputs")
MECHANISMS: dict[str, type[NoisyDifferences]] = {"discrete_gaussian": DiscreteGaussian,
                                                 "discrete_laplace": DiscreteLaplace}
REQUIRED = ("epsilon_user", "delta")  # how private people are is never left to a default


def release(arguments: Mapping[str, Any]) -> str:
    """Release the responses of the file `data.path` into the new folder `outputs`; returns the account to print.

    arguments: key -> value, as typed on the command line. Raises InvalidInput for any mistake in them or in the file,
    before anything is written; OSError where the disk is full. The folder is there with all its files, or not at all,
    and only its owner may read it.
    """
    name, kind, settings = _read(arguments)
    target = _target(arguments)
    with _keys_as_typed():
        rows = one_row_each(load_rows(check(fields(Place)["data_path"], arguments.get("data.path"), "data.path")))
        settings["m"] = len(rows.items)
        mechanism, estimator = build(kind, settings), build(Spectral, settings)
    if estimator.pseudo_count + estimator.floor == 0:
        raise InvalidInput("parameters.pseudo_count", 0, "with floor=0 noise may leave no estimate; one must be > 0")
    with _keys_as_typed():
        published = mechanism.publish(rows.answers, rows.observed, rows.persons)
    account = statement(name, mechanism, estimator, published)
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, rows.items, published, _difficulties(estimator, published), account)
    spent = ", ".join(f"{measure} {value:.6g}" for measure, value in published.spent.items())
    return (f"released: {target}\n  unit: {account['unit']}\n  neighbours: {account['neighbours']}\n  spent: {spent}\n"
            "  Whatever else is released of these people, this too if it is made again, adds to that.")


def _read(arguments: Mapping[str, Any]) -> tuple[str, type[NoisyDifferences], dict[str, Any]]:
    """The mechanism's name and class, and the parameters, checked; refuses every key that is not known."""
    settings = {key.removeprefix("parameters."): value for key, value in arguments.items() if key not in KEYS}
    name = settings.pop("mechanism", next(iter(MECHANISMS)))
    if name not in MECHANISMS:
        raise InvalidInput("parameters.mechanism", name, nearest(name, MECHANISMS))
    mechanism = MECHANISMS[name]
    known = {**fields(mechanism), **fields(Spectral)}
    del known["m"]  # follows from the file
    _check_keys(arguments)
    for key, value in settings.items():
        if key not in known:
            raise InvalidInput(f"parameters.{key}", value, f"no such parameter here; {nearest(key, known)}")
    for key in REQUIRED:
        if key in known and settings.get(key) is None:
            raise InvalidInput(f"parameters.{key}", None, f"is needed, {describe(known[key])} "
                               f"({known[key].metadata['meaning']})")
    if settings.get("conversion") == "exact":
        raise InvalidInput("parameters.conversion", "exact", "is for studies, real noise is accounted by zCDP; must be "
                           "tight or bun_steinke")
    if settings.get("conversion") == "paper":
        raise InvalidInput("parameters.conversion", "paper", "spends more than ε; must be tight or bun_steinke")
    return name, mechanism, {key: check(known[key], value, f"parameters.{key}") for key, value in settings.items()}


def _check_keys(arguments: Mapping[str, Any]) -> None:
    """Refuses a seed, and keys that are for simulations."""
    for key, value in arguments.items():
        if key.rpartition(".")[2] == "seed":
            raise InvalidInput(key, value, "noise for real data takes no seed; must be left out")
        if key not in KEYS and not key.startswith("parameters."):
            raise InvalidInput(key, value, f"goes with no release, which simulates nothing; allowed: "
                               f"{', '.join(KEYS)}, parameters.NAME")


def _target(arguments: Mapping[str, Any]) -> Path:
    """The folder to be made; refuses one that is there."""
    outputs = check(fields(Place)["outputs"], arguments.get("outputs"), "outputs")
    try:
        target = Path(outputs).expanduser().absolute()
    except RuntimeError:  # ~ and the name of no user
        raise InvalidInput("outputs", outputs, "there is no such user here; must be a new folder") from None
    if not outputs.strip() or os.path.lexists(target):
        raise InvalidInput("outputs", outputs, "is there already, and a release is never overwritten; must be a new "
                           "folder")
    return target


@contextmanager
def _keys_as_typed() -> Iterator[None]:
    """An InvalidInput raised inside names the key that the person typed."""
    try:
        yield
    except InvalidInput as error:
        typed = error.key in ("opendp", "data.path")
        key = error.key if typed else "data.path" if error.key == "data_path" else f"parameters.{error.key}"
        raise InvalidInput(key, error.value, error.allowed) from None


def one_row_each(rows: Rows) -> Rows:
    """The first row of each person, so that the budget covers everything a person contributes."""
    if rows.person is None:
        return rows
    first: dict[str, int] = {}
    for row, person in enumerate(rows.person):
        first.setdefault(person, row)
    kept = list(first.values())
    return Rows(rows.answers[kept], rows.observed[kept], rows.persons[kept], list(first), rows.items)


def _difficulties(estimator: Spectral, published: Published) -> Floats:
    """Difficulties in logits, (m,), from the noisy measurements alone. The estimator needs no number of persons."""
    release = Differences(published.counts[None], 0, np.zeros(1), published.edges[None])
    theta: Floats = estimator.fit(release, np.random.default_rng(0)).theta[0]
    return theta
