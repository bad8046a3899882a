"""Budgets of a person: parameters that the mechanisms of all problems share."""

import math
from typing import Any

from pipeline.privacy.composition import answer_budget
from pipeline.study.parameters import InvalidInput, parameter

PERSON: Any = parameter(
    "privacy budget of all answers of a person; null is what epsilon adds up to",
    unit="nats",
    default=None,
    above=0,
)
PERSON_DELTA: Any = parameter(
    "δ of a person's budget: 0 is pure, else budgets of answers compose exactly at δ",
    default=0.0,
    low=0,
    below=1,
)
SAME = 1e-9  # relative difference of two budgets that are said to be one


def check_agreement(
    epsilon: float | None, person: float | None, answers: int, person_delta: float
) -> None:
    """Raise InvalidInput where both budgets are said, and one does not follow from the other."""
    if epsilon is None or person is None:
        return
    follows = answer_budget(person, answers, person_delta)
    if math.isclose(epsilon, follows, rel_tol=SAME):
        return
    raise InvalidInput(
        "epsilon",
        epsilon,
        f"person={person:g} with {answers:,} answers of a person makes it {follows:.6g}; leave "
        "out one of both",
    )
