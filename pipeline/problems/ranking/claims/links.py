"""Claims on comparisons by other laws than Bradley and Terry's: rates, constants, rankings."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, SimulatedControl
from pipeline.analysis.controls import exchanged, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.exact import exact_law, law_ratios
from pipeline.analysis.measures import (
    Cells,
    exponent,
    measure,
    measure_every_cell,
    ratio_cells,
    share_of_exceptions,
)
from pipeline.analysis.selection import NotTested, select
from pipeline.analysis.tolerances import AtLeast, NoException, Within
from pipeline.problems.common.changes import with_parameters

from .common import one_budget
from .controls import FOLLOWERS, PAIRS, RING

EXPERIMENT = "xu/links"
LINKS = ("logistic", "probit", "cauchit")
LINKED = "linked"
LIKELIHOOD = "linked_likelihood"
BTL = "debiased"
VERY_LARGE = 3200  # mL/G(ε) from which the first order is within a per cent or two
_LEVELS = dict(link=1, m=1, size=2, epsilon=1)
_SOURCE = (
    "not in the edition at hand; general comparison models are those of later editions of Xu, Sun "
    "and Cheng (arXiv:2402.16792, abstract)"
)
_CONDITIONS = (
    "Logistic, probit and Cauchy links, m = 10 and 20, mL/G(ε) up to 12,800, λ a hundredth of G/L; "
    "θ* uniform on (−1, 1)."
)
_ALL_LOGISTIC = SimulatedControl(
    "comparisons by the logistic law, whatever the link is said to be",
    with_parameters("model", link="logistic"),
)
_SLOWER = NegativeControl(
    "errors multiplied by (mL/G(ε))^(1/6)",
    scaled("error_l2", lambda results: (results["size"] / 1000) ** (1 / 6)),
)
_A_TENTH_LARGER = NegativeControl("errors a tenth larger", scaled("error_l2", 1.1))


@measure("mean ‖θ̂ − θ*‖₂²/m of the fit with the right link over that of the first order")
def _over_law(results: xr.Dataset) -> Mapping[str, Cells]:
    data = _cells(results, LINKED, "error_l2", "law_risk")
    return law_ratios(data, "error_l2", "law_risk", 2)


@measure("mean ‖θ̂ − θ*‖₂²/m of maximum likelihood over the mean Cramér–Rao bound")
def _over_bound(results: xr.Dataset) -> Mapping[str, Cells]:
    data = _cells(results, LIKELIHOOD, "error_l2", "law_risk")
    return law_ratios(data, "error_l2", "law_risk", 2)


@measure("exponent of the mean ‖θ̂ − θ*‖₂/√m in mL/G(ε), at fixed m and ε, for each link")
def _exponents(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(one_budget(results), "error_l2", at=dict(estimator=LINKED), min_levels=_LEVELS)
    exponents = {}
    for link in LINKS:
        if link not in data["link"].values.tolist():
            raise NotTested(f"needs link={link}")
        cells = data.sel(link=link)
        exponents[link] = exponent(
            cells, "error_l2", ("m", "epsilon"), error_share=1 / len(LINKS), size=cells["size"]
        )
    return exponents


@measure_every_cell(
    "mean ‖θ̂ − θ*‖₂²/m of the Bradley–Terry–Luce fit over that of the fit with the right link, on "
    "the same release"
)
def _price_of_wrong_link(results: xr.Dataset) -> Cells:
    data = _cells(results, LINKED, "error_l2")
    data["right"] = data["error_l2"] ** 2
    data["wrong"] = _cells(results, BTL, "error_l2")["error_l2"] ** 2
    is_other = data["link"].values != "logistic"
    if not is_other.any():
        raise NotTested("needs a link other than the logistic one")
    largest = data["size"].values.max()
    cells = data.sel(link=is_other, size=[largest])
    return ratio_cells(cells, "wrong", "right", 1)


@measure("share of replications whose Kendall distances differ, on the same release")
def _unlike_rankings(results: xr.Dataset) -> Estimate:
    levels = dict(_LEVELS, estimator=2)
    data = select(one_budget(results), "kendall", min_levels=levels)
    cells = data["kendall"]
    apart = abs(cells.sel(estimator=LINKED) - cells.sel(estimator=BTL))
    used = (data["status"].sel(estimator=[LINKED, BTL]) > 0).all("estimator")
    return share_of_exceptions(apart > 1e-9, used)


def _cells(results: xr.Dataset, estimator: str, *variables: str) -> xr.Dataset:
    """Cells (link, m, size, epsilon) of one estimator with a very large sample."""
    return select(
        one_budget(results),
        *variables,
        at=dict(estimator=estimator),
        min_levels=_LEVELS,
        within=lambda cells: cells["size"] >= VERY_LARGE,
    )


CLAIMS = (
    Claim(
        id="xu.links.rate",
        headline=True,
        statement="Whatever the law of a comparison, the error falls as √(G(ε)/(mL)), the rate of "
        "Bradley and Terry's.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_exponents,
        tolerance=dict.fromkeys(LINKS, Within(-0.5, 0.03)),
        why="Theorem 2's exponent without its logarithm; the next plausible one, −⅓, is five times "
        "as far away.",
        conditions=_CONDITIONS,
        control=_SLOWER,
        simulated=FOLLOWERS,
    ),
    Claim(
        id="xu.links.law",
        statement="With the right link the squared error is that of the first order: J⁺VJ⁺ with "
        "the link's density in J.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_over_law,
        tolerance=exact_law(0.03),
        why="The formula is exact to first order; at mL/G(ε) = 3,200 the next order is a per cent "
        "or two.",
        conditions=_CONDITIONS,
        control=_A_TENTH_LARGER,
        simulated=PAIRS,
    ),
    Claim(
        id="xu.links.bound",
        statement="Maximum likelihood with the right link has the error of its Cramér–Rao bound.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_over_bound,
        tolerance=exact_law(0.03),
        why="The bound is reached to first order.",
        conditions=_CONDITIONS,
        control=_A_TENTH_LARGER,
        simulated=PAIRS,
    ),
    Claim(
        id="xu.links.wrong",
        statement="A Bradley–Terry–Luce fit to comparisons of another law keeps an error that more "
        "data do not take away: at the largest sample its squared error is twice that of the right "
        "fit, or more.",
        source=_SOURCE,
        experiment=EXPERIMENT,
        measure=_price_of_wrong_link,
        tolerance=AtLeast(2),
        why="A factor of two is the least that matters; the right fit's error goes to 0, the wrong "
        "one's does not.",
        conditions=_CONDITIONS + " The largest sample of the study, links other than the logistic.",
        control=NegativeControl(
            "the right fit under the name of the other", exchanged("estimator", LINKED, BTL)
        ),
        simulated=_ALL_LOGISTIC,
    ),
    Claim(
        id="xu.links.ranking",
        statement="The wrong link changes no ranking: if all users compare all pairs, both fits "
        "order the items alike in every replication.",
        source=_SOURCE,
        by_construction=True,
        experiment=EXPERIMENT,
        measure=_unlike_rankings,
        tolerance=NoException(0.01),
        why="Both order the items by their scores Σ_j z̄_ij: Σ_j F(x − θ̂_j) + 2λx increases in x.",
        conditions="Complete comparisons, one ε.",
        control=NegativeControl(
            "maximum likelihood in place of the Bradley–Terry–Luce fit",
            exchanged("estimator", LIKELIHOOD, BTL),
        ),
        simulated=RING,
    ),
)
