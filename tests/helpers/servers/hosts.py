"""Two hosts on this machine: network namespaces that share the disk, a login node and compute nodes.

The cluster's network has another interface name on each host. The login node's default route goes to a third network,
the campus, which leads to no node and which nothing may use.
"""

import contextlib
import functools
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.helpers.servers import packages

CLUSTER = {"login": "10.77.0.1", "node": "10.77.0.2"}
CAMPUS = "10.88.0.1"


@functools.cache
def missing() -> str | None:
    """Install what is not there; None if network namespaces can be made, else why not."""
    if os.geteuid():
        return "network namespaces need root"
    if reason := packages.missing(("ip",), ("iproute2",)):
        return reason
    probe = f"probe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode:
        return f"ip netns add: {made.stderr.strip()}"
    _ip("netns", "delete", probe)
    return None


@dataclass(frozen=True)
class Host:
    """One host: the name of its namespace, and its address on the cluster's network."""

    namespace: str
    address: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """What comes before a command to run it there.

        Not `ip netns exec`, which also mounts another /sys, in which SLURM finds no control groups.
        """
        return ("nsenter", f"--net=/run/netns/{self.namespace}")

    def listening(self, program: str) -> set[str]:
        """Addresses, without ports, at which processes of this program listen on this host."""
        return {address for address, _ in self._sockets(program)}

    def ports(self, address: str, program: str) -> set[int]:
        """Ports of an address at which processes of this program listen on this host."""
        return {port for at, port in self._sockets(program) if at == address}

    def _sockets(self, program: str) -> set[tuple[str, int]]:
        command = [
            *self.prefix,
            "ss",
            "--tcp",
            "--listening",
            "--numeric",
            "--no-header",
            "--processes",
        ]
        lines = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        local = [line.split()[3].rpartition(":") for line in lines if f'"{program}' in line]
        return {(address, int(port)) for address, _, port in local}


@dataclass(frozen=True)
class Hosts:
    """The login node, and the host of all compute nodes."""

    login: Host
    node: Host


@contextlib.contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Make both hosts and their networks, and remove them on leaving."""
    number = os.getpid()
    login, node, campus = (f"{role}-{number}" for role in ("login", "node", "campus"))
    names = (login, node, campus)
    try:
        for name in names:
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _cable((login, "cluster0", CLUSTER["login"]), (node, "ib0", CLUSTER["node"]))
        _cable((login, "campus0", CAMPUS), (campus, "eth0", "10.88.0.254"))
        _ip("-n", login, "route", "add", "default", "via", "10.88.0.254")
        yield Hosts(Host(login, CLUSTER["login"]), Host(node, CLUSTER["node"]))
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


def _cable(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    """A network between two hosts, each given as namespace, interface and address."""
    (host, interface, address), (other_host, other_interface, other_address) = first, second
    _ip(
        "-n",
        host,
        "link",
        "add",
        interface,
        "type",
        "veth",
        "peer",
        "name",
        other_interface,
        "netns",
        other_host,
    )
    for end, name, number in (
        (host, interface, address),
        (other_host, other_interface, other_address),
    ):
        _ip("-n", end, "address", "add", f"{number}/24", "dev", name)
        _ip("-n", end, "link", "set", name, "up")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
