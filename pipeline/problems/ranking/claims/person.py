"""Claims on what a person's budget buys where nobody is trusted: questions, people,
boundaries.
"""

from collections.abc import Iterator

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    confidence_for,
    labelled,
    measure_every_cell,
    ratio_cells,
)
from pipeline.analysis.selection import NotTested, select
from pipeline.analysis.summary import summarise, t_interval
from pipeline.analysis.tolerances import AtLeast, Within

from ..theory.person import best_questions, worth
from . import promise

QUESTIONS = "person/ranking_questions"
BOUNDARIES = "person/ranking_boundaries"
TRUST = "person/ranking_trust"
ALL = "all"
_TRUSTED = ("shuffled_response", "noisy_counts")
_LEVELS = dict(m=1, person=2, survey=3)
_CLAIMED = {("1"): ("one question each", 0.5, -0.5), ALL: ("all pairs each", 1.5, -0.5)}


@measure_every_cell("mean ‖θ̂ − θ*‖₂²/m over that of the first order")
def _over_first_order(results: xr.Dataset) -> Cells:
    data = select(results, "error_l2", "first_order_risk", min_levels=_LEVELS)
    return ratio_cells(data, "error_l2", "first_order_risk")


def _people(results: xr.Dataset) -> xr.Dataset:
    """People needed for one error: mean, its error, replications.

    Over m, person and survey.

    The squared error falls as one over the people, so that those asked, times the
    squared error, are as many as would be needed for an error of one logit.
    """
    data = select(results, "error_l2", min_levels=_LEVELS)
    data["people"] = data["error_l2"] ** 2 * data["L"]
    data[("questions")] = data["questions"].broadcast_like(data["status"].isel(replication=0))
    return summarise(data[["people", "status"]]).assign(questions=data["questions"])


def _nearest(cells: xr.Dataset) -> xr.DataArray:
    """Cells with the number of questions, of those in the grid, at which the budget
    is worth most.
    """
    chances = xr.apply_ufunc(worth, cells[("questions")], cells["person"], vectorize=True)
    nearest: xr.DataArray = chances == chances.max("survey")
    return nearest


def _ratio(cells: xr.Dataset, keep: xr.DataArray, over: xr.DataArray | float = 1.0) -> Cells:
    """People needed over those with the best number of questions, where `keep`.

    All at once.
    """
    best = _nearest(cells)
    mean = cells["people"]
    relative = cells["people_mcse"] / mean
    least = mean.where(best).sum("survey")
    ratio = (mean / least / over).where(keep & ~best)
    error = ratio * xr.ufuncs.hypot(relative, relative.where(best).sum("survey"))
    count = max(int(ratio.notnull().sum()), 1)
    low, high = t_interval(ratio, error, cells["people_n"], confidence_for(count))
    ratios = xr.Dataset(dict(value=ratio, low=low, high=high, error=error))
    return labelled(ratios.reset_coords(drop=True))


@measure_every_cell(
    "people needed if a person's questions are further than one from max(1, "
    "E/2.177), over those with the nearest number in the grid"
)
def _further(results: xr.Dataset) -> Cells:
    cells = _people(results)
    best = xr.apply_ufunc(best_questions, cells["person"], vectorize=True)
    return _ratio(cells, abs(cells["questions"] - best) > 1)


@measure_every_cell(
    "people needed to ask all pairs, over those with the best number of "
    "questions, over what k·tanh²(E/2k) says"
)
def _factor(results: xr.Dataset) -> Cells:
    cells = _people(results)
    if ALL not in cells["survey"].values.tolist():
        raise NotTested(f"needs survey={ALL}")
    worths = xr.apply_ufunc(worth, cells[("questions")], cells["person"], vectorize=True)
    predicted = worths.max("survey") / worths
    return _ratio(cells, cells["survey"] == ALL, predicted)


@measure_every_cell(
    "budget of a person who is asked one question if nobody is trusted, over the one of "
    "a person who compares all pairs for a shuffler or a curator, where the error is 0.1 logits"
)
def _gain_of_trust(results: xr.Dataset) -> Cells:
    curves = 1 + len(_TRUSTED)
    least = dict(m=1, L=1, x=3)
    local = dict(mechanism="randomized_response", survey="1")
    nobody = promise.boundary(results, local, "person", least, curves)
    cells: dict[str, Estimate] = {}
    for mechanism in _TRUSTED:
        of_all = dict(mechanism=mechanism, survey=ALL)
        trusted = promise.boundary(results, of_all, "person", least, curves)
        gains = xr.Dataset(dict(value=nobody["value"] / trusted["value"]))
        gains["low"] = nobody["low"] / trusted["high"]
        gains["high"] = nobody["high"] / trusted["low"]
        relative = xr.ufuncs.hypot(nobody["standard_error"], trusted["standard_error"])
        gains["error"] = gains["value"] * relative
        of_mechanism = labelled(gains.reset_coords(drop=True))
        cells |= {f"{mechanism}, {label}": cell for label, cell in of_mechanism.items()}
    return cells


_PROMISE = (
    "m = 5 to 40, E = ½ to 10 nats a person, nobody trusted, balanced surveys, θ* "
    "uniform on (−½, ½); as many people as the first order asks for an error of "
    "0.1 logits."
)


def _boundary_claims() -> Iterator[Claim]:
    for survey, (words, in_items, in_users) in _CLAIMED.items():
        name = "one" if survey == "1" else ALL
        order = "√(m/L)" if survey == "1" else "√(m³/L)"
        at = dict(survey=survey)
        yield Claim(
            id=f"person.ranking.boundary.{name}",
            headline=True,
            statement=(
                f"Where nobody is trusted, {words}, the budget of a person at "
                f"which learning ends is of order {order}."
            ),
            source=promise.FIRST_ORDER,
            experiment=BOUNDARIES,
            measure=promise.exponents("the budget of a person", at, "person"),
            tolerance={
                promise.IN_ITEMS: Within(in_items, 0.05),
                promise.IN_USERS: Within(in_users, 0.05),
            },
            why=promise.NARROW,
            conditions=("m = 20 to 80, L = 8·10⁵ to 1.28·10⁷, θ* uniform on (−0.2, 0.2)."),
            control=promise.LARGER_BY_USERS,
            simulated=promise.BY_MANY_USERS_KNOWN,
        )
        yield Claim(
            id=f"person.ranking.constant.{name}",
            statement=f"That budget, {words}, is the one of the first order.",
            source=promise.FIRST_ORDER,
            experiment=BOUNDARIES,
            measure=promise.constants("budget of a person", at),
            tolerance=Within(1, 0.1),
            why=promise.NEAR,
            conditions=("m = 20 to 80, L = 8·10⁵ to 1.28·10⁷, θ* uniform on (−0.2, 0.2)."),
            control=promise.A_FIFTH_LARGER,
            simulated=promise.HALF_OF_FLIPS,
        )


def _as_if_nobody(results: xr.Dataset) -> xr.Dataset:
    budgets = results["person"]
    local = budgets.sel(mechanism="randomized_response", survey="1", drop=True)
    return results.assign_coords(person=local.broadcast_like(budgets))


CLAIMS = (
    Claim(
        id="person.ranking.law",
        statement=("With any number of questions the squared error is that of the first order."),
        source=("sandwich formula with Lk/P comparisons of a pair; not in the papers"),
        experiment=QUESTIONS,
        measure=_over_first_order,
        tolerance=Within(1, 0.1),
        why=(
            "At an error of 0.1 logits the next order is 0.03; a question that "
            "was counted twice would give 2."
        ),
        conditions=_PROMISE,
        control=promise.A_FIFTH_LARGER,
        simulated=promise.HALF_OF_FLIPS,
    ),
    Claim(
        id="person.ranking.best",
        headline=True,
        statement=(
            "Where nobody is trusted, a budget of E nats a person is best spent on "
            "max(1, E/2.177) questions, within one."
        ),
        source=("root of sinh y = 2y, where tanh²(y/2)/y is largest; not in the papers"),
        experiment=QUESTIONS,
        measure=_further,
        tolerance=AtLeast(1),
        why=(
            "The statement is one of direction. Next to the best the curve is "
            "flat: 6 questions at E = 10 need 4 % more people than 5."
        ),
        conditions=_PROMISE,
        control=NegativeControl(
            "fewer people needed where more are asked",
            scaled("error_l2", lambda results: results["L"] ** -0.75),
        ),
        simulated=promise.WHOLE_EACH,
    ),
    Claim(
        id="person.ranking.factor",
        headline=True,
        statement=(
            "To ask everybody everything needs as many times the people as "
            "k·tanh²(E/2k) says: 750 times at m = 40 and E = ½."
        ),
        source=("information of k flipped comparisons of equal items; not in the papers"),
        experiment=QUESTIONS,
        measure=_factor,
        tolerance=Within(1, 0.1),
        why=(
            "Comparisons of unequal items have less variance of their own than ¼, "
            "which is a few per cent where flips are rare."
        ),
        conditions=_PROMISE,
        control=NegativeControl(
            "errors of people who answer all questions at once",
            scaled(("error_l2"), lambda results: (results["L"] / results["L"].min()) ** 0.1),
        ),
        simulated=promise.WHOLE_EACH,
    ),
    *_boundary_claims(),
    Claim(
        id="person.ranking.trust",
        headline=True,
        statement=(
            "Who trusts a shuffler or a curator can promise ten times less than who trusts "
            "nobody, or less still, for a ranking that is as good."
        ),
        source=promise.FIRST_ORDER,
        experiment=TRUST,
        measure=_gain_of_trust,
        tolerance=AtLeast(10),
        why=("By the first order it is of order √L: 90 to 570 times for 8·10⁴ to 1.28·10⁶ people."),
        conditions=(
            "m = 20 and 40, L = 8·10⁴ to 1.28·10⁶, θ* uniform on (−0.2, 0.2); δ = 10⁻⁶ where "
            "somebody is trusted. Nobody trusted: one question each; else all pairs."
        ),
        control=NegativeControl(
            "budgets of all mechanisms recorded as those where nobody is trusted",
            _as_if_nobody,
        ),
        simulated=promise.OUT_OF_BUDGETS,
    ),
)
