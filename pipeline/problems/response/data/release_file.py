"""Files of responses that are to be released: persons × items, each row read by itself."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pipeline.problems.common import release_rows
from pipeline.problems.common.release_rows import LeftOut
from pipeline.problems.common.sheets import Sheet, whole_number
from pipeline.problems.common.tables import Unreadable
from pipeline.study.parameters import DataFile, InvalidInput, shorten

from .files import ALLOWED, HEADER, MISSING, Rows, Shape, code_of, shape_of

SEVERAL = "the person has several rows, which are all left out"


def read(file: DataFile, encoding: str) -> tuple[Rows, tuple[LeftOut, ...]]:
    """The rows of a file of persons × items that count, and those that do not.

    Left out are rows that are wrong by themselves, and all rows of a name
    that several of the others have: see `NoisyDifferences.publish`. Raises
    InvalidInput for the header alone.
    """
    try:
        table = release_rows.read(file, HEADER, encoding)
        shape = shape_of(table.sheet.header)
    except Unreadable as error:
        raise InvalidInput("data_path", file.path, str(error)) from None
    left_out = list(table.left_out)
    coded: list[list[int]] = []
    persons: list[int] = []
    person: list[str] = []
    numbers: list[int] = []
    for row, number in enumerate(table.sheet.numbers):
        try:
            name = _name(table.sheet, shape, row)
            times = _times(table.sheet, shape, row)
            codes = _codes(table.sheet, shape, row)
        except Unreadable as error:
            left_out.append(LeftOut(number, str(error)))
            continue
        coded.append(codes)
        persons.append(times)
        person.append(name)
        numbers.append(number)
    cells = np.array(coded, np.int8).reshape(len(coded), len(shape.items))
    weights = np.array(persons, np.int64)
    names = person if shape.named else None
    rows = Rows(cells == 1, cells != MISSING, weights, names, shape.items)
    several = repeated(rows)
    for number, out in zip(numbers, several, strict=True):
        if out:
            left_out.append(LeftOut(number, SEVERAL))
    return without(rows, several), tuple(left_out)


def repeated(rows: Rows) -> Sequence[bool]:
    """Whether another row has the name of a row, (rows,); never where the file names no persons."""
    if rows.person is None:
        return [False for _ in rows.answers]
    times = Counter(rows.person)
    return [times[name] > 1 for name in rows.person]


def without(rows: Rows, out: Sequence[bool]) -> Rows:
    """The rows without those that are out, (rows,)."""
    left = [row for row, is_out in enumerate(out) if not is_out]
    person = None
    if rows.person is not None:
        person = [rows.person[k] for k in left]
    return Rows(rows.answers[left], rows.observed[left], rows.persons[left], person, rows.items)


def _name(sheet: Sheet, shape: Shape, row: int) -> str:
    """The person's name, empty where the file has none."""
    if not shape.named:
        return ""
    name = sheet.columns[0][row]
    if not name:
        raise Unreadable("the person has no name")
    return name


def _times(sheet: Sheet, shape: Shape, row: int) -> int:
    """How many persons the row stands for."""
    if not shape.counted:
        return 1
    try:
        return whole_number(sheet.columns[-1][row])
    except Unreadable as error:
        raise Unreadable(f"column 'count': {error}") from None


def _codes(sheet: Sheet, shape: Shape, row: int) -> list[int]:
    """Codes of the answers, (items,)."""
    codes = []
    for column, item in enumerate(shape.items, shape.first):
        text = sheet.columns[column][row]
        code = code_of(text)
        if code < 0:
            name = shorten(item, 30)
            raise Unreadable(f"column {name!r}: is {shorten(text, 30)!r}; must be {ALLOWED}")
        codes.append(code)
    return codes
