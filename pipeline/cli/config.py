"""From a composed config to checked, frozen objects: everything is checked before anything is
created.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pipeline.execution.clusters import CLUSTERS, Cluster
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.systems.registry import system as batch_system
from pipeline.identity.registry import problem
from pipeline.reporting import common_spec, specs
from pipeline.reporting.common_spec import Common
from pipeline.reporting.specs import FORMATS
from pipeline.storage.schemes import check_url, is_url
from pipeline.study.checks import mapping
from pipeline.study.grid import read_products
from pipeline.study.parameters import (
    Checked,
    InvalidInput,
    check,
    fields,
    nearest,
    parameter,
    path_of,
)
from pipeline.study.study import Study

TASKS = {
    "run": "simulate what is missing, seal, judge the claims, write the report (the default)",
    "submit": "submit run as jobs without a driver: cluster={systems}; shards=N",
    "plan": "what run would do: cells, units, what is done, predicted time, memory and bytes",
    "status": "what is done and what failed, from disk alone",
    "report": "write the report again or, before the end, one of the units that are done",
    "list": (
        "all studies in outputs, with verdicts, sizes and dates; writes a page with their pictures"
    ),
    "compare": (
        "how two finished studies differ, cell by cell: studies=NAME,NAME, as task=list prints them"
    ),
    "remove": "take finished studies away, with all that was simulated: studies=NAME sure=true",
    "verify": (
        "check every stored file; repair=true marks damaged units as not run; results=PATH: only "
        "this copy"
    ),
    "controls": (
        "simulate the wrong world of every claim, in which the claim must be contradicted; keeps "
        "nothing"
    ),
    "show": "print the experiment as it would run, as YAML that experiment=PATH.yaml takes",
    "new": (
        "write a first experiment of your own, with comments: experiment=PATH.yaml, like=NAME of "
        "another one"
    ),
    "replay": "simulate one unit here, with its traceback: unit=NAME, as a failure printed it",
    "advise": (
        "how small epsilon may be, or how many people it takes: problem, target='METRIC<=NUMBER', "
        "sizes; quick=true; save=FILE.html; --json"
    ),
    "release": (
        "release real people's data once, privately: problem, data.path, outputs, "
        "parameters.epsilon_user, …"
    ),
}
LONGEST = 100  # bytes of a folder's name: file systems allow 255


@dataclass(frozen=True)
class Storage(Checked):
    """Where the arrays of all studies go, if not to their folders."""

    url: str | None = parameter(
        "s3://BUCKET/PREFIX for replications and results, one folder per study; the report stays "
        "in outputs",
        default=None,
    )
    timeout: float = parameter(
        "how long a request to the bucket is tried again before the run stops",
        unit="s",
        default=60.0,
        low=1,
        high=3600,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.url is not None:
            object.__setattr__(self, "url", check_url(self.url))


@dataclass(frozen=True)
class Settings(Checked):
    """How to run: nothing here can change a number."""

    task: str = parameter("what to do", default="run", choices=tuple(TASKS))
    outputs: str = parameter("folder that holds one folder per study", default="outputs")
    stop_after: float | None = parameter(
        "stop after this long, keep what is done", unit="s", default=None, above=0
    )
    retry_failed: bool = parameter("run failed units again", default=False)
    most_failures: int = parameter(
        "failed units with errors of one kind after which a run stops, if a tenth of its units "
        "failed so; 0 for never",
        default=20,
        low=0,
    )
    most_seconds: float | None = parameter(
        "a unit that takes longer fails, and the sweep goes on; null: 100 times its predicted "
        "time, 10 min at least",
        unit="s",
        default=None,
        above=0,
    )
    repair: bool = parameter("with verify: mark damaged units as not run", default=False)
    accept_code: bool = parameter(
        "go on though the code or arithmetic computes other numbers; this is recorded",
        default=False,
    )
    formats: str = parameter(
        "formats of figures besides csv, with commas between: svg, png, pdf", default="svg"
    )
    results: str | None = parameter(
        "with verify: a copy of results.zarr, checked without its study", default=None
    )
    studies: str | None = parameter(
        "with compare and remove: names of studies, with commas between", default=None
    )
    sure: bool = parameter("with remove: do it", default=False)
    unit: str | None = parameter("with replay: the unit, as a failure printed it", default=None)
    shard: str | None = parameter(
        "simulate one share of the units only, as 3/20, and leave sealing and the report to a run "
        "without it",
        default=None,
    )
    shards: int | None = parameter(
        "with submit: tasks of the job array, at most one for each unit; null: as many as work "
        "for an hour",
        default=None,
        low=1,
        high=100_000,
    )
    on_end: str | None = parameter(
        "command of the shell to call once at the end, which gets PIPELINE_EXIT_CODE, "
        "PIPELINE_OUTPUTS and PIPELINE_STUDIES",
        default=None,
    )
    store: Storage = field(default=Storage(), metadata={"meaning": "where the arrays go"})

    @property
    def figure_formats(self) -> tuple[str, ...]:
        """Formats of figures: the page needs svg."""
        return tuple(dict.fromkeys(("svg", *self.formats.split(","))))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_values()
        self._check_task()

    @property
    def shard_numbers(self) -> tuple[int, int]:
        """(number from 0, how many) of the shard; (0, 1) where there is none."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", "1/1" if self.shard is None else self.shard)
        return (int(match[1]) - 1, int(match[2])) if match else (0, 0)

    def _check_values(self) -> None:
        """Raise InvalidInput for a text of a form that is not allowed."""
        if not isinstance(self.store, Storage):
            raise InvalidInput("store", self.store, "must be a Storage")
        path_of(self.outputs, "outputs")
        if is_url(self.outputs):
            raise InvalidInput(
                "outputs",
                f"{self.outputs.partition(':')[0]}://…",
                "must be a folder of this machine, as outputs=/tmp/outputs: reports and records "
                "of sessions go there; numbers go elsewhere by store.url=…",
            )
        longest = max(len(name.encode()) for name in self.outputs.split("/"))
        if not self.outputs.strip() or longest > LONGEST:
            raise InvalidInput(
                "outputs",
                self.outputs,
                f"must be a folder, of names up to {LONGEST} bytes; outputs=. is this one",
            )
        if any(one not in FORMATS for one in self.figure_formats):
            raise InvalidInput(
                "formats", self.formats, f"must be of {', '.join(FORMATS)}, with commas between"
            )
        number, count = self.shard_numbers
        if not 0 <= number < count:
            raise InvalidInput("shard", self.shard, "must be K/N with K from 1 to N, as 3/20")

    def _check_task(self) -> None:
        """Raise InvalidInput for a setting that the task has no use for."""
        for name, task in (
            ("repair", "verify"),
            ("results", "verify"),
            ("unit", "replay"),
            ("shard", "run"),
            ("shards", "submit"),
            ("sure", "remove"),
        ):
            if getattr(self, name) and self.task != task:
                raise InvalidInput(
                    name, getattr(self, name), f"goes with task={task} only, not task={self.task}"
                )
        if self.studies is not None and self.task not in ("compare", "remove"):
            raise InvalidInput(
                "studies",
                self.studies,
                f"goes with task=compare or remove only, not task={self.task}",
            )
        if self.results is not None and self.repair:
            raise InvalidInput(
                "repair", True, "goes with no results=…; a damaged copy must be copied again"
            )


@dataclass(frozen=True)
class Text(Checked):
    """What the report of an experiment says and judges."""

    title: str = parameter("heading of its report", default="")
    question: str = parameter("what it asks, in a sentence", default="")
    claims: bool = parameter("judge the claims that its problem has on it", default=True)


@dataclass(frozen=True)
class Experiment:
    """A study and how it is presented. figures: see `pipeline.reporting.specs`."""

    study: Study
    text: Text
    figures: tuple[specs.Spec, ...] = ()

    def folder(self, settings: Settings) -> Path:
        """The study's own folder, the same for the same statistics."""
        return path_of(settings.outputs, "outputs") / f"{self.study.name}-{self.study.key}"

    def address(self, settings: Settings) -> tuple[Path, str | None, float]:
        """What the study's `Store` is made of: its folder, its URL if it is in a bucket, seconds of
        patience.
        """
        url = settings.store.url and f"{settings.store.url}/{self.study.name}-{self.study.key}"
        return self.folder(settings), url, settings.store.timeout


Declared = TypeVar("Declared")
STUDY_KEYS = {*fields(Study), *fields(Text), "figures", "data"}
FILES = ("path", "items", "truth")  # of a person's own data
OTHER_KEYS = {
    *fields(Settings),
    "cluster",
    "size",
    "quick",
    "suite",
    "suite_title",
    "experiments",
    "common",
}


def read_settings(raw: Mapping[str, Any]) -> Settings:
    """Settings from a plain mapping; InvalidInput names the key."""
    _known(raw, STUDY_KEYS | OTHER_KEYS, "")
    store = _read(Storage, mapping(raw.get("store", {}), "store"), "store.")
    given = {name: raw[name] for name in fields(Settings) if name in raw and name != "store"}
    return _read(Settings, given, "", store=store)


def read_cluster(raw: Mapping[str, Any]) -> Cluster:
    """The cluster from its mapping: `kind` and that kind's fields."""
    settings = dict(mapping(raw.get("cluster", {"kind": "local"}), "cluster"))
    kind = settings.pop("kind", None)
    if isinstance(kind, str) and kind in CLUSTERS:
        return _read(CLUSTERS[kind], settings, "cluster.")
    return BatchWorkers(_read(batch_system(kind, CLUSTERS), settings, "cluster."))


def read_experiments(mappings: Sequence[Mapping[str, Any]]) -> list[Experiment]:
    """Checked experiments of one command.

    A data file goes to those that take one, and one of them must.
    """
    experiments = []
    for raw in mappings:
        try:
            experiments.append(read_experiment(raw, others=len(mappings) > 1))
        except InvalidInput as error:
            where = f" [in {raw.get('name')}]" if len(mappings) > 1 else ""
            raise InvalidInput(error.key, error.value, error.allowed + where) from None
    files = {
        f"data_{name}": path
        for name, path in (mappings[0].get("data") or {}).items()
        if path is not None
    }
    for name in files.keys() - {name for one in experiments for name in one.study.parameters}:
        raise InvalidInput(
            _config_key(f"parameters.{name}"),
            files[name],
            "none of these studies takes such a file",
        )
    read_common(mappings[0], experiments)
    return experiments


def read_common(raw: Mapping[str, Any], experiments: Iterable[Experiment]) -> Common | None:
    """The figure that all studies of a suite share; None without one. InvalidInput names the key."""
    studies = (one.study for one in experiments)
    return common_spec.read(
        raw.get("common"),
        {study.name: (study.grid.axes, [*study.derivations], study.metrics) for study in studies},
    )


def read_experiment(raw: Mapping[str, Any], others: bool = False) -> Experiment:
    """A checked experiment from a plain mapping; InvalidInput names the dotted key.

    others: whether it is one of several, so that a data file may be for another.
    """
    _known(raw, STUDY_KEYS | OTHER_KEYS, "")
    text = _read(Text, {n: raw[n] for n in fields(Text) if n in raw}, "")
    for name, declared in fields(Study).items():
        if "meaning" in declared.metadata and raw.get(name) is None:
            raise InvalidInput(name, None, f"is needed ({declared.metadata['meaning']})")
    constants, derive, files = (
        mapping({} if raw.get(key) is None else raw[key], key)
        for key in ("parameters", "derive", "data")
    )
    _known(files, FILES, "data.")
    constants |= {f"data_{name}": path for name, path in files.items() if path is not None}
    for name in _untaken(raw, constants, files):
        if not others:
            raise InvalidInput(
                _config_key(f"parameters.{name}"),
                constants[name],
                "the model of this study takes no such file; it must be null",
            )
        del constants[name]
    try:
        study = Study(
            **{name: raw.get(name, getattr(Study, name, None)) for name in fields(Study)}
            | {"parameters": constants, "derive": derive}
        )
    except InvalidInput as error:
        raise InvalidInput(_config_key(error.key), error.value, error.allowed) from None
    figures = specs.read(raw.get("figures"), study.grid.axes, study.derivations, study.metrics)
    return Experiment(study, text, figures)


def _untaken(
    raw: Mapping[str, Any], constants: Mapping[str, Any], files: Mapping[str, Any]
) -> list[str]:
    """Parameters that are data files which no model of the experiment takes.

    None where a model is unknown.
    """
    named = {f"data_{name}" for name in files} & constants.keys()
    if not named:
        return []
    asked = problem(raw["problem"])
    levels = (
        level
        for product in read_products(raw.get("grid"), named=True)
        for level in product.get("model", ())
    )
    models = [name for name in (constants.get("model"), *levels) if name is not None]
    if not all(isinstance(name, str) and name in asked.models for name in models):
        return []
    return sorted(named - {name for model in models for name in fields(asked.part("model", model))})


def _read(
    cls: type[Declared], values: Mapping[str, Any], prefix: str, **checked_already: Any
) -> Declared:
    """An object of a class whose fields are made by `parameter`.

    InvalidInput names the key after its prefix.
    """
    known = fields(cls)
    _known(values, known, prefix)
    for name, declared in known.items():
        if declared.default is MISSING and values.get(name) is None:
            raise InvalidInput(prefix + name, None, f"is needed ({declared.metadata['meaning']})")
    checked = {name: check(known[name], value, prefix + name) for name, value in values.items()}
    try:
        return cls(**checked, **checked_already)
    except InvalidInput as error:  # a check of the class itself, which does not know its prefix
        raise InvalidInput(prefix + error.key, error.value, error.allowed) from None


def _known(values: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    for name in values:
        if name not in known:
            raise InvalidInput(
                f"{prefix}{name}", values[name], f"no such key; {nearest(name, known)}"
            )


def _config_key(key: str) -> str:
    """The key by which a person gives a value: parameters that are data files stand under data."""
    name = key.removeprefix("parameters.data_")
    return f"data.{name}" if name != key and name in FILES else key
