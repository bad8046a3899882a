"""Whether a unit ends its workers, or workers end anyway, whatever they compute.

Workers are ended by units, but also by others: a batch system that needs their place, a neighbour
who takes all memory, a person. What such ends cost the units that were finished in spite of them
says how often they happen. A unit is to blame only where its workers died more often than that
explains.
"""

import math
from dataclasses import dataclass

from pipeline.execution.bundles import LEAST_COST, Bundle

# A unit is given up where workers would die as often by other causes with this probability.
DOUBT = 1e-6
# What the next bundle that is finished leaves of the weight of earlier ones: some 30 of them count.
MEMORY = 0.97
# Before anything is known, one attempt in so many is expected to end by another cause.
PRIOR = 16
# Bundles that end between two attempts at a unit, while there are others: whatever ends workers
# for a while then also ends those of others, and is over for the next attempt, or is known.
SPACING = 20


@dataclass
class Deaths:
    """How many workers died, recently, of bundles that were finished in the end.

    All three are sums over such bundles, with weights that fall by `MEMORY`. A worker that dies
    with several units counts once for all of them.

    A unit that ended four workers where thirty bundles were finished without any death:

    >>> deaths = Deaths()
    >>> for number in range(100):
    ...     deaths.finished(Bundle([number], 1.0))
    >>> unit = Bundle(["bad"], 1.0, kills=4)
    >>> deaths.chance(unit) < DOUBT
    True

    The same where every second attempt at any bundle ends with a death:

    >>> for number in range(100):
    ...     deaths.finished(Bundle([number], 1.0, kills=1, share=1.0))
    >>> deaths.chance(unit) < DOUBT
    False
    """

    bundles: float = 0.0
    cost: float = 0.0
    survived: float = 0.0  # workers that died

    def finished(self, bundle: Bundle) -> None:
        """Count a bundle that is done: whatever ended its workers before, it was not its units."""
        self.bundles = MEMORY * self.bundles + 1
        self.cost = MEMORY * self.cost + bundle.cost
        self.survived = MEMORY * self.survived + bundle.share

    def chance(self, bundle: Bundle) -> float:
        """Probability that by other causes alone all workers die that a bundle's ended.

        Each attempt ends so with probability 1 - exp(-r c), where r is the rate of deaths that
        others survived, by cost, and c is the bundle's cost; by attempts where it is cheaper than
        others.
        """
        attempts = min(self.bundles, self.cost / max(bundle.cost, LEAST_COST))
        expected = (self.survived + 1) / (attempts + PRIOR)
        return (1 - math.exp(-expected)) ** bundle.kills
