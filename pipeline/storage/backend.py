"""What the storage of replications and results must promise: files, whole hierarchies, locks.

A new backend is a subclass of `url_backend.UrlBackend` with `scheme`, `form` and the
five abstract methods of `Files`; all else has a default that is built on these. Its
class is found by an entry point of the group `pipeline.backends`, see `schemes`;
docs/extending.md has one. What a method promises is said in its docstring here and
nowhere else, and `tests/storage/test_conformance.py` holds every backend to it.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar, NamedTuple, TypeVar

from pipeline.study.parameters import InvalidInput

ROOT = "zarr.json"  # name of the root document of a Zarr hierarchy

Item = TypeVar("Item")
Result = TypeVar("Result")


class Unreachable(ConnectionError):
    """A backend that refuses or cannot be reached, after trying again for as long as that may help.

    One line.
    """


class Listed(NamedTuple):
    """A file in a listing: its key, relative to the prefix that was listed, and its bytes."""

    key: str
    size: int


class Files(ABC):
    """Files by key: names joined by "/".

    Any number of processes, on any machines, may use one backend at once, and every
    process any number of threads. What one process wrote, all others read and list from
    then on. Where the backend cannot be reached, methods raise `Unreachable`, or
    another OSError, and never say that a file is not there.

    `setting` is the key of the config that names the backend, and `kind` what it is
    called in a sentence. `str` gives its path or URL.
    """

    setting: ClassVar[str]
    kind: ClassVar[str] = "store"

    @abstractmethod
    def read(self, key: str, start: int = 0, stop: int | None = None) -> bytes | None:
        """Content of a file, or a part of it as of a slice; None if there is no such file.

        start: perhaps negative, from the end of the file; then without `stop`.
        """

    @abstractmethod
    def put(self, key: str, content: bytes, patience: float | None = None) -> None:
        """Write a file, which replaces one of the same key.

        Atomic: whoever reads meanwhile gets the old file or the new one, whole, also
        where this process is killed. On return the file is there for good. Like
        `create` and `delete`, it begins with `Locks.check_lock`.

        patience: seconds for which a request that fails is tried again; None: as long
        as the backend thinks right.
        """

    @abstractmethod
    def create(self, key: str, content: bytes) -> bool:
        """Write a file where there is none; whether this call did.

        Atomic like `put`. Of all that create a file of one key at once, on any
        machines, one gets True. Locks rest on this. The content differs between
        callers, so an attempt that is repeated, as its answer was lost, can see that it
        was its own.
        """

    @abstractmethod
    def listed(self, prefix: str) -> Iterator[Listed]:
        """All files whose keys start with `prefix` and "/", in no particular order.

        Files that are written or deleted meanwhile may or may not be listed.
        """

    @abstractmethod
    def delete(self, *keys: str) -> None:
        """Delete files, however many; one that is missing is no error."""

    def check(self, write: bool = False) -> None:
        """Raise InvalidInput, in seconds, unless the backend can be read.

        write: and written.
        """
        try:
            next(self.listed("lock"), None)
            if write:
                self.put("probe", b"")
                self.delete("probe")
        except OSError as error:
            reason = str(error).removeprefix(f"{self} ")
            raise InvalidInput(self.setting, self, reason) from None

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys of the files below a prefix, relative to it, in no particular order.

        The key of an empty folder, where there are such, ends in "/".
        """
        return (file.key for file in self.listed(prefix))

    def sizes(self, prefix: str) -> dict[str, int]:
        """Size in bytes of every file below a prefix, by its key relative to the prefix."""
        return {file.key: file.size for file in self.listed(prefix)}

    def stamp(self, key: str) -> str | None:
        """A text that changes whenever the content of a file does; None if there is no file."""
        content = self.read(key)
        if content is None:
            return None
        return hashlib.blake2b(content, digest_size=16).hexdigest()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results, in order, of a function that reads or writes one file; perhaps in
        threads.
        """
        return map(function, items)

    def left_over(self, prefix: str) -> list[str]:
        """Keys, relative to the prefix, of what interrupted writes left behind.

        None while a process may be `sweeping`. By default nothing is ever left.
        """
        return []


class Hierarchies(Files):
    """Whole Zarr hierarchies, of which others see all or nothing.

    By default they are built in place, as where nothing can be renamed: a hierarchy is
    there when its root document is.
    """

    def stage(self, name: str) -> str:
        """Key under which a new hierarchy is built before it is published as `name`.

        Nothing is there yet.
        """
        self.remove(name)
        return name

    def publish(self, staged: str, name: str, root: bytes) -> None:
        """Publish what was built under `staged` as `name`, replacing another.

        root: content of its root document, which is written last.
        """
        self.put(f"{name}/{ROOT}", root)

    def remove(self, name: str) -> None:
        """Delete a hierarchy.

        Its root document goes first, so that half of it never passes for the whole.
        """
        self.delete(f"{name}/{ROOT}")
        keys = [f"{name}/{key}" for key in self.keys(name)]
        self.delete(*keys)


class Locks(ABC):
    """Mutual exclusion of all processes that use the backend, on any machines."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """One process at a time may be inside; the lock ends with its process.

        A process that lost the lock, as it was cut off or stopped for too long, writes
        nothing more: see `check_lock`.
        """

    @abstractmethod
    def check_lock(self) -> None:
        """Raise Unreachable where this process had the lock, and may have lost it."""

    def sweeping(self) -> AbstractContextManager[None]:
        """To be entered while units are written; several processes may be inside at once. By
        default it does nothing, because such a backend leaves nothing of an interrupted write.
        """
        return nullcontext()


class Backend(Hierarchies, Locks):
    """All that a study needs of its storage."""
