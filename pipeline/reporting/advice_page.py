"""A page to look at the atlas: sliders for sizes and target, curves against ε, mechanisms side by
side; no server.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.reporting.dark_colours import dark
from pipeline.reporting.page import rendered, script
from pipeline.reporting.style import NAMED

COLOURS = [NAMED[k] for k in (1, 2, 0, 3)]  # as dark as they are different, in grey too


@dataclass(frozen=True)
class Colour:
    """A mechanism's colour on a white and on a dark page."""

    day: str
    night: str


def page(
    problems: Sequence[Mapping[str, Any]], start: Mapping[str, Any] | None, skipped: Sequence[str]
) -> str:
    """The page, self-contained.

    problems: name, title, people (name of an axis), parameters, axes (name, label, short, levels,
    whole, usual; ε last), metrics (name, label, limits, sign, halves: parameter -> axis of which it
    is half), risks and mechanisms (name, estimator, axes; mean, error, risk, in the order of the
    cells along these axes). start: problem, metric, target and sizes to begin with. skipped: what
    is not on the page, and why.
    """
    from markupsafe import Markup

    content = {"problems": list(problems), "start": start}
    data = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return rendered(
        "advice.html.j2",
        data=Markup(data.replace("<", "\\u003c")),
        script=script("interpolation.js", "advice.js"),
        skipped=skipped,
        colours=[Colour(colour, dark(colour)) for colour in COLOURS],
    )
