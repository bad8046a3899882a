"""Files of people's right and wrong answers: read, checked, and kept by content. Nothing is ever written.

Four formats, told apart by how a file begins: ARFF (the students of UCI 467), a header with school, G1, G2 and G3
(those of UCI 320), MovieLens's ratings, and else persons × items: a header of item names, a first column
person, user or id if wanted, a last column count if a row stands for several persons; 0, 1, and nothing or NA for
missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.models import recorded_files, response_ratings, tables
from pipeline.models.rasch import differences_of, pairs_of
from pipeline.models.tables import Unreadable
from pipeline.parameters import LISTED, DataFile, InvalidInput, shorten

MISSING = 2
VALUES = {"0": 0, "1": 1, "": MISSING, "NA": MISSING}
PERSON = ("person", "user", "id")
MOST_PERSONS = 10**7
HEADER = "a header of item names"
GRADES, STUDENTS = ("G1", "G2", "G3"), 649
MARKS = ("tnp", "twp", "iap", "esp")  # columns 2 to 5, counted from 0
LEVELS = {"Best": 1, "Vg": 1, "Good": 0, "Pass": 0, "Fail": 0}
PAPERS_STUDENTS = 131
# Persons by pattern, read as a number of two: 00000, 00001, …, 11111.
LSAT_6 = (3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61,
          28, 298)


@dataclass(frozen=True, eq=False)
class Table:
    """Everybody's responses, checked.

    answers: (persons, items) bool, False where not observed. observed: (persons, items) bool, None is all. names: of
    items. subsets: whether a study takes random sets of the items, or all. differences, pairs: (items, items), Y and B
    of everybody. source: one sentence on where the responses are from.
    """

    answers: np.ndarray
    observed: np.ndarray | None
    names: tuple[str, ...]
    subsets: bool
    differences: np.ndarray
    pairs: np.ndarray
    source: str

    @classmethod
    def of(cls, answers: np.ndarray, observed: np.ndarray | None, names: Sequence[str], source: str,
           subsets: bool = False) -> "Table":
        """A table with its counts; its source also says what is particular of these persons and items."""
        both = differences_of(answers[None], None if observed is None else observed[None])[0]
        pairs = pairs_of(answers[None], None if observed is None else observed[None])[0]
        said = [source, *_particular(answers, observed), *_infinite(answers, observed, both, names)]
        return cls(answers, observed, tuple(names), subsets, both, pairs, "; ".join(said) + ".")


@lru_cache(maxsize=4)
def load(path: DataFile, other_ratings: bool = False) -> Table:
    """What a file says; InvalidInput with the row of the first mistake, or what was found and expected.

    other_ratings: accept ratings that are not MovieLens's ml-latest-small. Read once per content.
    """
    try:
        lines = tables.lines(path)
        said = (line.strip().lower() for line in lines if not line.startswith("%"))
        if next(filter(None, said), "").startswith("@relation"):
            return _arff(lines, path)
        header, start, delimiter = tables.header(lines, HEADER, ",;")
        if header == recorded_files.RATINGS:
            return _ratings(recorded_files.load(path, None, other_ratings))
        columns, numbers = _below(lines, header, start, delimiter)
        if {"school", *GRADES} <= {*header}:
            return _grades(header, columns, numbers, path)
        return _checked(*_responses(header, columns, numbers), path)
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None


def responses(path: DataFile) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Answers, which were observed, and names of the items, as in `Table`, of a file of persons × items.

    For the release of real data: each row is checked by itself, and nothing depends on what the rows say together, so
    that whether a file is taken tells nothing of a person. Raises InvalidInput with the row of the first mistake.
    """
    try:
        lines = tables.lines(path)
        header, start, delimiter = tables.header(lines, HEADER, ",;")
        return _responses(header, *_below(lines, header, start, delimiter))
    except Unreadable as error:
        raise InvalidInput("data_path", path.path, str(error)) from None


def _below(lines, header, start, delimiter):
    """Columns below the header and the numbers of their rows."""
    rows, numbers = tables.rows(lines, range(start, len(lines)), delimiter)
    return tables.columns(rows, numbers, len(header), ", as the header"), numbers


def _coded(columns, names, numbers, codes, allowed):
    """(persons, items) int8: codes of texts; refuses the first text, by row, that has none."""
    found = np.array([[codes.get(text, -1) for text in column] for column in columns], np.int8).T
    bad = np.argwhere(found < 0)
    if bad.size:
        row, item = bad[0]
        raise Unreadable(f"row {numbers[row]}, column {shorten(names[item], 30)!r}: is "
                          f"{shorten(columns[item][row], 30)!r}; must be {allowed}")
    return found


def _responses(header, columns, numbers):
    repeats = None
    named = header[0].lower() in PERSON
    if named:
        _check_persons(columns[0], numbers)
        header, columns = header[1:], columns[1:]
    if header and header[-1].lower() == "count":
        if named:  # his row would weigh more than a person's, which no budget covers
            raise Unreadable("has a column of persons and a last column 'count'; a row must be one person, or stand "
                             "for several without a name")
        repeats = _repeats(columns[-1], numbers)
        header, columns = header[:-1], columns[:-1]
    if len(header) < 2:
        raise Unreadable(f"has {len(header)} item{'s' * (len(header) != 1)}; needs two at least, a column each")
    if all(name in VALUES for name in header[1:]):
        raise Unreadable("begins with answers; must begin with a header of item names")
    _check_names(header)
    found = _coded(columns, header, numbers, VALUES, "0, 1, or nothing or NA for a missing answer")
    if repeats is not None:
        found = np.repeat(found, repeats, axis=0)
    observed = found != MISSING
    return found == 1, None if observed.all() else observed, header


def _checked(answers, observed, names, file) -> Table:
    if len(answers) < 2:
        raise Unreadable("has fewer than two persons; needs two at least")
    if observed is not None:
        _check_connected(observed, names)
    said = "A file of responses"
    if observed is None and answers.shape[1] == 5:
        patterns = np.bincount(answers @ (1 << np.arange(5)[::-1]), minlength=32)
        if tuple(patterns) == LSAT_6:
            said = "LSAT, Section 6, known by the counts of its patterns in Bock and Lieberman (1970)"
    return Table.of(answers, observed, names, f"{said}: {_size(answers, file)}")


def _check_names(header):
    for place, name in enumerate(header):
        if not name:
            raise Unreadable(f"item {place + 1} has no name in the header")
        if name in header[:place]:
            raise Unreadable(f"the header names item {shorten(name, 30)!r} twice")


def _check_persons(column, numbers):
    seen = {}
    for number, name in zip(numbers, column, strict=True):
        if not name:
            raise Unreadable(f"row {number}: the person has no name")
        if name in seen:
            raise Unreadable(f"row {number}: person {shorten(name, 30)!r} has a row before, {seen[name]}")
        seen[name] = number


def _repeats(column, numbers):
    for number, text in zip(numbers, column, strict=True):
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            raise Unreadable(f"row {number}, column 'count': is {shorten(text, 30)!r}; must be a number of persons")
    repeats = np.array(column, dtype=np.int64)
    if repeats.sum() > MOST_PERSONS:
        raise Unreadable(f"has {repeats.sum():,} persons; at most {MOST_PERSONS:,}")
    return repeats


def _grades(header, columns, numbers, file) -> Table:
    _check_names(header)
    if len(numbers) != STUDENTS:
        raise Unreadable(f"has G1, G2 and G3 of {len(numbers):,} students; the Portuguese grades of UCI 320 "
                          f"(student-por.csv) are of {STUDENTS}. For others give 0 and 1, persons × items")
    columns = [columns[header.index(name)] for name in GRADES]
    codes = {str(grade): grade for grade in range(21)}
    grades = _coded(columns, GRADES, numbers, codes, "a grade, a whole number from 0 to 20")
    medians = np.median(grades, axis=0)
    above = ", ".join(f"{name} > {median:g}" for name, median in zip(GRADES, medians, strict=True))
    return Table.of(grades > medians, None, GRADES, "Three Grades, Portuguese, of UCI 320 (Cortez and Silva, 2008): "
                    f"{_size(grades, file)}; 1 is above the median of all {len(grades)} ({above}); believed CC BY 4.0, "
                    "not verified")


def _arff(lines, file) -> Table:
    words = [line.split(None, 2) if not line.startswith("%") else [] for line in lines]
    data = next((k for k, word in enumerate(words) if word and word[0].lower() == "@data"), len(lines))
    names = [word[1].strip("'\"") for word in words[:data] if len(word) > 1 and word[0].lower() == "@attribute"]
    absent = [name for name in MARKS if name not in names]
    if absent:
        raise Unreadable(f"is ARFF without the attributes {', '.join(absent)}; must be the students of UCI 467, "
                          f"whose marks are {', '.join(MARKS)}")
    rows, numbers = tables.rows(lines, [k for k in range(data + 1, len(lines)) if words[k]])
    if len(rows) < 2:
        raise Unreadable(f"has {len(rows)} students below @DATA; needs two at least")
    columns = tables.columns(rows, numbers, len(names), ", as there are attributes")
    columns = [columns[names.index(name)] for name in MARKS]
    answers = _coded(columns, MARKS, numbers, LEVELS, "one of " + ", ".join(LEVELS)) == 1
    paper = "as many as" if len(rows) == PAPERS_STUDENTS else f"not the {PAPERS_STUDENTS} of"
    return Table.of(answers, None, MARKS, f"Students of UCI 467 (Hussain, 2018): {_size(answers, file)}; 1 is Best or "
                    f"Vg; {paper} Nguyen and Zhang; believed CC BY 4.0, not verified")


def _ratings(ratings) -> Table:
    answers, names, rank = response_ratings.binarise(ratings)
    if rank == 0 or len(names) < 2:
        raise Unreadable(f"has ratings of {len(names)} films by {len(answers):,} users, too alike or too few to "
                          "complete")
    return Table.of(answers, None, names, f"Responses made of ratings: {answers.shape[1]} most-rated films, ratings "
                    f"completed to rank {rank} for {len(answers):,} persons who rated one of them, 1 where a score is "
                    "below the person's mean, so that an answer depends on everybody's ratings and budgets are of the "
                    f"answers only; {ratings.source.rstrip('.')}", subsets=True)


def _size(answers, file):
    return f"{len(answers):,} persons × {answers.shape[1]} items, sha256 {file.sha256[:8]}…"


def _check_connected(observed, names) -> None:
    """Refuses, and names, items that no chain of persons links to most of the others, or that nobody answered."""
    never = [name for name, some in zip(names, observed.any(axis=0), strict=True) if not some]
    if never:
        raise Unreadable(f"nobody answered {shorten(', '.join(never), LISTED)}; leave such items out")
    persons, items = observed.shape
    person, item = np.nonzero(observed)
    graph = coo_array((np.ones(len(item), bool), (person + items, item)), shape=(persons + items,) * 2)
    label = connected_components(graph, directed=False)[1][:items]
    apart = _apart(label, names)
    if apart:
        raise Unreadable(f"no person answered items of both sides, so these cannot be compared with the others: "
                         f"{shorten(', '.join(apart), LISTED)}; leave them out")


def _apart(label, names):
    """Names outside the largest group."""
    largest = np.bincount(label).argmax()
    return [name for name, part in zip(names, label, strict=True) if part != largest]


def _particular(answers, observed):
    """What to know of persons: how many answered all alike, or nothing, and how much is missing."""
    asked = np.full(len(answers), answers.shape[1]) if observed is None else observed.sum(axis=1)
    right, said = answers.sum(axis=1), []
    alike = ((right == 0) | (right == asked)) & (asked > 0)
    said.append(f"{alike.sum():,} persons with all answers alike, which say nothing of the items")
    if observed is not None:
        said.append(f"{1 - observed.mean():.2%} of answers missing, {(asked == 0).sum():,} persons without any")
    return said


def _infinite(answers, observed, differences, names):
    """Items without a finite estimate from these counts alone: those outside the largest set that Y connects."""
    label = connected_components(differences > 0, directed=True, connection="strong")[1]
    apart = names if len(set(label)) == len(names) else _apart(label, names)
    if not apart:
        return []
    asked = len(answers) if observed is None else observed.sum(axis=0)
    right = answers.sum(axis=0)
    alike = dict(zip(names, np.where(right == asked, " (all right)", np.where(right == 0, " (all wrong)", "")),
                     strict=True))
    return ["no finite estimate without a pseudo-count: "
            + shorten(", ".join(name + alike[name] for name in apart), LISTED)]
