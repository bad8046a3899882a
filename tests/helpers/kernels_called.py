"""Calls of all kernels with arguments of many sizes, right ones and wrong ones, for tests under sanitizers.

`kernels_called.py SEED NUMBER` calls each kernel so many times. What it is called with must be refused by
`WrongArgument`, or be computed with; where C reads or writes what it should not, the sanitizer ends the process.
Prints how many calls were computed and refused.
"""

import importlib
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import pipeline
from pipeline.kernels.arguments import WrongArgument
from pipeline.kernels.loader import Kernel

SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 33)
FEW, LARGE, LARGER = (
    3,
    (70, 130, 300),
    (1100, 2100),
)  # one of the sizes at times, while the others are few
LINEAR = {
    "mean_vote",
    "agreement",
    "weighted_votes",
    "em_steps",
    "differences",
    "observed_differences",
    "pairs",
    "draw",
    "sums",
    "answer",
    "put_pairs",
    "thin",
    "deal",
    "draw_sets",
    "deal_packs",
}  # kernels that take no long time of a larger one
MOST = 7000  # of items of an array, of which kernels may take time for each
NAMES = {
    "reps",
    "n",
    "m",
    "items",
    "dims",
    "count",
    "rows",
    "width",
    "height",
    "r",
    "boxes",
    "groups",
    "usable",
}
PACKAGE = Path(pipeline.__file__).parent


def kernels():
    """All kernels of the package, by their names."""
    for source in sorted(PACKAGE.rglob("*.c")):
        module = importlib.import_module(
            ".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts)
        )
        yield from (one for one in vars(module).values() if isinstance(one, Kernel))


def size(rng):
    return int(rng.choice(SIZES))


def number(rng, argument, names):
    """A whole number or a number that is in most of the ranges."""
    if argument.kind == "f8":
        return float(rng.choice([0.0, 1e-8, 0.5, 0.9, 3.0]))
    if argument.kind == "generator":
        return np.random.PCG64(int(rng.integers(100)))
    if argument.name in ("voted", "same", "dealt", "known", "is_asked"):
        return int(rng.integers(2))
    if argument.name == "reading":
        return int(rng.integers(3))
    if argument.name in ("n_width", "p_width"):
        return int(rng.choice([1, names["width"]]))
    return size(rng)


def content(rng, argument, shape, names):
    """An array of that type, whose items are mostly in their range."""
    kind = argument.dtype.kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind == "f":
        values = rng.random(shape) * rng.choice([1e-3, 1.0, 1.0])
        return values if argument.name in ("p", "start") else values + rng.choice([0, 0, 1, -1])
    if argument.dtype == np.int8:
        return rng.integers(-1, 2, shape, np.int8)
    end = max(int(eval(argument.below, {}, names)), 1) if argument.below else 5
    end = min(end, MOST)
    return rng.integers(0, end, shape).astype(argument.dtype)


def sizes(rng, declaration):
    """Numbers, and lengths that arrays give."""
    names = {name: size(rng) for _, _, name in declaration.named_lengths}
    for argument in declaration.arguments:
        if argument.dtype is None:
            names[argument.name] = number(rng, argument, names)
    lengths = [
        one.name for one in declaration.arguments if one.kind == "size" and one.name in NAMES
    ]
    if rng.random() < 0.04 and lengths:
        few = {name: min(names[name], FEW) for name in lengths}
        names |= few | {lengths[rng.integers(len(lengths))]: int(rng.choice(LARGE))}
        if declaration.kernel in LINEAR:
            names |= few | {lengths[rng.integers(len(lengths))]: int(rng.choice(LARGER))}
        names |= {name: names["width"] for name in ("n_width", "p_width") if name in names}
    if "items" in names:
        names["count"] = min(names["count"], max(names["items"], 1))
    return names


def anything(rng, declaration):
    """Arguments of sizes that go together."""
    names, values = sizes(rng, declaration), []
    if "octets" in names:
        names["octets"] = names["reps"] * names["n"] * names["m"] + int(rng.integers(3))
    for argument in declaration.arguments:
        if argument.dtype is None:
            values.append(names[argument.name])
            continue
        shape = eval(f"({argument.lengths},)", {}, names)
        values.append(content(rng, argument, tuple(max(length, 0) for length in shape), names))
    return values


def of_throw_many(rng, declaration):
    boxes = size(rng)
    return [
        np.random.PCG64(1),
        int(4 * boxes + rng.integers(200)),
        boxes,
        np.zeros(boxes, np.int64),
    ]


def of_split(rng, declaration):
    kind, rows, width, tables = int(rng.integers(3)), size(rng), size(rng), size(rng)
    if kind == 0:
        laws = np.stack(
            [rng.integers(0, 40, rows), rng.random(rows).view(np.int64), np.zeros(rows, np.int64)],
            axis=1,
        )
    elif kind == 1:
        good, bad = rng.integers(0, 30, (2, rows))
        laws = np.stack([good, bad, rng.integers(0, good + bad + 1)], axis=1)
    else:
        laws = rng.integers(0, max(tables, 1), (rows, 3))
    room = int(rng.integers(0, 300))
    return [
        np.random.PCG64(1),
        kind,
        rows,
        np.ascontiguousarray(laws),
        rng.integers(0, 1000, rows),
        width,
        rng.integers(0, 9, (tables, width)),
        rng.random((tables, width)),
        room,
        np.zeros((3, room), np.int64),
        np.array([rng.integers(0, rows + 1), 0]),
    ]


def of_add_subsets(rng, declaration):
    rows, longest = size(rng), size(rng)
    runs = np.sort(rng.integers(0, 3, rows))
    sizes, width = np.full(rows, longest), 3 * longest + 1
    first = rng.integers(0, sizes + 1)
    second = rng.integers(0, sizes - first + 1)
    return [
        np.random.PCG64(1),
        rows,
        runs * longest,
        sizes,
        first,
        second,
        rng.integers(0, 1000, rows),
        longest,
        width,
        np.zeros((2, width), np.int64),
    ]


SPECIAL = {"throw_many": of_throw_many, "split": of_split, "add_subsets": of_add_subsets}


def spoilt(rng, values):
    """The same with one of them wrong: another size, type or order, an item out of range, or memory of another."""
    place = int(rng.integers(len(values)))
    value = values[place]
    if not isinstance(value, np.ndarray):
        other = [-1, value + 1 if isinstance(value, int) else 1, 0, 2.5, None, 10**30]
        return [*values[:place], other[rng.integers(len(other))], *values[place + 1 :]]
    longer = np.concatenate([value, value]) if value.ndim else value
    locked = value.copy()
    locked.flags.writeable = False
    outside = value + np.array(100).astype(value.dtype) if value.dtype.kind in "iu" else value[:0]
    undefined = value * rng.choice([np.nan, np.inf, -1.0]) if value.dtype.kind == "f" else value[1:]
    other = [
        value[1:],
        longer,
        value[..., None],
        value.reshape(-1)[:-1],
        value.astype(np.float32),
        longer[::2],
        locked,
        outside,
        undefined,
        -1 - value if value.dtype.kind == "i" else value.tolist(),
        next((one for one in values if isinstance(one, np.ndarray)), value),
    ]
    return [*values[:place], other[rng.integers(len(other))], *values[place + 1 :]]


def main(seed, times):
    """Call them all."""
    for kernel in kernels():
        name = kernel.declaration.kernel
        rng, seen = np.random.default_rng([seed, *name.encode()]), Counter()
        for time in range(times):
            values = SPECIAL.get(name, anything)(rng, kernel.declaration)
            values = spoilt(rng, values) if time % 3 == 2 else values
            try:
                kernel(*values)
                seen["computed"] += 1
            except WrongArgument:
                seen["refused"] += 1
        print(name, seen["computed"], seen["refused"], flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
