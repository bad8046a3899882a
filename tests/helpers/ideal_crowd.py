"""Data on which what Wang and Xu say, and what this project found about it, holds to the letter."""

import json
from functools import cache

import numpy as np
import xarray as xr
from scipy.special import ndtr

from pipeline.problems.crowd.claims.recorded import RTE
from pipeline.problems.crowd.theory import bounds, vote_errors
from pipeline.problems.crowd.theory import wisdom as crowd_wisdom
from tests.helpers.ideal_ranking import levels, sealed

WORKERS = ["dawid_skene", "majority_vote"]


def ranged(data):
    """The data with the ranges that sealed shares have."""
    found = data.copy()
    for name in {"label_error", "label_flipped"} & {*data.data_vars}:
        found[name] = data[name].assign_attrs(least=0.0, most=1.0)
    return found


def tanh2(c):
    return np.tanh(c["epsilon"] / 2) ** 2


def privacy():
    axes = dict(epsilon=[0.1, 1.0, 8.0], ability_low=[0.5, 1.0])

    def lean(c):
        return np.tanh(c["epsilon"] / 2)

    def wrong(c):
        return 0.5 - lean(c) * xr.where(c["ability_low"] == 1, 0.5, 0.25)

    def variance(c):
        return xr.where(c["ability_low"] == 1, 0, 1 / 48)

    laws = dict(
        answers_wrong=wrong,
        ones_wrong=wrong,
        zeros_wrong=wrong,
        wrong_together=lambda c: wrong(c) ** 2,
        right_by_ability=lambda c: lean(c) * variance(c),
    )
    found = sealed(axes, {}, noise=1e-3, **laws)
    exact = sealed(
        axes,
        {},
        noise=0,
        answers_wrong_expected=wrong,
        ability_variance=variance,
        ability_mean=lambda c: xr.where(c["ability_low"] == 1, 1, 0.75),
    )
    return found.assign(exact.data_vars)


def limits():
    axes = dict(
        epsilon=[0.001, 0.01, 1.0, 40.0],
        mechanism=["randomized_response", "none"],
        estimator=WORKERS,
    )

    def private(c):
        return xr.where(c["mechanism"] == "none", 1, tanh2(c))

    found = sealed(
        axes,
        {},
        noise=0,
        wisdom=lambda c: 0.1 * private(c) * levels(c, "estimator", dawid_skene=1, majority_vote=1),
    )
    error = sealed(
        axes,
        {},
        label_error=lambda c: (
            0.5 - 0.4 * private(c) * levels(c, "estimator", dawid_skene=1, majority_vote=0.7)
        ),
    )["label_error"]
    same = error.sel(mechanism="none", epsilon=40.0).values
    error.loc[dict(mechanism="randomized_response", epsilon=40.0)] = same
    noise = np.random.default_rng(6).standard_normal(found["wisdom"].shape)
    return found.assign(
        label_error=error,
        ability_error_l2=error,
        wisdom_released=found["wisdom"] * (1 + 0.1 * noise),
    )


def labels():
    axes = dict(n=[50, 200, 400], wanted_wisdom=[1, 2, 4, 6, 8, 10, 12], estimator=WORKERS)

    def oracle(c):
        return np.exp(-c["wanted_wisdom"] / 2) / np.sqrt(c["wanted_wisdom"]) / 3

    def strength(c):
        return c["wanted_wisdom"] * np.sqrt(1000 / c["n"])

    def error(c):
        vote = 2 * oracle(c)
        return xr.where(
            c["estimator"] == "dawid_skene",
            xr.where(strength(c) < 2.3, 1.5 * vote, oracle(c)),
            vote,
        )

    found = sealed(
        axes,
        {"crowd_strength": strength},
        label_error=error,
        oracle_error=oracle,
        label_error_bound=lambda c: 2 * np.exp(-c["wanted_wisdom"] / 2),
    )
    return found.assign(
        majority_error_exact=error(found).sel(estimator="majority_vote", drop=True)
        + 0 * found["label_error"]
    )


def theorem_2():
    return sealed(
        dict(epsilon=[2.5, 4.0]),
        {},
        label_error=lambda c: 0 * c["epsilon"] + 1e-6,
        label_error_bound=lambda c: 2 * np.exp(-12.5 * 0.78 * tanh2(c)),
        start_error=lambda c: 0 * c["epsilon"] + 0.004,
        ability_error_inf=lambda c: xr.where(c["epsilon"] > 3, 0.04, 0.001),
        ability_error_inf_plain=lambda c: 0 * c["epsilon"] + 0.06,
    ).assign(theorem_2_holds=xr.DataArray(np.ones((2, 200)), dims=("epsilon", "replication")))


def theorem_2_starts():
    axes = dict(ability_low=[0.0, 1.0], initial_flips=["agreed", "random"], iterations=[1, 2, 1000])
    found = sealed(
        axes,
        {},
        label_error=lambda c: 1e-6 + 0 * c["iterations"],
        label_error_bound=lambda c: 0.003 + 0 * c["iterations"],
        start_error=lambda c: 0.0069 + 0 * c["iterations"],
    )
    return found.assign(theorem_2_holds=xr.ones_like(found["label_error"]))


def abilities():
    return sealed(
        dict(m=[500, 1000, 2000, 4000], epsilon=[0.5, 0.7, 1.0, 2.0]),
        {},
        ability_error_inf=lambda c: 2 / (np.sqrt(c["m"]) * c["epsilon"]),
        ability_error_inf_plain=lambda c: 0.5 - np.tanh(c["epsilon"] / 2) / 2 + 0 * c["m"],
    )


def experts():
    axes = dict(
        expert_exponent=[0.3, 0.45],
        n=[25, 100, 400],
        epsilon=[0.5, 1.0, 1.75, 4.0],
        estimator=WORKERS,
    )

    def each(function):
        return lambda c: xr.apply_ufunc(
            np.vectorize(function), c["n"], c["expert_exponent"], c["epsilon"]
        )

    oracle = each(lambda *at: ndtr(-np.sqrt(crowd_wisdom.expert_wisdom(*at))))
    vote = each(vote_errors.expert_vote_error)

    def error(c):
        return xr.where(
            c["estimator"] == "dawid_skene", np.minimum(1.05 * oracle(c), 0.95 * vote(c)), vote(c)
        )

    return sealed(
        axes,
        {"expert_wisdom": each(crowd_wisdom.expert_wisdom)},
        noise=0.01,
        label_error=error,
        majority_error_exact=vote,
        oracle_error=oracle,
        label_error_bound=each(bounds.expert_error_bound),
    )


def basin():
    axes = dict(
        m=[200, 600, 1800, 5400],
        epsilon=[0.5, 1.0, 2.0],
        lead=[0, 0.25, 0.35, 0.5, 0.7, 1, 2, 3, 4, 8],
    )

    def flipped(c):
        return ndtr(-2.2 * c["lead"]) + 0 * c["m"] * c["epsilon"]

    found = sealed(
        axes,
        {
            "crowd_strength": lambda c: 50 * tanh2(c) / 3 * np.sqrt(c["m"] / 50),
            "lead_realised": lambda c: c["lead"] + 0 * c["m"],
        },
        noise=0.2,
        label_flipped=flipped,
    )
    return found.assign(
        label_error=0.03
        + (1 - 2 * 0.03) * flipped(found).where(found["lead"] < 3, 0)
        + 1e-4 * found["label_flipped"]
    )


def projection():
    axes = dict(epsilon=[2.0, 4.0, 8.0], projection=[1e-12, 1e-3, 0.1])
    return sealed(
        axes,
        {},
        label_error=lambda c: xr.where(c["projection"] < 0.1, 0.25, 0.1) + 0 * c["epsilon"],
    )


def initialisation():
    axes = dict(
        ability_low=[0.2, 0.5],
        m=[300, 1000],
        epsilon=[0.35, 1.0, 2.0],
        initialisation=["majority", "spectral", "given"],
    )

    def wisdom(c):
        a = 2 * c["ability_low"] - 1
        return 100 * tanh2(c) * (a**2 + 0.6 * a + 0.36) / 3

    def strength(c):
        return wisdom(c) * np.sqrt(c["m"] / 100)

    def own(c):
        return ndtr(-np.sqrt(wisdom(c))) + xr.where(strength(c) < 2, 0.1, 0) + 0 * c["m"]

    def flipped(c):
        blind = (c["ability_low"] == 0.2) & (c["initialisation"] != "given")
        return xr.where(blind, 0.5, 0.0) + 0 * c["m"] * c["epsilon"]

    return sealed(
        axes,
        {"crowd_strength": strength},
        noise=0.02,
        label_flipped=flipped,
        label_error=lambda c: own(c) + (1 - 2 * own(c)) * flipped(c),
        label_error_flip=lambda c: own(c) + 0 * flipped(c),
        start_error=lambda c: levels(c, "initialisation", majority=0.46, spectral=0.2, given=0),
        oracle_error=lambda c: ndtr(-np.sqrt(wisdom(c))),
    )


def sparse():
    axes = dict(wanted_answers=[2, 10, 50, 100], epsilon=[1.0, 4.0], estimator=WORKERS)

    def wisdom(c):
        return c["wanted_answers"] * tanh2(c) / 3

    def strength(c):
        return wisdom(c) * np.sqrt(5)

    def error(c):
        gain = xr.where(strength(c) < 2.8, 1.3, 0.7)
        return ndtr(-np.sqrt(wisdom(c) / 1.4)) * xr.where(c["estimator"] == "dawid_skene", gain, 1)

    return sealed(axes, {"crowd_strength": strength}, label_error=error)


def rare():
    axes = dict(wanted_wisdom=[8, 16, 24, 32], estimator=WORKERS, tilt_by=["vote", "odds"])

    def exact(c):
        return np.exp(-0.45 * c["wanted_wisdom"])

    found = sealed(
        axes,
        {},
        noise=0.5,
        label_error_bound=lambda c: 2 * np.exp(-c["wanted_wisdom"] / 2),
        first_label_wrong=lambda c: 0 * c["wanted_wisdom"] + 0.5,
        first_label_wrong_weighted=lambda c: xr.where(
            c["estimator"] == "dawid_skene", np.exp(-0.6 * c["wanted_wisdom"]), exact(c)
        ),
    )
    return found.assign(majority_error_exact=exact(found) + 0 * found["first_label_wrong"])


def real(file=RTE):
    axes = dict(
        epsilon=[0.5, 1.0, 2.0, 4.0], mechanism=["randomized_response", "none"], estimator=WORKERS
    )
    better = ["majority_vote", "dawid_skene"][file == RTE]

    def error(c):
        return (
            0.1 / c["epsilon"] * xr.where(c["estimator"] == better, 1, 1.5)
            + 0 * c["mechanism"].notnull()
        )

    found = sealed(axes, {}, label_error=error, labels_unlike_plain=lambda c: 0.4 * error(c))
    found.attrs["study"] = json.dumps({"parameters": {"data_path": file}})
    return found


def crowd_surveys():
    axes = dict(
        mechanism=["randomized_response", "shuffled_response", "noisy_votes"],
        questions=[1, 4, 20],
        n=[200, 400],
    )

    def error(c):
        slope = levels(
            c, "mechanism", randomized_response=0.1, shuffled_response=-0.1, noisy_votes=-0.12
        )
        return 0.3 + slope * np.log(c["questions"] / 4) / np.log(5) + 0 * c["n"]

    return sealed(axes, {}, label_error=error)


def lemmas():
    axes = dict(n=[20], m=[20, 40], epsilon=[1.0, 3.0], projection=[0.05], initial_error=[0.1])
    found = sealed(
        axes,
        {"lemma_1_most": lambda c: 2 * c["n"] / c["m"] ** 2 + 2 / c["m"] ** 7},
        reps=8000,
        lemma_1_holds=lambda c: 1 + 0 * c["m"],
        lemma_3_share=lambda c: 0.2 + 0 * c["m"],
    )
    holds = np.random.default_rng(5).random(found["lemma_1_holds"].shape) > 0.002
    return found.assign(lemma_1_holds=found["lemma_1_holds"].copy(data=holds.astype(float)))


def two_coins():
    axes = dict(
        m=[250, 500],
        epsilon=[1.0, 2.0, 4.0],
        estimator=["two_coins", "dawid_skene", "majority_vote"],
    )

    def error(c):
        return levels(c, "estimator", two_coins=0.05, dawid_skene=0.15, majority_vote=0.17) / (
            c["epsilon"] + 0 * c["m"]
        )

    def risk(c):
        return 1 / (c["m"] * tanh2(c)) + 0 * levels(
            c, "estimator", two_coins=0, dawid_skene=0, majority_vote=0
        )

    return sealed(
        axes,
        {},
        noise=0.01,
        label_error=error,
        coin_error_l2=lambda c: np.sqrt(risk(c)),
        coin_risk=risk,
    )


def two_coins_real(file=RTE):
    axes = dict(
        epsilon=[1.0, 2.0, 4.0],
        mechanism=["randomized_response", "none"],
        estimator=["two_coins", "dawid_skene", "majority_vote"],
    )

    def error(c):
        of_method = levels(c, "estimator", two_coins=0.1, dawid_skene=0.28, majority_vote=0.24)
        return of_method + 0 * c["epsilon"] + 0 * c["mechanism"].notnull()

    found = sealed(axes, {}, label_error=error)
    same = found["label_error"].sel(mechanism="none", epsilon=4.0).values[..., :1]
    found["label_error"].loc[dict(mechanism="none")] = same
    found.attrs["study"] = json.dumps({"parameters": {"data_path": file}})
    return found


def task_difficulty():
    axes = dict(wanted_wisdom=[8, 16, 32, 48], estimator=WORKERS)

    def error(c):
        return levels(c, "estimator", dawid_skene=0.4, majority_vote=0.46) / np.sqrt(
            c["wanted_wisdom"]
        )

    def best(c):
        return 0.39 / np.sqrt(c["wanted_wisdom"]) + 0 * error(c)

    found = sealed(axes, {}, noise=0.01, label_error=error)
    exact = sealed(
        axes,
        {},
        noise=0,
        task_vote_error=error,
        task_oracle_error=best,
        task_error_bound=lambda c: 6 * error(c),
        label_error_bound=lambda c: 2 * np.exp(-c["wanted_wisdom"] / 8) + 0 * error(c),
        label_error_expected=lambda c: error(c) / 4,
        majority_error_exact=lambda c: np.exp(-c["wanted_wisdom"] / 7) / 3 + 0 * error(c),
    )
    return found.assign(exact.data_vars)


MAKERS = (
    privacy,
    limits,
    labels,
    theorem_2,
    theorem_2_starts,
    abilities,
    experts,
    basin,
    projection,
    initialisation,
    sparse,
    rare,
    real,
    lemmas,
    task_difficulty,
    two_coins,
    two_coins_real,
)
IDEAL = {f"wang/{make.__name__}": cache(make) for make in MAKERS}
IDEAL["person/crowd_surveys"] = cache(crowd_surveys)
