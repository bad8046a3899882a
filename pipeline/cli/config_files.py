"""Files of configs: the program's own, and those that packages of problems bring."""

import sys
from pathlib import Path

from pipeline.study.parameters import InvalidInput
from pipeline.study.registry import problems

GROUPS = ("experiment", "suite", "cluster")


def folder() -> Path:
    """The program's own folder of configs: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    return package / "conf" if (package / "conf").is_dir() else package.parent / "conf"


def folders() -> list[Path]:
    """All folders of configs: the program's own, then `conf` in the package of each problem that has such a folder."""
    packages = {path for one in problems().values() for path in getattr(sys.modules.get(one.package), "__path__", ())}
    return [folder(), *(conf for package in sorted(packages) if (conf := Path(package) / "conf").is_dir())]


def files(group: str) -> dict[str, Path]:
    """Name -> file of what a config group offers, such as the experiments, sorted.

    Raises InvalidInput where two packages bring a file of the same name.
    """
    offered: dict[str, Path] = {}
    for root in (conf / group for conf in folders()):
        for path in root.rglob("*.yaml"):
            name = path.relative_to(root).with_suffix("").as_posix()
            if name in offered:
                raise InvalidInput(group, name, f"is both {offered[name]} and {path}; must be only one of them")
            offered[name] = path
    return dict(sorted(offered.items()))


def options(group: str) -> list[str]:
    """Names that a config group offers, such as the experiments."""
    return list(files(group))
