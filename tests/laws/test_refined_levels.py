"""Law: the levels that a refinement adds are a function of the numbers, the same on every machine."""

import pytest
import xarray as xr

import pipeline as pl
from pipeline.__main__ import main
from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.execution.clusters import Local, Threads
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.storage import results
from pipeline.storage.replications import Store
from pipeline.storage.results import SEALED, SUMMARY
from pipeline.study.parameters import InvalidInput
from pipeline.study.refinement import LEVELS
from pipeline.workflow import run
from pipeline.workflow.config import read_experiment
from pipeline.workflow.events import NothingToDo
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.refinement import boundary_lines, continued
from pipeline.workflow.studies import StoredStudy
from tests.helpers.engine import contents, job_of, mapping, stored, without_report
from tests.helpers.servers.buckets import Objects, moto

ASKED = {"along": "epsilon", "metric": "error_l2", "level": 0.5, "width": 0.05, "most": 2}
GRID = {"m": [3, 5], "L": [20], "epsilon": [0.25, 1.0, 8.0], "estimator": ["debiased"]}


def refined(**changes):
    return read_experiment(
        mapping(**{"grid": GRID, "refine": ASKED, "metrics": ["error_l2"]} | changes)
    ).study


def complete(what, folder, cluster=None, told=None):
    """The study with all levels. told: a list that takes the events."""
    job = job_of([stored(what, folder)], cluster, outputs=str(folder))
    if told is not None:
        job = job.subscribed(told.append)
    (part,) = run.complete(job)
    return part.stored


def sealed(folder):
    return {part: contents(folder / part) for part in (SEALED, SUMMARY)}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    return complete(refined(), folder), folder


def test_rounds_end_with_a_crossing_for_every_curve(expected):
    one, folder = expected
    assert (
        len(refined().grid) + 2 * LEVELS
        < len(one.study.grid)
        <= len(refined().grid) + 2 * 2 * LEVELS
    )
    assert continued(stored(refined(), folder)).study == one.study  # from the sealed results alone
    lines = boundary_lines(one)
    assert [line.partition(": crosses at epsilon = ")[0] for line in lines] == [
        "error_l2 = 0.5 at m = 3",
        "error_l2 = 0.5 at m = 5",
    ]
    data = xr.open_zarr(folder / SEALED)
    assert '"along": "epsilon"' in data.attrs["refine"]
    assert int((data["status"] > 0).any("replication").sum()) == len(one.study.grid)


@pytest.mark.parametrize("how", ["processes", "interrupted", "sealed lost"])
def test_same_bytes_on_any_cluster_and_after_interruptions(how, expected, tmp_path, monkeypatch):
    if (
        how == "interrupted"
    ):  # with units of the second round done, then between its end and its sealing
        sealing = run.seal_results
        monkeypatch.setattr(
            run, "seal_results", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            complete(refined(), tmp_path)
        monkeypatch.setattr(run, "seal_results", sealing)
        complete(refined(refine=ASKED | {"most": 1}), tmp_path)
        one = continued(stored(refined(), tmp_path))
        units = [unit for unit, _ in Schedule(one.study, one.store.listing())]
        assert len(one.study.grid) > len(refined().grid) + LEVELS and units
        Runner(one.store)(units[::2])
    elif how == "sealed lost":
        complete(refined(), tmp_path)
        for part in (SEALED, SUMMARY):
            stored(refined(), tmp_path).store.backend.remove(part)
    complete(refined(), tmp_path, Local(workers=2) if how == "processes" else None)
    assert sealed(tmp_path) == sealed(expected[1])


def test_a_finished_study_simulates_nothing(expected):
    told = []
    before = {path: path.stat().st_mtime_ns for path in (expected[1] / SEALED).rglob("*")}
    assert complete(refined(), expected[1], told=told).study == expected[0].study
    assert any(isinstance(event, NothingToDo) for event in told)
    assert before == {path: path.stat().st_mtime_ns for path in (expected[1] / SEALED).rglob("*")}


TWO = {"refine": ASKED | {"second": "L", "width": 0.3}, "grid": GRID | {"m": [3], "L": [20, 80]}}


@pytest.fixture(scope="module")
def of_two_axes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    return complete(refined(**TWO), folder), folder


def test_levels_of_a_second_axis_are_added(of_two_axes):
    one, folder = of_two_axes
    items = one.study.grid.axes["L"]
    assert len(items) >= 2 + LEVELS and all(type(level) is int for level in items)
    *lines, last = boundary_lines(one)
    assert len(lines) == len(items) and all(": crosses at epsilon = " in line for line in lines)
    assert last.startswith("error_l2 = 0.5: the boundary ") and "L" in last
    found = pl.boundary(xr.open_zarr(folder / SEALED)).squeeze().sortby("L")
    assert found.sizes == {"L": len(items)} and (found["crossings"] == 1).all()
    assert found["low"][0] > found["high"][-1]  # more users need less ε
    assert continued(stored(refined(**TWO), folder)).study == one.study


@pytest.mark.parametrize("how", ["threads", "interrupted"])
def test_same_levels_of_both_axes_anywhere(how, of_two_axes, tmp_path):
    if how == "interrupted":  # one round less, then units of the next
        complete(refined(**TWO | {"refine": TWO["refine"] | {"most": 1}}), tmp_path)
        one = continued(stored(refined(**TWO), tmp_path))
        units = [unit for unit, _ in Schedule(one.study, one.store.listing())]
        Runner(one.store)(units[1::2])
    complete(refined(**TWO), tmp_path, Threads(workers=4) if how == "threads" else None)
    assert sealed(tmp_path) == sealed(of_two_axes[1])


TARGETED = {
    "precision": {"error_l2": {"relative": 0.1, "least": 40}},
    "replications": 400,
    "block": 20,
}


@pytest.fixture(scope="module")
def targeted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targeted")
    return complete(refined(**TARGETED), folder), folder


def test_new_levels_stop_at_their_targets_too(targeted):
    one, folder = targeted
    run = (xr.open_zarr(folder / SEALED)["status"].load() > 0).sum("replication")
    counted = [int(run.sel(labels)) for labels in one.study.grid]
    new = counted[len(refined().grid) :]
    assert len(new) > 2 * LEVELS and 40 <= min(new) < 400 and len({*new}) > 2
    assert all(": crosses at epsilon = " in line for line in boundary_lines(one))
    assert continued(stored(refined(**TARGETED), folder)).study == one.study
    wide = pl.boundary(xr.open_zarr(folder / SEALED))
    assert (
        wide["crossings"].values.tolist() == [[[1]], [[1]]] and (wide["low"] < wide["value"]).all()
    )


def test_same_levels_and_bytes_with_four_workers_and_targets(targeted, tmp_path):
    complete(refined(**TARGETED), tmp_path, Threads(workers=4))
    assert sealed(tmp_path) == sealed(targeted[1])


def test_same_levels_and_numbers_in_a_bucket(targeted, tmp_path, monkeypatch):
    with moto() as credentials:
        for name, value in credentials.items():
            monkeypatch.setenv(name, value)
        what, objects = refined(**TARGETED), Objects(credentials)
        there = StoredStudy(
            Experiment(what, Text()), Store(what, tmp_path, f"s3://{objects.name}/refined"), {}
        )
        (part,) = run.complete(job_of([there], outputs=str(tmp_path)))
        one = part.stored
        assert one.study == targeted[0].study and boundary_lines(one) == boundary_lines(targeted[0])
        for name in (SEALED, SUMMARY):
            here = results.load(targeted[0].store, name)
            xr.testing.assert_equal(results.load(one.store, name), here)


@pytest.mark.parametrize(
    "changes, message",
    [
        (3, "refine=3: must be a mapping such as {along"),
        (
            {"along": "epsilom"},
            "refine.along=epsilom: is no axis of this study; did you mean 'epsilon'",
        ),
        (
            {"along": "estimator"},
            "refine.along=estimator: has the level debiased; must be an axis of finite numbers",
        ),
        ({"along": "L"}, "grid.L=[20]: must have two levels at least"),
        ({"metric": "nope"}, "refine.metric=nope: is no metric of this study"),
        ({"level": "high"}, "refine.level='high': must be a number"),
        ({"level": -1}, "refine.level=-1.0: error_l2 lies between 0 and inf"),
        ({"width": 0}, "refine.width=0: must be a number > 0"),
        ({"width": None}, "refine.width=null: is needed"),
        ({"most": 0}, "refine.most=0: must be a whole number"),
        ({"least": 4}, "refine.least=4: must be at most most=2"),
        ({"steps": 4}, "refine.steps=4: no such key"),
        ({"second": "n"}, "refine.second=n: is no axis of this study"),
        (
            {"second": "epsilon"},
            "refine.second=epsilon: is the first axis, refine.along; must be another one",
        ),
        (
            {"second": "estimator"},
            "refine.second=estimator: has the level debiased; must be an axis of finite numbers",
        ),
        ({"second": "L"}, "grid.L=[20]: must have two levels at least"),
    ],
)
def test_bad_input_is_one_line(changes, message):
    with pytest.raises(InvalidInput) as error:
        refined(refine=changes if changes == 3 else ASKED | changes)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_levels_that_share_their_data_are_refused():
    with pytest.raises(InvalidInput, match="refine.along=epsilon: is paired"):
        refined(paired=["estimator", "epsilon"])
    with pytest.raises(InvalidInput, match="refine.second=m: is paired"):
        refined(paired=["estimator", "m"], refine=ASKED | {"second": "m"})


def test_the_command(tmp_path, capsys, monkeypatch):
    without_report(monkeypatch)
    words = [
        "experiment=xu/lemmas",
        "claims=false",
        "figures=[]",
        "cluster=synchronous",
        "grid.m=[3]",
        "grid.L=[20]",
        "grid.epsilon=[0.5,4]",
        "replications=100",
        "block=50",
        f"outputs={tmp_path}",
        "refine.along=epsilon",
        "refine.metric=lean_true",
        "refine.level=0.9",
        "refine.width=0.1",
        "refine.most=2",
    ]
    assert (
        main([*words, "task=submit"]) == 2
        and "cannot be combined with refine" in capsys.readouterr().err
    )
    assert main([*words, "shard=1/2"]) == 2
    assert "shard=1/2: cannot be combined with refine" in capsys.readouterr().err and not any(
        tmp_path.iterdir()
    )
    assert main(words) == EXIT_DONE
    assert (
        "lean_true = 0.9: does not cross within epsilon: the mean stays below"
        in capsys.readouterr().out
    )
    assert (
        main([*words, "task=status"]) == EXIT_DONE
        and "14 of 14 units done" in capsys.readouterr().out
    )
    assert main([*words, "task=plan"]) == EXIT_DONE
    assert (
        "refine        lean_true = 0.9 along epsilon, to 0.1 at confidence 0.95"
        in capsys.readouterr().out
    )


def test_a_limit_of_time_is_that_of_all_rounds_together(monkeypatch):
    """Three rounds of 30 seconds each."""
    clock, given, rounds = [0.0], [], iter(["round 2", "round 3", None])

    def simulate(job):
        given.append(job.settings.stop_after)
        clock[0] += 30
        return []

    monkeypatch.setattr(run.time, "monotonic", lambda: clock[0])
    for name, fake in {
        "simulate": simulate,
        "grows": lambda stored: True,
        "seal_results": lambda *_: None,
        "continued": lambda stored, judged: stored,
        "what_follows": lambda *_: next(rounds),
    }.items():
        monkeypatch.setattr(run, name, fake)
    run.complete(job_of(["study"], stop_after=100.0))
    assert given == pytest.approx([100, 70, 40])
