"""Comparisons by a general law: P(i beats j) = F(θ_i − θ_j), with a link F given by name."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.study.parameters import parameter

from .model import BTL, AskedComparisons, Comparisons, Preferences
from .theory.links import LINKS, win_probability

LINK: Any = parameter(
    "law F of a comparison, P(i beats j) = F(θ_i − θ_j): logistic (Bradley–Terry–Luce), probit "
    "(Thurstone) or cauchit (heavy tails)",
    default="probit",
    choices=tuple(LINKS),
)


@dataclass(frozen=True)
class Transitive(BTL):
    """`btl` with another link: P(i beats j) = F(θ_i − θ_j), Σθ = 0.

    θ* is drawn as by `btl`, in the units of the link. Sources: Thurstone (1927);
    Xu, Sun and Cheng, arXiv:2402.16792, later editions; see `theory.links`.

    >>> import pipeline as pl
    >>> people = pl.simulate_data(pl.ranking.Transitive(m=3, L=1000, link="probit"), seed=1)
    >>> people.data.wins.shape
    (1, 3)
    """

    link: str = LINK

    by_replication = BTL.by_replication  # said for each class itself

    def simulate(self, truth: Preferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users; cost O(reps · m²), whatever L."""
        probability = win_probability(LINKS[self.link], truth.theta)
        survey = self.survey
        if survey is None:
            return Comparisons(probability, self.L, self.m, rng)
        return AskedComparisons(probability, self.L, self.m, survey, rng)
