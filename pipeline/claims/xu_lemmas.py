"""Claims on randomized response itself, Lemmas 1 to 3 of Xu, Sun and Cheng: exact laws, tested as exact."""


import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim
from pipeline.claims.evidence import enough, no_exception
from pipeline.claims.exact import exactly
from pipeline.theory.btl import amplification, attenuation

TOLERANCE = 0.01
ROUNDING = 1e-9  # logits
EXCEPTIONS = 1e-3
_AXES = dict(m=1, L=1, epsilon=3)  # fewer levels cannot show a law in ε


def _law(measured, predict, *inputs):
    """Check that the mean of `measured` is that of predict(dataset), paired in every replication."""

    def check(results):
        data = enough(results, measured, *inputs, **_AXES)
        data["predicted"] = predict(data).transpose(*data[measured].dims)
        return exactly(data, measured, "predicted", 1, TOLERANCE, "epsilon")

    return check


def _sums_to_zero(results):
    """Check that no replication breaks Lemma 3, and that there are enough to exclude a share of EXCEPTIONS."""
    sums = enough(results, "estimate_sum", **_AXES)["estimate_sum"].values
    sums = sums[np.isfinite(sums)]
    broken, n = int((sums > ROUNDING).sum()), sums.size
    return no_exception(broken, n, EXCEPTIONS, f"largest |Σθ̂| {sums.max():.2g} logits in {n:,} replications; "
                        f"share above {ROUNDING:g} logits:")


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
