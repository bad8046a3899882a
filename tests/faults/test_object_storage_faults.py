"""The real command with its arrays in a bucket: killed, two at once, damaged, behind a failing network."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

import pipeline.storage.s3
from pipeline.__main__ import main
from tests.helpers.engine import ROOT, arguments, contents, environment, without_report
from tests.helpers.servers.buckets import Objects, server
from tests.helpers.servers.faulty import KINDS, Faulty

GRID = {
    "grid.m": "[10,20]",
    "grid.L": "[20,50]",
    "replications": "600",
    "block": "100",
    "metrics": "[lean_true,lean_debiased]",
}
UNITS = 48


@pytest.fixture(scope="module", params=["moto", "radosgw"])
def credentials(request):
    with server(request.param) as found:
        yield found


# Long ones that say nothing more about the emulator.
real = pytest.mark.parametrize("credentials", ["radosgw"], indirect=True)


@pytest.fixture
def bucket(credentials):
    return Objects(credentials)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Bytes of results.zarr of a run on a disk."""
    where = tmp_path_factory.mktemp("disk")
    with pytest.MonkeyPatch.context() as patch:
        without_report(patch)
        assert main(words(where)) == 0
    (sealed,) = where.rglob("results.zarr")
    return contents(sealed)


@pytest.fixture
def here(credentials, monkeypatch):
    """The server's keys in this process, whose commands write no report and soon lose patience."""
    without_report(monkeypatch)
    monkeypatch.setattr(pipeline.storage.s3, "PATIENCE", 1.0)
    monkeypatch.setattr(pipeline.storage.s3, "CONNECT", 1.5)
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)


def words(where, bucket=None, **changes):
    storage = {"store.url": f"s3://{bucket.name}/studies"} if bucket else {}
    return arguments(where, **GRID | storage | changes)


def start(given, credentials):
    """The command in a session of its own, as a batch system starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", *given],
        cwd=ROOT,
        text=True,
        start_new_session=True,
        env=environment(**credentials),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def units(bucket):
    return len(bucket.keys("/replications/units/"))


def reaches(bucket, count, *drivers):
    """Wait until so many units are done; whether they were while the drivers ran."""
    while units(bucket) < count:
        if any(driver.poll() is not None for driver in drivers):
            return False
        time.sleep(0.05)  # a list of all objects keeps the server busy, too
    return True


def sound(bucket, expected):
    """Every unit is there once, nothing else is, and the sealed bytes are those of the disk."""
    assert units(bucket) == UNITS and bucket.sealed() == expected
    assert (
        len(bucket.keys("/replications/")) == UNITS + 2
    )  # with the study's description, and what computed it
    assert (
        not bucket.keys("partial") and not bucket.keys("probe") and len(bucket.keys("/lock/")) == 1
    )


def hidden(credentials, bucket, where, *texts):
    """No key in what was said, written or stored."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        secret = credentials[name]
        assert not any(secret in text for text in texts)
        assert not any(secret.encode() in content for content in contents(where).values())
        keys = bucket.keys()
        assert not any(secret.encode() in bucket.read(key) for key in keys)


@real
def test_killed_workers_a_killed_group_and_two_drivers(credentials, bucket, expected, tmp_path):
    chance, killed = random.Random(1), 0
    driver = start(
        words(tmp_path / "a", bucket, cluster="local", **{"cluster.workers": "2"}), credentials
    )
    for count in (1, 8, 15):
        assert reaches(bucket, count, driver)
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            chance.choice(psutil.Process(driver.pid).children()).kill()
            killed += 1
    assert reaches(bucket, 22, driver)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    before = units(bucket)
    drivers = [
        start(words(tmp_path / name, bucket), credentials) for name in "ab"
    ]  # one goes on, one is elsewhere
    said = [driver.communicate(timeout=900) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], said
    assert killed >= 2 and 22 <= before < UNITS
    sound(bucket, expected)
    assert len(list(tmp_path.rglob("report.html"))) == 2 and not list(tmp_path.rglob("*.zarr*"))
    hidden(credentials, bucket, tmp_path, *sum(said, ()))
    print(f"{killed} workers and the group killed at {before} units; then two drivers at once")


def numbers(bucket):
    """All objects but locks and what units took, which differs where they are made again."""
    keys = bucket.keys()
    return {key: bucket.read(key) for key in keys if "/lock/" not in key and "/efforts/" not in key}


@real
def test_damage_is_found_and_repaired(here, bucket, expected, tmp_path, capsys):
    given = words(tmp_path, bucket)
    assert main(given) == 0
    sound(bucket, expected)
    whole = numbers(bucket)
    capsys.readouterr()
    assert main([*given, "task=verify"]) == 0
    assert f"{UNITS} units checked, 0 damaged" in capsys.readouterr().out
    chance = random.Random(2)
    units = chance.sample([key for key in whole if "/replications/units/" in key], 4)
    (description,) = bucket.keys("/replications/study.json")
    bucket.delete(units[0])
    bucket.write(units[1], whole[units[1]][:-1])
    bucket.write(description, b"{")
    for one in units[2:]:
        bucket.write(one, whole[one][:-9] + bytes([whole[one][-9] ^ 4]) + whole[one][-8:])
    assert main([*given, "task=verify"]) == 1
    out = capsys.readouterr().out
    assert (
        out.count("its checksum is wrong") == 2
        and "too few" in out
        and "4 damaged; repair=true" in out
    )
    assert main([*given, "task=verify", "repair=true"]) == 0
    assert "4 damaged, 4 repaired" in capsys.readouterr().out and not bucket.sealed()
    assert main(given) == 0
    assert numbers(bucket) == whole
    sealed = next(key for key in whole if "/results.zarr/lean_true/c/" in key)
    bucket.write(sealed, whole[sealed][::-1])
    capsys.readouterr()
    assert main([*given, "task=verify", "repair=true"]) == 0
    assert "damaged: results.zarr/lean_true/c/" in capsys.readouterr().out
    assert main(given) == 0 and bucket.sealed() == expected


def test_a_failing_network_costs_time_only(
    here, credentials, bucket, expected, tmp_path, monkeypatch
):
    with Faulty(credentials["AWS_ENDPOINT_URL"], seed=3) as network:
        network.chance = 0.2
        monkeypatch.setenv("AWS_ENDPOINT_URL", network.endpoint)
        assert main(words(tmp_path, bucket, cluster="threads", **{"cluster.workers": "4"})) == 0
    print(f"faults injected: {dict(network.counts)}")
    assert all(network.counts[kind] >= 5 for kind in KINDS)
    sound(bucket, expected)


SAYS = {
    "away": "drops connections",
    "hung": "does not answer in time",
    "503": "fails (503 SlowDown)",
    "403": "refuses the credentials (InvalidAccessKeyId)",
}


@pytest.mark.parametrize(
    "credentials, kind",
    [*(("radosgw", kind) for kind in SAYS), ("moto", "away")],  # of the emulator one says it all
    indirect=["credentials"],
)
def test_a_store_that_stays_away_stops_the_sweep_and_the_same_command_goes_on(  # noqa: PLR0913 - fixtures and cases
    kind, here, credentials, bucket, expected, tmp_path, monkeypatch, capsys
):
    given = words(tmp_path, bucket, **{"store.timeout": "1"})
    with Faulty(credentials["AWS_ENDPOINT_URL"]) as network, monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", network.endpoint)

        def fail():
            while units(bucket) < 10:
                time.sleep(0.05)
            network.kinds, network.chance = (kind,), 1.0

        failing = threading.Thread(target=fail)
        failing.start()
        assert main(given) == 1
        failing.join()
    out, error = capsys.readouterr()
    lines = [line for line in error.splitlines() if " units" not in line.split(";")[0]]
    assert len(lines) == 1 and SAYS[kind] in lines[0], error
    assert f"s3://{bucket.name}/studies" in lines[0] and "the same command goes on" in lines[0]
    assert 10 <= units(bucket) < UNITS
    hidden(credentials, bucket, tmp_path, out, error)
    assert main(words(tmp_path, bucket)) == 0
    sound(bucket, expected)


def refused(capsys, given, where):
    """The one line with which the command refuses, before anything is made."""
    assert main(given) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and not where.exists()
    return printed.err


def test_what_is_wrong_is_said_before_any_work(
    here, credentials, bucket, tmp_path, monkeypatch, capsys
):
    where = tmp_path / "out"
    given = words(where, bucket)
    wrong = [word.replace(bucket.name, "no-such-bucket") for word in given]
    assert "no such bucket" in refused(capsys, wrong, where)
    with Faulty(credentials["AWS_ENDPOINT_URL"]) as network, monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", network.endpoint)
        for kind, says in SAYS.items():
            network.kinds, network.chance = (kind,), 1.0
            assert says in refused(capsys, given, where)
    with monkeypatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", network.endpoint)  # where the server has stopped
        assert "cannot be reached" in refused(capsys, given, where)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        with monkeypatch.context() as patch:
            patch.delenv(name)
            assert "credentials are needed" in refused(capsys, given, where)
    if credentials["AWS_REGION"] == "default":  # the emulator takes any key
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            with monkeypatch.context() as patch:
                patch.setenv(name, "wrong")
                assert "refuses the credentials" in refused(capsys, given, where)
    assert bucket.keys() == []
