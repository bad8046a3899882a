"""Changes of a composed config, one for each word of a command; no config is written."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pipeline.cli.arguments import Action, Word
from pipeline.study.parameters import nearest, shorten
from pipeline.study.untyped import Config
from pipeline.workflow import new_axes
from pipeline.workflow.config import STUDY_KEYS

OPEN = ("grid", "parameters", "derive", "cluster")  # mappings to which a command may add names
NESTED = ("cluster", "store", "protocol", "data")  # sections whose keys people give without them
ALIASES = dict.fromkeys(("reps", "repeats", "nsim", "iterations"), "replications")
# What computes at once, in other programs.
CORES = ("cores", "cpus", "threads", "processes", "n_jobs", "jobs")
MIXED = "a mapping and a list cannot replace each other; set single fields"


class _Unknown(Exception):
    """A key that is not there."""


def changed(config: Config, words: Sequence[Word]) -> dict[str, Any]:
    """The config with all changes, in the order of the words.

    Raises InvalidInput for a key that is not there, or whose value cannot be changed so.
    """
    new = dict(config)
    for word in words:
        try:
            new = _with_change(new, word)
        except _Unknown:
            raise word.refused(_advice(word, new)) from None
    return new


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Both mappings in one, as are mappings in them; of two values of a name the new one."""
    both = dict(old)
    for name, value in new.items():
        both[name] = _merged(old.get(name), value)
    return both


def _merged(old: object, new: object) -> object:
    if isinstance(old, dict) and isinstance(new, dict):
        return merged(old, new)
    return new


def _with_change(config: dict[str, Any], word: Word) -> dict[str, Any]:
    """The config with the change of a word; in a grid of several products, that of each of them."""
    section, *rest = word.path
    if _makes_an_axis(config, word):
        return new_axes.with_axis(config, rest[0], word.value)
    grid = config.get("grid")
    if section == "grid" and isinstance(grid, list) and rest and not rest[0].isdecimal():
        return {**config, "grid": [_changed(product, rest, word) for product in grid]}
    declared = not rest and word.action is Action.CHANGE and section in STUDY_KEYS
    if declared and section not in config:
        config = {**config, section: None}
    return cast(dict[str, Any], _changed(config, word.path, word))


def _makes_an_axis(config: Config, word: Word) -> bool:
    """Whether a word gives levels of what is a constant: grid.NAME=[…], with + or without."""
    section, *rest = word.path
    if section != "grid" or len(rest) != 1 or word.action is Action.REMOVE:
        return False
    has_levels = isinstance(word.value, list) and bool(word.value)
    return has_levels and new_axes.is_constant(config, rest[0])


def _changed(part: object, path: Sequence[str], word: Word) -> object:
    """A part of a config with a change. path: from the part to what is changed."""
    adds = word.action in (Action.ADD, Action.SET)
    if not isinstance(part, (dict, list)):
        if not adds:
            raise _Unknown
        part = {}
    name, *rest = path
    place = _place(part, name, word)
    there = isinstance(part, list) or place in part
    if not there and not adds:
        raise _Unknown
    new: Any = copy.copy(part)
    old = None
    if there:
        old = new[place]
    if rest:
        new[place] = _changed(old, rest, word)
    elif word.action is Action.REMOVE:
        _check_removal(part, old, word)
        del new[place]
    else:
        new[place] = _value(old, word)
    return new


def _place(part: dict[str, Any] | list[Any], name: str, word: Word) -> str | int:
    """What stands in brackets: a name of a mapping, or the number of an item of a list."""
    if isinstance(part, dict):
        return name
    if name.isascii() and name.isdecimal() and int(name[:9]) < len(part):
        return int(name[:9])
    raise word.refused(f"must be a list, set as a whole: {word.key.rpartition('.')[0]}=[…]")


def _check_removal(part: object, old: object, word: Word) -> None:
    """Raise InvalidInput where nothing can be removed, or something else than was typed."""
    if isinstance(part, list):
        raise word.refused(f"must be set as a whole: {word.key.rpartition('.')[0]}=[…]")
    if old is None:
        raise word.refused("is null already; leave it out, nothing must be removed")
    if word.value is not None and word.value != old:
        raise word.refused(f"is {shorten(old)}; write ~{word.key} to remove it")


def _value(old: object, word: Word) -> object:
    """The value of a key after a change; InvalidInput where it cannot be changed so."""
    new = word.value
    if word.action is Action.ADD and old is not None and not isinstance(new, (dict, list)):
        raise word.refused(f"is there already; write {word.key}=… without +")
    if {type(old), type(new)} == {dict, list}:
        raise word.refused(MIXED)
    if word.action is Action.CHANGE and isinstance(old, dict) and isinstance(new, dict):
        _check_names(old, new)
    return _merged(old, new)


def _check_names(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> None:
    """Raise _Unknown for a name, at any depth, that a mapping does not have."""
    for name, value in new.items():
        if name not in old:
            raise _Unknown
        part = old[name]
        if isinstance(part, dict) and isinstance(value, dict):
            _check_names(part, value)


def _advice(word: Word, config: Config) -> str:
    """What to write in place of a key that is not there."""
    elsewhere = _elsewhere(word.key, config)
    if elsewhere:
        return elsewhere
    key = word.key
    meant = _meant(key, config)
    if meant:
        return f"no such key; write {meant}=…"
    if key in CORES:
        return (
            "no such key; write cluster.workers=… for processes of this machine; with a batch "
            "system, write cluster.cores=…"
        )
    if key in OPEN and isinstance(word.value, dict):
        return (
            f"write each by itself: {key}.NAME=… changes one, +{key}.NAME=… adds one, "
            f"~{key}.NAME removes one"
        )
    section, _, name = key.rpartition(".")
    inside = config.get(section)
    if isinstance(inside, dict):
        names = [str(known) for known in inside]
    else:
        section = ""
        name = key.partition(".")[0]
        names = sorted({*config, *STUDY_KEYS})
    advice = f"no such key; {nearest(name, names)}"
    if section in OPEN and word.action is Action.CHANGE:
        return f"{advice}; +{key}=… adds one"
    return advice


def _meant(key: str, config: Config) -> str:
    """The key of a name that is given without its section, or that other programs use.

    Empty where none is known.
    """
    if key in ALIASES:
        return ALIASES[key]
    for section in NESTED:
        inside = config.get(section)
        if isinstance(inside, Mapping) and key in inside:
            return f"{section}.{key}"
    return ""


def _elsewhere(key: str, config: Config) -> str:
    """Advice on a parameter that is an axis of the grid, or on an axis that is a parameter.

    Empty if it is neither.
    """
    section, _, name = key.rpartition(".")
    grid = config.get("grid")
    axes = grid[0] if isinstance(grid, list) and grid else grid
    if section in ("parameters", "") and isinstance(axes, dict) and name in axes:
        return f"is an axis of this study; write grid.{name}=[…] with one level or more"
    derived = config.get("derive")
    if section in ("grid", "parameters", "") and isinstance(derived, dict) and name in derived:
        return (
            f"is computed in this study, by derive.{name}={derived[name]}; to set it, write "
            f"~derive.{name} and +parameters.{name}=…"
        )
    constants = config.get("parameters")
    if section in ("grid", "") and isinstance(constants, dict) and name in constants:
        return (
            f"is a constant of this study; write parameters.{name}=…, or grid.{name}=[…] with "
            "several levels"
        )
    return ""
