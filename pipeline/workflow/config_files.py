"""Files of configs: the program's own, and those that packages of problems and parts bring."""

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from pipeline.execution.clusters import CLUSTERS
from pipeline.execution.systems.registry import systems
from pipeline.identity.registry import packages
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import LEFT_OUT

GROUPS = ("experiment", "suite", "cluster")


@cache
def folder() -> Path:
    """The program's own folder of configs: inside the installed package, or beside it in a
    checkout.
    """
    package = Path(__file__).resolve().parent.parent
    return package / "conf" if (package / "conf").is_dir() else package.parent / "conf"


def folders() -> list[Path]:
    """All folders of configs: the program's own, then `conf` in each package of problems or parts
    that has one.
    """
    paths: set[str] = set()
    for name in packages():
        paths.update(getattr(sys.modules.get(name), "__path__", ()))
    configs = [Path(path) / "conf" for path in sorted(paths)]
    return [folder(), *(config for config in configs if config.is_dir())]


def files(group: str) -> dict[str, Path]:
    """Name -> file of what a config group offers, such as the experiments, sorted."""
    return {name: paths[0] for name, paths in _all(group).items()}


def experiment_file(name: str) -> Path:
    """The file of an experiment. Raises InvalidInput as `check_offered`."""
    paths = _all("experiment")
    _check_name("experiment", name, paths, paths)
    return paths[name][0]


def check_offered(group: str, name: str) -> None:
    """Raise InvalidInput where a group offers no such name, or where two packages do."""
    _check_name(group, name, options(group), _all(group))


def _check_name(
    group: str, name: str, offered: Collection[str], paths: Mapping[str, Sequence[Path]]
) -> None:
    """Raise InvalidInput unless one thing is offered under a name. paths: name -> all its files."""
    if name not in offered:
        left_out = f"; left out: package {', '.join(LEFT_OUT)}" if LEFT_OUT else ""
        advice = _of_that_folder(group, name, offered) or nearest(name, offered)
        raise InvalidInput(group, name, f"no such {group}; {advice}{left_out}")
    first, *others = paths.get(name, [Path()])
    if others:  # either may be meant
        raise InvalidInput(
            group, name, f"is both {first} and {others[0]}; must be only one of them"
        )


def _of_that_folder(group: str, name: str, offered: Collection[str]) -> str:
    """What to write for the name of a folder of experiments; empty for any other name."""
    inside = [other for other in offered if other.startswith(f"{name}/")]
    if group != "experiment" or not inside:
        return ""
    first = f"write {group}={inside[0]}, or another one of the {len(inside)} in {name}/"
    if name in options("suite"):
        return f"{first}; suite={name} runs several of them"
    return first


def _all(group: str) -> dict[str, list[Path]]:
    """Name -> all files of that name, sorted by names."""
    offered: dict[str, list[Path]] = {}
    for root in (conf / group for conf in folders()):
        for path in _yaml_files(root):
            offered.setdefault(path.relative_to(root).with_suffix("").as_posix(), []).append(path)
    return dict(sorted(offered.items()))


def _yaml_files(folder: Path) -> Iterator[Path]:
    """Files of YAML below a folder, in one request a folder.

    No pipes, for which Hydra would wait.
    """
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _yaml_files(folder / entry.name)
        elif entry.name.endswith(".yaml") and entry.is_file():
            yield folder / entry.name


def options(group: str) -> list[str]:
    """Names that a config group offers, such as the experiments."""
    if group == "cluster":
        return sorted({*files(group), *CLUSTERS, *systems()})
    return list(files(group))
