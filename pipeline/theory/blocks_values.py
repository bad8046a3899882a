"""Lists and matrices of the block model as a config writes them: `beta: 0.5, 0.5` and `b: 0.9, 0.1; 0.2, 0.8`."""

import math

import numpy as np

from pipeline.parameters import InvalidInput


def proportions(key: str, text: str) -> np.ndarray:
    """(parts,): shares > 0 that add up to 1, given as "0.5, 0.5"; InvalidInput naming `key` otherwise."""
    found = _numbers(text)
    if found is None or not all(0 < share <= 1 for share in found) or not math.isclose(sum(found), 1, abs_tol=1e-9):
        raise InvalidInput(key, text, 'must be shares "0.5, 0.5", each > 0, adding up to 1')
    return np.array(found) / sum(found)


def rating_probabilities(text: str, classes: int, clusters: int) -> np.ndarray:
    """(K, Lc): b_kl, given as "0.9, 0.1; 0.2, 0.8", a row for each class of users; InvalidInput otherwise."""
    rows = [_numbers(row) for row in text.split(";")]
    if None in rows or not all(0 <= p <= 1 for row in rows for p in row):
        raise InvalidInput("b", text, 'must be probabilities "0.9, 0.1; 0.2, 0.8" from 0 to 1, a row for each class of '
                           "users, a column for each cluster of items")
    if len(rows) != classes or {len(row) for row in rows} != {clusters}:
        raise InvalidInput("b", text, f"must have {classes} row(s), one for each share in alpha, of {clusters} "
                           "number(s), one for each share in beta")
    return np.array(rows)


def sizes(key: str, text: str, total: int) -> np.ndarray:
    """(parts,): whole sizes near share · total that add up to it, by largest remainder; InvalidInput if one is 0."""
    exact = proportions(key, text) * total
    found = np.floor(exact + 1e-9).astype(int)
    found[np.argsort(found - exact, kind="stable")[: total - found.sum()]] += 1
    if (found == 0).any():
        raise InvalidInput(key, text, f"a part is empty when {total:,} are shared out; raise its share")
    return found


def _numbers(text):
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None
