"""Configs that Hydra has composed, remembered in one process of tests.

Nearly every command of a test composes, most of them the same few files: that took most of the time
of a command that simulates nothing.
"""

import copy
import functools

from pipeline.cli import compose
from pipeline.execution.clusters import CLUSTERS
from pipeline.execution.systems.registry import systems


def files_of_configs():
    """Name, size and time of every file that Hydra may read: it composes anew where one changes."""
    folders = [compose.folder(), *compose.folders()[1:]]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.yaml"))]
    stats = [path.stat() for path in paths]
    return tuple(
        (str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
        for path, stat in zip(paths, stats, strict=True)
    )


def remembering(composed_by_hydra):
    """The same function, which composes once of the same files and the same class of a cluster."""
    remembered = {}

    @functools.wraps(composed_by_hydra)
    def composed(chosen):
        cluster = {**systems(), **CLUSTERS}.get(chosen.get("cluster", "local"))
        key = (tuple(chosen.items()), cluster, files_of_configs())
        if key not in remembered:
            remembered[key] = composed_by_hydra(chosen)
        return copy.deepcopy(remembered[key])

    return composed


def remember():
    compose._hydra_composed = remembering(compose._hydra_composed)
