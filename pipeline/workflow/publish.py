"""Write the report of a job, if it is not up to date, and tell the verdicts."""

import time
from collections.abc import Sequence

from pipeline.storage import results
from pipeline.workflow import reduce, report_record, reports
from pipeline.workflow.events import Reported
from pipeline.workflow.job import Job
from pipeline.workflow.sealed import is_current
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.told_verdicts import kept, told


def publish(job: Job, interim: Sequence[StoredStudy] = ()) -> None:
    """Write the report. interim: the studies that are not finished.

    A run writes only what is out of date. Raises Replaced, see `report_record.publishing`.
    """
    is_run = job.settings.task == "run"
    folder = report_record.folder(job.settings, job.studies, bool(interim))
    page = folder / "report.html"
    stores = [stored.store for stored in job.studies]
    stamps = [results.stamp(store) for store in stores]
    wanted = report_record.content(job.studies, stamps)
    if is_run and report_record.is_up_to_date(page, folder / "report.yaml", wanted):
        for event in told(kept(folder)):
            job.tell(event)
        job.tell(Reported(page, None))
        return
    if is_run and not all(is_current(store) for store in stores):
        raise report_record.Replaced
    for stored in job.studies:
        _check_results(stored, stored in interim)
    start = time.monotonic()
    try:
        turn = report_record.publishing(
            job.settings, job.studies, stamps, page, wanted, bool(interim)
        )
        written, events = reports.write(folder, job, interim=interim, turn=turn)
    except report_record.Replaced:
        raise
    except Exception:  # a reader raises anything over half a dataset
        if [results.stamp(store) for store in stores] != stamps:
            raise report_record.Replaced from None
        for stored in job.studies:
            _check_results(stored, stored in interim, thorough=True)
        raise
    for event in events:
        job.tell(event)
    job.tell(Reported(written, time.monotonic() - start))


def _check_results(stored: StoredStudy, interim: bool, thorough: bool = False) -> None:
    """Raise InvalidInput where the results that a report is made of are damaged."""
    for name in reduce.names(stored.store, interim):
        problems = results.problems_of(stored.store.backend, name, thorough)
        if problems:
            raise stored.store.invalid(
                f"is damaged ({problems[0]}); task=verify repair=true removes it, and the same "
                "command makes it again",
                name,
            )
