"""A real S3 server on loopback: Ceph's gateway over one monitor and one object daemon in memory, from Debian.

python -m tests.helpers.servers.radosgw COMMAND…    runs a command with the server in its environment
"""

import contextlib
import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path

from tests.helpers.servers import packages

PACKAGES = ("ceph-mon", "ceph-osd", "radosgw")
PROGRAMS = (
    "ceph-mon",
    "ceph-osd",
    "radosgw",
    "radosgw-admin",
    "ceph",
    "ceph-authtool",
    "monmaptool",
)
CONFIG = """
[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{mon}/0
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
auth_allow_insecure_global_id_reclaim = false
keyring = {folder}/keyring
run_dir = {folder}
log_file = {folder}/$name.log
admin_socket = {folder}/$name.asok
crash_dir = {folder}
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
mon_data = {folder}/mon
mon_data_avail_crit = 1
osd_data = {folder}/osd
osd_objectstore = memstore
memstore_device_bytes = 2147483648
ms_initial_backoff = 0.05
mon_client_hunt_interval = 0.5
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
rgw_frontends = beast endpoint=127.0.0.1:{port} tcp_nodelay=1
rgw_data = {folder}/rgw
rgw_run_sync_thread = false
rgw_enable_usage_log = false
"""  # without tcp_nodelay every request waits 40 ms


class Unavailable(Exception):
    """The server cannot be had on this machine; says why."""


def free_port():
    """A free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Cluster:
    """Daemons in a folder; `environment` is what a client needs of the environment, with one user's keys."""

    def __init__(self, folder):
        self.folder, self.port, self.running = Path(folder), free_port(), []
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "default",
            "AWS_ACCESS_KEY_ID": secrets.token_hex(10),
            "AWS_SECRET_ACCESS_KEY": secrets.token_hex(20),
        }

    def call(self, program, *words):
        """Output of one of Ceph's programs; raises Unavailable if it fails."""
        done = subprocess.run(
            [program, "-c", str(self.folder / "ceph.conf"), *words],
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode:
            raise Unavailable(f"{program} {' '.join(words[:4])}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def daemon(self, program, *words):
        """Start a daemon, which ends with this process at the latest."""
        with open(self.folder / f"{program}.out", "wb") as out:
            self.running.append(
                subprocess.Popen(
                    [program, "-f", "-c", str(self.folder / "ceph.conf"), *words],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    preexec_fn=_die_with_parent,
                    start_new_session=True,
                )
            )

    def start(self):
        """From nothing to a gateway that answers."""
        for name in ("mon", "osd", "rgw"):
            (self.folder / name).mkdir()
        fsid, osd, ring, port = (
            str(uuid.uuid4()),
            str(uuid.uuid4()),
            str(self.folder / "keyring"),
            free_port(),
        )
        (self.folder / "ceph.conf").write_text(
            CONFIG.format(fsid=fsid, folder=self.folder, port=self.port, mon=port)
        )
        everything = [
            "--cap",
            "mon",
            "allow *",
            "--cap",
            "osd",
            "allow *",
            "--cap",
            "mgr",
            "allow *",
        ]
        for create, name in (("--create-keyring", "mon."), ("", "client.admin"), ("", "osd.0")):
            self.call(
                "ceph-authtool", *filter(None, [create]), ring, "--gen-key", "-n", name, *everything
            )
        monmap = str(self.folder / "monmap")
        self.call(
            "monmaptool",
            "--create",
            "--addv",
            "a",
            f"[v2:127.0.0.1:{port}]",
            "--fsid",
            fsid,
            monmap,
        )
        self.call("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", ring)
        self.daemon("ceph-mon", "-i", "a")
        self.call("ceph", "--connect-timeout", "30", "osd", "new", osd, "0")
        self.call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.daemon("ceph-osd", "-i", "0")
        keys = self.environment
        self.call(
            "radosgw-admin",
            "user",
            "create",
            "--uid=tests",
            "--display-name=tests",
            f"--access-key={keys['AWS_ACCESS_KEY_ID']}",
            f"--secret={keys['AWS_SECRET_ACCESS_KEY']}",
        )
        self.daemon("radosgw", "-n", "client.admin")
        self._wait()

    def _wait(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(daemon.poll() is not None for daemon in self.running):
                raise Unavailable("a daemon ended: " + self.words())
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(
                    self.environment["AWS_ENDPOINT_URL"], timeout=5
                ).close()
            time.sleep(0.05)
        raise Unavailable(f"no answer in {seconds} s: " + self.words())

    def words(self):
        """Last words of the daemons."""
        return "; ".join(p.read_text(errors="replace")[-200:] for p in self.folder.glob("*.out"))

    def stop(self):
        """Kill the daemons, each by its own process id."""
        for daemon in self.running:
            daemon.kill()
            daemon.wait()


@contextlib.contextmanager
def radosgw():
    """A running server: its `environment`. Raises Unavailable where it cannot be had."""
    if reason := packages.missing(PROGRAMS, PACKAGES):
        raise Unavailable(reason)
    with tempfile.TemporaryDirectory(prefix="radosgw-") as folder:
        cluster = Cluster(folder)
        try:
            cluster.start()
            yield cluster.environment
        finally:
            cluster.stop()


if __name__ == "__main__":
    with radosgw() as added:
        sys.exit(subprocess.run(sys.argv[1:], env=os.environ | added).returncode)
