"""From an experiment and the changes of a call to one plain config, by plain merging.

The command composes the same config from the words that ask for the same.
"""

import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.study.checks import mapping
from pipeline.study.files import read_regular
from pipeline.study.grid import Grid
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.untyped import Config
from pipeline.workflow import config_files, new_axes, own_experiments, yaml_text

SIZES = ("paper", "quick")
# Changed name by name.
SECTIONS = ("grid", "parameters", "derive", "data", "cluster", "store", "protocol")
REMOVABLE = ("grid", "parameters", "derive")  # whose names a None removes
RULES = (
    "precision",
    "refine",
    "until",
    "statistics",
)  # changed as a whole, or name by name as "until.most"
OF_HYDRA = ("defaults", "hydra")


def named_experiment(name: str) -> dict[str, Any]:
    """The experiment of a name, or of the path of a person's own file. Raises InvalidInput."""
    if own_experiments.is_file(name):
        return own_experiments.read(name)
    return mapping(yaml_text.read(config_files.experiment_file(name)), "experiment")


@functools.cache
def _text_of_defaults() -> str:
    return read_regular(config_files.folder() / "config.yaml").decode()


def defaults() -> dict[str, Any]:
    """What holds unless an experiment or a call says otherwise."""
    config = mapping(yaml_text.load(_text_of_defaults()), "config")
    return {key: value for key, value in config.items() if key not in OF_HYDRA}


def whole_experiment(experiment: Config) -> dict[str, Any]:
    """The config of an experiment at its full size, `quick` included."""
    return merged(defaults(), experiment)


def sized(config: Config, size: str) -> dict[str, Any]:
    """The config at a size: what it says under `quick` takes the place of the rest, or goes."""
    if size not in SIZES:
        raise InvalidInput("size", size, nearest(size, SIZES))
    quick = config.get("quick")
    at_size = {key: value for key, value in config.items() if key != "quick"}
    at_size["size"] = size
    if size == "quick" and quick is not None:
        for key, value in mapping(quick, "quick").items():
            _replace(at_size, key, value)
    return at_size


def changed(config: Config, changes: Config) -> dict[str, Any]:
    """The config with the changes of a call, keys and values as `pipeline.library.runs.run` takes
    them.
    """
    result = dict(config)
    for key, value in changes.items():
        if isinstance(value, Grid):
            raise InvalidInput(
                key, "Grid", "must be a mapping of axes to levels, or a list of such mappings"
            )
        section, _, name = key.partition(".")
        if key in SECTIONS and isinstance(value, Mapping):
            for part, part_value in value.items():
                _change(result, key, str(part), plain(part_value))
        elif name and section in (*SECTIONS, *RULES):
            _change(result, section, name, plain(value))
        else:
            result[key] = plain(value)
    _refuse_placeholders(result)
    return result


def merged(base: Config, changes: Config) -> dict[str, Any]:
    """A mapping with the values of another one, mappings within them merged too.

    >>> merged({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 4}, "c": 5})
    {'a': {'x': 1, 'y': 4}, 'b': 3, 'c': 5}
    """
    result = dict(base)
    for key, value in changes.items():
        before = result.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            result[key] = merged(before, value)
        else:
            result[key] = value
    return result


def plain(value: object) -> object:
    """A value as a config has it: numbers, texts, lists and mappings."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(part) for part in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value


def _replace(config: dict[str, Any], key: str, value: object) -> None:
    """Set a value of a size: within a section by its names, which must be there."""
    if not isinstance(value, Mapping):
        config[key] = value
        return
    for name, part in value.items():
        _change(config, key, name, part)


def _change(config: dict[str, Any], section: str, name: str, value: object) -> None:
    """Set a name of a section, or remove it where the value is None; in each product of a grid."""
    known = config.get(section)
    if section == "grid" and isinstance(value, list) and new_axes.is_constant(config, name):
        config.update(new_axes.with_axis(config, name, value))
        return
    if section == "grid" and isinstance(known, list) and known:
        products = [mapping(product, section) for product in known]
        config[section] = [_with(product, section, name, value) for product in products]
        return
    section_before = mapping({} if known is None else known, section)
    became_axis = section == "parameters" and value is None and new_axes.is_axis(config, name)
    if became_axis and name not in section_before:
        return
    config[section] = _with(section_before, section, name, value)


def _with(section: Config, key: str, name: str, value: object) -> dict[str, Any]:
    """A section with another value of a name, or without the name where that is None."""
    if value is not None or key not in REMOVABLE:
        return merged(section, {name: value})
    if name not in section:
        advice = nearest(name, section)
        raise InvalidInput(f"{key}.{name}", None, f"no such key; {advice}")
    return {other: level for other, level in section.items() if other != name}


def _refuse_placeholders(config: Config) -> None:
    """Raise InvalidInput for ${…}, which other programs replace."""
    for key, text in _texts(config, ""):
        if "${" in text:
            raise InvalidInput(key, text, "must be written out; ${…} is not replaced")


def _texts(value: object, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a config, with its dotted key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _texts(part, f"{key}.{number}")
