"""What the tests of the engine share: a small real study, and a sweep from empty folder to sealed dataset."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.execution import sweep
from pipeline.execution.clusters import Executor, Synchronous
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.storage.integrity import Integrity
from pipeline.storage.replications import Store
from pipeline.storage.results import SEALED, SUMMARY, place
from pipeline.workflow import reduce
from pipeline.workflow.config import read_experiment
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

ROOT = Path(__file__).resolve().parents[2]
GRID = {"m": [3, 5], "L": [20, 50], "epsilon": [0.5, 2.0], "estimator": ["debiased", "plug_in"]}


def mapping(**changes):
    """Config of a small private ranking study: 16 cells, 3 blocks, units of a few milliseconds."""
    return (
        dict(
            name="laws/small",
            problem="ranking",
            seed=11,
            replications=60,
            block=20,
            grid=GRID,
            derive={},
            parameters=dict(model="btl", mechanism="randomized_response", draw="conditional"),
            metrics=["error_l2", "kendall", "sandwich_risk"],
        )
        | changes
    )


def study(**changes):
    """The small study itself."""
    return read_experiment(mapping(**changes)).study


def stored(what, folder):
    """The study with its storage, as the command's tasks have it."""
    text = Text(title="small")
    return StoredStudy(Experiment(what, text), Store(what, folder), {})


def damages_of(store):
    """All that is wrong with the stored replications."""
    integrity = Integrity(store)
    return [*integrity.strays(), *filter(None, map(integrity.check_file, integrity.files()))]


def pending(what, store):
    """Units to do, after creating what is missing of the store."""
    store.begin()
    return Schedule(what, store.listing())


def advance(what, folder, executor=None, order=None, **options):
    """Sweep what is missing; `order` rearranges the units. Returns the schedule and the outcome."""
    store = Store(what, folder)
    schedule = pending(what, store)
    units = order(list(schedule)) if order else iter(schedule)
    runner = Runner(store, schedule.references)
    options.setdefault("bundling", sweep.Bundling(total_cost=schedule.cost))
    outcome = sweep.run(executor or Executor(), runner, units, **options)
    return schedule, outcome


def sealed(what, folder, executor=None, order=None, **options):
    """Bytes of every file of results.zarr and summary.zarr after sweeping what is missing."""
    advance(what, folder, executor, order, **options)
    reduce.seal(stored(what, folder), executor or Executor())
    where = Path(folder) / place(Store(what, folder))
    parts = {part: contents(where / part) for part in (SEALED, SUMMARY)}
    return {
        f"{part}/{name}": content
        for part, files in parts.items()
        for name, content in files.items()
    }


def contents(folder):
    """Relative name -> bytes of every file below a folder."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(Path(folder).rglob("*"))
        if p.is_file()
    }


def stamps(folder, pattern="*"):
    """Relative name -> (inode, time of last change): equal only if nobody wrote the file again."""
    return {
        str(p.relative_to(folder)): (p.stat().st_ino, p.stat().st_mtime_ns)
        for p in sorted(Path(folder).rglob(pattern))
        if p.is_file()
    }


def arguments(where, **changes):
    """Command-line words of a tiny real study under a folder, without claims and figures."""
    words = {
        "experiment": "xu/lemmas",
        "claims": "false",
        "figures": "[]",
        "cluster": "synchronous",
        "grid.m": "[3,4]",
        "grid.L": "[20]",
        "grid.epsilon": "[0.5,1]",
        "replications": "40",
        "block": "20",
        "outputs": str(where),
    } | changes
    return [f"{name}={value}" for name, value in words.items()]


def started(cluster, executor):
    """The same cluster, whose workers are started already: no round starts them anew."""

    class Started(type(cluster)):
        @contextlib.contextmanager
        def open_while(self, work):
            work()
            yield executor

    return Started(**vars(cluster))


def job_of(studies, cluster=None, **settings):
    """A job to which nobody listens."""
    words = Invocation(("test",))
    return Job(tuple(studies), Settings(**settings), cluster or Synchronous(), words)


def without_report(monkeypatch):
    """Let `task=run` end with an empty page: where the report is not the subject."""
    monkeypatch.setattr("pipeline.workflow.reports.write", empty_report)


def empty_report(where, *_, turn, **__):
    """What `reports.write` does, without anything on the page."""
    path = where / "report.html"
    with turn:
        path.write_text("")
    return path, []


def copy_program(site, *left_out):
    """Copy the package into a folder, with its compiled bytecode: each process would compile it."""
    ignored = shutil.ignore_patterns(*left_out)
    return Path(shutil.copytree(ROOT / "pipeline", Path(site) / "pipeline", ignore=ignored))


def environment(**changes):
    """Environment of a user's shell in which this checkout and the tests can be imported."""
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | changes


def command(words, **options):
    """Run `python -m pipeline` to its end, as a user has it."""
    options = (
        dict(cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=900) | options
    )
    return subprocess.run([sys.executable, "-m", "pipeline", *words], **options)
