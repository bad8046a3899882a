"""Claims of Banerjee, Hegde and Massoulié: theorems on the information in an answer."""

import math
from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import Make, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Measure, confidence_for, measure
from pipeline.analysis.rates import fit_rate
from pipeline.analysis.selection import Condition, select
from pipeline.analysis.summary import REPLICATION
from pipeline.analysis.tolerances import AtMost, Within

from . import controls
from .common import ALL_INFORMATIONS, EXACT, ROUNDING, TRIED, exact_ratio

LARGEST = "information_largest"
_AT_ONE_RATING = "in N, at w = 1"
_OF_MANY_ITEMS = "in w, at N = 1,000"
FEW_ITEMS = 8  # from which the exponent in N is judged


def _over_bound(bound: str, within: Condition | None = None) -> Measure:
    """Largest information of the answers that are tried over a bound."""
    return exact_ratio(
        "largest information of the answers that are tried over that number",
        LARGEST,
        bound,
        ratio=lambda data: data[LARGEST] / data[bound],
        within=within,
    )


def _informations_times(factor: float) -> Make:
    return scaled(LARGEST, factor)


def _theorem_14_holds(data: xr.Dataset) -> xr.DataArray:
    return (data["w"] ** 3 < data["N"]) & (data["epsilon"] < math.log(2))


def _exponent(information: xr.DataArray, size: xr.DataArray) -> Estimate:
    rate = fit_rate(
        information, 0.0, groups=("epsilon",), confidence=confidence_for(error_share=0.5), size=size
    )
    return rate.exponents["size"]


def _of_majority(data: xr.Dataset) -> xr.DataArray:
    return data["information_majority"].where(data["status"] > 0).mean(REPLICATION)


@measure("exponents of the exact information of a majority question")
def _in_ratings_and_items(results: xr.Dataset) -> Mapping[str, Estimate]:
    of_many = select(
        results,
        "information_majority",
        at=dict(N=1000),
        min_levels=dict(w=3, epsilon=3),
        within=lambda d: (d["w"] >= 3) & (d["w"] <= 300),
    )
    at_one = select(
        results,
        "information_majority",
        at=dict(w=1),
        min_levels=dict(N=3, epsilon=3),
        within=lambda d: d["N"] >= FEW_ITEMS,
    )
    return {
        _OF_MANY_ITEMS: _exponent(_of_majority(of_many), of_many["w"]),
        _AT_ONE_RATING: _exponent(_of_majority(at_one), at_one["N"]),
    }


CLAIMS = (
    Claim(
        id="banerjee.theorem_10",
        statement="One bit from one rating, without privacy, carries at most 1/N bits of "
        "information, and the best one at least half of that.",
        source="Banerjee, Hegde and Massoulié, Theorem 10",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD,
        measure=exact_ratio(
            "N times the information of the best bit, over all deterministic questions",
            "information_one_bit",
            ratio=lambda d: d["N"] * d["information_one_bit"],
            within=lambda d: d["w"] == 1,
        ),
        tolerance=Within(0.75, 0.25 + ROUNDING),
        why=EXACT,
        conditions="w = 1, N = 2, 4, 8, … 256, each enumerated. That the order is 1/N "
        "for all N is the theorem's; a range of N cannot show it.",
        control=NegativeControl(
            "√N times the information",
            scaled("information_one_bit", lambda r: xr.ufuncs.sqrt(r["N"])),
        ),
    ),
    Claim(
        id="banerjee.theorem_13",
        statement="A private answer from w of N ratings carries O(w²/N) bits: at most "
        "the number that the proof gives.",
        source="Banerjee, Hegde and Massoulié, Theorem 13, with the constants of its proof",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD,
        measure=_over_bound("bound_theorem_13"),
        tolerance=AtMost(1),
        only_refutable=True,  # the bound is 30 times the information of every answer that is tried
        why=EXACT,
        conditions=f"{ALL_INFORMATIONS} {TRIED} The bound is loose by a factor of 30 and "
        "more: it does not decide the order.",
        control=NegativeControl("100 times the information", _informations_times(100)),
    ),
    Claim(
        id="banerjee.theorem_14",
        statement="A private answer from w of N ratings carries O(w/N) bits: at most the "
        "number that the proof gives.",
        source="Banerjee, Hegde and Massoulié, Theorem 14, with the constants of its proof",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD,
        measure=_over_bound("bound_theorem_14", _theorem_14_holds),
        tolerance=AtMost(1),
        only_refutable=True,  # the bound is 15 times the information of every answer that is tried
        why=EXACT,
        conditions="w³ < N and ε < ln 2: N = 2 to 256 with w = 1, N = 1,000 with w = 2 "
        "to 9; ε = 0.1 and 0.5. The bound is loose by a factor of 15 and more: it does "
        f"not decide the order. {TRIED}",
        control=NegativeControl("100 times the information", _informations_times(100)),
    ),
    Claim(
        id="banerjee.theorem_14.always",
        statement="No private answer that is tried, from w of N ratings, carries more "
        "than log₂(1 + (w/N) sinh²(ε/2)) bits, whatever w and ε.",
        source="extends Theorem 14 of Banerjee, Hegde and Massoulié, which asks for w = "
        "o(N^⅓) and ε < ln 2; proof in docs/papers.md",
        experiment="banerjee/information",
        simulated=controls.RECORD_TOLD,
        measure=_over_bound("bound_contraction"),
        tolerance=AtMost(1),
        why=EXACT,
        conditions=f"{ALL_INFORMATIONS} {TRIED} For all answers it is proved.",
        control=NegativeControl(
            "4 times the information, which is half of the bound at w = N and small ε",
            _informations_times(4),
        ),
    ),
    Claim(
        id="banerjee.theorem_14.order",
        statement="The order w/N is reached: the information in a majority question is "
        "linear in w and in 1/N.",
        source="with Theorem 14 of Banerjee, Hegde and Massoulié; the paper has MaxSense for it",
        experiment="banerjee/information",
        simulated=controls.PAIR_ASKED,
        measure=_in_ratings_and_items,
        tolerance={_OF_MANY_ITEMS: Within(1, 0.1), _AT_ONE_RATING: Within(-1, 0.1)},
        why=EXACT,
        conditions="N = 1,000, w = 3 to 300; w = 1, N = 8 to 256; ε = 0.1 to 4. The "
        "slopes show that w/N is reached over these ranges, not that no question does "
        "better: that is banerjee.theorem_14.always. Theorem 13 alone would allow slope "
        "2 in w.",
        control=NegativeControl(
            "√w times the information",
            scaled("information_majority", lambda r: xr.ufuncs.sqrt(r["w"])),
        ),
    ),
)
