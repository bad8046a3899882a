"""Claims of Wang and Xu on one released answer, Theorem 1, and on no budget at all and all the budget there is."""

import numpy as np
import xarray as xr
from scipy.stats import beta

from pipeline.claims.claim import Check, Claim, at_most, equivalence, throughout
from pipeline.claims.evidence import enough, named, no_exception, normal, share
from pipeline.claims.exact import exactly
from pipeline.reduce.estimate import Estimate
from pipeline.reduce.summary import REPLICATION, summarise


def cells_of(data: xr.Dataset, value: xr.DataArray, error: xr.DataArray) -> dict[str, Estimate]:
    """Cells with their normal intervals, simultaneous over cells.

    Where all replications are alike there is no error to go by: of numbers in [0, 1], or differences of such, all R of
    which are v, the mean is within (1 + |v|)(1 − (α/2)^(1/R)) of v by the exact interval of a share.
    """
    confidence, least = share(1, data), int(_runs(data).min())
    alike = (1 + abs(value)) * (1 - ((1 - confidence) / 2) ** (1 / least))
    half = xr.where(error > 0, normal(0, 1, confidence).high * error, alike)
    cells = xr.Dataset(dict(value=value, low=value - half, high=value + half, error=error))
    return named(cells.reset_coords(drop=True), "value", "low", "high", "error")


def _runs(data):
    """Replications of the cells in use."""
    runs = (data["status"] > 0).sum(REPLICATION)
    return runs.where(runs > 0)


def rare(broken: xr.DataArray, most: float, text: str) -> Check:
    """Whether at most a share `most` of the data sets in use is broken, by Clopper and Pearson's exact interval.

    broken: over cells and replications, NaN where not in use.
    """
    used = broken.notnull()
    n, k = int(used.sum()), int(broken.where(used, 0).sum())
    tail = (1 - share(1)) / 2
    low, high = beta.ppf(tail, k, n - k + 1) if k else 0.0, beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0
    return at_most(Estimate(k / n, float(low), float(high), (k * (n - k) / n**3) ** 0.5), most, text)


def _loss(results):
    data = enough(results, "answers_wrong", epsilon=3, ability_low=1, within=lambda d: d["ability_low"] == 1)
    cells = summarise(data).sel(ability_low=1.0)
    flipped, error = cells["answers_wrong"], cells["answers_wrong_mcse"]
    spent = np.log((1 - flipped) / flipped) / data["epsilon"]
    found = cells_of(data, spent, error / (flipped * (1 - flipped)) / data["epsilon"])
    return throughout(found, lambda one, cell: equivalence(one, 1, 0.05, f"loss/ε at {cell}:"), 1)


def _released(results):
    data = enough(results, "answers_wrong", "answers_wrong_expected", epsilon=3, ability_low=1)
    return exactly(data, "answers_wrong", "answers_wrong_expected", 1, 0.005, "ability_low")


def _unflipped(results):
    wrong = 0.5 - (0.5 - results["answers_wrong"]) / np.tanh(results["epsilon"] / 2)
    return results.assign(answers_wrong=wrong.transpose(*results["answers_wrong"].dims))


def _nothing(results):
    data = enough(results, "label_error", epsilon=3, estimator=2, mechanism="randomized_answers",
                  within=lambda d: d["epsilon"] <= 0.01)
    cells = summarise(data)
    return throughout(cells_of(data, cells["label_error"], cells["label_error_mcse"]),
                      lambda one, cell: equivalence(one, 0.5, 0.02, f"share of wrong labels at {cell}:"), 0.5)


def _less_wisdom(results):
    data = enough(results, "wisdom", epsilon=3, mechanism=2, estimator="dawid_skene")
    part = data["wisdom"].sel(mechanism="randomized_answers") / data["wisdom"].sel(mechanism="none")
    part = (part / np.tanh(data["epsilon"] / 2) ** 2).reset_coords(drop=True)
    cells = xr.Dataset(dict(value=part.mean(REPLICATION), low=part.min(REPLICATION), high=part.max(REPLICATION),
                            error=0 * part.mean(REPLICATION)))
    return throughout(named(cells, "value", "low", "high", "error"),
                      lambda one, cell: equivalence(one, 1, 1e-6, f"v̂/(tanh²(ε/2) v) at {cell}:"), 1)


def _all(results):
    data = enough(results, "label_error", "ability_error_l2", epsilon=1, mechanism=2, estimator=2,
                  within=lambda d: d["epsilon"] >= 40)
    ran = (data["status"] > 0).all("mechanism")
    apart = [abs(data[name].diff("mechanism").squeeze("mechanism")) > 1e-9
             for name in ("label_error", "ability_error_l2")]
    return no_exception(int(((apart[0] | apart[1]) & ran).sum()), int(ran.sum()), 0.05,
                        "share of replications unlike those without privacy:")


_PRIVACY = dict(experiment="wang/privacy")
_LIMITS = dict(experiment="wang/limits", source="Wang and Xu, §3.3, after eqs. (12) and (13)")

CLAIMS = (
    Claim(
        id="wang.theorem_1",
        statement="A released answer spends its budget ε, and no more.",
        source="Wang and Xu, Theorem 1",
        estimand="log of unflipped over flipped answers, over ε, in every cell",
        tolerance="1 ± 0.05 in every cell (simultaneous intervals)",
        why="The loss of an answer is this log ratio exactly. Monte Carlo error is 3 % at ε = 0.1.",
        conditions="ε = 0.1 to 8; perfect workers, so that a wrong answer is a flipped one. A worker's m answers "
                   "together spend mε.",
        check=_loss,
        twin="half as many answers flipped",
        twin_data=lambda r: r.assign(answers_wrong=r["answers_wrong"] / 2),
        **_PRIVACY,
    ),
    Claim(
        id="wang.equation_22",
        statement="A released answer is right with probability ½ + tanh(ε/2)(p − ½).",
        source="Wang and Xu, eqs. (9) and (22)",
        estimand="share of wrong answers over its expectation",
        tolerance="1 within 1e-6 error over all cells, and 1 ± 0.005 for all ε together",
        why="An exact law.",
        conditions="ε = 0.1 to 8; perfect workers, and abilities uniform on [½, 1].",
        check=_released,
        twin="answers that are not flipped",
        twin_data=_unflipped,
        **_PRIVACY,
    ),
    Claim(
        id="wang.limits.zero",
        statement="As ε goes to 0 nothing can be learned: half of the labels are wrong.",
        estimand="mean share of wrong labels, in every cell",
        tolerance="½ ± 0.02 in every cell (simultaneous intervals)",
        why="Far below the share of 0.08 to 0.2 without privacy.",
        conditions="ε ≤ 0.01; n = 20, m = 500. Theorem 2's bound is 2 there, not ½ as the paper says.",
        check=_nothing,
        twin="errors at the other end of the grid of ε",
        twin_data=lambda r: r.assign(label_error=r["label_error"].isel(epsilon=slice(None, None, -1)).variable),
        **_LIMITS,
    ),
    Claim(
        id="wang.limits.wisdom",
        statement="Private wisdom is tanh²(ε/2) times the crowd's: it goes to 0 with ε, and to all of it without "
                  "privacy.",
        estimand="v̂ over tanh²(ε/2) v, in every replication",
        tolerance="1 ± 1e-6",
        why="An identity; rounding is 1e-10 at ε = 0.001.",
        conditions="ε = 0.001 to 40, with and without privacy on the same workers.",
        check=_less_wisdom,
        twin="tanh(ε/2) not squared",
        twin_data=lambda r: r.assign(wisdom=r["wisdom"].where(
            r["mechanism"] == "none", r["wisdom"] / np.tanh(r["epsilon"] / 2)).transpose(*r["wisdom"].dims)),
        **_LIMITS,
    ),
    Claim(
        id="wang.limits.infinity",
        statement="At large ε the labels and abilities are those of the fit without privacy.",
        estimand="share of replications in which either error differs by more than 1e-9",
        tolerance="none, and enough replications to exclude 0.05",
        why="At ε = 40 an answer is flipped once in 10¹⁷.",
        conditions="ε = 40; either estimator, on the same answers.",
        check=_all,
        twin="errors at ε = 1 in place of those at 40",
        twin_data=lambda r: r.assign(label_error=r["label_error"].roll(epsilon=-1 - r["epsilon"].values.tolist().index(
            1)).variable),
        **_LIMITS,
    ),
)
