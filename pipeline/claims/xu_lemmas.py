"""Claims on randomized response itself, Lemmas 1 to 3 of Xu, Sun and Cheng: exact laws, tested as exact.

Lemmas 1 and 2 say that a measured mean equals a predicted one. Their check contradicts when the interval of
any cell (simultaneous over cells, at 1e-6: a law that is true shall not be denied once in a hundred seeds)
leaves the prediction out, and supports only when, besides, the cells of every ε together fix
measured/predicted to 1 within a tolerance: a few replications agree with anything.
"""

import math
from statistics import NormalDist

import numpy as np
import xarray as xr

from pipeline.claims.claim import CONFIDENCE, CONTRADICTED, Check, Claim, at_most, equivalence, throughout
from pipeline.claims.evidence import enough, named, share
from pipeline.reduce.estimate import Estimate
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import REPLICATION
from pipeline.theory.btl import amplification, attenuation

TOLERANCE = 0.01
FALSE_ALARM = 1e-6  # of a check of exactness, over all its cells
ROUNDING = 1e-9  # logits
EXCEPTIONS = 1e-3
_COLUMNS = ("ratio", "low", "high", "mcse")
_AXES = dict(m=1, L=1, epsilon=3)  # fewer levels cannot show a law in ε


def _law(measured, predict, *inputs):
    """Check that the mean of `measured` is that of predict(dataset), paired in every replication."""

    def check(results):
        data = enough(results, measured, *inputs, **_AXES)
        data["predicted"] = predict(data).transpose(*data[measured].dims)
        used = int((data["status"] > 0).any(REPLICATION).sum())
        cells = risk_ratio(data, measured, "predicted", 1, 1 - FALSE_ALARM / used)
        exact = throughout(named(cells, *_COLUMNS), lambda ratio, cell: equivalence(
            ratio, 1, 0, f"measured/predicted at {cell}:"), 1)
        return exact if exact.verdict == CONTRADICTED else throughout(
            named(_pooled(cells), *_COLUMNS), lambda ratio, cell: equivalence(
                ratio, 1, TOLERANCE, f"measured/predicted, all m and L at {cell}:"), 1)

    return check


def _pooled(cells):
    """Ratio at each ε over all m and L, with weights 1/mcse²."""
    total = (1 / cells["mcse"] ** 2).sum(("m", "L"))
    ratio, error = (cells["ratio"] / cells["mcse"] ** 2).sum(("m", "L")) / total, total**-0.5
    half = NormalDist().inv_cdf(1 - (1 - share(1)) / total.size / 2) * error
    return xr.Dataset(dict(ratio=ratio, low=ratio - half, high=ratio + half, mcse=error))


def _share_limits(count, n):
    """Interval of a share: exact for none, else Wilson's (JASA 22 (1927) 209)."""
    if not count:
        return 0.0, 1 - (1 - CONFIDENCE) ** (1 / n)
    z2 = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) ** 2
    middle, half = count + z2 / 2, math.sqrt(z2 * (count * (n - count) / n + z2 / 4))
    return (middle - half) / (n + z2), min((middle + half) / (n + z2), 1.0)


def _sums_to_zero(results):
    """Check that no replication breaks Lemma 3, and that there are enough to exclude a share of EXCEPTIONS."""
    sums = enough(results, "estimate_sum", **_AXES)["estimate_sum"].values
    sums = sums[np.isfinite(sums)]
    broken, n = int((sums > ROUNDING).sum()), sums.size
    estimate = Estimate(broken / n, *_share_limits(broken, n), math.sqrt(broken * (n - broken) / n**3))
    text = f"largest |Σθ̂| {sums.max():.2g} logits in {n:,} replications; share above {ROUNDING:g} logits:"
    if broken:  # the lemma speaks of every replication
        return Check(CONTRADICTED, estimate, f"{text} {estimate}, claimed none")
    return at_most(estimate, EXCEPTIONS, text)


_LAW = dict(
    experiment="xu/lemmas",
    tolerance="measured/predicted = 1: no cell may exclude it (false alarm 1e-6 over all), and 1 ± 0.01 at "
              "every ε over all m and L",
    why="The laws are exact, so any clear difference contradicts. One per cent is a tenth of the least that "
        "a wrong formula shifts: t for t² moves ε = 3 by 10 %, and smaller ε by more.",
)
_CELLS = ("Any m, L and ε > 0: all cells. θ* is redrawn, so every replication is compared with its own "
          "prediction. Pairs are signed so that the truly better item comes first.")


CLAIMS = (
    Claim(
        **_LAW,
        id="xu.lemma_1",
        statement="A released comparison leans towards the better item by tanh(ε/2) times its true lean.",
        source="Xu, Sun and Cheng, Lemma 1",
        estimand="mean released lean over mean t(ε)·(true lean), t(ε) = tanh(ε/2)",
        conditions=_CELLS,
        check=_law(
            "lean_released",
            lambda d: xr.apply_ufunc(attenuation, d["epsilon"]) * d["lean_true"],
            "lean_true",
        ),
        twin="budgets read as twice what they are",
        twin_data=lambda r: r.assign_coords(epsilon=2 * r["epsilon"]),
    ),
    Claim(
        **_LAW,
        id="xu.lemma_2.mean",
        statement="A debiased comparison is unbiased: on average it leans exactly as the raw one does.",
        source="Xu, Sun and Cheng, Lemma 2 (mean)",
        estimand="mean debiased lean over mean true lean",
        conditions=_CELLS + " With one ε for all, debiasing is linear: this and Lemma 1 stand or fall "
                   "together.",
        check=_law("lean_debiased", lambda d: d["lean_true"], "lean_true"),
        twin="released comparisons in place of the debiased",
        twin_data=lambda r: r.assign(lean_debiased=enough(r, "lean_released", **_AXES)["lean_released"]),
    ),
    Claim(
        **_LAW,
        id="xu.lemma_2.variance",
        statement="A debiased comparison has the variance a(ε)²·(¼ − t(ε)²·(true lean)²), where a = 1/t.",
        source="Xu, Sun and Cheng, Lemma 2 (variance)",
        estimand="mean L·(z̄ − σ)² over mean predicted variance",
        conditions=_CELLS + " Users are independent, so the mean of L·(z̄ − σ)² is that of one.",
        check=_law(
            "error_debiased_squared",
            lambda d: 0.25 * xr.apply_ufunc(amplification, d["epsilon"]) ** 2 - d["lean_true_squared"],
            "lean_true_squared",
        ),
        twin="a variance that grows by a(ε) instead of a(ε)²",
        twin_data=lambda r: r.assign(
            error_debiased_squared=r["error_debiased_squared"] * xr.apply_ufunc(attenuation, r["epsilon"])
        ),
    ),
    Claim(
        id="xu.lemma_3",
        statement="The estimated preferences sum to zero.",
        source="Xu, Sun and Cheng, Lemma 3",
        experiment="xu/lemmas",
        estimand="share of replications with |Σθ̂| above 1e-9 logits",
        tolerance="no exception, in enough replications to exclude a share of 1 in 1000",
        why="40 numbers of size 4 sum up with a rounding error of about 1e-13. 1e-9 is far above that and "
            "far below any error that matters.",
        conditions="λ > 0: all cells. The solver works in the subspace of sum zero, as the lemma allows, so "
                   "this shows that it keeps to it. That the free minimum lies there too is a unit test.",
        check=_sums_to_zero,
        twin="one estimate of every replication shifted by 1e-8 logits",
        twin_data=lambda r: r.assign(estimate_sum=r["estimate_sum"] + 1e-8),
    ),
)
