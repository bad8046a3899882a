"""Claims of Nguyen and Zhang, Theorems 3.1 and 3.3: spectral errors without privacy."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy import integrate
from scipy.special import erf

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, exponent, measure, measure_every_cell, ratio_cells
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtMost, Within

from .controls import FOLLOWERS, ONE_GUESSED, TWINS

DENSE = 15  # np²/log m from which the theorem's condition np² ≳ log m is met with room
_GRID = dict(m=2, n=3, p=1)
_IN_RESPONSES = "in np at fixed m"
_IN_ITEMS = "in m at fixed n and p"


def _dense(data: xr.Dataset) -> xr.DataArray:
    dense: xr.DataArray = data["n"] * data["p"] ** 2 >= DENSE * xr.ufuncs.log(data["m"])
    return dense


@measure("exponent of the mean ‖β̂ − β*‖∞ in np, and exponent in m of this mean over √(log m/(np))")
def _largest_error(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(results, "error_inf", min_levels=_GRID, within=_dense)
    in_responses = exponent(data, "error_inf", ("m",), error_share=0.5, np=data["n"] * data["p"])
    data["error_inf"] = data["error_inf"] * xr.ufuncs.sqrt(
        data["n"] * data["p"] / xr.ufuncs.log(data["m"])
    )
    in_items = exponent(data, "error_inf", ("n", "p"), error_share=0.5, m=data["m"])
    return {_IN_RESPONSES: in_responses, _IN_ITEMS: in_items}


def largest_gaussian(m: int) -> float:
    """E max |Z| of m independent standard normal variables Z, by quadrature."""
    return float(integrate.quad(lambda z: 1 - erf(z / np.sqrt(2)) ** m, 0, 40)[0])


@measure_every_cell(
    "mean ‖β̂ − β*‖∞ over mean ‖β̂ − β*‖₂/√m times E max |Z| of m standard normal variables"
)
def _largest_over_gaussian(results: xr.Dataset) -> Cells:
    data = select(results, "error_inf", "error_l2", min_levels=dict(m=2, n=1, p=1), within=_dense)
    expected = xr.DataArray(
        [largest_gaussian(m) for m in data["m"].values], dims="m", coords={"m": data["m"]}
    )
    data["gaussian"] = data["error_l2"] * expected
    return ratio_cells(data, "error_inf", "gaussian", power=1)


@measure("exponents of the mean ‖β̂ − β*‖₂²")
def _squared_error(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(results, "error_l2", min_levels=_GRID, within=_dense)
    data["square"] = data["m"] * data["error_l2"] ** 2
    return {
        _IN_RESPONSES: exponent(data, "square", ("m",), error_share=0.5, np=data["n"] * data["p"]),
        _IN_ITEMS: exponent(data, "square", ("n", "p"), error_share=0.5, m=data["m"]),
    }


@measure_every_cell("mean ‖β̂ − β*‖₂²/m over the mean Cramér–Rao bound")
def _over_cramer_rao(results: xr.Dataset) -> Cells:
    data = select(results, "error_l2", "item_bound", min_levels=_GRID, within=_dense)
    return ratio_cells(data, "error_l2", "item_bound", power=2)


def _slower(results: xr.Dataset) -> xr.DataArray:
    """Factor that takes 1/6 from the exponent of an error in np."""
    return (results["n"] * results["p"] / 1000) ** (1 / 6)


_CONDITIONS = f"Cells with np² ≥ {DENSE} log m; β* uniform on (−2, 2)"

CLAIMS = (
    Claim(
        id="nguyen.theorem_3_1.rate",
        statement="The largest error of an item falls like √(log m/(np)).",
        source="Nguyen and Zhang, Theorem 3.1",
        experiment="nguyen/entrywise",
        measure=_largest_error,
        tolerance={_IN_RESPONSES: AtMost(-0.45), _IN_ITEMS: AtMost(0.06)},
        why="An upper rate. −0.45 distinguishes −½ from −1/3; a factor m^0.06 is "
        "13 % over the grid's eightfold m.",
        conditions=f"{_CONDITIONS}, so that κ is bounded.",
        control=NegativeControl("errors multiplied by (np)^(1/6)", scaled("error_inf", _slower)),
        simulated=FOLLOWERS,
    ),
    Claim(
        id="nguyen.theorem_3_1.spread",
        statement="The error is spread over the items: the largest error is to "
        "the root mean square error as in independent Gaussian errors.",
        source="Nguyen and Zhang, after Theorem 3.1: ‖·‖∞ is at most √(log "
        "m/m)·‖·‖₂ up to a constant",
        experiment="nguyen/entrywise",
        measure=_largest_over_gaussian,
        tolerance=Within(1, 0.15),
        why="E max |Z| grows like √(2 log m). Items at the ends have errors up "
        "to a fifth larger than the others.",
        conditions=f"{_CONDITIONS}.",
        control=NegativeControl(
            "largest errors multiplied by (m/25)^(1/3)",
            scaled("error_inf", lambda r: (r["m"] / 25) ** (1 / 3)),
        ),
        simulated=ONE_GUESSED,
    ),
    Claim(
        id="nguyen.theorem_3_3.rate",
        statement="The squared error ‖β̂ − β*‖₂² of the spectral estimator is of order m/(np).",
        source="Nguyen and Zhang, after Theorem 3.1; the least possible order by their Theorem 3.3",
        experiment="nguyen/entrywise",
        measure=_squared_error,
        tolerance={_IN_RESPONSES: Within(-1, 0.15), _IN_ITEMS: Within(1, 0.15)},
        why="Distinguishes 1 from ⅔ and 4/3; with few responses the error falls "
        "a little faster than in the limit.",
        conditions=f"{_CONDITIONS}.",
        control=NegativeControl("errors multiplied by (np)^(1/6)", scaled("error_l2", _slower)),
        simulated=FOLLOWERS,
    ),
    Claim(
        id="nguyen.theorem_3_3.bound",
        statement="The squared error of the spectral estimator is at most 1.7 "
        "times the least of unbiased estimators.",
        source="Nguyen and Zhang, Theorem 3.3; constants by the Cramér–Rao bound "
        "with unknown abilities, their §3.3",
        experiment="nguyen/entrywise",
        measure=_over_cramer_rao,
        tolerance=Within(1.3, 0.4),
        why="Only bias can bring it below 1; 0.9 leaves room for that. The paper "
        "gives no constant. To first order it is 1.05 to 1.2 here; 1.7 leaves "
        "room for few responses.",
        conditions=f"{_CONDITIONS}. The bound is m/(np) times 5.8 or so.",
        control=NegativeControl(
            "errors as if np² responses counted, in place of np",
            scaled("error_l2", lambda r: 1 / r["p"] ** 0.5),
        ),
        simulated=TWINS,
    ),
)
