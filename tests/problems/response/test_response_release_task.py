"""`task=release` as a user has it: real runs of the command, what lies in the folder, and every mistake in one line."""

import csv
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.__main__ import main
from pipeline.problems.common.release_folder import plain_text
from pipeline.problems.response.data import release_file
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import NoisyDifferences
from pipeline.problems.response.releases import Differences
from tests.helpers.engine import ROOT, command, environment

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
NAMES = ["tea, green", "milk", "béer", "ale"]
FILES = {"differences.csv", "items.csv", "release.json", "promise.html"}


def table(path, persons=40, missing=0.2, seed=1, names=NAMES):
    """A file of persons × items; person 0 alone answered the last item, if any are missing."""
    texts = np.random.default_rng(seed).choice(["0", "1"], (persons, len(names))).astype("U2")
    if missing:
        texts[np.random.default_rng(seed + 1).random(texts.shape) < missing] = "NA"
        texts[1:, -1], texts[0, -1] = "", "1"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["person", *names], *([f"somebody {k}", *row] for k, row in enumerate(texts))]
        )
    return path


def words(folder, **changes):
    given = {
        "task": "release",
        "problem": "response",
        "data.path": folder / "people.csv",
        "outputs": folder / "out",
        "parameters.epsilon_user": 2,
        "parameters.delta": "1e-5",
    } | changes
    return [f"{key}={value}" for key, value in given.items() if value is not None]


def read(folder):
    """Noisy counts (right, wrong) -> count, difficulties, statement."""
    with open(folder / "differences.csv", encoding="utf-8", newline="") as file:
        counts = {(row["right"], row["wrong"]): int(row["count"]) for row in csv.DictReader(file)}
    with open(folder / "items.csv", encoding="utf-8", newline="") as file:
        items = {row["item"]: float(row["difficulty"]) for row in csv.DictReader(file)}
    return counts, items, json.loads((folder / "release.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    table(folder / "people.csv")
    done = command(words(folder), cwd=folder, env=environment(PYTHONPATH=str(ROOT)))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return folder, done.stdout


def test_the_command_releases_items_by_name(released):
    folder, out = released
    assert {path.name for path in (folder / "out").iterdir()} == FILES and {
        path.name for path in folder.iterdir()
    } == {"people.csv", "out"}
    counts, items, said = read(folder / "out")
    assert set(counts) == {(a, b) for a in NAMES for b in NAMES if a != b} and list(items) == NAMES
    assert said["spent"]["delta"] == 1e-5 and 2 - 1e-9 < said["spent"]["epsilon"] <= 2
    assert said["spent"]["epsilon_bun_steinke"] > 2
    assert said["sensitivity"] == {"L1": 8, "squared L2": 16, "that the noise is made for": 16}
    assert said["noise"]["variance"] == pytest.approx(16 / (2 * said["spent"]["rho"]))
    assert "OpenDP" in said["sampler"] and "all rows of one name" in said["unit"]
    assert "replaced by another, whatever name it has" in said["neighbours"]
    for word in (
        f"released: {folder / 'out'}",
        "unit: ",
        "neighbours: ",
        "spent: rho ",
        "adds to that",
    ):
        assert word in out


def test_the_estimate_is_of_the_released_counts_alone(released):
    counts, items, _ = read(released[0] / "out")
    matrix = np.array([[counts.get((a, b), 0) for b in NAMES] for a in NAMES])
    again = Spectral(m=4).fit(Differences(matrix[None], 1, np.zeros(1)), None).theta[0]
    assert list(items.values()) == pytest.approx(again, abs=1e-12)
    assert list(items.values()) != pytest.approx(
        Spectral(m=4).fit(Differences((matrix + 9)[None], 1, np.zeros(1)), None).theta[0], abs=1e-3
    )


def everything(folder):
    """What of a release is no noisy number, and its text without difficulties, whose many digits may be any."""
    counts, items, said = read(folder)
    text = "".join(path.read_text("utf-8") for path in folder.iterdir())
    return (list(counts), list(items), said | {"date": ""}), re.sub(
        r"(?m),-?\d+\.\d+(e-\d+)?$", ",", text
    )


def test_nothing_else_depends_on_the_people(released, tmp_path, capsys):
    """Other people, other answers, another number of them, another name of the file: the same words and settings.

    In the first file one person alone answered an item: a refusal, or a zero, would have told that he is there.
    """
    first, text = everything(released[0] / "out")
    others = {
        "few.csv": dict(persons=1, missing=0.9),
        "many.csv": dict(persons=4321, missing=0, seed=3),
    }
    for name, changes in others.items():
        table(tmp_path / name, **changes)
    with open(tmp_path / "nobody.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["person", *NAMES]])
    for name in (*others, "nobody.csv"):
        assert (
            main(
                words(
                    tmp_path, **{"data.path": tmp_path / name, "outputs": tmp_path / f"{name} out"}
                )
            )
            == 0
        )
        found, other = everything(tmp_path / f"{name} out")
        assert found == first
        out = capsys.readouterr().out
        for told in (text, other, out.replace(str(tmp_path), "")):
            for secret in (
                "4321",
                "4,321",
                "somebody",
                "people.csv",
                "many.csv",
                "sha256",
                str(ROOT),
            ):
                assert secret not in told.replace(f"{name} out", "")


@pytest.mark.parametrize(
    "changes, spent, listed",
    [
        ({"parameters.mechanism": "discrete_laplace", "parameters.delta": None}, {"epsilon"}, 12),
        (
            {
                "parameters.p0": "0.6",
                "parameters.neighbours_are": "add_remove",
                "parameters.conversion": "bun_steinke",
            },
            {"rho", "delta", "epsilon", "epsilon_bun_steinke"},
            None,
        ),
    ],
)
def test_other_mechanisms(tmp_path, changes, spent, listed):
    table(tmp_path / "people.csv")
    assert main(words(tmp_path, **changes)) == 0
    counts, items, said = read(tmp_path / "out")
    assert set(said["spent"]) == spent and max(said["spent"]["epsilon"], 0) <= 2
    assert len(counts) == listed or listed is None and len(counts) in range(6, 13, 2)
    assert all((b, a) in counts for a, b in counts) and np.isfinite(list(items.values())).all()
    if "epsilon_bun_steinke" in spent:
        assert (
            2 - 1e-9 < said["spent"]["epsilon_bun_steinke"] <= 2
            and "not edges" in said["differences.csv"]
        )


def exact_counts(rows, names=NAMES):
    """(right, wrong) -> persons, of rows of texts 1, 0 and anything else for missing, one pair of answers at a time."""
    return {
        (a, b): sum(row[i] == "1" and row[j] == "0" for row in rows)
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i != j
    }


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


HARDLY_NOISY = {"parameters.epsilon_user": 1e4}  # noise is 0 but with probability 1e-200


@pytest.mark.parametrize("observed_is_used", [True, False])
def test_missing_answers_are_released_as_missing(tmp_path, monkeypatch, observed_is_used):
    """The negative control publishes them as wrong ones."""
    publish = NoisyDifferences.publish
    if not observed_is_used:
        monkeypatch.setattr(
            NoisyDifferences,
            "publish",
            lambda self, answers, observed, persons, named: publish(
                self, answers, None, persons, named
            ),
        )
    people = table(tmp_path / "people.csv", persons=200, missing=0.5)
    assert main(words(tmp_path, **HARDLY_NOISY)) == 0
    released, exact = read(tmp_path / "out")[0], exact_counts([row[1:] for row in rows_of(people)])
    assert (released == exact) == observed_is_used


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_estimate_and_sensitivities_are_those_of_the_public_graph(tmp_path, calibration):
    """Items of five, half of the pairs: the estimate is of the pairs listed, and what is stated is its largest cut."""
    names = list("abcde")
    table(tmp_path / "people.csv", persons=300, missing=0, names=names)
    for k in range(20):  # until some pair is left out
        out = tmp_path / f"out {k}"
        assert (
            main(
                words(
                    tmp_path,
                    outputs=out,
                    **{
                        "parameters.p0": 0.5,
                        "parameters.calibration": calibration,
                        "parameters.epsilon_user": 1e3,
                    },
                )
            )
            == 0
        )
        counts, items, said = read(out)
        if len(counts) < 16:
            break
    matrix = np.array([[counts.get((a, b), 0) for b in names] for a in names])
    edges = np.array([[(a, b) in counts for b in names] for a in names])
    estimates = [
        Spectral(m=5).fit(Differences(matrix[None], 1, np.zeros(1), kept), None).theta[0]
        for kept in (edges[None], None)
    ]
    assert list(items.values()) == pytest.approx(estimates[0], abs=1e-12)
    assert list(items.values()) != pytest.approx(
        estimates[1], abs=1e-3
    )  # negative control: as if all were released
    cut = max(
        edges[np.ix_(side, ~side)].sum()
        for side in (np.array([k >> i & 1 for i in range(5)], bool) for k in range(32))
    )
    charge = 2 * (2 * cut if calibration == "tight" else len(counts))  # twice, as rows carry names
    assert said["sensitivity"] == {
        "L1": 2 * cut,
        "squared L2": 4 * cut,
        "that the noise is made for": charge,
    }
    assert said["spent"]["rho"] == pytest.approx(4 * cut / (2 * said["noise"]["variance"]))


def test_exact_and_charged_sensitivity_are_not_confused(tmp_path):
    (tmp_path / "people.csv").write_text("a,b,c,d\n1,0,1,\n")
    assert main(words(tmp_path, **{"parameters.calibration": "paper"})) == 0
    said = read(tmp_path / "out")[2]
    assert said["sensitivity"] == {"L1": 8, "squared L2": 8, "that the noise is made for": 12}
    assert "one row of the file" in said["unit"] and "name" not in said["neighbours"]
    assert (
        said["spent"]["rho"] == pytest.approx(8 / (2 * said["noise"]["variance"]))
        and said["spent"]["epsilon"] < 1.7
    )


def test_all_rows_of_a_name_that_several_have_count_as_not_there(tmp_path, monkeypatch, capsys):
    """Neither a refusal nor a number tells that there are some. The negative control counts them all."""
    rows = [
        ["x", "1", "0", "1"],
        ["y", "1", "1", "0"],
        ["x", "0", "1", "0"],
        ["x", "0", "1", "1"],
        ["z", "0", "0", "1"],
    ]
    (tmp_path / "people.csv").write_text(
        "id,a,b,c\n" + "".join(",".join(row) + "\n" for row in rows)
    )
    assert main(words(tmp_path, **HARDLY_NOISY)) == 0
    told = capsys.readouterr()
    counted = [rows[1], rows[4]]
    single, every = (exact_counts([row[1:] for row in kept], "abc") for kept in (counted, rows))
    assert (
        read(tmp_path / "out")[0] == single != every and told.err == "" and "row 4" not in told.out
    )
    monkeypatch.setattr(release_file, "repeated", lambda rows: [False] * len(rows.answers))
    assert main(words(tmp_path, outputs=tmp_path / "all", **HARDLY_NOISY)) == 0
    assert read(tmp_path / "all")[0] == every


def test_any_number_of_persons_is_released_without_a_word_of_it(tmp_path, capsys):
    """More than a study takes: a refusal would tell that there are so many."""
    (tmp_path / "people.csv").write_text("a,b,count\n1,0,99999999\n0,1,70000000\n1,,12345678\n")
    assert main(words(tmp_path, **HARDLY_NOISY)) == 0
    told, (counts, _, said) = capsys.readouterr(), read(tmp_path / "out")
    assert counts == {("a", "b"): 99_999_999, ("b", "a"): 70_000_000} and told.err == ""
    assert not any(
        number in told.out + json.dumps(said)
        for number in ("182345", "182,345", "70000000", "10,000,000")
    )


def test_names_of_items_are_no_formulas(tmp_path):
    """A spreadsheet computes no cell, also one that parts fields at semicolons; names stay distinct."""
    names = ["=1+1", "'=1+1", "+1", "-1", "@SUM(A1)", "a;=1+1", 'b;"=1+1"', "plain, and-simple"]
    table(tmp_path / "people.csv", names=names)
    assert main(words(tmp_path)) == 0
    counts, items, _ = read(tmp_path / "out")
    assert list(items) == [
        "'=1+1",
        "''=1+1",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "a;'=1+1",
        'b;\'"=1+1"',
        "plain, and-simple",
    ]
    assert {name for pair in counts for name in pair} == set(items) and len(counts) == 56
    for path in (tmp_path / "out").glob("*.csv"):
        for delimiter in ",;\t":
            with open(path, encoding="utf-8", newline="") as file:
                cells = [cell for row in csv.reader(file, delimiter=delimiter) for cell in row]
            assert not any(
                cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not is_number(cell)
                for cell in cells
            )


def is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


@given(st.lists(st.text("=+-@'\";\t\r\n, x", max_size=5), min_size=2, max_size=2, unique=True))
def test_names_begin_no_formula_and_stay_different(names):
    first, second = map(plain_text, names)
    assert (
        first != second
        and not re.search("(^|[;\t\r\n])[=+@-]", first)
        and first[:1] not in ("\t", "\r", "\n")
    )


KILLED = """
import os, signal, sys
from pipeline.__main__ import main
from pipeline.problems.common import release_folder
write = release_folder.write_table
def killed(path, header, rows):
    write(path, header, rows)
    os.kill(os.getpid(), signal.SIGKILL)
os.umask(0)
if sys.argv[1] == "killed":
    release_folder.write_table = killed
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("how", ["killed", "finished"])
def test_only_the_owner_can_read_what_is_there(tmp_path, how):
    """Also what SIGKILL leaves, between two files, and also where the mask lets everybody read."""
    table(tmp_path / "people.csv")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, how, *words(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
    )
    assert done.returncode == (-signal.SIGKILL if how == "killed" else 0), done.stderr
    (left,) = [path for path in tmp_path.iterdir() if path.name != "people.csv"]
    assert left.name.startswith(".out." if how == "killed" else "out") and any(left.iterdir())
    assert os.stat(left).st_mode & 0o777 == 0o700


BAD = [
    ({"seed": 1}, "seed", "takes no seed"),
    ({"parameters.seed": 1}, "parameters.seed", "takes no seed"),
    ({"parameters.epsilon_user": None}, "parameters.epsilon_user", "is needed, a number > 0"),
    ({"parameters.delta": None}, "parameters.delta", "is needed, a number > 0 and < 1"),
    *(
        ({"parameters.epsilon_user": value}, "parameters.epsilon_user", "must be a number > 0")
        for value in (0, -1, "nan", "a", "[1]", "{a: 1}", "true")
    ),
    ({"parameters.epsilon_user": "null"}, "parameters.epsilon_user", "is needed"),
    ({"parameters.epsilon_user": "inf"}, "parameters.epsilon_user", "finite"),
    (
        {
            "parameters.epsilon_user": "1e-300",
            "parameters.mechanism": "discrete_laplace",
            "parameters.delta": None,
        },
        "parameters.epsilon_user",
        "noise wider than 1e+09",
    ),
    *(
        ({"parameters.delta": value}, "parameters.delta", "> 0 and < 1")
        for value in (0, 1, -1e-5, 2, "x")
    ),
    ({"parameters.p0": "1,0.5"}, "parameters.p0", "must be one value"),
    ({"parameters.p0": "1e-9"}, "parameters.p0", "must be larger"),
    ({"parameters.p0": 1.5}, "parameters.p0", "≤ 1"),
    ({"parameters.conversion": "exact"}, "parameters.conversion", "for studies"),
    (
        {"parameters.conversion": "paper"},
        "parameters.conversion",
        "spends more than ε; must be tight or bun_steinke",
    ),
    (
        {"parameters.mechanism": "randomized_response"},
        "parameters.mechanism",
        "allowed: discrete_gaussian",
    ),
    (
        {"parameters.mechanism": "discrete_gausian"},
        "parameters.mechanism",
        "did you mean 'discrete_gaussian'",
    ),
    ({"parameters.mechanism": "discrete_laplace"}, "parameters.delta", "no such parameter here"),
    ({"parameters.epsilon": 1}, "parameters.epsilon", "did you mean 'epsilon_user'"),
    ({"parameters.m": 4}, "parameters.m", "no such parameter here"),
    ({"parameters.estimator": "spectral"}, "parameters.estimator", "no such parameter here"),
    (
        {"parameters.pseudo_count": 0, "parameters.floor": 0},
        "parameters.pseudo_count",
        "one must be > 0",
    ),
    (
        {"experiment": "nguyen/figure_1"},
        "experiment",
        "which simulates nothing; allowed: task, problem, data.path,",
    ),
    ({"replications": 10}, "replications", "which simulates nothing"),
    ({"data.items": "x"}, "data.items", "takes no such file, only data.path; leave it out"),
    ({"+parameters.p0": 1}, "command line", "nothing is added or removed here"),
    ({"parameters.p0": "[1"}, "command line", "cannot be read"),
    ({"data.path": None}, "data.path", "must be the path of a file"),
    ({"data.path": "nowhere.csv"}, "data.path", "cannot be read"),
    ({"data.path": "."}, "data.path", "must be a file"),
    ({"check": 3}, "check", "must be true or false"),
    ({"parameters.encoding": "latin-1"}, "parameters.encoding", "allowed: utf-8, windows-1252"),
    ({"outputs": None}, "outputs", "new folder for what is released"),
    ({"outputs": ""}, "outputs", "must be a new folder"),
    ({"outputs": "people.csv"}, "outputs", "is there already, and a release is never overwritten"),
    ({"outputs": "no/such/folder"}, "outputs", "cannot be made (No such file or directory)"),
    ({"parameters.epsilon_user": "1e308"}, "parameters.epsilon_user", "must be smaller"),
    ({"outputs": "~nobody of that name/out"}, "outputs", "must be a new folder"),
    ({"outputs": "a" * 300}, "outputs", "cannot be made (File name too long)"),
]


@pytest.mark.parametrize("changes, key, says", BAD, ids=range(len(BAD)))
def test_a_mistake_is_one_line_before_anything_is_written(
    tmp_path, monkeypatch, capsys, changes, key, says
):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "people.csv")
    assert main(words(tmp_path, **changes)) == 2
    told = capsys.readouterr()
    assert (
        told.out == ""
        and told.err.count("\n") == 1
        and told.err.startswith(f"error: {key}=")
        and says in told.err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize(
    "content, says",
    [
        ("", "is empty"),
        ("a,a\n1,0\n", "twice"),
        ("a\n1\n", "has 1 item;"),
        ('""\n', "the header has no names"),
        ("1,0\n0,1\n", "begins with answers"),
        (
            "id,a,b,count\nx,1,0,5\n",
            "must be one person, or stand for several without a name",
        ),  # one with five rows
    ],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path, capsys, content, says):
    (tmp_path / "people.csv").write_text(content)
    code, told = main(words(tmp_path)), capsys.readouterr()
    assert code == 2 and told.err.count("\n") == 1 and told.err.startswith("error: data.path=")
    assert says in told.err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "content, counts, left_out",
    [
        ("a,b\n", 0, []),
        ("a,b\n1,2\n", 0, ["row 2: column 'b': is '2'; must be 0, 1"]),
        ("a,b\n1,0.5\n1,0\n", 1, ["row 2: column 'b': is '0.5'"]),
        ("a,b\n1\n\n,\n", 0, ["row 2: has 1 fields; must have 2, as the header"]),
        ("id,a,b\nx,1,0\n,0,1\n", 1, ["row 3: the person has no name"]),
        (
            "id,a,b\nx,1,0\ny,0,1\nx,0,0\n",
            1,
            ["row 2: the person has several rows", "row 4: the person has"],
        ),
        (
            "a,b,count\n1,0,3\n1,0,many\n",
            1,
            ["row 3: column 'count': is 'many'; must be a whole number"],
        ),
        (
            "school;G1;G2;G3\nGP;1;2;3\n",
            0,
            ["row 2: column 'school': is 'GP'"],
        ),  # their medians are everybody's
        (
            "userId,movieId,rating,timestamp\n1,7,4,0\n",
            0,
            ["row 2: column 'movieId'"],
        ),  # so is a completion of ratings
        ("a,b\n" + "x,1\n" * 12, 0, ["row 2: column 'a': is 'x'", "  and 2 more"]),
    ],
)
def test_a_check_tells_the_owner_of_the_data_what_a_release_leaves_out_in_silence(
    tmp_path, capsys, content, counts, left_out
):
    (tmp_path / "people.csv").write_text(content)
    assert main(words(tmp_path, check="true")) == 0
    told = capsys.readouterr()
    assert (
        told.out.startswith(f"rows that would count: {counts}; left out without a word: ")
        and told.err == ""
    )
    assert all(text in told.out for text in left_out) and (
        left_out or "left out without a word: 0" in told.out
    )
    assert not (tmp_path / "out").exists() and "Nothing was released" in told.out
    assert main(words(tmp_path)) == 0
    told = capsys.readouterr()
    assert not re.search(r"row \d|left out|would count", told.out) and told.err == ""


def test_a_release_is_never_overwritten(tmp_path, capsys):
    table(tmp_path / "people.csv")
    assert main(words(tmp_path)) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert main(words(tmp_path)) == 2 and "never overwritten" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert (
        main(words(tmp_path, outputs=tmp_path / "again")) == 0
    )  # twice the budget, and other noise
    assert (tmp_path / "again" / "differences.csv").read_bytes() != before["differences.csv"]


def test_the_task_given_in_other_ways_is_refused_or_the_same(tmp_path, capsys):
    table(tmp_path / "people.csv")
    for first, says in (
        ("+task=release", "nothing is added"),
        ("++task=release", "nothing is added"),
    ):
        assert main([first, *words(tmp_path)[1:]]) == 2 and says in capsys.readouterr().err
    assert (
        main(["task=run", *words(tmp_path)]) == 2
        and "task=release: is given twice" in capsys.readouterr().err
    )
    assert main(["task='release'", *words(tmp_path)[1:]]) == 0


MANY = [f"item {k}" for k in range(150)]


def test_out_of_room_it_leaves_nothing(tmp_path):
    """A limit on the size of files, as of a full disk."""
    table(tmp_path / "people.csv", persons=3, missing=0, names=MANY)
    limited = [
        "sh",
        "-c",
        'ulimit -f 8; trap "" XFSZ; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "pipeline",
    ]
    done = subprocess.run(
        [*limited, *words(tmp_path)],
        cwd=ROOT,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        text=True,
        capture_output=True,
    )
    assert (
        done.returncode == 1
        and "nothing was released" in done.stderr
        and done.stderr.count("\n") == 1
    )
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("after", [0.001, 0.02, 0.1, 0.3])
def test_stopped_at_any_time_it_leaves_all_or_nothing(tmp_path, capsys, after):
    table(tmp_path / "people.csv", persons=3, missing=0, names=MANY)

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        code = main(words(tmp_path))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    left = {path.name for path in tmp_path.iterdir()} - {"people.csv"}
    assert code in (0, 75) and (left == {"out"} if code == 0 else left <= {"out"})
    assert not left or {path.name for path in (tmp_path / "out").iterdir()} == FILES
    told = (
        capsys.readouterr().err
    )  # another line where the command had not yet read what it was to do
    assert told.startswith("stopped; ") and told.count("\n") == 1 if code else told == ""
