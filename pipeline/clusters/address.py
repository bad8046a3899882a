"""A Dask scheduler that somebody else runs."""

import asyncio
import contextlib
import functools
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.clusters.executor import Cluster, Executor, quiet
from pipeline.parameters import InvalidInput, parameter, shorten

ANSWER = 8.0  # seconds that a scheduler may take to answer
CHECKED = ("python", "dask", "distributed", "numpy", "scipy", "zarr")


@dataclass(frozen=True)
class Address(Cluster):
    """A running scheduler and the workers that it has; the study's folder must be visible to all of them."""

    address: str | None = parameter("address of the scheduler, as tls://host:8786", default=None)
    ca: str | None = parameter("with tls: certificate of the authority", default=None)
    cert: str | None = parameter("with tls: certificate of this client", default=None)
    key: str | None = parameter("with tls: private key of this client", default=None)

    def __post_init__(self):
        port = re.fullmatch(r"(?:tcp|tls)://\S+:(\d{1,5})", self.address or "")
        if not port or not 0 < int(port[1]) < 2**16:
            raise InvalidInput("address", self.address, "must be tls://host:port, or tcp://host:port")
        for name in ("ca", "cert", "key"):
            path = getattr(self, name)
            if self.address.startswith("tls:") and (path is None or not os.access(Path(path).expanduser(), os.R_OK)):
                raise InvalidInput(name, path, "must be a readable PEM file, tls:// needs it")
            if self.address.startswith("tcp:") and path is not None:
                raise InvalidInput(name, path, "goes with tls:// only")

    def check(self) -> None:
        """Connect once, so that nothing is created where nobody answers; warn of what is not encrypted."""
        if self.address.startswith("tcp:"):
            print(f"warning: {self.address} is not encrypted: whoever reaches it can run code as you; use tls://",
                  file=sys.stderr)
        with self.open():
            pass

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Connect; InvalidInput if nobody answers, or runs other versions than this process."""
        import distributed
        from distributed.security import Security

        files = {f"tls_{name}": str(Path(path).expanduser()) for name, path in
                 (("ca_file", self.ca), ("client_cert", self.cert), ("client_key", self.key)) if path}
        security = Security(require_encryption=True, **files) if files else Security()
        with quiet(), contextlib.ExitStack() as stack:
            try:
                asyncio.run(asyncio.wait_for(_greet(self.address, security), ANSWER + 1))
                with warnings.catch_warnings():  # other versions are told below, in one line
                    warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
                    client = stack.enter_context(distributed.Client(
                        self.address, timeout=ANSWER, set_as_default=False, security=security))
            except Exception as error:  # also what TLS says of a wrong certificate
                raise InvalidInput("cluster.address", self.address,
                                   f"no scheduler answers there ({shorten(_cause(error), 120)})") from None
            _compare(client, self.address)
            threads = client.nthreads()
            yield Executor(client, max(sum(threads.values()), 1), 1, lambda: _slots(client), description=(
                f"scheduler at {self.address}, {len(threads)} workers of {sum(threads.values())} threads, "
                f"dashboard at {client.dashboard_link}"), admit=functools.partial(other_than, facts()), elsewhere=True)


async def _greet(address: str, security: Any) -> None:
    """Exchange one message: what listens there but is no scheduler, as a dashboard, hangs a Client for ever."""
    from distributed.comm import connect

    comm = await connect(address, timeout=ANSWER, **security.get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        await comm.read()
    finally:
        comm.abort()


def facts(_worker: Any = None) -> dict[str, str]:
    """Versions that numbers depend on, and a digest of this package's own code."""
    from importlib.metadata import version

    code, root = hashlib.sha256(), Path(__file__).resolve().parent.parent
    for path in sorted(root.rglob("*.py")):
        code.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    found = {name: version(name) for name in CHECKED[1:]}
    return {"python": "{}.{}.{}".format(*sys.version_info), **found, "pipeline": code.hexdigest()[:8]}


def other_than(mine: dict[str, str]) -> str | None:
    """In a worker, which may join at any time: why it must not compute, if it is not as the client is."""
    theirs = facts()
    other = next((name for name in mine if theirs.get(name) != mine[name]), None)
    return other and f"runs {other} {theirs.get(other)}, the client {mine[other]}; install the same everywhere"


def _compare(client: Any, address: str) -> None:
    """Raise InvalidInput where the scheduler or a worker runs other versions than this process."""
    mine = facts()
    theirs = client.get_versions()  # does not need this package over there, so it comes first
    for who, said in (("scheduler", theirs["scheduler"]), *theirs["workers"].items()):
        for name in ("python", "dask", "distributed", *(("numpy",) if who != "scheduler" else ())):
            other = ((said or {}).get("packages") or {}).get(name)
            if name == "python" and other:
                other = ".".join(re.findall(r"\d+", other)[:3])
            _agree(address, who, name, mine[name], other)
    for who, said in client.run(facts, on_error="return").items():
        if not isinstance(said, dict):
            raise InvalidInput("cluster.address", address, f"worker {who} cannot load this package "
                               f"({shorten(said, 100)}); install it there")
        for name in mine:
            _agree(address, who, name, mine[name], said.get(name))


def _agree(address: str, who: str, name: str, mine: str, other: Any) -> None:
    if other != mine:
        raise InvalidInput("cluster.address", address,
                           f"{who} runs {name} {other}, this process {mine}; install the same everywhere")


def _slots(client: Any) -> set[str]:
    """One name for every thread of every worker; none if the scheduler is gone."""
    try:
        threads = client.nthreads() if client.status == "running" else {}
    except Exception:
        return set()
    return {f"{worker} {number}" for worker, count in threads.items() for number in range(count)}


def _cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, asyncio.CancelledError | TimeoutError):
        return f"nothing within {ANSWER:g} s"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
