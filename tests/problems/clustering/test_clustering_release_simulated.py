"""What `task=release` does with ratings is what studies simulate: sums, charges, accounts, laws."""

import csv
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy

import pipeline as pl
from pipeline.__main__ import main
from pipeline.problems.clustering.data.rating_rows import co_occurrences_of, without_several
from pipeline.problems.clustering.data.release import MECHANISMS, promise
from pipeline.problems.clustering.mechanisms.curator import NoisyCoOccurrences
from pipeline.problems.clustering.sampling.records import co_occurrences
from pipeline.problems.clustering.theory.co_occurrence_sensitivity import (
    co_occurrence_sensitivity,
    listed_co_occurrence_sensitivity,
)
from pipeline.problems.common.count_release import AnswerRows

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
N = 317  # 50,086 pairs: so many runs of the noise
MOST = 5
ALPHA = 1e-6
PERSON = 1.5
DELTA = 1e-5
BINS = 24
STUDIES = {
    "Laplace": NoisyCoOccurrences(N=N, w=MOST, person=PERSON),
    "Gaussian": NoisyCoOccurrences(N=N, w=MOST, person=PERSON, person_delta=DELTA),
}


def written(folder, rows, names):
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    (folder / "people.csv").write_text("\n".join(["user,item,rating", *rows]) + "\n")


def released(folder, **settings):
    """Exit code of a release of what was written. settings: parameters as typed."""
    return main(
        [
            "release",
            "problem=clustering",
            f"data.path={folder / 'people.csv'}",
            f"data.items={folder / 'names.txt'}",
            f"outputs={folder / 'out'}",
            *(f"parameters.{key}={value}" for key, value in settings.items()),
        ]
    )


def table_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def numbers_in(folder):
    return np.array([int(row[2]) for row in table_of(folder / "out" / "co_occurrences.csv")[1:]])


def noise_of_study(study):
    """Noise of one replication of a study: what it releases less the sums of the same records."""
    model = pl.clustering.BlockModel(U=3, N=N, w=MOST, b="0.9, 0.1")
    people = pl.simulate_data(model, seed=3).data
    release = study.release(people, np.random.default_rng(4))
    sums = study.summed(*co_occurrences(np.random.default_rng(4), people, 0))
    return release.agreements[0][np.triu_indices(N, 1)] - sums


def chance(first, other):
    """P value of a χ² test of two samples, in bins of the quantiles of both."""
    both = np.concatenate([first, other])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, BINS + 1)[1:-1]))
    table = [np.bincount(np.searchsorted(edges, sample, "right")) for sample in (first, other)]
    return scipy.stats.chi2_contingency(np.array(table)).pvalue


@pytest.mark.parametrize("name", STUDIES)
def test_a_release_has_the_law_the_variance_and_the_account_of_its_simulation(
    name, tmp_path, capsys
):
    """A file of one person who likes five items: of ten pairs the sum is 1, of all others 0."""
    study = STUDIES[name]
    written(tmp_path, [f"Ann,item {k},4" for k in range(MOST)], [f"item {k}" for k in range(N)])
    code = released(
        tmp_path, person=PERSON, person_delta=study.person_delta, most=MOST, liked="3.5"
    )
    assert code == 0, capsys.readouterr().err
    sums = np.zeros((N, N), int)
    sums[:MOST, :MOST] = 1
    real = numbers_in(tmp_path) - sums[np.triu_indices(N, 1)]
    drawn = noise_of_study(study)
    p = chance(real, drawn)
    # The control: a study that charges twice the sensitivity.
    charge = {"Laplace": 2 * study.charge, "Gaussian": 4 * study.charge}[name]
    wider = study.noise.draw(np.random.default_rng(5), study.noise.width(charge), len(real))
    doubled = chance(real, wider)
    print(f"{name}: n={len(real)} of each, p={p:.3g}, of doubled noise {doubled:.3g}, α={ALPHA}")
    assert p > ALPHA
    assert doubled < ALPHA
    ratio = real.var() / study.noise.variance(study.width)
    allowed = 5 * np.sqrt(6 / len(real))
    print(f"variance over that stated {ratio:.4f}, bound 1 ± {allowed:.3f}, α=6e-7")
    assert abs(ratio - 1) < allowed
    assert abs(wider.var() / study.noise.variance(study.width) - 1) > allowed

    account = json.loads((tmp_path / "out" / "release.json").read_text())
    assert MECHANISMS[account["mechanism"]] is type(study)
    sensitivity = study.sensitivity
    assert account["sensitivity"] == {
        "L1": sensitivity.absolute,
        "squared L2": sensitivity.squared,
    }
    (width,) = account["noise"].values()
    assert width == pytest.approx(study.width, rel=1e-6)
    assert account["spent"]["epsilon"] == pytest.approx(study.promise().epsilon, rel=1e-6)
    if study.person_delta:
        assert account["spent"]["rho"] == pytest.approx(study.promise().rho, rel=1e-6)
    guarantee = dict(promise(study).rows())
    for aspect in ("trust", "unit", "neighbours", "budget", "composition", "public"):
        assert account[aspect] == guarantee[aspect]
    assert "Ann" not in str(account)


# ------------------------------------------------------------------------------ sums

NAMES = ("tea", "rum", "=gin", "ale")


def by_hand(rows, most, reading):
    """Sums of each pair, of the first ratings of each person; plain loops."""
    persons = list(dict.fromkeys(user for user, _, _ in rows))
    sums = dict.fromkeys(itertools.combinations(NAMES, 2), 0)
    for person in persons:
        of_person = [(item, stars) for user, item, stars in rows if user == person]
        items = [item for item, _ in of_person]
        record = dict([rated for rated in of_person if items.count(rated[0]) == 1][:most])
        for pair in sums:
            if pair[0] in record and pair[1] in record:
                is_alike = (record[pair[0]] >= 4) == (record[pair[1]] >= 4)
                sums[pair] += 1 if is_alike else -(reading == "signed")
    return list(sums.values())


@pytest.mark.parametrize("most, reading", [(2, "signed"), (3, "agree"), (9, "signed")])
def test_each_person_counts_with_the_first_ratings(most, reading, tmp_path):
    """At so large a budget noise is 0 but with probability 1e-200. The control: other rows first."""
    rng = np.random.default_rng(1)
    both = [(person, name) for person in range(9) for name in NAMES]
    chosen = [both[k] for k in rng.permutation(len(both))[:30]]
    rated = [*chosen, *chosen[::6]]  # some twice
    rows = [(f"person {person}", name, int(rng.integers(1, 6))) for person, name in rated]
    written(tmp_path, [",".join(map(str, row)) for row in rows], NAMES)
    code = released(
        tmp_path, person=1e4, person_delta=0, most=most, liked=4, reading=reading, clusters=2
    )
    assert code == 0
    expected = by_hand(rows, most, reading)
    assert numbers_in(tmp_path).tolist() == expected
    assert expected != by_hand(rows[::-1], most, reading) or most == 9
    header = table_of(tmp_path / "out" / "co_occurrences.csv")[0]
    column = {"signed": "alike_less_unlike", "agree": "alike"}[reading]
    assert header == ["first", "second", column]
    clusters = table_of(tmp_path / "out" / "items.csv")
    assert clusters[0] == ["item", "cluster"]
    assert [row[0] for row in clusters[1:]] == ["tea", "rum", "'=gin", "ale"]


def test_clusters_are_found_in_a_release(tmp_path):
    """Persons like the items with even numbers, or those with odd ones."""
    items = [f"item {k}" for k in range(6)]
    rows = [f"{u},item {k},{int((u + k) % 2)}" for u in range(60) for k in range(6)]
    written(tmp_path, rows, items)
    code = released(tmp_path, person=8, person_delta="1e-6", most=6, liked=1)
    assert code == 0
    assert [row[1] for row in table_of(tmp_path / "out" / "items.csv")[1:]] == ["1", "2"] * 3
    page = (tmp_path / "out" / "promise.html").read_text("utf-8")
    assert "which items one person rates, and how" in page


# --------------------------------------------------------------- what neighbours change


def sums_of(rows, items, most, reading):
    """Sums without noise. rows: (person, item, liked)."""
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    numbers = [np.array(column, np.int64) for column in (*columns[1:], [1] * len(rows))]
    ratings = AnswerRows(columns[0], *numbers, (), tuple(range(len(rows))))
    study = NoisyCoOccurrences(N=items, w=most, person=1.0, reading=reading)
    return study.summed(*co_occurrences_of(without_several(ratings), items, most))


def changes_by_a_row(rows, place, items, most, reading):
    """Kind of neighbours, sum of |changes|, of squares; the row at a place by any other, or away."""
    here = sums_of(rows, items, most, reading)
    options = itertools.product("xy", range(items), range(2))
    others = [("replace_one", [option]) for option in options]
    for kind, instead in [("add_remove", []), *others]:
        neighbour = [*rows[:place], *instead, *rows[place + 1 :]]
        change = sums_of(neighbour, items, most, reading) - here
        yield kind, np.abs(change).sum(), (change**2).sum()


@pytest.mark.parametrize(
    "items, most, reading", [(3, 2, "signed"), (4, 3, "agree"), (3, 3, "signed"), (5, 3, "signed")]
)
def test_no_row_changes_more_than_is_charged(items, most, reading):
    """Random files of two persons; then files in which a row changes as much as is charged.

    The control: what all rows of a person change, which is less.
    """
    rng = np.random.default_rng(2)
    files = [[("xy"[k % 2], k // 2 % items, k % 3 % 2) for k in rng.permutation(8)]]
    for _ in range(60):
        random = rng.integers(0, [[2], [items], [2]], (3, 8)).T.tolist()
        files.append([("xy"[user], item, liked) for user, item, liked in random])
    others = range(1, most)
    own = [("y", k, 1) for k in others]
    files.append([("x", 0, 1), *[("x", k, 1) for k in others], *own])
    if most < items:  # then the first row of x makes room for one more, and pushes one of y out
        files.append([*files[-1], ("x", most, 1), ("y", 0, 1)])
    largest = {"replace_one": [0, 0], "add_remove": [0, 0]}
    for rows in files:
        for place in (0, len(rows) - 1):
            for kind, absolute, squared in changes_by_a_row(rows, place, items, most, reading):
                largest[kind][0] = max(largest[kind][0], absolute)
                largest[kind][1] = max(largest[kind][1], squared)
    for kind, (absolute, squared) in largest.items():
        charged = listed_co_occurrence_sensitivity(items, most, reading, kind)
        of_record = co_occurrence_sensitivity(items, most, reading, kind)
        print(f"n={len(files)} files, {kind}: {absolute}, {squared}; {charged}; {of_record}")
        assert absolute <= charged.absolute and squared <= charged.squared
        a_row_costs_most = charged.squared > of_record.squared
        assert a_row_costs_most == (most < items)
        assert squared == charged.squared or not a_row_costs_most


def test_the_first_of_several_rows_would_turn_a_rating_over_by_a_row(monkeypatch):
    """The control: items in several rows of a person count with the first one."""
    rows = [("x", 0, 1), ("x", 0, 0), ("x", 1, 1), ("y", 0, 1), ("y", 1, 1)]
    charged = listed_co_occurrence_sensitivity(3, 2, "signed", "replace_one")
    changes = [squared for _, _, squared in changes_by_a_row(rows, 0, 3, 2, "signed")]
    assert max(changes) <= charged.squared

    def with_first(ratings):
        pairs = list(zip(ratings.person, ratings.group.tolist(), strict=True))
        first = [row for row, pair in enumerate(pairs) if pair not in pairs[:row]]
        person = [ratings.person[row] for row in first]
        return replace(ratings, person=person, group=ratings.group[first], side=ratings.side[first])

    monkeypatch.setitem(globals(), "without_several", with_first)
    changes = [squared for _, _, squared in changes_by_a_row(rows, 0, 3, 2, "signed")]
    assert max(changes) == 16 > charged.squared


# ------------------------------------------------------------------------------ mistakes

SETTINGS = {"person": 1, "person_delta": 0, "most": 3, "liked": 4}


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"liked": None}, "parameters.liked=null: is needed, a number"),
        ({"most": None}, "parameters.most=null: is needed"),
        ({"most": 1}, "parameters.most=1: must be a whole number ≥ 2"),
        ({"person_delta": None}, "parameters.person_delta=null: is needed"),
        ({"N": 4}, "parameters.N=4: no such parameter here"),
        ({"clusters": 5}, "parameters.clusters=5: must be 4, the number of items"),
        ({"person": 1e-12}, "parameters.person=1e-12: asks for noise wider than"),
        ({"mechanism": "max_sense"}, "parameters.mechanism"),
    ],
)
def test_what_a_release_refuses(changes, text, tmp_path, capsys):
    written(tmp_path, ["Ann,tea,5"], NAMES)
    settings = {key: value for key, value in (SETTINGS | changes).items() if value is not None}
    assert released(tmp_path, **settings) == 2
    message = capsys.readouterr().err
    assert text in message and message.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_header_without_ratings_is_refused(tmp_path, capsys):
    written(tmp_path, ["Ann,tea,5"], NAMES)
    people = tmp_path / "people.csv"
    people.write_text(people.read_text().replace("rating", "colour"))
    assert released(tmp_path, **SETTINGS) == 2
    message = capsys.readouterr().err
    assert "'user,item,colour', without rating; must be user,item,rating" in message


def test_a_check_tells_what_is_left_out(tmp_path, capsys):
    rows = ["Ann,tea,5", "Ann,rum,4", "Ann,rum,1", "Bob,gin,1", "Bob,tea,dry", "Bob,tea,NA"]
    written(tmp_path, [*rows, ",tea,1"], NAMES)
    arguments = {
        "data.path": tmp_path / "people.csv",
        "data.items": tmp_path / "names.txt",
        "outputs": tmp_path / "out",
        "check": "true",
        **{f"parameters.{key}": value for key, value in SETTINGS.items()},
    }
    words = [f"{key}={value}" for key, value in arguments.items()]
    assert main(["release", "problem=clustering", *words]) == 0
    shown = capsys.readouterr().out
    assert "rows that would count: 1; left out without a word: 5" in shown
    assert shown.count("several rows about this item") == 2
    assert "rating is 'dry'; must be a number" in shown
    assert "item 'gin' is not in data.items" in shown
    assert "the user has no name" in shown
    assert not (tmp_path / "out").exists()
