"""Claims on how sure chances of ratings are."""

import numpy as np

from pipeline.problems.common.claims.inference import Setting, honest

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

CLAIMS = (honest("clustering", "chances of ratings", _ABOVE, {}, controls.FLIP_NOT_TOLD),)
