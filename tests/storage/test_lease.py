"""A lock in a bucket, on a clock that the test turns: slow requests shorten a hold, and what is lost stays lost."""

import pytest

from pipeline.storage import lease
from pipeline.storage.lease import BEAT, SAFE, TERM, Lease


class Clock:
    """Seconds that pass only where a test lets them."""

    def __init__(self, monkeypatch):
        self.time = 1000.0
        monkeypatch.setattr(lease, "now", lambda: self.time)


class Slow:
    """A backend whose requests take that many seconds, and which notes what was put."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds, self.put_at = clock, seconds, []

    def put(self, key, content, patience=None):
        self.put_at.append(self.clock.time)
        self.clock.time += self.seconds


class Ended:
    """An event that is set after that many waits, each of which takes the time that it is given, and once much more."""

    def __init__(self, clock, waits, stopped=0.0):
        self.clock, self.left, self.stopped = clock, waits, stopped

    def wait(self, seconds):
        self.clock.time += seconds + self.stopped
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("seconds", [0.0, 20.0])
def test_a_sign_of_life_counts_from_when_it_was_sent(monkeypatch, seconds):
    clock = Clock(monkeypatch)
    backend = Slow(clock, seconds)
    lease = Lease(backend)
    lease.until = clock.time + SAFE
    lease._beat(1, b"owner", Ended(clock, 1))
    assert backend.put_at == [1000.0 + BEAT] and lease.until == backend.put_at[0] + SAFE


def test_a_holder_who_is_late_gives_no_sign_of_life_again(monkeypatch):
    clock = Clock(monkeypatch)
    backend = Slow(clock, 0.0)
    lease = Lease(backend)
    lease.until = clock.time + SAFE
    lease._beat(1, b"owner", Ended(clock, 3, stopped=TERM))
    assert backend.put_at == [] and not lease.valid()


class Late(dict):
    """A backend in memory in which others take and free the lock twice before the waiter's first creation arrives."""

    looks, others_came = 0, False

    def keys(self, prefix):
        self.looks += 1
        if self.looks == 4:
            self["lock/3"] = lease.FREE
        return [key.removeprefix(f"{prefix}/") for key in self]

    read = dict.get

    def create(self, key, content):
        if not self.others_came:
            self.others_came = True
            self.clear()  # the second of them holds number 3, and has deleted 1 and 2
            self["lock/3"] = b"other 1"
        return self.setdefault(key, content) is content

    def delete(self, *keys):
        for key in keys:
            self.pop(key, None)


def test_a_number_that_was_used_and_deleted_is_no_lock(monkeypatch):
    monkeypatch.setattr(lease, "POLL", (0.0, 0.0))
    backend = Late({"lock/1": lease.FREE})
    waiter = Lease(backend)
    assert waiter._wait("late", b"late 1") == 4  # not 2, while number 3 is held
    assert [*backend] == ["lock/4"] and waiter.valid()


class Freed(dict):
    """A backend in memory whose lock is held until its third look at the content."""

    looks = 0

    def keys(self, prefix):
        return [key.removeprefix(f"{prefix}/") for key in self]

    def read(self, key):
        self.looks += 1
        if self.looks == 3:
            self[key] = lease.FREE
        return self[key]

    def create(self, key, content):
        return self.setdefault(key, content) is content

    def delete(self, *keys):
        for key in keys:
            del self[key]


@pytest.mark.parametrize("holder, looks", [(b"machine-1-23 4", 3), (b"machine-1-2 4", 1)])
def test_an_owner_whose_name_only_begins_like_anothers_is_alive(monkeypatch, holder, looks):
    """What an owner held before its process died is its own at once; that of another is waited for."""
    Clock(monkeypatch)
    monkeypatch.setattr(lease, "POLL", (0.0, 0.0))
    backend = Freed({"lock/1": holder})
    assert Lease(backend)._wait("machine-1-2", b"machine-1-2 5") == 2 and backend.looks == looks
