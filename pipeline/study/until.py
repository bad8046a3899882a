"""When all claims of a study are decided: the looks at which they are judged, and what each may
err.

A claim that is judged again and again at one confidence is wrong more often
than that says. So its error probability is spent over the looks: of a share t
of the most replications, the looks up to there may err with probability α*(t)
in all, and a look with what α* has grown since the one before. Whatever the
claim measures, the probability that any of these intervals misses is then at
most their sum, α*(1) = α. Source: Lan and DeMets, Biometrika 70 (1983) 659;
Jennison and Turnbull, Group Sequential Methods (1999), section 7.2. Their
boundaries are narrower, as they use that successive means are jointly normal;
intervals of shares, ratios and exponents need not be, so the sum is bounded
here (Bonferroni).
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

from pipeline.study.parameters import Checked, InvalidInput, parameter

ALPHA = 0.01  # of a claim, at which the spending of O'Brien and Fleming's type is computed
GROWTH = 1.4  # of the replications from one look to the next
LEAST_SPENT = 1e-4  # share of the error probability from which on there is a look
FUNCTIONS = ("pocock", "obrien_fleming")
OPTIONS = ("spending", "least")


class Look(NamedTuple):
    """Replications of every cell at a look, and the share of a claim's error probability that is
    spent there.
    """

    replications: int
    share: float


@dataclass(frozen=True)
class Until(Checked):
    """Stop at the first look at which every claim is decided, a cell at the first at which all is
    that reads it.

    stops: of every combination of levels, in the order of the grid's axes, the
    replications that a cell has got by a look, and the claim that needed them:
    "" for none, at the first look. Empty for a study that was not begun.

    >>> print(Until(most=1000))
    claims decided, after 100 to 1,000 replications, spending errors as pocock
    >>> [look.replications for look in Until(most=1000).looks(block=50)]
    [100, 150, 200, 250, 350, 500, 700, 1000]
    """

    spending: str = parameter(
        "how the error probability of a claim is spent over the looks",
        default="pocock",
        choices=FUNCTIONS,
    )
    least: int = parameter(
        "replications at the first look", default=100, unit="replications", low=2
    )
    most: int | None = parameter(
        "replications at the last look: those asked for", default=None, low=1
    )
    stops: tuple[tuple[int, str], ...] = ()

    def __str__(self) -> str:
        most = "all"
        if self.most is not None:
            most = f"{self.most:,}"
        return (
            f"claims decided, after {self.least:,} to {most} replications, spending errors as "
            f"{self.spending}"
        )

    def spent(self, time: float) -> float:
        """Share of the error probability that is spent up to a time in [0, 1], the share of the
        most replications.

        `pocock`: ln(1 + (e − 1)t), about the same confidence at all looks.
        `obrien_fleming`: (2 − 2Φ(z/√t))/α with Φ(z) = 1 − α/2, which keeps
        nearly all for the last ones. Source: Lan and DeMets (1983), α₂* and
        α₁*.

        >>> [round(Until("obrien_fleming").spent(t), 4) for t in (0.25, 0.5, 1)]
        [0.0, 0.027, 1.0]
        """
        if time <= 0:
            return 0.0
        if self.spending == "pocock":
            return math.log1p((math.e - 1) * time)
        normal = NormalDist()
        return min(2 * normal.cdf(normal.inv_cdf(ALPHA / 2) / math.sqrt(time)) / ALPHA, 1.0)

    def looks(self, block: int) -> tuple[Look, ...]:
        """All looks: whole blocks, about 40 % more from one to the next, the last at the most.

        Without first ones that may err with next to nothing: they could decide
        nothing.
        """
        last = (self.most or block) // block
        first = min(-(-self.least // block), last)
        steps = max(round(math.log(last / first, GROWTH)), 1)
        rising = sorted({round(first * (last / first) ** (k / steps)) for k in range(steps + 1)})
        ends = [end for end in rising if self.spent(end / last) >= LEAST_SPENT]
        spent_by = [self.spent(end / last) for end in ends]
        before = [0.0, *spent_by[:-1]]
        return tuple(
            Look(end * block, by_now - earlier)
            for end, by_now, earlier in zip(ends, spent_by, before, strict=True)
        )


@dataclass(frozen=True)
class EndedCells:
    """Cells of a study that ended alike.

    replications: of each. claim: the last for which they went on, empty at the first look. cells:
    how many they are. labels: of the first few.
    """

    replications: int
    claim: str
    cells: int
    labels: Sequence[Mapping[str, Any]]


def read_until(value: object, replications: int) -> Until | None:
    """The rule of a config's `until`; None for null. replications: the most that a cell gets.

    Raises InvalidInput, which names the key.

    >>> read_until({"claims": {"least": 200}}, 1000)
    Until(spending='pocock', least=200, most=1000, stops=())
    """
    if value is None:
        return None
    until = value if isinstance(value, Until) else _read(value)
    if until.most is None:
        return replace(until, most=replications)
    if until.most < replications:
        allowed = f"has fewer replications at most than replications={replications}"
        raise InvalidInput("until", until.most, allowed)
    return until


def recorded(text: str) -> Until:
    """The rule that the attribute `until` of results holds."""
    values = json.loads(text)
    stops = tuple((replications, claim) for replications, claim in values.pop("stops", ()))
    return Until(**values, stops=stops)


def config_of(until: Until | None) -> dict[str, dict[str, Any]] | None:
    """The mapping that `read_until` reads."""
    if until is None:
        return None
    return {"claims": {name: getattr(until, name) for name in OPTIONS}}


def _read(value: object) -> Until:
    if value == "claims":
        return Until()
    if not isinstance(value, Mapping) or [*value] != ["claims"]:
        allowed = "must be claims, or a mapping such as {claims: {spending: obrien_fleming}}"
        raise InvalidInput("until", value, allowed)
    return Until.read(
        value["claims"], "until.claims.", keys=OPTIONS, example="{spending: obrien_fleming}"
    )
