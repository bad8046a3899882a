"""Job scripts of the four batch systems, and what is refused before anything is submitted."""

import importlib.util
import subprocess
import types

import pytest
from engine import ROOT

from pipeline.clusters import LSF, PBS, SGE, Slurm
from pipeline.clusters.jobs import Jobs, Refused, call
from pipeline.parameters import InvalidInput

FIELDS = dict(cores=4, memory="8GiB", walltime="02:30:00", queue="long", account="stat", interface="ib0")
WANTED = {
    Slurm: ["#SBATCH -p long", "#SBATCH -A stat", "#SBATCH --cpus-per-task=4", "#SBATCH --mem=8G",
            "#SBATCH -t 02:30:00", "#SBATCH --requeue", "#SBATCH --open-mode=append", "#SBATCH -x y"],
    PBS: ["#PBS -q long", "#PBS -A stat", "#PBS -l select=1:ncpus=4:mem=8192MB", "#PBS -l walltime=02:30:00",
          "#PBS -r y", "#PBS -V", "#PBS -x y"],
    LSF: ["#BSUB -q long", '#BSUB -P "stat"', "#BSUB -n 4", '#BSUB -R "span[hosts=1]"', "#BSUB -W 02:30", "#BSUB -r",
          "#BSUB -x y"],
    SGE: ["#$ -q long", "#$ -P stat", "#$ -l h_rt=02:30:00", "#$ -pe smp 4", "#$ -r y", "#$ -V", "#$ -x y"],
}


@pytest.mark.parametrize("kind", WANTED, ids=lambda kind: kind.name)
def test_script_says_what_the_fields_say(kind):
    script = kind(**FIELDS, directives="-x y; -pe smp 4").script()
    assert set(WANTED[kind]) <= set(script.splitlines()), script
    command = script.strip().splitlines()[-1]
    for words in ("--nworkers 4", "--nthreads 1", "--interface ib0", "--protocol tls://", "--no-dashboard",
                  "--dashboard-address 127.0.0.1:0", "tls://SCHEDULER:PORT", "--tls-key"):
        assert words in command
    assert "export OPENBLAS_NUM_THREADS=1" in script


@pytest.mark.parametrize("walltime", ["00:01:00", "00:10:00", "01:00:00", "240:00:00"])
def test_workers_end_before_the_walltime_and_not_together(walltime):
    """The latest end leaves a reserve; what is promised to a unit is the earliest."""
    cluster = Slurm(walltime=walltime)
    words = cluster.script().split()
    lifetime, stagger = (float(words[words.index(w) + 1].rstrip("s")) for w in ("--lifetime", "--lifetime-stagger"))
    hours, minutes, seconds = map(int, walltime.split(":"))
    assert lifetime + stagger <= 3600 * hours + 60 * minutes + seconds - 10 and stagger > 0
    assert lifetime - stagger == cluster.lifetime >= 30


@pytest.mark.parametrize("field, value", [
    ("memory", "100MB"), ("memory", "much"), ("walltime", "1 h"), ("walltime", "00:00:59"), ("walltime", "01:60:00"),
    ("walltime", "3600"), ("least_jobs", 3), ("queue", ""), ("directives", "x"),
])
def test_a_field_that_makes_no_sense_is_named(field, value):
    with pytest.raises(InvalidInput, match=f"^{field}="):
        Slurm(**{field: value})


def test_grid_engine_wants_a_parallel_environment():
    with pytest.raises(InvalidInput, match="parallel environment"):
        SGE(cores=2)


def test_without_dask_jobqueue_one_line(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "dask_jobqueue" else find(name))
    for ask in (Slurm().check, Slurm().script):
        with pytest.raises(InvalidInput, match=r"pip install 'private-learning-pipeline\[hpc\]'"):
            ask()


@pytest.mark.parametrize("command, said", [
    (["sh", "-c", "echo first; echo 'x: error: no such queue' >&2; exit 1"], "^no such queue$"),
    (["sh", "-c", "exit 3"], "sh ended with code 3"), (["no-such-command"], "No such file"),
])
def test_a_refusal_is_what_the_system_says(command, said):
    with pytest.raises(Refused, match=said):
        call(command)


class Queue:
    """A batch system of `sh` and files: jobs are numbered lines of a listing."""

    def __init__(self, folder):
        self.folder, self.listing, self.worker = folder, folder / "listing", {}
        self.listing.write_text("")
        (folder / "submit").write_text(
            f'#!/bin/sh\nn=$(($(cat {folder}/count 2>/dev/null) + 1)); echo $n > {folder}/count\n'
            f'echo "$n user" >> {self.listing}; echo "Submitted job $n"\n')
        (folder / "submit").chmod(0o755)
        (folder / "cancel").write_text(f'#!/bin/sh\nfor n; do sed -i "/^$n /d" {self.listing}; done\n')
        (folder / "cancel").chmod(0o755)

    def make(self, name):
        return types.SimpleNamespace(job_script=lambda: "", submit_command=str(self.folder / "submit"),
                                     cancel_command=str(self.folder / "cancel"))

    def numbers(self):
        return [int(line.split()[0]) for line in self.listing.read_text().splitlines()]


@pytest.fixture
def queue(tmp_path):
    return Queue(tmp_path)


def jobs_of(queue, monkeypatch, wanted, least):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr("pipeline.clusters.jobs.time.monotonic", lambda: clock.now)
    scheduler = types.SimpleNamespace(workers={}, tasks={})
    jobs = Jobs(queue.make, ["cat", str(queue.listing)], wanted, least, 2, queue.folder, queue.folder, scheduler)

    def later(seconds):
        clock.now += seconds
        jobs.tend()

    return jobs, scheduler, later


def there(scheduler, *names, busy=True):
    scheduler.workers = {name: types.SimpleNamespace(name=name, processing={1: 1} if busy else {}) for name in names}


def test_jobs_that_end_are_replaced_and_all_are_cancelled(queue, monkeypatch):
    jobs, scheduler, later = jobs_of(queue, monkeypatch, 2, 2)
    with jobs:
        later(10)
        assert queue.numbers() == [1, 2]
        there(scheduler, "job1-0", "job1-1", "job2-0")
        later(10)
        subprocess.run([queue.folder / "cancel", "2"], check=True)
        there(scheduler, "job1-0", "job1-1")
        later(20)
        assert queue.numbers() == [1, 3]
        later(20)
        assert queue.numbers() == [1, 3], "a job that waits in the queue is left alone"
    assert queue.numbers() == []


def test_adaptive_jobs_follow_the_work(queue, monkeypatch):
    jobs, scheduler, later = jobs_of(queue, monkeypatch, 3, 0)
    later(10)
    assert queue.numbers() == []
    scheduler.tasks = dict.fromkeys(range(5))
    later(10)
    assert queue.numbers() == [1, 2, 3], "five bundles for three jobs of two workers"
    scheduler.tasks = {0: 0}
    there(scheduler, "job1-0", "job1-1", "job2-0", "job3-0", busy=False)
    later(10)
    assert queue.numbers() == [1, 2, 3], "not at once"
    scheduler.workers["job1-0"].processing = {0: 0}
    later(20)
    assert queue.numbers() == [1]


def test_jobs_that_never_work_are_an_error_with_their_last_words(queue, monkeypatch):
    jobs, _, later = jobs_of(queue, monkeypatch, 1, 1)
    (queue.folder / "pipeline.o3").write_text("loading\nImportError: no module named dask\n")
    with pytest.raises(ChildProcessError, match="3 jobs ended before their workers joined.*ImportError"):
        for _ in range(5):
            later(20)
            queue.listing.write_text("")


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf", "sge"])
def test_job_scripts_have_one_marked_place_and_parse(system):
    for path in sorted((ROOT / "jobs" / system).glob("*.sh")):
        subprocess.run(["bash", "-n", path], check=True)
        text = path.read_text()
        assert text.count("# ---- edit here") == (path.name == "study.sh") and len(text.splitlines()) < 50
        mark = {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB", "sge": "#$ "}[system]
        shell = [n for n, line in enumerate(text.splitlines()) if line and not line.startswith("#")]
        directives = [n for n, line in enumerate(text.splitlines()) if line.startswith(mark)]
        assert not directives or max(directives) < min(shell), "directives after the first command are not read"


@pytest.mark.parametrize("system, variables, expected", [
    ("lsf", {"LSB_JOBINDEX": "3", "LSB_JOBINDEX_END": "8", "LSB_DJOB_NUMPROC": "4"},
     "a=[1,2] b=c cluster.workers=4 shard=3/8"),
    ("lsf", {"LSB_JOBINDEX": "0"}, "a=[1,2] b=c cluster.workers=1"),
    ("pbs", {"PBS_ARRAY_INDEX": "2", "SHARDS": "5", "PBS_O_WORKDIR": "/"},
     "a=[1,2] b=c cluster.workers=4 stop_after=14280 shard=2/5"),
    ("pbs", {"PBS_O_WORKDIR": "/"}, "a=[1,2] b=c cluster.workers=4 stop_after=14280"),
])
def test_scripts_that_no_server_runs_start_the_right_command(system, variables, expected, tmp_path):
    fake = tmp_path / "pipeline"
    fake.write_text('#!/bin/sh\necho "$@"\n')
    fake.chmod(0o755)
    done = subprocess.run(["bash", ROOT / "jobs" / system / "study.sh"], capture_output=True, text=True, check=True,
                          env={"PATH": "/usr/bin:/bin", "PIPELINE": str(fake), "WORDS": "a=[1,2] b=c"} | variables)
    assert done.stdout.strip() == expected
