"""Law: a bucket is as good as a disk, whoever else writes to it; and no credential is kept or said anywhere."""

import pickle
import random
import resource
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pipeline.storage.lease
import pipeline.storage.s3
from pipeline.__main__ import main
from pipeline.execution.clusters import Executor
from pipeline.execution.runner import Runner, writer
from pipeline.storage import agreement, replications, results
from pipeline.storage.backend import Unreachable
from pipeline.storage.integrity import Integrity
from pipeline.storage.lease import Lease
from pipeline.storage.replications import Store
from pipeline.storage.s3 import Bucket
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import OK
from pipeline.workflow import reduce
from pipeline.workflow.config import read_settings
from pipeline.workflow.experiment import Experiment, Text
from pipeline.workflow.studies import StoredStudy
from tests.helpers.engine import GRID, ROOT, arguments, contents, damages_of, environment, study
from tests.helpers.servers.buckets import Objects, moto
from tests.helpers.servers.faulty import Faulty

SMALL = GRID | {"epsilon": [0.5]}
WRITER = "0" * 16


@pytest.fixture(scope="module")
def credentials():
    with moto() as found:
        yield found


@pytest.fixture
def bucket(credentials, monkeypatch):
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)
    return Objects(credentials)


def at(bucket, folder, timeout=20.0, what=None, where="some/where"):
    return Store(what or study(grid=SMALL), folder, f"s3://{bucket.name}/{where}", timeout)


def values(what, chance):
    return {name: chance.normal(size=what.block) for name in what.metrics} | {
        "status": np.full(what.block, OK, np.int8)
    }


def fill(store):
    """All units of the store's study, with numbers of no meaning."""
    store.begin()
    chance = np.random.default_rng(1)
    for unit in np.ndindex(store.listing().done.shape):
        store.write(*unit, values(store.study, chance), WRITER)


def whole(store):
    return StoredStudy(Experiment(store.study, Text(title="small")), store, {})


def seal(store):
    reduce.seal(whole(store), Executor())


def test_two_drivers_with_two_grids_at_once(bucket, tmp_path):
    gate, failed = threading.Barrier(2), []

    def grow(m):
        try:
            gate.wait()
            fill(
                at(
                    bucket,
                    tmp_path / str(m),
                    what=study(grid=SMALL | {"m": m}, replications=20 * len(m)),
                )
            )
        except BaseException as error:
            failed.append(error)

    drivers = [threading.Thread(target=grow, args=(m,)) for m in ([2, 3], [3, 4, 6])]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    store = at(bucket, tmp_path, what=study(grid=SMALL | {"m": [2, 3, 4, 6]}, replications=60))
    blocks = {2: 2, 3: 3, 4: 3, 6: 3}
    expected = [[block < blocks[labels["m"]] for block in range(3)] for labels in store.study.grid]
    assert (
        not failed
        and (store.listing().done == expected).all()
        and len(Integrity(store).files()) == np.sum(expected)
    )
    assert damages_of(store) == []


@pytest.mark.parametrize("packed_from", [10, replications.PACKED_FROM])
def test_the_same_files_as_on_a_disk(packed_from, bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(replications, "PACKED_FROM", packed_from)
    monkeypatch.setattr(replications, "PACK_UNITS", 7)
    there, here = at(bucket, tmp_path / "there"), Store(study(grid=SMALL), tmp_path / "here")
    for store in (here, there):
        fill(store)
        assert store.listing().done.all()
        seal(store)
        assert results.is_sealed(store) and results.problems_of(store.backend) == []
        assert results.problems_of(store.backend, results.SUMMARY) == []
    keys = bucket.keys()
    found = {
        key.removeprefix("some/where/"): bucket.read(key) for key in keys if "/lock/" not in key
    }
    here_only = {".lock", ".sweeps"}
    assert found == {
        name: content
        for name, content in contents(tmp_path / "here").items()
        if name not in here_only
    }
    assert contents(tmp_path / "there") == {}, "nothing is locked or written there"
    assert len(bucket.keys("/packs/")) == (4 if packed_from == 10 else 0)
    for unit in np.ndindex(here.listing().done.shape):
        assert there.read(*unit).metrics.tobytes() == here.read(*unit).metrics.tobytes()
    assert damages_of(there) == []
    results.unseal(there)
    assert not bucket.sealed() and not results.is_sealed(there)


def test_a_unit_is_one_object_and_a_lost_description_loses_nothing(bucket, tmp_path):
    store = at(bucket, tmp_path)
    store.begin()
    before = bucket.keys()
    store.write(0, 0, values(store.study, np.random.default_rng(1)), WRITER)
    assert set(bucket.keys()) - set(before) == {f"some/where/{store.key(0, 0)}"}
    bucket.delete("some/where/replications/study.json")
    with pytest.raises(InvalidInput, match="store.url=.*is lost, while units are there"):
        at(bucket, tmp_path).begin()
    assert len(bucket.keys("/units/")) == 1


def test_a_damaged_object_is_not_read(bucket, tmp_path, monkeypatch):
    """Whole objects, exchanged, and one that is gone; at once, and in parts that another process reads."""
    store = at(bucket, tmp_path)
    fill(store)
    seal(store)
    one, other = (bucket.keys(f"results.zarr/{name}/c/")[0] for name in ("error_l2", "kendall"))
    sound = results.load(store)["error_l2"].values
    kept = bucket.read(one)
    bucket.write(one, bucket.read(other))
    with pytest.raises(
        InvalidInput,
        match=r"store.url=.*results.zarr is damaged \(error_l2/c/0/0/0/0.*: is not what",
    ):
        results.load(store)
    monkeypatch.setattr(results, "IN_MEMORY", 0)
    parts = pickle.loads(pickle.dumps(results.load(store)))["error_l2"]
    with pytest.raises(InvalidInput, match="is not what was written"):
        parts.compute()
    bucket.write(one, kept)
    assert (pickle.loads(pickle.dumps(parts)).compute().values == sound).all()
    bucket.delete(one)
    with pytest.raises(InvalidInput, match="is missing"):
        parts.compute()


def test_an_outage_is_never_taken_for_damage(bucket, credentials, tmp_path, monkeypatch):
    what = study(grid=SMALL | {"m": [3], "L": [20]}, replications=20)
    store = at(bucket, tmp_path, what=what)
    fill(store)
    seal(store)

    def check(store):
        return [*damages_of(store), *results.problems_of(store.backend)]

    with Faulty(credentials["AWS_ENDPOINT_URL"]) as network:
        monkeypatch.setenv("AWS_ENDPOINT_URL", network.endpoint)
        check(at(bucket, tmp_path, what=what))
        most = sum(network.counts.values())
        network.kinds = ("away",)
        for allowed in random.Random(1).sample(range(most), min(8, most)):
            network.counts.clear()
            network.chance, network.allowed = 1.0, allowed
            with pytest.raises(Unreachable, match="drops connections"):
                check(at(bucket, tmp_path, timeout=0.01, what=what))
        for call in (
            results.is_sealed,
            lambda store: results.problems_of(store.backend),
            Store.exists,
            Store.listing,
            lambda store: store.read(0, 0),
            lambda store: agreement.agrees(store, writer(what)),
        ):
            network.counts.clear()
            network.allowed = 0
            with pytest.raises(Unreachable):
                call(at(bucket, tmp_path, timeout=0.01, what=what))


SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY"


@pytest.mark.parametrize(
    "word",
    [
        f"store.url=s3://AKIA:{SECRET}@bucket/a",
        f"+store.url='s3://AKIA:{SECRET}@bucket'",
        f"store.url=s3://bucket/a?X-Amz-Signature={SECRET}",
        f"store.url=s3://bucket/a#{SECRET}",
        f"store.secret_access_key={SECRET}",
        f"+store.aws_session_token={SECRET}",
        f"store={{url:'s3://a:{SECRET}@b'}}",
        f"store={{url:s3://bucket/a,aws_secret_access_key:{SECRET}}}",
        f"store={{'access_key' : {SECRET}}}",
        f"store.password=[{SECRET}",
        f"++cluster.access_key={SECRET}",
        f"outputs=s3://AKIA:{SECRET}@bucket/a",
    ],
)
def test_a_credential_on_the_command_line_is_refused_and_not_repeated(
    word, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment=xu/lemmas", word]) == 2
    out, error = capsys.readouterr()
    assert "must not hold credentials" in error and error.count("\n") == 1 and out == ""
    assert not any(SECRET[start : start + 6] in error for start in range(len(SECRET) - 6))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "s3:/bucket",
        "S3://bucket",
        "gs://bucket",
        "file:///tmp",
        "bucket",
        "s3://",
        "s3://b",
        "s3://Bucket",
        "s3://bucket/..",
        "s3://bucket//a",
        "s3://bucket/a b",
        "s3://bucket/" + "a" * 500,
        "s3://bucket/é",
        "s3://bucket\n",
    ],
)
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(InvalidInput, match="^store.url="):
        read_settings({"store": {"url": url}})
    assert (
        read_settings({"store": {"url": "s3://bucket/a.b/c_d-1/"}}).store.url
        == "s3://bucket/a.b/c_d-1"
    )


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"AWS_ACCESS_KEY_ID": None}, "credentials are needed"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, "credentials are needed"),
        ({"AWS_ENDPOINT_URL": "http://10.1.2.3:80"}, "is not encrypted"),
        ({"AWS_ENDPOINT_URL": "https://a:b@host"}, "must be http"),
        ({"AWS_ENDPOINT_URL": "host:80"}, "must be http"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:port"}, "must be http"),
        ({"AWS_ENDPOINT_URL": "https://"}, "must be http"),
        ({"AWS_ENDPOINT_URL": "http://[::1"}, "must be http"),
        ({"AWS_ENDPOINT_URL": "http://host/a b"}, "must be http"),
        ({"AWS_ACCESS_KEY_ID": "key\r"}, "AWS_ACCESS_KEY_ID=….*line break"),
        ({"AWS_SESSION_TOKEN": "two\nlines"}, "AWS_SESSION_TOKEN=….*line break"),
        ({"AWS_REGION": "a\nb"}, "AWS_REGION=….*line break"),
        ({"AWS_SKIP_SIGNATURE": "perhaps"}, "look at .*AWS_SKIP_SIGNATURE"),
        (
            {"AWS_ACCESS_KEY_ID": None, "AWS_WEB_IDENTITY_TOKEN_FILE": "/token"},
            "credentials are needed",
        ),
        (
            {"AWS_ACCESS_KEY_ID": None, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://a"},
            "credentials are needed",
        ),
    ],
)
def test_a_wrong_environment_is_refused(changes, says, bucket, monkeypatch):
    for name, value in changes.items():
        monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=says):
        Bucket("s3://bucket/a", 1.0).check()


def test_a_lock_needs_no_variable(bucket, monkeypatch):
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    backend = Bucket(f"s3://{bucket.name}/a", 5.0)
    assert backend.create("lock/1", b"mine") and not backend.create("lock/1", b"yours")


LEAVING = """
import sys, threading, time
from asyncio.selector_events import BaseSelectorEventLoop
from pipeline.__main__ import main

def wake(self, wake=BaseSelectorEventLoop._write_to_self):
    wake(self)
    if isinstance(threading.current_thread(), threading._DummyThread):
        for _ in range(500):  # a busy machine may stop one of obstore's threads here, without Python's lock
            time.sleep(0.01)

BaseSelectorEventLoop._write_to_self = wake
sys.exit(main())
"""


@pytest.mark.parametrize("name, code", [("no-such-bucket", 2), (None, 75)])
def test_the_exit_code_is_ours_whatever_the_threads_of_the_library_do(name, code, bucket, tmp_path):
    given = [
        f"store.url=s3://{name or bucket.name}/a",
        f"outputs={tmp_path}",
        "task=status",
        "experiment=xu/lemmas",
    ]
    done = subprocess.run(
        [sys.executable, "-c", LEAVING, *given],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=900,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert done.returncode == code, done.stderr
    assert "no such bucket" in done.stderr if name else "not begun" in done.stdout


def test_without_the_library_one_line_says_what_to_install(bucket, monkeypatch):
    for name in ("obstore", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidInput, match="pip install obstore"):
        Bucket("s3://bucket/a", 1.0).check()


def test_pickles_hold_no_credential(bucket, credentials, tmp_path):
    store = at(bucket, tmp_path)
    store.begin()
    store.listing()
    pickled = pickle.dumps(Runner(store)) + repr(vars(store)).encode() + str(store.backend).encode()
    assert b"some/where" in pickled
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert credentials[name].encode() not in pickled
    assert str(tmp_path).encode() not in pickle.dumps(Runner(store)), (
        "no folder of this machine either"
    )
    again = pickle.loads(pickle.dumps(store))
    assert again.url == store.url and again.exists() and again.timeout == 20.0
    with pytest.raises(AttributeError, match="has no folder in this process"):
        again.folder  # noqa: B018


class Memory(dict):
    """A backend in memory; `honest` unless it creates also where there is something."""

    honest, lock = True, threading.Lock()

    def keys(self, prefix):
        return [key.removeprefix(f"{prefix}/") for key in list(self)]

    def read(self, key):
        found = self.get(key)
        time.sleep(random.uniform(0, 0.002))  # on its way
        return found

    def put(self, key, content, patience=None):
        self[key] = content

    def create(self, key, content):
        with self.lock:
            if key in self and self.honest:
                return False
            self[key] = content
            return True

    def delete(self, *keys):
        for key in keys:
            self.pop(key, None)


@pytest.fixture
def quick(monkeypatch):
    for name, value in dict(TERM=1.2, SAFE=0.6, BEAT=0.1, POLL=(0.0, 0.002)).items():
        monkeypatch.setattr(pipeline.storage.lease, name, value)


@pytest.mark.parametrize("honest", [True, False])
def test_one_at_a_time_through_creation_alone(honest, quick):
    backend, inside, most = Memory(), [], []
    backend.honest = honest

    def work(owner):
        for _ in range(12):
            with Lease(backend).locked_by(owner):
                inside.append(owner)
                most.append(len(inside))
                time.sleep(random.uniform(0, 0.002))
                inside.remove(owner)

    drivers = [threading.Thread(target=work, args=(f"driver-{i}",), daemon=True) for i in range(6)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join(60)
    assert (
        len(most) == 72
        and pipeline.storage.lease.FREE in backend.values()
        and (len(backend) == 1 or not honest)
    )
    assert (max(most) == 1) == honest  # the negative control: without create-if-absent they meet


def test_a_dead_holder_is_succeeded_and_a_living_one_is_not(quick, monkeypatch):
    backend, order = Memory(), []
    backend.create("lock/7", b"gone 1234")
    with Lease(backend).locked_by("gone"):  # of the same name: known to be dead
        assert list(backend) == ["lock/8"]
    backend.create("lock/9", b"elsewhere 1234")
    start = time.monotonic()
    with Lease(backend).locked_by("a"):
        assert time.monotonic() - start >= 1.2 and list(backend) == ["lock/10"]
        waiter = threading.Thread(
            target=lambda: Lease(backend).locked_by("b").__enter__() or order.append("b"),
            daemon=True,
        )
        waiter.start()
        time.sleep(2.0)  # longer than TERM: signs of life keep it
        order.append("a")
    waiter.join(10)
    assert order == ["a", "b"]


def test_a_waiter_that_was_stopped_takes_nothing_from_a_living_holder(quick):
    """Stopped between its look and its claim for longer than TERM: what it saw is old, the holder lives."""
    backend, order, seen = Memory(), [], []
    read, woken = backend.read, threading.Event()

    def stopped(key):
        found = read(key)
        if threading.current_thread() is waiter and not woken.is_set():
            if [found] == seen[-1:]:
                time.sleep(1.5)
                woken.set()
            seen.append(found)
        return found

    backend.read = stopped
    waiter = threading.Thread(
        target=lambda: Lease(backend).locked_by("b").__enter__() or order.append("b"), daemon=True
    )
    with Lease(backend).locked_by("a"):
        waiter.start()
        assert woken.wait(30)
        time.sleep(0.3)
        order.append("a")
    waiter.join(10)
    assert order == ["a", "b"]


def test_a_holder_that_was_cut_off_writes_no_more(quick, bucket):
    backend = Bucket(f"s3://{bucket.name}/a", 5.0)
    with backend.locked():
        backend.put("x", b"before")
        backend.lease.until = pipeline.storage.lease.now() - 1  # as after a long stop
        time.sleep(0.3)
        writes = (
            lambda: backend.put("x", b"after"),
            lambda: backend.create("y", b""),
            lambda: backend.delete("x"),
        )
        for write in writes:
            with pytest.raises(Unreachable, match="another driver may have taken over"):
                write()
        assert not backend.lease.valid()  # it stays lost
    assert backend.read("x") == b"before" and backend.read("y") is None


def test_shards_agree_on_a_bucket(bucket, tmp_path, capsys):
    """The first unit of a new study is stored under the bucket's lock; the second shard compares with it."""
    words = arguments(tmp_path / "outputs", **{"store.url": f"s3://{bucket.name}/shards"})
    for shard in ("1/2", "2/2"):
        assert main([*words, f"shard={shard}"]) == 0
    assert capsys.readouterr().out.count("is done; the same command without it") == 2
    assert main([*words, "task=verify"]) == 0
    assert "8 units checked, 0 damaged" in capsys.readouterr().out


def test_long_listings_are_read_to_their_end(bucket, monkeypatch):
    """Five objects a page, twelve in all: keys, sizes, what is done, and what is removed."""
    monkeypatch.setattr(pipeline.storage.s3, "PAGE", 5)
    target = Bucket(f"s3://{bucket.name}/pages", 5.0)
    names = [f"{k:02}" for k in range(12)]
    for name in names:
        target.put(f"whole/{name}", name.encode())
    assert list(target.keys("whole")) == names and target.sizes("whole") == dict.fromkeys(names, 2)
    target.remove("whole")
    assert list(target.keys("whole")) == []


def test_a_dataset_in_a_bucket_loses_its_root_first_and_gets_it_last(bucket, monkeypatch):
    target, done = Bucket(f"s3://{bucket.name}/order", 5.0), []
    for name in ("data/c", "zarr.json"):
        target.put(f"old/{name}", b"old")
    delete, put = target.delete, target.put
    monkeypatch.setattr(
        target,
        "delete",
        lambda *keys: done.append([key.split("/", 1)[1] for key in keys]) or delete(*keys),
    )
    monkeypatch.setattr(target, "put", lambda key, *more: done.append(key) or put(key, *more))
    staged = target.stage("old")
    target.put(f"{staged}/data/c", b"new")
    target.publish(staged, "old", b"root")
    assert done == [["zarr.json"], ["data/c"], "old/data/c", "old/zarr.json"]


def test_studies_in_a_bucket_are_archived_checked_and_merged(bucket, tmp_path):
    """As those on a disk: the archive has the same numbers, and units are taken from there, and into it."""
    small = {"grid.m": "[2]", "grid.epsilon": "[0.5]"}
    url = f"s3://{bucket.name}/ada"
    words = arguments(tmp_path / "ada", **small)
    assert main([*words, f"store.url={url}"]) == 0
    (name,) = [f"xu/{path.name}" for path in (tmp_path / "ada/xu").glob("lemmas-*")]
    target = tmp_path / "ada.zip"
    request = [name, f"outputs={tmp_path / 'ada'}", f"save={target}", "cluster=synchronous"]
    assert main(["archive", *request, f"store.url={url}"]) == 0
    assert main(["reproduce", str(target), "cluster=synchronous"]) == 0
    for person, place in (("disk", []), ("cloud", [f"store.url=s3://{bucket.name}/cloud"])):
        theirs = [*arguments(tmp_path / person, **small), *place]
        assert main(["merge", *theirs, f"from={url}", "contributor=Ada"]) == 0
        assert main([*theirs, "task=status"]) == 0  # all is there
    assert main(["merge", *words, f"from=s3://{bucket.name}/nowhere"]) == 2
