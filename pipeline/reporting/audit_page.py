"""An audit as one page: the verdict, its evidence, the trade-off curve, and the power."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.reporting.audit_figure import TradeOff, describe, draw
from pipeline.reporting.inline import definitions, inline
from pipeline.reporting.page import rendered

Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class AuditPage:
    """What the page says.

    facts: pair, event, confidence and the like, by name. trade_off: None where no point is
    certified. power: fault and how many of it were found; empty if none was measured.
    """

    title: str
    verdict: str
    violates: bool
    bound: str
    facts: Rows
    trade_off: TradeOff | None
    power: Rows
    command: str

    @property
    def description(self) -> str:
        """The figure in words."""
        return describe(self.trade_off) if self.trade_off is not None else ""

    @property
    def points(self) -> Rows:
        """Certified points, as texts."""
        if self.trade_off is None:
            return ()
        return [(f"{alarm:.4g}", f"{power:.4g}") for alarm, power in self.trade_off.certified]


def page(content: AuditPage) -> str:
    """The page, self-contained: no script, nothing that is loaded."""
    from markupsafe import Markup

    glyphs: dict[str, str] = {}
    figure = ""
    if content.trade_off is not None:
        picture = draw(content.trade_off)["svg"]
        # Markup: an SVG that Matplotlib wrote, in which all text is drawn as outlines
        figure = Markup(inline(picture, "f1", content.description, glyphs))
    return rendered(
        "audit.html.j2", page=content, figure=figure, glyphs=Markup(definitions(glyphs))
    )
