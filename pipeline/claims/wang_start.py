"""Claims on what Wang and Xu leave open: the initial vector, when to trust a vote instead, and sparse answers."""

import numpy as np

from pipeline.claims.claim import Claim, TooLittle, at_least, at_most, equivalence, throughout
from pipeline.claims.evidence import HIGH, average, enough, renamed, share
from pipeline.claims.wang_limits import cells_of, rare
from pipeline.reduce.summary import paired_difference, summarise

WEAK, STRONG = 2.3, 3.4  # strength a v̂ √(nm): below a vote is better, above Dawid and Skene
MOST = 25  # strength beyond which too few labels are wrong to tell
LEAD = 4  # of right over wrong initial labels, in units of √m
FOUND = 3.0  # strength from which the start does not matter
LITTLE = 0.01  # of the labels
SELDOM = 0.03  # of the data sets
OFF = 1e-12  # λ that lets an ability be 1 up to rounding
_STRENGTH = "strength a v̂ √(nm), a: share of answers given"


def _against_vote(within, decide, aim, **axes):
    """Check of the paired difference Dawid and Skene less vote in every cell `within`."""

    def check(results):
        data = enough(results, "label_error", "crowd_strength", estimator=2, within=within, **axes)
        apart = paired_difference(data, "label_error", "estimator", "dawid_skene", "majority_vote")
        return throughout(cells_of(data, apart["mean"], apart["mcse"]), lambda one, cell: decide(
            one, 0, f"Dawid and Skene less vote at {cell}:"), aim)

    return check


def _weak(data):
    return data["crowd_strength"] <= WEAK


def _strong(data):
    return (data["crowd_strength"] >= STRONG) & (data["crowd_strength"] <= MOST)


def _recovered(results):
    data = enough(results, "label_error", "crowd_strength", m=1, epsilon=1, lead=3,
                  within=lambda d: (d["crowd_strength"] >= FOUND) & (d["lead"] >= LEAD))
    if not (data["lead"] > LEAD).any():
        raise TooLittle(f"needs a lead beyond {LEAD}")
    return _worse(data, "lead", LEAD, data["lead"].values.max())


def _chance(results):
    data = enough(results, "label_flipped", m=1, epsilon=1, lead=3, within=lambda d: d["lead"] == 0)
    cells = summarise(data)
    return equivalence(average(cells["label_flipped"], cells["label_flipped_mcse"], share(1)), 0.5, 0.06,
                       "share flipped at lead 0")


def _collapse(results):
    data = enough(results, "label_flipped", m=2, epsilon=1, lead=3,
                  within=lambda d: (d["epsilon"] >= 1) & (d["lead"] >= 0.25) & (d["lead"] <= 1))
    cells = summarise(data)
    mean, mcse = (cells[name].reset_coords(drop=True) for name in ("label_flipped", "label_flipped_mcse"))
    apart = mean.isel(m=-1, drop=True) - mean.isel(m=0, drop=True)
    error = np.hypot(mcse.isel(m=-1, drop=True), mcse.isel(m=0, drop=True))
    return equivalence(average(apart, error, share(1)), 0, 0.06, "share flipped, most less fewest tasks")


def _rolled(results):
    """Twin data: with most tasks, the flips of two leads before."""
    flipped = results["label_flipped"].copy(deep=True)
    flipped[dict(m=-1)] = results["label_flipped"].isel(m=-1).roll(lead=2).variable
    return results.assign(label_flipped=flipped)


def _led(results):
    """Twin data: errors from a lead of 0 where the lead is 4, and so on."""
    shift = results["lead"].values.tolist().index(LEAD)
    return results.assign(label_error=results["label_error"].roll(lead=shift).variable)


_CELLS = dict(ability_low=1, m=1, epsilon=1, initialisation=2)


def _from_vote(results):
    data = enough(results, "label_error", "crowd_strength", **_CELLS,
                  within=lambda d: (d["crowd_strength"] >= FOUND) & (d["ability_low"] >= 0.4))
    for start in ("majority", "given"):
        if start not in data["initialisation"]:
            raise TooLittle(f"needs initialisation={start}")
    return _worse(data, "initialisation", "majority", "given")


def _worse(data, axis, first, second):
    """Check that hardly a data set has more wrong labels at the first level of an axis than at the second."""
    error = data["label_error"].where(data["status"] > 0)
    apart = error.sel({axis: first}, drop=True) - error.sel({axis: second}, drop=True)
    return rare((apart > LITTLE).where(apart.notnull()), SELDOM, "share of data sets with more wrong labels:")


def _spectral(results):
    data = enough(results, "label_error", **_CELLS)
    apart = paired_difference(data, "label_error", "initialisation", "spectral", "majority")
    return at_least(average(apart["mean"], apart["mcse"], share(1)), -LITTLE, "more wrong labels, mean over cells")


def _half(results):
    data = enough(results, "label_flipped", "crowd_strength", ability_low=1, m=1, epsilon=1, initialisation="majority",
                  within=lambda d: (d["ability_low"] == 0.2) & (d["crowd_strength"] >= FOUND))
    cells = summarise(data)
    return equivalence(average(cells["label_flipped"], cells["label_flipped_mcse"], share(1)), 0.5, 0.1,
                       "share flipped")


def _from_truth(results):
    data = enough(results, "label_error", "oracle_error", "crowd_strength", ability_low=1, m=1, epsilon=1,
                  initialisation="given", within=lambda d: d["crowd_strength"] <= 1.5)
    data["lost"] = data["label_error"] - data["oracle_error"]
    cells = summarise(data[["lost", "status"]])
    return throughout(cells_of(data, cells["lost"], cells["lost_mcse"]), lambda one, cell: at_least(
        one, 0.05, f"more wrong labels than the oracle's at {cell}:"), HIGH)


def _freed(results):
    data = enough(results, "label_error", epsilon=1, projection=2, within=lambda d: d["epsilon"] >= 4)
    free, off = data["projection"].values.max(), data["projection"].values.min()
    if off > OFF:
        raise TooLittle(f"needs a projection of at most {OFF:g}, which is none")
    apart = paired_difference(data, "label_error", "projection", free, off)
    return throughout(cells_of(data, apart["mean"], apart["mcse"]), lambda one, cell: at_most(
        one, -0.05, f"λ={free:g} less none at {cell}:"), -HIGH)


def _off(results):
    """Twin data: the errors without projection at every λ."""
    error = results["label_error"].isel(projection=0) + 0 * results["label_error"]
    return results.assign(label_error=error.transpose(*results["label_error"].dims))


_SAME_NAME = dict(twin="the two estimators under each other's name",
                  twin_data=renamed("estimator", "dawid_skene", "majority_vote"))
_DIRECTION = "The statement is one of direction. Thresholds read off a first run with another seed."
_OPEN = "the open problem in the conclusion of Wang and Xu"


def _vote_claims(experiment, name, where, axes):
    about = dict(experiment=experiment, source=_OPEN, why=_DIRECTION,
                 tolerance="{} 0 in every cell (simultaneous intervals)",
                 estimand="difference of mean shares of wrong labels on the same release, in every cell")
    yield Claim(**about | dict(
        id=f"wang.{name}.weak", tolerance=about["tolerance"].format("at least"),
        statement="In a weak crowd majority vote labels better than Dawid and Skene's method started at it.",
        conditions=f"Cells with {_STRENGTH}, at most {WEAK:g}; {where}. EM has converged: it is its optimum that errs.",
        check=_against_vote(_weak, at_least, HIGH, **axes)), **_SAME_NAME)
    yield Claim(**about | dict(
        id=f"wang.{name}.strong", tolerance=about["tolerance"].format("at most"),
        statement="In a strong crowd Dawid and Skene's method labels better than majority vote.",
        conditions=f"Cells with {_STRENGTH}, {STRONG:g} to {MOST}: beyond, hardly a label is wrong; {where}.",
        check=_against_vote(_strong, at_most, -HIGH, **axes)), **_SAME_NAME)


CLAIMS = (
    *_vote_claims("wang/labels", "labels", "all answer, n = 50 to 400, m = 1,000, abilities uniform on [½, 1]",
                  dict(n=1, wanted_wisdom=3)),
    *_vote_claims("wang/sparse", "sparse", "2 to 100 answers of a task, n = 100, m = 500, abilities uniform on [½, 1]",
                  dict(wanted_answers=3, epsilon=1)),
    Claim(
        id="wang.basin.recovered",
        statement="EM finds the same labels from every initial vector that is better than chance could make it: with "
                  "an error up to ½ − 2/√m, not √(log m/m).",
        source="relaxes eq. (14) of Wang and Xu, their open problem",
        experiment="wang/basin",
        estimand="share of data sets with 1 % more wrong labels from a lead (1 − 2r)√m of 4 than from 8",
        tolerance=f"at most {SELDOM:g} (exact interval)",
        why="A start that is as good as any, but for rare accidents. "
            "At m = 1,800 a lead of 4 is an initial error of 0.453; eq. (14) allows 0.065.",
        conditions=f"Cells with {_STRENGTH}, at least {FOUND:g}; n = 50, abilities uniform on [½, 1].",
        check=_recovered,
        twin="errors from a lead of 0 upwards in place of those from 4 upwards",
        twin_data=_led,
    ),
    Claim(
        id="wang.basin.chance",
        statement="From an initial vector with half of the labels wrong all labels come out flipped half of the time.",
        source="symmetry of the model",
        experiment="wang/basin",
        estimand="share of replications with flipped labels, mean over cells",
        tolerance="½ ± 0.06",
        why="By symmetry it is ½.",
        conditions="Lead 0, all m and ε together.",
        check=_chance,
        twin="flips in the opposite order of leads",
        twin_data=lambda r: r.assign(label_flipped=r["label_flipped"].isel(lead=slice(None, None, -1)).variable),
    ),
    Claim(
        id="wang.basin.collapse",
        statement="Where EM stops recovering is ruled by (1 − 2r)√m, r the initial error.",
        source="relaxes eq. (14) of Wang and Xu, their open problem",
        experiment="wang/basin",
        estimand="share flipped with most tasks less that with fewest at the same lead, mean over cells",
        tolerance="0 ± 0.06",
        why="The share falls by 0.2 from a lead of ¼ to ½.",
        conditions="Leads ¼ to 1, ε ≥ 1, n = 50.",
        check=_collapse,
        twin="with most tasks, the flips of two leads before",
        twin_data=_rolled,
    ),
    Claim(
        id="wang.projection",
        statement="Projection frees EM from wrong initial labels that some worker wholly agrees with: λ = 0.1 leaves "
                  "fewer of them wrong than none.",
        source="Wang and Xu, after eq. (10): an ability of 0 or 1 is trapped",
        experiment="wang/projection",
        estimand="difference of mean shares of wrong labels on the same release, in every cell",
        tolerance="at most −0.05 in every cell (simultaneous intervals)",
        why="One label in twenty; a third of the initial labels are wrong.",
        conditions="ε ≥ 4; n = 50, m = 6: few tasks, so that some of the workers agree with all initial labels, 2 of 6 "
                   "of them wrong. Started at the mean vote λ gains nothing, and large ones cost.",
        check=_freed,
        twin="projection off",
        twin_data=_off,
    ),
    Claim(
        id="wang.start.majority",
        statement="A majority vote is a good enough initial vector: EM ends where it ends if started at the truth.",
        source=_OPEN,
        experiment="wang/initialisation",
        estimand="share of data sets with 1 % more wrong labels from the mean vote than from the truth",
        tolerance=f"at most {SELDOM:g} (exact interval)",
        why="A start that is as good as any, but for rare accidents.",
        conditions=f"Cells with {_STRENGTH}, at least {FOUND:g}, and mean ability 0.6 or more; n = 100.",
        check=_from_vote,
        twin="EM not run: the initial vector's error",
        twin_data=lambda r: r.assign(label_error=r["start_error"]),
    ),
    Claim(
        id="wang.start.spectral",
        statement="A spectral initial vector is on average no better than a majority vote.",
        source=_OPEN,
        experiment="wang/initialisation",
        estimand="wrong labels from the spectral vector less those from the mean vote, mean over cells",
        tolerance=f"at least −{LITTLE:g}",
        why="A hundredth of the labels; in single cells up to that much either way. "
            "Both fail where the mean ability is ½, for want of a sign, and in weak crowds.",
        conditions="All cells: strengths 1 to 20, mean ability 0.5 to 0.65; n = 100.",
        check=_spectral,
        twin="spectral labels turned the right way by one who knows",
        twin_data=lambda r: r.assign(label_error=r["label_error"].where(
            r["initialisation"] != "spectral", r["label_error_flip"])),
    ),
    Claim(
        id="wang.start.half",
        statement="Where the mean ability is ½, majority vote starts EM on the wrong side half of the time.",
        source="a condition that Theorem 2 hides in eq. (14): labels and abilities are known up to a flip only",
        experiment="wang/initialisation",
        estimand="share of replications with flipped labels, mean over cells",
        tolerance="½ ± 0.1",
        why="By symmetry it is ½.",
        conditions=f"Cells with {_STRENGTH}, at least {FOUND:g}; abilities uniform on [0.2, 0.8].",
        check=_half,
        twin="mean abilities in the opposite order",
        twin_data=lambda r: r.assign(label_flipped=r["label_flipped"].isel(ability_low=slice(None, None, -1)).variable),
    ),
    Claim(
        id="wang.start.weak",
        statement="In a weak crowd no initial vector helps: even from the truth EM leaves it.",
        source="beyond Wang and Xu",
        experiment="wang/initialisation",
        estimand="wrong labels from the truth less the oracle's, in every cell",
        tolerance="at least 0.05 in every cell (simultaneous intervals)",
        why="One label in twenty.",
        conditions=f"Cells with {_STRENGTH}, at most 1.5; n = 100.",
        check=_from_truth,
        twin="the initial vector's error in place of the final one",
        twin_data=lambda r: r.assign(label_error=r["start_error"]),
    ),
)
