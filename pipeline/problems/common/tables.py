"""Text files as people save them, read to lines and fields, with one-line messages for mistakes."""

import csv
import re
from collections.abc import Iterable, Sequence

from pipeline.study.parameters import DataFile

DELIMITERS = ",;\t|"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # marks at its beginning
SEPARATOR = re.compile("sep=(.)", re.IGNORECASE)
# Where a file begins so, it is no text: what it is, and what to do.
NOT_TEXT = {
    b"PK\x03\x04": "is a workbook or an archive (xlsx, ods, zip); save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook (xls); save the sheet as CSV",
    b"\x1f\x8b": "is compressed (gzip; R's rds is, too); write it out as CSV",
    b"BZh": "is compressed (bzip2); write it out as CSV",
    b"PAR1": "is a Parquet file; write it out as CSV",
    b"$FL2": "is an SPSS file (sav); save it as CSV",
    b"%PDF": "is a PDF; give the data themselves, as CSV",
    b"SQLite format 3": "is a database (SQLite); write the table out as CSV",
}


class Unreadable(Exception):
    """A file cannot be read as expected; the text is a message for the user."""


def lines(file: DataFile) -> list[str]:
    """Lines of a text, without their ends; the first is row 1.

    UTF-8, UTF-16 with its mark, or Windows-1252.
    """
    content = file.read()
    for beginning, fault in NOT_TEXT.items():
        if content.startswith(beginning):
            raise Unreadable(fault)
    return _decoded(content).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _decoded(content: bytes) -> str:
    if content.startswith(UTF_16):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise Unreadable(
                "begins as UTF-16 text and is none; save the file as text in UTF-8"
            ) from None
    if b"\0" in content:
        row = content[: content.index(b"\0")].count(b"\n") + 1
        raise Unreadable(
            f"row {row}: has a NUL byte, so it is no text; save the file as text in UTF-8"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
    try:
        return content.decode("cp1252")  # as Excel saves CSV in western Europe and the Americas
    except UnicodeDecodeError:
        raise Unreadable(f"row {row}: is not UTF-8 text; save the file as text in UTF-8") from None


def is_windows(file: DataFile) -> bool:
    """Whether a text is in no Unicode, so that it is read as Windows-1252."""
    content = file.read()
    try:
        content.decode("utf-16" if content.startswith(UTF_16) else "utf-8")
    except UnicodeDecodeError:
        return True
    return False


def header(
    texts: Sequence[str], expected: str, delimiters: str = DELIMITERS
) -> tuple[tuple[str, ...], int, str]:
    """Names in the first line that is not blank, the index of the line below, and the delimiter.

    The delimiter is what cuts the line into most fields; a space only if
    nothing else cuts it. A first line `sep=;`, which Excel writes, states
    it.
    """
    start = _next_line(texts, 0)
    if start is not None:
        statement = SEPARATOR.fullmatch(texts[start].strip().strip('"'))
        if statement:
            delimiters = statement[1]
            start = _next_line(texts, start + 1)
    if start is None:
        raise Unreadable(f"is empty; must begin with {expected}")
    delimiter = _delimiter_of(texts[start], delimiters)
    names, _ = rows(texts, [start], delimiter)
    if not names:
        raise Unreadable(f"row {start + 1}: the header has no names; must begin with {expected}")
    return tuple(names[0]), start + 1, delimiter


def _next_line(texts: Sequence[str], first: int) -> int | None:
    """Index of the first line from `first` on that is not blank."""
    for index in range(first, len(texts)):
        if texts[index].strip():
            return index
    return None


def _delimiter_of(line: str, delimiters: str) -> str:
    widths = {delimiter: len(_fields(line, delimiter)) for delimiter in (*delimiters, " ")}
    most = max(delimiters, key=lambda delimiter: widths[delimiter])
    return " " if widths[most] <= 1 < widths[" "] else most


def _fields(line: str, delimiter: str) -> list[str]:
    """Fields of a line; none where quotation marks do not fit the delimiter."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True), [])
    except csv.Error:
        return []


def rows(
    texts: Sequence[str], chosen: Iterable[int], delimiter: str = ","
) -> tuple[list[list[str]], list[int]]:
    """Fields, stripped, of the lines with the `chosen` indices, and their row numbers.

    Blank lines are left out. A quoted field may go on in the next lines;
    its row is the first of them.
    """
    indices = list(chosen)
    ended = (texts[k] + "\n" for k in indices)
    reader = csv.reader(ended, delimiter=delimiter, strict=True, skipinitialspace=True)
    read: list[list[str]] = []
    numbers: list[int] = []
    start = 0
    try:
        for row in reader:
            fields = [text.strip() for text in row]
            if any(fields) or len(fields) > 1:
                read.append(fields)
                numbers.append(indices[start] + 1)
            start = reader.line_num
    except csv.Error as error:
        raise Unreadable(f"row {indices[start] + 1}: is not CSV ({error})") from None
    return read, numbers


def columns(
    read: Sequence[Sequence[str]], numbers: Sequence[int], width: int, like: str
) -> list[tuple[str, ...]]:
    """The columns of rows that all must have that width, as `like` says."""
    if not read:
        raise Unreadable("has a header and nothing below it; must have a row for each answer")
    for number, row in zip(numbers, read, strict=True):
        if len(row) != width:
            raise Unreadable(f"row {number}: has {len(row)} fields; must have {width}{like}")
    return list(zip(*read, strict=True))
