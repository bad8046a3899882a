"""The units of a study that failed: why they did, and which command simulates one of them again."""

from itertools import islice

from pipeline.execution.schedule import Unit, failures, unit_in_words
from pipeline.storage.replications import Listing, Store
from pipeline.storage.units import Damaged
from pipeline.study.parameters import shorten
from pipeline.workflow.events import Failed, FailedUnit
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.studies import StoredStudy

MOST_FAILURES = 20  # that are described
LONGEST_ERROR = 300  # characters


def failed_units(stored: StoredStudy, listing: Listing, invocation: Invocation) -> Failed:
    """How many units of a study failed, and the first of them."""
    units = failures(listing)
    first = tuple(failed_unit(stored, unit, invocation) for unit in islice(units, MOST_FAILURES))
    return Failed(stored.study.name, int(listing.failed.sum()), first)


def failed_unit(stored: StoredStudy, unit: Unit, invocation: Invocation) -> FailedUnit:
    """One of them."""
    return FailedUnit(
        name=unit_in_words(stored.study, unit),
        error=last_line(stored.store, unit),
        replay=invocation.replay(stored.study, unit),
    )


def last_line(store: Store, unit: Unit) -> str:
    """The last line of what made a unit fail."""
    try:
        lines = store.read(*unit, failed=True).error.strip().splitlines()
    except Damaged as error:
        return f"its file is damaged ({error})"
    if not lines:
        return "?"
    return shorten(lines[-1], LONGEST_ERROR)
