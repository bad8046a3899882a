"""Colours on a dark page: chosen so that what is drawn for white paper can still be seen."""

import colorsys
from collections.abc import Iterable, Sequence

INK = (232, 232, 236)
PAPER = (23, 23, 27)  # of a dark page, see page.css
LEAST_CONTRAST = 3.2
WEIGHTS = (0.2126, 0.7152, 0.0722)  # of red, green and blue in luminance
STEPS = 50  # from a hue to white


def dark(colour: str) -> str:
    """The colour to draw with on a dark page: greys turned over, hues as they are but for those too
    dark to be seen.

    >>> dark("#000000"), dark("#ffffff"), dark("#e6a100"), dark("#16163a")
    ('#e8e8ec', '#17171b', '#e6a100', '#5d5dc2')
    """
    parts = _parts(colour)
    if max(parts) - min(parts) < 8:
        return _turned_over(sum(parts) / 765)
    hue, light, saturation = colorsys.rgb_to_hls(*(part / 255 for part in parts))
    for step in range(STEPS + 1):
        lighter = light + step / STEPS * (1 - light)
        shares = colorsys.hls_to_rgb(hue, lighter, saturation)
        candidate = _hexadecimal(255 * share for share in shares)
        if _contrast(candidate) >= LEAST_CONTRAST:
            return candidate
    raise AssertionError(f"white cannot be seen on {PAPER}")


def luminance(shares: Sequence[float]) -> float:
    """Luminance of a colour, 0 to 1, as WCAG 2.2 defines it. shares: red, green, blue, 0 to 1."""
    total = 0.0
    for weight, share in zip(WEIGHTS, shares, strict=True):
        total += weight * _linear(share)
    return total


def _linear(share: float) -> float:
    """A part of a colour in units of light."""
    if share <= 0.04045:
        return share / 12.92
    power: float = ((share + 0.055) / 1.055) ** 2.4
    return power


def _turned_over(share: float) -> str:
    """The grey between ink and paper of a dark page that is as far from the ink."""
    return _hexadecimal(ink + share * (paper - ink) for ink, paper in zip(INK, PAPER, strict=True))


def _contrast(colour: str) -> float:
    """Contrast with the paper of a dark page, as WCAG 2.2 defines it: 1 to 21."""
    light = luminance([part / 255 for part in _parts(colour)])
    dim = luminance([part / 255 for part in PAPER])
    return (light + 0.05) / (dim + 0.05)


def _parts(colour: str) -> list[int]:
    """Red, green and blue, 0 to 255."""
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def _hexadecimal(parts: Iterable[float]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in parts)
