"""Predicted boundaries of the clustering experiments: users at which half of all replications have every item right.

Gaussian predictions of `success`, solved for the number of users; infinite where no number is enough. For ratings that
are seen as they are the laws of counts are used. alpha, beta, b are texts as in the model; estimators with adjusted
scores are recognised by their names, as a config writes them.
"""

from functools import lru_cache
from typing import Annotated

import numpy as np

from pipeline.study.parameters import InvalidInput

from ..block_law import block_law, sizes
from . import sample_sizes, sketch_means, success

MOST = 10**9  # users
SEEN = 10**4  # ratings of an item in the mean, the most that are tried
HALF = Annotated[float, "U at which half of all replications are predicted to be right", "users"]


def users_predicted(
    mechanism: str,
    estimator: str,
    N: int,
    w: int,
    epsilon: float,
    theta: float,
    alpha: str,
    beta: str,
    b: str,
) -> HALF:
    """Of max_sense, pairwise_preference as in Appendix B, one_bit, average_one_bit, adaptive with one answer, and none.

    For adaptive_one_bit that of the same questions fixed beforehand, where ratings are labels. InvalidInput for other
    mechanisms. What does not matter to the mechanism is not used.
    """
    adjusted = estimator.endswith("_adjusted")
    if mechanism == "max_sense":
        return _maxsense(N, w, epsilon, theta, alpha, beta, b, adjusted)
    if mechanism == "pairwise_preference":
        return _pairs(N, w, epsilon, alpha, beta, b, "agree", adjusted)
    if mechanism == "none":
        return _seen(N, w, alpha, beta, b)
    if mechanism == "average_one_bit":  # one user in log₂ N tells her rating
        return _seen(N, w, alpha, beta, b) * float(np.log2(N))
    if mechanism == "one_bit":
        return _one_bit(N, alpha, beta, b)
    if mechanism == "adaptive":
        return 2 * N**2 / w
    if mechanism == "adaptive_one_bit":
        return float(sample_sizes.users_fixed_questions(N, epsilon))
    raise InvalidInput(
        "mechanism",
        mechanism,
        "must be max_sense, pairwise_preference, one_bit, average_one_bit, "
        "adaptive, adaptive_one_bit or none: no boundary is predicted for others",
    )


def users_predicted_multi(
    mechanism: str,
    N: int,
    w: int,
    epsilon: float,
    theta: float,
    Q: int,
    alpha: str,
    beta: str,
    b: str,
) -> HALF:
    """Of max_sense, and of multi_max_sense with Q questions: plain scores."""
    if mechanism == "max_sense":
        return _maxsense(N, w, epsilon, theta, alpha, beta, b, False)
    return _multi(N, w, epsilon, theta, Q, alpha, beta, b)


def users_predicted_pairs(
    estimator: str, N: int, w: int, epsilon: float, alpha: str, beta: str, b: str, reading: str
) -> HALF:
    """Of pairwise_preference with one of its readings; rated sets are private."""
    return _pairs(N, w, epsilon, alpha, beta, b, reading, estimator.endswith("_adjusted"))


def users_predicted_public(
    estimator: str, N: int, epsilon: float, alpha: str, beta: str, b: str
) -> HALF:
    """Of pairwise_preference where rated sets are public: every pair asked about is rated, as if w were N."""
    return _pairs(N, N, epsilon, alpha, beta, b, "agree", estimator.endswith("_adjusted"))


def users_from_margin(
    margin: Annotated[float, "U over its predicted boundary"], users_predicted: float
) -> int:
    """Users U = margin·users_predicted, rounded; InvalidInput outside 1 to 10⁹."""
    users = margin * users_predicted
    if not 1 <= users <= MOST:
        why = (
            "no number of users is enough here"
            if np.isinf(users)
            else f"asks for {users:.3g} users"
        )
        raise InvalidInput("margin", margin, f"{why}; must ask for 1 to {MOST:.0e}")
    return round(users)


def over_predicted(
    U: int, users_predicted: float
) -> Annotated[float, "U over its predicted boundary", "1"]:
    """U/users_predicted."""
    return U / users_predicted


def users_over_log(U: int, N: int) -> Annotated[float, "U/log N", "users"]:
    """U/log N: what is left of N² log N/w is a power law."""
    return U / float(np.log(N))


@lru_cache(4096)
def _maxsense(
    N: int, w: int, epsilon: float, theta: float, alpha: str, beta: str, b: str, adjusted: bool
) -> float:
    """Boundary of MaxSense, plain or adjusted scores."""
    law, items = block_law(alpha, beta, b), sizes("beta", beta, N)
    pi = sketch_means.released(sketch_means.maxsense_means(w, theta / w, items, law.b), epsilon)
    return success.users_of_success(
        lambda U: success.score_success(U, theta / w, law.alpha, pi, items, 1, adjusted)
    )


@lru_cache(4096)
def _multi(
    N: int, w: int, epsilon: float, theta: float, Q: int, alpha: str, beta: str, b: str
) -> float:
    """Boundary of Multi-MaxSense, plain scores; InvalidInput where the sets do not fit."""
    law, items = block_law(alpha, beta, b), sizes("beta", beta, N)
    sensed = max(1, round(N * theta / w))
    if Q * sensed > N:
        raise InvalidInput(
            "Q",
            Q,
            f"{Q} disjoint sets of {sensed} items, N·θ/w, need more than the N={N} there are; "
            "give a smaller epsilon or theta, or a larger w",
        )
    pi = sketch_means.released(sketch_means.multi_means(w, sensed, items, law.b), epsilon / Q)
    return success.users_of_success(
        lambda U: success.score_success(U, sensed / N, law.alpha, pi, items, Q)
    )


@lru_cache(4096)
def _pairs(
    N: int, w: int, epsilon: float, alpha: str, beta: str, b: str, reading: str, adjusted: bool
) -> float:
    """Boundary of Pairwise-Preference, rated sets private."""
    law, items = block_law(alpha, beta, b), sizes("beta", beta, N)
    chances = sketch_means.pair_means(sketch_means.rated_chances(N, w), law.alpha, law.b, reading)
    return success.users_of_success(
        lambda U: success.pair_success(U, epsilon, items, chances, adjusted)
    )


@lru_cache(4096)
def _seen(N: int, w: int, alpha: str, beta: str, b: str) -> float:
    """Boundary of ratings that are seen as they are."""
    law, items = block_law(alpha, beta, b), sizes("beta", beta, N)
    return success.users_of_success(
        lambda U: success.seen_success(U, w, law.alpha, items, law.b), most=SEEN * N / w
    )


def _one_bit(N: int, alpha: str, beta: str, b: str) -> float:
    """Boundary of the one-bit sketch without privacy."""
    law, items = block_law(alpha, beta, b), sizes("beta", beta, N)
    return success.users_of_success(lambda U: success.one_bit_success(U, law.alpha, items, law.b))
