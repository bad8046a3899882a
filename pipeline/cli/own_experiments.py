"""A person's own experiment: a YAML file, the config of a finished study, or a mapping from Python."""

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.cli import long_lists
from pipeline.cli.long_lists import restored, without_long_lists
from pipeline.study import refinement, until
from pipeline.study.checks import mapping
from pipeline.study.files import read_regular
from pipeline.study.grid import Grid
from pipeline.study.parameters import DataFile, InvalidInput, path_of, shorten
from pipeline.study.streams import digest
from pipeline.study.study import NAME, NAME_LONGEST, Study
from pipeline.study.targets import config_of

RECORD = "report.yaml"  # in the folder of a finished study: its config
ENDS = (".yaml", ".yml")
OFFERED = "own-"  # what names begin with by which Hydra knows experiments of a person
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
    "quick",
    "figures",
    "claims",
    "data",
}
PASSED_OVER = {
    "size",
    "formats",
    "shard",
    "shards",
}  # what the config of a finished study holds besides


def is_file(value: str) -> bool:
    """Whether an experiment is given by the path of a file, or of the folder of a finished study."""
    if value.lower().endswith(ENDS):
        return True
    return "/" in value and os.path.isfile(path_of(value, "experiment") / RECORD)


def read(path: str) -> dict[str, Any]:
    """The experiment of a file; its name is that of the file unless it says another.

    Raises InvalidInput.
    """
    from omegaconf import OmegaConf

    from pipeline.cli import yaml_text

    file = path_of(path, "experiment")
    file = file / RECORD if os.path.isdir(file) else file
    try:
        loaded = yaml_text.load(read_regular(file).decode())
        if isinstance(
            loaded, dict
        ):  # OmegaConf refuses what is no number, text or container of these
            short = OmegaConf.create(without_long_lists(loaded))
            loaded = restored(OmegaConf.to_container(short, resolve=False))
    except OSError as error:
        raise InvalidInput(
            "experiment",
            path,
            f"cannot be read ({error.strerror}); must be the path of a YAML file, "
            "or the name of an experiment; task=new writes a first one",
        ) from None
    except yaml_text.TooManyValues:
        raise InvalidInput(
            "experiment",
            path,
            f"its anchors (&, *) stand for more than {yaml_text.MOST_VALUES:,} "
            "values; write them out, or fewer",
        ) from None
    except RecursionError:
        raise InvalidInput(
            "experiment",
            path,
            "holds itself, or is nested too deeply; name no anchor (&, *) within itself",
        ) from None
    except (
        Exception
    ) as error:  # whatever is raised here is about the text; YAML has errors of many kinds
        several = "expected a single document" in str(error)
        reason = (
            "holds several studies; give one of them"
            if several
            else f"is no YAML ({shorten(error, 120)})"
        )
        raise InvalidInput("experiment", path, reason) from None
    loaded = {} if loaded is None else loaded
    if not isinstance(loaded, dict):
        raise InvalidInput(
            "experiment", path, "must hold keys and values, such as name, problem and grid"
        )
    return {
        "name": name_of(file),
        **checked({key: value for key, value in loaded.items() if key not in PASSED_OVER}),
    }


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


def checked(experiment: Any) -> dict[str, Any]:
    """An experiment that holds nothing but what experiments may; InvalidInput names what else."""
    experiment = mapping(experiment, "experiment")
    for key in experiment.keys() - KEYS:
        raise InvalidInput(
            key,
            experiment[key],
            "is no part of an experiment; give it with the command or call, or leave it out",
        )
    return {"coordinates": [], "derive": {}, "figures": [], **experiment}


def mapping_of(study: Study) -> dict[str, Any]:
    """The config that gives a study."""
    files = {name: value for name, value in study.parameters.items() if isinstance(value, DataFile)}
    return {
        "name": study.name,
        "problem": study.problem,
        "seed": study.seed,
        "replications": study.until.most if study.until else study.replications,
        "block": study.block,
        "grid": products_of(study.grid),
        "metrics": list(study.metrics),
        "parameters": {
            name: value for name, value in study.parameters.items() if name not in files
        },
        "data": {name.removeprefix("data_"): file.path for name, file in files.items()},
        "derive": dict(study.derive),
        "coordinates": list(study.coordinates),
        "paired": list(study.paired),
        "precision": config_of(study.precision),
        "refine": refinement.config_of(study.refine),
        "until": until.config_of(study.until),
        "figures": [],
    }


def products_of(grid: Grid) -> Any:
    """The grid as a config has it: a mapping, or a list of mappings."""
    products = [{axis: list(levels) for axis, levels in product} for product in grid.products]
    return products[0] if len(products) == 1 else products


def offer(experiment: Mapping[str, Any]) -> str:
    """Let Hydra know an experiment; the name by which a command can ask for it."""
    from hydra.core.config_store import ConfigStore

    name = f"{OFFERED}{digest(repr(experiment), 8).hex()}"
    ConfigStore.instance().store(
        group="experiment",
        name=name,
        node=without_long_lists(experiment),
        package="_global_",
        provider="own",
    )
    return name


def forget_offers() -> None:
    """Take away from Hydra what earlier calls offered: each one that is there makes every later
    call slower.
    """
    from hydra.core.config_store import ConfigStore

    long_lists.forget()
    group = ConfigStore.instance().repo.get("experiment", {})
    for name in [name for name in group if name.startswith(OFFERED)]:
        del group[name]
