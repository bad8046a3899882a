"""A person's own file of parts, named on the command line: it is executed here, and its content is
sent to workers.
"""

import hashlib
import linecache
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.identity.replaced_values import replaced_values
from pipeline.identity.surroundings import OWN_CODE, Surroundings, watched
from pipeline.study.files import read_regular
from pipeline.study.parameters import InvalidInput, path_of, shorten

FLAG = "--with"


class OwnFile(NamedTuple):
    """A file by its name, without its folder, and its content."""

    name: str
    content: bytes

    @property
    def module(self) -> str:
        """Name of the module that it becomes."""
        return f"own_{Path(self.name).stem}"

    @property
    def sha256(self) -> str:
        """64 hexadecimal digits of its content."""
        return hashlib.sha256(self.content).hexdigest()


_LOADED: dict[str, OwnFile] = {}  # by the module's name
_SURROUNDINGS: dict[str, Surroundings] = {}  # in which these were executed
_REPLACED: dict[str, dict[str, Any]] = {}  # what these replaced in other packages
_EXECUTING: list[str] = []
_BESIDE: dict[str, bytes] = {}  # programs that files name by a path -> their content
_SENT: dict[str, bytes] = {}  # the same, of the process for which this one works


def loaded() -> tuple[OwnFile, ...]:
    """The files that were executed here, in this order."""
    return tuple(_LOADED.values())


def source(module: str) -> bytes | None:
    """Content of the file that was executed as a module; None if it is none of these."""
    return _LOADED[module].content if module in _LOADED else None


def keep_beside(path: str, content: bytes) -> None:
    """Note the content of a program that a person's code names by its path, to be sent along."""
    _BESIDE[path] = content


def beside(path: str) -> bytes | None:
    """The content of such a program, as another process sent it here; None if it did not."""
    return _SENT.get(path)


def all_beside() -> dict[str, bytes]:
    """Path of every such program -> content."""
    return {**_SENT, **_BESIDE}


def kept_beside_results() -> list[OwnFile]:
    """The files that were executed here, and the programs that these name, by their last names."""
    named = [OwnFile(Path(path).name, content) for path, content in all_beside().items()]
    return [*loaded(), *named]


def sent_beside(programs: Mapping[str, bytes]) -> None:
    """Know such programs, which another process sent."""
    _SENT.update(programs)


def surroundings(file: OwnFile) -> Surroundings:
    """What a file depended on when it was executed here."""
    return _SURROUNDINGS[file.module]


@contextmanager
def restored(*, alone: bool = False) -> Iterator[None]:
    """Forget at the end of a `with` which files were executed in it.

    alone: those that were executed before are not known meanwhile.
    """
    files = dict(_LOADED)
    surroundings_before = dict(_SURROUNDINGS)
    replaced_before = dict(_REPLACED)
    beside_before = dict(_BESIDE)
    modules = {name: sys.modules[name] for name in files if name in sys.modules}
    if alone:
        _LOADED.clear()
    try:
        yield
    finally:
        for name in _LOADED:
            sys.modules.pop(name, None)
        sys.modules.update(modules)
        _LOADED.clear()
        _LOADED.update(files)
        _SURROUNDINGS.clear()
        _SURROUNDINGS.update(surroundings_before)
        _REPLACED.clear()
        _REPLACED.update(replaced_before)
        _BESIDE.clear()
        _BESIDE.update(beside_before)


def replaced(file: OwnFile) -> dict[str, Any]:
    """What a file replaced in NumPy, SciPy and Python's mathematics: qualified name -> what is
    there now.
    """
    return _REPLACED.get(file.module, {})


def executing() -> str | None:
    """Name of the file that is being executed now."""
    return _EXECUTING[-1] if _EXECUTING else None


def read(path: str) -> OwnFile:
    """The file at a path; InvalidInput if it cannot be read or is no Python file."""
    file = path_of(path, FLAG)
    try:
        content = read_regular(file)
    except OSError as error:
        raise InvalidInput(
            FLAG, path, f"cannot be read ({error.strerror}); must be the path of a Python file"
        ) from None
    if file.suffix != ".py" or not file.stem.isidentifier():
        raise InvalidInput(FLAG, path, "must be a Python file with a name such as parts.py")
    return OwnFile(file.name, content)


def execute(file: OwnFile) -> None:
    """Execute a file as a module of its own, once for the same content.

    What it registers is known from then on.

    Raises InvalidInput with what it raised, and in which line.
    """
    if _LOADED.get(file.module) == file:
        return
    if file.module in _LOADED:
        raise InvalidInput(
            FLAG, file.name, "another file of that name is loaded already; rename one of them"
        )
    where = f"{OWN_CODE}{file.name}>"
    module = types.ModuleType(file.module)
    try:
        text = file.content.decode()
        lines = text.splitlines(keepends=True)
        linecache.cache[where] = (len(text), None, lines, where)  # for tracebacks
        code = compile(file.content, where, "exec", dont_inherit=True)
        sys.modules[file.module] = module
        _LOADED[file.module] = file
        _EXECUTING.append(file.name)
        try:
            with replaced_values(file.content) as there_now, watched(threads=True) as met:
                exec(code, vars(module))
            _SURROUNDINGS[file.module] = met
            _REPLACED[file.module] = there_now
        finally:
            _EXECUTING.pop()
    except (Exception, SystemExit) as error:
        sys.modules.pop(file.module, None)
        _LOADED.pop(file.module, None)
        raise _stops(file, where, error) from None


def _stops(file: OwnFile, where: str, error: BaseException) -> InvalidInput:
    """What is said of an error in a file. where: the name of its code."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, InvalidInput):
        reason = str(error)
    line = getattr(error, "lineno", None)  # of a SyntaxError
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == where:
            line = frame.lineno
    at = f" in line {line}" if line else ""
    return InvalidInput(FLAG, file.name, f"stops{at} with {shorten(reason, 200)}")
