"""What a kernel is called with: declared argument by argument, and checked before C gets anything.

A declaration has a line for each argument: its name, what it must be, and perhaps a condition after
a semicolon.

    reps: size                        a whole number, 0 or more
    m: size; m >= 1                   comparisons may be joined by "and"
    tolerance: f8                     a number
    bits: generator                   a bit generator of NumPy
    theta: f8[reps, m]                an array of this NumPy type and shape, C-contiguous
    converged: out u1[reps]           one that C writes to, which shares its memory with no other
    rows: i8[usable] below reps       every item is an index: 0 <= item < reps

Lengths are expressions of names. A name that is no argument is the length of the axis where it
comes first. An empty array has no axis of 2²⁴ or more: memory bounds no length of it, and C
computes with its lengths.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Array
from pipeline.study.errors import PipelineError
from pipeline.study.parsing import parse

LINE = re.compile(
    r"(?P<name>\w+): (?P<out>out )?(?P<kind>\w+)(\[(?P<shape>.*?)\]( below (?P<below>[^;]+))?)?"
    r"(; (?P<condition>.+))?"
)
LARGEST = 2**63  # of int64
LONGEST = 2**24  # of an axis of an array that is empty
CONTIGUOUS = 0x1
ALIGNED = 0x100
WRITABLE = 0x400  # bits of `flags.num`
WORDS = {
    "size": "a whole number ≥ 0",
    "i8": "a whole number",
    "f8": "a number",
    "generator": "a bit generator of NumPy",
}
Names = dict[str, Any]  # values of arguments, and lengths that arrays gave


class WrongArgument(PipelineError, TypeError):
    """A kernel is called with what it must not get: kernel, argument, what it must be and is."""


@dataclass(frozen=True)
class Argument:
    """What one argument must be.

    kind: of a number or a generator. dtype, flags: of an array, those that it must have; None, 0 of
    others. lengths: of an array's shape. below: what its items, as indices, must be below.
    conditions: comparisons. text: the line of the declaration. All but the first are expressions of
    names, empty where there is none.
    """

    name: str
    kind: str
    dtype: np.dtype[Any] | None
    flags: int
    lengths: str
    below: str
    conditions: tuple[str, ...]
    text: str

    @property
    def is_written(self) -> bool:
        """Whether C writes to it."""
        return bool(self.flags & WRITABLE)


@dataclass(frozen=True)
class Declaration:
    """All arguments of a kernel, in their order.

    named_lengths: (place, axis, name) where an array's length gives a name.
    """

    kernel: str
    arguments: tuple[Argument, ...]
    named_lengths: tuple[tuple[int, int, str], ...]


class _Span(NamedTuple):
    """Memory of an array."""

    start: int
    stop: int
    is_written: bool
    name: str


def read(kernel: str, text: str) -> Declaration:
    """The declaration of a kernel; ValueError for a line that is no argument."""
    arguments = tuple(_argument(line) for line in map(str.strip, text.splitlines()) if line)
    known = {argument.name for argument in arguments}
    named_lengths: list[tuple[int, int, str]] = []
    for place, argument in enumerate(arguments):
        for axis, name in _names_alone(argument.lengths):
            if name not in known:
                known.add(name)
                named_lengths.append((place, axis, name))
    return Declaration(kernel, arguments, tuple(named_lengths))


def _argument(line: str) -> Argument:
    match = LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"{line}: no argument of a kernel")
    name = match["name"]
    kind = match["kind"]
    shape = match["shape"]
    conditions: tuple[str, ...] = ()
    if match["condition"]:
        conditions = tuple(_comparisons(match["condition"]))
    if shape is None:
        if kind not in WORDS or match["out"]:
            raise ValueError(f"{line}: no argument of a kernel")
        return Argument(name, kind, None, 0, "", "", conditions, line)
    flags = CONTIGUOUS | ALIGNED
    if match["out"]:
        flags |= WRITABLE
    below = match["below"] or ""
    return Argument(name, kind, np.dtype(kind), flags, shape, below, conditions, line)


def _names_alone(lengths: str) -> Iterator[tuple[int, str]]:
    """Axes whose length is a name, not a longer expression."""
    for axis, length in enumerate(lengths.split(",")):
        if length.strip().isidentifier():
            yield axis, length.strip()


def _comparisons(condition: str) -> Iterator[str]:
    """Each comparison of a chain: an array in its middle has no truth as a whole."""
    (statement,) = parse(condition).body
    chains: list[ast.expr] = []
    if isinstance(statement, ast.Expr):
        chains = [statement.value]
    if chains and isinstance(chains[0], ast.BoolOp):
        chains = chains[0].values
    if not chains:
        raise ValueError(f"{condition}: no comparison")
    for chain in chains:
        if not isinstance(chain, ast.Compare):
            raise ValueError(f"{condition}: no comparison")
        sides = [chain.left, *chain.comparators]
        for left, sign, right in zip(sides, chain.ops, sides[1:], strict=False):
            yield ast.unparse(ast.Compare(left, [sign], [right]))


def check(declaration: Declaration, values: Sequence[Any]) -> list[Any]:
    """What C gets: whole numbers, numbers, and addresses. Raises WrongArgument."""
    kernel = declaration.kernel
    arguments = declaration.arguments
    if len(values) != len(arguments):
        raise WrongArgument(
            f"kernel {kernel}: needs {len(arguments)} arguments, is given {len(values)}"
        )
    names: Names = {}
    for argument, value in zip(arguments, values, strict=True):
        names[argument.name] = _converted(kernel, argument, value)
    _add_lengths(declaration, names, values)
    passed = []
    spans = []
    for argument in arguments:
        value = names[argument.name]
        if argument.dtype is not None:
            shape = eval(f"({argument.lengths},)", {}, names)
            address = _address(kernel, argument, value, shape)
            stop = address + value.nbytes
            spans.append(_Span(address, stop, argument.is_written, argument.name))
            value = address
        passed.append(value)
    for argument in arguments:
        if argument.conditions or argument.below:
            _check_items(kernel, argument, names)
    _check_apart(kernel, spans)
    return passed


def _converted(kernel: str, argument: Argument, value: object) -> object:
    """A value of the type that it must have."""
    if argument.dtype is not None:
        if isinstance(value, np.ndarray) and value.dtype == argument.dtype:
            return value
    elif argument.kind == "f8":
        if isinstance(value, float | int | np.number):
            return float(value)
    elif argument.kind == "generator":
        if isinstance(value, np.random.BitGenerator):
            return value.ctypes.bit_generator.value
    elif isinstance(value, int | np.integer):
        least = 0 if argument.kind == "size" else -LARGEST
        if least <= value < LARGEST:
            return int(value)
    raise _wrong(kernel, argument, value)


def _add_lengths(declaration: Declaration, names: Names, values: Sequence[Any]) -> None:
    """Add the names that lengths of arrays give."""
    for place, axis, name in declaration.named_lengths:
        shape = values[place].shape
        if axis >= len(shape):
            raise _wrong(declaration.kernel, declaration.arguments[place], values[place])
        names[name] = shape[axis]


def _address(kernel: str, argument: Argument, value: Array, shape: tuple[int, ...]) -> int:
    """Address of an array's numbers."""
    if value.shape != shape or value.flags.num & argument.flags != argument.flags:
        raise _wrong(kernel, argument, value, f" = {shape}")
    if not value.size and max(shape) >= LONGEST:
        raise WrongArgument(
            f"kernel {kernel}: {argument.name} is empty, of shape {shape}; no axis of it may have "
            f"{LONGEST} or more"
        )
    address: int = value.ctypes.data
    return address


def _check_items(kernel: str, argument: Argument, names: Names) -> None:
    """Raise WrongArgument unless indices are in their range and all conditions hold."""
    value = names[argument.name]
    if argument.below and value.size:
        end = eval(argument.below, {}, names)
        greatest = np.maximum.reduce(value.view(np.uint64), axis=None)
        if greatest >= end:  # those below 0 are very large
            raise WrongArgument(
                f"kernel {kernel}: {argument.name} must be from 0 to {end - 1}; {_extent(value)}"
            )
    for condition in argument.conditions:
        if not all_hold(eval(condition, {}, names)):
            whole = argument.text.partition("; ")[2]
            words = dict.fromkeys(re.findall(r"\w+", condition))
            actual = ", ".join(f"{name} {_extent(names[name])}" for name in words if name in names)
            raise WrongArgument(f"kernel {kernel}: {argument.name} must have {whole}; {actual}")


def all_hold(comparison: "bool | np.bool_ | NDArray[np.bool_]") -> bool:
    """Whether a comparison holds; of an array, for all of its items."""
    if isinstance(comparison, bool):
        return comparison
    return bool(comparison.all())


def _extent(value: object) -> str:
    """A number, or the least and the greatest item of an array."""
    if not isinstance(value, np.ndarray):
        return f"is {value}"
    if not value.size:
        return "is empty"
    return f"is {value.min()} to {value.max()}"


def _check_apart(kernel: str, spans: list[_Span]) -> None:
    """Raise WrongArgument where an array that C writes to shares memory with another one."""
    spans.sort()
    end = 0
    end_of_written = 0
    last = ""
    last_written = ""
    for start, stop, is_written, name in spans:
        if start == stop:
            continue
        if start < end_of_written or (is_written and start < end):
            other = last
            if start < end_of_written:
                other = last_written
            raise WrongArgument(
                f"kernel {kernel}: {name} and {other} share memory, and C writes to one of them; "
                "must be arrays of their own"
            )
        if stop > end:
            end = stop
            last = name
        if is_written:
            end_of_written = stop
            last_written = name


def _wrong(kernel: str, argument: Argument, value: object, lengths: str = "") -> WrongArgument:
    """kernel, argument, what it must be and what it is; lengths: numbers of its shape."""
    if argument.dtype is None:
        return WrongArgument(
            f"kernel {kernel}: {argument.name} must be {WORDS[argument.kind]}, is {_shown(value)}"
        )
    must = f"{argument.kind} of shape ({argument.lengths}){lengths}, contiguous"
    actual = _shown(value)
    if argument.is_written:
        must += ", writable"
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            actual += ", read-only"
    return WrongArgument(f"kernel {kernel}: {argument.name} must be {must}; is {actual}")


def _shown(value: object) -> str:
    """What a value is, in a few words."""
    if not isinstance(value, np.ndarray):
        text = repr(value)
        if len(text) >= 60:
            text = f"{text[:57]}…"
        return f"{type(value).__name__} {text}"
    kind = value.dtype.str
    if value.dtype.byteorder != ">":
        kind = kind[1:]
    shown = f"{kind} of shape {value.shape}"
    if not value.flags.c_contiguous:
        shown = f"{shown}, strides {value.strides}"
    return shown
