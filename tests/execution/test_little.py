"""A study of little work starts no workers, unless they were asked for."""

import contextlib
import math
import re

import pytest

from pipeline.__main__ import main
from pipeline.execution.clusters import Executor, Local, Synchronous, Threads
from pipeline.execution.clusters.local import STARTING
from pipeline.execution.workers import Processes
from pipeline.identity import registry
from pipeline.storage.folder import Folder
from pipeline.study.machine import processors
from tests.helpers.engine import arguments, contents, without_report

HERE = "no workers, computing in this process"


@pytest.fixture
def opened(monkeypatch):
    """Which local clusters a command opens; they compute in this process."""
    found = []

    @contextlib.contextmanager
    def open_it(cluster, work):
        found.append(cluster)
        work()
        yield Executor(description="its workers")

    monkeypatch.setattr(Local, "open_while", open_it)
    monkeypatch.setattr(
        "pipeline.workflow.simulate.registrations", lambda: registry.Registered((), ())
    )  # by other tests
    without_report(monkeypatch)
    return found


def sealed(folder):
    (results,) = folder.rglob("results.zarr")
    return contents(results)


def test_work_is_little_while_workers_would_start_for_longer():
    most = STARTING / (1 - 1 / max(processors(), 2))
    assert Local().needless(0.99 * most) and not Local().needless(1.01 * most)
    assert not any(
        one.needless(0)
        for one in (Local(workers=2), Local(memory="1GiB"), Threads(), Synchronous())
    )


def test_little_work_opens_no_cluster_and_gives_the_same_bytes(tmp_path, capsys, opened):
    assert main(arguments(tmp_path / "local", cluster="local")) == 0
    assert (
        re.search(rf"\nabout [\d.]+ \S+ of work: {HERE}\n", capsys.readouterr().out) and not opened
    )
    assert main([*arguments(tmp_path / "asked", cluster="local"), "cluster.workers=2"]) == 0
    assert HERE not in capsys.readouterr().out and len(opened) == 1
    assert sealed(tmp_path / "local") == sealed(tmp_path / "asked")


@pytest.mark.parametrize("how", ["little", "much", "memory", "tried"])
def test_the_first_units_are_made_here_while_workers_start(tmp_path, monkeypatch, how):
    """Those with which others are compared; not if they take long, in a worker's memory, or ended a process before."""
    join, made = Processes.join, []
    monkeypatch.setattr(
        Processes, "join", lambda *own: (made.extend(tmp_path.rglob("units/*/*")), join(*own))
    )
    if how == "much":
        monkeypatch.setattr("pipeline.workflow.simulate.STARTING", 1e-9)
    if how == "tried":
        monkeypatch.setattr(
            "pipeline.workflow.simulate.agreement.tries", lambda store: [("one", 1)]
        )
    without_report(monkeypatch)
    more = ["cluster.memory=1GiB"] if how == "memory" else []
    assert main([*arguments(tmp_path, cluster="local"), "cluster.workers=2", *more]) == 0
    assert bool(made) == (how == "little")


def test_work_that_was_misjudged_goes_on_with_workers(tmp_path, capsys, monkeypatch, opened):
    monkeypatch.setattr("pipeline.workflow.simulate.MISJUDGED", -math.inf)
    assert main(arguments(tmp_path, cluster="local")) == 0
    out = capsys.readouterr().out
    assert out.index(HERE) < out.index("its workers") and len(opened) == 1


def test_code_that_was_added_here_has_a_process_of_its_own(tmp_path, monkeypatch, opened):
    monkeypatch.setattr(
        "pipeline.workflow.simulate.registrations", lambda: registry.Registered((), ("anything",))
    )
    assert main(arguments(tmp_path, cluster="local")) == 0
    assert len(opened) == 1


@pytest.mark.parametrize(
    "workers", [[], ["cluster.workers=2"]], ids=["here", "while workers start"]
)
def test_a_file_that_this_process_is_writing_is_nobody_elses_to_remove(
    tmp_path, monkeypatch, opened, workers
):
    """Another process, which would remove it, finds nothing left over while this one writes units or what they need."""
    put, seen = Folder.put, {}
    monkeypatch.setattr("pipeline.storage.replications.PACKED_FROM", 1)

    def watched(self, key, content):
        if key.startswith("replications/"):
            half = (self.path / key).with_name("half.partial")
            half.parent.mkdir(parents=True, exist_ok=True)
            half.write_bytes(b"half")
            seen.setdefault(key.split("/")[1], []).extend(
                Folder(self.path).left_over("replications")
            )
            half.unlink()
        put(self, key, content)

    monkeypatch.setattr(Folder, "put", watched)
    assert main([*arguments(tmp_path, cluster="local"), *workers]) == 0
    assert seen == {
        "study.json": [],
        "units": [],
        "trying": [],
        "agreed": [],
        "in_work": [],
        "packs": [],
    }
