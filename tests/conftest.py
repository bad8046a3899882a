"""No deadline for a property's example, on machines that others use too; and the table of injected faults.

The table is made from the reports of the tests that counted, which may have run in other processes.
"""

import functools
import gc
import os
import sys

# As the command and its workers have it, before anything loads NumPy: BLAS with a thread for every
# core takes a sixth more processor time, and several processes of tests share the cores anyway.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from pipeline.execution import trials
from pipeline.identity import registry
from tests.helpers import composing, rewriting, shared
from tools import build_kernels

COLUMNS = ("planned", "injected", "survived", "identical")
COUNTED: dict[str, list[int]] = {}
LONGEST = (  # modules of more than 45 s, the longest first
    "tests/laws/test_number_knows_its_code.py",
    "tests/execution/batch/test_slurm.py",
    "tests/laws/test_until.py",
    "tests/faults/test_object_storage_faults.py",
    "tests/execution/test_address.py",
    "tests/faults/test_kills.py",
    "tests/laws/test_code_from_elsewhere.py",
    "tests/execution/batch/test_gridengine.py",
    "tests/execution/batch/test_two_hosts.py",
    "tests/faults/test_sweep_faults.py",
    "tests/laws/test_extending.py",
    "tests/laws/test_workflows.py",
    "tests/laws/test_every_file_damaged.py",
    "tests/laws/test_determinism.py",
)

# What another process makes of a trial follows from the trial and the seed of its hashes alone:
# many tests run one study in several ways, and each of these would start such a process again.
trials._in_another_process = functools.cache(trials._in_another_process)
composing.remember()

settings.register_profile("shared", deadline=None)
settings.register_profile(
    "repeatable", deadline=None, derandomize=True
)  # of seeded faults: the same examples again
settings.load_profile("shared")


@pytest.fixture(autouse=True, scope="session")
def what_processes_share(request, tmp_path_factory):
    """Each process of pytest-xdist has its folder of temporary files in that of the run."""
    if hasattr(request.config, "workerinput"):
        shared.folder = tmp_path_factory.getbasetemp().parent


@pytest.fixture(autouse=True, scope="module")
def nothing_registered_is_left_by_a_module():
    """What fixtures of a module register, and files that they execute, are forgotten at its end."""
    with registry.registered():
        yield


@pytest.fixture(autouse=True)
def nothing_registered_is_left_by_a_test():
    """The same of a test."""
    with registry.registered():
        yield


def pytest_xdist_auto_num_workers(config):
    """One process more than there are cores, as many tests wait for servers; at most four."""
    return min(len(os.sched_getaffinity(0)) + 1, 4)


def pytest_collection_modifyitems(config, items):
    """Begin with the longest modules: each is run by one process, so that a late one would leave cores idle."""
    places = {str(config.rootpath / name): place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(str(item.path), len(places)))


def pytest_collection(session):
    """Search nothing for garbage while 13,000 tests are made, which stay: a third of that time.

    What only starts others, by pytest-xdist, makes none.
    """
    is_worker = hasattr(session.config, "workerinput")
    if is_worker or not session.config.getoption("numprocesses", None):
        gc.disable()


def pytest_collection_finish():
    """Nor search later in what is there by now, for as long as tests run: a twelfth of theirs."""
    gc.freeze()
    gc.enable()


def pytest_sessionstart(session):
    """Kernels are tested as they are written now; a worker counts as running pytest, as the main process does.

    A worker of pytest-xdist has no script. The program would take it for a notebook, whose code may have changed the
    program's, and what a test replaces would count as code.
    """
    if hasattr(session.config, "workerinput"):
        sys.modules["__main__"].__file__ = pytest.__file__
        return
    build_kernels.build_all()
    if session.config.getoption("numprocesses", None):
        rewriting.rewrite_all(session.config)


def pytest_runtest_logreport(report):
    for name, value in report.user_properties if report.when == "teardown" else ():
        if name == "fault":
            kind, *counts = value
            COUNTED[kind] = [
                a + b for a, b in zip(COUNTED.get(kind, [0] * len(COLUMNS)), counts, strict=True)
            ]


def pytest_terminal_summary(terminalreporter):
    if COUNTED:
        terminalreporter.section("faults")
        terminalreporter.write_line(f"{'kind':54}" + "".join(f"{name:>10}" for name in COLUMNS))
    for kind, counts in COUNTED.items():
        terminalreporter.write_line(f"{kind:54}" + "".join(f"{count:>10,}" for count in counts))
