"""What lies where in an archive, and the file in it by which it is made again, `archive.json`."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.execution.schedule import Unit
from pipeline.storage.backend import ROOT
from pipeline.study.study import Study
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.provenance import Program

MANIFEST = "archive.json"
FORMAT = 1
OUTPUTS = "outputs"
REPORT = "report"
PROGRAM = "program"
REQUIREMENTS = "requirements.txt"
CITATION = "CITATION.cff"
README = "README.md"
CONFIG = "config.yaml"  # in the folder of a study
CHECK = "pipeline reproduce archive=study.zip"


@dataclass(frozen=True)
class ArchivedStudy:
    """A study in an archive. folder: below that of outputs. config: as a record has it.

    place: of its sealed datasets in its folder, see `results.place`. data: name of a file of
    people's data -> digest. parts: name of a person's file of parts -> digest.
    """

    folder: str
    config: Mapping[str, Any]
    place: str
    data: Mapping[str, str]
    parts: Mapping[str, str]


@dataclass(frozen=True)
class Manifest:
    """What an archive says of itself. code: digest of what drew its page and judged its claims."""

    title: str
    program: Program
    code: str
    studies: Sequence[ArchivedStudy]

    def content(self) -> bytes:
        """The file."""
        whole = {"format": FORMAT, **dataclasses.asdict(self)}
        return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()

    @classmethod
    def read(cls, content: bytes) -> "Manifest":
        """What a file says. Raises ValueError for one that is of another form."""
        try:
            values = json.loads(content)
            if values.pop("format") != FORMAT:
                raise ValueError("is of another version of this program")
            studies = [ArchivedStudy(**study) for study in values.pop("studies")]
            return cls(program=Program(**values.pop("program")), studies=studies, **values)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError("is not what this program wrote") from error


@dataclass(frozen=True)
class ArchivedInvocation(Invocation):
    """What repeats studies of an archive: the page in it names no other command."""

    def again(self) -> Invocation:
        """The check of all units of the archive."""
        return Invocation((), script=f"{CHECK} share=100%")

    def alone(self, study: Study, keep: tuple[str, ...] = ()) -> Invocation:
        """What runs one study, from its config in the archive."""
        path = f"{OUTPUTS}/{study.name}-{study.key}/{CONFIG}"
        return Invocation((), script=f"pipeline experiment={path}")

    def replay_anywhere(self, study: Study, unit: Unit) -> str:
        """What simulates one unit again, in Python."""
        return f"study.simulate({study.grid.labels(unit.cell)}, {unit.block})"


def dataset_folder(study: ArchivedStudy, dataset: str) -> str:
    """Name of the folder of a sealed dataset in the archive, with "/" at its end."""
    return f"{OUTPUTS}/{study.folder}/{study.place}{dataset}/"


def root_of(study: ArchivedStudy, dataset: str) -> str:
    """Name of the root document of a sealed dataset."""
    return dataset_folder(study, dataset) + ROOT


def is_safe(name: str) -> bool:
    """Whether the name of an entry stays within the folder into which an archive is unpacked."""
    path = Path(name)
    parts = path.parts
    return bool(parts) and not path.is_absolute() and ".." not in parts and "\\" not in name
