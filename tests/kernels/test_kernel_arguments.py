"""The door to compiled code: what each argument must be is declared, as C has it, and what is not is one line."""

import ast
import re

import numpy as np
import pytest

import pipeline as pl
from pipeline.kernels.arguments import WrongArgument, check, read
from pipeline.kernels.fast_check import fast_check
from pipeline.problems.clustering.sampling.pair_throws import put_pairs
from pipeline.problems.common.stationary import stationary
from pipeline.problems.crowd.estimators.signed_sums import em_steps, weighted_votes
from pipeline.problems.ranking.estimators.newton import minimise
from pipeline.problems.response.releases import OpenResponses
from pipeline.problems.response.sampling.answers import draw_answers
from pipeline.problems.response.sampling.pair_counts import differences_of
from pipeline.study.frozen import frozen
from pipeline.study.handover import InputWritten, call
from tests.helpers import kernels_called
from tests.helpers.engine import ROOT

KERNELS = {one.declaration.kernel: one for one in kernels_called.kernels()}
TYPES = {
    "uint8_t": {"u1", "b1"},
    "int8_t": {"i1"},
    "int64_t": {"i8"},
    "double": {"f8"},
}  # of arrays in C
FOLLOWS = """
    reps: size
    m: size; m >= 1
    limit: f8; 0 <= limit < 1
    x: f8[reps, m]
    rows: i8[some] below reps
    weights: f8[groups, 2 * m]; weights > 0
    bits: generator
    y: out i8[groups]
"""


def given(**changes):
    """Arguments that follow the declaration, in its order."""
    values = dict(
        reps=3,
        m=2,
        limit=0.5,
        x=np.zeros((3, 2)),
        rows=np.array([0, 2]),
        weights=np.ones((5, 4)),
        bits=np.random.PCG64(1),
        y=np.zeros(5, np.int64),
    )
    return list((values | changes).values())


def locked(array):
    array.flags.writeable = False
    return array


def test_what_follows_the_declaration_is_passed_on():
    values = given()
    passed = check(read("follow", FOLLOWS), values)
    assert (
        passed[:3] == [3, 2, 0.5]
        and passed[3] == values[3].ctypes.data
        and passed[7] == values[7].ctypes.data
    )
    for changes in (
        dict(x=locked(np.zeros((3, 2)))),
        dict(reps=np.int64(3), limit=np.float32(0)),
        dict(limit=0),
        dict(rows=np.zeros(0, np.int64)),
        dict(reps=0, x=np.zeros((0, 2)), rows=np.zeros(0, np.int64)),
    ):
        check(read("follow", FOLLOWS), given(**changes))


@pytest.mark.parametrize(
    "changes, line",
    [
        (dict(reps=-1), "reps must be a whole number ≥ 0, is int -1"),
        (dict(reps=3.0), "reps must be a whole number ≥ 0, is float 3.0"),
        (dict(reps=2**63), "reps must be a whole number ≥ 0, is int 9223372036854775808"),
        (dict(m=0), "x must be f8 of shape (reps, m) = (3, 0), contiguous; is f8 of shape (3, 2)"),
        (dict(m=0, x=np.zeros((3, 0)), weights=np.ones((5, 0))), "m must have m >= 1; m is 0"),
        (dict(limit=1), "limit must have 0 <= limit < 1; limit is 1.0"),
        (dict(limit=np.nan), "limit must have 0 <= limit < 1; limit is nan"),
        (dict(limit="0.5"), "limit must be a number, is str '0.5'"),
        (
            dict(x=np.zeros((1, 2))),
            "x must be f8 of shape (reps, m) = (3, 2), contiguous; is f8 of shape (1, 2)",
        ),
        (
            dict(x=np.zeros((3, 2, 1))),
            "x must be f8 of shape (reps, m) = (3, 2), contiguous; is f8 of shape (3, 2, 1)",
        ),
        (
            dict(x=np.zeros((3, 2), np.float32)),
            "x must be f8 of shape (reps, m), contiguous; is f4 of shape (3, 2)",
        ),
        (
            dict(x=np.zeros((3, 2), ">f8")),
            "x must be f8 of shape (reps, m), contiguous; is >f8 of shape (3, 2)",
        ),
        (
            dict(x=[[0.0, 0.0]] * 3),
            "x must be f8 of shape (reps, m), contiguous; is list [[0.0, 0.0], [0.0, 0.0], ",
        ),
        (
            dict(x=np.zeros((2, 3)).T),
            "x must be f8 of shape (reps, m) = (3, 2), contiguous; is f8 of shape (3, 2), strides (8, 24)",
        ),
        (dict(rows=np.array([0, 3])), "rows must be from 0 to 2; is 0 to 3"),
        (dict(rows=np.array([0, -1])), "rows must be from 0 to 2; is -1 to 0"),
        (dict(weights=np.zeros((5, 4))), "weights must have weights > 0; weights is 0.0 to 0.0"),
        (
            dict(weights=np.ones(20)),
            "weights must be f8 of shape (groups, 2 * m) = (20, 4), contiguous; is f8 of shape (20,)",
        ),
        (
            dict(weights=np.array(1.0)),
            "weights must be f8 of shape (groups, 2 * m), contiguous; is f8 of shape ()",
        ),
        (
            dict(bits=np.random.default_rng(1)),
            "bits must be a bit generator of NumPy, is Generator Generator(PCG64)",
        ),
        (
            dict(y=np.zeros(4, np.int64)),
            "y must be i8 of shape (groups) = (5,), contiguous, writable; is i8 of shape (4,)",
        ),
        (
            dict(y=locked(np.zeros(5, np.int64))),
            "y must be i8 of shape (groups) = (5,), contiguous, writable; is i8 of shape (5,), read-only",
        ),
    ],
)
def test_what_does_not_is_one_line(changes, line):
    with pytest.raises(WrongArgument) as caught:
        check(read("follow", FOLLOWS), given(**changes))
    assert str(caught.value).startswith(f"kernel follow: {line}"), caught.value


def test_what_c_writes_to_is_apart():
    declared = read("apart", "n: size\nx: f8[n]\ny: out f8[n]\nz: f8[n]")
    memory = np.zeros(12)
    check(declared, [4, memory[:4], memory[4:8], memory[:4]])  # what is only read may be the same
    for x, y in ((memory[:4], memory[:4]), (memory[:4], memory[3:7]), (memory[3:7], memory[:4])):
        with pytest.raises(
            WrongArgument, match="kernel apart: . and . share memory, and C writes to one of them"
        ):
            check(declared, [4, x, y, memory[8:]])
    with pytest.raises(WrongArgument, match="needs 4 arguments, is given 3"):
        check(declared, [4, memory[:4], memory[4:8]])


@pytest.mark.parametrize(
    "line", ["x", "x f8[n]", "x: float", "x: out size", "x: f8[n]; n", "x: f8[n] above n"]
)
def test_a_line_that_declares_nothing_is_an_error(line):
    with pytest.raises(ValueError, match="no argument of a kernel|no comparison"):
        read("wrong", f"n: size\n{line}")


BITS_OF_NAN = int(np.array(np.nan).view(np.int64))


def split(**changes):
    """Arguments of `split`: ten users of one row, whose law is tabulated."""
    values = dict(
        bits=np.random.PCG64(1),
        kind=2,
        rows=1,
        laws=np.zeros((1, 3), np.int64),
        users=np.array([10]),
        width=2,
        values=np.array([[0, 1]]),
        weights=np.array([[0.5, 0.5]]),
        room=50,
        out=np.zeros((3, 50), np.int64),
        progress=np.zeros(2, np.int64),
    )
    return list((values | changes).values())


def subsets(sizes, longest):
    """Arguments of `add_subsets`: two rows of one run, of these sizes."""
    ones = np.ones(2, np.int64)
    start = np.zeros(2, np.int64)
    steps = np.zeros((2, 40), np.int64)
    return [np.random.PCG64(1), 2, start, np.array(sizes), ones, ones, ones, longest, 40, steps]


def draws(n, p):
    """Arguments of `draw`: three binomial numbers of one law."""
    out = np.zeros((1, 3), np.int64)
    return [np.random.PCG64(1), 1, 3, 1, np.array([[n]]), 1, np.array([[p]]), out]


def chances(*weights):
    return {"weights": np.array([weights])}


def law(kind, *numbers):
    return {"kind": kind, "laws": np.array([numbers])}


def centres(count):
    """Arguments of `k_means`: three points, no start."""
    return [3, 2, count, 0, 1, 1, np.zeros((3, 2)), *np.zeros((1, 0), np.int64), *np.zeros(
        (1, 0, count - 1)), *np.zeros((1, 3), np.int64), np.zeros(1, np.int64)]  # fmt: skip


@pytest.mark.parametrize(
    "name, values, argument",
    [
        ("draw", draws(-5, 0.5), "n"),
        ("draw", draws(2**62, 0.5), "n"),
        ("draw", draws(5, np.nan), "p"),  # each of these gave numbers of no law
        ("draw", draws(5, -0.5), "p"),
        ("draw", draws(5, 2.0), "p"),
        ("split", split(**chances(0.0, 0.0)), "weights"),  # read what lay behind the table
        ("split", split(**chances(np.inf, 1.0)), "weights"),  # never ended
        ("split", split(**chances(np.nan, 1.0)), "weights"),
        ("split", split(users=np.array([2**62])), "users"),
        ("split", split(**law(0, 50, BITS_OF_NAN, 0)), "laws"),
        ("split", split(**law(0, 2**62, 0, 0)), "laws"),
        ("split", split(**law(1, 3, 4, 8)), "laws"),
        ("add_subsets", subsets((3, 30), 30), "size"),  # never ended
        ("add_subsets", subsets((30, 30), 2**62), "longest"),  # too little memory
        ("k_means", centres(4), "count"),
    ],
)
def test_numbers_that_c_cannot_compute_with_are_refused(name, values, argument):
    with pytest.raises(WrongArgument, match=f"^kernel {name}: {argument} must"):
        KERNELS[name](*values)


def test_numbers_that_it_can_are_not():
    for name, values in (
        ("draw", draws(5, 1.0)),
        ("split", split()),
        ("split", split(**law(1, 3, 4, 7))),
        ("add_subsets", subsets((30, 30), 40)),
        ("k_means", centres(3)),
    ):
        KERNELS[name](*values)


def test_an_empty_array_bounds_no_memory():
    """Its axes may have any length, and sums of lengths overflowed in C."""
    for name, declared in (("x", "m: size\nx: f8[0, m]"), ("y", "m: size\ny: out f8[0, m]")):
        fine, too_long = np.zeros((0, 2**24 - 1)), np.zeros((0, 2**24))
        check(read("empty", declared), [2**24 - 1, fine])
        assert fast_check(read("empty", declared))(2**24 - 1, fine)
        assert fast_check(read("empty", declared))(2**24, too_long) is None
        with pytest.raises(WrongArgument, match=f"{name} is empty, of shape .0, 16777216.; no"):
            check(read("empty", declared), [2**24, too_long])


@pytest.mark.parametrize("name", KERNELS)
def test_the_fast_check_lets_nothing_through_that_is_not_right(name):
    """On arguments of many sizes, right ones and wrong ones; what it does not let through, the other check sees."""
    declared = KERNELS[name].declaration
    fast, rng, seen = (
        fast_check(declared),
        np.random.default_rng([7, *name.encode()]),
        {"both": 0, "one": 0, "none": 0},
    )
    for time in range(120):
        values = kernels_called.SPECIAL.get(name, kernels_called.anything)(rng, declared)
        values = kernels_called.spoilt(rng, values) if time % 3 == 2 else values
        try:
            passed = fast(*values)
        except Exception:
            passed = None
        try:
            right = check(declared, values)
        except WrongArgument:
            assert passed is None, values
            seen["none"] += 1
            continue
        assert passed is None or list(passed) == right
        seen["one" if passed is None else "both"] += 1
    print(name, seen)
    assert seen["both"] > 30 and seen["none"] > 20 and seen["one"] <= 12


def signatures():
    """Kernel -> its parameters in C: whether a pointer, its type, whether C only reads."""
    for source in (ROOT / "pipeline").rglob("*.c"):
        for name, parameters in re.findall(
            r"^KERNEL int (\w+)\(([^)]*)\)", source.read_text(), re.M
        ):
            yield name, re.findall(r"(const )?(\w+) (\*?)(\w+)", parameters)


def test_every_argument_of_every_kernel_is_declared_as_c_has_it():
    found = dict(signatures())
    assert found.keys() == KERNELS.keys() and len(found) > 20
    for name, parameters in found.items():
        arguments = KERNELS[name].declaration.arguments
        assert len(arguments) == len(parameters), name
        for argument, (constant, kind, pointer, _) in zip(arguments, parameters, strict=True):
            if pointer:
                assert argument.kind in TYPES[kind] and argument.is_written == (not constant), (
                    name,
                    argument.text,
                )
            else:
                assert argument.dtype is None and (argument.kind == "f8") == (kind == "double"), (
                    name,
                    argument.text,
                )


def uses_of_ctypes(source):
    """Lines of a module that call compiled code, or take addresses."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if {"ctypes", "cffi", "cython"} & {name.partition(".")[0] for name in names}:
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in ("ctypes", "ctypeslib"):
            yield node.lineno


def test_there_is_no_other_door():
    package = ROOT / "pipeline"
    modules = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    using = {name for name, path in modules.items() if list(uses_of_ctypes(path.read_text()))}
    assert using == {
        "kernels/loader.py",
        "kernels/arguments.py",
        "execution/copies.py",  # tells the C library how to keep memory
        "execution/time_limit.py",  # asks Python itself to interrupt a thread
    }
    for line in (
        "import ctypes",
        "from ctypes import CDLL",
        "x = array.ctypes.data",
        "np.ctypeslib.load_library(x)",
    ):
        assert list(uses_of_ctypes(line))  # the negative controls


def test_kernels_refuse_what_they_read_and_wrote_beyond():
    """What was computed before with whatever lay there, or ended the process."""
    answers, observed = np.ones((4, 3, 2), bool), np.ones((1, 3, 2), bool)
    with pytest.raises(
        WrongArgument,
        match=r"kernel observed_differences: observed must be b1 of shape \(reps, n, m\) "
        r"= \(4, 3, 2\), contiguous; is b1 of shape \(1, 3, 2\)",
    ):
        differences_of(answers, observed)
    with pytest.raises(
        WrongArgument, match="kernel put_pairs: columns must be from 0 to 2; is 1 to 3"
    ):
        put_pairs(np.zeros((3, 3), np.int64), np.array([0]), np.array([1, 3]), np.array([5, 6]))
    with pytest.raises(
        WrongArgument,
        match="kernel put_pairs: counts must be i8 of shape .* = .2,., contiguous; is",
    ):
        put_pairs(np.zeros((3, 3), np.int64), np.array([0]), np.array([1, 2]), np.array([5]))
    with pytest.raises(
        WrongArgument, match="kernel put_pairs: matrix must be i8 .*writable; is .*, read-only"
    ):
        put_pairs(locked(np.zeros((3, 3), np.int64)), np.array([0]), np.array([1]), np.array([5]))
    with pytest.raises(
        WrongArgument, match="kernel stationary: rates must be f8 .*writable; is .*, read-only"
    ):
        stationary(locked(np.ones((1, 2, 2))))
    with pytest.raises(WrongArgument, match="kernel answer: m must have m >= 1; m is 0"):
        draw_answers(
            np.ones((1, 2)), np.ones((1, 0)), np.random.default_rng(1), np.empty((1, 2, 0), bool)
        )
    with pytest.raises(WrongArgument, match="kernel minimise: m must have m >= 1; m is 0"):
        minimise(np.zeros((2, 0)), 0.1)
    with pytest.raises(
        WrongArgument, match="kernel weighted_votes: answers must have .*; answers is 7 to 7"
    ):
        weighted_votes(np.full((1, 2, 2), 7, np.int8), np.ones((1, 2)))
    with pytest.raises(
        WrongArgument, match="kernel weighted_votes: weights must have .*; weights is 1.0 to inf"
    ):
        weighted_votes(np.ones((1, 2, 2), np.int8), np.array([[1, np.inf]]))
    with pytest.raises(WrongArgument, match="kernel em_steps: start must have"):
        em_steps(np.ones((1, 2, 2), np.int8), np.full((1, 2), np.nan), 0.9, 5, 1e-3)


def test_inputs_may_be_read_only():
    start = locked(np.zeros((2, 3)))
    steps = em_steps(locked(np.ones((2, 4, 3), np.int8)), start, 0.9, 5, 1e-3)
    assert (steps.start == start).all() and not np.shares_memory(steps.start, start)


class Shapeless(pl.response.RandomizedResponse):
    """Says of one replication only which responses are observed."""

    def release(self, data, rng):
        return OpenResponses(np.ones((4, 3, 2), bool), np.ones((1, 3, 2), bool), 1.0)


def test_a_release_of_wrong_shape_gives_no_numbers():
    release = Shapeless(n=3, m=2, epsilon_user=1.0).release(None, None)
    with pytest.raises(
        WrongArgument, match="kernel observed_differences: observed must be b1 of shape"
    ):
        call("estimator spectral", pl.response.Spectral(m=2).fit, (release,), None)


class Overwriting(pl.ranking.Debiased):
    """Gives its release to a kernel that writes into it."""

    def fit(self, release, rng):
        stationary(release.wins)
        return super().fit(release, rng)


def test_a_kernel_that_would_write_into_a_release_is_refused():
    release = frozen(pl.ranking.FlippedWins(np.ones((4, 3, 3)), np.array([90]), np.array([1.0]), 3))
    with pytest.raises(
        InputWritten,
        match="^estimator x writes into what it is given .*kernel stationary: rates must",
    ):
        call("estimator x", Overwriting(m=3).fit, (release,), None)
