"""What did not converge or is not finite in the sealed results of a study, for the terminal."""

from pipeline.storage import results
from pipeline.study.checks import ROLES
from pipeline.workflow.sealed import is_current
from pipeline.workflow.studies import StoredStudy


def line_of(stored: StoredStudy) -> str:
    """One line that names the parts; empty where all is well, and where nothing is sealed."""
    if not is_current(stored.store):
        return ""
    from pipeline.analysis.shortfalls import of_moments  # xarray

    moments = results.load(stored.store, results.place(stored.store) + results.SUMMARY)
    return of_moments(moments, stored.study.parameters.get(ROLES[2], ""))
