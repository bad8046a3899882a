"""Write files so that no reader ever sees an incomplete one.

Open those that somebody else may have put there.

Whoever opens a pipe waits for its other end, whoever reads a device may never end: every file that
a person or another process may have put in a place is opened by `open_regular`, `read_regular` or
`open_to_lock`.
"""

import errno
import itertools
import os
import stat
import tempfile
from contextlib import suppress
from io import BufferedWriter, FileIO
from pathlib import Path

PARTIAL = (
    ".partial"  # the end of the name under which a file or folder is built before it is renamed
)
MORE = 2**16  # bytes that are read at once of a file that grows meanwhile
OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NUMBER = itertools.count()


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file under another name first, which is then renamed.

    Its folder is made if it is not there.

    Whoever opens the file reads the old content or the new one, both complete. A process that is
    killed leaves a file whose name ends with `PARTIAL`. Raises OSError.
    """
    target = os.fspath(path)
    partial = f"{target}.{os.getpid()}-{next(_NUMBER)}{PARTIAL}"
    try:
        handle = open(partial, "wb")  # noqa: SIM115 -- closed below
    except FileNotFoundError:
        handle = _in_new_folder(partial)
    try:
        with handle:
            handle.write(content)
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def read_regular(path: str | Path, most: int | None = None) -> bytes:
    """Content of a file.

    Raises OSError, also for a pipe or a device, which might never end. most: bytes to read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        size = check_regular(handle, path)
        if most is not None:
            return os.read(handle, most)
        # One look at the file, as each is a request to a file system; a `FileIO` takes three.
        parts = [os.read(handle, size + 1)]
        while parts[-1]:
            parts.append(os.read(handle, MORE))
        return b"".join(parts)
    finally:
        os.close(handle)


def open_regular(path: str | Path, flags: int = os.O_RDONLY) -> FileIO:
    """A file that is open as flags of `os.open` say.

    Raises OSError, also for a folder, a pipe or a device.
    """
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        check_regular(handle, path)
    except BaseException:
        os.close(handle)
        raise
    return FileIO(handle, "rb" if flags & os.O_ACCMODE == os.O_RDONLY else "r+b")


def open_to_lock(path: str | Path) -> FileIO:
    """A file that is to be locked, made if it is not there; nothing in it is changed.

    Raises OSError.

    It can be written, as NFS gives an exclusive lock to writers only, and read, as it gives a
    shared one to readers.
    """
    return open_regular(path, os.O_RDWR | os.O_CREAT)


def make_folders(path: Path) -> None:
    """Make a folder, with those that lead to it.

    Each is as open to the group as the one that it is made in.

    So whoever may write in a folder that a group shares may also write in those that others made
    there, whatever their umask. Raises OSError.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        shared = folder.parent.stat().st_mode & (stat.S_IRWXG | stat.S_ISGID)
        if shared & stat.S_IWGRP:
            with suppress(PermissionError):  # another process of another person made it in between
                folder.chmod(stat.S_IMODE(folder.stat().st_mode) | shared)


def private_folder() -> Path:
    """This user's folder among temporary files.

    Raises OSError where it cannot be made, or is another user's.
    """
    folder = Path(tempfile.gettempdir(), f"pipeline-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & OTHERS:
        raise PermissionError(f"{folder} is open to others")
    return folder


def check_regular(handle: int, path: str | Path) -> int:
    """The size of an open file. Raise OSError unless it is one on a disk."""
    status = os.fstat(handle)
    kind = status.st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "is a pipe or a device, and no file", os.fspath(path))
    return status.st_size


def _in_new_folder(path: str) -> BufferedWriter:
    """Open a file for writing in a folder that is made first.

    Another process may remove it while it is empty.
    """
    for _ in range(100):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with suppress(FileNotFoundError):
            return open(path, "wb")
    raise FileNotFoundError(path)
