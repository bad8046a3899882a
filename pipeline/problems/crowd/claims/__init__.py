"""Claims of Wang and Xu: every theorem, the limits, and what the paper leaves open."""

from . import (
    abilities,
    experts,
    inference,
    labels,
    lemmas,
    limits,
    projection,
    recorded,
    start,
    strength,
    surveys,
    task_difficulty,
    two_coins,
)

CLAIMS = (
    *inference.CLAIMS,
    *limits.CLAIMS,
    *labels.CLAIMS,
    *abilities.CLAIMS,
    *lemmas.CLAIMS,
    *experts.CLAIMS,
    *strength.CLAIMS,
    *start.CLAIMS,
    *projection.CLAIMS,
    *recorded.CLAIMS,
    *surveys.CLAIMS,
    *task_difficulty.CLAIMS,
    *two_coins.CLAIMS,
)
