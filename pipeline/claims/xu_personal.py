"""Claims on users with budgets of their own: what of the budgets governs the error, and of which estimator.

Theorem 2 of Xu, Sun and Cheng bounds the plain estimator by G(ε), the mean of coth²(ε_l/2); Theorem 3 bounds all
estimators by Σ_l tanh²(ε_l/2). With one budget for all these are one number; mixtures tell them apart.
"""

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, TooLittle, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import COMMON, HIGH, enough, ratios, renamed, share
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import summarise, t_interval

LARGE = 800  # mL/G(ε) from which the ridge takes little
LARGER = 10_000  # m Σ tanh² from which the next order in the Cramér–Rao bound takes little


def _large(data):
    return data["m"] * data["L"] / data["mean_gain"] >= LARGE


def _larger(data):
    return data["m"] * data["L"] * data["information_share"] >= LARGER


def _cells(results, estimator, matched, *more, within=_large):
    """One estimator's cells of xu/personalised where the released sample is large."""
    return enough(results, "error_l2", *more, estimator=estimator, matched=matched, profile=3, L=1, m=1, personal=True,
                  within=within)


def _against_common(results, estimator, matched):
    """Mean squared error of every mixture over that of the one budget with which it shares `matched`."""
    data = _cells(results, estimator, matched)
    data["square"] = data["error_l2"] ** 2
    cells = summarise(data[["square", "status"]])
    return _over_common(cells["square"], cells["square_mcse"], cells["square_n"], share(1, data))


def _over_common(mean, mcse, n, confidence):
    """Mean with mixed budgets over that with the common one, which is another cell with data of its own."""
    relative = mcse / mean
    ratio = mean / mean.sel(profile=COMMON, drop=True)
    error = ratio * np.hypot(relative, relative.sel(profile=COMMON, drop=True))
    low, high = t_interval(ratio, error, n, confidence)
    columns = xr.Dataset(dict(ratio=ratio, low=low, high=high, mcse=error))
    return ratios(columns.sel(profile=ratio["profile"] != COMMON).reset_coords(drop=True))


def _governed(estimator, matched, tolerance):
    def check(results):
        return throughout(_against_common(results, estimator, matched), lambda ratio, cell: equivalence(
            ratio, 1, tolerance, f"mixed/common at {cell}:"), 1)

    return check


def _gap(results):
    """Check of the mixture that gains most, so the best and not the worst cell decides."""
    cells = _against_common(results, "weighted", "G")
    best = min(cells, key=lambda cell: cells[cell].value)
    return at_most(cells[best], 0.5, f"mixed/common at {best}:")


def _near_bound(estimator, limit):
    def check(results):
        found = {}
        for matched in ("G", "information"):
            data = _cells(results, estimator, matched, "cramer_rao_risk", within=_larger)
            ratio = risk_ratio(data, "error_l2", "cramer_rao_risk", 2, share(0.5, data))
            found |= {f"matched={matched}, {cell}": one for cell, one in ratios(ratio).items()}
        return throughout(found, lambda one, cell: at_most(one, limit, f"ratio at {cell}:"), -HIGH)

    return check


def _against_theorem_3(results, estimator):
    """Mean error over Theorem 3's bound with mixed budgets, over the same with one budget."""
    data = _cells(results, estimator, "information", "minimax_bound")
    cells = risk_ratio(data, "error_l2", "minimax_bound", 1)
    return _over_common(cells["ratio"], cells["mcse"], cells["pairs"], share(0.5, data))


def _theorem_3(results):
    weighted, plain = (_against_theorem_3(results, estimator) for estimator in ("weighted", "debiased"))
    if not plain:
        raise TooLittle("no cell meets the conditions")
    most = max(plain, key=lambda cell: plain[cell].value)
    return every(
        throughout(weighted, lambda one, cell: equivalence(one, 1, 0.15, f"weighted, mixed/common at {cell}:"), 1),
        at_least(plain[most], 1.5, f"plain at {most}:"))


def _far_from_bound(results):
    data = _cells(results, "debiased", "information", "cramer_rao_risk")
    cells = ratios(risk_ratio(data, "error_l2", "cramer_rao_risk", 2, share(1, data)))
    most = max(cells, key=lambda cell: cells[cell].value)
    return at_least(cells[most], 3, f"ratio at {most}:")


_SWAPPED = dict(twin="mixtures of equal G and of equal information under each other's name",
                twin_data=renamed("matched", "G", "information"))
_AXES = (" Shares and multiples of the budgets are in the axis profile; matched says what they share with one budget "
         "ε = 1 for all.")
_ABOUT = dict(
    experiment="xu/personalised",
    conditions=f"Cells with mL/G(ε) ≥ {LARGE}, where the ridge takes little." + _AXES,
)
_BOUND = dict(
    experiment="xu/personalised",
    conditions=f"Cells with m Σ tanh²(ε_l/2) ≥ {LARGER:,}, where the bound, which is of first order, speaks." + _AXES,
)


CLAIMS = (
    Claim(
        id="xu.personal.plain",
        statement="The plain estimator's error depends on mixed budgets through G(ε) alone.",
        source="Xu, Sun and Cheng, Theorem 2 (the constant by eq. (3) and Lemma 2)",
        estimand="mean squared error with mixed budgets over that with one budget of the same G(ε), in every cell",
        tolerance="1 ± 0.15 (simultaneous intervals)",
        why="By the sandwich formula the ratio is exactly 1 where the ridge takes nothing; Σ tanh² differs threefold "
            "between these mixtures. A ratio of two means over 4,000 replications is known to ±0.06.",
        check=_governed("debiased", "G", 0.15),
        **_ABOUT,
        **_SWAPPED,
    ),
    Claim(
        id="xu.personal.weighted",
        statement="With users weighted by tanh²(ε_l/2) the error depends on mixed budgets through Σ tanh² up to a "
                  "quarter.",
        source="Xu, Sun and Cheng, Theorem 3's Σ_l t(ε_l)²; the weighted estimator is not in the paper",
        estimand="mean squared error with mixed budgets over that with one budget of the same Σ tanh², in every cell",
        tolerance="1 ± 0.25 (simultaneous intervals)",
        why="Exact for items that are equal; for others a comparison's own variance counts for less where budgets are "
            "large, which is worth up to 16 %. G differs up to sixfold between these mixtures.",
        check=_governed("weighted", "information", 0.25),
        **_ABOUT,
        **_SWAPPED,
    ),
    Claim(
        id="xu.theorem_3.personal",
        statement="With mixed budgets the weighted estimator stays as far from Theorem 3's bound as with one budget; "
                  "the plain estimator does not.",
        source="Xu, Sun and Cheng, Theorem 3; the weighted estimator is not in the paper",
        estimand="mean error over the mean bound with mixed budgets, over that with one budget of the same Σ tanh²",
        tolerance="weighted: 1 ± 0.15 in every cell (simultaneous intervals); plain: at least 1.5 in its farthest cell",
        why="With equal Σ tanh² the bound is the same. The sandwich formula has 0.92 to 0.99 and 2.5.",
        check=_theorem_3,
        twin="the plain and the weighted estimator under each other's name",
        twin_data=renamed("estimator", "debiased", "weighted"),
        **_ABOUT,
    ),
    Claim(
        id="xu.personal.gap",
        statement="With mixed budgets the plain estimator is not rate-optimal: weighting alone more than halves the "
                  "squared error of a mixture.",
        source="Xu, Sun and Cheng, between Theorems 2 and 3: mean coth² against mean tanh²; not in the paper",
        estimand="weighted estimator: squared error of the mixture that gains most over that of one budget of equal G",
        tolerance="at most ½",
        why="The plain estimator's ratio is 1 (xu.personal.plain). Without bound as the budgets part: G is ruled by "
            "the smallest budget, Σ tanh² by the largest.",
        check=_gap,
        twin="the plain estimator in place of the weighted",
        twin_data=renamed("estimator", "debiased", "weighted"),
        **_ABOUT,
    ),
    Claim(
        id="xu.personal.weighted_bound",
        statement="Weighted by tanh², the squared error stays within 40 % of the Cramér–Rao bound for every mixture.",
        source="Fisher information of Lemma 1 of Xu, Sun and Cheng; not in the paper",
        estimand="mean squared error over the mean bound, in every cell",
        tolerance="at most 1.4 in every cell (simultaneous intervals)",
        why="The sandwich formula has 1.04 to 1.18 for θ* uniform on (−2, 2).",
        check=_near_bound("weighted", 1.4),
        twin="the plain estimator in place of the weighted",
        twin_data=renamed("estimator", "debiased", "weighted"),
        **_BOUND,
    ),
    Claim(
        id="xu.personal.likelihood_bound",
        statement="The maximum-likelihood estimator reaches the Cramér–Rao bound for every mixture, to 10 %.",
        source="Fisher information of Lemma 1 of Xu, Sun and Cheng; not in the paper",
        estimand="mean squared error over the mean bound, in every cell",
        tolerance="at most 1.1 in every cell (simultaneous intervals)",
        why="The bound is of first order; at m Σ tanh² = 10,000 the next order is worth a few per cent.",
        check=_near_bound("likelihood", 1.1),
        twin="the plain estimator in place of maximum likelihood",
        twin_data=renamed("estimator", "debiased", "likelihood"),
        **_BOUND,
    ),
    Claim(
        id="xu.personal.plain_far",
        statement="With mixed budgets the plain estimator can lose more than two thirds of the information.",
        source="Xu, Sun and Cheng, between Theorems 2 and 3; not in the paper",
        estimand="plain estimator: mean squared error over the Cramér–Rao bound, in the cell where it is largest",
        tolerance="at least 3",
        why="The sandwich formula has 7.3 where a tenth of the users has an eighth of the others' budget.",
        check=_far_from_bound,
        twin="the weighted estimator in place of the plain",
        twin_data=renamed("estimator", "debiased", "weighted"),
        **_ABOUT,
    ),
)
