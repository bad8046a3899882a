"""Finished studies by the names of their folders: what an archive is made of, and made again from.

A study is read from the record of its report, which holds all that the config of a study says.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.study.checks import mapping
from pipeline.study.files import read_regular
from pipeline.study.parameters import InvalidInput
from pipeline.study.untyped import Config
from pipeline.workflow import composition, config_files, own_experiments, yaml_text
from pipeline.workflow.config import read_experiment
from pipeline.workflow.rounds import continued
from pipeline.workflow.sealed import is_current
from pipeline.workflow.settings import Settings, Storage
from pipeline.workflow.shelf import SUITE, Shelved, named
from pipeline.workflow.shelf import shelved as all_shelved
from pipeline.workflow.studies import StoredStudy, stored_studies

OF_SUITES = ("suite_title", "common")  # what a suite says of its report
BETWEEN_CONFIGS = re.compile("^---$", re.M)
RUN_FIRST = "run it again, and archive it then"


def finished(
    outputs: Path,
    names: str | None,
    storage: Storage,
    files: Mapping[str, str],
    any_report: bool = False,
) -> list[StoredStudy]:
    """The studies that a command names, each with what its sealed results hold.

    names: of studies or of suites, with commas between. files: of people's data, path, items and
    truth, for studies that have such. any_report: whether a study without a report of its own is
    looked for in the reports of suites. Raises InvalidInput for one that is not there, not
    finished, or sealed by other code.
    """
    settings = Settings(outputs=str(outputs), store=storage)
    studies: dict[Path, StoredStudy] = {}
    for shelved in named(outputs, names, "compare" if any_report else "archive"):
        if any_report and not _record(shelved).is_file():
            stored_of_name = [_of_suites(outputs, shelved, settings, files)]
        else:
            stored_of_name = [study_of(config, settings, files) for config in _configs(shelved)]
        for stored in stored_of_name:
            studies.setdefault(stored.store.folder, stored)
    return [_sealed(stored) for stored in studies.values()]


def _of_suites(
    outputs: Path, shelved: Shelved, settings: Settings, files: Mapping[str, str]
) -> StoredStudy:
    """The study of a folder, from the reports of suites. Raises InvalidInput if none tells of it."""
    suites = [other for other in all_shelved(outputs) if other.name.startswith(SUITE)]
    for suite in suites:
        if suite.changed:
            continue
        for config in _configs(suite):
            if not shelved.name.startswith(f"{config['name']}-"):
                continue
            stored = study_of(config, settings, files)
            if stored.store.folder == shelved.path:
                return stored
    allowed = "has no report, of its own or of a suite; run it again"
    raise InvalidInput("against", shelved.name, allowed)


def _record(shelved: Shelved) -> Path:
    """Where the record of a report is."""
    return shelved.path / own_experiments.RECORD


def study_of(config: Config, settings: Settings, files: Mapping[str, str]) -> StoredStudy:
    """The study of a record's config, in the folder of outputs of some settings.

    files: see `finished`. Raises InvalidInput where files of data are missing, or are others.
    """
    beside = {key: config[key] for key in OF_SUITES if key in config}
    passed_over = (*OF_SUITES, *own_experiments.PASSED_OVER)
    statistics = {key: value for key, value in config.items() if key not in passed_over}
    raw = composition.whole_experiment(own_experiments.checked(statistics))
    raw["data"] = _data(statistics, files)
    experiment = read_experiment(raw, others=True)
    (stored,) = stored_studies(settings, [experiment], [{**raw, **beside}])
    return stored


def _data(config: Config, files: Mapping[str, str]) -> dict[str, Any]:
    """Where the files of people's data are that a config names."""
    paths: dict[str, Any] = {}
    for name, path in mapping(config.get("data") or {}, "data").items():
        if path is None:
            continue
        if name not in files:
            allowed = (
                f"is needed: {config['name']} was made of people's data, which no archive holds; "
                f"give data.{name}=FILE"
            )
            raise InvalidInput(f"data.{name}", path, allowed)
        paths[name] = files[name]
    return paths


def _configs(shelved: Shelved) -> list[dict[str, Any]]:
    """The configs in the record of a report, of a suite with what it says of its report."""
    record = _record(shelved)
    if shelved.changed or not record.is_file():
        state = "has files that were changed" if shelved.changed else "has no report"
        raise InvalidInput("studies", shelved.name, f"{state}; {RUN_FIRST}")
    text = read_regular(record).decode()
    configs = [mapping(yaml_text.load(part), "report.yaml") for part in BETWEEN_CONFIGS.split(text)]
    if shelved.name.startswith(SUITE):
        configs[0] |= _of_suite(shelved.path)
    return configs


def _of_suite(folder: Path) -> dict[str, Any]:
    """What the suite of a folder says of its report; nothing where it is not offered here."""
    name = folder.name.removeprefix(SUITE)
    file = config_files.files("suite").get(name)
    if file is None:
        return {}
    suite = mapping(yaml_text.load(read_regular(file).decode()), "suite")
    return {key: suite[key] for key in OF_SUITES if suite.get(key)}


def _sealed(stored: StoredStudy) -> StoredStudy:
    """The study with all levels and replications that follow from its sealed results."""
    whole = continued(stored)
    if not is_current(whole.store):
        allowed = f"is not sealed by the program as it is now; {RUN_FIRST}"
        raise InvalidInput("studies", whole.store.folder.name, allowed)
    return whole


def folder_names(studies: Sequence[StoredStudy]) -> list[str]:
    """Names of the studies' folders, relative to that of outputs, as `xu/lemmas-1234abcd`."""
    return [f"{stored.study.name}-{stored.study.key}" for stored in studies]
