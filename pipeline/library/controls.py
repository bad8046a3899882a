"""Simulated controls from Python: the wrong world of a claim, and what the claim says of it."""

from collections.abc import Mapping
from typing import Any, Unpack

import threadpoolctl
import xarray as xr

from pipeline.analysis import wrong_worlds
from pipeline.analysis.claims import Check, Claim, SimulatedControl, check_of
from pipeline.library import requests
from pipeline.library.requests import Changes
from pipeline.storage import datasets
from pipeline.study.parameters import InvalidInput


def simulate_control(claim: Claim, **changes: Unpack[Changes]) -> xr.Dataset:
    """The results of a claim's wrong world, (grid axes…, replication), in the cells that the claim
    reads.

    changes: of its experiment, as in `pipeline.library.runs.run`: `size="quick"`,
    `replications=200`, `seed=1`. Elsewhere `status` is 0. Raises InvalidInput for a mistake, and
    for a claim without a wrong world.
    """
    if not isinstance(claim.simulated, SimulatedControl):
        raise InvalidInput("claim", claim.id, "has no simulated control; see its `simulated`")
    whole: Mapping[str, Any] = {
        "figures": [],
        "precision": None,
        "refine": None,
        "until": None,
        **changes,
    }
    study = requests.read(claim.experiment, whole).studies[0].study
    with threadpoolctl.threadpool_limits(1, "blas"):
        return wrong_worlds.wrong_world([claim], claim.simulated, study, datasets.blank(study))


def judge_control(claim: Claim, **changes: Unpack[Changes]) -> Check:
    """What a claim says of its wrong world, in which a claim that can be wrong must be
    contradicted.
    """
    return check_of(claim, simulate_control(claim, **changes))
