"""docs/workflows.md: examples of Make and Snakemake; a step is repeated while there is more to do, and only then."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.engine import ROOT, arguments, environment

SNAKEMAKE = "snakemake==9.27.1"  # with an environment of its own: half of what it needs would change versions here


def example(name):
    """The first listing below a heading of the page."""
    return (
        (ROOT / "docs/workflows.md")
        .read_text("utf-8")
        .partition(f"## {name}\n\n```text\n")[2]
        .partition("```")[0]
    )


def words(where, **changes):
    """Arguments of a tiny study but for its name, as one text."""
    return " ".join(
        word
        for word in arguments(where / "outputs", **changes)
        if not word.startswith("experiment=")
    )


@pytest.fixture
def shell(tmp_path):
    """Environment in which the first call of the command does one of two shards and says that there is more to do."""
    command = tmp_path / "bin/pipeline"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n'
        f'[ $(wc -l < {tmp_path}/calls) = 1 ] || exec {sys.executable} -m pipeline "$@"\n'
        f'{sys.executable} -m pipeline "$@" shard=1/2 && exit 75\n'
    )
    command.chmod(0o755)
    plain = {
        name: value for name, value in environment().items() if "MAKE" not in name
    }  # `make test` sets its own
    return plain | {"PATH": f"{command.parent}:{plain['PATH']}"}


def snakemake():
    """The command, from an environment of its own, which is made where there is none yet."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    within = [uv or "uv", "tool", "run", "--quiet", "--from", SNAKEMAKE]
    environment_is_made = [*within, "python", "-c", "pass"]
    if not uv or subprocess.run(environment_is_made, capture_output=True, timeout=900).returncode:
        pytest.fail("no Snakemake can be had") if os.environ.get("CI") else pytest.skip(
            "no Snakemake can be had"
        )
    return [*within, "snakemake"]


def test_snakemake_repeats_a_study_until_it_is_done(tmp_path, shell):
    (tmp_path / "Snakefile").write_text(example("Snakemake").replace(', "xu/scenario_2"', ""))
    done = subprocess.run(
        [*snakemake(), "--cores", "1", "--config", f"words={words(tmp_path, cluster='local')}"],
        cwd=tmp_path,
        env=shell,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0 and (tmp_path / "done/xu/lemmas").exists(), done
    assert list(tmp_path.rglob("results.zarr"))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2 and calls[0] == calls[1] and "cluster.workers=1" in calls[0]


def test_make_repeats_a_study_until_it_is_done(tmp_path, shell):
    (tmp_path / "Makefile").write_text(example("Make"))

    def make(study):
        return subprocess.run(
            ["make", f"STUDIES={study}", f"WORDS={words(tmp_path)}"],
            cwd=tmp_path,
            env=shell,
            capture_output=True,
            text=True,
            timeout=900,
        )

    done = make("xu/lemmas")
    assert done.returncode == 0 and (tmp_path / "done/xu/lemmas").exists(), done
    assert done.stdout.count("units to do") == 2 and list(tmp_path.rglob("results.zarr")), (
        done.stdout
    )
    assert make("xu/lemmas").stdout == "make: Nothing to be done for 'all'.\n"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2 and calls[0] == calls[1]
    done = make("xu/nothing")
    assert done.returncode == 2 and "experiment=xu/nothing: no such experiment" in done.stderr
    assert len((tmp_path / "calls").read_text().splitlines()) == 3, "bad input is not tried again"
