"""Parameters that a config derives from others, and coordinates for figures.

alpha, beta, b are texts as in the model: shares "0.5, 0.5", a row of b for
each class.
"""

import math
from typing import Annotated

import numpy as np

from pipeline.study.designs import of_design
from pipeline.study.parameters import InvalidInput

from .design import Design, block_law
from .theory import information, sample_sizes, sketch_means, success

MOST = 10**9  # users
OF_MAXSENSE = "N w epsilon theta alpha beta b"  # what a design of MaxSense is made of


def _users(key: str, value: float, users: float) -> int:
    """Users, rounded; InvalidInput naming the parameter that asks for them outside 1 to 10⁹."""
    if 1 <= users <= MOST:
        return round(float(users))
    why = f"asks for {users:.3g} users"
    if np.isinf(users):
        why = "clusters cannot be distinguished: δ_min = 0"
    raise InvalidInput(key, value, f"{why}; must ask for 1 to {MOST:.0e}")


def delta_min(
    theta: float, alpha: str, beta: str, b: str
) -> Annotated[float, "δ_min of MaxSense", "1"]:
    """Separability of clusters for MaxSense, 0 if below rounding: it cannot work then.

    Source: Theorem 15.
    """
    delta = sample_sizes.separability(theta, *block_law(alpha, beta, b))
    return delta if delta > 1e-12 else 0.0


def _delta_min(design: Design) -> float:
    return delta_min(design.theta, design.alpha, design.beta, design.b)


@of_design(OF_MAXSENSE)
def maxsense_load(
    U: int, design: Design
) -> Annotated[float, "U w ε̂² δ²/(N² log N), which decides MaxSense", "1"]:
    """U w ε̂² δ_min²/(N² log N). Source: Theorem 15."""
    return float(sample_sizes.load(U, design.N, design.w, design.epsilon, _delta_min(design)))


@of_design(OF_MAXSENSE)
def users_from_load(
    maxsense_load: Annotated[float, ("U w ε̂² δ²/(N² log N)")], design: Design
) -> int:
    """Users with that load, rounded; InvalidInput if δ_min = 0, or outside 1 to 10⁹ users."""
    delta = _delta_min(design)
    users = sample_sizes.users_of_load(maxsense_load, design.N, design.w, design.epsilon, delta)
    return _users("maxsense_load", maxsense_load, float(users))


def users_from_scarcity(scarcity: Annotated[float, "U w/(N² log N)"], N: int, w: int) -> int:
    """Users U = scarcity·N² log N/w, rounded: a load without ε and δ."""
    return _users("scarcity", scarcity, scarcity * N**2 * math.log(N) / w)


def users_from_pairs(
    pair_load: Annotated[float, "U t²ρ²/(N log N), ρ chance that both items are rated"],
    N: int,
    w: int,
    epsilon: float,
) -> int:
    """Users with that load of Pairwise-Preference, rounded."""
    users = pair_load * sample_sizes.pairwise_users(N, w, epsilon, 1.0)
    return _users("pair_load", pair_load, float(users))


def users_from_coupons(coupons: Annotated[float, "U w/(N log N)"], N: int, w: int) -> int:
    """Users U = coupons·N log N/w, rounded: of the order of the non-private coupon collector."""
    return _users("coupons", coupons, coupons * N * math.log(N) / w)


def users_from_information(
    information_share: Annotated[float, "bits of all answers over those of the labels up to names"],
    mechanism: str,
    N: int,
    w: int,
    epsilon: float,
    theta: float,
) -> int:
    """Users U = information_share·(N − 1)/I, rounded, I the exact information of an answer.

    Of max_sense, pairwise_preference, and none with one rating each, where ratings are labels.
    """
    bits = _bits_of_answer(mechanism, N, w, epsilon, theta)
    return _users("information_share", information_share, information_share * (N - 1) / bits)


def error_least(
    U: int, mechanism: str, N: int, w: int, epsilon: float, theta: float, distortion: float
) -> Annotated[float, "Corollary 21: least chance of more than d wrong items", "probability"]:
    """1 − (U I + 1)/(log₂ M − log₂ M_d), two clusters up to their names, or 0 if that is below.

    I: exact information of one answer. Source: Corollary 21.
    """
    bits = _bits_of_answer(mechanism, N, w, epsilon, theta)
    tolerated = int(distortion * N + 1e-9)
    return sample_sizes.corollary_21(N, tolerated, U * bits)


def _bits_of_answer(mechanism: str, N: int, w: int, epsilon: float, theta: float) -> float:
    if mechanism == "max_sense":
        return information_maxsense(N, w, epsilon, theta)
    if mechanism == "pairwise_preference":
        return information_pairwise(N, w, epsilon)
    if mechanism == "none" and w == 1:
        return 1.0  # the label of an item drawn at random
    allowed = "must be max_sense, pairwise_preference, or none with w=1: others' bits are not known"
    raise InvalidInput("mechanism", mechanism, allowed)


def rated_from_share(share: Annotated[float, "rated share w/N"], N: int) -> int:
    """Rated items w = max(1, share·N), rounded."""
    return max(1, round(share * N))


def questions_rounded_up(epsilon: float) -> int:
    """Q = ⌈ε⌉. Source: Theorem 16."""
    return max(1, math.ceil(epsilon))


def questions_best(epsilon: float, N: int, w: int, theta: float) -> int:
    """Q with the most information, near ε/2.18, as far as the sets fit: Q·round(Nθ/w) ≤ N."""
    set_size = max(1, round(N * theta / w))
    return sample_sizes.best_split(epsilon, most=max(1, N // set_size))


def questions_asked(
    questions: Annotated[str, "how many questions a user is asked: one, rounded_up or best"],
    epsilon: float,
    N: int,
    w: int,
    theta: float,
) -> int:
    """Q: 1; ⌈ε⌉ (Theorem 16); or the best one. InvalidInput for any other text."""
    number = {
        "one": 1,
        "rounded_up": questions_rounded_up(epsilon),
        "best": questions_best(epsilon, N, w, theta),
    }
    if questions not in number:
        raise InvalidInput("questions", questions, "must be one, rounded_up or best")
    return number[questions]


def questions_that_fit(mechanism: str, N: int, w: int, theta: float) -> int:
    """Q: all disjoint sets of Nθ/w items with multi_max_sense, one question with any other."""
    if mechanism != "multi_max_sense":
        return 1
    set_size = max(1, round(N * theta / w))
    return max(1, N // set_size)


def b_from_contrast(contrast: Annotated[float, "b_1 − b_2, two clusters, one class"]) -> str:
    """b = "½ + contrast/2, ½ − contrast/2", so that Σ β b = ½ and δ ∝ contrast."""
    half = contrast / 2
    return f"{0.5 + half!r}, {0.5 - half!r}"


def alpha_from_lean(lean: Annotated[float, "α_1 − α_2, two classes"]) -> str:
    """alpha = "½ + lean/2, ½ − lean/2": δ ∝ lean where the two classes have opposite tastes.

    Pairs see no difference then.
    """
    half = lean / 2
    return f"{0.5 + half!r}, {0.5 - half!r}"


# --------------------------------------------------------------------------- predictions


@of_design(OF_MAXSENSE)
def maxsense_predicted(
    U: int, design: Design
) -> Annotated[float, "predicted success of MaxSense", "probability"]:
    """P(every item right) of MaxSense with plain scores, Gaussian."""
    return success.maxsense_success(U, design)


@of_design(OF_MAXSENSE)
def maxsense_adjusted_predicted(
    U: int, design: Design
) -> Annotated[float, "predicted success of MaxSense, adjusted scores", "probability"]:
    """P(every item right) of MaxSense with adjusted scores, Gaussian."""
    return success.maxsense_success(U, design, adjusted=True)


@of_design("N w epsilon theta Q alpha beta b")
def multi_predicted(
    U: int, design: Design
) -> Annotated[float, "predicted success of Multi-MaxSense", "probability"]:
    """P(every item right) of Multi-MaxSense with plain scores, Gaussian."""
    return success.multi_success(U, design)


@of_design("N w epsilon alpha beta b")
def pairwise_predicted(
    U: int, design: Design, reading: str, rated_set: str
) -> Annotated[float, "predicted success of Pairwise-Preference", "probability"]:
    """P(every item right) of Pairwise-Preference with spectral clustering, Gaussian."""
    rated = sketch_means.rated_chances(design.N, design.w, rated_set)
    chances = sketch_means.pair_means(rated, design.law.alpha, design.law.b, reading)
    return success.pair_success(U, design.epsilon, design.sizes, chances)


# -------------------------------------------------------------------------- lower bounds


def users_least(
    N: int, epsilon: float
) -> Annotated[float, "Theorem 7: U below which learning is unreliable", "users"]:
    """(N/2 − 1)/(ε log₂ e). Source: Theorem 7, with Fano's ½."""
    return float(sample_sizes.users_theorem_7(N, epsilon))


def users_least_scarce(
    N: int, w: int, epsilon: float
) -> Annotated[float, "U below which learning from w ratings is unreliable", "users"]:
    """(N/2 − 1) over the least of `contraction` and `capacity`, for schemes that are not adaptive.

    Ω(N²/w) for all w, Ω(N/ε²) at w = N.
    """
    each = min(information.contraction(N, w, epsilon), information.capacity(epsilon))
    return float(sample_sizes.fano_users(each, N))


def coupon_users(
    N: int, w: int
) -> Annotated[float, "coupon collector: U until every item has been rated", "users"]:
    """N H_N/w: the non-private reference."""
    return float(sample_sizes.coupon_users(N, w))


# ---------------------------------------------------- information of one answer, in bits


def information_maxsense(
    N: int, w: int, epsilon: float, theta: float
) -> Annotated[float, "I of MaxSense", "bits"]:
    """I(Z; S | H), exact, items sensed with probability θ/w."""
    return information.maxsense_information(N, w, epsilon, theta / w)


def information_pairwise(
    N: int, w: int, epsilon: float
) -> Annotated[float, "I of Pairwise-Preference", "bits"]:
    """I(Z; S | pair) of Appendix B's sketch, exact."""
    return information.pairwise_information(N, w, epsilon)


def information_majority(
    N: int, w: int, epsilon: float
) -> Annotated[float, "I of a majority question", "bits"]:
    """I(Z; S) of "were most of your ratings positive?", exact."""
    return information.count_information(N, w, epsilon)


def information_best(
    N: int, w: int, epsilon: float
) -> Annotated[float, "I of the best one-bit sketch", "bits"]:
    """Largest I(Z; S) over all deterministic questions, exact.

    For w = 1, w = N, (3, 2) or (4, 2); else InvalidInput.
    """
    return information.best_information(N, w, epsilon)


def bound_lemma_6(epsilon: float) -> Annotated[float, "Lemma 6", "bits"]:
    """ε log₂ e."""
    return float(information.lemma_6(epsilon))


def bound_capacity(epsilon: float) -> Annotated[float, "capacity of an ε-LDP answer", "bits"]:
    """The sharp form of Lemma 6."""
    return float(information.capacity(epsilon))


def bound_theorem_13(
    N: int, w: int, epsilon: float
) -> Annotated[float, "Theorem 13, explicit", "bits"]:
    """O(w²/N) with the proof's constant."""
    return information.theorem_13(N, w, epsilon)


def bound_theorem_14(
    N: int, w: int, epsilon: float
) -> Annotated[float, "Theorem 14, explicit", "bits"]:
    """O(w/N) with the proof's constant; NaN where ε ≥ ln 2, which it does not cover."""
    if epsilon >= math.log(2):
        return math.nan
    return information.theorem_14(N, w, epsilon)


def bound_contraction(
    N: int, w: int, epsilon: float
) -> Annotated[float, "log₂(1 + (w/N) sinh²(ε/2))", "bits"]:
    """The largest information of any ε-LDP answer of a user who has rated w of N items."""
    return float(information.contraction(N, w, epsilon))
