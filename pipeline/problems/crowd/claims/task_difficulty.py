"""Claims on abilities that differ by task: what votes, the method and Theorem 2 owe to equal tasks."""

import math
from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged, replaced, scaled
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import (
    Cells,
    Measure,
    mean_cells,
    measure,
    measure_every_cell,
    ratio_cells,
)
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from . import controls

EXPERIMENT = "wang/task_difficulty"
LEARNED = 8  # n v̂ of the easiest task from which abilities are learned
SURE = 16  # from which they are known well enough for weights
SMALL = 32  # from which Theorem 2's bound at mean abilities is small
_LEVELS = dict(wanted_wisdom=2)
_METHOD = dict(estimator="dawid_skene")
_CONDITIONS = (
    "n = 201, m = 500, abilities on the easiest task uniform on [½, 1]; worker i is right on task "
    "j with probability ½ + e_j(p_i − ½), e_j uniform on [0, 1]"
)
_SOURCE = "beyond Wang and Xu, whose workers have one ability for all tasks"


def _ratio(estimand: str, yardstick: str, least: float) -> Measure:
    """Mean share of wrong labels of the method over the mean of a yardstick, in every cell."""

    @measure_every_cell(estimand)
    def over(results: xr.Dataset) -> Cells:
        data = select(
            results,
            "label_error",
            yardstick,
            at=_METHOD,
            min_levels=_LEVELS,
            within=lambda cells: cells["wanted_wisdom"] >= least,
        )
        return ratio_cells(data, "label_error", yardstick, power=1)

    return over


@measure("simulated over exact share of wrong labels of majority vote")
def _vote(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(
        results,
        "label_error",
        "task_vote_error",
        at=dict(estimator="majority_vote"),
        min_levels=_LEVELS,
    )
    return law_ratios(data, "label_error", "task_vote_error", 1)


@measure_every_cell("mean share of wrong labels over 1/√(2π n v̂)")
def _over_first_order(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "label_error",
        at=_METHOD,
        min_levels=_LEVELS,
        within=lambda cells: cells["wanted_wisdom"] >= LEARNED,
    )
    scale = xr.ufuncs.sqrt(2 * math.pi * data["wanted_wisdom"])
    data["label_error"] = data["label_error"] * scale
    return mean_cells(data, "label_error")


CLAIMS = (
    Claim(
        id="wang.task_difficulty.vote",
        statement="Where some tasks are harder than others, private majority vote errs as the "
        "Poisson–binomial law of each task says.",
        source=_SOURCE + "; Wang and Xu, eq. (18), task by task",
        experiment=EXPERIMENT,
        simulated=controls.TASKS_ALIKE,
        measure=_vote,
        tolerance=exact_law(0.03),
        why="An exact law, given abilities and easiness.",
        conditions=f"{_CONDITIONS}; all cells.",
        control=NegativeControl(
            "the law at the abilities that workers have on average",
            replaced("task_vote_error", "majority_error_exact"),
        ),
    ),
    Claim(
        id="wang.task_difficulty.theorem_2",
        statement="Theorem 2's bound needs equal tasks: at the abilities that workers have on "
        "average more labels are wrong than 2exp(−n v̂/2).",
        source=_SOURCE + "; Wang and Xu, Theorem 2",
        experiment=EXPERIMENT,
        simulated=controls.TASKS_ALIKE,
        measure=_ratio(
            "mean share of wrong labels over the mean bound", "label_error_bound", SMALL
        ),
        tolerance=AtLeast(1),
        why="The hardest tasks have most of the errors, and the bound knows the mean task only.",
        conditions=f"{_CONDITIONS}; n v̂ of the easiest task from {SMALL} on, a bound of 0.04 or "
        "less.",
        control=NegativeControl(
            "bounds of each task in place of those of the mean task",
            replaced("label_error_bound", "task_error_bound"),
        ),
    ),
    Claim(
        id="wang.task_difficulty.bound",
        statement="Task by task it holds: no more than a quarter of the mean of 2exp(−e² n v̂/2) "
        "over tasks is wrong.",
        source=_SOURCE + "; Wang and Xu, Theorem 2, for each task by itself",
        experiment=EXPERIMENT,
        simulated=controls.FLIPPED_TWICE,
        measure=_ratio(
            "mean share of wrong labels over the mean of the tasks' bounds",
            "task_error_bound",
            LEARNED,
        ),
        tolerance=AtMost(0.25),
        why="The integrals of Φ(−e√x) and of 2exp(−e²x/2) over e in [0, 1] have the ratio 1/(2π) "
        "to first order.",
        conditions=f"{_CONDITIONS}; n v̂ from {LEARNED} on.",
        control=NegativeControl("twice as many wrong labels", scaled("label_error", 2)),
    ),
    Claim(
        id="wang.task_difficulty.rate",
        statement="Where tasks are of all difficulties, wrong labels fall with the root of n v̂ "
        "only, as 1/√(2π n v̂), and not exponentially.",
        source=_SOURCE + "; first order of the integral of Φ(−e√(n v̂)) over e",
        experiment=EXPERIMENT,
        simulated=controls.TASKS_ALIKE,
        measure=_over_first_order,
        tolerance=Within(1, 0.15),
        why="A share of 0.8/√(n v̂) of the tasks is too hard for this crowd, and half of their "
        "labels are wrong. Equal tasks would have a tenth of the errors at n v̂ = 32. "
        "The tolerance was set after a look at 20 replications.",
        conditions=f"{_CONDITIONS}; n v̂ from {LEARNED} to 48.",
        control=NegativeControl(
            "errors divided by √(n v̂)",
            scaled("label_error", lambda r: r["wanted_wisdom"] ** -0.5),
        ),
    ),
    Claim(
        id="wang.task_difficulty.oracle",
        statement="One ability per worker loses hardly a label: Dawid and Skene's method has at "
        "most a tenth more wrong labels than one who knows abilities and easiness.",
        source=_SOURCE + "; Bayes' rule with the true chances",
        experiment=EXPERIMENT,
        simulated=controls.VOTE,
        measure=_ratio(
            "mean share of wrong labels over the oracle's on the same answers",
            "task_oracle_error",
            SURE,
        ),
        tolerance=AtMost(1.1),
        why="Easiness multiplies all leans of a task, so that weights of private answers keep "
        "their proportions. A vote has 1.12 to 1.16 times the oracle's errors. "
        "The tolerance was set after a look at 20 replications.",
        conditions=f"{_CONDITIONS}; n v̂ from {SURE} on.",
        control=NegativeControl(
            "majority vote in place of Dawid and Skene",
            exchanged("estimator", "majority_vote", "dawid_skene"),
        ),
    ),
    Claim(
        id="wang.task_difficulty.sure",
        headline=True,
        statement="But it is far too sure: more than twice as many labels are wrong as its "
        "posterior expects.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        simulated=controls.TASKS_ALIKE,
        measure=_ratio(
            "mean share of wrong labels over that which the posterior expects",
            "label_error_expected",
            LEARNED,
        ),
        tolerance=AtLeast(2),
        why="With one ability per worker, answers to hard tasks count as much as those to easy "
        "ones. A posterior that is calibrated has 1. "
        "The tolerance was set after a look at 20 replications.",
        conditions=f"{_CONDITIONS}; n v̂ from {LEARNED} on.",
        control=NegativeControl("a third of the wrong labels", scaled("label_error", 1 / 3)),
    ),
)
