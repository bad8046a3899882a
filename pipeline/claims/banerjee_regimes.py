"""Claims of Banerjee, Hegde and Massoulié on rich and scarce information, and on Pairwise-Preference."""

import numpy as np
import xarray as xr

from pipeline.claims.banerjee_boundary import (
    PLAIN,
    boundary,
    compared,
    edges,
    epsilon_hat,
    hardly_any_users,
    held,
    powers,
    users_times,
)
from pipeline.claims.claim import Claim, at_least, at_most, every, throughout
from pipeline.claims.evidence import HIGH

RATED = 50 * 49 / (100 * 99)  # chance that both items of a pair are rated, in the experiment with pairs
SCARCE = 0.4  # w/N up to which users are called information-scarce
_RICH = dict(N=1, share=1)


def _of(results, mechanism, **axes):
    return boundary(results, "margin", **{**_RICH, "mechanism": mechanism, "estimator": PLAIN[mechanism], **axes})


def _slope_in_share(mechanism, target, tolerance):
    def check(results):
        found = _of(results, mechanism, share=2)
        found = found.where(found["share"] <= SCARCE, drop=True)
        return powers(found, dict(share=target), tolerance, ("N",) if found["N"].size > 1 else (), share=found["share"])

    return check


def _change(results):
    first, second = _of(results, "pairwise_preference"), _of(results, "max_sense")
    both = compared(first, second)

    def there(wanted):
        return {name: found for name, found in both.items() if wanted(float(name.split("share=")[1].split(",")[0]))}

    return every(
        throughout(there(lambda part: part <= SCARCE), lambda found, cell: at_least(found, 1, f"at {cell}:"), HIGH),
        throughout(there(lambda part: part >= 0.8), lambda found, cell: at_most(found, 1, f"at {cell}:"), 0))


def _above(bound, along="margin", mechanisms=("max_sense", "pairwise_preference")):
    def check(results):
        found = {}
        for mechanism in mechanisms:
            edge = _of(results, mechanism)
            limit = results[bound].max([dim for dim in results[bound].dims if dim not in edge["value"].dims])
            found |= {f"{mechanism}, {cell}": one for cell, one in edges(edge, limit).items()}
        return throughout(found, lambda one, cell: at_least(one, 1, f"users over the bound at {cell}:"), HIGH)

    return check


_RICH_SCARCE = dict(experiment="banerjee/rich_scarce")
_SHARES = "N = 50 to 200, w/N = 0.1 to 1, ε = 1, two equal clusters, 0.9 and 0.1 liked."


CLAIMS = (
    Claim(
        id="banerjee.theorem_7",
        statement="No ε-LDP scheme is reliable with fewer than (N/2 − 1)/(ε log₂ e) users.",
        source="Banerjee, Hegde and Massoulié, Theorem 7, with the ½ of Fano's inequality",
        estimand="users at the boundary over that number",
        tolerance="at least 1 for both algorithms in every cell",
        why="A lower bound on all schemes: two of them can refute and not prove it. The best is 200 times above it.",
        conditions=_SHARES,
        check=_above("users_least"),
        twin="users a hundred-thousandth of what they are",
        twin_data=hardly_any_users,
        **_RICH_SCARCE,
    ),
    Claim(
        id="banerjee.theorem_13_14.users",
        statement="No ε-LDP scheme with questions fixed beforehand is reliable with fewer than (N/2 − 1) over the "
                  "most that "
                  "an answer from w ratings tells: Ω(N²/w) users where w is small.",
        source="Theorems 13 and 14 of Banerjee, Hegde and Massoulié, in the form that holds for all w and ε",
        estimand="users at the boundary over that number",
        tolerance="at least 1 for both algorithms in every cell",
        why="As above.",
        conditions=_SHARES,
        check=_above("users_least_scarce"),
        twin="users a hundred-thousandth of what they are",
        twin_data=hardly_any_users,
        **_RICH_SCARCE,
    ),
    Claim(
        id="banerjee.rich_scarce.maxsense",
        statement="MaxSense needs users like 1/w as ratings become scarce.",
        source="Banerjee, Hegde and Massoulié, Theorem 15",
        estimand="exponent in w/N of the users at the boundary, at fixed N",
        tolerance="−1 ± 0.2",
        why="Predicted: −0.96 between w/N = 0.1 and 0.4.",
        conditions=f"w/N up to {SCARCE:g}. " + _SHARES,
        check=_slope_in_share("max_sense", -1, 0.2),
        twin="users times (w/N)^−½",
        twin_data=users_times(lambda r: r["share"] ** -0.5),
        **_RICH_SCARCE,
    ),
    Claim(
        id="banerjee.section_5.pairs",
        statement="As printed: Pairwise-Preference needs users like (N/w)² as ratings become scarce.",
        source="Banerjee, Hegde and Massoulié, §5",
        estimand="exponent in w/N of the users at the boundary, at fixed N",
        tolerance="−2 ± 0.4",
        why="The sketch is 1 with chance of order (w/N)², and so is its mean's difference; but the released bit has "
            "the "
            "noise of a fair coin, so that the square of that counts.",
        conditions=f"w/N up to {SCARCE:g}. " + _SHARES + " Does not hold; the next claim is of the right power.",
        check=_slope_in_share("pairwise_preference", -2, 0.4),
        twin="users times (w/N)",
        twin_data=users_times(lambda r: r["share"]),
        **_RICH_SCARCE,
    ),
    Claim(
        id="banerjee.section_5.pairs.corrected",
        statement="Corrected: Pairwise-Preference needs users like (N/w)⁴ as ratings become scarce.",
        source="against §5 of Banerjee, Hegde and Massoulié: order N log N/(t²ρ²), ρ = w(w−1)/(N(N−1))",
        estimand="exponent in w/N of the users at the boundary, at fixed N",
        tolerance="−4 ± 0.4",
        why="Predicted: −4.0 to −4.2 between w/N = 0.1 and 0.4.",
        conditions=f"w/N up to {SCARCE:g}. " + _SHARES,
        check=_slope_in_share("pairwise_preference", -4, 0.4),
        twin="users times (w/N)",
        twin_data=users_times(lambda r: r["share"]),
        **_RICH_SCARCE,
    ),
    Claim(
        id="banerjee.rich_scarce.change",
        statement="MaxSense needs fewer users where less than 40 % of the items are rated, Pairwise-Preference where "
                  "more "
                  "than 80 % are.",
        source="finding; Banerjee, Hegde and Massoulié leave open where their two regimes meet",
        estimand="users of Pairwise-Preference over users of MaxSense, at their boundaries",
        tolerance=f"at least 1 up to w/N = {SCARCE:g}, at most 1 from 0.8 on, in every cell",
        why="Predicted to change at w/N = 0.6, at N = 50 to 400.",
        conditions=_SHARES + " At other b and ε the place differs.",
        check=_change,
        twin="users of MaxSense and Pairwise-Preference exchanged by their inverse",
        twin_data=users_times(lambda r: xr.where(r["mechanism"] == "max_sense", 100.0, 1.0)),
        **_RICH_SCARCE,
    ),
)

# ------------------------------------------------------------------------------------------------------------- pairs


def _pairs(results):
    found = boundary(results, "margin", "users_over_log", N=2, epsilon=1, reading="agree")
    found = found.sel(epsilon=1, drop=True) if 1 in found["epsilon"].values else found
    return powers(found, dict(N=1), 0.2, (), N=found["N"])


def _low_budgets(results):
    found = boundary(held(results, N=100), "margin", epsilon=3, reading="agree")
    return found.where(found["epsilon"] <= 1, drop=True)


def _in_epsilon(results):
    found = _low_budgets(results)
    return powers(found, dict(epsilon=-1), 0.25, (), epsilon=found["epsilon"])


def _in_epsilon_hat(results):
    found = _low_budgets(results)
    budget = epsilon_hat(found["epsilon"])
    ones = 0.5 - budget / 2 * (0.5 - RATED / 2)  # chance that a released bit is 1: half of the pairs are alike
    return powers(found.assign(value=found["value"] / ones), dict(epsilon_hat=-2), 0.25, (), epsilon_hat=budget)


_PAIRS = dict(experiment="banerjee/pairs")

CLAIMS += (
    Claim(
        id="banerjee.theorem_8",
        statement="Where half of the items are rated, Pairwise-Preference needs users like N log N.",
        source="Banerjee, Hegde and Massoulié, Theorem 8",
        estimand="exponent in N of the users over log N at the boundary",
        tolerance="1 ± 0.2",
        why="Predicted: 0.98 between N = 50 and 200. Over a factor of 4 the tolerance tells N log N from N and N log² "
            "N "
            "(0.24 apart).",
        conditions="N = 50 to 200, w = N/2, ε = 1, both items rated and alike (Appendix B).",
        check=_pairs,
        twin="users times √N",
        twin_data=users_times(lambda r: np.sqrt(r["N"])),
        **_PAIRS,
    ),
    Claim(
        id="banerjee.informal_2",
        statement="As printed: Pairwise-Preference needs users like 1/ε.",
        source="Banerjee, Hegde and Massoulié, Informal Theorem 2",
        estimand="exponent in ε of the users at the boundary",
        tolerance="−1 ± 0.25",
        why="Both cannot be decided from ε ≥ 1, where tanh(ε/2) bends.",
        conditions="ε = 0.25 to 1, N = 100, w = 50. Does not hold; Theorem 8 itself has no ε. The next claim has it.",
        check=_in_epsilon,
        twin="users times ε",
        twin_data=users_times(lambda r: r["epsilon"] ** 3),
        **_PAIRS,
    ),
    Claim(
        id="banerjee.informal_2.corrected",
        statement="Corrected: Pairwise-Preference needs users like π/ε̂², ε̂ = 2 tanh(ε/2), π the share of ones "
                  "released.",
        source="as Theorem 15 of Banerjee, Hegde and Massoulié has it for MaxSense",
        estimand="exponent in ε̂ of the users over π at the boundary",
        tolerance="−2 ± 0.25",
        why="The mean of a released bit moves by tanh(ε/2) with the sketch's, and the number of ones has variance π a "
            "user; "
            "π goes from 0.45 to 0.33 here, which alone is 0.3 in the exponent.",
        conditions="ε = 0.25 to 1, N = 100, w = 50.",
        check=_in_epsilon_hat,
        twin="users times ε",
        twin_data=users_times(lambda r: r["epsilon"]),
        **_PAIRS,
    ),
)
