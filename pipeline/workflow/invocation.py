"""What started a task, and the words that start it, or a part of it, again."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.schedule import Unit, unit_name
from pipeline.identity import own_files
from pipeline.study.study import Study
from pipeline.workflow import own_experiments

PROGRAM = "pipeline"
NOTEBOOK = "the notebook that registers its parts"
QUOTES = "'\""
# Keys that are not needed to repeat a study.
PASSING = (
    "task",
    "studies",
    "sure",
    "stop_after",
    "retry_failed",
    "most_failures",
    "most_seconds",
    "repair",
    "results",
    "unit",
    "save",
    "origin",
    "recompute",
    "contributor",
    "accept_code",
    "on_end",
)
# Keys that say how to run, and nothing of the study.
SETTING_KEYS = (
    *PASSING,
    "outputs",
    "store",
    "protocol",
    "cluster",
    "experiments",
    "suite",
    "suite_title",
    "common",
)
# Keys that remain beside the record of an experiment, which holds all others.
BESIDE_A_RECORD = (own_files.FLAG, "experiment", "cluster", "store", "formats")


@dataclass(frozen=True)
class Invocation:
    """The command that a person typed, or one that asks for the same as a call from Python.

    words: arguments of `pipeline`, without its name. script: where parts are defined by a script or
    a notebook, which must run instead; else "".

    >>> str(Invocation(("experiment=xu/lemmas", "grid.m=[2]")))
    "pipeline experiment=xu/lemmas 'grid.m=[2]'"
    """

    words: tuple[str, ...]
    script: str = ""

    def __str__(self) -> str:
        return self.script or shlex.join([PROGRAM, *self.words])

    def again(self) -> "Invocation":
        """What repeats the study anywhere: files without their folders, no passing settings.

        An experiment of a person's own is given by its record, which lies beside the report and
        holds all that the command changed; so do files of parts.

        >>> words = ("experiment=mine/survey.yaml", "replications=100", "cluster.workers=2")
        >>> str(Invocation(words).again())
        'pipeline experiment=report.yaml cluster.workers=2'
        """
        if self.script:
            return self
        words = [word for word in self.words if key_of(word) not in (*PASSING, "outputs")]
        if any(own_path(word) for word in words):
            words = list(_beside_a_record(words))
        return Invocation(tuple(_without_folder(word) for word in words))

    def alone(self, study: Study, keep: tuple[str, ...] = ()) -> "Invocation":
        """What runs this study by itself, not its suite, without settings except those to keep."""
        if self.script:
            return self
        experiment = [f"experiment={study.name}"]
        # The study's name is not that of its config, or the config is a person's own.
        if any(word.startswith("name=") or own_path(word) for word in self.words):
            experiment = [word for word in self.words if word.startswith("experiment=")]
        left_out = (*SETTING_KEYS, "experiment")
        others = [
            word for word in self.words if key_of(word) in keep or section_of(word) not in left_out
        ]
        return Invocation((*experiment, *others))

    def replay(self, study: Study, unit: Unit) -> str:
        """What simulates one unit again, here and with its traceback."""
        return self.alone(study, keep=("outputs",))._replaying(study, unit)

    def replay_anywhere(self, study: Study, unit: Unit) -> str:
        """The same, to be read elsewhere: it names no folder of this machine."""
        return self.alone(study).again()._replaying(study, unit)

    def interim(self) -> "Invocation":
        """What reports the units that are done, before the end."""
        if self.script:
            return self
        words = [word for word in self.words if key_of(word) != "task"]
        return Invocation((*words, "task=report"))

    def _replaying(self, study: Study, unit: Unit) -> str:
        """The command that replays a unit; where a script must run, what to call in it."""
        if self.script:
            return f"study.simulate({study.grid.labels(unit.cell)}, {unit.block})"
        task = ("task=replay", f"unit={unit_name(study, unit)}")
        return str(Invocation((*self.words, *task)))


def key_of(word: str) -> str:
    """The key of an argument key=value, such as grid.m."""
    return word.partition("=")[0]


def section_of(word: str) -> str:
    """The first part of the key of an argument, such as grid of grid.m."""
    return key_of(word).partition(".")[0]


def own_path(word: str) -> str | None:
    """The path of an experiment of a person's own, if the argument names one."""
    key, _, value = word.partition("=")
    path = value.strip(QUOTES)
    if key == "experiment" and own_experiments.is_file(path):
        return path
    return None


def _beside_a_record(words: list[str]) -> Iterator[str]:
    """The words that give an experiment by its record, and what the record does not hold."""
    for word in words:
        if section_of(word) not in BESIDE_A_RECORD:
            continue
        yield f"experiment={own_experiments.RECORD}" if own_path(word) else word


def _without_folder(word: str) -> str:
    """An argument without the folder of a file, which a report does not disclose."""
    key, sign, path = word.partition("=")
    if key.startswith("data.") or key == own_files.FLAG:
        return f"{key}{sign}{Path(path.strip(QUOTES)).name}"
    return word
