"""Where a report lies, and the record of what it was made of, by which it is up to date or not."""

import hashlib
import itertools
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pipeline.identity import own_files
from pipeline.identity.registry import problem
from pipeline.storage import results
from pipeline.storage.folder import locked
from pipeline.study.files import read_regular, write_whole
from pipeline.study.parameters import path_of
from pipeline.study.streams import digest
from pipeline.study.untyped import Config
from pipeline.workflow import known_audits, protocol_record
from pipeline.workflow.invocation import SETTING_KEYS
from pipeline.workflow.own_experiments import RECORD
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

CODE = (".py", ".j2", ".css", ".js")
FINISHED = "# of {} replications"
REQUESTED = ("name", "grid", "replications", "precision", "refine", "until", "statistics")
OF_FILES = "# of files"
OF_RESULTS = "# of results"
OF_REQUEST = "# of request"
OF_PROTOCOL = "# of protocol"
OF_AUDIT = "# of audit"
OF_FILE = "# of file"  # of parts, given on the command line
MOST_SHOWN = 64  # configs whose YAML is kept
_SHOWN: dict[str, str] = {}  # config -> its YAML


class Replaced(OSError):
    """Another driver replaced the sealed results while a report was made of them."""

    def __init__(self) -> None:
        super().__init__("the results changed while the report was written")


def shown(raw: Config) -> str:
    """The part of a config that a report shows, as YAML; if it changes, so must the report."""
    import yaml

    lasting = {name: value for name, value in raw.items() if name not in SETTING_KEYS}
    files = {}
    for name, path in (raw.get("data") or {}).items():
        if path is not None:
            files[name] = Path(path).name
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
    where = suite or studies[0].store.folder / results.place(studies[0].store)
    finished = finished_size(where / RECORD)
    if interim:
        request = _match_in(where / RECORD, f"{OF_REQUEST} (.+)")
        is_of_another = request not in ("", _request_digest(studies))
        is_taken = finished > 0 or is_of_another
    else:
        wanted = sum(results.size(stored.study) for stored in studies)
        is_taken = suite is not None and finished > wanted
    if is_taken:
        return _beside(studies, suite)
    return where


def _beside(studies: Sequence[StoredStudy], suite: Path | None = None) -> Path:
    """The folder of a request, within that of its study or suite."""
    if not suite:
        return studies[0].store.folder / results.REQUESTS / results.request(studies[0].study)
    requests = "".join(results.request(stored.study) for stored in studies)
    return suite / results.REQUESTS / digest(requests, 8).hex()


def _request_digest(studies: Sequence[StoredStudy]) -> str:
    """Digest of what configs ask for, the same in all rounds of a study that grows."""
    requests = [list(map(stored.raw.get, REQUESTED)) for stored in studies]
    return digest(json.dumps(requests, sort_keys=True, default=str), 8).hex()


def _suite_folder(settings: Settings, studies: Sequence[StoredStudy]) -> Path | None:
    """The folder of the suite; None where studies are of none."""
    suite = studies[0].raw.get("suite")
    if not suite:
        return None
    return path_of(settings.outputs, "outputs") / f"suite-{suite}"


def finished_size(record: Path) -> int:
    """Replications of a finished report, from what it was made of; 0 where there is none."""
    return int(_match_in(record, FINISHED.format("([0-9]+)")) or 0)


def _match_in(record: Path, pattern: str) -> str:
    """The group of a pattern that a line of a report's record matches; "" where none does."""
    try:
        match = re.search(f"^{pattern}$", read_regular(record).decode(), re.M)
    except (OSError, ValueError):
        return ""
    if not match:
        return ""
    return match[1]


def content(studies: Sequence[StoredStudy], stamps: Sequence[str | None]) -> str:
    """What a report is made of, as a text: where it is the same, the report is up to date."""
    configs = "---\n".join(shown(stored.raw) for stored in studies)
    # Files of parts may hold claims.
    files = "".join(f"{OF_FILE} {file.sha256}\n" for file in own_files.loaded())
    common = ""
    if studies[0].raw.get("common"):
        common = f"# of figure {studies[0].raw['common']}\n"
    sealed = "".join(f"{OF_RESULTS} {stamp}\n" for stamp in stamps)
    code = f"# of program {code_of(studies)}\n{OF_REQUEST} {_request_digest(studies)}\n"
    size = ""
    if all(results.is_sealed(stored.store) for stored in studies):
        size = FINISHED.format(sum(results.size(stored.study) for stored in studies)) + "\n"
    kept = _protocols(studies) + _audits(studies)
    return configs + common + files + code + sealed + kept + size


def _protocols(studies: Sequence[StoredStudy]) -> str:
    """A line for each protocol that is kept, by its bytes: another one asks for another page."""
    lines = []
    for stored in studies:
        path = protocol_record.path_for(stored.store)
        if path.exists():
            lines.append(f"{OF_PROTOCOL} {hashlib.sha256(read_regular(path)).hexdigest()}\n")
    return "".join(lines)


def _audits(studies: Sequence[StoredStudy]) -> str:
    """A line for each audit that the page tells of, by its bytes."""
    digests = itertools.chain.from_iterable(map(known_audits.digests, studies))
    return "".join(f"{OF_AUDIT} {sha256}\n" for sha256 in digests)


def code_of(studies: Sequence[StoredStudy]) -> str:
    """Digest of all that draws the page of some studies and judges their claims."""
    packages = {problem(stored.study.problem).package for stored in studies}
    packages.add(__name__.partition(".")[0])
    return _code(packages)


def _code(packages: Iterable[str]) -> str:
    """Digest of files of code, templates and styles in some packages, by their bytes."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(packages):
        for folder in getattr(sys.modules.get(name), "__path__", ()):
            for path in sorted(Path(folder).rglob("*")):
                if path.suffix in CODE and path.is_file():
                    digest.update(f"{name} {path.relative_to(folder)}\n".encode())
                    digest.update(read_regular(path))
    return digest.hexdigest()


def is_up_to_date(page: Path, record: Path, wanted: str) -> bool:
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
    files = {}
    for path in folder.glob("*.py"):
        files[hashlib.sha256(read_regular(path)).hexdigest()] = path
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
        if is_elsewhere or [results.stamp(stored.store) for stored in studies] != stamps:
            raise Replaced
        # Beside report.yaml: the folder then has all that a repetition needs.
        for file in own_files.kept_beside_results():
            write_whole(page.with_name(file.name), file.content)
        yield
        # Last: without it the page counts as out of date.
        record = wanted + _digest_line(wanted, page, _own_files(page))
        write_whole(page.with_name(RECORD), record.encode())
        # What was here before the end.
        beside = _beside(studies, suite)
        if beside != page.parent and not (beside / results.SEALED).exists():
            shutil.rmtree(beside, ignore_errors=True)


def _own_files(page: Path) -> list[Path]:
    """Where the files of parts lie that were given on the command line."""
    return [page.with_name(file.name) for file in own_files.kept_beside_results()]


def _digest_line(wanted: str, page: Path, parts: Sequence[Path]) -> str:
    """A line with one digest of all files of a report, and of the lines above it, `wanted`.

    parts: files of parts among them.
    """
    tables = (page.with_name("summary.csv"), page.with_name("verdicts.csv"))
    there = [path for path in (*tables, *parts) if path.exists()]
    digest = hashlib.blake2b(wanted.encode(), digest_size=16)
    for path in (page, *there, *sorted(page.parent.glob("figures/*"))):
        digest.update(hashlib.blake2b(path.name.encode() + b"\n" + read_regular(path)).digest())
    return f"{OF_FILES} {digest.hexdigest()}\n"
