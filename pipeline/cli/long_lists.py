"""Long lists that are typed, such as the levels of an axis: read part by part.

The parser of Hydra takes a time that grows with the square of a list's length.
"""

import re
from contextlib import suppress
from typing import Any

from pipeline.study.parameters import InvalidInput

LONG = 200  # values of a list that is read part by part
MOST_TYPED = 2_000  # commas of a typed value that is no list of plain values
PLAIN_LIST = re.compile(r"([+]{0,2}[^+~=\s]+)=\[([^\[\]{}()'\"\\$:=]*)\]")


def read(argument: str) -> list[Any] | None:
    """The values of an argument that is a long list of plain values; None for any other argument.

    Raises InvalidInput for a long list that cannot be read, and for so long a value of another
    kind.
    """
    commas = argument.count(",")
    if commas < LONG:
        return None
    plain = PLAIN_LIST.fullmatch(argument)
    if plain is not None:
        key = plain[1].lstrip("+")
        return _values(key, plain[2].split(","))
    if commas > MOST_TYPED:
        key, _, value = argument.partition("=")
        raise InvalidInput(
            key.lstrip("+~"),
            value,
            f"is too long to be typed, with more than {MOST_TYPED:,} commas; "
            "write it into a file: experiment=PATH.yaml, which task=new begins",
        )
    return None


def _values(key: str, words: list[str]) -> list[Any]:
    """Values of plain words, as Hydra reads them; InvalidInput where it cannot."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parser = OverridesParser.create()
    values: list[Any] = []
    for start in range(0, len(words), LONG):
        part = ",".join(words[start : start + LONG])
        read_part: list[Any] = []
        with suppress(HydraException, ValueError):
            read_part = parser.parse_override(f"x=[{part}]").value()
        if len(read_part) != part.count(",") + 1:  # also of a comma at the end
            raise InvalidInput(key, part, "cannot be read; write a list as [1,2,3]")
        values += read_part
    return values
