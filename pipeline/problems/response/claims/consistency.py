"""Claims of Nguyen and Zhang on consistency in the number of persons, with fixed items."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import exponent, measure
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, Within

from .controls import GUESSED, SPECTRAL

_EXCHANGE = exchanged("estimator", "joint_likelihood", "spectral")


@measure("exponent in n of the mean ‖β̂ − β*‖₂/√m of the spectral estimator, at fixed m")
def _spectral(results: xr.Dataset) -> Estimate:
    data = select(results, "error_l2", at=dict(estimator="spectral"), min_levels=dict(m=1, n=3))
    return exponent(data, "error_l2", ("m",), n=data["n"])


@measure("exponent in n of the mean ‖β̂ − β*‖₂/√m of joint maximum likelihood, at fixed m")
def _joint_likelihood(results: xr.Dataset) -> Estimate:
    data = select(
        results,
        "error_l2",
        at=dict(estimator="joint_likelihood"),
        min_levels=dict(m=1, n=2),
        within=lambda d: d["n"] >= 3000,
    )
    return exponent(data, "error_l2", ("m",), n=data["n"])


CLAIMS = (
    Claim(
        id="nguyen.theorem_1_7",
        statement="With the number of items fixed, the error of the spectral "
        "estimator falls like 1/√n as persons are added.",
        source="Nguyen and Zhang, supplement, Theorem 1.7",
        experiment="nguyen/consistency",
        measure=_spectral,
        tolerance=Within(-0.5, 0.05),
        why="The theorem, on consistency, has this rate in n; joint maximum likelihood has 0.",
        conditions="m = 3, 5, 10; p = 1.",
        control=NegativeControl(
            "joint maximum likelihood in place of the spectral estimator", _EXCHANGE
        ),
        simulated=GUESSED,
    ),
    Claim(
        id="nguyen.joint_likelihood",
        statement="With the number of items fixed, joint maximum likelihood is not consistent.",
        source="Nguyen and Zhang, §3.1 (Andersen, 1973; Ghosh, 1995)",
        experiment="nguyen/consistency",
        measure=_joint_likelihood,
        tolerance=AtLeast(-0.1),
        why="A fifth of the exponent −½ of consistent estimators.",
        conditions="m = 3, 5, 10; p = 1; n ≥ 3,000, where sampling error no longer hides the bias.",
        control=NegativeControl(
            "the spectral estimator in place of joint maximum likelihood", _EXCHANGE
        ),
        simulated=SPECTRAL,
    ),
)
