"""Pairwise-Preference: one private bit of each user about a pair of items."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.problems.common.questions import DESIGNS, check_questions
from pipeline.study.arrays import Floats, Integers
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput, parameter

from ..model import Users
from ..releases import PairSketches
from ..sampling.pair_throws import put_pairs, throw
from ..sampling.records import PairQuestions, bits_of_pairs, symmetric
from .one_bit import QUESTIONS, RepeatedBits


@dataclass(frozen=True)
class PairwisePreference(RepeatedBits):
    """Every user is asked about random pairs of items, and releases a private sketch of each.

    Pairs are uniform. reading, when the sketch is 1: `agree`, both items are rated,
    and equally (Appendix B, and the proof); `positive`, both are rated positively
    (§3.2); `equal`, ratings are equal, those of unrated items being 0 (Figure 1).
    rated_set: `public` asks about two of the items that a user has rated. Pairs are
    as uniform as before, and every sketch is about two ratings, as if w were N;
    `agree` and `equal` are then the same. Q: different pairs of a user, one bit
    about each; all are about one record, so that bits depend on each other. design: who
    is asked what, each user's own random pairs, or every pair equally often, ± 1.
    Source: Banerjee, Hegde and Massoulié, Figure 1 and Appendix B, with one random pair a
    user.
    """

    reading: str = parameter(
        "when the sketch of a pair is 1", default="agree", choices=("agree", "positive", "equal")
    )
    rated_set: str = parameter(
        "which items a user has rated: protected, or public",
        default="private",
        choices=("private", "public"),
    )

    U: int = parameter("users", unit="users", default=1, low=1)
    w: int | None = parameter(
        "items that a user has rated; null: as many as the data have",
        unit="items",
        default=None,
        low=1,
    )
    Q: int = QUESTIONS
    design: str = parameter(
        "who is asked about which pairs: each user about random ones, or every pair equally often",
        default="random",
        choices=DESIGNS,
    )

    releases: ClassVar[type] = PairSketches
    in_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_rated(self.w)
        pairs = self.N * (self.N - 1) // 2
        check_questions("Q", self.answers, pairs, f"pairs of N={self.N:,} items")
        if self.rated_set == "public" and self.design == "balanced":
            allowed = "asks about pairs that a user may not have rated; must be random with"
            raise InvalidInput("design", self.design, f"{allowed} rated_set=public")

    @property
    def answers(self) -> int:
        """Pairs that each user is asked about."""
        return self.Q

    def stated(self) -> Guarantee:
        """Of a user's record; with public rated sets, of her ratings of the same items."""
        of_record = super().stated()
        if self.rated_set == "private":
            return of_record
        return replace(
            of_record,
            protects="how a user has rated her items",
            neighbours="one user's ratings replaced by any others, of the same items",
            public="which items each user has rated, and what she is asked",
        )

    def _check_rated(self, w: int | None) -> None:
        if self.rated_set == "public" and w is not None and w < 2:
            allowed = (
                "must be 2 or more with rated_set=public, which asks a user about two of the "
                "items that she has rated"
            )
            raise InvalidInput("w", w, allowed)
        if self.rated_set == "public" and w is not None:
            rated_pairs = f"pairs of the w={w:,} items that a user has rated"
            check_questions("Q", self.answers, w * (w - 1) // 2, rated_pairs)

    def chances(self, data: Users) -> Floats:
        """(K, Lc, Lc): P(released bit = 1) of a user asked about items of two clusters.

        Raises InvalidInput for public rated sets of one item.
        """
        self._check_rated(data.w)
        items = data.items
        rated = data.w if self.rated_set == "private" else items
        either = rated / items  # chance that a certain item of the pair is rated
        both = rated * (rated - 1) / (items * (items - 1))
        likes = data.b[:, :, None] * data.b[:, None]
        added = data.b[:, :, None] + data.b[:, None]
        sketches = {
            "agree": both * (1 - added + 2 * likes),
            "positive": both * likes,
            "equal": 1 - either * added + 2 * both * likes,
        }
        sketch = sketches[self.reading]
        released: Floats = self.keep * sketch + (1 - self.keep) * (1 - sketch)
        return released

    def release(self, data: Users, rng: np.random.Generator) -> PairSketches:
        """Counts of a block; pairs of two clusters have one law.

        O(reps · (min(U, 5 N²) + N²)) with one random pair a user; otherwise records
        are drawn, O(reps · (U · Q² + N²)).
        """
        if self.answers > 1 or self.design == "balanced":
            return self._release_of_records(data, rng)
        chances = self.chances(data)
        reps = len(data.truth.clusters)
        agreements, probes = np.zeros((2, reps, data.items, data.items), np.int64)
        for r in range(reps):  # each is large
            for cell in self._cells(data, r, chances, rng):
                released = throw(rng, cell.one_bits, cell.pairs)
                put_pairs(agreements[r], cell.items, cell.others, released)
                zero_bits = throw(rng, cell.users - cell.one_bits, cell.pairs)
                put_pairs(probes[r], cell.items, cell.others, released + zero_bits)
        both = self._chance_both(data)
        return PairSketches(agreements, probes, self.keep, data.users, both)

    def _chance_both(self, data: Users) -> float | None:
        """Chance that both items of a pair are rated; None where bits say something else."""
        if self.rated_set == "public":
            return None if self.reading == "positive" else 1.0
        if self.reading != "agree":
            return None
        return data.w * (data.w - 1) / (data.items * (data.items - 1))

    def _release_of_records(self, data: Users, rng: np.random.Generator) -> PairSketches:
        """The same of users whose records are drawn."""
        self._check_rated(data.w)
        questions = PairQuestions(
            count=self.answers,
            reading=self.reading,
            is_dealt=self.design == "balanced",
            of_rated=self.rated_set == "public",
            keep=self.keep,
        )
        bits = bits_of_pairs(rng, data, questions)
        ones = symmetric(bits[:, 1], data.items)
        probes = symmetric(bits.sum(axis=1), data.items)
        return PairSketches(ones, probes, self.keep, data.users)

    def _cells(
        self, data: Users, r: int, chances: Floats, rng: np.random.Generator
    ) -> Iterator["_Cell"]:
        """Users of replication r by the two clusters of their pair.

        They are multinomial, their released ones binomial, and both fall on the
        pairs of these clusters uniformly.
        """
        size = data.truth.sizes[r]
        first, second = np.triu_indices(len(size))
        within = size[first] * (size[first] - 1) // 2
        pairs = np.where(first == second, within, size[first] * size[second])
        users_by_class = rng.multinomial(data.classes, pairs / pairs.sum())
        one_bits = rng.binomial(users_by_class, chances[:, first, second]).sum(axis=0)
        users = users_by_class.sum(axis=0)
        items = [np.flatnonzero(data.truth.clusters[r] == c) for c in range(len(size))]
        for cell, (c, d) in enumerate(zip(first, second, strict=True)):
            others = None if c == d else items[d]
            yield _Cell(items[c], others, pairs[cell], users[cell], one_bits[cell])

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        if self.answers > 1 or self.design == "balanced":
            rated = self.w or 0
            each = 20 + 40 * self.answers + 4 * rated
            return 4e5 + 100 * self.N**2 + each * self.U
        return 4e5 + 100 * self.N**2

    def memory(self) -> float:
        """Bytes of one replication: agreements and probes of all pairs."""
        return 16 * self.N**2


@dataclass(frozen=True)
class _Cell:
    """Users who are asked about pairs of an item of one cluster and one of another.

    items: of the first cluster. others: of the second; None where both are one
    cluster. pairs: their number. users: how many are asked. one_bits: how many of
    these release a 1.
    """

    items: Integers
    others: Integers | None
    pairs: int
    users: int
    one_bits: int
