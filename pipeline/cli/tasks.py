"""The tasks of the command, on checked experiments."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.cli import inspect
from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.execution.clusters import Cluster
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow import on_end, reports, run, shelf, status, submit, verify
from pipeline.workflow.experiment import Experiment
from pipeline.workflow.rounds import reached
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import stored_studies


def perform(
    settings: Settings,
    cluster: Cluster,
    experiments: Sequence[Experiment],
    raw: Sequence[Mapping[str, Any]],
    command: str,
    as_json: bool = False,
) -> int:
    """Perform the task; returns the exit code.

    Raises InvalidInput for mistakes that show only in what is stored.
    """
    if settings.results is not None:
        return verify.verify_copy(settings.results)
    if settings.task == "show":
        print("---\n".join(map(reports.shown, raw)), end="")
        return EXIT_DONE
    if settings.task == "controls":
        from pipeline.workflow import controls  # SciPy

        return controls.controls(experiments)
    outputs = path_of(settings.outputs, "outputs")
    if settings.task == "list":
        return shelf.list_studies(outputs)
    if settings.task == "remove":
        return shelf.remove(outputs, settings.studies, settings.sure)
    if settings.task == "compare":
        from pipeline.workflow import compare  # SciPy

        return compare.compare(outputs, settings.studies, settings.store)
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
        return on_end.with_command(
            settings, studies, lambda: run.run(studies, settings, cluster, command)
        )
    studies = [reached(stored) for stored in studies]
    if settings.task == "plan":
        return inspect.plan_of(studies, cluster)
    if settings.task == "submit":
        return submit.submit(studies, settings, cluster, shlex.split(command)[1:])
    if settings.task == "report":
        return run.report(studies, settings, cluster, command)
    if settings.task == "verify":
        return verify.verify(studies, settings, cluster)
    if settings.task == "status":
        return status.status(studies, command, as_json)
    return max(inspect.replay(stored, settings, command) for stored in studies)
