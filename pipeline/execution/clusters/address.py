"""A Dask scheduler that already runs, started by somebody else."""

import contextlib
import functools
import hashlib
import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pipeline.execution import notices
from pipeline.execution.clusters.executor import Cluster, Executor, quiet
from pipeline.study.files import read_regular
from pipeline.study.parameters import Checked, InvalidInput, parameter, path_of, shorten

if TYPE_CHECKING:
    import distributed

ANSWER = 8.0  # seconds that a scheduler may take to answer
# Versions that the scheduler must share; the workers share all of `facts`.
COMPARED = ("python", "dask", "distributed")
PACKAGES = ("dask", "distributed", "numpy", "scipy", "zarr")
# Field of an address -> what Dask calls it.
OPTIONS_OF_TLS = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
# Bundles handed out for each worker. An adaptive scheduler, `cluster.adapt()`, starts workers until
# all that waits would be done within 5 s; with fewer bundles, of a second each, it would never
# start another.
WINDOW = 12


@dataclass(frozen=True)
class Address(Cluster, Checked):
    """A running scheduler and the workers that it has, now and later.

    All must see the study's folder.
    """

    elsewhere: ClassVar[bool] = True
    address: str = parameter("address of the scheduler, as tls://host:8786")
    ca: str | None = parameter("with tls: certificate of the authority", default=None)
    cert: str | None = parameter("with tls: certificate of this client", default=None)
    key: str | None = parameter("with tls: private key of this client", default=None)
    patience: float = parameter(
        "give up after so long without any worker", unit="s", default=45.0, above=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        port = re.fullmatch(r"(?:tcp|tls)://\S+:(\d{1,5})", self.address)
        if not port or not 0 < int(port[1]) < 2**16:
            raise InvalidInput(
                "address", self.address, "must be tls://host:port, or tcp://host:port"
            )
        for name, path in self._files.items():
            if self._encrypted and (path is None or not _is_readable(path_of(path, name))):
                raise InvalidInput(name, path, "must be a readable PEM file, tls:// needs it")
            if not self._encrypted and path is not None:
                raise InvalidInput(name, path, "can be combined with tls:// only")

    def check(self) -> None:
        """Connect once, so that no folder is created if no scheduler answers.

        Warn if it is not encrypted.
        """
        if not self._encrypted:
            notices.warn(
                f"{self.address} is not encrypted: whoever reaches it can run code as you; use "
                "tls://"
            )
        with self.open():
            pass

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Connect. Workers that run other versions than this process are left alone by sweeps.

        Raises InvalidInput if no scheduler answers, or if the scheduler or every worker runs other
        versions.
        """
        with quiet(), contextlib.ExitStack() as stack:
            yield join(self._connect(stack), self.address, self.patience)

    @property
    def _encrypted(self) -> bool:
        return self.address.startswith("tls:")

    @property
    def _files(self) -> dict[str, str | None]:
        """Field -> the PEM file that it names."""
        return {"ca": self.ca, "cert": self.cert, "key": self.key}

    def _security(self) -> "distributed.Security":
        """The `distributed.Security` with which to connect."""
        from distributed.security import Security

        files = {
            OPTIONS_OF_TLS[name]: str(path_of(path, name))
            for name, path in self._files.items()
            if path
        }
        if not files:
            return Security()
        return Security(require_encryption=True, **files)

    def _connect(self, stack: contextlib.ExitStack) -> "distributed.Client":
        """A client; InvalidInput where no scheduler answers."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        import distributed

        security = self._security()
        try:
            # In a notebook this thread has an event loop already.
            with ThreadPoolExecutor(1) as aside:
                greeting = asyncio.wait_for(_greet(self.address, security), ANSWER + 1)
                aside.submit(asyncio.run, greeting).result()
            # Other versions are reported by this module, in one line.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
                client = distributed.Client(
                    self.address, timeout=ANSWER, set_as_default=False, security=security
                )
            return stack.enter_context(client)
        except Exception as error:  # also errors of TLS, as of a wrong certificate
            cause = shorten(_cause(error), 120)
            raise _invalid(self.address, f"no scheduler answers there ({cause})") from None


@dataclass(frozen=True)
class Connected(Cluster):
    """The cluster of a `distributed.Client` that a person has; it stays open.

    All workers must see the study's folder.

    Raises InvalidInput for what is no such client, or one that is asynchronous or closed.
    """

    elsewhere: ClassVar[bool] = True
    client: Any

    def __post_init__(self) -> None:
        import distributed

        if not isinstance(self.client, distributed.Client):
            allowed = (
                "must be the name of a cluster, a mapping with its kind and fields, or a "
                "distributed.Client"
            )
            raise InvalidInput("cluster", self.client, allowed)
        if self.client.asynchronous or self.client.status != "running":
            allowed = "must be a client that is open and not asynchronous"
            raise InvalidInput("cluster", self.client, allowed)

    @contextlib.contextmanager
    def open(self) -> Iterator[Executor]:
        """Use the client as it is; see `join`."""
        with quiet():
            yield join(self.client, self.client.scheduler.address)


def join(client: "distributed.Client", address: str, patience: float | None = None) -> Executor:
    """The cluster of a client.

    Workers that run other versions than this process are left alone by its sweeps.

    patience: seconds without any worker after which a sweep gives up; None: its own default.

    Raises InvalidInput if the scheduler or every worker runs other versions.
    """
    _compare_scheduler(client, address)
    different = _different(client, address)
    alike = [threads for worker, threads in client.nthreads().items() if worker not in different]
    description = (
        f"scheduler at {address}, {len(alike)} workers of {sum(alike)} threads, dashboard at "
        f"{client.dashboard_link}"
    )
    return Executor(
        client,
        max(sum(alike), 1),
        lambda: _threads(client),
        window=WINDOW,
        patience=patience,
        guest=True,
        admit=functools.partial(differs_from, facts()),
        description=description,
    )


def _compare_scheduler(client: "distributed.Client", address: str) -> None:
    mine = facts()
    packages = client.get_versions()["scheduler"]["packages"]
    theirs = packages | {"python": ".".join(re.findall(r"\d+", packages["python"])[:3])}
    difference = _difference(theirs, {name: mine[name] for name in COMPARED})
    if difference:
        raise _invalid(address, f"scheduler {difference}")
    try:
        client.run_on_scheduler(facts)  # it loads each task before it hands it to a worker
    except Exception as error:
        raise _invalid(address, f"scheduler {_cannot_load(error)}") from None


def _different(client: "distributed.Client", address: str) -> dict[str, str]:
    """Workers that run other versions than this process, with what differs.

    InvalidInput if all do.
    """
    mine = facts()
    reasons: dict[str, str] = {}
    for worker, theirs in client.run(facts, on_error="return").items():
        if not isinstance(theirs, dict):
            reasons[worker] = _cannot_load(theirs)
            continue
        difference = _difference(theirs, mine)
        if difference:
            reasons[worker] = difference
    if reasons and len(reasons) == len(client.nthreads()):
        worker, reason = next(iter(reasons.items()))
        raise _invalid(address, f"worker {worker} {reason}")
    return reasons


def _cannot_load(error: object) -> str:
    return f"cannot load this package ({shorten(error, 100)}); install it there"


def _is_readable(path: Path) -> bool:
    """Whether a path is a file that can be read, and no folder, pipe or device."""
    return os.path.isfile(path) and os.access(path, os.R_OK)


def _invalid(address: str, message: str) -> InvalidInput:
    return InvalidInput("cluster.address", address, message)


def facts() -> dict[str, str]:
    """Versions that numbers depend on, and a digest of the code of this package."""
    from importlib.metadata import version

    code = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]  # the folder `pipeline`
    for path in sorted(root.rglob("*.py")):
        code.update(str(path.relative_to(root)).encode() + b"\0" + read_regular(path))
    return {
        "python": "{}.{}.{}".format(*sys.version_info),
        **{name: version(name) for name in PACKAGES},
        "pipeline": code.hexdigest()[:8],
    }


def differs_from(client: dict[str, str]) -> str | None:
    """In a worker: why it must not compute, if its facts are not those of the client."""
    difference = _difference(facts(), client)
    return difference and f"{socket.gethostname()} {difference}"


def _difference(theirs: Mapping[str, Any], mine: Mapping[str, str]) -> str | None:
    for name in mine:
        if theirs.get(name) != mine[name]:
            return (
                f"runs {name} {theirs.get(name)}, this process {mine[name]}; install the same "
                "everywhere"
            )
    return None


async def _greet(address: str, security: "distributed.Security") -> None:
    """Exchange one message with a scheduler.

    A client would wait for ever if the address is no scheduler's but, say, a dashboard's.
    """
    from distributed.comm import connect

    comm = await connect(address, timeout=ANSWER, **security.get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        await comm.read()
    finally:
        comm.abort()


def _threads(client: "distributed.Client") -> dict[str, int]:
    """Threads of every worker; none if the scheduler is gone."""
    if client.status != "running":
        return {}
    try:
        return dict(client.nthreads())
    except Exception:
        return {}


def _cause(error: BaseException) -> str:
    import asyncio

    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, asyncio.CancelledError | TimeoutError):
        return f"nothing within {ANSWER:g} s"
    name = type(error).__name__
    if not str(error):
        return name
    return f"{name}: {error}"
