"""Mutual exclusion with no other means than to create an object if there is none, as every S3
server can.
"""

import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

TERM = 60.0  # seconds without a sign of life after which a holder counts as dead
# Seconds after its last sign of life during which a holder may write; requests in flight take the
# rest.
SAFE = 30.0
BEAT = 5.0  # seconds between signs of life
POLL = (0.1, 0.4)  # seconds between two checks of a lock that another process has
FREE = b"free"
CLOCK = getattr(
    time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC
)  # one that goes on while a laptop sleeps


def now() -> float:
    """Monotonic seconds, including the time that the machine was suspended."""
    return time.clock_gettime(CLOCK)


class Lease:
    """A lock made of numbered objects under `prefix`: who creates the next number holds it.

    That is allowed when the last one says free, or has not changed for TERM seconds by the waiter's
    own clock, or is of the same `owner` (who is known to be dead: two of one name never run at
    once). The clocks of two machines are never compared. A holder that was cut off or stopped for
    longer than SAFE finds `valid()` False and must not write.

    backend: offers `keys`, `read`, `put`, `create`, `delete`.
    """

    def __init__(self, backend: Any, prefix: str = "lock"):
        self.backend = backend
        self.prefix = prefix
        self.until = 0.0

    def valid(self) -> bool:
        """Whether the holder may still write."""
        return now() < self.until

    @contextmanager
    def held(self, owner: str) -> Iterator[None]:
        """Wait for the lock, hold it, free it."""
        token = f"{owner} {uuid.uuid4().hex}".encode()
        number = self._wait(owner, token)
        over = threading.Event()
        beats = threading.Thread(target=self._beat, args=(number, token, over), daemon=True)
        beats.start()
        try:
            yield
        finally:
            over.set()
            beats.join()
            if self.valid():
                self.backend.put(self._key(number), FREE)
            self.until = 0.0

    def _key(self, number: int) -> str:
        return f"{self.prefix}/{number}"

    def _numbers(self) -> list[int]:
        return sorted(int(key) for key in self.backend.keys(self.prefix) if key.isdigit())

    def _wait(self, owner: str, token: bytes) -> int:
        seen: tuple[int, bytes | None] | None = None
        since = now()
        while True:
            start = (
                now()
            )  # a waiter may be stopped at any line: what it reads was true at `start`, not later
            last = max(self._numbers(), default=0)
            content = self.backend.read(self._key(last)) if last else FREE
            if (last, content) != seen:
                seen = (last, content)
                since = now()
            dead = content is not None and content.startswith(owner.encode() + b" ")
            if content == FREE or dead or start - since > TERM:
                start = now()
                if self.backend.create(self._key(last + 1), token):
                    numbers = self._numbers()
                    if (
                        numbers[-1] == last + 1
                    ):  # not a number that was used and deleted in the meantime
                        self.until = start + SAFE
                        self.backend.delete(*map(self._key, numbers[:-1]))
                        return last + 1
                    self.backend.delete(self._key(last + 1))
            time.sleep(random.uniform(*POLL))

    def _beat(self, number: int, token: bytes, over: threading.Event) -> None:
        count = 0
        while (
            not over.wait(BEAT) and self.valid()
        ):  # once lost it stays lost: another may hold it by now
            start = now()
            count = count + 1
            with suppress(OSError):
                self.backend.put(self._key(number), token + b" %d" % count, BEAT)
                self.until = start + SAFE
