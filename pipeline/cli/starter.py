"""`task=new`: a first experiment of a person's own, made from one that there is, with the meaning
of every line.
"""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from pipeline.workflow.config import read_experiment
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.own_experiments import ENDS, name_of

GAP = 2  # blanks before a comment
LISTED = 12  # metrics that are offered as comments


def perform(arguments: Sequence[str]) -> int:
    """Write the file that the arguments name; returns the exit code.

    Raises InvalidInput for any mistake in them.
    """
    values = pairs([word for word in arguments if not word.startswith("-")], ("experiment", "like"))
    for key in values.keys() - {"task", "experiment", "like"}:
        raise InvalidInput(
            key,
            values[key],
            "task=new takes experiment=PATH.yaml and like=NAME only; change the file",
        )
    path = values.get("experiment")
    if not isinstance(path, str) or not path.lower().endswith(ENDS):
        raise InvalidInput(
            "experiment", path, "must be the path of the new file, such as survey.yaml"
        )
    file = path_of(path, "experiment")
    if (name := name_of(file)) is None:
        raise InvalidInput(
            "experiment",
            path,
            "must be named with letters a to z or digits, as survey.yaml is: that names the study",
        )
    if os.path.lexists(file):
        raise InvalidInput("experiment", path, "is there already; give another name")
    if not file.parent.is_dir():
        raise InvalidInput("experiment", path, "its folder is not there; make it first")
    like = [] if values.get("like") is None else [f"experiment={values['like']}"]
    text = starter(compose([*like, "size=quick"])[0], file.name, name)
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
    return EXIT_DONE


def starter(raw: Mapping[str, Any], file: str, name: str) -> str:
    """The text of the file, from a composed config. name: of the new study."""
    experiment = read_experiment(raw)
    asked = problem(experiment.study.problem)
    lines = [
        *_head(raw, experiment, file, name),
        *_sections(raw, experiment.study, asked),
        *_tail(raw),
    ]
    return "\n".join(lines) + "\n"


def _head(raw: Mapping[str, Any], experiment: Experiment, file: str, name: str) -> Iterator[str]:
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


def _sections(raw: Mapping[str, Any], study: Study, asked: Problem) -> Iterator[str]:
    products = read_products(raw["grid"], named=True)
    named = {
        levels for product in products for levels in product.values() if isinstance(levels, str)
    }
    derivations = [*study.derive.values(), *study.coordinates, *sorted(named)]
    declared = declarations(asked, study.parameters, [study.grid.axes], derivations, study.metrics)
    one = len(products) == 1
    yield _line(
        "grid:",
        "axes with their levels; all combinations are cells"
        if one
        else "lists of axes with their levels; all combinations within each are cells",
    )
    for product in products:
        for number, (axis, levels) in enumerate(product.items()):
            yield _line(
                f"  {'' if one else '  ' if number else '- '}{axis}: {_flow(levels)}",
                _meaning(axis, declared, asked),
            )
    yield _line("parameters:", "constants; a list of values makes an axis, above")
    for name, value in (raw.get("parameters") or {}).items():
        yield _line(f"  {name}: {_flow(value)}", _meaning(name, declared, asked))
    given = {*study.parameters, *study.grid.axes, *study.derive}
    for name in sorted(declared.keys() - given - {"data_path", "data_items", "data_truth", *ROLES}):
        if declared[name] and "unit" in declared[name][0].metadata:
            default = declared[name][0].default
            yield _line(
                f"  # {name}: {_flow(default) if isinstance(default, (int, float, str)) else '…'}",
                _meaning(name, declared, asked),
            )
    for section, what in (
        ("derive", "parameters that are computed of others"),
        ("coordinates", "quantities that are computed for figures only"),
    ):
        if raw.get(section):
            yield _line(f"{section}: {_flow(raw[section])}", f"{what}; see --help derivations")
    if raw.get("paired"):
        yield _line(
            f"paired: {_flow(raw['paired'])}",
            "axes whose levels share their data: differences are paired",
        )
    if raw.get("precision"):
        yield _line(
            f"precision: {_flow(raw['precision'])}",
            "a cell stops once its means are known as well as this",
        )
    if raw.get("refine"):
        yield _line(
            f"refine: {_flow(raw['refine'])}", "levels are added where the mean crosses the level"
        )
    if raw.get("until"):
        yield _line(f"until: {_flow(raw['until'])}", "a run stops once all claims are decided")
    yield _line("metrics:", "what is measured in every replication")
    for name in study.metrics:
        yield _line(f"  - {name}", asked.part("metric", name).long_name)
    for name in sorted(asked.metrics.keys() - {*study.metrics})[:LISTED]:
        yield _line(f"  # - {name}", asked.part("metric", name).long_name)


def _tail(raw: Mapping[str, Any]) -> Iterator[str]:
    if files := {name: path for name, path in (raw.get("data") or {}).items() if path is not None}:
        yield _line(f"data: {_flow(files)}", "files of your own")
    yield _line("claims: false", "those of the problem are about its own experiments")
    yield _line("quick:", "what size=quick changes")
    yield f"  replications: {raw['block']}"
    yield _line("figures:" if raw.get("figures") else "figures: []", "see --help figures")
    yield from (f"  - {_flow(one)}" for one in raw.get("figures") or ())


def _meaning(name: str, declared: Declarations, asked: Problem) -> str:
    """What a parameter is, and which values it may have."""
    if name in ROLES:
        return f"{name}; there are {', '.join(sorted(asked.names(name)))}"
    if not declared.get(name):
        return ""
    one = declared[name][0]
    unit = one.metadata.get("unit", "1")
    return f"{one.metadata['meaning']}{'' if unit == '1' else f', in {unit}'} ({describe(one)})"


def _line(text: str, comment: str) -> str:
    return f"{text:<44}{' ' * GAP}# {shorten(comment, 150)}" if comment else text


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    text: str = yaml.safe_dump(
        value, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")
