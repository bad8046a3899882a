"""On a real Grid Engine: jobs/sge.sh and cluster=sge; the sealed result is the laptop's."""

import os
import subprocess
import sys

import pytest
from engine import ROOT, environment
from servers import gridengine
from servers.study import edited, unavailable

from pipeline.__main__ import main


@pytest.fixture(scope="module")
def system():
    if reason := gridengine.missing():
        unavailable(reason)
    with gridengine.GridEngine() as running:
        yield running


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    return edited("sge", tmp_path_factory.mktemp("scripts"), **{
        "s_rt=03:58:00,h_rt=04:00:00": "s_rt=00:00:20,h_rt=00:10:00"})


def test_task_array_then_reduction_with_a_walltime_hit(system, scripts, shell, submitted, study):
    """The first shard has more to do than its soft limit allows: it drains and is queued again."""
    shard = system.call("qsub", "-terse", "-t", "1-1", "-v", "SHARDS=2", str(scripts / "sge.sh"),
                        *study.words(replications="100000"), env=shell, cwd=study.where)
    number = shard.partition(".")[0]
    gridengine.until(lambda: output(study).count("units to do, ") >= 3, 90)  # begun, drained, begun again
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
    words = study.words(**{"cluster": "sge", "cluster.jobs": "2", "cluster.interface": "lo", "replications": "2000",
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
