"""Tables of people's data with a header, whatever the names and the order of the columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import DataFile, shorten

from . import tables
from .tables import Unreadable

# Names of columns, without regard to capitals, spaces and punctuation.
PERSON = (
    "user",
    "userid",
    "person",
    "personid",
    "worker",
    "workerid",
    "annotator",
    "annotatorid",
    "rater",
    "raterid",
    "judge",
    "judgeid",
    "voter",
    "voterid",
    "respondent",
    "respondentid",
    "subject",
    "subjectid",
    "participant",
    "participantid",
    "student",
    "studentid",
    "performer",
    "assessor",
    "id",
)
ITEM = (
    "item",
    "itemid",
    "question",
    "questionid",
    "task",
    "taskid",
    "movie",
    "movieid",
    "film",
    "object",
    "product",
    "option",
    "alternative",
    "exercise",
    "problem",
)
COUNT = ("count", "n", "freq", "frequency", "times", "weight", "number")
MISSING = {"", "na", "nan", "n/a", "#n/a", "null", "none", ".", "-", "?", "missing"}
MOST_PERSONS = 10**7
WHOLE = "a whole number, from 0 to 99,999,999"


def plain(name: str) -> str:
    """A name without capitals, spaces and punctuation: User ID, user_id and userId are one column.

    >>> plain("User ID")
    'userid'
    """
    return "".join(sign for sign in name.lower() if sign.isalnum())


def is_missing(text: str) -> bool:
    """Whether a cell says that there is no value."""
    return text.lower() in MISSING


def whole_number(text: str) -> int:
    """The number of a cell. Raises `Unreadable` for anything else than `WHOLE`.

    >>> whole_number("12.0")
    12
    """
    whole = text.removesuffix(".0")
    if not (whole.isascii() and whole.isdigit() and len(whole) < 9):
        raise Unreadable(f"is {shorten(text, 30)!r}; must be {WHOLE}")
    return int(whole)


def range_of(counts: Iterable[int]) -> str:
    """The least and the greatest, once if they are the same.

    >>> range_of([3, 1, 2]), range_of([2, 2])
    ('1 to 3', '2')
    """
    counts = list(counts)
    return " to ".join(dict.fromkeys(f"{end:,}" for end in (min(counts), max(counts))))


@dataclass(frozen=True, eq=False)
class Sheet:
    """A header and the columns below it.

    numbers: (rows,), of each row in the file. delimiter: between fields.
    remark: on how the file was read.
    """

    header: tuple[str, ...]
    columns: Sequence[Sequence[str]]
    numbers: Sequence[int]
    delimiter: str
    remark: str = ""

    def roles(self, names: Mapping[str, Iterable[str]]) -> dict[str, int]:
        """Role -> number of the column that is called by one of its names.

        Roles without a column are left out. `id` counts only where no other
        name of the role does. Raises `Unreadable` where two columns have
        one role.
        """
        called = [plain(name) for name in self.header]
        numbers_of: dict[str, int] = {}
        for role, allowed in names.items():
            columns = [k for k, name in enumerate(called) if name in allowed]
            columns = [k for k in columns if called[k] != "id"] or columns
            if len(columns) > 1:
                both = ", ".join(self.header[k] for k in columns)
                raise Unreadable(
                    f"has {len(columns)} columns for the {role}: {shorten(both)}; keep one"
                )
            if columns:
                numbers_of[role] = columns[0]
        return numbers_of

    def unused(self, used: Iterable[int]) -> str:
        """A remark on the columns that are not used and on the file, for the source of the data.

        Or nothing.
        """
        needed = set(used)
        others = [name for k, name in enumerate(self.header) if k not in needed and name]
        if not others:
            return self.remark
        return f"{self.remark}; columns not used: {shorten(', '.join(others))}"

    def names(self, column: int, meaning: str) -> Sequence[str]:
        """A column of names. Raises `Unreadable` with the row of an empty one."""
        for number, name in zip(self.numbers, self.columns[column], strict=True):
            if not name:
                raise Unreadable(f"row {number}: the {meaning} has no name")
        return self.columns[column]

    def counts(self, column: int, blank: bool = False) -> Integers:
        """(rows,), whole numbers ≥ 0. Raises `Unreadable` with the row of anything else.

        blank: missing is 0.
        """
        values = []
        for number, text in zip(self.numbers, self.columns[column], strict=True):
            if blank and is_missing(text):
                values.append(0)
                continue
            try:
                values.append(whole_number(text))
            except Unreadable as error:
                name = shorten(self.header[column], 30)
                raise Unreadable(f"row {number}, column {name!r}: {error}") from None
        return np.array(values, dtype=np.int64)

    def measured(self, column: int) -> Floats:
        """(rows,), numbers, NaN where missing.

        With a decimal comma where commas do not part fields.
        """
        values = []
        for number, text in zip(self.numbers, self.columns[column], strict=True):
            value = self.measure(text)
            if value is None:
                raise Unreadable(
                    f"row {number}, column {shorten(self.header[column], 30)!r}: is "
                    f"{shorten(text, 30)!r}; must be a number, or nothing or NA"
                )
            values.append(value)
        return np.array(values, dtype=float)

    def measure(self, text: str) -> float | None:
        """The number of a cell, NaN where it is missing; None for anything else."""
        if is_missing(text):
            return np.nan
        if self.delimiter != ",":
            text = text.replace(",", ".")
        return _number(text)


def read(file: DataFile, expected: str, empty_rows: bool = False) -> Sheet:
    """The table in a file. Raises `Unreadable` in a line.

    A first column without a name holds names of rows, also where R left it
    out of the header; rows without content, and columns at the end without
    name and content, are left out. empty_rows: they stay, unless a first
    column names rows.
    """
    texts = tables.lines(file)
    header, start, delimiter = tables.header(texts, expected)
    cells, numbers = tables.rows(texts, range(start, len(texts)), delimiter)
    if cells and len(cells[0]) == len(header) + 1 and header[-1:] != ("",):
        header = ("", *header)
    if not empty_rows or plain(header[0]) in PERSON or not header[0]:
        filled = [k for k, row in enumerate(cells) if any(row)]
        cells = [cells[k] for k in filled]
        numbers = [numbers[k] for k in filled]
    columns = tables.columns(cells, numbers, len(header), ", as the header")
    while len(header) > 1 and not header[-1] and not any(columns[-1]):
        header = header[:-1]
        columns = columns[:-1]
    remark = ""
    if tables.is_windows(file):
        remark = "; read as Windows-1252, as it is not UTF-8: see whether names are right"
    return Sheet(header, columns, numbers, delimiter, remark)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
