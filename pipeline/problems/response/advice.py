"""What `task=advise` asks of item responses, and where it starts."""

from collections.abc import Mapping
from typing import Any

from pipeline.study.advice import Advice, Atlas, Unknown

from .model import Rasch


def stress(model: Any) -> Mapping[str, Mapping[str, Any]]:
    """How persons and items may differ from `rasch`; nothing for data of one's own."""
    if not isinstance(model, Rasch):
        return {}
    width = "spacing" if model.item_law == "spaced" else "item_spread"
    cases: dict[str, dict[str, Any]] = {
        "difficulties of the items 2/3 as far apart": {width: getattr(model, width) * 2 / 3},
        "difficulties of the items 1.5 times as far apart": {width: getattr(model, width) * 1.5},
        "abilities of the persons 1.5 times as far apart": {"person_spread": model.person_spread * 1.5},
    }
    return cases if type(model) is not Rasch else {
        **cases,
        "abilities of all persons lower by 1": {"model": "misspecified", "ability_shift": -1.0},
        "a tenth of the answers by a fair coin": {"model": "misspecified", "at_random": 0.1},
        "wrong answers left out, up to half, by item": {"model": "misspecified", "left_out": 0.5,
                                                        "p": min(model.p, 0.999)},
    }


ADVICE = Advice(
    unknowns={
        "epsilon": Unknown("epsilon_user", "privacy budget of all responses of a person", 1e-2, 2000, 5.0),
        "people": Unknown("n", "persons", 2, 1e7, 1000),
        "items": Unknown("m", "items", 3, 200, 20, helps=None),
        "missing": Unknown("p", "share of the responses that are missing", 1e-3, 1, 0.5, left=True),
    },
    parameters={"model": "rasch", "mechanism": "discrete_gaussian"},
    estimators=("spectral_debiased", "pairwise_likelihood"),
    recorded={"model": "recorded", "other_ratings": True},
    derive={"n": "file_persons", "m": "file_items"},
    stress=stress,
    atlas=Atlas(
        {"n": (100, 300, 1000, 3000, 10_000), "m": (5, 10, 20, 50), "p": (0.2, 0.35, 0.6, 1),
         "epsilon_user": (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)},
        ("discrete_gaussian", "discrete_laplace", "randomized_response"),
        ("kendall", "hamming_top_k", "exact_top_k", "error_l2", "error_inf")),
)
