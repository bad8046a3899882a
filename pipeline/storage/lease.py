"""Mutual exclusion by nothing but to create a file if there is none, as every S3 server can."""

import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property

from pipeline.storage.backend import Files, Locks, Unreachable
from pipeline.storage.machine_lock import locked_here

TERM = 60.0  # seconds without a sign of life after which a holder counts as dead
# Seconds after its last sign of life during which a holder may write; requests in
# flight take the rest.
SAFE = 30.0
BEAT = 5.0  # seconds between signs of life
POLL = (0.1, 0.4)  # seconds between two checks of a lock that another process has
FREE = b"free"
# One that goes on while a laptop sleeps.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Monotonic seconds, including the time that the machine was suspended."""
    return time.clock_gettime(CLOCK)


class Lease:
    """A lock made of numbered files under `prefix`: who creates the next number holds it.

    That is allowed when the last one says free, or has not changed for TERM seconds by
    the waiter's own clock, or is of the same `owner` (who is known to be dead: two of
    one name never run at once). The clocks of two machines are never compared. A holder
    that was cut off or stopped for longer than SAFE finds `valid()` False and must not
    write.
    """

    def __init__(self, files: Files, prefix: str = "lock"):
        self.files = files
        self.prefix = prefix
        self.until = 0.0
        self._holding = False

    def valid(self) -> bool:
        """Whether the holder may still write."""
        return now() < self.until

    @property
    def is_lost(self) -> bool:
        """Whether this lease was entered and not left, and another process may have the
        lock.
        """
        return self._holding and not self.valid()

    @contextmanager
    def locked_by(self, owner: str) -> Iterator[None]:
        """Wait for the lock, hold it, free it."""
        token = f"{owner} {uuid.uuid4().hex}".encode()
        number = self._wait(owner, token)
        self._holding = True
        over = threading.Event()
        beats = threading.Thread(target=self._beat, args=(number, token, over), daemon=True)
        beats.start()
        try:
            yield
        finally:
            over.set()
            beats.join()
            self._holding = False
            if self.valid():
                self.files.put(self._key(number), FREE)
            self.until = 0.0

    def _key(self, number: int) -> str:
        return f"{self.prefix}/{number}"

    def _numbers(self) -> list[int]:
        return sorted(int(key) for key in self.files.keys(self.prefix) if key.isdigit())

    def _content(self, number: int) -> bytes | None:
        """What the file of a number says; free before the first."""
        if number == 0:
            return FREE
        return self.files.read(self._key(number))

    def _wait(self, owner: str, token: bytes) -> int:
        """Wait until the lock may be taken, and take it; its number."""
        seen: tuple[int, bytes | None] | None = None
        since = now()
        while True:
            # A waiter may be stopped at any line: what it reads was true at `start`,
            # not later.
            start = now()
            last = max(self._numbers(), default=0)
            content = self._content(last)
            if (last, content) != seen:
                seen = (last, content)
                since = now()
            is_dead = content is not None and content.startswith(owner.encode() + b" ")
            may_be_taken = content == FREE or is_dead or start - since > TERM
            if may_be_taken and self._take(last + 1, token):
                return last + 1
            time.sleep(random.uniform(*POLL))

    def _take(self, number: int, token: bytes) -> bool:
        """Take the lock under the next number; whether this process has it now."""
        start = now()
        if not self.files.create(self._key(number), token):
            return False
        numbers = self._numbers()
        if numbers[-1] != number:  # one that was used and deleted in the meantime
            self.files.delete(self._key(number))
            return False
        self.until = start + SAFE
        self.files.delete(*map(self._key, numbers[:-1]))
        return True

    def _beat(self, number: int, token: bytes, over: threading.Event) -> None:
        """Give signs of life. Once the lock is lost it stays lost: another may have it
        by now.
        """
        count = 0
        while not over.wait(BEAT) and self.valid():
            start = now()
            count = count + 1
            with suppress(OSError):
                self.files.put(self._key(number), token + b" %d" % count, BEAT)
                self.until = start + SAFE


class LeasedLocks(Files, Locks):
    """Locks of a backend that has none of its own: a lease, which rests on `create` alone.

    A process loses it that gives no sign of life; on one machine the operating system
    tells at once that a holder is dead.
    """

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time, on any machine."""
        with locked_here(str(self)) as owner, self.lease.locked_by(owner):
            yield

    def check_lock(self) -> None:
        """Raise Unreachable where this process had the lock, and may have lost it."""
        if self.lease.is_lost:
            raise Unreachable(
                f"{self} was out of reach for so long that another driver may have taken over"
            )

    @cached_property
    def lease(self) -> Lease:
        """The lock of this object."""
        return Lease(self)
