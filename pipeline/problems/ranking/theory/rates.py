"""Private Bradley–Terry–Luce model: closed forms and rates of Xu, Sun and Cheng.

m items, L users; every user compares every pair once, P(i beats j) = σ(θ_i
− θ_j), Σθ = 0; each comparison is flipped with probability 1/(1 + e^ε). Two
numbers give the cost of privacy: the amplification a(ε) = coth(ε/2), by
which debiasing multiplies the standard deviation of a comparison, and the
attenuation t(ε) = tanh(ε/2) = 1/a(ε), by which the release multiplies its
lean, the probability that the better item wins less ½. Budgets ε are per
comparison, in nats, > 0, and may be infinite (no privacy). Users who share
a budget form a group: `epsilon` (group,) or scalar goes with counts `users`
of that shape. The paper's constants are unspecified: rates here have
constant 1 and are for slopes and orders only.
"""

import numpy as np

from pipeline.kernels.loader import function
from pipeline.study.arrays import Booleans, Floats, Numbers

_win_probabilities = function(
    __file__,
    "win_probabilities",
    """
    reps: size
    m: size; m >= 1
    theta: f8[reps, m]
    chances: out f8[reps, m * (m - 1) // 2]
""",
)


def win_probability(theta: Floats) -> Floats:
    """σ(θ_i − θ_j) for i < j, in the order of `numpy.triu_indices(m, 1)`.

    theta: (reps, m), logits -> (reps, pairs). O(reps · m²).
    Source: Xu, Sun and Cheng, §2.
    """
    *lengths, m = theta.shape
    rows = np.ascontiguousarray(theta, float).reshape(-1, m)
    chances = np.empty((len(rows), m * (m - 1) // 2))
    _win_probabilities(len(rows), m, rows, chances)
    return chances.reshape(*lengths, -1)


def condition_number(theta: Floats) -> Floats:
    """κ = max_i e^{θ_i} / min_i e^{θ_i}; theta: (reps, m) -> (reps,).

    Source: Xu, Sun and Cheng, §4.1.
    """
    kappa: Floats = np.exp(np.ptp(np.asarray(theta, float), axis=-1))
    return kappa


def excess_risk_rate(kappa: Numbers, G: Numbers, m: Numbers, L: Numbers) -> Floats:
    """Upper rate κ G log(mL)/(mL) of the excess risk e_L(θ̂, θ*), constant 1; broadcasts.

    kappa: condition number; G: mean squared amplification. Source: Xu, Sun
    and Cheng, Theorem 1 (the text after it prints (1 + κ)² for κ; the proof
    uses κ).
    """
    return kappa * G * np.log(m * L) / (m * L)


def l2_rate(kappa: Numbers, G: Numbers, m: Numbers, L: Numbers) -> Floats:
    """Upper rate κ √(G log(mL)/(mL)) of ‖θ̂ − θ*‖₂/√m, constant 1, logits; broadcasts.

    Source: Xu, Sun and Cheng, Theorem 2, eq. (6).
    """
    return kappa * np.sqrt(G * np.log(m * L) / (m * L))


def linf_rate(kappa: Numbers, G: Numbers, m: Numbers, L: Numbers) -> Floats:
    """Upper rate κ² √(G log(mL)/(mL)) of ‖θ̂ − θ*‖_∞, constant 1, logits; broadcasts.

    Source: Xu, Sun and Cheng, Theorem 2, eq. (7).
    """
    return kappa * l2_rate(kappa, G, m, L)


def theorem_1_conditions(
    theta: Floats, ridge: Numbers, G: Numbers, L: Numbers, constant: float = 1.0
) -> Booleans:
    """Whether λ ≤ constant · m G log(mL)/(L ‖θ*‖²), which Theorems 1 and 2 require of the ridge.

    theta: (reps, m); ridge λ: scalar or (reps,) -> (reps,) bool. The paper
    leaves the constant open. Source: Xu, Sun and Cheng, Theorem 1.
    """
    theta = np.asarray(theta, float)
    m = theta.shape[-1]
    most = constant * m * G * np.log(m * L)
    is_met: Booleans = ridge * L * np.vecdot(theta, theta) <= most
    return is_met


def minimax_lower_bound(kappa: Numbers, m: Numbers, information: Numbers) -> Floats:
    """Lower rate 1/√(κ m Σ_l t(ε_l)²) of the worst-case mean ‖θ̂ − θ*‖₂/√m, constant 1, logits.

    Broadcasts. The paper's constant is unspecified, and the bound says
    something only while it is smaller than the diameter of the parameter
    set (2 log κ or so): no error can exceed that. It falls with κ though
    the problem gets harder, so at large κ it is loose. Source: Xu, Sun and
    Cheng, Theorem 3, eq. (8).
    """
    return 1 / np.sqrt(kappa * m * information)
