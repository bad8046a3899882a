"""A real Grid Engine on loopback: qmaster and one execution host, from Debian's packages, in a folder of its own."""

import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psutil

from tests.helpers.servers import packages
from tests.helpers.servers.slurm import free_ports
from tests.helpers.servers.waiting import PATIENCE, until

PACKAGES = ("gridengine-master", "gridengine-exec", "gridengine-client")
SHARED = Path("/usr/share/gridengine")
BOOTSTRAP = """\
admin_user              none
default_domain          none
ignore_fqdn             false
spooling_method         berkeleydb
spooling_lib            libspoolb
spooling_params         {folder}/spooldb
binary_path             /usr/sbin
qmaster_spool_dir       {folder}/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
"""
QUEUE = """\
qname                 all.q
hostlist              {host}
slots                 4
load_thresholds       NONE
pe_list               smp
shell                 /bin/bash
shell_start_mode      posix_compliant
rerun                 TRUE
"""
ENVIRONMENT = """\
pe_name            smp
slots              8
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    $pe_slots
control_slaves     FALSE
job_is_first_task  TRUE
urgency_slots      min
accounting_summary FALSE
qsort_args         NONE
"""
SCHEDULER = """\
schedule_interval  0:0:1
flush_submit_sec   1
flush_finish_sec   1
"""


@functools.cache
def missing() -> str | None:
    """Install what is not there; None if all is, else why it cannot be had."""
    if os.geteuid():
        return "its daemons need root"
    return packages.missing(("sge_qmaster", "sge_execd", "qsub"), PACKAGES)


class GridEngine:
    """A running Grid Engine; use as a context manager, which starts it and ends its processes by their numbers."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gridengine-"))
        self.folder.chmod(0o755)
        master, execution = free_ports(2)
        self.environment = {
            "SGE_ROOT": str(self.folder / "root"),
            "SGE_CELL": "default",
            "SGE_QMASTER_PORT": str(master),
            "SGE_EXECD_PORT": str(execution),
            "SGE_CLUSTER_NAME": "tests",
        }
        self.running: list[psutil.Process] = []

    def __enter__(self) -> "GridEngine":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for process in reversed(self.running):
            for one in (*process.children(recursive=True), process) if process.is_running() else ():
                one.send_signal(signal.SIGKILL)
        psutil.wait_procs(self.running, 10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, *command: str, **options) -> str:
        """Output of one of its commands, which must succeed."""
        environment = os.environ | self.environment | options.pop("env", {})
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE, **options
        )
        assert done.returncode == 0, f"{command}: {done.stderr} {done.stdout}"
        return done.stdout.strip()

    def jobs(self) -> dict[str, str]:
        """Number of every unfinished job -> its state: qw, hqw, r, Rr, t …; of an array, of its last task."""
        lines = self.call("qstat", "-u", "*").splitlines()[2:]
        return {line.split()[0]: line.split()[4] for line in lines}

    def wait(self, job: str) -> None:
        """Wait until a job, or all tasks of an array, have ended."""
        until(lambda: job not in self.jobs(), pause=0.2)

    def _start(self) -> None:
        root, host = self.folder / "root", socket.gethostname()
        common = root / "default" / "common"
        common.mkdir(parents=True)
        for name in ("bin", "lib", "utilbin", "util"):
            (root / name).symlink_to(Path("/var/lib/gridengine") / name)
        (common / "bootstrap").write_text(BOOTSTRAP.format(folder=self.folder))
        (common / "act_qmaster").write_text(host + "\n")
        # Here the host's name, localhost and what resolves to them are one host.
        (common / "host_aliases").write_text(f"{host} localhost\n")
        for name in ("spooldb", "qmaster", "execd"):
            (self.folder / name).mkdir()
        settings = (SHARED / "default-configuration").read_text()
        changes = {
            "execd_spool_dir": f"{self.folder}/execd",
            "min_uid": "0",
            "min_gid": "0",
            "load_report_time": "00:00:01",
        }  # else a job that is queued again waits for two reports, 80 s
        for name, value in changes.items():
            settings, count = re.subn(rf"(?m)^({name}\s+)\S+$", rf"\g<1>{value}", settings)
            assert count == 1, name
        (self.folder / "configuration").write_text(settings)
        tools = "/usr/lib/gridengine"
        self.call(f"{tools}/spoolinit", "berkeleydb", "libspoolb", f"{self.folder}/spooldb", "init")
        resources = SHARED / "util" / "resources"
        for kind, source in (
            ("configuration", self.folder / "configuration"),
            ("complexes", resources / "centry"),
            ("usersets", resources / "usersets"),
            ("managers", "root"),
        ):
            self.call(f"{tools}/spooldefaults", kind, str(source))
        self._daemon("sge_qmaster")
        until(lambda: self._answers("qconf", "-sh"))
        self.call("qconf", "-as", host)
        self.call("qconf", "-ah", host) if host not in self.call("qconf", "-sh") else None
        self._daemon("sge_execd")
        for option, text in (
            ("-Ap", ENVIRONMENT),
            ("-Aq", self._changed("-sq", QUEUE.format(host=host))),
            ("-Msconf", self._changed("-ssconf", SCHEDULER)),
        ):
            path = self.folder / option.lstrip("-")
            path.write_text(text)
            self.call("qconf", option, str(path))
        until(
            lambda: (
                f"all.q@{host}" in self.call("qstat", "-f")
                and " au" not in self.call("qstat", "-f")
            )
        )

    def _changed(self, option: str, text: str) -> str:
        """What `qconf` shows, with our lines in place of its own."""
        ours = {line.split()[0]: line for line in text.splitlines()}
        template = self.call("qconf", option).splitlines()
        return "\n".join(ours.get(line.split()[0], line) for line in template) + "\n"

    def _answers(self, *command: str) -> bool:
        environment = os.environ | self.environment
        return subprocess.run(command, env=environment, capture_output=True).returncode == 0

    def _daemon(self, name: str) -> None:
        environment = os.environ | self.environment | {"SGE_ND": "1"}  # in the foreground
        self.running.append(
            psutil.Popen(
                [name],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
