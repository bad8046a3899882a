"""Whatever a mechanism returns, as an array, and that as numbers."""

import numbers
import zlib
from decimal import Decimal
from typing import Any

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import InvalidInput, shorten

WHOLE = 2.0**53  # whole numbers, up to which floating-point numbers tell all of them apart
MOST_LABELS = 1_000  # that are remembered, to be named in events
LONGEST = 40  # characters of a label


def array_of(output: object, samples: int) -> Array:
    """The output as an array; InvalidInput unless its first axis is the samples.

    Sparse matrices are filled, and masked values are no numbers.

    >>> array_of(np.ma.masked_equal([0, 1], 1), 2)
    array([ 0., nan])
    """
    try:
        array = np.asarray(_plain(output))
    except ValueError:
        allowed = "must return an array: its samples have several shapes"
        raise InvalidInput("mechanism", type(output).__name__, allowed) from None
    if array.ndim == 0 or len(array) != samples:
        allowed = f"must return an array with {samples} samples on its first axis"
        raise InvalidInput("mechanism", _shown(output, array), allowed)
    return array


def _plain(output: Any) -> object:  # noqa: ANN401 - whatever a stranger's function returns
    """Sparse matrices in full, masked values as NaN, or as None where they are no numbers."""
    if hasattr(output, "toarray"):
        return output.toarray()
    if not isinstance(output, np.ma.MaskedArray):
        return output
    if output.dtype.kind in "biuf":
        return np.ma.filled(output.astype(float), np.nan)
    return np.ma.filled(output.astype(object), None)


def _shown(output: object, array: Array) -> str:
    if array.ndim == 0 and array.dtype == object:
        return type(output).__name__
    return f"array of shape {array.shape}"


class Codes:
    """Numbers for outputs of any type: the same number for the same output, in every process.

    labels: number -> text, of outputs that are texts or other objects.
    """

    def __init__(self) -> None:
        self.labels: dict[float, str] = {}

    def numbers(self, output: Array, samples: int) -> Floats:
        """(samples, numbers) of an array; InvalidInput for samples without numbers."""
        if output.size == 0:
            allowed = "must return at least one number a sample"
            raise InvalidInput("mechanism", f"array of shape {output.shape}", allowed)
        rows = output.reshape(samples, -1)
        kind = rows.dtype.kind
        if kind == "c":
            return np.concatenate([rows.real, rows.imag], axis=1).astype(float)
        if kind in "iu":
            return _of_whole(rows)
        if kind in "bf":
            return rows.astype(float)
        coded: Floats = np.vectorize(self._code, otypes=[float])(rows)
        return coded

    def in_words(self, text: str) -> str:
        """A text with labels in place of their numbers."""
        for number, label in self.labels.items():
            for shown in (f"{number:.17g}", f"{number:g}"):
                text = text.replace(shown, label)
        return text

    def _code(self, value: object) -> float:
        """The number itself; that of a text or an object is a digest."""
        if isinstance(value, numbers.Real | Decimal):
            number = float(value)
            if abs(number) < WHOLE:
                return number
        text = str(value)
        code = float(zlib.crc32(text.encode()))
        if len(self.labels) < MOST_LABELS:
            self.labels.setdefault(code, shorten(text, LONGEST))
        return code


def _of_whole(rows: Array) -> Floats:
    """Whole numbers; those beyond `WHOLE` are hashed, as floating-point numbers skip some."""
    values = rows.astype(float)
    is_long = np.abs(values) >= WHOLE
    if is_long.any():
        values[is_long] = _hashed(rows[is_long])
    return values


def _hashed(rows: Array) -> Floats:
    """(n,) even numbers above `WHOLE`, for 64-bit numbers."""
    words = rows.astype(np.uint64)
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(29)
    return WHOLE + 2.0 * (words >> np.uint64(12)).astype(float)
