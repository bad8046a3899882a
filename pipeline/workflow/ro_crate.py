"""What an archive says of itself for machines: a Process Run Crate, version 0.5.

The profile is that of Leo et al., Recording provenance of workflow runs with RO-Crate, PLOS ONE
19(9) (2024), https://w3id.org/ro/wfrun/process/0.5. What nobody said, such as who ran a study or
under which licence its results are, is left out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from pipeline.storage.zip_files import Written
from pipeline.workflow.provenance import Program

NAME = "ro-crate-metadata.json"
CRATE = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
TERMS = "https://w3id.org/ro/terms/workflow-run/context"
ENDED = {"finished": "CompletedActionStatus", "running": "ActiveActionStatus"}
FORMATS = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "yaml": "application/yaml",
    "whl": "application/zip",
}
NO_LICENCE = "Nobody stated a licence of these results."  # a crate must say something
OTHER_FORMAT = "application/octet-stream"

Entity = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A session of work on a study. folder: of the study in the archive; number: of the session.

    config: file of what was asked for. results: folders of what came of it. started: as the session
    says it, UTC; seconds: that it took.
    """

    folder: str
    number: int
    config: str
    results: Sequence[str]
    started: str
    seconds: float
    state: str

    @property
    def begin(self) -> datetime:
        """When it began."""
        return datetime.strptime(self.started, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)

    @property
    def end(self) -> datetime:
        """When it ended."""
        return self.begin + timedelta(seconds=self.seconds)


@dataclass(frozen=True)
class Crate:
    """What a crate is made of. wheel: the file of the program. datasets: folder -> what it holds.

    licence: of the results, empty where nobody said.
    """

    title: str
    description: str
    program: Program
    wheel: str
    runs: Sequence[Run]
    datasets: Mapping[str, str]
    licence: str = ""


def metadata_of(crate: Crate, files: Sequence[Written]) -> bytes:
    """The file of metadata, which lists all other files with their digests."""
    entities = [
        _descriptor(),
        _root(crate, files),
        {
            "@id": PROFILE,
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": "0.5",
        },
        *_datasets(crate, files),
        *[_file(file, crate) for file in files],
        *[_action(run, crate) for run in crate.runs],
    ]
    whole = {"@context": [f"{CRATE}/context", TERMS], "@graph": entities}
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def digests_in(content: bytes) -> dict[str, tuple[int, str]]:
    """Name -> (bytes, sha256) of the files that a file of metadata lists.

    Raises ValueError for what is none.
    """
    try:
        graph = json.loads(content)["@graph"]
        digests = {}
        for entity in graph:
            if "sha256" in entity:
                digests[entity["name"]] = (int(entity["contentSize"]), str(entity["sha256"]))
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError("is no file of metadata that this program wrote") from error
    return digests


def _descriptor() -> Entity:
    return {
        "@id": NAME,
        "@type": "CreativeWork",
        "about": _to("./"),
        "conformsTo": _to(CRATE),
    }


def _root(crate: Crate, files: Sequence[Written]) -> Entity:
    """The archive as a whole; its date is that of its last numbers."""
    parts = [*crate.datasets, *(file.name for file in files)]
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": crate.title,
        "description": crate.description,
        "license": crate.licence or NO_LICENCE,
        "conformsTo": _to(PROFILE),
        "hasPart": [_to(_id(name)) for name in parts],
        "mentions": [_to(_id_of_run(run)) for run in crate.runs],
    }
    if crate.runs:
        last = max(run.end for run in crate.runs)
        root["datePublished"] = last.isoformat(timespec="seconds")
    return root


def _datasets(crate: Crate, files: Sequence[Written]) -> list[Entity]:
    """The folders of sealed results, each with its files."""
    entities = []
    for folder, meaning in crate.datasets.items():
        names = [file.name for file in files if file.name.startswith(folder)]
        entities.append(
            {
                "@id": _id(folder),
                "@type": "Dataset",
                "name": meaning,
                "hasPart": [_to(_id(name)) for name in names],
            }
        )
    return entities


def _file(file: Written, crate: Crate) -> Entity:
    entity: Entity = {
        "@id": _id(file.name),
        "@type": "File",
        "name": file.name,
        "contentSize": str(file.size),
        "sha256": file.sha256,
        "encodingFormat": FORMATS.get(file.name.rpartition(".")[2], OTHER_FORMAT),
    }
    if file.name == crate.wheel:
        entity["@type"] = ["File", "SoftwareApplication"]
        entity["description"] = "Private learning pipeline, the program that made the numbers"
        entity["softwareVersion"] = crate.program.version
        if crate.program.commit:
            entity["version"] = crate.program.commit
    return entity


def _action(run: Run, crate: Crate) -> Entity:
    """A session as the profile has it."""
    return {
        "@id": _id_of_run(run),
        "@type": "CreateAction",
        "name": f"Session {run.number + 1} of {run.folder}",
        "description": "Simulated replications of the study, or a part of them",
        "instrument": _to(_id(crate.wheel)),
        "object": [_to(_id(run.config))],
        "result": [_to(_id(folder)) for folder in run.results],
        "startTime": run.begin.isoformat(timespec="seconds"),
        "endTime": run.end.isoformat(timespec="seconds"),
        "actionStatus": f"http://schema.org/{ENDED.get(run.state, 'FailedActionStatus')}",
    }


def _id_of_run(run: Run) -> str:
    return f"#{quote(run.folder)}-session-{run.number + 1}"


def _id(name: str) -> str:
    """A name as the identifier of an entity."""
    return quote(name)


def _to(identifier: str) -> Entity:
    """A reference to an entity."""
    return {"@id": identifier}
