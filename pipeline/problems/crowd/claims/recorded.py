"""Claims on real crowds, bluebird and RTE: decided on the real files, never on a stand-in."""

from collections.abc import Mapping
from typing import cast

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import first_level
from pipeline.analysis.measures import Cells, exact_cells, mean_cells, measure_every_cell
from pipeline.analysis.selection import RecordedData, at_levels, select
from pipeline.analysis.tolerances import AtLeast, AtMost

from . import controls
from .common import DIRECTION, EXCHANGED, method_less_vote

BLUEBIRD = "sha256:e9362c5b1af0dbace899acf1dd8c597dbdf25350285776bea0cf5255bc7bdfa3"
RTE = "sha256:2ad788bb36cf9206c496ffdf5e4dec466a1de420bc0c403404e9d3367024ff66"
_GIVE = "data.path and data.truth"
_PRIVATE = dict(mechanism="randomized_response")
_WITH_PRIVACY = "with privacy"
_WITHOUT = "without privacy"
_LESS_VOTE = method_less_vote(at=_PRIVATE, min_levels=dict(epsilon=2))


@measure_every_cell(_LESS_VOTE.estimand)
def _with_and_without_privacy(results: xr.Dataset) -> Mapping[str, Cells]:
    """Without privacy the labels are those of the file, the same in every replication."""
    data = select(
        results, "label_error", at=dict(mechanism="none"), min_levels=dict(estimator=2, epsilon=2)
    )
    method = at_levels(data, dict(estimator="dawid_skene"))["label_error"]
    vote = at_levels(data, dict(estimator="majority_vote"))["label_error"]
    private = cast(Cells, _LESS_VOTE.compute(results))
    return {_WITH_PRIVACY: private, _WITHOUT: exact_cells(method - vote)}


@measure_every_cell("mean share of labels unlike those fitted without privacy")
def _unlike_plain(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "labels_unlike_plain",
        at=_PRIVATE | dict(estimator="dawid_skene"),
        min_levels=dict(epsilon=2),
        within=lambda d: d["epsilon"] >= 4,
    )
    return mean_cells(data, "labels_unlike_plain")


_SOURCE = "beyond Wang and Xu, who have no data"

CLAIMS = (
    Claim(
        id="wang.real.rte",
        statement=(
            "On RTE Dawid and Skene's method labels better than majority vote at moderate privacy."
        ),
        source=_SOURCE,
        experiment="wang/real",
        simulated=controls.ALIKE,
        measure=method_less_vote(
            at=_PRIVATE, min_levels=dict(epsilon=2), within=lambda d: d["epsilon"] >= 1.5
        ),
        tolerance=AtMost(0),
        why=DIRECTION,
        conditions=(
            "ε ≥ 1.5; 8,000 answers by 164 workers to 800 tasks. At ε = 0.5 it is the other way "
            "round."
        ),
        control=EXCHANGED,
        recorded=RecordedData({RTE: "RTE"}, _GIVE),
    ),
    Claim(
        id="wang.real.bluebird",
        statement="On bluebird majority vote labels better, at every ε and without privacy.",
        source=_SOURCE,
        experiment="wang/real",
        simulated=controls.ONE_COIN,
        measure=_with_and_without_privacy,
        tolerance={_WITH_PRIVACY: AtLeast(0), _WITHOUT: AtLeast(0)},
        why=DIRECTION
        + (
            " Workers see 52 % of the birds that are there and 73 % of the absences: none has one "
            "ability."
        ),
        conditions=(
            "All ε; 4,212 answers by 39 workers to 108 tasks. Without privacy nothing is drawn: "
            "27.8 against 24.1 % of the labels are wrong."
        ),
        control=EXCHANGED,
        recorded=RecordedData({BLUEBIRD: "bluebird"}, _GIVE),
    ),
    Claim(
        id="wang.real.close",
        statement="At ε = 4 and more hardly a label differs from the fit without privacy.",
        source=_SOURCE,
        experiment="wang/real",
        simulated=controls.HALF_WISDOM,
        measure=_unlike_plain,
        tolerance=AtMost(0.05),
        why="One label in twenty.",
        conditions="ε ≥ 4, either file. It is 0.038 and 0.015 at ε = 4, and 0.33 and 0.42 at 0.5.",
        control=NegativeControl(
            "labels at the least ε in place of those at all",
            first_level("labels_unlike_plain", "epsilon"),
        ),
        recorded=RecordedData({BLUEBIRD: "bluebird", RTE: "RTE"}, _GIVE),
    ),
)
