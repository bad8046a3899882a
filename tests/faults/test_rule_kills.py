"""Studies that stop by a rule, or grow by one, killed at any moment: what counts is the same to the last bit."""

import random

import pytest

from tests.helpers.commands_counted import command_in_a_fork
from tests.helpers.engine import arguments, contents
from tests.helpers.fault_runs import FULL, Tally, folder, grows, killed, start

SMALL = {
    "grid.m": "[5]",
    "grid.L": "[20]",
    "grid.epsilon": "[0.5,1,2]",
    "figures": "[]",
    "block": "20",
    **({"cluster": "local", "cluster.workers": "2"} if FULL else {"cluster": "synchronous"}),
}
RULES = {
    "precision": {
        "replications": "4000",
        "precision.lean_true.relative": "0.02",
        "precision.lean_true.least": "40",
        "claims": "false",
    },
    "refine": {
        "replications": "100",
        "refine.along": "epsilon",
        "refine.metric": "lean_true",
        "refine.level": "0.62",
        "refine.width": "0.05",
        "claims": "false",
    },
    "until": {"replications": "4000", "until.claims.least": "100", "claims": "true"},
}


def run(where, rule):
    """The command to its end."""
    done = command_in_a_fork(arguments(where, **SMALL | RULES[rule]), where.parent)
    assert done.returncode == 0, done.stderr
    return {part: contents(folder(where) / part) for part in ("results.zarr", "summary.zarr")}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rule, kills", [(rule, 50) for rule in RULES] if FULL else [("precision", 1)]
)
def test_the_same_replications_count_after_kills(rule, kills, tmp_path):
    expected = run(tmp_path / "undisturbed", rule)
    tally = Tally(f"SIGKILL of the driver's group, {rule}", kills)
    chance, study = random.Random(rule), 0
    while tally.injected < kills:
        where = tmp_path / str(study)
        driver = start(where, **SMALL | RULES[rule])
        if killed(driver, grows(where), chance.uniform(0, 0.5)):
            tally.injected += 1
        else:  # it was done before the moment came: check it, and begin another study
            assert driver.returncode == 0 and run(where, rule) == expected
            study += 1
    again = run(tmp_path / str(study), rule)
    tally.check(True, again == expected)
