"""Law: every part of every problem satisfies the protocol of its kind, at run time and for a type checker."""

import ast
import subprocess
import sys
from dataclasses import dataclass

import pytest

from pipeline.identity.registry import problems
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.study.parameters import parameter
from pipeline.study.parts import BASES, complete
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
    needed = {"guarantee", "releases", "release"}
    defaults = {"spent", "attacks", "remark", "stated", "promise"}
    assert missing(Debiased, "mechanism") == needed | defaults
    assert isinstance(Debiased(m=3), PROTOCOLS["estimator"]) and not isinstance(
        Debiased(m=3), PROTOCOLS["model"]
    )


@pytest.mark.parametrize("of, kind, name", PARTS)
def test_a_part_derives_from_the_base_of_its_kind(of, kind, name):
    assert issubclass(problems()[of].part(kind, name), BASES[kind])


def test_a_class_of_no_base_gets_the_defaults_that_it_lacks():
    @dataclass(frozen=True)
    class Own:
        """A part of a person, with a parameter of the name of a default."""

        memory: float = parameter("of people, in seconds", default=1.0)

        def spent(self):
            return {"one answer": 2.0}

    complete("mechanism", Own)
    own = Own(memory=3.0)
    assert own.spent() == {"one answer": 2.0} and own.memory == 3.0
    assert own.attacks() == {} and own.together() == 1 and own.remark(None) is None
    assert not issubclass(Own, BASES["mechanism"])


def test_only_what_completes_parts_asks_them_by_name():
    """Readers of parts ask for what every part has: no `hasattr` or `getattr` of a default's name."""
    optional = {name for base in BASES.values() for name in dir(base) if not name.startswith("_")}
    asked = {
        (path.name, node.args[1].value)
        for path in (ROOT / "pipeline").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr")
        if len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    }
    where = {name for name, member in asked if member in optional - {"source"}}
    assert where == {"contracts.py"}  # which sees classes before they are complete
    assert "plain_release" in {member for _, member in asked}  # the negative control


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
