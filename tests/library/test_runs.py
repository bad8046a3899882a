"""Studies from Python: the command's numbers, folders and messages."""

import doctest
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pipeline as pl
from pipeline.__main__ import main
from pipeline.identity import registry
from pipeline.library import requests
from tests.helpers import toy_paper
from tests.helpers.engine import ROOT, environment, study

WANTED = dict(grid={"m": [3, 4], "L": [20], "epsilon": [0.5, 1.0]}, replications=40, block=20)
WORDS = [
    "experiment=xu/lemmas",
    "size=quick",
    "grid.m=[3,4]",
    "grid.L=[20]",
    "grid.epsilon=[0.5,1.0]",
    "replications=40",
    "block=20",
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(**changes):
    options = dict(size="quick", cluster="synchronous", progress=False, **WANTED) | changes
    return pl.run("xu/lemmas", **options)


WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "pipeline").rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_run(module):
    with registry.registered(alone=True):
        failed, tried = doctest.testmod(importlib.import_module(module))
    assert not failed and tried


def test_every_name_has_an_example_or_is_a_type():
    for name in sorted(pl._NAMES):
        value = getattr(pl, name)
        assert value.__doc__ and (isinstance(value, type) or ">>>" in value.__doc__)
    assert set(pl._NAMES) <= set(dir(pl)) and pl.run is pl.run
    with pytest.raises(AttributeError, match="has no attribute 'rum'"):
        _ = pl.rum


def test_importing_loads_nothing():
    script = (
        "import sys; before = set(sys.modules); import pipeline as pl; print(sorted("
        "{name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "['pipeline']"


def test_the_command_finds_what_python_simulated(capsys):
    results = run()
    assert main([*WORDS, "cluster=synchronous", "figures=[]", "claims=false"]) == 0
    assert "nothing to do: all 8 units were done before" in capsys.readouterr().out
    assert pl.open_results("xu/lemmas").equals(results)


def test_python_finds_what_the_command_simulated(capsys):
    assert main([*WORDS, "cluster=synchronous", "figures=[]", "claims=false"]) == 0
    capsys.readouterr()
    results = run(progress=True)
    assert "nothing to do: all 8 units were done before" in capsys.readouterr().out
    assert results.sizes == {"m": 2, "L": 1, "epsilon": 2, "replication": 40}
    assert all(results[name].attrs["long_name"] for name in results.variables)


def test_quiet_is_quiet(capfd):
    run(progress=False)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_what_is_stored_says_how_to_repeat_it():
    run()
    (session,) = [
        json.loads(path.read_text()) for path in (Path("outputs")).glob("xu/*/sessions/*.json")
    ]
    assert session["command"].startswith(
        "pipeline experiment=xu/lemmas size=quick cluster=synchronous 'grid.m=[3,4]'"
    )


def test_in_memory_the_numbers_are_those_of_a_run():
    stored = run()
    simulated = pl.simulate("xu/lemmas", size="quick", **WANTED)
    assert simulated.equals(stored) and simulated.attrs["request"] == stored.attrs["request"]
    xr.testing.assert_identical(simulated["lean_true"], stored["lean_true"])
    assert not pl.simulate("xu/lemmas", size="quick", seed=1, **WANTED).equals(
        stored
    )  # the negative control


def test_a_grid_that_is_no_product(tmp_path):
    grid = [{"m": [3], "L": [20, 30], "epsilon": [1.0]}, {"m": [4], "L": [20], "epsilon": [1.0]}]
    results = run(grid=grid)
    assert (results["status"].isel(replication=0) == 1).sum() == 3
    assert requests.read("xu/lemmas", {"grid": grid}).studies[0].study.grid == pl.Grid.of(*grid)


def test_a_study_and_a_mapping_are_experiments():
    one = study(replications=20)
    results = pl.run(one, cluster="synchronous", progress=False)
    again = requests.read(one, {}).studies[0].study
    assert again == one and again.key == one.key and results.attrs["experiment"] == "laws/small"
    changes = {
        "replications": 40,
        "grid": {"m": np.array([3, 7])},
        "parameters": {"lambda_scale": 2},
    }
    more = requests.read(one, changes).studies[0].study
    assert (
        more.replications == 40
        and more.grid.axes["m"] == (3, 7)
        and more.grid.axes["L"] == (20, 50)
    )
    assert more.parameters["lambda_scale"] == 2.0 and more.key != one.key
    mapping = dict(
        name="own",
        problem="ranking",
        seed=1,
        replications=10,
        block=10,
        grid={"m": (3,)},
        parameters=dict(model="btl", L=10, mechanism="none", estimator="debiased"),
        metrics=["error_l2"],
    )
    assert pl.run(mapping, cluster="synchronous", progress=False).sizes["replication"] == 10


def test_axes_and_constants_can_be_removed_and_exchanged():
    changed = (
        requests.read(
            "xu/lemmas",
            {
                "grid": {"epsilon": None, "estimator": ["debiased", "plug_in"]},
                "parameters": {"epsilon": 1.0, "estimator": None},
            },
        )
        .studies[0]
        .study
    )
    assert (
        set(changed.grid.axes) == {"m", "L", "estimator"} and changed.parameters["epsilon"] == 1.0
    )


def test_what_is_judged_and_how_is_checked():
    results = pl.simulate("xu/lemmas", size="quick", **WANTED)
    for claims in (1, "abc", [1]):
        with pytest.raises(pl.InvalidInput, match="claims=.*must be a list of claims"):
            pl.judge(results, claims)
    with pytest.raises(pl.InvalidInput, match="confidence=null: must be a number > 0 and < 1"):
        pl.summarise(results, None)


def test_boundaries_of_results():
    results = pl.simulate(
        "xu/lemmas",
        grid={"m": [2], "L": [50, 100], "epsilon": [0.25, 0.5, 1, 2, 4]},
        replications=2000,
        block=2000,
    )
    found = pl.boundary(results, "epsilon", "error_debiased_squared", 1.0)
    assert found["value"].dims == ("m", "L") and found["crossings"].values.tolist() == [[1, 1]]
    assert ((found["low"] < found["value"]) & (found["value"] < found["high"])).all()
    assert (
        abs(found["value"].diff("L")) < 0.1
    ).all()  # the error of one answer does not depend on L
    never = pl.boundary(results, "epsilon", "error_debiased_squared", 1e4)
    assert (
        np.isnan(never["value"]).all()
        and "does not cross within epsilon" in never["says"].values[0, 0]
    )
    asked = results.assign_attrs(
        refine=json.dumps(
            {"along": "epsilon", "metric": "error_debiased_squared", "level": 1.0, "width": 0.05}
        )
    )
    assert pl.boundary(asked).equals(found)
    for arguments, message in [
        (("eps", "lean_true", 1.0), "along=eps: is no axis of this study; did you mean"),
        (("epsilon", "lean", 1.0), "metric=lean: is no metric of this study"),
        (("m", "lean_true", 0.1), "along=m: has one level for some curve"),
        (("epsilon", "lean_true"), "level=null: is needed"),
        (("epsilon", "lean_true", 0.1, 2), "confidence=2: must be a number > 0.5"),
    ]:
        with pytest.raises(pl.InvalidInput, match=message):
            pl.boundary(results, *arguments)


def test_reports_and_verdicts():
    results = run(grid={"m": [3], "L": [20], "epsilon": [1.0]}, replications=400, block=200)
    judged = {one.claim.id: one.check.verdict for one in pl.judge(results)}
    assert judged and all(id.startswith("xu.") for id in judged)
    page = pl.report(
        "xu/lemmas",
        size="quick",
        progress=False,
        grid={"m": [3], "L": [20], "epsilon": [1.0]},
        replications=400,
        block=200,
    )
    assert page.name == "report.html" and all(id in page.read_text() for id in judged)
    assert set(pl.judge(results, claims=[])) == set()


@pytest.mark.parametrize(
    "section, changes",
    [
        ({"parameters": 5}, {"parameters.L": 60}),
        ({"grid": [5]}, {"grid.m": [6]}),
        ({"grid": [5]}, {"grid": {"m": [6]}}),
    ],
)
def test_a_change_within_what_is_no_mapping_is_one_line(section, changes):
    own = {
        "name": "a/b",
        "problem": "ranking",
        "metrics": ["error_l2"],
        "seed": 1,
        "replications": 10,
        "block": 10,
    }
    with pytest.raises(pl.InvalidInput) as raised:
        pl.run(own | section, **changes)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(grid={"m": [1]}), ["grid.m=[1]"]),
        (dict(replications=-1), ["replications=-1"]),
        (dict(grid={"L": 5}), ["grid.L=5"]),
        (dict(size="quik"), ["size=quik"]),
        (dict(metrics=["error_l3"]), ["metrics=[error_l3]"]),
        (dict(parameters={"draw": "x"}), ["parameters.draw=x"]),
        ({"parameters.draw": "x"}, ["parameters.draw=x"]),
        ({"grid.m": [1]}, ["grid.m=[1]"]),  # the command's own keys
        ({"parameters.drow": 1}, ["+parameters.drow=1"]),
        ({"cluster.workers": 0}, ["cluster.workers=0"]),
        (dict(cluster="loca"), ["cluster=loca"]),
        (dict(outputs="~nobody7/x"), ["outputs=~nobody7/x"]),
        (dict(cluster={"kind": "local", "workers": 0}), ["cluster=local", "cluster.workers=0"]),
    ],
)
def test_errors_are_the_commands(changes, words, capsys, tmp_path):
    with pytest.raises(pl.InvalidInput) as raised:
        pl.run("xu/lemmas", **changes)
    assert main(["experiment=xu/lemmas", *words]) == 2
    assert capsys.readouterr().err == f"error: {raised.value}\n" and list(tmp_path.iterdir()) == []
    assert issubclass(pl.InvalidInput, pl.PipelineError) and issubclass(pl.InvalidInput, ValueError)


def cycle():
    """A mapping that holds itself."""
    one = {"problem": "ranking"}
    return one | {"grid": one.setdefault("grid", one)}


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: pl.run("xu/lemma"),
            "experiment=xu/lemma: no such experiment; did you mean 'xu/lemmas'",
        ),
        (lambda: pl.run(3), "experiment=int: must be the name of an experiment"),
        (lambda: pl.run("xu/lemmas", cluster=3), "cluster=3: must be the name of a cluster"),
        (lambda: pl.run("xu/lemmas", bloc=3), "bloc=3: no such key; did you mean 'block'"),
        (lambda: pl.open_results("xu/lemmas"), "no sealed results of that name in outputs"),
        (lambda: pl.summarise(xr.Dataset()), "must be results of a study"),
        (lambda: pl.judge(3), "must be results"),
        (lambda: pl.report("xu/lemmas", progress=False), "xu/lemmas is not begun; run it first"),
        (lambda: pl.run("survey.yaml"), "survey.yaml: cannot be read"),
        (
            lambda: pl.open_results(None),
            "results=NoneType: must be a path, or the name of an experiment",
        ),
        (lambda: pl.open_results("x" * 300), "no sealed results"),
        (lambda: pl.open_results("xu/lemmas", 1), "outputs=int: must be the path of a folder"),
        (lambda: pl.summarise([1]), "data=list: must be results of a study"),
        (
            lambda: pl.judge(xr.Dataset(attrs={"study": "[]"})),
            "data=Dataset: must be results of a study",
        ),
        (
            lambda: pl.register("ranking", metrics=[1]),
            r"metrics=\[1\]: must be a mapping of a name to each metric",
        ),
        (lambda: pl.register("ranking", claims=[1]), r"claims=\[1\]: must be a list of claims"),
        (lambda: pl.run(cycle()), "experiment=dict: holds itself"),
        (
            lambda: pl.export("nowhere", "a.csv"),
            r"data=nowhere: must be a dataset of xarray, such as from pl.open_results\('nowhere'\)",
        ),
        (lambda: pl.table({}), "data=dict: must be a dataset of xarray"),
    ],
)
def test_mistakes_are_one_line(call, message):
    with pytest.raises(pl.InvalidInput, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


def test_results_by_any_of_their_names(tmp_path):
    results = run()
    (folder,) = (tmp_path / "outputs/xu").iterdir()
    copy = shutil.copytree(folder / "results.zarr", tmp_path / "copy.zarr")
    for what in ("xu/lemmas", folder, folder / "results.zarr", copy):
        assert pl.open_results(what).equals(results)
    assert (pl.summarise(results)["n_ok"] == 40).all()
    with pytest.raises(pl.InvalidInput, match="confidence=2: must be"):
        pl.summarise(results, 2)
    run(seed=1)
    with pytest.raises(pl.InvalidInput, match="several times"):
        pl.open_results("xu/lemmas")
    (copy / "zarr.json").write_text("{}")
    with pytest.raises(pl.InvalidInput, match="is damaged"):
        pl.open_results(copy)


def test_a_client_is_used_and_stays_open(tmp_path):
    import distributed

    with distributed.LocalCluster(
        n_workers=1, processes=False, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as one:
        with distributed.Client(one) as client:
            results = run(cluster=client)
            (session,) = (
                json.loads(path.read_text())
                for path in tmp_path.glob("outputs/xu/*/sessions/*.json")
            )
            assert session["workers"] == 1 and client.submit(int, "7").result() == 7
            assert results.equals(pl.simulate("xu/lemmas", size="quick", **WANTED))
        with pytest.raises(pl.InvalidInput, match="must be a client that is open"):
            run(cluster=client)


def test_a_stopped_run_says_so(tmp_path):
    with pytest.raises(pl.Stopped, match="units to do, the rest is kept"):
        run(stop_after=1e-3, replications=20_000)
    assert issubclass(pl.Stopped, pl.PipelineError)


def test_failed_units_are_an_error_and_the_rest_is_kept():
    grid = {"n": [10], "share": [1.0], "estimator": ["mean", "raises"]}
    with registry.registered(toy_paper.PROBLEM, alone=True):
        with pytest.raises(pl.FailedUnits, match="8 of 16 units failed, .*planted; open_results"):
            pl.run(toy_paper.CONFIG | {"grid": grid}, cluster="synchronous", progress=False)
        results = pl.open_results("toy/mean")
        assert (results["status"].sel(estimator="mean") == 1).all() and issubclass(
            pl.toy.Mean, toy_paper.Mean
        )


def test_type_checkers_and_people_see_the_same_names():
    """The table of lazy names and the imports for type checkers name the same things in the same modules."""
    source = Path(pl.__file__).read_text()
    modules = {
        line.split(" as ")[1]: line.split()[1].removeprefix("pipeline.")
        for line in source.splitlines()
        if line.startswith("    from pipeline.") and " as " in line
    }
    assert modules == pl._NAMES
