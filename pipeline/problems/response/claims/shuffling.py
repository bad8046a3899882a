"""Claims of Nguyen and Zhang on reports in random order, and the search for their budget."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, NotSimulated, PositiveControl
from pipeline.analysis.controls import replaced, scaled
from pipeline.analysis.measures import Cells, exact_cells, measure_every_cell
from pipeline.analysis.selection import select
from pipeline.analysis.summary import REPLICATION
from pipeline.analysis.tolerances import AtLeast, AtMost, Within
from pipeline.privacy.accounting import shuffling_limit

from .common import DELTA, EXACT, ROUNDING

ABOVE_ONE = 1.00001  # a gain that is no rounding
_GRID = dict(n=2, epsilon_user=3)
_BELOW = "ε below the limit"
_BEYOND = "ε beyond the limit"


@measure_every_cell("exact ε at δ over the theorem's, of reports that are one binary answer each")
def _exact_over_theorem(results: xr.Dataset) -> Cells:
    data = select(results, "local_budget", "shuffled_epsilon_exact", min_levels=_GRID)
    amplified = (data["local_budget"] > data["epsilon_user"] * (1 + ROUNDING)).all(REPLICATION)
    return exact_cells((data["shuffled_epsilon_exact"] / data["epsilon_user"]).where(amplified))


@measure_every_cell("ε0/ε")
def _gain(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(results, "local_budget", min_levels=_GRID)
    below = data["epsilon_user"] < xr.apply_ufunc(shuffling_limit, data["n"], DELTA)
    gain = data["local_budget"] / data["epsilon_user"]
    return {_BELOW: exact_cells(gain.where(below)), _BEYOND: exact_cells(gain.where(~below))}


@measure_every_cell("ε0 of the search over the ε0 that is known to be allowed")
def _published_over_allowed(results: xr.Dataset) -> Cells:
    data = select(results, "local_budget", "local_budget_published", min_levels=_GRID)
    return exact_cells(data["local_budget_published"] / data["local_budget"])


_COMPUTED = NotSimulated(
    "Accounts are computed from a budget and the number of persons; no release enters them."
)
_PERSONS = "n = 100 to 10,000, ε = 0.01 to 7.5 at δ = 1e-4."

CLAIMS = (
    Claim(
        id="nguyen.shuffling",
        row="N11",
        statement="Reports of budget ε0 in random order are (ε, δ)-DP for the ε of the theorem.",
        source="Nguyen and Zhang, supplement, Lemma 4.1 (Feldman, McMillan and "
        "Talwar, Theorem III.1)",
        experiment="nguyen/shuffling",
        measure=_exact_over_theorem,
        tolerance=AtMost(1 + ROUNDING),
        # The theorem is about every kind of report, and these cost a fifth of its ε
        # or less.
        only_refutable=True,
        why=EXACT,
        conditions=f"{_PERSONS} Cells where shuffling is charged. Binary answers "
        "are one kind of report, so this can refute and not prove. They cost a "
        "fifth of the theorem's ε or less.",
        control=NegativeControl(
            "reports that are not shuffled", replaced("shuffled_epsilon_exact", "local_budget")
        ),
        simulated=_COMPUTED,
    ),
    Claim(
        id="nguyen.shuffling.range",
        statement="Shuffling is charged, and allows a report a larger budget "
        "than ε, exactly where ε is below log(n/(16 log(2/δ))).",
        source="the range of the same theorem; with 200 persons ε = 0.23, with 1,000 ε = 1.84",
        by_construction=True,
        experiment="nguyen/shuffling",
        measure=_gain,
        tolerance={_BELOW: AtLeast(ABOVE_ONE), _BEYOND: Within(1, ROUNDING)},
        why=EXACT,
        conditions=f"{_PERSONS} All cells. The limit is positive from 159 "
        "persons on. The paper's experiments have ε up to 7.5, mostly beyond the "
        "range. Beyond it ε0 = ε by definition.",
        control=NegativeControl(
            "persons ten times as many as there are", lambda r: r.assign_coords(n=10 * r["n"])
        ),
        simulated=_COMPUTED,
    ),
    Claim(
        id="nguyen.shuffling.published",
        row="N7",
        statement="The published search finds the largest budget of a report that (ε, δ) allows.",
        source="Nguyen and Zhang, supplement, find_effective_epsilon0_rr",
        experiment="nguyen/shuffling",
        measure=_published_over_allowed,
        tolerance=Within(1, ROUNDING),
        why=EXACT,
        conditions=f"{_PERSONS} All cells. The statement is false: beyond the "
        "range the search returns the limit, where ε0 = ε needs no theorem. With "
        "200 persons and ε = 7.5 it is 0.23, so that the paper's randomized "
        "response is noisier than it need be; ours has ε0 = ε there.",
        control=NegativeControl(
            "half of what the search finds", scaled("local_budget_published", 0.5)
        ),
        simulated=_COMPUTED,
        positive=PositiveControl(
            "the budget that is allowed", replaced("local_budget_published", "local_budget")
        ),
    ),
)
