"""Texts from people's files, as pages, figures and spreadsheets may show them."""

import functools
import re
from typing import TypeVar

# Signs that control a terminal or a printer, are no text in XML, or turn the direction of writing.
CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]"
)
# Where a cell may begin, whether a program parts fields at commas, semicolons or tabs, and signs
# that are not text.
FORMULA = re.compile(r"""(^|[;\t\r\n])(?=[=+\-@\t\r\n'"])""")

T = TypeVar("T")


def visible(text: str) -> str:
    """The text with every sign that controls what shows it as its number.

    >>> visible("a" + chr(27) + "b" + chr(0x202e))
    'a\\\\x1bb\\\\u202e'
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def plain_text(name: str) -> str:
    """The name with ' where a spreadsheet might begin a formula; different names stay different.

    >>> plain_text("=A1")
    "'=A1"
    """
    return FORMULA.sub(r"\1'", name)


def cell(value: T) -> T | str:
    """What a cell of a table holds: of a text what is safe to open, of anything else the same.

    >>> cell("=A1"), cell(-1.5)
    ("'=A1", -1.5)
    """
    return _safe_text(value) if isinstance(value, str) else value


@functools.lru_cache(maxsize=4096)  # of a long table most texts are the same
def _safe_text(text: str) -> str:
    return plain_text(visible(text))
