"""Job scripts of the four batch systems, and what is refused before anything is submitted."""

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import types

import pytest

from pipeline.__main__ import main
from pipeline.execution import arithmetic, plan
from pipeline.execution.clusters.arrays import Submission
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.clusters.jobs import Jobs
from pipeline.execution.clusters.private_files import LINES, check_sourced
from pipeline.execution.systems import registry
from pipeline.execution.systems.base import System
from pipeline.execution.systems.commands import Refused, call
from pipeline.execution.systems.lsf import LSF
from pipeline.execution.systems.pbs import PBS
from pipeline.execution.systems.sge import SGE
from pipeline.execution.systems.sizes import MIB, Sizes
from pipeline.execution.systems.slurm import Slurm
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.tasks import TASKS
from tests.helpers.engine import ROOT, arguments, study

COPIES = "export DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD=forkserver"
FIELDS = dict(
    cores=4, memory="8GiB", walltime="02:30:00", queue="long", account="stat", interface="ib0"
)
WANTED = {
    Slurm: [
        "#SBATCH -p long",
        "#SBATCH -A stat",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --mem=8G",
        "#SBATCH -t 02:30:00",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        "#SBATCH -x y",
    ],
    PBS: [
        "#PBS -q long",
        "#PBS -A stat",
        "#PBS -l select=1:ncpus=4:mem=8192MB",
        "#PBS -l walltime=02:30:00",
        "#PBS -r y",
        "#PBS -V",
        "#PBS -x y",
    ],
    LSF: [
        "#BSUB -q long",
        '#BSUB -P "stat"',
        "#BSUB -n 4",
        '#BSUB -R "span[hosts=1]"',
        "#BSUB -W 02:30",
        "#BSUB -r",
        "#BSUB -x y",
    ],
    SGE: [
        "#$ -q long",
        "#$ -P stat",
        "#$ -l h_rt=02:30:00",
        "#$ -pe smp 4",
        "#$ -r y",
        "#$ -V",
        "#$ -x y",
    ],
}


@pytest.mark.parametrize("kind", WANTED, ids=lambda kind: kind.name)
def test_script_says_what_the_fields_say(kind):
    script = BatchWorkers(kind(**FIELDS, directives="-x y; -pe smp 4")).script()
    assert set(WANTED[kind]) <= set(script.splitlines()), script
    command = script.strip().splitlines()[-1]
    for words in (
        "--nworkers 4",
        "--nthreads 1",
        "clusters.route SCHEDULER)",
        "--protocol tls://",
        "--no-dashboard",
        "--dashboard-address 127.0.0.1:0",
        "tls://SCHEDULER:PORT",
        "--tls-key",
    ):
        assert words in command
    assert "export OPENBLAS_NUM_THREADS=1" in script
    assert COPIES in script, "four workers, which are copies of one process"


def test_a_single_worker_of_a_job_is_no_copy():
    assert COPIES not in BatchWorkers(Slurm()).script()


def test_a_value_of_several_words_is_one_value(monkeypatch):
    """Such as the features of the processor that NumPy is to do without, in jobs as in the driver."""
    monkeypatch.setenv(arithmetic.FEATURES, "X86_V4 AVX512_ICL")
    script = BatchWorkers(Slurm()).script()
    assert f"export {arithmetic.FEATURES}='X86_V4 AVX512_ICL'" in script.splitlines()


@pytest.mark.parametrize("walltime", ["00:01:00", "00:10:00", "01:00:00", "240:00:00"])
def test_workers_end_before_the_walltime_and_not_together(walltime):
    """The latest end leaves a reserve; what is promised to a unit is the earliest."""
    cluster = BatchWorkers(Slurm(walltime=walltime))
    words = cluster.script().split()
    lifetime, stagger = (
        float(words[words.index(w) + 1].rstrip("s")) for w in ("--lifetime", "--lifetime-stagger")
    )
    hours, minutes, seconds = map(int, walltime.split(":"))
    assert lifetime + stagger <= 3600 * hours + 60 * minutes + seconds - 10 and stagger > 0
    assert lifetime - stagger == cluster.lifetime >= 30


@pytest.mark.parametrize(
    "field, value",
    [
        ("memory", "100MB"),
        ("memory", "much"),
        ("walltime", "1 h"),
        ("walltime", "00:00:59"),
        ("walltime", "01:60:00"),
        ("walltime", "3600"),
        ("least_jobs", 3),
        ("queue", ""),
        ("directives", "x"),
        ("ports", "80:90"),
        ("ports", "40000"),
        ("ports", "40010:40000"),
        ("ports", "40000:99999"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(field, value):
    with pytest.raises(InvalidInput, match=f"^{field}="):
        Slurm(**{field: value})


def test_an_interface_that_is_not_there_is_named_before_anything_is_asked():
    with pytest.raises(InvalidInput, match="cluster.interface=none0: this machine has .*lo"):
        BatchWorkers(Slurm(interface="none0")).check()


def test_a_folder_that_cannot_be_written_is_named_before_anything_is_asked(tmp_path, monkeypatch):
    for command in ("submits", "cancels"):
        monkeypatch.setattr(Slurm, command, "sh")
    monkeypatch.setattr(Slurm, "listing", ("sh",))
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cluster.folder=.*cannot be written: Not a directory"):
        BatchWorkers(Slurm(folder=str(tmp_path / "file" / "x"))).check()


def test_grid_engine_wants_a_parallel_environment():
    with pytest.raises(InvalidInput, match="parallel environment"):
        SGE(cores=2)


def test_without_dask_jobqueue_one_line(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "dask_jobqueue" else find(name)
    )
    for ask in (BatchWorkers(Slurm()).check, BatchWorkers(Slurm()).script):
        with pytest.raises(InvalidInput, match="needs this package: pip install dask-jobqueue"):
            ask()


@pytest.mark.parametrize(
    "command, said",
    [
        (["sh", "-c", "echo first; echo 'x: error: no such queue' >&2; exit 1"], "^no such queue$"),
        (
            [
                "sh",
                "-c",
                "echo \"sbatch: unrecognized option '--x'\nTry 'sbatch --help'\" >&2; exit 1",
            ],
            "option '--x'$",
        ),
        (["sh", "-c", "exit 3"], "sh ended with code 3"),
        (["no-such-command"], "No such file"),
    ],
)
def test_a_refusal_is_what_the_system_says(command, said):
    with pytest.raises(Refused, match=said):
        call(command)


@pytest.mark.parametrize(
    "said, field",
    [
        (
            "allocation failure: Invalid account or account/partition combination specified",
            "account=stat",
        ),
        ("invalid partition specified: long", "queue=long"),
    ],
)
def test_a_refusal_names_the_field_that_is_meant(said, field):
    assert str(Slurm(**FIELDS).refusal(Refused(said))) == f"cluster.{field}: sbatch says: {said}"


class Queue:
    """A batch system of `sh` and files: jobs are numbered lines of a listing."""

    def __init__(self, folder):
        self.folder, self.listing, self.worker = folder, folder / "listing", {}
        self.listing.write_text("")
        (folder / "submit").write_text(
            f"#!/bin/sh\nn=$(($(cat {folder}/count 2>/dev/null) + 1)); echo $n > {folder}/count\n"
            f'echo "$n user" >> {self.listing}; echo "Submitted job $n"; env > {folder}/inherited\n'
        )
        (folder / "submit").chmod(0o755)
        (folder / "cancel").write_text(
            f'#!/bin/sh\nfor n; do sed -i "/^$n /d" {self.listing}; done\n'
        )
        (folder / "cancel").chmod(0o755)

    def system(self, jobs, least):
        class Files(System):
            name, submits, cancels = (
                "files",
                str(self.folder / "submit"),
                str(self.folder / "cancel"),
            )
            listing = ("cat", str(self.listing))
            nothing_left = "No unfinished job"

            def options(self, sizes, array, after):
                return []

        return Files(jobs=jobs, least_jobs=least, cores=2, folder=str(self.folder))

    def numbers(self):
        return [int(line.split()[0]) for line in self.listing.read_text().splitlines()]


@pytest.fixture
def queue(tmp_path):
    return Queue(tmp_path)


def jobs_of(queue, monkeypatch, wanted, least):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr("pipeline.execution.clusters.jobs.time.monotonic", lambda: clock.now)
    scheduler = types.SimpleNamespace(workers={}, tasks={})
    monkeypatch.setattr(
        "pipeline.execution.clusters.jobs.retire",
        lambda _, addresses: [scheduler.workers.pop(address) for address in addresses],
    )
    system = queue.system(wanted, least)
    system.output.mkdir()
    jobs = Jobs(system, lambda name: "", queue.folder, None, scheduler)

    def later(seconds):
        clock.now += seconds
        jobs.update()

    return jobs, scheduler, later


def there(scheduler, *names, busy=True):
    processing = {1: 1} if busy else {}
    scheduler.workers = {
        name: types.SimpleNamespace(name=name, address=name, processing=processing)
        for name in names
    }


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


def test_a_job_whose_worker_must_not_compute_is_cancelled_and_replaced_a_few_times(
    queue, monkeypatch
):
    jobs, scheduler, later = jobs_of(queue, monkeypatch, 2, 2)
    later(10)
    there(scheduler, "job1-0", "job1-1", "job2-0")
    assert (
        jobs.retire("job1-0") and queue.numbers() == [2] and list(scheduler.workers) == ["job2-0"]
    )
    for number in (3, 4, 5):
        later(10)
        assert queue.numbers() == [2, number]
        there(scheduler, f"job{number}-0", "job2-0")
        assert jobs.retire(f"job{number}-0")
    later(10)
    assert queue.numbers() == [2], "the fourth is not replaced any more"
    assert not jobs.retire("job2-0") and queue.numbers() == []


@pytest.mark.parametrize("hides_environment", [False, True])
def test_no_secret_goes_where_a_queue_would_show_it(queue, monkeypatch, hides_environment):
    """Grid Engine's `qstat -j` shows everybody what a job inherits; SLURM keeps it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "planted")
    monkeypatch.setenv("LOADED_MODULES", "kept")
    jobs, *_ = jobs_of(queue, monkeypatch, 1, 1)
    monkeypatch.setattr(type(jobs.system), "hides_environment", hides_environment)
    jobs.submit()
    inherited = (queue.folder / "inherited").read_text()
    assert (
        "LOADED_MODULES=kept" in inherited and inherited.count("planted") == 3 * hides_environment
    )
    assert [kind.name for kind in WANTED if kind.hides_environment] == ["slurm"]


def test_jobs_read_a_private_file_if_there_is_one(tmp_path):
    """As a shell reads the script: without the file, with it, and from a folder that a person chose."""
    for said in ("", "planted"):
        done = as_a_job_reads_it(tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"[{said}]\n", "")
        (tmp_path / "environment").write_text("export KEY=planted\n")


def as_a_job_reads_it(folder):
    """What bash makes of the lines in a job's script that source the private file."""
    script = BatchWorkers(Slurm(folder=str(folder))).script()
    start = script.index("MORE=")
    lines = script[start : script.index("\nfi\n", start) + 4]
    return subprocess.run(["bash", "-c", f"{lines}\necho [$KEY]"], capture_output=True, text=True)


@pytest.mark.parametrize(
    "name, mode", [("environment", 0o620), ("environment", 0o602), (".", 0o770), (".", 0o1777)]
)
def test_a_private_file_that_others_may_write_is_not_sourced(tmp_path, monkeypatch, name, mode):
    """By no job, and before any is submitted; the same for one of another user, whom the folder or the file has."""
    (tmp_path / "environment").write_text("export KEY=planted\n")
    file = tmp_path / "environment"
    check_sourced(file)
    (tmp_path / name).chmod(mode)
    done = as_a_job_reads_it(tmp_path)
    assert (
        done.returncode == 1
        and done.stdout == ""
        and "must be yours, and neither it nor its folder" in done.stderr
    )
    with pytest.raises(
        InvalidInput, match="must be yours, and neither it nor its folder writable by others"
    ):
        check_sourced(file)
    (tmp_path / name).chmod(0o700)
    assert as_a_job_reads_it(tmp_path).stdout == "[planted]\n"
    check_sourced(file)
    if os.geteuid() == 0:  # only root may give files away
        os.chown(file, 54321, -1)
        assert as_a_job_reads_it(tmp_path).returncode == 1
        os.chown(file, 0, -1)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InvalidInput, match="must be yours"):
        check_sourced(file)


def test_all_scripts_of_jobs_read_the_private_file_in_the_same_way():
    scripts = {path.name: path.read_text() for path in (ROOT / "jobs").glob("*.sh")}
    reading = {name for name, text in scripts.items() if "\n".join(LINES) in text}
    naming = {name for name, text in scripts.items() if "MORE" in text}
    assert reading == naming == {"any.sh", "sge.sh", "pbs.sh", "lsf.sh"}


def test_folders_of_jobs_are_private(tmp_path):
    mask = os.umask(0)
    try:
        Slurm(folder=str(tmp_path / "a/.pipeline")).make_folders()
    finally:
        os.umask(mask)
    for name in ("a/.pipeline", "a/.pipeline/output"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o700


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


def test_no_unfinished_job_is_none_though_lsf_calls_it_an_error(queue, monkeypatch):
    jobs, _, later = jobs_of(queue, monkeypatch, 1, 1)
    later(10)
    type(jobs.system).listing = ["sh", "-c", "echo 'No unfinished job found' >&2; exit 255"]
    later(20)
    assert queue.numbers() == [1, 2], "the first ended, so it was replaced"
    type(jobs.system).listing = ["sh", "-c", "echo 'LSF is down. Please wait ...' >&2; exit 255"]
    later(20)
    assert queue.numbers() == [1, 2]


def test_jobs_that_never_work_are_an_error_with_their_last_words(queue, monkeypatch):
    jobs, _, later = jobs_of(queue, monkeypatch, 1, 1)
    (queue.folder / "output/pipeline.o3").write_text("loading\nImportError: no module named dask\n")
    with pytest.raises(
        ChildProcessError, match="3 jobs ended before their workers joined.*ImportError"
    ):
        for _ in range(5):
            later(20)
            queue.listing.write_text("")


@pytest.mark.parametrize("system", ["slurm", "pbs", "lsf", "sge"])
def test_job_scripts_have_one_marked_place_and_parse(system):
    path = ROOT / "jobs" / f"{system}.sh"
    subprocess.run(["bash", "-n", path], check=True)
    text = path.read_text()
    assert text.count("# ---- edit here") == 1 and len(text.splitlines()) < 50
    mark = {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB", "sge": "#$ "}[system]
    shell = [n for n, line in enumerate(text.splitlines()) if line and not line.startswith("#")]
    directives = [n for n, line in enumerate(text.splitlines()) if line.startswith(mark)]
    assert max(directives) < min(shell), "directives after the first command are not read"


def tools(folder, **scripts):
    """A folder of commands, in bash, and those that scripts need."""
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    for name in ("bash", "dirname", "wc", "grep", "head", "sleep"):
        (folder / name).symlink_to(shutil.which(name))
    return {"PATH": str(folder), "HOME": str(folder)}


OPTIONS = {  # of each system's command, as its manual has them: of an array, of what follows it, of the last job
    "slurm": [
        "--cpus-per-task=1",
        "--mem-per-cpu=1024M",
        "--time=01:00:00",
        "--signal=B:USR1@60",
        "--partition=long",
        "--account=stat",
        "--exclusive",
        "--array=1-3",
        "--dependency=afterany:7",
    ],
    "sge": [
        "-terse",
        "-l s_rt=00:59:00,h_rt=01:00:00",
        "-q long",
        "-P stat",
        "--exclusive",
        "-t 1-3",
        "-hold_jid 7",
    ],
    "pbs": [
        "-l select=1:ncpus=1:mem=1024mb",
        "-l walltime=01:00:00",
        "-q long",
        "-A stat",
        "--exclusive",
        "-J 1-3",
        "-W depend=afterany:7[].host",
    ],
    "lsf": [
        "-n 1",
        "-R span[hosts=1] rusage[mem=1024MB]",
        "-W 01:00",
        "-wt 1",
        "-q long",
        "-P stat",
        "--exclusive",
        "-J pipeline[1-3]",
        "-w ended(7)",
    ],
}
SAYS = {
    "slurm": "7",
    "sge": "7.1-3:1",
    "pbs": "7[].host",
    "lsf": "Job <7> is submitted to queue <long>.",
}
COMMANDS = {
    "slurm": ("sbatch", "scancel"),
    "sge": ("qsub", "qdel"),
    "pbs": ("qsub", "qdel"),
    "lsf": ("bsub", "bkill"),
}


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Words of `task=submit`, in a shell that has the commands of a batch system, which write down what they get."""

    def of(system, said=None, **changes):
        submits, cancels = COMMANDS[system]
        for name in (submits, cancels, "qstat", "bqueues", "pipeline"):
            (tmp_path / name).write_text(
                f'#!/bin/bash\necho "{name} $*" >> {tmp_path}/given\nenv >> {tmp_path}/inherited-by-{name}\n'
                f"{said or f'echo {SAYS[system]!r}'}\n"
            )
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("PIPELINE", str(tmp_path / "pipeline"))
        ours = {
            "task": "submit",
            "cluster": system,
            "shards": "3",
            "cluster.walltime": "01:00:00",
            "cluster.memory": "1GiB",
            "cluster.queue": "long",
            "cluster.account": "stat",
            "cluster.directives": "--exclusive",
            "cluster.folder": str(tmp_path / "shared"),
        }
        return arguments(tmp_path / "outputs", **ours | changes)

    return of


@pytest.mark.parametrize("system", COMMANDS)
def test_commands_of_a_submission(system, words, tmp_path, monkeypatch, capsys):
    """The text of the commands, against the documented options; SLURM's and Grid Engine's also run on real ones."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    given = words(system)
    assert main(given) == 0
    said = capsys.readouterr().out
    calls = [
        line
        for line in (tmp_path / "given").read_text().splitlines()
        if line.startswith(COMMANDS[system][0])
    ]
    asked = [line for line in calls if "--test-only" in line or "-w v" in line]
    first, last = (line for line in calls if line not in asked)
    assert len(asked) == (system in ("slurm", "sge"))
    array, after = OPTIONS[system][-2:]
    for option in OPTIONS[system][:-2]:
        assert option in first and option in last, option
    assert array in first and array not in last
    assert after not in first and after in last
    inherited = (tmp_path / f"inherited-by-{COMMANDS[system][0]}").read_text()
    assert ("planted" in inherited) == (system == "slurm") and "SHARDS=3\n" in inherited
    run = " ".join(
        [*(word for word in given if not re.match("task|cluster|shards", word)), "cluster=local"]
    )
    assert run in (first if system in ("slurm", "sge") else inherited)
    number = shlex.quote("7[].host" if system == "pbs" else "7")
    assert (
        "array 7" in said
        and f"cancel: {COMMANDS[system][1]} {number} " in said
        and "task=status" in said
    )
    assert ("never executed" in said) == (system in ("pbs", "lsf"))
    assert ("both, as job 7" in said) == (system != "slurm"), (
        "whose last job sees that the array was cancelled"
    )


@pytest.mark.parametrize("system", ["pbs", "lsf"])
def test_wherever_a_system_is_offered_that_was_never_executed_that_is_said(system):
    files = [
        ROOT / f"jobs/{system}.sh",
        ROOT / "docs/clusters.md",
    ]
    guide = (ROOT / "docs/guide.md").read_text()
    texts = [path.read_text().lower() for path in files]
    texts += [paragraph for paragraph in guide.split("\n\n") if f"`{system}`" in paragraph]
    texts += [
        TASKS["submit"].meaning.format(systems=registry.names()),
        registry.system(system).__doc__,
    ]
    assert len(texts) >= 5 and all("never executed" in text for text in texts)


@pytest.mark.parametrize("system", ["slurm", "pbs"])
def test_one_shard_is_one_job_and_there_are_never_more_than_units(system, words, tmp_path, capsys):
    assert main(words(system, shards="1")) == 0
    assert "job 7" in (said := capsys.readouterr().out) and "array" not in said
    assert main(words(system, shards="50")) == 0
    assert "of 8 shards" in capsys.readouterr().out and "8 units" in said


@pytest.mark.parametrize(
    "changes, line",
    [
        ({"shards": "0"}, "shards=0: must be a whole number ≥ 1"),
        ({"shard": "1/2"}, "shard=1/2: goes with task=run only"),
        ({"grid.m": "[1]"}, "grid.m=1: must be"),
        ({"experiment": "xu/scenario_22"}, "experiment=xu/scenario_22: no such"),
        (
            {"cluster.walltime": "00:02:00"},
            "cluster.walltime=00:02:00: must be at least 00:03:00: a unit takes about",
        ),
        ({"data.path": "no file"}, "data.path"),
    ],
)
def test_bad_input_submits_nothing(words, tmp_path, capsys, changes, line):
    given = [word for word in words("slurm") if word.partition("=")[0] not in changes]
    assert main([*given, *(f"{key}={value}" for key, value in changes.items())]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {line}") and said.count("\n") == 1, said
    assert not (tmp_path / "given").exists() and not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("system", ["slurm", "lsf"])
def test_a_refusal_cancels_what_was_accepted(system, words, tmp_path, capsys):
    first = f'[[ "$*" == *"-w v"* || $(wc -l < {tmp_path}/given) -lt 3 ]] && echo {SAYS[system]!r} && exit 0\n'
    assert main(words(system, said=first + "echo 'no queue for it' >&2; exit 1")) == 2
    assert (
        capsys.readouterr().err
        == "error: cluster.queue=long: " + f"{COMMANDS[system][0]} says: no queue for it\n"
    )
    assert f"{COMMANDS[system][1]} 7" in (tmp_path / "given").read_text()


def test_without_a_batch_system_one_line(words, tmp_path, monkeypatch, capsys):
    assert main(arguments(tmp_path, task="submit")) == 2
    assert capsys.readouterr().err.startswith("error: cluster=synchronous: must be sge or slurm (")
    given = words("slurm")
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(given) == 2
    assert capsys.readouterr().err.startswith("error: cluster=slurm: sbatch is not on this machine")


@pytest.mark.parametrize("system", ["pbs", "lsf"])
def test_blanks_that_a_queue_would_split_are_named(system, words, capsys):
    assert main(words(system, **{"grid.m": "[3, 4]"})) == 2
    assert "no blanks inside a word" in capsys.readouterr().err


def test_the_last_job_of_pbs_submits_again_where_there_is_more_to_do(tmp_path):
    fake = tmp_path / "pipeline"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/given; exit 75\n')
    fake.chmod(0o755)
    variables = {
        "PBS_O_WORKDIR": "/",
        "WORDS": "a=b",
        "AGAIN": "task=submit a=b",
        "SECONDS_TO_RUN": "9",
        "CORES": "2",
    }
    done = subprocess.run(
        ["bash", ROOT / "jobs/pbs.sh"],
        env={"PATH": "/usr/bin:/bin", "PIPELINE": str(fake)} | variables,
    )
    assert done.returncode == 75
    first = "a=b cluster.workers=2 stop_after=9 cluster.memory=768MiB"
    assert (tmp_path / "given").read_text() == f"{first}\ntask=submit a=b\n"


@pytest.mark.parametrize("system, code, asked", [("slurm", 143, "requeue 5"), ("sge", 99, "")])
def test_a_walltime_signal_before_anybody_listens_queues_again(system, code, asked, tmp_path):
    """The command has only just begun, so TERM ends it: 143 is more to do as well."""
    shell = tools(
        tmp_path, begin="echo there; exec sleep 60", scontrol='echo "$@" > "$HOME/asked"; exit 1'
    )
    job = subprocess.Popen(
        ["bash", ROOT / "jobs" / f"{system}.sh", "a=b"],
        stdout=subprocess.PIPE,
        text=True,
        env=shell | {"PIPELINE": str(tmp_path / "begin"), "SLURM_JOB_ID": "5"},
    )
    assert job.stdout.readline() == "there\n"
    job.send_signal(signal.SIGUSR1)
    assert job.wait(20) == code
    assert not asked or (tmp_path / "asked").read_text() == f"{asked}\n"


def test_a_cancelled_job_is_not_queued_again_though_its_walltime_was_near(tmp_path):
    shell = tools(
        tmp_path,
        begin='trap "" TERM; echo there; sleep 2; exit 75',
        scontrol='echo > "$HOME/asked"',
    )
    job = subprocess.Popen(
        ["bash", ROOT / "jobs/slurm.sh", "a=b"],
        stdout=subprocess.PIPE,
        text=True,
        env=shell | {"PIPELINE": str(tmp_path / "begin"), "SLURM_JOB_ID": "5"},
    )
    assert job.stdout.readline() == "there\n"
    for number in (signal.SIGUSR1, signal.SIGTERM):
        job.send_signal(number)
        time.sleep(0.3)
    assert job.wait(20) == 75 and not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    "system, variables, expected",
    [
        (
            "lsf",
            {"LSB_JOBINDEX": "3", "LSB_JOBINDEX_END": "8", "LSB_DJOB_NUMPROC": "4"},
            "a=[1,2] b=c cluster.workers=4 shard=3/8",
        ),
        ("lsf", {"LSB_JOBINDEX": "0"}, "a=[1,2] b=c cluster.workers=1"),
        (
            "pbs",
            {"PBS_ARRAY_INDEX": "2", "SHARDS": "5", "PBS_O_WORKDIR": "/"},
            "a=[1,2] b=c cluster.workers=4 stop_after=14280 cluster.memory=768MiB shard=2/5",
        ),
        (
            "pbs",
            {"PBS_O_WORKDIR": "/"},
            "a=[1,2] b=c cluster.workers=4 stop_after=14280 cluster.memory=768MiB",
        ),
    ],
)
def test_scripts_that_no_server_runs_start_the_right_command(system, variables, expected, tmp_path):
    fake = tmp_path / "pipeline"
    fake.write_text('#!/bin/sh\necho "$@"\n')
    fake.chmod(0o755)
    done = subprocess.run(
        ["bash", ROOT / "jobs" / f"{system}.sh"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "PIPELINE": str(fake), "WORDS": "a=[1,2] b=c"} | variables,
    )
    assert done.stdout.strip() == expected


@pytest.mark.parametrize("seconds, enough", [(15, True), (16, False)])
def test_a_worker_lives_for_the_unit_that_it_checks_and_one_of_its_own(
    seconds, enough, tmp_path, monkeypatch
):
    monkeypatch.setattr(plan, "_longest", lambda _: seconds)
    cluster = types.SimpleNamespace(lifetime=30, walltime="00:01:00")
    with (
        contextlib.nullcontext()
        if enough
        else pytest.raises(InvalidInput, match="a new worker first simulates")
    ):
        plan.check_lifetime([Store(study(), tmp_path)], cluster)


SCRIPTS = {  # the environment that each system gives to a job of two cores
    "slurm": {"SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "2"},
    "pbs": {"PBS_O_WORKDIR": ".", "CORES": "2", "WORDS": "seed=1"},
    "lsf": {"LSB_DJOB_NUMPROC": "2", "WORDS": "seed=1"},
    "sge": {"NSLOTS": "2"},
}


def words_of_job(system, **environment):
    """The words that a job's script runs the command with."""
    script = ROOT / "jobs" / f"{system}.sh"
    given = {
        "PATH": os.environ["PATH"],
        "HOME": "/nowhere",
        "PIPELINE": shutil.which("echo"),
        **SCRIPTS[system],
    }
    done = subprocess.run(
        ["bash", str(script), "seed=1"], env=given | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("system", SCRIPTS)
def test_workers_of_a_job_get_their_share_of_its_memory(system):
    """So that a unit that needs more fails in one line, and does not end its job."""
    words = words_of_job(system, WORKER_MEMORY="700MiB")
    assert {"seed=1", "cluster.workers=2", "cluster.memory=700MiB"} <= set(words)
    by_hand = [word for word in words_of_job(system) if word.startswith("cluster.memory")]
    assert by_hand == (["cluster.memory=768MiB"] if system == "pbs" else [])


def test_memory_of_a_job_submitted_by_hand_is_what_slurm_says():
    assert "cluster.memory=768MiB" in words_of_job("slurm", SLURM_MEM_PER_CPU="1024")
    assert "cluster.memory=1536MiB" in words_of_job("slurm", SLURM_MEM_PER_NODE="4096")
    assert not any("memory" in word for word in words_of_job("slurm", SLURM_MEM_PER_CPU="300"))


@pytest.mark.parametrize(
    "states, code", [("JobState=CANCELLED", 75), ("JobState=TIMEOUT", 0), ("", 0)]
)
def test_who_cancels_an_array_cancels_the_job_that_follows(states, code, tmp_path):
    """It would else do all of the array's work alone. Other ends of tasks are what it is there for."""
    shell = tools(
        tmp_path,
        scontrol=f'[[ "$*" == "show job -o 7" ]] && echo "JobId=8 ArrayJobId=7 {states}"',
        begin="echo begun",
    )
    done = subprocess.run(
        ["bash", ROOT / "jobs/slurm.sh", "a=b"],
        capture_output=True,
        text=True,
        env=shell | {"PIPELINE": str(tmp_path / "begin"), "SLURM_JOB_ID": "9", "AFTER": "7"},
    )
    assert done.returncode == code and ("begun" in done.stdout) == (code == 0), done
    assert ("array 7 was cancelled" in done.stderr) == (code == 75)


@pytest.mark.parametrize("memory, cores, share", [(2048, 2, 768), (4096, 1, 3584), (600, 4, 256)])
def test_share_of_a_worker_leaves_room_for_the_driver(memory, cores, share):
    assert Sizes(1, memory * MIB, 3600, 60).memory_of_worker(cores) == share * MIB


def test_a_job_of_slurm_inherits_the_environment_though_the_site_says_otherwise():
    """SBATCH_EXPORT=NONE is set at some sites; what the job's script reads would then be missing."""
    submission = Submission(Slurm(**FIELDS), Sizes(2, 2048 * MIB, 3600, 60), ["seed=1"])
    assert "--export=ALL" in submission._options(last=False)
    assert submission._environment()["WORKER_MEMORY"] == f"{384 * MIB}B"
