"""Claims of Banerjee, Hegde and Massoulié on several questions, separability, distortion and single ratings."""

import numpy as np
import xarray as xr

from pipeline.claims.banerjee_boundary import (
    PLAIN,
    boundary,
    compared,
    edges,
    hardly_any_users,
    held,
    powers,
    users_times,
)
from pipeline.claims.claim import Claim, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, enough, named, share
from pipeline.reduce.summary import summarise
from pipeline.theory import blocks


def _multi(results, mechanism, questions):
    return boundary(held(results, mechanism=mechanism, questions=questions), "margin", epsilon=2)


def _against(decide, wanted, mechanism, questions):
    def check(results):
        several, one = _multi(results, "multi_max_sense", "rounded_up"), _multi(results, mechanism, questions)
        several = several.assign(value=several["value"].where(wanted(several["epsilon"])))
        return throughout(compared(several, one), decide, 1)

    return check


def _inverse(results):
    found = _multi(results, "multi_max_sense", "rounded_up")
    found = found.where(found["epsilon"] >= 1, drop=True)
    rate = powers(found, dict(epsilon=-1), 0.2, (), epsilon=found["epsilon"])
    return at_most(rate.estimate, -0.85, "exponent in epsilon")


_SEVERAL = dict(experiment="banerjee/multi")
_CASE = "N = 100, w = 25, θ = 1, two equal clusters, 0.9 and 0.1 liked."

CLAIMS = (
    Claim(
        id="banerjee.theorem_16",
        statement="With ⌈ε⌉ questions of budget ε/⌈ε⌉ the users needed fall like 1/ε, from ε = 1 on.",
        source="Banerjee, Hegde and Massoulié, Theorem 16",
        estimand="exponent in ε of the users at the boundary",
        tolerance="at most −0.85",
        why="Predicted: −1.15, as sets of several questions cover more of the items. Below ε = 1 there is one "
            "question, "
            "and 1/ε̂² users.",
        conditions="ε = 1 to 16. " + _CASE,
        check=_inverse,
        twin="users times √ε",
        twin_data=users_times(lambda r: np.sqrt(r["epsilon"])),
        **_SEVERAL,
    ),
    Claim(
        id="banerjee.theorem_16.saves",
        statement="Right above ε = 1, too, ⌈ε⌉ questions need no more users than one.",
        source="a reading of Theorem 16 of Banerjee, Hegde and Massoulié, which has Q = ⌈ε⌉ for the order at large ε "
               "and says nothing about constants",
        estimand="users at the boundary with ⌈ε⌉ questions over users with one",
        tolerance="at most 1 in every cell (simultaneous intervals)",
        why="Each bit has a smaller budget: Q tanh²(ε/2Q) with Q = ⌈ε⌉ is below tanh²(ε/2) up to ε = 4.7, and "
            "from 5 to 5.13.",
        conditions="ε = 1.5 and 2, one question about a set of the same fixed size. " + _CASE + " Does not hold. "
                   "Against "
                   "MaxSense's sets of random size several questions are better off by 20 % for that alone: sets of "
                   "fixed size sense every item more evenly.",
        check=_against(lambda found, cell: at_most(found, 1, f"at {cell}:"),
                       lambda epsilon: (epsilon > 1) & (epsilon <= 2), "multi_max_sense", "best"),
        twin="users with ⌈ε⌉ questions ten times what they are",
        twin_data=users_times(lambda r: xr.where(r["questions"] == "rounded_up", 10.0, 1.0)),
        **_SEVERAL,
    ),
    Claim(
        id="banerjee.theorem_16.corrected",
        statement="With constants: ⌈ε⌉ questions need fewer users than one from ε = 5.2 on.",
        source="beside Theorem 16 of Banerjee, Hegde and Massoulié; by Q tanh²(ε/2Q), of the first order",
        estimand="users at the boundary with ⌈ε⌉ questions over users with one",
        tolerance="at most 1 in every cell (simultaneous intervals)",
        why="As above.",
        conditions="ε = 8 and 16. " + _CASE,
        check=_against(lambda found, cell: at_most(found, 1, f"at {cell}:"), lambda epsilon: epsilon > 5.2,
                       "max_sense", "one"),
        twin="users with ⌈ε⌉ questions ten times what they are",
        twin_data=users_times(lambda r: xr.where(r["questions"] == "rounded_up", 10.0, 1.0)),
        **_SEVERAL,
    ),
)

# ------------------------------------------------------------------------------------------------------ separability


def _fails(results):
    alike = held(results, lean=0)
    found = {}
    for mechanism, decide in (("max_sense", lambda d: d["U"] >= 1e6), ("pairwise_preference", lambda d: d["U"] >= 3e5)):
        data = enough(alike, "recovered", within=decide, U=1, mechanism=mechanism, estimator=PLAIN[mechanism])
        cells = summarise(data, share(0.5, data))
        found[mechanism] = named(cells, *(f"recovered{end}" for end in ("", "_low", "_high", "_mcse")))
    return every(
        throughout(found["max_sense"], lambda one, cell: at_most(one, 0.1, f"MaxSense at {cell}:"), 0),
        throughout(found["pairwise_preference"], lambda one, cell: at_least(one, 0.9, f"pairs at {cell}:"), HIGH))


def _in_lean(results):
    unequal = results.sel(lean=results["lean"] > 0) if "lean" in results.dims else results
    found = boundary(unequal, "U", lean=3, mechanism="max_sense", estimator=PLAIN["max_sense"])
    return powers(found, dict(lean=-2), 0.6, (), lean=found["lean"])


_LIKED = dict(experiment="banerjee/separability")
_OPPOSITE = "N = 100, w = 50, ε = 1; two classes of users, one likes what the other does not, 0.9 against 0.1."

CLAIMS += (
    Claim(
        id="banerjee.theorem_15.separability",
        statement="Where δ_min = 0 MaxSense fails with any number of users, though Pairwise-Preference succeeds.",
        source="condition of Theorem 15 of Banerjee, Hegde and Massoulié",
        estimand="share of replications with every item right, two classes of opposite tastes and equal size",
        tolerance="at most 0.1 from 10⁶ users on; at least 0.9 from 3·10⁵ on",
        why="Averaged over classes both clusters are liked equally often: all scores have one mean. Which items are "
            "liked by "
            "the same users is not in a score.",
        conditions=_OPPOSITE + " Up to 10⁸ users here; for any number by the law of scores.",
        check=_fails,
        twin="the algorithms exchanged",
        twin_data=lambda r: r.assign(recovered=1 - r["recovered"]),
        **_LIKED,
    ),
    Claim(
        id="banerjee.theorem_15.delta",
        statement="As the classes become equally large, MaxSense needs users like 1/δ_min², without limit.",
        source="Banerjee, Hegde and Massoulié, Theorem 15",
        estimand="exponent in the lean α₁ − α₂, to which δ is proportional, of the users at the boundary",
        tolerance="−2 ± 0.6",
        why="Levels of U are a factor of 3 apart.",
        conditions="Leans from 0.05 to 0.4. " + _OPPOSITE,
        check=_in_lean,
        twin="leans that are the square of what they are",
        twin_data=lambda r: r.assign_coords(lean=r["lean"] ** 2),
        **_LIKED,
    ),
)

# -------------------------------------------------------------------------------------------------------- distortion


def _distorted(results):
    found = boundary(results, "maxsense_load", metric="recovered_within", N=2, distortion=2)
    limit = xr.apply_ufunc(np.vectorize(lambda N, d: max(blocks.users_theorem_23(N, int(d * N + 1e-9), 1.0), 1.0)),
                           found["N"], found["distortion"])
    return throughout(edges(found, limit), lambda one, cell: at_least(one, 1, f"users over the bound at {cell}:"), HIGH)


def _no_logarithm(results):
    some = results.sel(distortion=results["distortion"] > 0) if "distortion" in results.dims else results
    found = boundary(some, "maxsense_load", metric="recovered_within", N=3, distortion=1)
    return powers(found, dict(N=2), 0.15, ("distortion",), N=found["N"])


_DISTORTION = dict(experiment="banerjee/distortion")

CLAIMS += (
    Claim(
        id="banerjee.theorem_23",
        statement="No ε-LDP scheme gets all but d of N labels right with fewer than ((½)log₂(M/M_d) − 1)/(ε log₂ e) "
                  "users.",
        source="Banerjee, Hegde and Massoulié, Theorem 23, with the ball of labelings counted exactly",
        estimand="users at the boundary of success up to d errors over that number",
        tolerance="at least 1 in every cell",
        why="A lower bound on all schemes: MaxSense can refute and not prove it, and is far above.",
        conditions="N = 100 to 400, w = 20, ε = 1, d/N = 0 to 0.2.",
        check=_distorted,
        twin="users a hundred-thousandth of what they are",
        twin_data=hardly_any_users,
        **_DISTORTION,
    ),
    Claim(
        id="banerjee.distortion.order",
        statement="Where a fixed share of the items may be wrong, MaxSense needs users like N², without a logarithm.",
        source="finding, beside Theorems 15 and 23 of Banerjee, Hegde and Massoulié",
        estimand="exponent in N of the users at the boundary",
        tolerance="2 ± 0.15",
        why="The share of wrong items is a function of U w/N². With the logarithm the exponent over N = 100 to 400 "
            "would be "
            "2.19.",
        conditions="N = 100 to 400, w = 20, ε = 1, a share of 0.02 to 0.2: one exponent, a constant for each share.",
        check=_no_logarithm,
        twin="users times √N",
        twin_data=users_times(lambda r: np.sqrt(r["N"])),
        **_DISTORTION,
    ),
)

# ---------------------------------------------------------------------------------------------------------- adaptive


def _single(results, mechanism, at="U"):
    estimator = "seen_clustering" if mechanism in ("none", "adaptive") else "score_clustering"
    return boundary(results, "margin", at, N=3, mechanism=mechanism, estimator=estimator)


def _power_of_items(mechanism, at, target):
    def check(results):
        found = _single(results, mechanism, at)
        return powers(found, dict(N=target), 0.15, (), N=found["N"])

    return check


def _yes_no(results):
    found = _single(results, "adaptive")
    return throughout(edges(found, 2 * found["N"] ** 2), lambda one, cell: equivalence(one, 1, 0.15, f"at {cell}:"), 1)


def _above_17(results):
    found = _single(results, "max_sense")
    limit = xr.apply_ufunc(blocks.users_theorem_17, found["N"], 1.0)
    order = found["N"] * np.log(found["N"])
    return every(*(throughout(edges(found, least), lambda one, cell, said=said: at_least(
        one, 1, f"users over {said} at {cell}:"), HIGH) for said, least in (("the bound", limit), ("N log N", order))))


_ADAPTIVE = dict(experiment="banerjee/adaptive")
_ONE = "w = 1, N = 20 to 320, ratings are labels."

CLAIMS += (
    Claim(
        id="banerjee.theorem_17",
        statement="No private scheme with w = 1, adaptive or not, learns the clusters with o(N log N) users.",
        source="Banerjee, Hegde and Massoulié, Theorem 17, with the constant at the end of its proof",
        estimand="users at the boundary of MaxSense over that number, and over N log N",
        tolerance="at least 1 in every cell",
        why="A lower bound on all schemes, and our private scheme is not adaptive: this can refute and not prove it.",
        conditions=_ONE + " ε = 1, where the constant makes the bound 15 users at N = 320: less than Theorem 7 until "
                   "N > 10^17. No adaptive private scheme is known to come near.",
        check=_above_17,
        twin="users a hundred-thousandth of what they are",
        twin_data=hardly_any_users,
        **_ADAPTIVE,
    ),
    Claim(
        id="banerjee.theorem_10.adaptive",
        statement="Asking for one item's rating after the other, yes or no, takes 2N² users.",
        source="Banerjee, Hegde and Massoulié, §4.2, after Theorem 10",
        estimand="users at the boundary over 2N²",
        tolerance="1 ± 0.15 in every cell (simultaneous intervals)",
        why="The users up to the last of N answers have mean 2N² and standard deviation 2N^1.5; the last answers may "
            "be guessed.",
        conditions=_ONE,
        check=_yes_no,
        twin="half of the users",
        twin_data=users_times(lambda r: 0.5),
        **_ADAPTIVE,
    ),
    Claim(
        id="banerjee.theorem_10.fixed",
        statement="One bit a user, asked without knowing earlier answers, takes users like N² log N.",
        source="Banerjee, Hegde and Massoulié, Theorem 10: at least N² are needed",
        estimand="exponent in N of the users over log N at the boundary",
        tolerance="2 ± 0.15",
        why="Scores of the question of the largest information. Whether the logarithm is needed the slope cannot "
            "tell; the "
            "bound is without it.",
        conditions=_ONE,
        check=_power_of_items("one_bit", "users_over_log", 2),
        twin="users over √N",
        twin_data=users_times(lambda r: r["N"] ** -0.5),
        **_ADAPTIVE,
    ),
    Claim(
        id="banerjee.coupons",
        statement="Without privacy and with whole ratings, users like N log N are enough.",
        source="Banerjee, Hegde and Massoulié, §1.1, coupon collector",
        estimand="exponent in N of the users over log N at the boundary",
        tolerance="1 ± 0.15",
        why="Against the exponent 2 of one-bit answers.",
        conditions=_ONE,
        check=_power_of_items("none", "users_over_log", 1),
        twin="users times √N",
        twin_data=users_times(lambda r: np.sqrt(r["N"])),
        **_ADAPTIVE,
    ),
)
