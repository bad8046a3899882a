"""Claims of Xu, Sun and Cheng: what they say of Figures 2, 4, 5 and 6, on their own designs.

The figures have 50 or 100 replications a cell, so trends are judged over all cells together.
"""

import numpy as np

from pipeline.claims.claim import CONFIDENCE, Claim, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, average, enough, exponent, no_exception, renamed, share
from pipeline.claims.xu_rates import NORMS, tilted
from pipeline.reduce.summary import paired_difference, summarise

FEW = 50  # replications in a cell of Scenario I
RANKINGS = {"kendall": ("kendall", "Kendall distance"), "top_k": ("hamming_top_k", "top-K error H_K")}
ERRORS = {**NORMS, "kendall": RANKINGS["kendall"]}


def _figure_2(metric, in_items):
    def check(results):
        data = enough(results, metric, least=FEW, L=2, m=2, epsilon=1)
        users = exponent(data, metric, ("m", "epsilon"), share(0.5), L=data["L"])
        items = exponent(data, metric, ("L", "epsilon"), share(0.5), m=data["m"])
        return every(at_most(users, -0.4, "exponent in L at fixed m and ε"),
                     at_most(items, in_items, "exponent in m at fixed L and ε"))

    return check


def _figure_4(metric):
    """Check that the mean over all other cells is smaller at the last level of L, of m and of Δ than at the first."""

    def check(results):
        cells = summarise(enough(results, metric, least=FEW, L=3, m=3, spacing=2))
        steps = [(axis, *cells[axis].values[[0, -1]]) for axis in ("L", "m", "spacing")]
        found = {}
        for axis, first, second in steps:
            before, after = cells.sel({axis: first}), cells.sel({axis: second})
            change = (after[metric] - before[metric]).reset_coords(drop=True)
            error = np.hypot(after[f"{metric}_mcse"], before[f"{metric}_mcse"]).reset_coords(drop=True)
            found[f"{axis} from {first:g} to {second:g}"] = average(change, error, share(1 / len(steps)))
        return throughout(found, lambda change, step: at_most(change, 0, f"change of the mean error, {step}:"), -HIGH)

    return check


def _almost_zero(results):
    cells = summarise(enough(results, "kendall", least=FEW, L=1, m=1, spacing=1), CONFIDENCE)
    corner = cells.isel({axis: [-1] for axis in ("L", "m", "spacing")})
    return at_most(average(corner["kendall"], corner["kendall_mcse"], CONFIDENCE), 0.004,
                   "mean Kendall distance at the largest L, m and Δ")


def _figure_5(scheme, decide):
    def check(results):
        data = enough(results, "kendall", least=FEW, scheme=scheme, m=1, L=3)
        return decide(exponent(data, "kendall", ("m",), L=data["L"]), "exponent in L")

    return check


def _figure_6(metric, axis, rival, bound, held):
    """Check that the error with debiased randomized response is below a rival's on the same raw comparisons."""
    own = {"mechanism": "randomized_response", "estimator": "debiased"}

    def check(results):
        data = enough(results, metric, L=2, m=1, **{axis: 2, held: own[held]})
        found = paired_difference(data, metric, axis, own[axis], rival)
        return at_most(average(found["mean"], found["mcse"], CONFIDENCE), bound, "mean difference over all cells")

    return check


def _same_ranking(results):
    data = enough(results, "kendall", mechanism="randomized_response", estimator=2, L=2, m=1)
    apart = (data["kendall"].sel(estimator="debiased") - data["kendall"].sel(estimator="plug_in")).values
    apart = apart[np.isfinite(apart)]
    return no_exception(int((np.abs(apart) > 1e-9).sum()), apart.size, 0.01,
                        f"{apart.size:,} replications; share with different Kendall distances:")


def _inconsistent(metric):
    def check(results):
        data = enough(results, metric, mechanism="randomized_response", estimator="plug_in", m=1, L=3)
        return at_least(exponent(data, metric, ("m",), L=data["L"]), -0.25, "exponent in L")

    return check


def _figure_2_claim(norm):
    metric, symbol = NORMS[norm]
    in_items, said = (-0.4, "both at most −0.4") if norm == "l2" else (-0.2, "at most −0.4 in L, −0.2 in m")
    return Claim(
        id=f"xu.figure_2.{norm}",
        statement=f"At a fixed budget the error {symbol} falls as users are added and as items are added.",
        source="Xu, Sun and Cheng, Scenario I, Figure 2",
        experiment="xu/scenario_1",
        estimand="exponent of the mean error in L at fixed m and ε, and in m at fixed L and ε",
        tolerance=said,
        why="Theorem 2 has −½ for both, up to a logarithm" + (
            "." if norm == "l2" else "; the largest of m errors grows like √log m besides."),
        conditions="All cells of the paper's grid, 50 replications each: the cells together decide.",
        check=_figure_2(metric, in_items),
        twin="errors multiplied by (mL)^(1/3)",
        twin_data=tilted(metric, 1 / 3),
    )


def _figure_4_claim(ranking):
    metric, name = RANKINGS[ranking]
    return Claim(
        id=f"xu.figure_4.{ranking}",
        statement=f"The {name} falls as L, m or the gap Δ between neighbours grows.",
        source="Xu, Sun and Cheng, Scenario III, Figure 4",
        experiment="xu/scenario_3",
        estimand="change of the mean error, averaged over all other cells, from the least to the greatest L, m and Δ",
        tolerance="at most 0 for each (simultaneous intervals)",
        why="The statement is one of direction.",
        conditions="θ* evenly spaced, ε = 1, K = m/2, 100 replications a cell.",
        check=_figure_4(metric),
        twin="levels of L read backwards",
        twin_data=lambda r: r.assign({metric: r[metric].isel(L=slice(None, None, -1)).variable}),
    )


_TRENDS = {
    "log": ("log(mL)/√(mL)", "falls", "at most −0.05", lambda found, what: at_most(found, -0.05, what),
            "inverse_log"),
    "critical": ("1/√(mL)", "stays stable", "0 ± 0.05", lambda found, what: equivalence(found, 0, 0.05, what), "log"),
    "inverse_log": ("1/(√(mL) log(mL))", "rises", "at least 0.05", lambda found, what: at_least(found, 0.05, what),
                    "log"),
}


def _figure_5_claim(scheme):
    formula, verb, tolerance, decide, other = _TRENDS[scheme]
    return Claim(
        id=f"xu.figure_5.{scheme}",
        statement=f"With a budget ε ∝ {formula} the Kendall distance {verb} as users are added.",
        source="Xu, Sun and Cheng, Scenario IV, Figure 5 (schemes by formula: the text swaps 1 and 3)",
        experiment="xu/scenario_4",
        estimand="exponent of the mean Kendall distance in L, common to all m",
        tolerance=tolerance,
        why="From L = 50 to 400 the factor log(mL) alone tilts the distance by L^±0.1 or more.",
        conditions="θ* evenly spaced with Δ = 0.1, which the paper leaves open, as it does the replications; ε = 1 at "
                   "L = 50 for every m.",
        check=_figure_5(scheme, decide),
        twin=f"scheme {other} in place of {scheme}",
        twin_data=renamed("scheme", other, scheme),
    )


_PAIRED = dict(
    experiment="xu/scenario_5",
    estimand="mean difference, debiased randomized response minus the rival, on the same raw comparisons",
    source="Xu, Sun and Cheng, Scenario V, Figure 6",
)


def _figure_6_claims(error):
    metric, name = ERRORS[error]
    yield Claim(
        id=f"xu.figure_6.laplace.{error}",
        statement=f"At the same ε the {name} is smaller with debiased randomized response than with Laplace noise.",
        tolerance="at most 0",
        why="The statement is one of direction. At ε = 2 Laplace noise is worth randomized response at ε = 1.32 "
            "(equal variance of a debiased comparison, 2 arsinh(ε/√8)).",
        conditions="ε = 2. Both use λ = G/L with their own G, the variance of a debiased comparison of equal items "
                   "in units of ¼.",
        check=_figure_6(metric, "mechanism", "laplace", 0.0, "estimator"),
        twin="the two mechanisms under each other's name",
        twin_data=renamed("mechanism", "laplace", "randomized_response"),
        **_PAIRED,
    )
    if error != "kendall":
        yield Claim(
            id=f"xu.figure_6.classic.{error}",
            statement=f"The error {name} is smaller with debiased than with classic randomized response.",
            tolerance="at most 0",
            why="The statement is one of direction.",
            conditions="ε = 2, where the released lean is 0.76 of the true one.",
            check=_figure_6(metric, "estimator", "plug_in", 0.0, "mechanism"),
            twin="the two estimators under each other's name",
            twin_data=renamed("estimator", "debiased", "plug_in"),
            **_PAIRED,
        )
        yield Claim(
            id=f"xu.figure_6.inconsistent.{error}",
            statement=f"With classic randomized response the error {name} does not vanish as users are added.",
            experiment="xu/scenario_5",
            source=_PAIRED["source"],
            estimand="exponent of the plug-in's mean error in L at fixed m",
            tolerance="at least −0.25",
            why="Half of the exponent −½ of consistent estimators; a floor bends the curve further as L grows.",
            conditions="ε = 2, L from 50 to 400. For the floor itself see xu.plug_in.",
            check=_inconsistent(metric),
            twin="the debiased estimator in place of the plug-in",
            twin_data=renamed("estimator", "debiased", "plug_in"),
        )


CLAIMS = (
    *map(_figure_2_claim, NORMS),
    *map(_figure_4_claim, RANKINGS),
    Claim(
        id="xu.figure_4.almost_zero",
        statement="At L = 400, m = 30, Δ = 0.2 the full ranking error is almost zero.",
        source="Xu, Sun and Cheng, Scenario III, Figure 4",
        experiment="xu/scenario_3",
        estimand="mean Kendall distance in the cell with the largest L, m and Δ",
        tolerance="at most 0.004",
        why="0.004 is less than 2 of 435 pairs; guessing has one half.",
        conditions="θ* evenly spaced, ε = 1.",
        check=_almost_zero,
        twin="levels of Δ read backwards",
        twin_data=lambda r: r.assign(kendall=r["kendall"].isel(spacing=slice(None, None, -1)).variable),
    ),
    *map(_figure_5_claim, _TRENDS),
    *(claim for error in ERRORS for claim in _figure_6_claims(error)),
    Claim(
        id="xu.figure_6.classic.kendall",
        statement="Debiasing also improves the ranking: the Kendall distance is smaller than with classic randomized "
                  "response.",
        tolerance="at most −0.001",
        why="A thousandth of the pairs is the least that could be called an improvement.",
        conditions="Does not hold, and cannot: with one budget for all and complete comparisons both estimators order "
                   "the items by their scores Σ_j z̄_ij, since θ̂_i > θ̂_k exactly if the score of i is larger, and "
                   "debiasing only stretches the scores. The rankings are the same in every replication.",
        check=_figure_6("kendall", "estimator", "plug_in", -0.001, "mechanism"),
        twin="the two estimators under each other's name",
        twin_data=renamed("estimator", "debiased", "plug_in"),
        **_PAIRED,
    ),
    Claim(
        id="xu.same_ranking",
        statement="With one budget for all, classic and debiased randomized response rank the items alike in every "
                  "replication.",
        source="eq. (3) of Xu, Sun and Cheng; against their finding of Figure 6",
        experiment="xu/scenario_5",
        estimand="share of replications whose Kendall distances differ, on the same release",
        tolerance="none; and enough replications to exclude a share of 0.01",
        why="Both order the items by their scores Σ_j z̄_ij, which debiasing only stretches.",
        conditions="Complete comparisons, one ε.",
        check=_same_ranking,
        twin="maximum likelihood in place of classic randomized response",
        twin_data=renamed("estimator", "likelihood", "plug_in"),
    ),
)
