"""A conversation with a program over pipes: requests and answers are tables of lines.

Nothing here starts a thread: a part of a study must leave none running.
"""

import atexit
import os
import selectors
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from pipeline.study.errors import PipelineError
from pipeline.study.parameters import printable, shorten

BYTES = 2**16  # that are read or written at once
STEP = 0.5  # seconds of a wait, between which a time limit of the unit can end it
GRACE = 0.5  # seconds in which a program that closed its output ends by itself
TAIL = 4096  # bytes at the end of stderr, in which its last line is
LONGEST_LINE = 300  # characters of a line that is shown


class ProgramFailed(PipelineError):
    """A program died, hung, or answered nonsense. reason: what it did, and its last line."""

    def __init__(self, name: str, reason: str):
        super().__init__(f"method {name}: {reason}")
        self.name = name
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return ProgramFailed, (self.name, self.reason)


class Conversation:
    """A running program, which has said what it is. name: of its file. version: its first line.

    content: of the file. command: gives the words that start the file at a path. seconds: that an
    answer may take. Raises ProgramFailed; OSError where it cannot be started.
    """

    def __init__(
        self, name: str, content: bytes, command: Callable[[str], list[str]], seconds: float
    ):
        self.name = name
        self.seconds = seconds
        self.ended = False
        self._owner = os.getpid()  # a fork of it must not end what it talks with
        self._lock = threading.Lock()
        self._received = bytearray()
        self._folder = tempfile.mkdtemp(prefix="pipeline-method-")
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        atexit.register(self.end)
        try:
            copy = Path(self._folder, name)
            copy.write_bytes(content)
            copy.chmod(0o700)
            self._process = subprocess.Popen(
                command(str(copy)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
            )
        except OSError:
            atexit.unregister(self.end)
            self._remove_files()
            raise
        os.set_blocking(self._input, False)
        [greeting] = self._talk(b"", self._first_line)
        self.version = shorten(printable(greeting), LONGEST_LINE)

    def answer(self, tables: Sequence[Sequence[str]]) -> list[str]:
        """The lines of the table with which the program answers to some. Raises ProgramFailed."""
        lines: list[str] = []
        for table in tables:
            lines += [str(len(table)), *table]
        request = "".join(f"{line}\n" for line in lines).encode()
        with self._lock:
            return self._talk(request, self._table)

    def failed(self, reason: str) -> ProgramFailed:
        """The error that says what the program did; the program is ended."""
        last_line = self._last_line()
        self.end()
        if last_line:
            reason = f"{reason}; the last line of its stderr: {last_line}"
        return ProgramFailed(self.name, reason)

    def end(self) -> None:
        """End the program, and remove what was written for it."""
        if self.ended or self._owner != os.getpid():
            return
        self.ended = True
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._remove_files()

    @property
    def _input(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    @property
    def _output(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _talk(self, request: bytes, complete: Callable[[], list[str] | None]) -> list[str]:
        """Write a request while reading, until an answer is complete. Raises ProgramFailed.

        Whatever ends this in between, as a time limit of the unit does, ends the program.
        """
        is_complete = False
        latest = time.monotonic() + self.seconds
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._output, selectors.EVENT_READ)
                if request:
                    selector.register(self._input, selectors.EVENT_WRITE)
                rest = memoryview(request)
                lines = complete()
                while lines is None:
                    if time.monotonic() > latest:
                        raise self.failed(f"gave no answer within {self.seconds:g} s")
                    for key, _ in selector.select(STEP):
                        if key.fd == self._output:
                            self._read()
                        else:
                            rest = rest[self._write(rest) :]
                            if not rest:
                                selector.unregister(self._input)
                    lines = complete()
            is_complete = True
            return lines
        finally:
            if not is_complete:
                self.end()

    def _read(self) -> None:
        """Add what the program wrote. Raises ProgramFailed at the end of its output."""
        part = os.read(self._output, BYTES)
        if part:
            self._received += part
            return
        try:
            status = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            raise self.failed("closed its output") from None
        how = f"ended with status {status}"
        if status < 0:
            how = f"was ended by signal {-status}"
        raise self.failed(how)

    def _write(self, rest: memoryview) -> int:
        """Write as much as the program takes: a number of bytes."""
        try:
            return os.write(self._input, rest[:BYTES])
        except BlockingIOError:
            return 0
        except BrokenPipeError:  # what it wrote before says more
            return len(rest)

    def _first_line(self) -> list[str] | None:
        """What was received first, up to the end of a line; None before that."""
        end = self._received.find(b"\n")
        if end < 0:
            return None
        return self._taken(end + 1)

    def _table(self) -> list[str] | None:
        """The lines of a table, once all were received. Raises ProgramFailed."""
        end = self._received.find(b"\n")
        if end < 0:
            return None
        first = self._received[:end].decode(errors="replace").strip()
        if not first.isdecimal():
            wanted = "where the number of lines of a table must stand"
            raise self.failed(f"wrote {shorten(first)!r} {wanted}")
        count = int(first)
        if self._received.count(b"\n") < count + 1:
            return None
        for _ in range(count):
            end = self._received.index(b"\n", end + 1)
        lines = self._taken(end + 1)
        if self._received:
            after = shorten(self._received.decode(errors="replace"))
            raise self.failed(f"wrote {after!r} after the {count} lines of its table")
        return lines[1:]

    def _taken(self, count: int) -> list[str]:
        """The lines of the first bytes that were received, which are removed."""
        text = self._received[:count].decode(errors="replace")
        del self._received[:count]
        return [line.removesuffix("\r") for line in text.split("\n")[:-1]]

    def _last_line(self) -> str:
        """The last line that the program wrote to stderr; empty if there is none."""
        size = os.fstat(self._stderr.fileno()).st_size
        tail = os.pread(self._stderr.fileno(), TAIL, max(size - TAIL, 0))
        lines = tail.decode(errors="replace").split("\n")
        written = [line for line in lines if line.strip() and line.strip() != "Execution halted"]
        return shorten(printable(written[-1]), LONGEST_LINE) if written else ""

    def _remove_files(self) -> None:
        self._stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)
