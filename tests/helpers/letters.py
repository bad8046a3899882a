"""Letters of figures as a browser shows them: how high they are, and whether they overlap or leave the figure."""

import itertools
from dataclasses import dataclass
from pathlib import Path

LEAST = 11.0  # pixels
SLACK = 1.0  # pixels, of boxes that touch
SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8")


@dataclass
class Letters:
    """Of one figure. texts: number of them; least: smallest height in pixels; out, overlapping: boxes."""

    texts: int
    least: float
    out: list
    overlapping: list

    @property
    def is_legible(self):
        return self.least >= LEAST and not self.out and not self.overlapping


def letters(browser):
    """Of each figure that is in view on the page that is open."""
    return [_letters(figure["frame"], figure["texts"]) for figure in browser.run(SCRIPT)]


def _letters(frame, texts):
    boxes = [text["box"] for text in texts]
    out = [box for box in boxes if not _is_inside(box, frame)]
    pairs = [pair for pair in itertools.combinations(boxes, 2) if _overlap(*pair)]
    return Letters(len(texts), min(text["size"] for text in texts), out, pairs)


def _is_inside(box, frame):
    left, top, right, bottom = frame
    return (
        box[0] >= left - SLACK
        and box[1] >= top - SLACK
        and box[2] <= right + SLACK
        and box[3] <= bottom + SLACK
    )


def _overlap(first, second):
    across = min(first[2], second[2]) - max(first[0], second[0])
    down = min(first[3], second[3]) - max(first[1], second[1])
    return across > SLACK and down > SLACK
