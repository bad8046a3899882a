"""Bundles that workers have, and backup copies of those that take long: of all copies of a unit the first counts."""

from dataclasses import dataclass, field
from typing import Any

from pipeline.execution.bundles import Bundle

LEAST_AGE = 1.0  # seconds since a bundle was handed out before it is copied
SLOW = 2.0  # times the seconds that one of its units was expected to take
AGAIN = 2.0  # times as long until it is copied once more: a copy may reach a worker that is stuck as well


@dataclass
class Handed:
    """A bundle that workers have. left: positions of units that have not ended. since: when it was last handed out.

    out: what workers have of it, itself and copies of parts: id -> (bundle, positions of its units).
    """

    bundle: Bundle
    since: float
    left: set[int]
    out: dict[int, tuple[Bundle, list[int]]] = field(default_factory=dict)
    copies: int = 0


class HandedOut:
    """All bundles that workers have.

    >>> handed, bundle = HandedOut(), Bundle([5, 6], 2.0)
    >>> handed.add(bundle, now=0.0)
    >>> [late] = handed.late(now=9.0)
    >>> one, other = handed.copy(late, 2, now=9.0)  # for two idle workers
    >>> handed.done(other, ["six"]), len(handed)
    ((Bundle(units=[6], cost=1.0, kills=0), ['six'], []), 1)
    >>> handed.done(bundle, ["five", "six"]), len(handed)  # before the other copy, which is then dropped
    ((Bundle(units=[5], cost=1.0, kills=0), ['five'], [Bundle(units=[5], cost=1.0, kills=0)]), 0)
    """

    def __init__(self) -> None:
        self._of: dict[int, Handed] = {}  # by id of what workers have
        self._all: dict[int, Handed] = {}  # by id of the bundle that was handed out first

    def __len__(self) -> int:
        """Bundles that have not ended; copies do not count."""
        return len(self._all)

    def add(self, bundle: Bundle, now: float) -> None:
        """Note that a bundle was handed out."""
        handed = self._all[id(bundle)] = Handed(bundle, now, set(range(len(bundle.units))))
        self._give(handed, bundle, list(range(len(bundle.units))))

    def late(self, now: float, seconds_per_cost: float = 0.0, ahead: float | None = None) -> list[Handed]:
        """Bundles that were handed out a while ago, old and long ones first; O(bundles log bundles).

        ahead: bundles that each worker has at once, for which these are then given time; None, near the end: they are
        given time for one of their units.
        """
        def is_late(one: Handed) -> bool:
            share = 1 / len(one.bundle.units) if ahead is None else ahead
            expected = SLOW * seconds_per_cost * one.bundle.cost * share
            return not one.bundle.kills and now - one.since > max(LEAST_AGE, expected) * AGAIN**one.copies

        return sorted(filter(is_late, self._all.values()),
                      key=lambda one: one.since - SLOW * seconds_per_cost * one.bundle.cost)

    def copy(self, handed: Handed, parts: int, now: float) -> list[Bundle]:
        """What is left of a bundle, in so many parts at most, noted as handed out."""
        left = sorted(handed.left)
        size = -(-len(left) // parts)
        handed.copies, handed.since = handed.copies + 1, now
        return [self._give(handed, handed.bundle.part(left[at : at + size]), left[at : at + size])
                for at in range(0, len(left), size)]

    def done(self, bundle: Bundle, values: list[Any]) -> tuple[Bundle, list[Any], list[Bundle]]:
        """Of a bundle that is done, the units that were not done before, and their values.

        Also what workers still have of it although nothing of that is left to do.
        """
        handed, positions = self._take(bundle)
        new = [place for place, position in enumerate(positions) if position in handed.left]
        handed.left.difference_update(positions)
        idle = [] if handed.left else [one for one, _ in handed.out.values()]
        for one in idle:
            self._take(one)
        if not handed.left:
            del self._all[id(handed.bundle)]
        whole = len(new) == len(positions)
        return bundle if whole else bundle.part(new), values if whole else [values[place] for place in new], idle

    def gone(self, bundle: Bundle) -> Bundle | None:
        """Of a bundle that ended undone, what no worker has any more; None while copies of it are handed out."""
        handed, _ = self._take(bundle)
        if handed.out:
            return None
        del self._all[id(handed.bundle)]
        whole = len(handed.left) == len(handed.bundle.units)
        return handed.bundle if whole else handed.bundle.part(sorted(handed.left))

    def _give(self, handed: Handed, bundle: Bundle, positions: list[int]) -> Bundle:
        self._of[id(bundle)] = handed
        handed.out[id(bundle)] = bundle, positions
        return bundle

    def _take(self, bundle: Bundle) -> tuple[Handed, list[int]]:
        handed = self._of.pop(id(bundle))
        return handed, handed.out.pop(id(bundle))[1]
