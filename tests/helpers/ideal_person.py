"""Data on which what is claimed of a person's budget holds to the letter: errors of the first order."""

import json
import math
from functools import cache

import numpy as np
import xarray as xr

from pipeline.analysis.selection import LEAST
from pipeline.cli.compose import compose
from pipeline.problems.ranking.mechanisms.curator import CuratorNoise, NoisyScores
from pipeline.workflow.config import read_experiment
from tests.helpers.shared import numbers

REPLICATIONS = 2 * LEAST
NOISE = 0.05
EXPERIMENTS = (
    "person/ranking_questions",
    "person/ranking_boundaries",
    "person/ranking_trust",
    "central/ranking_boundaries",
    "central/ranking_shuffler",
    "central/ranking_surveys",
    "central/ranking_bounds",
    "central/ranking_protected",
)


def squared_error(mechanism, answer_epsilon):
    """16 v (m − 1)/m², v the variance of a pair's mean, of nearly equal items."""
    m, answers = mechanism.m, mechanism.answers
    reports = mechanism.L * answers / (m * (m - 1) / 2)
    if isinstance(mechanism, CuratorNoise):
        noise = mechanism.noise.variance(mechanism.width)
        if isinstance(mechanism, NoisyScores):
            noise /= 4 * m
        elif mechanism.compared_are == "protected":
            noise /= 2
    else:
        noise = reports / (4 * math.sinh(min(answer_epsilon, 300.0) / 2) ** 2)
    return 16 * (1 / (4 * reports) + noise / reports**2) * (m - 1) / m**2


def coordinate(values, axes):
    """A derived number over the axes that matter to it, as a sealed study has it."""
    dims = list(axes)
    for axis in list(dims):
        first = values.take([0], axis=dims.index(axis))
        if (first == values).all():
            values = first.squeeze(axis=dims.index(axis))
            dims.remove(axis)
    return dims, values.astype(float)


@cache
def ideal(experiment, seed=0, reps=REPLICATIONS):
    """The quick size of an experiment with errors of the first order, and noise of 5 %."""
    study = read_experiment(compose([f"experiment={experiment}", "size=quick"])[0]).study
    axes = {axis: list(levels) for axis, levels in study.grid.axes.items()}
    shape = [len(levels) for levels in axes.values()]
    means = {name: np.full(shape, np.nan) for name in study.metrics}
    derived = {name: np.full(shape, np.nan) for name in study.derivations}
    components = [study.components(labels) for labels in study.grid]
    epsilons = numbers(
        f"answer_epsilon {experiment}",
        lambda: [getattr(parts.mechanism, "answer_epsilon", 0.0) for parts in components],
    )
    for labels, parts, epsilon in zip(study.grid, components, epsilons, strict=True):
        index = tuple(axes[axis].index(level) for axis, level in labels.items())
        square = squared_error(parts.mechanism, epsilon)
        named = dict(zip(study.metrics, parts.metrics, strict=True))
        means["error_l2"][index] = math.sqrt(square / (1 + NOISE**2))
        if "first_order_risk" in means:
            means["first_order_risk"][index] = square
        if "central_bound" in means:
            means["central_bound"][index] = named["central_bound"].formula(
                **{
                    key: getattr(named["central_bound"], key)
                    for key in named["central_bound"].__dataclass_fields__
                }
            )
        for name, value in study.derived(labels).items():
            derived[name][index] = value
    rng = np.random.default_rng(seed)
    data = {}
    for name, mean in means.items():
        noise = NOISE * rng.standard_normal((*shape, reps)) if name == "error_l2" else 0.0
        data[name] = ((*axes, "replication"), mean[..., None] * (1 + noise) + np.zeros(reps))
    data["status"] = ((*axes, "replication"), np.ones((*shape, reps), "int8"))
    coordinates = axes | {name: coordinate(values, axes) for name, values in derived.items()}
    study_text = json.dumps(dict(parameters=dict(study.parameters)), default=str)
    return xr.Dataset(data, coordinates, dict(study=study_text))


@cache
def centrality(experiment, seed=0, reps=REPLICATIONS):
    """Errors that fall as 1/L, and half as much again of rank centrality where items are apart."""
    axes = dict(
        m=[10, 20],
        L=[8000, 32000, 128000],
        spread=[0.25, 2.0],
        estimator=["rank_centrality", "debiased"],
    )
    c = xr.Dataset(coords=axes)
    is_worse = (c["estimator"] == "rank_centrality") & (c["spread"] > 1)
    risk = xr.where(is_worse, 1.5, 1.0) * c["m"] * (100 / c["L"]) ** 2
    rng = np.random.default_rng(seed)
    noise = xr.DataArray(rng.standard_normal((reps, 2, 3, 2, 2)), dims=("replication", *axes))
    return xr.Dataset(
        dict(
            error_l2=np.sqrt(risk) * (1 + 0.02 * noise),
            law_risk=risk * xr.ones_like(noise),
            status=xr.ones_like(noise).astype("int8"),
        )
    ).transpose(*axes, "replication")


IDEAL = dict.fromkeys(EXPERIMENTS, ideal) | {"central/rank_centrality": centrality}
