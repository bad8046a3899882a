"""Claims of Xu, Sun and Cheng on ranking recovery: Lemma 4 and Theorems 4 to 6, on evenly spaced preferences.

The signal is mLΔ²/G(ε). Theorem 4 asks for a large signal over log(mL), Theorems 5 and 6 give errors that vanish
exponentially in the signal.
"""

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, TooLittle, at_least, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, enough, named, no_exception, normal, share
from pipeline.claims.exact import exactly
from pipeline.reduce.phase import INSIDE, boundary_exponent, crossing
from pipeline.reduce.summary import summarise
from pipeline.theory.btl import amplification

ONSET = 8  # signal from which the errors are in their tail
RARE = 48  # signal beyond which 4,000 replications see too few errors
LIKE = 1.0  # log κ = Δ(m−1) up to which problems of different κ are alike
EXCEPTIONS = 1e-3  # share of replications that may break a law that none was seen to break
RANKINGS = {"theorem_5": ("hamming_top_k", "top-K error H_K"), "theorem_6": ("kendall", "Kendall distance")}
_AXES = dict(m=1, spacing=1, epsilon=1, signal=3)


def _gain(data):
    return xr.apply_ufunc(amplification, data["epsilon"]) ** 2


def _signal(data):
    """mLΔ²/G(ε), from what it is made of: the axis of that name only says where the cells are."""
    return data["m"] * data["L"] * data["spacing"] ** 2 / _gain(data)


def _lemma_4(results):
    """Check that no replication breaks the inequality: it holds in each, and so for their mean."""
    data = enough(results, "hamming_top_k", "lemma_4_bound", **_AXES)
    excess = (data["hamming_top_k"] - data["lemma_4_bound"]).values
    excess = excess[np.isfinite(excess)]
    return no_exception(int((excess > 1e-9).sum()), excess.size, EXCEPTIONS,
                        f"{excess.size:,} replications; share with H_K above the bound:")


def _recovered(results):
    data = enough(results, "exact_top_k", within=lambda d: _signal(d) >= 4 * np.log(d["m"] * d["L"]), **_AXES)
    cells = summarise(data, share(1, data))
    return throughout(
        named(cells, *(f"exact_top_k{end}" for end in ("", "_low", "_high", "_mcse"))),
        lambda found, cell: at_least(found, 0.95, f"share recovered at {cell}:"), HIGH)


def _scaling(results):
    """Check that the users needed for exact recovery nine times in ten scale like G(ε)/(mΔ²)."""
    data = enough(results, "exact_top_k", m=2, spacing=2, epsilon=2, signal=3)
    cells = summarise(data).sel(spacing=data["spacing"] * (data["m"].max() - 1) <= LIKE)
    if cells["spacing"].size < 2:
        raise TooLittle(f"needs two gaps Δ with κ ≤ exp({LIKE:g}) at every m")
    boundary = crossing(cells["exact_top_k"], cells["exact_top_k_mcse"], "signal", 0.9, at=cells["L"])
    if (boundary["side"] != INSIDE).any():
        raise TooLittle("some curve reaches 0.9 outside the grid: add levels of signal")
    rate = boundary_exponent(boundary, (), share(1 / 3), m=boundary["m"], gap=boundary["spacing"], G=_gain(boundary))
    return every(*(equivalence(rate.exponents[name], target, 0.15, f"exponent of L in {said}") for name, said, target in
                   (("gap", "Δ", -2), ("G", "G(ε)", 1), ("m", "m", -1))))


def _decay(metric):
    """Check of the fall of the log error per unit of signal, over two steps that both double the signal."""

    def check(results):
        data = enough(results, metric, within=lambda d: d["signal"] <= RARE, **_AXES)
        levels = data["signal"].values.tolist()
        start = max((one for one in levels if one >= ONSET and {2 * one, 4 * one} < {*levels} and 4 * one <= RARE),
                    default=None)
        if start is None:
            raise TooLittle(f"needs a level of signal from {ONSET} with its double and fourfold, up to {RARE}")
        cells, signal = summarise(data), _signal(data)
        over = [dim for dim in cells[metric].dims if dim != "signal"]
        points = dict(signal=[start, 2 * start, 4 * start])
        signal = signal.mean([dim for dim in signal.dims if dim != "signal"]).sel(points).values
        total = cells[metric].sum(over).sel(points).values
        relative = np.sqrt((cells[f"{metric}_mcse"] ** 2).sum(over)).sel(points).values / total
        first, second = -np.diff(np.log(total)) / np.diff(signal)
        weight = 1 / np.diff(signal) / (first, second)  # of log errors in the logarithms of the two rates
        kept = np.linalg.norm(relative * (weight[0], weight[0] + weight[1], weight[1])) * second / first
        rate = normal(second, float(np.hypot(*relative[1:])) / (signal[2] - signal[1]), share(0.5))
        return every(at_least(rate, 0.05, f"fall of the log error per unit of signal, {2 * start:g} to {4 * start:g}:"),
                     at_least(normal(second / first, float(kept), share(0.5)), 2 / 3,
                              f"over that from {start:g} to {2 * start:g}"))

    return check


def _power_law(metric):
    """Twin data: mean errors that fall like signal^(−4)."""

    def change(results):
        mean = results[metric].mean([dim for dim in results[metric].dims if dim != "signal"])
        return results.assign({metric: results[metric] / mean * 0.3 * (results["signal"] / ONSET) ** -4.0})

    return change


def _gaussian(results):
    data = enough(results, "kendall", "kendall_predicted", within=lambda d: d["signal"] <= 32, **_AXES)
    return exactly(data, "kendall", "kendall_predicted", 1, 0.02, "m")


_DOUBLED = dict(twin="budgets read as twice what they are",
                twin_data=lambda r: r.assign_coords(epsilon=2 * r["epsilon"]))
_ABOUT = dict(experiment="xu/recovery")


def _decay_claim(theorem):
    metric, name = RANKINGS[theorem]
    return Claim(
        id=f"xu.{theorem}",
        statement=f"The {name} falls exponentially in the signal mLΔ²/G(ε): its logarithm is linear in it.",
        source=f"Xu, Sun and Cheng, Theorem {theorem[-1]}, with C₀/κ⁴ = 1/20",
        estimand="fall of the log mean error per unit of signal, over all other cells, in the last of two steps that "
                 "double the signal; and that over the fall in the step before",
        tolerance="at least 1/20; at least 2/3",
        why="Neighbours are confused with probability Φ(−√(signal/8)), near exp(−signal/16). A power law halves its "
            "rate where the signal doubles, an exponential keeps it.",
        conditions=f"Signal from {ONSET} to {RARE}; θ* evenly spaced, K = m/2, κ = exp(Δ(m−1)) from 1.2 to 6.7. "
                   "Budgets are common, so H(ε) ≤ G(ε).",
        check=_decay(metric),
        twin="mean errors that fall like signal^(−4)",
        twin_data=_power_law(metric),
        **_ABOUT,
    )


CLAIMS = (
    Claim(
        id="xu.lemma_4",
        statement="The top-K error is at most the share of items that are on the wrong side of the midpoint between "
                  "the true K-th and (K+1)-th.",
        source="Xu, Sun and Cheng, Lemma 4",
        estimand="share of replications with H_K above (1/K)[#{top: θ̂ ≤ midpoint} + #{others: θ̂ ≥ midpoint}]",
        tolerance=f"none; and enough replications to exclude a share of {EXCEPTIONS:g}",
        why="The inequality holds in every replication, not only on average.",
        conditions="Any θ*, K and estimator: all cells.",
        check=_lemma_4,
        twin="half of the bound",
        twin_data=lambda r: r.assign(lemma_4_bound=r["lemma_4_bound"] / 2),
        **_ABOUT,
    ),
    Claim(
        id="xu.theorem_4",
        statement="Where the signal mLΔ²/G(ε) is at least 4 log(mL), the top K are recovered exactly.",
        source="Xu, Sun and Cheng, Theorem 4, with 4 for its constant times κ⁴",
        estimand="share of replications with the exact top K, in every cell",
        tolerance="at least 0.95 in every cell (simultaneous intervals)",
        why="The theorem's probability tends to 1; 0.95 needs no more than 4,000 replications to be told from 0.9.",
        conditions="Cells with mLΔ²/G(ε) ≥ 4 log(mL); θ* evenly spaced, K = m/2, κ from 1.2 to 6.7.",
        check=_recovered,
        **_DOUBLED,
        **_ABOUT,
    ),
    Claim(
        id="xu.theorem_4.scaling",
        statement="The users needed to recover the top K scale like G(ε)/(mΔ²).",
        source="Xu, Sun and Cheng, Theorem 4: m²L/2 ≳ G(ε)κ⁴ m log(mL)/Δ_K²",
        estimand="exponents in Δ, G(ε) and m of the L at which 9 of 10 replications are exact",
        tolerance="−2, 1, −1, each ± 0.15",
        why="The theorem is sufficient: its log(mL) is not needed here, where it would tilt the exponents by 0.1 to "
            "0.2. The tolerance tells 2 from 2 ± 1/6.",
        conditions="Gaps with κ = exp(Δ(m−1)) ≤ e at every m: the users needed grow a little with κ.",
        check=_scaling,
        twin="gaps Δ raised to the power 7/6",
        twin_data=lambda r: r.assign_coords(spacing=r["spacing"] ** (7 / 6)),
        **_ABOUT,
    ),
    *map(_decay_claim, RANKINGS),
    Claim(
        id="xu.sharp.kendall",
        statement="The Kendall distance is that of items ordered by Gaussian scores.",
        source="scores Σ_j z̄_ij of eq. (3), Lemma 2 and the central limit theorem; the paper has a rate only",
        estimand="mean Kendall distance over its mean prediction, in every cell",
        tolerance="no cell may exclude 1 (false alarm 1e-6 over all), and 1 ± 0.02 at every m over all other cells",
        why="The estimator orders items as their scores do, whatever the ridge; κ enters through the scores' means "
            "only, not as κ⁴.",
        conditions="Signal up to 32: beyond, 4,000 replications see too few errors.",
        check=_gaussian,
        twin="predictions 5 % smaller",
        twin_data=lambda r: r.assign(kendall_predicted=0.95 * r["kendall_predicted"]),
        **_ABOUT,
    ),
)
