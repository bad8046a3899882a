"""What is promised to people, as one page to print: for who must answer for their data."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.reporting.page import rendered
from pipeline.reporting.promise_figure import promise_figure
from pipeline.study.disclosure import TradeOff


@dataclass(frozen=True)
class Aspect:
    """One aspect of the promise. name: as everybody says it; term: as NIST SP 800-226 does."""

    name: str
    term: str
    text: str


@dataclass(frozen=True)
class Risk:
    """What the best attack learns of something. certain: how sure somebody can become.

    once, often: how often it finds the truth at 1 % and at 5 % false alarms.
    """

    attacked: str
    odds: str
    certain: str
    once: str
    often: str


@dataclass(frozen=True)
class PromisePage:
    """What the page says.

    headline: the budget and whom to trust. about: what it is the promise of. warning: of a budget
    that is too high, or None. learned, not_learned: sentences. facts: name and value of what the
    page was made from. trade_offs: those of the figure, none where no attack is bounded. by_trust: heads
    and rows of a table of the same survey for each kind of trust, or nothing.
    """

    title: str
    headline: str
    about: str
    warning: str | None
    aspects: Sequence[Aspect]
    risks: Sequence[Risk]
    learned: Sequence[str]
    not_learned: Sequence[str]
    facts: Sequence[Sequence[str]]
    trade_offs: Sequence[TradeOff]
    by_trust: Sequence[Sequence[str]] = ()


def page(content: PromisePage) -> str:
    """The page, self-contained: no script, nothing that is loaded."""
    figure = promise_figure(content.trade_offs)
    return rendered("promise.html.j2", page=content, figure=figure)
