"""Data sets and measures as lines of CSV, in which programs in other languages get and give them.

A table is a list of lines: names of columns first. Numbers have 17 digits, so that they arrive as
they are; a field is empty where a column has no value; true and false are 1 and 0.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat, zip_longest
from typing import Any

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import shorten
from pipeline.study.untyped import OfProblem

REPLICATION = "replication"
SEED = "seed"
RESERVED = (REPLICATION, SEED)  # names of columns that no parameter may have
EMPTY = ("", "NA")  # of a field without a number
NAN = "NaN"
NOT_FINITE = {np.inf: "Inf", -np.inf: "-Inf"}  # as R writes them


class Nonsense(ValueError):
    """An answer that is no table of measures; says what is wrong with it."""


def table_of_parameters(values: Mapping[str, Any], seed: int) -> list[str]:
    """A table of one row: the parameters of a cell, and a seed.

    >>> table_of_parameters({"n": 10, "law": "normal"}, 7)
    ['n,law,seed', '10,normal,7']
    """
    return _lines([[*values, SEED], [*map(_text, values.values()), str(seed)]])


def table_of_data(sets: Iterable[object]) -> list[str]:
    """A table of all data sets; the column `replication`, from 1, says of which one a row is.

    A data set is a mapping of names to columns, a table of pandas, an array, or several arrays,
    whose columns are x1, x2, …. A number is a column of equal values; columns that are shorter
    than others end with empty fields. Raises Nonsense for anything else.

    >>> table_of_data([{"x": [0.5, 1.0], "group": "a"}, {"x": [2.0], "group": "b"}])
    ['replication,x,group', '1,0.5,a', '1,1.0,a', '2,2.0,b']
    """
    rows: list[list[str]] = []
    names: list[str] = []
    for number, data in enumerate(sets, 1):
        columns = _columns(data)
        if not names:
            names = [*columns]
            rows.append([REPLICATION, *names])
        if [*columns] != names:
            raise Nonsense(f"data sets must have the same columns: {names}, then {[*columns]}")
        rows += _rows(str(number), columns)
    return _lines(rows)


def measures_of(lines: Sequence[str], names: Sequence[str], size: int) -> dict[str, Floats]:
    """The measures, each (size,), of a table with a row for each replication; NaN where empty.

    Raises Nonsense where it lacks a column or rows, or has a field that is no number.

    >>> measures_of(["power,width", "1,0.25", ",NA"], ["width"], 2)["width"].tolist()
    [0.25, nan]
    """
    rows = [*csv.reader(lines)]
    if not rows:
        raise Nonsense("is empty")
    header = [name.strip() for name in rows[0]]
    for name in names:
        if name not in header:
            raise Nonsense(f"has no column {name}: its first line is {shorten(','.join(header))!r}")
    if len(rows) != size + 1:
        raise Nonsense(f"must have {size} rows, one for each replication, has {len(rows) - 1}")
    places = {name: header.index(name) for name in names}
    values = {name: np.full(size, np.nan) for name in names}
    for number, row in enumerate(rows[1:]):
        if len(row) != len(header):
            raise Nonsense(f"has {len(row)} fields in row {number + 1}, not {len(header)}")
        for name, place in places.items():
            values[name][number] = _number(row[place].strip(), name, number)
    return values


def split(sets: object, size: int) -> list[object]:
    """Data sets of a block that were made at once, one by one: their arrays are (size, …).

    >>> split((np.zeros((2, 3)), np.ones(2)), 2)[1]
    (array([0., 0., 0.]), np.float64(1.0))
    """
    return [_of_replication(sets, number) for number in range(size)]


def _of_replication(sets: OfProblem, number: int) -> object:
    """One data set of those that were made at once."""
    if isinstance(sets, Mapping):
        return {name: column[number] for name, column in sets.items()}
    if isinstance(sets, tuple | list):
        return tuple(column[number] for column in sets)
    return sets[number]


def _columns(data: object) -> dict[str, Array]:
    """Columns of a data set by their names."""
    named: Any = data
    if hasattr(data, "columns"):  # a table of pandas
        return {str(name): np.asarray(named[name]) for name in named.columns}
    if isinstance(data, Mapping):
        return {str(name): np.asarray(column) for name, column in data.items()}
    if isinstance(data, tuple | list) and not all(map(np.isscalar, data)):
        arrays = [np.asarray(column) for column in data]
    else:
        arrays = [np.asarray(data)]
        if arrays[0].ndim == 2:
            arrays = [*arrays[0].T]
    return {f"x{number}": column for number, column in enumerate(arrays, 1)}


def _rows(replication: str, columns: Mapping[str, Array]) -> list[list[str]]:
    """Rows of one data set."""
    length = max((len(column) for column in columns.values() if column.ndim), default=1)
    texts = []
    for name, column in columns.items():
        if column.ndim > 1:
            raise Nonsense(f"column {name} of a data set has {column.ndim} axes; give it one")
        values = column.tolist()
        if column.ndim == 0:
            values = [*repeat(values, length)]
        texts.append([_text(value) for value in values])
    return [[replication, *row] for row in zip_longest(*texts, fillvalue="")]


def _text(value: object) -> str:
    """A value as a field. Of numbers, `repr` gives as many digits as are needed."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    if np.isnan(number):
        return NAN
    return NOT_FINITE.get(number, repr(number))


def _number(field: str, name: str, number: int) -> float:
    if field in EMPTY:
        return np.nan
    if field in ("TRUE", "FALSE"):
        return float(field == "TRUE")
    try:
        return float(field)
    except ValueError:
        raise Nonsense(f"has {shorten(field)!r} for {name} in row {number + 1}") from None


def _lines(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines of CSV."""
    lines = []
    for row in rows:
        written = io.StringIO()
        csv.writer(written, lineterminator="").writerow(row)
        lines.append(written.getvalue().replace("\n", " "))
    return lines
