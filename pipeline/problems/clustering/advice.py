"""What `task=advise` asks of clusterings, and where it starts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.privacy.composition import answer_budget
from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.common.person import in_each_round
from pipeline.study.advice import Advice, AtlasGrid, Plan, Unknown
from pipeline.study.arrays import Floats
from pipeline.study.designs import of_design
from pipeline.study.guarantee import CURATOR, NOBODY
from pipeline.study.protocols import Mechanism

from .design import Design, block_law
from .mechanisms.average_one_bit import AverageOneBit
from .mechanisms.curator import NoisyCoOccurrences
from .mechanisms.max_sense import Sensing
from .mechanisms.one_bit import OneBit
from .mechanisms.pairwise_preference import PairwisePreference
from .model import BlockModel
from .theory import sketch_means, success
from .theory.boundary import is_adjusted

RANDOM = 0.1  # share of the users who answer at random


@dataclass(frozen=True)
class Survey:
    """What decides how well users' answers are learned, but for their number and the parts.

    epsilon: budget of one answer, of a record with multi_max_sense;
    person, person_delta: of all answers of a user, in its place. Q:
    questions to a user; None is what the mechanism asks. reading: of
    co-occurrences. rounds: releases that share `person`. The others are those of a `Design`.
    """

    N: int
    w: int
    b: str
    epsilon: float | None = None
    person: float | None = None
    person_delta: float = 0.0
    theta: float = 1.0
    Q: int | None = None
    alpha: str = "1"
    beta: str = "0.5, 0.5"
    reading: str | None = None
    rounds: int = 1

    @property
    def budget(self) -> float:
        """`epsilon`, or else `person`; ValueError without both."""
        budget = self.epsilon or self.person
        if budget is None:
            raise ValueError("nothing is predicted without a budget")
        return budget

    def design(self, questions: int, changeable: int) -> Design:
        """The design of so many questions, of which a record can change so many bits.

        Its epsilon is that of one answer.
        """
        each = self.budget
        if self.epsilon is None:
            each = answer_budget(self.budget, changeable * self.rounds, self.person_delta)
        return Design(self.N, self.w, each, self.alpha, self.beta, self.b, self.theta, questions)


@of_design()
def recovered(mechanism: str, estimator: str, U: int, design: Survey) -> float:
    """Predicted chance that every item is right, Gaussian; see `theory.success`.

    Several bits of a user count as if they were of several users.
    ValueError for other mechanisms, and without a budget.
    """
    return _recovered(mechanism, estimator, U, design)


def _recovered(mechanism: str, estimator: str, U: int, survey: Survey) -> float:
    if mechanism == "noisy_co_occurrences":
        return _co_occurrences_recovered(U, survey)
    adjusted = is_adjusted(estimator)
    if mechanism == "multi_max_sense":
        return _multi_recovered(U, survey, adjusted)
    questions = survey.Q or 1
    answers = U * questions
    design = survey.design(questions, questions)
    if mechanism == "max_sense":
        return success.maxsense_success(answers, design, adjusted)
    if mechanism != "pairwise_preference":
        raise ValueError(f"nothing is predicted for {mechanism}")
    rated = sketch_means.rated_chances(design.N, design.w)
    chances = sketch_means.pair_means(rated, design.law.alpha, design.law.b)
    return float(success.pair_success(answers, design.epsilon, design.sizes, chances, adjusted))


def _multi_recovered(U: int, survey: Survey, adjusted: bool) -> float:
    """The same of disjoint sets: epsilon is split among their bits."""
    budget = survey.budget
    if survey.epsilon is None:
        budget /= survey.rounds
    questions = survey.Q or math.ceil(budget)
    design = survey.design(questions, min(questions, 2 * survey.w))
    if survey.epsilon is None:
        design = replace(design, epsilon=design.epsilon * questions)
    return success.multi_success(U, design, adjusted)


def _co_occurrences_recovered(U: int, survey: Survey) -> float:
    """The same of a curator's sums."""
    curator = NoisyCoOccurrences(
        N=survey.N,
        w=survey.w,
        person=survey.budget,
        person_delta=survey.person_delta,
        reading=survey.reading or "signed",
        rounds=survey.rounds,
    )
    variance = curator.noise.variance(curator.width)
    is_signed = curator.reading == "signed"
    design = survey.design(1, 1)
    return success.co_occurrence_success(U, design.w, design.sizes, design.law, variance, is_signed)


@of_design()
def misclassified(mechanism: str, estimator: str, U: int, design: Survey) -> float:
    """Predicted mean share of items in a wrong cluster, as if items erred by themselves.

    1 − P(every item right)^{1/N}.
    """
    right = _recovered(mechanism, estimator, U, design)
    return float(1 - right ** (1 / design.N))


def stress(model: object) -> Mapping[str, Mapping[str, Any]]:
    """How users may differ from `block_model`, in which users rate items whatever their cluster."""
    if not isinstance(model, BlockModel):
        return {}
    law = block_law(model.alpha, model.beta, model.b)
    middle = law.b.mean(axis=1, keepdims=True)
    closer = np.clip(middle + 2 / 3 * (law.b - middle), 0, 1)
    further = np.clip(middle + 1.5 * (law.b - middle), 0, 1)
    with_coins = np.vstack([law.b, np.full(len(law.beta), 0.5)])
    return {
        "tastes for the clusters 2/3 as far apart": {"b": _matrix(closer)},
        "tastes for the clusters 1.5 times as far apart": {"b": _matrix(further)},
        "a tenth of the users by fair coins": {
            "alpha": _list(np.append((1 - RANDOM) * law.alpha, RANDOM)),
            "b": _matrix(with_coins),
        },
        "a third of the liked items not told": {"b": _matrix(law.b * 2 / 3)},
    }


def _matrix(rows: Floats) -> str:
    """A matrix as a config writes it."""
    return "; ".join(_list(row) for row in rows)


def _list(numbers: Floats) -> str:
    """A list as a config writes it."""
    return ", ".join(f"{number:.12g}" for number in numbers.tolist())


def survey(model: BlockModel, mechanism: Mechanism) -> str:
    """Who answers what, and who makes it private, in one sentence."""
    people = f"each of {model.U:,} users, who has rated {model.w:,} of {model.N:,} items,"
    people = in_each_round(people, mechanism.stated())
    if isinstance(mechanism, NoisyCoOccurrences):
        return (
            f"{people} shows all of these ratings to a curator, who adds noise to the sums over "
            "users and releases only these"
        )
    if isinstance(mechanism, AverageOneBit):
        return f"{people} shows one rating or, mostly, nothing; it is seen as it is"
    if isinstance(mechanism, NoPrivacy):
        return f"{people} shows all of these ratings; it is seen as it is"
    if not isinstance(mechanism, OneBit):
        return f"{people} answers one yes-or-no question; it is seen as it is"
    answers = _questions_in_words(mechanism)
    return f"{people} answers {answers}; every answer is made private before it leaves the user"


def _questions_in_words(mechanism: OneBit) -> str:
    """How many questions a user answers, and about what."""
    about = ""
    questions = "one yes-or-no question"
    if isinstance(mechanism, Sensing):
        about = " about a random set of items"
    if isinstance(mechanism, PairwisePreference):
        about = " about a random pair of items"
    if mechanism.answers > 1:
        questions = f"{mechanism.answers:,} yes-or-no questions"
        about = " about random sets of items"
        if isinstance(mechanism, PairwisePreference):
            about = " about random pairs of items"
    if isinstance(mechanism, PairwisePreference) and mechanism.design == "balanced":
        about = f"{about}, so that every pair is asked about equally often"
    return questions + about


ADVICE = Advice(
    answers="whether they like things that belong to a few groups",
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of a user's record", 1e-3, 20, 1.0),
        "person": Unknown("person", "privacy budget of all answers of a user", 1e-3, 100, 1.0),
        "people": Unknown("U", "users", 1, 1e9, 10_000),
        "items": Unknown("N", "items", 3, 2000, 50, helps=None),
        "questions": Unknown(
            "Q",
            "questions to a user, who answers each with one private bit",
            1,
            1000,
            2,
            helps=None,
        ),
    },
    parameters={"model": "block_model", "mechanism": "max_sense"},
    estimators=("score_clustering_adjusted", "spectral_clustering_adjusted", "seen_clustering"),
    predicted={"recovered": recovered, "misclassified": misclassified},
    stress=stress,
    survey=survey,
    decisions={
        "misclassified": "share of the items that are put into a wrong cluster",
        "recovered": "chance that every item is in its cluster",
    },
    plans=(
        Plan(NOBODY, {"mechanism": "max_sense"}),
        Plan(NOBODY, {"mechanism": "pairwise_preference"}),
        Plan(CURATOR, {"mechanism": "noisy_co_occurrences"}),
    ),
    atlas=AtlasGrid(
        {
            "U": (1000, 3000, 10_000, 30_000),
            "N": (10, 20, 50),
            "w": (5, 10),
            "Q": (1, 2, 5),
            "epsilon": (0.2, 0.4, 0.7, 1, 1.5, 2.5, 4, 8),
        },
        ("max_sense", "pairwise_preference", "multi_max_sense"),
        ("misclassified", "recovered"),
        {"b": "0.9, 0.1"},
    ),
    promises=AtlasGrid(
        {
            "U": (30, 100, 300, 1000, 3000, 10_000),
            "N": (10, 20, 50),
            "w": (3, 5, 10),
            "person": (0.3, 0.7, 1, 2, 4, 8),
        },
        ("max_sense", "pairwise_preference", "noisy_co_occurrences"),
        ("misclassified", "recovered"),
        {"b": "0.9, 0.1"},
    ),
)
