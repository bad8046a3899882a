"""Blocks of replications in several processes, where they take long: the same values in the same
order.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, TypeVar

T = TypeVar("T")
LONG = 1.0  # predicted seconds from which on processes are worth their start
CORES = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
)  # only Linux forks safely

_function: Callable[[int], Any]  # in a child: what it computes


def spread(
    function: Callable[[int], T], numbers: Iterable[int], seconds: float, most: float = 64
) -> Iterator[T]:
    """function(number) of all numbers, in their order.

    By as many processes as there are cores, `most` at most, if all are predicted to take long.

    Children are forks, which know the parts that a person registered and import nothing anew; a
    process that is a child itself, or of a system that does not fork safely, computes here.
    MemoryError where a child was killed.
    """
    count = int(min(CORES, most))
    if seconds < LONG or count < 2 or multiprocessing.parent_process() is not None:
        yield from map(function, numbers)
        return
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _begin, (function,))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of threads: a child uses none of their locks
            answers = pool.map(_call, numbers)
        yield from answers
    except BrokenProcessPool:
        raise MemoryError("a process that simulates was killed") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(function: Callable[[int], Any]) -> None:
    """In a child: what it computes is inherited, not sent; an interrupt is its parent's to see."""
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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


def _call(number: int) -> Any:
    return _function(number)
