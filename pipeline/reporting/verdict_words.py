"""Words and signs of verdicts: how many claims have each, and what a sentence says of them."""

from collections import Counter
from collections.abc import Sequence

from pipeline.analysis.claims import (
    CONTRADICTED,
    IDENTITY,
    INCONCLUSIVE,
    NOT_REFUTED,
    NOT_TESTED,
    SUPPORTED,
    TOO_WEAK,
)
from pipeline.reporting.verdict_rows import VerdictRow

SYMBOLS = {
    SUPPORTED: "✓",
    IDENTITY: "≡",
    NOT_REFUTED: "≈",
    CONTRADICTED: "✗",
    TOO_WEAK: "!",
    INCONCLUSIVE: "?",
    NOT_TESTED: "–",
}


def tally(rows: Sequence[VerdictRow]) -> dict[str, int]:
    """How many claims have each verdict."""
    counted = Counter(row.verdict for row in rows)
    return {word: counted[word] for word in SYMBOLS}


def predicate(word: str, n: int) -> str:
    """What a sentence says of n claims with a verdict.

    >>> predicate("supported", 3), predicate("identity", 1)
    ('are supported', 'is an identity')
    """
    if word == IDENTITY:
        return "is an identity" if n == 1 else "are identities"
    verb = "is" if n == 1 else "are"
    if word == TOO_WEAK:
        return f"{verb} checked too weakly"
    return f"{verb} {word}"
