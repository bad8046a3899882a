"""`task=new`: a first experiment of a person's own, made from one that there is, with the meaning
of every line.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.cli import first_study
from pipeline.cli.arguments import pairs
from pipeline.cli.compose import compose
from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.identity.registry import problem, problems
from pipeline.study.checks import ROLES, Declarations, declarations
from pipeline.study.files import write_whole
from pipeline.study.grid import read_products
from pipeline.study.parameters import InvalidInput, describe, fields, path_of, shorten
from pipeline.study.problem import Problem
from pipeline.study.study import Study
from pipeline.study.untyped import Config
from pipeline.workflow.config import read_experiment
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.own_experiments import ENDS, name_of

GAP = "  "  # before a comment
LISTED = 12  # metrics that are offered as comments
FILES = ("data_path", "data_items", "data_truth")
RULES = {  # sections that few experiments have -> what each is for
    "derive": "parameters that are computed of others; see --help derivations",
    "coordinates": "quantities that are computed for figures only; see --help derivations",
    "paired": "axes whose levels share their data: differences are paired",
    "precision": "a cell stops once its means are known as well as this",
    "refine": "levels are added where the mean crosses the level",
    "until": "a run stops once all claims are decided",
    "statistics": "medians, quantiles and trimmed means beside the means",
}


def perform(arguments: Sequence[str]) -> int:
    """Write the file that the arguments name; returns the exit code.

    Raises InvalidInput for any mistake in them.
    """
    words = [word for word in arguments if not word.startswith("-")]
    values = pairs(words, ("experiment", "like", "target"))
    for key in values.keys() - {"task", "experiment", "like", *first_study.WORDS}:
        raise InvalidInput(
            key,
            values[key],
            "pipeline new takes a file, and problem, people, items, target, or like=NAME; change "
            "the file",
        )
    wishes = [key for key in first_study.WORDS if key in values]
    if values.get("like") is None and not wishes and first_study.at_a_terminal():
        values.update(first_study.asked())
        values.setdefault("experiment", first_study.FIRST_FILE)
    file, name = _new_file(values.get("experiment"))
    path = str(values["experiment"])
    if values.get("like") is None:
        text = first_study.written(first_study.wish_of(values), shlex.quote(path), name)
    elif wishes:
        allowed = f"cannot be combined with like={values['like']}; leave out one of both"
        raise InvalidInput(wishes[0], values[wishes[0]], allowed)
    else:
        like = compose([f"experiment={values['like']}", "size=quick"])
        text = starter(like[0], file.name, name)
    _write(file, path, text)
    is_first = values.get("like") is None
    if is_first:
        print("pipeline new FILE.yaml like=NAME writes a longer one, with the meaning of each line")
    return EXIT_DONE


def _new_file(path: object) -> tuple[Path, str]:
    """The file of a path, and the name of its study; InvalidInput where it cannot be written."""
    if not isinstance(path, str) or not path.lower().endswith(ENDS):
        raise InvalidInput(
            "experiment",
            path,
            "must be the path of the new file, such as survey.yaml; at a terminal, pipeline new asks "
            "three questions",
        )
    file = path_of(path, "experiment")
    name = name_of(file)
    if name is None:
        raise InvalidInput(
            "experiment",
            path,
            "must be named with letters a to z or digits, as survey.yaml is: that names the study",
        )
    if os.path.lexists(file):
        raise InvalidInput("experiment", path, "is there already; give another name")
    if not file.parent.is_dir():
        raise InvalidInput("experiment", path, "its folder is not there; make it first")
    return file, name


def _write(file: Path, path: str, text: str) -> None:
    """Write the file, and say what to do with it. path: as a person gave it."""
    try:
        write_whole(file, text.encode())
    except OSError as error:
        raise InvalidInput(
            "experiment",
            path,
            f"cannot be written ({error.strerror or 'no file can be made there'}); "
            "give another path",
        ) from None
    print(f"{path}: written. Look at it, then: pipeline experiment={shlex.quote(path)}")


def starter(raw: Config, file: str, name: str) -> str:
    """The text of the file, from a composed config. name: of the new study."""
    experiment = read_experiment(raw)
    subject = problem(experiment.study.problem)
    lines = [
        *_head(raw, experiment, file, name),
        *_sections(raw, experiment.study, subject),
        *_tail(raw),
    ]
    return "\n".join(lines) + "\n"


def _head(raw: Config, experiment: Experiment, file: str, name: str) -> Iterator[str]:
    study = experiment.study
    shown = shlex.quote(file)
    yield (
        f"# An experiment of your own, made like {study.name}. What it would do, and how long "
        "that takes:"
    )
    yield f"#     pipeline task=plan experiment={shown}"
    yield (
        "# Run it, and again after any change: finished units are kept.   What there is, with all "
        "parameters:"
    )
    yield (
        f"#     pipeline experiment={shown}                             pipeline --help mechanisms"
    )
    about = {**fields(Study), **fields(Text)}
    values = {
        "name": name,
        "problem": study.problem,
        "title": f"Like {experiment.text.title}"[:80],
        "question": "What do I want to know?",
        "seed": study.seed,
        "replications": study.replications,
        "block": study.block,
    }
    for key, value in values.items():
        others = ", ".join(sorted(problems().keys() - {study.problem}))
        more = f": {problem(study.problem).title}; others: {others}" if key == "problem" else ""
        yield _line(f"{key}: {_flow(value)}", about[key].metadata["meaning"] + more)


def _sections(raw: Config, study: Study, subject: Problem) -> Iterator[str]:
    """The grid, the constants, what follows from them, the rules, and the metrics."""
    products = read_products(raw["grid"], named=True)
    named: set[str] = set()
    for product in products:
        named |= {levels for levels in product.values() if isinstance(levels, str)}
    derivations = [*study.derive.values(), *study.coordinates, *sorted(named)]
    axes = [study.grid.axes]
    declared = declarations(subject, study.parameters, axes, derivations, study.metrics)
    yield from _grid(products, declared, subject)
    yield _line("parameters:", "constants; a list of values makes an axis, above")
    for name, value in (raw.get("parameters") or {}).items():
        yield _line(f"  {name}: {_flow(value)}", _meaning(name, declared, subject))
    yield from _offered_parameters(study, declared, subject)
    for section, comment in RULES.items():
        if raw.get(section):
            yield _line(f"{section}: {_flow(raw[section])}", comment)
    yield _line("metrics:", "what is measured in every replication")
    for name in study.metrics:
        yield _line(f"  - {name}", subject.metric(name).long_name)
    others = sorted(subject.metrics.keys() - {*study.metrics})
    for name in others[:LISTED]:
        yield _line(f"  # - {name}", subject.metric(name).long_name)


def _grid(
    products: Sequence[Mapping[str, Any]], declared: Declarations, subject: Problem
) -> Iterator[str]:
    """The axes, or the axes of each product."""
    if len(products) == 1:
        yield _line("grid:", "axes with their levels; all combinations are cells")
        for axis, levels in products[0].items():
            yield _line(f"  {axis}: {_flow(levels)}", _meaning(axis, declared, subject))
        return
    yield _line("grid:", "lists of axes with their levels; all combinations within each are cells")
    for product in products:
        sign = "-"
        for axis, levels in product.items():
            yield _line(f"  {sign} {axis}: {_flow(levels)}", _meaning(axis, declared, subject))
            sign = " "


def _offered_parameters(study: Study, declared: Declarations, subject: Problem) -> Iterator[str]:
    """Parameters that the study does not set, as comments."""
    present = {*study.parameters, *study.grid.axes, *study.derive, *FILES, *ROLES}
    for name in sorted(declared.keys() - present):
        fields_of_parts = declared[name]
        if not fields_of_parts or "unit" not in fields_of_parts[0].metadata:
            continue
        default = fields_of_parts[0].default
        shown = "…"
        if isinstance(default, (int, float, str)):
            shown = _flow(default)
        yield _line(f"  # {name}: {shown}", _meaning(name, declared, subject))


def _tail(raw: Config) -> Iterator[str]:
    """Own data, claims, the quick size, and figures."""
    data = raw.get("data") or {}
    files = {name: path for name, path in data.items() if path is not None}
    if files:
        yield _line(f"data: {_flow(files)}", "files of your own")
    yield _line("claims: false", "those of the problem are about its own experiments")
    yield _line("quick:", "what size=quick changes")
    yield f"  replications: {raw['block']}"
    figures = raw.get("figures") or []
    yield _line("figures:" if figures else "figures: []", "see --help figures")
    for figure in figures:
        yield f"  - {_flow(figure)}"


def _meaning(name: str, declared: Declarations, subject: Problem) -> str:
    """What a parameter is, and which values it may have."""
    if name in ROLES:
        return f"{name}; there are {', '.join(sorted(subject.names(name)))}"
    if not declared.get(name):
        return ""
    first = declared[name][0]
    meaning = first.metadata["meaning"]
    unit = first.metadata.get("unit", "1")
    if unit != "1":
        meaning = f"{meaning}, in {unit}"
    return f"{meaning} ({describe(first)})"


def _line(text: str, comment: str) -> str:
    if not comment:
        return text
    return f"{text:<44}{GAP}# {shorten(comment, 150)}"


def _flow(value: object) -> str:
    """A value as YAML on one line."""
    import yaml

    text: str = yaml.safe_dump(
        value, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")
