"""What `task=advise` asks of crowds, and where it starts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from pipeline.privacy.composition import answer_budget
from pipeline.privacy.shuffling import shuffled_answer_budget
from pipeline.problems.common.person import in_each_round
from pipeline.study.advice import Advice, AtlasGrid, Plan, Unknown
from pipeline.study.arrays import Floats
from pipeline.study.designs import of_design
from pipeline.study.guarantee import CURATOR, NOBODY, SHUFFLER
from pipeline.study.protocols import Mechanism

from .design import asked_of_worker
from .mechanisms.curator import NoisyVotes
from .mechanisms.protected_votes import ProtectedVotes
from .mechanisms.randomized_response import RandomizedResponse
from .mechanisms.shuffled import ShuffledResponse
from .model import DawidSkene
from .theory.wisdom import private_ability

if TYPE_CHECKING:
    from .data.recorded import RecordedCrowd

DELTA = 1e-6  # of a shuffler's promise, where no other is given
# Abilities over which predictions are averaged, of as many workers or of a sample.
DRAWN = 1000


@dataclass(frozen=True)
class Asked:
    """Who is asked what, and how it is protected: parameters of the model and the mechanisms."""

    n: int
    m: int = 1
    epsilon: float | None = None
    person: float | None = None
    person_delta: float = 0.0
    questions: int | None = None
    mechanism: str = "randomized_response"
    votes: str = "counts"
    neighbours_are: str = "replace_one"
    rounds: int = 1
    answered: float = 1.0
    ability_law: str = "uniform"
    ability_low: float = 0.5
    ability_high: float = 1.0
    ability_a: float = 4.0
    ability_b: float = 2.0
    expert_exponent: float = 0.4
    expert_ability: float = 1.0

    @property
    def model(self) -> DawidSkene:
        """Workers whose abilities are averaged over, of one task."""
        return DawidSkene(
            n=min(self.n, DRAWN),
            m=1,
            ability_law=self.ability_law,
            ability_low=self.ability_low,
            ability_high=self.ability_high,
            ability_a=self.ability_a,
            ability_b=self.ability_b,
            expert_exponent=self.expert_exponent,
            expert_ability=self.expert_ability,
        )


@of_design()
def label_error(design: Asked) -> float:
    """Predicted mean share of wrong labels: of a vote, if it is Gaussian.

    A worker answers with probability q, `answered` times
    the share of tasks asked for, and adds w to the vote:
    ±log(r/(1 − r)) in the vote that knows the private
    abilities r, where workers answer all tasks and answers
    are released, or else ±1. Votes may have a curator's
    noise of variance v. The error is Φ(−μ/s) with μ = Σ q w
    (2r − 1), s² = v + Σ q w² − (q w (2r − 1))². The same
    abilities every time. NaN where no budget is known.
    """
    return _label_error(design)


def _label_error(design: Asked) -> float:
    model = design.model
    rng = np.random.default_rng(0)
    abilities = model.truth(rng, 1, rng).abilities[0]
    asked_for = asked_of_worker("questions", design.questions, design.m)
    presence = design.answered * asked_for / design.m
    times = design.n / len(abilities)
    if design.mechanism == "noisy_votes":
        if design.person is None:
            return np.nan
        noise = ProtectedVotes(
            design.person,
            design.person_delta,
            design.neighbours_are,
            design.votes,
            design.rounds,
        )
        alike = np.ones(len(abilities))
        return _vote_error(abilities, alike, presence, times, noise.variance(asked_for))
    epsilon = design.epsilon
    composed = asked_for * design.rounds
    if design.mechanism == "shuffled_response" and design.person is not None:
        reports = max(1, design.n * asked_for // design.m)
        delta = design.person_delta or DELTA
        epsilon = shuffled_answer_budget(design.person, composed, delta, reports)
    elif design.person is not None:
        epsilon = answer_budget(design.person, composed, design.person_delta)
    if epsilon is None:
        return np.nan
    right = np.clip(private_ability(abilities, epsilon), 1e-9, 1 - 1e-9)
    weight = np.log(right / (1 - right))
    if design.questions is not None or design.mechanism == "shuffled_response":
        weight = np.ones(len(right))
    return _vote_error(right, weight, presence, times)


def _vote_error(
    right: Floats, weight: Floats, presence: float, times: float, noise: float = 0.0
) -> float:
    """Φ(−μ/s) of a weighted vote by `times` as many workers, and noise of some variance."""
    means = presence * weight * (2 * right - 1)
    spread = times * float((presence * weight**2 - means**2).sum()) + noise
    return float(ndtr(-times * means.sum() / np.sqrt(spread)))


@of_design()
def label_recovered(design: Asked) -> float:
    """Predicted chance that no label is wrong: of m labels that err by
    themselves, see `label_error`.
    """
    return float((1 - _label_error(design)) ** design.m)


def stress(model: object) -> Mapping[str, Mapping[str, Any]]:
    """How workers and tasks may differ from `dawid_skene`; nothing for data of one's own."""
    if not isinstance(model, DawidSkene):
        return {}
    cases = {**dict(_spread(model)), "nine labels in ten are 1": {"label_prior": 0.9}}
    if type(model) is not DawidSkene:
        return cases
    return cases | {
        "abilities a fifth closer to guessing": {"model": "misspecified", "ability_loss": 0.2},
        "a tenth of the workers by fair coins": {"model": "misspecified", "at_random": 0.1},
        "a third of the answers that say label 1 left out": {
            "model": "misspecified",
            "left_out": 1 / 3,
        },
    }


def _spread(model: DawidSkene) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Abilities of the same mean with another standard deviation, beta variables,
    where there are any.
    """
    if model.ability_law == "beta":
        total = model.ability_a + model.ability_b
        mean = model.ability_a / total
        deviation = (model.ability_a * model.ability_b / (total + 1)) ** 0.5 / total
    elif model.ability_law in ("uniform", "ends"):
        mean = (model.ability_low + model.ability_high) / 2
        half = (model.ability_high - model.ability_low) / 2
        deviation = half / 3**0.5 if model.ability_law == "uniform" else half
    else:
        return
    for name, factor in (("2/3", 2 / 3), ("1.5 times", 1.5)):
        variance = (factor * deviation) ** 2
        largest = mean * (1 - mean)
        if 0 < variance < largest:
            total = largest / variance - 1
            shapes = {"ability_a": mean * total, "ability_b": (1 - mean) * total}
            yield (
                f"abilities of the same mean {name} as far apart",
                {"ability_law": "beta", **shapes},
            )


def survey(model: "DawidSkene | RecordedCrowd", mechanism: Mechanism) -> str:
    """Who labels what, and who makes it private, in one sentence."""
    if not isinstance(model, DawidSkene):
        people = (
            f"nobody is asked anew, answers are those of {model.n:,} workers: "
            f"{model.source.rstrip('.')}"
        )
    else:
        people = f"each of {model.n:,} workers labels {_tasks_in_words(model)}"
    people = in_each_round(people, mechanism.stated())
    if isinstance(mechanism, NoisyVotes):
        return (
            f"{people}, and trusts a curator, who adds noise to the votes on each task and "
            "releases only these"
        )
    if isinstance(mechanism, ShuffledResponse):
        return (
            f"{people}; every answer is made private before it leaves the worker, who trusts a "
            "shuffler to mix it with all others"
        )
    if isinstance(mechanism, RandomizedResponse):
        return f"{people}; every answer is made private before it leaves the worker"
    return f"{people}; answers are seen as they are"


def _tasks_in_words(model: DawidSkene) -> str:
    """Which tasks a worker labels."""
    questions = asked_of_worker("questions", model.questions, model.m)
    chance = ""
    if model.answered < 1:
        chance = f", each with probability {model.answered:g}"
    if questions == model.m and model.answered < 1:
        return f"any of {model.m:,} tasks, yes or no, with probability {model.answered:g}"
    if questions == model.m:
        return f"all {model.m:,} tasks, yes or no"
    some = "one" if questions == 1 else f"{questions:,}"
    how = "drawn at random for each worker"
    if model.design == "balanced":
        how = "so that every task is labelled equally often"
    return f"{some} of the {model.m:,} tasks, yes or no, {how}{chance}"


ADVICE = Advice(
    answers="labels of tasks, yes or no, as a crowd gives them",
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of one answer", 1e-3, 20, 1.0),
        "person": Unknown("person", "privacy budget of all answers of a worker", 1e-3, 100, 1.0),
        "people": Unknown("n", "workers", 1, 1e7, 50),
        "items": Unknown("m", "tasks", 1, 1e6, 100, helps=None),
        "questions": Unknown("questions", "tasks that each worker labels", 1, 1e6, 5, helps=None),
        "missing": Unknown(
            "answered", "share of the answers that are missing", 1e-3, 1, 0.5, left=True
        ),
    },
    parameters={"model": "dawid_skene", "mechanism": "randomized_response"},
    estimators=("known_flip", "majority_vote"),
    recorded={"model": "recorded", "data_truth": None},
    derive={"n": "crowd_workers", "m": "crowd_tasks", "given": "file_answers"},
    predicted={"label_error": label_error, "label_recovered": label_recovered},
    stress=stress,
    survey=survey,
    decisions={
        "label_error": "share of the labels that are wrong",
        "label_recovered": "chance that no label is wrong",
        "ability_error_l2": "root mean square error of the workers' abilities",
        "ability_error_inf": "largest error of a worker's ability",
    },
    plans=(
        Plan(NOBODY, {"mechanism": "randomized_response"}),
        Plan(SHUFFLER, {"mechanism": "shuffled_response"}),
        Plan(CURATOR, {"mechanism": "noisy_votes"}),
    ),
    atlas=AtlasGrid(
        {
            "n": (10, 30, 100, 300, 1000, 3000, 10_000),
            "m": (5, 15, 50),
            "answered": (0.1, 0.2, 0.45, 1),
            "epsilon": (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8),
        },
        ("randomized_response",),
        ("label_error", "label_recovered", "ability_error_l2", "ability_error_inf"),
    ),
    promises=AtlasGrid(
        {
            "n": (10, 30, 100, 300, 1000, 3000),
            "m": (5, 15, 50),
            "questions": (1, 2, 5),
            "person": (0.2, 0.5, 1, 2, 5, 10),
        },
        ("randomized_response", "shuffled_response", "noisy_votes"),
        ("label_error", "label_recovered"),
        all_questions=("shuffled_response", "noisy_votes"),
    ),
)
