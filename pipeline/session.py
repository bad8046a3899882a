"""One small file per run: when, on what, how much was done. For people and reports; never for deciding what is done."""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from pipeline.seal import versions


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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.facts, indent=1) + "\n", "utf-8")
        partial.replace(self.path)


def sessions(folder: Path) -> list[dict[str, Any]]:
    """All sessions of a study, oldest first; unreadable ones are left out."""
    found = []
    for path in sorted((folder / "sessions").glob("*.json")):
        try:
            found.append(json.loads(path.read_text("utf-8")))
        except ValueError:
            continue
    return found
