"""Sockets that listen, and whether they answer anybody."""

import socket
import ssl
from collections.abc import Iterable
from typing import Any

import psutil

TLS_ALERT = b"\x15"


def listening(process: psutil.Process) -> set[Any]:
    """Addresses at which a process listens; none if it has ended."""
    try:
        return {
            c.laddr for c in process.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN
        }
    except psutil.NoSuchProcess:  # or it has ended and nobody has waited for it
        return set()


def listeners(processes: Iterable[psutil.Process]) -> dict[Any, bool]:
    """Address -> whether it is locked, of every listening socket of these processes that is not closed meanwhile."""
    found = {}
    for process in processes:
        for address in listening(process):
            try:
                found[address] = locked(address)
            except ConnectionRefusedError:
                if address in listening(process):
                    raise
    return found


def locked(address: tuple[str, int]) -> bool:
    """Whether a server there speaks TLS and refuses whoever shows no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address[0], address[0])
    with socket.create_connection((host, address[1]), 5) as plain:
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        try:
            said = plain.recv(1)
        except OSError:
            said = b""
    if said not in (b"", TLS_ALERT):  # it talks to anybody
        return False
    with socket.create_connection((host, address[1]), 5) as plain:
        try:
            with context.wrap_socket(plain) as wrapped:
                wrapped.recv(1)  # with TLS 1.3 the refusal comes with the first answer
        except ssl.SSLError as error:
            return "CERTIFICATE_REQUIRED" in str(error).upper().replace(" ", "_")
        except OSError:
            return False
    return False
