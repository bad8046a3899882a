"""What is handed over cannot be written to: arrays of all kinds of objects, before and after; all ways to write."""

import copy
import ctypes
import dataclasses
import mmap
import pathlib
import pickle
import threading
import types
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

import pipeline as pl
from pipeline.study import handover
from pipeline.study.frozen import frozen, read_only
from pipeline.study.frozen_arrays import arrays, is_frozen
from pipeline.study.frozen_containers import ReadOnly
from pipeline.study.handover import InputWritten, PartEnds, call

ADVICE = r"other parts read it, too; a part that must write copies first: np.array\(x\)"


@lru_cache
def everybodys():
    return np.zeros(3)


@dataclasses.dataclass(frozen=True)
class Fields:
    """A frozen dataclass of many kinds of things."""

    plain: Any = None
    nested: Any = None

    @cached_property
    def once(self):
        return np.zeros(3)

    @cached_property
    def listed(self):
        return [np.zeros(3)]

    @property
    def of_everybody(self):
        return everybodys()

    def kept(self, key):
        kept = self.__dict__.setdefault("_kept", {})
        if key not in kept:
            kept[key] = np.zeros(3)
        return kept[key]

    def set_as_frozen_dataclasses_do(self):
        if "own" not in vars(self):
            object.__setattr__(self, "own", np.zeros(3))
        return vars(self)["own"]

    def fresh(self):
        return np.zeros(3)


class Drawing:
    """Draws when it is asked, and counts how often."""

    def __init__(self, rng):
        self._rng, self._drawn, self.asked, self.log = rng, None, 0, []

    @property
    def drawn(self):
        self.asked += 1
        self.log.append(self.asked)
        if self._drawn is None:
            self._drawn = self._rng.random(3)
        return self._drawn

    def __getitem__(self, place):
        return self.drawn[place]

    def __len__(self):
        return 3

    def parts(self):
        for number in range(3):
            self.last = np.full(2, number)
            yield self.last


@dataclasses.dataclass(slots=True)
class Slots:
    """Without a dictionary of attributes."""

    array: Any


class Pair(NamedTuple):
    """A tuple with names."""

    first: Any
    second: Any


def test_arrays_of_all_kinds_of_objects():
    array, matrix = np.zeros(3), np.zeros((2, 2))
    whole = Fields(
        plain=[array, {"x": matrix[0]}, Pair(np.zeros(1), Slots(np.zeros(2)))],
        nested=Fields(
            np.ma.masked_array([1.0, 2.0], [True, False]), types.SimpleNamespace(x=np.zeros(4))
        ),
    )
    more = Fields(np.array([np.zeros(2), None], object), csr_array(np.eye(3)))
    assert frozen(whole) is whole and frozen(more) is more
    found = [*arrays(whole), *arrays(more)]
    sizes = sorted(one.size for one in found)
    assert sizes == [1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4], (
        sizes
    )  # with a mask, three of a sparse matrix
    for one in found:
        assert is_frozen(one)
        for attempt in (
            lambda one=one: one.__setitem__(..., 0),
            lambda one=one: setattr(one.flags, "writeable", True),
        ):
            with pytest.raises(ValueError, match="read-only|WRITEABLE"):
                attempt()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        matrix[1, 1] = 1  # the owner of the memory
    for change in (
        lambda: whole.plain.append(1),
        lambda: whole.plain.__setitem__(0, 1),
        lambda: whole.plain.sort(),
        lambda: whole.plain[1].update(x=1),
        lambda: whole.plain[1].pop("x"),
    ):
        with pytest.raises(ReadOnly, match="a (list|dictionary) is read-only"):
            change()
    assert (
        isinstance(whole.plain, list)
        and whole.plain[1].keys() == {"x"}
        and len(whole.plain[2]) == 2
    )


def test_what_is_made_later():
    one = frozen(Fields())
    for array in (
        one.once,
        one.once,
        one.of_everybody,
        one.kept("x"),
        one.kept("x"),
        one.set_as_frozen_dataclasses_do(),
        one.set_as_frozen_dataclasses_do(),
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert one.kept("x") is not one.kept("y") and set(vars(one)["_kept"]) == {
        "x",
        "y",
    }  # its cache still grows
    for _ in range(2):  # also when it is read again
        with pytest.raises(ReadOnly, match="a list is read-only"):
            one.listed.append(1)
    one.fresh()[0] = 1
    drawing = frozen(Drawing(np.random.default_rng(1)))
    for array in (drawing.drawn, drawing[:], drawing.drawn, np.asarray(drawing.drawn)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert drawing.asked == 4 and drawing.log == [1, 2, 3, 4]  # its own list grows
    for part in drawing.parts():
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 9
        with pytest.raises(ValueError, match="read-only"):
            drawing.last[0] = 9


def test_only_its_own_methods_set_attributes():
    drawing, fields, slots = (
        frozen(one) for one in (Drawing(np.random.default_rng(1)), Fields(), Slots(1))
    )
    for one, name in (
        (drawing, "_drawn"),
        (drawing, "new"),
        (fields, "plain"),
        (fields, "new"),
        (slots, "array"),
    ):
        with pytest.raises(ReadOnly, match=f"{name} of a {type(one).__name__} is read-only"):
            setattr(one, name, np.ones(3))
    with pytest.raises(ReadOnly, match="asked of a Drawing"):
        del drawing.asked
    assert len(drawing.drawn) == 3 and drawing.asked == 1 and slots.array == 1


def test_classes_and_copies_are_as_before():
    one, other = frozen(Fields(1, (2,))), Fields(1, (2,))
    assert isinstance(one, Fields) and one.__class__ is Fields and type(one).__name__ == "Fields"
    assert one == other and other == one and hash(one) == hash(other) and repr(one) == repr(other)
    held = frozen(Fields([np.zeros(2)], {"x": np.zeros(2)}))
    for copied in (pickle.loads(pickle.dumps(held)), copy.deepcopy(held)):
        assert type(copied) is Fields and type(copied.plain) is list and type(copied.nested) is dict
        copied.plain[0][0] = copied.nested["x"][0] = 1
        copied.plain.append(1)
    assert type(copy.copy(held)) is Fields and not copy.copy(held).plain[0].flags.writeable
    assert type(dataclasses.replace(held, plain=1)) is Fields
    assert frozen(held) is held and frozen(frozen(Fields)) is Fields
    assert not np.shares_memory(frozen(np.zeros(2)), np.zeros(2)) and frozen(3) == 3


def test_objects_of_libraries_keep_their_class():
    for one in (
        csr_array(np.eye(2)),
        np.random.default_rng(1),
        types.SimpleNamespace(a=1),
        ValueError("x"),
    ):
        kind = type(one)
        assert type(frozen(one)) is kind
    generator = frozen(Fields(np.random.default_rng(1))).plain
    assert generator.random() < 1


@pytest.mark.parametrize(
    "memory",
    [bytearray(24), (ctypes.c_double * 3)(), mmap.mmap(-1, 24)],
    ids=lambda memory: type(memory).__name__,
)
def test_memory_that_is_no_array_is_copied(memory):
    """A part that keeps it and writes to it again does not change what it gave before."""
    numbers = np.frombuffer(memory, count=3)
    for given in (Fields(numbers), Fields(numbers[:2]), Fields([numbers])):
        (safe,) = arrays(frozen(given))
        np.frombuffer(memory, count=3)[0] = 7.0
        assert (safe == 0).all() and not safe.flags.writeable
        np.frombuffer(memory, count=3)[0] = 0.0
    unwritable = np.frombuffer(bytes(24))
    (same,) = arrays(frozen(Fields(unwritable)))
    assert np.shares_memory(same, unwritable)  # the negative control


def test_parts_that_leave_threads_running_are_named():
    """What they write later, by code that does not heed that it is read-only, is not seen."""
    goes_on = threading.Event()

    def waited_for(release):
        thread = threading.Thread(target=str)
        thread.start()
        thread.join()

    def left_alone(release):
        threading.Thread(target=goes_on.wait).start()

    with handover.left_running() as names:
        call("estimator x", waited_for, (released(),))
        assert names == set()
        call("estimator y", left_alone, (released(),))
        goes_on.set()
    assert names == {"estimator y"}


def test_results_that_are_kept_for_several():
    load = lru_cache(read_only(lambda: Pair(np.zeros(2), "x")))
    with pytest.raises(ValueError, match="read-only"):
        load().first[0] = 1
    assert load() is load()


WAYS = {
    "an item": lambda release: release.wins.__setitem__(0, 1),
    "in place": lambda release: release.wins.__iadd__(1),
    "out": lambda release: np.add(release.wins, 1, out=release.wins),
    "a method": lambda release: release.wins.fill(0),
    "sorting": lambda release: release.wins.sort(),
    "a generator": lambda release: np.random.default_rng(1).shuffle(release.wins),
    "a buffer": lambda release: memoryview(release.wins).cast("B").__setitem__(0, 1),
    "a view": lambda release: release.wins[:, :1].__setitem__(..., 1),
    "the flag": lambda release: release.wins.setflags(write=True),
    "the flag of a view": lambda release: setattr(release.wins[:1].flags, "writeable", True),
    "an attribute": lambda release: setattr(release, "wins", np.zeros(3)),
    "what a cached property made": lambda release: release.linked.__setitem__(0, False),
}
SILENT = {
    "np.add.at": lambda release: np.add.at(release.wins, (0, 0, 0), 1),
    "two that cancel": lambda release: np.add.at(release.wins, (0, 0, [0, 1]), [1, -1]),
    "the owner's flag": lambda release: (
        setattr(release.wins.base.flags, "writeable", True),
        np.negative(release.wins.base, out=release.wins.base),
    ),
}


class Writing(pl.ranking.Debiased):
    """Writes into its release."""

    def fit(self, release, rng):
        self.way(release)
        return super().fit(release, rng)


@pytest.fixture(autouse=True)
def nothing_spoilt(monkeypatch):
    monkeypatch.setattr(handover, "_spoilt", {})


def released():
    wins = np.arange(60.0).reshape(4, 1, 15)
    compared = np.broadcast_to(np.full(15, 90), (4, 1, 15)).copy()
    return pl.ranking.FlippedWins(wins, np.array([90]), np.array([1.0]), 6, compared)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_is_one_line(way):
    estimator = Writing(m=6)
    object.__setattr__(estimator, "way", WAYS[way])
    here = r"\(line \d+ of test_frozen.py: .+\)"
    with pytest.raises(
        InputWritten, match=f"^estimator x writes into what it is given {here}: {ADVICE}$"
    ):
        call("estimator x", estimator.fit, (released(),), None)
    object.__setattr__(estimator, "way", lambda release: np.array(release.wins).fill(0))
    assert call("estimator x", estimator.fit, (released(),), None).converged.all()


@pytest.mark.parametrize("way", SILENT)
def test_what_numpy_lets_through_is_noticed_and_not_used_again(way):
    release, estimator = released(), Writing(m=6)
    expected = call("estimator x", estimator.__class__.__mro__[1](m=6).fit, (release,), None).theta
    object.__setattr__(estimator, "way", SILENT[way])
    line = (
        "^estimator x writes into what it is given, by code that does not heed that it is read-only, such as "
        f"np.add.at: {ADVICE}$"
    )
    with pytest.raises(InputWritten, match=line):
        call("estimator x", estimator.fit, (release,), None)
    with pytest.raises(InputWritten, match=line):  # what ships would compute with it
        call("estimator debiased", pl.ranking.Debiased(m=6).fit, (release,), None)
    again = call("estimator debiased", pl.ranking.Debiased(m=6).fit, (released(),), None).theta
    assert (again == expected).all()


def test_other_errors_stay_what_they_are():
    estimator = Writing(m=6)
    for error in (ValueError("negative"), TypeError("no number"), KeyError("read-only")):

        def fail(release, error=error):
            raise error

        object.__setattr__(estimator, "way", fail)
        with pytest.raises(type(error), match=str(error.args[0])):
            call("estimator x", estimator.fit, (released(),), None)


def test_code_without_a_file_is_not_taken_for_the_program():
    names: dict[str, Any] = {}
    exec("def fit(release):\n    release.wins[:] = 0", names)
    line = r"^estimator x writes into what it is given \(assignment destination is read-only\): "
    with pytest.raises(InputWritten, match=line):
        call("estimator x", names["fit"], (released(),))


@pytest.mark.parametrize("end", [SystemExit(0), GeneratorExit()])
def test_a_part_ends_no_more_than_its_unit(end):
    def leave(release):
        raise end

    with pytest.raises(PartEnds, match="^estimator x ends the program instead of giving a value"):
        call("estimator x", leave, (released(),))


def test_an_error_of_the_system_names_the_part():
    with pytest.raises(FileNotFoundError, match="estimator x cannot go on: No such file .*nowhere"):
        call("estimator x", lambda release: pathlib.Path("nowhere").read_text(), (released(),))


def test_what_a_person_gives_to_the_library_stays_theirs():
    release = released()
    own = dataclasses.replace(release, wins=release.wins[0], compared=release.compared[0])
    estimate = pl.ranking.Debiased(m=6).fit(own)
    own.wins[0] = own.users[0] = own.compared[0] = 3
    with pytest.raises(ValueError, match="read-only"):
        estimate.theta[0] = 1
    wins = np.array([[0, 3.0], [2, 0]])
    pl.simulate_release(pl.ranking.Laplace(m=2, L=9, epsilon=1.0), wins)
    wins[0, 1] = 4
    people = pl.simulate_data(pl.ranking.BTL(m=5, L=9), seed=1)
    for array in (people.truth.theta, people.data.wins, people.data.probability):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
