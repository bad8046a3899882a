"""What `task=advise` asks of crowds, and where it starts."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.study.advice import Advice, Atlas, Unknown

from .model import DawidSkene


def stress(model: Any) -> Mapping[str, Mapping[str, Any]]:
    """How workers and tasks may differ from `dawid_skene`; nothing for data of one's own."""
    if not isinstance(model, DawidSkene):
        return {}
    cases = {**dict(_spread(model)), "nine labels in ten are 1": {"label_prior": 0.9}}
    return cases if type(model) is not DawidSkene else {
        **cases,
        "abilities a fifth closer to guessing": {"model": "misspecified", "ability_loss": 0.2},
        "a tenth of the workers by fair coins": {"model": "misspecified", "at_random": 0.1},
        "a third of the answers that say label 1 left out": {"model": "misspecified", "left_out": 1 / 3},
    }


def _spread(model: DawidSkene) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Abilities of the same mean with another standard deviation, beta variables, where there are any."""
    if model.ability_law == "beta":
        total = model.ability_a + model.ability_b
        mean, deviation = model.ability_a / total, (model.ability_a * model.ability_b / (total + 1)) ** 0.5 / total
    elif model.ability_law in ("uniform", "ends"):
        mean, half = (model.ability_low + model.ability_high) / 2, (model.ability_high - model.ability_low) / 2
        deviation = half / (3**0.5 if model.ability_law == "uniform" else 1)
    else:
        return
    for name, factor in (("2/3", 2 / 3), ("1.5 times", 1.5)):
        if 0 < (factor * deviation) ** 2 < mean * (1 - mean):
            total = mean * (1 - mean) / (factor * deviation) ** 2 - 1
            yield (f"abilities of the same mean {name} as far apart",
                   {"ability_law": "beta", "ability_a": mean * total, "ability_b": (1 - mean) * total})


ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon", "privacy budget of one answer", 1e-3, 20, 1.0),
        "people": Unknown("n", "workers", 1, 1e7, 50),
        "items": Unknown("m", "tasks", 1, 1e6, 100, helps=None),
        "missing": Unknown("answered", "share of the answers that are missing", 1e-3, 1, 0.5, left=True),
    },
    parameters={"model": "dawid_skene", "mechanism": "randomized_response"},
    estimators=("known_flip",),
    recorded={"model": "recorded", "data_truth": None},
    derive={"n": "crowd_workers", "m": "crowd_tasks", "given": "file_answers"},
    stress=stress,
    atlas=Atlas(
        {"n": (10, 30, 100, 300, 1000, 3000, 10_000), "m": (5, 15, 50), "answered": (0.1, 0.2, 0.45, 1),
         "epsilon": (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 8)},
        ("randomized_response",), ("label_error", "label_recovered", "ability_error_l2", "ability_error_inf")),
)
