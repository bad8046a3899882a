"""What `task=advise` asks of item responses, and where it starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, ndtr

from pipeline.privacy.accounting import zcdp_rho
from pipeline.privacy.integer_laws import laplace_variance
from pipeline.problems.common.person import in_each_round
from pipeline.study.advice import Advice, AtlasGrid, Plan, Unknown
from pipeline.study.arrays import Floats
from pipeline.study.designs import of_design
from pipeline.study.guarantee import CURATOR, NOBODY, SHUFFLER
from pipeline.study.protocols import Mechanism

from .design import Design
from .mechanisms.noisy_differences import NoisyDifferences
from .mechanisms.randomized_response import RandomizedResponse
from .mechanisms.shuffled import ShuffledResponse
from .model import ItemParameters, Rasch
from .questions import budget_of_person
from .theory.cramer_rao import cramer_rao_risk
from .theory.noise_risk import expected_counts, noise_risk
from .theory.sensitivity import laplace_scale, noise_variance

if TYPE_CHECKING:
    from .data.recorded import RecordedResponses

DRAWN = 10  # sets of difficulties over which predictions are averaged
DELTA = 1e-4  # of the Gaussian, unless another is given, which hardly matters here


@dataclass(frozen=True)
class Request:
    """What is predicted, beside the design: the mechanism, the estimator, a person's budget."""

    mechanism: str
    estimator: str
    epsilon_user: float | None
    person: float | None
    rounds: int

    @property
    def budget(self) -> float:
        """Budget of all responses of a person, by either name; ValueError without one."""
        return budget_of_person(self.epsilon_user, self.person)


def _risk(request: Request, design: Design) -> tuple[Floats, Floats]:
    """Difficulties β*, (DRAWN, m), and the predicted mean of ‖β̂ − β*‖₂²/m, (DRAWN,), logits².

    The same every time. The Cramér–Rao bound of responses without
    privacy and what the noise adds (`theory.noise_risk`); with
    randomized response the bound times coth²(ε/2k), by which
    flips multiply the variance of a response. A person who
    answers k of m items tells (k − 1)/(m − 1) of what all m
    answers do, of equal items, and is counted in as many pairs as
    these k have. ValueError for other mechanisms.
    """
    rng = np.random.default_rng(0)
    model = design.model
    truth = model.truth(rng, DRAWN, rng)
    epsilon = request.budget
    answers = design.answers
    composed = answers * request.rounds
    if request.estimator == "item_shares":
        return truth.theta, _share_risk(request, design, truth)
    share = design.n / model.n
    share_told = (answers - 1) / (design.m - 1)
    bound = cramer_rao_risk(truth.theta, truth.ability, model.p) / (share * share_told)
    if request.mechanism == "randomized_response":
        return truth.theta, bound / np.tanh(epsilon / 2 / composed) ** 2
    variance = _noise_variance(request, design)
    both = share_told * answers / design.m
    counts = share * both * expected_counts(truth.theta, truth.ability, model.p)
    kind = "spectral"
    if request.estimator == "pairwise_likelihood":
        kind = request.estimator
    added = noise_risk(kind, truth.theta, counts, np.full(DRAWN, variance))
    return truth.theta, bound + added


def _noise_variance(request: Request, design: Design) -> float:
    """Variance of the noise on a count of a pair; ValueError where there is none."""
    mechanism = request.mechanism
    m = design.m
    answers = design.answers
    if mechanism == "discrete_gaussian":
        rho = zcdp_rho(request.budget, DELTA) / request.rounds
        return float(noise_variance(rho, "tight", m, "replace_one", questions=answers))
    if mechanism in ("discrete_laplace", "noisy_differences"):
        epsilon = request.budget / request.rounds
        scale = laplace_scale(epsilon, "tight", m, "replace_one", questions=answers)
        return laplace_variance(float(scale))
    raise ValueError(f"nothing is predicted for {mechanism}")


def _share_risk(request: Request, design: Design, truth: ItemParameters) -> Floats:
    """Predicted risk of `item_shares`, (DRAWN,): of a share, over the square of its slope."""
    if request.mechanism != "randomized_response":
        raise ValueError(f"nothing is predicted for {request.mechanism}")
    answers = design.answers
    right = expit(truth.ability[:, :, None] - truth.theta[:, None])
    share = right.mean(axis=1)
    slope = (right * (1 - right)).mean(axis=1)
    composed = answers * request.rounds
    flips = 1 / (4 * np.sinh(request.budget / 2 / composed) ** 2)
    answered = design.n * design.p * answers / design.m
    risk: Floats = ((share * (1 - share) + flips) / (answered * slope**2)).mean(axis=1)
    return risk


# Parameters of a design in predictions, with defaults as those of the model.
predicted = of_design(
    "n m p item_law item_spread spacing person_spread questions",
    p=1.0,
    item_law="normal",
    item_spread=1.0,
    spacing=0.1,
    person_spread=1.0,
    questions=None,
)


@predicted
def error_l2(
    mechanism: str,
    estimator: str,
    design: Design,
    epsilon_user: float | None = None,
    person: float | None = None,
    rounds: int = 1,
) -> float:
    """Predicted mean of ‖β̂ − β*‖₂/√m, the root of the mean risk, logits."""
    request = Request(mechanism, estimator, epsilon_user, person, rounds)
    _, risk = _risk(request, design)
    return float(np.sqrt(risk.mean()))


@predicted
def error_inf(
    mechanism: str,
    estimator: str,
    design: Design,
    epsilon_user: float | None = None,
    person: float | None = None,
    rounds: int = 1,
) -> float:
    """Predicted mean of ‖β̂ − β*‖∞.

    Of m equal Gaussian errors the largest is about √(2 log 2m)
    times their size.
    """
    request = Request(mechanism, estimator, epsilon_user, person, rounds)
    _, risk = _risk(request, design)
    return float(np.sqrt(2 * np.log(2 * design.m) * risk.mean()))


@predicted
def kendall(
    mechanism: str,
    estimator: str,
    design: Design,
    epsilon_user: float | None = None,
    person: float | None = None,
    rounds: int = 1,
) -> float:
    """Predicted mean Kendall distance, of equal Gaussian errors of size s.

    The mean over pairs of Φ(−|β_i − β_j|/(s√2)).
    """
    request = Request(mechanism, estimator, epsilon_user, person, rounds)
    theta, risk = _risk(request, design)
    first, second = np.triu_indices(design.m, 1)
    gap = np.abs(theta[:, first] - theta[:, second])
    return float(ndtr(-gap / np.sqrt(2 * risk)[:, None]).mean())


def stress(model: object) -> Mapping[str, Mapping[str, Any]]:
    """How persons and items may differ from `rasch`; nothing for data of one's own."""
    if not isinstance(model, Rasch):
        return {}
    width = "spacing" if model.item_law == "spaced" else "item_spread"
    cases: dict[str, dict[str, Any]] = {
        "difficulties of the items 2/3 as far apart": {width: getattr(model, width) * 2 / 3},
        "difficulties of the items 1.5 times as far apart": {width: getattr(model, width) * 1.5},
        "abilities of the persons 1.5 times as far apart": {
            "person_spread": model.person_spread * 1.5
        },
    }
    if type(model) is not Rasch:
        return cases
    lower = {"model": "misspecified", "ability_shift": -1.0}
    by_coin = {"model": "misspecified", "at_random": 0.1}
    left_out = {"model": "misspecified", "left_out": 0.5, "p": min(model.p, 0.999)}
    return {
        **cases,
        "abilities of all persons lower by 1": lower,
        "a tenth of the answers by a fair coin": by_coin,
        "wrong answers left out, up to half, by item": left_out,
    }


def survey(model: "Rasch | RecordedResponses", mechanism: Mechanism) -> str:
    """Who answers what, and who makes it private, in one sentence."""
    people = in_each_round(_people_in_words(model), mechanism.stated())
    if isinstance(mechanism, ShuffledResponse):
        return (
            f"{people}; every answer is flipped at times before it leaves the person, and a "
            "shuffler mixes the messages of all people"
        )
    if isinstance(mechanism, RandomizedResponse):
        return f"{people}; every answer is made private before it leaves the person"
    if isinstance(mechanism, NoisyDifferences):
        return (
            f"{people}; somebody who is trusted sees all answers, and adds noise "
            "to what is published"
        )
    return f"{people}; answers are seen as they are"


def _people_in_words(model: "Rasch | RecordedResponses") -> str:
    """Who answers what."""
    if not isinstance(model, Rasch):
        return (
            f"{model.n:,} people are drawn anew, with replacement, from your own data: "
            f"{model.source.rstrip('.')}"
        )
    survey_of_some = model.survey
    if survey_of_some is None and model.p < 1:
        return (
            f"each of {model.n:,} people answers any of {model.m:,} items with "
            f"probability {model.p:g}"
        )
    if survey_of_some is None:
        return f"each of {model.n:,} people answers all {model.m:,} items"
    questions = survey_of_some.questions
    some = "one" if questions == 1 else f"{questions:,}"
    people = f"each of {model.n:,} people answers {some} of the {model.m:,} items"
    if model.p < 1:
        people = f"{people}, each with probability {model.p:g}"
    if survey_of_some.design == "balanced":
        return f"{people}, so that every item is answered equally often"
    return f"{people}, drawn at random for each person"


ADVICE = Advice(
    answers="the questions of a questionnaire or a test, right or wrong, yes or no",
    unknowns={
        "epsilon": Unknown(
            "epsilon_user", "privacy budget of all responses of a person", 1e-2, 2000, 5.0
        ),
        "person": Unknown("person", "the same, by the name of all problems", 1e-2, 2000, 5.0),
        "people": Unknown("n", "persons", 2, 1e7, 1000),
        "items": Unknown("m", "items", 3, 200, 20, helps=None),
        "questions": Unknown(
            "questions", "items that each person answers", 1, 10_000, 2, helps=None
        ),
        "missing": Unknown("p", "share of the responses that are missing", 1e-3, 1, 0.5, left=True),
    },
    parameters={"model": "rasch", "mechanism": "discrete_gaussian"},
    estimators=("spectral_debiased", "pairwise_likelihood"),
    recorded={"model": "recorded", "other_ratings": True},
    derive={"n": "file_persons", "m": "file_items"},
    predicted={"kendall": kendall, "error_l2": error_l2, "error_inf": error_inf},
    stress=stress,
    survey=survey,
    needed=("K",),
    decisions={
        "kendall": "share of pairs of items whose difficulties are in the wrong order",
        "exact_top_k": "chance that the {K} most difficult items are found, all of them",
        "hamming_top_k": "share of the {K} most difficult items that are missed",
        "error_l2": "root mean square error of the difficulties, in logits",
        "error_inf": "largest error of a difficulty, in logits",
    },
    plans=(
        Plan(NOBODY, {"mechanism": "randomized_response", "estimator": "item_shares"}),
        Plan(NOBODY, {"mechanism": "randomized_response"}),
        Plan(SHUFFLER, {"mechanism": "shuffled_response"}),
        Plan(CURATOR, {"mechanism": "noisy_differences"}),
    ),
    atlas=AtlasGrid(
        {
            "n": (100, 300, 1000, 3000, 10_000),
            "m": (5, 10, 20, 50),
            "p": (0.2, 0.35, 0.6, 1),
            "epsilon_user": (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000),
        },
        ("discrete_gaussian", "discrete_laplace", "randomized_response"),
        ("kendall", "hamming_top_k", "exact_top_k", "error_l2", "error_inf"),
        halves={"K": "m"},
    ),
    promises=AtlasGrid(
        {
            "n": (100, 300, 1000, 3000, 10_000),
            "m": (5, 10, 20),
            "questions": (1, 2, 5),
            "person": (0.3, 1, 3, 10, 30, 100),
        },
        ("randomized_response", "shuffled_response", "noisy_differences"),
        ("kendall", "exact_top_k", "error_l2"),
        halves={"K": "m"},
        all_questions=("shuffled_response", "noisy_differences"),
    ),
)
