"""Claims on how sure chances of ratings are."""

import numpy as np

from pipeline.problems.common.claims.inference import (
    Setting,
    Threshold,
    always,
    attenuation,
    begins,
    honest,
)

from . import controls

EXPERIMENT = "inference/clustering"
ENOUGH = 2e5  # users times tanh(ε/2)², from which clusters are right
_ABOVE = Setting(
    EXPERIMENT,
    dict(mechanism=2, epsilon=2, U=1),
    "N = 40 items in two clusters, w = 3 ratings of a user, b = 0.8 and 0.2, one class of users; "
    "MaxSense and Multi-MaxSense; U tanh²(ε/2) ≥ 200,000, where clusters are right.",
    "delta method, `clustering.theory.inference`; not in the paper",
    lambda cells: cells["U"] * np.tanh(cells["epsilon"] / 2) ** 2 >= ENOUGH,
)
_AROUND = Setting(
    "inference/clustering_threshold",
    dict(U=4, epsilon=4),
    "N = 40 items in two clusters, w = 3 ratings of a user, b = 0.8 and 0.2, one class of users; "
    "MaxSense, U = 300,000 to 30,000,000; half of the releases have intervals, located with "
    "`refine`.",
    "a score's lead tanh(ε/2) against its errors of order 1/√U; not in the paper",
)
_BEGINS = Threshold("intervals_known", 0.5, "epsilon", "U", attenuation(1))

CLAIMS = (
    honest("clustering", "chances of ratings", _ABOVE, {}, controls.FLIP_NOT_TOLD),
    begins(
        "clustering",
        "Chances of ratings begin to have intervals, as clusters begin to be right, at a budget "
        "at which tanh(ε/2) falls with the square root of the number of users.",
        _AROUND,
        _BEGINS,
        always("U", 3_000_000, "users"),
        exponent=-0.5,
        why="to first order, where a released bit says little: its variance is 1/4 less a share of "
        "tanh²(ε/2)",
    ),
)
