"""Jobs of an array, killed while they reduce their shares of the results: the last job makes the same bytes."""

import os
import random
import subprocess
import sys
import time

import pytest
from engine import ROOT, contents, environment
from runs import DRIVERS, FULL, Tally, folder, reaches, words

SMALL = """
import sys
from pipeline.storage import layout
layout.SHARD_BYTES = 20_000  # so that each of the eight cells is a region of its own
from pipeline.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def start(where, *more):
    """The command in a process of its own, with small regions."""
    command = [sys.executable, "-c", SMALL, *words(where, cluster="synchronous"), *more]
    driver = subprocess.Popen(command, cwd=ROOT, env=environment(), text=True, start_new_session=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    DRIVERS.append(driver)
    return driver


def staged(where):
    """Files that are there of a share of the reductions, while others appear and go."""
    return sum(len(files) for _, _, files in os.walk(folder(where) / "reductions"))


def done(driver):
    said, error = driver.communicate(timeout=900)
    assert driver.returncode == 0 and "Traceback" not in error, error
    return said


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed, kills", [(seed, 10) for seed in range(5)] if FULL else [(0, 1)])
def test_a_killed_reduction_of_a_shard_does_no_harm(seed, kills, tmp_path):
    chance, tally = random.Random(seed), Tally("SIGKILL of a job that reduces its share", kills)
    done(start(tmp_path))
    expected = contents(folder(tmp_path) / "results.zarr")
    while tally.injected < kills:
        (folder(tmp_path) / "results.zarr/zarr.json").unlink()
        job = start(tmp_path, "shard=1/2")
        wanted = chance.randrange(1, 200)  # of the two datasets before their regions, or of these
        if reaches(job, lambda wanted=wanted: staged(tmp_path) >= wanted):
            time.sleep(chance.uniform(0, 0.02))
        if job.poll() is None:
            job.kill()
            tally.injected += 1
        job.communicate()
        if chance.random() < 0.5:
            assert "4 of the 8 regions" in done(start(tmp_path, "shard=2/2"))
        done(start(tmp_path))
        survived = not (folder(tmp_path) / "reductions").exists()
        tally.check(survived, contents(folder(tmp_path) / "results.zarr") == expected)
