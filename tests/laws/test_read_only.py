"""Law: what one part is given by another cannot be written to; a part that tries fails, and changes no other number.

All parts that ship are called in chains as those of a study. Every array that can be reached in what is handed over is
tried, and what is handed over is compared before and after each of them.
"""

import ast
import contextlib
import inspect
import itertools

import numpy as np
import pytest

import pipeline as pl
from pipeline.advice.question import read as read_question
from pipeline.advice.simulation import Simulator
from pipeline.execution.clusters import Executor, Local
from pipeline.identity import own_files, registry
from pipeline.identity.registry import problem
from pipeline.storage.replications import Store
from pipeline.study import handover
from pipeline.study.frozen_arrays import arrays, is_frozen
from pipeline.study.parameters import InvalidInput
from pipeline.study.protocols import Components
from pipeline.study.streams import Stream
from pipeline.study.study import build
from tests.helpers.engine import ROOT, advance, study

REPS = 4
ROLES = ("model", "mechanism", "estimator")
STREAMS = ("population", "truth", "data", "noise", "estimator")
COMMON = dict(
    epsilon=1.0, epsilon_user=2.0, delta=0.1, replacement=1.0, K=2, strength=1.0, distortion=0.2
)
VALUES = {
    "ranking": [
        dict(m=5, L=30),
        dict(m=5, L=30, epsilon=None, person=2.0, questions=3),
        dict(m=5, L=30, theta="fixed", profile="0.5:1,0.5:2"),
        dict(m=4, L=30, tilt=1.0),
        dict(m=40, L=610, item="all items"),
        dict(m=3, L=20, theta="spaced", spacing=0.5, pairs=0.9),
    ],
    "response": [
        dict(n=12, m=4),
        dict(n=12, m=4, p=0.8, left_out=0.2),
        dict(n=12, m=4, item="all items"),
        dict(n=200, m=4, epsilon_user=None, person=2.0, person_delta=0.1),
    ],
    "crowd": [
        dict(n=5, m=6, initial_error=0.2),
        dict(n=5, m=6, epsilon=None, person=2.0, person_delta=1e-6, questions=3),
        dict(n=5, m=6, answered=0.8, silent=0.1, initialisation="spectral"),
        dict(n=5, m=108, task="all tasks"),
        dict(n=5, m=6, initial_error=0.3, initial_flips="agreed", initialisation="given"),
    ],
    "clustering": [
        dict(N=8, U=60, w=3, b="0.9, 0.1", theta=1.0, Q=2, rounds=2),
        dict(
            N=8, U=60, w=4, b="0.9, 0.1; 0.2, 0.8", alpha="0.5, 0.5", clusters="random", theta=1.0
        ),
        dict(N=8, U=60, w=1, b="0.9, 0.1", theta=1.0, rounds=2),
        dict(N=8, U=60, w=3, b="0.9, 0.1", epsilon=None, person=2.0),
    ],
}


ASKED = dict(problem="ranking", target="kendall<=0.2", items=5, people=50)


def built(part, values):
    """A part, or None where these values are none of its."""
    try:
        return build(part, values)
    except InvalidInput:
        return None


class Recorded(handover.Chain):
    """A chain that keeps what was handed over."""

    def kept(self, value):
        vars(self).setdefault("handed", []).append(value)
        return value

    def truth(self, *given):
        return self.kept(super().truth(*given))

    def data(self, *given):
        return self.kept(super().data(*given))

    def release(self, *given):
        return self.kept(super().release(*given))

    def estimate(self, *given):
        return self.kept(super().estimate(*given))


def chains(of):
    """Chains of a problem's parts, with their values: so many that all that can go together stand side by side."""
    names = itertools.product(of.names("model"), of.names("mechanism"), of.names("estimator"))
    seen = set()
    for chosen, values in itertools.product(names, VALUES[of.name]):
        named = dict(zip(ROLES, chosen, strict=True))
        parts = [
            built(of.part(role, name), COMMON | values | named) for role, name in named.items()
        ]
        if None in parts:
            continue
        model, mechanism, estimator = parts
        releases = mechanism.releases
        if releases is object:
            releases = model.produces.plain_release
        side_by_side = {(model, mechanism), (releases, estimator)}
        if (
            issubclass(model.produces, mechanism.accepts)
            and issubclass(releases, estimator.accepts)
            and side_by_side - seen
        ):
            seen |= side_by_side
            yield Recorded(Components(*parts, ()), named, ()), COMMON | values | named


def generators():
    return {role: Stream(1, role, "", 0).generator() for role in STREAMS}


def seen_in(value):
    """What somebody gets from an object who reads all of its attributes and calls what needs nothing more."""
    for name in dir(value):
        if name.startswith("_"):
            continue
        try:
            found = getattr(value, name)
            if inspect.ismethod(found) and not isinstance(found.__self__, type):
                found = found()
        except (TypeError, NotImplementedError):  # it needs more
            continue
        yield name, list(found) if inspect.isgenerator(found) else found


def refused(array):
    """Whether nobody can write to an array, nor let themselves."""
    for attempt in (
        lambda: array.__setitem__(..., 0),
        lambda: setattr(array.flags, "writeable", True),
    ):
        try:
            attempt()
        except ValueError:
            continue
        return False
    return is_frozen(array)


def writable(value):
    """Names of what of an object can be written to and is seen by whoever reads it next."""
    first, second = dict(seen_in(value)), dict(seen_in(value))
    found = {
        name
        for name in first
        for one, other in itertools.product(arrays(first[name]), arrays(second[name]))
        if one.flags.writeable and np.may_share_memory(one, other)
    }
    return found | {"its own" for array in arrays(value) if not refused(array)}


def measured(of, names, values, given):
    """Those of the named metrics that can be measured here."""
    for name in names:
        part = built(of.part("metric", name), values)
        if part is None:
            continue
        try:
            handover.measured(name, part, given)
        except (AttributeError, ValueError):  # a metric of another model, or of other sizes
            continue
        yield name


@pytest.mark.parametrize("name", VALUES)
def test_what_ships_writes_into_nothing_and_hands_over_nothing_writable(name, monkeypatch):
    monkeypatch.setattr(
        handover, "_is_the_programs", lambda part: False
    )  # so all of them are watched
    of, seen, metrics, tried = problem(name), set(), set(), 0
    for chain, values in chains(of):
        rng = generators()
        with np.errstate(all="ignore"):
            truth = chain.truth(rng["truth"], REPS, rng["population"])
            release = chain.release(chain.data(truth, rng["data"], REPS), rng["noise"], REPS)
            estimate = chain.estimate(release, rng["estimator"], REPS)
            metrics |= set(
                measured(of, of.metrics.keys() - metrics, values, (truth, release, estimate))
            )
            seen |= set(chain.names.items())
            for value in chain.handed:
                tried += len(list(arrays(value)))
                assert writable(value) == set(), (chain.names, value)
    print(f"{name}: {len(seen)} parts, {len(metrics)} metrics, {tried} arrays")
    assert (
        seen == {(role, one) for role in ROLES for one in of.names(role)}
        and metrics == of.metrics.keys()
    )


@pytest.mark.parametrize("name", VALUES)
def test_what_is_writable_is_found(name, monkeypatch):
    """The negative control: chains that freeze nothing."""
    for name_of_function in ("frozen", "all_frozen"):
        monkeypatch.setattr(handover, name_of_function, lambda value: value)
    chain, _ = next(iter(chains(problem(name))))
    rng = generators()
    truth = chain.truth(rng["truth"], REPS, rng["population"])
    release = chain.release(chain.data(truth, rng["data"], REPS), rng["noise"], REPS)
    chain.estimate(release, rng["estimator"], REPS)
    truth, _, release, estimate = (
        chain.handed
    )  # some data cannot be drawn from a truth that was overwritten
    found = [writable(value) for value in (estimate, release, truth)]
    print(found)
    assert all(found)


def test_slices_memo_advice_and_single_data_sets_hand_over_nothing_writable(monkeypatch):
    handed, call = [], handover.call

    def recorded(*given):
        handed.append(call(*given))
        return handed[-1]

    def check(least):
        assert len(handed) >= least
        assert [writable(value) for value in handed] == [set()] * len(handed)
        handed.clear()

    monkeypatch.setattr(handover, "call", recorded)
    monkeypatch.setattr("pipeline.library.single.call", recorded)
    small, memo = study(), {}
    for labels in list(small.grid)[:2]:
        small.simulate(labels, 0, memo)
    assert {"data", "release", "estimate"} == memo.keys()
    check(5)
    small.simulate(small.grid.labels(0), 0, None, 1)
    check(20)  # four a slice
    Simulator(read_question(ASKED)).sample([0.5], 20)
    check(4)
    people = pl.simulate_data(pl.ranking.BTL(m=5, L=200), seed=1)
    release = pl.simulate_release(
        pl.ranking.RandomizedResponse(m=5, L=200, epsilon=1.0), people, seed=2
    )
    handed += [people.truth, people.data, release, pl.ranking.Debiased(m=5).fit(release)]
    check(8)


OWN = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pipeline as pl

class Zeroing(pl.ranking.Debiased):
    'Writes into its release.'

    def fit(self, release, rng):
        release.wins[:] = 0
        return super().fit(release, rng)

class Emptying(pl.ranking.RandomizedResponse):
    'Writes into data that it was the first to ask for.'

    def release(self, data, rng):
        data.wins[...] = 0
        return super().release(data, rng)

pl.register("ranking", estimators={"zeroing": Zeroing}, mechanisms={"emptying": Emptying})
"""
GRID = {
    "mechanism": ["emptying", "randomized_response"],
    "estimator": ["zeroing", "debiased"],
    "epsilon": [0.5, 2.0],
}
LINES = (
    "estimator zeroing writes into what it is given (line 12 of <--with own_writing.py>: assignment destination "
    "is read-only): other parts read it, too; a part that must write copies first: np.array(x)",
    "mechanism emptying writes into what it is given (line 19 of <--with own_writing.py>: assignment destination "
    "is read-only): other parts read it, too; a part that must write copies first: np.array(x)",
)


@pytest.fixture
def own_parts():
    """The parts of a person's file, in this test only."""
    with registry.registered():
        own_files.execute(own_files.OwnFile("own_writing.py", OWN.encode()))
        yield


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_part_that_writes_fails_and_changes_no_other_number(own_parts, workers, tmp_path):
    """Whatever the workers: in one process its cells come before those of parts that ship, and share with them."""
    mixed = study(grid=GRID, parameters=dict(model="btl", m=5, L=200))
    plain = {"mechanism": "randomized_response", "estimator": "debiased"}
    cluster = Local(workers=workers).open() if workers else contextlib.nullcontext(Executor())
    with cluster as executor:
        advance(mixed, tmp_path, executor)
    store = Store(mixed, tmp_path)
    for cell, labels in enumerate(mixed.grid):
        for block in range(mixed.blocks):
            found = store.read(cell, block)
            if plain.items() <= labels.items():
                expected = mixed.simulate(labels, block)
                assert (
                    found.metrics.tobytes()
                    == np.array([expected[name] for name in mixed.metrics]).tobytes()
                )
            else:
                line = LINES[labels["mechanism"] == "emptying"]
                assert found.failed and found.error.rstrip().endswith(line), found.error


def calls_of_parts(source):
    """Lines in which a part is called other than by `handover`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, ast.unparse(node.func.value)
            if (
                (name in ("truth", "release", "fit") and len(node.args) > 1 and of != "chain")
                or (name == "simulate" and of.endswith("model"))
                or name == "release_plainly"
            ):
                yield f"{node.lineno}: {ast.unparse(node)}"


def test_there_is_no_other_door():
    paths = [
        path
        for path in sorted((ROOT / "pipeline").rglob("*.py"))
        if "problems" not in path.parts and path.name not in ("handover.py", "no_privacy.py")
    ]
    assert len(paths) > 100
    assert {
        path.name: found for path in paths if (found := list(calls_of_parts(path.read_text())))
    } == {}
    for line in (
        "parts.estimator.fit(release, rng)",
        "data = model.simulate(truth, rng)",
        "x.release(data, rng)",
    ):
        assert list(calls_of_parts(line))  # the negative controls


NUMBERS = {"float", "int", "str", "bool", "None", "tuple", "dict", "Sampler"}


def kept_for_several(source):
    """Functions whose results are kept, are no mere numbers, and can be written to."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            marks = [
                ast.unparse(mark).partition("(")[0].rpartition(".")[2]
                for mark in node.decorator_list
            ]
            words = {
                word.id
                for word in ast.walk(node.returns or ast.Constant(None))
                if isinstance(word, ast.Name)
            }
            if {"lru_cache", "cache"} & set(marks) and "read_only" not in marks and words - NUMBERS:
                yield node.name


def test_what_functions_keep_is_read_only():
    """Such as data files, which are read once."""
    paths = [
        path
        for folder in ("problems", "privacy")
        for path in (ROOT / "pipeline" / folder).rglob("*.py")
    ]
    assert {
        path.name: found for path in paths if (found := list(kept_for_several(path.read_text())))
    } == {}
    assert sum(path.read_text().count("\n@read_only\n") for path in paths) >= 10
    assert list(kept_for_several("@lru_cache(4)\ndef load(path: str) -> Table: ...")) == [
        "load"
    ]  # negative controls
    assert list(kept_for_several("@functools.cache\ndef f(x: int) -> tuple[Floats, int]: ...")) == [
        "f"
    ]
