"""Tables in text files: reading of lines and fields, with one-line messages for mistakes."""

import csv
from collections.abc import Iterable, Sequence

from pipeline.study.parameters import DataFile


class Unreadable(Exception):
    """A file cannot be read as expected; the text is a message for the user."""


def lines(file: DataFile) -> list[str]:
    """Lines of a text, without their ends; the first is row 1."""
    content = file.read()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise Unreadable(f"row {row}: is not UTF-8 text; save the file as text in UTF-8") from None


def header(texts: Sequence[str], expected: str, delimiters: str = ",") -> tuple[tuple[str, ...], int, str]:
    """Names in the first line that is not blank, the index of the line below, and the delimiter it has most of."""
    start = next((k for k, line in enumerate(texts) if line.strip()), None)
    if start is None:
        raise Unreadable(f"is empty; must begin with {expected}")
    delimiter = max(delimiters, key=texts[start].count)
    (names,), _ = rows(texts, [start], delimiter)
    return tuple(names), start + 1, delimiter


def rows(texts: Sequence[str], kept: Iterable[int], delimiter: str = ",") -> tuple[list[list[str]], list[int]]:
    """Fields, stripped, of the lines with the indices `kept`, and their row numbers; blank lines are left out.

    A quoted field may go on in the next lines; its row is the first of them.
    """
    indices = list(kept)
    reader = csv.reader((texts[k] + "\n" for k in indices), delimiter=delimiter, strict=True, skipinitialspace=True)
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


def columns(read: Sequence[Sequence[str]], numbers: Sequence[int], width: int, like: str) -> list[tuple[str, ...]]:
    """The columns of rows that all must have that width, as `like` says."""
    if not read:
        raise Unreadable("has a header and nothing below it")
    for number, row in zip(numbers, read, strict=True):
        if len(row) != width:
            raise Unreadable(f"row {number}: has {len(row)} fields; must have {width}{like}")
    return list(zip(*read, strict=True))
