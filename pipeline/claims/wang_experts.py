"""Claims of Wang and Xu, Theorem 4: experts among spammers, Dawid and Skene's method against majority vote."""

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, at_least, at_most, throughout
from pipeline.claims.evidence import HIGH, enough, ratios, renamed, share
from pipeline.claims.wang_bounds import kept
from pipeline.claims.wang_limits import cells_of
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import paired_difference
from pipeline.theory import crowd

_AXES = dict(expert_exponent=1, n=3, epsilon=2)


def _theorem_4(data):
    """Its conditions; n large enough for its proof, with the right constant of Berry and Esseen; a bound below ½."""
    each = {name: data[name] for name in ("n", "expert_exponent", "epsilon")}
    enough_workers = xr.apply_ufunc(crowd.theorem_4_proved, *each.values(), kwargs=dict(simple=True))
    bound = xr.apply_ufunc(crowd.expert_error_bound, *each.values())
    stated = xr.apply_ufunc(crowd.theorem_4_holds, each["epsilon"], each["expert_exponent"])
    return stated & enough_workers & (bound < 0.5)


def _vote_over_bound(results):
    data = enough(results, "majority_error_exact", "label_error_bound", estimator="majority_vote", within=_theorem_4,
                  **_AXES)
    cells = risk_ratio(data, "majority_error_exact", "label_error_bound", 1, share(1, data))
    return throughout(ratios(cells.reset_coords(drop=True)), lambda one, cell: at_least(
        one, 1, f"error/bound at {cell}:"), HIGH)


def _better(within):
    def check(results):
        data = enough(results, "label_error", "expert_wisdom", estimator=2, within=within, **_AXES)
        apart = paired_difference(data, "label_error", "estimator", "dawid_skene", "majority_vote")
        return throughout(cells_of(data, apart["mean"], apart["mcse"]), lambda one, cell: at_most(
            one, 0, f"Dawid and Skene less vote at {cell}:"), -HIGH)

    return check


_ABOUT = dict(experiment="wang/experts")
_PROVED = ("ε > ln(85/15), ⌈n^0.3⌉ or ⌈n^0.45⌉ experts, n large enough for the proof's inequality with the right "
           "Berry–Esseen constant, and a bound below ½; m = 500.")
_LAMBDA = (" Started at the mean vote, λ = 0.001: the λ of Theorem 2, which the proof uses, asks for more than 10⁷ "
           "tasks here, and its last step never holds for experts and spammers.")
_NAMES = dict(twin="the two estimators under each other's name",
              twin_data=renamed("estimator", "dawid_skene", "majority_vote"))

CLAIMS = (
    Claim(
        id="wang.theorem_4.vote",
        statement="Among spammers and few experts majority vote errs more than 2exp(−½ tanh²(ε/2)⌈n^x⌉).",
        source="Wang and Xu, Theorem 4, first inequality",
        estimand="mean exact error of majority vote over the bound, in every cell",
        tolerance="at least 1 in every cell (simultaneous intervals)",
        why="The theorem as printed. The error is the Poisson–binomial one.",
        conditions=_PROVED,
        check=_vote_over_bound,
        twin="the oracle in place of the vote",
        twin_data=lambda r: r.assign(majority_error_exact=r["oracle_error"]),
        **_ABOUT,
    ),
    Claim(
        id="wang.theorem_4.dawid_skene",
        statement="There Dawid and Skene's method errs less than that.",
        source="Wang and Xu, Theorem 4, second inequality",
        estimand="share of data sets above the bound",
        tolerance="none, and enough data sets to exclude 5 %",
        why="Theorem 2, which it rests on, has probability 1 − C'/m, C' unknown.",
        conditions=_PROVED + _LAMBDA,
        check=kept(_theorem_4, ("label_error", "label_error_bound"), lambda d: d["label_error_bound"], 0.05,
                   estimator="dawid_skene", **_AXES),
        **_NAMES,
        **_ABOUT,
    ),
    Claim(
        id="wang.theorem_4",
        statement="There Dawid and Skene's method labels better than majority vote.",
        source="Wang and Xu, Theorem 4",
        estimand="difference of mean shares of wrong labels on the same release, in every cell",
        tolerance="at most 0 in every cell (simultaneous intervals)",
        why="The theorem's conclusion.",
        conditions=_PROVED + _LAMBDA,
        check=_better(_theorem_4),
        **_NAMES,
        **_ABOUT,
    ),
    Claim(
        id="wang.experts.below",
        statement="The least ε of Theorem 4 is not needed: the method is better below ln(85/15) too.",
        source="against the range of ε in Theorem 4 of Wang and Xu, which only its proof needs",
        estimand="difference of mean shares of wrong labels on the same release, in every cell",
        tolerance="at most 0 in every cell (simultaneous intervals)",
        why="Spammers alone outvote the experts at any ε; the factor (e^ε/(e^ε + 1))^k, which makes the proof ask for "
            "it, can be left out.",
        conditions="Cells with ε < ln(85/15) and n v̂ ≥ 1; ⌈n^0.3⌉ or ⌈n^0.45⌉ experts, n = 25 to 400, m = 500.",
        check=_better(lambda d: (d["epsilon"] < np.log(85 / 15)) & (d["expert_wisdom"] >= 1)),
        **_NAMES,
        **_ABOUT,
    ),
)
