"""Claims on the probabilities in Theorems 1, 2 and 4 to 6 of Xu, Sun and Cheng, and its lemmas.

The probabilities are exact for two items.
"""

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
import xarray as xr

from pipeline.analysis.claims import (
    Claim,
    NegativeControl,
    NotSimulated,
    PositiveControl,
)
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    exact_cells,
    exponent_cells,
    mean_cells,
    measure,
    measure_every_cell,
    share_above,
)
from pipeline.analysis.selection import constant, select
from pipeline.analysis.tolerances import AtLeast, AtMost, NoException, Within

from ..theory.tails import ordering_exponent
from .common import one_budget
from .controls import HALF_BUDGETS, NO_FLIPS, PAIRS

ROUNDING = 1e-9
_EXACT = (
    "Numbers without Monte Carlo error: sums of binomial probabilities by Lemma 1, however small."
)
_COMPUTED = NotSimulated(
    "The probabilities are computed from the law of Lemma 1, which xu.lemma_1 tests; the bound is "
    "at the same budgets, so that another mechanism has another bound."
)
_TWO = "m = 2, budgets of one G(ε); in the last profile H(ε) is up to 60 times mG(ε)."


def _tail(estimand: str, metric: str, over: Callable[[xr.Dataset], xr.DataArray]) -> Measure:
    @measure_every_cell(estimand)
    def ratio(results: xr.Dataset) -> Cells:
        data = select(results, metric, min_levels=dict(profile=2, L=2, signal=2))
        return exact_cells(data[metric] / over(data))

    return ratio


def _hoeffding(signal: xr.DataArray, log_kappa: xr.DataArray) -> xr.DataArray:
    """The exponent of Hoeffding's inequality in every cell; log κ is the range of θ*."""
    exponent: xr.DataArray = xr.apply_ufunc(
        np.vectorize(ordering_exponent, otypes=[float]), signal, xr.ufuncs.exp(log_kappa)
    )
    return exponent


RARE = {"Kendall distance": "kendall_weighted", "top-K error": "hamming_top_k_weighted"}
_LAW = "variance of released counts over that of the law by which they are weighted"


def _rare_exponent(results: xr.Dataset) -> xr.DataArray:
    """The exponent in every cell of xu/rare, whose items are equally far apart."""
    spacing = cast(float, constant(results, "spacing"))
    return _hoeffding(results["signal"], (results["m"] - 1) * spacing)


@measure_every_cell("−log of a mean error of rankings over the exponent")
def _rare(results: xr.Dataset) -> Mapping[str, Cells]:
    levels = {"m": 1, "epsilon": 1, "signal": 2}
    share = 1 / (len(RARE) + 1)
    parts = {}
    for part, metric in RARE.items():
        data = select(one_budget(results), metric, min_levels=levels)
        parts[part] = exponent_cells(data, metric, _rare_exponent(results), share)
    data = select(one_budget(results), "wins_dispersion", min_levels=levels)
    parts[_LAW] = mean_cells(data, "wins_dispersion", share)
    return parts


def _larger(results: xr.Dataset) -> xr.Dataset:
    """Both errors multiplied by exp(E/3), E the exponent."""
    for metric in RARE.values():
        results = scaled(metric, lambda r: xr.ufuncs.exp(_rare_exponent(r) / 3))(results)
    return results


@measure_every_cell("1/C where L is largest over 1/C where it is smallest")
def _constant_over_first(results: xr.Dataset) -> Cells:
    data = select(results, "deep_excess", min_levels=dict(profile=2, L=2, signal=1))
    inverse = data["deep_excess"]
    return exact_cells(inverse.isel(L=-1, drop=True) / inverse.isel(L=0, drop=True))


def _ratio(metric: str) -> Measure:
    @measure(f"share of replications with {metric} above 1")
    def share(results: xr.Dataset) -> Estimate:
        data = select(results, metric, min_levels=dict(m=1, L=1, epsilon=1, profile=2))
        return share_above(data, metric, xr.DataArray(1 + ROUNDING))

    return share


@measure_every_cell("mean of a bound on the supremum over half of δ")
def _supremum(results: xr.Dataset) -> Cells:
    data = select(results, "supremum_ratio", min_levels=dict(m=1, L=1, epsilon=1, profile=2))
    return mean_cells(data, "supremum_ratio")


_PROOFS = "θ* uniform on (−2, 2), κ that of θ*; one budget and mixed ones; all cells."


def _multiplied(metric: str, factor: float) -> NegativeControl:
    return NegativeControl(f"{metric} {factor:g} times what it is", scaled(metric, factor))


CLAIMS = (
    Claim(
        id="xu.personal.tails.ranking",
        statement="Two items Δ apart change ranks with probability exp(−mLΔ²κ²/((1 + κ)⁴G(ε))) at "
        "most, whatever H(ε).",
        source="Xu, Sun and Cheng, Theorems 4 to 6, which have κ⁻⁴ and open constants; sharper, "
        "by Hoeffding's inequality on the scores",
        experiment="xu/tails",
        measure=_tail(
            "−log P over the exponent",
            "inversion_surprisal",
            lambda d: _hoeffding(d["signal"], d["spacing"]),
        ),
        tolerance=AtLeast(1),
        why=_EXACT + " At L = 100,000 and a signal of 2,048 −log P is 5 % more.",
        conditions=f"{_TWO} Signal 8 to 2,048.",
        control=NegativeControl(
            "two thirds of the exponents", scaled("inversion_surprisal", 2 / 3)
        ),
        simulated=HALF_BUDGETS,
    ),
    Claim(
        id="xu.personal.tails.error",
        statement="An error of 4κ√(G log(mL)/(mL)) or more has probability 2/(mL²) at most, "
        "whatever H(ε).",
        source="Xu, Sun and Cheng, Theorem 2 with the constant of its proof; sharper, without "
        "exp(−Cm log(mL) G/H)",
        experiment="xu/tails",
        measure=_tail(
            "−log P over log(mL²/2)", "large_error_surprisal", lambda d: xr.ufuncs.log(d["L"] ** 2)
        ),
        tolerance=AtLeast(1),
        why=_EXACT
        + " For two items mL²/2 = L². The printed probability says nothing where H(ε) ≫ mG(ε).",
        conditions=f"{_TWO} All cells.",
        control=NegativeControl("a sixth of the exponents", scaled("large_error_surprisal", 1 / 6)),
        simulated=_COMPUTED,
    ),
    Claim(
        id="xu.personal.tails.excess",
        statement="For two items, L ≥ 100 G log(mL) and its least δ Theorem 1 holds with C = ¼: "
        "P(e ≥ δ) ≤ exp(−m²Lδ/(4ρ)).",
        source="Xu, Sun and Cheng, Theorem 1, eq. (5), with ¼ for its constant, and 1 for that of "
        "δ ≳ κG log(mL)/(mL)",
        experiment="xu/tails",
        measure=_tail("C", "large_excess_surprisal", lambda d: 1 + 0 * d["L"]),
        tolerance=AtLeast(0.25),
        why=_EXACT
        + " The first order has e = w x²/8 with x² of mean G/(4Lw²), which gives C = κ or more.",
        conditions=f"{_TWO} All cells.",
        control=NegativeControl(
            "excess risks with a tenth of the exponents", scaled("large_excess_surprisal", 0.1)
        ),
        simulated=_COMPUTED,
    ),
    Claim(
        id="xu.personal.tails.deep",
        statement="As printed, for any larger δ: P(e ≥ δ) ≤ exp(−C m²Lδ/ρ) with one C for all L.",
        source="Xu, Sun and Cheng, Theorem 1, eq. (5)",
        experiment="xu/tails",
        measure=_constant_over_first,
        tolerance=AtMost(1.5),
        why=_EXACT + " With a C that holds for all L, 1/C has a bound.",
        conditions=f"{_TWO} δ = L/(64 G(ε)). The statement is false: where z̄ leaves (0, 1) the "
        "estimate is only held by the "
        "ridge, e is of order L/G, and that has a probability of exp(−cL/G), not exp(−cL²/G²). "
        "The proof takes θ̂ to "
        "be within the range of θ*, and says that a small ridge ensures it.",
        control=NegativeControl(
            "1/C that grows by one more factor L", scaled("deep_excess", lambda r: r["L"] / 1e4)
        ),
        positive=PositiveControl(
            "1/C without a factor L", scaled("deep_excess", lambda r: 1e4 / r["L"])
        ),
        row="X1",
        simulated=_COMPUTED,
    ),
    Claim(
        id="xu.rare",
        statement="Kendall distance and top-K error are at most exp(−mLΔ²κ²/((1 + κ)⁴G(ε))) on "
        "average, however small.",
        source="Xu, Sun and Cheng, Theorems 5 and 6, which have κ⁻⁴ and open constants; sharper, "
        "by Hoeffding's inequality on the scores",
        experiment="xu/rare",
        measure=_rare,
        tolerance=dict.fromkeys(RARE, AtLeast(1)) | {_LAW: Within(1, 0.2)},
        why="The Kendall distance is a mean over pairs, Δ apart or more. With E the exponent, H_K "
        "is at most "
        "Σ_d d exp(−d²E)/K, d = 1 to m − 1: exp(−E) for m = 2, a fifth of it here for m = 10.",
        conditions="m = 2 and 10, K = m/2, items 0.1 apart, ε = ½ and 2, signal 32 to 288. "
        "Comparisons of tilted laws, with "
        "exact weights by Lemma 1; 95 % intervals of means reach 10 % to both sides. At m = 2 "
        "tilted comparisons "
        "are fair coins, flipped or not: what a mechanism does to them is seen at m = 10 only.",
        control=NegativeControl("errors multiplied by exp(E/3)", _larger),
        simulated=PAIRS,
    ),
    Claim(
        id="xu.personal.lemma_s5",
        statement="Eigenvalues of the Hessian lie between 2λ and 2(λ + max_i Σ_j w_ij).",
        source="Xu, Sun and Cheng, Lemma S5",
        experiment="xu/proofs",
        measure=_ratio("hessian_ratio"),
        tolerance=NoException(1e-3),
        why="An inequality of every such matrix; 2λ is reached.",
        conditions=_PROOFS,
        control=_multiplied("hessian_ratio", 1.01),
        by_construction=True,
        simulated=NotSimulated("It holds at every vector, however that was estimated."),
    ),
    Claim(
        id="xu.personal.lemma_s6",
        statement="The loss's variance is at most 8(1 + κ)a(ε)² times its mean.",
        source="Xu, Sun and Cheng, Lemma S6",
        experiment="xu/proofs",
        measure=_ratio("variance_ratio"),
        tolerance=NoException(1e-3),
        why="An inequality for every θ within the range of θ*; θ̂ is near it here. An eighth of "
        "it is enough.",
        conditions=_PROOFS,
        control=_multiplied("variance_ratio", 20),
        only_refutable=True,
        simulated=NO_FLIPS,
    ),
    Claim(
        id="xu.personal.lemma_s7",
        statement="The expected supremum of the empirical process over S_1 is at most δ/2.",
        source="Xu, Sun and Cheng, Lemma S7",
        experiment="xu/proofs",
        measure=_supremum,
        tolerance=AtMost(1),
        why="With δ = 4 κG log(mL)/(mL). By the Cauchy–Schwarz inequality and without the "
        "logarithm: E‖g‖ ≤ m√(G/(4L)).",
        conditions=_PROOFS,
        control=_multiplied("supremum_ratio", 10),
        simulated=NO_FLIPS,
    ),
    Claim(
        id="xu.personal.lemma_s8",
        statement="No item's error exceeds 2(1 + κ)²/κ·(‖θ̂ − θ*‖₂/(4√m) + t/m + m|θ*_i|δ/‖θ*‖²).",
        source="Xu, Sun and Cheng, Lemma S8",
        experiment="xu/proofs",
        measure=_ratio("entry_ratio"),
        tolerance=NoException(1e-3),
        why="t = √(mG log(mL)/L), for which the lemma allows exceptions with probability 2/(mL²), "
        "below 10⁻⁵. Its first "
        "term alone is (κ + 2 + 1/κ)/(2√m)·‖θ̂ − θ*‖₂, above every entry of every vector of sum 0 "
        "where κ + 2 + 1/κ "
        "≥ 2√(m − 1): always at m = 5, at m = 20 from κ = 6.6 on, as here.",
        conditions=_PROOFS,
        control=_multiplied("entry_ratio", 60),
        by_construction=True,
        simulated=NotSimulated(
            "Its first term exceeds every entry of every vector of sum 0 at these κ and m."
        ),
    ),
)
