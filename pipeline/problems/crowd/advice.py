"""What `task=advise` asks of crowds, and where it starts."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr

from pipeline.study.advice import Advice, Atlas, Unknown

from .mechanisms.randomized_response import RandomizedResponse
from .model import DawidSkene
from .theory.wisdom import private_ability

DRAWN = 1000  # abilities over which predictions are averaged, of as many workers or of a sample


def label_error(
    n: int,
    epsilon: float,
    answered: float = 1.0,
    ability_law: str = "uniform",
    ability_low: float = 0.5,
    ability_high: float = 1.0,
    ability_a: float = 4.0,
    ability_b: float = 2.0,
    expert_exponent: float = 0.4,
    expert_ability: float = 1.0,
) -> float:
    """Predicted mean share of wrong labels: of the vote that knows the private
    abilities r, if it is Gaussian.

    A worker adds w = ±log(r/(1 − r)) with probability q = `answered`: the error is
    Φ(−μ/s) with μ = Σ q w (2r − 1), s² = Σ q w² − (q w (2r − 1))². The same abilities
    every time.
    """
    model = DawidSkene(
        n=min(n, DRAWN),
        m=1,
        ability_law=ability_law,
        ability_low=ability_low,
        ability_high=ability_high,
        ability_a=ability_a,
        ability_b=ability_b,
        expert_exponent=expert_exponent,
        expert_ability=expert_ability,
    )
    rng = np.random.default_rng(0)
    right = np.clip(private_ability(model.truth(rng, 1, rng).abilities[0], epsilon), 1e-9, 1 - 1e-9)
    weight = np.log(right / (1 - right))
    means = answered * weight * (2 * right - 1)
    spread = float((answered * weight**2 - means**2).sum())
    return float(ndtr(-means.sum() * np.sqrt(n / len(right) / spread)))


def label_recovered(
    n: int,
    m: int,
    epsilon: float,
    answered: float = 1.0,
    ability_law: str = "uniform",
    ability_low: float = 0.5,
    ability_high: float = 1.0,
    ability_a: float = 4.0,
    ability_b: float = 2.0,
    expert_exponent: float = 0.4,
    expert_ability: float = 1.0,
) -> float:
    """Predicted chance that no label is wrong: of m labels that err by themselves,
    see `label_error`.
    """
    wrong = label_error(
        n,
        epsilon,
        answered,
        ability_law,
        ability_low,
        ability_high,
        ability_a,
        ability_b,
        expert_exponent,
        expert_ability,
    )
    return float((1 - wrong) ** m)


def stress(model: Any) -> Mapping[str, Mapping[str, Any]]:
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


def survey(model: Any, mechanism: Any) -> str:
    """Who labels what, and who makes it private, in one sentence."""
    if not isinstance(model, DawidSkene):
        people = (
            f"nobody is asked anew, answers are those of {model.n:,} workers: "
            f"{model.source.rstrip('.')}"
        )
    elif model.answered < 1:
        people = (
            f"each of {model.n:,} workers labels any of {model.m:,} tasks, yes or no, with "
            f"probability {model.answered:g}"
        )
    else:
        people = f"each of {model.n:,} workers labels all {model.m:,} tasks, yes or no"
    if isinstance(mechanism, RandomizedResponse):
        return f"{people}; every answer is made private before it leaves the worker"
    return f"{people}; answers are seen as they are"


ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of one answer", 1e-3, 20, 1.0),
        "people": Unknown("n", "workers", 1, 1e7, 50),
        "items": Unknown("m", "tasks", 1, 1e6, 100, helps=None),
        "missing": Unknown(
            "answered", "share of the answers that are missing", 1e-3, 1, 0.5, left=True
        ),
    },
    parameters={"model": "dawid_skene", "mechanism": "randomized_response"},
    estimators=("known_flip",),
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
    atlas=Atlas(
        {
            "n": (10, 30, 100, 300, 1000, 3000, 10_000),
            "m": (5, 15, 50),
            "answered": (0.1, 0.2, 0.45, 1),
            "epsilon": (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8),
        },
        ("randomized_response",),
        ("label_error", "label_recovered", "ability_error_l2", "ability_error_inf"),
    ),
)
