"""Claims of Banerjee, Hegde and Massoulié: lemmas on private answers, by exact numbers."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, PositiveControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from ..theory import information as blocks_information
from ..theory import sample_sizes as blocks
from . import controls
from .common import ALL_INFORMATIONS, EXACT, ROUNDING, exact_ratio
from .information import LARGEST

NAT = float(blocks_information.NAT)  # bits
_BEST = (
    "Cells where all deterministic questions are searched, w = 1, w = N, N ≤ 4; up to 24 "
    "records of a user answers, too, that name a set of records. ε = 0.1 to 4."
)


def _all_questions(data: xr.Dataset) -> xr.DataArray:
    """Cells in which all deterministic questions are tried."""
    return (data["w"] == 1) | (data["w"] == data["N"]) | (data["N"] <= 4)


def _all_records(data: xr.Dataset) -> xr.DataArray:
    """Cells with so few possible records of a user that answers naming them are enumerated."""
    return (data["N"] <= 4) | ((data["w"] == 1) & (data["N"] <= 8))


def _over_budget(data: xr.Dataset) -> xr.DataArray:
    return data[LARGEST] / (data["epsilon"] * NAT)


def _over_capacity(data: xr.Dataset) -> xr.DataArray:
    capacity: xr.DataArray = xr.apply_ufunc(blocks_information.capacity, data["epsilon"])
    return data[LARGEST] / capacity


def _largest_odds(data: xr.Dataset) -> xr.DataArray:
    largest: xr.DataArray = xr.ufuncs.maximum(data["odds_largest"], data["odds_largest_of_sets"])
    return largest


def _remainder_over_bound(data: xr.Dataset) -> xr.DataArray:
    remainder = data["lemma_12_share"] * data["w"] ** 4 / data["N"] ** 2
    bound: xr.DataArray = xr.apply_ufunc(blocks.lemma_12_remainder, data["N"], data["w"])
    return (remainder + ROUNDING) / (bound + 2 * ROUNDING)


CLAIMS = (
    Claim(
        id="banerjee.lemma_6",
        statement="A private answer carries at most ε log₂ e bits of information about the labels.",
        source="Banerjee, Hegde and Massoulié, Lemma 6",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD,
        measure=exact_ratio(
            "largest information of the answers that are tried over ε log₂ e",
            LARGEST,
            ratio=_over_budget,
            within=_all_questions,
        ),
        tolerance=AtMost(1),
        only_refutable=True,  # no answer that is tried has more than 0.42 of it up to ε = 4
        why=EXACT,
        conditions=_BEST + " At w = N the labels are all of a user's record.",
        control=NegativeControl("ten times the information", scaled(LARGEST, 10)),
    ),
    Claim(
        id="banerjee.lemma_6.order",
        row="B3",
        statement="As the informal Theorems 2 and 4 need it: at small ε, too, an answer "
        "can carry a fixed share of ε bits.",
        source="Banerjee, Hegde and Massoulié, Informal Theorems 2 and 4: users of order 1/ε",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD_SUPPORTS,
        measure=exact_ratio(
            "largest information about all labels, w = N, over ε log₂ e",
            LARGEST,
            ratio=_over_budget,
            within=lambda d: d["w"] == d["N"],
        ),
        tolerance=AtLeast(0.1),
        why=EXACT,
        conditions="w = N, where the best bit is searched over all questions; ε = 0.1 to "
        "4. Does not hold: at small ε the most is ε²/8 nats, an eightieth of ε at ε = "
        "0.1. banerjee.lemma_6.sharp has the right form.",
        control=NegativeControl("a thousandth of the information", scaled(LARGEST, 1e-3)),
        positive=PositiveControl(
            "information over ε/2 below ε = 1",
            scaled(LARGEST, lambda r: 2 / r["epsilon"].clip(max=1)),
        ),
    ),
    Claim(
        id="banerjee.lemma_6.sharp",
        statement="A private answer carries at most B − 1 − ln B nats, B = ε/(1 − e^−ε), "
        "which is ε²/8 at small ε.",
        source="sharpens Lemma 6 of Banerjee, Hegde and Massoulié",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD,
        measure=exact_ratio(
            "largest information of the answers that are tried over that capacity",
            LARGEST,
            ratio=_over_capacity,
            within=_all_questions,
        ),
        tolerance=AtMost(1),
        why=EXACT,
        conditions=_BEST
        + " Sets of the best share of all records have 0.998 of it, where w = N = 4.",
        control=NegativeControl(
            "a tenth of the budgets", lambda r: r.assign_coords(epsilon=r["epsilon"] / 10)
        ),
    ),
    Claim(
        id="banerjee.lemma_9",
        statement="In nats: I(Z; S) is at most the mean of 2^|I₁∩I₂|·1{Z₁ ≡ Z₂} − 1.",
        source="Banerjee, Hegde and Massoulié, Lemma 9, whose proof uses log x ≤ x − 1",
        experiment="banerjee/information",
        simulated=controls.THEOREM,
        measure=exact_ratio(
            "largest information in nats over that mean, of many answers",
            "lemma_9_largest",
            ratio=lambda d: d["lemma_9_largest"],
            within=_all_records,
        ),
        tolerance=AtMost(1),
        why=EXACT,
        conditions="Up to 24 possible records of a user: N ≤ 4, and w = 1 with N ≤ 8. "
        "Answers: the record, any other, sets of all sizes at ε = 0.1, 1 and 4, and 60 "
        "with chances that are drawn.",
        control=NegativeControl("twice the information", scaled("lemma_9_largest", 2)),
    ),
    Claim(
        id="banerjee.lemma_9.bits",
        row="B1",
        statement="As printed, with logarithms to base 2: the same holds in bits.",
        source="Banerjee, Hegde and Massoulié, Lemma 9 and footnote 3",
        experiment="banerjee/information",
        simulated=controls.PRIVATE_BIT,
        measure=exact_ratio(
            "information in bits over that mean, of the answer that names any record but one's own",
            "lemma_9_share",
            ratio=lambda d: d["lemma_9_share"] * NAT,
            within=_all_records,
        ),
        tolerance=AtMost(1),
        why=EXACT,
        conditions="As in banerjee.lemma_9, one answer. Does not hold where w = N: 0.415 "
        "bits against 0.333 at N = w = 2. In bits Lemma 9 needs the factor log₂ e.",
        control=NegativeControl("twice the information", scaled("lemma_9_share", 2)),
        positive=PositiveControl("the same information in nats", scaled("lemma_9_share", 1 / NAT)),
    ),
    Claim(
        id="banerjee.lemma_11",
        statement="A private answer changes the chance of any record by a factor from e^−ε to e^ε.",
        source="Banerjee, Hegde and Massoulié, Lemma 11",
        experiment="banerjee/information",
        simulated=controls.TWICE_SPENT,
        measure=exact_ratio(
            "largest |log λ| over ε, over all records, of the answers that are tried",
            "odds_largest",
            "odds_largest_of_sets",
            ratio=_largest_odds,
        ),
        tolerance=AtMost(1 + ROUNDING),
        why=EXACT,
        conditions=ALL_INFORMATIONS
        + " All bits about deterministic questions; up to 24 records sets of records, too.",
        control=NegativeControl("half of the budgets", scaled("odds_largest", 2)),
    ),
    Claim(
        id="banerjee.lemma_12",
        row="B5",
        statement="As printed: where w = o(N), C(N−w, w)/C(N, w) differs from 1 − w²/N "
        "by Θ(w⁴/N²).",
        source="Banerjee, Hegde and Massoulié, Lemma 12",
        experiment="banerjee/information",
        simulated=controls.ARITHMETIC,
        measure=exact_ratio(
            "that difference over w⁴/N²",
            "lemma_12_share",
            ratio=lambda d: d["lemma_12_share"],
            within=lambda d: (d["N"] >= 16) & (d["w"] <= 30),
        ),
        tolerance=AtLeast(0.01),
        why=EXACT,
        conditions="N ≥ 16 with w = 1, N = 1,000 with w = 2 to 30. Does not hold: at w = "
        "1 the difference is exactly 0. banerjee.lemma_12.corrected is the upper bound, "
        "which is what the proofs use.",
        control=NegativeControl(
            "a ten-thousandth of the differences", scaled("lemma_12_share", 1e-4)
        ),
        positive=PositiveControl(
            "differences larger by w⁴/N²",
            lambda r: r.assign(lemma_12_share=1 + r["lemma_12_share"]),
        ),
    ),
    Claim(
        id="banerjee.lemma_12.corrected",
        statement="Corrected: the difference is between 0 and C(w, 2)²/C(N, 2), for every w.",
        source="Bonferroni's inequalities, in place of Lemma 12 of Banerjee, Hegde and Massoulié",
        experiment="banerjee/information",
        simulated=controls.ARITHMETIC,
        measure=exact_ratio(
            "difference over that bound", "lemma_12_share", ratio=_remainder_over_bound
        ),
        tolerance=Within(0.5, 0.5, worst="largest"),
        why=EXACT,
        conditions=ALL_INFORMATIONS.replace("to 300", "to 1,000"),
        control=NegativeControl("twice the differences", scaled("lemma_12_share", 2)),
    ),
)
