"""`task=release` of comparisons and of a crowd's answers: what lies in the folder, what it costs, and every mistake."""

import csv
import html
import itertools
import json
import os
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.identity.registry import problems
from pipeline.privacy.attacks import Bound, FlippedBits
from pipeline.privacy.published_counts import GaussianCounts, LaplaceCounts
from pipeline.problems.crowd.data import release as crowd_release
from pipeline.workflow import release as workflow_release

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
ITEMS, TASKS = ("=tea", "milk, hot", "béer"), ("t1", "-t2", "t3", "t4")
QUIET = {"parameters.epsilon_user": 1e4}  # noise is 0 but with probability 1e-200


def comparisons(seed=1, rows=60, users=7):
    rng = np.random.default_rng(seed)
    return [
        (f"somebody {rng.integers(users)}", *rng.permutation(ITEMS)[:2].tolist())
        for _ in range(rows)
    ]


def votes(seed=2, rows=80, workers=6):
    rng = np.random.default_rng(seed)
    return [
        (
            TASKS[rng.integers(4)],
            f"somebody {rng.integers(workers)}",
            ("no", "yes")[rng.integers(2)],
        )
        for _ in range(rows)
    ]


KINDS = {
    "ranking": (("user", "winner", "loser"), ITEMS, comparisons, {}),
    "crowd": (("task", "worker", "label"), TASKS, votes, {"parameters.labels": "no/yes"}),
}


def written(folder, kind, rows=None, header=None, names=None):
    top, items, make, _ = KINDS[kind]
    with open(folder / "people.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header or top, *(make() if rows is None else rows)])
    (folder / "names.txt").write_text("\n".join(items if names is None else names) + "\n", "utf-8")


def words(folder, kind, **changes):
    given = {
        "task": "release",
        "problem": kind,
        "data.path": folder / "people.csv",
        "data.items": folder / "names.txt",
        "outputs": folder / "out",
        "parameters.epsilon_user": 2,
        "parameters.delta": "1e-5",
        "parameters.most": 3,
    }
    return [
        f"{key}={value}"
        for key, value in (given | KINDS[kind][3] | changes).items()
        if value is not None
    ]


def released(folder):
    said = json.loads((folder / "release.json").read_text("utf-8"))
    (table,) = [path for path in folder.glob("*.csv") if path.name != "items.csv"]
    with open(table, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:], said


def by_hand(kind, rows, most):
    """Counts of each person's first answers, a pair or a task once, as the tables have them; plain loops."""
    counts, seen = Counter(), {}
    for row in rows:
        person, group, side = (
            (row[0], frozenset(row[1:]), row[1]) if kind == "ranking" else (row[1], row[0], row[2])
        )
        own = seen.setdefault(person, [])
        if group not in own and len(own) < most:
            own.append(group)
            counts[group, side] += 1
    if kind == "ranking":
        return [
            (counts[frozenset(pair), pair[0]], counts[frozenset(pair), pair[1]])
            for pair in itertools.combinations(ITEMS, 2)
        ]
    return [(counts[task, "no"], counts[task, "yes"]) for task in TASKS]


LAPLACE = {"parameters.mechanism": "discrete_laplace", "parameters.delta": None}
NET = {"parameters.person": 2, "parameters.person_delta": 0, "parameters.mechanism": "noisy_votes"}


@pytest.mark.parametrize(
    "kind, changes, entries",
    [
        ("ranking", LAPLACE, 4),
        ("ranking", LAPLACE | {"parameters.neighbours_are": "add_remove"}, 2),
        ("crowd", LAPLACE | {"parameters.most": 9}, 8),
        (
            "crowd",
            LAPLACE | NET | {"parameters.votes": "net", "parameters.epsilon_user": None},
            None,
        ),
    ],
)
def test_the_page_beside_it_draws_the_best_attack_on_a_person(tmp_path, kind, changes, entries):
    """Whose answers change so many counts by one; of differences what the budget allows."""
    written(tmp_path, kind)
    assert main(words(tmp_path, kind, **({"parameters.most": 2} | changes))) == 0
    _, said = released(tmp_path / "out")
    page = (tmp_path / "out" / "promise.html").read_text("utf-8")
    attacks = [Bound(said["spent"]["epsilon"])]
    if entries is not None:
        attacks.insert(0, FlippedBits(1 / said["noise"]["scale"], entries))
    lines = re.findall(r'<polyline class="\w+" points="([^"]+)"', page)
    for attack, line in zip(attacks, lines, strict=True):
        along, up = np.array([point.split(",") for point in line.split()], float).T / 200
        power = [attack.power(level) for level in along]
        assert 1 - up == pytest.approx(power, abs=3e-4)
    assert said["unit"] in html.unescape(page) and "somebody" not in page.lower()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 2, 50])
def test_each_person_counts_as_often_as_is_paid_for(tmp_path, capsys, kind, most):
    written(tmp_path, kind)
    assert main(words(tmp_path, kind, **QUIET, **{"parameters.most": most})) == 0, (
        capsys.readouterr().err
    )
    rows, said = released(tmp_path / "out")
    found = [tuple(map(int, row[2:4] if kind == "ranking" else row[1:3])) for row in rows]
    people = KINDS[kind][2]()
    assert found == by_hand(kind, people, most) and found != by_hand(
        kind, people[::-1], most
    )  # the first ones
    persons = 2 * min(most, len(found))
    assert said["sensitivity"] == {
        "L1": max(persons, 4),
        "squared L2": max(persons, 8),
    } and "somebody" not in str(said)


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_no_formulas_and_only_the_owner_reads(tmp_path, kind):
    written(tmp_path, kind)
    assert main(words(tmp_path, kind)) == 0
    folder = tmp_path / "out"
    assert os.stat(folder).st_mode & 0o777 == 0o700
    for path in folder.glob("*.csv"):
        with open(path, encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not any(cell.startswith(("=", "@", "-t")) for cell in cells)
        assert ("'=tea" in cells) == (kind == "ranking") and ("'-t2" in cells) == (kind == "crowd")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_else_depends_on_the_people(tmp_path, capsys, kind):
    """One person, or thousands: the same words, names and settings, and no number of them."""
    told, said = [], []
    for k, rows in enumerate(
        (KINDS[kind][2](), KINDS[kind][2](5, 1, 1), KINDS[kind][2](6, 4321, 999))
    ):
        written(tmp_path, kind, rows)
        assert main(words(tmp_path, kind, outputs=tmp_path / f"out{k}")) == 0
        told.append(capsys.readouterr().out.replace(f"out{k}", ""))
        table, statement = released(tmp_path / f"out{k}")
        said.append(
            (
                statement | {"date": ""},
                [[cell for cell in row if not cell.lstrip("-").isdigit()][:1] for row in table],
            )
        )
    assert (
        told[0] == told[1] == told[2] and said[0] == said[1] == said[2] and "4321" not in str(said)
    )


def test_without_names_one_comparison_is_protected(tmp_path, capsys):
    written(
        tmp_path,
        "ranking",
        [(a, b, n) for (_, a, b), n in zip(comparisons(), itertools.cycle((1, 2, 0)))],
        ("winner", "loser", "count"),
    )
    assert main(
        words(tmp_path, "ranking")
    ) == 2 and "parameters.most=3: the file names no persons" in (capsys.readouterr().err)
    assert main(words(tmp_path, "ranking", **{"parameters.most": None}, **QUIET)) == 0
    rows, said = released(tmp_path / "out")
    assert said["unit"].startswith("one comparison, since the file names no persons")
    total = sum(n for _, n in zip(comparisons(), itertools.cycle((1, 2, 0)), strict=False))
    assert sum(int(row[2]) + int(row[3]) for row in rows) == total
    assert said["sensitivity"] == {"L1": 2, "squared L2": 2}


def test_left_right_and_ties_are_counted(tmp_path):
    rows = [
        ("u", ITEMS[0], ITEMS[1], "left"),
        ("v", ITEMS[0], ITEMS[1], ITEMS[1]),
        ("w", *ITEMS[1:], "tie"),
    ]
    written(tmp_path, "ranking", rows, ("user", "left", "right", "label"))
    assert main(words(tmp_path, "ranking", **QUIET)) == 0
    assert [row[2:4] for row in released(tmp_path / "out")[0]] == [
        ["1", "1"],
        ["0", "0"],
        ["0", "0"],
    ]


def test_a_tie_is_no_comparison_of_the_one_who_gave_it(tmp_path):
    """One comparison of each person counts; a tie that stands before them makes nobody's comparison another's."""
    tea, milk, beer = ITEMS
    rows = [
        ("v", tea, milk, "tie"),
        ("u", tea, milk, tea),
        ("u", tea, beer, tea),
        ("u", milk, beer, milk),
        ("v", milk, beer, milk),
    ]
    written(tmp_path, "ranking", rows, ("user", "left", "right", "label"))
    assert main(words(tmp_path, "ranking", **QUIET, **{"parameters.most": 1})) == 0
    assert [row[2:4] for row in released(tmp_path / "out")[0]] == [
        ["1", "0"],
        ["0", "0"],
        ["1", "0"],
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "neighbours, says, changes",
    [("replace_one", "replaced by others", (4, 8)), ("add_remove", "there or not", (2, 2))],
)
def test_the_statement_says_what_the_noise_hides(tmp_path, kind, neighbours, says, changes):
    written(tmp_path, kind)
    assert (
        main(
            words(tmp_path, kind, **{"parameters.neighbours_are": neighbours, "parameters.most": 1})
        )
        == 0
    )
    said = released(tmp_path / "out")[1]
    assert said["neighbours"] == f"these answers {says}, or any one row, whatever name it has"
    assert tuple(said["sensitivity"].values()) == changes


@pytest.mark.parametrize(
    "mechanism, spent",
    [
        ("discrete_laplace", {"epsilon"}),
        ("discrete_gaussian", {"rho", "delta", "epsilon", "epsilon_bun_steinke"}),
    ],
)
@pytest.mark.parametrize(
    "neighbours, absolute, squared", [("replace_one", 6, 8), ("add_remove", 3, 3)]
)
def test_the_budget_is_spent_and_no_more(tmp_path, mechanism, spent, neighbours, absolute, squared):
    written(tmp_path, "crowd")
    changes = {"parameters.mechanism": mechanism, "parameters.neighbours_are": neighbours}
    assert (
        main(
            words(
                tmp_path,
                "crowd",
                **changes,
                **{"parameters.delta": None if mechanism == "discrete_laplace" else "1e-5"},
            )
        )
        == 0
    )
    said = released(tmp_path / "out")[1]
    assert set(said["spent"]) == spent and 2 - 1e-8 < said["spent"]["epsilon"] <= 2
    assert said["sensitivity"] == {"L1": absolute, "squared L2": squared}
    if mechanism == "discrete_laplace":
        assert said["noise"]["scale"] == pytest.approx(absolute / 2)
    else:
        assert said["noise"]["variance"] == pytest.approx(squared / (2 * said["spent"]["rho"]))


def test_noise_has_the_variance_that_is_stated():
    counts = np.full((4000, 2), 5)
    result = GaussianCounts(1.0, delta=1e-5).publish(counts, 2, named=False)
    errors = (result.counts - counts).ravel()
    variance = result.noise["variance"]
    bound = 5.3 * variance * np.sqrt(2 / errors.size)  # alpha 1e-7, two-sided
    print(
        f"n={errors.size} statistic={errors.var():.1f} expected={variance:.1f} bound={bound:.1f} alpha=1e-6"
    )
    assert abs(errors.var() - variance) < bound < abs(errors.var() - 2 * variance)


BAD = [
    (
        "ranking",
        {"data.items": None},
        "data.items",
        "is needed, a file with the names of all items",
    ),
    ("crowd", {"data.items": None}, "data.items", "is needed, a file with the names of all tasks"),
    ("crowd", {"data.items": "nowhere.txt"}, "data.items", "cannot be read"),
    (
        "ranking",
        {"data.path": None},
        "data.path",
        "must be the path of a file (comparisons, one a row)",
    ),
    ("ranking", {"parameters.most": None}, "parameters.most", "is needed, a whole number ≥ 1"),
    ("crowd", {"parameters.most": 0}, "parameters.most", "≥ 1"),
    ("crowd", {"parameters.labels": "yes"}, "parameters.labels", "must be two different labels"),
    (
        "crowd",
        {"parameters.labels": "Yes/yes"},
        "parameters.labels",
        "must be two different labels",
    ),
    ("ranking", {"parameters.labels": "no/yes"}, "parameters.labels", "no such parameter here"),
    ("ranking", {"parameters.epsilon_user": None}, "parameters.epsilon_user", "is needed"),
    ("ranking", {"parameters.epsilon_user": -1}, "parameters.epsilon_user", "> 0"),
    (
        "ranking",
        {
            "parameters.epsilon_user": "1e-30",
            "parameters.mechanism": "discrete_laplace",
            "parameters.delta": None,
        },
        "parameters.epsilon_user",
        "must be larger",
    ),
    ("ranking", {"parameters.epsilon_user": "1e308"}, "parameters.epsilon_user", "must be smaller"),
    ("ranking", {"parameters.delta": None}, "parameters.delta", "is needed"),
    ("crowd", {"parameters.seed": 1}, "parameters.seed", "takes no seed"),
    ("crowd", {"experiment": "own/crowd"}, "experiment", "which simulates nothing"),
    (
        "crowd",
        {"data.truth": "x"},
        "data.truth",
        "takes no such file, only data.path and data.items; leave it out",
    ),
    (
        "crowd",
        {"parameters.mechanism": "randomized_response"},
        "parameters.mechanism",
        "allowed: discrete_gaussian",
    ),
    (
        "crowd",
        {"problem": None},
        "problem",
        "is needed: what kind of data are released, one of clustering, crowd",
    ),
    ("ranking", {"outputs": "people.csv"}, "outputs", "never overwritten"),
]
HEADERS = [
    (
        "ranking",
        ("user", "winner"),
        [("u", "=tea")],
        "the header is 'user,winner'; must be winner,loser or left",
    ),
    (
        "ranking",
        ("user", "winner", "loser", "n"),
        [("u", "=tea", "béer", 1)],
        "has columns of users and of counts",
    ),
    (
        "ranking",
        ("left", "right"),
        [("=tea", "béer")],
        "has two items in a row and not which of them won",
    ),
    ("ranking", ("left", "right"), [], "has two items in a row and not which of them won"),
    (
        "crowd",
        ("task", "label", "x"),
        [("t1", "yes", 1)],
        "the header is 'task,label,x', without worker; must be",
    ),
]
ROWS = [
    ("ranking", None, [("u", "=tea", "rum")], "row 2: 'rum' is not in data.items"),
    ("ranking", None, [("u", "=tea", "=tea")], "row 2: compares '=tea' with itself"),
    ("ranking", None, [("u", "=tea")], "row 2: has 2 fields; must have 3"),
    ("ranking", None, [("", "=tea", "béer")], "row 2: the user has no name"),
    (
        "ranking",
        ("left", "right", "label"),
        [("=tea", "béer", "rum")],
        "row 2: 'rum' won; must be one of =tea, béer",
    ),
    (
        "ranking",
        ("winner", "loser", "n"),
        [("=tea", "béer", "1e3")],
        "row 2: is '1e3'; must be a whole number",
    ),
    ("ranking", None, [], "left out without a word: 0"),
    ("crowd", None, [("t9", "u", "yes")], "row 2: task 't9' is not in data.items"),
    ("crowd", None, [("t1", "u", "maybe")], "row 2: label is 'maybe'; must be one of no, yes"),
    ("crowd", None, [("t1", "", "yes")], "row 2: the worker has no name"),
]


@pytest.mark.parametrize("kind, changes, key, says", BAD, ids=range(len(BAD)))
def test_a_mistake_is_one_line_before_anything_is_written(
    tmp_path, monkeypatch, capsys, kind, changes, key, says
):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, kind)
    assert main(words(tmp_path, kind, **changes)) == 2
    told = capsys.readouterr()
    assert (
        told.out == ""
        and told.err.count("\n") == 1
        and told.err.startswith(f"error: {key}=")
        and says in told.err
    )
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "names.txt"}


def test_a_problem_without_a_release_is_refused(tmp_path, monkeypatch, capsys):
    without = problems() | {"crowd": replace(problems()["crowd"], release=None)}
    monkeypatch.setattr(workflow_release, "problems", lambda: without)
    written(tmp_path, "crowd")
    assert main(words(tmp_path, "crowd")) == 2
    says = "error: problem=crowd: cannot release data; allowed: clustering, ranking, response\n"
    assert capsys.readouterr().err == says


@pytest.mark.parametrize("kind, header, rows, says", HEADERS, ids=range(len(HEADERS)))
def test_a_header_that_does_not_fit_is_refused(tmp_path, capsys, kind, header, rows, says):
    written(tmp_path, kind, rows, header)
    assert main(words(tmp_path, kind)) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: data.path=") and says in told and told.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind, header, rows, says", ROWS, ids=range(len(ROWS)))
def test_a_row_that_is_wrong_is_left_out_and_only_a_check_says_so(
    tmp_path, capsys, kind, header, rows, says
):
    written(tmp_path, kind, rows, header)
    most = {"parameters.most": 1}  # also where the file names no persons
    assert main(words(tmp_path, kind, check="true", **most)) == 0
    assert says in capsys.readouterr().out and not (tmp_path / "out").exists()
    assert main(words(tmp_path, kind, **QUIET, **most)) == 0
    told = capsys.readouterr()
    assert told.err == "" and "row 2" not in told.out
    table = released(tmp_path / "out")[0]
    assert all(cell in ("0", "yes") or not cell.isdigit() for row in table for cell in row[1:4])


@pytest.mark.parametrize(
    "names, says",
    [
        ((), "has 0 of the items"),
        (("a",), "has 1 of the items"),
        (("a", "b", "a"), "names 'a' twice"),
    ],
)
def test_lists_of_names_are_checked(tmp_path, capsys, names, says):
    written(tmp_path, "ranking", names=names)
    assert main(words(tmp_path, "ranking")) == 2 and says in capsys.readouterr().err


def test_labels_are_read_as_people_write_them(tmp_path):
    written(tmp_path, "crowd", [("t1", "u", "1.0"), ("t1", "v", "0"), ("t3", "w", "01")])
    assert main(words(tmp_path, "crowd", **QUIET, **{"parameters.labels": "0/1"})) == 0
    assert [row[1:3] for row in released(tmp_path / "out")[0]] == [
        ["1", "1"],
        ["0", "0"],
        ["0", "1"],
        ["0", "0"],
    ]
    assert crowd_release._labels("no/yes") == ("no", "yes")


@pytest.mark.parametrize("kind", [GaussianCounts, LaplaceCounts])
def test_counts_of_nobody_get_noise_too(kind):
    """One in 40 draws at most is 0: 160 of 200 are not, but with probability 1e-20."""
    counts = kind(epsilon_user=0.1).publish(np.zeros((100, 2), np.int64), 1, named=True).counts
    assert (counts != 0).sum() > 160
    counts = kind(epsilon_user=1e4).publish(np.ones((3, 2), int), 1, named=False).counts
    assert counts.tolist() == [[1, 1]] * 3
