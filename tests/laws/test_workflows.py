"""docs/workflows.md: Make's example, word for word; a step is repeated while there is more to do, and only then."""

import subprocess
import sys

from engine import ROOT, arguments, environment

MAKEFILE = (ROOT / "docs/workflows.md").read_text("utf-8").partition("## Make\n\n```text\n")[2].partition("```")[0]


def test_make_repeats_a_study_until_it_is_done(tmp_path):
    """The first call does one of two shards and says that there is more to do."""
    (tmp_path / "Makefile").write_text(MAKEFILE)
    command = tmp_path / "bin/pipeline"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho \"$@\" >> {tmp_path}/calls\n"
                       f"[ $(wc -l < {tmp_path}/calls) = 1 ] || exec {sys.executable} -m pipeline \"$@\"\n"
                       f"{sys.executable} -m pipeline \"$@\" shard=1/2 && exit 75\n")
    command.chmod(0o755)
    words = " ".join(word for word in arguments(tmp_path / "outputs") if not word.startswith("experiment="))
    shell = {name: value for name, value in environment().items() if "MAKE" not in name}  # `make test` sets its own

    def make(study):
        return subprocess.run(["make", f"STUDIES={study}", f"WORDS={words}"], cwd=tmp_path, capture_output=True,
                              text=True, env=shell | {"PATH": f"{command.parent}:{shell['PATH']}"}, timeout=900)

    done = make("xu/lemmas")
    assert done.returncode == 0 and (tmp_path / "done/xu/lemmas").exists(), done
    assert done.stdout.count("units to do") == 2 and list(tmp_path.rglob("results.zarr")), done.stdout
    assert make("xu/lemmas").stdout == "make: Nothing to be done for 'all'.\n"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2 and calls[0] == calls[1]
    done = make("xu/nothing")
    assert done.returncode == 2 and "experiment=xu/nothing: no such experiment" in done.stderr
    assert len((tmp_path / "calls").read_text().splitlines()) == 3, "bad input is not tried again"
