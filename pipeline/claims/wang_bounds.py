"""Claims of Wang and Xu, Theorems 2 and 3: errors of labels and of abilities."""

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, enough, exponent, no_exception, normal, ratios, renamed, share
from pipeline.claims.exact import exactly
from pipeline.claims.wang_limits import cells_of
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import summarise
from pipeline.theory import crowd

FEW = 20  # replications with 20,000,000 answers each
SHARP = 200  # workers from which abilities are near ½ once they are private
TASKS = 800_000  # of wang/theorem_2
_LABELS = dict(n=1, wanted_wisdom=3)


def _decay(results):
    data = enough(results, "label_error", estimator="dawid_skene", within=lambda d: d["wanted_wisdom"] >= 2, **_LABELS)
    return at_most(exponent(data, "label_error", ("n",), wisdom=np.exp(data["wanted_wisdom"])), -0.5,
                   "exponent of exp(n v̂)")


def _sharp(results):
    data = enough(results, "label_error", estimator="dawid_skene", **_LABELS,
                  within=lambda d: (d["wanted_wisdom"] >= 2) & (d["n"] >= SHARP))
    data["label_error"] = data["label_error"] * np.sqrt(data["wanted_wisdom"])
    return equivalence(exponent(data, "label_error", ("n",), wisdom=np.exp(data["wanted_wisdom"])), -0.5, 0.06,
                       "exponent of exp(n v̂) in error·√(n v̂)")


def _slower(results):
    return results.assign(label_error=results["label_error"] * np.exp(results["wanted_wisdom"] / 4))


def _near_oracle(results):
    data = enough(results, "label_error", "oracle_error", estimator="dawid_skene", **_LABELS,
                  within=lambda d: (d["wanted_wisdom"] >= 4) & (d["wanted_wisdom"] <= 8))
    cells = risk_ratio(data, "label_error", "oracle_error", 1, share(1, data))
    return throughout(ratios(cells.reset_coords(drop=True)), lambda one, cell: at_most(
        one, 1.5, f"error/oracle's at {cell}:"), -HIGH)


def _vote(results):
    data = enough(results, "label_error", "majority_error_exact", estimator="majority_vote", **_LABELS,
                  within=lambda d: d["wanted_wisdom"] <= 6)
    return exactly(data, "label_error", "majority_error_exact", 1, 0.02)


def kept(within, value, bound, most, **axes):
    """Check that no replication of the cells `within` has a value above its bound."""

    def check(results):
        data = enough(results, *value, within=within, **axes)
        ran = data["status"] > 0
        broken = (data[value[0]] > bound(data)) & ran
        return no_exception(int(broken.sum()), int(ran.sum()), most, "share of data sets above the bound:")

    return check


def _ability_bound(data):
    return xr.apply_ufunc(crowd.ability_error_bound, data["m"] if "m" in data.coords else TASKS, data["epsilon"])


def _informative(data):
    return (data["epsilon"] <= 1) & (_ability_bound(data) < 0.5)


def _rate_m(results):
    data = enough(results, "ability_error_inf", m=3, epsilon=1)
    return equivalence(exponent(data, "ability_error_inf", ("epsilon",), m=data["m"]), -0.5, 0.05, "exponent in m")


def _rate_epsilon(results):
    data = enough(results, "ability_error_inf", m=1, epsilon=2, within=lambda d: d["epsilon"] <= 1)
    return equivalence(exponent(data, "ability_error_inf", ("m",), epsilon=data["epsilon"]), -1, 0.1, "exponent in ε")


def _condition_3(data):
    """ε ≤ 2.57: what the proof of Theorem 3 needs; its ε ≤ 1 asks for 6·10⁶ tasks."""
    return data["epsilon"] <= 2.57


def _cut(data):
    """Private abilities above 1 − λ, with p and λ of wang/theorem_2."""
    return 0.5 + np.tanh(data["epsilon"] / 2) * (0.942 - 0.5) > 1 - 0.1175


def _projected(results):
    data = enough(results, "ability_error_inf", epsilon=1, least=FEW, within=_cut)
    cells = summarise(data)
    bound = _ability_bound(data)
    found = cells_of(data, cells["ability_error_inf"] / bound, cells["ability_error_inf_mcse"] / bound)
    return throughout(found, lambda one, cell: at_least(one, 1, f"error/bound at {cell}:"), HIGH)


def _plain(results):
    return results.assign(ability_error_inf=results["ability_error_inf_plain"])


def _theorem_2(results):
    data = enough(results, "theorem_2_holds", "label_error", "label_error_bound", epsilon=1, least=FEW)
    holds = at_least(normal(float(data["theorem_2_holds"].where(data["status"] > 0).min()), 0, 0.99), 1,
                     "conditions hold, least share")
    return every(kept(None, ("label_error", "label_error_bound"), lambda d: d["label_error_bound"], 0.1, epsilon=1,
                       least=FEW)(results), holds)


_DECAY = dict(experiment="wang/labels", twin="errors multiplied by exp(n v̂/4)", twin_data=_slower)
_CROWD = "abilities uniform on [½, 1], m = 1,000, started at the mean vote, λ = 0.001"
_WHY_START = (" Theorem 2 asks for a start within √(log m/m) of the truth and, for λ, more tasks than can be had: the "
              "claim goes further than the theorem.")

CLAIMS = (
    Claim(
        id="wang.theorem_2.bound",
        statement="Where its conditions hold, the share of wrong labels is at most 2exp(−n v̂/2).",
        source="Wang and Xu, Theorem 2",
        experiment="wang/theorem_2",
        estimand="share of data sets above the bound",
        tolerance="none, and enough data sets to exclude a tenth",
        why="The theorem's probability is 1 − C'/m, C' unknown.",
        conditions="n = 25, m = 800,000, λ = 0.1175, 0.4 % of the initial labels wrong: all printed conditions, "
                   "checked in every replication. Bound 0.0018 and 0.0002. What the proof needs besides does not hold.",
        check=_theorem_2,
        twin="the initial vector in place of the labels found",
        twin_data=lambda r: r.assign(label_error=r["start_error"]),
    ),
    Claim(
        id="wang.theorem_2.majority",
        statement="Started at the mean vote, with a small λ, the share of wrong labels is at most 2exp(−n v̂/2) too.",
        source="beyond Wang and Xu, Theorem 2",
        experiment="wang/labels",
        estimand="share of data sets above the bound, at the abilities that were drawn",
        tolerance="none, and enough data sets to exclude 2 %",
        why="The bound as printed; the theorem's probability is 1 − C'/m, C' unknown." + _WHY_START,
        conditions=f"n v̂ ≥ 4, where the bound is 0.27 or less; {_CROWD}.",
        check=kept(lambda d: d["wanted_wisdom"] >= 4, ("label_error", "label_error_bound"),
                   lambda d: d["label_error_bound"], 0.02, estimator="dawid_skene", **_LABELS),
        twin="a bound with n v̂ in place of n v̂/2",
        twin_data=lambda r: r.assign(label_error_bound=r["label_error_bound"] ** 2 / 2),
    ),
    Claim(
        id="wang.theorem_2.rate",
        statement="Wrong labels fall at least as fast as exp(−n v̂/2).",
        source="Wang and Xu, Theorem 2",
        estimand="exponent of the mean error in exp(n v̂) at fixed n",
        tolerance="at most −½",
        why="The theorem's exponent.",
        conditions=f"n v̂ = 2 to 12; {_CROWD}.",
        check=_decay,
        **_DECAY,
    ),
    Claim(
        id="wang.theorem_2.sharp",
        statement="½ is the right rate where abilities are near ½, as privacy makes them: errors fall like "
                  "exp(−n v̂/2)/√(n v̂).",
        source="sharpens Wang and Xu, Theorem 2; Bhattacharyya's coefficient of the oracle",
        estimand="exponent of error·√(n v̂) in exp(n v̂) at fixed n",
        tolerance="−½ ± 0.06",
        why="Tells ½ from ¼ and 1. A normal vote errs with probability Φ(−√(n v̂)), whose exponent is −0.49 here.",
        conditions=f"n v̂ = 2 to 12, n ≥ {SHARP}; {_CROWD}. With fewer workers ε is larger, and the rate above ½.",
        check=_sharp,
        **_DECAY,
    ),
    Claim(
        id="wang.labels.oracle",
        statement="Not knowing the abilities costs less than half as many wrong labels again.",
        source="beyond Wang and Xu: errors of an oracle that knows abilities and flips",
        experiment="wang/labels",
        estimand="mean share of wrong labels over the oracle's on the same answers, in every cell",
        tolerance="at most 1.5 in every cell (simultaneous intervals)",
        why="A vote that weighs all alike has 1.8 to 4 times the oracle's errors.",
        conditions=f"n v̂ = 4 to 8; {_CROWD}.",
        check=_near_oracle,
        twin="majority vote in place of Dawid and Skene",
        twin_data=renamed("estimator", "majority_vote", "dawid_skene"),
    ),
    Claim(
        id="wang.vote",
        statement="Private majority vote errs as the Poisson–binomial law says.",
        source="Wang and Xu, eq. (18) and the proof of Theorem 4; exact law of the number of right answers",
        experiment="wang/labels",
        estimand="simulated over exact share of wrong labels",
        tolerance="1 within 1e-6 error over all cells, and 1 ± 0.02 for all cells together",
        why="An exact law, given the abilities.",
        conditions="n v̂ ≤ 6: beyond, cells have too few errors to be pooled; abilities uniform on [½, 1]; ties say 1.",
        check=_vote,
        twin="the oracle's error in place of the exact one",
        twin_data=lambda r: r.assign(majority_error_exact=r["oracle_error"]),
    ),
    Claim(
        id="wang.theorem_3.bound",
        statement="No ability is wrong by more than 6√(log m/(mε²)).",
        source="Wang and Xu, Theorem 3",
        experiment="wang/abilities",
        estimand="share of data sets with a larger error",
        tolerance="none, and enough data sets to exclude 5 %",
        why="The theorem's probability is 1 − C'/m, C' unknown.",
        conditions="ε ≤ 1 and a bound below ½; n = 200, from the mean vote, λ = 0.001. At ε ≤ 1 the theorem's own λ "
                   "needs 6,000,000 tasks and 73 workers.",
        check=kept(_informative, ("ability_error_inf",), _ability_bound, 0.05, m=2, epsilon=1),
        twin="errors with a 64th of the tasks",
        twin_data=lambda r: r.assign(ability_error_inf=8 * r["ability_error_inf"]),
    ),
    Claim(
        id="wang.theorem_3.conditions",
        statement="The same where all conditions but ε ≤ 1 hold, and ε is at most 2.57, all that the proof uses.",
        source="Wang and Xu, Theorem 3, with (e^ε + 1)/(e^ε − 1) ≤ 3/ε for ε ≤ 2.57",
        experiment="wang/theorem_2",
        estimand="share of data sets with an ability wrong by more than 6√(log m/(mε²))",
        tolerance="none, and enough data sets to exclude a fifth",
        why="The theorem's probability is 1 − C'/m, C' unknown.",
        conditions="ε = 2.5, n = 25, m = 800,000, λ = 0.1175; all private abilities are within [λ, 1 − λ].",
        check=kept(_condition_3, ("ability_error_inf",), _ability_bound, 0.2, epsilon=1, least=FEW),
        twin="abilities that are not debiased",
        twin_data=_plain,
    ),
    Claim(
        id="wang.theorem_3.projected",
        statement="Where a private ability is above 1 − λ that fails: λ keeps able workers from being known.",
        source="against the step from eq. (23), which is of abilities before projection, to Theorem 3",
        experiment="wang/theorem_2",
        estimand="mean of the largest error over 6√(log m/(mε²)), in every cell",
        tolerance="at least 1 in every cell (simultaneous intervals)",
        why="Such an ability is off by up to λ, whatever m is.",
        conditions="ε = 4, n = 25, m = 800,000, λ = 0.1175, p = 0.942. Up to ε = ln 7 no private ability can be there.",
        check=_projected,
        twin="a hundredth of the errors",
        twin_data=lambda r: r.assign(ability_error_inf=r["ability_error_inf"] / 100),
    ),
    Claim(
        id="wang.theorem_3.tasks",
        statement="The largest error of an ability falls like 1/√m.",
        source="Wang and Xu, Theorem 3 (its discussion prints 1/(mε²), without the root)",
        experiment="wang/abilities",
        estimand="exponent of the mean of the largest error in m at fixed ε",
        tolerance="−½ ± 0.05",
        why="Tells ½ from 1; n is fixed, so that there is no log m.",
        conditions="m = 500 to 4,000, ε = 0.5 to 2, n = 200, abilities uniform on [0.6, 1].",
        check=_rate_m,
        twin="abilities that are not debiased",
        twin_data=_plain,
    ),
    Claim(
        id="wang.theorem_3.budget",
        statement="The largest error of an ability falls like 1/ε for small ε.",
        source="Wang and Xu, Theorem 3",
        experiment="wang/abilities",
        estimand="exponent of the mean of the largest error in ε at fixed m",
        tolerance="−1 ± 0.1",
        why="coth(ε/2), which it follows, has −0.92 between ½ and 1.",
        conditions="ε = 0.5 to 1, m = 500 to 4,000, n = 200, abilities uniform on [0.6, 1].",
        check=_rate_epsilon,
        twin="abilities that are not debiased",
        twin_data=_plain,
    ),
)
