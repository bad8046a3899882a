"""What a stored study differs in from its experiment, or from others of its name, in words."""

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pipeline.storage.replications import DESCRIPTION
from pipeline.study.files import read_regular, write_whole
from pipeline.study.parameters import InvalidInput, shorten
from pipeline.workflow import composition, config_files
from pipeline.workflow.composition import SIZES

ABOUT = "about.txt"
AXES = "axes"
PLAIN = ("problem", "seed", "block", "metrics")  # keys of a description, besides axes and constants
NAMED = ("parameters", "derive")
Facts: TypeAlias = Mapping[str, Any]  # flat: name -> value
Key = TypeVar("Key")


def in_words(folders: Sequence[Path]) -> dict[Path, str]:
    """For each folder of a study what differs, in words; empty where nothing does.

    It differs from the experiment of its name or, where none ships, from others of its name.
    """
    return of_descriptions({folder: _description(folder) for folder in folders})


def of_descriptions(descriptions: Mapping[Key, Mapping[str, Any]]) -> dict[Key, str]:
    """The same of descriptions of studies, by any keys. An empty one differs in nothing."""
    by_name: dict[str, dict[Key, Facts]] = {}
    for key, description in descriptions.items():
        if description:
            by_name.setdefault(str(description["name"]), {})[key] = _facts(description)
    words = dict.fromkeys(descriptions, "")
    for name, facts in by_name.items():
        shipped = _shipped(name)
        for key, of_study in facts.items():
            words[key] = _apart(of_study, shipped or [*facts.values()], bool(shipped))
    return words


def write_about(folder: Path, title: str, command: str) -> None:
    """Write into the folder of a study what it is, once, where files can be written there."""
    if (folder / ABOUT).exists():  # a smaller request changes no file of a larger one
        return
    words = in_words([folder])[folder]
    description = _description(folder)
    if not description:
        return
    lines = [f"{description['name']}: {title}" if title else str(description["name"])]
    if words:
        lines.append(f"differs from the experiment: {words}")
    axes = ", ".join(map(str, description.get(AXES, ())))
    lines.append(f"axes: {axes}; seed: {description.get('seed')}")
    lines.append(f"first made by: {command}")
    with contextlib.suppress(OSError):
        write_whole(folder / ABOUT, ("\n".join(lines) + "\n").encode())


def _description(folder: Path) -> Mapping[str, Any]:
    """What a study's folder says that it is; empty where it does not, or is damaged."""
    try:
        description = json.loads(read_regular(folder / DESCRIPTION))
    except (OSError, ValueError):
        return {}
    if isinstance(description, dict) and isinstance(description.get("name"), str):
        return description
    return {}


def _facts(description: Mapping[str, Any]) -> Facts:
    """A description as flat facts. An axis has no value here, as its levels are no identity."""
    facts: dict[str, Any] = {f"axis {axis}": "" for axis in description.get(AXES) or ()}
    for key in PLAIN:
        facts[key] = description.get(key)
    for section in NAMED:
        entries = description.get(section)
        if isinstance(entries, Mapping):
            facts.update(entries)
    return facts


def _shipped(name: str) -> list[Facts]:
    """The facts of the experiment of a name, at each of its sizes; none where none ships."""
    if name not in config_files.options("experiment"):
        return []
    try:
        whole = composition.whole_experiment(composition.named_experiment(name))
        configs = [composition.sized(whole, size) for size in SIZES]
    except (InvalidInput, OSError):
        return []
    return [_facts({**config, AXES: _axes(config.get("grid"))}) for config in configs]


def _axes(grid: object) -> list[str]:
    """The axes of a grid, of one product or of several."""
    products = grid if isinstance(grid, list) else [grid]
    axes: dict[str, None] = {}
    for product in products:
        if isinstance(product, Mapping):
            axes.update(dict.fromkeys(map(str, product)))
    return [*axes]


def _apart(facts: Facts, others: Sequence[Facts], is_shipped: bool) -> str:
    """In words, what sets facts apart from the nearest of those that ship, or from all others."""
    if is_shipped:
        differences = min((_differing(facts, other) for other in others), key=len)
    else:
        differences = {}
        for other in others:
            differences |= _differing(facts, other)
    return ", ".join(_words(name, facts) for name in sorted(differences, key=_order))


def _differing(facts: Facts, other: Facts) -> dict[str, None]:
    """Names of facts that two descriptions do not share.

    What became an axis, or was one, is named once.
    """
    names: dict[str, None] = {}
    for name in _all_names(facts, other):
        if facts.get(name) != other.get(name) or (name in facts) != (name in other):
            names[name] = None
    for name in list(names):
        axis = f"axis {name}"
        if axis in facts or (axis in other and name in facts):
            is_axis_now = axis in facts
            names.pop(name if is_axis_now else axis, None)
    return names


def _all_names(facts: Facts, other: Facts) -> Iterable[str]:
    return dict.fromkeys([*facts, *other])


def _order(name: str) -> tuple[bool, str]:
    """Axes first, then by name."""
    return not name.startswith("axis "), name


def _words(name: str, facts: Facts) -> str:
    """A fact in words."""
    if name not in facts:
        return f"without {name}"
    if name.startswith("axis "):
        return name
    value = facts[name]
    if isinstance(value, list):
        value = "[" + ",".join(map(str, value)) + "]"
    return f"{name}={shorten(value, 80)}"
