"""Several private bits a user about disjoint sets of items: Multi-MaxSense."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import special

from pipeline.privacy.attacks import Attack, FlippedBits
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter

from ..block_law import proportions
from ..model import FEW, Users
from ..releases import ScoreSketches
from ..set_entries import by_entries
from ..subset_sums import SubsetCounts, subset_sums
from ..user_counts import UserCounts, binomial, hypergeometric, sampled, tabulated
from .max_sense import Sensing


@dataclass(frozen=True)
class MultiMaxSense(Sensing):
    """MaxSense with Q sets a user, disjoint, of N·θ/w items each (rounded, at least 1), and budget ε/Q a bit.

    Sets of a user are Q parts of a random partition. Her sketches are not quite independent, though the paper treats
    them so: an item that is rated in one set is in no other. Q: ⌈ε⌉ unless given.
    unit: all of a user's record, rated items and ratings. neighbours: that record replaced by any other.
    budget: pure ε-LDP a user, by composition of Q bits. Source: Banerjee, Hegde and Massoulié, Figure 3.
    """

    Q: int | None = parameter("questions a user; null is ⌈ε⌉", default=None, low=1)

    budget: ClassVar[str] = "pure ε-LDP for a user's record: Q bits of budget ε/Q"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.Q is None and math.isinf(self.epsilon):
            raise InvalidInput("Q", self.Q, "must be given where epsilon is infinite")
        if self.questions * self.size > self.N:
            raise InvalidInput(
                "Q",
                self.questions,
                f"{self.questions} disjoint sets of {self.size} items, N·θ/w, need "
                f"more than the N={self.N} there are; give a smaller Q, epsilon or theta, or a larger w",
            )

    @property
    def questions(self) -> int:
        """Q, the number of questions to a user."""
        return self.Q or math.ceil(self.epsilon)

    @property
    def size(self) -> int:
        """N·θ/w in whole items, the size of one sensing set."""
        return max(1, round(self.N * self.p))

    @property
    def share(self) -> float:
        """Share of the items that one bit is about: of whole items, and 1 where it is about all."""
        return self.size / self.N

    @cached_property
    def keep(self) -> float:
        """Probability that one bit is released as it is, at budget ε/Q."""
        return float(special.expit(self.epsilon / self.questions))

    def spent(self) -> dict[str, float]:
        """Budgets in nats: exactly of a user, of her by composition, of one of her bits.

        Records of w ratings differ in at most 2w sketches: less than ε is lost where Q > 2w.
        """
        one = self.epsilon / self.questions
        return {
            "a user's record": one * min(self.questions, 2 * self.w),
            "a user's record, by composition": self.epsilon,
            "one bit": one,
        }

    def attacks(self) -> dict[str, Attack]:
        """The best attack on one bit, and on a record: two records differ in at most 2w of a user's bits."""
        one = self.epsilon / self.questions
        return {
            "answer": FlippedBits(one, 1),
            "person": FlippedBits(one, min(self.questions, 2 * self.w)),
        }

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block, exact in joint law. Up to 3 clusters the number of draws hardly depends on U; where there
        are more, so that hardly two users are alike, O(reps · U · Q · N θ/w): `by_entries`.

        Items of one cluster are exchangeable, also given a user's bits. So all that is drawn of users is how many items
        of each cluster they sense with bits that are 1, and with bits that are 0; which items those are is uniform:
        `subset_sums`.
        """
        if data.truth.count > FEW:
            ones, zeros = by_entries(rng, data, self.questions, self.size, self.keep)
            return ScoreSketches(ones, ones + zeros, self.keep, data.users)
        sensed = list[SubsetCounts]()
        for batch in data.portions():
            users = self._answered(rng, self._sensed(rng, batch, data), data)
            for c in range(data.truth.count):
                part = users.merged("rep", f"one_{c}", f"zero_{c}")
                sensed.append(
                    SubsetCounts(part["rep"], c, (part[f"one_{c}"], part[f"zero_{c}"]), part.count)
                )
        ones, zeros = subset_sums(rng, data.truth.clusters, data.truth.count, sensed)
        return ScoreSketches(ones, ones + zeros, self.keep, data.users)

    def _sensed(self, rng: np.random.Generator, users: UserCounts, data: Users) -> UserCounts:
        """Users by how many sensed items of each cluster they like, liked_c, and do not, other_c; and rep.

        A hypergeometric number of all sensed items is rated, those are of all clusters alike, and so are the others.
        """
        size, rated, liked, other, unrated = (
            _names(what, data) for what in ("size", "rated", "liked", "other", "un")
        )
        sizes = data.truth.sizes[users["rep"]].T
        total = np.full_like(users.count, self.questions * self.size)
        users = UserCounts({**users.columns, **dict(zip(size, sizes, strict=True))}, users.count)
        good = np.full_like(total, data.w)
        users = hypergeometric(rng, users, "rated", good, data.items - good, total)
        users = sampled(rng, users, rated, size, "rated")
        for c, name in enumerate(liked):
            users = binomial(rng, users, name, users[rated[c]], data.b[users["user_class"], c])
        users = users.merged("rep", *rated, *liked)
        left = {
            one: data.truth.sizes[users["rep"], c] - users[rated[c]] for c, one in enumerate(size)
        }
        more = self.questions * self.size - sum(
            (users[one] for one in rated), np.zeros_like(users.count)
        )
        users = UserCounts({**users.columns, **left, "more": more}, users.count)
        users = sampled(rng, users, unrated, size, "more")
        others = {
            name: users[rated[c]] - users[liked[c]] + users[unrated[c]]
            for c, name in enumerate(other)
        }
        return UserCounts({**users.columns, **others}, users.count).merged("rep", *liked, *other)

    def _answered(self, rng: np.random.Generator, users: UserCounts, data: Users) -> UserCounts:
        """Users by how many items of each cluster are in sets whose released bit is 1, one_c, or 0, zero_c; and rep.

        Sensed items that are liked fall into the sets uniformly; so do those of each cluster among the liked, and among
        the others.
        """
        liked, other, ones, more = (
            _names(what, data) for what in ("liked", "other", "one", "more")
        )
        likes = sum((users[one] for one in liked), np.zeros_like(users.count))
        most = int(likes.max(initial=0))
        users = tabulated(rng, users, "bits", likes, self._bits(most))
        bits, hit = np.divmod(users["bits"], most + 1)
        users = UserCounts(
            {**users.columns, "hit": hit, "rest": bits * self.size - hit}, users.count
        )
        users = sampled(rng, users, ones, liked, "hit")
        both = {f"all_{c}": users[liked[c]] + users[name] for c, name in enumerate(other)}
        users = UserCounts({**users.columns, **both}, users.count).merged(
            "rep", "rest", *both, *other, *ones
        )
        users = sampled(rng, users, more, other, "rest")
        columns = {"rep": users["rep"]}
        for c, name in enumerate(both):
            columns[f"one_{c}"] = users[ones[c]] + users[more[c]]
            columns[f"zero_{c}"] = users[name] - columns[f"one_{c}"]
        return UserCounts(columns, users.count)

    def _bits(self, most: int) -> Floats:
        """(most + 1, (Q + 1)(most + 1)): law of j (most + 1) + k, where j bits are 1, and k of the liked items are in
        their sets; a row for each number l of liked items in all sets.

        [x^k] f₁^j · [y^(l − k)] f₀^(Q − j) · C(Q, j), over its sum: f₁, f₀ generate the liked items of a set whose bit
        is 1, or 0. Binomial numbers in each set, given their sum, are uniform.
        """
        Q, size = self.questions, special.gammaln(self.size + 1)
        table = np.zeros((most + 1, Q + 1, most + 1))
        for likes, row in enumerate(table):
            chance, share, k = (
                np.zeros(likes + 1),
                likes / (Q * self.size),
                np.arange(min(likes, self.size) + 1),
            )
            chance[: k.size] = np.exp(
                special.xlogy(k, share)
                + special.xlogy(self.size - k, 1 - share)
                - special.gammaln(k + 1)
                - special.gammaln(self.size - k + 1)
                + size
            )
            one, zero = self.keep * chance, (1 - self.keep) * chance
            one[0], zero[0] = (1 - self.keep) * chance[0], self.keep * chance[0]
            powers = [[np.eye(1, likes + 1)[0]] for _ in range(2)]
            for factor, some in zip((one, zero), powers, strict=True):
                for _ in range(Q):
                    some.append(np.convolve(some[-1], factor)[: likes + 1])
            for j in range(Q + 1):
                row[j, : likes + 1] = special.comb(Q, j) * powers[0][j] * powers[1][Q - j][::-1]
        laws: Floats = table.reshape(most + 1, -1)
        laws /= laws.sum(axis=1, keepdims=True)
        return laws

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond: of halves of items, or of entries."""
        total = self.questions * self.size
        if len(proportions("beta", self.beta)) > FEW:
            return 50.0 * total * self.U
        return 3.5e3 * self.questions * math.sqrt(self.N * total) * float(self.U**0.25)


def _names(what: str, data: Users) -> list[str]:
    """Names of a column for each cluster."""
    return [f"{what}_{c}" for c in range(data.truth.count)]
