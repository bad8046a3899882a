"""`task=protocol`: what is decided before a study runs, written down and kept with it."""

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.storage import results
from pipeline.study.files import write_whole
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow import protocol_record
from pipeline.workflow.commitments import fixed_by
from pipeline.workflow.events import ProtocolKept
from pipeline.workflow.job import Job
from pipeline.workflow.protocol_record import ProtocolRecord, digest_of
from pipeline.workflow.protocol_template import Question, markdown, questions
from pipeline.workflow.settings import Registration
from pipeline.workflow.studies import StoredStudy

KIND = ".md"


@dataclass(frozen=True)
class WrittenProtocol:
    """A protocol that was written. study: its name. record: what is kept, in the file
    `record_path`.

    questions: all of the template, those that only people can answer without an answer. page: the
    file of Markdown; None where none was wanted. is_new: whether none was kept before.
    """

    study: str
    record: ProtocolRecord
    record_path: Path
    questions: tuple[Question, ...]
    page: Path | None
    is_new: bool

    @property
    def answered(self) -> int:
        """How many questions the config answers."""
        return sum(bool(question.answer) for question in self.questions)


def write(job: Job) -> Iterator[WrittenProtocol]:
    """Keep the protocol of each study of a job, and write it as Markdown if the settings say where.

    The same protocol again changes nothing but where it was published. Raises InvalidInput where
    another one is kept already, and for a file that cannot be written.
    """
    page = _page(job)
    for stored in job.studies:
        written = _written(stored, job, page)
        job.tell(
            ProtocolKept(
                written.study,
                written.record_path,
                written.record.digest,
                written.answered,
                len(written.questions),
                written.record.begun_before,
                written.is_new,
            )
        )
        yield written


def _page(job: Job) -> Path | None:
    """The file of Markdown; InvalidInput for one that cannot be meant."""
    value = job.settings.save
    if value is None:
        return None
    if not value.lower().endswith(KIND):
        raise InvalidInput("save", value, f"must be a file that ends with {KIND}")
    if len(job.studies) > 1:
        raise InvalidInput(
            "save", value, "must be one study; a suite's protocols are kept without save=…"
        )
    path = path_of(value, "save")
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise InvalidInput("save", value, "must be a file in a folder that is there")
    return path


def _written(stored: StoredStudy, job: Job, page: Path | None) -> WrittenProtocol:
    """Keep the protocol of one study."""
    from pipeline.workflow import assess

    claims = assess.claims_of(stored.experiment)
    fixed = fixed_by(stored.study, claims)
    request = results.request(stored.study)
    record = ProtocolRecord(
        digest=digest_of(fixed, request),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        request=request,
        fixed=fixed,
        url=job.settings.protocol.url or "",
        registered=job.settings.protocol.date or "",
        begun_before=protocol_record.begun(stored.store),
    )
    with _told_as("outputs", str(stored.store.folder.parent)):
        is_new = protocol_record.create(stored.store, record)
    if not is_new:
        record = _again(stored, record, job.settings.protocol)
    command = str(job.invocation.alone(stored.study).again())
    template = tuple(questions(stored.experiment, claims, command))
    if page is not None:
        title = stored.experiment.text.title or stored.study.name
        text = markdown(title, template, _facts(stored, record))
        with _told_as("save", str(page)):
            write_whole(page, text.encode())
    record_path = protocol_record.path_for(stored.store)
    return WrittenProtocol(stored.study.name, record, record_path, template, page, is_new)


@contextlib.contextmanager
def _told_as(key: str, value: str) -> Iterator[None]:
    """Within this, a file that cannot be written is a mistake in a setting: InvalidInput."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "no such file can be made"
        allowed = f"must be where files can be written ({reason})"
        raise InvalidInput(key, value, allowed) from None


def _again(stored: StoredStudy, record: ProtocolRecord, published: Registration) -> ProtocolRecord:
    """The protocol that was kept before, with where it was published if that is new."""
    earlier = protocol_record.read(stored.store)
    path = protocol_record.path_for(stored.store)
    if earlier is None or not earlier.is_whole:
        raise InvalidInput(
            "protocol",
            path.name,
            "was changed after it was written; put the file back as it was, or take it away",
        )
    if earlier.digest != record.digest:
        raise InvalidInput(
            "protocol",
            path.name,
            f"must stay as it was written on {earlier.date[:10]}: it fixes something else; run the "
            "study, and its report tells the deviations",
        )
    url = published.url or earlier.url
    registered = published.date or earlier.registered
    updated = dataclasses.replace(earlier, url=url, registered=registered)
    if updated != earlier:
        protocol_record.replace(stored.store, updated)
    return updated


def _facts(stored: StoredStudy, record: ProtocolRecord) -> dict[str, str]:
    """The lines above the questions."""
    facts = {
        "Study": stored.study.name,
        "Written": record.date,
        "Digest of study, claims, tolerances, code and request": f"`{record.digest}`",
    }
    if record.url:
        facts["Published"] = record.url
    if record.registered:
        facts["Registered on"] = record.registered
    if record.begun_before:
        many = len(record.begun_before)
        facts["Begun before this was written"] = f"{many} studies of this name"
    return facts
