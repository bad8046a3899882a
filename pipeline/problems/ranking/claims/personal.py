"""Claims on mixed budgets: which mean of them determines the error of which estimator.

Theorem 2 of Xu, Sun and Cheng bounds the plain estimator by G(ε), the mean
of coth²(ε_l/2); Theorem 3 bounds all estimators by Σ_l tanh²(ε_l/2). With
one budget for all these are one number; with mixed budgets they differ.
"""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    measure,
    measure_every_cell,
    ratio_cells,
)
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.selection import Condition, NotTested, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from .common import VERY_LARGE, over_common
from .controls import ALIKE, PAIRS

INFORMATION = 10_000  # m Σ tanh² from which the next order in the Cramér–Rao bound is small
_WEIGHTED = "weighted estimator, in every cell (simultaneous intervals)"
_PLAIN = "plain estimator, in the cell where it is largest"


def _very_large(data: xr.Dataset) -> xr.DataArray:
    return data["m"] * data["L"] / data["mean_gain"] >= VERY_LARGE


def _is_mixture(data: xr.Dataset) -> xr.DataArray:
    """Whether budgets differ: with one for all both estimators are the same."""
    return _very_large(data) & (data["profile"] != "1:1")


def _much_information(data: xr.Dataset) -> xr.DataArray:
    return data["m"] * data["L"] * data["information_share"] >= INFORMATION


def _cells(
    results: xr.Dataset,
    estimator: str,
    matched: str,
    *variables: str,
    within: Condition = _very_large,
) -> xr.Dataset:
    """Cells of one estimator in xu/personalised where the released sample is large."""
    return select(
        results,
        "error_l2",
        *variables,
        at=dict(estimator=estimator, matched=matched),
        min_levels=dict(profile=3, L=1, m=1),
        within=within,
    )


def _square_over_common(results: xr.Dataset, estimator: str, matched: str) -> Cells:
    data = _cells(results, estimator, matched)
    data["square"] = data["error_l2"] ** 2
    cells = summarise(data[["square", "status"]])
    return over_common(
        cells["square"], cells["square_mcse"], cells["square_n"], confidence_for(data)
    )


def _over_bound_over_common(results: xr.Dataset, estimator: str) -> Cells:
    """Mean error over Theorem 3's bound with mixed budgets, over the same with one budget."""
    data = _cells(results, estimator, "information", "minimax_bound")
    cells = risk_ratio(data, "error_l2", "minimax_bound", 1)
    return over_common(
        cells["ratio"], cells["mcse"], cells["pairs"], confidence_for(data, error_share=0.5)
    )


def _only(cells: Cells, label: str | None) -> Cells:
    """One of the cells; raises `NotTested` if there is none."""
    if label is None:
        raise NotTested("no cell meets the conditions")
    return {label: cells[label]}


def _largest(cells: Cells) -> Cells:
    return _only(cells, max(cells, key=lambda label: cells[label].value, default=None))


def _smallest(cells: Cells) -> Cells:
    return _only(cells, min(cells, key=lambda label: cells[label].value, default=None))


def _mixed_over_common(estimator: str, matched: str, shared: str) -> Measure:
    @measure_every_cell(
        f"mean squared error with mixed budgets over that with one budget of the same {shared}"
    )
    def ratios(results: xr.Dataset) -> Cells:
        return _square_over_common(results, estimator, matched)

    return ratios


@measure(
    "mean squared error of the weighted estimator over that of the plain one on the same release, "
    "in the mixture "
    "that gains most"
)
def _best_mixture(results: xr.Dataset) -> Cells:
    data = _cells(results, "debiased", "G", within=_is_mixture)
    data["square"] = data["error_l2"] ** 2
    data["weighted"] = _cells(results, "weighted", "G", within=_is_mixture)["error_l2"] ** 2
    return _smallest(ratio_cells(data, "weighted", "square", power=1))


def _over_cramer_rao(estimator: str) -> Measure:
    @measure_every_cell("mean squared error over the mean Cramér–Rao bound")
    def over_bound(results: xr.Dataset) -> Cells:
        cells: dict[str, Estimate] = {}
        for matched in ("G", "information"):
            data = _cells(results, estimator, matched, "cramer_rao_risk", within=_much_information)
            ratios = ratio_cells(data, "error_l2", "cramer_rao_risk", error_share=0.5)
            cells |= {f"matched={matched}, {label}": ratio for label, ratio in ratios.items()}
        return cells

    return over_bound


@measure(
    "mean error over the mean minimax bound with mixed budgets, over that with one budget of "
    "equal Σ tanh²"
)
def _over_theorem_3(results: xr.Dataset) -> Mapping[str, Cells]:
    return {
        _WEIGHTED: _over_bound_over_common(results, "weighted"),
        _PLAIN: _largest(_over_bound_over_common(results, "debiased")),
    }


@measure(
    "plain estimator: mean squared error over the Cramér–Rao bound, in the cell where it is largest"
)
def _worst_over_cramer_rao(results: xr.Dataset) -> Cells:
    data = _cells(results, "debiased", "information", "cramer_rao_risk")
    return _largest(ratio_cells(data, "error_l2", "cramer_rao_risk"))


_OTHER_MATCH = NegativeControl(
    "mixtures of equal G and of equal information under each other's name",
    exchanged("matched", "G", "information"),
)
_EXCHANGED = NegativeControl(
    "the plain and the weighted estimator under each other's name",
    exchanged("estimator", "debiased", "weighted"),
)
_PLAIN_FOR_WEIGHTED = NegativeControl(
    "the plain estimator in place of the weighted", exchanged("estimator", "debiased", "weighted")
)
_PROFILES = (
    " Shares and multiples of the budgets are in the axis profile; the axis matched names what "
    "they have in "
    "common with one budget ε = 1 for all."
)
_LARGE_SAMPLE = f"Cells with mL/G(ε) ≥ {VERY_LARGE}, where the ridge changes little." + _PROFILES
_FIRST_ORDER = (
    f"Cells with m Σ tanh²(ε_l/2) ≥ {INFORMATION:,}, where the bound, which is of first order, "
    "applies." + _PROFILES
)


CLAIMS = (
    Claim(
        id="xu.personal.plain",
        statement="The plain estimator's mean squared error depends on mixed budgets through G(ε) "
        "alone.",
        source="Xu, Sun and Cheng, Theorem 2 (the constant by eq. (3) and Lemma 2)",
        experiment="xu/personalised",
        measure=_mixed_over_common("debiased", "G", "G(ε)"),
        tolerance=Within(1, 0.15),
        why="By the sandwich formula the ratio is exactly 1 where the ridge changes nothing; Σ "
        "tanh² differs threefold "
        "between these mixtures. A ratio of two means over 4,000 replications is known to ±0.06.",
        conditions=_LARGE_SAMPLE,
        control=_OTHER_MATCH,
        simulated=ALIKE,
    ),
    Claim(
        id="xu.personal.weighted",
        statement="With users weighted by tanh²(ε_l/2) the error depends on mixed budgets through "
        "Σ tanh² up to a "
        "quarter.",
        source="Xu, Sun and Cheng, Theorem 3's Σ_l t(ε_l)²; the weighted estimator is not in the "
        "paper",
        experiment="xu/personalised",
        measure=_mixed_over_common("weighted", "information", "Σ tanh²"),
        tolerance=Within(1, 0.25),
        why="Exact for items that are equal; for others a comparison's own variance counts for "
        "less where budgets are "
        "large, which changes the ratio by up to 16 %. G differs up to sixfold between these "
        "mixtures.",
        conditions=_LARGE_SAMPLE,
        control=_OTHER_MATCH,
        simulated=ALIKE,
    ),
    Claim(
        id="xu.theorem_3.personal",
        statement="With mixed budgets the weighted estimator stays as far from Theorem 3's bound "
        "as with one budget; "
        "the plain estimator does not.",
        source="Xu, Sun and Cheng, Theorem 3; the weighted estimator is not in the paper",
        experiment="xu/personalised",
        measure=_over_theorem_3,
        tolerance={_WEIGHTED: Within(1, 0.15), _PLAIN: AtLeast(1.5)},
        why="With equal Σ tanh² the bound is the same. The sandwich formula has 0.92 to 0.99 and "
        "2.5.",
        conditions=_LARGE_SAMPLE,
        control=_EXCHANGED,
        simulated=ALIKE,
    ),
    Claim(
        id="xu.personal.gap",
        headline=True,
        statement="With mixed budgets the plain estimator is far from the best: weighting users "
        "by tanh²(ε_l/2) more "
        "than halves its squared error in one of the mixtures.",
        source="Xu, Sun and Cheng, between Theorems 2 and 3: mean coth² against mean tanh²; not "
        "in the paper",
        experiment="xu/personalised",
        measure=_best_mixture,
        tolerance=AtMost(0.5),
        why="As budgets move apart the ratio has no lower bound: the smallest budget determines "
        "G, the largest Σ "
        "tanh².",
        conditions=_LARGE_SAMPLE,
        control=_EXCHANGED,
        simulated=ALIKE,
    ),
    Claim(
        id="xu.personal.weighted_bound",
        statement="Weighted by tanh², the squared error is at most 40 % above the Cramér–Rao "
        "bound in all mixtures "
        "tried.",
        source="Fisher information of Lemma 1 of Xu, Sun and Cheng; not in the paper",
        experiment="xu/personalised",
        measure=_over_cramer_rao("weighted"),
        tolerance=AtMost(1.4),
        why="The sandwich formula has 1.04 to 1.18 for θ* uniform on (−2, 2).",
        conditions=_FIRST_ORDER,
        control=_PLAIN_FOR_WEIGHTED,
        simulated=PAIRS,
    ),
    Claim(
        id="xu.personal.likelihood_bound",
        statement="The maximum-likelihood estimator's squared error is at most 10 % above the "
        "Cramér–Rao bound in all "
        "mixtures tried.",
        source="Fisher information of Lemma 1 of Xu, Sun and Cheng; not in the paper",
        experiment="xu/personalised",
        measure=_over_cramer_rao("likelihood"),
        tolerance=AtMost(1.1),
        why="The bound is of first order; at m Σ tanh² = 10,000 the next order adds a few per "
        "cent.",
        conditions=_FIRST_ORDER,
        control=NegativeControl(
            "the plain estimator in place of maximum likelihood",
            exchanged("estimator", "debiased", "likelihood"),
        ),
        simulated=PAIRS,
    ),
    Claim(
        id="xu.personal.plain_far",
        statement="With mixed budgets the plain estimator can lose more than two thirds of the "
        "information.",
        source="Xu, Sun and Cheng, between Theorems 2 and 3; not in the paper",
        experiment="xu/personalised",
        measure=_worst_over_cramer_rao,
        tolerance=AtLeast(3),
        why="The sandwich formula has 7.3 where a tenth of the users has an eighth of the others' "
        "budget.",
        conditions=_LARGE_SAMPLE,
        control=NegativeControl(
            "the weighted estimator in place of the plain",
            exchanged("estimator", "debiased", "weighted"),
        ),
        simulated=ALIKE,
    ),
)
