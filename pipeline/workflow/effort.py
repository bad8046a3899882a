"""Which cells of a study took most of the work, for its report."""

from typing import TYPE_CHECKING

import numpy as np

from pipeline.execution.sessions import sessions
from pipeline.reporting.formatting import levels
from pipeline.reporting.section import CellOfCost, Effort
from pipeline.storage.layout import Layout, positions
from pipeline.workflow.studies import StoredStudy, varying_labels

if TYPE_CHECKING:  # a run with nothing to do must not wait for it
    import xarray as xr

MOST = 6  # cells that are named


def effort(stored: StoredStudy, summary: "xr.Dataset") -> Effort:
    """Seconds of work of all sessions, and the most costly cells with their predicted share.

    summary: of the study's results, as `summarise_moments` gives it.
    """
    study = stored.study
    runs = summary["n_run"].values.reshape(-1)[positions(study, Layout.of(study))]
    costs = runs * study.costs
    most_costly = []
    if len(costs) > 1 and costs.any():
        most_costly = np.argsort(-costs, kind="stable")[:MOST].tolist()
    rows = []
    for cell in most_costly:
        share = float(costs[cell] / costs.sum())
        rows.append(CellOfCost(levels(varying_labels(study, cell)), int(runs[cell]), share))
    seconds = sum(past.seconds_work or 0.0 for past in sessions(stored.store.folder))
    return Effort(seconds, rows)
