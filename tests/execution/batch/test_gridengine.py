"""On a real Grid Engine: jobs/sge.sh and cluster=sge; the sealed result is the laptop's."""

import os

import pytest

from pipeline.__main__ import main
from tests.helpers.engine import ROOT
from tests.helpers.servers import gridengine, waiting
from tests.helpers.servers.study import (
    UNITS,
    drive,
    edited,
    leaves_alone_who_does_not_see_the_disk,
    pausing,
    unavailable,
    without_disk,
)

FULL = pytest.mark.skipif(
    os.environ.get("FAULTS") != "full", reason="takes half a minute: make faults"
)


@pytest.fixture(scope="module")
def system():
    if reason := gridengine.missing():
        unavailable(reason)
    with gridengine.GridEngine() as running:
        yield running


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    return edited("sge", tmp_path_factory.mktemp("scripts"))


def begins_within(soft, system, shell, study):
    """Submit a shard with more to do than a soft limit of so many seconds allows: its number, if it drained then.

    None where it had not yet begun when the limit came: it is queued again all the same, or gone, if not even its shell
    had read the script.
    """
    scripts = edited(
        "sge",
        study.where / f"scripts-{soft}",
        **{"s_rt=03:58:00,h_rt=04:00:00": f"s_rt={soft},h_rt={soft + 36_000}"},
    )
    said = system.call(
        "qsub",
        "-terse",
        "-t",
        "1-1",
        "-v",
        "SHARDS=2",
        str(scripts / "sge.sh"),
        *study.words(replications="100000"),
        env=shell,
        cwd=study.where,
    )
    number = said.partition(".")[0]
    waiting.until(lambda: "R" in system.jobs().get(number, "R"))  # queued again, by Grid Engine
    if number not in system.jobs():
        return None
    if "finishing what is running" in output(study):
        return number
    system.call("qdel", number)
    system.wait(number)
    return None


def test_task_array_then_reduction_with_a_walltime_hit(system, shell, submitted, study):
    """The first shard has more to do than its soft limit allows: it drains and is queued again.

    The limit is one within which this machine begins, at its pace of now.
    """
    soft, number = 20, None
    while number is None:
        number = begins_within(soft, system, shell, study)
        soft *= 2
    system.call("qdel", number)
    system.wait(number)
    assert not study.folder.joinpath("results.zarr").exists()
    numbers, _ = submitted(system, "sge", shards="2")
    system.wait(numbers[-1])
    assert study.is_right(), output(study)
    assert "shard 2/2 is done" in output(study)


def output(study):
    folders = study.where, study.where / "shared/output"
    return "".join(path.read_text() for folder in folders for path in folder.glob("pipeline.o*"))


def test_through_dask_with_a_job_deleted(system, study):
    changes = {"cluster.jobs": "2", "replications": "2000", "cluster.queue": "all.q"}
    driver = drive(system, study, "sge", **changes)
    study.reaches(4, waiting.runs(driver))
    system.call("qdel", min(system.jobs()))
    out, err = waiting.ended(driver)
    assert driver.returncode == 0 and "2 sge jobs of 1 workers" in out, err
    waiting.until(lambda: not system.jobs())
    assert not list((study.where / "shared").glob("keys-*"))
    study.finish()


@FULL
def test_one_job_does_not_see_the_disk_and_the_queue_opens_late(system, study):
    """The first job has an empty folder in place of the outputs: it is retired with one line, and replaced."""
    (study.where / "shared").mkdir()
    (study.where / "shared/environment").write_text(without_disk(study))
    system.call("qmod", "-d", "all.q")
    try:
        driver = drive(system, study, "sge", **{"cluster.jobs": "2", "replications": "2000"})
        waiting.until(lambda: list(system.jobs().values()) == ["qw", "qw"], waiting.runs(driver))
    finally:
        system.call("qmod", "-e", "all.q")
    leaves_alone_who_does_not_see_the_disk(driver, study)


@FULL
def test_a_job_is_set_down_in_the_reduction(system, scripts, shell, study):
    """By the administrator: it is killed and queued again, as after the loss of its host."""
    job = system.call(
        "qsub",
        "-terse",
        str(scripts / "sge.sh"),
        *study.words(),
        cwd=study.where,
        env=shell | {"PIPELINE": pausing(study.where)},
    )
    waiting.until((study.where / "reduced").exists)
    assert study.done() == UNITS and not (study.folder / "results.zarr/zarr.json").exists()
    system.call("qmod", "-rj", job)
    system.wait(job)
    assert study.is_right(), output(study)


@pytest.mark.parametrize(
    "changes, line",
    [
        ({"cluster.queue": "nowhere"}, "cluster.queue=nowhere: qsub says: "),
        ({"cluster.cores": "2"}, "cluster.cores=2: needs a parallel environment"),
    ],
)
def test_what_grid_engine_would_not_take_is_one_line(
    system, study, monkeypatch, capsys, changes, line
):
    for name, value in (os.environ | system.environment).items():
        monkeypatch.setenv(name, value)
    assert main(study.words(cluster="sge", **changes)) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {line}") and len(said.splitlines()) == 1, said
    assert not (study.where / "outputs").exists() and str(ROOT) not in said
