"""Data on which the theorems of Xu, Sun and Cheng hold to the letter, and small real simulations of each experiment."""

import json
import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtr

from pipeline.analysis.selection import LEAST
from pipeline.cli.compose import compose
from pipeline.privacy import randomized_response_laws
from pipeline.problems.common.rating_files import MOVIELENS
from pipeline.problems.ranking import derivations
from pipeline.workflow.config import read_experiment

REPLICATIONS = 2 * LEAST
X = [1, 2, 4, 5.6, 8, 11, 16, 32, 64]
SCHEMES = ["log", "critical", "inverse_log"]


def sealed(axes, derived, seed=0, noise=0.05, reps=REPLICATIONS, **means):
    """Dataset with these means over the axes and independent relative noise in every replication."""
    rng = np.random.default_rng(seed)
    coordinates = xr.Dataset(coords=axes)
    template = xr.DataArray(np.ones([len(v) for v in axes.values()]), dims=list(axes), coords=axes)
    data = {}
    for name, mean in means.items():
        mean = (template * mean(coordinates)).transpose(*axes)
        size = (*mean.shape, reps)
        values = mean.values[..., None] * (1 + noise * rng.standard_normal(size))
        data[name] = ((*axes, "replication"), values)
    data["status"] = ((*axes, "replication"), np.ones((*template.shape, reps), "int8"))
    return xr.Dataset(data, axes | {name: make(coordinates) for name, make in derived.items()})


def over(function, array):
    return xr.apply_ufunc(function, array)


def levels(c, axis, **values):
    """An array over one axis of names."""
    return xr.DataArray(
        [values[name] for name in c[axis].values.tolist()], dims=axis, coords={axis: c[axis]}
    )


def size(m, users, epsilon):
    return m * users / over(randomized_response_laws.amplification, epsilon) ** 2


def lemmas(seed, reps):
    axes = dict(m=[2, 10, 30], L=[50, 400], epsilon=[0.1, 0.5, 1.0, 3.0])
    found = sealed(
        axes,
        {},
        seed,
        reps=reps,
        lean_true=lambda c: xr.DataArray(0.2),
        lean_true_squared=lambda c: xr.DataArray(0.05),
        estimate_sum=lambda c: xr.DataArray(1e-14),
    )
    t = over(randomized_response_laws.attenuation, found["epsilon"])
    noise = xr.DataArray(
        np.random.default_rng(seed + 1).standard_normal((3, *found["lean_true"].shape)),
        dims=("k", *found["lean_true"].dims),
    )
    found["lean_released"] = t * (found["lean_true"] + 0.01 * noise[0])
    found["lean_debiased"] = found["lean_released"] / t
    variance = 0.25 / t**2 - found["lean_true_squared"]
    found["error_debiased_squared"] = variance * (1 + 0.02 * noise[1])
    return found


def scheme_epsilon(axes, reference):
    def epsilon(c):
        return xr.DataArray(
            [
                [
                    [derivations.scheme_budget(s, m, n, reference, 0.5) for s in axes["scheme"]]
                    for n in axes["L"]
                ]
                for m in axes["m"]
            ],
            dims=["m", "L", "scheme"],
        )

    return epsilon


def scenario_2(seed, reps):
    axes = dict(m=[10, 20], L=[100, 200, 400, 800], scheme=SCHEMES)
    epsilon = scheme_epsilon(axes, 100)

    def error(c):
        return 3 / np.sqrt(size(c["m"], c["L"], epsilon(c)))

    return sealed(axes, {"epsilon": epsilon}, seed, reps=reps, error_l2=error, error_inf=error)


def phase_transition(seed, reps):
    axes = dict(
        m=[10, 20, 40], L=[100, 200, 400, 800, 1600], x=X, estimator=["debiased", "plug_in"]
    )

    def epsilon(c):
        return c["x"] / np.sqrt(c["m"] * c["L"])

    def sample(c):
        return size(c["m"], c["L"], epsilon(c))

    def error(c):
        return 1.1 / np.sqrt(
            1 + xr.where(c["estimator"] == "debiased", sample(c) / 10, sample(c) / 1e5)
        )

    def consistent(c):
        return error(c).sel(estimator="debiased", drop=True)

    found = sealed(
        axes,
        {"epsilon": epsilon},
        seed,
        reps=reps,
        error_l2=error,
        error_inf=lambda c: error(c) * c["m"] ** 0.1,
        minimax_bound=lambda c: 1 / np.sqrt(30 * sample(c)),
        sandwich_risk=lambda c: consistent(c) ** 2,
        cramer_rao_risk=lambda c: consistent(c) ** 2 / 1.15,
    )
    rng = np.random.default_rng(seed + 2)
    chi2 = rng.gamma((found["m"].values - 1) / 2, size=(reps, *found["error_l2"].shape[1:-1], 3)).T
    scale = xr.where(
        found["estimator"] == "debiased", 1 / size(found["m"], found["L"], found["epsilon"]), 0.1
    )
    found["excess_risk"] = (
        xr.DataArray(
            np.moveaxis(chi2, [1, 3], [3, 1]), found["error_l2"].coords, found["error_l2"].dims
        )
        * 1.7
        * scale
        / found["m"]
    )
    return found


def example_1(seed, reps):
    return sealed(
        dict(m=[3], L=[1000]),
        {},
        seed,
        0.01,
        reps,
        lean_next=lambda c: xr.DataArray(5 / 9),
        lean_two_apart=lambda c: xr.DataArray(0.6),
    )


def scenario_1(seed, reps):
    def error(c):
        return 5 / np.sqrt(size(c["m"], c["L"], c["epsilon"]))

    return sealed(
        dict(L=[100, 200, 400], m=[10, 20], epsilon=[1.0, 2.0]),
        {},
        seed,
        reps=reps,
        error_l2=error,
        error_inf=lambda c: error(c) * c["m"] ** 0.1,
    )


def scenario_3(seed, reps):
    def error(c):
        return 0.05 / (1 + c["m"] * c["L"] * c["spacing"] ** 2 / 20)

    return sealed(
        dict(L=[50, 100, 400], m=[10, 20, 30], spacing=[0.1, 0.2]),
        {},
        seed,
        reps=reps,
        kendall=error,
        hamming_top_k=error,
    )


def scenario_4(seed, reps):
    axes = dict(m=[10, 20], L=[50, 100, 400], scheme=SCHEMES)

    def error(c):
        return 0.2 * (c["L"] / 50) ** levels(c, "scheme", log=-0.2, critical=0.0, inverse_log=0.1)

    return sealed(axes, {"epsilon": scheme_epsilon(axes, 50)}, seed, reps=reps, kendall=error)


def scenario_5(seed, reps, same_ranking=False):
    axes = dict(
        L=[50, 100, 400],
        m=[10, 20],
        mechanism=["randomized_response", "laplace", "none"],
        estimator=["debiased", "plug_in", "likelihood"],
    )

    def error(c):
        noise = (
            4
            / np.sqrt(c["m"] * c["L"])
            * levels(c, "mechanism", randomized_response=1, laplace=1.2, none=0.7)
        )
        return xr.where(c["estimator"] == "plug_in", 0.6, noise)

    found = sealed(axes, {}, seed, reps=reps, error_l2=error, error_inf=error, kendall=error)
    if same_ranking:
        found["kendall"].loc[dict(estimator="plug_in")] = found["kendall"].sel(estimator="debiased")
    return found


def movielens(seed, reps):
    axes = dict(
        rule=["paper", "decided"],
        comparisons=["users", "independent"],
        L=[100, 200, 300, 400, 600],
        mechanism=["randomized_response", "none"],
        scheme=SCHEMES,
    )

    def error(c):
        power = levels(c, "scheme", log=-0.3, critical=0.0, inverse_log=0.3)
        private = levels(c, "mechanism", randomized_response=1, none=0)
        return np.sqrt(1e-4 * c["L"] ** 0 + private * 0.004 * (c["L"] / 100) ** power)

    found = sealed(
        axes,
        {},
        seed,
        reps=reps,
        kendall=error,
        hamming_top_k=error,
        error_l2=error,
        error_inf=error,
    )
    found.attrs["study"] = json.dumps({"parameters": {"data_path": MOVIELENS[0]}})
    return found.assign(
        share_two_ratings=xr.full_like(found["kendall"], 0.12),
        share_coin_flips=xr.full_like(found["kendall"], 0.54),
    )


def recovery(seed, reps):
    axes = dict(
        m=[10, 20], spacing=[0.02, 0.05], epsilon=[0.25, 1.0], signal=[1, 8, 12, 16, 24, 32, 48, 64]
    )

    def users(c):
        return (
            c["signal"]
            * over(randomized_response_laws.amplification, c["epsilon"]) ** 2
            / (c["m"] * c["spacing"] ** 2)
        )

    def error(c):
        return ndtr(-np.sqrt(c["signal"] / 8)) * (10 / c["m"])

    found = sealed(
        axes,
        {"L": users, "signal_over_log": lambda c: c["signal"] / np.log(c["m"] * users(c))},
        seed,
        reps=reps,
        kendall=error,
        hamming_top_k=error,
        exact_top_k=lambda c: 1 - np.exp(-c["signal"] / 6),
    )
    found["lemma_4_bound"] = 1.2 * found["hamming_top_k"]
    noise = np.random.default_rng(seed + 3).standard_normal(found["kendall"].shape)
    found["kendall_predicted"] = found["kendall"] * (1 + 0.02 * noise)
    return found


def personalised(seed, reps):
    axes = dict(
        m=[10],
        profile=["1:1", "0.5:1,0.5:4", "0.1:1,0.9:8"],
        matched=["G", "information"],
        L=[400, 6400, 25600],
        estimator=["debiased", "weighted", "likelihood"],
    )
    budgets = [
        [derivations.matched_budget(p, k, 1.0, 6400) for k in axes["matched"]]
        for p in axes["profile"]
    ]

    def over_budgets(function):
        return lambda c: xr.DataArray(
            [
                [function(e, p, 6400) for e in row]
                for p, row in zip(axes["profile"], budgets, strict=True)
            ],
            dims=["profile", "matched"],
            coords={name: axes[name] for name in ("profile", "matched")},
        )

    gain, information = (
        over_budgets(derivations.mean_gain),
        over_budgets(derivations.information_share),
    )

    def bound(c):
        return 1 / (c["m"] * c["L"] * information(c))

    def error(c):
        plain = gain(c) / (c["m"] * c["L"])
        return np.sqrt(
            xr.where(
                c["estimator"] == "debiased",
                plain,
                bound(c) * levels(c, "estimator", debiased=1, weighted=1.1, likelihood=1.0),
            )
        )

    return sealed(
        axes,
        {"mean_gain": gain, "information_share": information},
        seed,
        reps=reps,
        error_l2=error,
        cramer_rao_risk=bound,
        minimax_bound=lambda c: np.sqrt(bound(c) / 30),
    )


def sharp_constants(seed, reps):
    axes = dict(
        m=[10],
        theta=["redrawn", "two_groups"],
        epsilon=[0.1, 1.0, 4.0],
        spread=[0.5, 2.0, 3.0],
        estimator=["debiased", "likelihood"],
    )

    def risk(c):
        return 1e-4 * c["spread"] * c["epsilon"] ** 0

    def bound(c):
        return risk(c) / (1 + 0.7 * ((c["spread"] - 0.5) / 2.5) ** 2)

    def error(c):
        return np.sqrt(xr.where(c["estimator"] == "debiased", risk(c), bound(c)))

    return sealed(
        axes,
        {},
        seed,
        0.02,
        reps,
        error_l2=error,
        error_inf=lambda c: 2 * error(c),
        sandwich_risk=risk,
        cramer_rao_risk=bound,
        log_condition=lambda c: 1.6 * c["spread"],
    )


def links(seed, reps):
    axes = dict(
        link=["logistic", "probit", "cauchit"],
        m=[10, 20],
        size=[800, 3200, 12800],
        epsilon=[0.25, 1.0],
        estimator=["linked", "linked_likelihood", "debiased"],
    )

    def risk(c):
        return 4 / c["size"] * c["epsilon"] ** 0

    def bias(c):
        is_wrong = (c["estimator"] == "debiased") & (c["link"] != "logistic")
        return xr.where(is_wrong, 0.05, 0.0)

    found = sealed(
        axes,
        {},
        seed,
        0.02,
        reps,
        error_l2=lambda c: np.sqrt(risk(c) + bias(c)),
        error_inf=lambda c: 2 * np.sqrt(risk(c) + bias(c)),
        law_risk=risk,
        kendall=lambda c: 0.1 * np.sqrt(risk(c)),
    )
    ordered = found["kendall"].sel(estimator="linked")
    shared = found["estimator"] != "linked_likelihood"
    return found.assign(
        kendall=xr.where(shared, ordered, found["kendall"], keep_attrs=True).transpose(
            *found["kendall"].dims
        )
    )


def parties(seed, reps):
    axes = dict(m=[6], L=[96, 192], epsilon=[1.0, 2.0], mechanism=["randomized_response", "none"])

    def privacy(c):
        return xr.where(c["mechanism"] == "none", 0.0, 4 / size(c["m"], c["L"], c["epsilon"]))

    def risk(c):
        return privacy(c) + 4 / (c["m"] * c["L"])

    return sealed(axes, {}, seed, 0.02, reps, error_l2=lambda c: np.sqrt(risk(c)), law_risk=risk)


def items(seed, reps):
    axes = dict(m=[10, 20, 40, 80, 160], scheme=SCHEMES)

    def error(c):
        power = levels(c, "scheme", log=-0.12, critical=0.0, inverse_log=0.12)
        return 0.2 * (c["m"] / 10) ** power

    return sealed(axes, {}, seed, reps=reps, error_l2=error, error_inf=lambda c: 3 * error(c))


def certain(seed, reps):
    axes = dict(m=[10], L=[100, 400], epsilon=[1, 8, 16], mechanism=["randomized_response", "none"])

    def error(c):
        is_private = (c["mechanism"] != "none") & (c["epsilon"] < 4)
        return np.sqrt(4 / (c["m"] * c["L"])) * xr.where(is_private, 2.0, 1.0)

    return sealed(axes, {}, seed, 0.01, reps, error_l2=error, kendall=lambda c: error(c) / 10)


def faster(seed, reps):
    axes = dict(m=[10, 20], epsilon=[0.5, 2.0], size=[200, 800, 3200])

    def error(c):
        return 2 / np.sqrt(c["size"]) * (c["m"] * c["epsilon"]) ** 0

    def kendall(c):
        return ndtr(-0.15 * np.sqrt(c["size"] / 8)) * (c["m"] * c["epsilon"]) ** 0

    return sealed(axes, {}, seed, reps=reps, error_l2=error, kendall=kendall)


def mixed_recovery(seed, reps):
    axes = dict(m=[10, 20], signal=[72, 96], profile=[*PROFILES])
    return sealed(
        axes,
        {"concentration": concentration},
        seed,
        0.005,
        reps,
        exact_top_k=lambda c: 0.99 + 0 * c["m"],
    )


def top_k_boundary(seed, reps):
    axes = dict(
        m=[20, 40, 80],
        L=[100, 400],
        spread=[0.1, 0.2],
        epsilon=np.geomspace(0.08, 2, 24).tolist(),
    )

    def missed(c):
        return ndtr(-c["spread"] * np.sqrt(size(c["m"], c["L"], c["epsilon"])) / 2)

    return sealed(axes, {}, seed, 0.02, reps, hamming_top_k=missed)


PROFILES = {"1:1": 0.5, "0.9:1,0.1:8": 0.5, "0.999999:10000,0.000001:1": 20.0}  # H(ε)/(mG(ε))


def concentration(c):
    return levels(c, "profile", **PROFILES)


def mixed(seed, reps):
    axes = dict(m=[10, 20], theta=["spaced", "redrawn"], signal=[2, 4, 16], profile=[*PROFILES])

    def error(c):
        return ndtr(-np.sqrt(c["signal"] / 8)) * (10 / c["m"])

    found = sealed(
        axes,
        dict(concentration=concentration),
        seed,
        0.02,
        reps,
        excess_risk=error,
        error_inf=error,
        error_l2=error,
        hamming_top_k=error,
        kendall=error,
        kendall_predicted=error,
        radius_ratio=lambda c: 0.5 + 0 * c["m"],
    )
    return found.assign(exact_top_k=1 - found["hamming_top_k"])


def tails(seed, reps):
    axes = dict(profile=[*PROFILES], L=[10000, 20000], signal=[8, 512])
    found = sealed(
        axes,
        dict(concentration=concentration),
        seed,
        0,
        reps,
        large_error_surprisal=lambda c: 3 * np.log(c["L"] ** 2.0),
        large_excess_surprisal=lambda c: 1.0,
        deep_excess=lambda c: 80.0,
        inversion_surprisal=lambda c: c["signal"] / 16,
    )
    gap = np.sqrt(
        found["signal"] * randomized_response_laws.amplification(1.0) ** 2 / (2 * found["L"])
    )
    return found.assign_coords(spacing=gap)


def rare(seed, reps):
    axes = dict(m=[2, 10], epsilon=[0.5, 2.0], signal=[32, 64, 128, 192])

    def error(c):
        return ndtr(-np.sqrt(c["signal"] / 8)) * (2 / c["m"])

    found = sealed(axes, {}, seed, 0.5, reps, kendall_weighted=error, hamming_top_k_weighted=error)
    law = sealed(axes, {}, seed, 0.05, reps, wins_dispersion=lambda c: 1.0)
    found = found.assign(wins_dispersion=law["wins_dispersion"])
    return found.assign_attrs(study=json.dumps(dict(parameters=dict(spacing=0.1))))


def proofs(seed, reps):
    axes = dict(m=[5, 20], L=[200, 3200], epsilon=[0.5, 2.0], profile=["1:1", "0.5:1,0.5:4"])
    exact = sealed(
        axes,
        {},
        seed,
        0,
        2 * reps,
        hessian_ratio=lambda c: 1.0,
        variance_ratio=lambda c: 0.1,
        entry_ratio=lambda c: 0.1,
    )
    return exact.assign(
        sealed(axes, {}, seed, 0.05, 2 * reps, supremum_ratio=lambda c: 0.3)[["supremum_ratio"]]
    )


MAKERS = {
    f"xu/{make.__name__}": make
    for make in (
        lemmas,
        example_1,
        scenario_1,
        scenario_2,
        scenario_3,
        scenario_4,
        scenario_5,
        movielens,
        phase_transition,
        recovery,
        personalised,
        sharp_constants,
        mixed,
        tails,
        rare,
        links,
        parties,
        items,
        certain,
        faster,
        top_k_boundary,
        mixed_recovery,
        proofs,
    )
}


@cache
def ideal(experiment, seed=0, reps=REPLICATIONS, **changes):
    """Data on which the theorems hold to the letter."""
    return MAKERS[experiment](seed, reps, **changes)


# Ten seconds and more each: SIMULATIONS=full includes them.
SLOW = {
    "xu/movielens",
    "nguyen/entrywise",
    "nguyen/price",
    "nguyen/price_estimators",
    "nguyen/few_responses",
    "nguyen/figure_1",
    "nguyen/figure_p0",
    "nguyen/sparse",
    "person/response",
    "wang/limits",
    "wang/experts",
    "wang/initialisation",
    "wang/theorem_2",
    "wang/theorem_2_starts",
    "wang/sparse",
    "nguyen/top_k",
    "nguyen/figure_3",
    "banerjee/maxsense",
    "banerjee/multi",
    "banerjee/rich_scarce",
    "banerjee/separability",
    "banerjee/distortion",
    "banerjee/adaptive",
}
REAL = {
    "xu/phase_transition": ["grid.m=[10,20]"],
    "xu/scenario_2": ["grid.m=[10,20]", "grid.L=[100,400,1600]"],
    "xu/lemmas": ["grid.m=[2,20]"],
}


@cache
def real(experiment, replications=400):
    """The quick size of an experiment with few replications, simulated here and sealed in memory."""
    if experiment in SLOW and os.environ.get("SIMULATIONS") != "full":
        pytest.skip(f"simulating {experiment} takes long: SIMULATIONS=full")
    given = compose([f"experiment={experiment}", "size=quick", *REAL.get(experiment, ())])[0]
    study = replace(read_experiment(given).study, replications=replications, block=replications)
    axes, memo = study.grid.axes, {}
    shape = [len(found) for found in axes.values()]
    data = {name: np.full((*shape, replications), np.nan) for name in study.metrics}
    data["status"] = np.zeros((*shape, replications), "int8")
    derived = {name: np.full(shape, np.nan, object) for name in study.derivations}
    for labels in study.grid:
        index = tuple(axes[axis].index(level) for axis, level in labels.items())
        for name, values in study.simulate(labels, 0, memo).items():
            data[name][index] = values
        for name, value in study.derived(labels).items():
            derived[name][index] = value
    coordinates = {axis: list(found) for axis, found in axes.items()}
    coordinates |= {
        name: (tuple(axes), values.astype(float))
        for name, values in derived.items()
        if not isinstance(values.flat[0], str)
    }
    found = xr.Dataset(
        {name: ((*axes, "replication"), values) for name, values in data.items()},
        coordinates,
        dict(study=json.dumps(dict(parameters=dict(study.parameters)), default=str)),
    )
    for name in derived.keys() & {
        *found.coords
    }:  # as a sealed study has it: without axes that do not matter to it
        for axis in axes:
            if axis in found[name].dims and bool(
                (found[name] == found[name].isel({axis: 0})).all()
            ):
                found = found.assign_coords(
                    {name: found[name].variable.isel({axis: 0})}
                )  # and no other coordinate
    return found


CUTS = ("2 replications", "one failure", "no metric")


def cut_down(results, cut):
    """Results of which so little is left, in one of the ways of CUTS, that no claim may be decided."""
    if cut == "2 replications":
        return results.isel(replication=slice(2))
    if cut == "no metric":
        return results[["status"]]
    status = results["status"].copy()
    status[..., 7] = 3
    return results.assign(status=status)
