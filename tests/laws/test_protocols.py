"""Law: every part of every problem satisfies the protocol of its kind, at run time and for a type checker."""

import subprocess
import sys

import pytest

from pipeline.identity.registry import problems
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.study.protocols import PROTOCOLS, PlainData
from tests.helpers.engine import ROOT

PARTS = [
    (one.name, kind, name)
    for one in problems().values()
    for kind in PROTOCOLS
    for name in one.names(kind)
]


def missing(part, kind):
    """Members of the protocol that a class does not have."""
    protocol = PROTOCOLS[kind]
    members = {
        *protocol.__annotations__,
        *(name for name, member in vars(protocol).items() if callable(member)),
    }
    members = {name for name in members if not name.startswith("_") or name == "__call__"}
    return {
        name for name in members if not any(name in vars(base) for base in part.__mro__)
    }  # all have a __call__


@pytest.mark.parametrize("of, kind, name", PARTS)
def test_a_part_has_every_member_of_its_protocol(of, kind, name):
    assert missing(problems()[of].part(kind, name), kind) == set()


def test_a_missing_member_is_found():
    """The negative control."""
    assert missing(Debiased, "mechanism") == {"unit", "neighbours", "budget", "releases", "release"}
    assert isinstance(Debiased(m=3), PROTOCOLS["estimator"]) and not isinstance(
        Debiased(m=3), PROTOCOLS["model"]
    )


def test_data_that_can_be_released_without_privacy_say_what_that_gives():
    models = [one.part("model", name) for one in problems().values() for name in one.names("model")]
    for model in models:
        assert callable(model.produces.release_plainly) and isinstance(
            model.produces.plain_release, type
        )
    assert isinstance(object.__new__(models[0].produces), PlainData)


def test_signatures_satisfy_a_type_checker(tmp_path):
    """One assignment `part: type[Protocol] = Class` for every part; the last one is wrong on purpose."""
    lines = ["from pipeline.study import protocols"]
    for number, (of, kind, name) in enumerate([*PARTS, ("ranking", "model", "btl")]):
        part, protocol = problems()[of].part(kind, name), PROTOCOLS[kind].__name__
        protocol = "Metric" if number == len(PARTS) else protocol  # the negative control
        lines += [
            f"import {part.__module__}",
            f"part_{number}: type[protocols.{protocol}] = {part.__module__}.{part.__qualname__}",
        ]
    table = tmp_path / "table_of_parts.py"
    table.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", table], cwd=ROOT, capture_output=True, text=True
    )
    errors = [
        line
        for line in done.stdout.splitlines()
        if "table_of_parts.py:" in line and ": error:" in line
    ]
    assert len(errors) == 1 and f"table_of_parts.py:{len(lines)}:" in errors[0], (
        done.stdout + done.stderr
    )
