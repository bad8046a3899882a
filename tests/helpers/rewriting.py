"""Assertions of test modules, rewritten once and kept.

Each process of pytest-xdist would rewrite all of them by itself, all at the same time: that took
more than half of the time until the first test. pytest tells by a digest of the source whether what
is kept is that of the module, wherever bytecode of other modules is not written at all.
"""

import os
from pathlib import Path

from _pytest.assertion.rewrite import (
    PYC_TAIL,
    _read_pyc,
    _rewrite_test,
    _write_pyc,
    get_cache_dir,
    try_makedirs,
)
from _pytest.assertion.rewrite import assertstate_key as STATE


def rewrite(files, config):
    for file in files:
        folder = get_cache_dir(file)
        kept = folder / f"{file.stem}{PYC_TAIL}"
        if _read_pyc(file, kept) is None and try_makedirs(folder):
            digest, code = _rewrite_test(file, config)
            _write_pyc(config.stash[STATE], code, digest, kept)


def test_files(config):
    """Modules below the folders, and the modules, that are to be tested."""
    places = [Path(argument.partition("::")[0]).resolve() for argument in config.args]
    files = {place for place in places if place.suffix == ".py"}
    for place in places:
        files.update(place.rglob("test_*.py"))
    return sorted(files)


def rewrite_all(config):
    """Rewrite the assertions of what is to be tested, in as many processes as there are cores."""
    files = test_files(config)
    children = []
    count = len(os.sched_getaffinity(0))
    for number in range(count):
        child = os.fork()
        if child == 0:
            try:
                rewrite(files[number::count], config)
            finally:
                os._exit(0)  # what is not rewritten here is where it is needed
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
