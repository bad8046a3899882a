"""What did not converge or is not finite in the sealed results of a study, for the terminal."""

from collections.abc import Iterable

import numpy as np

from pipeline.analysis.moments import COUNTS, STATISTICS
from pipeline.storage import results
from pipeline.storage.plain import PlainDataset
from pipeline.study.checks import ROLES
from pipeline.workflow.sealed import is_current
from pipeline.workflow.studies import StoredStudy


def line_of(stored: StoredStudy) -> str:
    """One line that names the parts; empty where all is well, and where nothing is sealed."""
    if not is_current(stored.store):
        return ""
    name = f"{results.place(stored.store)}{results.SUMMARY}"
    if _is_without(PlainDataset(stored.store.backend, name), stored.study.metrics):
        return ""
    from pipeline.analysis.shortfalls import of_moments  # xarray

    moments = results.load(stored.store, name)
    return of_moments(moments, stored.study.parameters.get(ROLES[2], ""))


def _is_without(moments: PlainDataset, metrics: Iterable[str]) -> bool:
    """Whether moments are sound and show that all replications converged and all values are
    finite. Most do, and this needs no import of xarray.
    """
    status = moments.read("status")
    if status is None or status[..., COUNTS.index("not_converged")].any():
        return False
    ended = status[..., COUNTS.index("run")] - status[..., COUNTS.index("failed")]
    for metric in metrics:
        statistics = moments.read(metric)
        if statistics is None:
            return False
        lost = ended - statistics[..., STATISTICS.index("n")]
        if int(np.nansum(lost)) != 0:
            return False
    return True
