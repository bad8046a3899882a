"""Law: what is wrong with a part of one's own is one line: part, field, what is allowed and what is there.

Each wrong part is tried from the command, in a file given with --with, and from Python. A sound part passes.
"""

import re

import numpy as np
import pytest
import yaml

import pipeline as pl
from pipeline.__main__ import main
from pipeline.identity import registry
from pipeline.study.study import Study
from tests.helpers.engine import without_report
from tests.helpers.own_parts import (
    CONFIG,
    PRELUDE,
    REGISTER,
    alone,
    changed,
    fits,
    method,
    releases,
    truths,
    values,
)

__all__ = ["alone"]  # the fixture
SIMULATE, COST = "simulate(self, truth, rng)", "cost(self)"
WRONG = [
    # what a model gives
    ("model", truths("None"), "truth must give what is to be learned, gives None"),
    (
        "model",
        truths("made.theta[:2]"),
        "truth must give an array (reps, …) = (3, …), gives (2, 6)",
    ),
    (
        "model",
        truths("Preferences(made.theta[:, :5])"),
        "theta must be (reps, m) = (3, 6), is (3, 5)",
    ),
    ("model", truths("Preferences(made.theta.T)"), "theta must be (reps, m) = (3, 6), is (6, 3)"),
    ("model", truths("Preferences(made.theta + 0j)"), "theta must hold numbers, holds complex128"),
    ("model", truths("Preferences(made.theta.astype(str))"), "theta must hold numbers, holds <U32"),
    (
        "model",
        truths("Preferences(made.theta.tolist())"),
        "theta must be an array (reps, m) = (3, 6), is list",
    ),
    (
        "model",
        method("model", "return None", SIMULATE),
        "simulate must give Comparisons, gives None",
    ),
    (
        "model",
        method("model", "return truth.theta", SIMULATE),
        "simulate must give Comparisons, gives ndarray",
    ),
    (
        "model",
        method("model", "return None", COST),
        "cost must give a number of steps, at least 0, gives None",
    ),
    (
        "model",
        method("model", "return -1.0", COST),
        "cost must give a number of steps, at least 0, gives -1.0",
    ),
    (
        "model",
        method("model", "return float('nan')", COST),
        "cost must give a number of steps, at least 0, gives nan",
    ),
    (
        "model",
        method("model", "return self.people", COST),
        "cost raises AttributeError: 'Mine' object has no attribute",
    ),
    # what a mechanism gives
    ("mechanism", releases("None"), "release must give LaplaceWins, gives None"),
    ("mechanism", releases("made.wins"), "release must give LaplaceWins, gives ndarray"),
    (
        "mechanism",
        releases("replace(made, wins=made.wins[:, 0])"),
        "wins must be (reps, groups, pairs) = (3, groups, 15), is (3, 15)",
    ),
    (
        "mechanism",
        releases("replace(made, wins=made.wins[..., :10])"),
        "wins must be (reps, groups, pairs) = (3, 1, 15), is (3, 1, 10)",
    ),
    (
        "mechanism",
        releases("replace(made, wins=made.wins[:2])"),
        "wins must be (reps, groups, pairs) = (3, groups, 15), is (2, 1, 15)",
    ),
    (
        "mechanism",
        releases("replace(made, users=np.array([10, 10]))"),
        "users must be (groups,) = (1,), is (2,)",
    ),
    (
        "mechanism",
        releases("replace(made, epsilon=1.0)"),
        "epsilon must be an array (groups,) = (1,), is float",
    ),
    (
        "mechanism",
        method(
            "mechanism",
            "return pl.ranking.data.LaplaceWins(data.wins[:, None] * 1.0, np.array([self.L]), "
            "np.array([1.0]), self.m)",
        ),
        "release draws nothing from its generator, so it protects nobody",
    ),
    (
        "mechanism",
        method("mechanism", "return 1.0", "spent(self)"),
        "spent must give what is released -> nats",
    ),
    (
        "mechanism",
        method("mechanism", "return {'an answer': 'little'}", "spent(self)"),
        "spent must give what is",
    ),
    (
        "mechanism",
        "class MineWins(pl.ranking.ReleasedWins): ...\n"
        + releases("MineWins(made.wins, made.users, made.epsilon, self.m)"),
        "class=MineWins: lacks equivalent_epsilon, slope, which ReleasedWins leaves to it",
    ),
    # what an estimator gives
    (
        "estimator",
        fits("replace(made, theta=np.matrix(made.theta))"),
        "theta must be an array (reps, m) = (3, 6), is matrix",
    ),
    (
        "estimator",
        fits("None"),
        "fit must give an estimate with converged, (reps,) bool; gives None",
    ),
    (
        "estimator",
        fits("made.theta"),
        "fit must give an estimate with converged, (reps,) bool; gives ndarray",
    ),
    (
        "estimator",
        method("estimator", "yield super().fit(release, rng)"),
        "(reps,) bool; gives generator",
    ),
    (
        "estimator",
        fits("replace(made, theta=made.theta[0])"),
        "theta must be (reps, m) = (3, 6), is (6,)",
    ),
    (
        "estimator",
        fits("replace(made, theta=made.theta.T)"),
        "theta must be (reps, m) = (3, 6), is (6, 3)",
    ),
    (
        "estimator",
        fits("replace(made, theta=made.theta[:, :5])"),
        "theta must be (reps, m) = (3, 6), is (3, 5)",
    ),
    (
        "estimator",
        fits("replace(made, theta=made.theta + 1j)"),
        "theta must hold numbers, holds complex128",
    ),
    ("estimator", fits("replace(made, theta=np.ma.masked_less(made.theta, 0))"), "is MaskedArray"),
    (
        "estimator",
        fits("replace(made, converged=made.converged[:, None])"),
        "converged must be (reps,) = (3,) bool, is (3, 1) bool",
    ),
    (
        "estimator",
        fits("replace(made, converged=made.converged[:2])"),
        "converged must be (reps,) = (3,) bool, is (2,)",
    ),
    (
        "estimator",
        fits("replace(made, converged=made.converged * 1)"),
        "(reps,) = (3,) bool, is (3,) int64",
    ),
    ("estimator", fits("replace(made, converged=True)"), "gives converged of type bool"),
    # what a metric gives
    ("metric", values("None"), "must give (reps,) = (3,) numbers, gives None"),
    ("metric", values("made.mean()"), "must give (reps,) = (3,) numbers, gives ()"),
    ("metric", values("made[:2]"), "must give (reps,) = (3,) numbers, gives (2,)"),
    ("metric", values("made[:, None]"), "must give (reps,) = (3,) numbers, gives (3, 1)"),
    ("metric", values("made.astype(str)"), "must give (reps,) = (3,) numbers, gives (3,) of <U32"),
    (
        "metric",
        values("[str(value) for value in made]"),
        "must give (reps,) = (3,) numbers, gives list ['",
    ),
    ("metric", values("made + 1j"), "must give (reps,) = (3,) numbers, gives (3,) of complex128"),
    (
        "metric",
        values("[[1.0], [1.0, 2.0], [3.0]]"),
        "must give (reps,) = (3,) numbers, gives list [[1.0], [1.0, 2.0]",
    ),
    ("metric", values("{'error': made}"), "must give (reps,) = (3,) numbers, gives dict {'error'"),
    (
        "metric",
        values("np.ma.masked_less(made, 1)"),
        "NaN where there is none, gives a masked array",
    ),
    (
        "metric",
        values("made + 2", "most: ClassVar[float] = 1.0"),
        "must be 0 to 1, as its least and most say, is 2.",
    ),
    # what a class is
    (
        "model",
        changed("model", "people: int = 0"),
        "its field people must be a parameter: people: int = pl.parameter(",
    ),
    (
        "model",
        changed("model", "people: list = pl.parameter('x', default=None)"),
        "its field people must be int, float, str, bool or",
    ),
    (
        "model",
        changed("model", "people: int = pl.parameter('x', default=0, low=1)"),
        "the default of its field people, 0, must be a whole number ≥ 1",
    ),
    (
        "model",
        changed("model", "population: ClassVar = ('size',)"),
        "population must be a tuple of names of its fields",
    ),
    ("model", changed("model", "produces: ClassVar = 'wins'"), "produces must be a class, is wins"),
    (
        "model",
        method("model", "return None", "truth(self, rng)"),
        "truth must take (self, rng, reps, population), takes (self, rng)",
    ),
    (
        "model",
        method("model", "raise ValueError('seven items')", "__post_init__(self)"),
        "cannot be made of these (ValueError: seven items)",
    ),
    (
        "mechanism",
        changed("mechanism", "guarantee: ClassVar = 1.0"),
        "guarantee must be a pl.Guarantee, is 1.0",
    ),
    (
        "mechanism",
        changed("mechanism", "accepts: ClassVar = None"),
        "accepts must be a class, is null",
    ),
    (
        "mechanism",
        "class Mine:\n    releases = dict\n",
        "it lacks guarantee, accepts, release, cost",
    ),
    (
        "mechanism",
        method("mechanism", "return data", "release(self, data)"),
        "release must take (self, data, rng), takes",
    ),
    (
        "estimator",
        "class Mine:\n    def fit(self, release, rng): ...\n    def cost(self): ...\n",
        "it lacks accepts",
    ),
    (
        "estimator",
        "class Mine:\n    accepts = dict\n    def fit(self, release, rng): ...\n",
        "it lacks cost",
    ),
    (
        "estimator",
        "class Mine(pl.ranking.Debiased):\n    k: int = pl.parameter('x', default=1)\n",
        "it has a parameter k, and must be a frozen dataclass itself",
    ),
    (
        "estimator",
        "@dataclass\nclass Mine:\n    accepts: ClassVar = dict\n    def fit(self, release, rng): ...\n"
        "    def cost(self): ...\n",
        "it must be a frozen dataclass: @dataclass(frozen=True)",
    ),
    ("estimator", "Mine = 5\n", "must be the estimator itself, a class or function"),
    ("estimator", "Mine = pl.ranking.Debiased(m=6).fit\n", "it must be a class, is "),
    ("estimator", changed("estimator", "fit: ClassVar = None"), "fit must be a method, is null"),
    (
        "metric",
        "@dataclass(frozen=True)\nclass Mine:\n    long_name: ClassVar = 'x'\n    units: ClassVar = '1'\n",
        "it lacks __call__",
    ),
    ("metric", changed("metric", "units: ClassVar = None"), "units must be a text, is None"),
    (
        "metric",
        changed("metric", "least: ClassVar = 1\nmost: ClassVar = 0"),
        "least must be below most, are 1 and 0",
    ),
    ("metric", changed("metric", "most: ClassVar = 'one'"), "most must be a number, is 'one'"),
    (
        "metric",
        method("metric", "return 1", "__call__(self, truth)"),
        "__call__ must take (self, truth, release, estimate)",
    ),
    (
        "derivation",
        "def Mine(m): return 20\n",
        "its argument m must be int, float, str, bool or DataFile",
    ),
    (
        "derivation",
        "def Mine(m: list): return 20\n",
        "its argument m must be int, float, str, bool or DataFile",
    ),
    (
        "derivation",
        "def Mine(m: 'Size'): return 20\n",
        "its arguments need types, such as epsilon: float",
    ),
    (
        "derivation",
        "def Mine(m: int): return [20]\n",
        "Mine must give a number or a text for these, gives list",
    ),
    (
        "derivation",
        "def Mine(m: int): return {}['L']\n",
        "cannot be computed from these by Mine (KeyError: 'L')",
    ),
    # where the code is
    ("estimator", "Mine = 'nowhere.parts:Mine'\n", "cannot be loaded from 'nowhere.parts:Mine'"),
    (
        "estimator",
        "Mine = 'pipeline.problems.ranking:Mine'\n",
        "in pipeline.problems.ranking: AttributeError: module",
    ),
    ("estimator", "Mine = 'nowhere.parts'\n", "must be 'module:name', or '.module:name'"),
    ("metric", "Mine = 'json:JSONDecoder'\n", "is no metric: it lacks long_name, units, __call__"),
]


def config(kind):
    """A study of which one part is `mine`."""
    if kind == "metric":
        return CONFIG | {"metrics": ["mine"]}
    if kind == "derivation":
        parameters = {name: value for name, value in CONFIG["parameters"].items() if name != "L"}
        return CONFIG | {"parameters": parameters, "derive": {"L": "mine"}}
    return CONFIG | {"parameters": CONFIG["parameters"] | {kind: "mine"}}


def from_command(kind, source, where, *words):
    """The exit code of a run whose parts are in a file."""
    (where / "parts.py").write_text(PRELUDE + source + REGISTER.format(kind=kind))
    (where / "wrong.yaml").write_text(yaml.safe_dump(config(kind)))
    return main(
        [
            f"--with={where / 'parts.py'}",
            f"experiment={where / 'wrong.yaml'}",
            "cluster=synchronous",
            f"outputs={where / 'out'}",
            "figures=[]",
            *words,
        ]
    )


def from_python(kind, source):
    """One unit of the same study, in this process."""
    names = {"__name__": "__main__"}
    exec(PRELUDE + source + REGISTER.format(kind=kind), names)
    study = Study(**config(kind))
    return study.simulate(study.grid.labels(0), 0) if study.cost(study.grid.labels(0)) else None


@pytest.mark.parametrize("kind, source, said", WRONG, ids=range(len(WRONG)))
def test_a_wrong_part_is_one_line(kind, source, said, tmp_path, capsys):
    assert from_command(kind, source, tmp_path) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and said in lines[0] and "mine" in lines[0].lower(), lines
    assert not [*tmp_path.glob("out/*/replications/units/*/*")]


@pytest.mark.parametrize("kind, source, said", WRONG, ids=range(len(WRONG)))
def test_a_wrong_part_is_the_same_line_in_python(kind, source, said):
    """With ten replications in place of three, and without what only a first trial looks at."""
    said = re.sub(r"\b3\b(?=[,)])", "10", said)
    if "draws nothing" in said or "spent" in said:
        pytest.skip("a unit alone does not tell")
    with pytest.raises(pl.InvalidInput) as raised:
        from_python(kind, source)
    line = str(raised.value)
    assert said in line and "\n" not in line and "mine" in line.lower()


SOUND = {
    "model": truths("made"),
    "mechanism": releases("replace(made, wins=np.round(made.wins))"),
    "estimator": fits("replace(made, theta=2 * made.theta)"),
    "metric": values("list(made)"),
    "derivation": "def Mine(m: int): return 20\n",
}


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_part_passes(kind, tmp_path, capsys, monkeypatch):
    """The negative control: what replaces a part's method in the table is not what is refused."""
    without_report(monkeypatch)
    assert from_command(kind, SOUND[kind], tmp_path, "claims=false") == 0, capsys.readouterr().err
    assert len([*tmp_path.glob("out/*/replications/units/*/*")]) == 2


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_part_passes_in_python(kind):
    assert np.isfinite([*from_python(kind, SOUND[kind]).values()]).all()


FIELD, PATH = changed("estimator", "k: int = 1"), "Mine = 'nowhere.parts:Mine'\n"
NO_COST = method("estimator", "return None", COST)
ASKED = [
    *(
        (task, source)
        for task in ["show", "plan", "status", "run", "report", "verify", "submit", "replay"]
        for source in (FIELD, PATH)
    ),
    *((task, NO_COST) for task in ("plan", "run")),
    ("plan", fits("None")),
]


@pytest.mark.parametrize("task, source", ASKED, ids=lambda text: text if len(text) < 9 else "")
def test_every_task_says_so(task, source, tmp_path, capsys):
    """Also those that simulate nothing; what only units show is found by a plan, too."""
    assert from_command("estimator", source, tmp_path, f"task={task}") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), lines


@pytest.mark.parametrize(
    "words", [["--help"], ["--help", "estimators"], ["--help", "problems"], ["task=list"]]
)
def test_lists_go_on_without_a_wrong_part(words, tmp_path, capsys, monkeypatch):
    """A list of all parts says of a wrong one what is wrong with it; the others are there."""
    monkeypatch.chdir(tmp_path)
    registry.register(
        "ranking", estimators={"mine": "nowhere.parts:Mine"}, metrics={"mine": "json:JSONDecoder"}
    )
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert ("debiased" in printed and "cannot be loaded from 'nowhere.parts:Mine'" in printed) == (
        words == ["--help", "estimators"]
    )
