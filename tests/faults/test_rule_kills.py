"""Studies that stop by a rule, or grow by one, killed at any moment: what counts is the same to the last bit."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.helpers.engine import ROOT, arguments, command, contents, environment
from tests.helpers.fault_runs import DRIVERS, FULL, Tally, ended, folder, grows, reaches

SMALL = {
    "grid.m": "[5]",
    "grid.L": "[20]",
    "grid.epsilon": "[0.5,1,2]",
    "figures": "[]",
    "block": "20",
    **({"cluster": "local", "cluster.workers": "2"} if FULL else {}),
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
    done = command(arguments(where, **SMALL | RULES[rule]))
    assert done.returncode == 0, done.stderr
    return {part: contents(folder(where) / part) for part in ("results.zarr", "summary.zarr")}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rule, kills", [(rule, 50) for rule in RULES] if FULL else [("precision", 1)]
)
def test_the_same_replications_count_after_kills(rule, kills, tmp_path):
    expected = run(tmp_path / "undisturbed", rule)
    chance, tally, study = (
        random.Random(rule),
        Tally(f"SIGKILL of the driver's group, {rule}", kills),
        0,
    )
    while tally.injected < kills:
        where = tmp_path / str(study)
        where.mkdir(exist_ok=True)
        words = [sys.executable, "-m", "pipeline", *arguments(where, **SMALL | RULES[rule])]
        driver = subprocess.Popen(
            words,
            cwd=ROOT,
            env=environment(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        DRIVERS.append(driver)
        if reaches(driver, grows(where)):
            time.sleep(chance.uniform(0, 0.5))
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            tally.injected += 1
        driver.wait()
        assert ended(driver.pid)
        if (
            driver.returncode == 0
        ):  # it was done before the moment came: check it, and begin another study
            assert run(where, rule) == expected
            study += 1
    again = run(tmp_path / str(study), rule)
    tally.check(True, again == expected)
