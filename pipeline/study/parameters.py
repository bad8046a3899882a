"""Parameters of components: declared once, checked everywhere.

Models, mechanisms, estimators and metrics are frozen dataclasses. Each field is made by
`parameter`, which carries its meaning, unit and range; the command's help, the checks of a config
and the labels of a dataset are all read from there.
"""

import copy
import dataclasses
import difflib
import functools
import hashlib
import inspect
import math
import re
import sys
import typing
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import Field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeAlias, TypedDict, TypeVar, Unpack, cast

from pipeline.study.errors import PipelineError
from pipeline.study.files import read_regular
from pipeline.study.untyped import AnyField, ParameterValues

Declared = TypeVar("Declared")
LISTED = 110  # characters of a list of names in a message
ALIKE = 0.66  # likeness of two names from which on one is suggested for the other
SLIP = 0.92  # and from which on they differ by a slip of the finger
SHORTEST = 3  # letters that say how a name begins
PLAIN = frozenset({int, float, bool, str, type(None)})  # types of values that nothing changes


Value: TypeAlias = "bool | int | float | str | DataFile | None"  # of a parameter


class InvalidInput(PipelineError, ValueError):
    """Bad input from a person, in one line: key, value, and what is allowed."""

    def __init__(self, key: str, value: object, allowed: str):
        self.key = key
        self.value = value
        self.allowed = allowed
        hint = printable(re.sub(r"\s", " ", allowed))  # it may repeat what was typed
        super().__init__(f"{shorten(key, 80)}={shorten(value)}: {hint}")

    def __reduce__(
        self,
    ) -> tuple[type["InvalidInput"], tuple[str, Any, str]]:  # workers send it to the driver
        return type(self), (self.key, self.value, self.allowed)


def path_of(path: str, key: str) -> Path:
    """The file or folder of a path, where "~" means the home folder.

    Raises InvalidInput if there is none.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        missing = "there is no such user"
        if path.split("/")[0] == "~":
            missing = "no home folder is known here"
        raise InvalidInput(key, path, f"{missing}; write the whole path") from None


@dataclasses.dataclass(frozen=True)
class DataFile:
    """A file of a person's data. sha256: 64 hexadecimal digits of its content.

    Equal content makes equal files.
    """

    sha256: str
    path: str = dataclasses.field(compare=False)

    @classmethod
    def at(cls, path: str, key: str) -> "DataFile":
        """The file at a path; InvalidInput naming `key` if it cannot be read."""
        file = path_of(path, key)
        try:
            if file.exists() and not file.is_file():
                allowed = "must be a file, not a folder or a pipe: it is read more than once"
                raise InvalidInput(key, path, allowed)
            return cls(hashlib.sha256(read_regular(file)).hexdigest(), str(file.absolute()))
        except OSError as error:
            allowed = f"cannot be read ({error.strerror}); must be the path of a file"
            raise InvalidInput(key, path, allowed) from None

    def read(self) -> bytes:
        """Its content; OSError if the file is gone or its content has changed."""
        content = read_regular(self.path)
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise OSError(f"{self.path} has changed since the study began; put back what it was")
        return content

    def __str__(self) -> str:
        return f"sha256:{self.sha256}"


def printable(text: str) -> str:
    """The text with "?" for every character that is not printable, so that it cannot control a
    terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "?" for c in text)


def shorten(value: object, width: int = 60) -> str:
    """Text of a value, cut so that a message stays on one line."""
    text = str(value)
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = text.lower()
    text = printable(" ".join(text.split()))
    if len(text) <= width:
        return text
    return text[: width - 1] + "…"


def nearest(name: object, valid: Iterable[str]) -> str:
    """Advice on an unknown name: the nearest valid one, then all of them, or as many as fit on a
    line.
    """
    valid = sorted(valid)
    close = closest(str(name), valid)
    listed = ", ".join(valid)
    if len(listed) > LISTED:
        listed = listed[: listed.rindex(", ", 0, LISTED)] + ", …"
    allowed = f"allowed: {listed or 'nothing'}"
    if not close:
        return allowed
    return f"did you mean {close!r}? {allowed}"


def closest(name: str, valid: Sequence[str]) -> str:
    """The valid name that was meant, if one is near: the same but for the case of its letters or one
    slip, the only one that begins so or is part of it, or one of much the same letters. Empty where
    none is.

    >>> closest("l", ["L", "m"]), closest("replicate", ["replications", "repair"])
    ('L', 'replications')
    >>> closest("workers", ["store"])
    ''
    """
    for other in valid:
        if other.lower() == name.lower():
            return other
    slip = difflib.get_close_matches(name, valid, 1, SLIP)
    if slip:
        return slip[0]
    inside = [other for other in valid if len(other) > SHORTEST and other in name]
    if len(inside) == 1:
        return inside[0]
    beginning = [other for other in valid if len(name) >= SHORTEST and other.startswith(name)]
    if len(beginning) == 1:
        return beginning[0]
    close = difflib.get_close_matches(name, valid, 1, ALIKE)
    return close[0] if close else ""


class Limits(TypedDict, total=False):
    """Unit and allowed range of a parameter: `low` and `high` inclusive, `above` and `below` not.

    choices: allowed texts. infinite: whether +inf is allowed. instead: name of the parameter that
    may be given in this one's place, so that one of both is needed.
    """

    unit: str
    low: float | None
    above: float | None
    high: float | None
    below: float | None
    choices: tuple[str, ...] | None
    infinite: bool
    instead: str | None


def declaration(meaning: str, **limits: Unpack[Limits]) -> dict[str, Any]:
    """Metadata of a field that holds a parameter."""
    unlimited = Limits(
        unit="1",
        low=None,
        above=None,
        high=None,
        below=None,
        choices=None,
        infinite=False,
        instead=None,
    )
    return {"meaning": meaning, **unlimited, **limits}


def parameter(
    meaning: str, *, default: object = dataclasses.MISSING, **limits: Unpack[Limits]
) -> AnyField:
    """Field of a component: meaning, unit and allowed range.

    Values are checked against the annotation, one of int, float, str, bool, DataFile (given as a
    path), optionally `| None`.

    >>> import pipeline as pl
    >>> @dataclasses.dataclass(frozen=True)
    ... class Mean(pl.Checked):
    ...     n: int = pl.parameter("people", unit="people", low=1)
    >>> Mean(n=0)
    Traceback (most recent call last):
    pipeline.study.parameters.InvalidInput: n=0: must be a whole number ≥ 1 (people)
    """
    return dataclasses.field(default=default, metadata=declaration(meaning, **limits))


class Checked:
    """Base of frozen dataclasses whose fields are made by `parameter`: every value is checked at
    construction.

    Values are converted to the declared type as those of a config are: 10.0 becomes the whole
    number 10, a path becomes a `DataFile`. Raises InvalidInput, naming the field, for a value that
    is not allowed.
    """

    def __init_subclass__(cls) -> None:
        """Give the class fields of its own: a dataclass writes into them, and classes share some."""
        super().__init_subclass__()
        for name, value in list(vars(cls).items()):
            if isinstance(value, dataclasses.Field):
                setattr(cls, name, copy.copy(value))

    def __post_init__(self) -> None:
        last = _last_checked(cast(Hashable, type(self)))
        for name, declared in _parameters(cast(Hashable, type(self))).items():
            value = getattr(self, name)
            pair = last.get(name)
            if pair is not None and pair[0] is value:
                checked = pair[1]
            else:
                checked = check(declared, value, name)
                if type(value) in PLAIN and not isinstance(checked, DataFile):
                    last[name] = (value, checked)
            if checked is not value:
                object.__setattr__(self, name, checked)

    @classmethod
    def read(
        cls,
        values: object,
        prefix: str,
        *,
        keys: Iterable[str] = (),
        example: str = "",
        **known_already: object,
    ) -> Self:
        """An object from a mapping of a config.

        prefix: what stands before a key in errors, such as "refine.". keys: fields that the mapping
        may name; all but those known already, if empty. example: of such a mapping, for the error.
        Raises InvalidInput, which names the key, for what is no mapping, for an unknown key, for a
        value that is missing or not allowed, and for values that do not go together.

        >>> @dataclasses.dataclass(frozen=True)
        ... class People(Checked):
        ...     n: int = parameter("people", unit="people", low=1)
        >>> People.read({"n": 5.0}, "people.").n
        5
        >>> People.read({"m": 5}, "people.")
        Traceback (most recent call last):
        pipeline.study.parameters.InvalidInput: people.m=5: no such key; allowed: n
        """
        return read(cls, values, prefix, known_already, keys=keys, example=example)


def read(
    cls: type[Declared],
    values: object,
    prefix: str,
    known_already: Mapping[str, object] = MappingProxyType({}),
    *,
    keys: Iterable[str] = (),
    example: str = "",
    reader: Callable[[Field[Any], object, str], object] | None = None,
) -> Declared:
    """What `Checked.read` does, of any dataclass whose fields have meanings.

    reader: field, value, key -> the checked value, for fields that are not made by `parameter`.
    """
    if not isinstance(values, Mapping):
        allowed = f"must be a mapping such as {example or '{NAME: VALUE}'}"
        raise InvalidInput(prefix.removesuffix("."), values, allowed)
    declared = {name: field for name, field in fields(cls).items() if name not in known_already}
    check_keys(values, [*keys] or declared, prefix)
    check_needed(values, declared, prefix)
    check_value = reader or check
    checked: dict[str, Any] = {}
    for name, value in values.items():
        checked[name] = check_value(declared[name], value, prefix + name)
    try:
        return cls(**checked, **known_already)
    except InvalidInput as error:  # a check of the class itself, which does not know its prefix
        raise InvalidInput(prefix + error.key, error.value, error.allowed) from None


def check_keys(
    values: ParameterValues, known: Iterable[str], prefix: str, unknown: str = "no such key"
) -> None:
    """Raise InvalidInput for an unknown key of a mapping. prefix: before it, in the error."""
    known = [*known]
    for name, value in values.items():
        if name not in known:
            raise InvalidInput(f"{prefix}{name}", value, f"{unknown}; {nearest(name, known)}")


def check_needed(values: ParameterValues, declared: Mapping[str, Field[Any]], prefix: str) -> None:
    """Raise InvalidInput for a declared value that has no default and that a mapping lacks."""
    for name, field in declared.items():
        has_none = field.default is dataclasses.MISSING and (
            field.default_factory is dataclasses.MISSING
        )
        if has_none and values.get(name) is None:
            meaning = field.metadata["meaning"]
            raise InvalidInput(f"{prefix}{name}", None, f"is needed ({meaning})")


def fields(component: type[Any]) -> dict[str, Field[Any]]:
    """Parameters of a component class, by name."""
    return dict(_fields(cast(Hashable, component)))


@functools.lru_cache(maxsize=1024)
def _fields(component: Hashable) -> dict[str, Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cast(Any, component))}


@functools.lru_cache(maxsize=1024)
def _parameters(component: Hashable) -> dict[str, Field[Any]]:
    """Those fields of a class that are made by `parameter`."""
    return {
        name: field for name, field in _fields(component).items() if "choices" in field.metadata
    }


@functools.lru_cache(maxsize=1024)
def _last_checked(component: Hashable) -> dict[str, tuple[Any, Any]]:
    """By name of a field of a class the value that was checked last, and what came of it.

    From cell to cell most values are the same objects.
    """
    return {}


def arguments(function: Callable[..., Any]) -> dict[str, Field[Any]]:
    """Inputs of a derivation as parameters, from its annotations: a type, or Annotated[type,
    meaning].

    The function itself checks their ranges.
    """
    inputs = {}
    for name, argument in inspect.signature(function, eval_str=True).parameters.items():
        kind, *meaning = typing.get_args(argument.annotation) or (argument.annotation,)
        meaning = meaning or ["input of a derivation"]
        declared = parameter(meaning[0], infinite=True)
        declared.type = getattr(kind, "__name__", str(kind))
        inputs[name] = declared
    return inputs


def outcome(function: Callable[..., Any]) -> dict[str, str]:
    """Meaning and unit of what a derivation gives, from its annotation Annotated[type, meaning,
    unit].
    """
    notes = typing.get_args(inspect.signature(function, eval_str=True).return_annotation)[1:]
    if not notes:
        return {}
    long_name, units = (*notes, "1")[:2]
    return {"long_name": long_name, "units": units}


def describe(field: Field[Any]) -> str:
    """Description of the values that a parameter may take."""
    meta = field.metadata
    kinds = kinds_of(field)
    if meta["choices"]:
        return "one of " + ", ".join(meta["choices"])
    kind = next(k for k in kinds if k != "None")
    words = {
        "int": "a whole number",
        "float": "a number",
        "str": "a name",
        "bool": "true or false",
        "DataFile": "the path of a file",
    }[kind]
    bounds = [
        f"{sign} {_number(meta[name])}"
        for name, sign in (("low", "≥"), ("above", ">"), ("high", "≤"), ("below", "<"))
        if meta[name] is not None
    ]
    if bounds:
        words = f"{words} {' and '.join(bounds)}"
    if "None" in kinds:
        words = f"{words} or null"
    return words


def check(field: Field[Any], value: object, key: str) -> Value:
    """The value, in the declared type, or `InvalidInput` naming `key`.

    A whole float such as 1e3 is a valid int, and yes and no are valid bools; nothing else is
    converted across types.
    """
    kind = type(value)
    is_file = kind is str and "DataFile" in kinds_of(field)
    if kind in PLAIN and not is_file:  # a value is often the same in many cells
        try:
            return _checked_before(field, value)
        except InvalidInput:  # which does not know the key
            pass
    return _check(field, value, key)


def check_as(kind: type[Declared], field: Field[Any], value: object, key: str) -> Declared:
    """The value of a parameter that is declared with one type, such as int. Raises as `check`."""
    return cast(Declared, check(field, value, key))


@functools.lru_cache(maxsize=65_536, typed=True)  # 1 == 1.0 == True
def _checked_before(field: Hashable, value: object) -> Value:
    return _check(cast(Field[Any], field), value, "")


def _check(field: Field[Any], value: object, key: str) -> Value:
    kinds = kinds_of(field)
    if value is None and "None" in kinds:
        return None
    if "DataFile" in kinds:
        return _checked_file(field, value, key)
    if "str" in kinds:
        return _checked_text(field, value, key)
    if "bool" in kinds:
        if isinstance(value, str) and value in ("yes", "no"):  # as a person types it
            return value == "yes"
        if not isinstance(value, bool):
            raise InvalidInput(key, value, _allowed(field))
        return value
    return _checked_number(field, value, key)


def _allowed(field: Field[Any]) -> str:
    return f"must be {describe(field)} ({field.metadata['meaning']})"


def _checked_file(field: Field[Any], value: object, key: str) -> DataFile:
    if isinstance(value, DataFile):
        return value
    if not isinstance(value, str) or not _is_text(value):
        raise InvalidInput(key, value, _allowed(field))
    return DataFile.at(value, key)


def _checked_text(field: Field[Any], value: object, key: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(key, value, _allowed(field))
    if not _is_text(value):
        raise InvalidInput(key, ascii(value), "must be plain text, without NUL and broken bytes")
    choices = field.metadata["choices"]
    if choices and value not in choices:
        raise InvalidInput(key, value, nearest(value, choices))
    return str(value)  # also those of NumPy


def _checked_number(field: Field[Any], value: object, key: str) -> int | float:
    limits = field.metadata
    whole = "int" in kinds_of(field)
    number: Any = value
    if type(value).__module__ == "numpy" and not getattr(value, "shape", ()):
        number = number.item()
    if isinstance(number, str):
        raise InvalidInput(key, repr(value), _allowed(field))
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise InvalidInput(key, value, _allowed(field))
    infinite = limits["infinite"] and not whole and number == math.inf
    if abs(number) > sys.float_info.max and not infinite:
        raise InvalidInput(key, value, _allowed(field).replace("must be", "must be finite,", 1))
    if number != number or (whole and number != int(number)) or not _inside(limits, number):
        raise InvalidInput(key, value, _allowed(field))
    if whole:
        return int(number)
    return float(number) + 0.0  # -0.0 and 0.0 are one label


def _inside(limits: Mapping[str, Any], number: float) -> bool:
    low, above, high, below = (limits[name] for name in ("low", "above", "high", "below"))
    return (
        (low is None or number >= low)
        and (above is None or number > above)
        and (high is None or number <= high)
        and (below is None or number < below)
    )


def _number(bound: float) -> str:
    if isinstance(bound, int):
        return f"{bound:,}"
    return f"{bound:g}"


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def kinds_of(field: Field[Any]) -> tuple[str, ...]:
    """Names of the types that a parameter may have by its annotation, such as ("int", "None")."""
    if isinstance(field.type, str):
        return _kinds_of(field.type)
    return _kinds_of(getattr(field.type, "__name__", str(field.type)))


@functools.lru_cache(maxsize=1024)
def _kinds_of(annotation: str) -> tuple[str, ...]:
    return tuple(part.strip().rpartition(".")[2] for part in annotation.split("|"))
