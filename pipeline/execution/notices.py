"""Lines from deep inside for a person: on standard error, unless somebody takes them.

In a worker process nobody takes them, so that they go to its standard error.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

WARNING = "warning"
NOTE = "note"


@dataclass(frozen=True)
class Notice:
    """A line. kind: WARNING or NOTE.

    >>> print(Notice(NOTE, "a part reads a file"))
    note: a part reads a file
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


Taker: TypeAlias = Callable[[Notice], None]
_TAKERS: list[Taker] = []  # of this process, the innermost last


def warn(text: str) -> None:
    """Say that something went wrong which stops nothing."""
    _say(Notice(WARNING, text))


def note(text: str) -> None:
    """Say what everybody who reads the numbers should know."""
    _say(Notice(NOTE, text))


@contextlib.contextmanager
def taken(taker: Taker) -> Iterator[None]:
    """Within this, the lines of this process are given to `taker`, from whichever thread."""
    _TAKERS.append(taker)
    try:
        yield
    finally:
        _TAKERS.remove(taker)


def _say(notice: Notice) -> None:
    if _TAKERS:
        _TAKERS[-1](notice)
    else:
        print(notice, file=sys.stderr, flush=True)
