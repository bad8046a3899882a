"""Without a shared disk: workers and drivers in pods, whose root nobody can write, with a bucket and nothing else."""

import contextlib
import dataclasses
import os
import re
import subprocess
import sys
import types

import distributed
import pytest
import yaml

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.workflow.report_record import shown
from tests.helpers.engine import ROOT, arguments, contents, without_report
from tests.helpers.servers import pods
from tests.helpers.servers.buckets import Objects, moto
from tests.helpers.servers.pods import Pod

PINNED = "import os, sys, pipeline; os.execvp(sys.argv[1], sys.argv[1:])"  # the entry point of jobs/Containerfile
SMALL = {
    "figures": "[{kind: curves, along: m, metric: lean_true, by: [epsilon]}]",
    "claims": "true",
}


@pytest.fixture(scope="module")
def credentials():
    if reason := pods.missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"NO PODS: {reason}")
    with moto() as variables:
        yield variables


@pytest.fixture
def bucket(credentials):
    return Objects(credentials)


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    """Bytes of the sealed results of a run on this machine, in a folder."""
    where = tmp_path_factory.mktemp("laptop")
    with pytest.MonkeyPatch.context() as patch:
        without_report(patch)
        assert main(arguments(where, **SMALL)) == 0
    (sealed,) = where.rglob("results.zarr")
    return contents(sealed)


def recipe(name):
    """How jobs/kubernetes.yaml starts workers or the scheduler: words after the entry point of the image."""
    _, cluster = yaml.safe_load_all((ROOT / "jobs/kubernetes.yaml").read_text())
    (container,) = cluster["spec"][name]["spec"]["containers"]
    program, *words = container["args"]
    return ["-c", PINNED, f"{sys.prefix}/bin/{program}", *words, "--host", "127.0.0.1"]


@contextlib.contextmanager
def scheduler_and_workers(*workers: Pod):
    """A scheduler in a pod, and a worker in each of these; the scheduler's address."""
    with contextlib.ExitStack() as stack:

        def start(pod, words):
            process = pod.start(words, stderr=subprocess.PIPE)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = start(Pod("scheduler", {}), [*recipe("scheduler"), "--port", "0"])
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        for pod in workers:
            variables = {
                **pod.variables,
                "DASK_SCHEDULER_ADDRESS": address,
                "DASK_WORKER_NAME": pod.name,
            }
            words = [word.replace("$(DASK_WORKER_NAME)", pod.name) for word in recipe("worker")]
            start(dataclasses.replace(pod, variables=variables), words)
        yield address


@pytest.fixture
def reductions_on_workers(monkeypatch):
    """Let small studies be sealed, packed, checked, judged and drawn by workers, as large ones are."""
    monkeypatch.setattr("pipeline.workflow.reduce.FEW_FILES", -1)
    monkeypatch.setattr("pipeline.workflow.assess.FEW", -1)


def test_workers_in_pods_need_the_bucket_alone(
    credentials, bucket, laptop, tmp_path, monkeypatch, capsys, reductions_on_workers
):
    """They never see the driver's folder; one of them has no keys, and is left alone in a line of its own."""
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)
    keyless = {name: value for name, value in credentials.items() if "KEY" not in name}
    workers = [Pod("able", credentials), Pod("keyless", keyless)]
    with scheduler_and_workers(*workers) as address:
        words = arguments(
            tmp_path / "driver",
            **SMALL
            | {
                "cluster": "address",
                "cluster.address": address,
                "store.url": f"s3://{bucket.name}/studies",
            },
        )
        assert main(words) == 0
        errors = capsys.readouterr().err
        assert main([*words, "task=verify"]) == 0
    assert bucket.sealed() == laptop
    (line,) = (line for line in errors.splitlines() if "keyless" in line)
    assert re.search(r"is left alone: keyless: store.url=\S+: credentials are needed", line)
    assert "8 units checked, 0 damaged" in capsys.readouterr().out
    assert not [*(tmp_path / "driver").rglob(".lock")]


TASKS = """
import glob, sys
from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.workflow.report_record import shown
for words in eval(sys.argv[1]):
    if "task=compare" in words:
        names = [path.removeprefix("/tmp/outputs/") for path in glob.glob("/tmp/outputs/xu/*")]
        words.append("studies=" + ",".join(names))
    print("code", main(words), flush=True)
"""


def tasks_in_a_pod(credentials, tasks):
    """What these commands print in one process in a pod, and the lines on their errors."""
    done = Pod("driver", credentials).run(["-c", TASKS, repr(tasks)])
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout, done.stderr.splitlines()


def test_a_driver_in_a_pod_can_do_all_tasks(credentials, bucket, laptop):
    """With a folder for reports among its temporary files; where none is named, a line says how to."""
    in_bucket = f"store.url=s3://{bucket.name}/studies"
    run = [
        *arguments("/tmp/outputs", **SMALL | {"cluster": "local", "cluster.workers": "1"}),
        in_bucket,
    ]
    other = [*arguments("/tmp/outputs", seed="7"), in_bucket]
    every = ["outputs=/tmp/outputs", in_bucket]
    tasks = [
        *([*run, f"task={task}"] for task in ("plan", "run", "status", "verify", "show")),
        [*run, "figures=[]", "claims=false", "task=report"],
        other,
        [*every, "task=list"],
        [*every, "task=compare"],
        [*run, "seed=8", "outputs=outputs"],
    ]
    printed, errors = tasks_in_a_pod(credentials, tasks)
    codes = re.findall(r"^code (\d+)$", printed, re.MULTILINE)
    assert codes == ["0"] * (len(tasks) - 1) + ["2"], (printed, errors)
    assert "4 cells in common" in printed and "not paired: seed, block or axes differ" in printed
    (error,) = (line for line in errors if not re.fullmatch(r".*\d+ of 8 units.*", line))
    assert re.fullmatch(
        r"error: outputs=outputs/xu/lemmas-[0-9a-f]{8}: no permission to write in /, where reports go; "
        "name another folder, such as outputs=/tmp/outputs",
        error,
    )
    identity = next(
        key
        for key in bucket.keys("/replications/study.json")
        if b'"seed": 7' not in bucket.read(key)
    )
    folder = identity.removesuffix("replications/study.json")
    sealed = {
        key.removeprefix(f"{folder}results.zarr/"): bucket.read(key)
        for key in bucket.keys(f"{folder}results.zarr/")
    }
    assert sealed == laptop


def test_a_folder_is_asked_for_where_a_bucket_is_given_for_outputs(capsys):
    assert main(["experiment=xu/lemmas", "outputs=s3://bucket/studies"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: outputs=s3://…: must be a folder") and "store.url=…" in error


class KubeCluster:
    """A stand-in for that of dask-kubernetes: starts one worker of the recipe in a pod of this machine."""

    variables: dict[str, str] = {}

    def __init__(self, custom_cluster_spec):
        assert custom_cluster_spec["kind"] == "DaskCluster"
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.address = self.stack.enter_context(scheduler_and_workers(Pod("able", self.variables)))
        return self

    def __exit__(self, *_):
        self.stack.close()

    def get_client(self):
        client = distributed.Client(self.address, set_as_default=False)
        client.wait_for_workers(1)
        return client


def test_the_program_for_kubernetes_runs_as_the_document_has_it(
    credentials, bucket, laptop, tmp_path, monkeypatch
):
    """But for a smaller study, and a bucket that there is."""
    (program,) = re.findall(
        r"```text\n(import yaml\n.*?)```", (ROOT / "docs/containers.md").read_text(), re.DOTALL
    )
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(KubeCluster, "variables", credentials)
    operator = types.ModuleType("dask_kubernetes.operator")
    operator.KubeCluster = KubeCluster
    monkeypatch.setitem(sys.modules, "dask_kubernetes.operator", operator)
    monkeypatch.setitem(sys.modules, "dask_kubernetes", types.ModuleType("dask_kubernetes"))
    (tmp_path / "small.yaml").write_text(shown(compose(arguments("unused", **SMALL))[0]))
    for before, after in (
        ("xu/scenario_2", str(tmp_path / "small.yaml")),
        ("s3://bucket/", f"s3://{bucket.name}/"),
        ("/tmp/outputs", str(tmp_path / "outputs")),
    ):
        assert before in program
        program = program.replace(before, after)
    names = {}
    exec(program, names)
    assert names["results"]["lean_true"].shape == (2, 1, 2, 40)
    own = {name: content for name, content in bucket.sealed().items() if "/c/" in name}
    assert own == {name: content for name, content in laptop.items() if "/c/" in name}


def test_tasks_of_an_array_in_pods_and_what_ends_it_elsewhere(
    credentials, bucket, laptop, tmp_path, monkeypatch, capsys
):
    """Two shards by jobs/array_task.sh, as a service numbers them; this machine does the rest."""
    study = [word for word in arguments("unused", **SMALL) if not word.startswith("outputs=")]
    in_bucket = f"store.url=s3://{bucket.name}/studies"
    start = "import os, sys; os.execvp('sh', ['sh', sys.argv[1], *sys.argv[2:]])"
    for index in range(2):
        variables = {
            "AWS_BATCH_JOB_ARRAY_INDEX": str(index),
            "AWS_BATCH_JOB_ARRAY_SIZE": "2",
            "PIPELINE": f"{sys.prefix}/bin/pipeline",
        }
        done = Pod(f"task-{index}", {**credentials, **variables}).run(
            ["-c", start, str(ROOT / "jobs/array_task.sh"), *study, in_bucket]
        )
        assert done.returncode == 0 and f"shard {index + 1}/2 is done" in done.stdout, done.stderr
    for name, value in credentials.items():
        monkeypatch.setenv(name, value)
    without_report(monkeypatch)
    assert main([*arguments(tmp_path / "here", **SMALL), in_bucket]) == 0
    assert "nothing to do: all 8 units were done before" in capsys.readouterr().out
    assert bucket.sealed() == laptop


RELEASES = """
import os
from pipeline.__main__ import main

rows = [f"p{person},{person % 2},{person % 3 % 2},1" for person in range(60)]
with open("/tmp/data.csv", "w") as data:
    data.write("\\n".join(["person,a,b,c", *rows]))
words = "task=release problem=response data.path=/tmp/data.csv outputs=/tmp/released"
code = main([*words.split(), "parameters.epsilon_user=1", "parameters.delta=1e-6"])
print(code, os.getuid(), *sorted(os.listdir("/tmp/released")))
"""


def test_real_data_are_released_in_a_pod():
    """By a user without a name and a home, on a root that nobody writes."""
    pytest.importorskip("opendp")
    done = Pod("release", {}).run(["-c", RELEASES])
    assert done.returncode == 0, done.stderr
    code, user, *files = done.stdout.splitlines()[-1].split()
    assert code == "0" and int(user) == pods.USER and "release.json" in files, done.stdout
