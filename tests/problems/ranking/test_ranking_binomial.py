"""Binomial counts: their exact law, of all trials and chances, and what rejection rests on."""

from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest
from scipy import stats

from pipeline.kernels import loader
from pipeline.problems.ranking.sampling import binomial as module
from pipeline.problems.ranking.sampling.binomial import binomial
from pipeline.study.slices import ByCall, in_slices
from tests.helpers.checks import counts_agree
from tools import build_kernels

DRAWS = 400_000
LAWS = [
    (1, 0.3),
    (2, 0.5),
    (7, 0.999),
    (19, 0.5),
    (20, 0.5),
    (21, 0.49),
    (33, 0.31),
    (50, 0.2),
    (50, 0.5),
    (100, 0.905),
    (400, 0.024),
    (400, 0.026),
    (400, 0.97),
    (1600, 0.62),
    (50_000, 1e-5),
    (10**6, 1 - 3e-6),
    (10**6, 0.4),
    (10**7, 1.5e-6),
    (10**7, 0.5),
    (10**9, 2e-8),
]
RATIOS = """
#include "%s"
KERNEL int log_ratios(int64_t number, const double *n, const double *p, const double *m, const double *k, double *out) {
    for (int64_t i = 0; i < number; i += LANES)
        store(out + i, log_ratio(load(n + i), load(p + i), 1 - load(p + i), load(m + i), load(k + i)));
    return 0;
}
"""


def rng(seed):
    return np.random.Generator(np.random.Philox(seed))


def follows(counts, n, p, what):
    """Whether counts have the law: all values, or up to 60 ranges of them, chi-square."""
    law, shares = stats.binom(n, p), [*np.linspace(0, 1, 61)[1:-1], 1e-4, 1e-3, 1 - 1e-3, 1 - 1e-4]
    edges = np.arange(-1, n + 1) if n <= 60 else np.unique([-1, *law.ppf(shares), n])
    found = np.histogram(counts, np.append(edges[:-1] + 0.5, n + 0.5))[0]
    assert found.sum() == len(counts)
    return counts_agree(found, np.diff(law.cdf(edges)), what)


@pytest.mark.parametrize("n, p", LAWS)
def test_law(n, p):
    """Of equal counts side by side. The control has a chance that is 12 errors of the mean off."""
    counts = binomial(rng(n), n, np.full((100, DRAWS // 100), p)).ravel()
    assert counts.min() >= 0 and counts.max() <= n
    assert follows(counts, n, p, f"n={n} p={p}")
    control = binomial(
        rng(1), n, np.full((100, DRAWS // 100), nearer_to_an_end(n, p, DRAWS))
    ).ravel()
    assert not follows(control, n, p, "a chance nearer to 0 or 1")


def nearer_to_an_end(n, p, draws):
    """A chance that is 12 errors of the mean from p."""
    return p + np.copysign(12 * np.sqrt(p * (1 - p) / n / draws), p - 0.5)


def test_law_of_unlike_neighbours():
    """Laws take turns along a row, small and large ones, so that vectors and lists have all kinds."""
    n, p = np.array(LAWS).T
    counts = binomial(rng(2), n.astype(int), np.tile(p, (DRAWS // 4, 1)))
    for found, (trials, chance) in zip(counts.T, LAWS, strict=True):
        assert follows(found, trials, chance, f"n={trials} p={chance}")
        assert not follows(
            found, trials, nearer_to_an_end(trials, chance, len(found)), "a chance nearer to 0 or 1"
        )


def test_neighbours_are_independent():
    """Pairs of counts of a row, in cells of a table: law of the product. The control shifts words by one count."""
    for n, p in ((30, 0.1), (60, 0.4)):
        counts = binomial(rng(3), n, np.full((DRAWS // 10, 10), p))
        edges = stats.binom.ppf([0.2, 0.4, 0.6, 0.8], n, p)
        law = np.diff([0, *stats.binom.cdf(edges, n, p), 1])
        cells = np.searchsorted(edges, counts)
        for step in (1, 2, 5):
            table = np.bincount((5 * cells[:, :-step] + cells[:, step:]).ravel(), minlength=25)
            assert counts_agree(table, np.outer(law, law), f"n={n} p={p}, {step} apart")
        table = np.bincount(
            (5 * cells[:, :-1] + (cells[:, 1:] + (cells[:, :-1] == 4)) % 5).ravel(), minlength=25
        )
        assert not counts_agree(table, np.outer(law, law), "neighbours that depend on each other")


def test_hat_and_squeeze_enclose_the_law():
    """What v is compared with is at most 1 for all u, so that the law is exact, and in the squeeze at least its bound.

    The control is a hat that is 6 % lower.
    """
    draw = rng(4)
    u = np.concatenate([np.linspace(-0.5, 0.5, 4002)[1:-1], 0.5 - np.geomspace(1e-12, 1e-3, 100)])
    most, least, tried = 0.0, np.inf, 0
    for p in [
        0.5,
        0.25,
        0.1,
        1e-2,
        1e-4,
        *draw.uniform(0, 0.5, 30),
        *0.5 - 10 ** draw.uniform(-4, -1, 10),
    ]:
        for mean in [10, *10 ** draw.uniform(1, 4, 5), 10 ** draw.uniform(4, 6)]:
            n = int(np.ceil(mean / p))
            s = np.sqrt(n * p * (1 - p))
            b = 1.15 + 2.53 * s
            a = -0.0873 + 0.0248 * b + 0.01 * p
            side = 0.5 - np.abs(u)
            k = np.floor((2 * a / side + b) * u + n * p + 0.5)
            peak = stats.binom.logpmf(np.floor((n + 1) * p), n, p)
            bound = (
                np.exp(stats.binom.logpmf(k, n, p) - peak)
                * (a / side**2 + b)
                / ((2.83 + 5.1 / b) * s)
            )
            most, least = (
                max(most, bound.max()),
                min(least, (bound[side >= 0.07] - (0.92 - 4.2 / b)).min()),
            )
            tried += 1
    print(f"{tried} laws: at most {most:.4f}, above the squeeze by {least:.4f} at least")
    assert most <= 1 and least >= 0
    assert most / 0.94 > 1


def test_ratios_of_chances_are_exact(tmp_path):
    """Against factorials of 60 digits: within 1e-13, and 1e-10 at the largest n. The control is another count."""
    source = module.__file__.replace(".py", ".c")
    (tmp_path / "ratios.c").write_text(RATIOS % source)
    build_kernels.build_all(tmp_path)
    arrays = "".join(f"{name}: f8[number]\n" for name in "npmk")
    run = loader.function(
        str(tmp_path / "ratios.py"), "log_ratios", f"number: size\n{arrays}ratios: out f8[number]"
    )
    draw, off = rng(5), {}
    for least, n_most in ((1e-13, 400), (1e-12, 10**5), (1e-10, 10**9)):
        n = np.floor(20 * (n_most / 20) ** draw.random(400))
        p = 0.5 * (20 / n) ** draw.random(400)
        m, s = np.floor((n + 1) * p), np.sqrt(n * p * (1 - p))
        k = np.clip(np.floor(m + s * draw.uniform(-8, 8, 400)), 0, n)
        found = np.empty(400)
        run(400, n, p, m, k, found)
        with localcontext(prec=60):
            true = [
                log_ratio(*map(int, (a, b, c)), Decimal(q))
                for a, b, c, q in zip(n, m, k, p.tolist(), strict=True)
            ]
        off[n_most] = max(
            abs(float(Decimal(one) - other))
            for one, other in zip(found.tolist(), true, strict=True)
        )
        assert off[n_most] <= least, off
    print(off)
    assert (
        abs(float(log_ratio(50, 20, 21, Decimal(0.4)) - log_ratio(50, 20, 22, Decimal(0.4)))) > 1e-3
    )


def log_ratio(n, m, k, p):
    """log(P(X = k)/P(X = m)) in decimals."""
    factorials = log_factorial(m) + log_factorial(n - m) - log_factorial(k) - log_factorial(n - k)
    return factorials + (k - m) * (p / (1 - p)).ln()


def log_factorial(k):
    """By Stirling's series from 1000 on, where its terms fall to 1e-60, and by factors below."""
    if k < 1000:
        product = Decimal(1)
        for factor in range(2, k + 1):
            product *= factor
        return product.ln()
    x, bernoulli = (
        Decimal(k + 1),
        ("1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510"),
    )
    total = (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2
    for j, number in enumerate(bernoulli, 1):
        over, under = map(Decimal, number.split("/"))
        total += over / under / (2 * j * (2 * j - 1) * x ** (2 * j - 1))
    return total


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def test_numbers_do_not_depend_on_how_replications_are_cut():
    """Rows drawn in several calls, and by a unit in slices, are those of one call; rows of any width."""
    for width in (1, 3, 45, 256, 700):
        draw = rng(width)
        n, p = draw.integers(0, 300, (9, 2, width)), draw.random((9, 2, width))
        whole, own = binomial(rng(6), n, p), rng(6)
        assert (
            np.concatenate([binomial(own, n[rows], p[rows]) for rows in (slice(4), slice(4, 9))])
            == whole
        ).all()
        cuts = [slice(0, 2), slice(2, 6), slice(6, 9)]
        sliced = ByCall(rng(6), cuts)
        found = in_slices(
            [sliced], 3, partial(of_slice, sliced, [(n[rows], p[rows]) for rows in cuts])
        )
        assert (np.concatenate([one for one, _ in found]) == whole).all()
        assert not (binomial(rng(7), n, p) == whole).all()


def of_slice(generator, laws, k):
    """Counts of a slice, and what is drawn after them."""
    return binomial(generator, *laws[k]), generator.random(len(laws[k][0]))


def test_shapes_broadcast():
    p = rng(8).random((5, 1, 7))
    users = np.array([[40], [900]])
    expected = binomial(rng(9), np.broadcast_to(users, (5, 2, 7)), np.broadcast_to(p, (5, 2, 7)))
    assert expected.shape == (5, 2, 7) and (binomial(rng(9), users, p) == expected).all()
    assert (
        binomial(rng(9), np.full((4, 3), 60), 0.5) == binomial(rng(9), 60, np.full((4, 3), 0.5))
    ).all()
    assert binomial(rng(9), np.zeros((0, 3), int), 0.5).shape == (0, 3)


def test_sure_counts_and_wrong_ones():
    n = np.array([0, 1, 30, 10**9])
    for kind in (np.random.Philox, np.random.PCG64, np.random.SFC64):
        generator = np.random.Generator(kind(1))
        assert (binomial(generator, n, np.zeros(4)) == 0).all() and (
            binomial(generator, n, np.ones(4)) == n
        ).all()
        assert binomial(generator, n, np.full(4, 0.5))[0] == 0
    for wrong in (-1e-9, 1 + 1e-9, np.nan, np.inf):
        with pytest.raises(ValueError, match="chance: must be between 0 and 1"):
            binomial(rng(1), n, np.array([0.5, 0.5, wrong, 0.5]))
    for trials in (-1, 2**50):
        with pytest.raises(ValueError, match="trials: must be 0 or more"):
            binomial(rng(1), np.array([trials]), 0.5)
