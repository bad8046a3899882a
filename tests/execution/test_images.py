"""Images and the recipes for services that start them: built where tools for that are, else their parts are tried.

The engines' own parsers are not here: Containerfile, definition and recipes are read by the rules that they use. What
builds the image is one script, which `FAULTS=full` runs where the image would have it, in a mount namespace.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.helpers.engine import ROOT, environment
from tests.helpers.servers import pods
from tests.helpers.servers.pods import Pod

JOBS = ROOT / "jobs"
INSTRUCTIONS = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}
ENGINES = ("buildah", "podman", "docker", "apptainer")
NO_BASE = re.compile("(pinging|initializing source|pulling) .*docker", re.I)
VALUE_OF_KUBERNETES = re.compile(r"\$\((\w+)\)")


def instructions():
    """(stage, instruction, rest) of the Containerfile; stages count from 1."""
    text = (JOBS / "Containerfile").read_text()
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    found, stage = [], 0
    for line in filter(str.strip, lines):
        name, _, rest = line.partition(" ")
        stage += name == "FROM"
        found.append((stage, name, rest.strip()))
    return found


def copied():
    """Sources in this checkout that the first stage copies, and where they go."""
    for stage, name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from="):
            assert stage == 1
            *sources, target = rest.split()
            for source in sources:
                yield source, (target + source if target.endswith("/") else target)


def definition():
    """Sections of the Apptainer definition, by name, and its header."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (JOBS / "pipeline.def").read_text())
    header, *sections = re.split(r"(?m)^%", text)
    named = dict(section.split("\n", 1) for section in sections)
    return dict(re.findall(r"(?m)^(\w+): (.+)$", header)), named


def test_the_containerfile_is_well_formed():
    found = instructions()
    assert {name for _, name, _ in found} <= INSTRUCTIONS
    assert [name for _, name, _ in found][:2] == ["ARG", "FROM"]
    for stage, name, rest in found:
        if name in ("ENTRYPOINT", "CMD"):
            assert all(isinstance(word, str) for word in json.loads(rest))
        if name == "COPY" and rest.startswith("--from="):
            source, _, target = rest.removeprefix("--from=").partition(" ")
            assert source == "build" and stage == 2 and len(target.split()) == 2
    assert [rest for _, name, rest in found if name == "RUN"] == ["sh jobs/image.sh /opt/pipeline"]
    assert {name: rest for _, name, rest in found}["USER"] == "12345:0", (
        "no root, and the group that may read"
    )


def test_all_that_is_copied_is_there_and_nothing_of_it_is_ignored():
    ignored = (JOBS / "Containerfile.dockerignore").read_text().split()
    for source, _ in copied():
        assert (ROOT / source).exists(), source
        assert source.split("/")[0] not in ignored
    needed = {
        "constraints.txt",
        "pyproject.toml",
        "README.md",
        "pipeline",
        "tools",
        "conf",
        "jobs",
        "docs/papers.md",
    }
    assert {source for source, _ in copied()} >= needed, "what the wheel is made of"


def test_the_definition_for_apptainer_makes_the_same():
    header, sections = definition()
    assert header == {"Bootstrap": "docker", "From": "python:3.11-slim-bookworm"}
    assert header["From"] in instructions()[0][2], "the base of the Containerfile"
    pairs = [line.split() for line in sections["files"].splitlines() if line.strip()]
    assert [(source, target.removeprefix("/src/")) for source, target in pairs] == [
        (source, target.removeprefix("./"))
        for source, target in sorted(
            copied(), key=lambda one: [pair[0] for pair in pairs].index(one[0])
        )
    ]
    assert "sh jobs/image.sh /opt/pipeline\n" in sections["post"]
    entry = json.loads(next(rest for _, name, rest in instructions() if name == "ENTRYPOINT"))
    assert shlex.split(sections["runscript"]) == ["exec", *entry, "$@"]
    for name in ("post", "environment", "runscript", "test"):
        assert subprocess.run(["sh", "-n"], input=sections[name], text=True).returncode == 0


@pytest.mark.parametrize("script", ["image.sh", "array_task.sh"])
def test_scripts_are_shell_of_every_system(script):
    """In dash, if it is there: images have no bash."""
    assert subprocess.run([shutil.which("dash") or "sh", "-n", JOBS / script]).returncode == 0


@pytest.mark.parametrize(
    "variables, shard",
    [
        ({"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "20"}, "1/20"),
        ({"AWS_BATCH_JOB_ARRAY_INDEX": "19", "SHARDS": "20"}, "20/20"),
        ({"JOB_COMPLETION_INDEX": "3", "SHARDS": "20"}, "4/20"),
        ({"JOB_COMPLETION_INDEX": "3"}, None),
        ({"SHARDS": "20"}, None),
    ],
)
def test_a_task_of_an_array_takes_its_shard(variables, shard):
    done = subprocess.run(
        ["sh", JOBS / "array_task.sh", "a=b c"],
        capture_output=True,
        text=True,
        env=environment(PIPELINE="echo", TMPDIR="/scratch", **variables),
    )
    if shard is None:
        assert done.returncode == 2 and "give SHARDS=N" in done.stderr
    else:
        assert done.stdout == f"outputs=/scratch/outputs a=b c shard={shard}\n"


def recipes():
    """The objects of the recipe for Kubernetes, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all((JOBS / "kubernetes.yaml").read_text())}


def containers(value):
    """All containers anywhere in an object, with the pod that each is in."""
    if isinstance(value, dict):
        for container in value.get("containers", ()):
            yield value, container
        for inner in value.values():
            yield from containers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from containers(inner)


def test_pods_of_the_recipe_have_what_a_read_only_root_needs():
    found = [*containers([*recipes().values()])]
    assert [container["name"] for _, container in found] == ["shard", "worker", "scheduler"]
    for pod, container in found:
        volumes = {volume["name"] for volume in pod["volumes"]}
        assert [one["mountPath"] for one in container["volumeMounts"]] == ["/tmp"]
        assert {one["name"] for one in container["volumeMounts"]} == volumes
        assert (
            container["securityContext"]["readOnlyRootFilesystem"]
            and container["securityContext"]["runAsNonRoot"]
        )
        assert all(isinstance(word, str) for word in container["args"])


def test_the_jobs_of_the_recipe_have_as_many_shards_as_tasks():
    job = recipes()["Job"]["spec"]
    ((_, container),) = containers(job)
    assert {"name": "SHARDS", "value": str(job["completions"])} in container["env"]
    assert job["completionMode"] == "Indexed" and container["args"][0] == "pipeline-array-task"


def test_options_of_workers_and_schedulers_are_those_of_dask():
    """`--version` ends the program after all options before it were read."""
    for name in ("worker", "scheduler"):
        ((_, container),) = containers(recipes()["DaskCluster"]["spec"][name])
        words = [VALUE_OF_KUBERNETES.sub("name", word) for word in container["args"]]
        assert words[:2] == ["dask", name]
        module = f"distributed.cli.dask_{name}"
        done = subprocess.run(
            [sys.executable, "-m", module, *words[2:], "--version"], capture_output=True, text=True
        )
        assert done.returncode == 0 and "version" in done.stdout, done.stderr


def test_the_recipe_for_aws_batch_is_what_its_service_takes():
    """By the service's own description of its requests."""
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.validate import validate_parameters

    shape = session.get_service_model("batch").operation_model("RegisterJobDefinition").input_shape
    definition = json.loads((JOBS / "aws_batch.json").read_text())
    validate_parameters(definition, shape)
    with pytest.raises(Exception, match="Unknown parameter"):
        validate_parameters(definition | {"retries": 1}, shape)
    assert definition["containerProperties"]["command"][0] == "pipeline-array-task"
    assert {"onExitCode": "75", "action": "RETRY"} in definition["retryStrategy"]["evaluateOnExit"]


def engine():
    """A program that builds images here and now; None if there is none."""
    for name in filter(shutil.which, ENGINES):
        if (
            name == "apptainer"
            or subprocess.run([name, "info"], capture_output=True).returncode == 0
        ):
            return name
    return None


@pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="installs all packages: make faults")
@pytest.mark.skipif(engine() is None, reason="no program is here that builds images")
def test_the_image_is_built_and_starts(tmp_path):
    name = engine()
    if name == "apptainer":
        image = str(tmp_path / "pipeline.sif")
        build = [name, "build", image, "jobs/pipeline.def"]
        start = [name, "run", image, "pipeline", "--version"]
    else:
        image = f"pipeline-test-{os.getpid()}"
        build = [name, "build", "--file", "jobs/Containerfile", "--tag", image, "."]
        start = [
            name,
            "run",
            "--rm",
            "--read-only",
            "--tmpfs",
            "/tmp",
            image,
            "pipeline",
            "--version",
        ]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    if NO_BASE.search(built.stderr):
        pytest.skip("the base image cannot be had here")
    assert built.returncode == 0, built.stderr[-2000:]
    if name != "buildah":  # which starts none
        started = subprocess.run(start, capture_output=True, text=True)
        assert "private-learning-pipeline" in started.stdout or started.returncode == 0, (
            started.stderr
        )


@pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="installs all packages: make faults")
def test_what_builds_the_image_makes_what_runs_in_a_pod(tmp_path):
    if reason := pods.missing():
        pytest.skip(reason)
    (tmp_path / "opt").mkdir()
    for source, target in copied():
        place = tmp_path / "src" / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, place)
    path = os.pathsep.join([f"{sys.base_prefix}/bin", os.environ["PATH"]])
    (command,) = (rest for _, name, rest in instructions() if name == "RUN")
    inside = f"mount --bind {tmp_path}/opt /opt && cd {tmp_path}/src && {command}"
    built = subprocess.run(
        ["unshare", "--mount", "sh", "-c", inside],
        env=os.environ | {"PATH": path},
        text=True,
        capture_output=True,
    )
    assert built.returncode == 0, built.stderr
    entry = json.loads(next(rest for _, name, rest in instructions() if name == "ENTRYPOINT"))
    pod = Pod("image", {}, f'mkdir "$root/opt"; mount --bind {tmp_path}/opt "$root/opt"')
    words = [
        "/opt/pipeline/bin/pipeline",
        "experiment=xu/lemmas",
        "size=quick",
        "outputs=/tmp/outputs",
        "cluster.workers=1",
    ]
    start = (
        f"import os; os.environ.update(PATH='/opt/pipeline/bin'); os.environ.pop('PYTHONPATH'); "
        f"os.execv('/opt/pipeline/bin/python', {[*entry, *words]!r})"
    )
    done = pod.run(["-c", start])
    assert done.returncode == 0 and "report: /tmp/outputs/xu/lemmas-" in done.stdout, done.stderr
