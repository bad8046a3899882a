"""One bit a user about a block model's items: pairwise preferences, MaxSense, and the sketch that protects nothing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from pipeline.mechanisms.blocks_releases import PairSketches, ScoreSketches
from pipeline.models.block_counts import Rows, binomial, scatter, spread
from pipeline.models.blocks import Users
from pipeline.parameters import InvalidInput, parameter
from pipeline.theory.blocks import separable
from pipeline.theory.blocks_values import proportions, rating_probabilities


@dataclass(frozen=True)
class OneBit:
    """What mechanisms have in common whose users release one bit each, kept with probability e^ε/(1 + e^ε).

    unit: all of a user's record, rated items and ratings. neighbours: that record replaced by any other.
    budget: pure ε-LDP a user; ε = ∞ turns no bit over. Source: Banerjee, Hegde and Massoulié, Proposition 4.
    """

    N: int = parameter("items", unit="items", low=2)
    epsilon: float = parameter("privacy budget of a user's record; infinite is no privacy", unit="nats", above=0,
                               infinite=True)

    unit: ClassVar[str] = "all of a user's record: which items are rated, and how"
    neighbours: ClassVar[str] = "one user's record replaced by any other; what is asked is public, and drawn without it"
    budget: ClassVar[str] = "pure ε-LDP for a user's record"
    accepts: ClassVar[type] = Users

    @property
    def keep(self) -> float:
        """e^ε/(1 + e^ε)"""
        return float(expit(self.epsilon))

    def spent(self) -> dict[str, float]:
        """Budget of a user, in nats."""
        return {"a user's record": self.epsilon}


@dataclass(frozen=True)
class PairwisePreference(OneBit):
    """Every user is asked about one pair of items, drawn uniformly, and releases a private sketch of it.

    reading, when the sketch is 1: `agree`, both items are rated, and alike (Appendix B, and the proof); `positive`,
    both are rated positively (§3.2); `equal`, ratings are equal, those of unrated items being 0 (Figure 1).
    rated_set: `public` asks about two of the items that a user has rated. Pairs are as uniform as before, and every
    sketch is about two ratings, as if w were N; `agree` and `equal` are then the same.
    unit: all of a user's record, rated items and ratings; the ratings only where the rated set is public.
    neighbours: that replaced by any other. budget: pure ε-LDP a user.
    Source: Banerjee, Hegde and Massoulié, Figure 1 and Appendix B.
    """

    reading: str = parameter("when the sketch of a pair is 1", default="agree", choices=("agree", "positive", "equal"))
    rated_set: str = parameter("which items a user has rated: protected, or public", default="private",
                               choices=("private", "public"))

    neighbours: ClassVar[str] = (f"{OneBit.neighbours}; with rated_set=public its ratings only, of the same items: "
                                 "which items are rated is then not protected")
    releases: ClassVar[type] = PairSketches

    def chances(self, data: Users) -> np.ndarray:
        """(K, Lc, Lc): P(released bit = 1) of a user asked about items of two clusters."""
        items, rated = data.items, data.items if self.rated_set == "public" else data.w
        one, both = rated / items, rated * (rated - 1) / (items * (items - 1))
        likes = data.b[:, :, None] * data.b[:, None]
        added = data.b[:, :, None] + data.b[:, None]
        sketch = {"agree": both * (1 - added + 2 * likes), "positive": both * likes,
                  "equal": 1 - one * added + 2 * both * likes}[self.reading]
        return self.keep * sketch + (1 - self.keep) * (1 - sketch)

    def release(self, data: Users, rng: np.random.Generator) -> PairSketches:
        """Counts of a block. Pairs of items of the same two clusters are alike: O(reps · (min(U, 5 N²) + N²))."""
        sizes, chances = data.truth.sizes, self.chances(data)
        agreements, probes = np.zeros((2, len(sizes), data.items, data.items), np.int64)
        first, second = np.triu_indices(sizes.shape[1])
        for r, size in enumerate(sizes):  # each is large
            pairs = np.where(first == second, size[first] * (size[first] - 1) // 2, size[first] * size[second])
            asked = rng.multinomial(data.classes, pairs / pairs.sum())
            ones = rng.binomial(asked, chances[:, first, second]).sum(axis=0)
            for c, d, boxes, yes, total in zip(first, second, pairs, ones, asked.sum(axis=0), strict=True):
                at = _pairs_of(data.truth.clusters[r], c, d)
                agreements[r][at] = scatter(rng, yes, boxes)
                probes[r][at] = agreements[r][at] + scatter(rng, total - yes, boxes)
            for whole in (agreements[r], probes[r]):
                whole += whole.T.copy()
        return PairSketches(agreements, probes, self.keep, data.users)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 60 * self.N**2


@dataclass(frozen=True)
class Sensing(OneBit):
    """What MaxSense and its kin have in common: items are sensed with probability θ/w.

    alpha, beta, b: of the model, for `remark` only.
    """

    w: int = parameter("items that a user has rated", unit="items", low=1)
    theta: float = parameter("θ, sensing probability of an item times w", default=1.0, above=0)
    alpha: str = parameter("shares of the classes of users", default="1")
    beta: str = parameter("shares of the clusters of items", default="0.5, 0.5")
    b: str | None = parameter("probabilities b_kl of a positive rating, a row for each class of users", default=None)

    releases: ClassVar[type] = ScoreSketches

    def __post_init__(self):
        if self.theta > self.w:
            raise InvalidInput("theta", self.theta, f"θ/w is the chance that an item is sensed: at most w={self.w}")

    @property
    def p(self) -> float:
        """θ/w"""
        return self.theta / self.w

    @property
    def remark(self) -> str | None:
        """What a reader of the account should know: that δ_min = 0, if so."""
        if self.b is None:
            return None
        alpha, beta = proportions("alpha", self.alpha), proportions("beta", self.beta)
        b = rating_probabilities(self.b, len(alpha), len(beta))
        if len(beta) == 1 or separable(self.theta, alpha, beta, b):
            return None
        return ("δ_min = 0: two clusters are liked equally often, averaged over the classes of users, so their scores "
                "have the same mean and no number of users tells them apart; pairwise_preference may")


@dataclass(frozen=True)
class MaxSense(Sensing):
    """A user is shown a random set of items, each in it with probability θ/w, and says whether she likes any of them.

    Her sketch is the largest of her ratings in the set, 0 where she has none; she releases it as one private bit.
    unit: all of a user's record, rated items and ratings. neighbours: that record replaced by any other.
    budget: pure ε-LDP a user; sets are public. Source: Banerjee, Hegde and Massoulié, Figure 2.
    """

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block, exact in joint law. Up to 3 clusters the number of draws does not depend on U.

        Users are alike who rated equally many items of each cluster and like equally many sensed ones: that decides
        their sketch. Given those, sensed items that are not liked are binomial, in each cluster by itself, and
        positions are uniform: `spread`.
        """
        clusters, found = data.truth.count, []
        for rows in data.batches():
            for c in range(clusters):
                rows = binomial(rng, rows, f"liked_{c}", rows[f"rated_{c}"], self.p * data.b[rows["user_class"], c])
            hit = np.any([rows[f"liked_{c}"] > 0 for c in range(clusters)], axis=0)
            ones = rng.binomial(rows.count, np.where(hit, self.keep, 1 - self.keep))
            for bit, count in ((0, rows.count - ones), (1, ones)):
                group = Rows(dict(rows.columns, group=2 * rows["rep"] + bit), count).some()
                found += [(part["group"], c, part["held"], part.count) for c in range(clusters)
                          if (part := self._sensed(rng, group, c, data)).count.size]
        sums = spread(rng, data.truth.clusters.repeat(2, axis=0), clusters, found).reshape(-1, 2, data.items)
        return ScoreSketches(sums[:, 1], sums.sum(axis=1), self.keep, data.users)

    def _sensed(self, rng, rows, c, data):
        """Users by the number of items of cluster c that are sensed: columns group and held."""
        rows = rows.merged("group", "user_class", f"rated_{c}", f"liked_{c}")
        likes = data.b[rows["user_class"], c]
        disliked = self.p * (1 - likes) / np.maximum(1 - self.p * likes, 1e-300)  # sensed, if not sensed and liked
        rows = binomial(rng, rows, "other", rows[f"rated_{c}"] - rows[f"liked_{c}"], disliked)
        unrated = data.truth.sizes[rows["group"] // 2, c] - rows[f"rated_{c}"]
        rows = Rows(dict(group=rows["group"], held=rows[f"liked_{c}"] + rows["other"], unrated=unrated), rows.count)
        rows = rows.merged("group", "held", "unrated")
        rows = binomial(rng, rows, "more", rows["unrated"], np.full(rows.count.size, self.p))
        return Rows(dict(group=rows["group"], held=rows["held"] + rows["more"]), rows.count).merged("group", "held")

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 5e6 + 6e3 * self.N


@dataclass(frozen=True)
class OneBitSketch:
    """Without privacy: a user takes one of her ratings at random and says whether it is the one that is guessed.

    H_ui, the guess for every item, is a fair coin, and S_u = 1 if H_uI = Z_uI for her rating Z_uI. The question is
    whether (I, Z) is in A_u = {(i, H_ui)}: at w = 1 the deterministic one-bit questions of the largest information in
    the proof of Theorem 10. For larger w the law is the same: one rating is used.
    Scores are Σ_u H_ui S_u; their mean is U/4 + (2 b̄_i − 1) U/(4N).
    unit: none, nothing is protected. Source: Banerjee, Hegde and Massoulié, Theorem 10.
    """

    N: int = parameter("items", unit="items", low=2)

    unit: ClassVar[str] = "none"
    neighbours: ClassVar[str] = "none"
    budget: ClassVar[str] = "ε = ∞: one bit, but no protection"
    accepts: ClassVar[type] = Users
    releases: ClassVar[type] = ScoreSketches

    def release(self, data: Users, rng: np.random.Generator) -> ScoreSketches:
        """Scores of a block, exact in joint law: O(reps · K · N) draws.

        All guesses but that for the one rating are fair coins, independent of the bit.
        """
        likes = data.b[:, data.truth.clusters].swapaxes(0, 1)  # (reps, K, N)
        shape = likes.shape
        taken = rng.multinomial(np.broadcast_to(data.classes, shape[:2]), np.full(data.items, 1 / data.items))
        guessed = rng.binomial(taken, 0.5)  # guesses "positive"
        right = rng.binomial(guessed, likes), rng.binomial(taken - guessed, 1 - likes)
        own = np.array([[taken - guessed - right[1], guessed - right[0]], [right[1], right[0]]]).sum(axis=3)
        totals = own.sum(axis=(1, 3))  # (bit, reps), users by their bit
        held = own[:, 1] + rng.binomial(totals[:, :, None] - own.sum(axis=1), 0.5)
        return ScoreSketches(held[1], held.sum(axis=0), 1.0, data.users)

    def work(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 1e3 * self.N


def _pairs_of(clusters, c, d):
    """Places of all pairs of an item of cluster c and one of cluster d, above or below the diagonal, once each."""
    of_c, of_d = np.flatnonzero(clusters == c), np.flatnonzero(clusters == d)
    if c == d:
        i, j = np.triu_indices(of_c.size, 1)
        return of_c[i], of_c[j]
    return of_c.repeat(of_d.size), np.tile(of_d, of_c.size)
