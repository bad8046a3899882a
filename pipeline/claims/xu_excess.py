"""Claims on Theorem 1 of Xu, Sun and Cheng: the excess risk e_L(θ̂, θ*), its rate and its tail."""

import itertools
import math

import numpy as np
import xarray as xr

from pipeline.claims.claim import Claim, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, average, exponent, named, share
from pipeline.claims.xu_bounds import released_sample
from pipeline.claims.xu_rates import PLUG_IN, SMALL_BUDGET, phase
from pipeline.reduce.summary import REPLICATION, moments, t_interval

BATCHES = 10  # of replications, to tell how well quantiles are known
QUANTILES = (0.5, 0.9, 0.99)
LARGE = 200  # mL/G(ε) from which the ridge takes little


def _rate(results):
    large = phase(results, "excess_risk",
                  within=lambda d: (released_sample(d) >= LARGE) & (d["epsilon"] <= SMALL_BUDGET))
    slope = exponent(large, "excess_risk", ("m",), share(0.5), size=released_sample(large))
    data = phase(results, "excess_risk")
    data["excess_risk"] = data["excess_risk"] * released_sample(data) / np.log(data["m"] * data["L"])
    growth = exponent(data, "excess_risk", ("m", "x"), share(0.5), L=data["L"])
    return every(equivalence(slope, -1, 0.1, "exponent in mL/G"),
                 at_most(growth, 0, "exponent of risk/rate in L at fixed m and x"))


def _tail(results):
    """Check of how log P(e ≥ δ) falls between quantiles, in m²Lδ/G, and that it falls no slower further out."""
    data = phase(results, "excess_risk", x=1, within=lambda d: released_sample(d) >= LARGE)
    values = data["excess_risk"].where(data["status"] > 0) * data["m"] * released_sample(data)
    length = values.sizes[REPLICATION] // BATCHES
    batches = values.isel({REPLICATION: slice(BATCHES * length)}).coarsen({REPLICATION: length}).construct(
        {REPLICATION: (REPLICATION, "within")})
    middle, far, farthest = (
        batches.quantile(q, "within", skipna=False).drop_vars("quantile").transpose(..., REPLICATION)
        for q in QUANTILES)
    near, out = (math.log((1 - p) / (1 - q)) for p, q in itertools.pairwise(QUANTILES))
    gap, error, n = moments(farthest - far)
    low, high = t_interval(gap, error, n, share(0.5, data))
    cells = xr.Dataset(dict(rate=out / gap, low=out / high, high=out / low.where(low > 0), error=out * error / gap**2))
    cells["high"] = cells["high"].fillna(np.inf).where(np.isfinite(cells["rate"]))
    steady, noise, _ = moments((far - middle) / near - (farthest - far) / out)  # ≥ 0: no slower further out
    scale = gap / out
    return every(
        throughout(named(cells.reset_coords(drop=True), *cells.data_vars),
                   lambda one, cell: at_least(one, 0.1, f"fall of log P(e ≥ δ) per m²Lδ/G at {cell}:"), HIGH),
        at_least(average(steady / scale, noise / scale, share(0.5)), 0,
                 "relative gain of that fall beyond the 90 % quantile over that before"))


def _heavy(results):
    """Excess risks of the same means with the tail of a Pareto law, P(e ≥ δ) ∝ δ^(−3), in 10 % of their size."""
    mean = results["excess_risk"].mean(REPLICATION)
    n = results.sizes[REPLICATION]
    ranks = np.random.default_rng(0).permutation(n)
    pareto = xr.DataArray(((ranks + 0.5) / n) ** (-1 / 3) / 1.5, dims=REPLICATION)
    return results.assign(excess_risk=(mean * (0.9 + 0.1 * pareto)).transpose(*results["excess_risk"].dims))


_ABOUT = dict(experiment="xu/phase_transition", source="Xu, Sun and Cheng, Theorem 1, eq. (5)")


CLAIMS = (
    Claim(
        id="xu.theorem_1.rate",
        statement="The excess risk falls like G(ε)/(mL), within the rate G(ε) log(mL)/(mL).",
        estimand="exponent of the mean excess risk in mL/G(ε) at fixed m; exponent of risk/rate in L at fixed m and x",
        tolerance="−1 ± 0.1; at most 0",
        why="The theorem is an upper rate: a ratio that grew with L would break it whatever its constant. ±0.1 tells "
            "−1 from −2/3.",
        conditions=f"Exponent in mL/G: cells with mL/G ≥ {LARGE} and ε ≤ {SMALL_BUDGET:g}. Ratio: all cells. λ = G/L "
                   "meets the theorem's condition where ‖θ*‖² ≤ m log(mL).",
        check=_rate,
        **PLUG_IN,
        **_ABOUT,
    ),
    Claim(
        id="xu.theorem_1.tail",
        statement="The probability that the excess risk exceeds δ falls exponentially in m²Lδ/G(ε).",
        estimand="log 10 over the distance of the quantiles that 10 % and 1 % exceed, times G/(m²L), in every cell; "
                 "by how much it exceeds log 5 over the distance of those that 50 % and 10 % exceed, mean over cells",
        tolerance="at least 0.1 in every cell (simultaneous intervals); at least 0",
        why="The theorem's C/(1 + κ) is open; 0.1 holds here. A tail heavier than exponential falls ever more slowly. "
            "e is about a weighted χ² with m − 1 degrees of freedom, half of it for equal items.",
        conditions=f"Cells with mL/G ≥ {LARGE}. The theorem speaks of δ beyond G log(mL)/(mL) times κ, which 4,000 "
                   "replications never reach: seen is the tail up to the 99 % quantile.",
        check=_tail,
        twin="excess risks with a tenth of their size from a Pareto law, P(e ≥ δ) ∝ δ^(−3)",
        twin_data=_heavy,
        **_ABOUT,
    ),
)
