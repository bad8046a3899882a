"""A scheduler that somebody else runs: used as it is, and refused in one line where it cannot be."""

import contextlib
import dataclasses
import functools
import http.server
import importlib.metadata
import shutil
import socket
import subprocess
import sys
import threading
import time

import distributed
import pytest
from distributed.security import Security
from engine import ROOT, arguments, command, environment, without_report

from pipeline.__main__ import main
from pipeline.clusters import Address
from pipeline.clusters.address import facts, other_than
from pipeline.models.btl import BTL
from pipeline.parameters import InvalidInput
from pipeline.sweep import SweepError, run


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    security, folder = Security.temporary(), tmp_path_factory.mktemp("keys")
    for name, text in (("cert", security.tls_worker_cert), ("key", security.tls_worker_key)):
        (folder / name).write_text(text)
    return dict(ca=str(folder / "cert"), cert=str(folder / "cert"), key=str(folder / "key"))


@contextlib.contextmanager
def running(keys=None, path=None, workers=1):
    """A scheduler and one worker, as `dask scheduler` and `dask worker` start them, with code from `path`.

    Gives the address; with workers=0, (address, what starts a worker, perhaps with another `path`).
    """
    tls = [f"--tls-{flag}={keys[name]}" for flag, name in (("ca-file", "ca"), ("cert", "cert"), ("key", "key"))
           ] if keys else []
    where = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0", *tls]
    with contextlib.ExitStack() as stack:
        def start(*words, path=path):
            shell = environment(**({"PYTHONPATH": path} if path else {}))
            process = subprocess.Popen([sys.executable, "-m", *words], env=shell, cwd="/", text=True,
                                       stderr=subprocess.PIPE)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = start("distributed.cli.dask_scheduler", "--port", "0",
                          *(["--protocol", "tls"] if keys else []), *where)
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)

        def join(path=path):
            start("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "2", *where, path=path)

        if not workers:
            yield address, join
            return
        join()
        yield address


@pytest.fixture(scope="module")
def encrypted(keys):
    with running(keys) as address:
        yield Address(address, **keys)


def wait_for_workers(cluster, count=1):
    end = time.monotonic() + 60
    while True:
        with cluster.open() as executor:
            if len(executor.alive()) >= 2 * count:
                return
        assert time.monotonic() < end
        time.sleep(0.1)


def test_sweep_on_an_encrypted_scheduler(encrypted, capsys):
    wait_for_workers(encrypted)
    encrypted.check()
    seen = []
    with encrypted.open() as executor:
        assert executor.workers == 2 == len(executor.alive())
        run(executor, sorted, ((unit, 1.0) for unit in range(50)), on_done=lambda results, *_: seen.extend(results))
    assert sorted(seen) == list(range(50)) and capsys.readouterr().err == ""


def test_other_versions_are_refused(encrypted, monkeypatch):
    """This process pretends: the others are as installed."""
    wait_for_workers(encrypted)
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.1" if name == "numpy" else version(name))
    with pytest.raises(InvalidInput, match=rf"runs numpy {version('numpy')}, this process 0.1"), encrypted.open():
        pass


def test_other_code_is_refused_and_plain_tcp_warned_of(tmp_path, capsys):
    shutil.copytree(ROOT / "pipeline", tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    with open(tmp_path / "pipeline" / "codes.py", "a") as source:
        source.write("# changed\n")
    tests = str(ROOT / "tests")
    with running(path=f"{tmp_path}:{tests}") as address:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1)
        words = arguments(tmp_path / "outputs", cluster="address", **{"cluster.address": address})
        assert main(words) == 2
        warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith(f"warning: {address} is not encrypted")
    assert error.startswith(f"error: cluster.address={address}: tcp://") and "runs pipeline" in error
    assert not (tmp_path / "outputs").exists()


def test_other_versions_are_one_line_without_the_table_of_dask(tmp_path):
    """Another lz4 stands for all that Dask compares; as a user has it, with warnings on the screen."""
    (tmp_path / "lz4-0.1.dist-info").mkdir()
    (tmp_path / "lz4-0.1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: lz4\nVersion: 0.1\n")
    code = tmp_path / "code"
    shutil.copytree(ROOT / "pipeline", code / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    (code / "pipeline/codes.py").write_text((code / "pipeline/codes.py").read_text() + "# changed\n")
    with running(path=f"{code}:{tmp_path}") as address:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1)
            assert client.get_versions()["scheduler"]["packages"]["lz4"] == "0.1"
        done = command(arguments(tmp_path / "outputs", cluster="address", **{"cluster.address": address}))
    warning, error = done.stderr.splitlines()
    assert done.returncode == 2 and "is not encrypted" in warning and "install the same everywhere" in error


def test_what_is_no_scheduler_is_one_line_soon(monkeypatch):
    """A page, as a dashboard whose port was taken for the scheduler's; it answers, but never as Dask does."""
    monkeypatch.setattr("pipeline.clusters.address.ANSWER", 1.0)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(InvalidInput, match="no scheduler answers there"):
            Address(f"tcp://127.0.0.1:{server.server_port}").check()
        server.shutdown()


def test_a_worker_that_joins_later_is_asked_before_it_computes(keys):
    """Nobody is there to be compared when the sweep begins; who comes then runs other code."""
    with running(keys, workers=0) as (address, join), Address(address, **keys).open() as executor:
        other = dataclasses.replace(executor, admit=functools.partial(other_than, facts() | {"numpy": "0.1"}))
        for cluster, error in ((other, "runs numpy .*, the client 0.1; install the same everywhere"), (executor, None)):
            sweep = threading.Timer(1.0, join) if error else threading.Timer(0, int)
            sweep.start()
            units = ((unit, 1.0) for unit in range(9))
            with pytest.raises(SweepError, match=error) if error else contextlib.nullcontext():
                assert run(cluster, sorted, units).units_done == 9


OTHER = """
from pipeline.models.btl import BTL
original = BTL.truth
BTL.truth = lambda self, rng, *more: rng.random() and original(self, rng, *more)
"""


@pytest.fixture
def other(tmp_path):
    """Path of code that makes other numbers, as another type of CPU does."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/sitecustomize.py").write_text(OTHER)
    return f"{tmp_path / 'other'}:{environment()['PYTHONPATH']}"


def test_numbers_are_compared_where_they_are_made(keys, other, tmp_path, monkeypatch, capsys):
    """A study goes on from a login node of another type, on workers like those that began it, and on no others."""
    without_report(monkeypatch)
    original = BTL.truth

    def go_on(address, replications):
        return main(arguments(tmp_path / "outputs", cluster="address", replications=str(replications),
                              **{"cluster.address": address}, **{f"cluster.{name}": keys[name] for name in keys}))

    with running(keys) as address:
        wait_for_workers(Address(address, **keys))
        assert go_on(address, 40) == 0
        with monkeypatch.context() as patch:
            patch.setattr(BTL, "truth", lambda self, rng, *more: rng.random() and original(self, rng, *more))
            assert go_on(address, 80) == 0
    with running(keys, path=other) as address:
        wait_for_workers(Address(address, **keys))
        assert go_on(address, 120) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: outputs=") and f"comes out differently on {socket.gethostname()} (" in error


def test_a_study_is_not_begun_on_two_kinds_of_workers(keys, other, tmp_path, capsys):
    with running(keys, workers=0) as (address, join):
        join()
        join(path=other)
        wait_for_workers(Address(address, **keys), 2)
        words = arguments(tmp_path / "outputs", cluster="address", block="2", **{"cluster.address": address},
                          **{f"cluster.{name}": path for name, path in keys.items()})
        assert main(words) == 2
    error = capsys.readouterr().err
    assert f"comes out differently on {socket.gethostname()} (" in error and "Traceback" not in error


def test_nobody_there_is_one_line_soon(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pipeline.clusters.address.ANSWER", 1.0)
    words = arguments(tmp_path, cluster="address", **{"cluster.address": "tcp://127.0.0.1:9"})
    assert main(words) == 2
    assert "no scheduler answers there" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("field, values", [
    ("address", dict(address=None)), ("address", dict(address="host:8786")), ("address", dict(address="http://host:1")),
    ("address", dict(address="tcp://host:0")), ("address", dict(address="tls://host:65536")),
    ("ca", dict(address="tls://host:1")), ("key", dict(address="tcp://host:1", key="x")),
])
def test_what_cannot_be_an_address_is_named(field, values):
    with pytest.raises(InvalidInput, match=f"^{field}="):
        Address(**values)
