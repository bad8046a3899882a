"""From sealed results to verdicts and the report: gathers what the page shows."""

import hashlib
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pipeline.cli.arguments import own_path
from pipeline.execution.clusters import Cluster, workers_of
from pipeline.execution.schedule import Unit, failures, unit_in_words, unit_name
from pipeline.execution.sessions import sessions
from pipeline.identity import own_files
from pipeline.identity.registry import problem
from pipeline.storage import results as seal
from pipeline.storage.folder import locked
from pipeline.storage.layout import counted
from pipeline.storage.replications import Store
from pipeline.storage.units import Damaged
from pipeline.study.checks import ROLES
from pipeline.study.files import read_regular, write_whole
from pipeline.study.parameters import DataFile, path_of, shorten
from pipeline.study.streams import digest
from pipeline.study.study import Study
from pipeline.workflow import own_experiments, provenance, statements
from pipeline.workflow.config import read_common
from pipeline.workflow.effort import effort
from pipeline.workflow.reduce import names
from pipeline.workflow.refinement import boundary_lines
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import ends

# Not needed to repeat a study.
PASSING = (
    "task",
    "studies",
    "sure",
    "stop_after",
    "retry_failed",
    "most_failures",
    "most_seconds",
    "repair",
    "results",
    "unit",
    "accept_code",
    "on_end",
)
CODE = (".py", ".j2", ".css", ".js")
MARKS = {"contradicted": "✗", "too weak": "!"}  # in front of the lines of these verdicts
MOST_LETTERS = 150  # characters of a claim's result on its line, unless the claim is contradicted
FINISHED = "# of {} replications"
REQUESTED = ("name", "grid", "replications", "precision", "refine", "until")
OF_FILES = "# of files"
OF_RESULTS = "# of results"
OF_REQUEST = "# of request"
OF_FILE = "# of file"  # of parts, given on the command line
QUOTES = "'\""
SETTING_KEYS = (
    *PASSING,
    "outputs",
    "store",
    "cluster",
    "experiments",
    "suite",
    "suite_title",
    "common",
)


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
    if files := {
        name: Path(path).name for name, path in (raw.get("data") or {}).items() if path is not None
    }:
        lasting["data"] = files  # without their folders
    key = repr(
        lasting
    )  # YAML of ten thousand levels takes a hundred times as long, and a page has it thrice
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
    whole = _suite_folder(settings, studies)
    where = whole or studies[0].store.folder / seal.place(studies[0].store)
    finished = finished_size(where / own_experiments.RECORD)
    if interim:
        taken = finished > 0 or _said(where / own_experiments.RECORD, f"{OF_REQUEST} (.+)") not in (
            "",
            _asked(studies),
        )
    else:
        taken = whole is not None and finished > sum(seal.size(stored.study) for stored in studies)
    return _beside(studies, whole) if taken else where


def _beside(studies: Sequence[StoredStudy], suite: Path | None = None) -> Path:
    """Folder of a request in that of its study or suite."""
    if not suite:
        return studies[0].store.folder / seal.REQUESTS / seal.request(studies[0].study)
    return (
        suite
        / seal.REQUESTS
        / digest("".join(seal.request(stored.study) for stored in studies), 8).hex()
    )


def _asked(studies: Sequence[StoredStudy]) -> str:
    """Digest of what configs ask for, the same in all rounds of a study that grows."""
    asked = [[stored.raw.get(key) for key in REQUESTED] for stored in studies]
    return digest(json.dumps(asked, sort_keys=True, default=str), 8).hex()


def _suite_folder(settings: Settings, studies: Sequence[StoredStudy]) -> Path | None:
    suite = studies[0].raw.get("suite")
    return path_of(settings.outputs, "outputs") / f"suite-{suite}" if suite else None


def finished_size(record: Path) -> int:
    """Replications of a finished report, from what it was made of; 0 where there is none."""
    return int(_said(record, FINISHED.format("([0-9]+)")) or 0)


def _said(record: Path, pattern: str) -> str:
    """What a line of a report's record says; "" where there is none."""
    try:
        said = re.search(f"^{pattern}$", read_regular(record).decode(), re.M)
    except (OSError, ValueError):
        return ""
    return said[1] if said else ""


def content(studies: Sequence[StoredStudy], stamps: Sequence[str | None]) -> str:
    """What a report is made of, as a text: where it is the same, the report is up to date."""
    configs = "---\n".join(shown(stored.raw) for stored in studies)
    files = "".join(
        f"{OF_FILE} {file.sha256}\n" for file in own_files.loaded()
    )  # they may hold claims
    packages = {
        __name__.partition(".")[0],
        *(problem(stored.study.problem).package for stored in studies),
    }
    finished = all(seal.is_sealed(stored.store) for stored in studies)
    size = (
        FINISHED.format(sum(seal.size(stored.study) for stored in studies)) + "\n"
        if finished
        else ""
    )
    common = f"# of figure {studies[0].raw.get('common')}\n" if studies[0].raw.get("common") else ""
    sealed = "".join(f"{OF_RESULTS} {one}\n" for one in stamps)
    made_of = f"# of program {_code(packages)}\n{OF_REQUEST} {_asked(studies)}\n"
    return configs + common + files + made_of + sealed + size


def _code(packages: Iterable[str]) -> str:
    """Digest of all that draws a page and judges its claims: files of code, templates and styles,
    by their bytes.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(packages):
        for folder in getattr(sys.modules.get(name), "__path__", ()):
            for path in sorted(
                path for path in Path(folder).rglob("*") if path.suffix in CODE and path.is_file()
            ):
                digest.update(f"{name} {path.relative_to(folder)}\n".encode() + read_regular(path))
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
    page = where / "report.html"
    own = []
    try:
        text = read_regular(where / own_experiments.RECORD).decode()
        known = re.findall(f"^{OF_FILE} ([0-9a-f]{{64}})$", text, re.M)
        there = (
            {hashlib.sha256(read_regular(path)).hexdigest(): path for path in where.glob("*.py")}
            if known
            else {}
        )
        own = [there[sha256] for sha256 in known]
        wanted = text[: text.rindex(OF_FILES)]
        return text == wanted + _digest_line(wanted, page, own)
    except (OSError, ValueError, KeyError):
        return False


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
        if whole := _suite_folder(settings, studies):
            stack.enter_context(locked(whole))
        stores = {stored.store.folder: stored.store for stored in studies}
        for _, store in sorted(
            stores.items()
        ):  # in one order, so that two drivers do not wait for each other
            stack.enter_context(store.locked())
        if [seal.stamp(one.store) for one in studies] != stamps or folder(
            settings, studies, interim
        ) != page.parent:
            raise Replaced
        for file in (
            own_files.loaded()
        ):  # beside report.yaml: the folder then has all that a repetition needs
            write_whole(page.with_name(file.name), file.content)
        yield
        # Last: without it the page counts as out of date.
        write_whole(
            page.with_name(own_experiments.RECORD),
            (wanted + _digest_line(wanted, page, _own_files(page))).encode(),
        )
        # What was here before the end.
        if (beside := _beside(studies, whole)) != page.parent and not (
            beside / seal.SEALED
        ).exists():
            shutil.rmtree(beside, ignore_errors=True)


def _own_files(page: Path) -> list[Path]:
    """Where the files of parts lie that were given on the command line."""
    return [page.with_name(file.name) for file in own_files.loaded()]


def _digest_line(wanted: str, page: Path, own: Sequence[Path]) -> str:
    """A line with one digest of all files of a report, and of the lines above it, `wanted`.

    own: files of parts among them.
    """
    tables = (page.with_name(name) for name in ("summary.csv", "verdicts.csv"))
    digest = hashlib.blake2b(wanted.encode(), digest_size=16)
    for path in (
        page,
        *(path for path in (*tables, *own) if path.exists()),
        *sorted(page.parent.glob("figures/*")),
    ):
        digest.update(hashlib.blake2b(path.name.encode() + b"\n" + read_regular(path)).digest())
    return f"{OF_FILES} {digest.hexdigest()}\n"


def last_line(store: Store, unit: Unit) -> str:
    """The last line of what made a unit fail."""
    try:
        lines = store.read(*unit, failed=True).error.strip().splitlines()
    except Damaged as error:
        return f"its file is damaged ({error})"
    return shorten(lines[-1], 300) if lines else "?"


def replay_command(command: str, study: Study, unit: Unit) -> str:
    """Command that simulates one unit again, here and with its traceback: the same overrides,
    another task.
    """
    return shlex.join([*_alone(command, study, ("outputs",)), *_replay(study, unit)])


def _replay(study: Study, unit: Unit) -> list[str]:
    return ["task=replay", f"unit={unit_name(study, unit)}"]


def _alone(command: str, study: Study, settings: Sequence[str] = ()) -> list[str]:
    """The words of a command for this study alone, without the settings but these."""

    def matters(word: str) -> bool:
        key = word.partition("=")[0]
        return key in settings or key.partition(".")[0] not in (*SETTING_KEYS, "experiment")

    arguments = shlex.split(command)[1:]
    experiment = [f"experiment={study.name}"]
    # The study's name is not that of its config, or the config is a person's own.
    if any(word.startswith("name=") or own_path(word) for word in arguments):
        experiment = [word for word in arguments if word.startswith("experiment=")]
    return ["pipeline", *experiment, *filter(matters, arguments)]


def write(
    where: Path,
    studies: Sequence[StoredStudy],
    command: str,
    cluster: Cluster,
    *,
    interim: Sequence[StoredStudy] = (),
    formats: tuple[str, ...] = ("svg",),
    turn: AbstractContextManager[object] | None = None,
) -> tuple[Path, list[str]]:
    """Judge the claims and write the report.

    Returns its path and one line per verdict, the worst last, then one for each study in which
    something did not converge or is not finite.

    turn: see `page.write`.
    Claims and figures are tasks of the cluster, unless there are few and the data are small.
    """
    from pipeline.analysis import shortfalls  # a run with nothing to do must not wait for these
    from pipeline.analysis.claims import Judgement
    from pipeline.analysis.summary import summarise_moments
    from pipeline.reporting import common_figure, page
    from pipeline.reporting.drawn import files_of
    from pipeline.workflow import assess

    sources = [
        assess.Source(one.experiment, one.store, *names(one.store, one in interim))
        for one in studies
    ]
    with workers_of(cluster, assess.worth_a_cluster(sources)) as executor:
        answers = assess.assess(sources, executor, formats)
    sections = []
    judged = []
    for number, (stored, source) in enumerate(zip(studies, sources, strict=True)):
        claims = assess.claims_of(stored.experiment)
        judgements = [
            Judgement(claim, *answers[assess.Item(number, "claim", k)])
            for k, claim in enumerate(claims)
        ]
        drawn = [
            answers[assess.Item(number, "figure", k)] for k in range(len(stored.experiment.figures))
        ]
        judged += judgements
        summary = summarise_moments(seal.load(stored.store, source.summary))
        summary = summary.assign(answers.get(assess.Item(number, assess.CONTROLLED, 0), {}))
        sections.append(
            page.Section(
                name=stored.study.name,
                title=stored.experiment.text.title,
                question=stored.experiment.text.question,
                summary=summary,
                figures=drawn,
                verdicts=judgements,
                paper=problem(stored.study.problem).paper,
                facts={
                    **facts(stored, command, interim=stored in interim),
                    "effort": effort(stored, summary),
                    "shortfalls": shortfalls.of_summary(
                        summary, stored.study.parameters.get(ROLES[2], "")
                    ),
                },
            )
        )
    title = title_of(studies)
    shared = read_common(studies[0].raw, [one.experiment for one in studies])
    common = (
        files_of(common_figure.draw(shared, {one.name: one.summary for one in sections}), formats)
        if shared
        else None
    )
    data = (f"  data of {s.name}: {s.facts['source']}" for s in sections if s.facts["source"])
    path = page.write(
        where, title, sections, about(title, sections, studies, command), common, turn
    )
    short = (f"{s.name}: {s.facts['shortfalls']}" for s in sections if s.facts["shortfalls"])
    return path, [*data, *lines(judged), *short]


def title_of(studies: Sequence[StoredStudy]) -> str:
    """Heading of a report: of the study, of the suite or, where that has none, of the problems."""
    if len(studies) == 1:
        return studies[0].experiment.text.title
    problems = dict.fromkeys(problem(stored.study.problem).title for stored in studies)
    return str(studies[0].raw.get("suite_title") or "; ".join(problems))


def about(
    title: str, sections: Sequence[Any], studies: Sequence[StoredStudy], command: str
) -> dict[str, Any]:
    """What a page says of the program and of how to repeat the studies, with the files that this
    needs.
    """
    names = (
        [own_experiments.RECORD]
        if len(studies) == 1
        else [f"{s.name.replace('/', '-')}.yaml" for s in sections]
    )
    files = {name: shown(stored.raw).encode() for name, stored in zip(names, studies, strict=True)}
    years = [str(one["started"])[:4] for section in sections for one in section.facts["sessions"]]
    return {
        "command": repeated(command),
        "version": provenance.version(),
        "commit": provenance.commit(),
        "bibtex": provenance.bibtex(title, years),
        "mistakes": provenance.mistakes(),
        "files": files | {file.name: file.content for file in own_files.loaded()},
    }


def repeated(command: str) -> str:
    """The command that repeats a study, from that which ran it.

    Files are named without their folders.

    An experiment of a person's own is given by its record, which lies beside the report and holds
    all that the command changed; so do files of parts.

    >>> repeated("pipeline experiment=mine/survey.yaml replications=100 outputs=elsewhere cluster.workers=2")
    'pipeline experiment=report.yaml cluster.workers=2'
    """
    words = [
        word for word in shlex.split(command) if word.partition("=")[0] not in (*PASSING, "outputs")
    ]
    if any(map(own_path, words)):
        keys = (own_files.FLAG, "experiment", "cluster", "store", "formats", "pipeline")
        words = [
            f"experiment={own_experiments.RECORD}" if own_path(word) else word
            for word in words
            if word.partition("=")[0].partition(".")[0] in keys
        ]
    return shlex.join(map(_public, words))


def _public(word: str) -> str:
    """An argument of a command without the folder of a file: a report does not disclose it."""
    key, sign, path = word.partition("=")
    return (
        f"{key}{sign}{Path(path.strip(QUOTES)).name}"
        if key.startswith("data.") or key == own_files.FLAG
        else word
    )


def lines(judged: Sequence[Any]) -> Iterator[str]:
    """One line per verdict: supported first, contradicted last, so at the end of the output."""
    from pipeline.analysis.claims import CONTRADICTED, VERDICTS

    for verdict in VERDICTS:
        for one in judged:
            if one.verdict == verdict:
                text = one.text if verdict == CONTRADICTED else shorten(one.text, MOST_LETTERS)
                yield f"{MARKS.get(verdict, ' ')} {verdict:<13} {one.claim.id}: {text}"


def facts(stored: StoredStudy, command: str, interim: bool = False) -> dict[str, Any]:
    """What was run, for the page: data, config, sessions, failures, privacy, and what computed the
    numbers.
    """
    study = stored.study
    store = stored.store
    listing = store.listing()
    alone = repeated(shlex.join(_alone(command, study)))
    failed = [
        {
            "unit": unit_name(study, unit),
            "error": f"{unit_in_words(study, unit)}: {last_line(store, unit)}",
            "replay": f"{alone} {shlex.join(_replay(study, unit))}",
        }
        for unit in failures(listing)
    ]
    return {
        "command": command,
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
        "experiment": alone,
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
