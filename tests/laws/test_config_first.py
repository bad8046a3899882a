"""Law: every mistake in a config is reported in one line, with exit code 2, before anything is created."""

import copy
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.execution.clusters import CLUSTERS
from pipeline.storage.replications import Store
from pipeline.study.streams import canonical, digest
from pipeline.workflow.config import read_cluster, read_experiment, read_settings

GONE = object()
NAN, INF, HUGE = math.nan, math.inf, 10**400
SMALL = [
    "replications=4",
    "block=2",
    "grid.m=[10,20]",
    "grid.L=[100]",
    "grid.x=[8]",
    "cluster=synchronous",
]
ADVICE = (
    "must",
    "allowed",
    "needed",
    "needs",
    "twice",
    "write ",
    "raise ",
    "smaller",
    "choose",
    "run it",
    "only",
    "no permission",
    "is a file",
    "set single fields",
    "--help",
    "prints those",
    "is not begun",
    "repair=true",
)
LONGEST = 260


@pytest.fixture(scope="module")
def base():
    """A small valid config: what every mistake below is made in."""
    config = compose(SMALL)[0]
    config["cluster"] = {"kind": "local", "workers": 2}
    read_settings(config), read_cluster(config), read_experiment(config)
    return config


@pytest.fixture(autouse=True)
def nothing_begins(monkeypatch, tmp_path):
    """An empty working folder, and a failure where a cluster or a store would be opened."""
    for cluster in CLUSTERS.values():
        monkeypatch.setattr(cluster, "open", lambda self: pytest.fail("a cluster was opened"))
    monkeypatch.setattr(Store, "begin", lambda self: pytest.fail("a store was created"))
    monkeypatch.chdir(tmp_path)


def refused(capsys, arguments, key, says=""):
    """Assert that the command is refused as the law has it; returns the line."""
    before = sorted(Path.cwd().rglob("*"))
    code = main(arguments)
    printed = capsys.readouterr()
    assert code == 2, printed
    lines = printed.err.splitlines()
    assert len(lines) == 1 and printed.out == "", printed
    assert lines[0].startswith(f"error: {key}="), lines[0]
    assert says in lines[0] and "Traceback" not in lines[0]
    assert any(word in lines[0].split("=", 1)[1] for word in ADVICE), f"no advice: {lines[0]}"
    assert len(lines[0]) <= LONGEST, f"{len(lines[0])} characters: {lines[0]}"
    assert sorted(Path.cwd().rglob("*")) == before
    return lines[0]


def test_the_base_is_valid_so_that_each_mistake_is_the_only_one(base, monkeypatch, capsys):
    monkeypatch.setattr("pipeline.cli.tasks.perform", lambda *_: 0)
    assert main(SMALL) == 0
    monkeypatch.setattr("pipeline.cli.compose.compose", lambda _: [base])
    assert main(["run"]) == 0 and capsys.readouterr().err == ""


# Mistakes in a composed config: (edits, key the message must name, words it must have).
CASES = []


def wrong(key, *values, at=None, says="", also=()):
    """Each value is a mistake at a dotted key; `at`: the key that the message names, if another."""
    CASES.extend(([*also, (key, value)], at or key, says) for value in values)


def wrong_level(axis, *levels, at=None, says="", also=()):
    """Each level is a mistake in an axis."""
    wrong(f"grid.{axis}", *([level] for level in levels), at=at, says=says, also=also)


NO_NUMBER = (None, "", "7", "1e3", True, False, NAN, [7], {"a": 7}, [])
NO_REAL = (*NO_NUMBER, -INF, HUGE)
NO_WHOLE = (*NO_REAL, INF, 2.5, -1)

wrong("seed", *NO_WHOLE, 2**63, 1e30)
wrong("replications", *NO_WHOLE, 0, 10**9 + 1)
wrong("block", *NO_WHOLE, 0, 10**6 + 1)
wrong("replications", 5, 1, 4.0 + 1, 10**9 - 1, says="multiple of block=2")
wrong("block", 3, 4_000, at="replications", says="multiple of block")
wrong_level("m", *NO_WHOLE, 1, 0, says="items")
wrong_level("L", *NO_WHOLE, 0, 10**9, says="users")
wrong_level("x", *NO_REAL)
wrong_level("x", 0, -1, 0.0, at="derive.epsilon", says="> 0")
wrong("parameters.spread", *NO_REAL, INF, -0.5, 51)
wrong("parameters.lambda_scale", *NO_REAL, INF, -1)
wrong("parameters.K", *(v for v in NO_WHOLE if v is not None), 0, says="size of the top set")
wrong("parameters.K", 10, 11, 20, says="m=10")
EPSILON = (("grid.x", GONE), ("derive", None))
wrong("parameters.epsilon", *NO_REAL, 0, -1, also=EPSILON, says="> 0")
wrong_level("epsilon", *NO_REAL[1:], 0, -1, also=EPSILON, says="> 0")
wrong_level("epsilon", None, also=EPSILON, says="may not be null")

for axis, levels in dict(
    m=[10, 10.0], L=[100, 100], x=[8, 8.0], estimator=["debiased", "debiased"]
).items():
    wrong(f"grid.{axis}", levels, says="twice")
    wrong(f"grid.{axis}", [], {}, None, levels[0], "abc", {"a": 1}, says="list of levels")
wrong("grid.x", [0.0, -0.0], says="twice")

for role, name, near in (
    ("model", "btll", "btl"),
    ("estimator", "debias", "debiased"),
    ("mechanism", "randomised_response", "randomized_response"),
):
    moved = (("grid.estimator", GONE),) if role == "estimator" else ()
    wrong(f"parameters.{role}", name, says=f"did you mean '{near}'", also=moved)
    wrong(
        f"parameters.{role}", None, 5, True, "", [near], {"a": near}, f"os:{near}", GONE, also=moved
    )
    if role != "estimator":
        moved = ((f"parameters.{role}", GONE),)
    wrong_level(role, name, says=f"did you mean '{near}'", also=moved)
    wrong_level(role, None, 5, True, [near], {"a": near}, also=moved)
wrong("parameters.theta", "Fixed", "", None, 5, True, ["fixed"])
wrong("parameters.draw", "marginl", says="did you mean 'marginal'")
wrong("parameters.draw", None, 0, ["marginal"])
wrong(
    "parameters.profile",
    "",
    "1",
    "1:",
    ":1",
    "1:1,",
    "0.5:1",
    "0.5:1,0.6:1",
    "1:0",
    "1:-1",
    "-1:1",
    "1:nan",
    "1:inf",
    "1:1:1",
    "a:b",
    "0.5:1;0.5:2",
    "1.5:1,-0.5:1",
    says="share:multiple",
)
wrong("parameters.profile", "0.999:1,0.001:4", says="no user at L=100")
wrong("parameters.profile", None, 1, True, [["0.5", "1"]], {"0.5": 1})
wrong(
    "parameters.draw",
    "conditional",
    also=[("parameters.mechanism", "none")],
    says="no part of this study",
)

wrong(
    "name",
    "../x",
    "/abs",
    "a/../b",
    "a//b",
    "a/",
    "/",
    ".",
    "..",
    "",
    "a b",
    "a.b",
    "a\\b",
    "a\nb",
    "~",
    "$HOME",
    "é",
    "a" * 101,
    "a\0b",
)
wrong("name", None, 5, True, ["a"], {"a": 1}, GONE)
wrong("title", None, 5, True, ["a"], "\udcff")
wrong("question", None, 5, True, {"a": 1}, "a\0b")
wrong("claims", "", 5, None, ["xu"], "os:system")
wrong("metrics", None, [], "error_l2", 5, {"error_l2": 1}, [None], [5], [["error_l2"]], GONE)
wrong("metrics", ["error_l2", "error_l2"], says="twice")
wrong("metrics", ["eror_l2"], says="did you mean 'error_l2'")
wrong("metrics", ["Kendall"], says="did you mean 'kendall'")
wrong("paired", None, [], "mechanism", 5, [5])
wrong("paired", ["mechansm"], says="did you mean 'mechanism'")
wrong("paired", ["mechanism", "mechanism"], says="twice")
wrong("figures", 0, "", "a", {"kind": "curves"})
wrong("figures", [1], [["a"]], [None], at="figures.0")
CURVES = {"kind": "curves", "metric": "error_l2", "along": "x"}
wrong("figures", [CURVES | {"kind": "curvs"}], at="figures.0.kind", says="did you mean 'curves'")
wrong(
    "figures",
    [CURVES | {"metric": "eror_l2"}],
    at="figures.0.metric",
    says="did you mean 'error_l2'",
)
wrong("figures", [CURVES | {"along": "y"}], [CURVES | {"along": 5}], at="figures.0.along")
wrong("figures", [CURVES | {"select": {"m": 11}}], at="figures.0.select.m", says="no such level")
wrong("figures", [CURVES | {"colour": "red"}], at="figures.0.colour", says="allowed")

wrong("grid", None, [], {}, 5, "m", [{}], [None], [5], [{"m": [10]}, {"L": [100]}], {5: [10]}, GONE)
AXES = {"m": [10, 20], "L": [100], "x": [8], "estimator": ["debiased"]}
wrong("grid", [AXES, AXES], [AXES, AXES | {"m": [20, 40]}], says="twice")
wrong("grid", [AXES, dict(reversed(AXES.items()))], [AXES, {"m": [40]}], says="same axes")
MANY = list(range(2, 302))
wrong("grid", AXES | {"m": MANY, "L": MANY, "x": MANY}, says="10,000,000 cells")
wrong("grid.q", [1], says="no part of this study")
wrong("grid.epsilom", [1], says="did you mean 'epsilon'")
wrong("parameters", 0, 5, "", [], "model", {5: 1})
wrong("parameters.spred", 1, says="did you mean 'spread'")
wrong("parameters.lamda_scale", 1, says="did you mean 'lambda_scale'")
wrong("parameters._target_", "os.system", says="no part of this study")
wrong("parameters.m", 10, at="grid.m", says="twice")
wrong("parameters.estimator", "debiased", at="grid.estimator", says="twice")
wrong("parameters.epsilon", 1, says="twice")
wrong("grid.epsilon", [1], says="twice")
wrong("derive", 0, "", [], "budget_from_x", 5, {5: "budget_from_x"})
wrong("derive.epsilon", "budget_from_y", says="did you mean 'budget_from_x'")
wrong(
    "derive.epsilon",
    None,
    5,
    ["budget_from_x"],
    "os:getcwd",
    "pipeline.problems.ranking.derivations:budget_from_x",
)
wrong("derive.q", "budget_from_x", says="no part of this study")
wrong("derive.m", "budget_from_x", at="grid.m", says="twice")
wrong("grid.x", GONE, at="derive.epsilon", says="needs x")
wrong("derive", GONE, at="grid.x", says="no part of this study")
wrong(
    "derive",
    {},
    at="parameters.epsilon",
    says="needed by RandomizedResponse",
    also=[("grid.x", GONE)],
)
SCHEME = (
    ("derive", {"epsilon": "scheme_budget"}),
    ("grid.x", GONE),
    ("grid.scheme", ["log"]),
    ("parameters.reference_L", 100),
    ("parameters.reference_epsilon", 1.0),
)
wrong("parameters.reference_L", GONE, at="derive.epsilon", says="needs reference_L", also=SCHEME)
wrong("parameters.reference_L", 0.5, "100", None, True, INF, also=SCHEME)
wrong("parameters.reference_L", 0, -5, at="derive.epsilon", also=SCHEME)
wrong("parameters.reference_epsilon", 0, -1, at="derive.epsilon", also=SCHEME)
wrong("parameters.reference_epsilon", "1", NAN, None, True, also=SCHEME)
wrong("grid.scheme", ["lgo"], says="did you mean 'log'", also=SCHEME)
wrong("grid.scheme", [1], [True], ["log", "log"], also=SCHEME)
wrong(
    "derive",
    {"epsilon": "budget_from_x", "x": "scheme_budget"},
    at="derive.epsilon",
    says="needs x",
    also=SCHEME,
)

wrong("task", "walk", "", "RUN", None, 5, True, ["run"], {"run": 1})
wrong("task", "statu", says="did you mean 'status'")
wrong("outputs", "", " ", None, 5, True, ["a"], "a\0b", "a" * 300, "x/" + "b" * 300, "\udcff")
wrong("stop_after", 0, -1, "1 h", "soon", True, NAN, INF, -INF, [1], {"a": 1}, HUGE)
wrong("most_seconds", 0, -1, "1 h", "soon", True, NAN, INF, -INF, [1], {"a": 1}, HUGE)
wrong("most_failures", -1, 1.5, "few", True, None, NAN, INF, [1], {"a": 1})
for flag in ("retry_failed", "repair"):
    wrong(flag, None, 0, 1, "true", "Yes", [True], {})
wrong("unit", 5, True, ["a"], {"a": 1})
wrong("cluster", None, "local", 5, True, [], ["local"])
wrong("cluster.kind", "locl", says="did you mean 'local'")
wrong("cluster.kind", None, "", 5, True, ["local"], GONE, "distributed:LocalCluster")
wrong("cluster.workers", 0, -1, 1.5, "two", "2", True, NAN, INF, [2], {"a": 2}, HUGE)
wrong("cluster.worker", 2, says="did you mean 'workers'")
wrong("cluster.memory", "lots", "", "1", "-2GiB", "2 apples", 5, True, ["2GiB"])
wrong("cluster.workers", 2, also=[("cluster.kind", "synchronous")], says="no such key")
for typo, meant in dict(
    sed="seed",
    replication="replications",
    blok="block",
    gird="grid",
    metric="metrics",
    parameter="parameters",
    output="outputs",
    tsk="task",
    clusters="cluster",
    stop_afer="stop_after",
    derives="derive",
    figure="figures",
).items():
    wrong(typo, 1, says=f"did you mean '{meant}'")
wrong("_target_", "os.system", says="no such key")
wrong("hydra", {}, says="no such key")


def change(config, edits):
    """A copy of the config with dotted keys set or taken away."""
    config = copy.deepcopy(config)
    for key, value in edits:
        *path, last = key.split(".") if key != "_target_" else [key]
        node = config
        for name in path:
            node[name] = {} if node.get(name) is None else node[name]
            node = node[name]
        if value is GONE:
            node.pop(last, None)
        else:
            node[last] = copy.deepcopy(value)
    return config


def name_of(case):
    edits = case[0]
    return f"{edits[-1][0]}-{'gone' if edits[-1][1] is GONE else ascii(edits[-1][1])[:24]}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_mistakes_in_a_config(case, base, monkeypatch, capsys):
    edits, key, says = case
    config = change(base, edits)
    assert repr(config) != repr(base)
    monkeypatch.setattr("pipeline.cli.compose.compose", lambda _: [config])
    refused(capsys, ["task=run"], key, says)


def test_the_table_is_long_and_every_mistake_is_another():
    distinct = {repr([(k, "gone" if v is GONE else v) for k, v in edits]) for edits, _, _ in CASES}
    assert len(distinct) == len(CASES)
    assert len(CASES) + len(COMMANDS) + len(ON_DISK) >= 200
    print(f"{len(CASES)} configs, {len(COMMANDS)} commands, {len(ON_DISK)} folders")


# Mistakes on the command line, through Hydra: words, key that the message must name, words that it must have.
COMMANDS = [
    ("grid.m", "command line", "key=value"),
    ("=5", "command line", ""),
    ("grid.m=[10,20", "command line", "key=value"),
    ("grid.m = [10]", "command line", "key=value"),
    ("xu/lemmas", "command line", "write experiment=xu/lemmas"),
    ("title='x", "command line", "key=value"),
    ("title=__import__('os').system('touch here')", "command line", "key=value"),
    ("title=$(touch here)", "command line", "key=value"),
    ("seed=${", "command line", "key=value"),
    ("seed=1,2", "seed", "one value"),
    ("seed=range(1,3)", "seed", "one value"),
    ("seed=${oc.env:HOME}", "seed", "written out"),
    ("title=${oc.env:HOME}", "title", "written out"),
    ("outputs=${now:%Y}", "outputs", "written out"),
    ("outputs=a/${hydra:runtime.cwd}", "outputs", "written out"),
    ("block=${replications}", "block", "written out"),
    ("name=${nothing}", "name", "written out"),
    ("grid.m=[${seed}]", "grid.m.0", "written out"),
    ("sed=5", "sed", "did you mean 'seed'"),
    ("seed.a=5", "seed.a", ""),
    ("+sed=5", "sed", "did you mean 'seed'"),
    ("+seed=5", "seed", "without +"),
    ("~nothing", "nothing", "allowed"),
    ("_target_=os.system", "_target_", "allowed"),
    ("+parameters._target_=os.system", "parameters._target_", "allowed"),
    ("+_target_=os.system", "_target_", "allowed"),
    ("+defaults=[a]", "defaults", "allowed"),
    ("grid=5", "grid", "must be"),
    ("grid=[{m:[10]}]", "grid", "set single fields"),
    ("grid.m.x=1", "grid.m.x", ""),
    ("grid.q=[1]", "grid.q", "+grid.q=… adds one"),
    ("parameters.mode=btl", "parameters.mode", "did you mean 'model'"),
    ("seed=1e400", "seed", "finite"),
    ("seed=" + "9" * 400, "seed", "finite"),
    ("seed=" + "9" * 5000, "seed", ""),
    ("experiment=xu/scenaro_2", "experiment", "did you mean 'xu/scenario_2'"),
    ("experiment=", "experiment", "no such experiment; allowed: banerjee/adaptive"),
    ("experiment=null", "experiment", "no such experiment; allowed: banerjee/adaptive"),
    ("experiment=5", "experiment", "no such experiment; allowed: banerjee/adaptive"),
    ("experiment=[xu/lemmas]", "experiment", "xu/lemmas"),
    ("experiment=../config", "experiment", "no such experiment; allowed: banerjee/adaptive"),
    ("experiment=/etc/passwd", "experiment", "no such experiment; allowed: banerjee/adaptive"),
    ("experiment=${oc.env:HOME}", "experiment", "no such experiment; allowed: banerjee/adaptive"),
    ("+experiment=xu/lemmas", "experiment", "write experiment=NAME"),
    ("experiment@a=xu/lemmas", "experiment@a", "write experiment=NAME"),
    ("~experiment", "experiment", "write experiment=NAME"),
    ("suite=dem", "suite", "did you mean 'demo'"),
    ("suite=demo experiment=xu/lemmas", "experiment", "only one of them"),
    ("experiments=5", "experiments", "list of experiments"),
    ("experiments=[nope]", "experiments", "list of experiments"),
    ("experiments=[xu/lemmas,xu/lemmas]", "experiments", "twice"),
    ("size=huge", "size", "paper, quick"),
    ("size=../size/quick", "size", "paper, quick"),
    ("cluster=locl", "cluster", "did you mean 'local'"),
    ("cluster={kind:local}", "cluster", "did you mean 'local'"),
    ("cluster=synchronous cluster.workers=2", "cluster.workers", "no such key"),
    ("cluster.workers=0", "cluster.workers", "≥ 1"),
    ("cluster.workers=999999999999", "cluster.workers", "≤ 10,000"),
    ("outputs=~nobody-here/x", "outputs", "no such user"),
    (
        "cluster=address cluster.address=tls://host:8786 cluster.ca=~nobody-here/a",
        "cluster.ca",
        "no such user",
    ),
    ("hydra.run.dir=/tmp/a", "hydra.run.dir", "--help"),
    ("hydra.searchpath=[/etc]", "hydra.searchpath", "--help"),
    ("hydra/launcher=joblib", "hydra/launcher", "--help"),
    ("size=quik", "size", "did you mean 'quick'?"),
    ("task=replay", "unit", "needed with task=replay"),
    ("task=replay unit=c0-0", "unit", "no such unit"),
    ("task=replay unit=../x", "unit", "no such unit"),
    ("task=replay unit=c" + "f" * 40 + "-0", "unit", "no such unit"),
    ("task=replay unit=", "unit", "no such unit"),
    ("data.path=a b [1], x=2.csv", "data.path", "takes no such file"),
    ("data.path='a b [1], x=2.csv'", "data.path", "takes no such file"),
    ("+data.foo=1", "data.foo", "allowed: items, path"),
    ("coordinates=[nonsense]", "coordinates", "no such derivation"),
    ("coordinates=[epsilon_user,epsilon_user]", "coordinates", "twice"),
    ("coordinates=[signal]", "parameters.spacing", "needed by coordinates=signal"),
    (
        "grid.mechanism=laplace",
        "grid.mechanism",
        "is a constant of this study; write parameters.mechanism=",
    ),
    ("parameters.mechanism=laplace", "parameters.draw", "~parameters.draw removes it"),
    ("task=verify", "task", "not begun"),
    ("task=report", "task", "run it first"),
]


@pytest.mark.parametrize("words, key, says", COMMANDS, ids=[c[0][:40] for c in COMMANDS])
def test_mistakes_on_the_command_line(words, key, says, capsys):
    small = [o for o in SMALL if not (o.startswith("cluster=") and "cluster" in words)]
    arguments = words.split(" ") if words.startswith(("suite", "task", "cluster")) else [words]
    line = refused(capsys, [*small, *arguments], key, says)
    assert str(Path.home()) not in line


# Folders that cannot be used: what is there, and the words of the message.
def _store(text):
    def put(folder, _):
        (folder / "replications").mkdir(parents=True)
        (folder / "replications/study.json").write_bytes(text)

    return put


def _identity(identity):
    whole = {**identity, "digest": digest(canonical(identity), 8).hex()}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _earlier(folder, _):
    (folder / "replications.zarr").mkdir(parents=True)


def _lost(folder, _):
    (folder / "replications/units/0").mkdir(parents=True)
    (folder / "replications/units/0/0123456789abcdef").write_bytes(b"?")


def _file_at_outputs(_, outputs):
    outputs.write_text("mine")


def _file_at_folder(folder, _):
    folder.parent.mkdir(parents=True)
    folder.write_text("mine")


ON_DISK = {
    "another study": ({"name": "other"}, "holds another study (name differ)"),
    "another seed": ({"seed": 99}, "holds another study (seed differ)"),
    "an earlier version's": (_earlier, "earlier version"),
    "a lost description": (_lost, "is lost, while units are there"),
    "a file of somebody else": (_store(b'{"node_type": "group"}'), "is damaged; task=verify"),
    "no JSON": (_store(b"mine"), "is damaged; task=verify"),
    "binary": (_store(b"\xff\xfe\x00"), "is damaged; task=verify"),
    "a list": (_store(b"[1, 2]"), "is damaged; task=verify"),
    "nested without end": (_store(b"[" * 200_000), "is damaged; task=verify"),
    "empty": (_store(b""), "is damaged; task=verify"),
    "a file for outputs": (_file_at_outputs, "is a file"),
    "a file for the study": (_file_at_folder, "is a file"),
}


@pytest.mark.parametrize("what", ON_DISK)
def test_folders_that_are_not_ours(what, tmp_path, capsys):
    study = read_experiment(compose(SMALL)[0]).study
    outputs = tmp_path / "there"
    folder = outputs / f"{study.name}-{study.key}"
    put, says = ON_DISK[what]
    put = put if callable(put) else _store(_identity(study.description | put))
    put(folder, outputs)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    refused(capsys, [*SMALL, f"outputs={outputs}"], "outputs", says)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs /proc")
@pytest.mark.parametrize("outputs", ["/proc/here", "/proc/version/here", "/dev/null"])
def test_places_that_take_no_folder(outputs, capsys):
    refused(capsys, [*SMALL, f"outputs={outputs}"], "outputs")


def test_a_folder_without_permission(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("os.access", lambda *_: False)
    refused(capsys, [*SMALL, f"outputs={tmp_path}/there"], "outputs", "no permission")


def test_a_full_disk(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 0))
    refused(capsys, [*SMALL, f"outputs={tmp_path}/there"], "outputs", "are free there")


@pytest.mark.parametrize("options, says", [("size=16k", "are free there"), ("ro", "no permission")])
def test_a_real_disk_that_is_full_or_read_only(options, says, tmp_path_factory, capsys):
    disk = tmp_path_factory.mktemp("disk")  # a short path, as the line names it
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount")
    try:
        refused(capsys, [*SMALL, f"outputs={disk}/there"], "outputs", says)
    finally:
        subprocess.run(["umount", disk], check=True)


# The same from outside, with everything watched that a process could do.
WATCHED = """
import json, sys
seen = []
def watch(event, args):
    if not watch.on or any("__pycache__" in str(a) for a in args):
        return
    if event == "open":
        touches = set(str(args[1] or "")) & set("wax+") or (args[1] is None and args[2] & 3)
    else:
        touches = event in (
            "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.bind",
            "socket.connect", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.putenv")
    if touches:
        seen.append((event, str(args)[:200]))
watch.on = False
sys.addaudithook(watch)
from pipeline.__main__ import main
codes = [main(["seed=nothing"])]  # imports come first
watch.on = True
codes += [main(arguments) for arguments in json.loads(sys.argv[1])]
watch.on = False
print(json.dumps([codes, seen]))
"""


def test_code_in_a_config_is_never_run_and_nothing_is_touched(tmp_path):
    code = [
        words
        for words, *_ in COMMANDS
        if any(t in words for t in ("${", "_target_", "import", "$("))
    ]
    code += [
        "parameters.model=os:system",
        "metrics=[os.system]",
        "+grid._target_=[os.system]",
        "cluster.kind=os.system",
        "claims=os:system",
        "derive.epsilon=os:system",
        "+cluster._target_=os.system",
        "task=report",
    ]
    assert len(code) > 15
    command = [sys.executable, "-c", WATCHED, json.dumps([[*SMALL, c] for c in code])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    codes, seen = json.loads(done.stdout)
    lines = done.stderr.splitlines()
    assert set(codes) == {2} and seen == []
    assert len(lines) == len(codes) and all(line.startswith("error: ") for line in lines), (
        done.stderr
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["grid.m=[1]"], ["outputs=/dev/null"]])
def test_from_a_shell(words, tmp_path):
    command = [sys.executable, "-m", "pipeline", *SMALL, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "" and list(tmp_path.iterdir()) == []
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
