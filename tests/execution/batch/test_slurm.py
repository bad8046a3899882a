"""On a real SLURM of several virtual nodes: whatever happens to jobs, the sealed result is the laptop's."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from pipeline.__main__ import main
from tests.helpers.engine import ROOT, command, contents, environment
from tests.helpers.servers import slurm, waiting
from tests.helpers.servers.sockets import listeners
from tests.helpers.servers.study import (
    UNITS,
    Run,
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
BATCH = {"cluster": "slurm", "cluster.jobs": "2", "cluster.memory": "500MiB"}


@pytest.fixture(scope="module")
def system():
    if reason := slurm.missing():
        unavailable(reason)
    with slurm.Slurm() as running:
        yield running


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    return edited(
        "slurm",
        tmp_path_factory.mktemp("scripts"),
        **{"--cpus-per-task=4": "--cpus-per-task=1", "--mem-per-cpu=1G": "--mem-per-cpu=500M"},
    )


@pytest.fixture(scope="module")
def submit(system, shell, scripts):
    """sbatch jobs/slurm.sh with options of sbatch and words of a run: the job's number."""

    def sbatch(run, *options, **changes):
        run.where.mkdir(exist_ok=True)
        return system.call(
            "sbatch",
            "--parsable",
            *options,
            str(scripts / "slurm.sh"),
            *run.words(**changes),
            env=shell,
            cwd=run.where,
        )

    return sbatch


@pytest.fixture(scope="module")
def hung(system, submit, laptop, tmp_path_factory):
    """Submitted first, as it takes a minute: a job that hangs in mid-sweep until its walltime is over.

    It gets a walltime that it has nearly used up once it hangs.
    """
    run = Run(tmp_path_factory.mktemp("hung"), laptop)
    job = submit(run, "--time=600", "--signal=B:USR1@1", "--no-requeue", replications="100000")
    run.reaches(3)
    for process in processes_of(run):
        os.kill(process, signal.SIGSTOP)
    system.limit(job, 1)
    return run, job


@pytest.fixture(scope="module")
def warned(hung, system, submit, laptop, tmp_path_factory):
    """Submitted early, as SLURM looks at the clock twice a minute: more to do than a walltime allows.

    The signal comes five hours before it is over. Once something is done, it is nearer than that.
    """
    run = Run(tmp_path_factory.mktemp("warned"), laptop)
    job = submit(run, "--time=600", "--signal=B:USR1@18000", replications="100000")
    run.reaches(1)
    system.limit(job, 240)
    return run, job


def processes_of(run):
    """The drivers of a run, wherever they came from."""
    return [
        p.pid
        for p in psutil.process_iter(["cmdline"])
        if f"outputs={run.where}/outputs" in (p.info["cmdline"] or [])
        and "pipeline" in p.info["cmdline"]
    ]


def output(run):
    return "".join(
        path.read_text()
        for path in (*run.where.glob("slurm-*.out"), *run.where.glob("shared/output/*"))
    )


def test_array_then_reduction(warned, system, submitted, study):
    (array, last), said = submitted(system, "slurm", shards="2", **{"cluster.memory": "768MiB"})
    assert f"array {array} of 2 shards simulates, job {last} reduces and reports" in said
    assert system.wait(last) == "COMPLETED" and system.state(array) in ("COMPLETED", "")
    assert study.is_right(), output(study)
    shards = [f"shard {k}/2 is done" in output(study) for k in (1, 2)]
    assert all(shards) and "nothing to do: all 80 units" in output(study), output(study)


def test_who_cancels_the_array_cancels_the_job_that_follows(system, submitted, study):
    """It would else do all that is left alone, at once."""
    (array, last), _ = submitted(
        system, "slurm", shards="2", replications="100000", **{"cluster.memory": "768MiB"}
    )
    study.reaches(1)
    system.call("scancel", array)
    system.wait(last)
    done = study.done()
    assert f"array {array} was cancelled; submit again to go on" in output(study)
    assert 0 < done < 100 * UNITS and not (study.folder / "results.zarr").exists(), done


def test_requeue_and_cancel_and_a_laptop_at_once(system, submit, study):
    """One task is queued again, another cancelled, while a laptop works on the same store."""
    array = submit(study, "--array=1-3")
    study.reaches(4)
    laptop = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *study.words(**{"cluster.workers": "1"})],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with contextlib.suppress(AssertionError):  # it has ended already
        system.call("scontrol", "requeue", f"{array}_1")
    system.call("scancel", f"{array}_2")
    _, said = waiting.ended(laptop)
    assert laptop.returncode == 0, said
    assert study.is_right()
    assert set(system.wait(array).split()) <= {"COMPLETED", "CANCELLED"}, output(study)
    assert study.is_right()


def test_a_walltime_drains_and_requeues(warned, system, submit):
    run, job = warned
    waiting.until(lambda: "stopped: " in output(run))
    system.limit(job, 600)  # no more signals
    waiting.until(
        lambda: re.search(r"stopped: (?s:.*) units to do, [1-9][\d,]* done before", output(run))
    )
    said = output(run)
    assert (
        "finishing what is running" in said and " 0 done before" in said.partition("stopped: ")[0]
    )
    system.call("scancel", job)
    system.wait(job)
    again = submit(run)  # fewer replications: a part of the same store
    assert system.wait(again) == "COMPLETED" and run.is_right(), output(run)


def completes_after_its_node_goes_down(system, job, study):
    """The job is queued again, and does what was lost; or had ended before."""
    if system.state(job) in slurm.ENDED:
        assert study.is_right()
        return
    node = system.call("squeue", "-h", "-o", "%N", "-j", job)
    system.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    try:
        assert system.wait(job) == "COMPLETED", output(study)
        assert study.is_right()
    finally:
        if "down" in system.call("sinfo", "-h", "-n", node, "-o", "%T"):
            system.call("scontrol", "update", f"nodename={node}", "state=resume")


def test_a_node_goes_down(system, submit, study):
    job = submit(study)
    study.reaches(4)
    completes_after_its_node_goes_down(system, job, study)


@FULL
def test_a_node_goes_down_in_the_reduction(system, scripts, shell, study):
    job = system.call(
        "sbatch",
        "--parsable",
        str(scripts / "slurm.sh"),
        *study.words(),
        cwd=study.where,
        env=shell | {"PIPELINE": pausing(study.where)},
    )
    waiting.until((study.where / "reduced").exists)
    assert study.done() == UNITS and not (study.folder / "results.zarr/zarr.json").exists()
    completes_after_its_node_goes_down(system, job, study)


@FULL
def test_two_hundred_shards_of_one_unit_each(system, submit, study):
    """An array of 200 tasks on all nodes, and a job that reduces; as one process alone."""
    block = {"block": "40"}
    alone = Run(study.where / "alone")
    assert command(alone.words(cluster="synchronous", **block)).returncode == 0
    array = submit(study, "--array=1-200", **block)
    last = submit(study, f"--dependency=afterok:{array}", **block)
    assert system.wait(last) == "COMPLETED", output(study)
    assert [f"shard {k}/200 is done" in output(study) for k in range(1, 201)] == [True] * 200
    assert "nothing to do: all 200 units" in output(study)
    assert contents(study.folder / "results.zarr") == contents(alone.folder / "results.zarr")


def through_dask(system, run, **changes):
    """The driver of cluster=slurm, in a session of its own."""
    changes = BATCH | changes
    return drive(system, run, changes.pop("cluster"), **changes)


def mine(system):
    return system.call("squeue", "-h", "-o", "%i", "-n", "pipeline-workers").split()


def test_through_dask_with_a_job_cancelled(system, study):
    driver = through_dask(system, study, replications="4000")
    study.reaches(4, waiting.runs(driver))
    (keys,) = (study.where / "shared").glob("keys-*")
    assert {oct(p.stat().st_mode & 0o777) for p in (keys, *keys.glob("*.pem"))} == {
        "0o700",
        "0o600",
    }
    first, second = mine(system)
    found = {}
    while sum(found.values()) < 3 and driver.poll() is None:  # the second job may start later
        found |= listeners([psutil.Process(driver.pid), *workers(keys)])
        time.sleep(0.2)
    assert sum(found.values()) >= 3, "scheduler, nanny and worker speak TLS"
    assert {address.ip for address, locked in found.items() if not locked} == {"127.0.0.1"}, (
        "dashboards"
    )
    system.call("scancel", first)
    out, err = waiting.ended(driver)
    assert driver.returncode == 0, err
    assert "2 slurm jobs of 1 workers" in out and "tls://" in out
    study.finish()
    assert not list((study.where / "shared").glob("keys-*")) and mine(system) == []


def workers(keys):
    return [
        p
        for p in psutil.process_iter(["cmdline"])
        if str(keys / "key.pem") in (p.info["cmdline"] or [])
    ]


@FULL
def test_ten_drivers_on_one_store(system, study):
    """As docs/scale.md has it, with a job each; the nodes hold eight at once. A last run joins what they did."""
    drivers = [
        through_dask(system, study, shard=f"{number}/10", **{"cluster.jobs": "1"})
        for number in range(1, 11)
    ]
    for number, driver in enumerate(drivers, 1):
        out, err = waiting.ended(driver)
        assert driver.returncode == 0 and f"shard {number}/10 is done" in out, err
    assert study.done() == UNITS and mine(system) == []
    study.finish()


def test_jobs_of_a_killed_driver_end(system, study):
    driver = through_dask(system, study, replications="4000")
    study.reaches(4, waiting.runs(driver))
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    waiting.until(lambda: not mine(system))
    (left,) = (study.where / "shared").glob("keys-*")
    driver = through_dask(system, study, **{"cluster.least_jobs": "0"})
    out, err = waiting.ended(driver)
    assert driver.returncode == 0 and "as there are units" in out, err
    assert not left.exists() and study.is_right()


ONE_HUGE_UNIT = {"replications": "1000000", "block": "1000000", "grid.m": "[3,40]"}


@pytest.mark.parametrize(
    "task, changes, line",
    [
        ("run", {"queue": "nowhere"}, "queue=nowhere: sbatch says: invalid partition"),
        ("run", {"queue": "short"}, "walltime=01:00:00: sbatch says:"),
        ("run", {"cores": "64", "memory": "16GiB"}, "cores=64: sbatch says:"),
        ("run", {"walltime": "00:01:00"}, "walltime=00:01:00: a unit of xu/lemmas takes about"),
        ("submit", {"queue": "nowhere"}, "queue=nowhere: sbatch says: invalid partition"),
        ("submit", {"cores": "64"}, "cores=64: sbatch says:"),
        ("submit", {"walltime": "00:02:00"}, r"walltime=00:02:00: must be at least 00:\d\d:00: a"),
    ],
)
def test_what_slurm_would_not_take_is_one_line(  # noqa: PLR0913 - fixtures and cases
    task, changes, line, system, study, shell, monkeypatch, capsys
):
    """And nothing is submitted."""
    for name, value in (shell | system.environment).items():
        monkeypatch.setenv(name, value)
    before = system.call("squeue", "-h")
    words = BATCH if task == "run" else {"cluster": "slurm", "cluster.folder": str(study.where)}
    if changes == {"walltime": "00:01:00"}:
        words = words | ONE_HUGE_UNIT
    cluster = {f"cluster.{name}": value for name, value in changes.items()}
    assert main(study.words(task=task, **words | cluster)) == 2
    printed = capsys.readouterr().err
    assert re.match(f"error: cluster.{line}", printed) and len(printed.splitlines()) == 1, printed
    assert not (study.where / "outputs").exists()
    assert len(system.call("squeue", "-h")) <= len(before)


def test_jobs_that_die_at_once_end_the_sweep(system, study):
    """A Python that cannot start stands for all that may be wrong on the nodes."""
    driver = through_dask(
        system,
        study,
        **{"cluster.directives": "--export=ALL,PYTHONHOME=/nowhere", "cluster.jobs": "3"},
    )
    _, err = waiting.ended(driver)
    (line,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert driver.returncode == 1 and line.startswith(
        "error: 3 jobs ended before their workers joined"
    ), err
    assert "ModuleNotFoundError" in line and "same command goes on" in line


OTHER = """
from pipeline.problems.ranking.model import BTL
from pipeline.execution import runner
truth, here = BTL.truth, runner.environment
BTL.truth = lambda self, rng, *more: rng.random() and truth(self, rng, *more)
runner.environment = lambda: here() | {"CPU features": "OTHER"}
"""


def prologue(run, lines):
    """Let jobs begin with these lines of a shell."""
    (run.where / "shared").mkdir()
    (run.where / "shared/environment").write_text(lines)


@FULL
@pytest.mark.parametrize("wrong", ["mkdir one", "true"], ids=["the first", "every"])
def test_jobs_on_nodes_that_compute_other_numbers(wrong, system, study):
    """The first job is retired with one line and replaced; where all are alike, their reason ends the run."""
    begun = command(study.words(cluster="synchronous", shard="1/40"))
    assert begun.returncode == 0, begun.stderr
    other = study.where / "shared/other"
    prologue(study, f"if {wrong} 2>/dev/null; then export PYTHONPATH={other}:$PYTHONPATH; fi\n")
    other.mkdir()
    (other / "sitecustomize.py").write_text(OTHER)
    driver = through_dask(system, study, **{"cluster.jobs": "1"})
    _, err = waiting.ended(driver)
    lines = [line for line in err.splitlines() if "numbers come out differently on" in line]
    assert "Traceback" not in err
    if wrong == "true":
        assert (
            driver.returncode == 1 and lines[-1].startswith("error: ") and 0 < study.done() < UNITS
        ), err
    else:
        assert (
            driver.returncode == 0
            and len(lines) == 1
            and "is retired: " in lines[0]
            and study.is_right()
        ), err
    assert mine(system) == []


@FULL
def test_one_node_does_not_see_the_disk_and_the_others_come_late(system, study):
    """Jobs of whole nodes, of which one only is there. The first job has an empty folder in place of the outputs, as
    where a disk is not mounted: it is retired with one line, and replaced. In mid-sweep that node goes down, and the
    others come, so that these do the rest."""
    late = ",".join(f"n{number}" for number in range(2, system.nodes + 1))
    prologue(study, without_disk(study))
    system.call("scontrol", "update", f"nodename={late}", "state=drain", "reason=late")
    try:
        driver = through_dask(
            system, study, replications="2000", **{"cluster.cores": "2", "cluster.memory": "1GiB"}
        )
        study.reaches(4)
        system.call("scontrol", "update", "nodename=n1", "state=down", "reason=test")
        system.call("scontrol", "update", f"nodename={late}", "state=resume")
        leaves_alone_who_does_not_see_the_disk(driver, study)
    finally:
        for node in (late, "n1"):
            with contextlib.suppress(AssertionError):  # it is there already
                system.call("scontrol", "update", f"nodename={node}", "state=resume")


def test_a_hung_job_meets_its_walltime(hung, system, submit):
    run, job = hung
    assert system.wait(job) in ("TIMEOUT", "")
    assert 0 < run.done()
    again = submit(run)
    assert system.wait(again) == "COMPLETED", output(run)
    assert run.is_right()


def test_without_slurm_one_line(study, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(study.words(**BATCH)) == 2
    assert capsys.readouterr().err.startswith("error: cluster=slurm: sbatch is not on this machine")
