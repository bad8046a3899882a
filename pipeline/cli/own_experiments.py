"""A person's own experiment: a YAML file, the config of a finished study, or a mapping from Python."""

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
MOST_VALUES = 200_000  # of a file, each anchor counted as often as it is used
# What an experiment may hold; all else is given on the command line.
KEYS = {"name", "problem", "title", "question", "seed", "replications", "block", "grid", "parameters", "derive",
        "coordinates", "metrics", "paired", "precision", "refine", "until", "quick", "figures", "claims",
        "data"}
PASSED_OVER = {"size", "formats", "shard", "shards"}  # what the config of a finished study holds besides


def is_file(value: str) -> bool:
    """Whether an experiment is given by the path of a file, or of the folder of a finished study."""
    if value.lower().endswith(ENDS):
        return True
    return "/" in value and os.path.isfile(path_of(value, "experiment") / RECORD)


def read(path: str) -> dict[str, Any]:
    """The experiment of a file; its name is that of the file unless it says another. Raises InvalidInput."""
    from omegaconf import OmegaConf

    file = path_of(path, "experiment")
    file = file / RECORD if os.path.isdir(file) else file
    try:
        text = read_regular(file).decode()
        _check_expanded(text)
        loaded = OmegaConf.to_container(OmegaConf.create(text), resolve=False)
    except OSError as error:
        raise InvalidInput("experiment", path, f"cannot be read ({error.strerror}); must be the path of a YAML file, "
                           "or the name of an experiment; task=new writes a first one") from None
    except InvalidInput as error:
        raise InvalidInput("experiment", path, error.allowed) from None
    except AssertionError:  # a number alone
        raise InvalidInput("experiment", path, "must hold keys and values, such as name, problem and grid") from None
    except RecursionError:
        raise InvalidInput("experiment", path, "holds itself, or is nested too deeply; name no anchor (&, *) within "
                           "itself") from None
    except Exception as error:  # whatever is raised here is about the text; YAML has errors of many kinds
        several = "expected a single document" in str(error)
        reason = "holds several studies; give one of them" if several else f"is no YAML ({shorten(error, 120)})"
        raise InvalidInput("experiment", path, reason) from None
    if not isinstance(loaded, dict):
        raise InvalidInput("experiment", path, "must hold keys and values, such as name, problem and grid")
    return {"name": name_of(file), **checked({key: value for key, value in loaded.items() if key not in PASSED_OVER})}


def _check_expanded(text: str) -> None:
    """Raise InvalidInput where anchors within anchors stand for more values than any experiment has."""
    import yaml

    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if id(node) not in sizes:
            parts = node.value if isinstance(node.value, list) else []
            flat = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
            sizes[id(node)] = 1 + sum(map(size, flat))
        return sizes[id(node)]

    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is not None and size(node) > MOST_VALUES:
        raise InvalidInput("experiment", "…", f"its anchors (&, *) stand for more than {MOST_VALUES:,} values; "
                           "write them out, or fewer")


def name_of(file: Path) -> str | None:
    """The name that a file gives to its study: without accents, other signs as _; None where nothing is left.

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
        raise InvalidInput(key, experiment[key], "is no part of an experiment; give it with the command or call, or "
                           "leave it out")
    return {"coordinates": [], "derive": {}, "figures": [], **experiment}


def mapping_of(study: Study) -> dict[str, Any]:
    """The config that gives a study."""
    files = {name: value for name, value in study.parameters.items() if isinstance(value, DataFile)}
    return {
        "name": study.name, "problem": study.problem, "seed": study.seed,
        "replications": study.until.most if study.until else study.replications,
        "block": study.block, "grid": products_of(study.grid), "metrics": list(study.metrics),
        "parameters": {name: value for name, value in study.parameters.items() if name not in files},
        "data": {name.removeprefix("data_"): file.path for name, file in files.items()},
        "derive": dict(study.derive), "coordinates": list(study.coordinates), "paired": list(study.paired),
        "precision": config_of(study.precision), "refine": refinement.config_of(study.refine),
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
    ConfigStore.instance().store(group="experiment", name=name, node=dict(experiment), package="_global_",
                                 provider="own")
    return name


def forget_offers() -> None:
    """Take away from Hydra what earlier calls offered: each one that is there makes every later call slower."""
    from hydra.core.config_store import ConfigStore

    group = ConfigStore.instance().repo.get("experiment", {})
    for name in [name for name in group if name.startswith(OFFERED)]:
        del group[name]
