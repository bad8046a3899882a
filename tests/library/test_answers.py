"""State, bytes and differences of stored studies from Python: what the command says of them."""

import json

import pytest

import pipeline as pl
from pipeline.__main__ import main
from pipeline.workflow.status import State

SMALL = {"size": "quick", "grid": {"m": [2], "L": [50]}, "replications": 1000, "block": 500}
WORDS = [
    "experiment=xu/lemmas",
    "size=quick",
    "grid.m=[2]",
    "grid.L=[50]",
    "replications=1000",
    "block=500",
]


def test_python_answers_what_the_command_answers(tmp_path, capsys):
    """Before the start, of two finished studies, and after a byte was changed."""
    place = {"outputs": tmp_path, **SMALL}
    assert pl.status("xu/lemmas", **place).progress is None
    for seed in (1, 2):
        pl.run("xu/lemmas", cluster="synchronous", progress=False, seed=seed, **place)
    state = pl.status("xu/lemmas", seed=1, **place)
    assert state.state == State.DONE and state.progress.sealed
    assert main([*WORDS, "seed=1", f"outputs={tmp_path}", "task=status", "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)["studies"]
    assert printed["units"]["done"] == state.units.done == state.units.all

    names = [study.name for study in pl.list_studies(tmp_path)]
    assert len(names) == 2 and all(name.startswith("xu/lemmas-") for name in names)
    difference = pl.compare(*names, outputs=tmp_path)
    assert not difference.paired and difference.cells == 4
    assert all(0 <= metric.apart <= metric.known <= 4 for metric in difference.metrics)
    with pytest.raises(pl.InvalidInput, match="no such study"):
        pl.compare(names[0], "xu/other", outputs=tmp_path)

    assert pl.verify("xu/lemmas", cluster="synchronous", seed=1, **place).sound
    unit = next(path for path in tmp_path.rglob("replications/units/*/*") if path.is_file())
    unit.write_bytes(unit.read_bytes()[:-1])
    checks = [pl.verify("xu/lemmas", cluster="synchronous", seed=seed, **place) for seed in (1, 2)]
    assert sorted(check.sound for check in checks) == [False, True]
