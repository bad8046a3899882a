"""The spectral fit of difficulties to everybody's responses: the truth of recorded responses."""

import numpy as np

from pipeline.problems.common.stationary import stationary
from pipeline.study.arrays import Array, Floats

# The estimators' defaults: without noise, everybody's responses give the truth.
PSEUDO_COUNT = 1.0
FLOOR = 1.0


def spectral_fit(differences: Array, pairs: Array | None = None) -> Floats:
    """β̂ = log π, π the stationary law of the chain with rates max(Y_ij, 1) + 1.

    (reps, m), logits, rows centred. differences: Y, (reps, m, m), counts ≥
    0. pairs: (reps or 1, m, m), persons who answered both; rates are 0
    where there is none; None where everybody answered all. O(reps · m³).
    Raises ArithmeticError where pairs do not connect the items. Source:
    Nguyen and Zhang, Algorithm 1, whose code has the pseudo-count.
    """
    rates = np.maximum(differences, FLOOR, dtype=float, order="C") + PSEUDO_COUNT
    if pairs is not None:
        rates *= np.asarray(pairs) > 0
    np.einsum("rii->ri", rates)[...] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        theta: Floats = np.log(stationary(rates))
    if not np.isfinite(theta).all():
        raise ArithmeticError("no stationary law: some items are not connected to the others")
    theta -= theta.mean(axis=1, keepdims=True)
    return theta
