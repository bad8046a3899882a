"""Parameters of components: declared once, checked everywhere.

Models, mechanisms, estimators and metrics are frozen dataclasses. Each field is made by `parameter`,
which carries its meaning, unit and range; the command's help, the checks of a config and the labels of
a dataset are all read from there.
"""

import dataclasses
import difflib
import hashlib
import inspect
import math
import sys
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

LISTED = 110  # characters of a list of names in a message


class InvalidInput(ValueError):
    """Bad input from a person: one line that says where, what, and what is allowed."""

    def __init__(self, key: str, value: Any, allowed: str):
        self.key, self.value, self.allowed = key, value, allowed
        super().__init__(f"{shorten(key, 80)}={shorten(value)}: {allowed}")

    def __reduce__(self):  # a worker may be the one who finds it
        return type(self), (self.key, self.value, self.allowed)


@dataclasses.dataclass(frozen=True)
class DataFile:
    """A file of a person's data: known by its content, wherever it lies. sha256: 64 hexadecimal digits."""

    sha256: str
    path: str = dataclasses.field(compare=False)

    @classmethod
    def at(cls, path: str, key: str) -> "DataFile":
        """The file at a path; InvalidInput naming `key` if it cannot be read."""
        place = Path(path).expanduser()
        if place.exists() and not place.is_file():
            raise InvalidInput(key, path, "must be a file, not a folder or a pipe: it is read more than once")
        try:
            return cls(hashlib.sha256(place.read_bytes()).hexdigest(), str(place.absolute()))
        except OSError as error:
            raise InvalidInput(key, path, f"cannot be read ({error.strerror}); must be the path of a file") from None

    def read(self) -> bytes:
        """Its content; OSError if it is gone or not what it was."""
        content = Path(self.path).read_bytes()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise OSError(f"{self.path} has changed since the study began; put back what it was")
        return content

    def __str__(self) -> str:
        return f"sha256:{self.sha256}"


def shorten(value: Any, width: int = 60) -> str:
    """Text of a value, cut so that a message stays on one line."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    text = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return text if len(text) <= width else text[: width - 1] + "…"


def nearest(name: Any, valid: Iterable[str]) -> str:
    """Advice on an unknown name: the nearest valid one, then all of them, or as many as fit on a line."""
    valid = sorted(valid)
    close = difflib.get_close_matches(str(name), valid, 1, 0.5)
    listed = ", ".join(valid)
    if len(listed) > LISTED:
        listed = listed[: listed.rindex(", ", 0, LISTED)] + ", …"
    return (f"did you mean {close[0]!r}? " if close else "") + f"allowed: {listed or 'nothing'}"


def parameter(
    meaning: str,
    *,
    unit: str = "1",
    default: Any = dataclasses.MISSING,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] | None = None,
    infinite: bool = False,
) -> Any:
    """Field of a component: meaning, unit and allowed range (`low`/`high` inclusive, `above`/`below` not).

    `infinite` allows +inf. Values are checked against the annotation, one of int, float, str, bool, DataFile
    (given as a path), optionally `| None`.
    """
    metadata = dict(
        meaning=meaning, unit=unit, low=low, above=above, high=high, below=below, choices=choices,
        infinite=infinite,
    )
    return dataclasses.field(default=default, metadata=metadata)


def fields(component: type) -> dict[str, dataclasses.Field]:
    """Parameters of a component class, by name."""
    return {f.name: f for f in dataclasses.fields(component)}


def arguments(function: Callable) -> dict[str, dataclasses.Field]:
    """Inputs of a derivation as parameters, from its annotations: a type, or Annotated[type, meaning].

    Their ranges are left to the function itself.
    """
    found = {}
    for name, argument in inspect.signature(function, eval_str=True).parameters.items():
        kind, *said = typing.get_args(argument.annotation) or (argument.annotation,)
        found[name] = parameter(said[0] if said else "input of a derivation", infinite=True)
        found[name].type = getattr(kind, "__name__", str(kind))
    return found


def outcome(function: Callable) -> dict[str, str]:
    """Meaning and unit of what a derivation gives, from its annotation Annotated[type, meaning, unit]."""
    said = typing.get_args(inspect.signature(function, eval_str=True).return_annotation)[1:]
    return dict(zip(("long_name", "units"), (*said, "1")[:2], strict=False)) if said else {}


def describe(field: dataclasses.Field) -> str:
    """What values a parameter may take, in words."""
    meta, kinds = field.metadata, _kinds(field)
    if meta["choices"]:
        return "one of " + ", ".join(meta["choices"])
    kind = next(k for k in kinds if k != "None")
    words = {"int": "a whole number", "float": "a number", "str": "a name", "bool": "true or false",
             "DataFile": "the path of a file"}[kind]
    bounds = [f"{sign} {_number(meta[name])}" for name, sign in
              (("low", "≥"), ("above", ">"), ("high", "≤"), ("below", "<")) if meta[name] is not None]
    return words + (" " + " and ".join(bounds) if bounds else "") + (" or null" if "None" in kinds else "")


def check(field: dataclasses.Field, value: Any, key: str) -> Any:
    """The value, in the declared type, or `InvalidInput` naming `key`.

    A whole float such as 1e3 is a valid int; nothing else is converted across types.
    """
    meta, kinds = field.metadata, _kinds(field)
    allowed = f"must be {describe(field)} ({meta['meaning']})"
    if value is None:
        if "None" in kinds:
            return None
        raise InvalidInput(key, value, allowed)
    if "DataFile" in kinds and isinstance(value, DataFile):
        return value
    if "DataFile" in kinds:
        if not isinstance(value, str) or not _is_text(value):
            raise InvalidInput(key, value, allowed)
        return DataFile.at(value, key)
    if "bool" in kinds or "str" in kinds:
        wanted = bool if "bool" in kinds else str
        if not isinstance(value, wanted):
            raise InvalidInput(key, value, allowed)
        if wanted is str and not _is_text(value):
            raise InvalidInput(key, ascii(value), "must be plain text, without NUL and broken bytes")
        if meta["choices"] and value not in meta["choices"]:
            raise InvalidInput(key, value, nearest(value, meta["choices"]))
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(key, repr(value) if isinstance(value, str) else value, allowed)
    if value != value:
        raise InvalidInput(key, value, allowed)
    unbounded = value == math.inf and meta["infinite"] and "int" not in kinds
    if abs(value) > sys.float_info.max and not unbounded:
        raise InvalidInput(key, value, allowed.replace("must be", "must be finite,", 1))
    if "int" in kinds and value != int(value):
        raise InvalidInput(key, value, allowed)
    out_of_range = (
        (meta["low"] is not None and value < meta["low"])
        or (meta["above"] is not None and value <= meta["above"])
        or (meta["high"] is not None and value > meta["high"])
        or (meta["below"] is not None and value >= meta["below"])
    )
    if out_of_range:
        raise InvalidInput(key, value, allowed)
    return int(value) if "int" in kinds else float(value) + 0.0  # -0.0 and 0.0 are one label


def _number(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _kinds(field: dataclasses.Field) -> tuple[str, ...]:
    name = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    return tuple(part.strip().rpartition(".")[2] for part in name.split("|"))
