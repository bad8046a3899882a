"""Whether another driver has finished a unit in the meantime.

A worker looks before it simulates a unit, and spends little of its time on this.
"""

import time

from pipeline.storage.replications import Store

SHARE = 0.02  # of the time in which units are simulated


class Looks:
    """Looks for finished units, in one process.

    simulating: seconds in which the process simulated units; the caller adds to it.
    """

    def __init__(self, store: Store):
        self.store = store
        self.looking = 0.0  # seconds
        self.simulating = 0.0  # seconds
        self._was_done = False  # whether the last unit that was looked for was there

    def is_done(self, unit: tuple[int, int]) -> bool:
        """Whether a unit is there, with its numbers.

        Does not look where that would take too much of the time.
        """
        if not self._was_done and self.looking > SHARE * self.simulating:
            return False
        start = time.perf_counter()
        self._was_done = self.store.has_numbers(*unit)
        self.looking += time.perf_counter() - start
        return self._was_done
