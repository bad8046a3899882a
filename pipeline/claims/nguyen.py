"""Claims of Nguyen and Zhang on the spectral estimator of the Rasch model, without privacy and with."""

import numpy as np
import xarray as xr
from scipy import integrate
from scipy.special import erf

from pipeline.claims import nguyen_data, nguyen_figures, nguyen_p0, nguyen_privacy, nguyen_sparse
from pipeline.claims.claim import Claim, TooLittle, at_least, at_most, equivalence, every, throughout
from pipeline.claims.evidence import HIGH, enough, exponent, named, ratios, renamed, share
from pipeline.reduce.phase import INSIDE, boundary_exponent, crossing
from pipeline.reduce.rates import fit_rate
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import paired_difference, summarise
from pipeline.theory.accounting import zcdp_rho

DELTA = 1e-4  # of the experiments, as in the paper
SPARSE = 15  # np²/log m from which the theorem's condition np² ≳ log m is met with room


def _dense(data):
    return data["n"] * data["p"] ** 2 >= SPARSE * np.log(data["m"])


def _rate(results):
    data = enough(results, "error_inf", m=2, n=3, p=1, within=_dense)
    responses = exponent(data, "error_inf", ("m",), share(0.5), np=data["n"] * data["p"])
    data["error_inf"] = data["error_inf"] * np.sqrt(data["n"] * data["p"] / np.log(data["m"]))
    items = exponent(data, "error_inf", ("n", "p"), share(0.5), m=data["m"])
    return every(at_most(responses, -0.45, "exponent in np at fixed m"),
                 at_most(items, 0.06, "exponent of error/rate in m at fixed n and p"))


def largest_gaussian(m):
    """Mean of the largest |Z| of m independent standard normal variables."""
    return integrate.quad(lambda z: 1 - erf(z / np.sqrt(2)) ** m, 0, 40)[0]


def _spread(results):
    data = enough(results, "error_inf", "error_l2", m=2, n=1, p=1, within=_dense)
    expected = xr.DataArray([largest_gaussian(m) for m in data["m"].values], dims="m", coords={"m": data["m"]})
    data["gaussian"] = data["error_l2"] * expected
    cells = risk_ratio(data, "error_inf", "gaussian", 1, share(1, data))
    return throughout(ratios(cells), lambda one, cell: equivalence(
        one, 1, 0.15, f"ℓ∞/ℓ₂ over that of Gaussian errors at {cell}:"), 1)


def _minimax(results):
    data = enough(results, "error_l2", m=2, n=3, p=1, within=_dense)
    data["square"] = (data["m"] * data["error_l2"] ** 2).assign_attrs(units="logits²")  # ‖β̂ − β*‖₂²
    responses = exponent(data, "square", ("m",), share(0.5), np=data["n"] * data["p"])
    items = exponent(data, "square", ("n", "p"), share(0.5), m=data["m"])
    return every(equivalence(responses, -1, 0.15, "exponent in np at fixed m"),
                 equivalence(items, 1, 0.15, "exponent in m at fixed n and p"))


def _efficient(results):
    data = enough(results, "error_l2", "item_bound", m=2, n=3, p=1, within=_dense)
    cells = risk_ratio(data, "error_l2", "item_bound", 2, share(1, data))
    return throughout(ratios(cells), lambda one, cell: equivalence(
        one, 1.3, 0.4, f"squared error over the bound at {cell}:"), 1.3)


def _consistent(results):
    data = enough(results, "error_l2", estimator="spectral", m=1, n=3)
    return equivalence(exponent(data, "error_l2", ("m",), n=data["n"]), -0.5, 0.05, "exponent in n at fixed m")


def _inconsistent(results):
    data = enough(results, "error_l2", estimator="joint_likelihood", m=1, n=2, within=lambda d: d["n"] >= 3000)
    return at_least(exponent(data, "error_l2", ("m",), n=data["n"]), -0.1, "exponent in n at fixed m")


def _signal(data):
    """npΔ²/log m, from what it is made of."""
    return data["n"] * data["p"] * data["spacing"] ** 2 / np.log(data["m"])


def _recovered(within, decide):
    def check(results):
        data = enough(results, "exact_top_k", m=1, spacing=1, p=1, recovery=2, within=within)
        cells = summarise(data, share(1, data))
        ends = named(cells, *(f"exact_top_k{end}" for end in ("", "_low", "_high", "_mcse")))
        return throughout(ends, lambda found, cell: decide(found, f"share recovered at {cell}:"), 0.5)

    return check


def _scaling(results):
    data = enough(results, "exact_top_k", m=1, spacing=2, p=2, recovery=3)
    cells = summarise(data).sel(m=data["m"] >= 20)
    if not cells["m"].size:
        raise TooLittle("needs 20 items or more")
    boundary = crossing(cells["exact_top_k"], cells["exact_top_k_mcse"], "recovery", 0.8, at=cells["n"])
    if (boundary["side"] != INSIDE).any():
        raise TooLittle("some curve reaches 0.8 outside the grid: add levels of recovery")
    rate = boundary_exponent(boundary, ("m",), share(0.5), gap=boundary["spacing"], p=boundary["p"])
    return every(equivalence(rate.exponents["gap"], -2, 0.3, "exponent of n in Δ"),
                 equivalence(rate.exponents["p"], -1, 0.45, "exponent of n in p"))


def _excess(results, within=None):
    """Excess of the squared error with privacy over that without, relative to the latter, and its error."""
    data = enough(results, "error_l2", m=2, item_noise=2, item_size=2, mechanism=2, within=within)
    data["square"] = (data["error_l2"] ** 2).assign_attrs(units="logits²")
    base = summarise(data[["square", "status"]])["square"].sel(mechanism="none", drop=True)
    added = paired_difference(data, "square", "mechanism", "discrete_gaussian", "none")
    return data, added["mean"] / base, added["mcse"] / base


def _free(results):
    data, excess, error = _excess(results, lambda d: d["n"] * (d["epsilon_user"] / d["m"]) ** 2 >= 8)
    half = 4 * error  # beyond any simultaneous quantile of a grid of this size
    cells = xr.Dataset(dict(ratio=excess, low=excess - half, high=excess + half, mcse=error))
    return throughout(ratios(cells.reset_coords(drop=True)), lambda one, cell: at_most(
        one, 3, f"excess at {cell}:"), -HIGH)


def _price(results):
    data, excess, error = _excess(results)
    few = (excess > 0.1) & (excess < 2)  # beyond, the noise is no small disturbance any more
    rho = xr.apply_ufunc(zcdp_rho, data["epsilon_user"], DELTA)
    rate = fit_rate(excess.where(few), error, confidence=share(1 / 3), n=data["n"], m=data["m"], rho=rho)
    return every(*(equivalence(rate.exponents[name], target, 0.25, f"exponent of the excess in {said}")
                   for name, said, target in (("n", "n", -1), ("m", "m", 1), ("rho", "ρ", -1))))


_ENTRYWISE = dict(experiment="nguyen/entrywise")
_TOP_K = dict(experiment="nguyen/top_k")


_CLAIMS = (
    Claim(
        id="nguyen.theorem_3_1.rate",
        statement="The largest error of an item falls like √(log m/(np)).",
        source="Nguyen and Zhang, Theorem 3.1",
        estimand="exponent of the mean ‖β̂ − β*‖∞ in np at fixed m; exponent of error/rate in m at fixed n and p",
        tolerance="at most −0.45; at most 0.06",
        why="An upper rate. −0.45 tells −½ from −1/3; a factor m^0.06 is 13 % over the grid's eightfold m.",
        conditions=f"Cells with np² ≥ {SPARSE} log m; β* uniform on (−2, 2), so that κ is bounded.",
        check=_rate,
        twin="errors multiplied by (np)^(1/6)",
        twin_data=lambda r: r.assign(error_inf=r["error_inf"] * (r["n"] * r["p"] / 1000) ** (1 / 6)),
        **_ENTRYWISE,
    ),
    Claim(
        id="nguyen.theorem_3_1.spread",
        statement="The error spreads over the items: the largest is to the root mean square as of Gaussian errors.",
        source="Nguyen and Zhang, after Theorem 3.1: ‖·‖∞ is at most √(log m/m)·‖·‖₂ up to a constant",
        estimand="mean ‖β̂ − β*‖∞ over mean ‖β̂ − β*‖₂/√m times E max |Z| of m standard normal variables, in every cell",
        tolerance="1 ± 0.15 in every cell (simultaneous intervals)",
        why="E max |Z| grows like √(2 log m). Items at the ends have errors up to a fifth larger than those amid.",
        conditions=f"Cells with np² ≥ {SPARSE} log m; β* uniform on (−2, 2).",
        check=_spread,
        twin="largest errors multiplied by (m/25)^(1/3)",
        twin_data=lambda r: r.assign(error_inf=r["error_inf"] * (r["m"] / 25) ** (1 / 3)),
        **_ENTRYWISE,
    ),
    Claim(
        id="nguyen.theorem_3_3.rate",
        statement="The squared error ‖β̂ − β*‖₂² scales like m/(np), the order below which no estimator comes.",
        source="Nguyen and Zhang, Theorem 3.3 and after Theorem 3.1",
        estimand="exponents of the mean ‖β̂ − β*‖₂² in np at fixed m, and in m at fixed n and p",
        tolerance="−1 ± 0.15 and 1 ± 0.15",
        why="Tells 1 from ⅔ and 4/3; with few responses the error falls a little faster than in the limit.",
        conditions=f"Cells with np² ≥ {SPARSE} log m; β* uniform on (−2, 2).",
        check=_minimax,
        twin="errors multiplied by (np)^(1/6)",
        twin_data=lambda r: r.assign(error_l2=r["error_l2"] * (r["n"] * r["p"] / 1000) ** (1 / 6)),
        **_ENTRYWISE,
    ),
    Claim(
        id="nguyen.theorem_3_3.bound",
        statement="The spectral estimate is within a constant of what any unbiased estimate can reach.",
        source="Nguyen and Zhang, Theorem 3.3; constants by the Cramér–Rao bound with unknown abilities, their §3.3",
        estimand="mean ‖β̂ − β*‖₂²/m over the mean Cramér–Rao bound, in every cell",
        tolerance="1.3 ± 0.4 in every cell (simultaneous intervals)",
        why="Below 1 is impossible but for bias; 0.9 leaves room for that. 1.7 is a constant where the paper has none.",
        conditions=f"Cells with np² ≥ {SPARSE} log m; β* uniform on (−2, 2). The bound is m/(np) times 5.8 or so.",
        check=_efficient,
        twin="errors as if np² responses counted and not np",
        twin_data=lambda r: r.assign(error_l2=r["error_l2"] / r["p"] ** 0.5),
        **_ENTRYWISE,
    ),
    Claim(
        id="nguyen.theorem_1_7",
        statement="With the number of items fixed, the spectral estimate becomes right as persons are added.",
        source="Nguyen and Zhang, supplement, Theorem 1.7",
        experiment="nguyen/consistency",
        estimand="exponent of the mean ‖β̂ − β*‖₂/√m in n at fixed m",
        tolerance="−½ ± 0.05",
        why="The theorem's rate in n; joint maximum likelihood has 0.",
        conditions="m = 3, 5, 10; p = 1.",
        check=_consistent,
        twin="joint maximum likelihood in place of the spectral estimator",
        twin_data=renamed("estimator", "joint_likelihood", "spectral"),
    ),
    Claim(
        id="nguyen.joint_likelihood",
        statement="With the number of items fixed, joint maximum likelihood does not become right.",
        source="Nguyen and Zhang, §3.1 (Andersen, 1973; Ghosh, 1995)",
        experiment="nguyen/consistency",
        estimand="exponent of the mean ‖β̂ − β*‖₂/√m in n at fixed m",
        tolerance="at least −0.1",
        why="A fifth of the exponent −½ of consistent estimators.",
        conditions="m = 3, 5, 10; p = 1; n ≥ 3,000, where sampling error no longer hides the floor.",
        check=_inconsistent,
        twin="the spectral estimator in place of joint maximum likelihood",
        twin_data=renamed("estimator", "joint_likelihood", "spectral"),
    ),
    Claim(
        id="nguyen.theorem_3_2",
        statement="Where np is at least 8 log m/Δ², the top K are found.",
        source="Nguyen and Zhang, Theorem 3.2, with 8 for its constant",
        estimand="share of replications with the exact top K, in every cell",
        tolerance="at least 0.8 in every cell (simultaneous intervals)",
        why="The theorem's probability tends to 1; its constant is open.",
        conditions="Cells with npΔ²/log m ≥ 7.9; β* evenly spaced, K = m/2.",
        check=_recovered(lambda d: _signal(d) >= 7.9, lambda found, what: at_least(found, 0.8, what)),
        twin="gaps read as twice what they are",
        twin_data=lambda r: r.assign_coords(spacing=2 * r["spacing"]),
        **_TOP_K,
    ),
    Claim(
        id="nguyen.theorem_3_4",
        statement="Where np is at most ¼ log m/Δ², the top K are missed half of the time.",
        source="Nguyen and Zhang, Theorem 3.4, with ¼ for its constant",
        estimand="share of replications with the exact top K, in every cell",
        tolerance="at most 0.5 in every cell (simultaneous intervals)",
        why="The theorem speaks of every estimator and the worst items; this is one of each.",
        conditions="Cells with npΔ²/log m ≤ 0.26; β* evenly spaced, K = m/2.",
        check=_recovered(lambda d: _signal(d) <= 0.26, lambda found, what: at_most(found, 0.5, what)),
        twin="gaps read as a quarter of what they are",
        twin_data=lambda r: r.assign_coords(spacing=r["spacing"] / 4),
        **_TOP_K,
    ),
    Claim(
        id="nguyen.theorem_3_2.scaling",
        statement="The persons needed to find the top K scale like 1/(pΔ²).",
        source="Nguyen and Zhang, Theorems 3.2 and 3.4",
        estimand="exponents in Δ and p of the n at which 8 of 10 replications are exact, at fixed m",
        tolerance="−2 ± 0.3 and −1 ± 0.45",
        why="Tells 2 from 1 and 3, and 1 from ½ and from 2, which np² would have: the measurements are of pairs.",
        conditions="m ≥ 20: with fewer items mp ≳ log n, which the theorem asks for, is not met at p = ½.",
        check=_scaling,
        twin="gaps Δ raised to the power 3/2",
        twin_data=lambda r: r.assign_coords(spacing=r["spacing"] ** 1.5),
        **_TOP_K,
    ),
    Claim(
        id="nguyen.supplement_3_3",
        statement="Once n is beyond m²/ε², privacy costs no more than a constant.",
        source="Nguyen and Zhang, supplement, Theorem 3.3, with 8 for its constant",
        experiment="nguyen/price",
        estimand="excess of the mean squared error with privacy over that without, relative to the latter",
        tolerance="at most 3 in every cell (four standard errors)",
        why="The constant is open; the excess goes on falling as n grows.",
        conditions="Cells with nε²/m² ≥ 8; p = 1, tight calibration, pairwise likelihood on the noisy counts.",
        check=_free,
        twin="budgets read as four times what they are",
        twin_data=lambda r: r.assign_coords(epsilon_user=4 * r["epsilon_user"]),
    ),
    Claim(
        id="nguyen.price",
        statement="What privacy adds to the squared error, relative to what it is without, scales like m/(nρ), ρ of "
                  "order ε²: with a power of m less than m²/(nε²), the theorem's order.",
        source="against the order of Theorem 3.3 in the supplement of Nguyen and Zhang, which is sufficient only",
        experiment="nguyen/price",
        estimand="exponents of the relative excess in n, m and the zCDP budget ρ",
        tolerance="−1, 1, −1, each ± 0.25",
        why="Noise of variance ∝ m²/ρ on every Y_ij is averaged over the m − 1 pairs of an item. The theorem's order "
            "has 2 for m.",
        conditions="Cells with an excess of 0.1 to 2, where the noise is a small disturbance. The factor is about 6: "
                   "privacy doubles the squared error at n = 6m/ρ, or 130 to 190 m/ε², which is before m²/ε² only "
                   "with that many items or more.",
        check=_price,
        twin="persons read as their square root",
        twin_data=lambda r: r.assign_coords(n=r["n"] ** 0.5),
    ),
)

CLAIMS = (*_CLAIMS, *nguyen_privacy.CLAIMS, *nguyen_figures.CLAIMS, *nguyen_data.CLAIMS, *nguyen_p0.CLAIMS,
          *nguyen_sparse.CLAIMS)
