"""A generator of random numbers that notes every draw: its kind, its parameters, and the line that
asked for it.
"""

import hashlib
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from pipeline.study.arrays import Array

KEPT = 1 << 16  # numbers of a draw, up to which they are remembered
NO_DRAWS = ("bit_generator", "spawn")
DRAWS = [
    name for name in dir(np.random.Generator) if not name.startswith("_") and name not in NO_DRAWS
]
Seed: TypeAlias = Sequence[int] | int | np.random.SeedSequence
HERE = str(Path(__file__).parent)


@dataclass(frozen=True)
class Draw:
    """One call of a generator. kind: name of the method. parameters: a digest of all of them.

    line: file:line of the caller. values: what was drawn, where that is not too long, and the
    arguments by which it was drawn.
    """

    kind: str
    parameters: str
    line: str
    values: Array | None = field(default=None, compare=False)
    arguments: tuple[Any, ...] = field(default=(), compare=False)
    named: dict[str, Any] = field(default_factory=dict, compare=False)


class Recorder(np.random.Generator):
    """A generator with the numbers of `numpy.random.default_rng(seed)`, which notes each draw in
    `draws`.

    >>> rng = Recorder(1, [])
    >>> float(rng.normal()) == float(np.random.default_rng(1).normal()), rng.draws[0].kind
    (True, 'normal')
    """

    draws: list[Draw]

    def __init__(self, seed: Seed, draws: list[Draw]):
        super().__init__(np.random.PCG64(seed))
        self.draws = draws
        self._recording = threading.local()

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Generators that note their draws in the same list."""
        children = self.bit_generator.seed_seq.spawn(n_children)  # type: ignore[attr-defined]
        return [Recorder(child, self.draws) for child in children]

    def _drawn(self, kind: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> object:
        draw = getattr(super(), kind)
        if getattr(self._recording, "on", False):  # a draw that another one is made of
            return draw(*arguments, **named)
        line = _line_of_caller()
        parameters = digest((arguments, sorted(named.items())))
        self._recording.on = True
        try:
            values = draw(*arguments, **named)
        finally:
            self._recording.on = False
        remembered = None
        if isinstance(values, int | float | np.number | np.ndarray) and np.size(values) <= KEPT:
            remembered = np.array(values)
        self.draws.append(Draw(kind, parameters, line, remembered, arguments, named))
        return values


def _recording(kind: str) -> Callable[..., Any]:
    def draw(self: Recorder, *arguments: object, **named: object) -> object:
        return self._drawn(kind, arguments, named)

    draw.__name__ = kind
    draw.__doc__ = f"As `numpy.random.Generator.{kind}`; the draw is noted."
    return draw


for _kind in DRAWS:
    setattr(Recorder, _kind, _recording(_kind))


def digest(value: object) -> str:
    """A digest of arguments; arrays by their content, unknown objects by their text."""
    sha = hashlib.sha256()
    _feed(sha, value)
    return sha.hexdigest()[:16]


def _feed(sha: "hashlib._Hash", value: object) -> None:
    if isinstance(value, np.ndarray):
        sha.update(f"{value.shape}{value.dtype.str}".encode())
        sha.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple | list):
        sha.update(f"({len(value)}".encode())
        for part in value:
            _feed(sha, part)
    else:
        sha.update(repr(value).encode())


def _line_of_caller() -> str:
    """file:line of the nearest caller that is neither here nor in a library of numbers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    if frame is None:
        return "?"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
