"""Claims on what Wang and Xu leave open: in which crowds a vote is better than Dawid
and Skene's method.
"""

from collections.abc import Iterator, Mapping

import xarray as xr

from pipeline.analysis.claims import Claim
from pipeline.analysis.tolerances import AtLeast, AtMost

from . import controls
from .common import DIRECTION, EXCHANGED, LABELS, OPEN, STRENGTH, method_less_vote

WEAK = 2.3  # strength a v̂ √(nm) below which a vote is better
STRONG = 3.4  # strength above which Dawid and Skene's method is
MOST = 25  # strength beyond which too few labels are wrong to tell
_WHY = (
    DIRECTION
    + " The theory gives no threshold: these were set on one seed, and are judged on others."
)


def _weak(data: xr.Dataset) -> xr.DataArray:
    return data["crowd_strength"] <= WEAK


def _strong(data: xr.Dataset) -> xr.DataArray:
    return (data["crowd_strength"] >= STRONG) & (data["crowd_strength"] <= MOST)


def _claims(name: str, crowd: str, min_levels: Mapping[str, int]) -> Iterator[Claim]:
    yield Claim(
        id=f"wang.{name}.weak",
        statement=(
            "In a weak crowd majority vote labels better than Dawid and Skene's method started at "
            "it."
        ),
        source=OPEN,
        experiment=f"wang/{name}",
        simulated=controls.MORE_WISDOM,
        measure=method_less_vote("crowd_strength", min_levels=min_levels, within=_weak),
        tolerance=AtLeast(0),
        why=_WHY,
        conditions=(
            f"Cells with {STRENGTH}, at most {WEAK:g}; {crowd}. EM has converged: it is its "
            "optimum that errs."
        ),
        control=EXCHANGED,
    )
    yield Claim(
        id=f"wang.{name}.strong",
        statement="In a strong crowd Dawid and Skene's method labels better than majority vote.",
        source=OPEN,
        experiment=f"wang/{name}",
        simulated=controls.COPIES,
        measure=method_less_vote("crowd_strength", min_levels=min_levels, within=_strong),
        tolerance=AtMost(0),
        why=_WHY,
        conditions=(
            f"Cells with {STRENGTH}, {STRONG:g} to {MOST}: beyond, hardly a label is wrong; "
            f"{crowd}."
        ),
        control=EXCHANGED,
    )


CLAIMS = (
    *_claims("labels", "all answer, n = 50 to 400, m = 1,000, abilities uniform on [½, 1]", LABELS),
    *_claims(
        "sparse",
        "2 to 100 answers of a task, n = 100, m = 500, abilities uniform on [½, 1]",
        dict(wanted_answers=3, epsilon=1),
    ),
)
