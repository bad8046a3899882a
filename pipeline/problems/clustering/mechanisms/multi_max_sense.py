"""Several private bits a user about disjoint sets of items: Multi-MaxSense."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import special

from pipeline.privacy.composition import answer_budget
from pipeline.problems.common.person import over_answers
from pipeline.problems.common.subset_sums import SubsetCounts, subset_sums
from pipeline.problems.common.user_counts import (
    UserCounts,
    binomial,
    hypergeometric,
    sampled,
    tabulated,
)
from pipeline.study.arrays import Floats
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput, parameter

from ..design import proportions
from ..model import FEW, Users
from ..releases import ScoreSketches
from ..sampling.set_entries import Questions, by_entries
from ..theory.sensed_sets import FixedSets, SensedSets
from .max_sense import Sensing
from .one_bit import RECORD


@dataclass(frozen=True, kw_only=True)
class MultiMaxSense(Sensing):
    """MaxSense with Q disjoint sets a user, of N·θ/w items each, and budget ε/Q a bit.

    Sizes are rounded, at least 1. Sets of a user are Q parts of a random partition.
    Her sketches are not quite independent, though the paper treats them so: an item
    that is rated in one set is in no other. Q: ⌈ε⌉ unless given. epsilon is
    the budget of the record here, as in the paper, ε/Q a bit, whatever Q is. With
    `person` in its place Q bits have what composition allows of as many bits as a
    record can change, which is at most 2w.
    Source: Banerjee, Hegde and Massoulié, Figure 3.
    """

    Q: int | None = parameter("questions a user; null is ⌈ε⌉", default=None, low=1)

    guarantee: ClassVar[Guarantee] = replace(
        RECORD, composition="Q bits of budget ε/Q, of which two records change at most 2w"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answers * self.size > self.N:
            allowed = (
                f"{self.answers} disjoint sets of {self.size} items, N·θ/w, need more than the "
                f"N={self.N} there are; give a smaller Q, epsilon or theta, or a larger w"
            )
            raise InvalidInput("Q", self.answers, allowed)

    @property
    def answers(self) -> int:
        """Q, the number of questions to a user."""
        if self.Q is not None:
            return self.Q
        budget = self.given_epsilon if self.person is None else self.person / self.rounds
        if math.isinf(budget):
            raise InvalidInput("Q", self.Q, "must be given where epsilon is infinite")
        return math.ceil(budget)

    def rounded_numbers(self) -> tuple[int, ...]:
        """The number of questions and the size of a set, which are rounded."""
        return (self.answers, self.size)

    @property
    def changeable(self) -> int:
        """Bits that another record can change: sets are disjoint, so at most 2w."""
        return min(self.answers, 2 * self.w)

    @property
    def answer_epsilon(self) -> float:
        """Budget of one bit, in nats."""
        if self.person is not None:
            return answer_budget(self.person, self.composed_answers, self.person_delta)
        return self.given_epsilon / self.answers

    def check_budgets(self) -> None:
        """Raise InvalidInput where epsilon and person are said, and are not the same."""
        if self.person is None or self.epsilon in (None, self.person):
            return
        allowed = (
            f"and person={self.person:g} are budgets of the same record; leave out one of both"
        )
        raise InvalidInput("epsilon", self.epsilon, allowed)

    @property
    def size(self) -> int:
        """N·θ/w in whole items, the size of one sensing set."""
        return max(1, round(self.N * self.p))

    @property
    def share(self) -> float:
        """Share of the items that one bit is about: of whole items, and 1 where it is about all."""
        return self.size / self.N

    def sets(self, rated: int) -> SensedSets:
        """Of so many items each."""
        return FixedSets(self.N, rated, self.size)

    def stated(self) -> Guarantee:
        """The guarantee with this object's kind of budget, and how its bits compose."""
        if self.person is None:
            return over_answers(self.guarantee, self.rounds)
        composition = "Q bits of one budget, of which two records change at most 2w"
        return over_answers(replace(self.of_one_release(), composition=composition), self.rounds)

    def spent(self) -> dict[str, float]:
        """Budgets in nats: exactly of a user, of her by composition, of one of her bits.

        Records of w ratings differ in at most 2w sketches: less than ε is lost
        where Q > 2w. Of all rounds together.
        """
        each = self.answer_epsilon
        record = self.composed(self.composed_answers)
        if self.person is not None:
            return {"a user's record": record, "one bit": each}
        return {
            "a user's record": record,
            "a user's record, by composition": self.given_epsilon * self.rounds,
            "one bit": each,
        }

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block, exact in joint law.

        Up to 3 clusters the number of draws hardly depends on U; where there are
        more, so that hardly two users are alike, O(reps · U · Q · N θ/w):
        `by_entries`. Items of one cluster are exchangeable, also given a user's
        bits. So all that is drawn of users is how many items of each cluster they
        sense with bits that are 1, and with bits that are 0; which items those are
        is uniform: `subset_sums`.
        """
        if data.truth.count > FEW:
            questions = Questions(self.answers, self.size, self.keep)
            one_bits, zero_bits = by_entries(rng, data, questions)
            return self.released(one_bits, one_bits + zero_bits, data)
        subsets: list[SubsetCounts] = []
        for batch in data.portions():
            users = self._answered(rng, self._sensed(rng, batch, data), data)
            for c in range(data.truth.count):
                part = users.merged("rep", f"one_{c}", f"zero_{c}")
                sizes = (part[f"one_{c}"], part[f"zero_{c}"])
                subsets.append(SubsetCounts(part["rep"], c, sizes, part.count))
        one_bits, zero_bits = subset_sums(rng, data.truth.clusters, data.truth.count, subsets)
        return self.released(one_bits, one_bits + zero_bits, data)

    def _sensed(self, rng: np.random.Generator, users: UserCounts, data: Users) -> UserCounts:
        """Users by how many sensed items of each cluster they like, liked_c, or do not, other_c.

        And by rep. A hypergeometric number of all sensed items is rated, those are
        of all clusters alike, and so are the others.
        """
        size = _names("size", data)
        rated = _names("rated", data)
        liked = _names("liked", data)
        unrated = _names("un", data)
        total = np.full_like(users.count, self.answers * self.size)
        sizes = data.truth.sizes[users["rep"]].T
        users = users.with_columns(**dict(zip(size, sizes, strict=True)))
        rated_items = np.full_like(total, data.w)
        others = data.items - rated_items
        users = hypergeometric(rng, users, "rated", rated_items, others, total)
        users = sampled(rng, users, rated, size, "rated")
        for c, name in enumerate(liked):
            users = binomial(rng, users, name, users[rated[c]], data.b[users["user_class"], c])
        users = users.merged("rep", *rated, *liked)
        sizes = data.truth.sizes[users["rep"]].T
        left = {name: sizes[c] - users[rated[c]] for c, name in enumerate(size)}
        more = self.answers * self.size - users.total(*rated)
        users = users.with_columns(**left, more=more)
        users = sampled(rng, users, unrated, size, "more")
        columns = {}
        for c, name in enumerate(_names("other", data)):
            columns[name] = users[rated[c]] - users[liked[c]] + users[unrated[c]]
        return users.with_columns(**columns).merged("rep", *liked, *columns)

    def _answered(self, rng: np.random.Generator, users: UserCounts, data: Users) -> UserCounts:
        """Users by how many items of each cluster are in sets with bit 1, one_c, or 0, zero_c.

        And by rep. Sensed items that are liked fall into the sets uniformly; so do
        those of each cluster among the liked, and among the others.
        """
        liked = _names("liked", data)
        other = _names("other", data)
        liked_in_ones = _names("one", data)
        other_in_ones = _names("more", data)
        likes = users.total(*liked)
        most = int(likes.max(initial=0))
        users = tabulated(rng, users, "bits", likes, self._bits(most))
        bits, hit = np.divmod(users["bits"], most + 1)
        users = users.with_columns(hit=hit, rest=bits * self.size - hit)
        users = sampled(rng, users, liked_in_ones, liked, "hit")
        sensed = {f"all_{c}": users[liked[c]] + users[name] for c, name in enumerate(other)}
        users = users.with_columns(**sensed)
        users = users.merged("rep", "rest", *sensed, *other, *liked_in_ones)
        users = sampled(rng, users, other_in_ones, other, "rest")
        columns = {"rep": users["rep"]}
        for c, name in enumerate(sensed):
            columns[f"one_{c}"] = users[liked_in_ones[c]] + users[other_in_ones[c]]
            columns[f"zero_{c}"] = users[name] - columns[f"one_{c}"]
        return UserCounts(columns, users.count)

    def _bits(self, most: int) -> Floats:
        """Law of j (most + 1) + k: j bits are 1, and k of the liked items are in their sets.

        (most + 1, (Q + 1)(most + 1)); a row for each number l of liked items in all
        sets. [x^k] f₁^j · [y^(l − k)] f₀^(Q − j) · C(Q, j), over its sum: f₁, f₀
        generate the liked items of a set whose bit is 1, or 0. Binomial numbers in
        each set, given their sum, are uniform.
        """
        Q = self.answers
        table = np.zeros((most + 1, Q + 1, most + 1))
        for likes, row in enumerate(table):
            chance = self._liked_in_a_set(likes)
            of_one = self.keep * chance
            of_zero = (1 - self.keep) * chance
            of_one[0] = (1 - self.keep) * chance[0]
            of_zero[0] = self.keep * chance[0]
            powers_of_one = _powers(of_one, Q)
            powers_of_zero = _powers(of_zero, Q)
            for j in range(Q + 1):
                row[j, : likes + 1] = (
                    special.comb(Q, j) * powers_of_one[j] * powers_of_zero[Q - j][::-1]
                )
        laws: Floats = table.reshape(most + 1, -1)
        laws /= laws.sum(axis=1, keepdims=True)
        return laws

    def _liked_in_a_set(self, likes: int) -> Floats:
        """(likes + 1,): law of the liked items in one set, Binomial with mean likes/Q."""
        share = likes / (self.answers * self.size)
        k = np.arange(min(likes, self.size) + 1)
        chance = np.zeros(likes + 1)
        chance[: k.size] = np.exp(
            special.xlogy(k, share)
            + special.xlogy(self.size - k, 1 - share)
            - special.gammaln(k + 1)
            - special.gammaln(self.size - k + 1)
            + special.gammaln(self.size + 1)
        )
        return chance

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond.

        Of halves of items, or of entries.
        """
        total = self.answers * self.size
        if len(proportions("beta", self.beta)) > FEW:
            return 50.0 * total * self.U
        return 3.5e3 * self.answers * math.sqrt(self.N * total) * float(self.U**0.25)


def _powers(law: Floats, most: int) -> list[Floats]:
    """Powers 0 to `most` of a generating function, (n,) each: coefficients up to its last."""
    powers = [np.eye(1, law.size)[0]]
    for _ in range(most):
        powers.append(np.convolve(powers[-1], law)[: law.size])
    return powers


def _names(prefix: str, data: Users) -> list[str]:
    """Names of a column for each cluster."""
    return [f"{prefix}_{c}" for c in range(data.truth.count)]
