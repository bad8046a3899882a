"""What `task=advise` asks of clusterings, and where it starts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.study.advice import Advice, Atlas, Unknown
from pipeline.study.arrays import Floats
from pipeline.study.designs import of_design
from pipeline.study.protocols import Mechanism

from .design import Design, block_law
from .mechanisms.average_one_bit import AverageOneBit
from .mechanisms.max_sense import MaxSense
from .mechanisms.multi_max_sense import MultiMaxSense
from .mechanisms.one_bit import OneBit
from .mechanisms.pairwise_preference import PairwisePreference
from .model import BlockModel
from .theory import sketch_means, success
from .theory.boundary import is_adjusted

RANDOM = 0.1  # share of the users who answer at random


# Parameters of a design in predictions, with defaults as those of the parts.
predicted = of_design(
    "N w epsilon b theta Q alpha beta", theta=1.0, Q=2, alpha="1", beta="0.5, 0.5"
)


@predicted
def recovered(mechanism: str, estimator: str, U: int, design: Design) -> float:
    """Predicted chance that every item is right, Gaussian; see `theory.success`.

    ValueError for other mechanisms.
    """
    return _recovered(mechanism, estimator, U, design)


def _recovered(mechanism: str, estimator: str, U: int, design: Design) -> float:
    adjusted = is_adjusted(estimator)
    if mechanism == "max_sense":
        return success.maxsense_success(U, design, adjusted)
    if mechanism == "multi_max_sense":
        return success.multi_success(U, design, adjusted)
    if mechanism != "pairwise_preference":
        raise ValueError(f"nothing is predicted for {mechanism}")
    rated = sketch_means.rated_chances(design.N, design.w)
    chances = sketch_means.pair_means(rated, design.law.alpha, design.law.b)
    return float(success.pair_success(U, design.epsilon, design.sizes, chances, adjusted))


@predicted
def misclassified(mechanism: str, estimator: str, U: int, design: Design) -> float:
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


ANSWERS = {  # class of a mechanism -> what its users do, if it is not one yes-or-no question
    MaxSense: "answers one yes-or-no question about a random set of items",
    MultiMaxSense: "answers one yes-or-no question about a random set of items",
    PairwisePreference: "answers one yes-or-no question about a random pair of items",
    AverageOneBit: "shows one rating or, mostly, nothing",
    NoPrivacy: "shows all of these ratings",
}


def survey(model: BlockModel, mechanism: Mechanism) -> str:
    """Who answers what, and who makes it private, in one sentence."""
    people = f"each of {model.U:,} users, who has rated {model.w:,} of {model.N:,} items,"
    answers = ANSWERS.get(type(mechanism), "answers one yes-or-no question")
    if isinstance(mechanism, MultiMaxSense) and mechanism.questions > 1:
        answers = f"answers {mechanism.questions:,} yes-or-no questions about random sets of items"
    if isinstance(mechanism, OneBit):
        return f"{people} {answers}; every answer is made private before it leaves the user"
    return f"{people} {answers}; it is seen as it is"


ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of a user's record", 1e-3, 20, 1.0),
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
    atlas=Atlas(
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
)
