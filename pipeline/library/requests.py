"""From the arguments of a Python call to the job that it asks for; touches nothing."""

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

from pipeline.execution.clusters import Cluster, Connected
from pipeline.execution.runner import parts
from pipeline.identity.registry import SCRIPT
from pipeline.study.parameters import InvalidInput, fields
from pipeline.study.study import Study
from pipeline.study.untyped import Config
from pipeline.workflow import composition, config_files, own_experiments
from pipeline.workflow.config import present, read_cluster, read_experiments, read_settings
from pipeline.workflow.invocation import NOTEBOOK, Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.studies import stored_studies
from pipeline.workflow.words import AS_TYPED, as_text, refuse_secrets

if TYPE_CHECKING:  # loaded where a person has a client
    import distributed
    import numpy as np

    Levels: TypeAlias = Sequence[float | str | bool | None] | np.ndarray[Any, Any] | None

ExperimentLike: TypeAlias = str | os.PathLike[str] | Study | Mapping[str, Any]
ClusterLike: TypeAlias = "str | Mapping[str, Any] | distributed.Client"
# Texts without quotes in a word.
PLAIN = re.compile(r"(?!(null|true|false|yes|no|on|off|nan|inf)$)[A-Za-z_][\w/]*", re.I)
OF_THE_COMMAND = ("task", "shard")
OF_A_STUDY = {*fields(Study), "data", "quick"}


class Changes(TypedDict, total=False):
    """What a call can change, as keywords; the values are those of an experiment's file.

    In grid, parameters and derive a None removes the name; names that are not given stay.
    """

    size: Literal["paper", "quick"]
    title: str
    question: str
    seed: int
    replications: int
    block: int
    grid: "Mapping[str, Levels] | Sequence[Mapping[str, Levels]]"
    parameters: Mapping[str, float | str | bool | None]
    derive: Mapping[str, str | None]
    coordinates: Sequence[str]
    metrics: Sequence[str]
    paired: Sequence[str]
    precision: Mapping[str, Mapping[str, float]] | None
    refine: Mapping[str, float | str] | None
    until: str | Mapping[str, Any] | None
    statistics: Mapping[str, Sequence[str]] | None
    figures: Sequence[Mapping[str, Any]]
    claims: bool
    data: Mapping[str, str | os.PathLike[str] | None]
    outputs: str | os.PathLike[str]
    store: Mapping[str, str | float | None]
    stop_after: float | None
    retry_failed: bool
    most_failures: int
    most_seconds: float | None
    accept_code: bool
    formats: str


def read(
    experiment: ExperimentLike,
    changes: Config,
    cluster: ClusterLike = "local",
    task: str = "run",
) -> Job:
    """The job of a call, see `pipeline.library.runs.run`; touches nothing, and nobody listens yet.

    A `Study` that nothing changes is used as it is. Raises InvalidInput, with the key that a config
    has, for every mistake.
    """
    for key in OF_THE_COMMAND:
        if key in changes:
            raise InvalidInput(
                key, changes[key], "is for the command; a call takes no such argument"
            )
    whole = composition.whole_experiment(_content(experiment))
    words = [*_words(experiment, whole, changes, cluster, task)]
    for word in words:
        refuse_secrets(word)
    size = cast(str, composition.plain(changes.get("size", whole.get("size"))))
    others = {key: value for key, value in changes.items() if key != "size"}
    config = composition.changed(composition.sized(whole, size), {**others, "task": task})
    if isinstance(experiment, Study) and _is_used_as_it_is(experiment, changes):
        read_experiment = present(experiment, config)
    else:
        (read_experiment,) = read_experiments([config])
    settings = read_settings(config)
    invocation = Invocation(tuple(words), _script(read_experiment.study))
    studies = stored_studies(settings, [read_experiment], [config])
    return Job(tuple(studies), settings, _cluster(cluster, config), invocation)


def _content(experiment: ExperimentLike) -> Mapping[str, Any]:
    """The experiment as a plain mapping."""
    if isinstance(experiment, (str, os.PathLike)):
        return composition.named_experiment(os.fspath(experiment))
    if isinstance(experiment, Study):
        return own_experiments.mapping_of(experiment)
    if not isinstance(experiment, Mapping):
        raise InvalidInput(
            "experiment",
            type(experiment).__name__,
            "must be the name of an experiment, the path of its file, a mapping or a Study",
        )
    try:
        return own_experiments.checked(composition.plain(experiment))
    except RecursionError:
        raise InvalidInput(
            "experiment", type(experiment).__name__, "holds itself, or is nested too deeply"
        ) from None


def _is_used_as_it_is(study: Study, changes: Config) -> bool:
    """Whether a call changes nothing of a study, which has no looks at its claims behind it."""
    sections = {key.partition(".")[0] for key in changes}
    has_looks = study.until is not None and bool(study.until.stops)
    return not sections & OF_A_STUDY and not has_looks


def _cluster(cluster: ClusterLike, config: Config) -> Cluster:
    """The cluster that a call names, describes or brings."""
    if not isinstance(cluster, (str, Mapping)):
        return Connected(cluster)
    kind, described = _kind_and_fields(cluster)
    config_files.check_offered("cluster", kind)
    fields_of_config = config.get("cluster") or {}
    return read_cluster({"cluster": {"kind": kind, **described, **fields_of_config}})


def _kind_and_fields(cluster: str | Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The kind of a cluster, and its other fields."""
    if isinstance(cluster, str):
        return cluster, {}
    described = {str(name): composition.plain(value) for name, value in cluster.items()}
    kind = described.pop("kind", "local")
    return kind, described


def _script(study: Study) -> str:
    """The script or notebook that must run to repeat a study with parts that it defines.

    Empty without such parts.
    """
    if not any(part.__module__ == SCRIPT for part in parts(study).values()):
        return ""
    path = getattr(sys.modules[SCRIPT], "__file__", None)
    return shlex.join(["python", Path(path).name]) if path else NOTEBOOK


def _words(
    experiment: ExperimentLike,
    config: Config,
    changes: Config,
    cluster: ClusterLike,
    task: str,
) -> Iterator[str]:
    """The words of the same command. config: of the experiment at its full size."""
    if isinstance(experiment, (str, os.PathLike)):
        yield f"experiment={os.fspath(experiment)}"
    else:
        yield f"experiment={own_experiments.RECORD}"
    if "size" in changes:
        yield f"size={changes['size']}"
    described: dict[str, Any] = {}
    if isinstance(cluster, (str, Mapping)):
        kind, described = _kind_and_fields(cluster)
        yield f"cluster={kind}"
    for key, value in changes.items():
        if key != "size":
            yield from _words_of_change(key, composition.plain(value), config)
    yield f"task={task}"
    for name, value in described.items():
        yield _word(f"cluster.{name}", value, is_known=True)


def _words_of_change(key: str, value: object, config: Config) -> Iterator[str]:
    """A change of a config as words: key=value, +key=value for a new key, ~key for a None."""
    known = config.get(key)
    section, _, name = key.partition(".")
    if key in composition.SECTIONS and isinstance(value, dict):
        for part, part_value in value.items():
            yield _word(f"{key}.{part}", part_value, part in _names(known))
    elif name and section in composition.SECTIONS:
        is_known = section == "cluster" or name in _names(config.get(section))
        yield _word(key, value, is_known)
    elif known is not None and value is not None and dict in (type(known), type(value)):
        yield f"~{key}"
        yield f"+{key}={as_text(value)}"
    else:
        yield _word(key, value, key in config)


def _names(section: object) -> Collection[str]:
    """Names in a section of a config, of a grid those in its first product."""
    first = section[0] if isinstance(section, list) and section else section
    return first if isinstance(first, Mapping) else ()


def _word(key: str, value: object, is_known: bool) -> str:
    section, _, name = key.partition(".")
    if value is None and name and section in composition.REMOVABLE:
        return f"~{key}"
    text = as_text(value)
    if isinstance(value, str) and (key in AS_TYPED or PLAIN.fullmatch(value)):
        text = value
    return f"{key}={text}" if is_known else f"+{key}={text}"
