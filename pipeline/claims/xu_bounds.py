"""Claims of Xu, Sun and Cheng on the size of the error: Theorems 2 and 3, the plug-in, sharp constants."""

import numpy as np
import xarray as xr

from pipeline.claims.claim import CONFIDENCE, Claim, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, exponent, ratios, renamed, share
from pipeline.claims.xu_rates import NORMS, PLUG_IN, SMALL_BUDGET, above_log, phase
from pipeline.reduce.rates import fit_rate
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import summarise
from pipeline.theory.btl import amplification


def released_sample(data):
    """mL/G(ε): the released sample in unperturbed users, times items."""
    return data["m"] * data["L"] / xr.apply_ufunc(amplification, data["epsilon"]) ** 2


def _theorem_2(metric):
    def check(results):
        large = phase(results, metric, within=lambda d: (released_sample(d) >= 200) & (d["epsilon"] <= SMALL_BUDGET))
        slope = exponent(large, metric, ("m",), share(0.5), size=released_sample(large))
        data = phase(results, metric)
        data[metric] = data[metric] / np.sqrt(np.log(data["m"] * data["L"]) / released_sample(data))
        growth = exponent(data, metric, ("m", "x"), share(0.5), L=data["L"])
        return every(equivalence(slope, -0.5, 0.05, "exponent in mL/G"),
                     at_most(growth, 0, "exponent of error/rate in L at fixed m and x"))

    return check


def _plug_in(metric):
    def check(results):
        data = phase(results, metric, estimator="plug_in", within=above_log)
        summary = summarise(data[[metric, "status"]])
        mean, error = (_by_budget(summary[name], data["epsilon"]) for name in (metric, f"{metric}_mcse"))
        rate = fit_rate(mean, error, groups=("curve",), confidence=CONFIDENCE, L=mean["L"])
        return at_least(rate.exponents["L"], -0.1, "exponent in L at fixed ε and m")

    return check


def _by_budget(cells, epsilon):
    """Cells over (m, L, x) as curves in L, one for every m and ε: different x have equal ε at different L."""
    levels = cells["L"].values
    cells, epsilon = (a.transpose("m", "L", "x").values for a in xr.broadcast(cells, epsilon))
    budgets = np.log(epsilon).round(9)
    curves = {}
    for (i, j, k), value in np.ndenumerate(cells):
        curves.setdefault((i, budgets[i, j, k]), np.full(levels.size, np.nan))[j] = value
    return xr.DataArray(list(curves.values()), dict(curve=range(len(curves)), L=levels), ("curve", "L"))


def _ratio(yardstick, power, within, decide, aim):
    """Check of mean error_l2^power over the mean of its yardstick in every cell of `within`."""

    def check(results):
        data = phase(results, "error_l2", yardstick, x=1, within=within)
        cells = risk_ratio(data, "error_l2", yardstick, power, share(1, data))
        return throughout(
            ratios(cells), lambda found, cell: decide(found, f"ratio at {cell}:"), aim)

    return check


def _theorem_3_rate(results):
    data = phase(results, "error_l2", "minimax_bound", x=1,
                 within=lambda d: (released_sample(d) >= 200) & (d["epsilon"] <= SMALL_BUDGET))
    cells = risk_ratio(data, "error_l2", "minimax_bound", 1)
    rate = fit_rate(cells["ratio"], cells["mcse"], groups=("m",), confidence=CONFIDENCE, size=released_sample(data))
    return equivalence(rate.exponents["size"], 0, 0.03, "exponent of error/bound in mL/G at fixed m")


def _backwards(results):
    return results.assign(error_l2=results["error_l2"].isel(x=slice(None, None, -1)).variable)


def _norm_claims(norm):
    metric, symbol = NORMS[norm]
    yield Claim(
        id=f"xu.theorem_2.{norm}",
        statement=f"The error {symbol} falls like √(G(ε)/(mL)), within the rate √(G(ε) log(mL)/(mL)).",
        source="Xu, Sun and Cheng, Theorem 2, " + ("eq. (6)" if norm == "l2" else "eq. (7)"),
        experiment="xu/phase_transition",
        estimand="exponent of the mean error in mL/G(ε) at fixed m; exponent of error/rate in L at fixed m "
                 "and x",
        tolerance="−½ ± 0.05; at most 0",
        why="The theorem is an upper rate: a ratio that grew with L would break it whatever its constant. "
            "±0.05 tells −½ from −1/3 and from an estimator with a floor.",
        conditions="Exponent in mL/G: cells with mL/G ≥ 200, where the ridge λ = G/L takes little, and "
                   f"ε ≤ {SMALL_BUDGET:g}, beyond which the error is smaller than the rate. Ratio: all "
                   "cells. The factor κ is not tested. The paper's simulations print λ without a square; "
                   "this is G/L.",
        check=_theorem_2(metric),
        **PLUG_IN,
    )
    yield Claim(
        id=f"xu.plug_in.{norm}",
        statement=f"Without debiasing, the error {symbol} does not go to zero as users are added at a fixed "
                  "ε.",
        source="Xu, Sun and Cheng, section 3.1 and Scenario V (classic randomized response)",
        experiment="xu/phase_transition",
        estimand="exponent of the plug-in's mean error in L at fixed ε and m",
        tolerance="at least −0.1",
        why="A fifth of the debiased estimator's −½. A floor shows as an exponent near 0.",
        conditions="Cells with x ≥ log(mL), where the debiased estimator is consistent. Every m and ε has "
                   "its own constant: x = 16 at L = 100 and x = 32 at L = 400 are one ε.",
        check=_plug_in(metric),
        twin="the debiased estimator in place of the plug-in",
        twin_data=renamed("estimator", "debiased", "plug_in"),
    )


_TENTH_MORE = dict(twin="errors 10 % larger, mean squared errors 21 %",
                   twin_data=lambda r: r.assign(error_l2=1.1 * r["error_l2"]))


CLAIMS = (
    *(claim for norm in NORMS for claim in _norm_claims(norm)),
    Claim(
        id="xu.theorem_3.lower",
        statement="In no cell is the mean error ‖θ̂ − θ*‖₂/√m below the minimax bound 1/√(κ m Σ_l t(ε_l)²).",
        source="Xu, Sun and Cheng, Theorem 3, eq. (8), with constant 1",
        experiment="xu/phase_transition",
        estimand="mean error over mean bound, in every cell",
        tolerance="at least 1 in every cell (simultaneous intervals)",
        why="The paper leaves its constant open; with 1 it holds here. A ratio below 1 would speak against that "
            "constant, not against the theorem.",
        conditions="Cells with a bound below 1 logit, about the spread of θ*: above, it says nothing. The "
                   "bound is for the worst θ* and the mean is over θ*, so this asks more than the theorem. "
                   "The bound falls with κ though the problem gets harder: at large κ it is loose.",
        check=_ratio("minimax_bound", 1, lambda d: d["minimax_bound"].mean("replication") < 1,
                     lambda found, what: at_least(found, 1, what), HIGH),
        twin="errors read backwards along x, as if the smallest budgets had the smallest errors",
        twin_data=_backwards,
    ),
    Claim(
        id="xu.theorem_3.rate",
        statement="As the released sample grows, the error keeps its ratio to the minimax bound: the rates agree.",
        source="Xu, Sun and Cheng, Theorem 3: minimax optimal up to a logarithm",
        experiment="xu/phase_transition",
        estimand="exponent in mL/G(ε) of mean error over mean bound, at fixed m",
        tolerance="0 ± 0.03",
        why="An estimator that does not learn has ½ here. The logarithm between the paper's two rates is not there.",
        conditions=f"Cells with mL/G ≥ 200, where the ridge takes little, and ε ≤ {SMALL_BUDGET:g}. With m the ratio "
                   "grows, because κ of random θ* grows with m and the bound falls with κ, in the wrong direction.",
        check=_theorem_3_rate,
        **PLUG_IN,
    ),
    Claim(
        id="xu.sharp.sandwich",
        statement="Where the ridge is small the mean squared error is that of the sandwich formula "
                  "to 10 %.",
        source="eq. (3), Lemmas 2 and S5 of Xu, Sun and Cheng by the delta method; the paper has rates only",
        experiment="xu/phase_transition",
        estimand="mean ‖θ̂ − θ*‖₂²/m over mean predicted risk, in every cell",
        tolerance="1 ± 0.1 in every cell (simultaneous intervals)",
        why="The formula is of first order and the ridge acts beyond it: it is 4 to 6 % too large near "
            "mL/G = 1000.",
        conditions="Cells with mL/G(ε) ≥ 800, which is x ≥ 57 while ε is small.",
        check=_ratio("sandwich_risk", 2, lambda d: released_sample(d) >= 800,
                     lambda found, what: equivalence(found, 1, 0.1, what), 1),
        **_TENTH_MORE,
    ),
    Claim(
        id="xu.sharp.cramer_rao",
        statement="Where the ridge is small the mean squared error is at most 30 % above the Cramér–Rao "
                  "bound.",
        source="Fisher information of Lemma 1 of Xu, Sun and Cheng; not in the paper",
        experiment="xu/phase_transition",
        estimand="mean ‖θ̂ − θ*‖₂²/m over the mean bound, in every cell",
        tolerance="at most 1.3 in every cell (simultaneous intervals)",
        why="Debiasing weighs all comparisons alike, the likelihood does not: for θ* uniform on (−2, 2) "
            "this costs up to a quarter at small ε, and less as ε grows. No lower limit is claimed: the bound is "
            "for unbiased estimators, and the ridge is a bias.",
        conditions="Cells with mL/G(ε) ≥ 800.",
        check=_ratio("cramer_rao_risk", 2, lambda d: released_sample(d) >= 800,
                     lambda found, what: at_most(found, 1.3, what), -HIGH),
        **_TENTH_MORE,
    ),
)
