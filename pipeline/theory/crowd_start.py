"""Where expectation–maximisation on crowds starts, and how strong a crowd must be for it to find anything."""

from typing import Annotated

import numpy as np

from pipeline.parameters import InvalidInput
from pipeline.theory.crowd import total_wisdom


def initial_error_from_lead(lead: Annotated[float, "(1 − 2r)√m, r: error of the initial vector"], m: int) -> float:
    """r = ½ − lead/(2√m), so that right labels outnumber wrong ones by lead·√m; InvalidInput unless in 0 to √m.

    A vector drawn by coins has a lead of order 1: leads compare with chance whatever the number of tasks.
    """
    if not 0 <= lead <= np.sqrt(m):
        raise InvalidInput("lead", lead, f"must be from 0 to √m={np.sqrt(m):g}")
    return float(0.5 - lead / (2 * np.sqrt(m)))


def crowd_strength(
    n: int, m: int, epsilon: float, ability_low: float, ability_high: float, answered: float
) -> Annotated[float, "a v̂ √(nm), strength of the crowd", "1"]:
    """a v̂ √(nm), a: share of answers given, abilities uniform; broadcasts.

    The squared signal a²·nv̂·m of the answers over the squared noise a√(nm) in the critical direction: below 1 no
    spectral method tells answers from coins, as n and m grow in proportion.
    Source: Baik, Ben Arous and Péché (2005); Benaych-Georges and Nadakuditi (2012), for a rank one matrix plus noise.
    """
    return answered * total_wisdom(n, epsilon, ability_low, ability_high) * np.sqrt(m / n)
