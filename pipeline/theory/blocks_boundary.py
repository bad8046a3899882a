"""Predicted boundaries of the clustering experiments: users at which half of all replications have every item right.

Gaussian predictions of `blocks_scores`, solved for the number of users; infinite where no number is enough. Without
private answers the laws of counts are used. alpha, beta, b are texts as in the model; adjusted estimators are told by
their names, as a config writes them.
"""

from functools import lru_cache
from typing import Annotated

import numpy as np
from scipy import stats

from pipeline.parameters import InvalidInput
from pipeline.theory import blocks_scores as scores
from pipeline.theory.blocks_values import proportions, rating_probabilities, sizes

MOST = 10**9  # users
SEEN = 10**4  # ratings of an item in the mean, the most that are tried
HALF = Annotated[float, "U at which half of all replications are predicted to be right", "users"]


def users_predicted(
    mechanism: str, estimator: str, N: int, w: int, epsilon: float, theta: float, alpha: str, beta: str, b: str
) -> HALF:
    """Of max_sense, pairwise_preference as in Appendix B, one_bit, adaptive with one answer an item, and none.

    InvalidInput for other mechanisms. What does not matter to the mechanism is not used.
    """
    adjusted = estimator.endswith("_adjusted")
    if mechanism == "max_sense":
        return _maxsense(N, w, epsilon, theta, alpha, beta, b, adjusted)
    if mechanism == "pairwise_preference":
        return _pairs(N, w, epsilon, alpha, beta, b, "agree", adjusted)
    if mechanism == "none":
        return _seen(N, w, alpha, beta, b)
    if mechanism == "one_bit":
        shares, items, liked = _law(alpha, beta, b, N)
        return scores.users_of_success(lambda U: one_bit_success(U, shares, items, liked))
    if mechanism == "adaptive":
        return 2 * N**2 / w
    raise InvalidInput("mechanism", mechanism, "must be max_sense, pairwise_preference, one_bit, adaptive or none: "
                       "no boundary is predicted for others")


def users_predicted_multi(
    mechanism: str, N: int, w: int, epsilon: float, theta: float, Q: int, alpha: str, beta: str, b: str
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


def users_from_margin(margin: Annotated[float, "U over its predicted boundary"], users_predicted: float) -> int:
    """Users U = margin·users_predicted, rounded; InvalidInput outside 1 to 10⁹."""
    users = margin * users_predicted
    if not 1 <= users <= MOST:
        why = "no number of users is enough here" if np.isinf(users) else f"asks for {users:.3g} users"
        raise InvalidInput("margin", margin, f"{why}; must ask for 1 to {MOST:.0e}")
    return round(users)


def over_predicted(U: int, users_predicted: float) -> Annotated[float, "U over its predicted boundary", "1"]:
    """U/users_predicted."""
    return U / users_predicted


def users_over_log(U: int, N: int) -> Annotated[float, "U/log N", "users"]:
    """U/log N: what is left of N² log N/w is a power law."""
    return U / float(np.log(N))


def seen_success(U: float, w: int, alpha: np.ndarray, sizes: np.ndarray, b: np.ndarray) -> float:
    """P(every item right) from ratings that are seen as they are; U is rounded.

    An item is seen Binomial(U, w/N) times, errs where its share of positive ratings is past the middle to the next
    cluster's chance, by half where it is there, and by 1 − 1/Lc where it was not seen; items independently. The middle
    is taken as known.
    """
    items, users = np.asarray(sizes), max(1, round(U))
    likes = np.asarray(alpha) @ np.asarray(b, float)
    order = np.argsort(likes)
    likes, items = likes[order], items[order]
    law = stats.binom(users, w / items.sum())
    seen = np.arange(max(1, law.ppf(1e-12)), law.isf(1e-12) + 1)
    middle = (likes[1:] + likes[:-1])[:, None] / 2 * seen
    wrong = np.zeros((len(likes), len(seen)))
    wrong[:-1] += 1 - _below(middle, seen, likes[:-1, None])
    wrong[1:] += _below(middle, seen, likes[1:, None])
    wrong = wrong @ law.pmf(seen) + (1 - 1 / len(likes)) * law.pmf(0)
    return float(np.exp((items * np.log1p(-np.minimum(wrong, 1 - 1e-12))).sum()))


def _below(middle, seen, likes):
    """P(positive < middle) + ½P(positive = middle) of Binomial(seen, likes)."""
    middle = np.round(middle, 9)
    return (stats.binom.cdf(np.ceil(middle) - 1, seen, likes) + stats.binom.cdf(np.floor(middle), seen, likes)) / 2


def one_bit_success(U: float, alpha: np.ndarray, sizes: np.ndarray, b: np.ndarray) -> float:
    """P(every item right) of the one-bit sketch without privacy, Gaussian.

    Scores Σ H_ui S_u: expectations of two items differ by (b̄_i − b̄_j) U/(2N), and half the variance of their difference
    is U/8. Valid for large N.
    """
    likes, items = np.sort(np.asarray(alpha) @ np.asarray(b, float)), np.asarray(sizes)
    items = items[np.argsort(np.asarray(alpha) @ np.asarray(b, float))]
    half = np.diff(likes) * U / (4 * items.sum()) / np.sqrt(U / 8)
    wrong = np.zeros(len(items))
    wrong[:-1] += stats.norm.sf(half)
    wrong[1:] += stats.norm.sf(half)
    return float(np.exp((items * np.log1p(-wrong)).sum()))


def _law(alpha, beta, b, N):
    shares, parts = proportions("alpha", alpha), proportions("beta", beta)
    return shares, sizes("beta", beta, N), rating_probabilities(b, len(shares), len(parts))


@lru_cache(4096)
def _maxsense(N, w, epsilon, theta, alpha, beta, b, adjusted):
    shares, items, liked = _law(alpha, beta, b, N)
    pi = scores.released(scores.maxsense_means(w, theta / w, items, liked), epsilon)
    return _solved(lambda U: scores.score_success(U, theta / w, shares, pi, items, 1, adjusted), shares, liked)


@lru_cache(4096)
def _multi(N, w, epsilon, theta, Q, alpha, beta, b):
    shares, items, liked = _law(alpha, beta, b, N)
    sensed = max(1, round(N * theta / w))
    if Q * sensed > N:
        raise InvalidInput("Q", Q, f"{Q} disjoint sets of {sensed} items, N·θ/w, need more than the N={N} there are; "
                           "give a smaller epsilon or theta, or a larger w")
    pi = scores.released(scores.multi_means(w, sensed, items, liked), epsilon / Q)
    return _solved(lambda U: scores.score_success(U, sensed / N, shares, pi, items, Q), shares, liked)


@lru_cache(4096)
def _pairs(N, w, epsilon, alpha, beta, b, reading, adjusted):
    shares, items, liked = _law(alpha, beta, b, N)
    chances = scores.pair_means(scores.rated_chances(N, w), shares, liked, reading)
    return scores.users_of_success(lambda U: scores.pair_success(U, epsilon, items, chances, adjusted))


@lru_cache(4096)
def _seen(N, w, alpha, beta, b):
    shares, items, liked = _law(alpha, beta, b, N)
    return scores.users_of_success(lambda U: seen_success(U, w, shares, items, liked), most=SEEN * N / w)


def _solved(success, shares, liked):
    """Users of half success; infinite where clusters are liked alike, to rounding."""
    if np.diff(np.sort(shares @ liked)).min(initial=np.inf) < 1e-12:
        return np.inf
    return scores.users_of_success(success)
