"""An audit whose samples and planted faults are studies: kept, resumed, and drawn on a cluster.

What needs no samples is decided in this process, as in any audit.
"""

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pipeline.auditing import audit, blocks
from pipeline.auditing.audit import Case, WithoutSamples
from pipeline.auditing.blocks import AuditProblem, EventCounts, Sizes
from pipeline.auditing.guarded import Clock, guarded
from pipeline.auditing.parts import Part
from pipeline.auditing.samples import Finding, Pair, Plan
from pipeline.auditing.verdict import Audited, Power
from pipeline.execution.clusters import Cluster, Connected
from pipeline.identity.fingerprints import fingerprint
from pipeline.identity.registry import registered
from pipeline.storage import results
from pipeline.storage.schemes import is_url
from pipeline.study.contents import digest_of
from pipeline.study.files import read_regular, write_whole
from pipeline.study.grid import Grid
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.study.study import Study
from pipeline.study.untyped import Config
from pipeline.workflow import composition, config_files, own_experiments, run
from pipeline.workflow.audit import AuditRequest
from pipeline.workflow.config import present, read_cluster, read_settings
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.job import Job, Subscriber
from pipeline.workflow.known_audits import FOLDER, RECORD
from pipeline.workflow.merge import has_study, merge
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy, stored_studies

if TYPE_CHECKING:
    import xarray as xr

T = TypeVar("T")
PAGE = "audit.html"
OF_MERGING = ("origin", "contributor", "recompute")
SETTINGS = (
    "outputs",
    "stop_after",
    "retry_failed",
    "most_failures",
    "most_seconds",
    "accept_code",
    "formats",
    *OF_MERGING,
)
OF_RUNS = ("stop_after", "retry_failed", "most_failures", "most_seconds", "formats")
SECTIONS = ("cluster", "store")
WIDEST = 2_000_000  # numbers of the samples of a unit
PROBED = 2  # samples, by which one sees how many numbers a sample has
POWER_SEED = 1


@dataclass(frozen=True)
class Keeping:
    """Where samples are kept, and who draws them.

    changes: settings and the store, as keys of a config; with `origin`, units of the same audit that
    are there are taken in first. cluster: that of the config, or a
    person's own.
    """

    changes: Config
    cluster: Cluster
    invocation: Invocation
    subscribers: tuple[Subscriber, ...] = ()


def keeping_of(
    entries: Config, words: Sequence[str], subscribers: tuple[Subscriber, ...] = ()
) -> tuple[Keeping | None, dict[str, Any]]:
    """Where the words of a command keep an audit, and its other words.

    None where no word says so. Raises InvalidInput.
    """
    of_keeping = {key: value for key, value in entries.items() if _is_setting(key)}
    rest = {key: value for key, value in entries.items() if key not in of_keeping}
    if not of_keeping:
        return None, rest
    described = {}
    changes = {}
    for key, value in of_keeping.items():
        section, _, name = key.partition(".")
        if section == "cluster":
            described[name or "kind"] = value
        else:
            changes[key] = value
    cluster = cluster_of(described)
    return Keeping(changes, cluster, Invocation(tuple(words)), subscribers), rest


def without_merging(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command that give the same answer again, when units were taken in."""
    return tuple(word for word in words if word.partition("=")[0] not in (*OF_MERGING, "from"))


def cluster_of(described: object) -> Cluster:
    """The cluster of a kind, or of a mapping with `kind` and its fields; or a person's client."""
    if isinstance(described, str):
        described = {"kind": described}
    if not isinstance(described, Mapping):
        return Connected(described)
    described = {"kind": "local", **described}
    config_files.check_offered("cluster", described["kind"])
    return read_cluster({"cluster": described})


def _is_setting(key: str) -> bool:
    section = key.partition(".")[0]
    return key in SETTINGS or section in SECTIONS


def perform(request: AuditRequest, keeping: Keeping) -> Audited:
    """Audit, and keep what was drawn; the same call goes on where another one stopped.

    Raises InvalidInput, and what a run raises.
    """
    case = request.case
    options = request.options
    _check_origin(keeping.changes.get("origin"))
    plan = Plan(options.samples, 1 - options.confidence, options.seed)
    call = _Call(request, keeping, _digest(request))
    without, pairs = call.guarded(lambda case: _begun(case, plan, options.sensitivity))
    case = dataclasses.replace(case, pairs=pairs, relation=None)
    problem = blocks.problem_of(case, call.digest)
    audited = without.audited
    pair = without.pair
    with registered(problem):
        folder = None
        if audited is None:
            finding, folder = _sampled(call, problem, plan)
            audited = audit.audited_of(case, finding, plan, without.notes)
            pair = finding.pair
        audited = dataclasses.replace(audited, command=request.command)
        if not audited.violates and options.repeats > 0:
            power, of_power = _power(call, problem, audited, _place(pairs, pair))
            audited = dataclasses.replace(audited, power=power)
            folder = folder or of_power
    if folder is None:
        folder = _folder_without_samples(call)
    _write(folder, audited, _code(request))
    return audited


def _check_origin(origin: str | None) -> None:
    """Raise InvalidInput for a place to merge from that is no folder."""
    if origin is None or is_url(origin) or path_of(origin, "from").is_dir():
        return
    raise InvalidInput("from", origin, "must be a folder of outputs, or s3://…")


def _begun(case: Case, plan: Plan, sensitivity: float | None) -> tuple[WithoutSamples, list[Pair]]:
    """What is known without samples, and the pairs that samples are drawn of."""
    without = audit.before_samples(case, plan, sensitivity)
    if without.audited is not None:
        return without, [without.pair]
    return without, audit.ranked(case, plan)


def _place(pairs: Sequence[Pair], wanted: Pair) -> int:
    return [pair.name for pair in pairs].index(wanted.name)


@dataclass(frozen=True)
class _Call:
    """A request, where it is kept, and the digest of what it is about."""

    request: AuditRequest
    keeping: Keeping
    digest: str

    @property
    def name(self) -> str:
        """Name of the audit in the folder of outputs."""
        subject = self.request.case.subject.name
        letters = [letter if letter.isalnum() and letter.isascii() else "-" for letter in subject]
        return f"{FOLDER}/{''.join(letters).strip('-')[:40] or 'mechanism'}"

    def guarded(self, decide: Callable[[Case], T]) -> T:
        """What a function of the case gives, in a process of its own."""

        def call(clock: Clock) -> T:
            subject = dataclasses.replace(self.request.case.subject, clock=clock)
            return decide(dataclasses.replace(self.request.case, subject=subject))

        return guarded(call, self.request.case.subject.name, self.request.call_seconds)

    def run(
        self,
        study: Study,
        title: str,
        figures: Sequence[Mapping[str, Any]],
        is_elsewhere: bool = False,
    ) -> StoredStudy:
        """Run a study to its end, after units of another person were taken in.

        is_elsewhere: whether units must be there, if a place is named. Raises InvalidInput where
        units failed, or what is taken in is not this study.
        """
        job = _job(study, title, figures, self.keeping)
        (stored,) = job.studies
        origin = self.keeping.changes.get("origin")
        if origin is not None and (is_elsewhere or has_study(stored, origin)):
            merge(_job(study, title, figures, self.keeping, "merge"))
        outcome = run.run(job)
        if outcome.failed_units:
            why = f"{outcome.failed_units} units of {stored.store.folder} failed; see its report"
            raise InvalidInput("mechanism", self.request.case.subject.name, why)
        return stored


def _job(
    study: Study,
    title: str,
    figures: Sequence[Mapping[str, Any]],
    keeping: Keeping,
    task: str = "run",
) -> Job:
    """The job that runs a study, or takes in units of another person."""
    content = own_experiments.checked(own_experiments.mapping_of(study))
    content = {**content, "title": title, "figures": [*figures], "claims": False}
    whole = composition.sized(composition.whole_experiment(content), "paper")
    others = OF_RUNS if task == "merge" else OF_MERGING
    changes = {key: value for key, value in keeping.changes.items() if key not in others}
    config = composition.changed(whole, {**changes, "task": task})
    experiment = present(study, config)
    settings = read_settings(config)
    studies = stored_studies(settings, [experiment], [config])
    return Job(tuple(studies), settings, keeping.cluster, keeping.invocation, keeping.subscribers)


def _sampled(call: _Call, problem: AuditProblem, plan: Plan) -> tuple[Finding, Path]:
    """What the counts of all blocks of samples certify, and the folder where they are."""
    case = problem.case
    assert case is not None
    width = _width(case)
    sizes = Sizes.of(plan.samples, max(min(blocks.UNIT, WIDEST // width), 1))
    learned_from = min(sizes.learned, WIDEST // width)
    study = Study(
        call.name,
        problem.name,
        seed=plan.seed,
        replications=sizes.units,
        block=1,
        grid=Grid.of({"pair": [*range(len(case.pairs))], "point": [*range(blocks.POINTS)]}),
        parameters={
            "model": "seeds",
            "mechanism": "counts",
            "estimator": "nothing",
            "case": call.digest,
            "learned_from": max(learned_from, 1),
            "chosen_on": max(min(sizes.chosen, WIDEST // width), 1),
            "certified": sizes.certified,
            "unit_samples": sizes.unit,
            "error": plan.error / len(case.pairs),
        },
        metrics=("hits", "alarms"),
        paired=("point",),
    )
    title = f"Audit of {case.subject.name}, which promises {case.promise}"
    stored = call.run(study, title, (), is_elsewhere=True)
    dataset = _loaded(stored)
    findings = []
    for number in range(len(case.pairs)):
        labels = {"pair": number, "point": 0}
        parts = study.components(labels)
        mechanism = parts.mechanism
        assert isinstance(mechanism, EventCounts)
        stream = study.stream("population", labels, 0, parts.model)
        learning = int(stream.generator().integers(1 << 62))
        of_pair = dataset.sel(pair=number).sum("replication")
        hits, alarms = (np.asarray(of_pair[name].values) for name in ("hits", "alarms"))
        finding = blocks.finding_of(mechanism, learning, hits, alarms, sizes.certified)
        findings.append(finding)
    best = max(findings, key=lambda finding: case.promise.spent_by(finding.bounded))
    return best, stored.store.folder


def _width(case: Case) -> int:
    """Numbers of a sample."""
    pair = case.pairs[0]
    width = 1
    for dataset in (pair.first, pair.second):
        outputs = case.subject.sample(dataset, PROBED, [0])
        width = max(width, int(outputs.shape[1]))
    return width


def _power(
    call: _Call, problem: AuditProblem, audited: Audited, pair: int
) -> tuple[dict[str, Power], Path | None]:
    """How many planted faults audits find, each audit a unit, and the folder where that is."""
    case = problem.case
    assert case is not None
    options = call.request.options
    spent = float(min(audited.epsilon_lower, 1e6))
    can = blocks.plantable(blocks.site_of(case, pair, spent))
    power = {fault: Power(0, 0) for fault in can}
    faults = [fault for fault, is_possible in can.items() if is_possible]
    study = Study(
        f"{call.name}-power",
        problem.name,
        seed=options.seed + POWER_SEED,
        replications=options.repeats,
        block=1,
        grid=Grid.of({"fault": faults}),
        parameters={
            "model": "seeds",
            "mechanism": "faults",
            "estimator": "nothing",
            "case": call.digest,
            "pair": pair,
            "shown": spent,
            "samples": options.samples,
            "error": 1 - options.confidence,
        },
        metrics=("found",),
    )
    title = f"Faults planted in {case.subject.name}"
    stored = call.run(study, title, ())
    faults_found = _loaded(stored)["found"].sum("replication")
    for fault in faults:
        power[fault] = Power(int(faults_found.sel(fault=fault)), options.repeats)
    return power, stored.store.folder


def _loaded(stored: StoredStudy) -> "xr.Dataset":
    return results.load(stored.store, results.place(stored.store) + results.SEALED)


def _folder_without_samples(call: _Call) -> Path:
    """The folder of an audit that needed no samples, and planted no faults."""
    outputs = call.keeping.changes.get("outputs", Settings.outputs)
    folder = path_of(outputs, "outputs") / f"{call.name}-{call.digest[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write(folder: Path, audited: Audited, code: str) -> None:
    """The answer beside what it was made of, as JSON and as a page.

    With the day of the first of equal answers, and a digest of the mechanism's code, by which
    reports find it.
    """
    from pipeline.workflow.audit_page import page_of  # Matplotlib

    record = {**audited.record(), "code": code}
    today = datetime.now(UTC).date().isoformat()
    date = _date_of(folder / RECORD, record) or today
    content = json.dumps({**record, "date": date}, ensure_ascii=False, indent=1)
    write_whole(folder / RECORD, f"{content}\n".encode())
    write_whole(folder / PAGE, page_of(audited).encode())


def _date_of(path: Path, record: Mapping[str, Any]) -> str | None:
    """The date of a record that says the same; None where there is none."""
    try:
        former = json.loads(read_regular(path))
    except (OSError, ValueError):
        return None
    if not isinstance(former, dict):
        return None
    date = former.pop("date", None)
    if former != record or not isinstance(date, str):
        return None
    return date


def _code(request: AuditRequest) -> str:
    """Digest of the code of a problem's mechanism; empty for a callable."""
    mechanism = request.case.subject.mechanism
    if not isinstance(mechanism, Part):
        return ""
    return fingerprint(type(mechanism.mechanism))


def _digest(request: AuditRequest) -> str:
    """Digest, 16 hexadecimal digits, of code, data and promise: what an audit is about."""
    case = request.case
    mechanism = case.subject.mechanism
    content: list[object] = [case.subject.name, repr(case.promise), case.subject.grid]
    if isinstance(mechanism, Part):
        part = mechanism.mechanism
        content += [fingerprint(type(part)), digest_of(part)]
    else:
        content += _of_callable(mechanism)
    if case.subject.log_density is not None:
        content += _of_callable(case.subject.log_density)
    content += [digest_of([pair.name, pair.first, pair.second]) for pair in case.pairs]
    content.append(repr(case.relation))
    return digest_of(content)


def _of_callable(mechanism: Callable[..., object]) -> list[str]:
    """Digests of the code and the state of a callable."""
    function = inspect.unwrap(getattr(mechanism, "__func__", mechanism))
    if isinstance(function, FunctionType):
        state: object = dict(inspect.getclosurevars(function).nonlocals)
    else:
        state = getattr(function, "__dict__", {})
        function = type(function)
    return [fingerprint(function), digest_of(state)]
