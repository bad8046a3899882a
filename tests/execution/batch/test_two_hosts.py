"""On a real SLURM whose login node and compute nodes are two hosts with interfaces of other names.

A third network, which the login node's default route takes, leads to no node and must not be used.
"""

import pytest

from tests.helpers.servers import hosts, slurm, waiting
from tests.helpers.servers.study import drive, unavailable

PROGRAM = "python"
LOOPBACK = "127.0.0.1"


@pytest.fixture(scope="module")
def both():
    if reason := slurm.missing() or hosts.missing():
        unavailable(reason)
    with hosts.two_hosts() as running:
        yield running


@pytest.fixture(scope="module")
def system(both):
    with slurm.Slurm(nodes=2, hosts=both) as running:
        yield running


def driver(system, both, study, **changes):
    """`cluster=slurm` on the login node."""
    changes = {"cluster.memory": "600MiB"} | changes
    return drive(system, study, "slurm", both.login.prefix, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"cluster.interface": "cluster0", "cluster.ports": "41000:41099", "cluster.cores": "2"},
    ],
    ids=["by itself", "named"],
)
def test_workers_join_over_the_network_of_the_cluster(system, both, study, changes):
    process = driver(system, both, study, replications="4000", **changes)
    study.reaches(4, waiting.runs(process))
    on_login, on_node = both.login.listening(PROGRAM), both.node.listening(PROGRAM)
    ports = both.login.ports(both.login.address, PROGRAM) | both.node.ports(
        both.node.address, PROGRAM
    )
    printed, errors = waiting.ended(process)
    assert process.returncode == 0, errors
    assert f"scheduler at tls://{both.login.address}:" in printed
    assert on_login == {both.login.address, LOOPBACK}, "the scheduler, and its dashboard"
    assert both.node.address in on_node <= {both.node.address, LOOPBACK}, (
        "nannies and workers, and their dashboards"
    )
    study.finish()
    if "cluster.ports" in changes:
        assert ports <= set(range(41000, 41100)), "what a firewall lets through"


def test_an_interface_that_leads_to_no_node_is_one_line(system, both, study):
    process = driver(system, both, study, **{"cluster.interface": "lo"})
    _, errors = waiting.ended(process)
    assert process.returncode == 2
    assert errors.splitlines() == [
        "error: cluster.interface=lo: is this machine's own and leads to no node; leave it out, and workers come to "
        f"{both.login.address}"
    ]
    assert not (study.where / "outputs").exists()
