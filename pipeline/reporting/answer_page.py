"""A certified answer of `task=advise` as one page: the question, the survey, a person's budget, and
the certificate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.reporting.answer_figure import Curves, describe, draw
from pipeline.reporting.inline import definitions, inline
from pipeline.reporting.page import rendered

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Table:
    """A table of the page. heads: of its columns; note: a sentence below, or nothing."""

    title: str
    heads: Sequence[str]
    rows: Rows
    note: str = ""


@dataclass(frozen=True)
class AnswerPage:
    """What the page says.

    title: the question in words; headline: what is advised; sentences: the answer in words;
    warning: of a budget that is too high; remark: of a value that lies far beyond; both may be
    None. numbers: of the certificate, name and value. words: of the trade, and what they mean.
    assumptions: sentences. command: what repeats all of it; facts: name and value of what that
    depends on.
    """

    title: str
    headline: str
    certified: bool
    sentences: Sequence[str]
    warning: str | None
    remark: str | None
    numbers: Rows
    curves: Curves
    tables: Sequence[Table]
    words: Rows
    assumptions: Sequence[str]
    command: str
    facts: Rows


def page(content: AnswerPage) -> str:
    """The page, self-contained: no script, nothing that is loaded."""
    from markupsafe import Markup

    glyphs: dict[str, str] = {}
    # Markup: an SVG that Matplotlib wrote, in which all text is drawn as outlines
    figure = Markup(inline(draw(content.curves), "f1", describe(content.curves), glyphs))
    return rendered(
        "answer.html.j2", page=content, figure=figure, glyphs=Markup(definitions(glyphs))
    )
