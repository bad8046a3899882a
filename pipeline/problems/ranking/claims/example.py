"""Claim on Example 1 of Xu, Sun and Cheng: released comparisons follow no BTL model."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import mean_over_cells, measure
from pipeline.analysis.selection import select
from pipeline.analysis.summary import mean_over_replications
from pipeline.analysis.tolerances import AtMost, Within

from .common import one_budget
from .controls import NO_FLIPS

_MARGIN = 0.003
_NEXT = "against the next item"
_LAST = "against the item two ranks below"
_GAP = "the same less o²/(1 + o²), o: odds against the next item"


@measure("mean share of released comparisons that the better item wins")
def _wins(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(one_budget(results), "lean_next", "lean_two_apart", min_levels=dict(m=1, L=1))
    odds = data["lean_next"] / (1 - data["lean_next"])
    implied = odds**2 / (1 + odds**2)  # by a BTL model
    wins = {
        _NEXT: data["lean_next"],
        _LAST: data["lean_two_apart"],
        _GAP: data["lean_two_apart"] - implied,
    }
    means = {part: mean_over_replications(values) for part, values in wins.items()}
    return {
        part: mean_over_cells(mean, mcse, error_share=1 / len(wins))
        for part, (mean, mcse, _) in means.items()
    }


def _raw(results: xr.Dataset) -> xr.Dataset:
    return results.assign(
        {name: 0.5 + 3 * (results[name] - 0.5) for name in ("lean_next", "lean_two_apart")}
    )


CLAIMS = (
    Claim(
        id="xu.example_1",
        statement="Of three items log 2 apart, released comparisons are won with probability 5/9 "
        "against the next and "
        "3/5 against the last: in a BTL model the first would make the second 25/41.",
        source="Xu, Sun and Cheng, Example 1 (which prints these as probabilities of the worse "
        "item's win)",
        experiment="xu/example_1",
        measure=_wins,
        tolerance={
            _NEXT: Within(5 / 9, _MARGIN),
            _LAST: Within(3 / 5, _MARGIN),
            _GAP: AtMost(-0.005),
        },
        why="25/41 − 3/5 = 0.0098; shares over 1,000 users and 4,000 replications are known to "
        "±0.001.",
        conditions="θ* = (−log 2, 0, log 2), flipping probability 1/3, which is ε = log 2.",
        control=NegativeControl("raw comparisons, not flipped: 2/3 and 4/5", _raw),
        simulated=NO_FLIPS,
    ),
)
