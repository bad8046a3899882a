"""Information of one answer about the labels of a block model, and its bounds: exact numbers.

In bits, for labels uniform on {0, 1}^N and ratings equal to labels, as in
the lower bounds of Banerjee, Hegde and Massoulié; `theory.information` has
the formulas. NaN where a bound does not apply or a search is too large.
"""

import math
from functools import lru_cache

import numpy as np
from scipy import special

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter

from ..theory import answer_tables, information, sample_sizes

LN2 = math.log(2)
FEW = (3, 2), (4, 2)  # N and w, 1 < w < N, for which all questions are tried
WHOLE = 25  # records up to which an answer is enumerated
ITEMS: int = parameter("items", unit="items", low=2)
RATED: int = parameter("items that a user has rated", unit="items", low=1)
BUDGET: float = parameter("privacy budget of a user's record", unit="nats", above=0, infinite=True)
SENSING: float = parameter("θ, sensing probability of an item times w", default=1.0, above=0)


@lru_cache(256)
def _of_best_bit(N: int, w: int, epsilon: float) -> float:
    """Information of the best bit; NaN where there are too many questions to try."""
    if w in (1, N) or (N, w) in FEW:
        return information.best_information(N, w, epsilon)
    return math.nan


@lru_cache(256)
def _of_maxsense(N: int, w: int, epsilon: float, theta: float) -> float:
    """Information of MaxSense; NaN where θ > w."""
    if theta > w:
        return math.nan
    return information.maxsense_information(N, w, epsilon, theta / w)


@lru_cache(256)
def _of_sets(N: int, w: int, epsilon: float) -> float:
    """Largest information, bits, of the private answers that name a set of records.

    0 where these are too many.
    """
    tables = answer_tables.private_answers(_records(N, w), epsilon)
    bits = [information.channel_information(N, w, chances) for chances in tables]
    return max(bits, default=0.0)


def _records(N: int, w: int) -> int:
    """Records that a user may have, 0 where there are too many to enumerate answers about them."""
    count = math.comb(N, w) * 2**w
    return count if count <= WHOLE else 0


def _over_lemma_9(N: int, w: int, chances: Floats) -> float:
    """I(Z; S) over the right side of Lemma 9, both in nats, of an answer P(S = s | X), (D, s)."""
    nats = information.channel_information(N, w, chances) / information.NAT
    return float(nats / information.lemma_9(N, w, chances))


@metric("information of the best private bit", units="bits")
def information_best(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """Largest I(Z; S) of one private bit over all deterministic questions.

    For w = 1, w = N, or few items, else NaN.
    """
    return _of_best_bit(N, w, epsilon)


@metric("information of the best bit without privacy", units="bits")
def information_one_bit(*, N: int = ITEMS, w: int = RATED) -> float:
    """The same without privacy: what Theorem 10 bounds at w = 1."""
    return _of_best_bit(N, w, math.inf)


@metric("information of MaxSense", units="bits")
def information_maxsense(
    *, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET, theta: float = SENSING
) -> float:
    """I(Z; S | H) of MaxSense; NaN where θ > w."""
    return _of_maxsense(N, w, epsilon, theta)


@metric("information of a majority question", units="bits")
def information_majority(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """I(Z; S) of "were most of your ratings positive?"."""
    return information.count_information(N, w, epsilon)


@metric("information of Pairwise-Preference", units="bits")
def information_pairwise(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """I(Z; S | pair) of Pairwise-Preference; 0 at w = 1."""
    return information.pairwise_information(N, w, epsilon)


@metric("largest information of the answers that are tried", units="bits")
def information_largest(
    *, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET, theta: float = SENSING
) -> float:
    """The largest I(Z; S) of the private answers that are tried, one bit and more.

    MaxSense, a majority question and Pairwise-Preference; the best private
    bit, where all questions can be tried; and answers that name a set of
    records, where there are at most 25 of these.
    """
    bits = [
        _of_maxsense(N, w, epsilon, theta),
        information.count_information(N, w, epsilon),
        information.pairwise_information(N, w, epsilon),
        _of_best_bit(N, w, epsilon),
        _of_sets(N, w, epsilon),
    ]
    return float(np.nanmax(bits))


@metric("Theorem 13", units="bits")
def bound_theorem_13(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """Theorem 13 with the constant of its proof."""
    return information.theorem_13(N, w, epsilon)


@metric("Theorem 14", units="bits")
def bound_theorem_14(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """Theorem 14 with the constant of its proof; NaN where w³ ≥ N or ε ≥ ln 2."""
    if not sample_sizes.theorem_14_applies(N, w, epsilon):
        return math.nan
    return information.theorem_14(N, w, epsilon)


@metric("log(1 + (w/N) sinh²(ε/2))", units="bits")
def bound_contraction(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """log₂(1 + (w/N) sinh²(ε/2)), of any private answer."""
    return float(information.contraction(N, w, epsilon))


@metric("largest log of posterior over prior, over ε")
def odds_largest(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """Largest |log λ| over ε, over records, answers and questions.

    λ(a, s) = P(record = a | S = s)/P(record = a). A deterministic question
    has the sketch "yes" on k of the D records, 0 < k < D, so that the
    answer is yes with chance q = 1 − r + (2r − 1)k/D, r = e^ε/(1 + e^ε),
    and λ is r/q or (1 − r)/q for "yes", r/(1 − q) or (1 − r)/(1 − q) for
    "no". All are monotone in k, and k and D − k exchange "yes" and "no":
    the largest |log λ| is at k = 1, where the rarest answer reveals the
    most. Source: Banerjee, Hegde and Massoulié, Lemma 11.
    """
    D = math.comb(N, w) * 2**w
    t = math.tanh(epsilon / 2)
    rest = 1 - 2 * (1 / D)  # D may be beyond numbers that have a fraction
    if t < 0.5:  # relatively accurate
        keep = math.log1p(t)  # log(1 + t)
        flip = math.log1p(-t)  # log(1 − t)
        yes = math.log1p(-t * rest)
    else:
        keep = LN2 + special.log_expit(epsilon)
        flip = LN2 + special.log_expit(-epsilon)
        yes = np.logaddexp(flip, math.log(2 * t) - math.log(D))  # log(1 − t·rest)
    no = math.log1p(t * rest)
    largest = max(abs(keep - yes), abs(keep - no), abs(flip - yes), abs(flip - no))
    return float(largest) / epsilon


@metric("largest log of posterior over prior of sets of records, over ε")
def odds_largest_of_sets(*, N: int = ITEMS, w: int = RATED, epsilon: float = BUDGET) -> float:
    """The same of answers that name a set of records, where there are at most 25 of these.

    0 where there are more. Here log λ(a, s) = log P(s | a) − log P(s), the
    same by Bayes' theorem.
    """
    tables = answer_tables.private_answers(_records(N, w), epsilon)
    largest = [np.abs(np.log(chances / chances.mean(axis=0))).max() for chances in tables]
    return float(max(largest, default=0.0)) / epsilon


@lru_cache(256)
def _of_another(N: int, w: int) -> float:
    """`_over_lemma_9` of the answer that names any record but the user's; NaN for many records."""
    records = _records(N, w)
    if not records:
        return math.nan
    return _over_lemma_9(N, w, answer_tables.another(records))


@metric("information over the bound of Lemma 9")
def lemma_9_share(*, N: int = ITEMS, w: int = RATED) -> float:
    """I(Z; S) over the right side of Lemma 9, in nats, of any record but the user's own.

    S is that record, uniformly. NaN for more than 25 records.
    """
    return _of_another(N, w)


@metric("largest information of an answer over its bound of Lemma 9")
def lemma_9_largest(*, N: int = ITEMS, w: int = RATED) -> float:
    """The largest such share of many answers.

    The record, another one, sets of them, chances that are drawn. NaN for
    more than 25 records.
    """
    records = _records(N, w)
    if not records:
        return math.nan
    shares = [_over_lemma_9(N, w, chances) for chances in answer_tables.all_answers(records)]
    return float(max(shares))


@metric("remainder of Lemma 12 over w⁴/N²")
def lemma_12_share(*, N: int = ITEMS, w: int = RATED) -> float:
    """[C(N−w, w)/C(N, w) − (1 − w²/N)] over w⁴/N²; differences below rounding are 0.

    Source: Banerjee, Hegde and Massoulié, Lemma 12, which has it bounded
    from both sides.
    """
    remainder = float(sample_sizes.disjoint_share(N, w)) - (1 - w**2 / N)
    if abs(remainder) <= 1e-12:
        remainder = 0.0
    return remainder / (w**4 / N**2)
