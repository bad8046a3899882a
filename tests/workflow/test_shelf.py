"""Finished studies looked after: listed, compared, removed."""

import fcntl
import os
import re

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.__main__ import main
from pipeline.workflow import compare
from pipeline.workflow.report_record import _digest_line as digest_line

SMALL = [
    "experiment=xu/lemmas",
    "figures=[]",
    "cluster=synchronous",
    "grid.m=[3]",
    "grid.L=[20,30]",
    "grid.epsilon=[0.5,1]",
    "block=20",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Three studies: `a`; `b`, other estimates of the same seed, fewer; `c`, of another seed and one level less."""
    where = tmp_path_factory.mktemp("outputs")
    for name, words in {
        "a": ["replications=60"],
        "b": ["replications=40", "+parameters.lambda_scale=4"],
        "c": ["replications=60", "seed=5", "grid.L=[30]"],
    }.items():
        assert main([*SMALL, f"name=s/{name}", "claims=false", f"outputs={where}", *words]) == 0
    return where


@pytest.fixture
def names(outputs):
    return {path.name[0]: f"s/{path.name}" for path in (outputs / "s").iterdir()}


def test_the_list_names_all_with_size_and_verdicts(outputs, names, capsys):
    folder = outputs / "suite-x"
    folder.mkdir(exist_ok=True)
    (folder / "report.html").write_text("<title>All &amp; more</title>")
    root = outputs / names["a"] / "results.zarr" / "zarr.json"
    (outputs / "foreign").mkdir(exist_ok=True)
    (outputs / "foreign" / "report.yaml").write_text("of somebody else")
    (outputs / names["b"] / "gone").symlink_to("nowhere")
    (folder / "verdicts.csv").write_text(
        "section,verdict\ns/a,supported\ns/b,supported\ns/c,contradicted\n"
    )
    (folder / "figures").mkdir(exist_ok=True)
    (folder / "figures" / "s-a-1-curves.svg").touch()
    wanted = f"# of results {root.stat().st_mtime_ns}\n"
    (folder / "report.yaml").write_text(wanted + digest_line(wanted, folder / "report.html", []))
    assert main(["task=list", f"outputs={outputs}"]) == 0
    out = capsys.readouterr().out
    for name, rest in {
        "a": "60 replications  1 supported",
        "b": "40 replications",
        "c": "60 replications",
    }.items():
        words = rf"^{names[name]} +sealed +20\d\d-\d\d-\d\d \d\d:\d\d +[\d.]+ [kM]iB +{rest}$"
        assert re.search(words, out, re.M), out
    assert re.search(r"^suite-x +suite +\d+ B +2 supported, 1 contradicted$", out, re.M)
    page = (outputs / "index.html").read_text()
    assert all(f'href="{name}/report.html"' in page for name in (*names.values(), "suite-x"))
    assert (
        page.count("<img") == page.count('src="suite-x/figures/s-a-1-curves.svg"') == 2
    )  # of the suite, and of `a`
    assert "All &amp; more</a>" in page and "foreign" not in out + page
    assert "✓ 2 supported" in page and "<script" not in page and str(outputs) not in page


def test_a_report_that_was_changed_has_no_verdicts(outputs, names, capsys):
    """Also a word that no verdict is, which has no symbol on the page."""
    folder = outputs / names["a"]
    table, record = folder / "verdicts.csv", (folder / "report.yaml").read_text()
    table.write_text("section,verdict\ns/a,certain\n")
    assert main(["task=list", f"outputs={outputs}"]) == 0
    out, page = capsys.readouterr().out, (outputs / "index.html").read_text()
    assert out.count("files of its report were changed; task=report writes them again") == 1
    assert "certain" not in out + page and "files of its report were changed" in page
    wanted = record[: record.index("# of files")]
    (folder / "report.yaml").write_text(wanted + digest_line(wanted, folder / "report.html", []))
    assert main(["task=list", f"outputs={outputs}"]) == 0  # of a version with other verdicts
    assert (
        "1 certain" in capsys.readouterr().out
        and "· 1 certain" in (outputs / "index.html").read_text()
    )
    table.unlink()
    (folder / "report.yaml").write_text(record)


def test_an_empty_folder_has_no_study(tmp_path, capsys):
    assert main(["task=list", f"outputs={tmp_path / 'none'}"]) == 0
    assert (
        capsys.readouterr().out == f"no study in {tmp_path / 'none'}\n"
        and not (tmp_path / "none").exists()
    )


def test_a_page_of_somebody_else_is_left_alone(outputs, capsys):
    page = outputs / "index.html"
    page.write_text("<title>Finished studies</title> of a person's own")
    assert main(["task=list", f"outputs={outputs}"]) == 0
    out = capsys.readouterr().out
    assert (
        page.read_text().endswith("own")
        and out.splitlines()[-1].startswith("page: not written")
        and "sealed" in out
    )
    page.unlink()
    for _ in range(2):  # then over its own
        assert main(["task=list", f"outputs={outputs}"]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == f"page: {page}"


def test_differences_are_those_of_the_replications(outputs, names, capsys):
    """Paired where the seed is the same: against scipy, cell by cell; both halves of the study see that a ≠ b."""
    assert main(["task=compare", f"studies={names['a']},{names['b']}", f"outputs={outputs}"]) == 0
    out = capsys.readouterr().out
    assert "4 cells in common" in out and "paired replication by replication" in out
    one, other = (xr.open_zarr(outputs / names[k] / "results.zarr").load() for k in "ab")
    found = compare.difference(one, other, "lean_released", paired=True)
    for m, L, epsilon in ((3, 20, 0.5), (3, 30, 1.0)):
        at = dict(m=m, L=L, epsilon=epsilon)
        first, second = (data["lean_released"].sel(at).values.ravel()[:40] for data in (one, other))
        assert (first == second).all()  # the same data, since only the estimator differs
        assert found["mean"].sel(at).item() == 0
    unlike = other.assign(lean_released=other["lean_released"] + np.linspace(0, 0.1, 40))
    found = compare.difference(one, unlike, "lean_released", paired=True)
    first, second = (data["lean_released"].sel(at).values.ravel()[:40] for data in (one, unlike))
    interval = stats.ttest_rel(first, second).confidence_interval(1 - 0.05 / 4)
    assert found["mean"].sel(at).item() == pytest.approx((first - second).mean())
    assert [found[end].sel(at).item() for end in ("low", "high")] == pytest.approx(
        [interval.low, interval.high]
    )


def test_without_a_common_seed_intervals_are_wider(outputs, names, capsys):
    assert main(["task=compare", f"studies={names['a']},{names['c']}", f"outputs={outputs}"]) == 0
    out = capsys.readouterr().out
    assert "2 cells in common; 1 level of L in one of them only" in out and "not paired" in out
    one, other = (
        xr.open_zarr(outputs / names[k] / "results.zarr").load().sel(L=[30]) for k in "ac"
    )
    found = compare.difference(one, other, "lean_released", paired=False)
    at = dict(m=3, L=30, epsilon=0.5)
    first, second = (data["lean_released"].sel(at).values.ravel() for data in (one, other))
    half = stats.t.ppf(1 - 0.05 / 4, 59) * np.hypot(first.std(ddof=1), second.std(ddof=1)) / 60**0.5
    assert found["high"].sel(at).item() - found["mean"].sel(at).item() == pytest.approx(half)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["task=compare"], "task=compare needs 2 names of studies"),
        (["task=compare", "studies=a"], "needs 2 names of studies"),
        (["task=compare", "studies=s/x,s/x"], "needs 2 names of studies"),
        (["task=compare", "studies=s/x,s/y"], "no such study"),
        (["task=remove"], "needs names of studies"),
        (["task=remove", "studies=../.."], "no such study"),
        (["sure=true"], "goes with task=remove only"),
        (["studies=a"], "goes with task=compare or remove only"),
    ],
)
def test_mistakes_are_one_line(outputs, capsys, words, message):
    assert main([*words, f"outputs={outputs}"]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1


def test_studies_are_removed_only_for_sure_and_never_while_simulated(outputs, names, capsys):
    asked = ["task=remove", f"studies={names['c']}", f"outputs={outputs}"]
    assert main(asked) == 0 and (outputs / names["c"] / "results.zarr").exists()
    assert "would remove" in capsys.readouterr().out
    with open(outputs / names["c"] / ".sweeps", "a+") as sweep:
        fcntl.flock(sweep, fcntl.LOCK_SH)
        assert main([*asked, "sure=true"]) == 2 and (outputs / names["c"] / "results.zarr").exists()
        assert "is being simulated" in capsys.readouterr().err
    assert main([*asked, "sure=true"]) == 0 and not (outputs / names["c"]).exists()
    assert (outputs / names["a"]).exists()
    assert main(["task=list", f"outputs={outputs}"]) == 0 and (outputs / "index.html").exists()
    left = ",".join(
        name for name in (names["a"], names["b"], "suite-x") if (outputs / name).exists()
    )
    assert main(["task=remove", f"studies={left}", f"outputs={outputs}", "sure=true"]) == 0
    assert not (outputs / "index.html").exists()  # which would show what is gone


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["verdicts.csv", "report.yaml", "report.html", "sessions/x.json"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(name, tmp_path, capsys):
    """Nobody writes to it: whoever opens it to read would wait for ever."""
    assert main([*SMALL, "name=s/a", "claims=false", "replications=20", f"outputs={tmp_path}"]) == 0
    (folder,) = (tmp_path / "s").iterdir()
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert main(["task=list", f"outputs={tmp_path}"]) == 0
    assert (
        main(
            [
                *SMALL,
                "name=s/a",
                "claims=false",
                "replications=20",
                f"outputs={tmp_path}",
                "task=status",
            ]
        )
        == 0
    )
    assert "s/a" in capsys.readouterr().out


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_data_is_one_line(tmp_path, capsys):
    os.mkfifo(tmp_path / "data.csv")
    assert main(["experiment=own/ranking", f"data.path={tmp_path / 'data.csv'}", "task=plan"]) == 2
    error = capsys.readouterr().err
    assert "must be a file, not a folder or a pipe" in error and error.count("\n") == 1
