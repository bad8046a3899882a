"""Lower bounds of a budget, certified by how often one event happened on two data sets.

An event has chance p on D and q on D′. One-sided bounds p ≥ p₀ and q ≤ q₀ of
Clopper and Pearson give ε ≥ log((p₀ − δ)/q₀), μ ≥ Φ⁻¹(p₀) − Φ⁻¹(q₀), and ρ ≥
D_α/α for every order α, with D_α the Rényi divergence of coins p₀ and q₀.
Nothing is assumed of the mechanism, but that its samples are independent.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from pipeline.analysis.intervals import clopper_pearson
from pipeline.study.arrays import Floats

ORDERS = 1 + np.geomspace(1e-3, 1e3, 200)  # α of Rényi divergences


@dataclass(frozen=True)
class Counts:
    """How often an event happened: `hits` of `trials` on D, `alarms` of `others` on D′."""

    hits: int
    trials: int
    alarms: int
    others: int


@dataclass(frozen=True)
class Bounded:
    """Chances of an event: at least `hit` on D and at most `false_alarm` on D′, both at once with
    probability `confidence`.
    """

    hit: float
    false_alarm: float
    confidence: float

    def epsilon(self, delta: float) -> float:
        """The ε at δ that the event certifies, 0 where it certifies none.

        >>> round(Bounded(0.75, 0.25, 0.999).epsilon(0), 3)
        1.099
        """
        return epsilon_at_least(self.hit, self.false_alarm, delta)

    @property
    def rho(self) -> float:
        """The ρ of zCDP that the event certifies."""
        return rho_at_least(self.hit, self.false_alarm)

    @property
    def mu(self) -> float:
        """The μ of Gaussian DP that the event certifies."""
        if self.hit <= self.false_alarm:
            return 0.0
        return float(special.ndtri(self.hit) - special.ndtri(self.false_alarm))


def certified(counts: Counts, error: float) -> Bounded:
    """Bounds of both chances that are wrong with probability `error` at most.

    >>> certified(Counts(90, 100, 10, 100), 0.001).hit < 0.9
    True
    """
    confidence = 1 - error  # each side of each interval errs with half of it
    low, _ = clopper_pearson(np.array(counts.hits), np.array(counts.trials), confidence)
    _, high = clopper_pearson(np.array(counts.alarms), np.array(counts.others), confidence)
    return Bounded(float(low), float(high), confidence)


def epsilon_at_least(hit: float, false_alarm: float, delta: float) -> float:
    """log((p − δ)/q), at least 0; infinite where q is 0 and p is above δ."""
    if hit - delta <= false_alarm:
        return 0.0
    if false_alarm <= 0:
        return math.inf
    return math.log((hit - delta) / false_alarm)


def rho_at_least(hit: float, false_alarm: float) -> float:
    """sup over α of D_α(coin p ‖ coin q)/α; the ρ that a coin of chance p against q needs.

    By the data-processing inequality no ρ-zCDP mechanism has an event of these
    chances if ρ is less. Source: Bun and Steinke (2016), Definition 1.1.

    >>> rho_at_least(0.5, 0.5), rho_at_least(0.5, 0.0)
    (0.0, inf)
    """
    if hit <= false_alarm:
        return 0.0
    if false_alarm <= 0 or hit > 1:
        return math.inf
    with np.errstate(divide="ignore"):
        of_hits = ORDERS * math.log(hit) + (1 - ORDERS) * math.log(false_alarm)
        misses = np.log1p(-hit)
        passes = np.log1p(-false_alarm)
    of_misses = ORDERS * misses + (1 - ORDERS) * passes
    divergences: Floats = np.logaddexp(of_hits, of_misses) / (ORDERS - 1)
    return float(np.max(divergences / ORDERS))
