"""One small file per run: when, where, how much was done.

For people and reports; never for deciding what is done.

While a run goes on it writes its file again every `BEAT` seconds, with what was done so far. A file
that says "running" and was not written for `SILENT` seconds is that of a run that was killed, or
whose machine went down.
"""

import itertools
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.execution.progress import Advance
from pipeline.execution.systems.registry import job
from pipeline.storage.results import versions
from pipeline.study.files import read_regular, write_whole
from pipeline.study.machine import processors
from pipeline.study.streams import canonical, digest

BEAT = 20.0
SILENT = 90.0  # seconds
RUNNING = "running"
KILLED = "killed"
FAILED = "failed"
_NUMBER = itertools.count()


class Session:
    """Record of one run under `folder`/sessions.

    Written when it starts, while it goes on and when it ends.

    pending, cost: units to do, and the sum of their predicted costs. shard: such as "2/8".
    """

    def __init__(
        self, folder: Path, command: str, pending: int, cost: float = 0.0, shard: str | None = None
    ):
        self.start = time.monotonic()
        now = time.gmtime()
        stamp = time.strftime("%Y%m%dT%H%M%S", now)
        # Tasks of a job array start in the same second, on nodes that number their processes alike.
        name = f"{stamp}-{platform.node().partition('.')[0]}-{os.getpid()}-{next(_NUMBER)}.json"
        self.path = folder / "sessions" / name
        self.name = name.removesuffix(".json")
        self.facts: dict[str, Any] = dict(
            started=time.strftime("%Y-%m-%d %H:%M:%S UTC", now),
            command=command,
            pending=pending,
            units=0,
            seconds=0.0,
            workers=0,
            lost=0,
            state=RUNNING,
            versions=versions(),
            machine=f"{platform.system()} {platform.machine()}, {processors()} cores",
            host=platform.node(),
            process=os.getpid(),
            job=job(),
            shard=shard,
            cost=cost,
            cost_done=0.0,
            workers_now=0,
            units_made=0,
            cost_made=0.0,
            seconds_made=0.0,
        )
        self._over = threading.Event()
        self._others: list[Callable[[], None]] = []
        self._write()
        self._beats = threading.Thread(target=self._beat, daemon=True)
        self._beats.start()

    def advance(self, done: Advance) -> None:
        """Count finished units."""
        self.facts["units"] += done.units
        self.facts["cost_done"] += done.cost
        self.facts["workers"] = max(self.facts["workers"], done.workers)
        self.facts["workers_now"] = done.workers
        self.facts["units_made"] += done.made
        self.facts["cost_made"] += done.cost_made
        self.facts["seconds_made"] += done.seconds

    def at_beats(self, write: Callable[[], None]) -> None:
        """Let something else be written as often as the session is, and at its end."""
        self._others.append(write)

    def end(self, state: str, **facts: Any) -> None:
        """Note how it ended: finished, stopped or failed."""
        self._over.set()
        self._beats.join()
        self.facts |= {"state": state, **facts}
        self._write_all()

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            with suppress(OSError):  # a full disk is the sweep's to say
                self._write_all()

    def _write_all(self) -> None:
        for write in (*self._others, self._write):
            write()

    def _seconds(self) -> float:
        return round(time.monotonic() - self.start, 1)

    def _write(self) -> None:
        facts = self.facts | {"seconds": self._seconds()}
        content = json.dumps(facts | {"digest": _digest(facts)}, indent=1) + "\n"
        write_whole(self.path, content.encode())


def cost_per_second(session: Mapping[str, Any]) -> float:
    """Predicted cost that the workers of a session do in a second, those that it has now, while
    they have work.

    Time in which it waited for workers, or in a queue, does not count. 0 where no unit has ended.
    """
    return _pace(session, "cost_made")


def units_per_second(session: Mapping[str, Any]) -> float:
    """Units that they do in a second."""
    return _pace(session, "units_made")


def _pace(session: Mapping[str, Any], what: str) -> float:
    seconds = session.get("seconds_made") or 0.0
    if not seconds:
        return 0.0
    return float(session[what] / seconds * session["workers_now"])


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
        facts: dict[str, Any] = json.loads(read_regular(path))
        if facts.pop("digest") != _digest(facts):
            return None
        if facts["state"] == RUNNING and not _alive(path, facts):
            facts["state"] = KILLED
        return facts
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _alive(path: Path, facts: Mapping[str, Any]) -> bool:
    """Whether a run that did not note its end goes on: its file is fresh and, on this machine, its
    process there.
    """
    if abs(time.time() - path.stat().st_mtime) > SILENT:
        return False
    return facts["host"] != platform.node() or process_exists(facts["process"])


def process_exists(number: int) -> bool:
    """Whether there is a process of that number on this machine."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    return True


def _digest(facts: dict[str, Any]) -> str:
    return digest(canonical(facts), 8).hex()
