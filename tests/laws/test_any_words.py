"""Law: whatever a person types, or writes into a YAML file, is one line that says what is wrong, or a valid request.

Words and files are drawn at random with fixed seeds: some here, as many as fit into PIPELINE_FUZZ_SECONDS
(of the clock, for each of the tests) where that is set. No case may end in a traceback, hang, run code or write outside
of its folder. Nothing is simulated: what would begin to is replaced.
"""

import os
import random
import signal
import string
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.execution.plan import Prediction
from pipeline.identity.registry import problems
from pipeline.workflow.config_files import files
from pipeline.workflow.tasks import TASKS

SECONDS = float(os.environ.get("PIPELINE_FUZZ_SECONDS", 0))
FIRST = int(
    os.environ.get("PIPELINE_FUZZ_FIRST", 0)
)  # number of the first case: other ones than before
LONGEST = 500  # characters of a line
PATIENCE = 20  # seconds for one case, on a machine with much to do
EXPERIMENTS = (
    "xu/lemmas",
    "xu/scenario_2",
    "nguyen/privacy",
    "banerjee/shapes",
    "wang/limits",
    "own/ranking",
)
NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "3",
    "0.5",
    "1e3",
    "1e400",
    "-0.0",
    "nan",
    "-inf",
    "inf",
    "9" * 400,
    "9" * 5000,
    "10_0",
    "0x10",
    "1e-320",
    "007",
    "1e",
    "1.",
    "+1",
    "٣",
    "2147483648",
    "9223372036854775808",
)
TEXTS = (
    "",
    "null",
    "true",
    "no",
    "~",
    "a",
    "é",
    "\u202e",
    "\x1b[31m",
    "a b",
    "a\nb",
    "\t",
    "'",
    '"',
    "a'b",
    "\\",
    "\\'",
    "\udcff",
    "🦆",
    "none",
    "btl",
    "../x",
    "/",
    "//",
    ".",
    "..",
    "~nobody-here/x",
    "a" * 300,
    "/dev/null/x",
    "$(touch ran)",
    "`touch ran`",
    "__import__('os').system('touch ran')",
    "!!python/object/apply:os.system",
    "${oc.env:HOME}",
    "${seed}",
    "${",
    "$",
    "{}",
    "[]",
    "[[[]]]",
    "{a:{b:{c:1}}}",
    "[1,2",
    "{a:",
    "[1,,2]",
    "1,2",
    "range(1,3)",
    "glob(*)",
    "choice(1,2)",
    "sort(3,1)",
    "int(3)",
    "str(1)",
    "json_str(1)",
    "extend_list(1)",
    "interval(0,1)",
    "[" * 100,
    "{a:" * 50,
    "[" * 2000 + "]" * 2000,
    "a" * 60_000,
    "[" + "1," * 9_000 + "1]",
    "[" + "'a'," * 9_000 + "1]",
    "{" + "a:1," * 9_000 + "b:1}",
    "." * 60_000 + ":",
    "=",
    "==",
    ":",
    ";",
    "#",
    "@",
    "%s",
    "{0}",
    "laplace",
    "xu/lemmas",
    "data.csv",
    "own.yaml",
    "missing.csv",
    "fifo",
    "folder",
    "1:1",
    "0.5:1,0.5:2",
    "error_l2<=0.1",
    "error_l2 <= 1e400",
    "kendall<=0.1 and top_k>=0.9",
    "<=",
    "claims",
    "pocock",
    "svg,png",
    "a,b",
)
FLAGS = (
    "--json",
    "--with",
    "--with=",
    "--with=missing.py",
    "--with=folder",
    "--with=fifo",
    "--help",
    "-h",
    "--cfg",
    "--cfg=job",
    "-c",
    "-m",
    "--",
    "-",
    "--version",
    "--multirun",
    "--config-dir=/x",
    "-😀",
    "--json=1",
    "help",
)


@dataclass
class Watch:
    """What happened while a case ran that must never happen."""

    folder: str = ""
    on: bool = False
    seen: tuple = ()

    def __call__(self, event, args):
        if not self.on:
            return
        if event in (
            "os.system",
            "os.exec",
            "os.posix_spawn",
            "subprocess.Popen",
            "socket.connect",
        ):
            self.seen += ((event, str(args)[:200]),)
        writes = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if writes or event in (
            "os.mkdir",
            "os.rename",
            "os.remove",
            "os.rmdir",
            "os.truncate",
            "os.symlink",
        ):
            path = (
                os.path.abspath(os.fsdecode(args[0]))
                if isinstance(args[0], str | bytes)
                else self.folder
            )
            if (
                not path.startswith(self.folder)
                and "__pycache__" not in path
                and path != os.devnull
            ):
                self.seen += ((event, path),)


WATCH = Watch()
sys.addaudithook(WATCH)


class Accepted(Exception):
    """The case was understood: from here on it would be simulated."""


class TooLong(BaseException):
    """The case did not end in time."""


def accepted(*_, **__):
    raise Accepted


def too_long(*_):
    raise TooLong


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files to name, in which nothing is simulated."""
    replaced = (
        "tasks.run.run",
        "tasks.run.report",
        "submit.submit",
        "verify.verify",
        "protocol.write",
    )
    for name in replaced:
        monkeypatch.setattr(f"pipeline.cli.{name}", accepted)
    monkeypatch.setattr("pipeline.workflow.controls.controls", accepted)
    monkeypatch.setattr("pipeline.advice.answer.answer", accepted)
    monkeypatch.setattr("pipeline.cli.flags.own_files.execute", accepted)
    monkeypatch.setattr(
        "pipeline.execution.plan.predict", lambda *_: Prediction(1, None, None, None)
    )
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("user,first,second,winner\n" + "1,a,b,a\n2,b,a,b\n3,a,b,b\n")
    Path("own.yaml").write_text(files("experiment")["xu/lemmas"].read_text())
    Path("folder").mkdir()
    os.mkfifo("fifo")
    WATCH.folder = str(tmp_path)
    before = signal.signal(signal.SIGALRM, too_long)
    yield tmp_path
    signal.signal(signal.SIGALRM, before)


def fault(words, capsys):
    """What is wrong with the end of a command; empty if nothing is."""
    capsys.readouterr()
    WATCH.seen, WATCH.on = (), True
    signal.alarm(PATIENCE)
    try:
        code = main(words)
    except Accepted:
        code = 0
    except (Exception, SystemExit, TooLong, RecursionError):
        WATCH.on = False
        return "".join(traceback.format_exc().splitlines(keepends=True)[-9:])
    finally:
        WATCH.on = False
        signal.alarm(0)
    printed = capsys.readouterr()
    errors = [
        line
        for line in printed.err.split("\n")
        if line and not line.startswith(("warning: ", "note: "))
    ]
    if not all(line.isprintable() for line in printed.err.split("\n")):
        return f"prints signs that control a terminal: {printed.err[:300]!r}"
    if WATCH.seen or Path("ran").exists() or "this" in sys.modules:
        return f"did {WATCH.seen}"
    if code in (0, 75) and not errors:  # 75: there is more to do
        return ""
    if code != 2 or len(errors) != 1 or not errors[0].startswith("error: "):
        return f"ended with {code}: {printed.err[:600]!r}"
    if not errors[0].isprintable() or len(errors[0]) > LONGEST:
        return f"no plain line: {errors[0][:900]!r}"
    return "" if not printed.out.strip() else f"printed {printed.out[:300]!r} before {errors[0]!r}"


def search(draw, few, capsys):
    """Draw and try cases; fails with all that went wrong, one for each place."""
    faults, number, end = {}, FIRST, time.monotonic() + SECONDS
    while number < FIRST + few or time.monotonic() < end:
        words = draw(random.Random(number))
        said = fault(words, capsys)
        if said:
            faults.setdefault(said.strip().splitlines()[-1][:70], (number, words, said))
        number += 1
    print(f"{number - FIRST} cases")
    texts = [
        f"case {number}: {words!r}"[:1500] + f"\n{said}" for number, words, said in faults.values()
    ]
    assert not faults, "\n\n".join(texts)


def keys():
    """Dotted keys of the configs of some experiments, and some that there are not."""
    names = {
        "q",
        "",
        "é",
        "hydra.x",
        "_target_",
        "grid",
        "parameters._target_",
        "grid.0.m",
        "precision.error_l2",
        "refine.along",
        "refine",
        "until.most",
        "until.claims",
        "experiments",
        "problem",
        "target",
        "save",
        "like",
        "unknown",
        "people",
        "epsilon",
        "items",
        "task",
        "parameters.epsilon_user",
        "a b",
        "quick.replications",
        "figures.0.kind",
        "store.url",
        "cluster.kind",
        "cluster.walltime",
        "cluster@x",
        "hydra/launcher",
    }
    for name in EXPERIMENTS:
        for key, value in compose([f"experiment={name}"])[0].items():
            inside = value if isinstance(value, dict) else {}
            names |= {key, *(f"{key}.{inner}" for inner in inside)}
    for problem in problems().values():
        names |= {
            part
            for kind in ("model", "mechanism", "estimator", "metric")
            for part in problem.names(kind)
        }
    return sorted(names)


def value(rng):
    """A value as somebody may type it."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.75:
        return rng.choice(TEXTS)
    if kind < 0.85:
        return "[" + ",".join(value(rng) for _ in range(rng.randint(0, 3))) + "]"
    if kind < 0.92:
        return (
            "{"
            + ",".join(f"{rng.choice(TEXTS)}:{value(rng)}" for _ in range(rng.randint(0, 3)))
            + "}"
        )
    return "".join(rng.choice(string.printable + "éε\udcff") for _ in range(rng.randint(1, 12)))


def word(rng, known):
    """One word of a command."""
    kind = rng.random()
    if kind < 0.06:
        return rng.choice(FLAGS)
    if kind < 0.1:
        return value(rng)
    sign = rng.choice(["", "", "", "", "", "+", "++", "~", "=", "@"])
    middle = rng.choice(["=", "=", "=", "=", "=", "=", "", "=="])
    return f"{sign}{rng.choice(known)}{middle}{value(rng)}"


def command(known):
    """Draws of commands."""

    def draw(rng):
        words = [f"experiment={rng.choice(EXPERIMENTS)}"] if rng.random() < 0.5 else []
        words += (
            [f"task={rng.choice([*TASKS, 'plan', 'show', 'advise', 'release'])}"]
            if rng.random() < 0.7
            else []
        )
        words += (
            [f"problem={rng.choice(['ranking', 'response', 'crowd'])}"]
            if rng.random() < 0.1
            else []
        )
        words += [word(rng, known) for _ in range(rng.randint(1, 3))]
        rng.shuffle(words)
        # A NUL cannot be typed; a query is for shells; an experiment's size may be anything, its memory not.
        return [one.replace("\0", "") for one in words if not one.startswith("query=")]

    return draw


def test_words_of_a_command(folder, capsys):
    search(command(keys()), 40, capsys)


def changed(rng, node):
    """A value of YAML with one of its parts replaced, taken away, repeated or put elsewhere."""
    inside = isinstance(node, dict | list) and node and rng.random() < 0.85
    if not inside:
        plain = (
            None,
            True,
            -1,
            0,
            10**400,
            1e308,
            float("nan"),
            "",
            "é",
            [],
            {},
            [[]],
            {"a": 1},
            {1: 2},
            {None: 1},
            [None],
            2.5,
            "1e3",
            b"bytes",
            "a" * 300,
            rng.choice(TEXTS).replace("\udcff", "?"),
        )
        return rng.choice(plain)
    if isinstance(node, list):
        place = rng.randrange(len(node))
        kind = rng.random()
        if kind < 0.15:
            return [*node, *node]
        if kind < 0.3:
            return node[:place]
        return [*node[:place], changed(rng, node[place]), *node[place + 1 :]]
    name = rng.choice([*node])
    kind = rng.random()
    if kind < 0.1:
        return {key: one for key, one in node.items() if key != name}
    if kind < 0.2:
        return {
            **node,
            rng.choice(["q", "_target_", "", "m", "epsilon", "name", 5, None, True]): node[name],
        }
    return {**node, name: changed(rng, node[name])}


def spoiled(rng, text):
    """A text with some of its signs changed."""
    for _ in range(rng.randint(1, 3)):
        place, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        sign = rng.choice(
            [
                *string.punctuation,
                "\t",
                "\0",
                "é",
                "\n",
                "- ",
                ": ",
                "&a ",
                "*a",
                "!!set ",
                "!!binary ",
                "<<: *a",
                "--- ",
                "? ",
                "%YAML 9\n",
                "!!python/name:os.system ",
                "\x85",
                "\ufeff",
                "  ",
                "!!omap ",
                "!!timestamp ",
                "2001-01-01",
                "!!float ",
                "!!int ",
                "1:30:00",
                "0b1",
                "~",
            ]
        )
        text = text[:place] + sign + text[place if rng.random() < 0.7 else min(end, place + 40) :]
    return text


def experiment_file(rng):
    """Draws of files of experiments, each with a task that reads it."""
    text = files("experiment")[rng.choice(EXPERIMENTS)].read_text("utf-8")
    kind = rng.random()
    if kind < 0.6:
        tree = yaml.safe_load(text)
        for _ in range(rng.randint(1, 2)):
            tree = changed(rng, tree)
        content = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode(errors="replace")
    else:
        content = spoiled(rng, text).encode()
    if kind > 0.95:
        place = rng.randrange(len(content))
        content = content[:place] + bytes(rng.randrange(256) for _ in range(3)) + content[place:]
    Path("drawn.yaml").write_bytes(content)
    return [
        "experiment=drawn.yaml",
        f"task={rng.choice(['plan', 'show', 'run', 'status'])}",
        *(["size=quick"] if rng.random() < 0.5 else []),
    ]


def test_files_of_experiments(folder, capsys):
    search(experiment_file, 40, capsys)


@pytest.mark.parametrize("sign", ["\t", "\u202e", "\x1b", "\ufeff"])
def test_a_hint_that_repeats_what_was_written_controls_no_terminal(sign, folder, capsys):
    tree = yaml.safe_load(Path("own.yaml").read_text())
    tree["parameters"][f"a{sign}b"] = 1
    Path("own.yaml").write_text(yaml.safe_dump(tree))
    assert fault(["experiment=own.yaml", "task=show"], capsys) == ""
    assert (
        main(["experiment=own.yaml", "task=show"]) == 2 and "removes it" in capsys.readouterr().err
    )


def test_a_fault_is_seen(folder, capsys, monkeypatch):
    """The negative control: a traceback, a file elsewhere, code, two lines and a hang are told from a good end."""
    assert fault(["task=plan"], capsys) == "" and fault(["seed=x"], capsys) == ""
    monkeypatch.setattr("pipeline.cli.tasks.perform", lambda *_: 1 // 0)
    assert "ZeroDivisionError" in fault(["task=plan"], capsys)
    monkeypatch.setattr("pipeline.cli.tasks.perform", lambda *_: os.system("true"))
    assert "os.system" in fault(["task=plan"], capsys)
    monkeypatch.setattr(
        "pipeline.cli.tasks.perform", lambda *_: print("a\nb", file=sys.stderr) or 2
    )
    assert "ended with 2" in fault(["task=plan"], capsys)
    monkeypatch.setattr(f"{__name__}.PATIENCE", 1)
    monkeypatch.setattr("pipeline.cli.tasks.perform", lambda *_: time.sleep(9))
    assert "TooLong" in fault(["task=plan"], capsys)
