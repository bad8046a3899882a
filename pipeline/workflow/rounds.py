"""Studies that grow with their results: new levels where a mean crosses a value, or replications
until claims are decided.

Each round is sealed, and what follows is a function of the sealed results.
"""

from pipeline.storage import results
from pipeline.workflow import refinement, until
from pipeline.workflow.events import MoreLevels, MoreReplications, Round
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import Judged

__all__ = ["Judged", "grows", "continued", "what_follows"]


def grows(stored: StoredStudy) -> bool:
    """Whether a study may grow."""
    return bool(stored.study.refine or stored.study.until)


def continued(stored: StoredStudy, judged: Judged | None = None) -> StoredStudy:
    """The study with the levels and replications that follow from its sealed results. judged: see
    `until.continued`.
    """
    if stored.study.until:
        return until.continued(stored, {} if judged is None else judged)
    return refinement.continued(stored)


def what_follows(now: StoredStudy, then: StoredStudy) -> Round | None:
    """The event that tells what the next round adds; None where nothing follows."""
    before = now.study
    after = then.study
    if results.size(after) <= results.size(before):
        return None
    if after.until:
        assert after.until.most is not None
        return MoreReplications(
            study=after.name,
            replications=before.replications,
            next_look=after.replications,
            most=after.until.most,
        )
    cells = len(after.grid) - len(before.grid)
    return MoreLevels(study=after.name, cells=cells, searched=str(after.refine))
