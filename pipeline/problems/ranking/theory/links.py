"""Laws of a comparison: P(i beats j) = F(θ_i − θ_j), with a link F given by name.

F increases from 0 to 1, and F(−d) = 1 − F(d), so that the better item wins more
often than not, and the more often the better it is (strong stochastic
transitivity). The logistic link is the Bradley–Terry–Luce model, the probit
link Thurstone's Case V.

Every link has its integral Φ(d) = ∫₀^d F. The loss Φ(d) − z̄d is convex in d for
any real z̄, as debiased means are, and its slope F(d) − z̄ has mean 0 at the true
gap: it is the loss that matches the link (Helmbold, Kivinen and Warmuth 1999),
and eq. (3) of Xu, Sun and Cheng for the logistic one. The negative
log-likelihood is another loss for other links, and is not bounded below where
z̄ is outside [0, 1].

Sources: Thurstone, Psychological Review 34 (1927); Helmbold, Kivinen and
Warmuth, IEEE Transactions on Neural Networks 10 (1999) 1291. General models of
comparisons in private rankings: Xu, Sun and Cheng, arXiv:2402.16792, second and
third edition, of which only the abstracts were read.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.special import expit, ndtr

from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Floats

DENSITY_AT_TIE = 1 / np.sqrt(2 * np.pi)  # of the standard normal law


class Link(Abstract):
    """Law of a comparison as a function of the gap d = θ_i − θ_j, element by element."""

    @abstractmethod
    def win(self, gap: Floats) -> Floats:
        """F(d), the probability that the first item wins."""

    @abstractmethod
    def density(self, gap: Floats) -> Floats:
        """F'(d), per unit of the gap."""

    @abstractmethod
    def log_density_slope(self, gap: Floats) -> Floats:
        """F''(d)/F'(d)."""

    @abstractmethod
    def integral(self, gap: Floats) -> Floats:
        """Φ(d) = ∫₀^d F."""


@dataclass(frozen=True)
class Logistic(Link):
    """F(d) = 1/(1 + e^{−d}): the Bradley–Terry–Luce model; gaps are in logits."""

    def win(self, gap: Floats) -> Floats:
        """σ(d)."""
        return np.asarray(expit(gap))

    def density(self, gap: Floats) -> Floats:
        """σ(d)σ(−d)."""
        return np.asarray(expit(gap) * expit(-gap))

    def log_density_slope(self, gap: Floats) -> Floats:
        """σ(−d) − σ(d)."""
        return -np.tanh(gap / 2)

    def integral(self, gap: Floats) -> Floats:
        """log((1 + e^d)/2)."""
        integral: Floats = np.logaddexp(0, gap) - np.log(2)
        return integral


@dataclass(frozen=True)
class Probit(Link):
    """F(d) is the standard normal distribution function: Thurstone's Case V."""

    def win(self, gap: Floats) -> Floats:
        """The distribution function."""
        return np.asarray(ndtr(gap))

    def density(self, gap: Floats) -> Floats:
        """e^{−d²/2}/√(2π)."""
        density: Floats = DENSITY_AT_TIE * np.exp(-np.square(gap) / 2)
        return density

    def log_density_slope(self, gap: Floats) -> Floats:
        """−d."""
        return -gap

    def integral(self, gap: Floats) -> Floats:
        """d F(d) + F'(d) − F'(0)."""
        integral: Floats = gap * self.win(gap) + self.density(gap) - DENSITY_AT_TIE
        return integral


@dataclass(frozen=True)
class Cauchit(Link):
    """F(d) = ½ + arctan(d)/π: however far apart, the worse item wins now and then."""

    def win(self, gap: Floats) -> Floats:
        """arctan2(1, −d)/π, which keeps its digits in both tails."""
        win: Floats = np.arctan2(1.0, -gap) / np.pi
        return win

    def density(self, gap: Floats) -> Floats:
        """1/(π(1 + d²))."""
        density: Floats = 1 / (np.pi * (1 + np.square(gap)))
        return density

    def log_density_slope(self, gap: Floats) -> Floats:
        """−2d/(1 + d²)."""
        slope: Floats = -2 * gap / (1 + np.square(gap))
        return slope

    def integral(self, gap: Floats) -> Floats:
        """d F(d) − log(1 + d²)/(2π)."""
        return gap * self.win(gap) - np.log1p(np.square(gap)) / (2 * np.pi)


LINKS: Mapping[str, Link] = MappingProxyType(
    {"logistic": Logistic(), "probit": Probit(), "cauchit": Cauchit()}
)


def win_probability(link: Link, theta: Floats) -> Floats:
    """F(θ_i − θ_j) for i < j, in the order of `numpy.triu_indices(m, 1)`.

    theta: (reps, m) -> (reps, pairs). O(reps · m²).
    """
    first, second = np.triu_indices(theta.shape[1], 1)
    return link.win(theta[:, first] - theta[:, second])
