"""The one door through which a part is called: what it is given, and what it gives, is read-only.

So what several parts share is the same for each of them, whatever their order
and the number of workers. Not all code heeds that: `ufunc.at` of NumPy does
not, nor does much that is compiled, nor what changes a set or `vars(x)`. So
what a part is given that is not the program's own is compared before and after:
sums over rows and columns of its memory, which takes half of the time of a
copy, and what its objects hold (`pipeline.study.holdings`). What was changed
nevertheless is refused from then on, as caches of this process may have it.
"""

import re
import threading
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from pipeline.study import frozen as freezing
from pipeline.study import frozen_containers, frozen_threads
from pipeline.study.arrays import Array
from pipeline.study.errors import PipelineError
from pipeline.study.frozen import all_frozen, frozen
from pipeline.study.frozen_arrays import arrays
from pipeline.study.frozen_classes import PROGRAM
from pipeline.study.frozen_containers import ReadOnly
from pipeline.study.frozen_threads import THREAD, watching
from pipeline.study.holdings import Holding, holdings
from pipeline.study.protocols import Components, Data, Estimate, Release, Truth
from pipeline.study.returned import (
    check_data,
    check_estimate,
    check_release,
    check_truth,
    checked_values,
)
from pipeline.study.status import NOT_CONVERGED, OK

ROW = 256  # words of eight bytes whose sum is compared
REFUSAL = re.compile("read-?only|writeable|writable", re.IGNORECASE)  # in what is said of it
ADVICE = "other parts read it, too; a part that must write copies first: np.array(x)"
SKIPPED = (
    str(Path(np.__file__).parent),
    freezing.__file__,
    frozen_containers.__file__,
    frozen_threads.__file__,
    __file__,
)  # in search of the line
T = TypeVar("T")
UNHEEDED = (
    "writes into what it is given, by code that does not heed that it is read-only, such as "
    "np.add.at"
)
_LEFT: list[set[str]] = []  # names of parts that leave threads running, while these are noted
# Id of what was changed nevertheless, such as the owner of memory -> it, and what is said of the
# part.
_spoilt: dict[int, tuple[Any, str]] = {}


class InputWritten(PipelineError):
    """A part writes into what it is given: its name, the line, and what to do instead."""


class PartEnds(PipelineError):
    """A part calls `sys.exit`, or the like: a unit that fails, as by any other error."""


@contextmanager
def left_running() -> Iterator[set[str]]:
    """Note which parts, other than the program's, leave threads running when their methods end.

    In a process in which nobody else starts threads: what such a thread writes later is not seen.
    """
    names: set[str] = set()
    _LEFT.append(names)
    try:
        yield names
    finally:
        _LEFT.remove(names)


def call(name: str, method: Callable[..., T], inputs: tuple[Any, ...], *more: object) -> T:
    """What a method of a part, named `name` in errors, gives for objects of other parts, and for
    more.

    inputs: are read-only from now on, as is the result. Raises InputWritten
    where the part writes into them.
    """
    return frozen(_called(name, method, all_frozen(inputs), *more))


def measured(name: str, method: Callable[..., T], inputs: tuple[Any, ...], *more: object) -> T:
    """The same of a metric, whose result no other part gets: it is as the metric gives it."""
    return _called(name, method, all_frozen(inputs), *more)


def _called(name: str, method: Callable[..., T], safe: tuple[Any, ...], *more: object) -> T:
    """The same where the inputs are frozen already.

    Raises PartEnds, too. An OSError of a person's part names it.
    """
    if _spoilt:
        _check_not_spoilt(safe)
    try:
        part: Any = type(getattr(method, "__self__", method))
        if _is_the_programs(part):
            return method(*safe, *more)
        with _Watch(name, safe), _named_in_errors(name):
            return method(*safe, *more)
    except (SystemExit, GeneratorExit) as error:  # which would end more than a unit
        ends = f"{type(error).__name__}: {error}".rstrip(": ")
        raise PartEnds(f"{name} ends the program instead of giving a value ({ends})") from error
    except (ValueError, TypeError, ReadOnly) as error:
        if not REFUSAL.search(str(error)):
            raise
        raise InputWritten(
            f"{name} writes into what it is given{_line(error)}: {ADVICE}"
        ) from error


@contextmanager
def _named_in_errors(name: str) -> Iterator[None]:
    """Say in an error of the system, such as that a file is missing, which part met it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        message = f"{name} cannot go on: {error.strerror}"
        raise OSError(error.errno, message, error.filename) from error


@dataclass(frozen=True)
class Chain:
    """The parts of a cell, called one after the other. names: of model, mechanism and estimator,
    for errors.

    metrics: names of the metrics, in their order. What a part gives is checked,
    see `pipeline.study.returned`: all methods raise WrongPart.
    """

    parts: Components
    names: Mapping[str, str]
    metrics: tuple[str, ...]

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> Truth:
        """What is to be learned, for so many replications."""
        truth = call(self._named("model"), self.parts.model.truth, (), rng, reps, population)
        check_truth(self.parts.model, self.names["model"], truth, reps)
        return truth

    def data(self, truth: Truth, rng: np.random.Generator, reps: int) -> Data:
        """What people answered."""
        data = call(self._named("model"), self.parts.model.simulate, (truth,), rng)
        check_data(self.parts.model, self.names["model"], data, reps)
        return data

    def release(self, data: Data, rng: np.random.Generator, reps: int) -> Release:
        """What leaves their hands."""
        release = call(self._named("mechanism"), self.parts.mechanism.release, (data,), rng)
        check_release(self.parts.mechanism, self.names["mechanism"], data, release, reps)
        return release

    def estimate(self, release: Release, rng: np.random.Generator, reps: int) -> Estimate:
        """What is learned from it."""
        estimate = call(self._named("estimator"), self.parts.estimator.fit, (release,), rng)
        check_estimate(self.parts.estimator, self.names["estimator"], release, estimate, reps)
        return estimate

    def values(self, truth: Truth, release: Release, estimate: Estimate) -> dict[str, Array]:
        """Values of all metrics, (reps,) float64 each, and the status, (reps,) int8."""
        values: dict[str, Array] = {}
        reps = len(estimate.converged)
        safe = all_frozen((truth, release, estimate))
        for name, metric in zip(self.metrics, self.parts.metrics, strict=True):
            returned = _called(f"metric {name}", metric, safe)
            values[name] = checked_values(metric, name, returned, reps)
        status = np.where(estimate.converged, OK, NOT_CONVERGED).astype(np.int8)
        return {**values, "status": status}

    def _named(self, role: str) -> str:
        return f"{role} {self.names[role]}"


def _line(error: Exception) -> str:
    """The line of a part in which an error arose, and what it says."""
    steps = traceback.extract_tb(error.__traceback__)
    of_parts = [step for step in steps if step.line and not step.filename.startswith(SKIPPED)]
    if not of_parts:
        return f" ({error})"
    last = of_parts[-1]
    return f" (line {last.lineno} of {Path(last.filename).name}: {error})"


class _Memory(NamedTuple):
    """The array that owns memory, and sums of what it held: of columns, of rows, and the rest."""

    owner: Array
    sums: tuple[bytes, ...]


@cache
def _is_the_programs(part: Hashable) -> bool:
    """Whether the class of a part is the program's own: its code is watched by the tests."""
    module = vars(part)["__module__"]  # of a function's class it is none
    return isinstance(module, str) and module.partition(".")[0] == PROGRAM


class _Watch:
    """Compares what a part is given before and after."""

    def __init__(self, name: str, inputs: tuple[Any, ...]):
        self._name = name
        self._inputs = inputs
        self._before: dict[int, _Memory] = {}
        self._holdings: list[Holding] = []

    def __enter__(self) -> Self:
        self._threads = threading.active_count()
        self._watching = watching(self._add)
        self._watching.__enter__()
        self._holdings = holdings(self._inputs)
        for array in arrays(self._inputs):
            self._add(array)
        return self

    def __exit__(self, kind: object, error: object, steps: object) -> None:
        if _LEFT and threading.active_count() > self._threads:
            _LEFT[-1].add(self._name)
        worked = frozenset(THREAD.worked)
        self._watching.__exit__(None, None, None)
        written = [memory for memory in self._before.values() if _sums(memory.owner) != memory.sums]
        for memory in written:
            _spoilt[id(memory.owner)] = memory.owner, f"{self._name} {UNHEEDED}"
        compared = [holding for holding in self._holdings if holding.keeper not in worked]
        changed = [holding for holding in compared if holding.is_changed()]
        for holding in changed:
            _spoilt[id(holding.owner)] = holding.owner, f"{self._name} changes {holding.name}"
        owners: list[Any] = [memory.owner for memory in written]
        owners += [holding.owner for holding in changed]
        if owners and kind is None:
            raise _input_written(owners[0])

    def _add(self, array: Array) -> None:
        """Note what an array holds now."""
        while isinstance(array.base, np.ndarray):
            array = array.base
        if id(array) not in self._before and not array.dtype.hasobject:
            self._before[id(array)] = _Memory(array, _sums(array))


def _sums(owner: Array) -> tuple[bytes, ...]:
    octets = owner.ravel(order="K").view(np.uint8)
    whole = octets.size // (8 * ROW) * 8 * ROW
    table = octets[:whole].view(np.uint64).reshape(-1, ROW)
    return table.sum(axis=0).tobytes(), table.sum(axis=1).tobytes(), octets[whole:].tobytes()


def _check_not_spoilt(inputs: tuple[Any, ...]) -> None:
    """Raise InputWritten where a part changed what is given although it was read-only."""
    for array in arrays(inputs):
        while isinstance(array.base, np.ndarray):
            array = array.base
        if id(array) in _spoilt:
            raise _input_written(array)
    for holding in holdings(inputs):
        if id(holding.owner) in _spoilt:
            raise _input_written(holding.owner)


def _input_written(owner: object) -> InputWritten:
    """What is said of something that a part changed."""
    _, message = _spoilt[id(owner)]
    return InputWritten(f"{message}: {ADVICE}")
