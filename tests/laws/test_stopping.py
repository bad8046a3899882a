"""Law: where targets of precision stop a study is a function of its numbers, the same on every machine."""

import os
import random
import shutil
import threading

import numpy as np
import pytest
import xarray as xr

import pipeline as pl
from pipeline.__main__ import main
from pipeline.analysis.precision import Prefix, Rule
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_MORE_TO_DO
from pipeline.execution import sweep
from pipeline.execution.clusters import Executor, Local, Synchronous, Threads
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.storage.replications import Store
from pipeline.storage.results import SEALED, SUMMARY
from pipeline.study.pairing import Pairing
from pipeline.workflow import precision, reduce
from pipeline.workflow.simulate import simulate
from tests.helpers.engine import contents, job_of, mapping, stored, study, without_report

TARGETS = {
    "error_l2": {"relative": 0.1, "least": 40},
    "kendall across estimator": {"absolute": 0.12, "least": 40},
    "error_l2 / sandwich_risk": {"relative": 0.25, "power": 2, "least": 40},
}
RAGGED = [
    {"m": [3, 5], "L": [50], "epsilon": [0.5, 2.0], "estimator": ["debiased", "plug_in"]},
    {"m": [4], "L": [20], "epsilon": [2.0], "estimator": ["debiased"]},
]


def targeted(**changes):
    return study(
        **{"grid": RAGGED, "replications": 400, "block": 20, "precision": TARGETS} | changes
    )


def finish(what, folder, executor=None, order=None, stops=()):
    """Bytes of the sealed datasets after sweeping until the targets are met. stops: bundles after which to stop."""
    executor, one = executor or Executor(), stored(what, folder)
    one.store.begin()
    for after in (*stops, None):
        listing = one.store.listing()
        needed = precision.needed_blocks(one.store, listing, Synchronous())
        schedule, stop, seen = Schedule(what, listing, needed=needed), threading.Event(), []

        def on_done(flags, bundle, workers, needed=needed, stop=stop, seen=seen, after=after):
            needed.learn(bundle.units)
            seen.append(bundle)
            if len(seen) == after:
                stop.set()

        units = order(list(schedule)) if order else iter(schedule)
        sweep.run(
            executor,
            Runner(one.store, schedule.references),
            units,
            on_done=on_done,
            stop=stop,
            bundling=sweep.Bundling(seconds=0.02),
        )
    reduce.seal(one, executor)
    parts = {part: contents(folder / part) for part in (SEALED, SUMMARY)}
    return {
        f"{part}/{name}": content
        for part, files in parts.items()
        for name, content in files.items()
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    return finish(targeted(), folder), folder


def shuffled(units):
    random.Random(3).shuffle(units)
    return units


@pytest.mark.parametrize(
    "cluster", [Local(workers=2), Threads(workers=3)], ids=["processes", "threads"]
)
def test_same_bytes_on_any_cluster(cluster, tmp_path, expected):
    with cluster.open() as executor:
        assert finish(targeted(), tmp_path, executor) == expected[0]


@pytest.mark.parametrize("how", ["backwards", "shuffled", "stopped", "all"])
def test_same_bytes_in_any_order_with_surplus_and_after_stops(how, tmp_path, expected):
    order = {"backwards": lambda units: units[::-1], "shuffled": shuffled}.get(how)
    if how == "all":  # every unit is there before anybody looks
        everything = study(grid=RAGGED, replications=400, block=20)
        store = Store(everything, tmp_path)
        store.begin()
        Runner(store)([unit for unit, _ in Schedule(everything, store.listing())])
    assert (
        finish(targeted(), tmp_path, order=order, stops=(3, 1, 5) if how == "stopped" else ())
        == expected[0]
    )


def test_what_counts_is_the_prefix_that_met_its_targets(expected):
    folder = expected[1]
    results, what = xr.open_zarr(folder / SEALED).load(), targeted()
    rule, pairing = Rule(what), Pairing(what)
    run = results["status"] > 0
    n = run.sum("replication")
    assert (run.values == (np.arange(400) < n.values[..., None])).all()  # a prefix, no holes
    assert 40 <= n.where(n > 0).min() < 400 and len(np.unique(n.values)) > 3
    assert (n.sel(m=4, L=50) == 0).all() and n.sel(m=4, L=20, epsilon=2.0, estimator="debiased") > 0
    assert (n.sel(m=5, L=50, estimator="debiased") == n.sel(m=5, L=50, estimator="plug_in")).all()
    groups, excess = {}, {}
    for number, labels in enumerate(what.grid):
        groups.setdefault(int(pairing.of_cell[number]), []).append(labels)
    for group, cells in groups.items():
        prefix = Prefix(rule, pairing.present(group))
        levels = list(what.grid.axes["estimator"])
        while prefix.counted is None:  # from the study itself, without any storage
            values = np.full((len(rule.columns), len(levels), 20), np.nan)
            status = np.zeros((len(levels), 20), np.int8)
            for labels in cells:
                numbers, at = (
                    what.simulate(labels, prefix.blocks),
                    levels.index(labels["estimator"]),
                )
                values[:, at] = [numbers[what.metrics[column]] for column in rule.columns]
                status[at] = numbers["status"]
            prefix.add(values, status)
        assert all(int(n.sel(labels)) == 20 * prefix.counted for labels in cells)
        excess[tuple(cells[0][axis] for axis in ("m", "L", "epsilon"))] = prefix.excess
    met = results.attrs["groups_on_target"]
    assert results.attrs["groups"] == len(groups) == 5 and 0 < met <= 5
    above = results.attrs["above_target"]
    assert [
        (*(one[axis] for axis in ("m", "L", "epsilon")), times) for one, times in above
    ] == sorted(
        ((*key, times) for key, times in excess.items() if times > 1), key=lambda line: -line[-1]
    )
    assert (
        met == 5 - len(above)
        and results.attrs["precision"][0] == "error_l2 ± 10 % at confidence 0.95"
    )


def test_small_shards_change_nothing(tmp_path, expected, monkeypatch):
    shutil.copytree(expected[1], tmp_path / "copy")
    one = stored(targeted(), tmp_path / "copy")
    before = xr.open_zarr(expected[1] / SEALED).load()
    one.store.backend.remove(SEALED)
    monkeypatch.setattr(
        "pipeline.storage.layout.SHARD_BYTES", 8 * 4 * 2 * 60
    )  # some 60 replications of a group
    reduce.seal(one, Executor())
    again = xr.open_zarr(tmp_path / "copy" / SEALED).load()
    xr.testing.assert_identical(before.drop_attrs(), again.drop_attrs())
    assert [*again.attrs["above_target"]] == [*before.attrs["above_target"]]


def command(where, *words):
    return main(
        [
            "experiment=xu/lemmas",
            "claims=false",
            "figures=[]",
            "cluster=synchronous",
            "grid.m=[3,4]",
            "grid.L=[20]",
            "grid.epsilon=[0.5,1]",
            "replications=4000",
            "block=20",
            f"outputs={where}",
            *words,
        ]
    )


def test_the_command(tmp_path, capsys, monkeypatch):
    without_report(monkeypatch)
    wide, narrow = "precision.lean_true.absolute=0.008", "precision={lean_true: {absolute: 0.004}}"
    assert command(tmp_path, wide, "task=plan") == EXIT_DONE
    assert (
        "precision     lean_true ± 0.008 at confidence 0.95; 4,000 replications at most"
        in capsys.readouterr().out
    )
    assert command(tmp_path, wide) == EXIT_DONE
    assert "as many more as the targets of precision need" in capsys.readouterr().out
    assert command(tmp_path, wide) == EXIT_DONE and "nothing to do: all " in capsys.readouterr().out
    assert command(tmp_path, wide, "task=status") == EXIT_DONE
    first = capsys.readouterr().out
    assert "of at most 800 units done" in first and "sealed" in first
    assert (
        "target: lean_true ± 0.008 at confidence 0.95" in first
        and "4 of 4 groups of cells on target\n" in first
    )
    assert command(tmp_path, wide, "task=verify") == EXIT_DONE
    files = set(tmp_path.rglob("replications/units/*/*"))
    assert command(tmp_path, narrow, "task=status") == EXIT_MORE_TO_DO
    assert command(tmp_path, narrow) == EXIT_DONE  # what is there is kept, and counts
    assert files < set(tmp_path.rglob("replications/units/*/*"))
    found = pl.open_results(next((tmp_path / "xu").iterdir()))
    n = (found["status"] > 0).sum("replication")
    width = found["lean_true"].where(found["status"] > 0).std("replication", ddof=1) / n**0.5
    assert ((1.97 * width < 0.0041) | (n == 4000)).all() and n.min() < 4000


def test_damage_is_one_line_and_mended(tmp_path, capsys, monkeypatch):
    without_report(monkeypatch)
    wide, narrow = "precision.lean_true.absolute=0.008", "precision.lean_true.absolute=0.006"
    assert command(tmp_path, wide) == EXIT_DONE
    capsys.readouterr()
    for pattern in ("replications/units/0/*", "summary.zarr/status/c/**/0"):
        path = next(path for path in sorted(tmp_path.rglob(pattern)) if path.is_file())
        content = path.read_bytes()
        path.write_bytes(content[:-9] + bytes(9))
        assert command(tmp_path, narrow) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1 and "repair=true" in error
        assert command(tmp_path, narrow, "task=verify", "repair=true") == EXIT_DONE
        assert command(tmp_path, narrow) == EXIT_DONE
        capsys.readouterr()


@pytest.mark.parametrize(
    "said", ['"groups_on_target": 7', '"groups_on_target": "x"', '"groups_on_nothing": 4']
)
def test_a_changed_root_document_says_nothing(said, tmp_path, capsys, monkeypatch):
    """Bits change without the time of the file; results are then not sealed, and sealed again."""
    without_report(monkeypatch)
    wide = "precision.lean_true.absolute=0.05"
    assert command(tmp_path, wide) == EXIT_DONE
    root = next(tmp_path.rglob("results.zarr")) / "zarr.json"
    content, times = root.read_text(), (root.stat().st_atime_ns, root.stat().st_mtime_ns)
    root.write_text(content.replace('"groups_on_target": 4', said))
    os.utime(root, ns=times)
    capsys.readouterr()
    command(tmp_path, wide, "task=status")
    text = capsys.readouterr().out
    assert "not sealed" in text and "on target" not in text
    assert (
        command(tmp_path, wide) == EXIT_DONE
        and "4 of 4 groups of cells on target" in capsys.readouterr().out
    )
    assert root.read_text() == content


@pytest.mark.parametrize(
    "words, message",
    [
        ("precision=3", "precision=3: must be a mapping"),
        ("precision.nope.relative=0.1", "precision=nope: is no metric of this study"),
        (
            "precision.lean_true.relatively=0.1",
            "precision.lean_true.relatively=0.1: no such key; did you mean 'relative'",
        ),
        ("precision.lean_true.relative=2", "precision.lean_true.relative=2: must be a number"),
        ("precision.lean_true.confidence=0.9", "give either relative or absolute"),
        (
            "precision={lean_true: 3}",
            "precision.lean_true=3: must be a mapping such as {relative: 0.01}",
        ),
        (
            "precision={lean_true: {relative: 0.1, absolute: 0.1}}",
            "give either relative or absolute",
        ),
        ("precision={lean_true across m: {absolute: 0.1}}", "is no paired axis of this study"),
        (
            "precision={lean_true over m: {absolute: 0.1}}",
            "must be METRIC, METRIC / METRIC or METRIC across AXIS",
        ),
        (
            "precision={lean_true: {absolute: 0.1, power: 2}}",
            "precision.lean_true.power=2.0: is for a ratio only",
        ),
        ("precision={lean_true / nope: {absolute: 0.1}}", "precision=nope: is no metric"),
    ],
)
def test_bad_targets_are_one_line(words, message, tmp_path, capsys):
    assert command(tmp_path, words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not any(tmp_path.iterdir())


def test_shards_take_whole_groups_and_meet_the_same_targets(tmp_path, expected, monkeypatch):
    without_report(monkeypatch)
    one = stored(targeted(), tmp_path)
    for shard in ("2/3", "1/3", "3/3", None):
        simulate(job_of([one], shard=shard, outputs=str(tmp_path)))
    reduce.seal(one, Executor())
    parts = {part: contents(tmp_path / part) for part in (SEALED, SUMMARY)}
    found = {
        f"{part}/{name}": content
        for part, files in parts.items()
        for name, content in files.items()
    }
    assert found == expected[0]


def test_an_interim_report_counts_what_is_known(tmp_path):
    one = stored(targeted(), tmp_path)
    one.store.begin()
    units = [
        unit
        for unit, _ in Schedule(one.study, one.store.listing())
        if unit.block < 5 and unit != (2, 3)
    ]
    Runner(one.store)(units)
    reduce.interim(one, Executor())
    n = (xr.open_zarr(tmp_path / "interim.zarr")["status"].load() > 0).sum("replication")
    counted = [int(n.sel(labels)) for labels in one.study.grid]
    assert counted[2] == 80 and set(counted) == {60, 80, 100}


def test_the_library_takes_targets(tmp_path):
    results = pl.run(
        "xu/lemmas",
        size="quick",
        grid={"m": [2], "L": [50]},
        cluster="synchronous",
        progress=False,
        outputs=str(tmp_path),
        block=50,
        replications=5000,
        precision={"lean_true": {"absolute": 0.01}},
    )
    n = (results["status"] > 0).sum("replication")
    assert 100 <= n.max() < 5000
    made = pl.Study(**mapping(replications=800, precision=TARGETS))
    assert (
        made.precision
        == targeted().precision
        == pl.Study(**mapping(replications=800, precision=made.precision)).precision
    )
