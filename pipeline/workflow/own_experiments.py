"""A person's own experiment: a YAML file, a finished study's record, or a mapping of Python."""

import os
import re
import unicodedata
from pathlib import Path
from typing import Any

from pipeline.study import refinement, statistics, until
from pipeline.study.checks import mapping
from pipeline.study.grid import Grid, Level
from pipeline.study.parameters import DataFile, InvalidInput, closest, path_of, shorten
from pipeline.study.study import NAME, NAME_LONGEST, Study
from pipeline.study.targets import config_of
from pipeline.workflow import yaml_text
from pipeline.workflow.plain_studies import study_of_file

RECORD = "report.yaml"  # in the folder of a finished study: its config
ENDS = (".yaml", ".yml")
CODE = ".py"  # end of a file that makes a study of two plain functions
# What an experiment may hold; all else is given on the command line.
KEYS = {
    "name",
    "problem",
    "title",
    "question",
    "seed",
    "replications",
    "block",
    "grid",
    "parameters",
    "derive",
    "coordinates",
    "metrics",
    "paired",
    "precision",
    "refine",
    "until",
    "statistics",
    "quick",
    "figures",
    "claims",
    "claims_at",
    "data",
}
PASSED_OVER = {
    "size",
    "formats",
    "shard",
    "shards",
}  # what the config of a finished study holds besides

KEY_TYPES = (str, bool, int, float)
VALUE_TYPES = (*KEY_TYPES, type(None))


def is_file(value: str) -> bool:
    """Whether an experiment is given by the path of a file, or of a finished study's folder."""
    if value.lower().endswith((*ENDS, CODE)):
        return True
    return "/" in value and os.path.isfile(path_of(value, "experiment") / RECORD)


def read(path: str) -> dict[str, Any]:
    """The experiment of a file; its name is that of the file unless it says another.

    Raises InvalidInput.
    """
    file = path_of(path, "experiment")
    if path.lower().endswith(CODE):
        return mapping_of(study_of_file(path))
    if os.path.isdir(file):
        file = file / RECORD
    loaded = _loaded(file, path)
    if loaded is None:
        loaded = {}
    if not isinstance(loaded, dict):
        raise InvalidInput(
            "experiment", path, "must hold keys and values, such as name, problem and grid"
        )
    experiment = {key: value for key, value in loaded.items() if key not in PASSED_OVER}
    return {"name": name_of(file), **checked(experiment)}


def _loaded(file: Path, path: str) -> object:
    """What a file of YAML holds; InvalidInput in one line for what it must not.

    path: as a person gave it.
    """
    try:
        loaded = yaml_text.read(file)
        refuse_odd_values(loaded)
        return loaded
    except OSError as error:
        advice = (
            f"cannot be read ({error.strerror}); must be the path of a YAML file, or the name of "
            "an experiment; task=new writes a first one"
        )
    except yaml_text.TooManyValues:
        advice = (
            f"its anchors (&, *) stand for more than {yaml_text.MOST_VALUES:,} values; write them "
            "out, or fewer"
        )
    except RecursionError:
        advice = "holds itself, or is nested too deeply; name no anchor (&, *) within itself"
    except Exception as error:  # errors of YAML are of many kinds, all about the text
        advice = f"is no YAML ({shorten(error, 120)})"
        if "expected a single document" in str(error):
            advice = "holds several studies; give one of them"
    raise InvalidInput("experiment", path, advice)


def name_of(file: Path) -> str | None:
    """The name that a file gives to its study: without accents, other signs as _.

    None where nothing is left.

    >>> name_of(Path("my données.yaml")), name_of(Path("-2.1.yaml")), name_of(Path("….yaml"))
    ('my_donnees', '2_1', None)
    """
    stem = file.stem
    if not NAME.fullmatch(stem) or stem.startswith("-"):
        plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
        stem = re.sub("[^A-Za-z0-9_-]+", "_", plain).strip("_-")
    return stem[:NAME_LONGEST] or None


def checked(experiment: object) -> dict[str, Any]:
    """An experiment that holds nothing but what experiments may; InvalidInput names what else."""
    experiment = mapping(experiment, "experiment")
    for key in experiment.keys() - KEYS:
        instead = "give it with the command or call, or leave it out"
        close = closest(str(key), sorted(KEYS))
        if close:
            instead = f"did you mean {close!r}? Otherwise {instead}"
        raise InvalidInput(key, experiment[key], f"is no part of an experiment; {instead}")
    return {"coordinates": [], "derive": {}, "figures": [], **experiment}


def mapping_of(study: Study) -> dict[str, Any]:
    """The config that gives a study."""
    parameters = {}
    paths = {}
    for name, value in study.parameters.items():
        if isinstance(value, DataFile):
            paths[name.removeprefix("data_")] = value.path
        else:
            parameters[name] = value
    replications = study.replications
    if study.until and study.until.most is not None:
        replications = study.until.most
    return {
        "name": study.name,
        "problem": study.problem,
        "seed": study.seed,
        "replications": replications,
        "block": study.block,
        "grid": products_of(study.grid),
        "metrics": list(study.metrics),
        "parameters": parameters,
        "data": paths,
        "derive": dict(study.derive),
        "coordinates": list(study.coordinates),
        "paired": list(study.paired),
        "precision": config_of(study.precision),
        "refine": refinement.config_of(study.refine),
        "until": until.config_of(study.until),
        "statistics": statistics.config_of(study.statistics),
        "figures": [],
    }


def products_of(grid: Grid) -> dict[str, list[Level]] | list[dict[str, list[Level]]]:
    """The grid as a config has it: a mapping, or a list of mappings."""
    products = [{axis: list(levels) for axis, levels in product} for product in grid.products]
    if len(products) == 1:
        return products[0]
    return products


def refuse_odd_values(value: object) -> None:
    """Raise ValueError for what is no number, text, list or mapping, as YAML can hold with tags.

    RecursionError for a value that holds itself.
    """
    if isinstance(value, dict):
        for name, part in value.items():
            _refuse_odd(name, KEY_TYPES)
            refuse_odd_values(part)
    elif isinstance(value, list):
        for part in value:
            refuse_odd_values(part)
    else:
        _refuse_odd(value, VALUE_TYPES)


def _refuse_odd(value: object, types: tuple[type, ...]) -> None:
    if not isinstance(value, types):
        raise ValueError(f"{shorten(value)} is no number, text, list or mapping")
