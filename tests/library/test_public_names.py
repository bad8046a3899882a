"""The public names stand in one place, and the reference, the docstring and the types have the same."""

import ast
import re

import pytest

import pipeline as pl
from pipeline.identity.registry import problems
from tests.helpers.engine import ROOT

SOURCE = ROOT / "pipeline/__init__.py"
REFERENCE = ROOT / "docs/reference/library.md"
SHOWN = re.compile(r"^\.\. auto(?:function|class|exception):: pipeline\.(\w+)$", re.M)


def in_reference():
    return SHOWN.findall(REFERENCE.read_text())


def for_types():
    """What a type checker sees of the names that are loaded late."""
    imports = [node for node in ast.walk(ast.parse(SOURCE.read_text())) if hasattr(node, "names")]
    return [
        one.asname
        for node in imports
        for one in node.names
        if one.asname and one.name == one.asname
    ]


@pytest.mark.parametrize("listed", [in_reference, for_types])
def test_the_public_names_are_those_of_the_reference_and_of_types(listed):
    assert sorted(listed()) == sorted(pl.__all__)


def test_the_docstring_names_each():
    named = set(re.findall(r"`(\w+)", pl.__doc__))
    assert {*pl.__all__, "study"} <= named


def test_what_is_offered_is_what_is_public():
    assert {*dir(pl)} == {*pl.__all__, *problems(), "__version__"}
    assert len({*pl.__all__}) == len(pl.__all__)
    for name in pl.__all__:
        assert callable(getattr(pl, name)) and not name.startswith("_")


def test_a_name_that_is_not_public_is_an_error_that_suggests_one():
    with pytest.raises(AttributeError, match="no attribute 'simulat'; did you mean 'simulate'"):
        pl.simulat  # noqa: B018
