"""What `task=advise` asks of rankings, and where it starts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.problems.common.person import in_each_round
from pipeline.study.advice import Advice, AtlasGrid, Plan, Unknown
from pipeline.study.arrays import Floats
from pipeline.study.guarantee import CURATOR, NOBODY, SHUFFLER
from pipeline.study.protocols import Mechanism

from .design import Budgets
from .mechanisms.curator import CuratorNoise
from .mechanisms.shuffled import ShuffledResponse
from .model import BTL, placed
from .theory import ordering, risk

if TYPE_CHECKING:
    from .data.recorded import Recorded

DRAWN = 200  # items' parameters θ* over which predictions are averaged


def _drawn(m: int, spread: float, theta: str, spacing: float) -> Floats:
    """θ* of the model, (DRAWN, m), centred; the same every time."""
    if theta in ("spaced", "two_groups"):
        return placed(theta, m, spacing, spread)[None]
    drawn = np.random.default_rng(0).uniform(-spread, spread, (DRAWN, m))
    centred: Floats = drawn - drawn.mean(axis=1, keepdims=True)
    return centred


def kendall(
    m: int,
    L: int,
    epsilon: float,
    spread: float = 2.0,
    theta: str = "redrawn",
    spacing: float = 0.1,
) -> float:
    """Predicted mean Kendall distance; see `theory.ordering.kendall_prediction`."""
    drawn = _drawn(m, spread, theta, spacing)
    return float(ordering.kendall_prediction(drawn, epsilon, L).mean())


def error_l2(
    m: int,
    L: int,
    epsilon: float,
    spread: float = 2.0,
    theta: str = "redrawn",
    spacing: float = 0.1,
) -> float:
    """Predicted mean of ‖θ̂ − θ*‖₂/√m, the root of the mean risk.

    See `theory.risk.sandwich_risk`.
    """
    drawn = _drawn(m, spread, theta, spacing)
    return float(np.sqrt(np.nanmean(risk.sandwich_risk(drawn, epsilon, L))))


def error_inf(
    m: int,
    L: int,
    epsilon: float,
    spread: float = 2.0,
    theta: str = "redrawn",
    spacing: float = 0.1,
) -> float:
    """Predicted mean of ‖θ̂ − θ*‖∞, by the root of the mean risk.

    Of m equal Gaussian errors the largest is about √(2 log 2m) times their
    size.
    """
    return float(np.sqrt(2 * np.log(2 * m)) * error_l2(m, L, epsilon, spread, theta, spacing))


def stress(model: object) -> Mapping[str, Mapping[str, Any]]:
    """How users and items may differ from `btl`; nothing for data of one's own."""
    if not isinstance(model, BTL):
        return {}
    width = "spacing" if model.theta == "spaced" else "spread"
    narrower = getattr(model, width) * 2 / 3
    wider = getattr(model, width) * 1.5
    cases: dict[str, dict[str, Any]] = {
        "scores of the items 2/3 as far apart": {width: narrower},
        "scores of the items 1.5 times as far apart": {width: wider},
    }
    if type(model) is not BTL:
        return cases
    return {
        **cases,
        "a tenth of the answers by a fair coin": {"model": "misspecified", "at_random": 0.1},
        "answers against an item left out, up to half, by item": {
            "model": "misspecified",
            "left_out": 0.5,
        },
    }


def survey(model: "BTL | Recorded", mechanism: Mechanism) -> str:
    """Who compares what, and who makes it private, in one sentence."""
    if not isinstance(model, BTL):
        return f"nobody is asked anew, only what privacy adds is random: {model.source.rstrip('.')}"
    people = f"each of {model.L:,} people compares {_pairs_in_words(model)}"
    people = in_each_round(people, mechanism.stated())
    if isinstance(mechanism, CuratorNoise):
        return f"{people}, and trusts a curator, who adds noise to the sums and releases only these"
    if isinstance(mechanism, ShuffledResponse):
        return (
            f"{people}; every answer is made private before it leaves the person, and a shuffler "
            "is trusted, who mixes the answers of all"
        )
    if not isinstance(mechanism, Budgets):
        return f"{people}, and says so openly"
    private = f"{people}; every answer is made private before it leaves the person"
    if len(mechanism.users) == 1:
        return private
    groups = [
        f"{users:,} people at {budget:.4g} nats an answer"
        for users, budget in zip(mechanism.users, mechanism.budgets, strict=True)
    ]
    return f"{private} ({', '.join(groups)})"


def _pairs_in_words(model: BTL) -> str:
    """Which pairs a person compares."""
    if model.m == 2:
        return "the only pair of 2 items, once"
    pairs = f"{model.m * (model.m - 1) // 2:,} pairs of {model.m:,} items"
    if model.survey is None:
        return f"all {pairs}, once"
    questions = model.survey.questions
    some = "one" if questions == 1 else f"{questions:,}"
    if model.survey.design == "balanced":
        return f"{some} of the {pairs}, so that every pair is compared equally often"
    return f"{some} of the {pairs}, drawn at random for each person"


ADVICE = Advice(
    answers="which of two things they prefer",
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of one comparison", 1e-3, 20, 1.0),
        "person": Unknown("person", "privacy budget of all answers of a person", 1e-3, 100, 1.0),
        "people": Unknown("L", "users, each of whom compares pairs", 1, 1e8, 1000),
        "items": Unknown("m", "items", 3, 200, 20, helps=None),
        "questions": Unknown(
            "questions", "pairs that each user compares", 1, 20_000, 1, helps=None
        ),
    },
    parameters={"model": "btl", "mechanism": "randomized_response"},
    estimators=("weighted",),
    recorded={"model": "pooled", "data_items": None, "most_items": 100, "most_answers": None},
    derive={"m": "file_items", "L": "file_users", "given": "file_answers"},
    predicted={"kendall": kendall, "error_l2": error_l2, "error_inf": error_inf},
    stress=stress,
    survey=survey,
    needed=("K",),
    decisions={
        "kendall": "share of pairs of items in the wrong order",
        "exact_top_k": "chance that the top {K} of the items is found without a mistake",
        "hamming_top_k": "share of the top {K} of the items that is missed",
        "error_l2": "root mean square error of the scores, in logits",
        "error_inf": "largest error of a score, in logits",
    },
    plans=(
        Plan(NOBODY, {"mechanism": "randomized_response"}),
        Plan(NOBODY, {"mechanism": "laplace"}),
        Plan(SHUFFLER, {"mechanism": "shuffled_response"}),
        Plan(CURATOR, {"mechanism": "noisy_counts"}),
        Plan(CURATOR, {"mechanism": "noisy_scores"}),
    ),
    atlas=AtlasGrid(
        {
            "L": (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000),
            "m": (5, 10, 20, 50),
            "epsilon": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        },
        ("randomized_response", "laplace"),
        ("kendall", "hamming_top_k", "exact_top_k", "error_l2", "error_inf"),
        halves={"K": "m"},
    ),
    promises=AtlasGrid(
        {
            "L": (20, 50, 100, 300, 1000, 3000, 10_000),
            "m": (5, 10, 20, 50),
            "questions": (1, 2, 4, 8),
            "person": (0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
        },
        ("randomized_response", "shuffled_response", "noisy_counts", "noisy_scores"),
        ("kendall", "exact_top_k", "error_l2", "error_inf"),
        halves={"K": "m"},
        all_questions=("shuffled_response", "noisy_counts", "noisy_scores"),
    ),
)
