"""From a composed config to checked, frozen objects: everything is checked before anything is created."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.clusters import CLUSTERS
from pipeline.grid import Grid
from pipeline.parameters import InvalidInput, arguments, check, fields, nearest, parameter, shorten
from pipeline.places import check_url
from pipeline.registry import NAMES, lookup
from pipeline.report import specs
from pipeline.study import ROLES, Study

TASKS = {
    "run": "simulate what is missing, seal, judge the claims, write the report (the default)",
    "plan": "what run would do: cells, units, what is done, predicted time, memory and bytes",
    "status": "what is done and what failed, from disk alone",
    "report": "write the report again from the sealed results",
    "verify": "check every stored chunk; repair=true marks damaged units as not run",
    "replay": "simulate one unit here, with its traceback: unit=NAME, as a failure printed it",
    "release": "release real people's responses once, privately: data.path, outputs, parameters.epsilon_user, …",
}
CELLS_MOST = 10_000_000
LONGEST = 100  # bytes of a folder's name: file systems allow 255, the study adds its key


@dataclass(frozen=True)
class Storage:
    """Where the arrays of all studies go, if not to their folders."""

    url: str | None = parameter(
        "s3://BUCKET/PREFIX for replications and results, one folder per study; the report stays in outputs",
        default=None)
    timeout: float = parameter(
        "how long a request to the bucket is tried again before the run stops", unit="s", default=60.0, low=1,
        high=3600)

    def __post_init__(self):
        if self.url is not None:
            object.__setattr__(self, "url", check_url(self.url))


@dataclass(frozen=True)
class Settings:
    """How to run: nothing here can change a number."""

    task: str = parameter("what to do", default="run", choices=tuple(TASKS))
    outputs: str = parameter("folder that holds one folder per study", default="outputs")
    stop_after: float | None = parameter(
        "stop after this long, keep what is done", unit="s", default=None, above=0
    )
    retry_failed: bool = parameter("run failed units again", default=False)
    repair: bool = parameter("with verify: mark damaged units as not run", default=False)
    unit: str | None = parameter("with replay: the unit, as a failure printed it", default=None)
    shard: str | None = parameter(
        "simulate one share of the units only, as 3/20, and leave sealing and the report to a run without it",
        default=None)
    store: Storage = field(default=Storage(), metadata={"meaning": "where the arrays go"})

    @property
    def part(self) -> tuple[int, int]:
        """(number from 0, how many) of the shard; a single one without."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", "1/1" if self.shard is None else self.shard)
        return (int(match[1]) - 1, int(match[2])) if match else (0, 0)


@dataclass(frozen=True)
class Size:
    """Numbers of a study that are not the grid."""

    seed: int = parameter("root of all random streams", low=0, below=2**63)
    replications: int = parameter("replications of every cell, a multiple of block", low=1, high=10**9)
    block: int = parameter("replications simulated together; part of the study's identity", low=1, high=10**6)


@dataclass(frozen=True)
class Text:
    """Words and names of an experiment."""

    name: str = parameter("name of the experiment, also its folder")
    title: str = parameter("heading of its report", default="")
    question: str = parameter("what it asks, in a sentence", default="")
    claims: str | None = parameter("claims that it decides", default=None)


@dataclass(frozen=True)
class Experiment:
    """A study and how it is presented. figures: see `pipeline.report.specs`."""

    study: Study
    text: Text
    figures: tuple[specs.Spec, ...] = ()

    def folder(self, settings: Settings) -> Path:
        """The study's own folder, the same for the same statistics."""
        return Path(settings.outputs) / f"{self.study.name}-{self.study.key}"

    def address(self, settings: Settings) -> tuple[Path, str | None, float]:
        """What the study's `Store` is made of: its folder, its URL if it is in a bucket, seconds of patience."""
        url = settings.store.url and f"{settings.store.url}/{self.study.name}-{self.study.key}"
        return self.folder(settings), url, settings.store.timeout


STUDY_KEYS = {*fields(Size), *fields(Text), "grid", "parameters", "derive", "coordinates", "metrics", "paired",
              "figures", "data"}
FILES = ("path", "items", "truth")  # of a person's own data
OTHER_KEYS = {*fields(Settings), "cluster", "size", "suite", "experiments"}


def read_settings(raw: Mapping[str, Any]) -> Settings:
    """Settings from a plain mapping; InvalidInput names the key."""
    _known(raw, STUDY_KEYS | OTHER_KEYS, "")
    store = _read(Storage, _mapping(raw.get("store", {}), "store"), "store.")
    settings = _read(Settings, {n: raw[n] for n in fields(Settings) if n in raw and n != "store"}, "")
    settings = replace(settings, store=store)
    longest = max(len(part.encode()) for part in settings.outputs.split("/"))
    if not settings.outputs.strip() or longest > LONGEST:
        raise InvalidInput("outputs", settings.outputs,
                           f"must be a folder, of names up to {LONGEST} bytes; outputs=. is this one")
    if settings.shard is not None and not 0 <= settings.part[0] < settings.part[1]:
        raise InvalidInput("shard", settings.shard, "must be K/N with K from 1 to N, as 3/20")
    for name, task in (("repair", "verify"), ("unit", "replay"), ("shard", "run")):
        if getattr(settings, name) and settings.task != task:
            raise InvalidInput(name, getattr(settings, name), f"goes with task={task} only, not task={settings.task}")
    return settings


def read_cluster(raw: Mapping[str, Any]) -> Any:
    """The cluster from its mapping: `kind` and that kind's fields."""
    given = dict(_mapping(raw.get("cluster", {"kind": "local"}), "cluster"))
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in CLUSTERS:
        raise InvalidInput("cluster.kind", kind, nearest(kind, CLUSTERS))
    return _read(CLUSTERS[kind], given, "cluster.")


def read_experiments(mappings: Sequence[Mapping[str, Any]]) -> list[Experiment]:
    """Checked experiments of one command; a data file goes to those that take one, and one of them must."""
    found = []
    for raw in mappings:
        try:
            found.append(read_experiment(raw, others=len(mappings) > 1))
        except InvalidInput as error:
            where = f" [in {raw.get('name')}]" if len(mappings) > 1 else ""
            raise InvalidInput(error.key, error.value, error.allowed + where) from None
    given = {f"data_{name}": path for name, path in (mappings[0].get("data") or {}).items() if path is not None}
    for name in given.keys() - {name for one in found for name in one.study.parameters}:
        raise InvalidInput(_place(f"parameters.{name}"), given[name], "none of these studies takes such a file")
    return found


def read_experiment(raw: Mapping[str, Any], others: bool = False) -> Experiment:
    """A checked experiment from a plain mapping; InvalidInput names the dotted key.

    others: whether it is one of several, so that a data file may be for another.
    """
    _known(raw, STUDY_KEYS | OTHER_KEYS, "")
    text = _read(Text, {n: raw[n] for n in fields(Text) if n in raw}, "")
    if not re.fullmatch(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*", text.name) or len(text.name) > LONGEST:
        raise InvalidInput("name", text.name,
                           f"must be letters, digits, _ - and single / between, at most {LONGEST}")
    if text.claims is not None and text.claims not in NAMES["claims"]:
        raise InvalidInput("claims", text.claims, f"no such claims; {nearest(text.claims, NAMES['claims'])}")
    size = _read(Size, {n: raw[n] for n in fields(Size) if n in raw}, "")
    if size.replications % size.block:
        near = max(size.replications // size.block, 1) * size.block
        raise InvalidInput("replications", size.replications,
                           f"must be a multiple of block={size.block}, e.g. {near}")
    metrics = _names(raw.get("metrics"), "metrics")
    for name in metrics:
        lookup("metric", name, "metrics")
    derive = dict(_mapping({} if raw.get("derive") is None else raw["derive"], "derive"))
    for name, target in derive.items():
        lookup("derivation", target, f"derive.{name}")
    coordinates = _names(raw["coordinates"], "coordinates") if raw.get("coordinates") else ()
    for name in coordinates:
        lookup("derivation", name, "coordinates")
    constants = dict(_mapping({} if raw.get("parameters") is None else raw["parameters"], "parameters"))
    files = _mapping({} if raw.get("data") is None else raw["data"], "data")
    _known(files, FILES, "data.")
    constants |= {f"data_{name}": path for name, path in files.items() if path is not None}
    products = _products(raw.get("grid"))
    declared = _declared(constants, products, [*derive.values(), *coordinates], metrics)
    axes = list(products[0])
    models = {constants.get("model")}.union(*(product.get("model", ()) for product in products)) - {None}
    taken = {name for model in models for name in fields(lookup("model", model, "parameters.model"))}
    untaken = {f"data_{name}" for name in files} & {*constants} - taken
    if untaken and not others:
        raise InvalidInput(_place(f"parameters.{min(untaken)}"), constants[min(untaken)],
                           "this study takes no such file, it must be null: its model simulates")
    constants = {name: value for name, value in constants.items() if name not in untaken}
    for name in (*axes, *constants, *derive):
        place = "grid" if name in axes else "parameters" if name in constants else "derive"
        if name not in declared:
            raise InvalidInput(f"{place}.{name}", _given(name, products, constants, derive),
                               f"no part of this study has such a parameter; {nearest(name, declared)}; "
                               f"~{place}.{name} removes it")
        if (name in axes) + (name in constants) + (name in derive) > 1:
            raise InvalidInput(f"{place}.{name}", _given(name, products, constants, derive),
                               "given twice among grid, parameters and derive; remove one, as "
                               f"~{place}.{name} does")
    constants = {n: _coerce(declared[n], v, _place(f"parameters.{n}")) for n, v in constants.items()}
    products = [{axis: _levels(levels, declared[axis], axis) for axis, levels in p.items()} for p in products]
    if sum(math.prod(len(v) for v in p.values()) for p in products) > CELLS_MOST:
        raise InvalidInput("grid", "…", f"more than {CELLS_MOST:,} cells; make it smaller")
    paired = _names(raw.get("paired", Study.paired), "paired")
    for name in paired:
        if name not in (pairable := {*axes, *Study.paired}):
            raise InvalidInput("paired", name, f"no such axis to pair across; {nearest(name, pairable)}")
    for name in set(coordinates) & {*axes, *constants, *derive, *metrics}:
        raise InvalidInput("coordinates", name, "is a parameter or metric already; it must not be given twice")
    study = Study(
        text.name, size.seed, size.replications, size.block, Grid.of(*products), constants, metrics, derive,
        paired, coordinates,
    )
    _check_cells(study)
    figures = specs.read(raw.get("figures"), study.grid.axes, study.derivations, metrics)
    return Experiment(study, text, figures)


def _read(cls: type, given: Mapping[str, Any], prefix: str) -> Any:
    known = fields(cls)
    _known(given, known, prefix)
    for name, declared in known.items():
        if declared.default is MISSING and given.get(name) is None:
            raise InvalidInput(prefix + name, None, f"is needed ({declared.metadata['meaning']})")
    checked = {name: check(known[name], value, prefix + name) for name, value in given.items()}
    try:
        return cls(**checked)
    except InvalidInput as error:  # a check of the class itself, which does not know its prefix
        raise InvalidInput(prefix + error.key, error.value, error.allowed) from None


def _known(given: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    for name in given:
        if name not in known:
            raise InvalidInput(f"{prefix}{name}", given[name], f"no such key; {nearest(name, known)}")


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(key, value, "must be a mapping of names to values")
    return value


def _names(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(v, str) for v in value):
        raise InvalidInput(key, value, "must be a list of names, at least one")
    if len(set(value)) < len(value):
        raise InvalidInput(key, list(value), "names one thing twice")
    return tuple(value)


def _products(grid: Any) -> list[dict[str, Any]]:
    given = grid if isinstance(grid, (list, tuple)) else [grid]
    if not given:
        raise InvalidInput("grid", grid, "must be a mapping of axes to levels, or a list of such mappings")
    products = [dict(_mapping(product, "grid")) for product in given]
    for product in products:
        if not product or list(product) != list(products[0]):
            raise InvalidInput("grid", grid,
                               "every product needs the same axes in the same order, at least one")
        for axis, levels in product.items():
            if not isinstance(levels, (list, tuple)) or not levels:
                raise InvalidInput(f"grid.{axis}", levels, "must be a list of levels, at least one")
    return products


def _place(key: str) -> str:
    """Where a person gives it: parameters that are data files stand under data."""
    return key.replace("parameters.data_", "data.", 1)


def _declared(constants: Mapping, products: list[dict], derivations: Iterable[str], metrics: tuple) -> dict[str, list]:
    """Name -> the fields that declare it, over all components that any cell uses."""
    declared: dict[str, list] = {}
    parts = [lookup("metric", name, "metrics") for name in metrics]
    for role in ROLES:
        if role in constants:
            parts.append(lookup(role, constants[role], f"parameters.{role}"))
        elif any(role in product for product in products):
            names = [name for product in products for name in product.get(role, ())]
            parts += [lookup(role, name, f"grid.{role}") for name in names]
        else:
            raise InvalidInput(f"parameters.{role}", None, f"is needed, here or as an axis of grid; "
                               f"{nearest('', NAMES[role])}")
        declared[role] = []
    for part in parts:
        for name, found in fields(part).items():
            declared.setdefault(name, []).append(found)
    for target in derivations:
        for name, found in arguments(lookup("derivation", target)).items():
            declared.setdefault(name, [found])
    return declared


def _given(name: str, products: list[dict], constants: Mapping, derive: Mapping) -> Any:
    return products[0].get(name, constants.get(name, derive.get(name)))


def _coerce(declared: list, value: Any, key: str) -> Any:
    for found in declared:
        value = check(found, value, key)
    return value


def _levels(levels: Any, declared: list, axis: str) -> list:
    levels = [_coerce(declared, level, f"grid.{axis}") for level in levels]
    if any(level is None for level in levels):
        raise InvalidInput(f"grid.{axis}", levels, "a level may not be null")
    if len(set(levels)) < len(levels):
        raise InvalidInput(f"grid.{axis}", levels, "has a level twice")
    return levels


def _check_cells(study: Study) -> None:
    """Build every component of every cell; distinct parameter values are built once."""
    before: list[str] = []
    for name, target in study.derive.items():
        for argument in study.derivations[name][1]:
            if argument not in (*study.grid.axes, *study.parameters, *before):
                raise InvalidInput(f"derive.{name}", target, f"needs {argument}; give it in grid or parameters")
        before.append(name)
    missing = [(name, argument) for name in study.coordinates for argument in study.derivations[name][1]
               if argument not in (*study.grid.axes, *study.parameters, *study.derivations)]
    for labels in study.grid:
        try:
            study.components(labels)
            for name, argument in missing:
                raise InvalidInput(argument, None, f"is needed by coordinates={name}")
            study.derived(labels)
        except InvalidInput as error:
            place = next((p for p, names in (("grid", study.grid.axes), ("derive", study.derive),
                                             ("coordinates", study.coordinates))
                          if error.key in names), "parameters")
            key = error.key if "." in error.key or error.key == "metrics" else f"{place}.{error.key}"
            where = "" if (key := _place(key)).startswith("data.") else f" [at {shorten(labels)}]"
            raise InvalidInput(key, error.value, error.allowed + where) from None


