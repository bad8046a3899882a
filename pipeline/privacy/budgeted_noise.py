"""Integer noise as wide as a budget asks for: one strategy for simulations
and for releases.

A study draws seeded noise by `draw`, and `publish` draws OpenDP's for real
people's data. Both have the width, the variance, the account and the attack
that this one object states.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from pipeline.privacy import accounting, gaussian_account, vetted_noise
from pipeline.privacy.attacks import Bound, FlippedBits, GaussianShifts
from pipeline.privacy.integer_laws import gaussian_variance, laplace_variance
from pipeline.privacy.integer_noise import LARGEST, discrete_gaussian, discrete_laplace
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.study.arrays import Floats, Integers
from pipeline.study.disclosure import Attack
from pipeline.study.parameters import InvalidInput

# How ε at δ becomes a budget ρ of concentrated privacy.
CONVERSIONS: dict[str, Callable[[float, float], Floats | float]] = {
    "tight": accounting.zcdp_rho,
    "bun_steinke": accounting.bun_steinke_rho,
    "paper": accounting.paper_rho,
    "exact": gaussian_account.exact_rho,
}


class Published(NamedTuple):
    """Counts with OpenDP's noise. noise: its law. spent: budgets, by
    OpenDP's own map.
    """

    counts: Integers
    noise: dict[str, float]
    spent: dict[str, float]


class BudgetedNoise(ABC):
    """A law of noise on integers, and the budget that it spends.

    Its one parameter, the width, follows from the budget and from what is
    charged: a sensitivity in the norm that the law hides. Rounds are
    releases that share a person's budget, in equal parts: all but `bound`
    is about one of them.
    """

    law: ClassVar[str]  # name of the width in `vetted_noise`: variance or scale
    widest: ClassVar[float]  # largest width that can be drawn
    measure: ClassVar[str]  # of what adds up over releases: ρ or ε

    @property
    @abstractmethod
    def budget(self) -> float:
        """Budget of a round in the measure in which it adds up: ρ or ε."""

    @abstractmethod
    def charge(self, sensitivity: Sensitivity) -> int:
        """The one of two sensitivities that this law hides."""

    @abstractmethod
    def width(self, charge: int) -> float:
        """Width of the noise that spends the budget at a charge."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, width: float, size: int | tuple[int, ...]) -> Integers:
        """Independent seeded draws, for simulation; int64 of shape `size`."""

    @abstractmethod
    def variance(self, width: float) -> float:
        """Variance of a draw."""

    @abstractmethod
    def fourth_cumulant(self, width: float) -> float:
        """κ₄ of a draw, 0 of normal noise: how heavy its tails are."""

    @abstractmethod
    def attack(self, width: float, entries: int) -> Attack:
        """The best attack on so many counts that differ by one."""

    @abstractmethod
    def bound(self) -> Bound:
        """What the budget of all rounds allows any attack."""

    @abstractmethod
    def norm(self, charge: int) -> float:
        """A charge in OpenDP's norm, rounded up."""

    @abstractmethod
    def account(self, spent: float) -> dict[str, float]:
        """Budgets to state of a release that spends so much in the measure
        of `budget`.
        """

    def checked_width(self, key: str, epsilon: float, charge: int, where: str = "") -> float:
        """`width`, a little wider as releases have it; InvalidInput where
        it cannot be drawn.

        key, epsilon: the parameter that is to blame. where: for the
        message, such as " at m=9".
        """
        # Of the tiniest and the largest budgets.
        with np.errstate(all="ignore"):
            width = self.width(charge) * (1 + vetted_noise.SLACK)
        if width == 0:
            raise InvalidInput(key, epsilon, "asks for no noise at all; must be smaller")
        if not 0 < width <= self.widest:
            allowed = f"asks for noise wider than {LARGEST**0.5:g}{where}; must be larger"
            raise InvalidInput(key, epsilon, allowed)
        return width

    def publish(self, counts: Integers, charge: int, changed: int | None = None) -> Published:
        """Counts of real people, once, each with OpenDP's noise; nothing
        can seed it.

        charge: what the noise is made for. changed: what neighbours can
        really change, if less is charged for. 10 µs a count. Raises
        InvalidInput without OpenDP.
        """
        width = self.width(charge)
        noise = vetted_noise.within_budget(self.law, width, self.norm(charge), self.budget)
        noisy = vetted_noise.release(counts, **noise)
        really = charge if changed is None else changed
        spent = vetted_noise.spent(self.norm(really), **noise)
        return Published(noisy, noise, self.account(spent))


@dataclass(frozen=True)
class GaussianNoise(BudgetedNoise):
    """Discrete Gaussian noise N_Z(0, Δ₂²/(2ρ)): ρ-zCDP, hence (ε, δ)-DP.

    ρ is that of (ε, δ): conversion `tight` is numerical, `bun_steinke` the
    closed form ε = ρ + √(4ρ log(1/δ)), `paper` its shortcut, which spends
    more than ε; `exact` is no conversion but the noise's own law (Balle and
    Wang), less noise than tight. Of several rounds each has an equal part of
    ρ; by the noise's own law they are one release of as many copies.
    Source: Canonne, Kamath and Steinke (2020), Theorem 4; Bun and Steinke
    (2016), Lemma 1.7, for rounds.

    >>> noise = GaussianNoise(1.0, 1e-6)
    >>> noise.variance(noise.width(45)) > noise.variance(noise.width(1))
    True
    >>> noise.budget / GaussianNoise(1.0, 1e-6, rounds=8).budget
    8.0
    """

    epsilon: float
    delta: float
    conversion: str = "tight"
    rounds: int = 1

    law = "variance"
    widest = LARGEST
    measure = "ρ"

    @cached_property
    def budget(self) -> float:
        """ρ; may be 0 or infinite where ε is beyond the range of numbers."""
        with np.errstate(all="ignore"):
            rho = float(CONVERSIONS[self.conversion](self.epsilon, self.delta))
        return rho / self.rounds

    def charge(self, sensitivity: Sensitivity) -> int:
        """The squared Euclidean norm."""
        return sensitivity.squared

    def width(self, charge: int) -> float:
        """σ² of the law."""
        if self.conversion == "exact":
            copies = charge * self.rounds
            return gaussian_account.exact_variance(copies, self.epsilon, self.delta)
        if self.budget == 0:
            return math.inf
        # Also where ε is too large for a number.
        if not self.budget < math.inf:
            return 0.0
        return float(accounting.calibrated_variance(charge, self.budget))

    def draw(self, rng: np.random.Generator, width: float, size: int | tuple[int, ...]) -> Integers:
        """Independent seeded draws."""
        return discrete_gaussian(rng, width, size)

    def variance(self, width: float) -> float:
        """That of the law on the integers, a little below σ²."""
        return gaussian_variance(width)

    def fourth_cumulant(self, width: float) -> float:
        """0: that of the law on the integers is beyond any digit where noise is of use."""
        return 0.0

    def attack(self, width: float, entries: int) -> Attack:
        """The best attack."""
        return GaussianShifts(width, entries, self.delta)

    def bound(self) -> Bound:
        """Of (ε, δ)."""
        return Bound(self.epsilon, self.delta)

    def norm(self, charge: int) -> float:
        """The Euclidean norm."""
        return math.nextafter(math.sqrt(charge), math.inf)

    def account(self, spent: float) -> dict[str, float]:
        """ρ, δ, and ε at δ."""
        return accounting.zcdp_account(spent, self.delta)


@dataclass(frozen=True)
class LaplaceNoise(BudgetedNoise):
    """Discrete Laplace noise of scale Δ₁/ε: pure ε-DP.

    Of several rounds each has an equal part of ε.
    Source: Ghosh, Roughgarden and Sundararajan (2009).

    >>> LaplaceNoise(0.5).width(2), LaplaceNoise(0.5, rounds=12).width(2)
    (4.0, 48.0)
    """

    epsilon: float
    rounds: int = 1

    law = "scale"
    widest = LARGEST**0.5
    measure = "ε"

    @property
    def budget(self) -> float:
        """ε."""
        return self.epsilon / self.rounds

    def charge(self, sensitivity: Sensitivity) -> int:
        """The sum of absolute values."""
        return sensitivity.absolute

    def width(self, charge: int) -> float:
        """Scale of the law."""
        return charge / self.budget

    def draw(self, rng: np.random.Generator, width: float, size: int | tuple[int, ...]) -> Integers:
        """Independent seeded draws."""
        return discrete_laplace(rng, width, size)

    def variance(self, width: float) -> float:
        """That of the law."""
        return laplace_variance(width)

    def fourth_cumulant(self, width: float) -> float:
        """3 Var² + Var, as of a difference of two geometric numbers."""
        variance = self.variance(width)
        return 3 * variance**2 + variance

    def attack(self, width: float, entries: int) -> Attack:
        """The best attack: of as many flipped bits."""
        return FlippedBits(1 / width, entries)

    def bound(self) -> Bound:
        """Of pure ε."""
        return Bound(self.epsilon)

    def norm(self, charge: int) -> float:
        """The sum of absolute values."""
        return float(charge)

    def account(self, spent: float) -> dict[str, float]:
        """ε."""
        return {"epsilon": spent}
