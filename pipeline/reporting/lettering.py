"""Labels of any length and script: broken into lines, and written by what shows the page where the
font of the figures lacks their letters.
"""

import functools
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = "DejaVu Sans"
LAST_RESORT = "LastResortHE-Regular"  # of Matplotlib: boxes of one width for all other letters
FAMILIES = "'DejaVu Sans', system-ui, 'Noto Sans', sans-serif"
LETTERS_OF_AN_INCH = 12.5  # of 9 points
FEWEST = 12  # letters of a line
LONGEST_WORD = 28  # letters, of one that is not broken
SIZE = 100  # of Matplotlib's outlines of letters, which it then scales
TEXT = re.compile(r"<!-- ([^\n]*?) -->\s*<g([^>]*)>(.*?)</g>", re.S)


def wrapped(label: str, inches: float, most: int | None = None) -> str:
    """A label in as many lines as it needs along that length; what is more than `most` is left out.

    >>> wrapped("How often do you read about this?", 1.4)
    'How often do you\\nread about this?'
    >>> wrapped("How often do you read about this?", 1.4, most=1)
    'How often do you…'
    """
    room = max(FEWEST, int(LETTERS_OF_AN_INCH * inches))
    lines = broken(label, room)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], f"{_cut(lines[most - 1], room - 1)}…"]
    return "\n".join(lines) or label


def broken(label: str, room: int) -> list[str]:
    """Lines of at most so many letters; words stay whole unless they are very long.

    Between letters that are as wide as two, as of Chinese, a line may end anywhere.

    >>> broken("정치에 관심", 6)
    ['정치에', '관심']
    """
    longest = max(map(width, label.split()), default=0)
    has_wide_letters = width(label) > len(label)
    if longest <= max(room, LONGEST_WORD) and not has_wide_letters:
        return textwrap.wrap(label, room, break_long_words=False)
    lines = [""]
    for piece in _pieces(label, room):
        if width(lines[-1] + piece.rstrip()) > room and lines[-1]:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines if line.strip()]


def width(text: str) -> int:
    """Width in letters: those of Chinese, Thai and the like count for two, accents for none.

    >>> width("ab"), width("가나"), width("e\u0301")
    (2, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_letters, text))


def _letters(sign: str) -> int:
    """Of one sign; what the font of the figures lacks has the width of a box."""
    if unicodedata.east_asian_width(sign) in "WF" or unknown(sign):
        return 2
    return 0 if unicodedata.combining(sign) else 1


def _pieces(label: str, room: int) -> Iterator[str]:
    """Words with the space behind them, in pieces where they are too long for a line."""
    for word in re.findall(r"\S+\s*", label):
        while width(word.rstrip()) > room:
            piece = _cut(word, room)
            yield piece
            word = word[len(piece) :]
        yield re.sub(r"\s+", " ", word)


def _cut(text: str, room: int) -> str:
    """As much of the beginning of a text as has room."""
    end = len(text)
    while width(text[:end]) > room:
        end -= 1
    return text[:end].rstrip()


@functools.cache
def _known() -> frozenset[int]:
    """Signs that the font of the figures has."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(font_manager.findfont(FONT)).get_charmap())


def unknown(text: str) -> set[str]:
    """Signs of a text that the font of the figures lacks."""
    return {sign for sign in text if ord(sign) not in _known() and sign.isprintable()}


def with_fallbacks(figure: "Figure") -> None:
    """Let texts use fonts of this machine for signs that the font of the figures lacks.

    For files in which letters are drawn; where no font has a sign, a box stands for it.
    """
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if unknown(text.get_text())]
    lacking = set().union(*(unknown(text.get_text()) for text in texts))
    if not lacking:
        return
    families = [FONT, *_families_with(lacking)]
    for text in texts:
        text.set_fontfamily(families)


def _families_with(signs: Iterable[str]) -> Iterator[str]:
    """Families of this machine that have some of these signs, until each sign has one."""
    from matplotlib.font_manager import fontManager
    from matplotlib.ft2font import FT2Font

    lacking = {ord(sign) for sign in signs}
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname)):
        is_plain = entry.style == "normal" and entry.weight in (400, "normal", "regular")
        if not is_plain or not lacking or LAST_RESORT in Path(entry.fname).stem:
            continue
        try:
            found = lacking & set(FT2Font(entry.fname).get_charmap())
        except (OSError, RuntimeError):  # a file that is no longer there, or no font
            continue
        if found:
            lacking -= found
            yield entry.name


def written(svg: str) -> str:
    """An SVG file in which texts with signs that the font of the figures lacks are written as text:
    what shows it has more fonts.

    Their length is as it was laid out, so that they overlap nothing in any font.
    """
    return TEXT.sub(_as_text, svg)


def _as_text(match: re.Match[str]) -> str:
    text = unescape(match[1])
    if not unknown(text):
        return match[0]
    attributes = match[2]
    scaled = re.search(r" scale\(([\d.]+) [^)]*\)", attributes)
    if scaled is None:
        return match[0]
    size = SIZE * float(scaled[1])
    outlines = "".join(re.findall(r"<defs>.*?</defs>", match[3], re.S))  # later texts use them
    outlines = re.sub(rf'<path id="{LAST_RESORT}[^>]*/>\s*', "", outlines)
    length = ""
    if not any(map(unicodedata.combining, text)):
        length = f' textLength="{size * _length(match[3]) / SIZE:.2f}"'
    placed = attributes.replace(scaled[0], "")
    font = f"font: {size:g}px {FAMILIES}"
    if 'style="' in placed:
        placed = placed.replace('style="', f'style="{font}; ')
    else:
        placed += f' style="{font}"'
    return f"{outlines}<text{placed}{length}>{escape(text)}</text>"


def _length(glyphs: str) -> float:
    """Length of a text in hundredths of its size: the place of its last letter, and that letter."""
    places = [float(place) for place in re.findall(r"<use [^>]*translate\(([\d.]+)", glyphs)]
    is_last_wide = LAST_RESORT in glyphs.rpartition("<use")[2]
    return max(places, default=0.0) + (114 if is_last_wide else 60)
