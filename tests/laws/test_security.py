"""Nobody gets in beyond loopback without a key, keys are private and short-lived, and a config runs no code."""

import os
import re
import shutil
import sys
import time

import distributed
import psutil
import pytest
from distributed.security import Security

from pipeline.__main__ import main
from pipeline.cli import compose
from pipeline.execution.clusters import Local, Synchronous, Threads
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.sweep import run
from pipeline.execution.systems.lsf import LSF
from pipeline.execution.systems.pbs import PBS
from pipeline.execution.systems.sge import SGE
from pipeline.execution.systems.slurm import Slurm
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import ROOT, arguments
from tests.helpers.servers.sockets import listeners, locked


def pause(units):
    time.sleep(0.01 * len(units))
    return units


def family():
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def shown(process):
    """What everybody on the machine may read of a process: nothing once it has ended."""
    try:
        return *process.cmdline(), *process.environ().values()
    except psutil.NoSuchProcess:
        return ()


@pytest.mark.parametrize(
    "cluster, keyed",
    [(Local(workers=2), 3), (Threads(workers=2), 0), (Synchronous(), 0)],
    ids=["local", "threads", "synchronous"],
)
def test_every_socket_is_locked_or_on_loopback(cluster, keyed):
    """Scheduler and workers ask for a certificate even on loopback; dashboards show, and run nothing."""
    before = listeners(family())
    with cluster.open() as executor:
        run(executor, pause, ((unit, 1.0) for unit in range(20)))
        found = {
            address: lock for address, lock in listeners(family()).items() if address not in before
        }
        assert sum(found.values()) == keyed
        assert {address.ip for address, lock in found.items() if not lock} <= {"127.0.0.1"}
        seen = [text for process in family() for text in shown(process)]
        assert seen
        assert not any("PRIVATE KEY" in text for text in seen)


def test_an_open_socket_is_found():
    """The negative control: Dask as it comes."""
    with distributed.LocalCluster(
        n_workers=0, host="0.0.0.0", dashboard_address="127.0.0.1:0"
    ) as cluster:
        port = int(cluster.scheduler_address.rpartition(":")[2])
        found = {address.port: (address.ip, lock) for address, lock in listeners(family()).items()}
        assert found[port] == ("0.0.0.0", False)
    with distributed.LocalCluster(
        n_workers=0,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        protocol="tls://",
        security=Security.temporary(),
    ) as cluster:
        assert locked(("127.0.0.1", int(cluster.scheduler_address.rpartition(":")[2])))


@pytest.mark.parametrize("kind", [Slurm, PBS, LSF, SGE])
def test_keys_are_private_and_removed_also_on_error(kind, tmp_path, monkeypatch):
    cluster, seen = BatchWorkers(kind(folder=str(tmp_path / "shared"), interface="lo")), []

    def refuse(self):
        seen.extend(
            (path, path.stat().st_mode & 0o777)
            for path in (self.folder, *self.folder.glob("*.pem"))
        )
        raise RuntimeError("anything may go wrong")

    monkeypatch.setattr("pipeline.execution.clusters.jobs.Jobs.submit", refuse)
    host = re.sub(r"\W", "_", os.uname().nodename)
    stale = tmp_path / "shared" / f"keys-{host}-999999999-x"
    stale.mkdir(parents=True)
    before = os.umask(0)
    try:
        with pytest.raises(RuntimeError, match="anything"), cluster.open():
            pass
    finally:
        os.umask(before)
    assert [mode for _, mode in seen] == [0o700, 0o600, 0o600]
    assert not any(path.exists() for path, _ in seen) and not stale.exists()


@pytest.mark.parametrize(
    "word",
    [
        "+parameters._target_=os.system",
        "+_target_=os.system",
        "+cluster._target_=subprocess.Popen",
        "parameters.model=os:system",
        "parameters.model=os.system",
        "parameters.model=pipeline.problems.ranking.model:BTL",
        "parameters.estimator=../../x",
        "claims=os",
        "claims=this",
        "metrics=[this]",
        "metrics=['os:system']",
        "+derive.epsilon=this:x",
        "coordinates=[builtins.exec]",
        "cluster=this",
        "cluster.kind=this",
        "experiment=../../x",
        "parameters.mechanism=${oc.env:HOME}",
        "outputs='${oc.env:HOME}/x'",
        "name='${oc.decode:this}'",
        "name=../../x",
        "grid.m=['!!python/object/apply:os.system [touch {}]']",
        "grid.m=!!python/name:os.system",
        "parameters.model=!!python/module:this",
        "hydra.run.dir=/x",
        "+hydra.callbacks.x._target_=os.system",
        "hydra/launcher=this",
        "--config-dir=/x",
        "+experiment@hydra=x",
    ],
)
def test_no_word_runs_code(word, tmp_path, capsys):
    marker = tmp_path / "ran"
    words = [
        w for w in arguments(tmp_path / "outputs") if w.partition("=")[0] != word.partition("=")[0]
    ]
    assert main([*words, word.replace("{}", str(marker))]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and said.startswith("error: "), said
    assert not marker.exists() and "this" not in sys.modules and not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    "line",
    [
        "title: !!python/object/apply:os.system ['touch {}']",
        "title: !!python/object/new:os.system ['touch {}']",
        "title: !!python/name:os.system",
        "title: !!python/module:this",
        "title: ${oc.env:HOME}",
        "parameters: {model: {_target_: os.system, command: 'touch {}'}}",
    ],
)
def test_no_config_file_runs_code(line, tmp_path, monkeypatch, capsys):
    marker, root = tmp_path / "ran", tmp_path / "conf"
    shutil.copytree(ROOT / "conf", root)
    source = root / "experiment" / "xu" / "lemmas.yaml"
    key = line.partition(":")[0]
    kept = re.sub(rf"(?ms)^{key}:.*?(?=^\w|\Z)", "", source.read_text())
    source.write_text(kept + "\n" + line.replace("{}", str(marker)) + "\n")
    monkeypatch.setattr(compose, "folder", lambda: root)
    assert main(["experiment=xu/lemmas", "task=plan", f"outputs={tmp_path}/outputs"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and said.startswith("error: "), said
    assert not marker.exists() and "this" not in sys.modules


@pytest.mark.parametrize(
    "field, value",
    [
        ("queue", "a\nrm -rf x"),
        ("queue", "a; rm x"),
        ("queue", "$(rm x)"),
        ("queue", "-x"),
        ("account", "`rm x`"),
        ("account", ""),
        ("interface", "lo --preload x.py"),
        ("directives", "--a\nrm -rf x"),
        ("directives", "-S /x/python"),
        ("directives", "--wrap=x"),
        ("directives", "rm x"),
        ("directives", "--comment=$(rm x)"),
        ("directives", "-C x"),
        ("folder", "a\nrm"),
        ("folder", "/x y"),
        ("folder", "/x;y"),
    ],
)
def test_nothing_gets_into_a_job_script(field, value):
    with pytest.raises(InvalidInput, match=field):
        Slurm(**{field: value})
