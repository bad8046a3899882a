"""Claims of Wang and Xu, Theorem 4: experts among spammers, Dawid and Skene's method
against majority vote.
"""

import numpy as np
import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import Cells, measure_every_cell, ratio_cells
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, AtMost, NoException

from ..theory import bounds as crowd
from . import controls
from .common import DIRECTION, EXCHANGED, above_bound, label_error_bound, method_less_vote

_LEVELS = dict(expert_exponent=1, n=3, epsilon=2)
LEAST_BUDGET = np.log(85 / 15)  # of Theorem 4


def _proved(data: xr.Dataset) -> xr.DataArray:
    """Conditions of the theorem, n large enough for its proof with the right
    Berry–Esseen constant, bound below ½.
    """
    each = {name: data[name] for name in ("n", "expert_exponent", "epsilon")}
    enough_workers = xr.apply_ufunc(
        crowd.theorem_4_proved, *each.values(), kwargs=dict(simple=True)
    )
    bound = xr.apply_ufunc(crowd.expert_error_bound, *each.values())
    conditions = xr.apply_ufunc(crowd.theorem_4_holds, each["epsilon"], each["expert_exponent"])
    proved: xr.DataArray = conditions & enough_workers & (bound < 0.5)
    return proved


@measure_every_cell("mean share of labels that majority vote gets wrong over the bound")
def _vote_over_bound(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "label_error",
        "label_error_bound",
        at=dict(estimator="majority_vote"),
        min_levels=_LEVELS,
        within=_proved,
    )
    return ratio_cells(data, "label_error", "label_error_bound", power=1)


_PROVED = (
    "ε > ln(85/15), ⌈n^0.3⌉ or ⌈n^0.45⌉ experts, n large enough for the proof's inequality with "
    "the right Berry–Esseen constant, and a bound below ½; m = 500."
)
_LAMBDA = (
    " Started at the mean vote, λ = 0.001: the λ of Theorem 2, which the proof uses, asks for "
    "more than 10⁷ tasks here, and its last step never holds for experts and spammers."
)

CLAIMS = (
    Claim(
        id="wang.theorem_4.vote",
        statement=(
            "Among spammers and few experts majority vote errs more than 2exp(−½ tanh²(ε/2)⌈n^x⌉)."
        ),
        source="Wang and Xu, Theorem 4, first inequality",
        experiment="wang/experts",
        simulated=controls.SPAMMERS_ABLE,
        measure=_vote_over_bound,
        tolerance=AtLeast(1),
        why=(
            "The theorem as printed. The errors are those of released answers; their law, "
            "Poisson–binomial, is in wang.vote."
        ),
        conditions=_PROVED,
        control=NegativeControl("an eighth of the errors", scaled("label_error", 1 / 8)),
    ),
    Claim(
        id="wang.theorem_4.dawid_skene",
        statement="There Dawid and Skene's method errs less than that.",
        source="Wang and Xu, Theorem 4, second inequality",
        experiment="wang/experts",
        simulated=controls.VOTE,
        measure=above_bound(
            "label_error",
            label_error_bound,
            "label_error_bound",
            at=dict(estimator="dawid_skene"),
            min_levels=_LEVELS,
            within=_proved,
        ),
        tolerance=NoException(0.05),
        why="Theorem 2, which it rests on, has probability 1 − C'/m, C' unknown.",
        conditions=_PROVED + _LAMBDA,
        control=EXCHANGED,
    ),
    Claim(
        id="wang.theorem_4",
        headline=True,
        statement="There Dawid and Skene's method labels better than majority vote.",
        source="Wang and Xu, Theorem 4",
        experiment="wang/experts",
        simulated=controls.FEW_COPIES,
        measure=method_less_vote("expert_wisdom", min_levels=_LEVELS, within=_proved),
        tolerance=AtMost(0),
        why=DIRECTION,
        conditions=_PROVED + _LAMBDA,
        control=EXCHANGED,
    ),
    Claim(
        id="wang.experts.below",
        statement=(
            "The least ε of Theorem 4 is not needed: the method is better below ln(85/15) too."
        ),
        source="against the range of ε in Theorem 4 of Wang and Xu, which only its proof needs",
        experiment="wang/experts",
        simulated=controls.FEW_COPIES,
        measure=method_less_vote(
            "expert_wisdom",
            min_levels=_LEVELS,
            within=lambda d: (d["epsilon"] < LEAST_BUDGET) & (d["expert_wisdom"] >= 1),
        ),
        tolerance=AtMost(0),
        why=(
            "Spammers alone outvote the experts at any ε. The factor (e^ε/(e^ε + 1))^k, for which "
            "the proof asks for this ε, can be left out."
        ),
        conditions=(
            "Cells with ε < ln(85/15) and n v̂ ≥ 1; ⌈n^0.3⌉ or ⌈n^0.45⌉ experts, n = 25 to 400, m "
            "= 500."
        ),
        control=EXCHANGED,
    ),
)
