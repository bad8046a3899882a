"""Wrong worlds that are simulated as controls of claims on crowds: parts that do not
do what they say.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from pipeline.analysis.claims import NotSimulated, SimulatedControl
from pipeline.problems.common.changes import (
    Wrapper,
    all_of,
    answers_of,
    changed_data,
    changed_estimate,
    changed_release,
    data_of,
    in_secret,
    replaced_part,
    with_parameters,
)
from pipeline.problems.common.sampling import bernoulli
from pipeline.study.protocols import Components, Mechanism
from pipeline.study.wrong_worlds import Change

from ..data.recorded import RecordedCrowd
from ..estimators.dawid_skene import DawidSkene as Method
from ..estimators.estimate import CrowdEstimate
from ..estimators.majority_vote import MajorityVote
from ..mechanisms.curator import NoisyVotes
from ..mechanisms.randomized_response import RandomizedResponse
from ..mechanisms.shuffled import ShuffledResponse
from ..metrics.rare import first_label_wrong, first_label_wrong_weighted
from ..model import Answers, CrowdTruth
from ..model import DawidSkene as Crowd
from ..releases import ReleasedAnswers
from ..task_difficulty import DifficultyTruth
from ..two_coins import TwoCoinTruth

NO_FLIP = 50.0  # ε at which no answer is ever flipped
ALL_BUT_SURE = 0.999  # of the lean of an answer that is never flipped
NO_BUDGET = 1e-9  # ε at which a released answer is a coin
ANSWERED = 0.061  # share of the tasks that a worker answers, in RTE
FEWER = 1000  # times that there are fewer tasks
MIDDLE = 600  # tasks at which initial vectors are as good as they say, where they are not at others
GUESSING = 0.5  # ability of spammers
SOME_ABILITY = 0.6  # of those who know a little
CLIQUE = 3  # of so many workers, one copies the last
SMALL_CLIQUE = 8  # the same, of workers who still outnumber experts


# ----------------------------------------------------------------------------------------- releases


def _budget(function: Callable[[float], float]) -> Change:
    """Answers are flipped as at another ε; the release says the declared probability of a flip."""
    return in_secret(with_parameters("mechanism", epsilon=function))


def _twice(epsilon: float) -> float:
    """ε of two flips, one after the other: tanh(ε/2) is squared."""
    return 2 * math.atanh(math.tanh(epsilon / 2) ** 2)


def _wisdom_times(factor: float) -> Callable[[float], float]:
    """ε at which released answers have this many times the wisdom, or the most that is possible."""

    def budget(epsilon: float) -> float:
        lean = math.sqrt(factor) * math.tanh(epsilon / 2)
        return 2 * math.atanh(min(lean, ALL_BUT_SURE))

    return budget


@dataclass(frozen=True)
class OneFlip(Wrapper):
    """A worker flips all of her answers or none, with the declared probability."""

    declared: RandomizedResponse

    def release(self, data: Answers, rng: np.random.Generator) -> ReleasedAnswers:
        """Released answers of a block; what the release says is right."""
        release = self.declared.release(data, rng)
        workers = (*data.answers.shape[:2], 1)
        flipped = bernoulli(release.flip, workers, rng).view(np.int8)
        return replace(release, answers=data.answers * (1 - 2 * flipped))


def _flip_not_told(release: object, rng: np.random.Generator) -> ReleasedAnswers:
    return replace(cast(ReleasedAnswers, release), flip=0.0)


UNFLIPPED = SimulatedControl(
    "answers that are released as they are", _budget(lambda epsilon: NO_FLIP)
)
COINS = SimulatedControl("released answers that are coins", _budget(lambda epsilon: NO_BUDGET))
FLIPPED_TWICE = SimulatedControl("answers that are flipped twice", _budget(_twice))
HALF_WISDOM = SimulatedControl(
    "answers flipped so often that half of their wisdom is left", _budget(_wisdom_times(0.5))
)
MORE_WISDOM = SimulatedControl(
    "answers flipped so seldom that they have four times the wisdom", _budget(_wisdom_times(4))
)
SOME_FLIPPED = SimulatedControl(
    "one answer in a hundred that is flipped at any ε",
    _budget(lambda epsilon: min(epsilon, math.log(99))),
)
ONE_FLIP = SimulatedControl(
    "one flip for all answers of a worker",
    replaced_part(
        "mechanism", lambda part: OneFlip(part) if isinstance(part, RandomizedResponse) else part
    ),
)
HALF_BUDGET = SimulatedControl(
    "answers flipped as at half of ε, of which the release does tell",
    with_parameters("mechanism", epsilon=lambda epsilon: epsilon / 2),
)
FLIP_NOT_TOLD = SimulatedControl(
    "a release that does not tell how often answers are flipped", changed_release(_flip_not_told)
)


# ------------------------------------------------------------------------------- budgets of workers


def _answers_for_nothing(part: Mechanism) -> Mechanism:
    """Each answer has the budget that all answers of a worker are said to have."""
    if isinstance(part, RandomizedResponse) and part.person is not None:
        return replace(part, person=None, person_delta=0.0, epsilon=part.person)
    return part


def _not_shuffled(part: Mechanism) -> Mechanism:
    """Answers are flipped as they must be where nobody mixes them."""
    if not isinstance(part, ShuffledResponse):
        return part
    return RandomizedResponse(
        part.n,
        part.m,
        questions=part.questions,
        person=part.person,
        person_delta=part.person_delta,
    )


def _budget_divided(part: Mechanism) -> Mechanism:
    """Noise is as wide as if each answer had to be paid for by itself."""
    if not isinstance(part, NoisyVotes):
        return part
    return replace(part, person=part.person / part.answers)


ANSWERS_FOR_NOTHING = SimulatedControl(
    "each answer at the budget of all answers of a worker",
    replaced_part("mechanism", _answers_for_nothing),
)
NOT_SHUFFLED = SimulatedControl(
    "answers that are flipped as if nobody mixed them", replaced_part("mechanism", _not_shuffled)
)
BUDGET_DIVIDED = SimulatedControl(
    "noise as wide as if the budget were divided among the answers",
    replaced_part("mechanism", _budget_divided),
)


# ------------------------------------------------------------------------------------------- crowds


def _copying(one_of: int) -> Change:
    """A part of the workers, the last ones, give the answers of the last."""

    def copied(data: Answers, rng: np.random.Generator) -> Answers:
        answers = data.answers.copy()
        copies = answers.shape[1] // one_of
        answers[:, -copies:] = np.where(answers[:, -copies:] == 0, 0, answers[:, -1:])
        return replace(data, answers=answers)

    return changed_data(copied)


def _with_tasks(number: Callable[[int], int]) -> Change:
    return all_of(
        *(with_parameters(role, m=number) for role in ("model", "mechanism", "estimator"))
    )


def _start_that_improves_with_tasks(parts: Components) -> Components:
    """The lead of the initial vector over chance grows by √m more than is said."""
    crowd = cast(Crowd, parts.model)
    lead = (1 - 2 * cast(float, crowd.initial_error)) * (crowd.m / MIDDLE) ** 0.5
    return parts._replace(model=replace(crowd, initial_error=0.5 - lead / 2))


COPIES = SimulatedControl(
    f"a crowd of which one worker in {CLIQUE} copies the last", _copying(CLIQUE)
)
FEW_COPIES = SimulatedControl(
    f"a crowd of which one worker in {SMALL_CLIQUE} copies the last, who guesses",
    _copying(SMALL_CLIQUE),
)
FEWER_TASKS = SimulatedControl(f"{FEWER:,} times fewer tasks", _with_tasks(lambda m: m // FEWER))
WORST_STARTS = SimulatedControl(
    "initial vectors that are wrong where most answers are right",
    with_parameters("model", initial_flips="agreed"),
)
BETTER_STARTS = SimulatedControl(
    "initial vectors whose lead grows by √m more than they say", _start_that_improves_with_tasks
)


def _alike(truth: CrowdTruth) -> CrowdTruth:
    """All workers have the mean ability."""
    mean = truth.abilities.mean(axis=1, keepdims=True)
    return replace(truth, abilities=np.broadcast_to(mean, truth.abilities.shape))


def _spammers_able(truth: CrowdTruth) -> CrowdTruth:
    """Spammers know a little, so that many of them outvote chance."""
    return replace(
        truth, abilities=np.where(truth.abilities == GUESSING, SOME_ABILITY, truth.abilities)
    )


def _as_often_answered(crowd: RecordedCrowd) -> Crowd:
    return Crowd(n=crowd.n, m=crowd.m, answered=ANSWERED)


def _equal_coins(truth: CrowdTruth) -> CrowdTruth:
    """Workers who are as often right on either label: by their mean ability."""
    if not isinstance(truth, TwoCoinTruth):
        return truth
    return replace(truth, sensitivities=truth.abilities, specificities=truth.abilities)


def _tasks_alike(truth: CrowdTruth) -> CrowdTruth:
    """All tasks have the mean easiness, and workers the abilities that they have on average."""
    if not isinstance(truth, DifficultyTruth):
        return truth
    mean = truth.easiness.mean(axis=1, keepdims=True)
    return replace(truth, easiness=np.broadcast_to(mean, truth.easiness.shape))


TASKS_ALIKE = SimulatedControl("tasks that are as easy as the mean task", data_of(_tasks_alike))
EQUAL_COINS = SimulatedControl(
    "workers who are as often right on either label", data_of(_equal_coins)
)
HALF_BUDGET_IN_SECRET = SimulatedControl(
    "answers flipped as at half of ε, and nobody says so", _budget(lambda epsilon: epsilon / 2)
)
SPAMMERS_ABLE = SimulatedControl(
    "spammers who are right on three answers of five", data_of(_spammers_able)
)
ALIKE = SimulatedControl(
    "answers of workers of one ability, as many as in RTE",
    all_of(answers_of(_as_often_answered), data_of(_alike)),
)
ONE_COIN = SimulatedControl(
    "answers of workers who are as often right on either label",
    answers_of(lambda crowd: Crowd(n=crowd.n, m=crowd.m)),
)
WEAK_CROWD = SimulatedControl(
    "answers of workers who all are right on three of five, on either label",
    answers_of(
        lambda crowd: Crowd(
            n=crowd.n, m=crowd.m, ability_low=SOME_ABILITY, ability_high=SOME_ABILITY
        )
    ),
)


# --------------------------------------------------------------------------------------- estimators


def _as_vote(part: Method | MajorityVote) -> MajorityVote:
    return MajorityVote(n=part.n, m=part.m)


def _labels_of_start(estimate: CrowdEstimate) -> CrowdEstimate:
    return replace(estimate, labels=(estimate.start >= 0.5).view(np.int8))


VOTE = SimulatedControl(
    "majority vote in place of Dawid and Skene's method", replaced_part("estimator", _as_vote)
)
START = SimulatedControl(
    "labels of the initial vector, as if EM were not run", changed_estimate(_labels_of_start)
)
OWN_START = SimulatedControl(
    "EM that starts at the mean vote, whatever it is lent",
    with_parameters("estimator", initialisation="majority"),
)
LENT_START = SimulatedControl(
    "EM that starts at the truth, whatever start it is asked for",
    with_parameters("estimator", initialisation="given"),
)
SPECTRAL_TRUTH = SimulatedControl(
    "EM that starts at the truth where a spectral start is asked for",
    with_parameters(
        "estimator", initialisation=lambda start: "given" if start == "spectral" else start
    ),
)
UNPROJECTED = SimulatedControl(
    "abilities that are not projected", with_parameters("estimator", projection=1e-12)
)


# ------------------------------------------------------------------------------------------ metrics

UNWEIGHTED = SimulatedControl(
    "wrong labels of tilted answers, counted as if nothing were tilted",
    replaced_part(
        "metric",
        lambda part: first_label_wrong() if isinstance(part, first_label_wrong_weighted) else part,
    ),
)


# -------------------------------------------------------------------------- none is simulated

INEQUALITY = NotSimulated(
    "an inequality of every data set in which the event occurs: nothing that workers or mechanisms "
    "do can break it"
)
