"""The command's help, made from the configs and the components themselves."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from pipeline.execution.systems.registry import names
from pipeline.identity.registry import problems
from pipeline.study.files import read_regular
from pipeline.study.parameters import describe, fields, shorten
from pipeline.study.study import Study
from pipeline.workflow.config_files import files, options
from pipeline.workflow.settings import Registration, Settings, Storage
from pipeline.workflow.tasks import TASKS, Task

# Settings with fields of their own.
NESTED = {"protocol": Registration, "store": Storage}


def text() -> str:
    """The whole help page."""
    lines = [
        "What does privacy cost, and where does learning break down?",
        "",
        "usage: pipeline [TASK] [--with FILE.py] [experiment=NAME or PATH.yaml | suite=NAME] "
        "[size=paper|quick]",
        "                [key=value ...]     (or python -m pipeline; task=TASK is the same as "
        "TASK)",
        "       pipeline TASK --help     what a task takes",
        "       pipeline --help experiments|suites|problems|models|mechanisms|estimators|metrics|derivations|figures"
        "|clusters    (or --version)",
        "",
        "Type the same command again to continue. Exit codes: 0 done, 1 failed, 2 bad input, 75 "
        "more to do.",
        "",
        "tasks",
        *table((task.name, _meaning(task)) for task in TASKS.values()),
        "",
        "experiments",
        *headings("experiment"),
        "",
        "suites (several experiments, one report)",
        *headings("suite"),
        "",
        "fields that people change",
        *table(
            [
                (
                    "grid.AXIS=[…]",
                    "levels of an axis, such as grid.m=[10,20]; finished units are kept",
                ),
                *((n, _about(fields(Study)[n])) for n in ("seed", "replications", "block")),
                (
                    "parameters.NAME",
                    "a constant; +parameters.NAME=… adds one, ~parameters.NAME removes one",
                ),
                (
                    "precision.METRIC.relative=0.01",
                    "stop a cell when its interval's half-width is at most this share "
                    "of the mean (docs/guide.md); replications is then the most",
                ),
                (
                    "refine.along=AXIS",
                    "add levels where a mean crosses a level, with refine.metric, refine.level, "
                    "refine.width, and refine.second for a second axis (docs/guide.md)",
                ),
                (
                    "until=claims",
                    "stop once all claims on the experiment are decided (docs/guide.md); "
                    "replications is then the most",
                ),
                (
                    "coordinates=[…]",
                    "derived quantities that nothing is simulated with, for figures and claims",
                ),
                (
                    "data.path=FILE",
                    "a person's own data, for a model that takes them; data.items=FILE names "
                    "their items, data.truth=FILE holds what is true",
                ),
                ("metrics=[…]", "what to measure in every replication"),
                (
                    "cluster",
                    "where to run: " + ", ".join(options("cluster")) + "; cluster.workers=N",
                ),
                *(
                    (n, _about(f))
                    for n, f in fields(Settings).items()
                    if n != "task" and n not in NESTED
                ),
                *((f"protocol.{n}", _about(f)) for n, f in fields(Registration).items()),
                *((f"store.{n}", _about(f)) for n, f in fields(Storage).items()),
            ]
        ),
        "",
        "examples",
        "  pipeline experiment=xu/scenario_2 size=quick",
        "  pipeline plan grid.m=[10,20,80] replications=10000",
        "  pipeline new survey.yaml, then pipeline experiment=survey.yaml",
        "  pipeline --with parts.py experiment=survey.yaml: with mechanisms or other parts of "
        "your own",
        "  pipeline submit cluster=slurm cluster.cores=4 shards=20 experiment=xu/scenario_2",
        "  pipeline verify repair=true",
        "  pipeline release problem=PROBLEM data.path=answers.csv outputs=released "
        "parameters.epsilon_user=1",
        f"      PROBLEM: {', '.join(name for name, known in problems().items() if known.release)}; "
        "the command asks for what else is needed",
        "",
        'shell completion: eval "$(pipeline --shell-completion install=bash)"   (or zsh, fish)',
    ]
    return "\n".join(lines)


def first() -> str:
    """What a bare command prints: a few lines to begin with."""
    rows = [
        ("pipeline new", "a study of your own, from three questions"),
        ("pipeline advise --help", "how many people it takes, or how small the promise may be"),
        ("pipeline plan experiment=xu/scenario_2 size=quick", "what a run would do, and how long"),
        ("pipeline experiment=xu/scenario_2 size=quick", "run it; the same command goes on"),
        ("pipeline suite=xu", "reproduce a paper: do its claims hold?"),
        ("pipeline list", "finished studies, with their verdicts"),
        ("pipeline --help", "all tasks, experiments, suites and fields"),
    ]
    lines = [
        "Simulates learning under differential privacy: what do protected answers still tell?",
        "",
        *table(rows),
        "",
        "Simulated noise comes from a seed. For real people's data there is pipeline release alone.",
    ]
    return "\n".join(lines)


def of_task(task: Task) -> str:
    """The help of one task: what it does, and which words it takes."""
    bare = f" [{task.bare.upper()}]" if task.bare else ""
    lines = [
        f"pipeline {task.name}: {_meaning(task)}",
        "",
        f"usage: pipeline {task.name}{bare} [key=value ...]     (or pipeline task={task.name} …)",
        f"takes: {task.words}",
    ]
    if task.alone:
        declared = _fields_of_tasks()
        lines += ["", "fields of this task"]
        for name in task.alone:
            lines += table(declared[name])
    if task.composes:
        lines += ["", "pipeline --help names experiments, suites and all other fields"]
    return "\n".join(lines)


def _fields_of_tasks() -> dict[str, list[tuple[str, str]]]:
    """Rows of every setting, by its name; of one with fields of its own a row for each of them."""
    rows = {}
    for name, declared in fields(Settings).items():
        if name not in NESTED:
            rows[name] = [(name, _about(declared))]
    for name, component in NESTED.items():
        parts = fields(component).items()
        rows[name] = [(f"{name}.{part}", _about(declared)) for part, declared in parts]
    return rows


def _meaning(task: Task) -> str:
    return task.meaning.format(systems=names())


def _about(field: dataclasses.Field[Any]) -> str:
    return f"{field.metadata['meaning']} ({describe(field)})"


def headings(group: str) -> list[str]:
    """All experiments, or all suites, with what each is about."""
    return table((name, _heading(name, group)) for name in options(group) if name != "none")


def _heading(name: str, group: str = "experiment") -> str:
    """Title of an experiment, or the first comment of a suite."""
    import yaml

    from pipeline.workflow import yaml_text

    try:
        source = read_regular(files(group)[name]).decode()
        if group == "suite":
            return _first_comment(source)
        content = yaml_text.load(source)
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:  # of another package
        return f"(cannot be read: {shorten(error)})"
    if not isinstance(content, dict):
        return "(is no mapping)"
    return str(content.get("title", ""))


def _first_comment(source: str) -> str:
    """The first comment that is for people; empty where there is none."""
    for line in source.splitlines():
        if line.startswith("# ") and "@" not in line:
            return line[2:]
    return ""


def table(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Rows of a name and what it means, in two columns."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0) + 2
    return [f"  {name:<{width}}{about}".rstrip() for name, about in rows]
