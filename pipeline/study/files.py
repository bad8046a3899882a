"""Write files so that no reader ever sees an incomplete one."""

import errno
import itertools
import os
import stat
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path

PARTIAL = ".partial"  # the end of the name under which a file or folder is built before it is renamed
_NUMBER = itertools.count()


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file under another name first, which is then renamed; its folder is made if it is not there.

    Whoever opens the file reads the old content or the new one, both complete. A process that is killed leaves a file
    whose name ends with `PARTIAL`. Raises OSError.
    """
    target = os.fspath(path)
    partial = f"{target}.{os.getpid()}-{next(_NUMBER)}{PARTIAL}"
    try:
        handle = open(partial, "wb")
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
    """Content of a file. Raises OSError, also for a pipe or a device, which might never end. most: bytes to read."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb", buffering=0) as file:
        check_regular(handle, path)
        return file.readall() if most is None else file.read(most)


def check_regular(handle: int, path: str | Path) -> None:
    """Raise OSError unless an open file is one on a disk."""
    kind = os.fstat(handle).st_mode
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "is a pipe or a device, and no file", os.fspath(path))


def _in_new_folder(path: str) -> BufferedWriter:
    """Open a file for writing in a folder that is made first; another process may remove it while it is empty."""
    for _ in range(100):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with suppress(FileNotFoundError):
            return open(path, "wb")
    raise FileNotFoundError(path)
