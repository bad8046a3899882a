"""Persons simulated from an estimate, for the bootstrap through the mechanism."""

from dataclasses import dataclass

import numpy as np

from pipeline.problems.common.sampling import bernoulli
from pipeline.study.arrays import Array, Booleans, Floats

from .sampling.answers import draw_answers
from .theory.fitted_abilities import Abilities, PairShares, fitted_abilities

ALIKE = 1e-9  # of two chances that are the same


@dataclass(frozen=True)
class Persons:
    """Whom to simulate. theta: β̂, (m,), centred. abilities: mean and spread of a normal law."""

    theta: Floats
    mean: float
    spread: float

    def answers(self, times: int, persons: int, rng: np.random.Generator) -> Booleans:
        """(times, persons, m): who has which item right."""
        ability = self.mean + self.spread * rng.standard_normal((times, persons))
        answers = np.empty((times, persons, len(self.theta)), bool)
        difficulty = np.tile(np.exp(self.theta), (times, 1))
        draw_answers(np.exp(ability), difficulty, rng, answers)
        return answers


def persons_of(theta: Floats, counts: Array, answered: float, variance: float) -> Persons:
    """Persons whose law of abilities fits counts of pairs, debiased, (m, m).

    answered: persons of a pair; where there are none abilities are N(0, 1).
    """
    if answered <= 0:
        return Persons(theta, 0.0, 1.0)
    measured = PairShares(
        np.asarray(counts, float)[None], answered, np.array([variance]), edges=None
    )
    law = fitted_abilities(theta[None], measured)
    return Persons(theta, *_moments(law))


def _moments(law: Abilities) -> tuple[float, float]:
    """Mean and standard deviation of the first replication's law."""
    points = law.points[0]
    mean = float(law.weights @ points)
    variance = float(law.weights @ np.square(points - mean))
    return mean, variance**0.5


def answered_again(
    pair: float, triple: float, shape: tuple[int, int, int], rng: np.random.Generator
) -> Booleans | None:
    """(times, persons, m): who answers what, so that pairs and triples have these chances.

    All, as many items of each person drawn at random, or each by itself. Raises ValueError where
    neither explains the chances.
    """
    m = shape[2]
    if pair == 1:
        return None
    if abs(triple - pair**1.5) < ALIKE:
        return bernoulli(pair**0.5, shape, rng)
    for items in range(2, m):
        if abs(items * (items - 1) / (m * (m - 1)) - pair) < ALIKE:
            order = np.argpartition(rng.random(shape), items - 1, axis=2)
            answered = np.zeros(shape, bool)
            np.put_along_axis(answered, order[:, :, :items], True, axis=2)
            return answered
    raise ValueError("who answers what follows neither from a number of items nor from a chance")
