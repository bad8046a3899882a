"""Lower bounds of a budget, certified by how often one event happened on two data
sets.

An event has chance p on D and q on D′. One-sided bounds p ≥ p₀ and q ≤ q₀ of
Clopper and Pearson give ε ≥ log((p₀ − δ)/q₀), μ ≥ Φ⁻¹(p₀) − Φ⁻¹(q₀), and ρ ≥
D_α/α for every order α, with D_α the Rényi divergence of coins p₀ and q₀.
Nothing is assumed of the mechanism, but that its samples are independent.

Two statements, one about each chance, take more samples than one about both. So
`Rule` adds the two exact p-values, as normal deviations with weights.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from scipy import special

from pipeline.study.arrays import Floats, Integers

ORDERS = 1 + np.geomspace(1e-3, 1e3, 200)  # α of Rényi divergences
STEPS = 120  # corners of a bound
WEIGHTS = (0.15, 0.3, 0.5, 0.7, 0.8, 0.87, 0.92, 0.96, 0.985)  # that are tried
CUTS = (0.03, 0.15)
FARTHEST = 37.0  # deviations, beyond which the error probability is no number > 0
HALVINGS = 60
Numbers: TypeAlias = Floats | Integers | int


@dataclass(frozen=True)
class Counts:
    """How often an event happened: `hits` of `trials` on D, `alarms` of `others`
    on D′.
    """

    hits: int
    trials: int
    alarms: int
    others: int


@dataclass(frozen=True)
class Bounded:
    """Chances of an event: at least `hit` on D and at most `false_alarm` on D′,
    both at once with probability `confidence`.

    others: further pairs (hit, false_alarm); with any, what is certified is
    weaker: that the chances lie above each trade-off curve that lies below all of
    the pairs.
    """

    hit: float
    false_alarm: float
    confidence: float
    others: tuple[tuple[float, float], ...] = ()

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        """All pairs (hit, false_alarm)."""
        return ((self.hit, self.false_alarm), *self.others)

    def epsilon(self, delta: float) -> float:
        """The ε at δ that the event certifies, 0 where it certifies none.

        >>> round(Bounded(0.75, 0.25, 0.999).epsilon(0), 3)
        1.099
        """
        return min(epsilon_at_least(hit, alarm, delta) for hit, alarm in self.corners)

    @property
    def rho(self) -> float:
        """The ρ of zCDP that the event certifies."""
        return min(rho_at_least(hit, alarm) for hit, alarm in self.corners)

    @property
    def mu(self) -> float:
        """The μ of Gaussian DP that the event certifies."""
        return min(mu_at_least(hit, alarm) for hit, alarm in self.corners)


@dataclass(frozen=True)
class Rule:
    """How both chances are bounded together: chosen before the event is counted.

    weight: of the deviation of alarms, above 0 and below 1. cut: share of the
    error probability, beyond which a deviation counts no more; None bounds either
    chance by itself, alarms with that weight of the error probability.
    """

    weight: float
    cut: float | None

    def bounded(self, counts: Counts, error: float) -> Bounded:
        """Bounds that are wrong with probability `error` at most.

        The p-values P(Bin(n, p) ≥ hits) and P(Bin(m, q) ≤ alarms) are
        independent, and neither is less than a uniform number. So √(1 − w) z₁ +
        √w z₂ of their normal deviations is at most a standard normal one. A
        deviation below −c counts as −c, which adds the chance of that. Source:
        Stouffer et al. (1949), of which this is the one-sided form for exact
        p-values.

        >>> counts = Counts(73_100, 100_000, 26_900, 100_000)
        >>> Rule(0.88, 0.1).bounded(counts, 0.001).epsilon(0) > certified(counts, 0.001).epsilon(0)
        True
        """
        of_hits, of_alarms = self.deviations(error)
        hits = EXACT.least(counts.hits, counts.trials, of_hits)
        alarms = EXACT.most(counts.alarms, counts.others, of_alarms)
        with np.errstate(divide="ignore"):
            nearest = int(np.argmin(np.log(hits) - np.log(alarms)))
        pairs = list(zip(hits.tolist(), alarms.tolist(), strict=True))
        hit, alarm = pairs.pop(nearest)
        return Bounded(hit, alarm, 1 - error, tuple(pairs))

    def deviations(self, error: float) -> tuple[Floats, Floats]:
        """(corners,) of hits and of alarms: normal deviations at which their chances end."""
        if self.cut is None:
            of_hits = -special.ndtri(np.array([error * (1 - self.weight)]))
            of_alarms = -special.ndtri(np.array([error * self.weight]))
            return of_hits, of_alarms
        share_of_hits = math.sqrt(1 - self.weight)
        share_of_alarms = math.sqrt(self.weight)
        most = -float(special.ndtri(error * self.cut))
        needed = -float(special.ndtri(error * (1 - 2 * self.cut)))
        last = (needed + share_of_hits * most) / share_of_alarms
        steps = np.linspace(-most, last, STEPS + 1)
        left = (needed - share_of_alarms * steps[:-1]) / share_of_hits
        return left, steps[1:]


RULES = (
    Rule(0.5, None),
    Rule(0.9, None),
    *(Rule(weight, cut) for weight in WEIGHTS for cut in CUTS),
)


@dataclass(frozen=True)
class Corners:
    """Corners of the bounds of all `RULES`, one rule after the other.

    hits, alarms: (corners,) chances. starts: (rules,) first corner of each rule.
    """

    hits: Floats
    alarms: Floats
    starts: Integers


def foreseen(counts: Counts, error: float) -> Corners:
    """About what each rule would certify of counts: to choose a rule, and to certify nothing."""
    of_hits, of_alarms, starts = _deviations_of_rules(error)
    hits = APPROXIMATE.least(counts.hits, counts.trials, of_hits)
    alarms = APPROXIMATE.most(counts.alarms, counts.others, of_alarms)
    return Corners(hits, alarms, starts)


@lru_cache(maxsize=64)
def _deviations_of_rules(error: float) -> tuple[Floats, Floats, Integers]:
    """Normal deviations of hits and of alarms of all rules, and where those of each begin."""
    of_rules = [rule.deviations(error) for rule in RULES]
    lengths = [len(of_hits) for of_hits, _ in of_rules]
    of_hits = np.concatenate([of_hits for of_hits, _ in of_rules])
    of_alarms = np.concatenate([of_alarms for _, of_alarms in of_rules])
    starts = np.cumsum([0, *lengths[:-1]])
    return of_hits, of_alarms, starts


def certified(counts: Counts, error: float) -> Bounded:
    """Bounds of both chances that are wrong with probability `error` at most,
    each with half of it.

    >>> certified(Counts(90, 100, 10, 100), 0.001).hit < 0.9
    True
    """
    return Rule(0.5, None).bounded(counts, error)


@dataclass(frozen=True)
class Ends:
    """Ends of one-sided intervals of a chance, by counts, trials and normal deviations."""

    most: Callable[[Numbers, Numbers, Floats], Floats]

    def least(self, count: Numbers, trials: Numbers, deviations: Floats) -> Floats:
        """The lower end: what is missing to 1 has the upper one."""
        return 1 - self.most(np.subtract(trials, count), trials, deviations)


def _at_most(count: Numbers, trials: Numbers, deviations: Floats) -> Floats:
    """Upper end of Clopper and Pearson; beyond `FARTHEST` that of Chernoff, which is no less.

    deviations: of the error probability.
    """
    rest = np.subtract(trials, count)
    errors = special.ndtr(-deviations)
    ends: Floats = special.betainccinv(np.add(count, 1), np.maximum(rest, 1), errors)
    is_far = deviations > FARTHEST
    if is_far.any():
        ends = np.where(is_far, _chernoff_at_most(count, trials, deviations), ends)
    return np.where(rest > 0, ends, 1.0)


def _chernoff_at_most(count: Numbers, trials: Numbers, deviations: Floats) -> Floats:
    """The chance p above the share k/n with n KL(k/n ‖ p) = −log of the error probability.

    P(Bin(n, p) ≤ k) ≤ exp(−n KL(k/n ‖ p)). Source: Chernoff (1952).
    """
    share = np.divide(count, trials)
    needed = -special.log_ndtr(-deviations) / trials
    low = np.broadcast_to(share, deviations.shape)
    high = np.ones(deviations.shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            of_count = special.xlogy(share, share / middle)
            distance = of_count + special.xlogy(1 - share, (1 - share) / (1 - middle))
        is_too_low = distance < needed
        low = np.where(is_too_low, middle, low)
        high = np.where(is_too_low, high, middle)
    return high


def _about_at_most(count: Numbers, trials: Numbers, deviations: Floats) -> Floats:
    """About the same, to a few thousandths of the distance from the share that was seen.

    The cube root of an F-distributed number is nearly a ratio of normal ones. Source: Paulson
    (1942), An approximate normalization of the analysis of variance distribution.
    """
    ours = np.add(count, 1.0)
    rest = np.maximum(np.subtract(trials, count), 0.5)
    first = 1 / (9 * ours)
    second = 1 / (9 * rest)
    middle = (1 - first) * (1 - second)
    spread = first * (1 - second) ** 2 + second * (1 - first) ** 2
    under_root = np.maximum(spread - first * second * deviations**2, 0)
    below = (1 - second) ** 2 - second * deviations**2
    root = (middle + deviations * np.sqrt(under_root)) / np.maximum(below, 1e-9)
    odds = ours * np.maximum(root, 0) ** 3
    ends: Floats = odds / (rest + odds)
    return np.where((np.subtract(trials, count) > 0) & (below > 1e-9), ends, 1.0)


EXACT = Ends(_at_most)
APPROXIMATE = Ends(_about_at_most)


def mu_at_least(hit: float, false_alarm: float) -> float:
    """Φ⁻¹(p) − Φ⁻¹(q), at least 0."""
    if hit <= false_alarm:
        return 0.0
    return float(special.ndtri(hit) - special.ndtri(false_alarm))


def epsilon_at_least(hit: float, false_alarm: float, delta: float) -> float:
    """log((p − δ)/q), at least 0; infinite where q is 0 and p is above δ."""
    if hit - delta <= false_alarm:
        return 0.0
    if false_alarm <= 0:
        return math.inf
    return math.log((hit - delta) / false_alarm)


def rho_at_least(hit: float, false_alarm: float) -> float:
    """sup over α of D_α(coin p ‖ coin q)/α.

    The ρ that a coin of chance p against q needs.

    By the data-processing inequality no ρ-zCDP mechanism has an event of these
    chances if ρ is less. Source: Bun and Steinke (2016), Definition 1.1.

    >>> rho_at_least(0.5, 0.5), rho_at_least(0.5, 0.0)
    (0.0, inf)
    """
    return float(rhos_at_least(np.array([hit]), np.array([false_alarm]))[0])


def rhos_at_least(hits: Floats, false_alarms: Floats) -> Floats:
    """The same of many chances, shape of `hits`.

    >>> rhos_at_least(np.array([0.5, 0.5]), np.array([0.5, 0.0])).tolist()
    [0.0, inf]
    """
    orders = ORDERS.reshape(-1, *np.ones(hits.ndim, int))
    with np.errstate(divide="ignore", invalid="ignore"):
        of_hits = orders * np.log(hits) + (1 - orders) * np.log(false_alarms)
        of_misses = orders * np.log1p(-hits) + (1 - orders) * np.log1p(-false_alarms)
        divergences = np.logaddexp(of_hits, of_misses) / (orders - 1)
        rhos = np.max(divergences / orders, axis=0)
    without_bound = (false_alarms <= 0) | (hits > 1)
    rhos = np.where(without_bound, np.inf, rhos)
    return np.where(hits <= false_alarms, 0.0, rhos)
