"""Crowds whose answers to one task are drawn from a tilted law: rare errors are seen
often, and weighed.

The error of a label falls as exp(−c n v̂): at 10⁻⁹ plain
replications show none. Here the workers answer the first
task as if they were less able, by abilities p' for p; all
other tasks, and the mechanism, are as they are. The release
of that task then has the weight Π_i P(x_i | p_i)/P(x_i |
p'_i), and the mean of weight · 1{label wrong} is the
probability of a wrong label, exactly (`metrics.rare`).
Source: importance sampling by exponential tilting,
Siegmund, Annals of Statistics 4 (1976).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.study.arrays import Floats
from pipeline.study.parameters import parameter

from .model import CrowdTruth, DawidSkene

HALVINGS = 12  # of the interval of the tilt; any tilt is right, a better one has less variance
# Share of a chance that stays at least, so that nothing that can happen becomes
# impossible.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class TiltedTruth(CrowdTruth):
    """Truth of the tilted model. proposal: (reps, n), abilities by which the first
    task is answered, p'.
    """

    proposal: Annotated[Floats, "reps", "n"]


@dataclass(frozen=True)
class TiltedCrowd(DawidSkene):
    """`dawid_skene` with the first task's answers drawn from a tilted law.

    Truth and other tasks as they are.

    In half log-odds of released answers, h = artanh(2p̂ −
    1), the tilt is h' = h − tilt·s by `vote`, where s makes
    the mean released vote 0, which is best for majority
    vote; and h' = (1 − tilt) h by `odds`, which is best for
    rules that weigh answers by their log-odds, as Dawid and
    Skene's. Tilt 1 makes a wrong label about as likely as a
    right one.
    """

    tilt: float = parameter(
        "how far the law is tilted: 0 not at all, 1 until half of the labels are wrong",
        default=1.0,
        low=0,
        high=2,
    )
    tilt_by: str = parameter(
        "direction of the tilt: each worker alike, or by the log-odds of the answers",
        default="vote",
        choices=("vote", "odds"),
    )
    epsilon: float | None = parameter(
        "privacy budget of one answer, which the tilt reckons with; null is no privacy",
        unit="nats",
        default=None,
        above=0,
    )

    by_replication: ClassVar[bool] = True

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> TiltedTruth:
        """p* (reps, n), y* (reps, m) and p' (reps, n) of a block. O(reps · (n + m))."""
        plain = super().truth(rng, reps, population)
        return TiltedTruth(plain.abilities, plain.labels, self.tilted(plain.abilities))

    def tilted(self, abilities: Floats) -> Floats:
        """p' (reps, n) of abilities (reps, n)."""
        epsilon = np.inf if self.epsilon is None else self.epsilon
        factor = float(attenuation(epsilon))
        lean = 2 * abilities - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            half_odds = np.arctanh(factor * lean)
            tilted_odds = self._tilted_odds(half_odds)
        can_be_tilted = np.isfinite(half_odds)  # a lean of ±1 cannot
        tilted_lean = np.where(can_be_tilted, np.tanh(tilted_odds) / factor, lean)
        lowest = LEAST_SHARE * abilities
        highest = 1 - LEAST_SHARE * (1 - abilities)
        proposal: Floats = np.clip((1 + tilted_lean) / 2, lowest, highest)
        return proposal

    def _tilted_odds(self, half_odds: Floats) -> Floats:
        """h' of half log-odds h, both (reps, n)."""
        if self.tilt_by == "vote":
            return half_odds - self.tilt * vote_tilt(half_odds)[:, None]
        return (1 - self.tilt) * half_odds

    def _right(self, truth: CrowdTruth) -> Floats:
        """(reps, n, m): chance that a worker is right on a task."""
        right = np.repeat(super()._right(truth), truth.labels.shape[1], axis=2)
        if isinstance(truth, TiltedTruth):
            right[:, :, 0] = truth.proposal
        return right

    def memory(self) -> float:
        """Bytes of one replication: chances, twice as real numbers, and answers."""
        return 20 * self.n * self.m


def vote_tilt(half_odds: Floats) -> Floats:
    """(reps,): s ≥ 0 with Σ_i tanh(h_i − s) = 0, or 0 where the sum is negative at 0, by bisection.

    half_odds: h, (reps, n).
    """
    low = np.zeros(len(half_odds))
    high = np.where(np.isfinite(half_odds), half_odds, 0.0).max(axis=1, initial=0.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        right = np.tanh(half_odds - middle[:, None]).sum(axis=1) > 0
        low = np.where(right, middle, low)
        high = np.where(right, high, middle)
    return low
