"""Parameters that a config derives from others, and coordinates for figures.

n persons, m items, each response observed with probability p. ε is that of
all responses of a person. Source: Nguyen and Zhang, who leave constants
open.
"""

from typing import Annotated

import numpy as np

from pipeline.study.parameters import InvalidInput, nearest

_GRAPHS = ("dense", "sparse")


def edge_probability(graph: Annotated[str, "pairs of items that are released"], m: int) -> float:
    """Edge probability of the public graph: 1 for `dense`, log₂(m)/m for `sparse`.

    Raises `InvalidInput` for others.
    Source: Nguyen and Zhang, §4.3 (of order log m/m) and their experiments.
    """
    if graph not in _GRAPHS:
        raise InvalidInput("graph", graph, nearest(graph, _GRAPHS))
    if graph == "dense":
        return 1.0
    return min(1.0, float(np.log2(m)) / m)


def conversion_of(calibration: Annotated[str, "sensitivity that is charged"]) -> str:
    """How ε at δ becomes zCDP: by the paper's shortcut with its calibration, else tightly."""
    return "paper" if calibration == "paper" else "tight"


def observations(n: int, p: float) -> Annotated[float, "responses per item np", "1"]:
    """Responses per item np; broadcasts. Source: Nguyen and Zhang, Theorem 3.1."""
    return n * p


def private_size(
    n: int, m: int, p: float, epsilon_user: float
) -> Annotated[float, "np²ε²/m², persons over the theorem's order", "1"]:
    """np²ε²/m²: persons over the order from which on the theorem has privacy for free; broadcasts.

    Source: Nguyen and Zhang, supplement, Theorem 3.3: privacy costs a
    constant only once np² ≳ m²/ε².
    """
    return n * (p * epsilon_user / m) ** 2


def recovery_signal(
    n: int, m: int, p: float, spacing: float
) -> Annotated[float, "npΔ²/log m, which decides the top K", "1"]:
    """npΔ²/log m; broadcasts. Source: Nguyen and Zhang, Theorems 3.2 and 3.4."""
    signal: float = n * p * spacing**2 / np.log(m)
    return signal


def _whole(name: str, value: float, persons: float) -> int:
    """Persons rounded; outside 1 to 10⁷ InvalidInput, naming the parameter they follow from."""
    if not 1 <= persons < 1e7:
        raise InvalidInput(name, value, f"asks for {persons:.3g} persons; must ask for 1 to 10⁷")
    return round(float(persons))


def persons_from_recovery(
    recovery: Annotated[float, "npΔ²/log m"],
    m: int,
    p: float,
    spacing: Annotated[float, "gap Δ between neighbours in β*, logits"],
) -> int:
    """Persons n = recovery·log m/(pΔ²), rounded; InvalidInput outside 1 to 10⁷."""
    return _whole("recovery", recovery, recovery * np.log(m) / (p * spacing**2))


def persons_from_density(
    density: Annotated[float, "np²/log m, pairs of responses over Theorem 3.1's order"],
    m: int,
    p: float,
) -> int:
    """Persons n = density·log m/p², rounded; InvalidInput outside 1 to 10⁷.

    Source: Nguyen and Zhang, Theorem 3.1.
    """
    return _whole("density", density, density * np.log(m) / p**2)


def budget_from_item_noise(item_noise: Annotated[float, "m/ε²"], m: int) -> float:
    """ε = √(m/item_noise), nats; InvalidInput unless item_noise is positive and finite."""
    if not 0 < item_noise < np.inf:
        raise InvalidInput("item_noise", item_noise, "must be a number > 0, and finite")
    return float(np.sqrt(m / item_noise))


def persons_from_item_size(
    item_size: Annotated[float, "np²ε²/m"], item_noise: Annotated[float, "m/ε²"], p: float
) -> int:
    """Persons n = item_size·item_noise/p², rounded; InvalidInput outside 1 to 10⁷."""
    return _whole("item_size", item_size, item_size * item_noise / p**2)
