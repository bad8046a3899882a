"""A scheduler that somebody else runs: used as it is, and refused in one line where it cannot be."""

import contextlib
import dataclasses
import functools
import http.server
import importlib.metadata
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import distributed
import pytest
from distributed.security import Security

from pipeline.__main__ import main
from pipeline.execution import task
from pipeline.execution.clusters import Address
from pipeline.execution.clusters.address import differs_from, facts
from pipeline.execution.errors import Unfit
from pipeline.execution.sweep import LostWorkers, SweepError, run
from pipeline.execution.task import TOPIC
from pipeline.problems.ranking.model import BTL
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import ROOT, arguments, command, environment, without_report
from tests.helpers.servers import waiting


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    security, folder = Security.temporary(), tmp_path_factory.mktemp("keys")
    for name, text in (("cert", security.tls_worker_cert), ("key", security.tls_worker_key)):
        (folder / name).write_text(text)
    return dict(ca=str(folder / "cert"), cert=str(folder / "cert"), key=str(folder / "key"))


@contextlib.contextmanager
def running(keys=None, path=None, workers=1):
    """A scheduler and one worker, as `dask scheduler` and `dask worker` start them, with code from `path`.

    Gives the address; with workers=0, (address, what starts a worker, with another `path` or more variables).
    """
    tls = (
        [
            f"--tls-{flag}={keys[name]}"
            for flag, name in (("ca-file", "ca"), ("cert", "cert"), ("key", "key"))
        ]
        if keys
        else []
    )
    where = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0", *tls]
    with contextlib.ExitStack() as stack:

        def start(*words, path=path, **variables):
            shell = (
                environment(**variables)
                if path is None
                else environment(**variables, PYTHONPATH=path)
            )
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                env=shell,
                cwd="/",
                text=True,
                stderr=subprocess.PIPE,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = start(
            "distributed.cli.dask_scheduler",
            "--port",
            "0",
            *(["--protocol", "tls"] if keys else []),
            *where,
        )
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)

        def join(path=path, **variables):
            start(
                "distributed.cli.dask_worker",
                address,
                "--no-nanny",
                "--nthreads",
                "2",
                *where,
                path=path,
                **variables,
            )

        if not workers:
            yield address, join
            return
        join()
        yield address


@pytest.fixture(scope="module")
def encrypted(keys):
    with running(keys) as address:
        yield Address(address, **keys)


def security(keys):
    return Security(
        require_encryption=True,
        tls_ca_file=keys["ca"],
        tls_client_cert=keys["cert"],
        tls_client_key=keys["key"],
    )


def changed_code(folder):
    """A copy of this package in a folder, one line of which differs."""
    shutil.copytree(
        ROOT / "pipeline", folder / "pipeline", ignore=shutil.ignore_patterns("__pycache__")
    )
    with open(folder / "pipeline/cli/exit_codes.py", "a") as source:
        source.write("# changed\n")


def without(package, folder):
    """Path of code in whose processes a package cannot be imported."""
    (folder / "without").mkdir()
    (folder / "without/sitecustomize.py").write_text(f"import sys; sys.modules['{package}'] = None")
    return f"{folder / 'without'}:{environment()['PYTHONPATH']}"


def wait_for_workers(cluster, count=1):
    """Wait by a client alone: to open the cluster reads all files of the program, in each process."""
    with contextlib.ExitStack() as stack:
        cluster._connect(stack).wait_for_workers(count, timeout=60)


def test_sweep_on_an_encrypted_scheduler(encrypted, capsys):
    wait_for_workers(encrypted)
    encrypted.check()
    seen = []
    with encrypted.open() as executor:
        assert executor.workers == 2 == sum(executor.alive().values())
        run(
            executor,
            sorted,
            ((unit, 1.0) for unit in range(50)),
            on_done=lambda results, *_: seen.extend(results),
        )
    assert sorted(seen) == list(range(50)) and capsys.readouterr().err == ""


def test_other_versions_are_refused(encrypted, monkeypatch):
    """This process pretends: the others are as installed."""
    wait_for_workers(encrypted)
    version = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "0.1" if name == "numpy" else version(name)
    )
    with (
        pytest.raises(InvalidInput, match=rf"runs numpy {version('numpy')}, this process 0.1"),
        encrypted.open(),
    ):
        pass


def test_other_code_is_refused_and_plain_tcp_warned_of(tmp_path, capsys):
    changed_code(tmp_path)
    with running(path=f"{tmp_path}:{ROOT}") as address:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1)
        words = arguments(tmp_path / "outputs", cluster="address", **{"cluster.address": address})
        assert main(words) == 2
        warning, error = capsys.readouterr().err.splitlines()
    assert warning.startswith(f"warning: {address} is not encrypted")
    assert (
        error.startswith(f"error: cluster.address={address}: worker tcp://")
        and "runs pipeline" in error
    )
    assert not (tmp_path / "outputs").exists()


def test_a_scheduler_without_this_package_is_one_line(tmp_path):
    with (
        running(path=without("pipeline", tmp_path)) as address,
        pytest.raises(
            InvalidInput, match="scheduler cannot load this package .*; install it there"
        ),
    ):
        Address(address).check()


def test_other_versions_are_one_line_without_the_table_of_dask(tmp_path):
    """Another lz4 stands for all that Dask compares; as a user has it, with warnings on the screen."""
    (tmp_path / "lz4-0.1.dist-info").mkdir()
    (tmp_path / "lz4-0.1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: lz4\nVersion: 0.1\n"
    )
    code = tmp_path / "code"
    changed_code(code)
    with running(path=f"{code}:{tmp_path}") as address:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1)
            assert client.get_versions()["scheduler"]["packages"]["lz4"] == "0.1"
        done = command(
            arguments(tmp_path / "outputs", cluster="address", **{"cluster.address": address})
        )
    warning, error = done.stderr.splitlines()
    assert (
        done.returncode == 2
        and "is not encrypted" in warning
        and "install the same everywhere" in error
    )


def test_what_is_no_scheduler_is_one_line_soon(monkeypatch):
    """A page, as a dashboard whose port was taken for the scheduler's; it answers, but never as Dask does."""
    monkeypatch.setattr("pipeline.execution.clusters.address.ANSWER", 1.0)
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(InvalidInput, match="no scheduler answers there"):
            Address(f"tcp://127.0.0.1:{server.server_port}").check()
        server.shutdown()


def pause(units):
    """Take 20 ms for each unit, and name the process."""
    time.sleep(0.02 * len(units))
    return [os.getpid() for _ in units]


def fit_if_allowed(units):
    """As a runner whose check fails in the workers with the variable UNFIT."""
    if "UNFIT" in os.environ:
        raise Unfit(f"sees no folder in process {os.getpid()}")
    return pause(units)


def pairs(count):
    return ((unit, 1.0) for unit in range(count))


def test_the_sweep_uses_workers_that_join_later(keys):
    with running(keys, workers=0) as (address, join):
        cluster, seen = Address(address, **keys), []
        join()
        wait_for_workers(cluster)
        with cluster.open() as executor:
            later = [threading.Timer(1.0, join), threading.Timer(1.0, join)]
            for timer in later:
                timer.start()
            outcome = run(
                executor,
                pause,
                endless(lambda: len(set(seen)) < 3),
                on_done=lambda pids, *_: seen.extend(pids),
            )
    assert executor.workers == 2 and outcome.workers == 6 and len(set(seen)) == 3


def endless(wanted):
    """Units as long as something is wanted, then those of two more seconds for six workers."""
    unit = 0
    while wanted() and unit < 10**6:
        yield unit, 1.0
        unit += 1
    for more in range(600):
        yield unit + more, 1.0


def test_a_scheduler_that_adapts_grows_from_no_worker():
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as workers:
        workers.adapt(minimum=0, maximum=3, interval="100ms")
        seen = []
        with Address(workers.scheduler_address, patience=600.0).open() as executor:
            assert executor.alive() == {} and executor.patience == 600.0
            outcome = run(
                executor,
                pause,
                endless(lambda: len(set(seen)) < 3),
                on_done=lambda pids, *_: seen.extend(pids),
            )
    assert outcome.workers == 3


def test_an_unfit_worker_is_left_alone_and_the_others_finish(keys):
    with running(keys, workers=0) as (address, join):
        cluster, seen, lines = Address(address, **keys), [], []
        join()
        join(UNFIT="1")
        wait_for_workers(cluster, 2)
        with cluster.open() as executor:
            outcome = run(
                executor,
                fit_if_allowed,
                pairs(200),
                on_done=lambda pids, *_: seen.extend(pids),
                lost_workers=LostWorkers(on_retired=lines.append),
            )
            assert (
                run(
                    executor,
                    fit_if_allowed,
                    pairs(20),
                    lost_workers=LostWorkers(on_retired=lines.append),
                ).units_done
                == 20
            )
            assert len(executor.alive()) == 2, "it may serve others"
    assert outcome.units_done == 200 == len(seen) and len(set(seen)) == 1 and outcome.lost == 0
    assert len(lines) == 1 and re.fullmatch(
        r"worker tls://\S+ is left alone: sees no folder in process \d+", lines[0]
    )


def test_if_every_worker_is_unfit_the_reason_is_the_error(keys):
    with running(keys, workers=0) as (address, join):
        cluster, lines = Address(address, **keys), []
        join(UNFIT="1")
        join(UNFIT="1")
        wait_for_workers(cluster, 2)
        with (
            cluster.open() as executor,
            pytest.raises(SweepError, match=r"^sees no folder in process \d+$"),
        ):
            run(
                executor,
                fit_if_allowed,
                pairs(200),
                lost_workers=LostWorkers(on_retired=lines.append),
            )
    assert len(lines) == 1


def test_a_worker_that_joins_later_is_compared_before_it_computes(keys):
    """No worker is there to be compared when the sweep begins; the one that comes then runs other code."""
    with running(keys, workers=0) as (address, join), Address(address, **keys).open() as executor:
        other = dataclasses.replace(
            executor, admit=functools.partial(differs_from, facts() | {"numpy": "0.1"})
        )
        threading.Timer(1.0, join).start()
        with pytest.raises(
            SweepError, match="runs numpy .*, this process 0.1; install the same everywhere"
        ):
            run(other, sorted, pairs(9))
        join()
        assert run(executor, sorted, pairs(9)).units_done == 9


def left(client, address):
    """What a sweep could leave behind: plugins and subscribers in the scheduler, runners in a worker."""

    def of_scheduler(dask_scheduler):
        subscribers = {
            name: topic.subscribers for name, topic in dask_scheduler._broker._topics.items()
        }
        return (
            sorted(dask_scheduler.worker_plugins),
            subscribers.get(TOPIC, set()),
            len(dask_scheduler.tasks),
        )

    def of_worker():
        return dict(task._RUNNERS), set(task._HALTED)

    return client.run_on_scheduler(of_scheduler), client.run(of_worker, workers=[address])[address]


def test_workers_of_other_code_or_without_it_are_left_alone_and_nothing_is_left_behind(
    keys, tmp_path
):
    """They serve others on meanwhile, and one without this package can join before, during and after the sweep."""
    changed, lines = tmp_path / "changed", []
    changed_code(changed)
    bare = without("pipeline", tmp_path)
    with (
        running(keys, workers=0) as (address, join),
        distributed.Client(address, security=security(keys), set_as_default=False) as client,
    ):
        cluster = Address(address, **keys)
        join()
        client.wait_for_workers(1)
        (fit,) = client.nthreads()
        before = client.run_on_scheduler(
            lambda dask_scheduler: sorted(dask_scheduler.worker_plugins)
        )
        join(path=f"{changed}:{ROOT}")
        join(path=bare)
        client.wait_for_workers(3)
        with cluster.open() as executor:
            assert executor.workers == 2, "of the one that is fit"
            threading.Timer(0.5, join, [bare]).start()
            assert (
                run(
                    executor, pause, pairs(200), lost_workers=LostWorkers(on_retired=lines.append)
                ).units_done
                == 200
            )
            client.wait_for_workers(4)
            assert (
                run(
                    executor, sorted, pairs(9), lost_workers=LostWorkers(on_retired=lines.append)
                ).units_done
                == 9
            )
        waiting.until(lambda: left(client, fit) == ((before, set(), 0), ({}, set())))
        join(path=bare)
        client.wait_for_workers(5)
        served = [
            client.submit(os.getpid, workers=[worker], pure=False) for worker in client.nthreads()
        ]
        assert len(set(client.gather(served))) == 5
    assert (
        all("is left alone: " in line for line in lines)
        and sum("runs pipeline" in line for line in lines) == 1
    )
    bare_ones = sum(
        "is left alone: cannot load this package (ModuleNotFoundError: " in line for line in lines
    )
    assert 1 <= bare_ones <= 2, "the sweep may end before the one that joins meanwhile is seen"


def test_a_worker_that_cannot_load_the_runner_is_left_alone(keys, tmp_path):
    """As one without a module of the person's own."""
    with running(keys, workers=0) as (address, join):
        cluster, lines = Address(address, **keys), []
        join()
        join(path=without(__name__, tmp_path))
        wait_for_workers(cluster, 2)
        with cluster.open() as executor:
            assert (
                run(
                    executor, pause, pairs(50), lost_workers=LostWorkers(on_retired=lines.append)
                ).units_done
                == 50
            )
            assert len(executor.alive()) == 2
    assert len(lines) == 1 and "cannot load the runner" in lines[0]


def test_a_restricted_bundle_does_not_wait_for_a_worker_that_is_gone(keys, tmp_path):
    """Of two fit workers one ends in an orderly way, so that Dask moves what it had; a third is unfit."""
    with (
        running(keys, workers=0) as (address, join),
        distributed.Client(address, security=security(keys), set_as_default=False) as client,
    ):
        join()
        join(UNFIT="1")
        client.wait_for_workers(2)
        with Address(address, **keys).open() as executor:
            pids = set()

            def one_goes(results, *_):
                if not pids:
                    (first,) = [
                        worker for worker, pid in client.run(os.getpid).items() if pid in results
                    ]
                    join()
                    client.wait_for_workers(3)
                    client.retire_workers([first], close_workers=True)
                pids.update(results)

            lines = []
            outcome = run(
                executor,
                fit_if_allowed,
                pairs(300),
                on_done=one_goes,
                lost_workers=LostWorkers(on_retired=lines.append),
            )
    assert outcome.units_done == 300 and len(pids) == 2 and len(lines) == 1


OTHER = """
from pipeline.problems.ranking.model import BTL
original = BTL.truth
BTL.truth = lambda self, rng, *more: rng.random() and original(self, rng, *more)
from pipeline.execution import runner
here = runner.environment
runner.environment = lambda: here() | {"CPU features": "OTHER"}
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
        return main(
            arguments(
                tmp_path / "outputs",
                cluster="address",
                replications=str(replications),
                **{"cluster.address": address},
                **{f"cluster.{name}": keys[name] for name in keys},
            )
        )

    with running(keys) as address:
        wait_for_workers(Address(address, **keys))
        assert go_on(address, 40) == 0
        with monkeypatch.context() as patch:
            patch.setattr(
                BTL, "truth", lambda self, rng, *more: rng.random() and original(self, rng, *more)
            )
            assert go_on(address, 80) == 0
    with running(keys, path=other) as address:
        wait_for_workers(Address(address, **keys))
        assert go_on(address, 120) == 1
    (error,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert f"numbers come out differently on {socket.gethostname()}: " in error


def test_of_two_kinds_of_workers_one_is_left_alone(keys, other, tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    with running(keys, workers=0) as (address, join):
        join()
        join(path=other)
        wait_for_workers(Address(address, **keys), 2)
        words = arguments(
            tmp_path / "outputs",
            cluster="address",
            block="2",
            **{"cluster.address": address},
            **{f"cluster.{name}": path for name, path in keys.items()},
        )
        assert main(words) == 0
    error = capsys.readouterr().err
    assert (
        f"numbers come out differently on {socket.gethostname()}: " in error
        and "Traceback" not in error
    )
    assert "error: " not in error


def test_no_scheduler_there_is_one_line_soon(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pipeline.execution.clusters.address.ANSWER", 1.0)
    words = arguments(tmp_path, cluster="address", **{"cluster.address": "tcp://127.0.0.1:9"})
    assert main(words) == 2
    assert "no scheduler answers there" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "field, values",
    [
        ("address", dict(address="host:8786")),
        ("address", dict(address="http://host:1")),
        ("address", dict(address="tcp://host:0")),
        ("address", dict(address="tls://host:65536")),
        ("ca", dict(address="tls://host:1")),
        ("key", dict(address="tcp://host:1", key="x")),
        ("patience", dict(address="tcp://host:1", patience=0.0)),
    ],
)
def test_what_cannot_be_an_address_is_named(field, values):
    with pytest.raises(InvalidInput, match=f"^{field}="):
        Address(**values)
