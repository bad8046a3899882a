"""Law: a person's own data are a study's identity by their content, go where they are taken, and stay private."""

import json

import pytest

from tests.helpers.commands_counted import command_in_a_fork

ROWS = [
    (f"u{k}", *((a, b) if (k * 7 + i) % 3 else (b, a)))
    for k in range(12)
    for i, (a, b) in enumerate((("tea", "milk"), ("tea", "beer"), ("milk", "beer")))
]
SMALL = [
    "parameters.m=3",
    "parameters.K=1",
    "grid.rule=[paper]",
    "grid.comparisons=[users]",
    "grid.L=[4,8]",
    "grid.scheme=[log]",
    "replications=4",
    "block=2",
    "cluster=synchronous",
    "figures=[]",
    "outputs=out",
]


def own(folder, name="mine (1).csv", rows=ROWS):
    path = folder / name
    path.write_text("user,winner,loser\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


def command(where, *words):
    done = command_in_a_fork([*words], where)
    assert "Traceback" not in done.stderr
    return done


def movielens(where, path, *words):
    return command(where, "experiment=xu/movielens", f"data.path={path}", *SMALL, *words)


def studies(where):
    return sorted(path.parent for path in where.glob("out/xu/*/replications"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    where = tmp_path_factory.mktemp("own data")
    done = movielens(where, own(where))
    assert done.returncode == 0, done.stderr
    return where, done


def test_the_report_says_which_data_without_their_folder(ran):
    where, done = ran
    assert "A file of 36 comparisons of 3 items by 12 users" in done.stdout
    line = next(line for line in done.stdout.splitlines() if "not tested  " in line)
    assert "16 claims: each is about MovieLens, and these are other data: give data.path=" in line
    for page in ("report.html", "report.yaml"):
        text = (studies(where)[0] / page).read_text("utf-8")
        assert "mine (1).csv" in text and str(where) not in text.replace("outputs", "")


def test_content_is_identity_and_place_is_not(ran, tmp_path):
    where, _ = ran
    moved = own(tmp_path, "other name.csv")
    done = movielens(where, moved)
    assert done.returncode == 0 and "nothing to do" in done.stdout and len(studies(where)) == 1
    moved.write_text(
        moved.read_text().replace("u1,tea", "u1,TEA").replace("u1,milk,tea", "u1,milk,TEA")
    )
    changed = own(tmp_path, "changed.csv", [(u, b, a) for u, a, b in ROWS])
    done = movielens(where, changed, "task=plan")
    assert done.returncode == 0 and "done          0;" in done.stdout


def test_the_identity_holds_the_hash(ran):
    root = json.loads((studies(ran[0])[0] / "replications" / "study.json").read_text())
    assert "sha256:" in json.dumps(root) and "mine (1)" not in json.dumps(root)


def test_a_suite_hands_the_file_to_those_that_take_it(ran):
    where, _ = ran
    path = next(where.glob("*.csv"))
    done = command(
        where,
        "task=plan",
        "experiments=[xu/lemmas,xu/movielens]",
        "size=quick",
        f"data.path={path}",
        "outputs=out",
    )
    assert (
        done.returncode == 2 and "error: parameters.m=40: there are 3 items" in done.stderr
    )  # it got there
    done = command(where, "task=plan", "suite=demo", f"data.path={path}", "outputs=out")
    assert done.returncode == 2 and "none of these studies takes such a file" in done.stderr


def test_a_list_of_products_takes_an_axis(tmp_path):
    done = command(
        tmp_path, "task=plan", "experiment=xu/scenario_5", "grid.L=[50,100]", "outputs=out"
    )
    assert done.returncode == 0 and "cells         32 = L[2] × m[2]" in done.stdout


@pytest.mark.parametrize(
    "path, says",
    [
        ("nowhere.csv", "cannot be read"),
        (".", "must be a file"),
        ("/dev/stdin", "must be a file"),
        ("a b [1], x=2.csv", "cannot be read"),
        ("it's.csv", "cannot be read"),
        ("~/nowhere.csv", "cannot be read"),
        ("~nobody-here/f.csv", "no such user"),
        ("x" * 300, "cannot be read"),
    ],
)
def test_bad_paths_are_one_line(path, says, tmp_path):
    done = movielens(tmp_path, path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())
    assert done.stderr.startswith(f"error: data.path={path[:40]}") and says in done.stderr
