"""`task=release` of files that differ in one row, whatever it holds, differs in noisy counts alone.

Two runs of the command, of a file and of a neighbour, must print the same, exit alike and write the
same files, with the same names in the same order; without noise their counts differ by what is
charged at most.
"""

import csv
import itertools
import json
import math

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.privacy.published_counts import LaplaceCounts, bounded_counts
from pipeline.problems.common import release_rows, sheets
from pipeline.problems.response.data import release_file
from pipeline.problems.response.data.files import Rows
from pipeline.problems.response.sampling.pair_counts import weighted_differences
from pipeline.problems.response.theory.sensitivity import named_sensitivity

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
QUIET = {"parameters.epsilon_user": 1e4}  # noise is 0 but with probability 1e-200
RESPONSES = {"problem": "response"}
RANKING = {"problem": "ranking", "parameters.most": 2}
CROWD = {"problem": "crowd", "parameters.labels": "no/yes", "parameters.most": 2}
RATINGS = {
    "problem": "clustering",
    "parameters.epsilon_user": None,
    "parameters.delta": None,
    "parameters.person": 1e4,
    "parameters.person_delta": 0,
    "parameters.most": 2,
    "parameters.liked": 1,
}
ITEMS = ("tea", "béer", "rum")
# What the command gets, the header, and rows, of which the first and the last are changed.
FILES = {
    "responses": (RESPONSES, "tea,béer,rum", ["1,0,1", "0,1,", "1,1,0"]),
    "named responses": (RESPONSES, "person,tea,béer,rum", ["Ann,1,0,1", "Bob,0,1,", "Eve,1,1,0"]),
    "counted responses": (RESPONSES, "tea,béer,rum,count", ["1,0,1,1", "0,1,,1", "1,1,0,1"]),
    "comparisons": (
        {**RANKING, "parameters.most": None},
        "winner,loser",
        ["tea,rum", "béer,rum", "rum,béer"],
    ),
    "named comparisons": (
        RANKING,
        "user,left,right,label",
        [
            "Ann,tea,rum,left",
            "Ann,rum,béer,rum",
            "Bob,tea,rum,tie",
            "Bob,béer,rum,right",
            "Eve,tea,rum,tea",
        ],
    ),
    "labels": (
        CROWD,
        "task,worker,label",
        ["tea,Ann,yes", "rum,Ann,no", "béer,Bob,yes", "tea,Bob,no", "rum,Eve,yes"],
    ),
    "ratings": (
        RATINGS,
        "user,item,rating",
        [
            "Ann,tea,1",
            "Ann,béer,1",
            "Ann,rum,0",
            "Eve,tea,0",
            "Bob,béer,1",
            "Bob,rum,1",
            "Eve,béer,0",
        ],
    ),
}


def others_of(row, rows):
    """Rows that may stand in the place of one: other values, other bytes, other shapes. row: a text."""
    fields = row.split(",")
    text = row.encode()
    yield from (other.encode() for other in rows)  # twice the same, with another person's name
    for old, new in (
        ("Ann", "Bob"),
        ("Eve", "Ann"),
        ("Ann", "Zoe"),
        ("Ann", ""),
        ("tea", "rum"),
        ("1", "0"),
        ("yes", "no"),
        ("0", "nan"),
        ("1", "1.0"),
        ("1", "1e0"),
        ("1", "+1"),
        ("1", "\u0661"),
        ("1", "9" * 5000),
        ("yes", "YES"),
        ("left", "béer"),
        ("left", "RIGHT"),
    ):
        if old in row:
            yield row.replace(old, new).encode()
    yield from (
        b"",
        b"   ",
        b"," * row.count(","),
        text + b",",
        text + b",1,1",
        b",".join([text] * 2),
        text[:-2],
    )
    for strange in (
        b"\xe9",
        b"\x81",
        b"\xc3\xa9",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\0",
        b"\r",
        b'"',
        b'"x',
        b'x"',
        b";",
        b"\t",
        b"|",
        b"\x1a",
        b"\x0b",
        b"\x0c",
        "\u2028".encode(),
        "\x85".encode(),
        "\u202e".encode(),
        b"=1+1",
        b"x" * 200_000,
        b'"' + b"y," * 70_000,
    ):
        yield strange + text
        yield text.replace(fields[-1].encode(), fields[-1].encode() + strange)
        yield strange
    yield from (
        b"sep=;",
        b"PK\x03\x04",
        b"@relation x",
        b"userId,movieId,rating,timestamp",
        "\u1e9e".encode("utf-16"),
        text.decode().encode("utf-16"),
        text + b"\r",
        text.replace(b",", b";"),
        text.replace(b",", b"\t"),
    )


# Columns of noisy counts, and those made of them.
NUMBERS = ("count", "first_won", "second_won", "alike_less_unlike")
MADE_OF_THEM = ("difficulty", "score", "label", "cluster")
INTERVALS = ("low", "high", "rank_low", "rank_high", "lead_low", "lead_high")  # made of them, too
NO_NUMBERS = ("label", "cluster")


def run(folder, name, capsys, settings, content):
    """Exit code and what the command prints of a release of a file with that content into a folder."""
    file = folder / "people.csv"
    file.write_bytes(content)
    words = {"task": "release", "data.path": file, "outputs": folder / name} | QUIET
    words |= {"parameters.delta": "1e-5"} | settings
    if settings["problem"] != "response":
        words["data.items"] = folder / "names.txt"
        words["data.items"].write_text("\n".join(ITEMS) + "\n", "utf-8")
    code = main([f"{key}={value}" for key, value in words.items() if value is not None])
    told = capsys.readouterr()
    return [code, *(text.replace(str(folder / name), "OUT") for text in told)]


def public(folder, name, capsys, settings, content):
    """All that a run shows but numbers; the counts; what is charged."""
    shown = run(folder, name, capsys, settings, content)
    if shown[0]:
        return shown, np.zeros(0), {}
    counts = []
    for path in sorted((folder / name).glob("*.csv")):
        with open(path, encoding="utf-8", newline="") as table:
            header, *rows = csv.reader(table)
        counted = NUMBERS if "label" not in header else ("first", "second")
        for row in rows:
            cells = dict(zip(header, row, strict=True))
            counts += [int(cells[title]) for title in counted if title in cells]
            for title in (*counted, *MADE_OF_THEM):
                if title not in NO_NUMBERS:
                    float(cells.pop(title, 0))
                cells.pop(title, None)
            # "wrong" names an item in a table of differences, and is a chance in one of leads.
            chances = ("wrong",) if "lead_low" in header else ()
            for title in (*INTERVALS, *chances):
                float(cells.pop(title, 0) or math.nan)  # empty where there is none
            shown.append((path.name, header, cells))
    statement = json.loads((folder / name / "release.json").read_text("utf-8"))
    page = (folder / name / "promise.html").read_text("utf-8").replace(statement["date"], "")
    shown += [
        sorted(path.name for path in (folder / name).iterdir()),
        statement | {"date": ""},
        page,
    ]
    return shown, np.array(counts), statement["sensitivity"]


def assert_alike(first, other, what):
    shown, counts, sensitivity = other
    assert shown == first[0] and counts.shape == first[1].shape, what
    change = counts - first[1]
    assert (
        np.abs(change).sum() <= sensitivity["L1"] and (change**2).sum() <= sensitivity["squared L2"]
    ), what


@pytest.mark.parametrize("kind", FILES)
def test_one_row_changes_nothing_but_counts_and_these_by_what_is_charged(tmp_path, capsys, kind):
    """The first row, or the last one, which has no end of line, by turns."""
    settings, header, rows = FILES[kind]
    lines = [header.encode(), *(row.encode() for row in rows)]
    first = public(tmp_path, "first", capsys, settings, b"\n".join(lines))
    assert first[0][0] == 0 and first[1].sum() > 0
    changed = [(place, row) for place in (1, -1) for row in others_of(lines[place].decode(), rows)]
    for number, (place, row) in enumerate(changed):
        if number % 2 == (place == 1):
            continue
        neighbour = list(lines)
        neighbour[place] = row
        assert_alike(
            first,
            public(tmp_path, f"other{number}", capsys, settings, b"\n".join(neighbour)),
            row[:40],
        )


@pytest.mark.parametrize("kind", FILES)
def test_the_order_of_rows_and_the_ends_of_lines_change_no_more_than_that(tmp_path, capsys, kind):
    """Any one row elsewhere, and CRLF, an empty line or no end of line at the end."""
    settings, header, rows = FILES[kind]
    first = public(tmp_path, "first", capsys, settings, "\n".join([header, *rows]).encode())
    moved = [[*rows[1:], rows[0]], [rows[-1], *rows[:-1]]]
    for number, other_rows in enumerate([*moved, rows]):
        for end in ("\n", "\r\n"):
            text = end.join([header, *other_rows, "", ""])
            assert_alike(
                first,
                public(tmp_path, f"{number}{len(end)}", capsys, settings, text.encode()),
                number,
            )


def test_the_neighbours_find_a_file_that_is_decoded_as_a_whole(tmp_path, capsys, monkeypatch):
    """Negative control: the studies' reader, by which one byte in a name turned all items into others."""
    monkeypatch.setattr(
        release_rows,
        "read",
        lambda file, expected, encoding: release_rows.ReleaseSheet(sheets.read(file, expected), ()),
    )
    settings, header, rows = FILES["named responses"]
    first = public(tmp_path, "first", capsys, settings, "\n".join([header, *rows]).encode())
    other = public(
        tmp_path,
        "other",
        capsys,
        settings,
        "\n".join([header, *rows]).encode().replace(b"Ann", b"Ren\xe9"),
    )
    with pytest.raises(AssertionError):
        assert_alike(first, other, "")
    assert "béer" in str(first[0]) and "bÃ©er" in str(other[0])


def test_another_encoding_is_a_setting(tmp_path, capsys):
    settings, header, rows = FILES["named comparisons"]
    content = "\n".join([header, *rows]).encode("cp1252")
    counts = [
        public(tmp_path, name, capsys, {**settings, **more}, content)[1].sum()
        for name, more in (("a", {}), ("b", {"parameters.encoding": "windows-1252"}))
    ]
    assert counts == [2, 4]  # of four comparisons two name an item with an accent


@pytest.mark.parametrize(
    "content, says",
    [
        (b"\xff\xfea\0,\0b\0\n\0", "is in UTF-16"),
        (b"a,\xe9\n1,0\n", "has a header in another encoding; save the file in"),
        (b"a,b\r1,0\r0,1\r", "has other ends of lines than LF or CRLF"),
        (b"a\0,b\n1,0\n", "or a NUL"),
        (b"PK\x03\x04", "save the sheet as CSV"),
        (b'"a,b\n1,0\n', "row 1: is not CSV"),
        (b"\n \n", "is empty"),
    ],
)
def test_a_header_is_refused_without_a_word_of_rows(tmp_path, capsys, content, says):
    code, _, told = public(tmp_path, "out", capsys, RESPONSES, content)[0]
    assert code == 2 and says in told and told.count("\n") == 1


def largest_changes(options, statistic, length):
    """Largest sums of |changes| and of squares, over all files of `length` rows, rows replaced, and rows left out."""
    seen = {}

    def counts(rows):
        if rows not in seen:
            seen[rows] = statistic(rows)
        return seen[rows]

    largest = {"replace_one": [0, 0], "add_remove": [0, 0]}

    def note(kind, change):
        found = largest[kind]
        found[:] = max(found[0], int(np.abs(change).sum())), max(found[1], int((change**2).sum()))

    for rows in itertools.product(options, repeat=length):
        here = counts(rows)
        for place, row in itertools.product(range(length), options):
            note("replace_one", counts((*rows[:place], row, *rows[place + 1 :])) - here)
        for place in range(length):
            note("add_remove", counts((*rows[:place], *rows[place + 1 :])) - here)
        for name in {row[0] for row in rows}:  # all rows of one person, for others or for none
            note("add_remove", counts(tuple(row for row in rows if row[0] != name)) - here)
            places = [k for k, row in enumerate(rows) if row[0] == name]
            for own in itertools.product(
                [row for row in options if row[0] == name], repeat=len(places)
            ):
                other = list(rows)
                for place, row in zip(places, own, strict=True):
                    other[place] = row
                note("replace_one", counts(tuple(other)) - here)
    return {kind: tuple(found) for kind, found in largest.items()}


@pytest.mark.parametrize("groups, most, length", [(1, 1, 4), (2, 1, 3), (2, 2, 3)])
def test_all_small_files_of_answers_move_the_counts_by_what_is_charged(groups, most, length):
    """Names of two persons; also any one row for any other. The negative control charges persons only."""
    options = [(name, group, side) for name in "xy" for group in range(groups) for side in range(2)]

    def statistic(rows):
        person, group, side = zip(*rows, strict=True) if rows else ((), (), ())
        return bounded_counts(
            person, np.array(group, int), np.array(side, int), np.ones(len(rows), int), groups, most
        )

    found = largest_changes(options, statistic, length)
    for kind, changes in found.items():
        charged = LaplaceCounts(1.0, neighbours_are=kind).sensitivity(min(groups, most), named=True)
        assert changes[0] <= charged.absolute and changes[1] <= charged.squared
        assert changes == charged or length < 4  # two rows of each of two persons attain it
    if groups == 1:
        persons = LaplaceCounts(1.0).sensitivity(1, named=False)
        assert (
            found["replace_one"] > persons
        )  # a control: what a person with one name can change is less


WHOLE = [
    (1, 0),
    (0, 1),
    (2, 2),
]  # answers of two items that count differently: right, wrong, missing
LARGE = [(1, 0, 0), (0, 1, 1), (1, 1, 0), (2, 0, 1), (2, 2, 2)]


@pytest.mark.parametrize("names, answers, length", [("xyz", WHOLE, 3), ("xy", LARGE, 2)])
def test_all_small_files_of_responses_move_the_counts_by_what_is_charged(
    names, answers, length, monkeypatch
):
    """The negative control counts the first row of each name."""
    options = [(name, *row) for name in names for row in answers]
    m = len(answers[0])

    def statistic(rows):
        cells = np.array([row[1:] for row in rows], int).reshape(len(rows), m)
        table = Rows(cells == 1, cells != 2, np.ones(len(rows), int), [row[0] for row in rows], ())
        kept = release_file.without(table, release_file.repeated(table))
        return weighted_differences(kept.answers, kept.observed, kept.persons)

    charged = {kind: tuple(named_sensitivity(m, kind)) for kind in ("replace_one", "add_remove")}
    assert largest_changes(options, statistic, length) == charged

    def after_the_first(rows):
        return [name in rows.person[:k] for k, name in enumerate(rows.person)]

    monkeypatch.setattr(release_file, "repeated", after_the_first)
    control = largest_changes(options, statistic, length)
    assert control["add_remove"][0] > charged["add_remove"][0]
    assert control["replace_one"][0] > charged["replace_one"][0] or length == 2
