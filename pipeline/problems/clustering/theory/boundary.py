"""Predicted boundaries of the experiments: users at which half of all replications are right.

A replication is right if every item is. Gaussian predictions of `success`,
solved for the number of users; infinite where no number is enough. For
ratings that are seen as they are the laws of counts are used. alpha, beta,
b are texts as in the model; estimators with adjusted scores are recognised
by their names, as a config writes them.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Annotated

import numpy as np

from pipeline.study.designs import of_design
from pipeline.study.parameters import InvalidInput

from ..design import Design
from . import sample_sizes, sketch_means, success

MOST = 10**9  # users
SEEN = 10**4  # ratings of an item in the mean, the most that are tried
HALF = Annotated[float, "U at which half of all replications are predicted to be right", "users"]


@of_design("N w epsilon theta alpha beta b")
def users_predicted(mechanism: str, estimator: str, design: Design) -> HALF:
    """Of a mechanism: pairwise_preference as in Appendix B, adaptive with one answer.

    For adaptive_one_bit that of the same questions fixed beforehand, where
    ratings are labels. What does not matter to the mechanism is not used.
    InvalidInput for other mechanisms than max_sense, pairwise_preference,
    one_bit, average_one_bit, adaptive, adaptive_one_bit and none.
    """
    if mechanism == "max_sense":
        return _maxsense(design, is_adjusted(estimator))
    if mechanism == "pairwise_preference":
        return _pairs(design, "agree", is_adjusted(estimator))
    if mechanism == "none":
        return _seen(design)
    if mechanism == "average_one_bit":  # one user in log₂ N tells her rating
        return _seen(design) * float(np.log2(design.N))
    if mechanism == "one_bit":
        return _one_bit(design)
    if mechanism == "adaptive":
        return 2 * design.N**2 / design.w
    if mechanism == "adaptive_one_bit":
        return float(sample_sizes.users_fixed_questions(design.N, design.epsilon))
    allowed = (
        "must be max_sense, pairwise_preference, one_bit, average_one_bit, "
        "adaptive, adaptive_one_bit or none: no boundary is predicted for others"
    )
    raise InvalidInput("mechanism", mechanism, allowed)


@of_design("N w epsilon theta Q alpha beta b")
def users_predicted_multi(mechanism: str, design: Design) -> HALF:
    """Of max_sense, and of multi_max_sense with Q questions: plain scores."""
    if mechanism == "max_sense":
        return _maxsense(replace(design, Q=1), False)
    return _multi(design)


@of_design("N w epsilon alpha beta b")
def users_predicted_pairs(estimator: str, design: Design, reading: str) -> HALF:
    """Of pairwise_preference with one of its readings; rated sets are private."""
    return _pairs(design, reading, is_adjusted(estimator))


def users_predicted_public(
    estimator: str, N: int, epsilon: float, alpha: str, beta: str, b: str
) -> HALF:
    """Of pairwise_preference where rated sets are public.

    Every pair that is asked about is rated, as if w were N.
    """
    return _pairs(Design(N, N, epsilon, alpha, beta, b), "agree", is_adjusted(estimator))


@of_design("N w epsilon alpha beta b")
def signs_predicted(
    U: int, design: Design
) -> Annotated[float, "predicted success of signs of eigenvectors", "probability"]:
    """P(every item right) of spectral_signs with four clusters. See `success.sign_success`."""
    rated = sketch_means.rated_chances(design.N, design.w)
    chances = sketch_means.pair_means(rated, design.law.alpha, design.law.b)
    return success.sign_success(U, design.epsilon, design.sizes, chances)


def users_from_margin(
    margin: Annotated[float, "U over its predicted boundary"], users_predicted: float
) -> int:
    """Users U = margin·users_predicted, rounded; InvalidInput outside 1 to 10⁹."""
    users = margin * users_predicted
    if 1 <= users <= MOST:
        return round(users)
    why = f"asks for {users:.3g} users"
    if np.isinf(users):
        why = "no number of users is enough here"
    raise InvalidInput("margin", margin, f"{why}; must ask for 1 to {MOST:.0e}")


def over_predicted(
    U: int, users_predicted: float
) -> Annotated[float, "U over its predicted boundary", "1"]:
    """U/users_predicted."""
    return U / users_predicted


def users_over_log(U: int, N: int) -> Annotated[float, "U/log N", "users"]:
    """U/log N: what is left of N² log N/w is a power law."""
    return U / float(np.log(N))


def is_adjusted(estimator: str) -> bool:
    """Whether an estimator adjusts scores, by its name in a config."""
    return estimator.endswith("_adjusted")


@lru_cache(4096)
def _maxsense(design: Design, adjusted: bool) -> float:
    """Boundary of MaxSense, plain or adjusted scores."""
    law = design.law
    means = sketch_means.maxsense_means(design.w, design.sensing, design.sizes, law.b)
    pi = sketch_means.released(means, design.epsilon)

    def chance(U: float) -> float:
        return success.score_success(U, design.sensing, law.alpha, pi, design.sizes, 1, adjusted)

    return success.users_of_success(chance)


@lru_cache(4096)
def _multi(design: Design) -> float:
    """Boundary of Multi-MaxSense, plain scores; InvalidInput where the sets do not fit."""
    law = design.law
    sensed = design.set_size
    if design.Q * sensed > design.N:
        allowed = (
            f"{design.Q} disjoint sets of {sensed} items, N·θ/w, need more than the N={design.N} "
            "there are; give a smaller epsilon or theta, or a larger w"
        )
        raise InvalidInput("Q", design.Q, allowed)
    means = sketch_means.multi_means(design.w, sensed, design.sizes, law.b)
    pi = sketch_means.released(means, design.epsilon / design.Q)

    def chance(U: float) -> float:
        return success.score_success(U, sensed / design.N, law.alpha, pi, design.sizes, design.Q)

    return success.users_of_success(chance)


@lru_cache(4096)
def _pairs(design: Design, reading: str, adjusted: bool) -> float:
    """Boundary of Pairwise-Preference, rated sets private."""
    law = design.law
    rated = sketch_means.rated_chances(design.N, design.w)
    chances = sketch_means.pair_means(rated, law.alpha, law.b, reading)

    def chance(U: float) -> float:
        return success.pair_success(U, design.epsilon, design.sizes, chances, adjusted)

    return success.users_of_success(chance)


@lru_cache(4096)
def _seen(design: Design) -> float:
    """Boundary of ratings that are seen as they are."""
    law = design.law

    def chance(U: float) -> float:
        return success.seen_success(U, design.w, law.alpha, design.sizes, law.b)

    return success.users_of_success(chance, most=SEEN * design.N / design.w)


def _one_bit(design: Design) -> float:
    """Boundary of the one-bit sketch without privacy."""
    law = design.law

    def chance(U: float) -> float:
        return success.one_bit_success(U, law.alpha, design.sizes, law.b)

    return success.users_of_success(chance)
