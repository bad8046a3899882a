"""From a composed config to checked, frozen objects: everything is checked before anything is
created.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.execution.clusters import CLUSTERS, Cluster
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.systems.registry import system as batch_system
from pipeline.identity.registry import problem
from pipeline.reporting import common_spec, specs
from pipeline.reporting.common_spec import Common
from pipeline.study.checks import mapping
from pipeline.study.grid import read_products
from pipeline.study.parameters import (
    InvalidInput,
    check_keys,
    check_needed,
    fields,
    nearest,
    read,
)
from pipeline.study.study import Study
from pipeline.study.untyped import Config, ParameterValues
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.new_axes import JUDGED_AT
from pipeline.workflow.settings import Registration, Settings, Storage

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


def read_settings(raw: Config) -> Settings:
    """Settings from a plain mapping; InvalidInput names the key."""
    check_keys(raw, STUDY_KEYS | OTHER_KEYS, "")
    store = Storage.read(mapping(raw.get("store", {}), "store"), "store.")
    published = Registration.read(mapping(raw.get("protocol", {}), "protocol"), "protocol.")
    nested = ("store", "protocol")
    values = {name: raw[name] for name in fields(Settings) if name in raw and name not in nested}
    return Settings.read(values, "", store=store, protocol=published)


def read_cluster(raw: Config) -> Cluster:
    """The cluster from its mapping: `kind` and that kind's fields."""
    settings = dict(mapping(raw.get("cluster", {"kind": "local"}), "cluster"))
    kind = settings.pop("kind", None)
    if isinstance(kind, str) and kind in CLUSTERS:
        return read(CLUSTERS[kind], settings, "cluster.")
    return BatchWorkers(batch_system(kind, CLUSTERS).read(settings, "cluster."))


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
    files = _parameters_of(mappings[0].get("data") or {})
    taken: set[str] = set()
    for experiment in experiments:
        taken.update(experiment.study.parameters)
    for name in files.keys() - taken:
        raise InvalidInput(
            _config_key(f"parameters.{name}"),
            files[name],
            "none of these studies takes such a file",
        )
    read_common(mappings[0], experiments)
    return experiments


def read_common(raw: Config, experiments: Iterable[Experiment]) -> Common | None:
    """The figure that all studies of a suite share; None without one. Raises InvalidInput."""
    studies = (experiment.study for experiment in experiments)
    return common_spec.read(
        raw.get("common"),
        {study.name: (study.grid.axes, [*study.derivations], study.metrics) for study in studies},
    )


def read_experiment(raw: Config, others: bool = False) -> Experiment:
    """A checked experiment from a plain mapping; InvalidInput names the dotted key.

    others: whether it is one of several, so that a data file may be for another.
    """
    check_keys(raw, STUDY_KEYS | OTHER_KEYS, "")
    text = _read_text(raw)
    study = _read_study(raw, others)
    _check_levels_of_claims(text, study)
    return Experiment(study, text, _read_figures(raw, study))


def present(study: Study, raw: Config) -> Experiment:
    """An experiment of a study as it is, with what a plain mapping says of its report."""
    check_keys(raw, STUDY_KEYS | OTHER_KEYS, "")
    return Experiment(study, _read_text(raw), _read_figures(raw, study))


def _read_text(raw: Config) -> Text:
    values = {name: raw[name] for name in fields(Text) if name in raw and name != JUDGED_AT}
    claims_at = mapping(raw.get(JUDGED_AT) or {}, JUDGED_AT)
    return Text.read(values, "", claims_at=claims_at)


def _check_levels_of_claims(text: Text, study: Study) -> None:
    """Raise InvalidInput where claims are to be judged at a level that no axis has."""
    for axis, level in text.claims_at.items():
        key = f"{JUDGED_AT}.{axis}"
        if axis not in study.grid.axes:
            raise InvalidInput(key, level, f"is no axis; {nearest(axis, study.grid.axes)}")
        if level not in study.grid.axes[axis]:
            levels = ", ".join(map(str, study.grid.axes[axis]))
            raise InvalidInput(key, level, f"must be one level of the axis: {levels}")


def _read_figures(raw: Config, study: Study) -> tuple[specs.Spec, ...]:
    statistics = [statistic.variable for statistic in study.statistics]
    return specs.read(
        raw.get("figures"), study.grid.axes, study.derivations, study.metrics, statistics
    )


def _read_study(raw: Config, others: bool) -> Study:
    """The study of a plain mapping; others: see `read_experiment`."""
    described = {
        name: field for name, field in fields(Study).items() if "meaning" in field.metadata
    }
    check_needed(raw, described, "")
    constants = _section(raw, "parameters")
    derive = _section(raw, "derive")
    files = _section(raw, "data")
    check_keys(files, FILES, "data.")
    constants |= _parameters_of(files)
    for name in _untaken(raw, constants, files):
        if not others:
            raise InvalidInput(
                _config_key(f"parameters.{name}"),
                constants[name],
                "the model of this study takes no such file; it must be null",
            )
        del constants[name]
    declared_values = {name: raw.get(name, getattr(Study, name, None)) for name in fields(Study)}
    try:
        return Study(**declared_values | {"parameters": constants, "derive": derive})
    except InvalidInput as error:
        raise InvalidInput(_config_key(error.key), error.value, error.allowed) from None


def _parameters_of(files: Mapping[str, Any]) -> dict[str, Any]:
    """Data files as parameters, without those that are null."""
    parameters = {}
    for name, path in files.items():
        if path is not None:
            parameters[f"data_{name}"] = path
    return parameters


def _section(raw: Config, key: str) -> dict[str, Any]:
    """A mapping within a plain mapping; empty where there is none."""
    section = raw.get(key)
    if section is None:
        return {}
    return mapping(section, key)


def _untaken(raw: Config, constants: ParameterValues, files: Mapping[str, Any]) -> list[str]:
    """Parameters that are data files which no model of the experiment takes.

    None where a model is unknown.
    """
    named = {f"data_{name}" for name in files} & constants.keys()
    if not named:
        return []
    known = problem(raw["problem"])
    models = [constants.get("model")]
    for product in read_products(raw.get("grid"), named=True):
        models += product.get("model", ())
    used = [name for name in models if name is not None]
    if not all(isinstance(name, str) and name in known.models for name in used):
        return []
    takes: set[str] = set()
    for name in used:
        takes.update(fields(known.part("model", name)))
    return sorted(named - takes)


def _config_key(key: str) -> str:
    """The key by which a person gives a value: parameters that are data files stand under data."""
    name = key.removeprefix("parameters.data_")
    return f"data.{name}" if name != key and name in FILES else key
