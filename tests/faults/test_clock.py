"""The wall clock jumps while everything runs: nothing rests on it."""

import itertools
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import distributed
import pytest
from distributed.security import Security

from pipeline.execution.clusters.keys import temporary
from tests.helpers.engine import environment
from tests.helpers.fault_runs import FULL, Tally, complete, folder, grows, reaches, start

HOUR, DAY = 3600, 86400
JUMPS = [-2, HOUR, -HOUR, 30 * DAY, -DAY, 0, 300 * DAY, -30 * DAY]  # s from the right time


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """A library that turns the clock: of what loads it, and of nothing else on this machine."""
    if not shutil.which("cc"):
        pytest.skip("NO CLOCK WAS TURNED: there is no C compiler")
    path = tmp_path_factory.mktemp("shim") / "clock.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-o", path, Path(__file__).parent / "clock.c"], check=True
    )
    return path


def jump(where, seconds):
    """Set the clock of everything that runs here."""
    (where / "clock.new").write_text(f"{seconds}\n")
    (where / "clock.new").rename(where / "clock")


@pytest.mark.parametrize(
    "kind, joins", [(temporary, True), (Security.temporary, False)], ids=["ours", "wrong"]
)
def test_a_worker_whose_clock_is_behind_may_join(kind, joins, tmp_path, shim):
    """The negative control: Dask's certificate, which is valid from the moment when it is made."""
    security, flags = kind(), []
    for flag, text in (
        ("ca-file", security.tls_ca_file),
        ("cert", security.tls_worker_cert),
        ("key", security.tls_worker_key),
    ):
        (tmp_path / flag).write_text(text)
        flags += [f"--tls-{flag}", str(tmp_path / flag)]
    jump(tmp_path, -DAY)
    with distributed.LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                cluster.scheduler_address,
                "--no-nanny",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                "--local-directory",
                str(tmp_path),
                *flags,
            ],
            text=True,
            env=environment(LD_PRELOAD=str(shim), CLOCK_OFFSET=str(tmp_path / "clock")),
            stderr=subprocess.PIPE,
        )
        try:
            said = itertools.takewhile(lambda line: "Registered to" not in line, worker.stderr)
            refusals = sum(
                1
                for _ in itertools.islice(
                    (line for line in said if "Waiting to connect" in line), 20
                )
            )
        finally:
            worker.kill()
            worker.wait()
    assert (refusals < 20) == joins


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5] if FULL else [1])
def test_the_clock_jumps(seed, tmp_path, expected, shim):
    chance, tally = random.Random(seed), Tally("jumps of the wall clock", len(JUMPS))
    jump(tmp_path, 0)
    driver = start(
        tmp_path, variables=dict(LD_PRELOAD=str(shim), CLOCK_OFFSET=str(tmp_path / "clock"))
    )
    for seconds in chance.sample(JUMPS, len(JUMPS)):
        if not reaches(driver, grows(tmp_path, 10)):
            break
        jump(tmp_path, seconds)
        tally.injected += 1
    _, error = driver.communicate(timeout=900)
    tally.check(driver.returncode == 0 and "Traceback" not in error, complete(tmp_path, expected))
    (session,) = [
        json.loads(path.read_text()) for path in (folder(tmp_path) / "sessions").glob("*.json")
    ]
    assert session["state"] == "finished" and session["lost"] == 0
    assert tally.injected > 4 and 0 <= session["seconds"] < 600
