"""Replications in several processes: the same values, an end that is said in one line, nothing left
behind.
"""

import multiprocessing
import os
import signal
import time

import numpy as np
import pytest

from pipeline.advice import processes
from pipeline.advice.answer import answer
from pipeline.advice.question import read
from pipeline.advice.simulation import Simulator
from pipeline.identity import registry
from pipeline.study.parameters import InvalidInput
from tests.advice.test_advise import OWN

ASKED = {"problem": "own_mean", "target": "error_squared<=0.1", "n": 20}


@pytest.fixture(autouse=True)
def own(monkeypatch):
    """A problem that only this process has heard of, and two processes for the least work."""
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setattr(processes, "LONG", 0)
    with registry.registered(OWN):
        yield


def who(number):
    return number, os.getpid()


def test_several_processes_give_the_same_values_in_the_same_order(monkeypatch):
    """Of one call, and of a whole answer; another block of replications gives others."""
    numbers, children = zip(*processes.spread(who, range(40), 1.0), strict=True)
    assert (
        numbers == (*range(40),)
        and os.getpid() not in children
        and multiprocessing.active_children() == []
    )
    many, found = Simulator(read(ASKED)).sample([0.5, 1.0], 700), answer(ASKED).record()
    later = Simulator(read(ASKED), drawn=7).sample([0.5, 1.0], 700)
    monkeypatch.setattr(processes, "LONG", 1e9)
    numbers, children = zip(*processes.spread(who, range(40), 1.0), strict=True)
    assert numbers == (*range(40),) and {*children} == {os.getpid()}
    one = Simulator(read(ASKED)).sample([0.5, 1.0], 700)
    assert all(map(np.array_equal, many, one)) and not np.array_equal(later.values, one.values)
    assert answer(ASKED).record() == found


def test_a_process_of_a_process_starts_none():
    """As the atlas is made by several processes already."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        mine, used = pool.apply(inner)
    assert used == {mine} != {os.getpid()}


def inner():
    return os.getpid(), {pid for _, pid in processes.spread(who, range(5), 1.0)}


def test_a_killed_process_is_said_in_one_line(monkeypatch):
    """As the system kills what takes too much memory."""

    def killed(self, truth, rng):
        assert multiprocessing.parent_process() is not None
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(OWN.part("model", "answers"), "simulate", killed)
    with pytest.raises(
        InvalidInput, match="problem=own_mean: takes more memory than there is here .*killed"
    ) as caught:
        answer(ASKED)
    assert "\n" not in str(caught.value) and multiprocessing.active_children() == []


def test_mistakes_and_interrupts_end_what_runs():
    """An error of a child is its parent's, and the rest is not computed.

    So it is after an interrupt.
    """

    def wrong(number):
        raise InvalidInput("n", number, "is wrong")

    with pytest.raises(InvalidInput, match="n=0: is wrong"):
        list(processes.spread(wrong, range(1000), 1.0))
    start, slow = time.monotonic(), processes.spread(time.sleep, [0.05] * 2000, 1.0)
    next(slow)
    with pytest.raises(KeyboardInterrupt):
        slow.throw(KeyboardInterrupt)
    assert time.monotonic() - start < 40 and multiprocessing.active_children() == []


def test_children_end_with_a_parent_that_is_killed():
    """Which cannot tell them; they would wait for work for ever."""
    reader, writer = os.pipe()  # closed where all who may write to it have ended
    parent = os.fork()
    if not parent:
        list(
            processes.spread(
                lambda number: os.write(writer, b".") and time.sleep(60), range(9), 1.0
            )
        )
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 1) == b"."
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    start = time.monotonic()
    while os.read(reader, 1):
        pass
    os.close(reader)
    assert time.monotonic() - start < 30
