"""Designs of the crowd experiments: parameters that a config derives from others, and
coordinates for figures.
"""

from typing import Annotated, cast

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.study.parameters import InvalidInput

from .theory.wisdom import total_wisdom, uniform_wisdom


def epsilon_from_wisdom(
    wanted_wisdom: Annotated[float, "n v̂"], n: int, ability_low: float, ability_high: float
) -> float:
    """ε at which n workers of uniform ability have n v̂ as wanted.

    InvalidInput if they have less without privacy.
    """
    most = n * uniform_wisdom(ability_low, ability_high)
    if not 0 < wanted_wisdom < most:
        raise InvalidInput(
            "wanted_wisdom",
            wanted_wisdom,
            f"must be above 0 and below {most:.4g}, what {n:,} workers have without privacy",
        )
    return float(2 * np.arctanh(np.sqrt(wanted_wisdom / most)))


def workers_from_wisdom(
    wanted_wisdom: Annotated[float, "n v̂"], epsilon: float, ability_low: float, ability_high: float
) -> int:
    """n of uniform ability with n v̂ as wanted, rounded; InvalidInput outside 1 to 10⁷ workers."""
    of_worker = attenuation(epsilon) ** 2 * uniform_wisdom(ability_low, ability_high)
    n = wanted_wisdom / of_worker if of_worker > 0 else np.inf
    if not 0.5 <= n < 1e7:
        raise InvalidInput(
            "wanted_wisdom", wanted_wisdom, f"asks for {n:.3g} workers; must ask for 1 to 10⁷"
        )
    return round(float(n))


def private_tasks(
    m: int, epsilon: float
) -> Annotated[float, "mε², which rules errors of abilities", "1"]:
    """mε²; broadcasts. Source: Wang and Xu, Theorem 3."""
    return m * epsilon**2


def epsilon_from_private_tasks(wanted_tasks: Annotated[float, "mε²"], m: int) -> float:
    """ε = √(wanted/m); InvalidInput unless above 0."""
    if not wanted_tasks > 0:
        raise InvalidInput("wanted_tasks", wanted_tasks, "must be above 0 (mε²)")
    return float(np.sqrt(wanted_tasks / m))


def answers_per_task(
    n: int, answered: float
) -> Annotated[float, "answers of a task on average", "answers"]:
    """n · answered; broadcasts."""
    return n * answered


def answered_from_answers(
    wanted_answers: Annotated[float, "answers of a task on average"], n: int
) -> float:
    """Probability of an answer, wanted/n; InvalidInput unless above 0 and at most n."""
    if not 0 < wanted_answers <= n:
        raise InvalidInput("wanted_answers", wanted_answers, f"must be above 0 and at most n={n:,}")
    return wanted_answers / n


def initial_error_from_lead(
    lead: Annotated[float, "(1 − 2r)√m, r: error of the initial vector"], m: int
) -> float:
    """r = ½ − lead/(2√m), so that right labels outnumber wrong ones by lead·√m.

    InvalidInput unless in 0 to √m.

    A vector drawn by coins has a lead of order 1: leads compare with chance
    whatever the number of tasks.
    """
    if not 0 <= lead <= np.sqrt(m):
        raise InvalidInput("lead", lead, f"must be from 0 to √m={np.sqrt(m):g}")
    return float(0.5 - lead / (2 * np.sqrt(m)))


def lead_realised(
    initial_error: float, m: int
) -> Annotated[float, "(1 − 2r)√m of the labels really flipped", "1"]:
    """(1 − 2 round(m r)/m)√m. Labels are whole, so a lead of 0.25 becomes 0.283 at m = 200."""
    return float((m - 2 * round(m * initial_error)) / np.sqrt(m))


def crowd_strength(
    n: int, m: int, epsilon: float, ability_low: float, ability_high: float, answered: float
) -> Annotated[float, "a v̂ √(nm), strength of the crowd", "1"]:
    """a v̂ √(nm), a: share of answers given, abilities uniform; broadcasts.

    The squared signal a²·nv̂·m of the answers over the squared noise a√(nm)
    in the critical direction: below 1 no spectral method distinguishes
    answers from fair coins, as n and m grow in proportion. Source: Baik,
    Ben Arous and Péché (2005); Benaych-Georges and Nadakuditi (2012), for a
    rank one matrix plus noise.
    """
    return cast(
        float, answered * total_wisdom(n, epsilon, ability_low, ability_high) * np.sqrt(m / n)
    )


def lemma_1_most(
    n: int, m: int
) -> Annotated[float, "Lemma 1: most that E₁ ∩ E₂ may fail, by Hoeffding's inequality", "1"]:
    """2n/m² + 2/m⁷, which is C'/m where n ≤ m. Source: Wang and Xu, Lemmas 1 and 2."""
    return 2 * n / m**2 + 2 / m**7
