"""Claims of Wang and Xu: every theorem, the limits, and what the paper leaves open."""

from . import (
    abilities,
    experts,
    inference,
    labels,
    limits,
    projection,
    recorded,
    start,
    strength,
    surveys,
)

CLAIMS = (
    *inference.CLAIMS,
    *limits.CLAIMS,
    *labels.CLAIMS,
    *abilities.CLAIMS,
    *experts.CLAIMS,
    *strength.CLAIMS,
    *start.CLAIMS,
    *projection.CLAIMS,
    *recorded.CLAIMS,
    *surveys.CLAIMS,
)
