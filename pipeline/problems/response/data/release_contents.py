"""What a release of responses says of itself, and its tables of noisy counts and difficulties."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.problems.common.release_folder import (
    LAWS,
    LEFT_OUT,
    NAMES,
    Table,
    made_by,
    plain_text,
)
from pipeline.problems.common.release_intervals import (
    ENDS,
    LEVEL,
    OF_COUNTS,
    OF_SCORES,
    RANKS,
    Noise,
    joined,
    score_cells,
)
from pipeline.study.disclosure import Attack
from pipeline.study.guarantee import TRUSTS
from pipeline.study.parameters import fields
from pipeline.study.untyped import JsonObject

from ..estimators.pair_count_estimator import ItemEstimate
from ..estimators.spectral import Spectral
from ..mechanisms.noisy_differences import NoisyDifferences
from ..releases import Published
from ..theory.sensitivity import squared_sensitivity

ROW = "one person's row, answers and which of them are missing,"
CHANGE = {"replace_one": "replaced by another", "add_remove": "there or not"}
SETTINGS = (
    "epsilon_user",
    "person",
    "delta",
    "person_delta",
    "conversion",
    "calibration",
    "neighbours_are",
    "p0",
    "rounds",
)


def statement(
    name: str, mechanism: NoisyDifferences, estimator: Spectral, published: Published, named: bool
) -> JsonObject:
    """What was released, how private it is, and what was not released; nothing depends on the rows.

    named: whether the file has a column of persons.
    """
    (noise,) = published.noise
    differences = "persons who have one item right and another wrong, plus noise; may be negative"
    differences += f"; {OF_COUNTS}"
    if mechanism.p0 != 1:
        differences += "; pairs not listed are not edges of the public graph"
    protects = mechanism.guarantee.protects
    unit = f"{protects}: of one row of the file, or one of a row's count"
    neighbours = f"{ROW} {CHANGE[mechanism.neighbours_are]}"
    if named:
        unit = (
            f"{protects}: of all rows of one name; a name that several rows have counts as not "
            "there"
        )
        neighbours += ", whatever name it has; or all rows of one name"
    if mechanism.questions is not None:
        unit += f"; of a person's answers {mechanism.questions:,} count, drawn at random"
    return {
        "trust": TRUSTS[mechanism.guarantee.trust],
        "unit": unit,
        "neighbours": neighbours,
        "spent": published.spent,
        "asked": _settings(mechanism),
        "mechanism": name,
        "noise": published.noise,
        "noise_law": LAWS[noise],
        "sensitivity": {
            "L1": published.sensitivity.absolute,
            "squared L2": published.sensitivity.squared,
            "that the noise is made for": published.charged,
        },
        **made_by(),
        "differences.csv": differences,
        "items.csv": "difficulties in logits, centred, by the spectral algorithm "
        f"from differences.csv alone; {OF_SCORES}",
        "names": NAMES,
        "estimator": {key: getattr(estimator, key) for key in fields(Spectral) if key != "m"},
        "rows left out": LEFT_OUT,
        "public": "names of the items, pairs released, law of the noise, all in these files",
        "not released": "the number of persons, who answered what, any count without noise",
    }


def best_attack(mechanism: NoisyDifferences, published: Published) -> Attack | None:
    """The best attack on all answers of a person; None on a public graph, which bounds it only."""
    if mechanism.p0 < 1:
        return None
    (width,) = published.noise.values()
    changed = squared_sensitivity(mechanism.m, mechanism.neighbours_are, None, mechanism.questions)
    return mechanism.noise.attack(width, int(changed))


def _settings(mechanism: NoisyDifferences) -> dict[str, Any]:
    """What a person typed of the mechanism, and its defaults."""
    values = {key: getattr(mechanism, key, None) for key in SETTINGS}
    if mechanism.questions is not None:
        values["most"] = mechanism.questions
    return {key: value for key, value in values.items() if value is not None}


def tables(
    items: Sequence[str], published: Published, difficulties: ItemEstimate
) -> dict[str, Table]:
    """The tables of a release by the names of their files. items: names, m.

    difficulties: (1, m), logits.
    """
    names = [plain_text(name) for name in items]
    pairs = np.argwhere(published.edges)
    reach = Noise.of(published.noise).reach(LEVEL)
    counts: list[tuple[str | int, ...]] = []
    for i, j in pairs:
        count = int(published.counts[i, j])
        counts.append((names[i], names[j], count, count - reach, count + reach))
    estimates = list(zip(names, difficulties.theta[0].tolist(), strict=True))
    intervals = score_cells(difficulties.corrected.single(0))
    return {
        "differences.csv": (("right", "wrong", "count", *ENDS), counts),
        "items.csv": (("item", "difficulty", *ENDS, *RANKS), joined(estimates, intervals)),
    }
