"""Users in groups with budgets of their own, as a config writes them:
"0.5:1, 0.5:4".
"""

import math
from functools import lru_cache

from pipeline.study.parameters import InvalidInput


@lru_cache(maxsize=1024)
def groups_of(profile: str) -> tuple[tuple[float, float], ...]:
    """Shares and multiples of a profile of budgets, "share:multiple, …".

    InvalidInput if it cannot be read.
    """
    allowed = 'must be "share:multiple, …", shares and multiples > 0, shares adding up to 1'
    try:
        groups = tuple(_group_of(part) for part in profile.split(","))
    except ValueError:
        raise InvalidInput("profile", profile, allowed) from None
    shares = [share for share, _ in groups]
    multiples = [multiple for _, multiple in groups]
    positive = all(0 < number < math.inf for number in shares + multiples)
    if not positive or not math.isclose(sum(shares), 1, abs_tol=1e-9):
        raise InvalidInput("profile", profile, allowed)
    return groups


def _group_of(part: str) -> tuple[float, float]:
    """Share and multiple of a group. Raises ValueError."""
    share, multiple = part.split(":")
    return float(share), float(multiple)
