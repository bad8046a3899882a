"""Information of one answer about the labels of a block model, and its bounds: exact, the same in every replication.

In bits, for labels uniform on {0, 1}^N and ratings equal to labels, as in the lower bounds of Banerjee, Hegde and
Massoulié; `theory.information` has the formulas. NaN where a bound does not apply or a search is too large.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy import special

from pipeline.study.arrays import Floats
from pipeline.study.parameters import Checked, parameter

from ..model import BlockTruth
from ..theory import answers, information, sample_sizes

LN2 = math.log(2)
FEW = (3, 2), (4, 2)  # N and w, 1 < w < N, for which all questions are tried
WHOLE = 25  # records up to which an answer is enumerated


@dataclass(frozen=True)
class _Answer(Checked, ABC):
    """A number about one answer of a user who has rated w of N items."""

    N: int = parameter("items", unit="items", low=2)
    w: int = parameter("items that a user has rated", unit="items", low=1)

    units: ClassVar[str] = "bits"
    exact: ClassVar[bool] = True

    @property
    @abstractmethod
    def value(self) -> float:
        """The number, the same in every replication."""

    def __call__(self, truth: BlockTruth, release: object, estimate: object) -> Floats:
        return np.full(len(truth.clusters), self.value, float)


@dataclass(frozen=True)
class _PrivateAnswer(_Answer):
    """A number about one private answer."""

    epsilon: float = parameter(
        "privacy budget of a user's record", unit="nats", above=0, infinite=True
    )


@lru_cache(256)
def _best(N: int, w: int, epsilon: float) -> float:
    """Information of the best bit; NaN where there are too many questions to try."""
    few = w in (1, N) or (N, w) in FEW
    return information.best_information(N, w, epsilon) if few else math.nan


@lru_cache(256)
def _others(N: int, w: int) -> tuple[float, float]:
    """Information and right side of Lemma 9, in nats, of the answer that names any record but the user's own."""
    records = len(information.records(N, w)[0]) if math.comb(N, w) * 2**w <= WHOLE else 0
    if not records:
        return math.nan, math.nan
    chances = (1 - np.eye(records)) / (records - 1)
    nats = information.channel_information(N, w, chances) / information.NAT
    return nats, information.lemma_9(N, w, chances)


@lru_cache(256)
def _maxsense(N: int, w: int, epsilon: float, theta: float) -> float:
    """Information of MaxSense; NaN where θ > w."""
    return math.nan if theta > w else information.maxsense_information(N, w, epsilon, theta / w)


def _records(N: int, w: int) -> int:
    """Records that a user may have, 0 where there are too many to enumerate answers about them."""
    count = math.comb(N, w) * 2**w
    return count if count <= WHOLE else 0


@lru_cache(256)
def _of_sets(N: int, w: int, epsilon: float) -> float:
    """Largest information, bits, of the private answers that name a set of records; 0 where these are too many."""
    tried = answers.private_answers(_records(N, w), epsilon)
    return max((information.channel_information(N, w, chances) for chances in tried), default=0.0)


@dataclass(frozen=True)
class InformationBest(_PrivateAnswer):
    """Largest I(Z; S) of one private bit over all deterministic questions; w = 1, w = N, or few items."""

    long_name: ClassVar[str] = "information of the best private bit"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return _best(self.N, self.w, self.epsilon)


@dataclass(frozen=True)
class InformationOneBit(_Answer):
    """The same without privacy: what Theorem 10 bounds at w = 1."""

    long_name: ClassVar[str] = "information of the best bit without privacy"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return _best(self.N, self.w, math.inf)


@dataclass(frozen=True)
class InformationMaxSense(_PrivateAnswer):
    """I(Z; S | H) of MaxSense; NaN where θ > w."""

    theta: float = parameter("θ, sensing probability of an item times w", default=1.0, above=0)

    long_name: ClassVar[str] = "information of MaxSense"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return _maxsense(self.N, self.w, self.epsilon, self.theta)


@dataclass(frozen=True)
class InformationMajority(_PrivateAnswer):
    """I(Z; S) of "were most of your ratings positive?"."""

    long_name: ClassVar[str] = "information of a majority question"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return information.count_information(self.N, self.w, self.epsilon)


@dataclass(frozen=True)
class InformationPairwise(_PrivateAnswer):
    """I(Z; S | pair) of Pairwise-Preference; 0 at w = 1."""

    long_name: ClassVar[str] = "information of Pairwise-Preference"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return information.pairwise_information(self.N, self.w, self.epsilon)


@dataclass(frozen=True)
class InformationLargest(_PrivateAnswer):
    """The largest I(Z; S) of the private answers that are tried, one bit and more.

    MaxSense, a majority question and Pairwise-Preference; the best private bit, where all questions can be tried; and
    answers that name a set of records, where there are at most 25 of these.
    """

    theta: float = parameter("θ, sensing probability of an item times w", default=1.0, above=0)

    long_name: ClassVar[str] = "largest information of the answers that are tried"

    @cached_property
    def value(self) -> float:
        """Bits."""
        about = self.N, self.w, self.epsilon
        tried = [
            _maxsense(*about, self.theta),
            InformationMajority(*about).value,
            InformationPairwise(*about).value,
            _best(*about),
            _of_sets(*about),
        ]
        return float(np.nanmax(tried))


@dataclass(frozen=True)
class BoundTheorem13(_PrivateAnswer):
    """Theorem 13 with the constant of its proof."""

    long_name: ClassVar[str] = "Theorem 13"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return information.theorem_13(self.N, self.w, self.epsilon)


@dataclass(frozen=True)
class BoundTheorem14(_PrivateAnswer):
    """Theorem 14 with the constant of its proof; NaN where w³ ≥ N or ε ≥ ln 2."""

    long_name: ClassVar[str] = "Theorem 14"

    @cached_property
    def value(self) -> float:
        """Bits."""
        if not sample_sizes.theorem_14_applies(self.N, self.w, self.epsilon):
            return math.nan
        return information.theorem_14(self.N, self.w, self.epsilon)


@dataclass(frozen=True)
class BoundContraction(_PrivateAnswer):
    """log₂(1 + (w/N) sinh²(ε/2)), of any private answer."""

    long_name: ClassVar[str] = "log(1 + (w/N) sinh²(ε/2))"

    @cached_property
    def value(self) -> float:
        """Bits."""
        return float(information.contraction(self.N, self.w, self.epsilon))


@dataclass(frozen=True)
class OddsLargest(_PrivateAnswer):
    """Largest |log λ| over ε, λ(a, s) = P(record = a | S = s)/P(record = a), over records, answers and questions.

    A deterministic question has the sketch "yes" on k of the D records, 0 < k < D, so that the answer is yes with
    chance q = 1 − r + (2r − 1)k/D, r = e^ε/(1 + e^ε), and λ is r/q or (1 − r)/q for "yes", r/(1 − q) or (1 − r)/(1 − q)
    for "no". All are monotone in k, and k and D − k exchange "yes" and "no": the largest |log λ| is at k = 1, where
    the rarest answer reveals the most. Source: Banerjee, Hegde and Massoulié, Lemma 11.
    """

    units: ClassVar[str] = "1"
    long_name: ClassVar[str] = "largest log of posterior over prior, over ε"

    @cached_property
    def value(self) -> float:
        """Share of ε."""
        D = math.comb(self.N, self.w) * 2**self.w
        t = math.tanh(self.epsilon / 2)
        rest = 1 - 2 * (1 / D)  # D may be beyond numbers that have a fraction
        keep, flip = (
            LN2 + special.log_expit(sign * self.epsilon) for sign in (1, -1)
        )  # log(1 ± t)
        yes = np.logaddexp(flip, math.log(2 * t) - math.log(D))  # log(1 − t·rest)
        if t < 0.5:  # relatively accurate
            keep, flip, yes = math.log1p(t), math.log1p(-t), math.log1p(-t * rest)
        return (
            float(max(abs(p - q) for p in (keep, flip) for q in (yes, math.log1p(t * rest))))
            / self.epsilon
        )


@dataclass(frozen=True)
class OddsLargestOfSets(_PrivateAnswer):
    """The same of answers that name a set of records, where there are at most 25 of these; 0 where there are more.

    Here log λ(a, s) = log P(s | a) − log P(s), the same by Bayes' theorem.
    """

    units: ClassVar[str] = "1"
    long_name: ClassVar[str] = "largest log of posterior over prior of sets of records, over ε"

    @cached_property
    def value(self) -> float:
        """Share of ε."""
        tried = answers.private_answers(_records(self.N, self.w), self.epsilon)
        largest = [np.abs(np.log(chances / chances.mean(axis=0))).max() for chances in tried]
        return float(max(largest, default=0.0)) / self.epsilon


@dataclass(frozen=True)
class Lemma9Share(_Answer):
    """I(Z; S) over the right side of Lemma 9, both in nats, where S is any record but the user's own, uniformly.

    NaN for more than 25 records.
    """

    units: ClassVar[str] = "1"
    long_name: ClassVar[str] = "information over the bound of Lemma 9"

    @cached_property
    def value(self) -> float:
        """Share of the bound."""
        nats, bound = _others(self.N, self.w)
        return nats / bound


@dataclass(frozen=True)
class Lemma9Largest(_Answer):
    """The largest such share of many answers: the record, another one, sets of them, chances that are drawn.

    NaN for more than 25 records.
    """

    units: ClassVar[str] = "1"
    long_name: ClassVar[str] = "largest information of an answer over its bound of Lemma 9"

    @cached_property
    def value(self) -> float:
        """Share of the bound."""
        records = _records(self.N, self.w)
        if not records:
            return math.nan
        about = self.N, self.w
        shares = [
            information.channel_information(*about, chances)
            / information.NAT
            / information.lemma_9(*about, chances)
            for chances in answers.all_answers(records)
        ]
        return float(max(shares))


@dataclass(frozen=True)
class Lemma12Share(_Answer):
    """[C(N−w, w)/C(N, w) − (1 − w²/N)] over w⁴/N². Source: Lemma 12, which has it bounded from both sides."""

    units: ClassVar[str] = "1"
    long_name: ClassVar[str] = "remainder of Lemma 12 over w⁴/N²"

    @cached_property
    def value(self) -> float:
        """Share; differences below rounding are 0."""
        remainder = float(sample_sizes.disjoint_share(self.N, self.w)) - (1 - self.w**2 / self.N)
        return (remainder if abs(remainder) > 1e-12 else 0.0) / (self.w**4 / self.N**2)
