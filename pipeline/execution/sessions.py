"""One small file per run: when, where, how much was done.

For people and reports; never for deciding what is done.

While a run goes on it writes its file again every `BEAT` seconds, with what was done so far. A file
that says "running" and was not written for `SILENT` seconds is that of a run that was killed, or
whose machine went down.
"""

import dataclasses
import itertools
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.execution.progress import Advance
from pipeline.execution.systems.registry import job
from pipeline.storage.results import versions
from pipeline.study import signals
from pipeline.study.files import read_regular, write_whole
from pipeline.study.machine import processors
from pipeline.study.streams import canonical, digest
from pipeline.study.untyped import Json

if TYPE_CHECKING:  # which imports clusters, and these this module
    from pipeline.execution.sweep import SweepOutcome

BEAT = 20.0
SILENT = 90.0  # seconds
RUNNING = "running"
KILLED = "killed"
FAILED = "failed"
_NUMBER = itertools.count()
_AT_THE_END = ("error", "seconds_work")  # not written before they are known


@dataclass
class SessionRecord:
    """What is known of one run. Files of earlier versions may lack some of it.

    started: time, UTC. pending, cost: units to do when it started, and their predicted cost.
    units, cost_done: those that are done. units_made, cost_made, seconds_made: of these, those that
    no other driver had done, their cost, and the seconds they took. workers: the most at once;
    workers_now: when the file was written. lost: workers that vanished. seconds: since the start;
    seconds_work: of all workers in units, known at the end. machine, host, process, job: where it
    runs, the number of its process, and what a batch system calls its job. shard: such as "2/8".
    error: in one line.
    """

    started: str = ""
    command: str = ""
    pending: int = 0
    units: int = 0
    seconds: float = 0.0
    workers: int = 0
    lost: int = 0
    state: str = RUNNING
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""
    host: str = ""
    process: int = 0
    job: str | None = None
    shard: str | None = None
    cost: float = 0.0
    cost_done: float = 0.0
    workers_now: int = 0
    units_made: int = 0
    cost_made: float = 0.0
    seconds_made: float = 0.0
    error: str | None = None
    seconds_work: float | None = None

    @classmethod
    def read(cls, content: Mapping[str, Json]) -> "SessionRecord":
        """The record of a file. What later versions add is left out."""
        names = {fact.name for fact in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in content.items() if name in names})

    def content(self) -> dict[str, Any]:
        """The record as a file has it."""
        content = dataclasses.asdict(self)
        for name in _AT_THE_END:
            if content[name] is None:
                del content[name]
        return content

    @property
    def cost_per_second(self) -> float:
        """Predicted cost that the workers of the session do in a second.

        Only the workers that it has now count, and only the time in which they have work;
        waiting for workers or in a queue does not. 0 where no unit has ended.
        """
        return self._pace(self.cost_made)

    @property
    def units_per_second(self) -> float:
        """Units that the workers of the session do in a second, counted likewise."""
        return self._pace(self.units_made)

    def _pace(self, done: float) -> float:
        if not self.seconds_made:
            return 0.0
        return done / self.seconds_made * self.workers_now


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
        self.record = SessionRecord(
            started=time.strftime("%Y-%m-%d %H:%M:%S UTC", now),
            command=command,
            pending=pending,
            versions=dict(versions()),
            machine=f"{platform.system()} {platform.machine()}, {processors()} cores",
            host=platform.node(),
            process=os.getpid(),
            job=job(),
            shard=shard,
            cost=cost,
        )
        self._over = threading.Event()
        self._others: list[Callable[[], None]] = []
        self._write()
        self._beats = threading.Thread(target=self._beat, daemon=True)
        self._beats.start()

    def advance(self, done: Advance) -> None:
        """Count finished units."""
        record = self.record
        record.units += done.units
        record.cost_done += done.cost
        record.workers = max(record.workers, done.workers)
        record.workers_now = done.workers
        record.units_made += done.units_made
        record.cost_made += done.cost_made
        record.seconds_made += done.seconds

    def at_beats(self, write: Callable[[], None]) -> None:
        """Let something else be written as often as the session is, and at its end."""
        self._others.append(write)

    def end(
        self, state: str, outcome: "SweepOutcome | None" = None, error: str | None = None
    ) -> None:
        """Note how it ended: finished, stopped, abandoned or failed.

        outcome: of the sweep, where it has one. error: in one line.
        """
        self._over.set()
        self._beats.join()
        record = self.record
        record.state = state
        record.error = error
        if outcome is not None:
            record.units = outcome.units_done
            record.workers = outcome.workers
            record.lost = outcome.lost
            record.seconds_work = round(outcome.seconds_work, 1)
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
        self.record.seconds = self._seconds()
        write_whole(self.path, _file(self.record))


def sessions(folder: Path) -> list[SessionRecord]:
    """All sessions of a study, oldest first; damaged ones are left out."""
    read = map(_read, _paths(folder))
    return [record for record in read if record is not None]


def for_others(folder: Path) -> dict[str, bytes]:
    """Files of the sessions of a study, by name, as other people may read them.

    Without what a session says of a person's machine: command, host, number of the process, job,
    and the error that ended it, which may name folders. Of a session that was killed the file says
    so.
    """
    files = {}
    for number, record in enumerate(sessions(folder)):
        public = dataclasses.replace(record, command="", host="", process=0, job=None, error=None)
        files[f"{number:06d}.json"] = _file(public)
    return files


def units_per_second(running: Iterable[SessionRecord]) -> float:
    """Units that the workers of some sessions do in a second, together."""
    return sum(record.units_per_second for record in running)


def cost_per_second(running: Iterable[SessionRecord]) -> float:
    """Predicted cost that the workers of some sessions do in a second, together."""
    return sum(record.cost_per_second for record in running)


def damaged(folder: Path) -> list[str]:
    """Files of sessions that are not what this program wrote, relative to the folder."""
    return [str(path.relative_to(folder)) for path in _paths(folder) if _read(path) is None]


def _paths(folder: Path) -> list[Path]:
    return sorted((folder / "sessions").glob("*.json"))


def _read(path: Path) -> SessionRecord | None:
    """A session; None unless its file is whole."""
    try:
        content = json.loads(read_regular(path))
        if content.pop("digest") != _digest(content):
            return None
        record = SessionRecord.read(content)
        if record.state == RUNNING and not _goes_on(path, record):
            record.state = KILLED
        return record
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _goes_on(path: Path, record: SessionRecord) -> bool:
    """Whether a run that did not note its end goes on: its file is fresh and, if it is on this
    machine, its process is there.
    """
    if abs(time.time() - path.stat().st_mtime) > SILENT:
        return False
    return record.host != platform.node() or signals.process_exists(record.process)


def _file(record: SessionRecord) -> bytes:
    """The file of a session."""
    content = record.content()
    content["digest"] = _digest(content)
    return (json.dumps(content, indent=1) + "\n").encode()


def _digest(content: dict[str, Any]) -> str:
    return digest(canonical(content), 8).hex()
