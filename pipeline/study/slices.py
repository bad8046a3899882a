"""A unit in slices of replications: the same numbers in less memory.

A part draws from its stream for all replications at once, call after call; in slices the calls come
in another order. So each call of a slice starts where the same call of the slice before has ended,
and the first slice's where the call before has ended for the last slice. As many passes over the
slices as there are calls find these states; what a pass cannot draw yet ends its slice early.

That is right for parts whose class says `by_replication = True`: every array that they draw has the
replications on its first axis, filled in that order. Parts that say `in_order` draw all that a
replication needs before anything of the next: their generator just goes on from slice to slice. A
model in order must have drawn all of its data before its mechanism draws. Either is said for a
class itself and not inherited; it may be a property. A part may also have `memory()`, bytes that
one replication takes, and `together()`, of how many replications a slice must be a multiple.
"""

import contextlib
import dataclasses
import math
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.handover import Chain
from pipeline.study.protocols import Components, Truth
from pipeline.study.streams import Stream

BYTES = 2**30  # of a slice; depends on nothing else, so that all machines cut a unit alike
T = TypeVar("T")
# Draws the next numbers, given how many are left of a call.
Chunk = Callable[[np.random.Generator, int], Array]


class NotYet(Exception):
    """The state in which a call starts is found in a later pass."""


class Whole(Exception):
    """A part asks its generator for what cannot be cut, such as a stream of its own."""


class Uncut(RuntimeError):
    """Slices draw unlike numbers: a part says `by_replication` or `in_order` and is not."""

    def __init__(self) -> None:
        super().__init__(
            "slices of a unit draw unlike numbers: one of its parts says by_replication or "
            "in_order, which is wrong"
        )


class ByCall:
    """Like a `numpy.random.Generator`, of parts `by_replication`: for slice after slice, in passes.

    >>> whole = np.random.default_rng(1)
    >>> first, second = whole.standard_normal(4), whole.standard_normal(4)
    >>> sliced = ByCall(np.random.default_rng(1), [slice(0, 2), slice(2, 4)])
    >>> one, two = in_slices([sliced], 2, lambda _: (sliced.standard_normal(2), sliced.standard_normal(2)))
    >>> bool((one[1] == second[:2]).all() and (two[1] == second[2:]).all())
    True
    """

    def __init__(self, generator: np.random.Generator, cuts: Sequence[slice]):
        self._generator = generator
        self._cuts = cuts
        self._slice = 0
        self._call = 0
        # Of (call, slice).
        self._states: dict[tuple[int, int], Any] = {(0, 0): generator.bit_generator.state}
        # Of calls in chunks: drawn in the slice before, and not needed there.
        self._rest: dict[tuple[int, int], Array] = {}
        self._names: list[str] = []  # of the calls

    def begin(self, number: int) -> None:
        """Go to a slice's first call."""
        self._slice = number
        self._call = 0

    @property
    def progress(self) -> tuple[int, int]:
        """Calls whose start is known, and calls made in this slice."""
        return len(self._states), self._call

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._generator, name)
        if name == "spawn" or not callable(method):
            raise Whole
        return lambda *arguments, **options: self._drawn(
            name, lambda: method(*arguments, **options)
        )

    def in_chunks(self, shape: int | tuple[int, ...], chunk: Chunk) -> Array:
        """Numbers of a call that draws them for all replications in chunks, which slices cut
        anywhere.
        """
        place = (self._call, self._slice)
        rows = self._cuts[self._slice]
        size = math.prod(np.atleast_1d(shape).tolist())

        def draw() -> Array:
            parts = [self._rest[place]] if place in self._rest else []
            have = sum(part.size for part in parts)
            left = size // (rows.stop - rows.start) * (self._cuts[-1].stop - rows.start) - have
            while have < size or not parts:
                parts.append(chunk(self._generator, left))
                have = have + parts[-1].size
                left = left - parts[-1].size
            drawn = np.concatenate(parts)
            self._rest[place[0], place[1] + 1] = drawn[size:].copy()
            return drawn[:size].reshape(shape)

        return self._drawn("in_chunks", draw)

    def _drawn(self, name: str, draw: Callable[[], T]) -> T:
        call = self._call
        number = self._slice
        place = (call, number)
        self._call += 1
        if place not in self._states:
            raise NotYet
        if call == len(self._names):
            self._names.append(name)
        if self._names[call] != name:
            raise Uncut
        self._generator.bit_generator.state = self._states[place]
        drawn = draw()
        after = (call, number + 1)
        if number + 1 == len(self._cuts):
            after = (call + 1, 0)
        self._states[after] = self._generator.bit_generator.state
        return drawn


class InOrder:
    """A generator of a part `in_order`, which goes on from slice to slice in every pass."""

    def __init__(self, generator: np.random.Generator):
        self.generator = generator
        self._start = generator.bit_generator.state
        self._began = ""
        self._states = dict[int, str]()  # of slices that come after one that drew something

    def begin(self, number: int) -> None:
        """Go on; with the first slice from the start.

        Raises Whole after a stream of its own was made of it.
        """
        bits: Any = self.generator.bit_generator
        if bits.seed_seq.n_children_spawned:
            raise Whole
        if number == 0:
            bits.state = self._start
        state = repr(bits.state)
        drew = number > 0 and state != self._began
        if drew and self._states.setdefault(number, state) != state:
            raise Uncut  # a pass ended before all was drawn
        self._began = state


def in_slices(
    generators: Sequence[ByCall | InOrder], count: int, step: Callable[[int], T]
) -> list[T]:
    """What `step(number)` gives for every slice, once all that it draws from the generators is
    known.

    Raises Uncut.
    """
    by_call = [generator for generator in generators if isinstance(generator, ByCall)]
    before = -1
    known = _known_starts(by_call)
    while known > before:
        results = list[T]()
        calls = set()
        for number in range(count):
            for generator in generators:
                generator.begin(number)
            with contextlib.suppress(NotYet):
                results.append(step(number))
                calls.add(tuple(generator.progress[1] for generator in by_call))
        if len(results) == count and len(calls) == 1:
            return results
        before = known
        known = _known_starts(by_call)
    raise Uncut


def _known_starts(generators: Sequence[ByCall]) -> int:
    return sum(generator.progress[0] for generator in generators)


def slices(reps: int, parts: Components, most: int | None = None) -> list[slice] | None:
    """Slices of a block of at most so many bytes.

    None where it is small, or a part does not say that it may be cut.
    """
    chain = (parts.model, parts.mechanism, parts.estimator)
    if not all(_says(part, "by_replication") or _says(part, "in_order") for part in chain):
        return None
    memory = math.fsum(part.memory() for part in chain)
    step = math.lcm(*(part.together() for part in chain))
    length = max(step, int((most or BYTES) / max(memory, 1.0)) // step * step)
    if length >= reps:
        return None
    return [slice(first, min(first + length, reps)) for first in range(0, reps, length)]


def _says(part: object, name: str) -> bool:
    """Whether the class of a part says so itself: those that derive from it may draw otherwise."""
    return name in vars(type(part)) and bool(getattr(part, name))


def sliced_unit(
    chain: Chain, streams: Mapping[str, Stream], cuts: Sequence[slice]
) -> dict[str, Array]:
    """The numbers of a unit, slice by slice."""
    population = streams["population"].generator()
    truth = chain.truth(streams["truth"].generator(), cuts[-1].stop, population)
    model, mechanism, estimator = chain.parts[:3]
    sliced = [
        _sliced(model, streams["data"], cuts),
        _sliced(mechanism, streams["noise"], cuts),
        _sliced(estimator, streams["estimator"], cuts),
    ]
    of_data, of_noise, of_estimator = (_as_generator(generator) for generator in sliced)

    def step(number: int) -> dict[str, Array]:
        rows = cuts[number]
        reps = rows.stop - rows.start
        some_truth = some(truth, rows)
        data = chain.data(some_truth, of_data, reps)
        release = chain.release(data, of_noise, reps)
        estimate = chain.estimate(release, of_estimator, reps)
        values = chain.values(some_truth, release, estimate)
        if any(len(value) != reps for value in values.values()):
            raise Uncut
        return values

    of_slices = in_slices(sliced, len(cuts), step)
    joined = {}
    for name in of_slices[0]:
        joined[name] = np.concatenate([values[name] for values in of_slices])
    return joined


def _sliced(part: object, stream: Stream, cuts: Sequence[slice]) -> ByCall | InOrder:
    """The generator of a part, for one slice after the other."""
    if _says(part, "in_order"):
        return InOrder(stream.generator())
    return ByCall(stream.generator(), cuts)


def _as_generator(sliced: ByCall | InOrder) -> np.random.Generator:
    """What a part draws from."""
    if isinstance(sliced, InOrder):
        return sliced.generator
    return cast(np.random.Generator, sliced)


def some(truth: Truth, rows: slice) -> Truth:
    """Some replications of a truth: an array, or a dataclass whose arrays are annotated with `reps`
    as first axis.
    """
    if isinstance(truth, np.ndarray):
        return truth[rows]
    cut = {}
    for name in _by_replication(cast(Hashable, type(truth))):
        array = getattr(truth, name)
        if array is not None and len(array) != 1:
            cut[name] = array[rows]
    return dataclasses.replace(truth, **cut)


@cache
def _by_replication(kind: type) -> tuple[str, ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(
        name for name, hint in hints.items() if getattr(hint, "__metadata__", ("",))[0] == "reps"
    )
