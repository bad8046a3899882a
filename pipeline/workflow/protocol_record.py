"""Where the protocol of a study is kept: one file beside its folders, found by the study's name.

The folder of a study has its identity in its name, so a study with another seed or other metrics
lies in another folder. Its protocol must be found there, too, or such a deviation would be silent.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.storage.folder import Folder
from pipeline.storage.replications import Store
from pipeline.study.files import read_regular, write_whole
from pipeline.study.streams import canonical, digest

ENDING = ".protocol.json"
KEY = "[0-9a-f]{8}"  # the identity at the end of a folder's name


@dataclass(frozen=True)
class ProtocolRecord:
    """A protocol as it is kept.

    fixed: kind -> key -> value, see `pipeline.workflow.commitments`. request: digest of what the
    study asks for. digest: of both. date: when it was written, UTC. url, registered: where and when
    it was published, empty where nobody said. begun_before: folders of studies of this name that
    were there before.
    """

    digest: str
    date: str
    request: str
    fixed: Mapping[str, Mapping[str, Any]]
    url: str = ""
    registered: str = ""
    begun_before: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether what it fixes has its digest."""
        return self.digest == digest_of(self.fixed, self.request)

    def content(self) -> bytes:
        """The file."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False).encode() + b"\n"


def digest_of(fixed: Mapping[str, Mapping[str, Any]], request: str) -> str:
    """Digest, 32 hexadecimal digits, of all that a protocol fixes."""
    return digest(canonical({"fixed": fixed, "request": request})).hex()


def path_for(store: Store) -> Path:
    """The file for the protocol of a study."""
    return store.folder.with_name(f"{_last_name(store)}{ENDING}")


def begun(store: Store) -> tuple[str, ...]:
    """Names of the folders of all studies of this name, whatever their identity."""
    pattern = re.compile(f"{re.escape(_last_name(store))}-{KEY}")
    folders = [
        path.name
        for path in store.folder.parent.glob("*-*")
        if pattern.fullmatch(path.name) and path.is_dir()
    ]
    return tuple(sorted(folders))


def read(store: Store) -> ProtocolRecord | None:
    """The protocol that is kept with a study; None without one.

    A file that holds no protocol counts as one that was changed: it has no digest and fixes
    nothing. Raises OSError where it cannot be read.
    """
    path = path_for(store)
    if not path.exists():
        return None
    damaged = ProtocolRecord(digest="", date="", request="", fixed={})
    try:
        values = json.loads(read_regular(path))
        values["begun_before"] = tuple(values["begun_before"])
        record = ProtocolRecord(**values)
        return record if record.is_whole else dataclasses.replace(record, fixed={})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return damaged


def create(store: Store, record: ProtocolRecord) -> bool:
    """Keep a protocol where there is none; whether there was none."""
    path = path_for(store)
    path.parent.mkdir(parents=True, exist_ok=True)
    return Folder(path.parent).create(path.name, record.content())


def replace(store: Store, record: ProtocolRecord) -> None:
    """Keep a protocol in place of the one that is there."""
    write_whole(path_for(store), record.content())


def _last_name(store: Store) -> str:
    """The name of a study without the folders in it."""
    return store.study.name.rpartition("/")[2]
