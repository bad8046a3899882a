"""What threads do with frozen objects: whose methods run, which alone may change them.

Who watches what is frozen.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

from pipeline.study.arrays import Array
from pipeline.study.frozen_containers import ReadOnly


class _Thread(threading.local):
    """at_work: ids of objects whose methods run. watches: the last is told of every array that is
    frozen meanwhile.

    worked: ids of objects whose methods ran while the last watched.
    """

    def __init__(self) -> None:
        self.at_work: list[int] = []
        self.watches: list[Callable[[Array], None]] = []
        self.worked: set[int] = set()


THREAD = _Thread()
WATCHES: list[Callable[[Array], None]] = []  # of all threads: mostly none, which is faster to see


@contextlib.contextmanager
def watching(watch: Callable[[Array], None]) -> Iterator[None]:
    """Tell `watch` of every array that was writable and is frozen meanwhile by this thread."""
    WATCHES.append(watch)
    THREAD.watches.append(watch)
    outer = THREAD.worked
    THREAD.worked = set()
    try:
        yield
    finally:
        THREAD.worked |= outer
        THREAD.watches.pop()
        WATCHES.remove(watch)


def refusing(method: Callable[..., None]) -> Callable[..., None]:
    """`__setattr__` or `__delattr__`, for an object's own methods only."""

    def change(self: object, name: str, *value: object) -> None:
        if id(self) not in THREAD.at_work:
            raise ReadOnly(f"{name} of a {type(self).__name__} is read-only")
        method(self, name, *value)

    return change
