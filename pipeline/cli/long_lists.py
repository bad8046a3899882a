"""Long lists, such as the levels of an axis: kept aside while Hydra composes, to which each value
is an object.

Hydra is given a list of one text that stands for the values; they come back when the config is
composed. Its parser takes a time that grows with the square of a list's length, so it reads a long
list that was typed part by part.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import digest

LONG = 200  # values of a list that are kept aside
MOST_TYPED = 2_000  # commas of a typed value that is no list of plain values
PREFIX = "long_list_"
PLAIN_LIST = re.compile(r"([^=\s]+)=\[([^\[\]{}()'\"\\$:=]*)\]")
KINDS = (int, float, str, bool)

_LISTS: dict[
    str, list[Any]
] = {}  # of the configs that are being composed, by the text that stands for each


def shortened(override: str) -> str:
    """The argument of a command, with a text in place of a long list of plain values.

    Raises InvalidInput for a long list that cannot be read, and for so long a value of another
    kind.
    """
    if override.count(",") < LONG:
        return override
    match = PLAIN_LIST.fullmatch(override)
    if match is not None:
        return f"{match[1]}=[{_stand_in(_values(match[1], match[2].split(',')))}]"
    if override.count(",") > MOST_TYPED:
        key, _, value = override.partition("=")
        raise InvalidInput(
            key.lstrip("+~"),
            value,
            f"is too long to be typed, with more than {MOST_TYPED:,} commas; "
            "write it into a file: experiment=PATH.yaml, which task=new begins",
        )
    return override


def without_long_lists(value: Any) -> Any:
    """A value of a config, with a list of one text in place of each long list of plain values in
    it.
    """
    if isinstance(value, Mapping):
        return {name: without_long_lists(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > LONG and all(type(part) in KINDS for part in value):
        return [_stand_in(value)]
    return [without_long_lists(part) for part in value]


def restored(value: Any) -> Any:
    """A value of a config with its long lists."""
    if not _LISTS:
        return value
    if isinstance(value, dict):
        return {name: restored(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) == 1 and isinstance(value[0], str) and value[0] in _LISTS:
        return list(_LISTS[value[0]])
    return [restored(part) for part in value]


def forget() -> None:
    """Forget the lists of earlier commands, or calls."""
    _LISTS.clear()


def _stand_in(values: list[Any]) -> str:
    """The text that stands for a list."""
    name = PREFIX + digest(repr(values), 8).hex()
    _LISTS[name] = values
    return name


def _values(key: str, words: list[str]) -> list[Any]:
    """Values of plain words, as Hydra reads them; InvalidInput where it cannot."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser = OverridesParser.create()
    values: list[Any] = []
    for start in range(0, len(words), LONG):
        part = ",".join(words[start : start + LONG])
        read: list[Any] = []
        with suppress(HydraException, ValueError):
            read = parser.parse_override(f"x=[{part}]").value()
        if len(read) != part.count(",") + 1:  # also of a comma at the end
            raise InvalidInput(key.lstrip("+~"), part, "cannot be read; write a list as [1,2,3]")
        values += read
    return values
