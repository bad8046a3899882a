"""What a mechanism promises: ε, (ε, δ), ρ or μ, and which tests on one person
that allows.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from pipeline.auditing.bounds import Bounded, rhos_at_least
from pipeline.privacy.accounting import zcdp_delta
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput

LARGEST = 700.0  # ε beyond which e^ε is no number
BUDGETS = np.geomspace(1e-3, 100, 400)  # ε at which the curve of a ρ is taken


@dataclass(frozen=True)
class Promise:
    """A budget. epsilon, delta: (ε, δ)-DP. rho: ρ-zCDP. mu: μ-GDP.

    Those that are None are not promised.

    Raises InvalidInput for a budget that is no number > 0, and where none is
    promised.

    >>> print(Promise(epsilon=1, delta=1e-5))
    ε = 1 at δ = 1e-05
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        budgets = {"epsilon": self.epsilon, "rho": self.rho, "mu": self.mu}
        for key, budget in budgets.items():
            if budget is not None:
                _check_budget(key, budget)
        if not _is_number(self.delta) or not 0 <= self.delta < 1:
            raise InvalidInput("delta", self.delta, "must be a number ≥ 0 and < 1")
        if self.epsilon is None and self.rho is None and self.mu is None:
            allowed = "is needed: the budget that the mechanism promises (or rho, or mu)"
            raise InvalidInput("epsilon", None, allowed)

    def __str__(self) -> str:
        parts = []
        if self.epsilon is not None:
            at_delta = ""
            if self.delta > 0:
                at_delta = f" at δ = {self.delta:g}"
            parts.append(f"ε = {self.epsilon:g}{at_delta}")
        if self.rho is not None:
            parts.append(f"ρ = {self.rho:g}")
        if self.mu is not None:
            parts.append(f"μ = {self.mu:g}")
        return ", ".join(parts)

    @property
    def least_epsilon(self) -> float:
        """An ε to plan samples with: that of the promise, or of about the same
        strength.
        """
        if self.epsilon is not None:
            return self.epsilon
        if self.mu is not None:
            return self.mu
        assert self.rho is not None
        return math.sqrt(2 * self.rho)

    def trade_off(self, false_alarms: Floats) -> Floats:
        """Largest power of a test at each chance of a false alarm, shape of
        `false_alarms`.

        (ε, δ): min(e^ε α + δ, 1 − e^−ε (1 − α − δ)). Source: Kairouz, Oh and
        Viswanath (2015). μ: Φ(Φ⁻¹(α) + μ). Source: Dong, Roth and Su (2022). ρ:
        the least of its (ε, δ) curves.
        """
        power = np.ones_like(false_alarms)
        if self.epsilon is not None:
            power = np.minimum(power, _by_epsilon(false_alarms, self.epsilon, self.delta))
        if self.mu is not None:
            power = np.minimum(power, special.ndtr(special.ndtri(false_alarms) + self.mu))
        if self.rho is not None:
            deltas = zcdp_delta(self.rho, BUDGETS)
            for epsilon, delta in zip(BUDGETS, deltas, strict=True):
                power = np.minimum(power, _by_epsilon(false_alarms, epsilon, float(delta)))
        return power

    def share(self, hits: Floats, false_alarms: Floats) -> Floats:
        """The budget that chances of events certify over the one promised, the
        largest of those promised; shape of `hits`.

        hits: lower bounds on one data set. false_alarms: upper bounds, > 0, on
        its neighbour. More than 1 breaks the promise.
        """
        shares = np.zeros(hits.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.epsilon is not None:
                budgets = np.log((hits - self.delta) / false_alarms) / self.epsilon
                shares = np.fmax(shares, budgets)
            if self.mu is not None:
                distances = special.ndtri(hits) - special.ndtri(false_alarms)
                shares = np.fmax(shares, distances / self.mu)
        if self.rho is not None:
            shares = np.fmax(shares, rhos_at_least(hits, false_alarms) / self.rho)
        return shares

    def spent_by(self, bounded: Bounded) -> float:
        """The budget that certified chances show, over the one promised."""
        corners = np.array(bounded.corners)
        return float(self.share(corners[:, 0], corners[:, 1]).min())

    def broken_by(self, bounded: Bounded) -> bool:
        """Whether certified chances of an event are more than the promise allows."""
        return self.spent_by(bounded) > 1 + 1e-9


def _by_epsilon(false_alarms: Floats, epsilon: float, delta: float) -> Floats:
    up = math.exp(min(epsilon, LARGEST)) * false_alarms + delta
    down = 1 - math.exp(-epsilon) * (1 - false_alarms - delta)
    return np.minimum(1.0, np.minimum(up, down))


def _check_budget(key: str, budget: float) -> None:
    if not _is_number(budget) or not 0 < budget < math.inf:
        raise InvalidInput(key, budget, "must be a number > 0, not infinite")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
