"""200 drawn mistakes of a newcomer: is each one helpful line, and is the right name suggested?

A line is helpful if it says what is wrong and where, and what is allowed or what to do. Each
mistake lists the texts that its line must have for that. Some mistakes are names of the program,
misspelt at random; others are drawn from bad_inputs.yaml. Every one runs in a process that is
forked from this one, in a folder of its own.
"""

import importlib
import json
import os
import random
import re
import shlex
import shutil
import string
import sys
import tempfile
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

NUMBER = 200
SEED = 2024
LONGEST = 500  # characters of a line that somebody reads
BAR = 0.9  # share of misspelt names for which the right one must be suggested
TABLES = Path(__file__).with_suffix(".yaml")
ALLOWED = r"allowed|must|only|needs?|takes|write|give|did you mean|there (is|are)|is not|cannot"
QUIET = ("cluster=synchronous", "claims=false", "figures=[]")
NOTES = ("warning: ", "note: ")  # lines that are no error
WARM = ("hydra.core.override_parser.overrides_parser", "pipeline.__main__", "pipeline.library.runs")

STUDY = """problem: ranking
seed: 1
replications: 20
block: 10
grid: {epsilon: [0.5, 4]}
parameters: {model: btl, mechanism: laplace, estimator: debiased, m: 5, L: 20}
metrics: [error_l2]
"""
PART = """from dataclasses import dataclass, replace
import numpy as np
import pipeline as pl

@dataclass(frozen=True)
class Mine(pl.ranking.Debiased):
    def fit(self, release, rng):
        made = super().fit(release, rng)
        {body}

pl.register("ranking", estimators={{"mine": Mine}})
"""
KEYS = (
    "replications=100",
    "block=50",
    "outputs=here",
    "stop_after=60",
    "retry_failed=true",
    "most_failures=3",
    "formats=png",
    "metrics=[error_l2]",
    "parameters.estimator=debiased",
    "parameters.model=btl",
    "grid.epsilon=[1]",
    "cluster.workers=2",
    "precision.error_l2.relative=0.1",
    "refine.along=epsilon",
    "refine.metric=error_l2",
    "statistics.error_l2=[median]",
    "until.claims.spending=pocock",
    "store.url=s3://a/b",
)
STUDIES = {"ranking": "xu/scenario_2", "response": "nguyen/privacy", "crowd": "wang/privacy"}
LISTS = ("experiments", "suites", "problems", "models", "mechanisms", "estimators", "metrics")


@dataclass(frozen=True)
class Mistake:
    """What somebody types, and what the answer must say.

    kind: of mistake. words: of the command; none where a call from Python is wrong. call: that
    call. files: name -> content, in the folder where it is typed. says: texts that must be in the
    line, what is wrong and where. allowed: a pattern of what is allowed, or of what to do. meant:
    the name that was misspelt; empty where none was.
    """

    kind: str
    words: tuple[str, ...] = ()
    call: str = ""
    files: dict[str, str | bytes] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    allowed: str = ALLOWED
    meant: str = ""

    @property
    def typed(self) -> str:
        """As somebody would type it."""
        return self.call or shlex.join(["pipeline", *self.words])


@dataclass(frozen=True)
class Answer:
    """What the program said: its exit code, and both of its streams."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines that say what is wrong."""
        lines = self.err.splitlines()
        return [line for line in lines if line and not line.startswith(NOTES)]


@dataclass(frozen=True)
class Shares:
    """Of so many mistakes: those answered by one helpful line; names misspelt, and suggested."""

    mistakes: int
    helpful: int
    misspelt: int
    suggested: int


def misspelt(draw: random.Random, name: str, known: Collection[str]) -> str:
    """A name as somebody mistypes it, which is no known name."""
    while True:
        wrong = _slip(draw, name)
        if wrong != name and wrong not in known and re.fullmatch(r"[\w/-]+", wrong):
            return wrong


def _slip(draw: random.Random, name: str) -> str:
    """One of six slips, after the first letter."""
    at = draw.randrange(1, len(name))
    before, letter, after = name[:at], name[at], name[at + 1 :]
    slips = [
        before + after,
        before + letter + letter + after,
        before[:-1] + letter + before[-1] + after,
        before + draw.choice(string.ascii_lowercase) + after,
        name + "s",
        name.replace("_", "-") if "_" in name else name.capitalize(),
    ]
    return draw.choice(slips)


def _key(draw: random.Random) -> Mistake:
    name, _, value = draw.choice(KEYS).partition("=")
    names = name.split(".")
    which = draw.choice([0, len(names) - 1])
    meant = names[which]
    wrong = misspelt(draw, meant, KEYS)
    names[which] = wrong
    words = ("experiment=xu/lemmas", f"{'.'.join(names)}={value}")
    return Mistake("misspelt key", words, says=(wrong,), meant=meant)


def _experiment(draw: random.Random) -> Mistake:
    from pipeline.workflow.config_files import options

    kind = draw.choice(["experiment", "experiment", "experiment", "suite"])
    known = [name for name in options(kind) if name != "none"]
    meant = draw.choice(known)
    wrong = misspelt(draw, meant, known)
    return Mistake(f"misspelt {kind}", (f"{kind}={wrong}",), says=(kind, wrong), meant=meant)


def _part(draw: random.Random) -> Mistake:
    from pipeline.identity.registry import problems

    problem = draw.choice([*STUDIES])
    kind = draw.choice(["model", "mechanism", "estimator", "metric"])
    known = list(problems()[problem].names(kind))
    meant = draw.choice([name for name in known if len(name) > 3])
    wrong = misspelt(draw, meant, known)
    word = f"metrics=[{wrong}]" if kind == "metric" else f"++parameters.{kind}={wrong}"
    words = (f"experiment={STUDIES[problem]}", "size=quick", word)
    return Mistake(f"misspelt {kind}", words, says=(kind, wrong), meant=meant)


def _problem(draw: random.Random) -> Mistake:
    from pipeline.identity.registry import problems

    meant = draw.choice([*problems()])
    wrong = misspelt(draw, meant, problems())
    rest = draw.choice(
        [
            "advise m=5 L=100 target=kendall<=0.1",
            "audit mechanism=randomized_response epsilon=1",
            "release data.path=a.csv outputs=out",
        ]
    )
    words = (*rest.split(), f"problem={wrong}")
    return Mistake("misspelt problem", words, says=("problem", wrong), meant=meant)


def _task(draw: random.Random) -> Mistake:
    from pipeline.workflow.tasks import TASKS

    meant = draw.choice([name for name in TASKS if len(name) > 3])
    wrong = misspelt(draw, meant, TASKS)
    typed = draw.choice(
        ["{} experiment=xu/lemmas", "{}", "task={} experiment=xu/lemmas", "{} --help"]
    )
    words = tuple(typed.format(wrong).split())
    return Mistake("misspelt task", words, says=(wrong,), meant=meant)


def _list(draw: random.Random) -> Mistake:
    meant = draw.choice(LISTS)
    wrong = misspelt(draw, meant, LISTS)
    return Mistake("misspelt list", ("--help", wrong), says=(wrong,), meant=meant)


def _section(draw: random.Random) -> Mistake:
    sections = [line.partition(":")[0] for line in STUDY.splitlines()]
    meant = draw.choice(sections)
    wrong = misspelt(draw, meant, sections)
    files: dict[str, str | bytes] = {"own.yaml": STUDY.replace(f"{meant}:", f"{wrong}:", 1)}
    words = ("experiment=own.yaml",)
    return Mistake("section of a study", words, files=files, says=(wrong,), meant=meant)


def _good_files() -> dict[str, str]:
    """A file of data that each of the three experiments with own data takes."""
    comparisons = "".join(f"u{k},{'tea,milk' if k % 3 else 'milk,tea'}\n" for k in range(9))
    pairs = [(k, i) for k in range(6) for i in range(5)]
    responses = "".join(f"p{k},q{i},{(k + i) % 2}\n" for k, i in pairs)
    labels = "".join(f"t{k},w{i},{'yes' if (k * i) % 3 else 'no'}\n" for k, i in pairs)
    return {
        "ranking": f"user,winner,loser\n{comparisons}",
        "response": f"person,item,response\n{responses}",
        "crowd": f"task,worker,label\n{labels}",
    }


def _data_file(draw: random.Random) -> Mistake:
    problem, good = draw.choice([*_good_files().items()])
    wrong: dict[str, tuple[str | bytes | None, str]] = {
        "missing": (None, "No such file"),
        "empty": ("", "empty|no rows|nothing"),
        "header only": (good.splitlines()[0] + "\n", "must have a row"),
        "binary": (bytes(range(256)) * 4, "text|CSV|UTF"),
        "workbook": (b"PK\x03\x04" + bytes(300), "CSV"),
        "wrong columns": ("colour,height,weight,age\n" + "red,1,2,3\n" * 5, "must|column"),
        "wrong separator": (good.replace(",", "^"), "must|comma|separat"),
        "short row": (good + "u99\n", "row .* must"),
        "prose": ("Dear all,\n\nplease find attached\nthe answers.\n", "must|column"),
    }
    kind = draw.choice([*wrong])
    content, allowed = wrong[kind]
    files = {} if content is None else {"mine.csv": content}
    words = (f"experiment=own/{problem}", "data.path=mine.csv", "size=quick", *QUIET)
    says = ("mine.csv",)
    return Mistake(f"file: {kind}", words, files=files, says=says, allowed=allowed)


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = yaml.safe_load(TABLES.read_text())
    return tables


def _of_table(kind: str, row: dict[str, Any]) -> Mistake:
    """A mistake as it stands in a table."""
    known = {"allowed": row.get("allowed", ALLOWED), "meant": row.get("meant", "")}
    says = tuple(row["says"])
    if kind == "call":
        return Mistake(kind, call=row["typed"], says=says, **known)
    if kind == "study file":
        files: dict[str, str | bytes] = {"own.yaml": STUDY.replace(row["before"], row["after"], 1)}
        return Mistake(kind, ("experiment=own.yaml",), files=files, says=says, **known)
    if kind in ("own part", "own file"):
        text = row["text"] if kind == "own file" else PART.format(body=row["body"])
        files = {"parts.py": text, "own.yaml": STUDY.replace("debiased", "mine")}
        words = ("--with", "parts.py", "experiment=own.yaml", *QUIET)
        return Mistake(kind, words, files=files, says=says, **known)
    return Mistake(kind, tuple(shlex.split(row["typed"])), says=says, **known)


DRAWN: tuple[tuple[Callable[[random.Random], Mistake], int], ...] = (
    (_key, 22),
    (_experiment, 14),
    (_part, 18),
    (_problem, 8),
    (_task, 12),
    (_list, 6),
    (_section, 10),
    (_data_file, 16),
)


def mistakes(number: int = NUMBER, seed: int = SEED) -> list[Mistake]:
    """So many different mistakes, each of a kind that is drawn first.

    >>> len({mistake.typed for mistake in mistakes(8)})
    8
    """
    draw = random.Random(seed)
    listed = [(kind, row) for kind, rows in _tables().items() for row in rows]
    kinds = [kind for kind, weight in DRAWN for _ in range(weight)]
    drawn: dict[str, Mistake] = {}
    while len(drawn) < number:
        if draw.random() < 0.5:
            mistake = draw.choice(kinds)(draw)
        else:
            mistake = _of_table(*draw.choice(listed))
        drawn.setdefault(f"{mistake.typed} {mistake.files}", mistake)
    return list(drawn.values())


def faults(mistake: Mistake, answer: Answer) -> list[str]:
    """Why an answer is not one helpful line; empty if it is."""
    found = []
    if answer.code == 0:
        found.append("exit code 0")
    if "Traceback" in answer.err + answer.out:
        found.append("traceback")
    if len(answer.lines) != 1:
        return [*found, f"{len(answer.lines)} lines"]
    (line,) = answer.lines
    if len(line) > LONGEST:
        found.append(f"{len(line)} characters")
    if answer.out.strip() and mistake.kind != "own part":  # those are tried where a run begins
        found.append("prints before it refuses")
    found += [f"does not say {text}" for text in mistake.says if text not in line]
    if not mistake.meant and not re.search(mistake.allowed, line, re.IGNORECASE):
        found.append(f"does not say what is allowed: {mistake.allowed}")
    return found


def is_suggested(mistake: Mistake, answer: Answer) -> bool:
    """Whether the line names what was meant as what was meant."""
    meant = re.escape(mistake.meant)
    pattern = rf"(did you mean|write) ['\"]?(\w+=|[\w.]+\.)?{meant}\b"
    return any(re.search(pattern, line) for line in answer.lines)


def warm() -> None:
    """Load what every fork would load again."""
    for name in WARM:
        importlib.import_module(name)


def answered(mistake: Mistake) -> Answer:
    """What the program says to a mistake, in a forked process and a new folder."""
    folder = Path(tempfile.mkdtemp(prefix="mistake-"))
    try:
        for name, content in mistake.files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (folder / name).write_bytes(data)
        child = os.fork()
        if child == 0:
            _act(mistake, folder)
        os.waitpid(child, 0)
        texts = [(folder / name).read_text() for name in ("code", "out", "err")]
        return Answer(json.loads(texts[0]), *texts[1:])
    finally:
        shutil.rmtree(folder)


def _act(mistake: Mistake, folder: Path) -> None:
    """In the child: run it with its streams in files, write down its exit code, and end."""
    os.chdir(folder)
    code = 1
    with open("out", "w") as out, open("err", "w") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = out, err
        try:
            code = _called(mistake.call) if mistake.call else _command(mistake.words)
        except BaseException:
            traceback.print_exc()
    Path("code").write_text(json.dumps(code))
    os._exit(0)


def _command(words: Sequence[str]) -> int:
    from pipeline.__main__ import main as command

    return command(words)


def _called(call: str) -> int:
    """1 where a call fails, with the last line of what Python prints."""
    import pipeline as pl

    try:
        eval(call, {"pl": pl})
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def measured(chosen: Sequence[Mistake]) -> Shares:
    """Try mistakes, and print those whose answer lacks something."""
    warm()
    helpful = suggested = 0
    for mistake in chosen:
        answer = answered(mistake)
        wrong = faults(mistake, answer)
        helpful += not wrong
        if mistake.meant and is_suggested(mistake, answer):
            suggested += 1
        elif mistake.meant:
            wrong.append(f"does not suggest {mistake.meant}")
        if wrong:
            print(mistake.kind, mistake.typed, answer.err.strip(), *wrong, sep="\n  ", flush=True)
    return Shares(len(chosen), helpful, sum(bool(one.meant) for one in chosen), suggested)


def main(number: int = NUMBER) -> None:
    """Print every answer that lacks something, and the shares."""
    shares = measured(mistakes(number))
    print(f"{shares.helpful} of {shares.mistakes}: one line that says what, where and what to do")
    print(f"{shares.suggested} of {shares.misspelt}: the right name is suggested (bar {BAR:.0%})")
