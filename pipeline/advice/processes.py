"""Blocks of replications in several processes, where they take long: the same values in the same
order.
"""

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, TypeVar, cast

from pipeline.study import forks, signals
from pipeline.study.machine import cores, memory

T = TypeVar("T")
LONG = 1.0  # predicted seconds from which on processes are worth their start

_function: Callable[[int], Any]  # in a child: what it computes


def spread(
    function: Callable[[int], T], numbers: Iterable[int], seconds: float, size: float = 0.0
) -> Iterator[T]:
    """function(number) of all numbers, in their order.

    By several processes, if all are predicted to take long. size: bytes that a process takes; there
    are as many as cores, and as have room in half of the memory.

    Children are forks, which know the parts that a person registered and import nothing anew; a
    process that is a child itself, or of a system that does not fork safely, computes here.
    MemoryError where a child was killed.
    """
    is_long = seconds >= LONG and multiprocessing.parent_process() is None
    count = most_processes(size) if is_long else 1
    if count < 2:
        yield from map(function, numbers)
        return
    pool = ProcessPoolExecutor(count, forks.context(), _begin, (function,))
    try:
        with warnings.catch_warnings():
            # The warning is of threads: a child uses none of their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            answers = pool.map(_call, numbers)
        yield from cast(Iterator[T], answers)
    except BrokenProcessPool:
        raise MemoryError("a process that simulates was killed") from None
    finally:
        pool.shutdown(cancel_futures=True)


def most_processes(size: float = 0.0) -> int:
    """Processes that may compute at once, each of which takes so many bytes."""
    if not forks.are_safe():
        return 1
    if not size:
        return cores()
    with_room = int(memory() / 2 / size)
    return min(cores(), with_room)


def _begin(function: Callable[[int], Any]) -> None:
    """In a child: what it computes is inherited, not sent; an interrupt is its parent's to see."""
    global _function
    _function = function
    signals.ignore_interrupts()
    end_with_parent()


def end_with_parent() -> None:
    """In a child: end when the parent has ended in whatever way.

    Else one that was killed leaves its children behind.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait, args=(parent.sentinel,), daemon=True).start()


def _wait(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _call(number: int) -> object:
    return _function(number)
