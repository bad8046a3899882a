"""A study of two plain functions is an ordinary study: simulated, resumed, judged, reported."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.__main__ import main
from pipeline.identity.registry import registered
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import ROOT

GRID = {"n": [5, 20], "shift": [0.0, 1.0]}
FILE = """
import pipeline as pl

def two_groups(rng, n, shift):
    return rng.standard_normal(n), shift + rng.standard_normal(n)

def difference(data):
    first, second = data
    return {"difference": second.mean() - first.mean(), "positive": second.mean() > first.mean()}

pl.study(two_groups, difference, grid={"n": [5, 20], "shift": [0.0, 1.0]}, name="groups",
         measures={"difference": "difference of the means",
                   "positive": {"long_name": "second is larger", "least": 0.0, "most": 1.0}},
         replications=40, block=20)
"""


def two_groups(rng, n, shift=0.0):
    return rng.standard_normal(n), shift + rng.standard_normal(n)


def t_test(data, alpha=0.05):
    return {"rejects": stats.ttest_ind(*data).pvalue < alpha}


def both_groups_of_all(rng, reps, n, shift):
    return rng.standard_normal((reps, n)), shift + rng.standard_normal((reps, n))


def all_differences(data):
    first, second = data
    return {"difference": second.mean(axis=1) - first.mean(axis=1)}


@pytest.fixture(autouse=True)
def forgotten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with registered():
        yield


def test_a_t_test_rejects_as_often_as_it_must():
    """Under no difference with probability 0.05 exactly: 2,000 tests, within 5 standard errors."""
    study = pl.study(two_groups, t_test, grid={"n": [5]}, measures=["rejects"], replications=2000)
    share = pl.simulate(study)["rejects"].mean().item()
    other = pl.study(
        two_groups,
        t_test,
        grid={"n": [5]},
        measures=["rejects"],
        replications=2000,
        parameters={"shift": 0.5},
    )
    wrong = pl.simulate(other)["rejects"].mean().item()
    bound = 5 * np.sqrt(0.05 * 0.95 / 2000)
    print(f"n=2000, share {share:.4f}, bound 0.05 ± {bound:.4f}, control {wrong:.4f}")
    assert abs(share - 0.05) < bound < abs(wrong - 0.05)


def test_vectorised_functions_give_all_replications_at_once():
    study = pl.study(
        both_groups_of_all, all_differences, grid=GRID, measures=["difference"], replications=20
    )
    results = pl.simulate(study)["difference"]
    assert results.sizes == {"n": 2, "shift": 2, "replication": 20}
    assert abs(results.sel(shift=1.0).mean() - 1) < 1 > abs(results.sel(shift=0.0).mean())


def test_arguments_of_both_functions_are_parameters_with_their_defaults():
    study = pl.study(
        two_groups,
        t_test,
        grid={"n": [5], "alpha": [0.0, 1.0]},
        measures=["rejects"],
        replications=9,
    )
    assert pl.simulate(study)["rejects"].mean("replication").values.tolist() == [[0.0, 1.0]]


def test_no_result_is_counted_as_not_converged():
    def sometimes(data):
        return None if data[0].mean() > 0 else {"difference": data[1].mean()}

    study = pl.study(
        two_groups, sometimes, grid={"n": [5]}, measures=["difference"], replications=50
    )
    results = pl.simulate(study)
    lost = np.isnan(results["difference"])
    assert 5 < lost.sum() < 45 and set(results["status"].values.ravel().tolist()) == {1, 2}


def test_it_is_stored_resumed_and_reported_like_any_other(tmp_path):
    study = pl.study(
        two_groups, t_test, grid={"n": [5]}, measures=["rejects"], replications=20, block=10
    )
    options = dict(cluster="synchronous", progress=False)
    with pytest.raises(pl.Stopped):
        pl.run(study, stop_after=1e-9, **options)
    results = pl.run(study, **options)
    assert results.identical(pl.run(study, **options)) and results.sizes["replication"] == 20
    assert pl.report(study, **options).exists()
    results.to_netcdf(tmp_path / "results.nc")
    pl.summarise(results).to_netcdf(tmp_path / "summary.nc")
    opened = pl.open_results(study.name)
    opened.to_netcdf(tmp_path / "opened.nc")
    assert opened.identical(results)


def test_a_file_is_an_experiment_whose_levels_words_change(tmp_path, capsys):
    (tmp_path / "groups.py").write_text(FILE)
    words = ["experiment=groups.py", "cluster=synchronous", "grid.n=[5]", "figures=[]"]
    assert main(words) == 0
    results = pl.open_results("groups")
    assert results["difference"].sizes == {"n": 1, "shift": 2, "replication": 40}
    assert results["difference"].attrs["long_name"] == "difference of the means"
    assert main([*words, "grid.n=[5,20]"]) == 0
    assert "2 units to do, 2 done before" not in capsys.readouterr().err
    assert pl.open_results("groups").sizes["n"] == 2


MISTAKES = [
    ({"grid": {"n": [5], "m": [1]}}, "grid.m"),
    ({"grid": {"shift": [1.0]}}, "grid.n"),
    ({"measures": []}, "measures"),
    ({"measures": {"rejects": {"name": "x"}}}, "measures.rejects.name"),
    ({"generate": lambda n: n}, "generate"),
    ({"generate": lambda rng, **rest: rng}, "generate"),
    ({"name": "a b"}, "name"),
    ({"measures": {"rejects": 3}}, "measures.rejects"),
    ({"replication": 10}, "replication"),
    ({"replications": "ten"}, "replications"),
    ({"replications": 0}, "replications"),
    ({"grid": {"n": 3}}, "grid.n"),
]


@pytest.mark.parametrize(("changes", "key"), MISTAKES)
def test_mistakes_name_the_argument(changes, key):
    arguments = {
        "generate": two_groups,
        "analyse": t_test,
        "grid": {"n": [5]},
        "measures": ["rejects"],
        **changes,
    }
    with pytest.raises(InvalidInput) as error:
        pl.study(arguments.pop("generate"), arguments.pop("analyse"), **arguments)
    assert error.value.key == key


def test_a_measure_that_is_not_given_is_named():
    study = pl.study(two_groups, t_test, grid={"n": [5]}, measures=["power"], replications=2)
    with pytest.raises(InvalidInput, match="must give a mapping with power"):
        pl.simulate(study)


def test_no_name_of_a_shipped_problem_is_taken():
    with pytest.raises(InvalidInput, match="ranking"):
        pl.study(two_groups, t_test, grid={"n": [5]}, measures=["rejects"], name="ranking")


@pytest.mark.parametrize("levels", [range(3, 5), np.array([3, 4]), [np.int64(3), 4]])
def test_levels_may_be_a_range_or_an_array(levels):
    study = pl.study(two_groups, t_test, grid={"n": levels}, measures=["rejects"], replications=4)
    assert pl.simulate(study)["n"].values.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("replications", "block"),
    [(1, 1), (40, 40), (5000, 1000), (1e3, 1000), (2003, 2003), (1_000_003, 1)],
)
def test_a_unit_has_many_replications_also_where_their_number_is_prime(replications, block):
    study = pl.study(
        two_groups, t_test, grid={"n": [3]}, measures=["rejects"], replications=replications
    )
    assert study.block == block


@pytest.mark.parametrize(
    ("generate", "result"),
    [(two_groups, np.zeros(3)), (two_groups, "much"), (both_groups_of_all, ["a"] * 4)],
)
def test_what_is_no_number_is_refused_by_the_name_of_its_measure(generate, result):
    levels = {"n": [3], "shift": [0.0]}
    study = pl.study(
        generate,
        lambda data: {"rejects": result},
        grid=levels,
        measures=["rejects"],
        replications=4,
    )
    with pytest.raises(InvalidInput, match=r"^analyse\.rejects=.*: must be"):
        pl.simulate(study)


@pytest.mark.parametrize("page, lines", [("t_test", 3), ("agents", 3)])
def test_the_pages_of_the_gallery_on_plain_functions_run(page, lines, capsys, monkeypatch):
    """Each with few replications; the numbers have their intervals."""
    text = (ROOT / f"docs/gallery/studies/{page}.py").read_text()
    few = re.sub(r"replications=\d+", "replications=4", text)
    few = re.sub(r'"people": \[.*?\]', '"people": [5, 10]', few)
    few = re.sub(r'"steps": \[.*?\]', '"steps": [0, 2]', few)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    exec(compile(few, page, "exec"), {"__name__": "__main__"})
    plt.close("all")
    said = capsys.readouterr().out.splitlines()
    assert shown and len(said) <= lines and re.search(r"\[|±", said[-1])
