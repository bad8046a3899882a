"""Law: a part that does not give the same again stops the run in a line, before any of its numbers is stored.

Each part here is what ships but for one thing: its values depend on something other than its parameters, its input and
its generator. Some of that shows within a process, some only in a second one.
"""

import json
import subprocess
import sys
import types

import numpy as np
import pytest
import yaml

import pipeline as pl
from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.execution import runner, trials
from pipeline.execution.runner import TRIAL, Runner
from pipeline.execution.schedule import Schedule
from pipeline.execution.set_order import makes_sets
from pipeline.execution.trial import Trial
from pipeline.identity import registry
from pipeline.storage import agreement
from pipeline.storage.replications import Listing, Store
from pipeline.study.study import Study
from pipeline.workflow.config import read_experiments
from tests.helpers.engine import command as run_command
from tests.helpers.engine import environment, without_report
from tests.helpers.own_parts import (
    CONFIG,
    PRELUDE,
    REGISTER,
    alone,
    fits,
    method,
    releases,
    truths,
    values,
)

__all__ = ["alone"]  # the fixture, here too
HEAD = "import itertools, os, random, time\nCALLS, SEEN = itertools.count(), {}\n"
SECOND_PROCESS = trials._elsewhere
SHIPPED = [
    "xu/scenario_5",
    "xu/personalised",
    "xu/rare",
    "nguyen/price_estimators",
    "nguyen/figure_1",
    "wang/limits",
    "wang/rare",
    "wang/real",
    "banerjee/adaptive",
    "banerjee/maxsense",
    "banerjee/multi",
    "banerjee/pairs",
]

HERE = [  # what shows within one process: kind, source, method
    ("model", truths("Preferences(made.theta + np.random.random())"), "truth draws from np.random"),
    (
        "model",
        method(
            "model",
            "return super().simulate(truth, np.random.default_rng())",  # an object that draws later
            "simulate(self, truth, rng)",
        ),
        "simulate",
    ),
    ("mechanism", releases("replace(made, wins=made.wins + random.random())"), "release"),
    ("estimator", fits("replace(made, theta=made.theta + next(CALLS))"), "fit"),
    ("estimator", fits("replace(made, theta=made.theta + time.perf_counter())"), "fit"),
    (
        "estimator",
        fits("replace(made, theta=made.theta + os.urandom(1)[0] + os.urandom(8)[0])"),
        "fit",
    ),
    (
        "estimator",
        fits("replace(made, theta=made.theta + np.random.default_rng().random())"),
        "fit",
    ),
    (
        "estimator",  # the same whenever it is called, and in all blocks
        fits("(np.random.seed(0), replace(made, theta=made.theta + np.random.random()))[1]"),
        "fit draws from np.random itself",
    ),
    (
        "metric",
        values("(np.random.seed(1), made + np.random.random())[1]"),
        "it draws from np.random itself",
    ),
    ("estimator", fits("replace(made, theta=made.theta + id(made) % 1009)"), "fit"),
    (
        "estimator",
        method(
            "estimator",
            "made = super().fit(release, rng)\nobject.__setattr__(self, 'n', getattr(self, 'n', 0)"
            " + 1)\nreturn replace(made, theta=made.theta * self.n)",
        ),
        "fit",
    ),
    ("estimator", fits("replace(made, converged=made.converged & (next(CALLS) % 2 == 0))"), "fit"),
    ("metric", values("made + next(CALLS)"), "it"),
]
ELSEWHERE = [  # what is the same within a process
    ("mechanism", releases("replace(made, wins=made.wins + hash('a text') % 1009)"), "release"),
    ("estimator", fits("replace(made, theta=made.theta + id(type(self)) % 1000003)"), "fit"),
    ("metric", values("made + os.getpid()"), "it"),
    (
        "metric",
        values(
            "made + [*{'tea', 'milk', 'beer', 'wine', 'water', 'cola'}].index('tea') * 7 + hash('tea') % 89"
        ),
        "it",
    ),
    (
        "estimator",
        fits("SEEN.setdefault(self.m, replace(made, theta=made.theta + release.epsilon[0]))"),
        "fit",
    ),
    ("derivation", "START = time.time_ns()\ndef Mine(m: int): return START % 89 + 11\n", "it"),
]


def command(kind, source, where, *words):
    """The exit code of a run whose parts are in a file; its grid has two cells."""
    config = CONFIG | {"grid": {"epsilon": [1.0, 2.0]}}
    if kind == "metric":
        config["metrics"] = ["error_l2", "mine"]
    elif kind == "derivation":
        parameters = {name: value for name, value in config["parameters"].items() if name != "L"}
        config |= {"parameters": parameters, "derive": {"L": "mine"}}
    else:
        config["parameters"] = config["parameters"] | {kind: "mine"}
    (where / "parts.py").write_text(PRELUDE + HEAD + source + REGISTER.format(kind=kind))
    (where / "wrong.yaml").write_text(yaml.safe_dump(config))
    words = words or ("cluster=synchronous",)
    return main(
        [
            f"--with={where / 'parts.py'}",
            f"experiment={where / 'wrong.yaml'}",
            f"outputs={where / 'out'}",
            "figures=[]",
            "claims=false",
            *words,
        ]
    )


def refused(kind, said, where, capsys):
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(lines) == 1 and lines[0].startswith(f"error: {kind}=mine: {said}"), lines
    assert "all randomness must come from its generator" in lines[0]
    assert not [*where.glob("out/*/replications/units/*/*"), *where.glob("out/*/results.zarr")]


@pytest.mark.parametrize("kind, source, step", HERE, ids=range(len(HERE)))
def test_what_shows_in_one_process(kind, source, step, tmp_path, capsys):
    assert command(kind, source, tmp_path) == 2
    drawn = "draws from" in step
    said = (
        step if drawn else f"{step} gives other values when it is called again with the same input"
    )
    refused(kind, said, tmp_path, capsys)


@pytest.mark.parametrize("kind, source, step", ELSEWHERE, ids=range(len(ELSEWHERE)))
def test_what_shows_in_a_second_process(kind, source, step, tmp_path, capsys, monkeypatch):
    """Texts have other hashes there, sets another order, objects other addresses, and cells come in another order."""
    monkeypatch.setattr(trials, "_elsewhere", SECOND_PROCESS)
    assert command(kind, source, tmp_path) == 2
    refused(
        kind, f"{step} gives other values in another process with the same input", tmp_path, capsys
    )


@pytest.mark.parametrize(
    "words",
    [
        ["cluster=threads", "cluster.workers=2"],
        ["cluster=synchronous", "shard=1/2"],
        ["cluster=local", "cluster.workers=1"],
    ],
    ids=["threads", "shard", "processes"],
)
def test_wherever_units_are_made(words, tmp_path, capsys):
    assert (
        command(
            "estimator", fits("replace(made, theta=made.theta + next(CALLS))"), tmp_path, *words
        )
        == 2
    )
    refused("estimator", "fit gives other values when it is called again", tmp_path, capsys)


def test_what_parts_print_is_shown(tmp_path):
    """By a worker process, too, in whose output nobody looks; the command's own output stays as it is."""
    source = method("estimator", "print('seen in', os.getpid())\nreturn super().fit(release, rng)")
    (tmp_path / "parts.py").write_text(PRELUDE + HEAD + source + REGISTER.format(kind="estimator"))
    config = CONFIG | {"parameters": CONFIG["parameters"] | {"estimator": "mine"}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(config))
    words = [
        "--with=parts.py",
        "experiment=own.yaml",
        "cluster.workers=1",
        "claims=false",
        "figures=[]",
    ]
    done = run_command(words, cwd=tmp_path)
    assert done.returncode == 0 and "seen in " in done.stderr and "seen in" not in done.stdout, (
        done.stderr
    )


def test_from_python(tmp_path):
    names = {"__name__": "__main__"}
    exec(
        PRELUDE
        + HEAD
        + fits("replace(made, theta=made.theta + next(CALLS))")
        + REGISTER.format(kind="estimator"),
        names,
    )
    study = Study(**CONFIG | {"parameters": CONFIG["parameters"] | {"estimator": "mine"}})
    with pytest.raises(
        pl.InvalidInput, match="estimator=mine: fit gives other values when it is called again"
    ):
        pl.run(study, cluster="synchronous", outputs=str(tmp_path / "out"), progress=False)


def test_parts_are_tried_once(tmp_path, monkeypatch):
    """Not again when a run goes on or is finished; of a combination that is new, only that one."""
    tried = []
    monkeypatch.setattr(
        runner, "check_parts", lambda study, combinations: tried.append(len(combinations))
    )
    config = CONFIG | {"grid": {"epsilon": [1.0], "estimator": ["debiased"]}}
    config["parameters"] = {n: one for n, one in CONFIG["parameters"].items() if n != "estimator"}
    for changes in (
        {},
        {},
        {"replications": 40},
        {"grid": {"estimator": ["debiased", "plug_in"]}},
        {"grid": {"epsilon": [1.0, 2.0], "estimator": ["debiased", "plug_in"]}},
    ):
        pl.run(
            config,
            cluster="synchronous",
            outputs=str(tmp_path),
            progress=False,
            figures=[],
            claims=False,
            **changes,
        )
    assert tried == [1, 2]  # other estimators are other code: a new writer tries all
    records = [
        json.loads(path.read_text()) for path in tmp_path.glob("*/replications/agreed/*.json")
    ]
    assert sorted(len(record["tried"]) for record in records) == [1, 2]


def test_parts_that_end_a_process_are_left_to_the_units(tmp_path, monkeypatch):
    """The second process dies of them, this one does not; where one died here, no other one tries them again."""
    names = {"__name__": "__main__"}
    exec(
        PRELUDE + HEAD + method("estimator", "os._exit(3)") + REGISTER.format(kind="estimator"),
        names,
    )
    study = Study(**CONFIG | {"parameters": CONFIG["parameters"] | {"estimator": "mine"}})
    monkeypatch.setattr(trials, "_elsewhere", SECOND_PROCESS)
    trials.check_parts(study, [(0,)])

    store = Store(Study(**CONFIG), tmp_path)
    store.begin()
    work = Runner(store, trials=((0,),))
    me = runner.writer(store.study)
    agreement.begin(store, me.id, TRIAL)
    monkeypatch.setattr(runner, "check_parts", lambda *_: pytest.fail("it was tried again"))
    assert work.agree() == me.id and agreement.trying(store, me.id) is None
    assert agreement.find(store, me).tried == ("btl laplace debiased",)


def shipped(reverse):
    """Records of one cell of every combination in some experiments of all four problems, and the parts in them."""
    records, parts = [], set()
    for name in SHIPPED:
        study = read_experiments(compose([f"experiment={name}", "size=quick", "figures=[]"]))[
            0
        ].study
        nothing = np.zeros((len(study.grid), study.blocks), bool)
        cells = [cells[0] for cells in Schedule(study, Listing(nothing, nothing.copy())).trials]
        trial = Trial.of(study, cells)
        records.append(trial.run_reversed() if reverse else trial.run())
        parts |= {
            type(part).__name__
            for cell in cells
            for part in study.components(study.grid.labels(cell))[:3]
        }
    return records, parts


def test_parts_that_ship_give_the_same_in_a_second_process():
    """Which a run tries of a person's own parts only."""
    program = "import json; from tests.laws import test_determinism as t; print(json.dumps(t.shipped(True)[0]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(PYTHONHASHSEED="7"),
        capture_output=True,
        text=True,
    )
    records, parts = shipped(False)
    print(f"{sum(map(len, records))} units, {len(parts)} models, mechanisms and estimators")
    assert done.returncode == 0 and json.loads(done.stdout) == records and len(parts) > 20, (
        done.stderr
    )


def test_the_order_of_a_set_of_two_is_tried_in_several_processes(tmp_path, capsys, monkeypatch):
    """In one other process it is the same by chance in half of all cases."""
    started = []

    def like_here(packed, seed):
        started.append(seed)
        if seed == last:
            return in_another_process(packed, seed)
        return None  # as where the order happens to be the same

    in_another_process = trials._in_another_process
    last = next(seed for seed in "12345" if index_of_tea(seed) != index_of_tea(None))
    monkeypatch.setattr(trials, "_elsewhere", SECOND_PROCESS)
    monkeypatch.setattr(trials, "_in_another_process", like_here)
    assert command("metric", values("made + [*{'tea', 'milk'}].index('tea')"), tmp_path) == 2
    refused("metric", "it gives other values in another process", tmp_path, capsys)
    assert sorted(started) == [*"12345"]


@pytest.mark.parametrize(
    "source, has_sets",
    [
        ("class Mine:\n    def fit(self): return [*{self.a, 'b'}]", True),
        (
            "class Mine:\n    def fit(self):\n        return lambda: [a for a in frozenset('ab')]",
            True,
        ),
        ("class Mine:\n    names = {'a', 'b'}", True),
        ("class Mine:\n    @staticmethod\n    def fit(): return set()", True),
        ("class Mine:\n    @property\n    def fit(self): return {a for a in 'ab'}", True),
        ("NAMES = {'a'}\nclass Mine: pass", True),
        ("def helper(): return {*'ab'}\nclass Mine: pass", True),
        ("def Mine(): return [*{'a', 'b'}]", True),
        ("from re import compile\nfrom dataclasses import dataclass\nclass Mine: pass", False),
        ("@dataclass\nclass Mine(ABC):\n    a: int = 1\n    def fit(self): return {'a': 1}", False),
    ],
)
def test_code_that_makes_sets_is_recognised(source, has_sets, monkeypatch):
    module = types.ModuleType("own_sets")
    monkeypatch.setitem(sys.modules, "own_sets", module)
    head = "from abc import ABC\nfrom dataclasses import dataclass\n"
    exec(head + source, vars(module))
    assert makes_sets([module.Mine]) == has_sets
    assert not makes_sets([pl.ranking.Debiased])


def index_of_tea(seed):
    """Place of a text in a set of two, here or in a process with another seed of hashes."""
    if seed is None:
        return [*{"tea", "milk"}].index("tea")
    program = "print([*{'tea', 'milk'}].index('tea'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(PYTHONHASHSEED=seed),
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_a_sound_part_runs(tmp_path, monkeypatch):
    """The negative control: it draws from its generator."""
    monkeypatch.setattr(trials, "_elsewhere", SECOND_PROCESS)
    without_report(monkeypatch)
    assert (
        command("estimator", fits("replace(made, theta=made.theta + rng.random())"), tmp_path) == 0
    )
    assert registry.registrations().files
