"""Programs in other languages that analyse data: one long-lived process of each in every worker.

The program first writes one line: what it is, with the versions of all that its results depend on.
Then, again and again, it reads two tables from its standard input and writes one to its standard
output. A table is a line with the number of its lines, and then these, in CSV:

    parameters of a cell, one row, with a `seed` for what the program draws
    data: the rows of all data sets; the column `replication` says of which one a row is
    -> measures: one row for each replication

When its standard input ends, it ends. For a file `….R` the program does all of this around the
file's function `analyse` (`method.R`). Any other program is started as its first line `#!` says.
"""

import hashlib
import os
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.execution.conversation import Conversation, ProgramFailed
from pipeline.identity import own_files
from pipeline.study import exchange
from pipeline.study.arrays import Floats
from pipeline.study.files import read_regular
from pipeline.study.parameters import InvalidInput, path_of

KEY = "method"
SECONDS = 600.0  # without an answer, after which a program counts as hanging
R_DRIVER = Path(__file__).with_name("method.R")
R_SUFFIX = ".r"
COMPILED = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # how such files begin
# By the process that started it, and the digest of its file.
_RUNNING: dict[tuple[int, str], Conversation] = {}
_STARTING = threading.Lock()


@dataclass(frozen=True)
class Program:
    """A program that analyses data. path: of its file. seconds: that an answer may take.

    `pl.study` takes one in place of a function. A mechanism or an estimator of your own may have
    one as a class attribute, and calls `measure`; workers get its file by its content.

    content: of the file, which is read where it is not given.

    Raises InvalidInput if the file cannot be read or run.
    """

    path: str
    seconds: float = SECONDS
    content: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(self.path))
        if not self.seconds > 0:
            raise InvalidInput("seconds", self.seconds, "must be a positive number")
        if not self.content:
            object.__setattr__(self, "content", _content(self.path))
        self.command(self.path)

    @property
    def name(self) -> str:
        """Name of its file, without folders."""
        return Path(self.path).name

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of its content."""
        return hashlib.blake2b(self.content, digest_size=8).hexdigest()

    def version(self) -> str:
        """What the program says that it is. Starts it. Raises InvalidInput where it does not."""
        return self._conversation().version

    def measure(
        self,
        sets: Iterable[object],
        parameters: Mapping[str, Any],
        rng: np.random.Generator,
        names: Sequence[str],
    ) -> dict[str, Floats]:
        """What the program measures on data sets: name -> (number of sets,); NaN where nothing.

        Raises ProgramFailed, with the last line that it wrote to stderr.
        """
        data_sets = [*sets]
        seed = int(rng.integers(2**31 - 1))
        try:
            data = exchange.table_of_data(data_sets)
        except exchange.Nonsense as error:
            raise InvalidInput("generate", "data", str(error)) from None
        conversation = self._conversation()
        answer = conversation.answer([exchange.table_of_parameters(parameters, seed), data])
        try:
            return exchange.measures_of(answer, names, len(data_sets))
        except exchange.Nonsense as error:
            raise conversation.failed(f"its answer {error}") from None

    def command(self, path: str) -> list[str]:
        """The words that start the file at a path. Raises InvalidInput if nothing would."""
        if Path(self.path).suffix.lower() == R_SUFFIX:
            interpreter = self._interpreter("Rscript")
            return [interpreter, "--vanilla", str(R_DRIVER), path]
        if self.content.startswith(COMPILED):
            return [path]
        if self.content[:2] != b"#!":
            allowed = "must be a file ….R, a compiled program, or begin with #! and what runs it"
            raise InvalidInput(KEY, self.path, allowed)
        first_line = self.content.split(b"\n", 1)[0]
        words = first_line[2:].decode(errors="replace").split()
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-")]
        if not words:
            raise InvalidInput(KEY, self.path, "names no program in its first line, after #!")
        return [self._interpreter(words[0]), *words[1:], path]

    def _interpreter(self, name: str) -> str:
        """Where the program is that runs the file. Raises InvalidInput."""
        where = shutil.which(name)
        if where is None:
            raise InvalidInput(KEY, self.path, f"needs {name}, which is not on this machine")
        return where

    def _conversation(self) -> Conversation:
        """The running program, which is started where it does not run. Raises InvalidInput."""
        key = (os.getpid(), self.digest)
        with _STARTING:
            running = _RUNNING.get(key)
            if running is not None and not running.ended:
                return running
            try:
                started = Conversation(self.name, self.content, self.command, self.seconds)
            except ProgramFailed as error:
                allowed = f"{error.reason}, before it wrote a line with its name and version"
                raise InvalidInput(KEY, self.path, allowed) from None
            except OSError as error:
                allowed = f"cannot be started: {error.strerror}"
                raise InvalidInput(KEY, self.path, allowed) from None
            _RUNNING[key] = started
            return started


def versions(parts: Iterable[Any]) -> dict[str, str]:
    """Programs that some parts call: name -> digest of its file, and what it says that it is.

    Starts each. Raises InvalidInput.
    """
    there = {}
    for part in parts:
        for base in getattr(part, "__mro__", ()):
            for value in vars(base).values():
                if isinstance(value, Program):
                    there[value.name] = value.digest
                    there[f"{value.name} runs"] = value.version()
    return there


def _content(path: str) -> bytes:
    """The content of a program: as it was sent here, or of the file. Raises InvalidInput."""
    sent = own_files.beside(path)
    if sent is not None:
        return sent
    file = path_of(path, KEY)
    try:
        content = read_regular(file)
    except OSError as error:
        allowed = f"cannot be read ({error.strerror}); must be the path of a program"
        raise InvalidInput(KEY, path, allowed) from None
    if not content:
        raise InvalidInput(KEY, path, "is empty; must be the path of a program")
    own_files.keep_beside(path, content)
    return content
