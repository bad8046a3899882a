"""What tasks without a config read from a command: outputs, storage, cluster, files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.execution.clusters import Cluster
from pipeline.study.parameters import InvalidInput, nearest, path_of
from pipeline.study.untyped import Config
from pipeline.workflow.config import FILES, read_cluster
from pipeline.workflow.settings import Settings, Storage


def check_words(entries: Config, allowed: Iterable[str], task: str) -> None:
    """Raise InvalidInput for a key that a task does not take."""
    known = set(allowed)
    for key, value in entries.items():
        section = key.partition(".")[0]
        if key not in known and f"{section}." not in known:
            allowed_words = f"is no word of task={task}; {nearest(key, known)}"
            raise InvalidInput(key, value, allowed_words)


def text_of(entries: Config, key: str) -> str | None:
    """A text; None where it is not there."""
    value = entries.get(key)
    if value is None:
        return None
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def outputs_of(entries: Config) -> Path:
    """The folder of all studies."""
    settings = Settings(outputs=text_of(entries, "outputs") or "outputs")
    return path_of(settings.outputs, "outputs")


def storage_of(entries: Config) -> Storage:
    """Where the arrays of studies are, if not in their folders."""
    return Storage.read(section_of(entries, "store"), "store.")


def cluster_of(entries: Config) -> Cluster:
    """Where to compute."""
    kind = text_of(entries, "cluster") or "local"
    return read_cluster({"cluster": {"kind": kind, **section_of(entries, "cluster")}})


def files_of(entries: Config) -> dict[str, str]:
    """Files of people's data, by path, items and truth."""
    files = {name: str(value) for name, value in section_of(entries, "data").items()}
    for name, value in files.items():
        if name not in FILES:
            raise InvalidInput(f"data.{name}", value, nearest(name, FILES))
    return files


def section_of(entries: Config, section: str) -> dict[str, Any]:
    """The entries of a section, by the rest of their keys."""
    start = f"{section}."
    return {key.removeprefix(start): entries[key] for key in entries if key.startswith(start)}
