"""On which of this machine's addresses other machines can reach it.

As a program, `python -m pipeline.execution.clusters.route HOST` prints the address of the network
that leads to a host: a job's workers listen there and nowhere else.
"""

import socket
import sys
from collections import Counter
from collections.abc import Iterable

DISCARD = 9  # a port; no packet is ever sent to it
MOST_HOSTS = 200  # that are looked up: a site may have thousands, and its name server may be slow


def address_towards(hosts: Iterable[str]) -> str | None:
    """This machine's address on the network that leads to most of these hosts.

    None if none of them can be resolved.

    Nothing is sent: connecting a datagram socket asks the operating system for the route only.

    >>> address_towards(["127.0.0.1"])
    '127.0.0.1'
    >>> address_towards([]) is None
    True
    """
    some_hosts = list(dict.fromkeys(hosts))[:MOST_HOSTS]
    addresses = [_source_address(host) for host in some_hosts]
    votes = Counter(address for address in addresses if address is not None)
    if not votes:
        return None
    return votes.most_common(1)[0][0]


def default_address() -> str:
    """This machine's address on the network of its default route."""
    from distributed.utils import get_ip

    return str(get_ip())


def free_port(ports: Iterable[int]) -> int | None:
    """The first of these ports at which nobody listens on this machine; None if there is none."""
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    return None


def _source_address(host: str) -> str | None:
    """The address that packets to a host come from; None where its name or the route is unknown."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, DISCARD))
            return str(probe.getsockname()[0])
    except OSError:
        return None


if __name__ == "__main__":
    print(address_towards(sys.argv[1:]) or default_address())
