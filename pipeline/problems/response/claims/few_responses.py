"""Claims of Nguyen and Zhang, Theorem 3.1, where persons answer few items.

Its conditions, and its probability.
"""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    confidence_for,
    labelled,
    measure,
    measure_every_cell,
    share_above,
)
from pipeline.analysis.selection import at_levels, select
from pipeline.analysis.summary import summarise, t_interval
from pipeline.analysis.tolerances import AtMost, NoException

from .controls import GUESSED, RING

DENSITY = 20  # np²/log m that the supplement's Lemma 1.1 calls sufficiently large
CONSTANT = 15  # C of the theorem; the mean error is at 4
_CONDITIONS = (
    "Cells with np² ≥ 20 log m, as the supplement's Lemma 1.1 asks, and p from "
    "0.1, where mp = 5 or 10 is no more than log n, to 1; β* uniform on (−2, 2). "
    "At np² = log m the chain is often not connected."
)


def _over_rate(results: xr.Dataset) -> xr.Dataset:
    """‖β̂ − β*‖∞ over √(log m/(np)) in the cells that are used."""
    data = select(
        results,
        "error_inf",
        min_levels=dict(m=1, p=2, density=2),
        within=lambda d: d["density"] >= DENSITY,
    )
    data["over_rate"] = data["error_inf"] * xr.ufuncs.sqrt(
        data["n"] * data["p"] / xr.ufuncs.log(data["m"])
    )
    return data


@measure_every_cell("mean ‖β̂ − β*‖∞ over √(log m/(np)), over the same with all responses observed")
def _over_complete(results: xr.Dataset) -> Cells:
    data = _over_rate(results)
    cells = summarise(data[["over_rate", "status"]])
    pair = xr.Dataset(
        dict(mean=cells["over_rate"], relative=cells["over_rate_mcse"] / cells["over_rate"])
    )
    complete = at_levels(pair, dict(p=1))
    ratio = pair["mean"] / complete["mean"]
    error = ratio * xr.ufuncs.hypot(pair["relative"], complete["relative"])
    low, high = t_interval(ratio, error, cells["over_rate_n"], confidence_for(data))
    ratios = xr.Dataset(dict(value=ratio, low=low, high=high, error=error))
    return labelled(ratios.sel(p=ratio["p"] < 1).reset_coords(drop=True))


@measure(f"share of replications with ‖β̂ − β*‖∞ above {CONSTANT} √(log m/(np))")
def _beyond(results: xr.Dataset) -> Estimate:
    return share_above(_over_rate(results), "over_rate", xr.DataArray(float(CONSTANT)))


CLAIMS = (
    Claim(
        id="nguyen.theorem_3_1.few",
        statement="With few responses of a person the largest error has the same "
        "constant over √(log m/(np)) as with all, up to a half.",
        source="Nguyen and Zhang, Theorem 3.1, where np² ≳ log m and mp ≳ log n bind",
        experiment="nguyen/few_responses",
        measure=_over_complete,
        tolerance=AtMost(1.5),
        why="If pairs of responses, np², counted in place of np, the ratio would "
        "be 1/√p, 3.2 at p = 0.1.",
        conditions=_CONDITIONS,
        control=NegativeControl(
            "errors as if np² responses counted, in place of np",
            scaled("error_inf", lambda r: 1 / r["p"] ** 0.5),
        ),
        simulated=RING,
    ),
    Claim(
        id="nguyen.theorem_3_1.probability",
        statement=f"The largest error exceeds {CONSTANT} √(log m/(np)) in no replication.",
        source="Nguyen and Zhang, Theorem 3.1: probability 1 − O(m⁻¹⁰) − "
        "O(n⁻¹⁰), with 15 for its constant",
        experiment="nguyen/few_responses",
        measure=_beyond,
        tolerance=NoException(0.01),
        why="The paper's constant is open; 15 was set on other seeds. m⁻¹⁰ is 10⁻¹⁷ or less.",
        conditions=_CONDITIONS,
        control=NegativeControl("errors five times as large", scaled("error_inf", 5)),
        simulated=GUESSED,
    ),
)
