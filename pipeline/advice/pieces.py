"""Stretches of an unknown's axis on which nothing that is simulated jumps."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.advice.axis import Axis
from pipeline.study.parameters import InvalidInput

STEP = 0.02  # between positions at which parts are asked for their whole numbers
REACH = 0.6  # how far beyond a window a piece may extend
HALVINGS = 30  # of a step, until levels with six digits are neighbours


class Piece(NamedTuple):
    """A stretch between two positions, both included, on which mean curves have no jump."""

    first: float
    last: float


def pieces(axis: Axis, first: float, last: float) -> list[Piece]:
    """The pieces that a window meets, in order; each ends at a jump, or `REACH` beyond the window.

    Jumps are where a whole number that a part makes of the unknown changes (`rounded_numbers` of a
    part), such as the number of questions, ⌈ε⌉. A whole unknown has one piece, the window.
    """
    if axis.question.whole or not _numbers(axis, first):
        return [Piece(first, last)]
    start = axis.within(first - REACH)
    end = axis.within(last + REACH)
    count = math.ceil((end - start) / STEP) + 1
    found_pieces = _split(axis, np.linspace(start, end, count).tolist())
    return [piece for piece in found_pieces if piece.last >= first and piece.first <= last]


def _split(axis: Axis, positions: Sequence[float]) -> list[Piece]:
    """Pieces from the first to the last of ascending positions."""
    split: list[Piece] = []
    begin = positions[0]
    before = begin
    for position in positions[1:]:
        if _numbers(axis, position) != _numbers(axis, before):
            end, following = _jump(axis, before, position)
            split.append(Piece(begin, end))
            begin = following
        before = position
    return [*split, Piece(begin, positions[-1])]


def _jump(axis: Axis, before: float, after: float) -> tuple[float, float]:
    """Positions on both sides of a jump, at neighbouring levels with six digits."""
    numbers = _numbers(axis, before)
    for _ in range(HALVINGS):
        middle = (before + after) / 2
        if axis.level(middle) in (axis.level(before), axis.level(after)):
            break
        if _numbers(axis, middle) == numbers:
            before = middle
        else:
            after = middle
    return axis.position(axis.level(before)), axis.position(axis.level(after))


def _numbers(axis: Axis, position: float) -> tuple[int, ...]:
    """Whole numbers that the parts make of the unknown at a position; none if they refuse it."""
    try:
        parts = axis.question.parts(axis.level(position))
    except InvalidInput:
        return ()
    numbers: list[int] = []
    for part in (parts.model, parts.mechanism, parts.estimator):
        numbers += part.rounded_numbers()
    return tuple(numbers)
