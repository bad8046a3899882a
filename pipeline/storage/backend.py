"""Interface to the storage of replications and results: a folder, or a bucket with the S3 protocol."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from pipeline.study.parameters import InvalidInput

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
FORM = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_.=-]+)*/?")
LONGEST = 500  # characters of a URL: S3 allows keys of 1,024, a study adds its own

Item = TypeVar("Item")
Result = TypeVar("Result")


class Unreachable(ConnectionError):
    """A bucket that refuses or cannot be reached, after trying again for as long as that may help.

    One line.
    """


class Backend(Protocol):
    """Files by key: names joined by "/". Each file is written whole or not at all.

    `setting` is the key of the config that names the backend; `str` gives its path or URL.
    """

    setting: str

    def check(self, write: bool = False) -> None:
        """Raise InvalidInput unless the backend can be read, and written if asked to."""

    def read(self, key: str, start: int = 0, stop: int | None = None) -> bytes | None:
        """Content of a file, or a part of it as of a slice, `start` perhaps from its end.

        None if there is none.
        """

    def put(self, key: str, content: bytes) -> None:
        """Write a file; replaces one of the same key."""

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys of the files below a prefix, relative to it, in no particular order."""

    def sizes(self, prefix: str) -> dict[str, int]:
        """Size in bytes of every file below a prefix, by its key relative to the prefix."""

    def delete(self, *keys: str) -> None:
        """Delete files; one that is missing is no error."""

    def remove(self, prefix: str) -> None:
        """Delete a Zarr hierarchy, its root document first, so that half of it never passes for the
        whole.
        """

    def stage(self, name: str) -> str:
        """Key under which a new Zarr hierarchy is built before it is published as `name`.

        Nothing is there yet.
        """

    def publish(self, staged: str, name: str, root: bytes) -> None:
        """Publish what was built under `staged` as `name`, replacing another, by writing its root
        document last.
        """

    def stamp(self, key: str) -> str | None:
        """A text that changes whenever the file is written again; None if there is none."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results, in order, of a function that reads or writes one file."""

    def locked(self, owner: str) -> AbstractContextManager[None]:
        """Mutual exclusion beyond the lock on the local folder; `owner` names the process."""

    def sweeping(self) -> AbstractContextManager[None]:
        """To be entered while units are written; several processes may be inside at once."""

    def left_over(self, prefix: str) -> list[str]:
        """Keys of files whose writing was interrupted; empty while a process may be `sweeping`."""


def check_url(url: str) -> str:
    """The URL without "/" at its end.

    Raises InvalidInput if it is none, without repeating it: it may hold a secret.
    """
    if "@" in url or "?" in url or "#" in url:
        raise InvalidInput(
            "url", "…", f"must not hold credentials: export {' and '.join(KEYS)} instead"
        )
    if not FORM.fullmatch(url) or len(url) > LONGEST or {".", ".."} & {*url.split("/")}:
        raise InvalidInput(
            "url", url, "must be s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits and . _ = -"
        )
    return url.rstrip("/")
