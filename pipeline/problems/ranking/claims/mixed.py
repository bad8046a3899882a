"""Claims on mixed budgets that have one G(ε): Theorems 1, 2 and 4 to 6 of Xu, Sun and Cheng.

Some are beyond the condition H ≲ mG.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.exact import TOGETHER, law_ratios
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    mean_cells,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import Condition, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from ..metrics.proof_lemmas import RADIUS_CHANCE
from .common import over_common
from .controls import LOUD, SIXTEENS

ERRORS = {
    "theorem_1": ("excess_risk", "excess risk"),
    "theorem_2.inf": ("error_inf", "error ‖θ̂ − θ*‖∞"),
    "theorem_2.l2": ("error_l2", "error ‖θ̂ − θ*‖₂/√m"),
}
ORDERS = {
    "theorem_4": ("missed", "chance of missing the top K"),
    "theorem_5": ("hamming_top_k", "top-K error H_K"),
    "theorem_6": ("kendall", "Kendall distance"),
}
STORED = {"missed": "exact_top_k"}  # under another name than the claim's
ENOUGH = 4  # signal over log(mL) from which the top K are exact
USERS = 10**6  # of every study of mixed budgets
FREQUENT = 2  # signal up to which wrong orders are frequent enough to compare their shares
WITHIN: dict[str, Condition | None] = {
    "redrawn": None,
    "spaced": lambda data: data["signal"] <= FREQUENT,
}
_MIXED = (
    "Profiles of the axis profile, all with the G(ε) of one budget 1. In the last, one user of a "
    "million has 79 "
    "% of the noise and H(ε) is 20 or 41 times mG(ε)."
)


def _over_one_budget(metric: str, theta: str) -> Measure:
    @measure_every_cell("mean with mixed budgets over that with one budget of the same G(ε)")
    def ratios(results: xr.Dataset) -> Cells:
        stored = STORED.get(metric, metric)
        data = select(
            results,
            stored,
            at=dict(theta=theta),
            min_levels=dict(m=1, signal=1, profile=2),
            within=WITHIN[theta],
        )
        if metric == "missed":
            data[metric] = 1 - data[stored]
        cells = summarise(data[[metric, "status"]])
        return over_common(
            cells[metric], cells[f"{metric}_mcse"], cells[f"{metric}_n"], confidence_for(data)
        )

    return ratios


@measure("mean Kendall distance over its mean prediction, for every profile")
def _over_prediction(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(
        results,
        "kendall",
        "kendall_predicted",
        at=dict(theta="spaced"),
        min_levels=dict(m=1, signal=2, profile=2),
    )
    return {TOGETHER: law_ratios(data, "kendall", "kendall_predicted", 1, "profile")[TOGETHER]}


@measure_every_cell("share of replications with the exact top K")
def _recovered(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "exact_top_k",
        min_levels=dict(m=1, signal=2, profile=2),
        within=lambda cells: cells["signal"] >= ENOUGH * xr.ufuncs.log(cells["m"] * USERS),
    )
    return mean_cells(data, "exact_top_k")


@measure_every_cell("share of replications whose largest error is beyond the radius")
def _beyond_radius(results: xr.Dataset) -> Cells:
    data = select(results, "radius_ratio", min_levels=dict(m=1, theta=1, signal=1, profile=2))
    is_beyond = data["radius_ratio"] > 1
    beyond = is_beyond.astype(float).where(data["radius_ratio"].notnull())
    data["radius_ratio"] = beyond.assign_attrs(least=0.0, most=1.0)
    return mean_cells(data, "radius_ratio")


def _claim(
    name: str, metric: str, error: str, theta: str, margin: float, why: str, conditions: str
) -> Claim:
    stored = STORED.get(metric, metric)

    def make(results: xr.Dataset) -> xr.Dataset:
        """Half as much again where H(ε) > mG(ε), as if it and not G(ε) counted."""
        far = 1 + 0.5 * (results["concentration"] > 1)
        values = results[stored]
        wrong = values * far
        if metric == "missed":
            wrong = 1 - (1 - values) * far
        return results.assign({stored: wrong.transpose(*values.dims)})

    return Claim(
        id=f"xu.personal.{name}",
        statement=f"With mixed budgets the {error} depends on them through G(ε) alone, also where "
        "H(ε) ≫ mG(ε).",
        source=f"Xu, Sun and Cheng, Theorem {name[8]}",
        experiment="xu/mixed",
        measure=_over_one_budget(metric, theta),
        tolerance=Within(1, margin),
        why=why,
        conditions=f"{conditions} {_MIXED}",
        control=NegativeControl("half as much again where H(ε) > mG(ε)", make),
        simulated=LOUD,
    )


def _missed_more_often(results: xr.Dataset) -> xr.Dataset:
    """A tenth of the replications that were exact miss an item."""
    exact = results["exact_top_k"]
    number = xr.DataArray(np.arange(exact.sizes["replication"]), dims="replication")
    return results.assign(exact_top_k=exact.where(number % 10 > 0, 0.0))


CLAIMS = (
    *(
        _claim(
            name,
            metric,
            error,
            "redrawn",
            0.1,
            "By the first order it is exactly so: all users' noise enters through the variance of "
            "z̄. Theorem 2's "
            "probability is 1 − O(1) where H(ε) ≫ G(ε); the noise of one user is bounded, and no "
            "worse than normal.",
            "θ* uniform on (−2, 2), mL/G(ε) = 2·10⁶ and more.",
        )
        for name, (metric, error) in ERRORS.items()
    ),
    *(
        _claim(
            name,
            metric,
            error,
            "spaced",
            0.15,
            "Scores order the items, and by the central limit theorem and by Hoeffding's "
            "inequality (theory.tails) "
            "only G(ε) matters: the condition H(ε) ≲ mG(ε) of Theorems 5 and 6 is not needed.",
            "θ* evenly spaced, signal mLΔ²/G(ε) = 2, κ near 1.",
        )
        for name, (metric, error) in ORDERS.items()
    ),
    Claim(
        id="xu.personal.theorem_4.recovered",
        statement="With mixed budgets, too, the top K are recovered exactly where the signal "
        "mLΔ²/G(ε) is at least 4 log(mL).",
        source="Xu, Sun and Cheng, Theorem 4, with 4 for its constant times κ⁴",
        experiment="xu/mixed_recovery",
        measure=_recovered,
        tolerance=AtLeast(0.95),
        why="The same as for one budget (xu.theorem_4): the noise enters through the variance of "
        "z̄, whoever has it.",
        conditions=f"θ* evenly spaced, K = m/2, L = 10⁶, signal 72 and 96. {_MIXED}",
        control=NegativeControl(
            "a tenth of the exact replications miss an item", _missed_more_often
        ),
        simulated=SIXTEENS,
    ),
    Claim(
        id="xu.personal.tails.largest",
        statement="Of any number of items and any mixture of budgets, the largest error exceeds "
        "κ√(G log(2m/p)/(mL)), with the constant that Hoeffding's inequality gives, with "
        "probability p at most: H(ε) does not matter.",
        source="Xu, Sun and Cheng, Theorem 2, eq. (7), which has κ² and a term with H(ε); "
        "sharper, by theory.tails.largest_error_radius",
        experiment="xu/mixed",
        measure=_beyond_radius,
        tolerance=AtMost(RADIUS_CHANCE),
        why="A theorem, for p = 0.2 in place of 2/(mL²), which no simulation would see. It "
        "happens with 0.03 or less, as Hoeffding's inequality and the union over items have "
        "room; half of the radius would be exceeded more often than promised.",
        conditions=f"θ* evenly spaced, or uniform on (−2, 2); L = 10⁶, m = 10 and 20. {_MIXED}",
        control=NegativeControl("largest errors four times as large", scaled("radius_ratio", 4)),
        simulated=SIXTEENS,
    ),
    Claim(
        id="xu.personal.kendall",
        statement="With mixed budgets the Kendall distance is that of items ordered by Gaussian "
        "scores.",
        source="scores Σ_j z̄_ij of eq. (3), Lemma 2 and the central limit theorem; the paper has "
        "a rate only",
        experiment="xu/mixed",
        measure=_over_prediction,
        tolerance={TOGETHER: Within(1, 0.03)},
        why="The estimator orders items as their scores do. One user's noise is not normal, but "
        "sums over 2(m − 1) "
        "comparisons.",
        conditions=f"θ* evenly spaced, signal from 2 to 16. {_MIXED}",
        control=NegativeControl("predictions 10 % smaller", scaled("kendall_predicted", 0.9)),
        simulated=LOUD,
    ),
)
