"""Where the arrays of a study are: on a disk, or (`bucket.Bucket`, which offers the same) in a bucket.

A place holds files by key, names joined by /. Each is written whole or not at all.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from pipeline.parameters import InvalidInput

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
FORM = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_.=-]+)*/?")
LONGEST = 500  # characters of a URL: S3 allows keys of 1,024, the store adds its own


def check_url(url: str) -> str:
    """The URL without / at its end; InvalidInput if it is none, which never repeats what may be a secret."""
    if "@" in url or "?" in url or "#" in url:
        raise InvalidInput("url", "…", f"must not hold credentials: export {' and '.join(KEYS)} instead")
    if not FORM.fullmatch(url) or len(url) > LONGEST or {".", ".."} & {*url.split("/")}:
        raise InvalidInput("url", url, "must be s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits and . _ = -")
    return url.rstrip("/")


class Folder:
    """A folder on a disk, local or shared. `setting` is the key of the config that names it."""

    setting = "outputs"

    def __init__(self, path: Path):
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def zarr(self, key: str) -> Path:
        """What zarr and xarray open as the array or group under a key."""
        return self.path / key

    def check(self, write: bool = False) -> None:
        """Nothing: a disk tells when it is used."""

    def read(self, key: str) -> bytes | None:
        """Content of a file, None if there is none."""
        try:
            return (self.path / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys of the files below a prefix, relative to it, in no order."""
        yield from _below(str(self.path / prefix), "")

    def delete(self, *keys: str) -> None:
        """Delete files, in this order; those that are not there are no matter."""
        for key in keys:
            (self.path / key).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Delete a Zarr hierarchy; what makes it count goes first, so half of it never passes for the whole."""
        self.delete(f"{name}/zarr.json")
        shutil.rmtree(self.path / name, ignore_errors=True)

    def publish(self, partial: Path, name: str) -> None:
        """Put a finished Zarr hierarchy, made in a local folder, in the place of another, in one last step."""
        self.remove(name)
        partial.rename(self.path / name)

    def stamp(self, key: str) -> str | None:
        """What changes whenever a file is written again; None if there is none."""
        try:
            return str((self.path / key).stat().st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def map(self, function: Callable, items: Iterable) -> Iterator[Any]:
        """Results of a function that reads or writes one file, in order; not ahead of what is asked for."""
        return map(function, items)

    @contextmanager
    def locked(self, owner: str) -> Iterator[None]:
        """Nothing: the lock on the local folder, which is held already, will do."""
        yield

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """While files are written; several processes may do so at once."""
        with open(self.path / ".sweeps", "a+") as handle:  # NFS gives a shared lock to readers only
            fcntl.flock(handle, fcntl.LOCK_SH)
            yield

    def left_over(self, prefix: str) -> list[str]:
        """Keys below a prefix of files whose write was cut off; none while anybody may be `sweeping`."""
        with ExitStack() as stack:
            try:
                fcntl.flock(stack.enter_context(_open(self.path / ".sweeps")), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:  # nobody ever swept
                pass
            except OSError:  # somebody does, or it cannot be known
                return []
            return sorted(key for key in self.keys(prefix) if key.endswith(".partial"))


@contextmanager
def locked(folder: Path) -> Iterator[str]:
    """One process at a time, on this folder; the lock ends with its process. Gives a name of the lock file.

    The name is never that of a lock file of another machine or folder: machines made from one image are alike in
    their names, but not in when they were started.
    """
    with open(folder / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        found = os.fstat(handle.fileno())
        yield f"{_machine()}-{found.st_dev:x}-{found.st_ino:x}"


def _open(path: Path) -> IO:
    try:
        return open(path, "r+")  # NFS gives an exclusive lock to writers only
    except FileNotFoundError:
        raise
    except OSError:  # another user's, or on a disk that is read-only
        return open(path)


def _machine() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return os.uname().nodename


def _below(folder: str, prefix: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(entry.path, f"{prefix}{entry.name}/")
                else:
                    yield prefix + entry.name
    except FileNotFoundError:
        return
