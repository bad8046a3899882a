"""From sealed results to verdicts and the report: gathers what the page shows."""

import hashlib
import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.execution.clusters import workers_of
from pipeline.execution.schedule import failures, unit_in_words, unit_name
from pipeline.execution.sessions import sessions
from pipeline.identity import own_files
from pipeline.identity.registry import problem
from pipeline.storage import results as seal
from pipeline.storage.folder import locked
from pipeline.storage.layout import counted
from pipeline.study.checks import ROLES
from pipeline.study.files import read_regular, write_whole
from pipeline.study.parameters import DataFile, path_of
from pipeline.study.streams import digest
from pipeline.workflow import provenance, statements
from pipeline.workflow.config import read_common
from pipeline.workflow.effort import effort
from pipeline.workflow.events import DataSource, Event, FellShort, Judged
from pipeline.workflow.failed_units import last_line
from pipeline.workflow.invocation import SETTING_KEYS, Invocation
from pipeline.workflow.job import Job
from pipeline.workflow.own_experiments import RECORD
from pipeline.workflow.reduce import names
from pipeline.workflow.refinement import boundary_lines
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import ends

if TYPE_CHECKING:  # a run with nothing to do must not wait for these
    from pipeline.analysis.claims import Judgement
    from pipeline.reporting.page import Section
    from pipeline.workflow.assess import Item, Source

CODE = (".py", ".j2", ".css", ".js")
FINISHED = "# of {} replications"
REQUESTED = ("name", "grid", "replications", "precision", "refine", "until")
OF_FILES = "# of files"
OF_RESULTS = "# of results"
OF_REQUEST = "# of request"
OF_FILE = "# of file"  # of parts, given on the command line
MOST_SHOWN = 64  # configs whose YAML is kept
_SHOWN: dict[str, str] = {}  # config -> its YAML


class Replaced(OSError):
    """Another driver sealed its view of the study in between."""

    def __init__(self) -> None:
        super().__init__("the results changed while the report was written")


def shown(raw: Mapping[str, Any]) -> str:
    """YAML of what a report shows of a config: another title or figure asks for another page."""
    import yaml

    lasting = {name: value for name, value in raw.items() if name not in SETTING_KEYS}
    paths = raw.get("data") or {}
    files = {name: Path(path).name for name, path in paths.items() if path is not None}
    if files:
        lasting["data"] = files  # without their folders
    # YAML of ten thousand levels takes a hundred times as long, and a page has it thrice.
    key = repr(lasting)
    if key not in _SHOWN:
        if len(_SHOWN) >= MOST_SHOWN:
            _SHOWN.clear()
        _SHOWN[key] = str(yaml.safe_dump(lasting, sort_keys=False, allow_unicode=True))
    return _SHOWN[key]


def folder(settings: Settings, studies: Sequence[StoredStudy], interim: bool = False) -> Path:
    """Where the report goes: the folder of the study or suite, or one in it, beside the report of a
    larger request.

    An interim one goes beside any finished one, and beside one of another request.
    """
    suite = _suite_folder(settings, studies)
    where = suite or studies[0].store.folder / seal.place(studies[0].store)
    finished = finished_size(where / RECORD)
    if interim:
        request = _match_in(where / RECORD, f"{OF_REQUEST} (.+)")
        is_of_another = request not in ("", _request_digest(studies))
        is_taken = finished > 0 or is_of_another
    else:
        wanted = sum(seal.size(stored.study) for stored in studies)
        is_taken = suite is not None and finished > wanted
    return _beside(studies, suite) if is_taken else where


def _beside(studies: Sequence[StoredStudy], suite: Path | None = None) -> Path:
    """Folder of a request in that of its study or suite."""
    if not suite:
        return studies[0].store.folder / seal.REQUESTS / seal.request(studies[0].study)
    requests = "".join(seal.request(stored.study) for stored in studies)
    return suite / seal.REQUESTS / digest(requests, 8).hex()


def _request_digest(studies: Sequence[StoredStudy]) -> str:
    """Digest of what configs ask for, the same in all rounds of a study that grows."""
    requests = [list(map(stored.raw.get, REQUESTED)) for stored in studies]
    return digest(json.dumps(requests, sort_keys=True, default=str), 8).hex()


def _suite_folder(settings: Settings, studies: Sequence[StoredStudy]) -> Path | None:
    suite = studies[0].raw.get("suite")
    return path_of(settings.outputs, "outputs") / f"suite-{suite}" if suite else None


def finished_size(record: Path) -> int:
    """Replications of a finished report, from what it was made of; 0 where there is none."""
    return int(_match_in(record, FINISHED.format("([0-9]+)")) or 0)


def _match_in(record: Path, pattern: str) -> str:
    """The group of a pattern that a line of a report's record matches; "" where none does."""
    try:
        match = re.search(f"^{pattern}$", read_regular(record).decode(), re.M)
    except (OSError, ValueError):
        return ""
    return match[1] if match else ""


def content(studies: Sequence[StoredStudy], stamps: Sequence[str | None]) -> str:
    """What a report is made of, as a text: where it is the same, the report is up to date."""
    configs = "---\n".join(shown(stored.raw) for stored in studies)
    # Files of parts may hold claims.
    files = "".join(f"{OF_FILE} {file.sha256}\n" for file in own_files.loaded())
    packages = {problem(stored.study.problem).package for stored in studies}
    packages.add(__name__.partition(".")[0])
    common = ""
    if studies[0].raw.get("common"):
        common = f"# of figure {studies[0].raw['common']}\n"
    sealed = "".join(f"{OF_RESULTS} {stamp}\n" for stamp in stamps)
    code = f"# of program {_code(packages)}\n{OF_REQUEST} {_request_digest(studies)}\n"
    size = ""
    if all(seal.is_sealed(stored.store) for stored in studies):
        size = FINISHED.format(sum(seal.size(stored.study) for stored in studies)) + "\n"
    return configs + common + files + code + sealed + size


def _code(packages: Iterable[str]) -> str:
    """Digest of all that draws a page and judges its claims: files of code, templates and styles,
    by their bytes.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(packages):
        for folder in getattr(sys.modules.get(name), "__path__", ()):
            for path in sorted(Path(folder).rglob("*")):
                if path.suffix in CODE and path.is_file():
                    digest.update(f"{name} {path.relative_to(folder)}\n".encode())
                    digest.update(read_regular(path))
    return digest.hexdigest()


def is_current(page: Path, record: Path, wanted: str) -> bool:
    """Whether a page was made of what is wanted, and is as it was written."""
    try:
        line = _digest_line(wanted, page, _own_files(page))
        return read_regular(record).decode() == wanted + line
    except (OSError, ValueError):
        return False


def is_whole(where: Path) -> bool:
    """Whether all files of the report in a folder are as they were written."""
    try:
        text = read_regular(where / RECORD).decode()
        digests = re.findall(f"^{OF_FILE} ([0-9a-f]{{64}})$", text, re.M)
        files = _files_with(digests, where)
        wanted = text[: text.rindex(OF_FILES)]
        return text == wanted + _digest_line(wanted, where / "report.html", files)
    except (OSError, ValueError, KeyError):
        return False


def _files_with(digests: Sequence[str], folder: Path) -> list[Path]:
    """Files of Python in a folder by their digests. Raises KeyError where one is not there."""
    if not digests:
        return []
    files = {hashlib.sha256(read_regular(path)).hexdigest(): path for path in folder.glob("*.py")}
    return [files[sha256] for sha256 in digests]


@contextmanager
def publishing(
    settings: Settings,
    studies: Sequence[StoredStudy],
    stamps: Sequence[str | None],
    page: Path,
    wanted: str,
    interim: bool = False,
) -> Iterator[None]:
    """To be entered while the files of a report take their place.

    Notes at the end what it was made of.

    Locks keep other runs from sealing these studies and replacing this report. Raises Replaced
    where one did since the results had these stamps: a smaller request must not replace the page of
    a larger one that was finished in between.
    """
    with ExitStack() as stack:
        suite = _suite_folder(settings, studies)
        if suite:
            stack.enter_context(locked(suite))
        # In one order, so that two drivers do not wait for each other.
        stores = {stored.store.folder: stored.store for stored in studies}
        for _, store in sorted(stores.items()):
            stack.enter_context(store.locked())
        is_elsewhere = folder(settings, studies, interim) != page.parent
        if is_elsewhere or [seal.stamp(stored.store) for stored in studies] != stamps:
            raise Replaced
        # Beside report.yaml: the folder then has all that a repetition needs.
        for file in own_files.loaded():
            write_whole(page.with_name(file.name), file.content)
        yield
        # Last: without it the page counts as out of date.
        record = wanted + _digest_line(wanted, page, _own_files(page))
        write_whole(page.with_name(RECORD), record.encode())
        # What was here before the end.
        beside = _beside(studies, suite)
        if beside != page.parent and not (beside / seal.SEALED).exists():
            shutil.rmtree(beside, ignore_errors=True)


def _own_files(page: Path) -> list[Path]:
    """Where the files of parts lie that were given on the command line."""
    return [page.with_name(file.name) for file in own_files.loaded()]


def _digest_line(wanted: str, page: Path, parts: Sequence[Path]) -> str:
    """A line with one digest of all files of a report, and of the lines above it, `wanted`.

    parts: files of parts among them.
    """
    tables = [page.with_name(name) for name in ("summary.csv", "verdicts.csv")]
    there = [path for path in (*tables, *parts) if path.exists()]
    digest = hashlib.blake2b(wanted.encode(), digest_size=16)
    for path in (page, *there, *sorted(page.parent.glob("figures/*"))):
        digest.update(hashlib.blake2b(path.name.encode() + b"\n" + read_regular(path)).digest())
    return f"{OF_FILES} {digest.hexdigest()}\n"


def write(
    where: Path,
    job: Job,
    *,
    interim: Sequence[StoredStudy] = (),
    turn: AbstractContextManager[object] | None = None,
) -> tuple[Path, list[Event]]:
    """Judge the claims and write the report.

    Returns its path and what there is to tell: sources of data, verdicts, the worst last, then the
    studies in which something did not converge or is not finite.

    interim: the studies that are not finished. turn: see `page.write`. Claims and figures are tasks
    of the cluster, unless there are few and the data are small.
    """
    from pipeline.reporting import page
    from pipeline.workflow import assess

    studies = job.studies
    formats = job.settings.figure_formats
    sources = [
        assess.Source(stored.experiment, stored.store, *names(stored.store, stored in interim))
        for stored in studies
    ]
    with workers_of(job.cluster, assess.worth_a_cluster(sources)) as executor:
        answers = assess.assess(sources, executor, formats)
    sections = [
        _section(stored, source, _answers_for(number, answers), job.invocation, stored in interim)
        for number, (stored, source) in enumerate(zip(studies, sources, strict=True))
    ]
    title = title_of(studies)
    path = page.write(
        where,
        title,
        sections,
        about(title, sections, studies, job.invocation),
        _common_figure(studies, sections, formats),
        turn,
    )
    return path, [*_data_sources(sections), *_judged(sections), *_fell_short(sections)]


def _answers_for(study: int, answers: Mapping["Item", Any]) -> Mapping[tuple[str, int], Any]:
    """What was assessed of one study: (kind, number) -> answer."""
    return {
        (item.kind, item.number): answer for item, answer in answers.items() if item.study == study
    }


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
    summary = summarise_moments(seal.load(stored.store, source.summary))
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
        facts={
            **facts(stored, invocation, interim=is_interim),
            "effort": effort(stored, summary),
            "shortfalls": shortfalls.of_summary(summary, estimator),
        },
    )


def _common_figure(
    studies: Sequence[StoredStudy], sections: Sequence["Section"], formats: tuple[str, ...]
) -> Any:
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
        if section.facts["source"]:
            yield DataSource(section.name, section.facts["source"])


def _judged(sections: Sequence["Section"]) -> Iterator[Judged]:
    """Every verdict: supported first, contradicted last, so at the end of the output."""
    return judged([judgement for section in sections for judgement in section.verdicts])


def judged(judgements: Sequence["Judgement"]) -> Iterator[Judged]:
    """The verdicts on some claims, the worst last."""
    from pipeline.analysis.claims import VERDICTS

    for verdict in VERDICTS:
        for judgement in judgements:
            if judgement.verdict == verdict:
                yield Judged(judgement.claim.id, verdict, judgement.text)


def _fell_short(sections: Sequence["Section"]) -> Iterator[FellShort]:
    for section in sections:
        if section.facts["shortfalls"]:
            yield FellShort(section.name, section.facts["shortfalls"])


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
) -> dict[str, Any]:
    """What a page says of the program and of how to repeat the studies, with the files that this
    needs.
    """
    records = [RECORD]
    if len(studies) > 1:
        records = [f"{section.name.replace('/', '-')}.yaml" for section in sections]
    configs = [shown(stored.raw).encode() for stored in studies]
    files = dict(zip(records, configs, strict=True))
    for file in own_files.loaded():
        files[file.name] = file.content
    all_sessions = itertools.chain.from_iterable(section.facts["sessions"] for section in sections)
    years = [str(session["started"])[:4] for session in all_sessions]
    return {
        "command": str(invocation.again()),
        "version": provenance.version(),
        "commit": provenance.commit(),
        "bibtex": provenance.bibtex(title, years),
        "mistakes": provenance.mistakes(),
        "files": files,
    }


def facts(stored: StoredStudy, invocation: Invocation, interim: bool = False) -> dict[str, Any]:
    """What was run, for the page: data, config, sessions, failures, privacy, and what computed the
    numbers.
    """
    study = stored.study
    store = stored.store
    listing = store.listing()
    failed = [
        {
            "unit": unit_name(study, unit),
            "error": f"{unit_in_words(study, unit)}: {last_line(store, unit)}",
            "replay": invocation.replay_anywhere(study, unit),
        }
        for unit in failures(listing)
    ]
    return {
        "command": str(invocation),
        "folder": f"{store.backend}/{seal.place(store)}".rstrip("/"),
        "seed": study.seed,
        "replications": study.replications,
        "block": study.block,
        "cells": len(study.grid),
        "units": int(counted(study).sum()),
        "ends": ends(study),
        "missing": int((~listing.done & counted(study)).sum()) if interim else 0,
        "config": shown(stored.raw),
        "sessions": [session.content() for session in sessions(store.folder)],
        "failures": failed,
        "privacy": statements.privacy(study),
        "key": study.key,
        "source": statements.source(study),
        "experiment": str(invocation.alone(study).again()),
        "crossings": boundary_lines(stored),
        "crossing_confidence": study.refine.confidence if study.refine else None,
        "parts": statements.parts(study),
        "paired": [axis for axis in study.paired_axes if len(study.grid.axes[axis]) > 1],
        "constants": {
            name: value
            for name, value in study.parameters.items()
            if name not in ROLES and not isinstance(value, DataFile)
        },
    }
