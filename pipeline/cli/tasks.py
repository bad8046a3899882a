"""The tasks of the command, on checked experiments: who performs each of them."""

import functools
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pipeline.cli import on_end
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.cli.json_answer import print_json
from pipeline.cli.run_record import Ended, RunRecord
from pipeline.execution.clusters import Cluster
from pipeline.execution.errors import SweepError
from pipeline.study.errors import Stopped
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow import report_record, run, yaml_text
from pipeline.workflow.experiment import Experiment
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.narration import Narration
from pipeline.workflow.rounds import continued
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, stored_studies

Studies: TypeAlias = Sequence[StoredStudy]


@dataclass(frozen=True)
class Request:
    """A command that was read and checked. raw: config of each experiment."""

    settings: Settings
    cluster: Cluster
    experiments: Sequence[Experiment]
    raw: Sequence[Mapping[str, Any]]
    invocation: Invocation
    as_json: bool = False

    @property
    def outputs(self) -> Path:
        """The folder of all studies."""
        return path_of(self.settings.outputs, "outputs")

    def job(self, studies: Studies) -> Job:
        """The job of a task, whose events are printed."""
        narration = Narration(sys.stdout, sys.stderr)
        return self._job(studies).subscribed(narration)

    def silent_job(self, studies: Studies, record: RunRecord) -> Job:
        """The same for an answer in JSON: only progress and warnings are shown, on stderr."""
        narration = Narration(io.StringIO(), sys.stderr)
        return self._job(studies).subscribed(narration, record)

    def _job(self, studies: Studies) -> Job:
        return Job(tuple(studies), self.settings, self.cluster, self.invocation)


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
        from pipeline.cli import verify

        return verify.perform_on_copy(settings.results, as_json)
    request = Request(settings, cluster, experiments, raw, invocation, as_json)
    if settings.task in WITHOUT_STORED_STUDIES:
        return WITHOUT_STORED_STUDIES[settings.task](request)
    studies = stored_studies(settings, experiments, raw)
    studies[0].store.backend.check()
    if settings.task != "verify":  # which says itself what is wrong with the study's description
        for stored in studies:
            stored.store.exists()
    _check_parts_suffice(settings, studies)
    # run looks itself at how many replications there are to be, a protocol is written before.
    if settings.task not in ("run", "protocol"):
        studies = [continued(stored) for stored in studies]
    return ON_STORED_STUDIES[settings.task](request, studies)


def _check_parts_suffice(settings: Settings, studies: Studies) -> None:
    """Raise InvalidInput where a job, which sees only a part of the results, would need all."""
    if settings.shard:
        key = "shard"
        value = settings.shard
    elif settings.task == "submit":
        key = "task"
        value = "submit"
    else:
        return
    for rule, why in (("refine", "whose new levels follow"), ("until", "whose end follows")):
        if any(getattr(stored.study, rule) for stored in studies):
            raise InvalidInput(
                key,
                value,
                f"cannot be combined with {rule}, {why} from all results; leave out one of both",
            )


def _show(request: Request) -> int:
    if request.as_json:
        configs = [report_record.shown(raw) for raw in request.raw]
        experiments = [yaml_text.load(config) for config in configs]
        return print_json(EXIT_DONE, {"experiments": experiments})
    print("---\n".join(map(report_record.shown, request.raw)), end="")
    return EXIT_DONE


def _controls(request: Request) -> int:
    from pipeline.cli import controls  # SciPy

    return controls.perform(request.experiments, request.as_json)


def _list(request: Request) -> int:
    from pipeline.cli import shelf

    return shelf.perform_list(request.outputs, request.as_json)


def _remove(request: Request) -> int:
    from pipeline.cli import shelf

    settings = request.settings
    return shelf.perform_remove(request.outputs, settings.studies, settings.sure, request.as_json)


def _compare(request: Request) -> int:
    from pipeline.cli import compare  # SciPy

    settings = request.settings
    return compare.perform(request.outputs, settings.studies, settings.store, request.as_json)


def _run(request: Request, studies: Studies) -> int:
    if request.as_json:
        work = functools.partial(_run_as_json, request, studies)
    else:
        work = functools.partial(_run_to_the_end, request.job(studies))
    return on_end.with_command(request.settings, studies, work, request.as_json)


def _plan(request: Request, studies: Studies) -> int:
    from pipeline.cli import plan

    return plan.perform(studies, request.cluster, request.as_json)


def _protocol(request: Request, studies: Studies) -> int:
    from pipeline.cli import protocol

    return protocol.perform(request.job(studies), request.as_json)


def _merge(request: Request, studies: Studies) -> int:
    from pipeline.cli import merge

    return merge.perform(request.job(studies), request.as_json)


def _submit(request: Request, studies: Studies) -> int:
    from pipeline.cli import submit

    words = request.invocation.words
    return submit.perform(studies, request.settings, request.cluster, words, request.as_json)


def _report(request: Request, studies: Studies) -> int:
    if not request.as_json:
        return _exit_code(run.report(request.job(studies)))
    run_record = RunRecord()
    code = _exit_code(run.report(request.silent_job(studies, run_record)))
    return print_json(code, run_record.record(studies))


def _verify(request: Request, studies: Studies) -> int:
    from pipeline.cli import verify

    return verify.perform(studies, request.settings, request.cluster, request.as_json)


def _status(request: Request, studies: Studies) -> int:
    from pipeline.cli import status

    return status.perform(studies, request.invocation, request.as_json)


def _replay(request: Request, studies: Studies) -> int:
    from pipeline.cli import replay

    if request.as_json:
        return replay.perform_as_json(studies, request.settings)
    return max(replay.perform(stored, request.settings) for stored in studies)


WITHOUT_STORED_STUDIES: Mapping[str, Callable[[Request], int]] = {
    "show": _show,
    "controls": _controls,
    "list": _list,
    "remove": _remove,
    "compare": _compare,
}
ON_STORED_STUDIES: Mapping[str, Callable[[Request, Studies], int]] = {
    "run": _run,
    "submit": _submit,
    "plan": _plan,
    "protocol": _protocol,
    "merge": _merge,
    "status": _status,
    "report": _report,
    "verify": _verify,
    "replay": _replay,
}


def _run_to_the_end(job: Job) -> int:
    """Simulate until nothing is left to do or the command is stopped; returns the exit code."""
    try:
        return _exit_code(run.run(job))
    except Stopped as stopped:
        print(stopped)
        return EXIT_MORE_TO_DO
    except SweepError as error:
        print(f"error: {error}; finished units are kept, the same command goes on", file=sys.stderr)
        return EXIT_FAILED


def _run_as_json(request: Request, studies: Studies) -> int:
    """The same with one object of JSON at the end; how far it is goes to stderr."""
    run_record = RunRecord()
    ended = Ended()
    try:
        code = _exit_code(run.run(request.silent_job(studies, run_record)))
    except Stopped as stopped:
        code = EXIT_MORE_TO_DO
        ended = Ended(stopped=str(stopped))
    except SweepError as error:
        code = EXIT_FAILED
        ended = Ended(error=str(error))
    return print_json(code, run_record.record(studies, ended))


def _exit_code(outcome: run.RunOutcome) -> int:
    """The exit code: 1 if a unit of this shard failed."""
    return EXIT_FAILED if outcome.failed_units else EXIT_DONE
