"""Files of people's right and wrong answers: read, checked, and cached by content.

Nothing is ever written. Five formats, recognised by how a file begins: ARFF
(the students of UCI 467), a header with school, G1, G2 and G3 (those of UCI
320), MovieLens's ratings, a header person,item,response (long: an answer a
row), and else persons × items: a header of item names, a first column of
persons if wanted, a last column count if a row stands for several persons.
Answers: see `ANSWERS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipeline.problems.common import rating_files, sheets, tables
from pipeline.problems.common.sheets import COUNT, ITEM, MOST_PERSONS, PERSON, WHOLE, Sheet, plain
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Array, Booleans, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import DataFile, InvalidInput, shorten

from . import rating_completion
from .table import Table, check_connected

MISSING = 2
VALUES = {"0": 0, "1": 1, "": MISSING, "NA": MISSING}
WRONG_TEXTS = ("0", "0.0", "0,0", "false", "f", "no", "n", "wrong", "incorrect")
RIGHT_TEXTS = ("1", "1.0", "1,0", "true", "t", "yes", "y", "right", "correct")
# Without regard to capitals.
ANSWERS = {
    **dict.fromkeys(WRONG_TEXTS, 0),
    **dict.fromkeys(RIGHT_TEXTS, 1),
    **dict.fromkeys(sheets.MISSING, MISSING),
}
ALLOWED = "0, 1, or nothing or NA for a missing answer"
LONG = {
    "person": PERSON,
    "item": ITEM,
    "response": (
        "response",
        "resp",
        "answer",
        "correct",
        "score",
        "value",
        "outcome",
        "result",
        "right",
    ),
}
HEADER = "a header of item names"
MOST_ANSWERS = 10**9  # persons × items, a byte each
GRADES = ("G1", "G2", "G3")
STUDENTS = 649
MARKS = ("tnp", "twp", "iap", "esp")  # columns 2 to 5, counted from 0
LEVELS = {"Best": 1, "Vg": 1, "Good": 0, "Pass": 0, "Fail": 0}
PAPERS_STUDENTS = 131
# Persons by pattern, read as a number of two: 00000, 00001, …, 11111.
# fmt: off
LSAT_6 = (
    3, 6, 2, 11, 1, 1, 3, 4,
    1, 8, 0, 16, 0, 3, 2, 15,
    10, 29, 14, 81, 3, 28, 15, 80,
    16, 56, 21, 173, 11, 61, 28, 298,
)
# fmt: on

Columns = Sequence[Sequence[str]]  # the texts of a file, column by column
Numbers = Sequence[int]  # the number of each row in the file


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file of persons × items, each checked by itself.

    answers: (rows, items), False where missing. observed: (rows, items).
    persons: (rows,), how many a row stands for. person: (rows,), their
    names, or None where the file has no such column. items: names.
    """

    answers: Booleans
    observed: Booleans
    persons: Integers
    person: Sequence[str] | None
    items: tuple[str, ...]


@dataclass(frozen=True)
class Shape:
    """Columns of a file of persons × items.

    named: whether the first column has the persons' names. counted: whether
    the last one says how many persons a row stands for. items: names of
    those between.
    """

    named: bool
    counted: bool
    items: tuple[str, ...]

    @property
    def first(self) -> int:
        """Position of the first item."""
        return int(self.named)


@lru_cache(maxsize=4)
@read_only
def load(path: DataFile, other_ratings: bool = False) -> Table:
    """The responses of a file; InvalidInput with the row of the first mistake, or what is expected.

    other_ratings: accept ratings that are not MovieLens's ml-latest-small.
    Read once per content.
    """
    try:
        lines = tables.lines(path)
        stripped = (line.strip().lower() for line in lines if not line.startswith("%"))
        if next(filter(None, stripped), "").startswith("@relation"):
            return _marks(lines, path)
        header, _, _ = tables.header(lines, HEADER)
        if header == rating_files.RATINGS:
            return _ratings(path, other_ratings)
        sheet = sheets.read(path, HEADER, empty_rows=True)
        if {"school", *GRADES} <= {*sheet.header}:
            return _grades(sheet, path)
        roles = sheet.roles(LONG)
        if len(roles) == len(LONG):
            return _long(sheet, roles, path)
        return _responses(_rows(sheet), sheet.numbers, path, sheet.remark)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None


def code_of(text: str, codes: Mapping[str, int] = ANSWERS) -> int:
    """Code of a text or of its small letters, −1 where there is none.

    >>> code_of("Yes"), code_of("NA"), code_of("2")
    (1, 2, -1)
    """
    return codes.get(text, codes.get(text.lower(), -1))


def _coded(
    columns: Columns, names: Sequence[str], numbers: Numbers, codes: Mapping[str, int], allowed: str
) -> Array:
    """Codes of texts, (persons, items) int8; refuses the first text, by row, without one."""
    code = {text: code_of(text, codes) for text in set().union(*columns)}
    coded = np.empty((len(columns[0]), len(columns)), np.int8)
    for position, column in enumerate(columns):
        coded[:, position] = [code[text] for text in column]
    bad = np.argwhere(coded < 0)
    if bad.size:
        row, item = bad[0]
        raise Unreadable(
            f"row {numbers[row]}, column {shorten(names[item], 30)!r}: is "
            f"{shorten(columns[item][row], 30)!r}; must be {allowed}"
        )
    return coded


def shape_of(header: Sequence[str]) -> Shape:
    """The columns of a file of persons × items. Raises `Unreadable` for a header of another one."""
    named = plain(header[0]) in PERSON or not header[0]
    items = list(header)
    if named:
        items.pop(0)
    counted = bool(items) and plain(items[-1]) in COUNT[:1]
    if counted:
        if named:  # a named person's row would weigh more than 1, which no budget covers
            raise Unreadable(
                "has a column of persons and a last column 'count'; a row must "
                "be one person, or stand for several without a name"
            )
        items.pop()
    if len(items) < 2:
        number = "1 item" if len(items) == 1 else f"{len(items)} items"
        raise Unreadable(f"has {number}; needs two at least, a column each")
    if all(name in VALUES for name in items[1:]):
        raise Unreadable("begins with answers; must begin with a header of item names")
    _check_item_names(items)
    return Shape(named, counted, tuple(items))


def _rows(sheet: Sheet) -> Rows:
    """Rows of persons × items."""
    shape = shape_of(sheet.header)
    person = sheet.names(0, "person") if shape.named else None
    persons = np.ones(len(sheet.numbers), np.int64)
    if shape.counted:
        persons = _persons(sheet.columns[-1], sheet.numbers)
    columns = sheet.columns[shape.first : shape.first + len(shape.items)]
    coded = _coded(columns, shape.items, sheet.numbers, ANSWERS, ALLOWED)
    return Rows(coded == 1, coded != MISSING, persons, person, shape.items)


def _long(sheet: Sheet, roles: Mapping[str, int], file: DataFile) -> Table:
    """The table of a file with an answer in a row; missing where there is no row.

    Persons and items are in the order in which they come.
    """
    response = roles["response"]
    texts = [sheet.columns[response]]
    coded = _coded(texts, [sheet.header[response]], sheet.numbers, ANSWERS, ALLOWED)[:, 0]
    persons, person = _numbered(sheet.names(roles["person"], "person"))
    items, item = _numbered(sheet.names(roles["item"], "item"))
    if len(persons) * len(items) > MOST_ANSWERS:
        raise Unreadable(
            f"has {len(persons):,} persons × {len(items):,} items; at most {MOST_ANSWERS:,} in all"
        )
    answer = person * len(items) + item
    rating_files.refuse_repeats(answer, list(sheet.numbers), "this person answered this item")
    cells = np.full((len(persons), len(items)), MISSING, np.int8)
    cells[person, item] = coded
    if len(items) < 2:
        raise Unreadable("has 1 item; needs two at least")
    rows = Rows(cells == 1, cells != MISSING, np.ones(len(persons), np.int64), None, items)
    return _responses(rows, sheet.numbers, file, sheet.unused(roles.values()))


def _numbered(column: Sequence[str]) -> tuple[tuple[str, ...], Integers]:
    """The different names of a column as they come, and each row's number among them."""
    names = tuple(dict.fromkeys(column))
    number_of = {name: number for number, name in enumerate(names)}
    return names, np.array([number_of[name] for name in column])


def _check_item_names(header: Sequence[str]) -> None:
    for position, name in enumerate(header):
        if not name:
            raise Unreadable(f"item {position + 1} has no name in the header")
        if name in header[:position]:
            raise Unreadable(f"the header names item {shorten(name, 30)!r} twice")


def _check_one_row_each(column: Sequence[str], numbers: Numbers) -> None:
    seen: dict[str, int] = {}
    for number, name in zip(numbers, column, strict=True):
        if name in seen:
            person = shorten(name, 30)
            raise Unreadable(f"row {number}: person {person!r} has a row before, {seen[name]}")
        seen[name] = number


def _persons(column: Sequence[str], numbers: Numbers) -> Integers:
    """How many persons each row stands for, (rows,)."""
    for number, text in zip(numbers, column, strict=True):
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            value = shorten(text, 30)
            raise Unreadable(f"row {number}, column 'count': is {value!r}; must be {WHOLE}")
    return np.array(column, dtype=np.int64)


def _responses(rows: Rows, numbers: Numbers, file: DataFile, remark: str = "") -> Table:
    """The table of persons × items. remark: on columns that are not used."""
    if rows.person is not None:
        _check_one_row_each(rows.person, numbers)
    if rows.persons.sum() > MOST_PERSONS:
        raise Unreadable(f"has {rows.persons.sum():,} persons; at most {MOST_PERSONS:,}")
    answers = np.repeat(rows.answers, rows.persons, axis=0)
    observed = np.repeat(rows.observed, rows.persons, axis=0)
    if len(answers) < 2:
        raise Unreadable("has fewer than two persons; needs two at least")
    kind = "A file of responses"
    if not observed.all():
        check_connected(observed, rows.items)
        return Table.of(answers, observed, rows.items, f"{kind}: {_size(answers, file)}{remark}")
    if answers.shape[1] == 5:
        patterns = np.bincount(answers @ (1 << np.arange(5)[::-1]), minlength=32)
        if tuple(patterns) == LSAT_6:
            source = "Bock and Lieberman (1970)"
            kind = f"LSAT, Section 6, known by the counts of its patterns in {source}"
    return Table.of(answers, None, rows.items, f"{kind}: {_size(answers, file)}{remark}")


def _grades(sheet: Sheet, file: DataFile) -> Table:
    """UCI 320: three grades of a student, each right above the median of all."""
    _check_item_names(sheet.header)
    if len(sheet.numbers) != STUDENTS:
        raise Unreadable(
            f"has G1, G2 and G3 of {len(sheet.numbers):,} students; the "
            f"Portuguese grades of UCI 320 (student-por.csv) are of {STUDENTS}. "
            "For others give 0 and 1, persons × items"
        )
    columns = [sheet.columns[sheet.header.index(name)] for name in GRADES]
    codes = {str(grade): grade for grade in range(21)}
    grades = _coded(columns, GRADES, sheet.numbers, codes, "a grade, a whole number from 0 to 20")
    medians = np.median(grades, axis=0)
    above = ", ".join(f"{name} > {median:g}" for name, median in zip(GRADES, medians, strict=True))
    return Table.of(
        grades > medians,
        None,
        GRADES,
        "Three Grades, Portuguese, of UCI 320 (Cortez and Silva, 2008): "
        f"{_size(grades, file)}; 1 is above the median of all {len(grades)} "
        f"({above}); believed CC BY 4.0, not verified",
    )


def _marks(lines: Sequence[str], file: DataFile) -> Table:
    """UCI 467, an ARFF file: four marks of a student, right if Best or Vg."""
    data, names = _attributes(lines)
    absent = [name for name in MARKS if name not in names]
    if absent:
        raise Unreadable(
            f"is ARFF without the attributes {', '.join(absent)}; must be the students of UCI 467, "
            f"whose marks are {', '.join(MARKS)}"
        )
    filled = [k for k in range(data + 1, len(lines)) if _words(lines[k])]
    rows, numbers = tables.rows(lines, filled)
    if len(rows) < 2:
        raise Unreadable(f"has {len(rows)} students below @DATA; needs two at least")
    columns = tables.columns(rows, numbers, len(names), ", as there are attributes")
    columns = [columns[names.index(name)] for name in MARKS]
    answers = _coded(columns, MARKS, numbers, LEVELS, "one of " + ", ".join(LEVELS)) == 1
    paper = f"not the {PAPERS_STUDENTS} of"
    if len(rows) == PAPERS_STUDENTS:
        paper = "as many as"
    return Table.of(
        answers,
        None,
        MARKS,
        f"Students of UCI 467 (Hussain, 2018): {_size(answers, file)}; 1 is Best or "
        f"Vg; {paper} Nguyen and Zhang; believed CC BY 4.0, not verified",
    )


def _attributes(lines: Sequence[str]) -> tuple[int, list[str]]:
    """Where the data of an ARFF file begin, and the names of its attributes."""
    names: list[str] = []
    for number, line in enumerate(lines):
        words = _words(line)
        keyword = words[0].lower() if words else ""
        if keyword == "@data":
            return number, names
        if keyword == "@attribute" and len(words) > 1:
            names.append(words[1].strip("'\""))
    return len(lines), names


def _words(line: str) -> list[str]:
    """The first two words of a line of an ARFF file, and the rest; none of a comment."""
    if line.startswith("%"):
        return []
    return line.split(None, 2)


def _ratings(path: DataFile, other_ratings: bool) -> Table:
    """MovieLens: ratings completed to low rank, right below the person's mean."""
    ratings = rating_files.load(path, other_ratings)
    answers, names, rank = rating_completion.binarise(ratings)
    if rank == 0 or len(names) < 2:
        raise Unreadable(
            f"has ratings of {len(names)} films by {len(answers):,} users, too alike or too few to "
            "complete"
        )
    return Table.of(
        answers,
        None,
        names,
        f"Responses made of ratings: {answers.shape[1]} most-rated films, "
        f"ratings completed to rank {rank} for {len(answers):,} persons who "
        "rated one of them, 1 where a score is below the person's mean, so that "
        "an answer depends on everybody's ratings and budgets are of the answers "
        f"only; {ratings.source.rstrip('.')}",
        subsets=True,
    )


def _size(values: Array, file: DataFile) -> str:
    return f"{len(values):,} persons × {values.shape[1]} items, sha256 {file.sha256[:8]}…"
