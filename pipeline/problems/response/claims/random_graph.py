"""Claims on what a random graph of pairs, public or secret, is worth as protection."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import (
    Cells,
    Measure,
    exact_cells,
    mean_cells,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtMost, Within

from .common import COMPUTED, EXACT, ROUNDING
from .controls import QUIET_NOISE

EXPERIMENT = "nguyen/random_graph"
SEVERAL = 10  # items from which graphs rarely fail to connect
MANY = 25
_SOURCE = (
    "Nguyen and Zhang, §7 (conclusion), who believe that random sparsification amplifies privacy"
)
_AXES = dict(m=1, p0=2, epsilon_user=2)
_SHARE = "variance over that charged for the graph drawn"
_CHARGE = "over the mean number of changed counts"
_CONDITIONS = (
    "p0 = ¼ and ½, ε = 1 to 7.5 at δ = 1e-4, discrete "
    "Gaussian noise by its own law; graphs drawn "
    "without the data, until they connect the items."
)


def _several(data: xr.Dataset) -> xr.DataArray:
    return data["m"] >= SEVERAL


def _few(data: xr.Dataset) -> xr.DataArray:
    return data["m"] < SEVERAL


@measure("variance of the noise that all graphs together need for (ε, δ), in every cell")
def _needed(results: xr.Dataset) -> Mapping[str, Cells]:
    drawn = select(results, "random_graph_share", min_levels=_AXES, within=_several)
    charged = select(results, "random_graph_charge", min_levels=_AXES)["random_graph_charge"]
    return {
        _SHARE: mean_cells(drawn, "random_graph_share"),
        _CHARGE: exact_cells(charged.sel(m=charged["m"] >= MANY)),
    }


def _exact(metric: str, estimand: str) -> Measure:
    @measure_every_cell(estimand)
    def value(results: xr.Dataset) -> Cells:
        values = select(results, metric, min_levels=_AXES, within=_few)[metric]
        return exact_cells(values.sel(m=values["m"] < SEVERAL))

    return value


CLAIMS = (
    Claim(
        id="nguyen.random_graph",
        headline=True,
        statement="A random graph amplifies privacy: with 10 "
        "items or more it needs at most 0.9 of "
        "the variance that the largest cut of each "
        "graph asks for, and with 25 hardly more "
        "than the counts that a row changes on average.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_needed,
        tolerance={_SHARE: AtMost(0.9), _CHARGE: AtMost(1.15)},
        why="The worst row of a known graph is its largest "
        "cut; of a graph that is still to be "
        "drawn it is any half of the items, of whose "
        "pairs p0 are on the graph. Expected are "
        "0.6 to 0.85.",
        conditions=f"m = 10 and 25 (the second part: 25). {_CONDITIONS}",
        control=NegativeControl("twice the variance", scaled("random_graph_share", 2)),
        simulated=QUIET_NOISE,
    ),
    Claim(
        id="nguyen.random_graph.exact",
        statement="With 3 and 4 items, all graphs and all "
        "rows enumerated, this variance is "
        "(ε, δ)-DP.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_exact("random_graph_exact", "exact δ over the nominal δ"),
        tolerance=AtMost(1),
        why=f"{EXACT} The bound divides by the probability that a graph connects the items.",
        conditions=f"m = 3 and 4. {_CONDITIONS}",
        control=NegativeControl("δ twice what it is", scaled("random_graph_exact", 2)),
        simulated=COMPUTED,
    ),
    Claim(
        id="nguyen.secret_graph",
        statement="To keep the graph secret protects no better: the worst row has the same δ.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_exact("secrecy_share", "exact δ with a secret graph over a published one"),
        tolerance=Within(1, ROUNDING),
        why=f"{EXACT} Of two opposite rows 0 and 0 are "
        "equally likely for both counts of a pair; "
        "any other number shows that the pair is on the graph.",
        conditions=f"m = 3 and 4; every pair on the graph with probability p0. {_CONDITIONS}",
        control=NegativeControl("a secret graph with half of δ", scaled("secrecy_share", 0.5)),
        simulated=COMPUTED,
    ),
)
