"""What replications say of one number of questions by itself."""

import math
from dataclasses import dataclass

import numpy as np

from pipeline.study.arrays import Floats

SURE = 3.0  # standard errors from which on a mean is surely on its side
TINY = 1e-9  # in place of the deviation of equal values


@dataclass(frozen=True)
class Tried:
    """A number of questions that was tried. means, deviations: (targets,), of the excess of one
    replication, whose mean is to be at most 0. replications: how many there were.

    >>> few = Tried(3, np.array([-0.02]), np.array([0.4]), 400)
    >>> few.meets, few.surely_meets, round(few.height, 3)
    (True, False, -0.05)
    """

    number: int
    means: Floats
    deviations: Floats
    replications: int

    @classmethod
    def of(cls, number: int, excess: list[Floats]) -> "Tried":
        """From the replications of each target, (reps,)."""
        means = np.array([values.mean() for values in excess])
        deviations = np.array([values.std() for values in excess])
        return cls(number, means, deviations, len(excess[0]))

    @property
    def errors(self) -> Floats:
        """Standard errors of the means, (targets,)."""
        errors: Floats = np.maximum(self.deviations, TINY) / math.sqrt(self.replications)
        return errors

    @property
    def height(self) -> float:
        """How far the worst mean lies above 0, in standard deviations; the lower, the better."""
        return float((self.means / np.maximum(self.deviations, TINY)).max())

    @property
    def meets(self) -> bool:
        """Whether all means meet their targets."""
        return bool((self.means <= 0).all())

    @property
    def surely_meets(self) -> bool:
        """Whether they do by three standard errors."""
        return bool((self.means <= -SURE * self.errors).all())

    @property
    def surely_misses(self) -> bool:
        """Whether a mean misses its target by three standard errors."""
        return bool((self.means > SURE * self.errors).any())

    @property
    def is_sure(self) -> bool:
        """Whether it surely meets the targets, or surely misses one."""
        return self.surely_meets or self.surely_misses

    def together(self, other: "Tried") -> "Tried":
        """With other replications of the same number."""
        replications = self.replications + other.replications
        share = self.replications / replications
        means = share * self.means + (1 - share) * other.means
        squares = share * (self.deviations**2 + self.means**2)
        squares += (1 - share) * (other.deviations**2 + other.means**2)
        deviations = np.sqrt(np.maximum(squares - means**2, 0))
        return Tried(self.number, means, deviations, replications)
