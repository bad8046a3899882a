"""What values hold, as digests that can be compared: of arrays, containers, dataclasses, and tables
of libraries.

Two values that hold the same have the same digest, in whatever process. Of an object that is none
of these the name of its class counts only.

>>> digest_of([1, "a"]) == digest_of([1, "a"]), digest_of({2, 3}) == digest_of({3, 4})
(True, False)
"""

import array
import collections
import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.frozen_classes import package_of
from pipeline.study.returned import lazy
from pipeline.study.untyped import LoadedTable

BUFFERS = (bytearray, array.array, memoryview)
SEQUENCES = (list, tuple, collections.deque)
SCALARS = bool | int | float | complex | str | bytes | np.generic | None


def digest_of(value: object) -> str:
    """Digest, 16 hexadecimal digits, of what a value holds."""
    digest = hashlib.blake2b(digest_size=8)
    for text in _texts(value):
        digest.update(text)
    return digest.hexdigest()


# One case a kind of value; other code would be other code to every result that is stored.
def _texts(value: object) -> Iterator[bytes]:  # noqa: C901
    if isinstance(value, np.ndarray):
        yield from _texts_of_array(value)
    elif isinstance(value, SCALARS):
        yield repr(value).encode(errors="backslashreplace")
    elif isinstance(value, BUFFERS):
        yield bytes(value)
    elif is_table(value):
        yield type(value).__name__.encode()
        yield from _texts(_columns(value))
    elif isinstance(value, Mapping):
        yield from _texts([*value.items()])
    elif isinstance(value, SEQUENCES):
        yield f"{len(value)}".encode()
        for item in value:
            yield from _texts(item)
    elif isinstance(value, set | frozenset):
        yield from sorted(digest_of(item).encode() for item in value)
    elif dataclasses.is_dataclass(value):
        yield type(value).__name__.encode()
        for field in dataclasses.fields(value):
            if not lazy(type(value), field.name):
                yield from _texts(getattr(value, field.name))
    else:
        yield type(value).__name__.encode()


def _texts_of_array(values: Array) -> Iterator[bytes]:
    yield f"{values.dtype} {values.shape}".encode()
    if values.dtype.hasobject or values.dtype.kind == "T":
        yield from _texts(values.tolist())
    else:
        yield values.tobytes()


def is_table(value: object) -> bool:
    """Whether a value is a table of pandas or xarray, or a sparse matrix of SciPy.

    >>> from scipy.sparse import eye_array
    >>> is_table(eye_array(2)), is_table(np.eye(2))
    (True, False)
    """
    kind: Any = type(value)
    if package_of(kind) == "scipy":
        return hasattr(value, "tocoo")
    return package_of(kind) in ("pandas", "xarray") and hasattr(value, "to_dict")


def _columns(table: LoadedTable) -> list[Any]:
    """What a table holds, by its own names."""
    if hasattr(table, "tocoo"):
        coordinates = table.tocoo()
        return [table.shape, *coordinates.coords, coordinates.data]
    if hasattr(table, "columns"):  # a DataFrame; names may occur twice
        columns = [table.iloc[:, place].to_numpy() for place in range(table.shape[1])]
        return [list(table.columns), table.index.to_numpy(), columns]
    if hasattr(table, "index"):
        return [table.name, table.index.to_numpy(), table.to_numpy()]
    if hasattr(table, "variables"):  # a Dataset
        names = sorted(table.variables, key=str)
        return [[name, table[name].dims, table[name].to_numpy()] for name in names]
    coordinates = sorted(table.coords, key=str)
    values = [[name, table[name].dims, table[name].to_numpy()] for name in coordinates]
    return [table.name, table.dims, table.to_numpy(), values]
