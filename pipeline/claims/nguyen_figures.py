"""Claims of Nguyen and Zhang on Figure 1, with their calibration, with the tight one and against a fair rival."""

import numpy as np

from pipeline.claims.claim import Claim, TooLittle, at_least, at_most, every, throughout
from pipeline.claims.evidence import HIGH, average, enough, renamed, share
from pipeline.reduce.summary import summarise

FEW = 50  # replications in a cell
MOST = 0.01  # ε of the most privacy
LOW = 0.5  # least budget of the paper's low-to-moderate privacy
LOWER = 2.5  # of its low privacy
GAUSSIAN = dict(mechanism="discrete_gaussian", graph="dense", estimator="spectral")
SPARSE = dict(mechanism="discrete_gaussian", graph="sparse", estimator="spectral")
LAPLACE = dict(mechanism="discrete_laplace", graph="dense", estimator="spectral")
FLIPPED = dict(mechanism="randomized_responses", graph="dense", estimator="spectral")
DEBIASED = FLIPPED | dict(estimator="spectral_debiased")


def at(data, **levels):
    """`data` at these levels of its axes, which it keeps; raises `TooLittle` where the grid lacks one."""
    for axis, level in levels.items():
        if level not in data[axis].values:
            raise TooLittle(f"needs {axis}={level:g}")
    return data.sel({axis: [level] for axis, level in levels.items()})


def _cells(results, chosen, calibration="tight"):
    """Mean errors and their Monte Carlo errors over (n, m, ε) of one way to release and estimate."""
    data = enough(results, "error_l2", least=FEW, n=2, m=2, epsilon_user=3, calibration=calibration, **chosen)
    cells = summarise(data)
    return cells["error_l2"], cells["error_l2_mcse"]


def _differences(results, first, second, least=LOW):
    """Differences of two mean errors and their errors, ε ≥ `least`; `first` and `second`: (chosen, calibration)."""
    (one, e1), (two, e2) = (_cells(results, *which) for which in (first, second))
    used = one["epsilon_user"] >= least
    return (one - two).sel(epsilon_user=used), np.hypot(e1, e2).sel(epsilon_user=used)


def _smaller(first, second):
    def check(results):
        return at_most(average(*_differences(results, first, second), share(1)), 0, "mean difference over cells")

    return check


def _smaller_everywhere(first, second):
    def check(results):
        apart, error = _differences(results, first, second)
        places = [dict(n=[n], m=[m]) for n in apart["n"].values.tolist() for m in apart["m"].values.tolist()]
        found = {f"n={one['n'][0]}, m={one['m'][0]}": average(apart.sel(one), error.sel(one), share(1 / len(places)))
                 for one in places}
        return throughout(found, lambda one, cell: at_most(one, 0, f"mean difference over ε at {cell}:"), -HIGH)

    return check


def swapped(first, second):
    """Twin data: errors of two ways to release and estimate, as labels, in each other's place."""

    def change(results):
        error = results["error_l2"].copy(deep=True)
        error.loc[first], error.loc[second] = results["error_l2"].sel(second), results["error_l2"].sel(first)
        return results.assign(error_l2=error)

    return change


def _hopeless(results):
    """Check of the least ε: all are near what knows nothing, and the sparse graph is worse than all pairs."""
    found = []
    for chosen, said in ((GAUSSIAN, "dense Gaussian"), (LAPLACE, "Laplace"), (FLIPPED, "responses as in the paper"),
                         (DEBIASED, "debiased responses")):
        error, mcse = (at(cells, epsilon_user=MOST) for cells in _cells(results, chosen))
        found.append(at_least(average(error, mcse, share(0.2)), 0.8, f"{said}: mean error at ε = {MOST:g}"))
    (sparse, e1), (dense, e2) = (
        [at(cells, epsilon_user=MOST) for cells in _cells(results, chosen)] for chosen in (SPARSE, GAUSSIAN))
    worse = average(sparse - dense, np.hypot(e1, e2), share(0.2))
    return every(*found, at_least(worse, 0, f"sparse less dense Gaussian at ε = {MOST:g}"))


def _many_items(results):
    """Check of sparse against dense at large ε: better with the most items and fewest persons, not with few items."""
    cells, ends = _cells(results, GAUSSIAN)[0], dict(n=[0, -1], m=[-1, 0])
    found = []
    for k, decide in enumerate((at_most, at_least)):
        place = {axis: cells[axis].values[[index[k]]] for axis, index in ends.items()}
        apart = average(*(part.sel(place) for part in _differences(
            results, (SPARSE, "tight"), (GAUSSIAN, "tight"), LOWER)), share(0.5))
        said = ", ".join(f"{axis}={place[axis][0]}" for axis in place)
        found.append(decide(apart, 0, f"sparse less dense at {said}"))
    return every(*found)


_ABOUT = dict(experiment="nguyen/figure_1", source="Nguyen and Zhang, §5.1, Figure 1")
_RANGE = f"ε ≥ {LOW:g}, δ = 1e-4, β, θ ~ N(0, 1), all responses observed"


def _laplace_claim(calibration):
    return Claim(
        id=f"nguyen.figure_1.laplace.{calibration}",
        statement="At low to moderate privacy discrete Gaussian noise leaves more to learn than discrete Laplace noise"
                  + (", also where both are charged what a row really costs." if calibration == "tight" else "."),
        estimand="mean difference of ‖β̂ − β*‖₂/√m, Gaussian less Laplace, over ε, at every n and m",
        tolerance="at most 0 at each (simultaneous intervals)",
        why="The statement is one of direction. Laplace noise pays by the number of entries, Gaussian by its root.",
        conditions=_RANGE + ". Laplace noise is pure ε-DP, the Gaussian (ε, δ).",
        check=_smaller_everywhere((GAUSSIAN, calibration), (LAPLACE, calibration)),
        twin="the two mechanisms under each other's name",
        twin_data=renamed("mechanism", "discrete_gaussian", "discrete_laplace"),
        **_ABOUT,
    )


CLAIMS = (
    *map(_laplace_claim, ("paper", "tight")),
    Claim(
        id="nguyen.figure_1.tight",
        statement="Charging what a row really costs makes the Gaussian mechanism more accurate at the same ε.",
        estimand="mean difference of ‖β̂ − β*‖₂/√m, tight less paper calibration, over ε, at every n and m",
        tolerance="at most 0 at each (simultaneous intervals)",
        why="The statement is one of direction: half the variance of noise, against the paper's looser conversion.",
        conditions=_RANGE + ".",
        check=_smaller_everywhere((GAUSSIAN, "tight"), (GAUSSIAN, "paper")),
        twin="the two calibrations under each other's name",
        twin_data=renamed("calibration", "paper", "tight"),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.figure_1.randomized",
        statement="Randomized response is far less accurate than the Gaussian mechanism, also when it is debiased.",
        estimand="mean difference of ‖β̂ − β*‖₂/√m, Gaussian less debiased randomized response, over ε, at every "
                 "n and m",
        tolerance="at most 0 at each (simultaneous intervals)",
        why="The statement is one of direction. The paper's baseline is not debiased; the claim survives that.",
        conditions=_RANGE + ". Shuffling is charged where it is known to help.",
        check=_smaller_everywhere((GAUSSIAN, "tight"), (DEBIASED, "tight")),
        twin="the errors of the two mechanisms under each other's name",
        twin_data=swapped(dict(GAUSSIAN, calibration="tight"), dict(DEBIASED, calibration="tight")),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.figure_1.debiasing",
        statement="Randomized response is more accurate debiased than as the paper uses it.",
        estimand="mean difference of ‖β̂ − β*‖₂/√m, debiased less not, over cells",
        tolerance="at most 0",
        why="The statement is one of direction.",
        conditions=_RANGE + "; all n and m together. The gain is where ε/m is largest: many persons, few items; "
                            "from m = 100 on there is none.",
        check=_smaller((DEBIASED, "tight"), (FLIPPED, "tight")),
        twin="the two estimators under each other's name",
        twin_data=renamed("estimator", "spectral", "spectral_debiased"),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.figure_1.high_privacy",
        statement="At ε = 0.01 all mechanisms are very inaccurate, a sparse graph more than all pairs.",
        estimand="mean ‖β̂ − β*‖₂/√m at ε = 0.01 over cells; sparse less dense",
        tolerance="at least 0.8; at least 0",
        why="An estimate of 0 for all items has 1, the standard deviation of β*.",
        conditions="All n and m together; tight calibration.",
        check=_hopeless,
        twin="errors at the other end of the grid of ε",
        twin_data=lambda r: r.assign(error_l2=r["error_l2"].isel(epsilon_user=slice(None, None, -1)).variable),
        **_ABOUT,
    ),
    Claim(
        id="nguyen.figure_1.sparse",
        statement="At low privacy a sparse graph helps with many items and few persons, and hurts with few items and "
                  "many persons.",
        estimand="mean difference of ‖β̂ − β*‖₂/√m, sparse less dense, at the most items and fewest persons, and at "
                 "the other corner",
        tolerance="at most 0; at least 0",
        why="The statement is one of direction.",
        conditions=f"ε ≥ {LOWER:g}; the two corners of the grid. Tight calibration, which gains less on a graph than "
                   "on all pairs; the graph is drawn until it is connected. At smaller ε it hurts in both.",
        check=_many_items,
        twin="sparse and dense under each other's name",
        twin_data=renamed("graph", "dense", "sparse"),
        **_ABOUT,
    ),
)
