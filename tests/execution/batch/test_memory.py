"""A real SLURM that limits the memory of jobs by control groups: the kernel ends whole jobs, and the study goes on."""

import os

import pytest

from pipeline.execution.bundles import KILLS
from tests.helpers.engine import ROOT, command
from tests.helpers.servers import slurm
from tests.helpers.servers.study import UNITS, edited, unavailable

# In the workers of jobs, one unit takes memory that the limit of its worker does not count, as files in memory do; and
# of all processes of the job the kernel ends the driver first.
TAKES_TOO_MUCH = """
import mmap, os
from pipeline.execution import suspects
from pipeline.execution.runner import Runner

suspects.FIRST = float("inf")  # a note of every bundle

def simulate(self, unit, *rest, before=Runner._simulate):
    if tuple(unit) == (3, 1):
        with open(f"/proc/{os.getppid()}/oom_score_adj", "w") as score:
            score.write("1000")
        memory = mmap.mmap(-1, 2**31)
        for start in range(0, 2**31, mmap.PAGESIZE):
            memory[start] = 1
    return before(self, unit, *rest)

Runner._simulate = simulate
"""


@pytest.fixture
def system():
    if reason := slurm.missing():
        unavailable(reason)
    if not os.access(slurm.GROUPS, os.W_OK):
        pytest.skip("no control group of version 1 can be made here")
    with slurm.Slurm(nodes=1, limited=True) as running:
        yield running


@pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="takes a minute: make faults")
def test_a_job_that_the_kernel_ends_as_a_whole(system, shell, study):
    """Each job is out of memory as a whole. Others do all other units, and give up that one after some jobs."""
    changes = {"--cpus-per-task=4": "--cpus-per-task=1", "--mem-per-cpu=1G": "--mem-per-cpu=800M"}
    scripts = edited("slurm", study.where, **changes)
    code = study.where / "code"
    code.mkdir()
    (code / "sitecustomize.py").write_text(TAKES_TOO_MUCH)
    deadly = shell | {"PYTHONPATH": f"{code}:{ROOT}"}

    def job():
        words = study.words()
        name = system.call(
            "sbatch", "--parsable", str(scripts / "slurm.sh"), *words, cwd=study.where, env=deadly
        )
        return system.wait(name)

    states = []
    done = []
    for _ in range(KILLS):
        states.append(job())
        done.append(study.done())
    printed = "".join(path.read_text() for path in sorted(study.where.glob("slurm-*.out")))
    assert states == ["OUT_OF_MEMORY"] * KILLS, printed
    # The second job may begin with the deadly one of the units that were in work; later ones do it last.
    assert done[2:] == [UNITS - 1] * (KILLS - 2), (done, printed)
    assert job() == "FAILED"
    printed = "".join(path.read_text() for path in study.where.glob("slurm-*.out"))
    assert f"job killed: {KILLS} whole jobs ended while they made this unit" in printed
    again = command(study.words(cluster="synchronous", retry_failed="true"))
    assert again.returncode == 0 and study.is_right(), again.stderr
