"""The one-bit sketch that protects nothing: what one bit costs, without privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Integers
from pipeline.study.guarantee import Guarantee, unprotected
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMechanism

from ..model import Users
from ..redrawing import Origin
from ..releases import ScoreSketches
from ..theory.sensed_sets import GuessedSets


@dataclass(frozen=True)
class OneBitSketch(BaseMechanism):
    """Without privacy: a user says whether a guess of one of her ratings is right.

    The rating is drawn at random. H_ui, the guess for every item, is a fair coin,
    and S_u = 1 if H_uI = Z_uI for her rating Z_uI. The question is whether (I, Z)
    is in A_u = {(i, H_ui)}: at w = 1 the deterministic one-bit questions of the
    largest information in the proof of Theorem 10. For larger w the law is the
    same: one rating is used. Scores are Σ_u H_ui S_u; their mean is U/4 + (2
    b̄_i − 1) U/(4N).
    unit: none, nothing is protected.
    Source: Banerjee, Hegde and Massoulié, Theorem 10.
    """

    N: int = parameter("items", unit="items", low=2)

    guarantee: ClassVar[Guarantee] = unprotected("ε = ∞: one bit, but no protection")
    accepts: ClassVar[type] = Users
    releases: ClassVar[type] = ScoreSketches

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block, exact in joint law: O(reps · K · N) draws.

        All guesses but that for the one rating are fair coins, independent of the
        bit.
        """
        users = self._users_by_guess(data, rng)
        by_bit = users.sum(axis=(1, 3))  # (bit, reps)
        of_other_items = by_bit[:, :, None] - users.sum(axis=1)
        positive = users[:, 1] + rng.binomial(of_other_items, 0.5)  # (bit, reps, N) guesses
        return ScoreSketches(
            positive[1],
            positive.sum(axis=0),
            1.0,
            data.users,
            sets=GuessedSets(self.N),
            origin=Origin(self, data.w),
        )

    def _users_by_guess(self, data: Users, rng: np.random.Generator) -> Integers:
        """(bit, guess, reps, N): users by bit, guess for the item they rated, and that item."""
        likes = data.b[:, data.truth.clusters].swapaxes(0, 1)  # (reps, K, N)
        classes = np.broadcast_to(data.classes, likes.shape[:2])
        users = rng.multinomial(classes, np.full(data.items, 1 / data.items))
        guessed_yes = rng.binomial(users, 0.5)
        guessed_no = users - guessed_yes
        right_yes = rng.binomial(guessed_yes, likes)
        right_no = rng.binomial(guessed_no, 1 - likes)
        wrong = [guessed_no - right_no, guessed_yes - right_yes]
        users_by_guess: Integers = np.array([wrong, [right_no, right_yes]]).sum(axis=3)
        return users_by_guess

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 1e3 * self.N
