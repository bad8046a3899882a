"""A real SLURM: munge, slurmctld and several virtual nodes, from Debian's packages, on loopback or on two hosts."""

import contextlib
import functools
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from tests.helpers.servers import packages
from tests.helpers.servers.hosts import Hosts
from tests.helpers.servers.waiting import PATIENCE, until

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
LOOPBACK = "127.0.0.1"
ENDED = {
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "",
}
CONFIG = """\
ClusterName=tests
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,defer_batch
ReturnToService=2
JobRequeue=1
EnforcePartLimits=ALL
KillWait=5
MinJobAge=10
SlurmdTimeout=30
CompleteWait=0
{nodes}
PartitionName=work Nodes=ALL Default=YES MaxTime=1-0 State=UP
PartitionName=short Nodes=ALL MaxTime=0:02:00 State=UP
"""

GROUPS = Path("/sys/fs/cgroup/memory")  # control groups of version 1, each with a limit of memory
LIMITED = {  # what differs where SLURM limits the memory of jobs by control groups
    "TaskPlugin=task/none": "TaskPlugin=task/cgroup",
    "SelectTypeParameters=CR_Core": "SelectTypeParameters=CR_Core_Memory",
}
CGROUP_CONFIG = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
"""


@functools.cache
def missing() -> str | None:
    """Install what is not there; None if all is, else why it cannot be had."""
    if os.geteuid():
        return "several nodes on one host need root"
    return packages.missing(("slurmctld", "slurmd", "sbatch", "munged"), PACKAGES)


class Slurm:
    """A running SLURM; use as a context manager, which starts it and ends its processes by their numbers.

    hosts: where the controller and the nodes are; None: all on loopback. limited: whether control groups of
    version 1 limit the memory of jobs.
    """

    def __init__(
        self, nodes: int = 4, cores: int = 2, hosts: Hosts | None = None, limited: bool = False
    ):
        self.nodes, self.cores, self.limited = nodes, cores, limited
        self.login = hosts.login.prefix if hosts else ()
        self.node = hosts.node.prefix if hosts else ()
        self.login_address = hosts.login.address if hosts else LOOPBACK
        self.node_address = hosts.node.address if hosts else LOOPBACK
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.processes: list[subprocess.Popen] = []

    @property
    def environment(self) -> dict[str, str]:
        """What makes its commands speak to it."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> "Slurm":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._end_jobs()
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.limited:
            _remove_groups()

    def call(self, *command: str, **options) -> str:
        """Output of one of its commands, which must succeed."""
        environment = os.environ | self.environment | options.pop("env", {})
        done = subprocess.run(
            [*self.login, *command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def state(self, job: str) -> str:
        """State of a job, or of all tasks of an array: PENDING, RUNNING, COMPLETED …; "" once forgotten."""
        environment = os.environ | self.environment
        done = subprocess.run(
            [*self.login, "squeue", "-h", "-r", "-t", "all", "-o", "%T", "-j", job],
            env=environment,
            capture_output=True,
            text=True,
        )
        return " ".join(sorted(set(done.stdout.split())))

    def wait(self, job: str, *states: str) -> str:
        """The state of a job once it is one of these, or has ended when none is given."""
        end = time.monotonic() + PATIENCE
        while not set((now := self.state(job)).split(" ")) <= (set(states) or ENDED):
            if time.monotonic() > end:
                raise AssertionError(
                    f"job {job} is {now}: {self.call('scontrol', 'show', 'job', job)}"
                )
            time.sleep(0.1)
        return now

    def limit(self, job: str, minutes: int) -> None:
        """Give a job another walltime, of which what it has run is a part; while it changes its state, again."""

        def accepted() -> bool:
            done = subprocess.run(
                [*self.login, "scontrol", "update", f"jobid={job}", f"timelimit={minutes}"],
                env=os.environ | self.environment,
                capture_output=True,
            )
            return done.returncode == 0

        until(accepted)

    def _end_jobs(self) -> None:
        """Kill what jobs still run: a job goes on when the daemons of its node end."""
        scripts = [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(
                word.startswith(f"{self.folder}/spool-") for word in process.info["cmdline"] or []
            )
        ]
        for script in scripts:
            with contextlib.suppress(psutil.NoSuchProcess):
                for process in (script, *script.children(recursive=True)):
                    process.kill()

    def _start(self) -> None:
        folder, host = self.folder, socket.gethostname().partition(".")[0]
        folder.chmod(0o755)
        (folder / "state").mkdir()
        ports = free_ports(self.nodes + 1)
        nodes = []
        for number, port in enumerate(ports[1:], 1):
            (folder / f"spool-n{number}").mkdir()
            nodes.append(
                f"NodeName=n{number} NodeHostname={host} NodeAddr={self.node_address} Port={port} "
                f"CPUs={self.cores} RealMemory=4000 State=UNKNOWN"
            )
        config = CONFIG
        if self.limited:
            (folder / "cgroup.conf").write_text(CGROUP_CONFIG)
            for before, after in LIMITED.items():
                config = config.replace(before, after)
        (folder / "slurm.conf").write_text(
            config.format(
                host=host,
                address=self.login_address,
                port=ports[0],
                user=getpass.getuser(),
                folder=folder,
                nodes="\n".join(nodes),
            )
        )
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        # munged insists on folders that other users cannot write to, so not those below /tmp, unless forced.
        self._spawn(
            "munged",
            "--foreground",
            "--force",
            f"--socket={folder}/munge.socket",
            f"--key-file={key}",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/munge.seed",
        )
        until((folder / "munge.socket").exists)
        self._spawn(*self.login, "slurmctld", "-D", "-f", str(folder / "slurm.conf"))
        for number in range(1, self.nodes + 1):
            self._spawn(
                *self.node, "slurmd", "-D", "-N", f"n{number}", "-f", str(folder / "slurm.conf")
            )
        until(self._ready)

    def _spawn(self, *command: str) -> None:
        with open(self.folder / "daemons.out", "a") as output:
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=os.environ | self.environment,
                    stdout=output,
                    stderr=output,
                    stdin=subprocess.DEVNULL,
                )
            )

    def _ready(self) -> bool:
        done = subprocess.run(
            [*self.login, "sinfo", "-h", "-N", "-p", "work", "-o", "%T"],
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
        )
        return done.stdout.split() == ["idle"] * self.nodes


def _remove_groups() -> None:
    """Remove the groups that SLURM leaves, in which no process is any more; the innermost first."""
    for folder in sorted(GROUPS.glob("slurm*/**/"), reverse=True):
        with contextlib.suppress(OSError):  # another SLURM's, in which a process is
            folder.rmdir()


def free_ports(count: int) -> list[int]:
    """Free ports of loopback."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
