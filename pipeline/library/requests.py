"""From the arguments of a Python call to a checked experiment, by the config that the command
composes.
"""

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pipeline.cli.arguments import AS_TYPED
from pipeline.cli.compose import as_text, compose, compose_once
from pipeline.execution.clusters import Cluster, Connected
from pipeline.execution.runner import parts
from pipeline.identity.registry import SCRIPT
from pipeline.study.grid import Grid
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study
from pipeline.workflow.config import read_cluster, read_experiments, read_settings
from pipeline.workflow.own_experiments import RECORD, mapping_of
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, stored_studies

Asked: TypeAlias = str | os.PathLike[str] | Study | Mapping[str, Any]
PLAIN = re.compile(
    r"(?!(null|true|false|yes|no|on|off|nan|inf)$)[A-Za-z_][\w/]*", re.I
)  # texts without quotes
SECTIONS = (
    "grid",
    "parameters",
    "derive",
    "data",
    "cluster",
    "store",
)  # mappings, changed field by field


class Request(NamedTuple):
    """What a call asks for. command: the command that asks for the same."""

    stored: StoredStudy
    settings: Settings
    cluster: Cluster
    command: str


def read(
    experiment: Asked, changes: Mapping[str, Any], cluster: Any = "local", task: str = "run"
) -> Request:
    """The request of a call, see `pipeline.library.runs.run`; touches nothing.

    Raises InvalidInput, with the key that a config has, for every mistake.
    """
    for key in {"task", "shard"} & changes.keys():
        raise InvalidInput(key, changes[key], "is for the command; a call takes no such argument")
    changes = {**changes, "task": task}
    own = None
    start = []
    if isinstance(experiment, (str, os.PathLike)):
        start = [f"experiment={os.fspath(experiment)}"]
    elif isinstance(experiment, Study):
        own = mapping_of(experiment)
    elif isinstance(experiment, Mapping):
        try:
            own = _plain(experiment)
        except RecursionError:
            raise InvalidInput(
                "experiment", type(experiment).__name__, "holds itself, or is nested too deeply"
            ) from None
    else:
        raise InvalidInput(
            "experiment",
            type(experiment).__name__,
            "must be the name of an experiment, the path of its file, a mapping or a Study",
        )
    if "size" in changes:
        start.append(f"size={changes['size']}")
    if isinstance(cluster, (str, Mapping)):
        fields = {"kind": cluster} if isinstance(cluster, str) else dict(cluster)
        start.append(f"cluster={fields.pop('kind', 'local')}")
        changes = {**changes, "cluster": fields}
    rest = {key: value for key, value in changes.items() if key != "size"}
    words = [*start, *_words(rest, compose_once(start, own))] if rest else start
    raw = compose(words, own)[0]
    (one,) = read_experiments([raw])
    settings = read_settings(raw)
    where = read_cluster(raw) if isinstance(cluster, (str, Mapping)) else Connected(cluster)
    named = [] if own is None else [f"experiment={RECORD}"]
    command = _script(one.study) or shlex.join(["pipeline", *named, *words])
    return Request(stored_studies(settings, [one], [raw])[0], settings, where, command)


def _script(study: Study) -> str:
    """The script or notebook that must run to repeat a study with parts that it defines.

    Empty without such parts.
    """
    if not any(part.__module__ == SCRIPT for part in parts(study).values()):
        return ""
    path = getattr(sys.modules[SCRIPT], "__file__", None)
    return (
        shlex.join(["python", Path(path).name]) if path else "the notebook that registers its parts"
    )


def _words(changes: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Changes of a config as arguments of the command: key=value, +key=value for a new key, ~key
    for a None.
    """
    for key, value in changes.items():
        if isinstance(value, Grid):
            raise InvalidInput(
                key, "Grid", "must be a mapping of axes to levels, or a list of such mappings"
            )
        value = _plain(value)
        known = config.get(key)
        section, _, name = key.partition(".")
        if key in SECTIONS and isinstance(value, dict):
            yield from (
                _word(f"{key}.{name}", one, name in _names(known), True)
                for name, one in value.items()
            )
        elif name and section in SECTIONS:
            yield _word(key, value, name in _names(config.get(section)), True)
        elif known is not None and value is not None and dict in map(type, (known, value)):
            yield from (f"~{key}", f"+{key}={as_text(value)}")
        else:
            yield _word(key, value, key in config, False)


def _names(section: Any) -> Collection[str]:
    """Names in a section of a config, of a grid those in its first product."""
    first = section[0] if isinstance(section, list) and section else section
    return first if isinstance(first, Mapping) else {}


def _word(key: str, value: Any, known: bool, removable: bool) -> str:
    if value is None and removable and key.partition(".")[0] in ("grid", "parameters", "derive"):
        return f"~{key}"
    as_typed = isinstance(value, str) and (key in AS_TYPED or PLAIN.fullmatch(value))
    return f"{'' if known else '+'}{key}={value if as_typed else as_text(value)}"


def _plain(value: Any) -> Any:
    """A value as a config has it: numbers, texts, lists and mappings."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
