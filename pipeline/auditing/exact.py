"""Two finite laws, compared exactly: the hockey-stick curve, and the ε that it
gives at δ.
"""

from collections.abc import Hashable, Mapping

import numpy as np

from pipeline.study.arrays import Floats

Law = Mapping[Hashable, float]


def aligned(first: Law, second: Law) -> tuple[Floats, Floats, list[Hashable]]:
    """Chances of all outcomes of both laws, in one order, and the outcomes."""
    outcomes = list(dict.fromkeys([*first, *second]))
    chances = np.array([first.get(outcome, 0.0) for outcome in outcomes])
    others = np.array([second.get(outcome, 0.0) for outcome in outcomes])
    return chances, others, outcomes


def hockey_stick(chances: Floats, others: Floats, epsilon: float) -> float:
    """δ(ε) = Σ max(0, p − e^ε q).

    >>> hockey_stick(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0)
    0.5
    """
    return float(np.maximum(chances - np.exp(epsilon) * others, 0).sum())


def epsilon_at(chances: Floats, others: Floats, delta: float, tolerance: float = 0.0) -> float:
    """Least ε ≥ 0 with δ(ε) ≤ δ, exactly: outcomes are used in the order of their
    ratios.

    Outcomes of chance up to `tolerance` in all are neglected, as rounding.
    Infinite where none is.

    >>> round(epsilon_at(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0), 6)
    1.098612
    """
    allowed = delta + tolerance
    impossible = others <= 0
    free = float(chances[impossible].sum())
    if free > allowed:
        return np.inf
    possible = ~impossible & (chances > 0)
    ratios = chances[possible] / others[possible]
    order = np.argsort(-ratios)
    hits = free + np.cumsum(chances[possible][order])
    alarms = np.cumsum(others[possible][order])
    # δ(ε) is the largest of P(S) − e^ε Q(S) over the sets of the largest ratios,
    # and P(impossible).
    needed = np.maximum(hits - allowed, 0) / alarms
    most = float(np.max(needed, initial=1.0))
    return float(np.log(most))
