"""A unit in slices of replications: the same numbers in less memory.

A step draws from its stream for all replications at once, call after call; in slices the calls come in another order.
So each call of a slice starts where the same call of the slice before has ended, and the first slice's where the call
before has ended for the last slice. As many passes over the slices as there are calls find these states; what a pass
cannot draw yet ends its slice early. Only for parts that say `by_replication`: every array that they draw has the
replications on its first axis, filled in that order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.protocols import Components, Sliceable
from pipeline.study.streams import Stream

BYTES = 2**30  # of a slice; depends on nothing else, so that all machines cut a unit alike


class NotYet(Exception):
    """The state in which a call starts is found in a later pass."""


class SlicedGenerator:
    """Like a `numpy.random.Generator`, for one slice after the other, in several passes. count: slices.

    >>> whole = np.random.default_rng(1)
    >>> first, second = whole.standard_normal(4), whole.standard_normal(4)
    >>> sliced = SlicedGenerator(np.random.default_rng(1), 2)
    >>> def step():
    ...     return sliced.standard_normal(2), sliced.standard_normal(2)
    >>> one, two = in_slices([sliced], 2, lambda number: step())
    >>> bool((one[1] == second[:2]).all() and (two[1] == second[2:]).all())
    True
    """

    def __init__(self, generator: np.random.Generator, count: int):
        self._generator, self._count = generator, count
        self._states: dict[tuple[int, int], Any] = {(0, 0): generator.bit_generator.state}  # of (call, slice)
        self._slice = self._call = 0

    def begin(self, number: int) -> None:
        """Go to a slice's first call."""
        self._slice, self._call = number, 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._generator, name)

        def draw(*arguments: Any, **options: Any) -> Any:
            place, self._call = (self._call, self._slice), self._call + 1
            if place not in self._states:
                raise NotYet
            self._generator.bit_generator.state = self._states[place]
            drawn = method(*arguments, **options)
            call, number = place
            after = (call, number + 1) if number + 1 < self._count else (call + 1, 0)
            self._states[after] = self._generator.bit_generator.state
            return drawn

        return draw


def in_slices(generators: Sequence[SlicedGenerator], count: int, step: Callable[[int], Any]) -> list[Any]:
    """What `step(number)` gives for every slice, once all that it draws from the generators is known."""
    while True:
        found: list[Any] = []
        for number in range(count):
            for one in generators:
                one.begin(number)
            try:
                found.append(step(number))
            except NotYet:
                continue
        if len(found) == count:
            return found


def slices(reps: int, parts: Components) -> list[slice] | None:
    """Slices of a block; None where it is small, or a part does not say itself that it may be cut."""
    chain = (parts.model, parts.mechanism, parts.estimator)
    if not all(vars(type(part)).get("by_replication") for part in chain):  # of the class itself: not inherited
        return None
    memory = math.fsum(part.memory() for part in chain if hasattr(part, "memory"))
    length = max(1, int(BYTES / max(memory, 1.0)))
    return None if length >= reps else [slice(first, min(first + length, reps)) for first in range(0, reps, length)]


def sliced_unit(
    parts: Components, streams: Mapping[str, Stream], cuts: list[slice], measure: Callable[..., dict[str, Array]]
) -> dict[str, Array]:
    """The numbers of a unit, slice by slice. measure: (parts, truth, release, estimate) -> values of a slice."""
    model = cast(Sliceable, parts.model)
    reps = cuts[-1].stop
    truth = model.truth(streams["truth"].generator(), reps, streams["population"].generator())
    drawn = [SlicedGenerator(streams[role].generator(), len(cuts)) for role in ("data", "noise", "estimator")]
    data, noise, own = cast(list[np.random.Generator], drawn)

    def step(number: int) -> dict[str, Array]:
        part = model.part(truth, cuts[number])
        release = parts.mechanism.release(model.simulate(part, data), noise)
        return measure(parts, part, release, parts.estimator.fit(release, own))

    found = in_slices(drawn, len(cuts), step)
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}
