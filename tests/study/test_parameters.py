"""Parameters: what is accepted, in which type, and what a refusal says."""

import dataclasses
import math
import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.study.parameters import (
    LISTED,
    Checked,
    DataFile,
    InvalidInput,
    check,
    describe,
    fields,
    nearest,
    parameter,
    shorten,
)


@dataclasses.dataclass(frozen=True)
class Part:
    """All kinds of parameters."""

    whole: int = parameter("items", low=2, high=10)
    real: float = parameter("a budget", above=0, infinite=True)
    open: float = parameter("a share", default=0.5, above=0, below=1)
    name: str = parameter("a word", default="a")
    choice: str = parameter("a choice", default="fixed", choices=("fixed", "redrawn"))
    flag: bool = parameter("a flag", default=False)
    maybe: int | None = parameter("perhaps", default=None, low=1)


KNOWN = fields(Part)


@pytest.mark.parametrize(
    "name, value, result",
    [
        ("whole", 2, 2),
        ("whole", 10, 10),
        ("whole", 3.0, 3),
        ("whole", 1e1, 10),
        ("real", 1, 1.0),
        ("real", 1e-300, 1e-300),
        ("real", math.inf, math.inf),
        ("open", 0.999, 0.999),
        ("name", "", ""),
        ("choice", "redrawn", "redrawn"),
        ("flag", True, True),
        ("maybe", None, None),
        ("maybe", 5, 5),
    ],
)
def test_accepted_in_the_declared_type(name, value, result):
    found = check(KNOWN[name], value, name)
    assert found == result and type(found) is type(result)


@pytest.mark.parametrize(
    "name, value",
    [
        ("whole", 1),
        ("whole", 11),
        ("whole", 2.5),
        ("whole", "3"),
        ("whole", True),
        ("whole", None),
        ("whole", math.nan),
        ("whole", math.inf),
        ("whole", 10**400),
        ("whole", [3]),
        ("real", 0),
        ("real", -1),
        ("real", -math.inf),
        ("real", math.nan),
        ("real", 10**400),
        ("real", "1"),
        ("real", False),
        ("open", 0),
        ("open", 1),
        ("name", 5),
        ("name", None),
        ("name", "a\0"),
        ("name", "\udcff"),
        ("choice", "fixd"),
        ("choice", 0),
        ("flag", 1),
        ("flag", "true"),
        ("maybe", 0),
        ("maybe", "x"),
        ("maybe", 1j),
    ],
)
def test_refused_with_the_key_and_what_is_allowed(name, value):
    with pytest.raises(InvalidInput) as refusal:
        check(KNOWN[name], value, f"parameters.{name}")
    text = str(refusal.value)
    assert text.startswith(f"parameters.{name}=") and ("must be" in text or "allowed:" in text)
    assert "\n" not in text and len(text) < 250


@dataclasses.dataclass(frozen=True)
class Same(Checked):
    """Parameters that are given the same values again and again."""

    count: int = parameter("items", low=1)
    file: DataFile | None = parameter("a file", default=None)


def test_a_value_is_taken_for_one_that_was_checked_before_only_where_it_is_that(tmp_path):
    for count in (1, 1.0, 1, np.int64(1), np.array(1)):
        made = Same(count)
        assert (made.count, type(made.count)) == (1, int)
    for count in (True, 0, "1", np.array(0)):
        with pytest.raises(InvalidInput):
            Same(count)
    changing = np.array(1)
    assert Same(changing).count == 1
    changing[()] = 2
    assert Same(changing).count == 2
    path = str(tmp_path / "data")
    seen = set()
    for text in ("a", "b"):
        pathlib.Path(path).write_text(text)
        seen.add(Same(1, path).file.sha256)
    assert len(seen) == 2


def test_infinity_only_where_declared_and_never_in_whole_numbers():
    typed = parameter("either", infinite=True)
    for kind, fine in (("int", False), ("float", True)):
        typed.type, typed.name = kind, "x"
        if fine:
            assert check(typed, math.inf, "x") == math.inf
        else:
            with pytest.raises(InvalidInput, match="finite"):
                check(typed, math.inf, "x")


def test_minus_zero_is_zero():
    @dataclasses.dataclass
    class Signed:
        x: float = parameter("x")

    assert math.copysign(1, check(fields(Signed)["x"], -0.0, "x")) == 1


def test_a_text_where_a_number_is_wanted_is_shown_as_text():
    with pytest.raises(InvalidInput, match=r"m='10': must be a whole number"):
        check(KNOWN["whole"], "10", "m")


def test_described():
    assert describe(KNOWN["whole"]) == "a whole number ≥ 2 and ≤ 10"
    assert describe(KNOWN["maybe"]) == "a whole number ≥ 1 or null"
    assert describe(KNOWN["choice"]) == "one of fixed, redrawn"
    assert describe(KNOWN["flag"]) == "true or false"
    assert describe(parameter_of(2**63)) == "a whole number < 9,223,372,036,854,775,808"


def parameter_of(below):
    found = parameter("x", below=below)
    found.type = int
    return found


def test_nearest_names_the_nearest_and_stays_short():
    assert (
        nearest("kendal", ["kendall", "error"]) == "did you mean 'kendall'? allowed: error, kendall"
    )
    assert nearest("zzz", ["b", "a"]) == "allowed: a, b"
    assert nearest("a", []) == "allowed: nothing"
    many = nearest("q", [f"name_{i:03}" for i in range(1000)])
    assert many.endswith("name_010, …") and len(many) <= len("allowed: ") + LISTED + 3


@given(st.text(max_size=200), st.integers(2, 80))
def test_shortened_text_is_one_printable_line(text, width):
    short = shorten(text, width)
    assert len(short) <= width and short.isprintable()
    assert shorten(short, width) == short


@pytest.mark.parametrize(
    "value, text", [(None, "null"), (True, "true"), (False, "false"), (1.0, "1.0")]
)
def test_shown_as_a_config_writes_it(value, text):
    assert shorten(value) == text


def test_classes_that_share_a_field_are_independent():
    """A dataclass writes into its fields whether they are given by name only."""
    shared = parameter("people", low=1)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class ByName(Checked):
        people: int = shared

    @dataclasses.dataclass(frozen=True)
    class ByPosition(Checked):
        people: int = shared

    assert ByPosition(3).people == ByName(people=3).people == 3
    with pytest.raises(TypeError):
        ByName(3)
