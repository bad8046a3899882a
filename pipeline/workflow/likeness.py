"""Whether two files of a report say the same: to the last byte, or up to another arithmetic."""

import base64
import io
import re
import zipfile
from pathlib import Path

from pipeline.workflow.recomputed_units import NEAR

NUMBER = re.compile(r"[-−]?\d+\.\d+(?:[eE][-+]?\d+)?|[-−]?\d+[eE][-+]?\d+")
INSIDE = re.compile(r"data:application/zip;base64,([A-Za-z0-9+/=]*)")
ONE_DIGIT = 1.000001  # times the last digit that is printed: rounding may go either way


def same(first: Path, second: Path, exactly: bool) -> bool:
    """Whether two files say the same. exactly: to the last byte, but for how zip files in them were
    compressed; otherwise numbers with a point may differ by 1e-9, or by one in their last digit.
    """
    if not first.is_file() or not second.is_file():
        return False
    before = first.read_bytes()
    after = second.read_bytes()
    if before == after:
        return True
    try:
        texts = (_text(before), _text(after))
    except (ValueError, zipfile.BadZipFile):
        return False
    return texts[0] == texts[1] if exactly else alike(*texts)


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


def _text(content: bytes) -> str:
    """The text of a file, with what is in zip files within it in place of these."""
    return INSIDE.sub(lambda match: _unzipped(match[1]), content.decode())


def _unzipped(encoded: str) -> str:
    """The files of a zip file in a page, as one text."""
    texts = []
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(encoded))) as inside:
        for name in inside.namelist():
            texts.append(f"{name}\n{inside.read(name).decode()}")
    return "\n".join(texts)
