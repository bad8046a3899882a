"""Workers that come and go while a sweep runs: all that there are have units, and the sealed bytes do not change."""

import dataclasses
import functools
import threading
import time

import distributed
import pytest

from pipeline.execution.clusters import Address
from pipeline.execution.runner import Runner
from pipeline.execution.sweep import Bundling, run
from pipeline.storage.replications import Store
from pipeline.workflow import reduce
from tests.helpers.engine import pending, sealed, stored, study

MANY = 8
STUDY = study(replications=160)  # 128 units: for every worker as many as are handed out at once


class Meeting:
    """Notes which workers had units after it was `called`; they are threads of this process.

    patience: seconds for which those that came wait for the others.
    """

    def __init__(self, patience=0.0):
        self.lock = threading.Lock()
        self.called = threading.Event()
        self.complete = threading.Event()
        self.patience = patience
        self.came = set()

    def attend(self):
        if not self.called.is_set():
            return
        with self.lock:
            self.came.add(threading.get_ident())
            if len(self.came) == MANY:
                self.complete.set()
        self.complete.wait(self.patience)


MEETING = Meeting()


def meet(runner, units):
    time.sleep(0.05)  # Dask moves nothing that takes less than 5 ms to a worker that is idle
    MEETING.attend()
    return runner(units)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return sealed(STUDY, tmp_path_factory.mktemp("alone"))


@pytest.fixture
def workers():
    """A scheduler without any worker; those that it gets are threads, which speak to it as processes do."""
    with distributed.LocalCluster(
        n_workers=0,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as started:
        yield started


def grow_and_shrink(workers, done):
    """One worker first; eight from its first unit on; two from when all eight have had one."""
    if not done:
        workers.scale(1)
    elif not MEETING.called.is_set():
        MEETING.called.set()
        workers.scale(MANY)
    elif MEETING.complete.is_set():
        workers.scale(2)


def adapt(workers, done):
    """As many as Dask thinks are needed for what waits, from none on."""
    if not done:
        MEETING.called.set()
        workers.adapt(minimum=0, maximum=MANY, interval="100ms")


# Dask wants as many workers as there is work for: units wait until all have come. Where the test says
# how many there are, none waits, as of units that run longer than twice their mean none is moved.
@pytest.mark.parametrize(
    "change, window, patience", [(grow_and_shrink, 2, 0.0), (adapt, None, 60.0)]
)
def test_every_worker_that_comes_has_units_and_the_bytes_are_the_same(
    change, window, patience, workers, expected, tmp_path, monkeypatch
):
    """A guest's bundles are for workers that have answered: eight workers have one each only if the
    sweep has seen that they are there.
    """
    monkeypatch.setitem(globals(), "MEETING", Meeting(patience))
    store = Store(STUDY, tmp_path)
    schedule, done = pending(STUDY, store), []

    def on_done(failed, *_):
        done.extend(failed)
        change(workers, len(done))

    with Address(workers.scheduler_address).open() as executor:
        if window is not None:
            executor = dataclasses.replace(executor, window=window)
        change(workers, 0)
        outcome = run(
            executor,
            functools.partial(meet, Runner(store, schedule.references)),
            iter(schedule),
            bundling=Bundling(seconds=1e-9),
            on_done=on_done,
        )
        assert (
            MEETING.complete.is_set()
            and outcome.workers == MANY
            and len(done) == outcome.units_done == 128
        )
        reduce.seal(stored(STUDY, tmp_path), executor)
    assert sealed(STUDY, tmp_path) == expected
