"""Claims on constants, where Xu, Sun and Cheng have rates: sandwich formula, Cramér–Rao bound, and κ in Theorem 2."""

import numpy as np

from pipeline.claims.claim import Claim, TooLittle, at_least, at_most, every, throughout
from pipeline.claims.evidence import HIGH, enough, normal, ratios, renamed, share
from pipeline.claims.exact import exactly
from pipeline.claims.xu_rates import NORMS
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import summarise


def _data(results, estimator, *variables, theta="redrawn"):
    return enough(results, *variables, estimator=estimator, theta=theta, m=1, epsilon=2, spread=2)


def _exact(estimator, yardstick):
    def check(results):
        return exactly(_data(results, estimator, "error_l2", yardstick), "error_l2", yardstick, 2, 0.02)

    return check


def _efficiency(results):
    """Check of the predicted risks, which have little noise: nearly none lost at small spreads, much at large."""
    data = _data(results, "debiased", "sandwich_risk", "cramer_rao_risk")
    cells = risk_ratio(data, "sandwich_risk", "cramer_rao_risk", 1, share(0.5, data))
    narrow, wide = (cells.sel(spread=[data["spread"].values[end]]) for end in (0, -1))
    least = throughout(ratios(narrow), lambda one, cell: at_most(one, 1.02, f"loss at {cell}:"), -HIGH)
    wide = wide.sel(epsilon=[data["epsilon"].values[0]])
    most = throughout(ratios(wide), lambda one, cell: at_least(one, 1.5, f"loss at {cell}:"), HIGH)
    return every(least, most)


def _kappa(metric, limit):
    """Check of the exponent between the two largest spreads, where it is largest, at every ε and kind of θ*."""

    def check(results):
        found = {}
        for theta, said in (("redrawn", "θ* uniform"), ("two_groups", "two groups")):
            data = _data(results, "debiased", metric, "log_condition", theta=theta)
            cells = summarise(data[[metric, "log_condition", "status"]]).squeeze("m", drop=True)
            run = np.isfinite(cells[metric]).all("epsilon")
            wide = cells.sel(spread=run).isel(spread=slice(-2, None))
            if wide.sizes["spread"] < 2:
                raise TooLittle("needs two spreads")
            stretch = wide["log_condition"].diff("spread").squeeze("spread")
            error = np.hypot(*(wide[f"{metric}_mcse"] / wide[metric]).transpose("spread", ...).values) / stretch
            rate = np.log(wide[metric]).diff("spread").squeeze("spread") / stretch
            found |= {f"ε={epsilon:g}, {said}": normal(float(one), float(noise), share(0.5 / wide.sizes["epsilon"]))
                      for epsilon, one, noise in zip(wide["epsilon"].values, rate.values, error.values, strict=True)}
        return throughout(found, lambda one, cell: at_most(one, limit, f"exponent in κ at {cell}:"), -HIGH)

    return check


def _kappa_claim(norm):
    metric, symbol = NORMS[norm]
    limit = {"l2": 1, "inf": 2}[norm]
    power = {1: "κ", 2: "κ²"}[limit]
    return Claim(
        id=f"xu.theorem_2.kappa.{norm}",
        statement=f"As preferences spread out, the error {symbol} grows no faster than the theorem's {power}.",
        source="Xu, Sun and Cheng, Theorem 2, " + ("eq. (6)" if norm == "l2" else "eq. (7)"),
        experiment="xu/sharp_constants",
        estimand="exponent of the mean error in κ = exp(mean of max θ* − min θ*) between the two largest spreads, at "
                 "fixed mL/G(ε), for every ε and kind of θ*",
        tolerance=f"at most {limit} (simultaneous intervals)",
        why="An upper rate. For items in two groups at the ends the ℓ₂ error comes to grow like κ itself: its power is "
            "sharp for the worst θ*, and far from it for θ* spread evenly.",
        conditions="mL/G(ε) = 10⁶ in every cell; κ up to 140 (θ* uniform, mean range) and e⁵ (two groups).",
        check=_kappa(metric, limit),
        twin=f"errors multiplied by {power}",
        twin_data=lambda r: r.assign({metric: r[metric] * np.exp(limit * r["log_condition"])}),
    )


_SHARP = dict(
    experiment="xu/sharp_constants",
    tolerance="no cell may exclude 1 (false alarm 1e-6 over all), and 1 ± 0.02 over all cells",
    conditions="mL/G(ε) = 10⁶ and λ a hundredth of G/L, so that the ridge and the next order take nothing; θ* uniform "
               "on (−s, s), s up to 3.",
)


CLAIMS = (
    Claim(
        id="xu.sharp.exact.debiased",
        statement="The debiased estimator's mean squared error is that of the sandwich formula.",
        source="eq. (3), Lemmas 2 and S5 of Xu, Sun and Cheng by the delta method; the paper has rates only",
        estimand="mean ‖θ̂ − θ*‖₂²/m over mean predicted risk, in every cell",
        why="The formula is exact to first order. 4,000 replications fix a cell to 1 % or 2 %.",
        check=_exact("debiased", "sandwich_risk"),
        twin="maximum likelihood in place of the debiased estimator",
        twin_data=renamed("estimator", "debiased", "likelihood"),
        **_SHARP,
    ),
    Claim(
        id="xu.sharp.exact.likelihood",
        statement="The maximum-likelihood estimator's mean squared error is the Cramér–Rao bound.",
        source="Fisher information of Lemma 1 of Xu, Sun and Cheng; not in the paper",
        estimand="mean ‖θ̂ − θ*‖₂²/m over the mean bound, in every cell",
        why="The bound is reached to first order. 4,000 replications fix a cell to 1 % or 2 %.",
        check=_exact("likelihood", "cramer_rao_risk"),
        twin="the debiased estimator in place of maximum likelihood",
        twin_data=renamed("estimator", "debiased", "likelihood"),
        **_SHARP,
    ),
    Claim(
        id="xu.sharp.efficiency",
        statement="Debiasing gives nothing away where preferences are close, and a third of the information or more "
                  "where they are spread out and ε is small.",
        source="sandwich formula and Cramér–Rao bound of the model of Xu, Sun and Cheng; not in the paper",
        experiment="xu/sharp_constants",
        estimand="mean sandwich risk over mean Cramér–Rao bound",
        tolerance="at most 1.02 at the smallest spread, for every ε; at least 1.5 at the largest spread and smallest ε",
        why="Debiasing weighs all comparisons alike, the likelihood by w/(w + privacy's variance). With w alike "
            "for all pairs that is the same.",
        conditions=_SHARP["conditions"] + " The simulation is held against both formulas in xu.sharp.exact.",
        check=_efficiency,
        twin="spreads read backwards",
        twin_data=lambda r: r.assign({name: r[name].isel(spread=slice(None, None, -1)).variable
                                      for name in ("sandwich_risk", "cramer_rao_risk")}),
    ),
    *map(_kappa_claim, NORMS),
)
