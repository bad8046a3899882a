"""The tasks of the command, on checked experiments."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.cli import inspect, on_end, shelf, status, submit, verify
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.execution.clusters import Cluster
from pipeline.execution.errors import SweepError
from pipeline.study.errors import Stopped
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow import reports, run
from pipeline.workflow.experiment import Experiment
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.narration import Narration
from pipeline.workflow.rounds import reached
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, stored_studies


def perform(
    settings: Settings,
    cluster: Cluster,
    experiments: Sequence[Experiment],
    raw: Sequence[Mapping[str, Any]],
    invocation: Invocation,
    as_json: bool = False,
) -> int:
    """Perform the task; returns the exit code.

    Raises InvalidInput for mistakes that show only in what is stored.
    """
    if settings.results is not None:
        return verify.perform_on_copy(settings.results)
    if settings.task == "show":
        print("---\n".join(map(reports.shown, raw)), end="")
        return EXIT_DONE
    if settings.task == "controls":
        from pipeline.cli import controls  # SciPy

        return controls.perform(experiments)
    outputs = path_of(settings.outputs, "outputs")
    if settings.task == "list":
        return shelf.perform_list(outputs)
    if settings.task == "remove":
        return shelf.perform_remove(outputs, settings.studies, settings.sure)
    if settings.task == "compare":
        from pipeline.cli import compare  # SciPy

        return compare.perform(outputs, settings.studies, settings.store)
    studies = stored_studies(settings, experiments, raw)
    studies[0].store.backend.check()
    for stored in studies:
        if (
            settings.task != "verify"
        ):  # which says itself what is wrong with the study's description
            stored.store.exists()
    if settings.shard or settings.task == "submit":
        key, value = ("shard", settings.shard) if settings.shard else ("task", "submit")
        for rule, why in (("refine", "whose new levels follow"), ("until", "whose end follows")):
            if any(getattr(stored.study, rule) for stored in studies):
                raise InvalidInput(
                    key,
                    value,
                    f"goes with no {rule}, {why} from all results; leave out one of both",
                )
    if settings.task == "run":
        job = _job(studies, settings, cluster, invocation)
        return on_end.with_command(settings, studies, lambda: _run(job))
    studies = [reached(stored) for stored in studies]
    if settings.task == "plan":
        return inspect.plan_of(studies, cluster)
    if settings.task == "submit":
        return submit.perform(studies, settings, cluster, invocation.words)
    if settings.task == "report":
        return _exit_code(run.report(_job(studies, settings, cluster, invocation)))
    if settings.task == "verify":
        return verify.perform(studies, settings, cluster)
    if settings.task == "status":
        return status.perform(studies, invocation, as_json)
    return max(inspect.replay(stored, settings) for stored in studies)


def _job(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, invocation: Invocation
) -> Job:
    """The job of a task, whose events are printed."""
    narration = Narration(sys.stdout, sys.stderr)
    return Job(tuple(studies), settings, cluster, invocation).subscribed(narration)


def _run(job: Job) -> int:
    """Perform `task=run`; returns the exit code."""
    try:
        return _exit_code(run.run(job))
    except Stopped as stopped:
        print(stopped)
        return EXIT_MORE_TO_DO
    except SweepError as error:
        print(f"error: {error}; finished units are kept, the same command goes on", file=sys.stderr)
        return EXIT_FAILED


def _exit_code(outcome: run.Outcome) -> int:
    """The exit code: 1 if a unit of this shard failed."""
    return EXIT_FAILED if outcome.failed_units else EXIT_DONE
