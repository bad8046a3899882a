"""How figures look: the same numbers give the same bytes, and nothing depends on colour alone."""

import functools
import io
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from pipeline.reporting.formatting import number
from pipeline.reporting.lettering import (
    FONT,
    LETTERS_OF_AN_INCH,
    broken,
    width,
    with_fallbacks,
    written,
)
from pipeline.reporting.lettering import wrapped as wrapped
from pipeline.study.texts import visible

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

RC = {
    "backend": "Agg",
    "svg.hashsalt": "report",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "font.family": FONT,
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.3,
    "lines.markersize": 5,
    "errorbar.capsize": 2,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.formatter.use_locale": False,
    "path.simplify": False,
    "text.parse_math": False,
}
SMALL = ("xtick.labelsize", "ytick.labelsize", "legend.fontsize")
# dark to light in steps that survive a grey printer; safe for the common colour blindnesses
NAMED = ("#16163a", "#0072b2", "#d55e00", "#2ca58d", "#e6a100", "#8a4f9e", "#9ccbe8", "#a8a8a8")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LINES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
GUIDE: dict[str, Any] = {"color": "k", "linewidth": 0.9, "linestyle": (0, (6, 3))}
REFERENCE: dict[str, Any] = {"color": "k", "linewidth": 1.1, "linestyle": (0, (8, 2, 2.5, 2))}
MARK: dict[str, Any] = {"color": "0.3", "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
FINE_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8)  # of labels in a decade
COARSE_STEPS = ((1, 2, 5), (1, 3), (1,))
METADATA = {  # of a file, which would differ from day to day and between versions
    "svg": ("Date", "Creator", "Format", "Type"),
    "pdf": ("CreationDate", "Creator", "Producer"),
    "png": ("Software",),
}
UPRIGHT = 1.6  # inches of a name that is turned
HEIGHT = 3.6  # inches of one panel, without the legend


@dataclass(frozen=True)
class Layout:
    """How a figure is laid out for those who look at it.

    width: inches. columns: panels in a row, at most. letters: in a line of a legend. small, tiny:
    points of ticks and legends, and of remarks.
    """

    name: str
    width: float
    columns: int
    letters: int
    small: float
    tiny: float


WIDE = Layout("wide", width=5.6, columns=2, letters=82, small=8.5, tiny=7.5)
# On a telephone, 390 pixels wide, letters of 9 points in 4 inches are 11 pixels high.
NARROW = Layout("narrow", width=4.0, columns=1, letters=52, small=9.0, tiny=9.0)
_LAYOUT: ContextVar[Layout] = ContextVar("layout", default=WIDE)


def layout() -> Layout:
    """The layout in which figures are drawn now."""
    return _LAYOUT.get()


@contextmanager
def laid_out(chosen: Layout) -> Iterator[None]:
    """Figures that are drawn inside have this layout."""
    before = _LAYOUT.set(chosen)
    try:
        yield
    finally:
        _LAYOUT.reset(before)


@functools.cache
def _settings() -> dict[str, object]:
    """All settings of Matplotlib: a person's matplotlibrc must not change the bytes."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        return dict(matplotlib.rcParams)


@contextmanager
def applied() -> Iterator[None]:
    """Matplotlib in this style; draw and save inside."""
    import matplotlib

    with matplotlib.rc_context():
        dict.update(matplotlib.rcParams, _settings())  # checked already
        for name in SMALL:
            matplotlib.rcParams[name] = layout().small
        with warnings.catch_warnings():  # see `lettering`
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            yield


def new_figure(
    columns: int = 1,
    rows: int = 1,
    width: float | None = None,
    height: float = HEIGHT,
    sharex: bool = False,
    sharey: bool = False,
) -> "tuple[Figure, Any]":
    """A figure and the (rows, columns) array of its axes, laid out so that nothing overlaps.

    Inches; the width is that of the layout if none is given.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    size = (width or layout().width, height)
    figure = Figure(size, layout=ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.05))
    return figure, figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)


def only_text(text: str) -> "Figure":
    """A low figure with nothing but a sentence."""
    from matplotlib.figure import Figure

    figure = Figure((layout().width, 0.6))
    figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def hide_empty(grid: "NDArray[np.object_]", panels: int) -> None:
    """Hide the axes of a grid beyond its panels.

    Those above an empty place get the labels of their ticks.
    """
    for k, panel in enumerate(cast("list[Axes]", grid.ravel().tolist())):
        if k >= panels:
            panel.set_visible(False)
        elif k + grid.shape[1] >= panels:
            panel.tick_params(labelbottom=True)


def below(label: str) -> str:
    """A label of an abscissa, in as many lines as it needs."""
    return wrapped(label, layout().width - 0.6)


def filled(text: str) -> str:
    """A text in lines as long as those of a legend."""
    return "\n".join(broken(text, layout().letters)) or text


def colours(levels: Sequence[Any]) -> list[Any]:
    """A colour for every level: dark to light for numbers, the named ones for names."""
    import matplotlib

    are_numbers = not any(isinstance(level, str) for level in levels)
    if not are_numbers and len(levels) <= len(NAMED):
        return list(NAMED[: len(levels)])
    shades = matplotlib.colormaps["viridis"]
    steps = max(len(levels) - 1, 1)
    return [shades(0.82 * i / steps) for i in range(len(levels))]


def axis_limits(values: Iterable[float], log: bool, margin: float = 0.05) -> tuple[float, float]:
    """Ends of an axis a little beyond the values, also for a single one."""
    finite = [value for value in values if math.isfinite(value)]
    if log:
        return _log_limits([value for value in finite if value > 0], margin)
    low = min(finite, default=1.0)
    high = max(finite, default=1.0)
    pad = margin * (high - low) or 0.1 * abs(low) or 1.0
    return low - pad, high + pad


def _log_limits(values: Sequence[float], margin: float) -> tuple[float, float]:
    """Ends of a logarithmic axis for positive values."""
    low = math.log(min(values, default=1.0))
    high = math.log(max(values, default=1.0))
    pad = margin * (high - low) or 0.4
    largest = 700.0  # whose exponential is a number still
    return math.exp(min(low - pad, largest)), math.exp(min(high + pad, largest))


def ticks(values: Iterable[float], low: float, high: float, room: int) -> list[float]:
    """Positions of at most about `room` labels on a log axis: the values if they fit, else round
    numbers.
    """
    inside = sorted({float(f"{value:.10g}") for value in values if low <= value <= high})
    span = math.log(high / low)
    if inside and len(inside) <= room and _are_apart(inside, span / (1.25 * room)):
        return inside
    if span < 2:
        rounds = _rounds(low, high, FINE_STEPS)
        if 2 <= len(rounds) <= room:
            return rounds
    for steps in COARSE_STEPS:
        rounds = _rounds(low, high, steps)
        if 2 <= len(rounds) <= room:
            return rounds
    if len(rounds) < 2:  # less than a decade without two round numbers
        from matplotlib.ticker import MaxNLocator

        places = MaxNLocator(4).tick_values(low, high)
        return [place for place in places if low <= place <= high]
    return rounds[:: math.ceil(len(rounds) / room)]


def _are_apart(values: Sequence[float], least: float) -> bool:
    """Whether the logarithms of rising values are so far apart."""
    return all(math.log(second / first) >= least for first, second in pairwise(values))


def _rounds(low: float, high: float, steps: Sequence[float]) -> list[float]:
    """Round numbers in a range: these steps in each decade."""
    rounds = []
    for decade in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        candidates = [float(f"{step}e{decade}") for step in steps]
        rounds += [candidate for candidate in candidates if low <= candidate <= high]
    return rounds


def scale(
    axis: "Axis", values: Iterable[float], log: bool, room: int = 8, at: Iterable[float] = ()
) -> None:
    """Scale, limits and plain-number ticks, `at` these values if they fit, of an axis for what is
    drawn on it.
    """
    low, high = axis_limits(values, log)
    axes = axis.axes
    is_abscissa = axis is axes.xaxis
    if is_abscissa:
        axes.set_xlim(low, high)
    else:
        axes.set_ylim(low, high)
    if not log:
        axis.set_major_formatter(lambda value, _: number(value))
        return
    if is_abscissa:
        axes.set_xscale("log")
    else:
        axes.set_yscale("log")
    plain(axis, ticks(at, low, high, room))


def plain(axis: "Axis", at: Sequence[float]) -> None:
    """Ticks at these positions only, as plain numbers."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(at))
    axis.set_major_formatter(FixedFormatter([number(position, 4) for position in at]))
    axis.set_minor_locator(NullLocator())


@dataclass(frozen=True)
class PlaceNames:
    """Names below places of an abscissa, in lines or upright."""

    labels: Sequence[str]
    are_upright: bool

    @classmethod
    def of(cls, names: Sequence[str], room: float) -> "PlaceNames":
        """Names in lines, upright where they have no room. room: inches for each."""
        labels = [wrapped(name, room, most=3) for name in names]
        lines = [line for label in labels for line in label.split("\n")]
        if max(map(width, lines), default=0) <= LETTERS_OF_AN_INCH * room + 1:
            return cls(labels, False)
        return cls([wrapped(name, UPRIGHT, most=2) for name in names], True)

    @property
    def inches(self) -> float:
        """Height that they need beyond that of numbers."""
        return UPRIGHT if self.are_upright else 0.0

    def write(self, axes: "Axes", places: Sequence[float]) -> None:
        """As ticks at these places."""
        axes.set_xticks(places, self.labels, rotation=90 if self.are_upright else 0)


def draw_target(axes: "Axes", target: float, text: str) -> None:
    """A dashed line across at a target, with its name at the right end."""
    axes.axhline(target, **GUIDE)
    axes.annotate(
        text,
        (1, target),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        fontsize=layout().small,
    )


def outline(colour: str, width: float) -> list[Any]:
    """Path effects that let a line or a letter be seen on any background."""
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=width, foreground=colour, alpha=0.8), Normal()]


def mark(axes: "Axes", marks: Mapping[str, float], upright: bool = True) -> None:
    """Thin lines at positions of the abscissa (not `upright`: the ordinate) that are in view, named
    at their ends.
    """
    options: dict[str, Any] = MARK | {"zorder": 2.5, "path_effects": outline("w", 2.2)}
    label: dict[str, Any] = {"fontsize": layout().tiny, "color": "0.2", "clip_on": False}
    if upright:
        low, high = axes.get_xlim()
        label |= {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
    else:
        low, high = axes.get_ylim()
        label |= {"transform": axes.get_yaxis_transform(), "ha": "left", "va": "center"}
    for name, at in marks.items():
        if not low <= at <= high:
            continue
        if upright:
            axes.axvline(at, **options)
            axes.text(at, 1.01, name, **label)
        else:
            axes.axhline(at, **options)
            axes.text(1.01, at, name, **label)


def images(figure: "Figure", formats: Iterable[str] = ("svg", "png", "pdf")) -> dict[str, bytes]:
    """The figure in some formats, of svg, png and pdf, without dates or versions."""
    engine = figure.get_layout_engine()
    if engine:  # once for all formats: each would first draw everything to lay it out
        engine.execute(figure)
        figure.set_layout_engine(None)
    files = {}
    for kind in sorted(formats, key="svg".__ne__):  # before fonts of this machine come in
        if kind != "svg":
            with_fallbacks(figure)
        file = io.BytesIO()
        nothing = dict.fromkeys(METADATA[kind])
        figure.savefig(file, format=kind, metadata=nothing, dpi=180)
        content = file.getvalue()
        if kind == "svg":
            content = written(visible(content.decode())).encode()
        files[kind] = content
    return files
