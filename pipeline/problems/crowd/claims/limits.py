"""Claims of Wang and Xu on one released answer, Theorem 1, and on budgets that go to 0 and to infinity."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import reversed_along, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import (
    Cells,
    confidence_for,
    labelled,
    mean_cells,
    measure,
    measure_every_cell,
    share_of_exceptions,
)
from pipeline.analysis.selection import select
from pipeline.analysis.summary import REPLICATION, summarise
from pipeline.analysis.tolerances import NoException, Within


@measure_every_cell("log of unflipped over flipped answers, over ε")
def _loss(results: xr.Dataset) -> Cells:
    data = select(results, "answers_wrong", min_levels=dict(epsilon=3, ability_low=1),
                  within=lambda d: d["ability_low"] == 1)
    cells = summarise(data, confidence_for(data)).sel(ability_low=1.0)
    flipped, low, high = (cells[f"answers_wrong{end}"] for end in ("", "_low", "_high"))
    error = cells["answers_wrong_mcse"] / (flipped * (1 - flipped)) / data["epsilon"]

    def spent(share: xr.DataArray) -> xr.DataArray:
        odds: xr.DataArray = xr.ufuncs.log((1 - share) / share)
        return odds / data["epsilon"]

    return labelled(xr.Dataset(dict(value=spent(flipped), low=spent(high), high=spent(low), error=error)).reset_coords(
        drop=True))


@measure("share of wrong answers over its expectation")
def _released(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(results, "answers_wrong", "answers_wrong_expected", min_levels=dict(epsilon=3, ability_low=1))
    return law_ratios(data, "answers_wrong", "answers_wrong_expected", 1, "ability_low")


def _unflipped(results: xr.Dataset) -> xr.Dataset:
    wrong = 0.5 - (0.5 - results["answers_wrong"]) / xr.ufuncs.tanh(results["epsilon"] / 2)
    return results.assign(answers_wrong=wrong.transpose(*results["answers_wrong"].dims))


@measure_every_cell("mean share of wrong labels")
def _without_budget(results: xr.Dataset) -> Cells:
    data = select(results, "label_error", at=dict(mechanism="randomized_response"),
                  min_levels=dict(epsilon=3, estimator=2), within=lambda d: d["epsilon"] <= 0.01)
    return mean_cells(data, "label_error")


@measure_every_cell("v̂ over tanh²(ε/2) v; as interval the range over replications")
def _private_wisdom(results: xr.Dataset) -> Cells:
    data = select(results, "wisdom", at=dict(estimator="dawid_skene"), min_levels=dict(epsilon=3, mechanism=2))
    part = data["wisdom"].sel(mechanism="randomized_response") / data["wisdom"].sel(mechanism="none")
    part = (part / xr.ufuncs.tanh(data["epsilon"] / 2) ** 2).reset_coords(drop=True)
    mean = part.mean(REPLICATION)
    return labelled(xr.Dataset(dict(
        value=mean, low=part.min(REPLICATION), high=part.max(REPLICATION), error=0 * mean)))


@measure("share of replications in which either error differs by more than 10⁻⁹ from that without privacy")
def _unlike_plain(results: xr.Dataset) -> Estimate:
    errors = ("label_error", "ability_error_l2")
    data = select(results, *errors, min_levels=dict(epsilon=1, mechanism=2, estimator=2),
                  within=lambda d: d["epsilon"] >= 40)
    labels, abilities = (abs(data[name].diff("mechanism").squeeze("mechanism")) > 1e-9 for name in errors)
    return share_of_exceptions(labels | abilities, (data["status"] > 0).all("mechanism"))


_SECTION = "Wang and Xu, §3.3, after eqs. (12) and (13)"

CLAIMS = (
    Claim(
        id="wang.theorem_1",
        statement="A released answer spends its budget ε, and no more.",
        source="Wang and Xu, Theorem 1",
        experiment="wang/privacy",
        measure=_loss,
        tolerance=Within(1, 0.05),
        why="The privacy loss of an answer is this log ratio exactly. The Monte Carlo error is 3 % at ε = 0.1.",
        conditions="ε = 0.1 to 8; perfect workers, so that a wrong answer is a flipped one. The m answers of a worker "
                   "together spend mε.",
        control=NegativeControl("half as many answers flipped", scaled("answers_wrong", 0.5)),
    ),
    Claim(
        id="wang.equation_22",
        statement="A released answer is right with probability ½ + tanh(ε/2)(p − ½).",
        source="Wang and Xu, eqs. (9) and (22)",
        experiment="wang/privacy",
        measure=_released,
        tolerance=exact_law(0.005),
        why="An exact law; the cells of each distribution of abilities are taken together.",
        conditions="ε = 0.1 to 8; perfect workers, and abilities uniform on [½, 1].",
        control=NegativeControl("answers that are not flipped", _unflipped),
    ),
    Claim(
        id="wang.limits.zero",
        statement="As ε goes to 0 nothing can be learned: half of the labels are wrong.",
        source=_SECTION,
        experiment="wang/limits",
        measure=_without_budget,
        tolerance=Within(0.5, 0.02),
        why="Without privacy the share is 0.08 to 0.2, far below.",
        conditions="ε ≤ 0.01; n = 20, m = 500. Theorem 2's bound is 2 there, not ½ as the paper says.",
        control=NegativeControl("errors at the other end of the grid of ε", reversed_along("label_error", "epsilon")),
    ),
    Claim(
        id="wang.limits.wisdom",
        statement="The wisdom of private answers is tanh²(ε/2) times that of the crowd: it goes to 0 with ε, and to "
                  "the crowd's as ε grows.",
        source=_SECTION,
        experiment="wang/limits",
        measure=_private_wisdom,
        tolerance=Within(1, 1e-6),
        why="An identity; the rounding error is 10⁻¹⁰ at ε = 0.001.",
        conditions="ε = 0.001 to 40, with and without privacy on the same workers.",
        control=NegativeControl("tanh(ε/2) not squared", scaled("wisdom", lambda r: (
            1 / xr.ufuncs.tanh(r["epsilon"] / 2)).where(r["mechanism"] != "none", 1))),
    ),
    Claim(
        id="wang.limits.infinity",
        statement="At large ε the labels and abilities are those of the fit without privacy.",
        source=_SECTION,
        experiment="wang/limits",
        measure=_unlike_plain,
        tolerance=NoException(0.05),
        why="At ε = 40 an answer is flipped once in 10¹⁷.",
        conditions="ε = 40; either estimator, on the same answers.",
        control=NegativeControl("errors at ε = 1 in place of those at 40", lambda r: r.assign(
            label_error=r["label_error"].roll(epsilon=-1 - r["epsilon"].values.tolist().index(1)).variable)),
    ),
)
