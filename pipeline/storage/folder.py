"""A folder on a disk, local or shared, as a backend; and the lock of a folder."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path

from pipeline.storage.backend import ROOT, Backend, Listed
from pipeline.storage.file_locks import lock, lock_at_once, lock_with_others
from pipeline.study.files import PARTIAL, make_folders, open_regular, open_to_lock, write_whole

SWEEPS = ".sweeps"  # is locked while units are written


class Folder(Backend):
    """A folder as a backend, see `backend`. Errors of the disk are raised as they are,
    as OSError.
    """

    setting = "outputs"
    kind = "disk"

    def __init__(self, path: Path):
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def __reduce__(self) -> tuple[type["Folder"], tuple[Path]]:  # a worker may be in another folder
        return Folder, (self.path.absolute(),)

    def check(self, write: bool = False) -> None:
        """Do nothing: errors of a disk are raised when it is used."""

    def read(self, key: str, start: int = 0, stop: int | None = None) -> bytes | None:
        """Content of a file, or a part of it as of a slice; None if there is no such file."""
        try:
            with open_regular(f"{self.path}/{key}") as file:
                if start < 0:
                    size = os.fstat(file.fileno()).st_size
                    start = max(size + start, 0)
                if start:
                    file.seek(start)
                return file.readall() if stop is None else file.read(stop - start)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def put(self, key: str, content: bytes, patience: float | None = None) -> None:
        """Write a file: under another name first, which is then renamed."""
        write_whole(f"{self.path}/{key}", content)

    def create(self, key: str, content: bytes) -> bool:
        """Write a file where there is none: under another name first, which is then linked."""
        partial = f"{key}.{uuid.uuid4().hex}{PARTIAL}"
        self.put(partial, content)
        try:
            os.link(f"{self.path}/{partial}", f"{self.path}/{key}")
        except FileExistsError:
            return False
        finally:
            os.unlink(f"{self.path}/{partial}")
        return True

    def listed(self, prefix: str) -> Iterator[Listed]:
        """All files below a prefix, and empty folders, whose keys end in "/"."""
        for key, entry in _below(f"{self.path}/{prefix}", ""):
            with suppress(FileNotFoundError):  # removed or renamed just now
                yield Listed(key, entry.stat(follow_symlinks=False).st_size)

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys as in `listed`; without sizes, it is one request a folder."""
        return (key for key, _ in _below(f"{self.path}/{prefix}", ""))

    def delete(self, *keys: str) -> None:
        """Delete files, in this order, and folders that are empty then."""
        for key in keys:
            path = f"{self.path}/{key}"
            try:
                os.unlink(path)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except (IsADirectoryError, PermissionError):
                os.rmdir(path)
        for folder in {os.path.dirname(key.rstrip("/")) for key in keys} - {""}:
            with suppress(OSError):
                os.rmdir(f"{self.path}/{folder}")

    def remove(self, name: str) -> None:
        """Delete a Zarr hierarchy, its root document first."""
        self.delete(f"{name}/{ROOT}")
        shutil.rmtree(self.path / name, ignore_errors=True)

    def stage(self, name: str) -> str:
        """Key under which a hierarchy is built: of another folder, which is then renamed."""
        shutil.rmtree(self.path / f"{name}{PARTIAL}", ignore_errors=True)
        return f"{name}{PARTIAL}"

    def publish(self, staged: str, name: str, root: bytes) -> None:
        """Publish what was built under `staged` as `name`, replacing another.

        Its root document comes last.
        """
        self.put(f"{staged}/{ROOT}", root)
        self.remove(name)
        (self.path / staged).rename(self.path / name)

    def stamp(self, key: str) -> str | None:
        """Time of the last change of a file, in nanoseconds; None if there is none."""
        try:
            return str((self.path / key).stat().st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time, by a lock of the operating system, which is never lost."""
        make_folders(self.path)
        with locked(self.path):
            yield

    def check_lock(self) -> None:
        """Do nothing: the lock is never lost."""

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """To be entered while units are written; several processes may be inside at once."""
        with open_to_lock(self.path / SWEEPS) as handle:
            lock_with_others(handle)
            yield

    def left_over(self, prefix: str) -> list[str]:
        """Keys of files whose writing was interrupted; empty while a process may be
        `sweeping`.
        """
        with ExitStack() as stack:
            try:
                handle = stack.enter_context(_open(self.path / SWEEPS))
                lock_at_once(handle)
            except FileNotFoundError:  # no sweep has begun
                pass
            except OSError:  # a sweep is under way, or this cannot be known
                return []
            return sorted(key for key in self.keys(prefix) if key.endswith(PARTIAL))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time, on this folder; the lock ends with its process."""
    with open_to_lock(folder / ".lock") as handle:
        lock(handle)
        yield


def _open(path: Path) -> FileIO:
    try:
        return open_regular(path, os.O_RDWR)  # NFS gives an exclusive lock to writers only
    except FileNotFoundError:
        raise
    except OSError:  # another user's, or on a disk that is read-only
        return open_regular(path)


def _below(folder: str, prefix: str) -> "Iterator[tuple[str, os.DirEntry[str]]]":
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                key = prefix + entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield key, entry
                elif _is_empty(entry.path):
                    yield f"{key}/", entry
                else:
                    yield from _below(entry.path, f"{key}/")
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_empty(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except FileNotFoundError:
        return False
