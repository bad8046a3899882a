"""Responses in audits: few items, and one person whose row is replaced."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from pipeline.study.audits import Audits, Neighbouring, StatedNoise

from .mechanisms.noisy_differences import DiscreteGaussian, NoisyDifferences
from .mechanisms.randomized_response import RandomizedResponse
from .model import GivenResponses, Responses

PERSONS = 2
MOST_ITEMS = 4  # up to which all rows are compared with all others


def pairs(mechanism: NoisyDifferences | RandomizedResponse) -> Sequence[Neighbouring]:
    """Data sets in which one person's row is replaced by another, or by one without answers."""
    persons = getattr(mechanism, "n", PERSONS)
    if getattr(mechanism, "neighbours_are", "replace_one") == "add_remove":
        return _there_or_not(mechanism.m, persons)
    if mechanism.m <= MOST_ITEMS:
        rows = list(product((1.0, 0.0), repeat=mechanism.m))
        both = [(rows[i], rows[j]) for i in range(len(rows)) for j in range(i)]
    else:
        half = tuple(float(item < mechanism.m // 2) for item in range(mechanism.m))
        opposite = tuple(1 - answer for answer in half)
        right = (1.0,) * mechanism.m
        wrong = (0.0,) * mechanism.m
        but_one = (0.0, *right[1:])
        both = [(half, opposite), (right, wrong), (right, but_one)]
    named = []
    for first, second in both:
        name = f"a person's answers {_text(first)} replaced by {_text(second)}"
        named.append(Neighbouring(name, _data(first, persons), _data(second, persons)))
    return named


def _there_or_not(items: int, persons: int) -> Sequence[Neighbouring]:
    missing = (float("nan"),) * items
    rows = [tuple(float(item < split) for item in range(items)) for split in range(1, items)]
    absent = _data(missing, persons)
    return [
        Neighbouring(f"a person's answers {_text(row)} or none", _data(row, persons), absent)
        for row in rows
    ]


def _text(row: Sequence[float]) -> str:
    return "".join(str(int(answer)) for answer in row)


def _data(row: Sequence[float], persons: int) -> GivenResponses:
    answers = np.ones((persons, len(row)))
    answers[-1] = row
    return Responses.from_array(answers)


def repeated(data: GivenResponses, reps: int) -> GivenResponses:
    """The same responses in so many replications."""
    answers = np.repeat(data.answers, reps, axis=0)
    if data.observed is None:
        return GivenResponses(answers, None)
    return GivenResponses(answers, np.repeat(data.observed, reps, axis=0))


def noise(mechanism: NoisyDifferences | RandomizedResponse) -> StatedNoise | None:
    """The integer noise on all counts of pairs; None where a random graph decides on it."""
    if not isinstance(mechanism, NoisyDifferences) or mechanism.p0 < 1:
        return None
    law = "gaussian" if isinstance(mechanism, DiscreteGaussian) else "laplace"
    return StatedNoise(law, mechanism.noise_width)


AUDITS = Audits(
    Responses,
    pairs,
    repeated,
    parameters={"m": 3, "n": PERSONS},
    lent=("linked",),
    noise=noise,
)
