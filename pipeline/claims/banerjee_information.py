"""Claims of Banerjee, Hegde and Massoulié on informations: exact numbers, decided without Monte Carlo error."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from pipeline.claims.banerjee_boundary import values
from pipeline.claims.claim import Claim, at_least, at_most, equivalence, throughout
from pipeline.claims.evidence import enough
from pipeline.reduce.estimate import Estimate
from pipeline.reduce.rates import fit_rate
from pipeline.theory import blocks, blocks_information

ROUNDING = 1e-9
NAT = float(blocks_information.NAT)
KNOWN = ("information_maxsense", "information_majority", "information_pairwise")
_AXES = dict(N=3, w=2, epsilon=3)


def searched(data: xr.Dataset) -> xr.DataArray:
    """Cells in which all deterministic questions are tried."""
    return (data["w"] == 1) | (data["w"] == data["N"]) | (data["N"] <= 4)


def _whole(data):
    return (data["N"] <= 4) | ((data["w"] == 1) & (data["N"] <= 8))


def _ratio(variables, make, decide, within=None, aim=0.0):
    """Check of a function of exact variables in every cell."""

    def check(results):
        data = enough(results, *variables, within=within, **_AXES)
        cells = make(data).where(data["status"] > 0)
        return throughout(values(cells), decide, aim)

    return check


def _most(bound: float, what: str) -> Callable:
    return lambda found, cell: at_most(found, bound, f"{what} at {cell}:")


def _least(bound: float, what: str) -> Callable:
    return lambda found, cell: at_least(found, bound, f"{what} at {cell}:")


def _near(target: float, tolerance: float, what: str) -> Callable:
    return lambda found, cell: equivalence(found, target, tolerance, f"{what} at {cell}:")


def _largest(data):
    return xr.concat([data[name] for name in KNOWN], "question").max("question")


def _slope(results):
    data = enough(results, "information_majority", within=lambda d: (d["N"] == 1000) & (d["w"] >= 3) & (d["w"] <= 300),
                  **_AXES)
    mean = data["information_majority"].where(data["status"] > 0).mean("replication").sel(N=1000, drop=True)
    found = fit_rate(mean, 0.0, groups=("epsilon",), confidence=0.99, w=mean["w"]).exponents["w"]
    return equivalence(Estimate(found.value, found.low, found.high, found.standard_error), 1, 0.1, "exponent in w")


def _unit(results):
    return results["epsilon"] * NAT


_ABOUT = dict(experiment="banerjee/information", why="A number, no estimate: informations are enumerated.")
_ALL = "w = 1 with N = 2 to 256; w = N; (N, w) = (3, 2), (4, 2); N = 1,000 with w = 2 to 300; ε = 0.1 to 4."
_BEST = "Cells where the search is over ALL deterministic questions: w = 1, w = N, N ≤ 4. ε = 0.1 to 4."


def _times(factor, *names):
    return lambda r: r.assign({name: factor * r[name] for name in names})


def _lemma_12(data):
    remainder = data["lemma_12_share"] * data["w"] ** 4 / data["N"] ** 2
    bound = xr.apply_ufunc(blocks.lemma_12_remainder, data["N"], data["w"])
    return (remainder + ROUNDING) / (bound + 2 * ROUNDING)


CLAIMS = (
    Claim(
        id="banerjee.lemma_6",
        statement="A private answer tells at most ε log₂ e bits about anything.",
        source="Banerjee, Hegde and Massoulié, Lemma 6",
        estimand="information of the best private bit over ε log₂ e, in every cell",
        tolerance="at most 1",
        conditions=_BEST + " One-bit answers are one kind of answer: this can refute and not prove.",
        check=_ratio(["information_best"], lambda d: d["information_best"] / _unit(d), _most(1, "share"), searched),
        twin="informations 10 times what they are",
        twin_data=_times(10, "information_best"),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_6.order",
        statement="As the informal Theorems 2 and 4 need it: an answer can tell a fixed share of ε bits at small ε "
                  "too.",
        source="Banerjee, Hegde and Massoulié, Informal Theorems 2 and 4: users of order 1/ε",
        estimand="information of the best private bit about all labels, w = N, over ε log₂ e",
        tolerance="at least 0.1 in every cell",
        conditions="w = N, where the best bit is found over all questions; ε = 0.1 to 4. Does not hold: ε²/8 nats are "
                   "the "
                   "most at small ε, an eightieth of ε at ε = 0.1. The next claim is of the sharp form.",
        check=_ratio(["information_best"], lambda d: d["information_best"] / _unit(d), _least(0.1, "share"),
                     lambda d: d["w"] == d["N"], aim=1.0),
        twin="informations a thousandth of what they are",
        twin_data=lambda r: r.assign(information_best=r["information_best"] / 1000),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_6.sharp",
        statement="A private answer tells at most B − 1 − ln B nats, B = ε/(1 − e^−ε), which is ε²/8 at small ε.",
        source="sharpens Lemma 6 of Banerjee, Hegde and Massoulié",
        estimand="information of the best private bit over that capacity, in every cell",
        tolerance="at most 1",
        conditions=_BEST,
        check=_ratio(["information_best"],
                     lambda d: d["information_best"] / xr.apply_ufunc(blocks_information.capacity, d["epsilon"]),
                     _most(1, "share"), searched),
        twin="budgets a tenth of what they are",
        twin_data=lambda r: r.assign_coords(epsilon=r["epsilon"] / 10),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_9",
        statement="In nats: I(Z; S) is at most the mean of 2^|I₁∩I₂|·1{Z₁ ≡ Z₂} − 1.",
        source="Banerjee, Hegde and Massoulié, Lemma 9, whose proof uses log x ≤ x − 1",
        estimand="information over that mean, of the answer that names any record but one's own",
        tolerance="at most 1 in every cell",
        conditions="Up to 24 records a user: N ≤ 4, and w = 1 with N ≤ 8. One family of answers.",
        check=_ratio(["lemma_9_share"], lambda d: d["lemma_9_share"], _most(1, "share"), _whole),
        twin="informations twice what they are",
        twin_data=lambda r: r.assign(lemma_9_share=2 * r["lemma_9_share"]),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_9.bits",
        statement="As printed, logarithms being to base 2: the same holds in bits.",
        source="Banerjee, Hegde and Massoulié, Lemma 9 and footnote 3",
        estimand="information in bits over that mean, of the answer that names any record but one's own",
        tolerance="at most 1 in every cell",
        conditions="As before. Does not hold where w = N: 0.415 bits against 0.333 at N = w = 2. Lemma 9 in bits "
                   "needs the "
                   "factor log₂ e.",
        check=_ratio(["lemma_9_share"], lambda d: d["lemma_9_share"] * NAT, _most(1, "share"), _whole),
        twin="informations twice what they are",
        twin_data=lambda r: r.assign(lemma_9_share=2 * r["lemma_9_share"]),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_11",
        statement="A private answer changes the odds of any record by a factor from e^−ε to e^ε.",
        source="Banerjee, Hegde and Massoulié, Lemma 11",
        estimand="largest |log λ| over ε, over all records, answers and deterministic questions",
        tolerance="at most 1 in every cell",
        conditions=_ALL,
        check=_ratio(["odds_largest"], lambda d: d["odds_largest"], _most(1 + ROUNDING, "share")),
        twin="budgets half of what they are",
        twin_data=lambda r: r.assign(odds_largest=2 * r["odds_largest"]),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_12",
        statement="As printed: where w = o(N), C(N−w, w)/C(N, w) differs from 1 − w²/N by Θ(w⁴/N²).",
        source="Banerjee, Hegde and Massoulié, Lemma 12",
        estimand="that difference over w⁴/N²",
        tolerance="at least 0.01 in every cell",
        conditions="N ≥ 16 with w = 1, N = 1,000 with w = 2 to 30. Does not hold: at w = 1 the difference is exactly "
                   "0. The "
                   "next claim is of the upper bound, which is what the proofs use.",
        check=_ratio(["lemma_12_share"], lambda d: d["lemma_12_share"], _least(0.01, "share"),
                     lambda d: (d["N"] >= 16) & (d["w"] <= 30), aim=1.0),
        twin="a ten-thousandth of the differences",
        twin_data=lambda r: r.assign(lemma_12_share=r["lemma_12_share"] / 1e4),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.lemma_12.corrected",
        statement="Corrected: the difference is between 0 and C(w, 2)²/C(N, 2), for every w.",
        source="Bonferroni's inequalities, in place of Lemma 12 of Banerjee, Hegde and Massoulié",
        estimand="difference over that bound",
        tolerance="from 0 to 1 in every cell",
        conditions=_ALL.replace("to 300", "to 1,000"),
        check=_ratio(["lemma_12_share"], _lemma_12, _near(0.5, 0.5, "share")),
        twin="differences twice what they are",
        twin_data=lambda r: r.assign(lemma_12_share=2 * r["lemma_12_share"]),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.theorem_10",
        statement="One bit from one rating, without privacy, tells at most 1/N bits, and the best one at least half "
                  "of that.",
        source="Banerjee, Hegde and Massoulié, Theorem 10",
        estimand="N times the information of the best bit, over all deterministic questions",
        tolerance="from 0.5 to 1 in every cell",
        conditions="w = 1, N = 2 to 256: every N is enumerated. That the order is 1/N for all N is the theorem's; a "
                   "range of "
                   "N cannot show it.",
        check=_ratio(["information_one_bit"], lambda d: d["N"] * d["information_one_bit"],
                     _near(0.75, 0.25 + ROUNDING, "N·I"),
                     lambda d: d["w"] == 1, aim=0.75),
        twin="informations times √N",
        twin_data=lambda r: r.assign(information_one_bit=r["information_one_bit"] * np.sqrt(r["N"])),
        **_ABOUT,
    ),
    *(Claim(
        id=f"banerjee.theorem_{theorem}",
        statement=f"A private answer from w of N ratings tells O({order}) bits: at most the number that the proof "
                  f"gives.",
        source=f"Banerjee, Hegde and Massoulié, Theorem {theorem}, with the constants of its proof",
        estimand="largest information of MaxSense, a majority question and Pairwise-Preference over that number",
        tolerance="at most 1 in every cell",
        conditions=conditions + f" The bound is loose by a factor of {loose} and more: it does not decide the order.",
        check=_ratio([*KNOWN, f"bound_theorem_{theorem}"],
                     lambda d, name=f"bound_theorem_{theorem}": _largest(d) / d[name], _most(1, "share"), within),
        twin="informations 100 times what they are",
        twin_data=_times(100, *KNOWN),
        **_ABOUT,
    ) for theorem, order, loose, conditions, within in (
        (13, "w²/N", 30, _ALL, None),
        (14, "w/N", 15, "w³ < N and ε < ln 2: N = 2 to 256 with w = 1, N = 1,000 with w = 2 to 9; ε = 0.1 and 0.5.",
         lambda d: (d["w"] ** 3 < d["N"]) & (d["epsilon"] < np.log(2))))),
    Claim(
        id="banerjee.theorem_14.always",
        statement="No private answer from w of N ratings tells more than log₂(1 + (w/N) sinh²(ε/2)) bits, for any w "
                  "and ε.",
        source="extends Theorem 14 of Banerjee, Hegde and Massoulié, which asks for w = o(N^⅓) and ε < ln 2; proof in "
               "docs/papers.md",
        estimand="largest information of MaxSense, a majority question and Pairwise-Preference over that bound",
        tolerance="at most 1 in every cell",
        conditions=_ALL,
        check=_ratio([*KNOWN, "bound_contraction"], lambda d: _largest(d) / d["bound_contraction"], _most(1, "share")),
        twin="informations 4 times what they are: half of the bound is told at w = N and small ε",
        twin_data=_times(4, *KNOWN),
        **_ABOUT,
    ),
    Claim(
        id="banerjee.theorem_14.order",
        statement="The order w/N is met: a majority question tells an amount that is linear in w.",
        source="with Theorem 14 of Banerjee, Hegde and Massoulié; the paper has MaxSense for it",
        estimand="exponent in w of the exact information of a majority question",
        tolerance="1 ± 0.1",
        conditions="N = 1,000, w = 3 to 300, ε = 0.1 to 4. The slope shows that w/N is reached over this range, not "
                   "that no "
                   "question does better: that is the bound above. Theorem 13 alone would allow slope 2.",
        check=_slope,
        twin="informations times √w",
        twin_data=lambda r: r.assign(information_majority=r["information_majority"] * np.sqrt(r["w"])),
        **_ABOUT,
    ),
)
