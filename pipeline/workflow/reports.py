"""From sealed results to verdicts and the report: gathers what the page shows."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.execution.clusters import workers_of
from pipeline.execution.schedule import failures, unit_in_words, unit_name
from pipeline.execution.sessions import SessionRecord, sessions
from pipeline.identity import own_files
from pipeline.identity.registry import problem
from pipeline.storage import contributions, results
from pipeline.storage.layout import counted
from pipeline.study.checks import ROLES
from pipeline.study.parameters import DataFile
from pipeline.study.study import Study
from pipeline.workflow import known_audits, provenance, statements
from pipeline.workflow.config import read_common
from pipeline.workflow.deviations import protocol_of
from pipeline.workflow.effort import effort
from pipeline.workflow.events import DataSource, Deviated, Event, FellShort
from pipeline.workflow.failed_units import last_line
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.own_experiments import RECORD
from pipeline.workflow.reduce import names
from pipeline.workflow.refinement import boundary_lines
from pipeline.workflow.report_record import shown
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.told_verdicts import Told, told
from pipeline.workflow.until import ends

if TYPE_CHECKING:  # a run with nothing to do must not wait for these
    from pipeline.reporting.drawn import Drawn
    from pipeline.reporting.page import About, Section
    from pipeline.reporting.section import Contributor, Facts, PastSession
    from pipeline.workflow.assess import Item, Source


def write(
    where: Path,
    job: Job,
    *,
    interim: Sequence[StoredStudy] = (),
    turn: AbstractContextManager[object] | None = None,
    program: provenance.Program | None = None,
    folders: Sequence[Path] | None = None,
) -> tuple[Path, list[Event]]:
    """Judge the claims and write the report.

    Returns its path and what there is to tell: sources of data, verdicts, the worst last, then the
    studies in which something did not converge or is not finite.

    interim: the studies that are not finished. turn: see `page.write`. program: that the page
    names; None: the one that runs here. folders: of the studies, as the page shall name them; None:
    where they are. Claims and figures are tasks of the cluster, unless there are few and the data
    are small.
    """
    from pipeline.reporting import page
    from pipeline.workflow import assess

    studies = job.studies
    program = program or provenance.program()
    formats = job.settings.figure_formats
    sources = []
    for stored in studies:
        datasets = names(stored.store, stored in interim)
        sources.append(assess.Source(stored.experiment, stored.store, *datasets))
    with workers_of(job.cluster, assess.worth_a_cluster(sources)) as executor:
        answers = assess.assess(sources, executor, formats)
    sections = []
    for number, (stored, source) in enumerate(zip(studies, sources, strict=True)):
        of_study = _answers_for(number, answers)
        section = _section(stored, source, of_study, job.invocation, stored in interim)
        if folders is not None:
            shown_facts = dataclasses.replace(section.facts, folder=str(folders[number]))
            section = dataclasses.replace(section, facts=shown_facts)
        sections.append(section)
    title = title_of(studies)
    path = page.write(
        where,
        title,
        sections,
        about(title, sections, studies, job.invocation, program),
        _common_figure(studies, sections, formats),
        turn,
    )
    events: list[Event] = [*_data_sources(sections), *_deviated(sections)]
    return path, [*events, *_judged(sections), *_fell_short(sections)]


def _answers_for(study: int, answers: Mapping["Item", Any]) -> Mapping[tuple[str, int], Any]:
    """What was assessed of one study: (kind, number) -> answer."""
    of_study = {}
    for item, answer in answers.items():
        if item.study == study:
            of_study[item.kind, item.number] = answer
    return of_study


def _section(
    stored: StoredStudy,
    source: "Source",
    answers: Mapping[tuple[str, int], Any],
    invocation: Invocation,
    is_interim: bool,
) -> "Section":
    """What the page shows of one study."""
    from pipeline.analysis import shortfalls
    from pipeline.analysis.claims import Judgement
    from pipeline.analysis.summary import summarise_moments
    from pipeline.reporting import page
    from pipeline.workflow import assess

    experiment = stored.experiment
    study = stored.study
    claims = assess.claims_of(experiment)
    summary = summarise_moments(results.load(stored.store, source.summary))
    summary = summary.assign(answers.get((assess.CONTROLLED, 0), {}))
    estimator = study.parameters.get(ROLES[2], "")
    return page.Section(
        name=study.name,
        title=experiment.text.title,
        question=experiment.text.question,
        summary=summary,
        figures=[answers["figure", number] for number in range(len(experiment.figures))],
        verdicts=[
            Judgement(claim, *answers["claim", number]) for number, claim in enumerate(claims)
        ],
        paper=problem(study.problem).paper,
        facts=dataclasses.replace(
            facts(stored, invocation, interim=is_interim),
            effort=effort(stored, summary),
            shortfalls=shortfalls.of_summary(summary, estimator),
        ),
    )


def _common_figure(
    studies: Sequence[StoredStudy], sections: Sequence["Section"], formats: tuple[str, ...]
) -> "Drawn | None":
    """Files of the figure that all studies of a suite share; None without one."""
    from pipeline.reporting import common_figure
    from pipeline.reporting.drawn import files_of

    common = read_common(studies[0].raw, [stored.experiment for stored in studies])
    if common is None:
        return None
    summaries = {section.name: section.summary for section in sections}
    return files_of(common_figure.draw(common, summaries), formats)


def _data_sources(sections: Sequence["Section"]) -> Iterator[DataSource]:
    for section in sections:
        if section.facts.source:
            yield DataSource(section.name, section.facts.source)


def _deviated(sections: Sequence["Section"]) -> Iterator[Deviated]:
    for section in sections:
        protocol = section.facts.protocol
        if protocol is not None:
            count = len(protocol.deviations) if protocol.is_whole else None
            yield Deviated(section.name, protocol.date, count)


def _judged(sections: Sequence["Section"]) -> Iterator[Event]:
    """Every verdict: supported first, contradicted last, so at the end of the output."""
    verdicts = []
    for section in sections:
        for judgement in section.verdicts:
            claim = judgement.claim.id
            verdicts.append(Told(section.name, claim, judgement.verdict, judgement.text))
    return told(verdicts)


def _fell_short(sections: Sequence["Section"]) -> Iterator[FellShort]:
    for section in sections:
        if section.facts.shortfalls:
            yield FellShort(section.name, section.facts.shortfalls)


def title_of(studies: Sequence[StoredStudy]) -> str:
    """Heading of a report: of the study, of the suite or, where that has none, of the problems."""
    if len(studies) == 1:
        return studies[0].experiment.text.title
    problems = dict.fromkeys(problem(stored.study.problem).title for stored in studies)
    return str(studies[0].raw.get("suite_title") or "; ".join(problems))


def about(
    title: str,
    sections: Sequence["Section"],
    studies: Sequence[StoredStudy],
    invocation: Invocation,
    program: provenance.Program,
) -> "About":
    """What a page says of the program and of how to repeat the studies, with the files that this
    needs.
    """
    from pipeline.reporting.page import About

    records = [RECORD]
    if len(studies) > 1:
        records = [f"{section.name.replace('/', '-')}.yaml" for section in sections]
    configs = [shown(stored.raw).encode() for stored in studies]
    files = dict(zip(records, configs, strict=True))
    for file in own_files.loaded():
        files[file.name] = file.content
    all_sessions = itertools.chain.from_iterable(section.facts.sessions for section in sections)
    years = [session.started[:4] for session in all_sessions]
    return About(
        command=str(invocation.again()),
        version=program.version,
        commit=program.commit,
        bibtex=provenance.bibtex(title, years, program),
        mistakes=provenance.mistakes(),
        files=files,
    )


def facts(stored: StoredStudy, invocation: Invocation, interim: bool = False) -> "Facts":
    """What was run, for the page: data, config, sessions, failures, privacy, and what computed the
    numbers.
    """
    from pipeline.reporting.section import Facts, Failure

    study = stored.study
    store = stored.store
    listing = store.listing()
    failed = []
    for unit in failures(listing):
        error = f"{unit_in_words(study, unit)}: {last_line(store, unit)}"
        replay = invocation.replay_anywhere(study, unit)
        failed.append(Failure(unit_name(study, unit), error, replay))
    missing = 0
    if interim:
        missing = int((~listing.done & counted(study)).sum())
    crossing_confidence = None
    if study.refine:
        crossing_confidence = study.refine.confidence
    return Facts(
        folder=f"{store.backend}/{results.place(store)}".rstrip("/"),
        seed=study.seed,
        replications=study.replications,
        units=int(counted(study).sum()),
        ends=ends(study),
        missing=missing,
        config=shown(stored.raw),
        sessions=[_session(record) for record in sessions(store.folder)],
        failures=failed,
        privacy=known_audits.told(stored, statements.privacy(study)),
        source=statements.source(study),
        experiment=str(invocation.alone(study).again()),
        crossings=boundary_lines(stored),
        crossing_confidence=crossing_confidence,
        parts=statements.parts(study),
        paired=[axis for axis in study.paired_axes if len(study.grid.axes[axis]) > 1],
        constants=_constants(study),
        protocol=protocol_of(stored),
        contributors=_contributors(stored),
    )


def _contributors(stored: StoredStudy) -> "list[Contributor]":
    """Other people whose units are among those of a study."""
    from pipeline.reporting.section import Contributor

    total = int(counted(stored.study).sum())
    return [
        Contributor(
            name=merged.contributor,
            date=merged.date,
            units=merged.units,
            share=merged.units / total,
            recomputed=sum(writer.recomputed for writer in merged.writers),
            most_false=max(writer.most_false for writer in merged.writers),
        )
        for merged in contributions.all_of(stored.store)
    ]


def _session(record: SessionRecord) -> "PastSession":
    """What a page has of a session."""
    from pipeline.reporting.section import PastSession

    return PastSession(
        started=record.started or "–",
        seconds=record.seconds,
        units=record.units,
        workers=record.workers,
        lost=record.lost,
        state=record.state,
        machine=record.machine or record.host or "–",
        versions=record.versions,
    )


def _constants(study: Study) -> dict[str, Any]:
    """Parameters that are the same in all cells, without parts and files."""
    return {
        name: value
        for name, value in study.parameters.items()
        if name not in ROLES and not isinstance(value, DataFile)
    }
