"""How much persons move spectral difficulties, where responses of persons are known."""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Booleans, Floats

from .person_scores import KernelResponses

_variances = function(
    __file__,
    "variances",
    """
    reps: size
    n: size
    m: size; m >= 1
    some: size
    answers: u1[reps, n, m]
    observed: u1[reps * some, n, m]
    weight: f8[reps, m]
    inverse: f8[reps, m, m]
    hit: f8
    miss: f8
    variance: out f8[reps, m]
""",
)


def influence_variances(
    answers: Booleans, observed: Booleans | None, weight: Floats, inverse: Floats, flip: float
) -> Floats:
    """Diagonal of K⁺ Σ_l ψ_l ψ_lᵀ K⁺, (reps, m): Σ_l φ_li², φ_l = K⁺ψ_l, how much a person moves β̃.

    answers, observed, flip, ψ: as in `theory.person_scores`, with weights a_ij = weight_i, (reps,
    m). inverse: K⁺, (reps, m, m). With r and w the unbiased numbers of right and wrong answers, S =
    Σ_k weight_k r_k and U = Σ_k w_k, ψ_i = S w_i − U weight_i r_i, and so

        φ = S P − U Q,    P = Σ_k w_k K⁺_·k,    Q = Σ_k weight_k r_k K⁺_·k.

    S, U, P and Q are looked up: they are sums over groups of five items, made once for each of the
    32 patterns of answers to them. O(reps · n · m²/5), where Σ_l ψ_l ψ_lᵀ and its products with K⁺
    are O(reps · (n · m² + m³)). Source: `theory.inference`.

    >>> answers = np.array([[[True, False]]])
    >>> influence_variances(answers, None, np.ones((1, 2)), np.eye(2)[None], 0.0).tolist()
    [[1.0, 1.0]]
    """
    reps, n, m = answers.shape
    variance = np.empty((reps, m))
    responses = KernelResponses.of(answers, observed, flip)
    _variances(
        reps,
        n,
        m,
        responses.some,
        responses.answers,
        responses.observed,
        np.ascontiguousarray(weight),
        np.ascontiguousarray(inverse),
        responses.hit,
        responses.miss,
        variance,
    )
    return variance
