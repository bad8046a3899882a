"""Seeded noise on the integers: its law down to the tails, against formulas summed in 40 digits, and its formulas."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.privacy import integer_laws as theory
from pipeline.privacy import integer_noise
from pipeline.privacy.integer_noise import discrete_gaussian, discrete_laplace
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import ALPHA, counts_agree, mean_agrees

SIGMAS, SCALES = [0.3, 1.0, 10.0, 302.0, 4290.0], [0.3, 1.0, 10.0, 31.0, 302.0, 4290.0]
DRAWS, TAIL_DRAWS = 1_000_000, 50_000_000
LAWS = {
    "gaussian": (
        discrete_gaussian,
        theory.gaussian_pmf,
        theory.gaussian_tail,
        theory.gaussian_variance,
    ),
    "laplace": (discrete_laplace, theory.laplace_pmf, theory.laplace_tail, theory.laplace_variance),
}


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


def follows(draws, tail, spread, what):
    """Chi-square over at most 120 cells of whole numbers within ±6 spreads, both tails in cells of their own."""
    step = max(1, round(spread / 10))
    half = round(6 * spread / step) + 1
    starts = (np.arange(-half, half + 2) - 0.5) * step + 0.5 * (
        step % 2 == 0
    )  # cells of whole numbers
    starts = np.ceil(starts).astype(int)
    counts = np.bincount(np.searchsorted(starts, draws, side="right"), minlength=starts.size + 1)
    below = 1 - tail(starts)  # P(X < start); the far cells are pooled by the check
    return counts_agree(counts, np.diff(np.concatenate([[0.0], below, [1.0]])), what)


def count_agrees(count, n, probability, what):
    """Exact Poisson test of a count of rare draws, two-sided."""
    low, high = (
        stats.poisson.ppf(ALPHA / 2, n * probability),
        stats.poisson.isf(ALPHA / 2, n * probability),
    )
    print(f"{what}: n={n} statistic={count} bounds={low:g}, {high:g} alpha={ALPHA:g}")
    return low <= count <= high


def exact(name, parameter, far):
    """P(x) for |x| ≤ far as decimals of 40 digits, by ratios of neighbours; x = 0 … far."""
    with localcontext() as context:
        context.prec = 40
        step = 1 / Decimal(parameter)
        if name == "laplace":
            terms = [(-step * x).exp() for x in range(far + 1)] if far < 2000 else None
        if name == "gaussian" or terms is None:
            terms, ratio = [Decimal(1)], (-step / 2).exp() if name == "gaussian" else (-step).exp()
            squared = ratio * ratio if name == "gaussian" else Decimal(1)
            for _ in range(far):
                terms.append(terms[-1] * ratio)
                ratio *= squared
        whole = 2 * sum(terms) - 1
        return [term / whole for term in terms]


# the formulas


@pytest.mark.parametrize("variance", [1e-6, 0.01, 0.09, 0.159, 0.16, 1.0, 7.3, 100.0, 91204.0])
def test_discrete_gaussian_by_summation(variance):
    far = int(9 * np.sqrt(variance)) + 12
    weights = np.array(exact("gaussian", variance, far), float)
    x = np.arange(far + 1)
    assert theory.gaussian_pmf(x, variance) == pytest.approx(weights, rel=1e-13, abs=1e-300)
    assert theory.gaussian_pmf(-x, variance) == pytest.approx(weights, rel=1e-13, abs=1e-300)
    assert theory.gaussian_variance(variance) == pytest.approx(
        2 * x**2 @ weights, rel=1e-12, abs=1e-300
    )
    above = np.cumsum(weights[::-1])[::-1]  # P(X ≥ x), but for what lies beyond
    near = x <= max(1, 3 * np.sqrt(variance))
    assert theory.gaussian_tail(x[near], variance) == pytest.approx(above[near], rel=1e-12)
    assert theory.gaussian_tail(-x, variance) == pytest.approx(
        1 - theory.gaussian_tail(1 + x, variance), rel=1e-14
    )
    assert theory.gaussian_variance(variance) <= variance


def test_far_tails_keep_their_digits():
    for variance, k in ((1.0, 30), (100.0, 300), (0.09, 8)):
        terms = exact("gaussian", variance, k + 200)
        assert theory.gaussian_tail(k, variance) == pytest.approx(float(sum(terms[k:])), rel=1e-12)
    assert theory.laplace_tail(300, 10.0) == pytest.approx(
        float(sum(exact("laplace", 10.0, 1500)[300:])), rel=1e-12
    )


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 31.0])
def test_discrete_laplace_by_summation(scale):
    far = int(60 * scale) + 3
    weights = np.array(exact("laplace", scale, far), float)
    x = np.arange(far + 1)
    assert theory.laplace_pmf(-x, scale) == pytest.approx(weights, rel=1e-12, abs=1e-300)
    assert theory.laplace_variance(scale) == pytest.approx(
        2 * x**2 @ weights, rel=1e-12, abs=1e-300
    )
    above, near = np.cumsum(weights[::-1])[::-1], x <= 3 * scale
    assert theory.laplace_tail(x[near], scale) == pytest.approx(above[near], rel=1e-12)
    assert theory.laplace_tail(-x, scale) == pytest.approx(
        1 - theory.laplace_tail(1 + x, scale), rel=1e-14
    )


@pytest.mark.parametrize("sigma", [0.005, 0.2, 0.3, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("order", [1.05, 1.5, 2.0, 3.7, 10.0])
def test_renyi_divergence_of_a_shift(sigma, order):
    """Canonne, Kamath and Steinke, Theorem 4: at most α s²/(2σ²); with equality where αs is whole."""
    for shift in (1, 3):
        x = np.arange(-int(60 * sigma) - 60, int(60 * sigma) + 60)
        logs = [-((x - c) ** 2) / (2 * sigma**2) for c in (shift, 0)]
        by_sum = np.logaddexp.reduce(order * logs[0] + (1 - order) * logs[1]) - np.logaddexp.reduce(
            logs[1]
        )
        found, bound = (
            theory.gaussian_renyi(order, shift, sigma**2),
            order * shift**2 / (2 * sigma**2),
        )
        assert found == pytest.approx(by_sum / (order - 1), rel=1e-9)
        assert found <= bound * (1 + 1e-12)
        if (
            order * shift
        ).is_integer() or sigma >= 3:  # equal, or approached as the lattice gets fine
            assert found == pytest.approx(bound, rel=1e-12)
            assert found > 1.1 * bound / 1.2**2  # control: the noise was 1.2 σ
        elif sigma <= 0.3:
            assert found < (1 - 1e-5) * bound


# the samplers


def implied(table, far):
    """P(x), x = −far … far, that the sampler's numbers stand for: counts of words, and weights of the rest."""
    starts = [*(int(s) for s in table.starts), table.total]
    counts = [after - before for before, after in itertools.pairwise(starts)]
    width, law = 1 << table.bits, {}
    with localcontext() as context:
        context.prec = 40
        words = Decimal(2) ** 64
        x = table.first[:, None] + np.arange(width)
        rest = 0
        if table.bits:
            accepted = (table.pmf(x) - table.floor[:, None]) / table.height[:, None]
            assert accepted.min() >= 0 and accepted.max() <= 1 + 1e-12
            chosen = np.diff([0, *(int(t) for t in table.tries)])
            weight = [
                [int(c) * Decimal(float(a)) for a in row]
                for c, row in zip(chosen, accepted, strict=True)
            ]
            rest = (1 - Decimal(table.total) / words) / sum(map(sum, weight))
        for b, numbers in enumerate(x.tolist()):
            for j, number in enumerate(numbers):
                law[number] = Decimal(counts[b]) / width / words + (
                    rest * weight[b][j] if rest else 0
                )
    return [law.get(number, Decimal(0)) for number in range(-far, far + 1)]


@pytest.mark.parametrize(
    "name, parameter",
    [
        *(("gaussian", s**2) for s in (1e-3, 0.3, 1.0, 10.0, 63.9, 64.0, 302.0)),
        *(("laplace", s) for s in (0.01, 0.3, 1.0, 10.0, 31.9, 32.0, 100.0)),
    ],
)
def test_total_variation_distance_to_the_law_is_below_1e_15(name, parameter):
    table = getattr(integer_noise, f"_{name}")(parameter)
    far = max(int(table.first[-1]) + (1 << table.bits), int(50 * np.sqrt(LAWS[name][3](parameter))))
    law, half = implied(table, far), exact(name, parameter, far)
    wanted = half[:0:-1] + half
    distance = float(sum(abs(a - b) for a, b in zip(law, wanted, strict=True)) / 2)
    print(f"{name} {parameter:g}: total variation {distance:.2g}")
    assert float(sum(law)) == pytest.approx(1, abs=1e-15) and distance < 1e-15
    wrong = half[1:][::-1] + [half[0]] + [p * Decimal("1.000001") for p in half[1:]]
    if half[1] > Decimal("1e-6"):
        assert float(sum(abs(a - b) for a, b in zip(law, wrong, strict=True)) / 2) > 1e-15


@pytest.mark.parametrize(
    "name, parameter", [("gaussian", 302.0**2), ("gaussian", 3e8), ("laplace", 302.0)]
)
def test_law_of_the_rest_within_blocks(name, parameter):
    """The place in a block, where the density above the block's floor rises from 0 to its height."""
    table = getattr(integer_noise, f"_{name}")(parameter)
    width, draws = 1 << table.bits, table._rest(rng(9), 400_000)
    density = table.pmf(table.first[:, None] + np.arange(width)) - table.floor[:, None]
    for side, rows in (("below 0", table.first < 0), ("above 0", table.first >= 0)):
        here, place = draws[(draws < 0) == (side == "below 0")], density[rows].sum(axis=0)
        counts = np.bincount(here & (width - 1), minlength=width)
        assert counts_agree(counts, place / place.sum(), f"{name}, {side}")
        assert not counts_agree(counts, np.full(width, 1 / width), "control: nothing rejected")
    blocks = np.bincount(
        (draws >> table.bits) - (table.first[0] >> table.bits), minlength=table.first.size
    )
    assert counts_agree(blocks, density.sum(axis=1) / density.sum(), f"{name}, blocks")


@pytest.mark.parametrize(
    "name, parameter",
    [("gaussian", 0.09), ("gaussian", 100.0), ("gaussian", 1e9), ("laplace", 50.0)],
)
def test_a_block_owns_its_words_and_the_guide_agrees(name, parameter):
    table = getattr(integer_noise, f"_{name}")(parameter)
    starts = [*(int(s) for s in table.starts), table.total]
    for block, (start, end) in enumerate(itertools.pairwise(starts)):
        assert start % (1 << table.bits) == 0
        if start < end:
            assert (table._block(np.array([start, end - 1], np.uint64)) == block).all()
    words = rng().integers(0, 2**64, 100_000, np.uint64)
    guided, block = table.guide[words >> np.uint64(49)], table._block(words)
    settled = guided != integer_noise._OPEN
    assert settled.mean() > 0.95 and (guided[settled] == table.first[block[settled]]).all()
    assert (block == table.first.size).mean() == pytest.approx(1 - table.total / 2**64, abs=3e-3)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_law_of_the_discrete_gaussian(sigma):
    draws, tail = (
        discrete_gaussian(rng(), sigma**2, DRAWS),
        lambda k: theory.gaussian_tail(k, sigma**2),
    )
    assert draws.dtype == np.int64 and follows(draws, tail, sigma, f"σ={sigma}")
    assert mean_agrees(draws, 0) and mean_agrees(
        draws**2, theory.gaussian_variance(sigma**2), "variance"
    )
    assert follows(-draws, tail, sigma, "mirrored")
    assert not follows(
        discrete_gaussian(rng(2), 1.03 * sigma**2, DRAWS), tail, sigma, "control: variance 3 % up"
    )
    assert not follows(
        discrete_gaussian(rng(2), 0.97 * sigma**2, DRAWS), tail, sigma, "control: variance 3 % down"
    )
    if sigma <= 1:
        assert not follows(
            np.rint(rng(2).normal(0, sigma, DRAWS)).astype(int),
            tail,
            sigma,
            "control: rounded normal",
        )
    assert not follows(np.abs(draws), tail, sigma, "control: no sign")


def test_a_rounded_normal_is_found_at_half():
    draws, tail = discrete_gaussian(rng(), 0.25, DRAWS), lambda k: theory.gaussian_tail(k, 0.25)
    assert follows(draws, tail, 0.5, "σ=0.5")
    assert not follows(
        np.rint(rng(2).normal(0, 0.5, DRAWS)).astype(int), tail, 0.5, "control: rounded normal"
    )


@pytest.mark.parametrize("scale", SCALES)
def test_law_of_the_discrete_laplace(scale):
    draws, tail = discrete_laplace(rng(), scale, DRAWS), lambda k: theory.laplace_tail(k, scale)
    spread = 1.5 * max(scale, 0.3)
    assert draws.dtype == np.int64 and follows(draws, tail, spread, f"scale={scale}")
    assert mean_agrees(draws, 0) and mean_agrees(
        draws**2, theory.laplace_variance(scale), "variance"
    )
    assert not follows(
        discrete_laplace(rng(2), 1.03 * scale, DRAWS), tail, spread, "control: scale 3 % up"
    )
    if scale <= 31:  # at a larger scale 0 is too rare to count twice
        wrong = (rng(2).geometric(-np.expm1(-1 / scale), DRAWS) - 1) * rng(3).choice([-1, 1], DRAWS)
        assert not follows(wrong, tail, spread, "control: zero counted twice")


@pytest.mark.parametrize(
    "name, parameter", [("gaussian", 1.0), ("gaussian", 302.0**2), ("laplace", 302.0)]
)
def test_far_tails(name, parameter):
    """Beyond 4, 5 and 5.3 spreads, either side; 50 million draws in parts."""
    draw, _, tail, variance = LAWS[name]
    spread, generator = np.sqrt(variance(parameter)), rng(5)
    places = [int(np.ceil(k * spread)) for k in ((4, 5, 5.3) if name == "gaussian" else (6, 8, 10))]
    found = np.zeros((2, 3), int)
    for _ in range(50):
        draws = draw(generator, parameter, TAIL_DRAWS // 50)
        found += [[np.count_nonzero(sign * draws >= place) for place in places] for sign in (1, -1)]
    for place, either in zip(places, found.T, strict=True):
        expected = tail(place, parameter)
        for count, side in zip(either, ("≥ ", "≤ −"), strict=True):
            assert count_agrees(count, TAIL_DRAWS, expected, f"{name}, {side}{place}")
        assert count_agrees(either.sum(), TAIL_DRAWS, 2 * expected, f"{name}, beyond {place}")
        if place < places[2]:
            assert not count_agrees(0, TAIL_DRAWS, 2 * expected, "control: cut there")
    wider = 2 * tail(places[0], 1.03 * parameter)
    assert not count_agrees(found[:, 0].sum(), TAIL_DRAWS, wider, "control: parameter 3 % up")


@pytest.mark.parametrize(
    "name, parameter", [("gaussian", 1.0), ("gaussian", 302.0**2), ("laplace", 302.0)]
)
def test_neighbouring_draws_are_independent_and_the_places_in_a_block_too(name, parameter):
    draw, _, tail, variance = LAWS[name]
    draws = draw(rng(6), parameter, 999_999)
    third = int(np.ceil(0.43 * np.sqrt(variance(parameter))))
    side = np.searchsorted([-third + 1, third], draws, side="right")  # below, about, above 0
    one = np.array([tail(third, parameter), 1 - 2 * tail(third, parameter), tail(third, parameter)])
    joint = np.einsum("i,j,k->ijk", one, one, one).ravel()
    assert counts_agree(
        np.bincount(side.reshape(-1, 3) @ [9, 3, 1], minlength=27), joint, "three in a row"
    )
    chunk = integer_noise._CHUNK
    far = side[: 60 * chunk].reshape(60, chunk)
    pairs = np.bincount((3 * far[::2] + far[1::2]).ravel(), minlength=9)
    assert counts_agree(pairs, np.outer(one, one).ravel(), "same place in two chunks")
    repeated = np.repeat(side[::3], 3).reshape(-1, 3)
    assert not counts_agree(
        np.bincount(repeated @ [9, 3, 1], minlength=27), joint, "control: each used three times"
    )


@pytest.mark.parametrize("draw", [discrete_gaussian, discrete_laplace])
@pytest.mark.parametrize("parameter", [1.0, 300.0, 1e6])
def test_the_same_generator_gives_the_same_numbers(draw, parameter):
    first, second = (draw(rng(7), parameter, (3, 20_000)) for _ in range(2))
    integer_noise._gaussian.cache_clear()
    integer_noise._laplace.cache_clear()
    assert (first == second).all() and (draw(rng(7), parameter, (3, 20_000)) == first).all()
    assert (draw(rng(8), parameter, (3, 20_000)) != first).any()
    generator = rng(7)
    assert (draw(generator, parameter, (3, 20_000)) == first).all()
    assert (draw(generator, parameter, (3, 20_000)) != first).any()


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-6, 9),
    st.integers(0, 2**32),
    st.sampled_from(sorted(LAWS)),
    st.one_of(st.integers(0, 300), st.tuples(st.integers(0, 5), st.integers(0, 60))),
)
def test_any_parameter_gives_whole_numbers_of_the_right_size(exponent, seed, name, size):
    draw, _, _, variance = LAWS[name]
    parameter = 10**exponent
    draws = draw(rng(seed), parameter, size)
    assert draws.dtype == np.int64 and draws.shape == np.empty(size).shape
    assert (np.abs(draws.astype(float)) <= 50 * np.sqrt(variance(parameter)) + 1).all()


@pytest.mark.parametrize(
    "draw, law", [(discrete_gaussian, "gaussian_pmf"), (discrete_laplace, "laplace_pmf")]
)
def test_the_law_is_drawn_with_exactly_the_parameter_that_was_given(monkeypatch, draw, law):
    """To the last digit: rounded to three digits, as in the negative control, it is another law."""
    pmf, asked, given = getattr(theory, law), set(), 12.345678901234567

    def watched(x, parameter):
        asked.add(parameter)
        return pmf(x, parameter)

    monkeypatch.setattr(integer_noise, law, watched)
    draw(rng(), given, 1000)
    assert asked == {given}
    draw(rng(), float(f"{given:.2g}"), 1000)
    assert asked != {given}


@pytest.mark.parametrize(
    "draw, name, largest", [(discrete_gaussian, "variance", 1e18), (discrete_laplace, "scale", 1e9)]
)
def test_range_of_the_parameter(draw, name, largest):
    for value in (0, -1.0, np.inf, np.nan, "1", True, None, 1.1 * largest):
        with pytest.raises(InvalidInput, match=f"^{name}=.*must be"):
            draw(rng(), value, 3)
    for value in (5e-324, 1e-300, 1e-6):
        assert (draw(rng(), value, 1000) == 0).all()
    spread = draw(rng(), largest, 20_000) / 1e9
    assert mean_agrees(spread**2, 1 if name == "variance" else 2, "variance at the largest")
    assert draw(rng(), 4, ()).shape == ()


@pytest.mark.parametrize(
    "function", [theory.gaussian_pmf, theory.gaussian_tail, theory.laplace_pmf, theory.laplace_tail]
)
def test_formulas_refuse_what_samplers_refuse(function):
    for value in (0, -1.0, np.inf, np.nan, "1"):
        with pytest.raises(InvalidInput, match="must be"):
            function(1, value)
    with pytest.raises(InvalidInput, match="order"):
        theory.gaussian_renyi(1.0, 1, 1.0)
