"""Private yes/no questions that depend on the answers before: only open items are asked about."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Array, Integers
from pipeline.study.parameters import parameter

from ..model import Users
from ..releases import SeenRatings
from .one_bit import OneBit


@dataclass(frozen=True, kw_only=True)
class AdaptiveOneBit(OneBit):
    """Users come in rounds. One who has rated an open item says whether a guess of it is right.

    H_ui, the guess for every open item, is a fair coin; S_u = 1 if item I_u
    is open and H_uI = Z_uI, else 0, released as a bit that is kept with
    probability e^ε/(1 + e^ε). After a round the log-odds of "liked" of an
    open item grow by t Σ_u (2 H_ui − 1)(S̃_u − s)/(N s(1 − s)), s the mean
    bit and t = tanh(ε/2): those of Gaussian sums where ratings are labels.
    An item is closed once they are beyond ± log(odds · N). The fewer items
    are open, the more bits are 0, and the less noise they have: s(1 − s)
    falls from ¼ to ¼/cosh²(ε/2). That is all that adaptivity gains here.
    Released are the items that are taken to be liked. The questions of a
    round depend on the bits of earlier ones only (sequentially interactive
    ε-LDP). Source: ours; a scheme as Banerjee, Hegde and Massoulié, Theorem
    17, is about.
    """

    w: int = parameter("items that a user has rated", unit="items", low=1, high=1)
    rounds: int = parameter("rounds, of equal numbers of users", default=10, low=1, high=10**4)
    odds: float = parameter("odds over N at which an item is taken as known", default=10.0, above=0)

    releases: ClassVar[type] = SeenRatings

    def release(self, data: Users, rng: np.random.Generator) -> SeenRatings:
        """Which items are taken to be liked, of a block. O(reps · K · N · rounds) draws."""
        likes = data.b[:, data.truth.clusters].swapaxes(0, 1)  # (reps, K, N)
        reps = len(likes)
        left = np.tile(data.classes, (reps, 1))
        evidence = np.zeros((reps, self.N))
        open_items = np.ones((reps, self.N), bool)
        ends = np.arange(self.rounds + 1) * data.users // self.rounds
        for users in np.diff(ends):
            members = _drawn(left, int(users), rng)
            left -= members
            change = self._log_odds(members, likes, open_items, rng)
            evidence += np.where(open_items, change, 0.0)
            open_items &= abs(evidence) < np.log(self.odds * self.N)
        return SeenRatings(
            (evidence > 0).astype(int),
            (evidence != 0).astype(int),
            data.users,
            np.full(reps, data.users),
            are_ratings=False,
        )

    def _log_odds(
        self, members: Integers, likes: Array, open_items: Array, rng: np.random.Generator
    ) -> Array:
        """(reps, N): what a round adds to the log-odds. members: (reps, K), its users by class.

        Guesses for other items than the rated one are fair coins,
        independent of the bit.
        """
        rated = rng.multinomial(members, np.full(self.N, 1 / self.N))  # (reps, K, N)
        guessed = rng.binomial(rated, 0.5)
        is_open = open_items[:, None]
        right_yes = is_open * rng.binomial(guessed, likes)
        right_no = is_open * rng.binomial(rated - guessed, 1 - likes)
        # Released ones of users who guessed yes, and no, about the item that they
        # have rated.
        ones_yes = self._released_ones(guessed, right_yes, rng)
        ones_no = self._released_ones(rated - guessed, right_no, rng)
        raters = rated.sum(axis=1)
        yes = guessed.sum(axis=1)
        users = raters.sum(axis=1, keepdims=True)
        one_bits = (ones_yes + ones_no).sum(axis=1, keepdims=True)
        other_ones = one_bits - ones_yes - ones_no
        positive = ones_yes + rng.binomial(other_ones, 0.5)
        sensed = yes + positive - ones_yes + rng.binomial(users - raters - other_ones, 0.5)
        mean = one_bits / np.maximum(users, 1)
        variance = np.maximum(mean * (1 - mean), 1 / np.maximum(users, 1) ** 2)
        change: Array = (2 * self.keep - 1) * 2 * (positive - mean * sensed) / (self.N * variance)
        return change

    def _released_ones(self, users: Array, sketches: Array, rng: np.random.Generator) -> Array:
        """(reps, N): bits released as 1 by users (reps, K, N), as many sketches of whom are 1."""
        from_ones = rng.binomial(sketches, self.keep)
        from_zeros = rng.binomial(users - sketches, 1 - self.keep)
        one_bits: Array = (from_ones + from_zeros).sum(axis=1)
        return one_bits

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 1e3 * self.N * self.rounds


def _drawn(left: Integers, users: int, rng: np.random.Generator) -> Integers:
    """(reps, K): classes of the next users, without replacement from those left."""
    drawn = np.zeros_like(left)
    for k in range(left.shape[1] - 1):
        others = left[:, k + 1 :].sum(axis=1)
        drawn[:, k] = rng.hypergeometric(left[:, k], others, users - drawn.sum(axis=1))
    drawn[:, -1] = users - drawn.sum(axis=1)
    return drawn
