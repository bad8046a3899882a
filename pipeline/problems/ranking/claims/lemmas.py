"""Claims on Lemmas 1 to 3 of Xu, Sun and Cheng: exact laws, tested as exact."""

from collections.abc import Callable, Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import replaced, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import Cells, Measure, measure, share_of_exceptions
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import NoException
from pipeline.privacy.randomized_response_laws import attenuation

from .common import DOUBLED_BUDGETS, gain, one_budget
from .controls import NO_FLIPS, NOT_CENTRED, PAIRS

MARGIN = 0.01
ROUNDING = 1e-9  # logits
_LEVELS = dict(m=1, L=1, epsilon=3)  # fewer levels cannot show a law in ε


def _t(data: xr.Dataset) -> xr.DataArray:
    """t(ε) = tanh(ε/2), by which a release multiplies a lean."""
    factor: xr.DataArray = xr.apply_ufunc(attenuation, data["epsilon"])
    return factor


def _law(
    estimand: str, measured: str, predict: Callable[[xr.Dataset], xr.DataArray], *inputs: str
) -> Measure:
    """Mean of a metric over the mean of predict(dataset), paired in every replication.

    `inputs`: what it reads.
    """

    @measure(estimand)
    def over_prediction(results: xr.Dataset) -> Mapping[str, Cells]:
        data = select(one_budget(results), measured, *inputs, min_levels=_LEVELS)
        data["predicted"] = predict(data).transpose(*data[measured].dims)
        return law_ratios(data, measured, "predicted", 1, "epsilon")

    return over_prediction


@measure(f"share of replications with |Σθ̂| above {ROUNDING:g} logits")
def _sum_not_zero(results: xr.Dataset) -> Estimate:
    data = select(one_budget(results), "estimate_sum", min_levels=_LEVELS)
    return share_of_exceptions(data["estimate_sum"] > ROUNDING, data["status"] > 0)


_WHY = (
    "The laws are exact, so any clear difference contradicts. One per cent is a tenth of the "
    "least change that a "
    "wrong formula makes: t in place of t² changes ε = 3 by 10 %, and smaller ε by more."
)
_CELLS = (
    "Any m, L and ε > 0: all cells. θ* is redrawn, so every replication is compared with its own "
    "prediction. "
    "Pairs are signed so that the truly better item comes first."
)


CLAIMS = (
    Claim(
        id="xu.lemma_1",
        statement="Released comparisons lean towards the better item by tanh(ε/2) times their "
        "true lean, on average "
        "over pairs.",
        source="Xu, Sun and Cheng, Lemma 1",
        experiment="xu/lemmas",
        measure=_law(
            "mean released lean over mean t(ε)·(true lean), t(ε) = tanh(ε/2)",
            "lean_released",
            lambda d: _t(d) * d["lean_true"],
            "lean_true",
        ),
        tolerance=exact_law(MARGIN),
        why=_WHY,
        conditions=_CELLS,
        control=DOUBLED_BUDGETS,
        simulated=NO_FLIPS,
    ),
    Claim(
        id="xu.lemma_2.mean",
        statement="Debiased comparisons lean exactly as raw ones do, on average over pairs.",
        source="Xu, Sun and Cheng, Lemma 2 (mean)",
        experiment="xu/lemmas",
        measure=_law(
            "mean debiased lean over mean true lean",
            "lean_debiased",
            lambda d: d["lean_true"],
            "lean_true",
            "lean_released",
        ),
        tolerance=exact_law(MARGIN),
        why=_WHY,
        conditions=_CELLS
        + " With one ε for all, debiasing is linear: this claim and Lemma 1 are true or false "
        "together.",
        control=NegativeControl(
            "released comparisons in place of the debiased",
            replaced("lean_debiased", "lean_released"),
        ),
        simulated=NO_FLIPS,
    ),
    Claim(
        id="xu.lemma_2.variance",
        statement="Debiased comparisons have the variance a(ε)²·(¼ − t(ε)²·(true lean)²), a = "
        "1/t, on average over "
        "pairs.",
        source="Xu, Sun and Cheng, Lemma 2 (variance)",
        experiment="xu/lemmas",
        measure=_law(
            "mean L·(z̄ − σ)² over mean predicted variance",
            "error_debiased_squared",
            lambda d: 0.25 * gain(d) - d["lean_true_squared"],
            "lean_true_squared",
        ),
        tolerance=exact_law(MARGIN),
        why=_WHY,
        conditions=_CELLS + " Users are independent, so the mean of L·(z̄ − σ)² is that of one.",
        control=NegativeControl(
            "a variance that grows by a(ε) instead of a(ε)²", scaled("error_debiased_squared", _t)
        ),
        simulated=PAIRS,
    ),
    Claim(
        id="xu.lemma_3",
        statement="The estimated preferences sum to zero.",
        source="Xu, Sun and Cheng, Lemma 3",
        by_construction=True,
        experiment="xu/lemmas",
        measure=_sum_not_zero,
        tolerance=NoException(1e-3),
        why="40 numbers of size 4 sum up with a rounding error of about 1e-13. 1e-9 is far above "
        "that, and far below "
        "any error that matters.",
        conditions="λ > 0: all cells. The solver works in the subspace of sum zero, as the lemma "
        "allows, so that this "
        "holds for any release, and shows that it stays there. That the free minimum lies there "
        "is a test.",
        control=NegativeControl(
            "one estimate of every replication shifted by 1e-8 logits",
            lambda r: r.assign(estimate_sum=r["estimate_sum"] + 1e-8),
        ),
        simulated=NOT_CENTRED,
    ),
)
