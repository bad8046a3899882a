"""Tables of people's data to be released: how a row is read depends on it and on the header alone.

The header is public: the first line that is not blank, below a line `sep=;`
if there is one. It and the settings decide on the encoding, the delimiter
and the columns, and only they can be refused with a message. A row is a
line of the file. One that cannot be read by itself is left out without a
word, as if it were not there: a message, or an exit code, would tell
something of one person. Nothing that stands in a row, not even half a
quotation or a letter of another encoding, changes how others are read.
"""

import csv
import itertools
from collections.abc import Sequence
from dataclasses import Field, dataclass
from typing import Any, NamedTuple

from pipeline.study.parameters import DataFile, parameter, shorten

from . import tables
from .sheets import Sheet
from .tables import Unreadable

CODECS = {"utf-8": "utf-8", "windows-1252": "cp1252"}
ENCODING: Field[Any] = parameter("encoding of data.path", default="utf-8", choices=tuple(CODECS))
ENCODING.type = str
MARK = b"\xef\xbb\xbf"  # of UTF-8, as Excel writes it
SHOWN = 10  # rows left out that a check prints


class LeftOut(NamedTuple):
    """A row that a release leaves out: its number in the file, and why. No part of the release."""

    number: int
    reason: str


@dataclass(frozen=True, eq=False)
class ReleaseSheet:
    """A header and the rows that have as many fields.

    left_out: the other rows, for those alone who may see the data.
    """

    sheet: Sheet
    left_out: tuple[LeftOut, ...]


class _Header(NamedTuple):
    """names: of the columns. start: index of the line below. delimiter: between fields."""

    names: tuple[str, ...]
    start: int
    delimiter: str


def read(file: DataFile, expected: str, encoding: str) -> ReleaseSheet:
    """The table in a file that is to be released. encoding: a key of `CODECS`. O(bytes).

    Columns at the end of the header without a name are left out. Raises
    `Unreadable` for the header alone.
    """
    content = file.read()
    _refuse_other_formats(content)
    lines = content.removeprefix(MARK).split(b"\n")
    codec = CODECS[encoding]
    header = _header_of(lines, expected, codec)
    names = header.names
    while len(names) > 1 and not names[-1]:
        names = names[:-1]
    numbers: list[int] = []
    cells: list[list[str]] = []
    left_out: list[LeftOut] = []
    for index in range(header.start, len(lines)):
        number = index + 1
        try:
            fields = _fields_of(lines[index], codec, header)
        except Unreadable as error:
            left_out.append(LeftOut(number, str(error)))
            continue
        if any(fields):
            numbers.append(number)
            cells.append(fields)
    columns: list[tuple[str, ...]] = list(zip(*cells, strict=True))
    if not cells:
        columns = [() for _ in names]
    sheet = Sheet(names, columns[: len(names)], numbers, header.delimiter)
    return ReleaseSheet(sheet, tuple(left_out))


def _refuse_other_formats(content: bytes) -> None:
    """Raises `Unreadable` for what its first bytes show to be no text, or to be in UTF-16."""
    for beginning, fault in tables.NOT_TEXT.items():
        if content.startswith(beginning):
            raise Unreadable(fault)
    if content.startswith(tables.UTF_16):
        raise Unreadable(
            "is in UTF-16, in which a byte of one row may change all others; save the file in UTF-8"
        )


def _header_of(lines: Sequence[bytes], expected: str, codec: str) -> _Header:
    texts: list[str] = []
    for line in lines:
        texts.append(_header_text(line.removesuffix(b"\r"), codec))
        text = texts[-1].strip().strip('"')
        if text and not tables.SEPARATOR.fullmatch(text):
            break
    names, start, delimiter = tables.header(texts, expected)
    return _Header(names, start, delimiter)


def _header_text(line: bytes, codec: str) -> str:
    """The header, or a line before it. Raises `Unreadable` without a word of what it holds."""
    if b"\r" in line or b"\0" in line:
        raise Unreadable(
            "has other ends of lines than LF or CRLF in its header, or a NUL; save "
            "the file as text in UTF-8"
        )
    try:
        return line.decode(codec)
    except UnicodeDecodeError:
        raise Unreadable(
            "has a header in another encoding; save the file in UTF-8, or say which "
            f"it is with parameters.encoding, one of {', '.join(CODECS)}"
        ) from None


def _fields_of(line: bytes, codec: str, header: _Header) -> list[str]:
    """Fields of one line, none if it is blank.

    Raises `Unreadable` with the reason why it is left out.
    """
    line = line.removesuffix(b"\r")
    if b"\r" in line or b"\0" in line:
        raise Unreadable("has a carriage return or a NUL inside")
    try:
        text = line.decode(codec)
    except UnicodeDecodeError:
        raise Unreadable("is in another encoding") from None
    try:
        reader = csv.reader([text], delimiter=header.delimiter, strict=True, skipinitialspace=True)
        rows = list(reader)
    except csv.Error as error:
        raise Unreadable(f"is not CSV ({error})") from None
    fields = [field.strip() for field in itertools.chain.from_iterable(rows)]
    width = len(header.names)
    if any(fields) and len(fields) != width:
        raise Unreadable(f"has {len(fields)} fields; must have {width}, as the header")
    return fields


def check_report(rows: int, left_out: Sequence[LeftOut]) -> str:
    """What `check=true` prints: how many rows count, and the first that are left out.

    It is not private. rows: those that count.
    """
    lines = [f"rows that would count: {rows:,}; left out without a word: {len(left_out):,}"]
    lines.extend(
        f"  row {row.number}: {shorten(row.reason, 90)}" for row in sorted(left_out)[:SHOWN]
    )
    if len(left_out) > SHOWN:
        lines.append(f"  and {len(left_out) - SHOWN:,} more")
    lines.append(
        "  Nothing was released. This says something of single people: only those who may "
        "see the data should read it."
    )
    return "\n".join(lines)
