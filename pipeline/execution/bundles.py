"""How a stream of units is cut into bundles: each is one message to a worker and takes about a
wanted time.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

# Units of a bundle, at most: bounds a message, and what a lost worker costs when units are tiny.
MOST_UNITS = 1000
# Bundles a second, from all workers together: each costs the driver 2 ms of CPU, with heartbeats.
MOST_BUNDLES = 240
LEAST_SECONDS = 0.05  # shortest planned bundle: scheduling then takes a small share of the time
# Longest planned bundle before any has ended: a prediction may be wrong by a factor.
FIRST_SECONDS = 1.0
# How many times the wanted cost a bundle may have so that it ends with the last of the units that
# share their data.
OVER = 2.0
# With more workers than MOST_BUNDLES, the share of the usual duration that the first bundles and
# the shortest ones at the end have.
SHORT = 0.4
# Workers, or whole jobs, that a unit may end, at least: one that has it in a bundle, others that
# have it by itself, and the last ALONE while nothing else runs. Where workers die of other causes
# it may end more, see `deaths`.
KILLS = 4
ALONE = 2
# Units that were tried alone and done, one after the other, after which others end workers.
CLEARED = 3
# Of the attempts at a unit that ended workers, one in so many is made alone also then.
DOUBTED = 8
LEAST_COST = 1e-12  # of a unit or a bundle, so that a cost of 0 divides nothing by 0


@dataclass
class Bundle:
    """Units that are computed together, the sum of their predicted costs, and how many workers died
    of them.

    expected: seconds that they should take, by what others took when they were handed out; None if
    none had ended. jobs: how many whole jobs ended with them, which are among the kills. share: of
    the workers that died in this sweep, those that count for these units, if all units that a
    worker had count alike. alone: how many of the workers died while nothing else ran. not_before:
    how many bundles must have ended before these units are tried again, if there are others.
    """

    units: list[Any]
    cost: float
    kills: int = 0
    expected: float | None = field(default=None, repr=False, compare=False)
    jobs: int = field(default=0, repr=False, compare=False)
    share: float = field(default=0.0, repr=False, compare=False)
    alone: int = field(default=0, repr=False, compare=False)
    not_before: int = field(default=0, repr=False, compare=False)

    def singles(self, not_before: int = 0) -> list["Bundle"]:
        """Its units one by one, with one more death each, so that a unit that kills its worker is
        alone at once.
        """
        count = len(self.units)
        single = replace(
            self,
            cost=self.cost / count,
            kills=self.kills + 1,
            share=(self.share + 1) / count,
            expected=None,
            not_before=not_before,
        )
        return [replace(single, units=[unit]) for unit in self.units]


@dataclass(frozen=True)
class Bundling:
    """How units are put into bundles.

    total_cost: sum of all predicted costs; None if it is not known: bundles then do not shrink
    towards the end. seconds: wanted duration of a bundle; None: 1 s, or more with so many workers
    that together they would ask the scheduler for more than MOST_BUNDLES a second. pace: predicted
    seconds per cost, for bundles that are made before any has ended, with more workers than
    MOST_BUNDLES; None: such bundles have one unit each. shares: whether the unit after this one
    shares its data, which are then at hand in the same bundle. last: called once no unit is left
    but those that run; the bundles that it returns come last.
    """

    total_cost: float | None = None
    seconds: float | None = None
    pace: float | None = None
    shares: Callable[[Any], bool] = lambda unit: False
    last: Callable[[], list[Bundle]] = list


class Bundler:
    """Cuts a lazy stream of (unit, predicted cost) into bundles, smaller ones towards the end.

    Args:
        units: read one by one, only when a bundle is made.
        bundling: what bundles should be like; by default as `Bundling()` says.

    Units of 1 ms, as predicted:

    >>> units_of_1_ms = ((unit, 1e6) for unit in range(10_000))
    >>> bundler = Bundler(units_of_1_ms, Bundling(pace=1e-9))
    >>> len(bundler.next(workers=1000).units)
    1000
    """

    def __init__(self, units: Iterable[tuple[Any, float]], bundling: Bundling | None = None):
        self.units = iter(units)
        self.bundling = bundling or Bundling()
        self.cost_handed_out = 0.0
        self.has_ended = False  # the last bundles were handed out
        self.longest = 0  # most units of a bundle that ended
        # Exponentially weighted sums over the bundles that ended.
        self.recent_seconds = 0.0
        self.recent_cost = 0.0

    def next(self, workers: int) -> Bundle | None:
        """The next bundle, for that many workers at once; None if no unit is left."""
        most_units = self._most_units(workers)
        wanted_cost = self._wanted_cost(workers)
        units = []
        cost = 0.0
        for unit, unit_cost in self.units:
            units.append(unit)
            cost += max(float(unit_cost), LEAST_COST)
            most_cost = wanted_cost
            if self.bundling.shares(unit):
                most_cost *= OVER
            if len(units) >= most_units or cost + unit_cost / 2 > most_cost:
                break
        if not units:
            return None
        self.cost_handed_out += cost
        return Bundle(units, cost)

    def last(self) -> list[Bundle]:
        """The bundles that come after all units, once."""
        bundles = [] if self.has_ended else self.bundling.last()
        self.has_ended = True
        return bundles

    def learn(self, bundle: Bundle, seconds: float) -> None:
        """Note how long a bundle took: the time per predicted cost follows from recent bundles."""
        self.recent_seconds = 0.8 * self.recent_seconds + seconds
        self.recent_cost = 0.8 * self.recent_cost + bundle.cost
        self.longest = max(self.longest, len(bundle.units))

    @property
    def seconds_per_cost(self) -> float:
        """Measured on recent bundles; before any has ended the predicted pace, 0 without one."""
        if self.recent_cost:
            return max(self.recent_seconds / self.recent_cost, LEAST_COST)
        return self.bundling.pace or 0.0

    def expected(self, bundle: Bundle) -> float | None:
        """Seconds that a bundle should take, at the pace of recent ones; None without any."""
        if not self.recent_cost:
            return None
        return bundle.cost * self.seconds_per_cost

    def _most_units(self, workers: int) -> int:
        """Most units in the next bundle.

        A wrong prediction of cost must not make one bundle run for hours: bundles grow step by
        step. A few workers have grown in no time, very many would ask the scheduler for more than
        it can hand out.
        """
        if self.longest:
            return min(MOST_UNITS, 4 * self.longest)
        if self.bundling.pace is not None and workers > MOST_BUNDLES:
            return MOST_UNITS
        return 1

    def _wanted_cost(self, workers: int) -> float:
        seconds = self.bundling.seconds or max(1.0, workers / MOST_BUNDLES)
        seconds_per_cost = self.seconds_per_cost
        if not seconds_per_cost:
            return math.inf
        least = LEAST_SECONDS
        if not self.recent_cost:
            seconds = min(seconds, max(FIRST_SECONDS, SHORT * seconds))
        elif workers > MOST_BUNDLES:  # shorter ones would wait for the scheduler
            least = SHORT * seconds
        wanted = seconds / seconds_per_cost
        total_cost = self.bundling.total_cost
        if total_cost is None:
            return wanted
        # Half of an even share of what is left: the last bundles are short, so that workers end
        # together.
        share = (total_cost - self.cost_handed_out) / (2 * workers)
        return min(wanted, max(share, least / seconds_per_cost))
