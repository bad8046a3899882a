"""Claims on the spectral estimate beside likelihood's, and on gaps of order 1/m."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    exponent,
    measure,
    ratio_cells,
)
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtMost, Within

from .controls import FLAT_CHAIN, FOLLOWERS

EXPERIMENT = "nguyen/estimators"
FEW_ITEMS = 20  # gaps of which are above the errors
OTHERS = ("pairwise_likelihood", "joint_likelihood")
_NAMES = dict(pairwise_likelihood="pairwise likelihood", joint_likelihood="joint likelihood")
_AXES = dict(m=2, n=2)
_CONDITIONS = "β* uniform on (−2, 2), K = m/2, m = 10 to 40, n = 500 to 8,000, p = 1, no privacy."


def _cells(results: xr.Dataset, estimator: str, metric: str) -> xr.Dataset:
    return select(results, metric, at=dict(estimator=estimator), min_levels=_AXES)


def _over(results: xr.Dataset, other: str, metric: str, power: int) -> Cells:
    """Mean of a power of a metric of the spectral estimate over that of another."""
    data = _cells(results, "spectral", metric)
    data["spectral"] = data[metric] ** power
    data["other"] = _cells(results, other, metric)[metric] ** power
    return ratio_cells(data, "spectral", "other", 1, error_share=1 / len(OTHERS))


@measure("mean ‖β̂ − β*‖₂²/m of the spectral estimate over that of likelihood, in every cell")
def _accuracy(results: xr.Dataset) -> Mapping[str, Cells]:
    return {_NAMES[other]: _over(results, other, "error_l2", 2) for other in OTHERS}


@measure(
    "share of the top K missed by the spectral estimate over that of likelihood, in every cell"
)
def _found(results: xr.Dataset) -> Mapping[str, Cells]:
    return {_NAMES[other]: _over(results, other, "hamming_top_k", 1) for other in OTHERS}


@measure("exponent in n of the share of the top K that the spectral estimate misses, at fixed m")
def _in_persons(results: xr.Dataset) -> Estimate:
    data = _cells(results, "spectral", "hamming_top_k")
    data = data.sel(m=data["m"] <= FEW_ITEMS)
    return exponent(data, "hamming_top_k", ("m",), n=data["n"])


def _power(results: xr.Dataset) -> xr.DataArray:
    """A factor 1/√n, which is 1 at 500 persons."""
    factor: xr.DataArray = (results["n"] / 500) ** -0.25
    return factor


CLAIMS = (
    Claim(
        id="nguyen.estimators.accuracy",
        statement="The spectral estimate is about as "
        "accurate as likelihood: "
        "it has at most a half more squared error.",
        source="Nguyen and Zhang, §3.1: similar to joint likelihood in accuracy",
        experiment=EXPERIMENT,
        measure=_accuracy,
        tolerance=dict.fromkeys(_NAMES.values(), AtMost(1.5)),
        why="A constant of two would be another "
        "method; the bias of joint "
        "likelihood, β*/(m − 1), makes it "
        "worse where n is large.",
        conditions=_CONDITIONS,
        control=NegativeControl(
            "spectral errors twice as large",
            scaled("error_l2", lambda results: 1 + (results["estimator"] == "spectral")),
        ),
        simulated=FLAT_CHAIN,
    ),
    Claim(
        id="nguyen.estimators.top_k",
        statement="It misses as many of the top K as likelihood does.",
        source="Nguyen and Zhang, §3.2: often better than other estimators at the top K",
        experiment=EXPERIMENT,
        measure=_found,
        tolerance=dict.fromkeys(_NAMES.values(), Within(1, 0.25)),
        why="All order items nearly as the numbers of right answers do.",
        conditions=_CONDITIONS,
        control=NegativeControl(
            "half as many again missed by the spectral estimate",
            scaled("hamming_top_k", lambda results: 1 + 0.5 * (results["estimator"] == "spectral")),
        ),
        simulated=FLAT_CHAIN,
    ),
    Claim(
        id="nguyen.top_k.gaps",
        statement="Where gaps are random and of order 1/m, the "
        "share of the top K that is missed "
        "falls like 1/√n only.",
        source="Nguyen and Zhang, after Theorem 3.4, on Δ_K of order 1/m",
        experiment=EXPERIMENT,
        measure=_in_persons,
        tolerance=Within(-0.5, 0.12),
        why="Gaps near 0 are as likely as others, so some item is always within a standard "
        "error of the threshold. With a "
        "fixed gap the share would fall exponentially.",
        conditions=f"m = 10 and 20. {_CONDITIONS}",
        control=NegativeControl(
            "shares that fall by another n^(−¼)", scaled("hamming_top_k", _power)
        ),
        simulated=FOLLOWERS,
    ),
)
