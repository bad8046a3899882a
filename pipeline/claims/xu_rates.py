"""Claims of Xu, Sun and Cheng on where consistency ends: Table 1, Corollaries 1 and 2, and the threshold.

The paper's orders leave constants open, so exponents are tested: how the mean error moves with L or with
x = ε√(mL), in fits of logarithms in which every m (or m and x) has its own constant.
"""

import numpy as np

from pipeline.claims.claim import (
    Claim,
    TooLittle,
    at_least,
    at_most,
    equivalence,
    every,
    throughout,
)
from pipeline.claims.evidence import HIGH, enough, exponent, named, renamed, share
from pipeline.reduce.phase import INSIDE, boundary_exponent, crossing
from pipeline.reduce.summary import summarise

NORMS = {"l2": ("error_l2", "‖θ̂ − θ*‖₂/√m"), "inf": ("error_inf", "‖θ̂ − θ*‖∞")}
SMALL_BUDGET = 0.75  # t(ε) within 5 % of ε/2, and a comparison's own variance below 15 % of privacy's
STABLE = 0.03  # exponent in L below which an error is stable
PLATEAU = 0.7  # share of the error at vanishing ε at which the threshold is read


def phase(results, *metrics, estimator="debiased", x=3, within=None):
    """One estimator's cells of xu/phase_transition, with three levels of L at least."""
    return enough(results, *metrics, within=within, estimator=estimator, m=1, L=3, x=x)


def above_log(data):
    """Cells with ε ≥ log(mL)/√(mL), Corollary 1's condition with constant 1."""
    return data["x"] >= np.log(data["m"] * data["L"])


def tilted(metric, power):
    """Twin data: errors multiplied by (mL/1000)^power."""
    return lambda r: r.assign({metric: r[metric] * (r["m"] * r["L"] / 1000) ** power})


PLUG_IN = dict(twin="the plug-in estimator, which does not debias, in place of the debiased",
               twin_data=renamed("estimator", "debiased", "plug_in"))


def _table_1(metric, scheme, decide):
    def check(results):
        data = enough(results, metric, scheme=scheme, m=1, L=3)
        return decide(exponent(data, metric, ("m",), L=data["L"]), "exponent in L")

    return check


def _threshold(metric, sizes):
    """Check that ε*, where the error is PLATEAU of its value at the smallest x, scales like (mL)^(−½)."""

    def check(results):
        data = phase(results, metric)
        summary = summarise(data)
        plateau = summary[metric].sel(x=data["x"].min()).mean("L")
        boundary = crossing(summary[metric] / plateau, summary[f"{metric}_mcse"] / plateau, "x", PLATEAU,
                            at=data["epsilon"])
        if (boundary["side"] != INSIDE).any():
            raise TooLittle("some curve reaches its threshold outside the grid: add levels of x")
        boundary = boundary.sel(L=(boundary["value"] <= SMALL_BUDGET).all("m"))
        rate = boundary_exponent(boundary, () if "m" in sizes else ("m",), share(1 / len(sizes)),
                                 **{size: boundary[size] for size in sizes})
        return every(*(equivalence(rate.exponents[size], -0.5, 0.03, f"exponent of ε* in {size}")
                       for size in sizes))

    return check


def _corollary_1(metric):
    def check(results):
        data = phase(results, metric, within=above_log)
        return at_most(exponent(data, metric, ("m", "L"), x=data["x"]), -0.5, "exponent in x")

    return check


def _corollary_2(metric):
    def check(results):
        data = phase(results, metric, x=1, within=lambda d: d["x"] <= 8)
        flat = exponent(data, metric, ("m", "x"), share(0.5), L=data["L"])
        cells = summarise(data, share(0.5, data))
        floor = throughout(
            named(cells, metric, f"{metric}_low", f"{metric}_high", f"{metric}_mcse"),
            lambda error, cell: at_least(error, 0.5, f"mean error at {cell}:"), HIGH)
        return every(equivalence(flat, 0, 0.02, "exponent in L at fixed m and x"), floor)

    return check


_SWAPPED = ("schemes log and inverse_log swapped, as in the paper's discussion of Figure 3",
            renamed("scheme", "log", "inverse_log"))
_ROWS = {
    "log": ("log(mL)/√(mL)", "falls", "at most −0.03",
            lambda found, what: at_most(found, -STABLE, what), *_SWAPPED),
    "critical": ("1/√(mL)", "stays stable", "0 ± 0.03",
                 lambda found, what: equivalence(found, 0, STABLE, what),
                 "the errors of scheme log", renamed("scheme", "log", "critical")),
    "inverse_log": ("1/(√(mL) log(mL))", "rises", "at least 0.03",
                    lambda found, what: at_least(found, STABLE, what), *_SWAPPED),
}


def _table_1_claims(norm):
    metric, symbol = NORMS[norm]
    for scheme, (formula, verb, tolerance, decide, twin, twin_data) in _ROWS.items():
        yield Claim(
            id=f"xu.table_1.{scheme}.{norm}",
            statement=f"With a budget ε ∝ {formula} the error {symbol} {verb} as users are added.",
            source="Xu, Sun and Cheng, Table 1 and Figure 3 (Scenario II)",
            experiment="xu/scenario_2",
            estimand=f"exponent of the mean {symbol} in L, common to all m",
            tolerance=tolerance,
            why="From L = 100 to 1600 the factor log(mL) alone tilts an error by L^±0.11 or more, of which "
                "0.03 is a quarter. The critical scheme tilts by −0.01 itself, because ε = 1 is not yet "
                "small.",
            conditions="The scheme's constant makes ε = 1 at L = 100 for every m, so only L can be asked "
                       "about, at fixed m. The discussion of Figure 3 swaps log and inverse_log; Table 1 and "
                       "the formulas are right. ‖·‖∞ grows slowly with m for reasons that are not in Table 1.",
            check=_table_1(metric, scheme, decide),
            twin=twin,
            twin_data=twin_data,
        )


def _phase_claims(norm):
    metric, symbol = NORMS[norm]
    sizes = ("m", "L") if norm == "l2" else ("L",)
    yield Claim(
        id=f"xu.threshold.{norm}",
        statement=f"The budget at which the error {symbol} leaves its plateau shrinks like 1/√(mL).",
        source="Xu, Sun and Cheng, Corollaries 1 and 2: the critical order of ε",
        experiment="xu/phase_transition",
        estimand="exponent in " + ("m and in L" if norm == "l2" else "L, at fixed m,")
                 + " of ε*, at which the error is 70 % of its plateau",
        tolerance="−½ ± 0.03",
        why="The nearest other order that one may have in mind, (mL)^(−1/3), is more than five times as far away.",
        conditions=f"Levels of L with ε* ≤ {SMALL_BUDGET:g} at every m. The plateau is the mean error at "
                   "the smallest x at that m, for θ* spreads a little more when m is larger."
                   + ("" if norm == "l2" else " ‖·‖∞ also grows with m, so m is not asked about."),
        check=_threshold(metric, sizes),
        twin="budgets multiplied by (mL)^(1/6)",
        twin_data=lambda r: r.assign_coords(epsilon=r["epsilon"] * (r["m"] * r["L"] / 1000) ** (1 / 6)),
    )
    yield Claim(
        id=f"xu.corollary_1.{norm}",
        statement=f"With ε at least log(mL)/√(mL) the error {symbol} goes to zero.",
        source="Xu, Sun and Cheng, Corollary 1",
        experiment="xu/phase_transition",
        estimand=f"exponent of the mean {symbol} in x = ε√(mL)",
        tolerance="at most −½",
        why="Any negative exponent takes the error to zero with growing x. Theorem 2 has −1, up to its "
            "logarithm; −½ is half of that and out of reach for an estimator with a floor.",
        conditions="Cells with x ≥ log(mL), every m and L with its own constant. At one x the error does "
                   "not depend on L (Corollary 2), so falling in x is falling along all budgets that "
                   "outgrow 1/√(mL). For ε ∝ log(mL)/√(mL) itself see xu.table_1.log.",
        check=_corollary_1(metric),
        **PLUG_IN,
    )
    yield Claim(
        id=f"xu.corollary_2.{norm}",
        statement=f"With ε of order 1/√(mL) the error {symbol} stays away from zero, however many users.",
        source="Xu, Sun and Cheng, Corollary 2 (proved for the worst θ* of any estimator)",
        experiment="xu/phase_transition",
        estimand="exponent of the mean error in L at fixed m and x; least mean error of a cell",
        tolerance="0 ± 0.02; at least ½ logit",
        why="With 0.02 a 16-fold L moves the error by at most 6 %, where 1/√L would move it by 75 %. θ* has "
            "a standard deviation of 1.15 logits, so half a logit is not small.",
        conditions="Cells with x = ε√(mL) ≤ 8. The exponent is in L only, for the error grows a little with "
                   "m (θ* spreads more); the floor is for all cells, over which mL grows 64-fold.",
        check=_corollary_2(metric),
        twin="errors multiplied by (mL)^(−1/6)",
        twin_data=tilted(metric, -1 / 6),
    )


CLAIMS = tuple(
    claim for claims in (_table_1_claims, _phase_claims) for norm in NORMS for claim in claims(norm)
)
