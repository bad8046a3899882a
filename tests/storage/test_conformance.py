"""What `pipeline/storage/backend.py` says that every backend promises, of every backend: a folder, a
bucket, and the one of docs/extending.md.

The negative controls are backends that break one promise each.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

from pipeline.storage import lease
from pipeline.storage.backend import ROOT as DOCUMENT
from pipeline.storage.backend import Unreachable
from pipeline.storage.folder import Folder
from pipeline.study.parameters import InvalidInput
from tests.helpers.backends import ONE_FILE
from tests.helpers.engine import environment

KINDS = ["folder", "bucket", "one file"]
LARGE = 2**20  # bytes
WRITERS = 6

WRITE_FOR_EVER = """
import itertools, pickle, sys
backend = pickle.loads(bytes.fromhex(sys.argv[1]))
for k in itertools.count():
    backend.put("x", bytes([k % 7]) * 2**20)
    print(k, flush=True)
"""


@pytest.fixture(scope="module")
def credentials():
    buckets = pytest.importorskip("tests.helpers.servers.buckets", reason="obstore is missing")
    with buckets.moto() as names:
        yield names


@pytest.fixture
def bucket(request, monkeypatch):
    from tests.helpers.servers.buckets import Objects

    credentials = request.getfixturevalue("credentials")
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)
    return Objects(credentials)


@pytest.fixture(params=KINDS)
def backend(request, tmp_path, monkeypatch):
    if request.param == "folder":
        return Folder(tmp_path)
    if request.param == "bucket":
        from pipeline.storage.s3 import Bucket

        bucket = request.getfixturevalue("bucket")
        return Bucket(f"s3://{bucket.name}/here", 20.0)
    (tmp_path / "one_file.py").write_text(ONE_FILE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "one_file", None)
    del sys.modules["one_file"]
    from one_file import OneFile

    return OneFile(f"sqlite://{tmp_path}/here", 20.0)


def at_once(function, *arguments):
    """Results of a function of each argument, in as many threads."""
    results, gate = [None] * len(arguments), threading.Barrier(len(arguments))

    def work(k):
        gate.wait()
        results[k] = function(arguments[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_what_is_written_is_read(backend):
    assert backend.read("a/b") is None and backend.stamp("a/b") is None
    backend.put("a/b", b"0123456789")
    assert backend.read("a/b") == b"0123456789"
    for part in (slice(3, None), slice(2, 5), slice(-4, None), slice(-40, None), slice(40, None)):
        expected = b"0123456789"[part]
        assert backend.read("a/b", part.start, part.stop) == expected, part
    before = backend.stamp("a/b")
    time.sleep(0.01)
    backend.put("a/b", b"other")
    assert backend.read("a/b") == b"other" and backend.stamp("a/b") not in (before, None)
    backend.put("empty", b"")
    assert backend.read("empty") == b"" and backend.stamp("empty") is not None


def test_a_listing_has_all_below_a_prefix_and_nothing_else(backend):
    keys = ["a/x", "a/b/y", "a/b/c/z", "ab/x", "a.b/x", "A/x", "a_b/x"]
    for key in keys:
        backend.put(key, key.encode())
    assert {*backend.keys("a")} == {"x", "b/y", "b/c/z"}
    assert backend.sizes("a") == {"x": 3, "b/y": 5, "b/c/z": 7}
    assert {*backend.listed("a/b")} == {("y", 5), ("c/z", 7)}
    assert [*backend.keys("a_b")] == ["x"] and [*backend.keys("nothing")] == []


def test_what_is_deleted_is_gone(backend):
    keys = [f"a/{k}" for k in range(1500)] if isinstance(backend, Folder) else ["a/0", "a/1"]
    for key in (*keys, "b"):
        backend.put(key, b"x")
    backend.delete()
    backend.delete(*keys, "a/missing", "missing/missing")
    assert [*backend.keys("a")] == [] and backend.read("b") == b"x"
    assert backend.read(keys[0]) is None and not backend.create("b", b"again")
    assert backend.create(keys[0], b"again") and backend.read(keys[0]) == b"again"


def test_one_of_those_who_create_a_file_at_once_gets_it(backend):
    for number in range(5):
        contents = [b"writer %d" % k for k in range(WRITERS)]
        mine = at_once(lambda content, n=number: backend.create(f"lock/{n}", content), *contents)
        assert sorted(mine) == [False] * (WRITERS - 1) + [True]
        assert backend.read(f"lock/{number}") == contents[mine.index(True)]


def test_no_reader_sees_a_part_of_a_file_that_is_replaced(backend):
    contents = {bytes([k]) * LARGE for k in range(3)}
    backend.put("x", min(contents))
    ended, seen = threading.Event(), []

    def read():
        while not ended.is_set():
            seen.append(backend.read("x"))

    reader = threading.Thread(target=read)
    reader.start()
    for content in [*contents] * 4:
        backend.put("x", content)
    ended.set()
    reader.join(60)
    assert seen and {*seen} <= contents


def test_a_killed_writer_leaves_a_whole_file(backend):
    pickled = pickle.dumps(backend).hex()
    for wait in (0.0, 0.007):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOR_EVER, pickled],
            env=environment(PYTHONPATH=os.pathsep.join(sys.path)),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert [process.stdout.readline().strip() for _ in range(2)] == ["0", "1"]
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        content = backend.read("x")
        assert len(content) == LARGE and len({*content}) == 1
        backend.put("x", b"goes on")
        assert backend.read("x") == b"goes on"


def test_one_process_at_a_time_has_the_lock(backend, monkeypatch):
    monkeypatch.setattr(lease, "POLL", (0.0, 0.02))
    inside, most = [], []

    def work(number):
        mine = pickle.loads(pickle.dumps(backend))
        for _ in range(3):
            with mine.locked():
                inside.append(number)
                most.append(len(inside))
                time.sleep(0.005)
                inside.remove(number)

    at_once(work, *range(3))
    assert most == [1] * 9


def test_who_lost_the_lock_writes_no_more(backend):
    if isinstance(backend, Folder):
        pytest.skip("the lock of an operating system is never lost")
    with backend.locked():
        backend.put("x", b"before")
        backend.lease.until = 0.0
        for write in (
            lambda: backend.put("x", b"after"),
            lambda: backend.create("y", b""),
            lambda: backend.delete("x"),
        ):
            with pytest.raises(Unreachable, match="another driver may have taken over"):
                write()
    assert backend.read("x") == b"before" and backend.read("y") is None
    backend.put("x", b"later")


def test_half_of_a_hierarchy_never_passes_for_the_whole(backend, monkeypatch):
    """Whatever was done last before a kill: where the root is, all files are that belong to it."""
    contents = {name: {f"{k}/c": name.encode() for k in range(3)} for name in ("old", "new")}
    seen, calls = set(), []

    def build(name):
        staged = backend.stage("data")
        for key, content in contents[name].items():
            backend.put(f"{staged}/{key}", content)
        backend.publish(staged, "data", name.encode())

    def look():
        root = backend.read(f"data/{DOCUMENT}")
        if root is not None:
            for key, content in contents[root.decode()].items():
                assert backend.read(f"data/{key}") == content
        seen.add(root)

    def looking(done):
        def call(*arguments):
            calls.append(arguments)
            done(*arguments)
            look()

        return call

    build("old")
    for name in ("put", "delete"):
        monkeypatch.setattr(backend, name, looking(getattr(backend, name)))
    build("new")
    look()
    calls.clear()
    backend.remove("data")
    assert calls[0] == (f"data/{DOCUMENT}",), "the root is gone before anything else"
    assert [*backend.keys("data")] == [] and {b"new", None} <= seen


def test_results_come_in_order(backend):
    for k in range(40):
        backend.put(f"a/{k}", b"%d" % k)
    assert [*backend.map(lambda k: backend.read(f"a/{k}"), range(40))] == [
        b"%d" % k for k in range(40)
    ]


def test_what_is_under_way_is_not_left_over(backend):
    backend.put("units/0/1.partial", b"half")
    with backend.sweeping(), pickle.loads(pickle.dumps(backend)).sweeping():
        assert backend.left_over("units") == []


def test_a_backend_that_can_be_used_passes_its_check(backend):
    backend.check()
    backend.check(write=True)
    assert [*backend.keys("probe")] == [] and backend.read("probe") is None


def test_a_backend_out_of_reach_is_one_line_and_never_an_empty_one(tmp_path):
    path = tmp_path / "a file"
    path.write_text("")
    names = {}
    exec(ONE_FILE, names)
    backend = names["OneFile"](f"sqlite://{path}/here", 1.0)
    with pytest.raises(InvalidInput, match=r"^store.url=sqlite://.*File exists"):
        backend.check()
    for call in (backend.read, backend.stamp, backend.sizes):
        with pytest.raises(Unreachable):
            call("x")


class Torn(Folder):
    """Its files appear before they are whole."""

    def put(self, key, content, patience=None):
        path = self.path / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for start in range(0, len(content), 2**16):
                file.write(content[start : start + 2**16])
                file.flush()


class Shared(Folder):
    """Whoever creates a file believes to be the first, if others do at the same time."""

    def create(self, key, content):
        is_new = self.read(key) is None
        time.sleep(0.01)
        self.put(key, content)
        return is_new


class RootFirst(Folder):
    """Its root documents are there before what belongs to them."""

    def stage(self, name):
        self.put(f"{name}/{DOCUMENT}", b"new")
        return name

    def publish(self, staged, name, root):
        self.put(f"{name}/{DOCUMENT}", root)


@pytest.mark.parametrize(
    "broken, promise",
    [
        (Torn, test_no_reader_sees_a_part_of_a_file_that_is_replaced),
        (Shared, test_one_of_those_who_create_a_file_at_once_gets_it),
    ],
)
def test_a_broken_promise_is_seen(broken, promise, tmp_path):
    with pytest.raises(AssertionError):
        for _ in range(20):
            promise(broken(tmp_path))


def test_a_root_that_comes_first_is_seen(tmp_path, monkeypatch):
    with pytest.raises(AssertionError):
        test_half_of_a_hierarchy_never_passes_for_the_whole(RootFirst(tmp_path), monkeypatch)
