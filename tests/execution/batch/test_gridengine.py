"""On a real Grid Engine: jobs/sge.sh and cluster=sge; the sealed result is the laptop's."""

import os
import re
import subprocess
import sys

import pytest
from engine import ROOT, environment
from servers import gridengine
from servers.study import UNITS, edited, pausing, unavailable, without_disk

from pipeline.__main__ import main

FULL = pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="takes half a minute: make faults")


@pytest.fixture(scope="module")
def system():
    if reason := gridengine.missing():
        unavailable(reason)
    with gridengine.GridEngine() as running:
        yield running


@pytest.fixture(scope="module")
def scripts(tmp_path_factory, undisturbed):
    soft = round(max(20, 4 * undisturbed[1]))  # so that a slow machine simulates a little
    return edited("sge", tmp_path_factory.mktemp("scripts"), **{
        "s_rt=03:58:00,h_rt=04:00:00": f"s_rt={soft},h_rt={soft + 600}"})


def test_task_array_then_reduction_with_a_walltime_hit(system, scripts, shell, submitted, study):
    """The first shard has more to do than its soft limit allows: it drains and is queued again."""
    shard = system.call("qsub", "-terse", "-t", "1-1", "-v", "SHARDS=2", str(scripts / "sge.sh"),
                        *study.words(replications="100000"), env=shell, cwd=study.where)
    number = shard.partition(".")[0]
    gridengine.until(lambda: output(study).count("units to do, ") >= 3, 1200)  # begun, drained, begun again
    system.call("qdel", number)
    system.wait(number)
    assert "finishing what is running" in output(study) and not study.folder.joinpath("results.zarr").exists()
    numbers, _ = submitted(system, "sge", shards="2")
    system.wait(numbers[-1])
    assert study.is_right(), output(study)
    assert "shard 2/2 is done" in output(study)


def output(study):
    folders = study.where, study.where / "shared/output"
    return "".join(path.read_text() for folder in folders for path in folder.glob("pipeline.o*"))


def test_through_dask_with_a_job_deleted(system, study):
    words = study.words(**{"cluster": "sge", "cluster.jobs": "2", "replications": "2000",
                           "cluster.folder": str(study.where / "shared"), "cluster.queue": "all.q"})
    driver = subprocess.Popen([sys.executable, "-m", "pipeline", *words], cwd=study.where, text=True,
                              env=environment(**system.environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    study.reaches(4)
    system.call("qdel", min(system.jobs()))
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0 and "2 sge jobs of 1 workers" in out, err
    gridengine.until(lambda: not system.jobs())
    assert not list((study.where / "shared").glob("keys-*"))
    study.finish()


@FULL
def test_one_job_does_not_see_the_disk_and_the_queue_opens_late(system, study):
    """The first job has an empty folder in place of the outputs: it is retired with one line, and replaced."""
    (study.where / "shared").mkdir()
    (study.where / "shared/environment").write_text(without_disk(study))
    system.call("qmod", "-d", "all.q")
    try:
        words = study.words(**{"cluster": "sge", "cluster.jobs": "2",
                               "replications": "2000", "cluster.folder": str(study.where / "shared")})
        driver = subprocess.Popen([sys.executable, "-m", "pipeline", *words], cwd=study.where, text=True,
                                  env=environment(**system.environment), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        gridengine.until(lambda: list(system.jobs().values()) == ["qw", "qw"], 60)
    finally:
        system.call("qmod", "-e", "all.q")
    _, err = driver.communicate(timeout=300)
    line, = (line for line in err.splitlines() if line.startswith("warning: "))
    assert re.fullmatch(rf"warning: worker \S+ is retired: \S+ does not see {study.folder}; give outputs on .*", line)
    assert driver.returncode == 0 and "Traceback" not in err, err
    study.finish()


@FULL
def test_a_job_is_set_down_in_the_reduction(system, scripts, shell, study):
    """By the administrator: it is killed and queued again, as after the loss of its host."""
    job = system.call("qsub", "-terse", str(scripts / "sge.sh"), *study.words(), cwd=study.where,
                      env=shell | {"PIPELINE": pausing(study.where)})
    gridengine.until((study.where / "reduced").exists, 120)
    assert study.done() == UNITS and not (study.folder / "results.zarr/zarr.json").exists()
    system.call("qmod", "-rj", job)
    system.wait(job)
    assert study.is_right(), output(study)


@pytest.mark.parametrize("changes, line", [
    ({"cluster.queue": "nowhere"}, "cluster.queue=nowhere: qsub says: "),
    ({"cluster.cores": "2"}, "cluster.cores=2: needs a parallel environment"),
])
def test_what_grid_engine_would_not_take_is_one_line(system, study, monkeypatch, capsys, changes, line):
    for name, value in (os.environ | system.environment).items():
        monkeypatch.setenv(name, value)
    assert main(study.words(cluster="sge", **changes)) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {line}") and len(said.splitlines()) == 1, said
    assert not (study.where / "outputs").exists() and str(ROOT) not in said
