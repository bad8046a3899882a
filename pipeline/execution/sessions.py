"""One small file per run: when, on what, how much was done. For people and reports; never for deciding what is done."""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from pipeline.storage.results import versions
from pipeline.study.files import write_whole
from pipeline.study.streams import canonical, digest


class Session:
    """Record of one run under `folder`/sessions; written when it starts and again when it ends."""

    def __init__(self, folder: Path, command: str, pending: int):
        self.start, now = time.monotonic(), time.gmtime()
        stamp = time.strftime("%Y%m%dT%H%M%S", now)
        # Tasks of a job array start in the same second, on nodes that number their processes alike.
        self.path = folder / "sessions" / f"{stamp}-{platform.node().partition('.')[0]}-{os.getpid()}.json"
        self.facts: dict[str, Any] = dict(
            started=time.strftime("%Y-%m-%d %H:%M:%S UTC", now), command=command,
            pending=pending, units=0, seconds=0.0, workers=0, lost=0, state="killed", versions=versions(),
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        )
        self._write()

    def end(self, state: str, **facts: Any) -> None:
        """Note how it ended: finished, stopped or failed."""
        self.facts |= {"state": state, "seconds": round(time.monotonic() - self.start, 1), **facts}
        self._write()

    def _write(self) -> None:
        content = json.dumps(self.facts | {"digest": _digest(self.facts)}, indent=1) + "\n"
        write_whole(self.path, content.encode())


def sessions(folder: Path) -> list[dict[str, Any]]:
    """All sessions of a study, oldest first; damaged ones are left out."""
    return [one for one in map(_read, _paths(folder)) if one is not None]


def damaged(folder: Path) -> list[str]:
    """Files of sessions that are not what this program wrote, relative to the folder."""
    return [str(path.relative_to(folder)) for path in _paths(folder) if _read(path) is None]


def _paths(folder: Path) -> list[Path]:
    return sorted((folder / "sessions").glob("*.json"))


def _read(path: Path) -> dict[str, Any] | None:
    """A session; None unless its file is whole."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return facts if facts.pop("digest") == _digest(facts) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _digest(facts: dict[str, Any]) -> str:
    return digest(canonical(facts), 8).hex()
