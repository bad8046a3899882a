"""Answers as strict JSON has them."""

import math
from collections.abc import Mapping


def strict(values: Mapping[str, object]) -> dict[str, object]:
    """Values as strict JSON has them: None for a number that is not finite, lists for tuples.

    >>> strict({"low": float("nan"), "ends": (0, 1)})
    {'low': None, 'ends': [0, 1]}
    """
    return {name: _strict(value) for name, value in values.items()}


def _strict(value: object) -> object:
    if isinstance(value, Mapping):
        return strict(value)
    if isinstance(value, (list, tuple)):
        return [_strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
