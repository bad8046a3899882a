"""What a person's code depends on besides its text: what it imports, reads and asks of the
environment while it runs.

Python tells of files that are opened, modules that are searched and programs that are started (its
audit events); variables of the environment, and the functions of `os` that look at a path, note who
asks for them. What an installed package reads while it is imported belongs to its version. Compiled
code that opens files or looks at them by itself, the clock and chance do not show.
"""

import functools
import genericpath
import hashlib
import importlib
import os
import pathlib
import posixpath
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias, cast

from pipeline.identity.places import is_own
from pipeline.study import proc
from pipeline.study.files import open_regular, read_regular

Named: TypeAlias = str | bytes | os.PathLike[str] | int  # how a program names a file
OWN_CODE = "<--with "  # what the name of code of a file given with --with starts with
SYSTEM = (f"{proc.ROOT}/", "/sys/", "/dev/")
SECRET = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "CREDENTIAL",
)  # in names of variables whose values are not kept
BYTES = 2**20  # that are read of a file at once
# Events of Python -> what code does then that leaves no trace here.
UNSEEN = {
    "subprocess.Popen": "runs a program",
    "os.system": "runs a program",
    "os.posix_spawn": "runs a program",
    "os.exec": "runs a program",
    "socket.connect": "asks the network",
    "socket.getaddrinfo": "asks the network",
    "urllib.Request": "asks the network",
    "socket.gethostname": "asks for the name of the machine",
}
FOLDERS = ("os.listdir", "os.scandir")
LOOKS = ("stat", "lstat", "access", "readlink")  # functions of `os` that look at a path
PLACES = ("getcwd", "getcwdb")  # those that tell the working directory
FILES = ("sqlite3.connect", "ctypes.dlopen")  # whose first argument is a file, perhaps
OWN = "own"
IMPORT = "import"
OTHER = "other"
NOBODY = "nobody"  # who asks: a person's code, an import, the program, or none of these
_WATCHES: list["_Watch"] = []
_HOOKED: list[bool] = []
_BUSY = threading.local()  # `notes`: whether this thread notes a look, which looks at paths itself


@dataclass
class Surroundings:
    """What some code depended on while it ran.

    sources: files of code by name -> content. digests: of files, folders and variables, by what was
    done with them, such as "reads scale.json". packages: installed ones that it imports. unseen:
    what it did that leaves no trace.
    """

    sources: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)
    unseen: list[str] = field(default_factory=list)


@contextmanager
def watched(threads: bool = False) -> Iterator[Surroundings]:
    """Watch what a person's code does in this thread.

    The surroundings are complete when the context ends. threads: also in those that are started
    meanwhile, where nobody else starts any.
    """
    if not _HOOKED:
        _HOOKED.append(True)
        sys.addaudithook(_audit)
    watch = _Watch(threads)
    met = Surroundings()
    finder = _Finder(watch)
    before = {*sys.modules}
    environments: tuple[Any, ...] = (os.environ, os.environb)
    for environment in environments:
        environment.__class__ = _Variables
    for name, noting in _NOTING.items():
        setattr(os, name, noting)
    sys.meta_path.insert(0, finder)
    _WATCHES.append(watch)
    try:
        yield met
    finally:
        _WATCHES.remove(watch)
        if not _WATCHES:
            for name, function in _PLAIN.items():
                setattr(os, name, function)
        sys.meta_path.remove(finder)
        for environment in environments:
            environment.__class__ = os._Environ
        watch.describe(met, {*sys.modules} - before)


class _Watch:
    """What was noted so far, in the order in which it happened."""

    def __init__(self, threads: bool) -> None:
        self.thread = threading.get_ident()
        self.threads = threads
        self.others = {thread.ident for thread in threading.enumerate()} - {self.thread}
        self.read: dict[str, None] = {}
        self.code: dict[str, None] = {}
        self.written: set[str] = set()
        self.listed: dict[str, None] = {}
        self.looked_at: dict[str, None] = {}
        self.variables: dict[str, str | None] = {}
        self.all_variables = False
        self.packages: dict[str, None] = {}
        self.unseen: dict[str, None] = {}

    def watches(self, thread: int) -> bool:
        """Whether a thread is this one, or one that was started meanwhile: by a person's code."""
        return thread == self.thread or (self.threads and thread not in self.others)

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an audit event of these threads, where it is a person's code that caused it.

        What a thread does that was started meanwhile is that code's, as nobody else starts one.
        """
        asker = _asker()
        if asker == NOBODY and threading.get_ident() != self.thread:
            asker = OWN
        if event == "open":
            self._opened(asker, *arguments)
        elif asker != OWN:
            return
        elif event in UNSEEN:
            self.unseen[UNSEEN[event]] = None
        elif event in FOLDERS:
            folder = "."
            if arguments and arguments[0] is not None:
                folder = arguments[0]
            self.listed[_path(folder)] = None
        elif event in FILES and Path(_path(arguments[0])).is_file():
            self.read[_path(arguments[0])] = None

    def _opened(self, asker: str, path: Named, mode: object, flags: int) -> None:
        if isinstance(path, int) or asker in (OTHER, NOBODY):
            return
        name = _path(path)
        if asker == IMPORT:
            self.code[_source_of(name)] = None
        elif flags & (os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
            if threading.get_ident() == self.thread:  # a pipe that a thread writes to is no file
                self.written.add(name)
        else:
            self.read[name] = None

    def note_variable(self, name: str, value: str | None) -> None:
        """Note a variable of the environment that a person's code asks for."""
        if self.watches(threading.get_ident()) and _asker() == OWN:
            self.variables[name] = value

    def note_look(self, function: str, path: Named) -> None:
        """Note that a person's code looks at a path, or asks for the working directory."""
        if not self.watches(threading.get_ident()) or not _looks_itself():
            return
        if function in PLACES:
            self.unseen["asks for the working directory"] = None
        elif not isinstance(path, int):  # an open file
            self.looked_at[_path(path)] = None

    def note_all_variables(self) -> None:
        """Note that a person's code goes through all variables."""
        if self.watches(threading.get_ident()) and _asker() == OWN:
            self.all_variables = True

    def note_package(self, name: str) -> None:
        """Note a module that a person's code imports and that was not imported before."""
        if self.watches(threading.get_ident()) and _importer() == OWN:
            self.packages[name.partition(".")[0]] = None

    def describe(self, met: Surroundings, modules: set[str]) -> None:
        """Fill in what was noted. modules: names of those that were imported meanwhile."""
        files = [getattr(sys.modules.get(name), "__file__", None) for name in sorted(modules)]
        self.code |= dict.fromkeys(path for path in files if path)
        for path in self.code:
            # What a package asks of the system while it is imported, as psutil does, is no code.
            if not path.startswith(SYSTEM) and is_own(path):
                _describe_code(path, met)
        for path in self.read:
            if path not in self.written and not path.startswith(SYSTEM) and is_own(path):
                _describe_file(path, met)
        for path in self.listed:
            if is_own(path) and Path(path).is_dir():
                met.digests[_new(f"lists {Path(path).name}/", met)] = _digest(
                    "\n".join(sorted(os.listdir(path)))
                )
        for path in self.looked_at:
            is_known = path in self.read or path in self.written
            if not is_known and not path.startswith(SYSTEM) and is_own(path):
                _describe_look(path, met)
        self._describe_variables(met)
        met.packages |= {name for name in self.packages if _is_installed(name)}
        met.unseen += self.unseen

    def _describe_variables(self, met: Surroundings) -> None:
        if self.all_variables:
            met.unseen.append("reads all variables of the environment")
            return
        for name, value in self.variables.items():
            if any(part in name.upper() for part in SECRET):
                met.unseen.append(f"reads {name}, which may be a secret and is not kept")
            else:
                met.digests[f"reads ${name}"] = _digest_or_unset(value)


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `os`, which notes what a person's code asks of it."""
    name = function.__name__

    @functools.wraps(function)
    def noting(*arguments: object, **named: object) -> object:
        if _WATCHES and not getattr(_BUSY, "notes", False):
            path = cast(Named, arguments[0] if arguments else named.get("path", 0))
            _BUSY.notes = True
            try:
                _WATCHES[-1].note_look(name, path)
            finally:
                _BUSY.notes = False
        return function(*arguments, **named)

    return noting


_PLAIN: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in (*LOOKS, *PLACES)}
_NOTING = {name: _noting(function) for name, function in _PLAIN.items()}


class _Finder:
    """Finds no module, but notes which are searched."""

    def __init__(self, watch: _Watch):
        self.watch = watch

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Note the module."""
        self.watch.note_package(name)


class _Variables(os._Environ):  # type: ignore[type-arg]
    """The environment, which notes who asks for what."""

    def __getitem__(self, name: object) -> object:
        try:
            value = super().__getitem__(name)
        except KeyError:
            _note_variable(name, None)
            raise
        _note_variable(name, value)
        return value

    def __iter__(self) -> Iterator[str]:
        if _WATCHES:
            _WATCHES[-1].note_all_variables()
        yield from super().__iter__()


def _digest_or_unset(value: str | None) -> str:
    if value is None:
        return "unset"
    return _digest(value)


def _note_variable(name: object, value: object) -> None:
    if not _WATCHES or not isinstance(name, str | bytes):
        return
    text = None
    if value is not None:
        text = os.fsdecode(cast(str | bytes, value))
    _WATCHES[-1].note_variable(os.fsdecode(name), text)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Python's hook: it stays for good, and does nothing while nobody watches."""
    if not _WATCHES or event not in _NOTED:
        return
    watch = _WATCHES[-1]
    if watch.watches(threading.get_ident()):
        watch.note(event, arguments)


_NOTED = {"open", *UNSEEN, *FOLDERS, *FILES}


def _asker() -> str:
    """Who causes what happens now: the first frame, from the innermost on, that is an import's or a
    person's own.

    What the program does, or Python to learn of installed packages, is nobody's, also where a
    person's code asks for it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return IMPORT
        if name != __file__ and name.startswith((_PROGRAM, _METADATA)):
            return OTHER
        if is_own_code(name):
            return OWN
        frame = frame.f_back
    return NOBODY


def _looks_itself() -> bool:
    """Whether a person's code looks at a path itself, or by `os.path` or `pathlib`.

    What other packages look at before they read a file is known when they read it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and not name.startswith(_PATHS):
            return is_own_code(name)
        frame = frame.f_back
    return False


def _importer() -> str:
    """Who imports what is being searched now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not (name in (__file__, _IMPORTLIB) or name.startswith("<frozen importlib")):
            return OWN if is_own_code(name) else OTHER
        frame = frame.f_back
    return OTHER


_IMPORTLIB = str(importlib.__file__)
_METADATA = str(Path(_IMPORTLIB).with_name("metadata"))
_PROGRAM = str(Path(__file__).parent.parent)
# Where the functions that look at paths are; some of these modules are frozen.
_PATHS = (
    *("<frozen os", "<frozen posixpath", "<frozen genericpath"),
    *(str(module.__file__) for module in (os, posixpath, genericpath)),
    str(pathlib.__file__).removesuffix(".py").removesuffix("/__init__"),
)


def is_own_code(name: str) -> bool:
    """Whether code is a person's, by the name of the file that it is of."""
    return name.startswith(OWN_CODE) or is_own(name)


def _is_installed(name: str) -> bool:
    """Whether a module is of an installed package other than this program."""
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return (
        bool(file)
        and not is_own(file)
        and not file.startswith(_PROGRAM)
        and name not in sys.stdlib_module_names
    )


def _path(path: Named) -> str:
    try:
        name = os.fsdecode(cast(str, path))
    except TypeError:  # an open file
        return "<unknown>"
    if not os.path.isabs(name):
        name = os.path.join(_PLAIN["getcwd"](), name)  # which nobody notes
    return os.path.normpath(name)


def _source_of(path: str) -> str:
    """The file of code that Python keeps compiled at a path; other paths as they are."""
    if Path(path).parent.name != "__pycache__":
        return path
    try:
        return source_from_cache(path)
    except (ValueError, NotImplementedError):
        return path


def _describe_code(path: str, met: Surroundings) -> None:
    try:
        content = read_regular(path)
    except OSError:
        return
    name = _new(f"imports {Path(path).name}", met)
    if path.endswith(".py"):
        met.sources[name] = content
    else:
        met.digests[name] = _digest(content)


def _describe_file(path: str, met: Surroundings) -> None:
    """The content of a file, or that there is none."""
    name = Path(path).name
    try:
        kind = os.stat(path).st_mode
    except OSError:
        met.digests[_new(f"reads {name}", met)] = "missing"
        return
    if stat.S_ISDIR(kind):
        return
    if not stat.S_ISREG(kind):
        met.unseen.append(f"reads {name}, which is no file")
        return
    digest = hashlib.blake2b(digest_size=8)
    with open_regular(path) as file:
        part = file.read(BYTES)
        while part:
            digest.update(part)
            part = file.read(BYTES)
    met.digests[_new(f"reads {name}", met)] = digest.hexdigest()


def _describe_look(path: str, met: Surroundings) -> None:
    """That nothing is at a path, the size of a file, or where a link leads.

    A folder that is there leaves no trace: one that is gone does.
    """
    try:
        status = _PLAIN["lstat"](path)
    except OSError:
        state = "missing"
    else:
        if stat.S_ISDIR(status.st_mode):
            return
        state = f"{status.st_size} bytes"
        if stat.S_ISLNK(status.st_mode):
            state = _digest(_PLAIN["readlink"](path))
    met.digests[_new(f"looks at {Path(path).name}", met)] = state


def _new(name: str, met: Surroundings) -> str:
    """The name, with a number where another file has it."""
    number = 1
    several = name
    while several in met.sources or several in met.digests:
        number += 1
        several = f"{name} ({number})"
    return several


def _digest(content: str | bytes) -> str:
    if isinstance(content, str):
        content = content.encode(errors="surrogateescape")
    return hashlib.blake2b(content, digest_size=8).hexdigest()
