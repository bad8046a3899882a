"""Figures inside a page: short, described, and readable on a dark screen."""

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from pipeline.reporting.dark_colours import dark

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ON_TILES = "kept"  # class of what keeps its colours on a dark page, see page.css
COLOUR = re.compile(r"#[0-9a-f]{6}")
LETTER = r"DejaVu"  # with which the ids of letters begin


def keep_on_tiles(figure: "Figure") -> None:
    """Mark what lies on coloured tiles: its colours, chosen for these, stay the same on a dark
    page.
    """
    from matplotlib.collections import QuadMesh

    for axes in figure.axes:
        if any(isinstance(collection, QuadMesh) for collection in axes.collections):
            for artist in (*axes.collections, *axes.lines, *_texts_on_tiles(axes)):
                artist.set_gid(ON_TILES)


def _texts_on_tiles(axes: "Axes") -> "list[Artist]":
    """Texts at places of the axes, and arrows at the edge of tiles."""
    from matplotlib.text import Annotation

    texts: list[Artist] = []
    for text in axes.texts:
        is_arrow = isinstance(text, Annotation) and text.get_path_effects()
        if is_arrow or text.get_transform() == axes.transData:
            texts.append(text)
    return texts


def inline(svg: bytes, prefix: str, description: str, glyphs: dict[str, str]) -> str:
    """An SVG file as an element of a page: short, with ids of its own, and described for those who
    cannot see it.

    glyphs: outlines of letters by their id, added to, which the page must define once for all of
    its figures. On a dark screen its colours are those of `dark`, but for what `keep_on_tiles`
    marked.
    """
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.S)
    text = text.replace(f'<g id="{ON_TILES}">', f'<g class="{ON_TILES}">')
    text = _with_own_ids(text, prefix)
    text = _without_glyphs(text, prefix, glyphs)
    text = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", text)
    text = re.sub(r' (?:d|x|y|points)="[^"]*"|translate\([^)]*\)', _rounded, text)
    text = re.sub(r">\s+<", "><", text).replace("<defs></defs>", "")
    text, classes = _with_classes(text, prefix)
    text = _with_groups(text, classes)
    head, _, body = text.partition(">")
    label = f'<svg role="img" class="{prefix}" aria-label="{escape(description)}"'
    head = head.replace("<svg", label, 1)
    return f"{head}><style>{_rules(classes, prefix)}</style>{body}"


def _with_own_ids(text: str, prefix: str) -> str:
    """An element whose ids are those of this figure alone; ids that nothing uses are left out."""
    used = sorted(set(re.findall(r'(?:href="|url\()#([^")]+)', text)))
    ids = {}
    for k, name in enumerate(used):
        ids[name] = f"{prefix}-{name}" if name.startswith(LETTER) else f"{prefix}-{k}"

    def own_id(match: re.Match[str]) -> str:
        if match[1] not in ids:
            return ""
        return f' id="{ids[match[1]]}"'

    text = re.sub(r' id="([^"]*)"', own_id, text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)', lambda match: f'href="#{ids[match[1]]}', text)
    return re.sub(r"url\(#([^)]+)", lambda match: f"url(#{ids[match[1]]}", text)


def _with_classes(text: str, prefix: str) -> tuple[str, dict[str, str]]:
    """An element with a class in place of every style; the class of each style."""
    classes: dict[str, str] = {}

    def class_of(match: re.Match[str]) -> str:
        name = classes.setdefault(match[1], f"{prefix}-{len(classes)}")
        return f' class="{name}"'

    return re.sub(r' style="([^"]*)"', class_of, text), classes


def _with_groups(text: str, classes: Mapping[str, str]) -> str:
    """An element in which a group says once what all of its marks have in common.

    Opacity stays with the marks: a group would not pass it on.
    """
    stay = {name for rule, name in classes.items() if re.search(r"(?<!-)opacity", rule)}

    def together(match: re.Match[str]) -> str:
        group, marks, name = match.groups()
        if name in stay:
            return match[0]
        without = marks.replace(f' class="{name}"', "")
        return f'<g{group} class="{name}">{without}</g>'

    marks = r'(<use [^>]* class="([^"]*)"/>(?:<use [^>]* class="\3"/>)+)'
    return re.sub(rf'<g((?: clip-path="[^"]*")?)>{marks}</g>', together, text)


def _rules(classes: Mapping[str, str], prefix: str) -> str:
    """Rules of style of the classes, with their colours on a dark screen."""
    rules = "".join(f".{name}{{{rule}}}" for rule, name in classes.items())
    night = ""
    day = ""
    for colour in sorted(set(COLOUR.findall(rules))):
        name = colour.removeprefix("#")
        at_night = dark(colour)
        if at_night != colour:
            rules = rules.replace(colour, f"var(--{name},{colour})")
            night += f"--{name}:{at_night};"
            day += f"--{name}:initial;"
    return (
        f"{rules}@media screen and (prefers-color-scheme:dark){{"
        f".{prefix}{{fill:{dark('#000000')};{night}}}"
        f".{prefix} .{ON_TILES}{{fill:#000;{day}}}}}"
    )


def _without_glyphs(text: str, prefix: str, glyphs: dict[str, str]) -> str:
    """An element whose letters refer to outlines that are defined elsewhere.

    These are added to the glyphs. A letter with another outline than the one shared stays.
    """

    def share(match: re.Match[str]) -> str:
        shared = glyphs.setdefault(match[1], match[2])
        return "" if shared == match[2] else match[0]

    text = re.sub(rf'<path id="{prefix}-({LETTER}[^"]+)"([^>]*)/>\s*', share, text)
    stay = set(re.findall(rf'<path id="{prefix}-({LETTER}[^"]+)"', text))

    def refer(match: re.Match[str]) -> str:
        return match[0] if match[1] in stay else f'"#{_short(match[1])}"'

    text = re.sub(rf'"#{prefix}-({LETTER}[^"]+)"', refer, text)
    return re.sub(r' transform="translate\((\S+) 0\)"/>', _placed, text)


def _placed(letter: re.Match[str]) -> str:
    """The place of a letter, in hundredths of its size."""
    return f' x="{float(letter[1]):.0f}"/>'


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
    paths = ""
    for name, attributes in glyphs.items():
        path = f'<path id="{_short(name)}"{attributes}/>'
        paths += re.sub(r' d="[^"]*"', _rounded, path)
    return (
        '<svg width="0" height="0" style="position:absolute" '
        f'aria-hidden="true"><defs>{paths}</defs></svg>'
    )


def _rounded(attribute: re.Match[str]) -> str:
    """Coordinates to a hundredth of a point, on one line."""
    line = re.sub(r"\s*\n", " ", attribute[0])
    return re.sub(r"(\.\d\d)\d+", r"\1", line)
