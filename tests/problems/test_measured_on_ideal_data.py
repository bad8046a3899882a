"""What every claim measures on ideal data, and in how many cells: as written in measured.txt.

Tolerances are held by test_tolerances_of_claims.py; this holds what is compared with them. A measure that selects other
cells, or whose estimate or interval changes by 1 % of the interval's width, is seen. After a change that is meant,
`MEASURED=write pytest -n 0 tests/problems/test_measured_on_ideal_data.py` writes the file anew.
"""

import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

from pipeline.analysis.estimate import Estimate
from tests.problems.test_claims_in_parts import CLAIMS, DATA

FILE = Path(__file__).with_name("measured.txt")
LINE = re.compile(r"([\w.]+)(?: \[(.+)\])?: (\d+) of (\S+) from (\S+) to (\S+)")


def measured(name):
    """Part -> cells that have an estimate, and the means of these over them: values, lower ends, upper ends."""
    claim = CLAIMS[name]
    found = claim.measure.compute(DATA[name.partition(".")[0]](claim))
    parts = found if isinstance(claim.tolerance, dict) else {"": found}
    summary = {}
    for part, cells in parts.items():
        every = [cells] if isinstance(cells, Estimate) else [*cells.values()]
        numbers = np.array(
            [[one.value, one.low, one.high] for one in every if math.isfinite(one.value)]
        )
        summary[part] = (
            len(numbers),
            *(
                float(column[np.isfinite(column)].mean()) if np.isfinite(column).any() else math.inf
                for column in numbers.T
            ),
        )
    return summary


def lines(name):
    return [
        f"{name}{f' [{part}]' if part else ''}: {count} of {value:.6g} from {low:.6g} to {high:.6g}"
        for part, (count, value, low, high) in measured(name).items()
    ]


def stated():
    """Claim -> part -> what `measured` has for it."""
    found = {}
    for line in FILE.read_text("utf-8").splitlines() if FILE.is_file() else ():
        name, part, count, *numbers = LINE.fullmatch(line).groups()
        found.setdefault(name, {})[part or ""] = (int(count), *map(float, numbers))
    return found


if os.environ.get("MEASURED") == "write":
    FILE.write_text("".join(f"{line}\n" for name in CLAIMS for line in lines(name)), "utf-8")
STATED = stated()


def alike(found, expected):
    room = 0.01 * (expected[3] - expected[2]) + 1e-5 * abs(expected[1]) + 1e-12
    return found[0] == expected[0] and (
        not math.isfinite(room) or found[1:] == pytest.approx(expected[1:], abs=room)
    )


def test_every_claim_is_in_the_file():
    assert set(STATED) == set(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_measures(name):
    found, expected = measured(name), STATED[name]
    assert found.keys() == expected.keys()
    assert all(alike(found[part], expected[part]) for part in found), (found, expected)


@pytest.mark.parametrize("wrong", [(4, 1.0, 0.9, 1.1), (5, 1.01, 0.9, 1.1), (5, 1.0, 0.89, 1.1)])
def test_another_number_of_cells_or_another_interval_is_seen(wrong):
    assert alike((5, 1.0, 0.9, 1.1), (5, 1.0005, 0.9, 1.1)) and not alike(wrong, (5, 1.0, 0.9, 1.1))
