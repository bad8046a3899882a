"""Data on which what Banerjee, Hegde and Massoulié say holds to the letter, mistakes and all if `printed`."""

import json
from functools import cache

import numpy as np
import xarray as xr
from scipy import special

from pipeline.problems.clustering.claims.common import ESTIMATOR_OF
from pipeline.problems.clustering.claims.pairs import RATED
from pipeline.problems.clustering.claims.recommendations import price_of_an_item
from pipeline.problems.clustering.theory import information as blocks_information
from pipeline.problems.clustering.theory import sample_sizes as blocks
from tests.helpers.ideal_ranking import levels, over, sealed

USUAL = {
    mechanism: ESTIMATOR_OF[mechanism] for mechanism in ("max_sense", "pairwise_preference", "none")
}
MARGINS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.7, 2.0]


def successes(axes, derived, chance, ran=lambda c: True, metric="recovered", seed=0, reps=200):
    """Successes with these chances; status 0 where a cell was not run."""
    results = sealed(axes, derived, seed, 0.0, reps, **{metric: chance})
    uniform = np.random.default_rng(seed).random(results[metric].shape)
    results[metric] = (results[metric] > uniform).astype(float).assign_attrs(least=0.0, most=1.0)
    ran = results["status"].astype(bool) & ran(xr.Dataset(coords=axes))
    return results.assign(
        {metric: results[metric].where(ran), "status": results["status"].where(ran, 0)}
    )


def rising(ratio):
    """Chance of success at users over their boundary; 0.97 at 1.5 times it."""
    return special.expit(9 * np.log(ratio))


def usual(c):
    """Cells with the estimator that goes with the mechanism."""
    return (
        levels(c, "mechanism", **{m: USUAL[m] for m in c["mechanism"].values.tolist()})
        == c["estimator"]
    )


def privacy(printed):
    axes = dict(
        epsilon=[0.5, 1.0, 2.0, 4.0],
        b=["1, 1", "0, 0"],
        estimator=["score_clustering"],
        mechanism=["max_sense", "multi_max_sense", "pairwise_preference"],
    )

    def ones(c):
        bits = levels(c, "mechanism", max_sense=1, multi_max_sense=2, pairwise_preference=1)
        return special.expit(c["epsilon"] / bits * levels(c, "b", **{"1, 1": 1, "0, 0": -1}))

    results = sealed(axes, {}, 0, 0.01, 200, ones_released=ones)
    return results.assign_attrs(study=json.dumps(dict(parameters=dict(N=20, w=20, theta=10))))


def maxsense(printed):
    axes = dict(
        N=[100, 200, 400, 800],
        w=[5, 10, 20],
        epsilon=[0.5, 1.0, 2.0],
        contrast=[0.4, 0.8],
        maxsense_load=[3.0, 4.0, 4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 16.0],
        estimator=["score_clustering", "score_clustering_adjusted"],
    )

    def load_needed(c):
        return levels(c, "estimator", score_clustering=10.0, score_clustering_adjusted=5.4)

    def users(c):
        return (
            c["maxsense_load"]
            * c["N"] ** 2
            * np.log(c["N"])
            / (c["w"] * (2 * np.tanh(c["epsilon"] / 2)) ** 2 * c["contrast"] ** 2)
        )

    derived = dict(
        U=users,
        users_over_log=lambda c: users(c) / np.log(c["N"]),
        over_predicted=lambda c: c["maxsense_load"] / load_needed(c),
    )

    def ran(c):  # one axis at a time leaves its usual level
        normal = dict(N=200, w=10, epsilon=1.0, contrast=0.8)
        return sum((c[axis] != level).astype(int) for axis, level in normal.items()) <= 1

    return successes(axes, derived, lambda c: rising(c["maxsense_load"] / load_needed(c)), ran)


def rich_scarce(printed):
    axes = dict(
        N=[50, 71, 100],
        share=[0.1, 0.14, 0.2, 0.28, 0.4, 0.8, 1.0],
        margin=MARGINS,
        mechanism=list(USUAL),
        estimator=list(USUAL.values()),
    )

    def users(c):
        power = levels(
            c, "mechanism", max_sense=1.0, pairwise_preference=2.0 if printed else 4.0, none=1.0
        )
        return c["margin"] * 1e4 * c["N"] * (0.6 / c["share"]) ** power

    bounds = dict(
        users_least=lambda c: c["N"] / 3, users_least_scarce=lambda c: c["N"] / c["share"]
    )
    return successes(axes, dict(U=users, **bounds), lambda c: rising(c["margin"]), usual)


def pairs(printed):
    axes = dict(
        N=[50, 71, 100, 141, 200, 283, 400],
        epsilon=[0.25, 0.3, 0.35, 0.5, 0.7, 1.0, 2.0],
        reading=["agree", "positive"],
        margin=MARGINS,
    )

    def users(c):
        t = np.tanh(c["epsilon"] / 2)
        noise = c["epsilon"] if printed else t**2 / (0.5 - t * (0.5 - RATED / 2))
        return c["margin"] * 9 * c["N"] * np.log(c["N"]) / noise

    return successes(
        axes,
        dict(
            U=users,
            users_over_log=lambda c: users(c) / np.log(c["N"]),
            over_predicted=lambda c: c["margin"] + 0 * c["N"],
        ),
        lambda c: rising(c["margin"]),
        lambda c: (c["epsilon"] == 1) | (c["N"] == 100),
    )


def public(printed):
    return pairs(printed).sel(epsilon=1.0, reading="agree", drop=True)


def shapes(printed):
    axes = dict(
        N=[50, 100],
        theta=[0.5, 1.0, 2.0],
        beta=["0.5, 0.5", "0.8, 0.2"],
        alpha=["1"],
        b=["0.9, 0.1"],
        share=[0.2, 0.5],
        margin=MARGINS,
        mechanism=list(USUAL)[:2],
        estimator=list(USUAL.values())[:2],
    )
    return successes(
        axes,
        dict(over_predicted=lambda c: c["margin"]),
        lambda c: rising(c["margin"]),
        usual,
        reps=100,
    )


def multi(printed):
    axes = dict(
        epsilon=[0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0],
        margin=MARGINS,
        mechanism=["max_sense", "multi_max_sense"],
        questions=["one", "rounded_up", "best"],
    )

    def users(c):
        one, several = np.tanh(c["epsilon"] / 2) ** 2, np.tanh(0.5) ** 2 * c["epsilon"]
        several = one * 2.0 if printed else several
        return (
            c["margin"]
            * 1e4
            / xr.where(c["questions"] == "rounded_up", several, one)
            * xr.ones_like(levels(c, "mechanism", max_sense=1.0, multi_max_sense=1.0))
        )

    return successes(
        axes,
        dict(U=users),
        lambda c: rising(c["margin"]),
        lambda c: (c["mechanism"] == "max_sense") == (c["questions"] == "one"),
    )


def separability(printed):
    axes = dict(
        lean=[0.0, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4],
        U=[10_000 * 2**i for i in range(14)],
        mechanism=list(USUAL)[:2],
        estimator=list(USUAL.values())[:2],
    )

    def chance(c):
        sensed = xr.where(c["lean"] > 0, rising(c["U"] * c["lean"] ** 2 / 2e4 + 1e-9), 0.0)
        return xr.where(c["mechanism"] == "max_sense", sensed, rising(c["U"] / 8e4))

    return successes(axes, {}, chance, usual)


def distortion(printed):
    loads = [
        0.5,
        0.7,
        0.9,
        1.1,
        1.5,
        2.0,
        2.5,
        2.8,
        3.2,
        3.6,
        4.0,
        4.5,
        6.0,
        8.0,
        9.0,
        10.0,
        11.0,
        12.0,
        16.0,
    ]
    axes = dict(N=[100, 200, 400], maxsense_load=loads, distortion=[0.0, 0.05, 0.2])
    load_needed = {0.0: 10.0, 0.05: 3.5, 0.2: 1.0}

    def chance(c):
        allowed = xr.DataArray(
            [load_needed[d] for d in axes["distortion"]],
            dims="distortion",
            coords={"distortion": axes["distortion"]},
        )
        no_log = allowed * np.log(200) / np.log(c["N"])
        return rising(c["maxsense_load"] / xr.where(c["distortion"] > 0, no_log, allowed))

    return successes(
        axes,
        dict(U=lambda c: c["maxsense_load"] * c["N"] ** 2 * np.log(c["N"]) / 4),
        chance,
        metric="recovered_within",
    )


def adaptive(printed):
    axes = dict(
        N=[20, 28, 40, 57, 80, 113, 160],
        margin=MARGINS,
        mechanism=[
            "none",
            "adaptive",
            "average_one_bit",
            "one_bit",
            "max_sense",
            "adaptive_one_bit",
        ],
        estimator=["seen_clustering", "score_clustering"],
    )

    def users(c):
        log = np.log(c["N"])
        fixed = xr.apply_ufunc(blocks.users_fixed_questions, c["N"], 1.0)
        return c["margin"] * xr.where(
            c["mechanism"] == "none",
            c["N"] * log,
            xr.where(
                c["mechanism"] == "adaptive",
                2 * c["N"] ** 2,
                xr.where(
                    c["mechanism"] == "adaptive_one_bit",
                    0.95 * fixed,
                    xr.where(c["mechanism"] == "average_one_bit", log, c["N"])
                    * c["N"]
                    * log
                    * levels(
                        c,
                        "mechanism",
                        none=1,
                        adaptive=1,
                        average_one_bit=1.5,
                        one_bit=2.5,
                        max_sense=40,
                        adaptive_one_bit=1,
                    ),
                ),
            ),
        )

    found = successes(
        axes,
        dict(U=users, users_over_log=lambda c: users(c) / np.log(c["N"])),
        lambda c: rising(c["margin"]),
        lambda c: (
            c["mechanism"].isin(["none", "adaptive", "average_one_bit", "adaptive_one_bit"])
            == (c["estimator"] == "seen_clustering")
        ),
    )
    told = levels(
        found,
        "mechanism",
        none=1,
        adaptive=0.05,
        average_one_bit=0,
        one_bit=0,
        max_sense=0,
        adaptive_one_bit=0,
    ) + (found["mechanism"] == "average_one_bit") / np.log2(found["N"])
    noise = np.random.default_rng(4).standard_normal(found["recovered"].shape)
    seen = (told * xr.ones_like(found["recovered"])).transpose(*found["recovered"].dims) * (
        1 + 0.05 * noise
    )
    return found.assign(ratings_seen=seen.where(found["status"] > 0))


def information(printed):
    axes = dict(N=[2, 4, 8, 16, 1000], w=[1, 2, 4, 9, 30, 300, 1000], epsilon=[0.1, 0.5, 1.0, 4.0])

    def ran(c):
        return (c["w"] <= c["N"]) & (
            (c["N"] < 1000) & (c["w"] <= 4) | (c["N"] == 1000) & (c["w"] > 1)
        )

    def bits(c):
        whole = (
            c["epsilon"] * blocks_information.NAT
            if printed
            else over(blocks_information.capacity, c["epsilon"])
        )
        return 0.9 * whole * xr.where(c["w"] < c["N"], c["w"] / c["N"], 1.0)

    def remainder(c):
        share = (
            xr.apply_ufunc(blocks.lemma_12_remainder, c["N"], c["w"])
            * c["N"] ** 2
            / c["w"] ** 4
            / 1.5
        )
        return xr.where(c["w"] == 1, 0.3, share) if printed else share

    bounds = dict(
        bound_theorem_13=lambda c: 30 * bits(c),
        bound_theorem_14=lambda c: 20 * bits(c),
        bound_contraction=lambda c: 2.5 * bits(c),
    )
    results = sealed(
        axes,
        {},
        0,
        0.0,
        100,
        information_largest=bits,
        information_one_bit=lambda c: 0.75 / c["N"],
        odds_largest=lambda c: 0.9 + 0 * c["N"],
        odds_largest_of_sets=lambda c: 0.8 + 0 * c["N"],
        lemma_9_share=lambda c: (0.6 if printed else 0.9) + 0 * c["N"],
        lemma_9_largest=lambda c: 0.95 + 0 * c["N"],
        lemma_12_share=remainder,
        information_majority=lambda c: 0.4 * bits(c),
        **bounds,
    )
    inside = results["status"].astype(bool) & ran(xr.Dataset(coords=axes))
    return results.assign(status=results["status"].where(inside, 0))


def persons(printed):
    axes = dict(
        mechanism=["pairwise_preference", "noisy_co_occurrences"],
        Q=[1, 4, 16],
        U=[400, 500, 40_000, 50_000, 120_000, 400_000],
    )

    def wrong(c):
        of_mechanism = levels(c, "mechanism", pairwise_preference=0.25, noisy_co_occurrences=0.1)
        return of_mechanism * (1 + 0.2 * np.log2(c["Q"])) + 0 * c["U"]

    results = sealed(axes, {}, misclassified=wrong)
    is_curator = results["mechanism"] == "noisy_co_occurrences"
    users = results["U"]
    few = users < 1000
    most_pairs = xr.where(users < 100_000, 1, xr.where(users == 120_000, 4, 16))
    ran = xr.where(is_curator, few & (results["Q"] == 1), ~few & (results["Q"] <= most_pairs))
    status = results["status"].where(ran, 0).transpose(*results["status"].dims)
    wrong_share = results["misclassified"].where(ran).transpose(*status.dims)
    attributes = dict(least=0.0, most=1.0)
    return results.assign(misclassified=wrong_share.assign_attrs(attributes), status=status)


def equal_eigenvalues(printed):
    axes = dict(
        lean=[0.0, 0.4],
        N=[52, 76, 100, 140, 200, 280, 400],
        margin=[*MARGINS, 4.0, 16.0],
        estimator=["spectral_clustering", "spectral_signs"],
    )

    def turned(c):
        return xr.where(c["lean"] > 0, rising(c["margin"]), 1 - 0.8 / np.sqrt(c["margin"])).clip(0)

    def chance(c):
        is_signs = c["estimator"] == "spectral_signs"
        return xr.where(is_signs, turned(c), rising(c["margin"])) + 0 * c["N"]

    derived = dict(
        over_predicted=lambda c: c["margin"],
        users_over_log=lambda c: c["margin"] * c["N"],
        signs_predicted=turned,
    )
    return successes(axes, derived, chance, reps=400)


def fano(printed):
    axes = dict(
        mechanism=["max_sense", "none"],
        information_share=[0.1, 0.25, 0.5, 0.75, 1.0, 4.0],
        distortion=[0.0, 0.1],
    )
    single = dict(estimator=["score_clustering"], w=[8])
    return successes(
        axes | single,
        dict(error_least=lambda c: (1 - c["information_share"] - 2 * c["distortion"]).clip(0)),
        lambda c: (0.1 * c["information_share"] + 0 * c["distortion"]).clip(0, 1),
        metric="recovered_within",
    )


def recommendations(printed):
    axes = dict(w=[4, 8, 16], margin=[0.01, 0.7, 1.0, 2.0, 4.0])

    def wrong(c):
        return 0.01 / c["margin"] ** 3 + 0 * c["w"]

    results = sealed(axes, {}, misclassified=lambda c: wrong(c).clip(0, 0.5))
    price = xr.DataArray([price_of_an_item(w) for w in axes["w"]], dims="w")
    lost = (price * results["misclassified"]).transpose(*results["misclassified"].dims)
    lost = lost * (1 + 0.1 * np.random.default_rng(1).standard_normal(lost.shape))
    best = 0.85 + 0 * lost
    return results.assign(
        recommended_by_truth=best, recommended_rightly=best - lost, recommended_alone=best - 0.4
    )


MAKERS = {
    f"banerjee/{make.__name__}": make
    for make in (
        privacy,
        information,
        maxsense,
        rich_scarce,
        pairs,
        public,
        shapes,
        multi,
        separability,
        distortion,
        adaptive,
        equal_eigenvalues,
        fano,
        recommendations,
    )
}
MAKERS["person/clustering"] = persons


@cache
def ideal(experiment, printed=False):
    """Data of an experiment on which corrected statements hold; or, `printed`, those that the paper has."""
    return MAKERS[experiment](printed)
