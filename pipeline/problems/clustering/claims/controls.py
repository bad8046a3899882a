"""Wrong worlds, simulated as controls of claims: parts that do not do what they say."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from pipeline.analysis.claims import NotSimulated, SimulatedControl
from pipeline.analysis.tolerances import SUPPORTED
from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.common.changes import (
    OtherMetric,
    changed_release,
    replaced_part,
    with_parameters,
)
from pipeline.study.arrays import Floats
from pipeline.study.protocols import Components
from pipeline.study.wrong_worlds import Change

from ..estimators.score_clustering import ScoreClustering, ScoreClusteringAdjusted
from ..estimators.seen_clustering import SeenClustering
from ..mechanisms.curator import NoisyCoOccurrences
from ..mechanisms.max_sense import MaxSense
from ..mechanisms.multi_max_sense import MultiMaxSense
from ..mechanisms.one_bit import OneBit
from ..metrics.information import (
    information_best,
    information_largest,
    information_majority,
    information_one_bit,
    information_pairwise,
    lemma_9_share,
    odds_largest,
)
from ..metrics.recommendations import recommended_rightly
from ..model import BlockModel, BlockTruth
from ..releases import ScoreSketches
from ..theory import answer_tables, information
from ..theory.boundary import users_predicted_multi

ALL_BUT_SURE = 0.999  # of the lean of a bit that is always released as it is
MIDDLE_ITEMS = 150  # N at which everything is right, of many ratings
MIDDLE_OF_SINGLE = 70  # the same of single ratings
MIDDLE_SHARE = 0.2  # w/N at which the lean is right
MIDDLE_RATINGS = 16  # w at which it is
MIDDLE_BUDGET = 0.5  # ε at which it is
SCARCE = 0.4  # w/N from which the lean changes no more
USERS_AT_BUDGET_1 = 33_600  # at ε = 1, where their number falls like ε^−½
SEVERAL_BUDGET = 4  # ε from which several questions have much less lean
MUCH_LESS_LEAN = 0.64
MORE_LEAN = 1.5
LESS_LEAN = 0.8
LESS_LEAN_OF_FEW = 0.73
LESS_LEAN_OF_ALL = 0.78
FEW_ITEMS = 60


# ----------------------------------------------------------------- bits that are noisier


def _lean_times(factor: Callable[[BlockModel, OneBit], float]) -> Change:
    """Private bits whose lean tanh(ε/2) is another one.

    factor: model and mechanism -> that lean over the declared. Users who
    are needed go as the lean to the power −2.
    """

    def change(parts: Components) -> Components:
        mechanism: Any = parts.mechanism
        if not isinstance(mechanism, OneBit):
            return parts
        bits = 1
        if isinstance(mechanism, MultiMaxSense):
            bits = mechanism.answers
        declared = math.tanh(mechanism.given_epsilon / bits / 2)
        lean = factor(cast(BlockModel, parts.model), mechanism) * declared
        epsilon = 2 * bits * math.atanh(min(lean, ALL_BUT_SURE))
        if isinstance(mechanism, MultiMaxSense):
            return parts._replace(mechanism=replace(mechanism, epsilon=epsilon, Q=bits))
        return parts._replace(mechanism=cast(Any, replace(mechanism, epsilon=epsilon)))

    return change


def _by_items(users: float) -> Change:
    """The users needed grow by N^users more than they should."""
    return _lean_times(lambda model, mechanism: (model.N / MIDDLE_ITEMS) ** (-users / 2))


def _by_share(model: BlockModel, mechanism: OneBit) -> float:
    share = min(model.w / model.N, SCARCE)
    return float((share / MIDDLE_SHARE) ** 0.3)


def _by_ratings(model: BlockModel, mechanism: OneBit) -> float:
    return float((model.w / MIDDLE_RATINGS) ** 0.126)


def _by_budget(model: BlockModel, mechanism: OneBit) -> float:
    return float((mechanism.given_epsilon / MIDDLE_BUDGET) ** -0.21)


def _by_large_budget(model: BlockModel, mechanism: OneBit) -> float:
    """So that users of several questions are needed in numbers of order ε^−½."""
    if not isinstance(mechanism, MultiMaxSense) or mechanism.given_epsilon < 1:
        return 1.0
    needed = users_predicted_multi(
        "multi_max_sense",
        model.N,
        model.w,
        mechanism.given_epsilon,
        mechanism.theta,
        mechanism.answers,
        model.alpha,
        model.beta,
        model.b,
    )
    return math.sqrt(needed / (USERS_AT_BUDGET_1 * mechanism.given_epsilon**-0.5))


def _one_fixed_and_several_noisy(parts: Components) -> Components:
    """One question about a set of fixed size, and several with much more noise."""
    mechanism: Any = parts.mechanism
    if isinstance(mechanism, MultiMaxSense):
        return _lean_times(_less_of_several)(parts)
    single = MultiMaxSense(
        N=mechanism.N,
        w=mechanism.w,
        epsilon=mechanism.given_epsilon,
        theta=mechanism.theta,
        U=mechanism.U,
        beta=mechanism.beta,
        Q=1,
    )
    return parts._replace(mechanism=cast(Any, single))


def _less_of_several(model: BlockModel, mechanism: OneBit) -> float:
    if isinstance(mechanism, MultiMaxSense) and mechanism.given_epsilon >= SEVERAL_BUDGET:
        return MUCH_LESS_LEAN
    return 1.0


def _unlike(model: BlockModel, mechanism: OneBit) -> float:
    return MORE_LEAN if isinstance(mechanism, MaxSense) else LESS_LEAN


def _few(model: BlockModel, mechanism: OneBit) -> float:
    return LESS_LEAN_OF_FEW if model.N < FEW_ITEMS else 1.0


def _of_several(model: BlockModel, mechanism: OneBit) -> float:
    if isinstance(mechanism, MultiMaxSense) and mechanism.answers > 1:
        return MORE_LEAN
    return 1.0


MORE_NOISE_WITH_ITEMS = SimulatedControl(
    "bits that are noisier the more items there are", _by_items(0.22)
)
MUCH_MORE_NOISE_WITH_ITEMS = SimulatedControl(
    "bits that are much noisier the more items there are", _by_items(0.5)
)
MORE_NOISE_WITH_SCARCITY = SimulatedControl(
    "bits that are noisier the smaller the share w/N is", _lean_times(_by_share)
)
MORE_NOISE_WITH_FEW_RATINGS = SimulatedControl(
    "bits that are noisier the fewer items a user has rated", _lean_times(_by_ratings)
)
MORE_NOISE_WITH_BUDGET = SimulatedControl(
    "bits that are noisier, beside what they should be, the larger ε is", _lean_times(_by_budget)
)
MORE_NOISE_WITH_LARGE_BUDGET = SimulatedControl(
    "bits of several questions that gain less from ε than they should",
    _lean_times(_by_large_budget),
)
MORE_NOISE_OF_SEVERAL = SimulatedControl(
    "several questions with much more noise than they should have, and one about a set "
    "of fixed size",
    _one_fixed_and_several_noisy,
)
MORE_NOISE_OF_FEW = SimulatedControl(
    "bits about few items that are noisier than they should be", _lean_times(_few)
)
MORE_NOISE = SimulatedControl(
    "bits that are noisier than they should be",
    _lean_times(lambda model, mechanism: LESS_LEAN_OF_ALL),
)
HALF_BUDGETS = SimulatedControl(
    "bits released as at half of ε",
    with_parameters("mechanism", epsilon=lambda epsilon: epsilon / 2),
)
TWICE_RELEASED = SimulatedControl(
    "bits that spend twice the ε of their label",
    with_parameters("mechanism", epsilon=lambda epsilon: 2 * epsilon),
)
UNLIKE_BUDGETS = SimulatedControl(
    "MaxSense with less noise than it should have, Pairwise-Preference with more",
    _lean_times(_unlike),
)
SEVERAL_SPENT = SimulatedControl(
    "several questions with less noise than they should have", _lean_times(_of_several), SUPPORTED
)


# ----------------------------------------------------------------------- budgets of users


def _bits_for_nothing(part: object) -> object:
    """Each bit has the budget that all bits of a user are said to have."""
    if isinstance(part, OneBit) and part.person is not None:
        return replace(part, person=None, person_delta=0.0, epsilon=part.person)
    return part


def _budget_divided(part: object) -> object:
    """Noise is as wide as if the budget were divided among the pairs of a record."""
    if not isinstance(part, NoisyCoOccurrences):
        return part
    return replace(part, person=part.person / math.comb(part.w, 2))


BITS_FOR_NOTHING = SimulatedControl(
    "each bit at the budget of all bits of a user",
    replaced_part("mechanism", _bits_for_nothing),
)
BUDGET_DIVIDED = SimulatedControl(
    "noise as wide as if the budget were divided among the pairs of a record",
    replaced_part("mechanism", _budget_divided),
)


# ----------------------------------------------------------------------- users and items


def _users_who_answer(parts: Components) -> Components:
    """The more items there are, the fewer of the users answer: N^−0.22 of them, in proportion."""
    model = cast(BlockModel, parts.model)
    share = (model.N / MIDDLE_OF_SINGLE) ** -0.22
    return parts._replace(model=replace(model, U=round(model.U * share)))


def _not_adjusted(part: object) -> object:
    if isinstance(part, ScoreClusteringAdjusted):
        return ScoreClustering(part.N, part.beta)
    return part


def _classes(lean: Callable[[float], float]) -> Change:
    """Two classes of users whose shares differ by another number."""

    def change(parts: Components) -> Components:
        model = cast(BlockModel, parts.model)
        first, second = (float(share) for share in model.alpha.split(","))
        difference = lean(first - second)
        alpha = f"{(1 + difference) / 2!r}, {(1 - difference) / 2!r}"
        return parts._replace(model=replace(model, alpha=alpha))

    return change


def _half_remembered(part: object) -> object:
    if not isinstance(part, recommended_rightly):
        return part
    declared: Any = part  # its parameters are the fields of a class that the decorator makes
    return replace(declared, w=max(declared.w // 2, 1))


def _all_told(parts: Components) -> Components:
    """Ratings as they are, in place of private bits about them."""
    model = cast(BlockModel, parts.model)
    seen = SeenClustering(model.beta)
    return parts._replace(mechanism=cast(Any, NoPrivacy()), estimator=cast(Any, seen))


TENTH_OF_USERS = SimulatedControl(
    "a tenth of the users", with_parameters("model", U=lambda users: max(users // 10, 1))
)
NEARLY_EQUAL_CLASSES = SimulatedControl("classes of 60 and 40 %", _classes(lambda lean: 0.2))
HALF_REMEMBERED = SimulatedControl(
    "users who remember half of what they have rated", replaced_part("metric", _half_remembered)
)
ALL_TOLD = SimulatedControl("ratings that are told as they are", _all_told)
FEWER_USERS = SimulatedControl("fewer users who answer the more items there are", _users_who_answer)
TWO_ANSWERS = SimulatedControl(
    "every item asked for until two users have told it", with_parameters("mechanism", answers=2)
)
UNEQUAL_CLASSES = SimulatedControl(
    "classes of unequal size, 70 and 30 %", _classes(lambda lean: 0.4)
)
ROOT_OF_LEAN = SimulatedControl(
    "classes whose shares differ by the root of a tenth of what they should",
    _classes(lambda lean: math.sqrt(lean / 10)),
)
NOT_ADJUSTED = SimulatedControl(
    "adjusted scores that are not adjusted", replaced_part("estimator", _not_adjusted)
)


# -------------------------------------------------------------------------- informations


@dataclass(frozen=True)
class RecordTold(OtherMetric):
    """Information of an answer that tells all of a user's record: w bits."""

    def __call__(self, truth: BlockTruth, release: object, estimate: object) -> Floats:
        """(reps,): the same in every replication."""
        return np.full(len(truth.clusters), float(self.declared.w))


@dataclass(frozen=True)
class OddsAtTwice(OtherMetric):
    """Largest |log λ| over ε of a bit that spends twice the ε it says."""

    def __call__(self, truth: BlockTruth, release: object, estimate: object) -> Floats:
        """(reps,): the same in every replication."""
        spent = replace(self.declared, epsilon=2 * self.declared.epsilon)
        twice: Floats = 2 * spent(truth, release, estimate)
        return twice


@dataclass(frozen=True)
class OfPrivateBit(OtherMetric):
    """Information over the bound of Lemma 9 of a private bit about half of all records."""

    def __call__(self, truth: BlockTruth, release: object, estimate: object) -> Floats:
        """(reps,): the same in every replication; NaN for more than 25 records."""
        N = self.declared.N
        w = self.declared.w
        replications = len(truth.clusters)
        if np.isnan(self.declared.value):
            return np.full(replications, np.nan)
        records = len(information.records(N, w)[0])
        bit = answer_tables.named_set(records, records // 2, 1.0)
        nats = information.channel_information(N, w, bit) / information.NAT
        return np.full(replications, nats / information.lemma_9(N, w, bit))


def _record_told(part: object) -> object:
    if isinstance(part, (information_best, information_largest, information_one_bit)):
        return RecordTold(part)
    return part


def _pair_asked(part: object) -> object:
    if not isinstance(part, information_majority):
        return part
    declared: Any = part  # its parameters are the fields of a class that the decorator makes
    return information_pairwise(N=declared.N, w=declared.w, epsilon=declared.epsilon)


def _flip_not_told(release: ScoreSketches, rng: np.random.Generator) -> ScoreSketches:
    """Bits that are said to be released as they are."""
    return replace(release, keep=1.0)


def _twice_spent(part: object) -> object:
    return OddsAtTwice(part) if isinstance(part, odds_largest) else part


def _private_bit(part: object) -> object:
    return OfPrivateBit(part) if isinstance(part, lemma_9_share) else part


_RECORD_TOLD = "answers that tell a user's record as it is"
RECORD_TOLD = SimulatedControl(_RECORD_TOLD, replaced_part("metric", _record_told))
RECORD_TOLD_SUPPORTS = SimulatedControl(_RECORD_TOLD, RECORD_TOLD.change, SUPPORTED)
PAIR_ASKED = SimulatedControl(
    "a question about a pair in place of a majority question", replaced_part("metric", _pair_asked)
)
FLIP_NOT_TOLD = SimulatedControl(
    "a release that does not tell how often bits are flipped", changed_release(_flip_not_told)
)
TWICE_SPENT = SimulatedControl(
    "bits that spend twice the ε they say",
    replaced_part("metric", _twice_spent),
)
PRIVATE_BIT = SimulatedControl(
    "a private bit in place of the answer that names another record",
    replaced_part("metric", _private_bit),
    SUPPORTED,
)


# --------------------------------------------------------------------- none is simulated

ABOVE_ALL = NotSimulated(
    "every number of users on the grid is far above the bound: a world whose boundary is on the "
    "grid cannot break it"
)
NEAR_BOUNDARY = NotSimulated(
    "numbers of users are on the grid near the true boundary only: a world in which the "
    "statement is decided otherwise has its boundaries beyond"
)
THEOREM = NotSimulated(
    "an inequality of every answer and every law of the records: nothing that people or mechanisms "
    "do can break it"
)
ARITHMETIC = NotSimulated(
    "an inequality of binomial coefficients: there is nobody in it, and nothing is drawn"
)
