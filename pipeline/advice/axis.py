"""The unknown of a question as an axis: positions, levels, and which of these can be advised."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pipeline.advice.levels import rounded
from pipeline.advice.question import Question

DIGITS = 3  # of a level that is advised
NEIGHBOURS = 3  # whole levels on each side of a window that has too few


@dataclass(frozen=True)
class Axis:
    """The unknown as an axis. better: 1 where targets are met at large levels, −1 where at small
    ones.

    A position is better · log(level): the larger, the nearer to where the targets are met. Every
    level that this gives lies within `Question.limits`, so that all parts can be made there.
    """

    question: Question
    better: int

    @property
    def worst(self) -> float:
        """The level at which the targets are least likely to be met."""
        limits = self.question.limits
        if self.better > 0:
            return limits.low
        return limits.high

    @property
    def best(self) -> float:
        """The level at which the targets are most likely to be met."""
        limits = self.question.limits
        if self.better > 0:
            return limits.high
        return limits.low

    @property
    def beyond_best(self) -> str:
        """Why there are no levels beyond the best one; empty where nothing says so."""
        limits = self.question.limits
        reason = limits.below
        if self.better > 0:
            reason = limits.above
        return reason or ""

    def position(self, level: float) -> float:
        """The position of a level."""
        return self.better * math.log(level)

    def within(self, position: float) -> float:
        """The position, or the nearest one within the limits; also of an infinite one."""
        return min(max(position, self.position(self.worst)), self.position(self.best))

    def level(self, position: float) -> float:
        """The nearest level to a position, whole where it must be, or with six digits."""
        exact = math.exp(self.better * self.within(position))
        return self._inside(rounded(exact, self.question.whole))

    def levels(self, first: float, last: float, count: int) -> list[float]:
        """Distinct levels from one position to another, in the order of their positions.

        Of whole levels, neighbours are added until there are three, if there are so many.
        """
        chosen = {self.level(position) for position in np.linspace(first, last, count)}
        if self.question.whole:
            middle = self.level((first + last) / 2)
            for step in range(1, NEIGHBOURS + 1):
                if len(chosen) >= 3:
                    break
                chosen |= {self._inside(middle - step), self._inside(middle + step)}
        return sorted(chosen, key=self.position)

    def advisable(self, position: float) -> float:
        """The first level at or after a position that is whole, or has three digits.

        The last one beyond the limits.
        """
        exact = math.exp(self.better * self.within(position))
        return self._inside(self._short(exact))

    def after(self, level: float) -> float | None:
        """The next level towards the better end that can be advised; None at that end."""
        if level == self.best:
            return None
        if self.question.whole:
            return self._inside(level + self.better)
        following = self._short(level * (1 + self.better * 10.0**-DIGITS))
        return self._inside(following)

    def reach(self, position: float) -> float:
        """How far the targets are met: from a position to the problem's last level, on a
        logarithmic axis.
        """
        end = self.question.unknown.low
        if self.better > 0:
            end = self.question.unknown.high
        return self.position(end) - position

    def _short(self, exact: float) -> float:
        """A level rounded towards the better end."""
        towards: Callable[[float], int] = math.floor
        if self.better > 0:
            towards = math.ceil
        if self.question.whole:
            return towards(exact - 1e-9 * self.better)
        if self.question.unknown.left:  # the person reads 1 − level
            return towards(exact * 10.0**DIGITS) / 10.0**DIGITS
        scale = 10.0 ** (math.floor(math.log10(exact)) + 1 - DIGITS)
        digits = towards(exact / scale * (1 - 1e-12 * self.better))
        return float(f"{digits * scale:.{DIGITS}g}")

    def _inside(self, level: float) -> float:
        """The level, or the nearest one within the limits."""
        limits = self.question.limits
        return min(max(level, limits.low), limits.high)
