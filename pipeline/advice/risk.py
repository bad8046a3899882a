"""How much an attacker may learn of a person: `attacker@0.01<=0.03`, and the budget it allows."""

import math
import re
from dataclasses import dataclass

from pipeline.study.parameters import InvalidInput

RISK = re.compile(r"\s*attacker@([\d.]+(?:e-?\d+)?)\s*(?:<=|≤)\s*([\d.]+(?:e-?\d+)?)\s*")
FORM = "must be such as attacker@0.01<=0.03: true alarms of the best attack, at that rate of false"


@dataclass(frozen=True)
class Risk:
    """The best attack on all answers of a person may find the truth so often, and no oftener.

    false_alarms: how often it may be wrong. most: how often it may be right then.
    """

    false_alarms: float
    most: float

    def __str__(self) -> str:
        return f"attacker@{self.false_alarms:g}<={self.most:g}"

    def single_budget(self) -> float:
        """The largest budget of a single bit that keeps it.

        With a rate α of false alarms, the best attack on one bit of budget ε has e^ε α true alarms
        or 1 − e^−ε (1 − α), whichever is less.

        >>> round(Risk(0.01, 0.03).single_budget(), 4)
        1.0986
        """
        steep = self.most / self.false_alarms
        flat = (1 - self.false_alarms) / (1 - self.most)
        return math.log(max(steep, flat))


def read_risk(text: object) -> Risk:
    """The risk of a text; InvalidInput where it is none."""
    match = RISK.fullmatch(str(text))
    if match is None:
        raise InvalidInput("risk", text, FORM)
    try:
        false_alarms, most = map(float, match.groups())
    except ValueError:
        raise InvalidInput("risk", text, FORM) from None
    if not 0 < false_alarms < 1 or not false_alarms < most < 1:
        allowed = "the rates must be between 0 and 1, and the second above the first"
        raise InvalidInput("risk", text, allowed)
    return Risk(false_alarms, most)
