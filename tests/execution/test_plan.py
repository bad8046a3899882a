"""What a plan measures: little, within its limits, and near what a unit really takes."""

import os
import subprocess
import sys
import time
import tracemalloc
import types
from dataclasses import replace

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.execution import probe, room
from pipeline.execution.schedule import Schedule
from pipeline.storage.replications import Listing
from pipeline.study.study import Study
from tests.helpers.engine import arguments, environment, study


def costs(one):
    return np.array([one.cost(labels) for labels in one.grid])


def test_memory_is_extrapolated_to_the_block():
    one = study(
        grid={"m": [40], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]},
        block=500,
        replications=500,
    )
    one.simulate(one.grid.labels(0), 0)
    tracemalloc.start()
    one.simulate(one.grid.labels(0), 0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    measured = probe.probe(one, costs(one))
    own = measured.memory - probe.WORKER
    print(f"a unit takes {most:,} bytes, {own:,.0f} predicted")
    assert 0.5 * most < own < 5 * most


def test_seconds_that_a_block_takes_whatever_its_size_are_counted_once():
    """5 ms a block and 20 µs a replication, of which the last trials were far from the whole block."""
    trials = [probe.TimedTrial(0, count, 5e-3 + 2e-5 * count, 0) for count in (1, 4, 16)]
    assert probe._seconds(trials, 2000) == pytest.approx(5e-3 + 2e-5 * 2000)
    assert probe._seconds(trials[:1], 2000) == pytest.approx(2000 * 5.02e-3)
    slower = probe.TimedTrial(0, 64, 4e-3, 0)  # by chance less than before
    assert probe._seconds([*trials, slower], 2000) == pytest.approx(4e-3)


def test_a_trial_gives_the_numbers_of_a_study_with_such_blocks():
    one = study(block=100, replications=200)
    labels = one.grid.labels(0)
    found, wanted = (
        probe._part(one, 8).simulate(labels, 0),
        replace(one, block=8, replications=8).simulate(labels, 0),
    )
    assert found.keys() == wanted.keys() and all(
        np.array_equal(found[name], wanted[name]) for name in found
    )
    assert (one.block, one.replications) == (100, 200)


@pytest.mark.parametrize("limit, value", [("SECONDS", 0.0), ("BYTES", 2**20)])
def test_what_exceeds_a_limit_is_not_known(limit, value, tmp_path):
    """A replication of 400 items takes more than 1 MiB; none takes no time. In a process with no memory to spare."""
    script = (
        f"import sys; from pipeline.execution import probe; probe.{limit} = {value}; "
        "from pipeline.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    words = [*arguments(tmp_path, **{"grid.m": "[400]"}), "task=plan"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0 and "unknown: one replication takes more than" in done.stdout, done


def test_time_that_others_have_the_processor_does_not_count(monkeypatch):
    """As where a machine has much to do: the clock goes on, the unit does not. The control spends the time itself."""
    one = study(
        grid={"m": [40], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]},
        block=500,
        replications=500,
    )
    alone, simulate = probe.probe(one, costs(one)).longest, Study.simulate

    def waiting(self, *args):
        time.sleep(0.2)
        return simulate(self, *args)

    def working(self, *args):
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        return simulate(self, *args)

    measured = {}
    for kind in (waiting, working):
        monkeypatch.setattr(Study, "simulate", kind)
        measured[kind] = probe.probe(one, costs(one)).longest
    print(
        f"alone {alone:.3f} s; waiting 0.2 s {measured[waiting]:.3f} s; working 0.2 s {measured[working]:.3f} s"
    )
    assert measured[waiting] < 5 * alone < 0.2 * 500 / 4 < measured[working]


@pytest.mark.parametrize("large", [3, 40])
def test_a_cell_without_memory_for_one_replication_hides_no_other(
    monkeypatch, tmp_path, capsys, large
):
    """Time is known from the others, memory is not, and the plan says why."""
    simulate = Study.simulate

    def hungry(self, labels, *args):
        if labels["m"] == large:
            raise MemoryError
        return simulate(self, labels, *args)

    monkeypatch.setattr(Study, "simulate", hungry)
    one = study(grid={"m": [3, 20, 40], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]})
    measured = probe.probe(one, costs(one))
    assert measured.pace > 0 and measured.longest > 0 and measured.memory is None
    assert main([*arguments(tmp_path, **{"grid.m": "[3,20,40]"}), "task=plan"]) == 0
    told = capsys.readouterr().out
    assert "memory        unknown: one replication of some cell takes more than 200.00 MiB" in told
    assert "of work)" in told


def test_a_trial_of_many_replications_without_memory_leaves_those_of_fewer(
    monkeypatch, tmp_path, capsys
):
    simulate = Study.simulate

    def hungry(self, *args):
        if self.block > 4:
            raise MemoryError
        return simulate(self, *args)

    monkeypatch.setattr(Study, "simulate", hungry)
    one = study()
    measured = probe.probe(one, costs(one))
    assert measured.longest > 0 and measured.memory > probe.WORKER
    assert measured.most_replications == 16
    assert main([*arguments(tmp_path), "task=plan"]) == 0
    assert (
        "per worker, extrapolated: 16 replications at once take more than 200.00 MiB"
        in capsys.readouterr().out
    )


QUOTAS = """Disk quotas for user me (uid 1000):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
     /dev/other  900000  999999  999999       0       9      10      10       0
         DEVICE   1024*    1000    2048       0      95     100     100       0
"""


@pytest.mark.parametrize(
    "files, line", [(100, "needs 8 files, one for each unit, but only 5 more"), (1000, "")]
)
def test_a_plan_warns_where_a_quota_has_no_room_for_the_files(
    files, line, monkeypatch, tmp_path, capsys
):
    """And a run begins nothing. The control: a quota that leaves enough."""
    answer = QUOTAS.replace("DEVICE", room._device(tmp_path)).replace(
        "100       0", f"{files}       0"
    )
    (tmp_path / "quota").write_text(f"#!/bin/sh\ncat <<'END'\n{answer}END\n")
    (tmp_path / "quota").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert room.room_in(tmp_path) == (2**20, files - 95)
    assert main([*arguments(tmp_path), "task=plan"]) == 0
    text = capsys.readouterr().out
    assert (line in text) and ("warning" in text) == bool(line) and "8 files until then" in text
    assert main(arguments(tmp_path)) == (2 if line else 0)
    assert line in capsys.readouterr().err and (tmp_path / "xu").exists() != bool(line)


@pytest.mark.parametrize("files, free, known", [(1000, 3, 3), (0, 0, None)])
def test_file_systems_that_count_files_are_asked_how_many_are_left(
    files, free, known, monkeypatch, tmp_path
):
    monkeypatch.setattr(
        os,
        "statvfs",
        lambda _: types.SimpleNamespace(
            f_files=files, f_favail=free, f_blocks=9, f_bavail=9, f_bfree=9, f_frsize=4096
        ),
    )
    monkeypatch.setenv("PATH", "/nowhere")
    assert room.room_in(tmp_path).files == known


def test_nothing_is_simulated_in_this_process(monkeypatch, tmp_path):
    def simulate(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "simulate", simulate)
    assert main([*arguments(tmp_path), "task=plan"]) == 0


def test_more_units_than_can_be_looked_after_are_one_line(tmp_path, capsys):
    tracemalloc.start()
    code = main(
        [
            "experiment=xu/lemmas",
            "block=10",
            "replications=1000000000",
            "task=plan",
            f"outputs={tmp_path}",
        ]
    )
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    error = capsys.readouterr().err
    print(f"{most:,} bytes")
    assert (
        code == 2
        and "makes 2,400,000,000 units" in error
        and "a larger block" in error
        and error.count("\n") == 1
    )
    assert most < 2**28


def test_a_plan_of_millions_of_units_needs_some_bytes_of_each():
    one, listing = _with_nothing_done(200_000)
    units = len(one.grid) * one.blocks
    tracemalloc.start()
    schedule = Schedule(one, listing)
    assert schedule.pending == units
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{most / units:.1f} bytes a unit")
    assert most < 12 * units


def _with_nothing_done(blocks):
    grid = {
        "m": [3, 4, 5],
        "L": [50, 60],
        "epsilon": [0.5, 1.0, 2.0, 3.0],
        "estimator": ["debiased"],
    }
    one = study(grid=grid, block=1, replications=blocks)
    return one, Listing(*np.zeros((2, len(one.grid), blocks), bool))
