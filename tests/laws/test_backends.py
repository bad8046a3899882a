"""Law: a backend is one class; nothing else of the program knows its scheme.

One more, the class in docs/extending.md, keeps a study that is killed, goes on, is sealed and checked: all of it
is one SQLite database. What every backend must promise is in tests/storage/test_conformance.py.
"""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from pipeline.__main__ import main
from pipeline.storage import schemes
from pipeline.study.parameters import InvalidInput
from tests.helpers.backends import ENTRY, ONE_FILE
from tests.helpers.engine import ROOT, arguments, command, contents, environment, without_report
from tests.laws.test_packages import install, site  # noqa: F401

PATIENCE = 120  # seconds, on however busy a machine
FILES = {"one_file.py": ONE_FILE}
SCHEME = re.compile(r"\bstorage\.s3\b|\bimport s3\b|[\"']s3:?[\"']")


@pytest.fixture(autouse=True)
def schemes_anew():
    """No test sees what another one has installed."""
    schemes.forget()
    yield
    schemes.forget()


@pytest.fixture
def shelf(tmp_path):
    """A folder for packages, which has the backend, and the environment of a shell that finds it."""
    where = tmp_path / "packages"
    where.mkdir()
    install(where, "one-file", schemes.BACKENDS, ENTRY, FILES)
    return environment(PYTHONPATH=os.pathsep.join([str(where), str(ROOT)]))


def stored(folder):
    """Content of every file in the only database below a folder, by its key."""
    (path,) = folder.rglob("*.sqlite")
    with closing(sqlite3.connect(path, timeout=60)) as database:
        return dict(database.execute("SELECT key, content FROM files"))


def units(folder):
    """How many units are stored; none before there is a database with a table."""
    if not [*folder.rglob("*.sqlite")]:
        return 0
    try:
        keys = stored(folder)
    except sqlite3.OperationalError:
        return 0
    return sum(key.startswith("replications/units/") for key in keys)


def test_it_is_short():
    assert len(ONE_FILE.strip().splitlines()) <= 60


def test_no_scheme_decides_anything():
    """Outside of the backend itself and of sentences."""
    for path in sorted((ROOT / "pipeline").rglob("*.py")):
        if path.name != "s3.py":
            assert not SCHEME.search(path.read_text("utf-8")), path
    for line in ('text.startswith("s3:")', "from pipeline.storage.s3 import Bucket", "x == 's3'"):
        assert SCHEME.search(line)


def test_a_killed_study_goes_on_in_a_store_of_ones_own(shelf, tmp_path, monkeypatch):
    without_report(monkeypatch)
    changes = {"replications": "400", "block": "10"}
    assert main(arguments(tmp_path / "laptop", **changes)) == 0
    url = {"store.url": f"sqlite://{tmp_path}/own", "cluster": "local", "cluster.workers": "2"}
    words = arguments(tmp_path / "report", **changes, **url)
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *words],
        env=shelf,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    ends = time.monotonic() + PATIENCE
    while units(tmp_path / "own") < 20:
        assert process.poll() is None and time.monotonic() < ends
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert 20 <= units(tmp_path / "own") < 160 and "results.zarr/zarr.json" not in stored(
        tmp_path / "own"
    )

    done = command(words, env=shelf, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = command([*words, "task=verify"], env=shelf, cwd=tmp_path)
    assert done.returncode == 0 and "160 units checked, 0 damaged" in done.stdout, done
    (folder,) = (tmp_path / "laptop/xu").iterdir()
    expected = contents(folder)
    files = stored(tmp_path / "own")
    for name in [key for key in expected if key.startswith(("results.zarr", "summary.zarr"))]:
        assert files[name] == expected[name], name
    assert not [*(tmp_path / "report").rglob("*.zarr")]


def test_a_package_brings_a_backend(site, tmp_path):  # noqa: F811
    install(site, "one-file", schemes.BACKENDS, ENTRY, FILES)
    assert schemes.check_url("sqlite:///data/studies/") == "sqlite:///data/studies"
    assert schemes.is_url("sqlite:///data") and not schemes.is_url("/data/sqlite")
    with pytest.raises(InvalidInput, match="url=sqlite://../x: must be sqlite:///FOLDER"):
        schemes.check_url("sqlite://../x")
    with pytest.raises(InvalidInput, match="must be s3://BUCKET.* or sqlite:///FOLDER"):
        schemes.check_url("gs://bucket/a")


def test_a_file_given_with_with_brings_a_backend(tmp_path):
    """Its class is registered, and so it is in workers, which get the file with their first task."""
    file = tmp_path / "own_store.py"
    register = "from pipeline.storage.schemes import register\n"
    file.write_text(register + ONE_FILE.replace("class OneFile", "@register\nclass OneFile"))
    url = {"store.url": f"sqlite://{tmp_path}/own", "cluster": "local", "cluster.workers": "2"}
    words = [f"--with={file}", *arguments(tmp_path / "report", **url)]
    done = command(words, env=environment(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert units(tmp_path / "own") == 8 and "results.zarr/zarr.json" in stored(tmp_path / "own")
    done = command([*words, "task=verify"], env=environment(), cwd=tmp_path)
    assert done.returncode == 0 and "8 units checked, 0 damaged" in done.stdout, done


def test_a_scheme_is_registered_once(site):  # noqa: F811
    """Again by the same program, as in a notebook; not beside a package's, nor what lacks something."""
    classes = {}
    exec(ONE_FILE, classes)
    new = classes["OneFile"]
    assert schemes.register(schemes.register(new)) is new and schemes.is_url("sqlite:///data")
    assert schemes.check_url("sqlite:///data/") == "sqlite:///data"
    elsewhere = type("Other", (new,), {"__module__": "elsewhere"})
    with pytest.raises(InvalidInput, match="is the scheme of builtins.OneFile already"):
        schemes.register(elsewhere)
    with pytest.raises(InvalidInput, match="s3: is the scheme of .* already"):
        schemes.register(type("Mine", (new,), {"scheme": "s3"}))
    with pytest.raises(InvalidInput, match="is no subclass of UrlBackend"):
        schemes.register(int)


BROKEN = {
    "import nowhere\n": "ModuleNotFoundError: No module named 'nowhere'",
    "OneFile = 5\n": "is no subclass of UrlBackend",
    "from pipeline.storage.url_backend import UrlBackend\nclass OneFile(UrlBackend): ...\n": "lacks scheme, form, "
    "create, delete, listed, put, read",
    ONE_FILE.replace('scheme = "sqlite"', 'scheme = "other"'): "calls its scheme other",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_package_is_named_where_it_is_needed_and_stops_no_other(text, site):  # noqa: F811
    install(site, "one-file", schemes.BACKENDS, ENTRY, {"one_file.py": text})
    assert schemes.check_url("s3://bucket/a") == "s3://bucket/a"
    with pytest.raises(InvalidInput, match="url=sqlite:…: package one-file 1 is left out") as error:
        schemes.check_url("sqlite:///data")
    assert BROKEN[text] in str(error.value)


def test_a_scheme_of_two_packages_is_refused(site):  # noqa: F811
    install(site, "one-file", schemes.BACKENDS, ENTRY, FILES)
    install(site, "second", schemes.BACKENDS, "sqlite = second:OneFile", {"second.py": ONE_FILE})
    with pytest.raises(InvalidInput, match="is brought by one_file:OneFile and by second:OneFile"):
        schemes.check_url("sqlite:///data")
