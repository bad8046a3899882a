"""A page to look at the atlas: sliders for sizes and target, curves against ε, mechanisms side by
side; no server.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipeline.reporting.dark_colours import dark
from pipeline.reporting.page import rendered, script
from pipeline.reporting.shown_atlas import ShownProblem, Start
from pipeline.reporting.style import NAMED

COLOURS = [NAMED[k] for k in (1, 2, 0, 3)]  # as dark as they are different, in grey too


@dataclass(frozen=True)
class Colour:
    """A mechanism's colour on a white and on a dark page."""

    day: str
    night: str


def page(problems: Sequence[ShownProblem], start: Start | None, skipped: Sequence[str]) -> str:
    """The page, self-contained. skipped: what is not on it, and why."""
    from markupsafe import Markup

    content = {
        "problems": list(map(asdict, problems)),
        "start": None if start is None else asdict(start),
    }
    data = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return rendered(
        "advice.html.j2",
        data=Markup(data.replace("<", "\\u003c")),
        script=script("interpolation.js", "advice.js"),
        skipped=skipped,
        colours=[Colour(colour, dark(colour)) for colour in COLOURS],
    )
