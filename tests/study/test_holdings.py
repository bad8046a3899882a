"""What a part changes in spite of frozen arrays: fields, containers and tables; what is its objects' own stays free."""

import array
import collections
import dataclasses
import functools
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.sparse import csr_array

from pipeline.identity.patches import patches
from pipeline.study import handover
from pipeline.study.contents import digest_of
from pipeline.study.frozen import frozen
from pipeline.study.handover import InputWritten, call


@dataclasses.dataclass(frozen=True)
class Release:
    """With one field."""

    field: Any

    def counted(self):
        vars(self).setdefault("_cache", []).append(1)
        return len(vars(self)["_cache"])


class Plain:
    """No dataclass; it counts how often it was asked."""

    def __init__(self):
        self.asked, self.log = 0, [0]

    def ask(self):
        self.asked += 1
        self.log.append(self.asked)
        return self.asked


@pytest.fixture(autouse=True)
def nothing_spoilt(monkeypatch):
    monkeypatch.setattr(handover, "_spoilt", {})


def item(place, value):
    return lambda field: field.__setitem__(place, value)


CHANGES = {  # what -> what is in the field, and how it is changed
    "a Counter": (lambda: collections.Counter(a=1), lambda field: field.update(b=1)),
    "a defaultdict": (lambda: collections.defaultdict(float, a=1.0), item("a", 2.0)),
    "an OrderedDict": (lambda: collections.OrderedDict(a=1.0), lambda field: field.clear()),
    "a set": (lambda: {1, 2}, lambda field: field.add(3)),
    "a deque": (lambda: collections.deque([1.0]), lambda field: field.appendleft(2.0)),
    "a bytearray": (lambda: bytearray(b"\1"), item(0, 2)),
    "an array": (lambda: array.array("d", [1.0]), item(0, 2.0)),
    "a memoryview": (lambda: memoryview(bytearray(b"\1")), item(0, 2)),
    "a list": (lambda: [1.0], lambda field: list.append(field, 2.0)),
    "a DataFrame": (lambda: pd.DataFrame({"a": [1.0, 2.0]}), item("a", 5.0)),
    "a Series": (lambda: pd.Series([1.0, 2.0]), lambda field: field.update(pd.Series([3.0]))),
    "a csr_array": (
        lambda: csr_array(np.eye(2)),
        lambda field: setattr(field, "data", field.data * 5),
    ),
    "a Dataset": (lambda: xr.Dataset({"a": ("x", [1.0])}), item("a", ("x", [5.0]))),
    "a DataArray": (
        lambda: xr.DataArray([1.0]),
        lambda field: setattr(field, "values", np.ones(1) * 5),
    ),
    "the shape or the type of an array": (
        lambda: np.ones((2, 3)),
        lambda field: setattr(field, "shape", (3, 2)),
    ),
    "an attribute of a Plain": (Plain, lambda field: vars(field).update(asked=7)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_no_array_is_compared(what):
    make, change = CHANGES[what]
    release = Release(make())
    line = rf"^estimator x changes {what}: other parts read it, too; a part that must write copies first: "
    call("estimator x", lambda given: repr(given.field), (release,))  # it reads: nothing is said
    with pytest.raises(InputWritten, match=line):
        call("estimator x", lambda given: change(given.field), (release,))
    with pytest.raises(InputWritten, match=line):  # and nobody computes with it
        call("estimator y", lambda given: 1, (release,))
    call("estimator y", lambda given: 1, (Release(make()),))


@pytest.mark.parametrize(
    "set_field",
    [
        lambda given: object.__setattr__(given, "field", 2),
        lambda given: vars(given).update(field=2),
    ],
)
def test_fields_stay_what_they_are(set_field):
    with pytest.raises(InputWritten, match="^estimator x changes a field of a Release: "):
        call("estimator x", set_field, (Release(1),))


def test_arrays_of_a_deque_are_read_only():
    release = Release(collections.deque([np.zeros(2)]))
    with pytest.raises(InputWritten, match="read-only"):
        call("estimator x", lambda given: given.field[0].fill(1), (release,))


def looked_up(values):
    """A function that gives the array that it holds."""
    return lambda: values


def nested(values):
    return functools.partial(lambda function: function()["values"], looked_up({"values": values}))


def as_argument(values):
    return functools.partial(np.asarray, values)


@pytest.mark.parametrize("make", [looked_up, nested, as_argument])
def test_arrays_that_functions_hold_are_read_only(make):
    """In the variables around a function, and as arguments that are set: other parts call it, too."""
    values = np.zeros(3)
    release = Release(make(values))

    def writes(given):
        given.field()[0] = 1

    def writes_nevertheless(given):
        np.add.at(given.field(), 0, 1)

    with pytest.raises(InputWritten, match="estimator mine writes into what it is given .line"):
        call("estimator mine", writes, (release,))
    assert values[0] == 0
    with pytest.raises(InputWritten, match="by code that does not heed that it is read-only"):
        call("estimator mine", writes_nevertheless, (release,))


def test_functions_are_what_they_were():
    """Without an array, with a variable that is not set yet, and around a part that writes to an array of its own."""

    class Part:
        def __init__(self):
            self.room = np.zeros(2)

        def release(self):
            return Release(lambda: self.room.copy())

        def unset(self):
            def early():
                return late

            release = Release(early)
            frozen(release)
            late = np.zeros(1)
            return release

    part = Part()
    assert (call("estimator mine", lambda given: given.field(), (part.release(),)) == 0).all()
    part.room[0] = 1
    assert (part.unset().field() == 0).all()
    assert call("estimator mine", lambda given: given.field(2.5), (Release(round),)) == 2


def test_a_hand_over_changes_no_code():
    """What the program remembers of classes is no constant of it, which a person might have replaced."""
    call("estimator x", lambda given: given.field, (Release(Plain()),))
    assert not any(
        patches(name) for name in sys.modules if name.startswith("pipeline.study.frozen")
    )


def test_what_objects_do_to_themselves_is_theirs():
    release, plain, default = Release(1), Plain(), collections.defaultdict(float)
    given = Release((release, plain, default))
    assert call(
        "estimator x", lambda one: (one.field[0].counted(), one.field[1].ask()), (given,)
    ) == (1, 1)
    assert call(
        "estimator x", lambda one: (one.field[0].counted(), one.field[1].ask()), (given,)
    ) == (2, 2)
    assert call("estimator x", lambda one: one.field[2]["new"], (given,)) == 0.0
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    frame["c"] = 1.0  # of several blocks, which reading consolidates
    matrix = csr_array(np.eye(3))
    assert (
        call("estimator x", lambda one: one.field[0].to_numpy().sum(), (Release((frame, matrix)),))
        == 4.0
    )
    assert (
        call("estimator x", lambda one: (one.field[1] @ matrix).sum(), (Release((frame, matrix)),))
        == 3.0
    )


def test_digests_tell_tables_apart():
    for make, change in CHANGES.values():
        one, other = make(), make()
        assert digest_of(one) == digest_of(other)
        change(other)
        same = isinstance(one, Plain)  # of other objects the name of the class counts
        assert (digest_of(one) == digest_of(other)) == same
