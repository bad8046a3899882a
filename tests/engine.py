"""What the tests of the engine share: a small real study, and a sweep from empty folder to sealed dataset."""

import functools
import os
import subprocess
import sys
from pathlib import Path

from pipeline import seal, sweep
from pipeline.clusters import Executor
from pipeline.config import read_experiment
from pipeline.store import Store
from pipeline.work import Agenda, Work

ROOT = Path(__file__).resolve().parent.parent
GRID = {"m": [3, 5], "L": [20, 50], "epsilon": [0.5, 2.0], "estimator": ["debiased", "plug_in"]}


def mapping(**changes):
    """Config of a small private ranking study: 16 cells, 3 blocks, units of a few milliseconds."""
    return dict(
        name="laws/small", seed=11, replications=60, block=20, grid=GRID, derive={},
        parameters=dict(model="btl", mechanism="randomized_response", draw="conditional"),
        metrics=["error_l2", "kendall", "sandwich_risk"],
    ) | changes


def study(**changes):
    """The small study itself."""
    return read_experiment(mapping(**changes)).study


def pending(what, store):
    """Units to do, after preparing the store."""
    rows = store.prepare(what)
    return Agenda(what, rows, store.done(what, rows))


def advance(what, folder, executor=None, order=None, **options):
    """Sweep what is missing; `order` rearranges the units. Returns the agenda and the outcome."""
    store = Store(folder)
    agenda = pending(what, store)
    units = order(list(agenda)) if order else iter(agenda)
    outcome = sweep.run(executor or Executor(), Work(what, store), units, total_cost=agenda.cost, **options)
    return agenda, outcome


def sealed(what, folder, executor=None, order=None, **options):
    """Bytes of every file of results.zarr after sweeping what is missing."""
    agenda, _ = advance(what, folder, executor, order, **options)
    seal.seal(Store(folder), what, agenda.rows, {"title": "small"})
    return contents(Path(folder) / "results.zarr")


def contents(folder):
    """Relative name -> bytes of every file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


def stamps(folder, pattern="*"):
    """Relative name -> (inode, time of last change): equal only if nobody wrote the file again."""
    return {str(p.relative_to(folder)): (p.stat().st_ino, p.stat().st_mtime_ns)
            for p in sorted(Path(folder).rglob(pattern)) if p.is_file()}


def arguments(where, **changes):
    """Command-line words of a tiny real study under a folder, without claims and figures."""
    words = {"experiment": "xu/lemmas", "claims": "null", "figures": "[]", "cluster": "synchronous",
             "grid.m": "[3,4]", "grid.L": "[20]", "grid.epsilon": "[0.5,1]", "replications": "40", "block": "20",
             "outputs": str(where)} | changes
    return [f"{name}={value}" for name, value in words.items()]


def without_report(monkeypatch):
    """Let `task=run` end with an empty page: where the report is not the subject."""
    def write(where, *_):
        path = where / "report.html"
        path.write_text("")
        return path, []

    monkeypatch.setattr("pipeline.present.write", write)


def environment(**changes):
    """Environment of a user's shell in which this checkout and the tests can be imported."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | changes


def command(words, **options):
    """Run `python -m pipeline` to its end, as a user has it."""
    options = dict(cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120) | options
    return subprocess.run([sys.executable, "-m", "pipeline", *words], **options)


@functools.cache
def has_report():
    """Whether the report's modules are there; they are written separately."""
    return (ROOT / "pipeline/report/page.py").exists() and (ROOT / "pipeline/claims/claim.py").exists()
