"""Rates of the private Rasch model, and the sizes and budgets that studies derive from them: Nguyen and Zhang.

n persons, m items, each response observed with probability p: P(X_li = 1) = σ(θ_l − β_i), Σβ = 0. The paper
leaves constants open: rates have constant 1 and are for slopes and orders only. ε here is that of all responses
of a person.
"""

from typing import Annotated

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, nearest

_GRAPHS = ("dense", "sparse")


def linf_rate(n: float | Floats, m: float | Floats, p: float | Floats) -> float | Floats:
    """Upper rate √(log m/(np)) of ‖β̂ − β*‖∞, constant 1, logits; broadcasts.

    Holds where np² ≳ log m and mp ≳ log n. Source: Nguyen and Zhang, Theorem 3.1.
    """
    rate: float | Floats = np.sqrt(np.log(m) / (n * p))
    return rate


def minimax_rate(n: float | Floats, m: float | Floats, p: float | Floats) -> float | Floats:
    """Lower rate m/(np) of the worst-case mean ‖β̂ − β*‖₂², constant 1, logits²; broadcasts.

    Source: Nguyen and Zhang, Theorem 3.3.
    """
    return m / (n * p)


def edge_probability(graph: Annotated[str, "pairs of items that are released"], m: int) -> float:
    """Edge probability of the public graph: 1 for `dense`, log₂(m)/m for `sparse`. Raises `InvalidInput` for others.

    Source: Nguyen and Zhang, §4.3 (of order log m/m) and their experiments.
    """
    if graph not in _GRAPHS:
        raise InvalidInput("graph", graph, nearest(graph, _GRAPHS))
    return 1.0 if graph == "dense" else min(1.0, float(np.log2(m)) / m)


def conversion_of(calibration: Annotated[str, "sensitivity that is charged"]) -> str:
    """How ε at δ becomes zCDP: the paper's shortcut where its calibration is used, the tight conversion elsewhere."""
    return "paper" if calibration == "paper" else "tight"


def observations(n: int, p: float) -> Annotated[float, "responses per item np", "1"]:
    """Responses per item np; broadcasts. Source: Nguyen and Zhang, Theorem 3.1."""
    return n * p


def private_size(
    n: int, m: int, p: float, epsilon_user: float
) -> Annotated[float, "np²ε²/m², persons over the theorem's order", "1"]:
    """np²ε²/m²: persons in units of the order from which on, by the theorem, privacy is free; broadcasts.

    Source: Nguyen and Zhang, supplement, Theorem 3.3: privacy costs a constant only once np² ≳ m²/ε².
    """
    return n * (p * epsilon_user / m) ** 2


def recovery_signal(
    n: int, m: int, p: float, spacing: float
) -> Annotated[float, "npΔ²/log m, which decides the top K", "1"]:
    """npΔ²/log m; broadcasts. Source: Nguyen and Zhang, Theorems 3.2 and 3.4."""
    signal: float = n * p * spacing**2 / np.log(m)
    return signal


def _whole(name: str, value: float, persons: float) -> int:
    """Persons rounded; InvalidInput, naming the parameter that they follow from, outside 1 to 10⁷."""
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
    """Persons n = density·log m/p², rounded; InvalidInput outside 1 to 10⁷. Source: Nguyen and Zhang, Theorem 3.1."""
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
