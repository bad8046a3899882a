"""The checks of `kernel_arguments` written out as one function for each kernel, in the way of
`dataclasses`.

It says only that all is right. What is not, or must be converted, goes through `check`, which says
why.
"""

import operator
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from pipeline.kernels.arguments import LONGEST, Argument, Declaration, all_hold

KNOWN: dict[str, Any] = {
    "ndarray": np.ndarray,
    "BitGenerator": np.random.BitGenerator,
    "uint64": np.uint64,
    "greatest": np.maximum.reduce,
    "all_hold": all_hold,
    "index": operator.index,
}


def fast_check(declaration: Declaration) -> Callable[..., tuple[Any, ...] | None]:
    """A function of a kernel's arguments that gives what C gets.

    None, or an error, where `check` must be asked.
    """
    arguments = declaration.arguments
    arrays = [argument for argument in arguments if argument.dtype is not None]
    names = [argument.name for argument in arguments]
    lines = [f"def fast({', '.join(names)}):"]
    for argument in arguments:
        if argument.kind in ("size", "i8") and argument.dtype is None:
            name = argument.name
            lines.append(f" if type({name}) is not int: {name} = index({name})")
    for place, axis, name in declaration.named_lengths:
        lines.append(f" {name} = {names[place]}.shape[{axis}]")
    for tests_of in (_type_tests, _item_tests):
        for argument in arguments:
            lines += [f" if not ({test}): return None" for test in tests_of(argument)]
    for array in arrays:
        name = array.name
        lines.append(f" at_{name} = {name}.ctypes.data")
        lines.append(f" to_{name} = at_{name} + {name}.nbytes")
    for first, second in combinations(arrays, 2):
        if first.is_written or second.is_written:
            lines.append(f" if {_overlap(first.name, second.name)}: return None")
    lines.append(f" return ({', '.join(map(_passed, arguments))},)")
    known = dict(KNOWN)
    for array in arrays:
        known[f"type_of_{array.name}"] = array.dtype
    exec("\n".join(lines), known)
    function: Callable[..., tuple[Any, ...] | None] = known["fast"]
    return function


def _overlap(name: str, other: str) -> str:
    """An expression that is true where two arrays share memory."""
    return f"at_{name} < to_{other} and at_{other} < to_{name}"


def _type_tests(argument: Argument) -> Iterator[str]:
    """Expressions that are true of an argument that can be passed as it is."""
    name = argument.name
    if argument.dtype is not None:
        yield (
            f"type({name}) is ndarray and {name}.dtype is type_of_{name} and {name}.shape == "
            f"({argument.lengths},)"
        )
        yield f"{name}.size or max({name}.shape) < {LONGEST}"
        yield f"{name}.flags.num & {argument.flags} == {argument.flags}"
    elif argument.kind == "generator":
        yield f"isinstance({name}, BitGenerator)"
    elif argument.kind == "f8":
        yield f"isinstance({name}, float)"
    else:
        least = "0" if argument.kind == "size" else "-2**63"
        yield f"{least} <= {name} < 2**63"


def _item_tests(argument: Argument) -> Iterator[str]:
    """Expressions that are true where the items of an argument are in their ranges."""
    if argument.below:
        yield (
            f"not {argument.name}.size or greatest({argument.name}.view(uint64), None) < "
            f"({argument.below})"
        )
    for condition in argument.conditions:
        yield f"all_hold({condition})"


def _passed(argument: Argument) -> str:
    """What C gets of an argument."""
    if argument.dtype is not None:
        return f"at_{argument.name}"
    if argument.kind == "generator":
        return f"{argument.name}.ctypes.bit_generator.value"
    return argument.name
