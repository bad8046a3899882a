"""Figures inside a page: short, described, and readable on a dark screen."""

import colorsys
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT = "kept"
COLOUR = re.compile(r"#[0-9a-f]{6}")
INK = (232, 232, 236)
PAPER = (23, 23, 27)  # of a dark page, see page.css
LEAST_CONTRAST = 3.2


def keep_on_tiles(figure: "Figure") -> None:
    """Mark what lies on coloured tiles: its colours, chosen for these, stay the same on a dark
    page.
    """
    from matplotlib.collections import QuadMesh
    from matplotlib.text import Annotation

    for axes in figure.axes:
        if any(isinstance(one, QuadMesh) for one in axes.collections):
            inside = (
                text
                for text in axes.texts
                if text.get_transform() == axes.transData
                or (isinstance(text, Annotation) and text.get_path_effects())
            )  # arrows at the edge of tiles
            for artist in (*axes.collections, *axes.lines, *inside):
                artist.set_gid(KEPT)


def inline(svg: bytes, prefix: str, description: str, glyphs: dict[str, str]) -> str:
    """An SVG file as an element of a page: short, with ids of its own, and described for those who
    cannot see it.

    glyphs: outlines of letters by their id, added to, which the page must define once for all of
    its figures. On a dark screen its colours are those of `dark`, but for what `keep_on_tiles`
    marked.
    """
    from html import escape

    text = svg.decode()
    text = re.sub(
        r"<metadata>.*?</metadata>|<!--.*?-->", "", text[text.index("<svg") :], flags=re.S
    )
    text = re.sub(rf'<g id="{KEPT}">', f'<g class="{KEPT}">', text)
    used = sorted(set(re.findall(r'(?:href="|url\()#([^")]+)', text)))
    ids = {
        name: f"{prefix}-{name if name.startswith('DejaVu') else k}" for k, name in enumerate(used)
    }
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{ids[m[1]]}"' if m[1] in ids else "", text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)', lambda m: f'href="#{ids[m[1]]}', text)
    text = re.sub(r"url\(#([^)]+)", lambda m: f"url(#{ids[m[1]]}", text)
    text = _without_glyphs(text, prefix, glyphs)
    text = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", text)
    text = re.sub(r' (?:d|x|y|points)="[^"]*"|translate\([^)]*\)', _rounded, text)
    text = re.sub(r">\s+<", "><", text).replace("<defs></defs>", "")
    classes: dict[str, str] = {}
    text = re.sub(
        r' style="([^"]*)"',
        lambda m: ' class="{}"'.format(classes.setdefault(m[1], f"{prefix}-{len(classes)}")),
        text,
    )
    own = {
        name for rule, name in classes.items() if re.search(r"(?<!-)opacity", rule)
    }  # a group would not pass it on

    def together(
        match: re.Match[str],
    ) -> str:  # what all marks of a group have in common is said once
        group, marks, name = match.groups()
        if name in own:
            return match[0]
        without = marks.replace(f' class="{name}"', "")
        return f'<g{group} class="{name}">{without}</g>'

    marks = r'(<use [^>]* class="([^"]*)"/>(?:<use [^>]* class="\3"/>)+)'
    text = re.sub(rf'<g((?: clip-path="[^"]*")?)>{marks}</g>', together, text)
    rules = "".join(f".{name}{{{rule}}}" for rule, name in classes.items())
    at_night = {colour: dark(colour) for colour in sorted(set(COLOUR.findall(rules)))}
    others = {colour: other for colour, other in at_night.items() if other != colour}
    rules = COLOUR.sub(lambda m: f"var(--{m[0][1:]},{m[0]})" if m[0] in others else m[0], rules)
    night = "".join(f"--{colour[1:]}:{other};" for colour, other in others.items())
    day = "".join(f"--{colour[1:]}:initial;" for colour in others)
    rules += (
        "@media screen and "
        f"(prefers-color-scheme:dark){{.{prefix}{{fill:{dark('#000000')};{night}}}.{prefix} "
        f".{KEPT}{{fill:#000;{day}}}}}"
    )
    head, _, body = text.partition(">")
    head = head.replace(
        "<svg", f'<svg role="img" class="{prefix}" aria-label="{escape(description)}"', 1
    )
    return f"{head}><style>{rules}</style>{body}"


def _without_glyphs(text: str, prefix: str, glyphs: dict[str, str]) -> str:
    """An element whose letters refer to outlines that are defined elsewhere.

    These are added to the glyphs.
    """

    def share(match: re.Match[str]) -> str:
        return "" if glyphs.setdefault(match[1], match[2]) == match[2] else match[0]

    text = re.sub(rf'<path id="{prefix}-(DejaVu[^"]+)"([^>]*)/>\s*', share, text)
    own = set(
        re.findall(rf'<path id="{prefix}-(DejaVu[^"]+)"', text)
    )  # of another outline than the one shared
    text = re.sub(
        rf'"#{prefix}-(DejaVu[^"]+)"', lambda m: m[0] if m[1] in own else f'"#{_short(m[1])}"', text
    )
    # Letters are placed in hundredths of their size.
    return re.sub(
        r' transform="translate\((\S+) 0\)"/>', lambda m: f' x="{float(m[1]):.0f}"/>', text
    )


def _short(name: str) -> str:
    """The id of a letter, which a page repeats ten thousand times.

    >>> _short("DejaVuSans-3b")
    'D-3b'
    """
    return name.replace("DejaVuSans", "D")


def definitions(glyphs: Mapping[str, str]) -> str:
    """An element without extent that defines the outlines of letters; nothing without any."""
    if not glyphs:
        return ""
    paths = "".join(
        re.sub(r' d="[^"]*"', _rounded, f'<path id="{_short(name)}"{rest}/>')
        for name, rest in glyphs.items()
    )
    return (
        '<svg width="0" height="0" style="position:absolute" '
        f'aria-hidden="true"><defs>{paths}</defs></svg>'
    )


def dark(colour: str) -> str:
    """The colour to draw with on a dark page: greys turned over, hues as they are but for those too
    dark to be seen.

    >>> dark("#000000"), dark("#ffffff"), dark("#e6a100"), dark("#16163a")
    ('#e8e8ec', '#17171b', '#e6a100', '#5d5dc2')
    """
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    if max(parts) - min(parts) < 8:
        share = sum(parts) / 765
        return _hexadecimal(
            ink + share * (paper - ink) for ink, paper in zip(INK, PAPER, strict=True)
        )
    hue, light, saturation = colorsys.rgb_to_hls(*(part / 255 for part in parts))
    lighter = (
        _hexadecimal(
            255 * part
            for part in colorsys.hls_to_rgb(hue, light + k / 50 * (1 - light), saturation)
        )
        for k in range(51)
    )
    return next(one for one in lighter if _contrast(one) >= LEAST_CONTRAST)


def _hexadecimal(parts: Iterable[float]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def _contrast(colour: str) -> float:
    """Contrast with the paper of a dark page, as WCAG 2.2 defines it: 1 to 21."""
    light, dim = (
        0.05
        + sum(
            weight * (part / 3294.6 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4)
            for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
        )
        for parts in ([int(colour[k : k + 2], 16) for k in (1, 3, 5)], PAPER)
    )
    return light / dim


def _rounded(attribute: re.Match[str]) -> str:
    """Coordinates to a hundredth of a point, on one line."""
    return re.sub(r"(\.\d\d)\d+", r"\1", re.sub(r"\s*\n", " ", attribute[0]))
