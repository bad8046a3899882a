"""Rows N8, N9 and X11 of docs/papers.md, which are about people's own data: computed again where the files are."""

import math
import re

import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.problems.response.data.recorded import RecordedResponses
from pipeline.study.parameters import DataFile
from tests.helpers.papers import TEXT
from tests.helpers.real_data import real

ALPHA = 1e-6


def simulated(experiment, path, seed, replications, **changes):
    return pl.simulate(
        experiment,
        **{
            "data.path": path,
            "seed": seed,
            "replications": replications,
            "block": replications,
            **changes,
        },
    )


def within(sample, low, high, what):
    """Is the mean between these ends, but for a t bound at 1e-6?"""
    sample = np.asarray(sample)
    mean, bound = sample.mean(), stats.t.isf(ALPHA / 2, sample.size - 1) * stats.sem(sample)
    print(f"{what}: n={sample.size} statistic={mean:.4g} bound={bound:.2g} alpha={ALPHA:g}")
    return low - bound < mean < high + bound


@pytest.mark.parametrize("path", [real("movielens/ratings.csv")])
def test_x11_errors_of_users_fall_and_of_independent_comparisons_rise(path):
    data = simulated(
        "xu/movielens",
        path,
        11,
        60,
        grid=dict(
            rule=["paper"],
            comparisons=["users", "independent"],
            L=[100, 600],
            mechanism=["randomized_response"],
            scheme=["inverse_log"],
        ),
    )
    stated = {
        name: [
            float(number.replace("−", "-"))
            for number in re.search(
                rf"^\| {text} \| ([−+][\d.]+) \| ([−+][\d.]+) \|", TEXT, re.M
            ).groups()
        ]
        for name, text in (
            ("users", "L of the 610 users, without replacement"),
            ("independent", "L independent users of the model at θ\\*"),
        )
    }
    assert stated == {"users": [-0.12, -0.16], "independent": [0.07, 0.07]}
    for comparisons, exponents in stated.items():
        for metric, exponent in zip(("kendall", "error_l2"), exponents, strict=True):
            first, last = (
                data[metric].squeeze().sel(comparisons=comparisons).transpose("L", ...).values
            )
            found = math.log(last.mean() / first.mean()) / math.log(6)
            noise = math.hypot(*(stats.sem(one) / one.mean() for one in (first, last))) / math.log(
                6
            )
            bound = (
                stats.t.isf(ALPHA / 2, 59) * noise + 0.03
            )  # six levels, and a slope that is not constant
            print(
                f"{comparisons}, {metric}: n=60 statistic={found - exponent:.3f} bound={bound:.3f} alpha={ALPHA:g}"
            )
            assert (
                abs(found - exponent)
                < bound
                < abs(exponent - stated["independent" if exponent < 0 else "users"][0])
            )


@pytest.mark.parametrize("path", [real("movielens/ratings.csv")])
def test_n8_all_pairs_are_better_than_a_sparse_graph(path):
    """At m = 200 and ε = 7.5, as the text has it: 0.15 and 0.10 of all pairs, 0.19 on the graph."""
    data = simulated(
        "nguyen/figure_3",
        path,
        8,
        6,
        parameters=dict(shuffled=None),
        grid=[
            dict(
                m=[200],
                epsilon_user=[7.5],
                mechanism=["discrete_gaussian"],
                graph=["dense", "sparse"],
                calibration=["paper", "tight"],
                estimator=["spectral"],
            )
        ],
    )
    errors = data["error_l2"].squeeze()
    for calibration, dense in (("paper", 0.15), ("tight", 0.10)):
        all_pairs, sparse = (
            errors.sel(calibration=calibration, graph=graph).values for graph in ("dense", "sparse")
        )
        assert (all_pairs.mean(), sparse.mean()) == pytest.approx((dense, 0.19), abs=0.02)
        assert (sparse > all_pairs).all()  # on the same persons


SETS = {
    "irt/lsat6.csv": (1000, 5),
    "irt/student-por.csv": (649, 3),
    "irt/uci_Sapfile1_300rows.arff": (300, 4),
}
TABLE = {
    "randomized response as in the paper, ε = 0.01; 1; 5": (
        "randomized_response",
        "tight",
        "spectral",
    ),
    "the same, debiased": ("randomized_response", "tight", "spectral_debiased"),
    "Gaussian, as the paper charges it": ("discrete_gaussian", "paper", "spectral"),
    "Gaussian, charged what a row costs": ("discrete_gaussian", "tight", "spectral"),
}


def stated(row, column):
    """Numbers of a cell of the table of real responses."""
    cells = re.search(rf"^\| {re.escape(row)} \|(.*)\|$", TEXT, re.M)[1].split("|")
    return [float(number) for number in cells[column].split(";")]


@pytest.mark.parametrize(
    "path, column, n, m",
    [
        pytest.param(*real(name).values, column, *SETS[name], marks=real(name).marks)
        for column, name in enumerate(SETS)
    ],
)
def test_n9_and_the_table_of_real_responses(path, column, n, m):
    theta = (
        RecordedResponses(n=n, m=m, data_path=DataFile.at(path, "data_path"))
        .truth(None, 1, None)
        .theta
    )
    zero = np.linalg.norm(theta) / math.sqrt(m)
    assert [zero] == pytest.approx(stated("the estimate 0 for all items", column), abs=5e-4)
    levels = dict(epsilon_user=[0.01, 1, 5])
    data = simulated(
        "nguyen/figure_2",
        path,
        9,
        300,
        parameters=dict(n=n, m=m),
        grid=[
            dict(
                levels,
                mechanism=["randomized_response"],
                calibration=["tight"],
                estimator=["spectral", "spectral_debiased"],
            ),
            dict(
                levels,
                mechanism=["discrete_gaussian"],
                calibration=["paper", "tight"],
                estimator=["spectral"],
            ),
        ],
    )
    for row, (mechanism, calibration, estimator) in TABLE.items():
        errors = data["error_l2"].sel(
            mechanism=mechanism, calibration=calibration, estimator=estimator
        )
        for sample, mean in zip(
            errors.transpose("epsilon_user", ...).values, stated(row, column), strict=True
        ):
            rounded = 0.005 + 0.15 * sample.std() / math.sqrt(
                300
            )  # the table has an error of its own
            assert within(sample, mean - rounded, mean + rounded, f"{row}, {mean}")
    least, large = (
        data["error_l2"]
        .sel(
            mechanism="randomized_response",
            calibration="tight",
            estimator="spectral",
            epsilon_user=epsilon,
        )
        .mean()
        for epsilon in (0.01, 5)
    )
    assert abs(least / zero - 1) < 0.03 and large < 0.85 * zero
