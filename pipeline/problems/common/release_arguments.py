"""What a person types after `task=release`, read and checked alike for every problem."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field
from pathlib import Path
from typing import Any, TypeVar

from pipeline.study.parameters import (
    DataFile,
    InvalidInput,
    check,
    check_as,
    describe,
    fields,
    nearest,
    parameter,
)
from pipeline.study.untyped import Config

from .release_rows import ENCODING

FILES = ("path", "items")  # what may stand after data.
NOT_FOR_RELEASES = {  # conversions, and why
    "exact": "is for studies, real noise is accounted by zCDP; must be tight or bun_steinke",
    "paper": "spends more than ε; must be tight or bun_steinke",
}
# How private people are is never left to a default.
REQUIRED = ("epsilon_user", "delta", "person", "person_delta")
OUTPUTS: Field[Any] = parameter("new folder for what is released")
OUTPUTS.type = str
CHECK: Field[Any] = parameter("count rows that are left out, and release nothing", default=False)
CHECK.type = bool
Kind = TypeVar("Kind")


def settings_of(
    arguments: Config,
    mechanisms: Mapping[str, type[Kind]],
    others: Mapping[str, Field[Any]],
    files: tuple[str, ...] = ("path",),
    sizes: tuple[str, ...] = ("m",),
) -> tuple[str, type[Kind], dict[str, Any]]:
    """The mechanism's name and class, and all parameters, checked.

    InvalidInput for every key that is not known. others: parameters besides
    the mechanism's own and `encoding`. files: that this release takes.
    sizes: parameters of the mechanism that follow from the files and from
    others, and cannot be given.
    """
    data = tuple(f"data.{name}" for name in files)
    allowed = ("task", "problem", *data, "outputs", "check")
    _refuse_other_keys(arguments, data, allowed)
    typed = {key: value for key, value in arguments.items() if key not in allowed}
    settings = {key.removeprefix("parameters."): value for key, value in typed.items()}
    name = settings.pop("mechanism", next(iter(mechanisms)))
    if name not in mechanisms:
        raise InvalidInput("parameters.mechanism", name, nearest(name, mechanisms))
    known = {**fields(mechanisms[name]), **others, "encoding": ENCODING}
    for size in sizes:
        known.pop(size, None)
    for key, value in settings.items():
        if key not in known:
            allowed_here = f"no such parameter here; {nearest(key, known)}"
            raise InvalidInput(f"parameters.{key}", value, allowed_here)
    for key in REQUIRED:
        if key in known and not _is_there(key, known, settings):
            meaning = known[key].metadata["meaning"]
            needed = f"is needed, {describe(known[key])} ({meaning})"
            raise InvalidInput(f"parameters.{key}", None, needed)
    conversion = settings.get("conversion")
    if conversion in NOT_FOR_RELEASES:
        raise InvalidInput("parameters.conversion", conversion, NOT_FOR_RELEASES[conversion])
    for key, value in settings.items():
        settings[key] = check(known[key], value, f"parameters.{key}")
    return name, mechanisms[name], settings


def _is_there(key: str, known: Mapping[str, Field[Any]], settings: Config) -> bool:
    """Whether a parameter was typed, or another one that may stand in its place."""
    names = {key, known[key].metadata["instead"]}
    names |= {name for name, declared in known.items() if declared.metadata["instead"] == key}
    return any(settings.get(name) is not None for name in names)


def _refuse_other_keys(arguments: Config, data: Sequence[str], allowed: Sequence[str]) -> None:
    """Raises InvalidInput for a key that no release takes.

    data: keys of files. allowed: all keys but those of parameters.
    """
    for key, value in arguments.items():
        if key.rpartition(".")[2] == "seed":
            raise InvalidInput(key, value, "noise for real data takes no seed; must be left out")
        if key.startswith("data.") and key not in allowed:
            raise InvalidInput(
                key,
                value,
                f"the release of this problem takes no such file, only "
                f"{' and '.join(data)}; leave it out",
            )
        if key not in allowed and not key.startswith("parameters."):
            raise InvalidInput(
                key,
                value,
                f"cannot be given to a release, which simulates nothing; allowed: "
                f"{', '.join(allowed)}, parameters.NAME",
            )


def file_of(arguments: Config, name: str, meaning: str) -> DataFile:
    """The file given as data.NAME; InvalidInput where it is not there. meaning: of the file."""
    declared = parameter(meaning)
    declared.type = DataFile
    return check_as(DataFile, declared, arguments.get(f"data.{name}"), f"data.{name}")


def is_check(arguments: Config) -> bool:
    """Whether check=true stands there: InvalidInput for other values than true and false."""
    return check_as(bool, CHECK, arguments.get("check", False), "check")


def target_of(arguments: Config) -> Path:
    """The folder to be made; InvalidInput for one that is there."""
    outputs = check_as(str, OUTPUTS, arguments.get("outputs"), "outputs")
    try:
        target = Path(outputs).expanduser().absolute()
    except RuntimeError:  # ~ and the name of no user
        raise InvalidInput(
            "outputs", outputs, "there is no such user here; must be a new folder"
        ) from None
    if not outputs.strip() or os.path.lexists(target):
        raise InvalidInput(
            "outputs",
            outputs,
            "is there already, and a release is never overwritten; must be a new folder",
        )
    return target


@contextmanager
def keys_as_typed() -> Iterator[None]:
    """An InvalidInput raised inside names the key that the person typed."""
    try:
        yield
    except InvalidInput as error:
        key = error.key
        is_typed = key in ("opendp", "outputs") or "." in key
        if not is_typed:
            files = {f"data_{name}": f"data.{name}" for name in FILES}
            key = files.get(key, f"parameters.{key}")
        raise InvalidInput(key, error.value, error.allowed) from None


def receipt(target: Path, account: Mapping[str, Any]) -> str:
    """What the command prints of a release."""
    spent = ", ".join(f"{measure} {value:.6g}" for measure, value in account["spent"].items())
    return "\n".join(
        [
            f"released: {target}",
            f"  trust: {account['trust']}",
            f"  unit: {account['unit']}",
            f"  neighbours: {account['neighbours']}",
            f"  spent: {spent}",
            "  Whatever else is released of these people, this too if it is made again, "
            "adds to that.",
        ]
    )
