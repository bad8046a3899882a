"""A lock among the processes of one user on one machine, which needs no folder that anybody named.

A lock in a bucket cannot see that a process died, and waits. The operating system can:
whoever gets the lock of a file knows that its last holder gave it back or is gone.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO

from pipeline.storage.file_locks import lock
from pipeline.study.files import open_to_lock, private_folder
from pipeline.study.streams import digest

TOKEN_BYTES = 32


@contextmanager
def locked_here(name: str) -> Iterator[str]:
    """One process of this user on this machine at a time.

    Yields a text of this machine's lock alone.

    Processes that get the same text are never inside at once. Where no temporary folder
    can be written, or somebody else has the place, nobody is kept out, and the text is
    a new one each time.

    name: of what is locked.

    >>> with locked_here("example") as first:
    ...     pass
    >>> with locked_here("example") as second:
    ...     first == second
    True
    """
    try:
        handle = open_to_lock(private_folder() / digest(name, 8).hex())
    except OSError:
        yield uuid.uuid4().hex
        return
    with handle:
        lock(handle)
        yield _token(handle)


def _token(handle: FileIO) -> str:
    """What a locked file says: drawn by whoever made it, so that copies of a machine differ."""
    token = handle.read(TOKEN_BYTES)
    if len(token) < TOKEN_BYTES:
        token = uuid.uuid4().hex.encode()
        handle.seek(0)
        handle.write(token)
    return token.decode(errors="replace")
