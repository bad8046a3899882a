"""Whether two files of a report say the same: to the last byte, or up to another arithmetic."""

import base64
import io
import re
import zipfile
import zlib
from pathlib import Path

from pipeline.study.files import read_regular
from pipeline.workflow.recomputed_units import NEAR

NUMBER = re.compile(r"[-−]?\d+\.\d+(?:[eE][-+]?\d+)?|[-−]?\d+[eE][-+]?\d+")
INSIDE = re.compile(r"data:application/zip;base64,([A-Za-z0-9+/=]*)")
MOST_UNZIPPED = 2**28  # bytes of the files in a page, more than any has
# What a file raises that is no text, or has a zip file that is none.
UNREADABLE = (ValueError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError)
ONE_DIGIT = 1.000001  # times the last digit that is printed: rounding may go either way


def same(first: Path, second: Path, exactly: bool) -> bool:
    """Whether two files say the same. exactly: to the last byte, but for how zip files in them were
    compressed; otherwise numbers with a point may differ by 1e-9, or by one in their last digit.
    """
    if not first.is_file() or not second.is_file():
        return False
    before = read_regular(first)
    after = read_regular(second)
    if before == after:
        return True
    try:
        first_texts = _texts(before)
        second_texts = _texts(after)
    except UNREADABLE:
        return False
    if len(first_texts) != len(second_texts):
        return False
    if exactly:
        return first_texts == second_texts
    return all(alike(*pair) for pair in zip(first_texts, second_texts, strict=True))


def alike(first: str, second: str) -> bool:
    """Whether two texts differ only in numbers with a point, and in these by little.

    >>> alike("mean 0.123456789", "mean 0.123456790"), alike("5 of 6", "6 of 6")
    (True, False)
    """
    if NUMBER.split(first) != NUMBER.split(second):
        return False
    pairs = zip(NUMBER.findall(first), NUMBER.findall(second), strict=True)
    return all(_is_near(before, after) for before, after in pairs)


def _is_near(first: str, second: str) -> bool:
    """Whether two numbers differ by 1e-9, or by one in the last digit of the shorter."""
    if first == second:
        return True
    before = _value(first)
    after = _value(second)
    last_digit = max(_last_digit(first), _last_digit(second))
    allowed = max(NEAR * max(abs(before), abs(after)), ONE_DIGIT * last_digit)
    return abs(before - after) <= allowed


def _value(text: str) -> float:
    return float(text.replace("−", "-"))


def _last_digit(text: str) -> float:
    """What one in the last digit of a number is worth."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))


def _texts(content: bytes) -> list[str]:
    """The texts of a file between zip files within it, then names and texts of the files in these.

    Apart: a zip file must not pass for the part of a page that it hides.
    """
    parts = INSIDE.split(content.decode())
    texts = parts[::2]
    for encoded in parts[1::2]:
        texts += _unzipped(encoded)
    return texts


def _unzipped(encoded: str) -> list[str]:
    """How many files a zip file in a page has, then the name and text of each."""
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(encoded))) as inside:
        files = inside.infolist()
        if sum(file.file_size for file in files) > MOST_UNZIPPED:
            raise ValueError("is larger than any file of a page")
        texts = [str(len(files))]
        for file in files:
            texts += [file.filename, inside.read(file).decode()]
    return texts
