"""Claims of Banerjee, Hegde and Massoulié on MaxSense: where its boundary is, and how it scales."""

import numpy as np
import xarray as xr

from pipeline.claims.banerjee_boundary import boundary, compared, edges, epsilon_hat, powers, users_times
from pipeline.claims.claim import Claim, at_least, at_most, equivalence, throughout
from pipeline.claims.evidence import HIGH, enough, named, share
from pipeline.reduce.summary import summarise

_LOADS = dict(N=1, w=1, epsilon=1, contrast=1, estimator=1)


def _scaling(results):
    found = boundary(results, "maxsense_load", "users_over_log", N=3, w=3, epsilon=2, contrast=2, estimator=1)
    return powers(found, dict(N=2, w=-1, epsilon_hat=-2, contrast=-2), 0.15, ("estimator",), N=found["N"], w=found["w"],
                  epsilon_hat=epsilon_hat(found["epsilon"]), contrast=found["contrast"])


def _place(along, **axes):
    def check(results):
        found = boundary(results, along, "over_predicted", **axes)
        return throughout(edges(found), lambda edge, cell: equivalence(
            edge, 1, 0.25, f"measured/predicted at {cell}:"), 1)

    return check


def _enough_load(results):
    data = enough(results, "recovered", within=lambda d: d["maxsense_load"] >= 16, maxsense_load=1, **_LOADS)
    cells = summarise(data, share(1, data))
    return throughout(named(cells, *(f"recovered{end}" for end in ("", "_low", "_high", "_mcse"))),
                      lambda found, cell: at_least(found, 0.8, f"success at {cell}:"), HIGH)


def _adjusted(results):
    first, second = (boundary(results, "maxsense_load", **{**_LOADS, "estimator": name})
                     for name in ("score_clustering_adjusted", "score_clustering"))
    return throughout(compared(first, second), lambda found, cell: at_most(found, 0.75, f"at {cell}:"), 0)


_LOAD = dict(experiment="banerjee/maxsense")
_GRID = ("One class of users, two equal clusters, ½ ± contrast/2 liked. N = 100 to 800 at w = 20; w = 5 to 40, "
         "ε = 0.25 to 2 and contrast = 0.2 to 0.8 at N = 200.")

CLAIMS = (
    Claim(
        id="banerjee.theorem_15",
        statement="From one load U w ε̂² δ²/(N² log N) on, MaxSense is right about every item, whatever N, w, ε and δ.",
        source="Banerjee, Hegde and Massoulié, Theorem 15",
        estimand="share of replications with every item right, at load 16",
        tolerance="at least 0.8 in every cell",
        why="The theorem has an unspecified constant. 16 is a tenth of what its proof asks for.",
        conditions=_GRID + " That one constant serves all N is the theorem's; this looks at a factor of 8 in N.",
        check=_enough_load,
        twin="the loads that are said to be 16 are 8",
        twin_data=lambda r: r.assign_coords(maxsense_load=2 * r["maxsense_load"]),
        **_LOAD,
    ),
    Claim(
        id="banerjee.theorem_15.scaling",
        statement="The users over log N at which MaxSense succeeds scale like N²/(w ε̂² δ²).",
        source="Banerjee, Hegde and Massoulié, Theorem 15",
        estimand="exponents of the users at which half of all replications are right",
        tolerance="2, −1, −2, −2, each ± 0.15",
        why="One fit over all boundaries. Exact means at finite N and w predict 2.0, −1.0, −2.1 and −2.0. Over these "
            "ranges "
            "the tolerance tells N² log N from N² or N² log² N (0.2 apart), and w⁻¹ from w⁻².",
        conditions=_GRID,
        check=_scaling,
        twin="users times √N/√w",
        twin_data=users_times(lambda r: np.sqrt(r["N"] / r["w"])),
        **_LOAD,
    ),
    Claim(
        id="banerjee.theorem_15.place",
        statement="The boundary is where Gaussian scores with their exact means put it.",
        source="exact means of sketches and the central limit theorem; the paper has the order only",
        estimand="users at the boundary over those predicted, of plain and of adjusted scores",
        tolerance="1 ± 0.25 in every curve (simultaneous intervals)",
        why="The load at the boundary is 9 to 12, and moves with log N, w/N and ε: the prediction has these.",
        conditions=_GRID,
        check=_place("maxsense_load", **_LOADS),
        twin="half of the users",
        twin_data=users_times(lambda r: 0.5),
        **_LOAD,
    ),
    Claim(
        id="banerjee.adjusted",
        statement="Taking out how often an item was sensed, which is public, saves about half of MaxSense's users.",
        source="improves Figure 2 of Banerjee, Hegde and Massoulié; predicted 0.50 to 0.60 on this grid",
        estimand="users at the boundary with adjusted scores over those with plain ones",
        tolerance="at most 0.75 in every cell (simultaneous intervals)",
        why="Both are estimates from the same releases; taken as independent, which widens the intervals.",
        conditions=_GRID,
        check=_adjusted,
        twin="plain scores under the name of both",
        twin_data=lambda r: r.assign(recovered=xr.zeros_like(r["recovered"])
                                     + r["recovered"].sel(estimator="score_clustering", drop=True)),
        **_LOAD,
    ),
)
