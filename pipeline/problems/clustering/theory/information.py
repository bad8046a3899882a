"""Mutual information between labels and one private answer, exactly and bounded, in bits.

Labels Z uniform on {0, 1}^N; a user holds X = (I, Z_I), I a uniform
w-subset of the items, one of D = C(N, w)·2^w records. She answers a
question A, a set of records: the sketch 1{X ∈ A} leaves her by randomized
response, S = 1 with chance f + t·1{X ∈ A}, f = 1/(1 + e^ε), t = tanh(ε/2);
ε = ∞ is no privacy. With g(z) = P(X ∈ A | Z = z),

    I(Z; S) = h(f + t·E g(Z)) − E h(f + t·g(Z)),    h the binary entropy.

Source: Banerjee, Hegde and Massoulié, §3, §4, Appendix C. Their logarithms
are to base 2 by a footnote, but Lemma 9 uses log x ≤ x − 1: bounds from it
hold in nats and carry a factor log₂ e here.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import InvalidInput

NAT = 1 / np.log(2)  # bits
SMALL = 1e-3  # of changes of a chance, over it: below, five terms of a series are exact
MOST = 1 << 26  # questions that are tried one by one
CHUNK = 1 << 16  # questions at a time

# -------------------------------------------------------------------------------- bounds


def entropy(p: Array | float) -> Floats:
    """h(p), bits; broadcasts."""
    bits: Floats = (special.entr(p) + special.entr(1 - np.asarray(p))) * NAT
    return bits


def lemma_6(epsilon: Array | float) -> Floats:
    """ε log₂ e: an upper bound on the information of any ε-LDP answer. Source: Lemma 6."""
    bits: Floats = np.asarray(epsilon) * NAT
    return bits


def capacity(epsilon: Array | float) -> Floats:
    """The largest information of an ε-LDP answer: (B − 1 − ln B) log₂ e, B = ε/(1 − e^{−ε}).

    It is ε²/8 nats at small ε. Given S = s the density λ of the posterior
    to the prior has mean 1 and lies in an interval [λ₀, λ₀e^ε]; E λ log λ
    is largest for two values, taken with chance a: a λ₀e^ε + (1 − a) λ₀ =
    1, maximised over a. Attained by naming a random set of that share of
    all records, e^ε times as likely if the user's own is in it.
    """
    epsilon = np.asarray(epsilon, float)
    with np.errstate(invalid="ignore"):
        exact = epsilon / -np.expm1(-epsilon) - 1
        ratio = np.where(epsilon < 1e-4, epsilon / 2 + epsilon**2 / 12, exact)
    series = ratio**2 / 2 - ratio**3 / 3
    nats = np.where(ratio < 1e-4, series, ratio - np.log1p(ratio))
    bits: Floats = nats * NAT
    return bits


def theorem_10(N: Array | int) -> Floats:
    """1/N: one bit without privacy, w = 1.

    The proof has it in nats; in bits it holds as 1 − h(½ + x) ≤ 4x².
    """
    return 1 / np.asarray(N, float)


def _overlap(N: int, w: int) -> tuple[Integers, Floats]:
    """Sizes and their probabilities of the overlap of two users' rated sets."""
    sizes = np.arange(w + 1)
    return sizes, scipy.stats.hypergeom.pmf(sizes, N, w, w)


def theorem_13(N: int, w: int, epsilon: float) -> float:
    """e^{2ε} E[1 − 2^{−|I₁∩I₂|}] log₂ e, the explicit form of O(w²/N) in the proof; any w.

    Source: Theorem 13.
    """
    sizes, chance = _overlap(N, w)
    return float(np.exp(2 * epsilon) * chance @ (1 - 0.5**sizes) * NAT)


def theorem_14(N: int, w: int, epsilon: float) -> float:
    """[2(e^ε − 1)² w/N + e^{2ε}(E[H; H > 1] + P(H > 1))] log₂ e, H = |I₁∩I₂|; for ε < ln 2.

    Source: Theorem 14.
    """
    sizes, chance = _overlap(N, w)
    rest = chance[2:] @ (sizes[2:] + 1)
    return float((2 * np.expm1(epsilon) ** 2 * w / N + np.exp(2 * epsilon) * rest) * NAT)


def contraction(N: Array | int, w: Array | int, epsilon: Array | float) -> Floats:
    """log₂(1 + (w/N) sinh²(ε/2)): any ε-LDP answer, any w and ε; broadcasts.

    So U = Ω(N²/w) needs neither w = o(N^{1/3}) nor ε < ln 2 of Theorem 14.
    Proof. 2^{|I₁∩I₂|}·1{Z₁ ≡ Z₂} in Lemma 9 is Σ_T v_T(X₁) v_T(X₂), v_T(X)
    = 1{T ⊆ I}·Π_{ℓ∈T}(1 − 2Z_ℓ). Under uniform X the v_T are orthogonal
    with squared norms P(T ⊆ I) ≤ w/N for T ≠ ∅. With λ the density of X
    given S = s, Bessel's inequality gives Σ_{T≠∅} E[λ v_T]² ≤ (w/N) Var λ.
    λ has mean 1 and lies in some [λ₀, λ₀e^ε], so Var λ ≤ (1 − λ₀)(λ₀e^ε −
    1) ≤ sinh²(ε/2). And D(Z | s) ≤ log(1 + Σ_{T≠∅} E[λ v_T]²), by Jensen.
    """
    bits: Floats = np.log1p(np.divide(w, N) * np.sinh(np.asarray(epsilon) / 2) ** 2) * NAT
    return bits


def contraction_one_bit(N: Array | int, w: Array | int, epsilon: Array | float) -> Floats:
    """log₂(1 + (w/N) t²): the same for one-bit sketches with randomized response.

    ε = ∞ extends Theorem 10 to any w. Here E_S Var λ = t² a(1−a)/(s(1−s)) ≤
    t², a = P(X ∈ A), s = P(S = 1), and log is concave.
    """
    bits: Floats = np.log1p(np.divide(w, N) * np.tanh(np.asarray(epsilon) / 2) ** 2) * NAT
    return bits


# --------------------------------------------------------------------- exact information


def _release(epsilon: float) -> tuple[float, float]:
    """f and t: a sketch that is 1 with chance q is released as a 1 with chance f + t q."""
    return special.expit(-epsilon), np.tanh(epsilon / 2)


def information(probabilities: ArrayLike, weights: Array, epsilon: float) -> Floats:
    """(...,): I(Z; S) from g(z), (..., z), and the weights of z, (z,), which sum to 1.

    Σ_z P(z) KL(p_z, p̄), p_z = f + t g(z): relatively accurate also where
    ε, and so the information, is small.
    """
    flip, slope = _release(epsilon)
    chances = np.asarray(probabilities, float)
    mean = (chances @ weights)[..., None]
    moved = slope * (chances - mean)
    yes = flip + slope * mean
    bits: Floats = (_divergence(moved, yes) + _divergence(-moved, 1 - yes)) @ weights * NAT
    return bits


def _divergence(moved: Floats, chance: Floats) -> Floats:
    """(q + d) log((q + d)/q) − d of a chance q that is moved by d, in nats."""
    ratio = np.divide(
        moved,
        chance,
        out=np.zeros(np.broadcast_shapes(moved.shape, chance.shape)),
        where=chance > 0,
    )
    ratio = np.maximum(ratio, -1.0)  # but for rounding
    small = ratio**2 * (1 / 2 - ratio * (1 / 6 - ratio * (1 / 12 - ratio * (1 / 20 - ratio / 30))))
    large = special.xlog1py(1 + ratio, ratio) - ratio
    nats: Floats = chance * np.where(np.abs(ratio) < SMALL, small, large)
    return nats


def maxsense_information(N: int, w: int, epsilon: float, p: float) -> float:
    """I(Z; S | H) of MaxSense, each item sensed with probability p: exact, O(N²).

    Given s sensed items of which M ~ Binomial(s, ½) are positive,
    P(sketch = 0) = C(N − M, w)/C(N, w). H is public.
    """
    M = np.arange(N + 1)
    # A positive sensed item is among the w rated ones.
    positive = 1 - scipy.stats.hypergeom.pmf(0, N, M, w)
    total = 0.0
    for s, chance in enumerate(scipy.stats.binom.pmf(M, N, p)):
        if chance:
            law = scipy.stats.binom.pmf(M[: s + 1], s, 0.5)
            total += chance * float(information(positive[: s + 1], law, epsilon))
    return float(total)


def pairwise_information(N: int, w: int, epsilon: float, reading: str = "agree") -> float:
    """I(Z; S | pair) of Pairwise-Preference, exact.

    reading, when the sketch is 1: as in the mechanism. `agree`: both rated,
    equally. `positive`: both rated positively. `equal`: equal, unrated
    being 0.
    """
    both = w * (w - 1) / (N * (N - 1))
    lone = w * (N - w) / (N * (N - 1))  # a certain one of the two alone is rated
    none = (N - w) * (N - w - 1) / (N * (N - 1))
    # At labels 00, 01, 10, 11.
    chances = {
        "agree": [both, 0, 0, both],
        "positive": [0, 0, 0, both],
        "equal": [1, none + lone, none + lone, none + both],
    }
    if reading not in chances:
        raise InvalidInput("reading", reading, f"must be one of {', '.join(chances)}")
    return float(information(chances[reading], np.full(4, 0.25), epsilon))


def count_information(N: int, w: int, epsilon: float, least: int | None = None) -> float:
    """I(Z; S) of the question "have you rated at least so many positively?", exact.

    The default is a majority of w. A lower bound on `best_information` for
    any N and w. O(N w).
    """
    if least is None:
        least = w // 2 + 1
    positive = np.arange(N + 1)
    enough = scipy.stats.hypergeom.sf(least - 1, N, positive, w)
    return float(information(enough, scipy.stats.binom.pmf(positive, N, 0.5), epsilon))


def lemma_9(N: int, w: int, chances: Array) -> float:
    """Right side of Lemma 9 in nats: E_S E[2^{|I₁∩I₂|}·1{Z₁ ≡ Z₂} − 1].

    chances: (D, s), P(S = s | X).
    Records in the order of `records`. O(D²).
    """
    items, values = records(N, w)
    sign = np.zeros((len(items), N))
    np.put_along_axis(sign, items, 1.0 - 2 * values, axis=1)
    shared = np.abs(sign) @ np.abs(sign).T
    equal = sign @ sign.T == shared
    kernel = np.where(equal, 2.0**shared, 0) - 1
    joint = np.asarray(chances, float) / len(items)
    total = joint.sum(axis=0)
    by_answer = np.einsum("is,ij,js->s", joint, kernel, joint)
    return float((by_answer[total > 0] / total[total > 0]).sum())


def channel_information(N: int, w: int, chances: Array) -> float:
    """I(Z; S) for any answer, P(S = s | X) in `chances`, (D, s), records in the order of `records`.

    O(2^N D).
    """
    conditional = _membership(N, w) @ np.asarray(chances, float)  # P(s | z)
    divergence = special.rel_entr(conditional, conditional.mean(axis=0)).sum()
    return float(divergence / len(conditional) * NAT)


def records(N: int, w: int) -> tuple[Integers, Integers]:
    """All records that a user may have: (D, w) items and (D, w) their labels, by set."""
    sets = np.array(list(itertools.combinations(range(N), w)), int).reshape(-1, w)
    labels = np.array(list(itertools.product((0, 1), repeat=w)), int)
    return np.repeat(sets, len(labels), axis=0), np.tile(labels, (len(sets), 1))


def _membership(N: int, w: int) -> Floats:
    """(2^N, D): P(X | z)."""
    items, values = records(N, w)
    z = np.array(list(itertools.product((0, 1), repeat=N)), int)
    chances: Floats = (z[:, items] == values).all(axis=2) * (2.0**w / len(items))
    return chances


def best_information(N: int, w: int, epsilon: float) -> float:
    """Largest I(Z; S) of a one-bit sketch over ALL deterministic questions, exact.

    Random questions are no better: for a given law of Z the information is
    convex in P(S = 1 | X), and its vertices are sets A. Since I sees A
    through g only, and g is a sum over rated sets, the search runs over one
    Boolean function of w labels for each rated set:

    - w = N: one function, g ∈ {0, 1}, and I = h(f + ta) − h(f) is largest at a =
      ½.
    - w = 1: a function of one label is constant (0 or 1) or names the label, up
      to the item's flip of labels, under which Z is symmetric; so only the
      numbers of items with either constant count: O(N²) questions, O(N) each.
    - else, all 2^D questions but for a symmetry: flips of single labels,
      permutations of items and S → 1 − S leave I alone, and move any question to
      one whose function on the first rated set is a chosen member of its class
      under flips, permutations and complement. So (classes)·2^(D − 2^w)
      questions; InvalidInput where these exceed 2²⁶.
    """
    if not 1 <= w <= N:
        raise InvalidInput("w", w, f"must be 1 to N={N}")
    if w == N:
        return float(information(np.array([0.0, 1.0]), np.full(2, 0.5), epsilon))
    if w == 1:
        return _best_of_single(N, epsilon)
    return _best_of_sets(N, w, epsilon)


def _best_of_sets(N: int, w: int, epsilon: float) -> float:
    """1 < w < N: all questions, one Boolean function for each rated set, but for the symmetry.

    The sets are divided in two halves, whose sums over sets are tabulated:
    every question is one row of each.
    """
    first = _first_questions(N, w)
    sets = int(special.comb(N, w, exact=True))
    flip, slope = _release(epsilon)
    table = entropy(flip + slope * np.arange(sets + 1) / sets)  # of g = count/sets
    z = np.array(list(itertools.product((0, 1), repeat=N)), int)
    values = []
    for items in itertools.combinations(range(N), w):
        labels = z[:, list(items)] @ (1 << np.arange(w))
        values.append(_truth_tables(w)[:, labels])
    half = max(1, sets // 2)
    left = _sums([values[0][first], *values[1:half]])
    right = _sums(values[half:])
    best = 0.0
    for row in left:
        for start in range(0, len(right), CHUNK):
            counts = right[start : start + CHUNK] + row
            mean = counts.mean(axis=1, dtype=float) / sets
            bits = entropy(flip + slope * mean) - table[counts].mean(axis=1)
            best = max(best, float(bits.max()))
    return best


def _first_questions(N: int, w: int) -> Integers:
    """Functions to try on the first rated set; InvalidInput where all questions are too many."""
    allowed = f"with w={w} has too many questions to try; w=1, w=N, (3, 2) and (4, 2) can be done"
    # log₂ of the questions about all rated sets but the first.
    free = (special.comb(N, w) - 1) * 2.0 ** min(w, 99)
    if free > np.log2(MOST):
        raise InvalidInput("N", N, allowed)
    first = representatives(w)
    if len(first) << int(free) > MOST:
        raise InvalidInput("N", N, allowed)
    return first


def _best_of_single(N: int, epsilon: float) -> float:
    """w = 1: A names the label of `named` items, and contains both labels of `always` items."""
    best = 0.0
    for named in range(N + 1):
        # More than half follow by symmetry, S → 1 − S.
        always = np.arange((N - named) // 2 + 1)[:, None]
        positive = np.arange(named + 1)
        law = scipy.stats.binom.pmf(positive, named, 0.5)
        best = max(best, float(information((always + positive) / N, law, epsilon).max()))
    return best


def _sums(parts: Sequence[Array]) -> NDArray[np.uint8]:
    """(products of choices, z) uint8: all sums of one row of each part."""
    total = parts[0].astype(np.uint8)
    for part in parts[1:]:
        total = (total[:, None] + part.astype(np.uint8)).reshape(-1, total.shape[1])
    return total


def _truth_tables(w: int) -> Integers:
    """(2^(2^w), 2^w) of 0 and 1: all Boolean functions of w labels."""
    tables: Integers = (np.arange(1 << (1 << w))[:, None] >> np.arange(1 << w)) & 1
    return tables


def representatives(w: int) -> Integers:
    """A Boolean function of w labels from each class under flips, permutations and complement.

    As rows of the table of all functions: 4 for w = 2, 14 for w = 3.
    """
    tables = _truth_tables(w)
    points = np.arange(1 << w)
    powers = 1 << points
    least = np.arange(len(tables))
    for order in itertools.permutations(range(w)):
        bits = [((points >> i) & 1) << j for i, j in enumerate(order)]
        moved = np.sum(bits, axis=0, dtype=int)
        for flip in points:
            image = tables[:, moved ^ flip] @ powers
            least = np.minimum(least, np.minimum(image, len(tables) - 1 - image))
    return np.unique(least)
