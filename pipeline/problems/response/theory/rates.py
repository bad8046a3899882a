"""Rates of the private Rasch model: Nguyen and Zhang.

n persons, m items, each response observed with probability p: P(X_li = 1) =
σ(θ_l − β_i), Σβ = 0. The paper leaves constants open: rates have constant 1
and are for slopes and orders only.
"""

import numpy as np

from pipeline.study.arrays import Floats


def linf_rate(n: float | Floats, m: float | Floats, p: float | Floats) -> float | Floats:
    """Upper rate √(log m/(np)) of ‖β̂ − β*‖∞, constant 1, logits; broadcasts.

    Holds where np² ≳ log m and mp ≳ log n.
    Source: Nguyen and Zhang, Theorem 3.1.
    """
    rate: float | Floats = np.sqrt(np.log(m) / (n * p))
    return rate


def minimax_rate(n: float | Floats, m: float | Floats, p: float | Floats) -> float | Floats:
    """Lower rate m/(np) of the worst-case mean ‖β̂ − β*‖₂², constant 1, logits²; broadcasts.

    Source: Nguyen and Zhang, Theorem 3.3.
    """
    return m / (n * p)
