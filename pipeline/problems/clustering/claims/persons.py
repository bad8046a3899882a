"""Claims on clusterings at one promise per user: who is trusted, how many questions, how many
users.
"""

import math

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    confidence_for,
    measure_every_cell,
    normal,
    paired_cells,
)
from pipeline.analysis.selection import NotTested, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost

from . import controls

EXPERIMENT = "person/clustering"
# Pairs of a user that are compared, and of how many users: those of whom the one survey is as far
# above the spectral threshold (`theory.spectral_threshold`) as the other is below.
STEPS = ((1, 4, 120_000), (4, 16, 400_000))
TIMES = 100  # users with nobody trusted for each user with a curator
_LOCAL = "pairwise_preference"
_CURATOR = "noisy_co_occurrences"
_CONDITIONS = (
    "N = 20 items in two equal clusters, liked with 0.8 and 0.2, w = 8 ratings of a user, 1 nat a "
    "user at δ = 10⁻⁶, spectral clustering."
)


@measure_every_cell(
    "mean share of items in a wrong cluster where each user is asked about more pairs, less that "
    "of the same users with fewer"
)
def _steps(results: xr.Dataset) -> Cells:
    cells: dict[str, Estimate] = {}
    for fewer, more, users in STEPS:
        surveys: dict[str, str | float] = {"mechanism": _LOCAL, "U": users}
        data = select(results, "misclassified", at=surveys, min_levels=dict(Q=2))
        data = data.sel(Q=[fewer, more])
        step = paired_cells(data, "misclassified", "Q", more, fewer, 1 / len(STEPS))
        for estimate in step.values():
            cells[f"{fewer} to {more} pairs, U={users:,}"] = estimate
    return cells


def _means(results: xr.Dataset, mechanism: str) -> dict[float, tuple[float, float]]:
    """Mean share of items in a wrong cluster and its standard error, by the number of users."""
    data = select(results, "misclassified", at=dict(mechanism=mechanism, Q=1), min_levels=dict(U=1))
    means = summarise(data)
    of_users: dict[float, tuple[float, float]] = {}
    for users in means["U"].values.tolist():
        cell = means.sel(U=users)
        mean = float(cell["misclassified"])
        if math.isfinite(mean):
            of_users[users] = (mean, float(cell["misclassified_mcse"]))
    return of_users


@measure_every_cell(
    f"mean share of items in a wrong cluster with a curator, less that of {TIMES} times the users "
    "with nobody trusted, one pair each"
)
def _curator_less_nobody(results: xr.Dataset) -> Cells:
    nobody = _means(results, _LOCAL)
    curator = _means(results, _CURATOR)
    both = [users for users in curator if TIMES * users in nobody]
    if not both:
        raise NotTested(f"needs U and {TIMES} U, with a curator and with nobody trusted")
    confidence = confidence_for(len(both))
    cells: dict[str, Estimate] = {}
    for users in both:
        mean, error = curator[users]
        other_mean, other_error = nobody[TIMES * users]
        difference = normal(mean - other_mean, math.hypot(error, other_error), confidence)
        cells[f"U={users:g}"] = difference
    return cells


def _from_one_half(results: xr.Dataset) -> xr.Dataset:
    """Data in which whoever was better is worse by as much."""
    wrong = results["misclassified"]
    return results.assign(misclassified=(0.5 - wrong).assign_attrs(wrong.attrs))


CLAIMS = (
    Claim(
        id="banerjee.persons.nobody",
        statement="Where nobody is trusted, fewer items are clustered rightly the more pairs "
        "each user is asked about.",
        source="k·tanh²(ε₀/2) falls with k, ε₀ being the budget of one of k answers; the paper "
        "asks one question",
        experiment=EXPERIMENT,
        measure=_steps,
        tolerance=AtLeast(0),
        why="The statement is one of direction. Numbers of users are those at which spectral "
        "clustering, to first order, just learns from the one survey and just not from the "
        "other; they were tried on another seed.",
        conditions="U = 120,000 users who are asked about 1 or 4 pairs, 400,000 who are asked "
        "about 4 or 16. " + _CONDITIONS,
        control=NegativeControl("shares subtracted from one half", _from_one_half),
        simulated=controls.BITS_FOR_NOTHING,
    ),
    Claim(
        id="banerjee.persons.curator",
        statement="With a curator, a hundredth of the users is enough for fewer items in a wrong "
        "cluster.",
        source="a curator's noise is that of one record in all sums, and private bits have noise "
        "each (`theory.spectral_threshold`); not in the paper",
        experiment=EXPERIMENT,
        measure=_curator_less_nobody,
        tolerance=AtMost(0),
        why="The statement is one of direction. To first order spectral clustering learns from "
        "311 users with a curator on, and from 63,222 without: 203 times as many. Numbers of "
        "users between these were set before any was simulated; 700 and 1,000 had been tried, "
        "where a curator makes no mistake at all.",
        conditions="U = 400 and 500 users with a curator, 40,000 and 50,000 with one private bit "
        "each. " + _CONDITIONS,
        control=NegativeControl("shares subtracted from one half", _from_one_half),
        simulated=controls.BUDGET_DIVIDED,
    ),
)
