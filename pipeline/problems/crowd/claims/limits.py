"""Claims of Wang and Xu on one released answer, Theorem 1, and on budgets that go to
0 and to infinity.
"""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import reversed_along, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.exact import TOGETHER, exact_law, law_ratios
from pipeline.analysis.measures import (
    Cells,
    confidence_for,
    labelled,
    mean_cells,
    measure,
    measure_every_cell,
    share_of_exceptions,
)
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.selection import at_levels, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import NoException, Within

from . import controls

SEEN_BESIDE = 2.0  # ε up to which enough answers are flipped beside flipped ones
LEAST_SHARE = (
    1e-12  # of flipped answers, as which none at all counts: its loss is finite, and too large
)
_ALL = "all answers"
_ONES = "answers that say 1"
_ZEROS = "answers that say 0"
_BESIDE = "answers beside a flipped one, of the same worker or to the same task"
_SHARES = {_ALL: "answers_wrong", _ONES: "ones_wrong", _ZEROS: "zeros_wrong"}
_BY_ABILITY = "share of right answers against the ability"


def _loss_over_budget(flipped: xr.Dataset, epsilon: xr.DataArray) -> Cells:
    """Log of the odds of an unflipped answer over ε, of shares `value` with ends `low`, `high`."""

    def loss(share: xr.DataArray) -> xr.DataArray:
        bounded = share.fillna(0).clip(LEAST_SHARE, 1 - LEAST_SHARE)
        odds: xr.DataArray = xr.ufuncs.log((1 - bounded) / bounded)
        return odds / epsilon

    share = flipped["value"].fillna(0).clip(LEAST_SHARE, 1 - LEAST_SHARE)
    error = flipped["error"].fillna(0) / (share * (1 - share)) / epsilon
    losses = dict(
        value=loss(share), low=loss(flipped["high"]), high=loss(flipped["low"]), error=error
    )
    return labelled(xr.Dataset(losses).reset_coords(drop=True))


def _share_flipped(data: xr.Dataset, metric: str, error_share: float) -> xr.Dataset:
    cells = summarise(data[[metric, "status"]], confidence_for(data, error_share))
    ends = {
        "value": metric,
        "low": f"{metric}_low",
        "high": f"{metric}_high",
        "error": f"{metric}_mcse",
    }
    return xr.Dataset({end: cells[name] for end, name in ends.items()})


def _share_flipped_beside(data: xr.Dataset, error_share: float) -> xr.Dataset:
    """Share of flipped answers among those beside a flipped one; NaN where none is flipped."""
    confidence = confidence_for(data, error_share)
    cells = risk_ratio(data, "wrong_together", "answers_wrong", 1, confidence)
    return cells.rename(ratio="value", mcse="error")[["value", "low", "high", "error"]]


@measure_every_cell("log of unflipped over flipped answers, over ε")
def _loss(results: xr.Dataset) -> Mapping[str, Cells]:
    levels = dict(epsilon=3, ability_low=1)
    perfect = select(
        results, *_SHARES.values(), min_levels=levels, within=lambda d: d["ability_low"] == 1
    )
    perfect = perfect.sel(ability_low=1.0, drop=True)
    error_shares = {_ALL: 0.7, _ONES: 0.1, _ZEROS: 0.1}
    losses = {
        part: _loss_over_budget(
            _share_flipped(perfect, metric, error_shares[part]), perfect["epsilon"]
        )
        for part, metric in _SHARES.items()
    }
    beside = select(
        results,
        "wrong_together",
        "answers_wrong",
        min_levels=levels,
        within=lambda d: (d["ability_low"] == 1) & (d["epsilon"] <= SEEN_BESIDE),
    )
    beside = beside.sel(ability_low=1.0, epsilon=beside["epsilon"] <= SEEN_BESIDE)
    return losses | {
        _BESIDE: _loss_over_budget(_share_flipped_beside(beside, 0.1), beside["epsilon"])
    }


def _private_lean(data: xr.Dataset) -> xr.DataArray:
    """tanh(ε/2), at the ε of the cell, whatever a release says of itself."""
    lean: xr.DataArray = xr.ufuncs.tanh(data["epsilon"] / 2)
    return lean


@measure("wrong answers over their expectation, at the ε of the cell")
def _released(results: xr.Dataset) -> Mapping[str, Cells]:
    levels = dict(epsilon=3, ability_low=1)
    data = select(results, "answers_wrong", "ability_mean", min_levels=levels)
    data["expected"] = 0.5 - _private_lean(data) * (data["ability_mean"] - 0.5)
    level = law_ratios(data, "answers_wrong", "expected", 1, "ability_low", error_share=0.5)
    unlike = select(
        results,
        "right_by_ability",
        "ability_variance",
        min_levels=levels,
        within=lambda d: d["ability_low"] < 1,
    )
    unlike["expected"] = _private_lean(unlike) * unlike["ability_variance"]
    slope = law_ratios(unlike, "right_by_ability", "expected", 1, error_share=0.5)[TOGETHER]
    return {**level, _BY_ABILITY: slope}


def _unflipped(results: xr.Dataset) -> xr.Dataset:
    wrong = 0.5 - (0.5 - results["answers_wrong"]) / xr.ufuncs.tanh(results["epsilon"] / 2)
    return results.assign(answers_wrong=wrong.transpose(*results["answers_wrong"].dims))


@measure_every_cell("mean share of wrong labels")
def _without_budget(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "label_error",
        at=dict(mechanism="randomized_response"),
        min_levels=dict(epsilon=3, estimator=2),
        within=lambda d: d["epsilon"] <= 0.01,
    )
    return mean_cells(data, "label_error")


@measure("wisdom v̂ of released answers over tanh²(ε/2) times the crowd's")
def _private_wisdom(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(
        results,
        "wisdom",
        "wisdom_released",
        at=dict(estimator="majority_vote"),
        min_levels=dict(epsilon=3, mechanism=2),
    )
    without, private = (
        at_levels(data, dict(mechanism=name)) for name in ("none", "randomized_response")
    )
    private["expected"] = _private_lean(data) ** 2 * without["wisdom"]
    return law_ratios(private, "wisdom_released", "expected", 1)


@measure(
    "share of replications in which either error differs by more than 10⁻⁹ from that without "
    "privacy"
)
def _unlike_plain(results: xr.Dataset) -> Estimate:
    errors = ("label_error", "ability_error_l2")
    data = select(
        results,
        *errors,
        min_levels=dict(epsilon=1, mechanism=2, estimator=2),
        within=lambda d: d["epsilon"] >= 40,
    )
    labels, abilities = (
        abs(data[name].diff("mechanism").squeeze("mechanism")) > 1e-9 for name in errors
    )
    return share_of_exceptions(labels | abilities, (data["status"] > 0).all("mechanism"))


def _all_shares_halved(results: xr.Dataset) -> xr.Dataset:
    for metric in _SHARES.values():
        results = scaled(metric, 0.5)(results)
    return results


_SECTION = "Wang and Xu, §3.3, after eqs. (12) and (13)"

CLAIMS = (
    Claim(
        id="wang.theorem_1",
        statement=(
            "A released answer spends its budget ε, and no more, whatever it says, also where "
            "other answers are known to be flipped."
        ),
        source="Wang and Xu, Theorem 1",
        experiment="wang/privacy",
        simulated=controls.ONE_FLIP,
        measure=_loss,
        tolerance={_ALL: Within(1, 0.05)} | dict.fromkeys((_ONES, _ZEROS, _BESIDE), Within(1, 0.1)),
        why=(
            "The privacy loss of an answer is this log ratio exactly. The Monte Carlo error is 3 "
            "% at ε = 0.1, of each label or beside a flipped answer 5 %."
        ),
        conditions=(
            "ε = 0.1 to 8, and to 2 beside a flipped answer; perfect workers, so that a wrong "
            "answer is a flipped one. The m answers of a worker together spend mε."
        ),
        control=NegativeControl("half as many answers flipped", _all_shares_halved),
    ),
    Claim(
        id="wang.equation_22",
        statement="A released answer is right with probability ½ + tanh(ε/2)(p − ½).",
        source="Wang and Xu, eqs. (9) and (22)",
        experiment="wang/privacy",
        simulated=controls.HALF_BUDGET,
        measure=_released,
        tolerance=exact_law(0.005) | {_BY_ABILITY: Within(1, 0.02)},
        why=(
            "An exact law; the cells of each distribution of abilities are taken together. The "
            "slope in p is known to 0.4 %."
        ),
        conditions="ε = 0.1 to 8; perfect workers, and abilities uniform on [½, 1].",
        control=NegativeControl("answers that are not flipped", _unflipped),
    ),
    Claim(
        id="wang.limits.zero",
        statement="As ε goes to 0 labels cannot be learned: half of them are wrong.",
        source=_SECTION,
        experiment="wang/limits",
        simulated=controls.UNFLIPPED,
        measure=_without_budget,
        tolerance=Within(0.5, 0.02),
        why="Without privacy the share is 0.08 to 0.2, far below.",
        conditions=(
            "ε ≤ 0.01; n = 20, m = 500; either estimator. Theorem 2's bound is 2 there, not ½ as "
            "the paper says."
        ),
        control=NegativeControl(
            "errors at the other end of the grid of ε", reversed_along("label_error", "epsilon")
        ),
    ),
    Claim(
        id="wang.limits.wisdom",
        statement=(
            "The wisdom of private answers is tanh²(ε/2) times that of the crowd: it goes to 0 "
            "with ε, and to the crowd's as ε grows."
        ),
        source=_SECTION,
        experiment="wang/limits",
        simulated=controls.COINS,
        measure=_private_wisdom,
        tolerance=exact_law(0.02),
        why=(
            "An exact law. The wisdom is estimated from the released answers, without bias, ε or "
            "abilities."
        ),
        conditions=(
            "ε = 0.001 to 40, on the same workers. Below ε = 0.3 single cells tell that the "
            "wisdom is small, and not by how much."
        ),
        control=NegativeControl(
            "tanh(ε/2) not squared",
            scaled(
                "wisdom_released",
                lambda r: (1 / xr.ufuncs.tanh(r["epsilon"] / 2)).where(r["mechanism"] != "none", 1),
            ),
        ),
    ),
    Claim(
        id="wang.limits.infinity",
        statement=(
            "At large ε the errors of labels and abilities are those of the fit without privacy."
        ),
        source=_SECTION,
        experiment="wang/limits",
        simulated=controls.SOME_FLIPPED,
        measure=_unlike_plain,
        tolerance=NoException(0.05),
        why="At ε = 40 an answer is flipped once in 10¹⁷.",
        conditions="ε = 40; either estimator, on the same answers, in every replication.",
        control=NegativeControl(
            "errors at ε = 1 in place of those at 40",
            lambda r: r.assign(
                label_error=r["label_error"]
                .roll(epsilon=-1 - r["epsilon"].values.tolist().index(1))
                .variable
            ),
        ),
    ),
)
