"""Studies that grow by what they show: by levels where a mean crosses one, or by replications until
claims are decided.

Each round is sealed, and what follows is a function of the sealed results.
"""

from pipeline.storage import results
from pipeline.workflow import refinement, until
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import Judged

__all__ = ["Judged", "grows", "reached", "what_follows"]


def grows(stored: StoredStudy) -> bool:
    """Whether a study may grow."""
    return bool(stored.study.refine or stored.study.until)


def reached(stored: StoredStudy, judged: Judged | None = None) -> StoredStudy:
    """The study with the levels and replications that follow from its sealed results. judged: see
    `until.reached`.
    """
    if stored.study.until:
        return until.reached(stored, {} if judged is None else judged)
    return refinement.reached(stored)


def what_follows(now: StoredStudy, then: StoredStudy) -> str:
    """A line on the next round; empty where there is none."""
    if results.size(then.study) <= results.size(now.study):
        return ""
    if then.study.until:
        return (
            f"{then.study.name}: not all claims are decided after {now.study.replications:,} "
            f"replications; {then.study.replications:,} at the next look, "
            f"{then.study.until.most:,} at most"
        )
    return (
        f"{then.study.name}: {len(then.study.grid) - len(now.study.grid):,} more cells, to find "
        f"where {then.study.refine}"
    )
