"""Data on which the claims of Nguyen and Zhang hold exactly."""

import json
from functools import cache

import numpy as np
import xarray as xr

from pipeline.privacy import accounting
from pipeline.privacy.accounting import zcdp_rho
from pipeline.privacy.gaussian_account import exact_rho
from pipeline.problems.common.rating_files import MOVIELENS
from pipeline.problems.response.claims.common import DELTA
from pipeline.problems.response.claims.entrywise import largest_gaussian
from pipeline.problems.response.claims.recorded import EDUCATION
from pipeline.problems.response.claims.sparse import noise_per_person
from tests.helpers.ideal_ranking import levels, over, sealed


def entrywise():
    def error(c):
        return 2 / np.sqrt(c["n"] * c["p"]) * c["m"] ** 0

    return sealed(
        dict(m=[25, 50, 100], n=[500, 1000, 2000], p=[0.5, 1.0]),
        {},
        error_l2=error,
        error_inf=lambda c: error(c) * over(np.vectorize(largest_gaussian), c["m"]),
        item_bound=lambda c: error(c) ** 2 / 1.1,
    )


def few_responses():
    axes = dict(m=[50, 100], p=[0.1, 0.4, 1.0], density=[4, 20, 80])

    def persons(c):
        return c["density"] * np.log(c["m"]) / c["p"] ** 2

    return sealed(
        axes,
        {"n": persons},
        error_inf=lambda c: 4 * np.sqrt(np.log(c["m"]) / (persons(c) * c["p"])),
    )


def consistency():
    def error(c):
        return 3 / np.sqrt(c["n"]) * c["m"] ** 0 + xr.where(
            c["estimator"] == "joint_likelihood", 0.5, 0.0
        )

    return sealed(
        dict(m=[3, 5], n=[1000, 3000, 10000, 30000], estimator=["spectral", "joint_likelihood"]),
        {},
        error_l2=error,
        error_inf=error,
    )


def top_k():
    axes = dict(
        m=[10, 20, 40], spacing=[0.05, 0.1], p=[0.5, 1.0], recovery=[0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    )
    return sealed(
        axes,
        {"n": lambda c: c["recovery"] * np.log(c["m"]) / (c["p"] * c["spacing"] ** 2)},
        noise=0.02,
        exact_top_k=lambda c: 1 - np.exp(-c["recovery"] / 2) + 0 * c["m"],
    )


def price():
    axes = dict(
        m=[10, 20, 40],
        item_noise=[10, 40, 160],
        item_size=[10, 30, 100, 300, 1000],
        mechanism=["discrete_gaussian", "none"],
    )

    def persons(c):
        return c["item_size"] * c["item_noise"]

    def budget(c):
        return np.sqrt(c["m"] / c["item_noise"])

    def error(c):
        base = 4 / persons(c)
        excess = 2 * c["m"] / (persons(c) * xr.apply_ufunc(zcdp_rho, budget(c), DELTA))
        return np.sqrt(base * (1 + xr.where(c["mechanism"] == "none", 0, excess)))

    return sealed(axes, {"n": persons, "epsilon_user": budget}, noise=0.01, error_l2=error)


def price_estimators():
    axes = dict(
        m=[10, 20, 40],
        p=[0.5, 1.0],
        item_noise=[10, 40],
        item_size=[100, 300, 1000, 3000],
        estimator=["spectral", "pairwise_likelihood"],
        mechanism=["discrete_gaussian", "none"],
    )

    def persons(c):
        return c["item_size"] * c["item_noise"] / c["p"] ** 2

    def budget(c):
        return np.sqrt(c["m"] / c["item_noise"])

    def excess(c):
        constant = levels(c, "estimator", spectral=5, pairwise_likelihood=3)
        law = (
            constant
            * c["m"]
            / (persons(c) * c["p"] ** 3 * xr.apply_ufunc(zcdp_rho, budget(c), DELTA))
        )
        return xr.where(c["mechanism"] == "none", 0, law)

    def square(c):
        return 4 / (persons(c) * c["p"])

    def error(c):
        return np.sqrt(square(c) * (1 + excess(c)))

    return sealed(
        axes,
        {"n": persons, "epsilon_user": budget},
        noise=0.003,
        error_l2=error,
        error_inf=lambda c: 2.5 * error(c),
        noise_risk=lambda c: square(c) * excess(c),
    )


_MECHANISMS = dict(discrete_gaussian=0.5, discrete_laplace=3, randomized_response=12)


def figure_1():
    axes = dict(
        n=[200, 1000],
        m=[25, 200],
        epsilon_user=[0.01, 0.5, 2.5, 7.5],
        mechanism=[*_MECHANISMS],
        graph=["dense", "sparse"],
        calibration=["paper", "tight"],
        estimator=["spectral", "spectral_debiased"],
    )

    def error(c):
        scale = (
            levels(c, "mechanism", **_MECHANISMS)
            * levels(c, "calibration", paper=1.5, tight=1)
            * levels(c, "estimator", spectral=1, spectral_debiased=0.7)
        )
        corner = (c["n"] < 500) & (c["m"] > 100)
        sparse = xr.where(c["epsilon_user"] < 1, 2, xr.where(corner, 0.8, 1.3))
        return xr.where(c["graph"] == "sparse", sparse, 1) / (1 + c["epsilon_user"] / scale)

    return sealed(axes, {}, error_l2=error)


def figure_2(file=0):
    axes = dict(
        epsilon_user=[0.01, 0.5, 1.0, 5.0, 7.5],
        mechanism=[*_MECHANISMS],
        calibration=["paper", "tight"],
        estimator=["spectral", "spectral_debiased"],
    )

    def error(c):
        flipped = levels(
            c, "mechanism", discrete_gaussian=0, discrete_laplace=0, randomized_response=1
        )
        noise = levels(
            c, "mechanism", discrete_gaussian=0.1, discrete_laplace=0.12, randomized_response=1
        )
        own = xr.where(
            flipped > 0,
            0.8 / (1 + c["epsilon_user"] / 10),
            noise / np.sqrt(0.002 + c["epsilon_user"]),
        )
        return (
            own
            * levels(c, "calibration", paper=1.2, tight=1)
            * levels(c, "estimator", spectral=1, spectral_debiased=0.9)
        )

    results = sealed(axes, {}, error_l2=error)
    results.attrs["study"] = json.dumps({"parameters": {"data_path": list(EDUCATION)[file]}})
    return results


def figure_3():
    axes = dict(
        m=[25, 200],
        epsilon_user=[0.5, 1.0, 2.5, 7.5],
        mechanism=[*_MECHANISMS],
        graph=["dense", "sparse"],
        calibration=["paper", "tight"],
        estimator=["spectral", "spectral_debiased"],
    )

    def error(c):
        sparse = xr.where(c["m"] > 50, 0.8, 1.3)
        return (
            xr.where(c["graph"] == "sparse", sparse, 1)
            * levels(c, "calibration", paper=1.5, tight=1)
            / (1 + c["epsilon_user"] / levels(c, "mechanism", **_MECHANISMS))
            * levels(c, "estimator", spectral=1, spectral_debiased=0.9)
        )

    results = sealed(axes, {}, error_l2=error)
    results.attrs["study"] = json.dumps({"parameters": {"data_path": MOVIELENS[0]}})
    return results


def figure_p0():
    axes = dict(
        n=[200, 1000],
        m=[100],
        p0=[0.07, 0.2, 1.0],
        epsilon_user=[0.1, 7.5],
        calibration=["paper", "tight"],
    )
    return sealed(
        axes,
        {},
        error_l2=lambda c: (
            c["p0"] ** xr.where(c["epsilon_user"] < 1, -0.3, 0.3)
            * levels(c, "calibration", paper=1.2, tight=1)
            * (c["n"] * c["m"]) ** -0.5
        ),
    )


def sparse():
    axes = dict(
        n=[200, 500, 1000],
        m=[25, 200],
        epsilon_user=[0.5, 1.0, 2.5, 7.5],
        graph=["dense", "sparse"],
    )

    def error(c):
        helped = (c["m"] > 100) & (noise_per_person(c["n"], c["m"], c["epsilon_user"]) < 1)
        factor = xr.where(helped, 0.7, 1.4)
        return xr.where(levels(c, "graph", dense=0, sparse=1) > 0, factor, 1) / (
            1 + c["epsilon_user"]
        )

    return sealed(axes, {}, error_l2=error)


def privacy():
    """As in the paper: the printed variance and the shortcut cost no more than is stated."""
    axes = dict(
        m=[2, 5, 25],
        epsilon_user=[0.1, 1.0, 7.5],
        mechanism=["discrete_gaussian", "discrete_laplace"],
        calibration=["paper", "tight"],
    )
    one = xr.DataArray(1.0)
    drawn = sealed(axes, {}, noise=0.05, noise_drawn=lambda c: one)
    exact = sealed(
        axes,
        {},
        noise=0,
        count_spent=lambda c: one,
        person_spent_printed=lambda c: one,
        shortcut_epsilon_cited=lambda c: one,
        shortcut_delta_exact=lambda c: one * 0.9,
        person_spent=lambda c: levels(c, "calibration", paper=1.0, tight=1.0),
    )
    return exact.assign(noise_drawn=drawn["noise_drawn"])


def random_graph():
    axes = dict(m=[3, 4, 10, 25], p0=[0.25, 0.5], epsilon_user=[1.0, 2.5, 7.5])
    one = xr.DataArray(1.0)
    exact = sealed(
        axes,
        {},
        noise=0,
        random_graph_charge=lambda c: 1 + 2 / c["m"],
        random_graph_exact=lambda c: one * 0.97,
        secrecy_share=lambda c: one,
    )
    drawn = sealed(axes, {}, noise=0.05, random_graph_share=lambda c: one * 0.7)
    return exact.assign(random_graph_share=drawn["random_graph_share"])


def high_privacy():
    axes = dict(
        n=[200, 1000, 4000],
        m=[5, 25],
        epsilon_user=[0.01, 0.1],
        estimator=["shrunk_scores", "spectral"],
    )
    information = np.vectorize(lambda m, n, epsilon: 2 * n**2 * exact_rho(epsilon, DELTA) / m)

    def told(c):
        return xr.apply_ufunc(information, c["m"], c["n"], c["epsilon_user"])

    def risk(c):
        return (1 - 1 / c["m"]) / (1 + 0.03 * told(c))

    exact = sealed(
        axes,
        {},
        noise=0,
        private_floor=lambda c: 1 / (1 + 0.2 * told(c)),
        shrunk_risk=risk,
    )
    drawn = sealed(
        axes,
        {},
        noise=0.05,
        error_l2=lambda c: np.sqrt(risk(c)) * levels(c, "estimator", shrunk_scores=1, spectral=1.1),
    )
    return exact.assign(error_l2=drawn["error_l2"])


def questions():
    axes = dict(m=[13], epsilon_user=[2.5, 5.0, 7.5, 15.0], calibration=["paper", "tight"])

    def risk(c):
        return (
            0.04 / c["epsilon_user"] ** 2 * c["m"] ** 0 * levels(c, "calibration", paper=2, tight=1)
        )

    exact = sealed(axes, {}, noise=0, noise_risk=risk)
    drawn = sealed(axes, {}, noise=0.05, error_l2=lambda c: np.sqrt(risk(c)))
    return exact.assign(error_l2=drawn["error_l2"])


def estimators():
    axes = dict(
        m=[10, 20, 40],
        n=[500, 2000, 8000],
        estimator=["spectral", "pairwise_likelihood", "joint_likelihood"],
    )

    def error(c):
        factor = levels(c, "estimator", spectral=1, pairwise_likelihood=0.95, joint_likelihood=0.97)
        return factor * 3 / np.sqrt(c["n"]) * c["m"] ** 0

    return sealed(
        axes,
        {},
        noise=0.05,
        error_l2=error,
        hamming_top_k=lambda c: error(c) / (2 * np.sqrt(2 * np.pi)),
    )


def cost():
    axes = dict(
        m=[10, 20, 40],
        n=[100, 400],
        mechanism=["discrete_gaussian", "randomized_response"],
    )

    def drawn(c):
        of_pairs = c["m"] * (c["m"] - 1) / 2
        return xr.where(c["mechanism"] == "discrete_gaussian", of_pairs, c["n"] * c["m"] / 2)

    return sealed(axes, {}, noise=0.001, numbers_drawn=drawn)


def shuffling():
    """As by the theorem and by the paper's search."""
    axes = dict(n=[100, 200, 1000, 10000], epsilon_user=[0.01, 0.1, 1.0, 2.5, 7.5])
    budget = np.vectorize(lambda epsilon, n: accounting.local_budget(epsilon, n, DELTA)[0])

    def local(c):
        return xr.apply_ufunc(budget, c["epsilon_user"], c["n"])

    return sealed(
        axes,
        {},
        noise=0,
        local_budget=local,
        local_budget_published=local,
        shuffled_epsilon_exact=lambda c: 0.2 * c["epsilon_user"],
    )


def persons():
    """Of the first order where nobody is trusted; fewer errors for more answers otherwise."""
    axes = dict(
        mechanism=["randomized_response", "shuffled_response", "noisy_differences"],
        estimator=["item_shares", "spectral"],
        person=[1.0, 4.0, 10.0],
        questions=[1, 2, 4, 5, 7, 10],
        n=[2_000, 6_000, 20_000],
    )

    def error(c):
        each = np.tanh(c["person"] / (2 * c["questions"]))
        alone = (1 / each**2 - 0.2) / c["questions"]
        is_local = c["mechanism"] == "randomized_response"
        return np.sqrt(100 * xr.where(is_local, alone, 0.5 / c["questions"]) / c["n"])

    results = sealed(axes, {}, error_l2=error)
    is_local = results["mechanism"] == "randomized_response"
    one_nat = results["person"] == 1
    of_one = (results["n"] == 6_000) & one_nat & (results["questions"] == 1)
    trusted = (results["n"] == 2_000) & one_nat & results["questions"].isin([2, 5, 10])
    is_spectral = results["mechanism"] == "noisy_differences"
    fits = (results["estimator"] == "spectral") == is_spectral
    ran = fits & xr.where(is_local, (results["n"] == 20_000) | of_one, trusted)
    status = results["status"].where(ran, 0).transpose(*results["status"].dims)
    errors = results["error_l2"].where(ran).transpose(*status.dims)
    return results.assign(error_l2=errors, status=status.astype("int8"))


MAKERS = (
    entrywise,
    few_responses,
    consistency,
    top_k,
    estimators,
    cost,
    price,
    price_estimators,
    figure_1,
    figure_2,
    figure_3,
    questions,
    figure_p0,
    sparse,
    privacy,
    random_graph,
    high_privacy,
    shuffling,
)
IDEAL = {f"nguyen/{make.__name__}": cache(make) for make in MAKERS}
IDEAL["person/response"] = cache(persons)
