"""What lies where in an archive, and the file in it by which it is made again, `archive.json`."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.schedule import Unit
from pipeline.storage.backend import ROOT
from pipeline.study.study import Study
from pipeline.study.untyped import Config, Json
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
LONGEST = 255  # bytes of a name in a folder
SEALED = ("results.zarr", "summary.zarr")
# Names of files, of all studies and below the folder of one.
OF_ALL = re.compile(
    r"archive\.json|requirements\.txt|CITATION\.cff|README\.md|ro-crate-metadata\.json"
    r"|program/[^/]+\.whl|report/(report\.html|verdicts\.csv|summary\.csv|figures/[^/]+)"
)
OF_STUDY = re.compile(
    r"config\.yaml|sessions/\d+\.json|replications/(agreed|merged)/[0-9a-f]+\.json"
    r"|replications/units/\d+/[0-9a-f]{16}\.failed"
)


@dataclass(frozen=True)
class ArchivedStudy:
    """A study in an archive. folder: below that of outputs. config: as a record has it.

    place: of its sealed datasets in its folder, see `results.place`. data: name of a file of
    people's data -> digest. parts: name of a person's file of parts -> digest.
    """

    folder: str
    config: Config
    place: str
    data: Mapping[str, str]
    parts: Mapping[str, str]


@dataclass(frozen=True)
class Manifest:
    """What an archive says of itself. code: digest of what drew its page and judged its claims.

    arithmetic: of the machine that did so, name -> version or kind.
    """

    title: str
    program: Program
    code: str
    arithmetic: Mapping[str, str]
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
            manifest = cls(program=Program(**values.pop("program")), studies=studies, **values)
        except (TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError("is not what this program wrote") from error
        if not _is_meant(manifest) or manifest.content() != content:
            raise ValueError("its archive.json is not what this program wrote")
        return manifest


def _is_meant(manifest: Json) -> bool:
    """Whether a manifest holds studies, each once, and texts where texts are."""
    program = manifest.program
    if not isinstance(manifest.arithmetic, dict):
        return False
    texts = [manifest.title, manifest.code, program.version, program.commit]
    texts += manifest.arithmetic.values()
    for study in manifest.studies:
        for entries in (study.config, study.data, study.parts):
            if not isinstance(entries, dict):
                return False
        texts += [study.folder, study.place, *study.data.values(), *study.parts.values()]
    if not all(isinstance(text, str) for text in texts):
        return False
    folders = [study.folder for study in manifest.studies]
    return 0 < len(folders) == len(set(folders))


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


def is_of(manifest: Manifest, name: str) -> bool:
    """Whether an archive has a file of this name, as this program writes it.

    What another file is for nobody could know, nor what it claims.
    """
    if OF_ALL.fullmatch(name):
        return True
    for study in manifest.studies:
        where = f"{OUTPUTS}/{study.folder}"
        beside = f"{where.rpartition('-')[0]}.protocol.json"
        within = name.removeprefix(f"{where}/")
        if name == beside:
            return True
        if within == name:
            continue
        is_part = within in study.parts and "/" not in within
        is_number = within.startswith(tuple(f"{study.place}{end}/" for end in SEALED))
        if is_part or is_number or OF_STUDY.fullmatch(within):
            return True
    return False


def is_safe(name: str) -> bool:
    """Whether the name of an entry stays within the folder into which an archive is unpacked."""
    path = Path(name)
    parts = path.parts
    if not parts or path.is_absolute() or ".." in parts or "\\" in name:
        return False
    return path.as_posix() == name and max(len(part.encode()) for part in parts) <= LONGEST
