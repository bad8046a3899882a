"""How to run: the task, the folder, what stops a run; nothing here can change a number."""

import re
from dataclasses import dataclass, field
from datetime import date

from pipeline.reporting.specs import FORMATS
from pipeline.storage.schemes import check_url, is_url
from pipeline.study.parameters import Checked, InvalidInput, fields, parameter, path_of
from pipeline.workflow.tasks import TASKS, tasks_with

ADDRESS = re.compile(r"https?://[^\s<>\"']{1,500}")
LONGEST = 100  # bytes of a folder's name: file systems allow 255


@dataclass(frozen=True)
class Storage(Checked):
    """Where the arrays of all studies go, if not to their folders."""

    url: str | None = parameter(
        "s3://BUCKET/PREFIX for replications and results, one folder per study; the report stays "
        "in outputs",
        default=None,
    )
    timeout: float = parameter(
        "how long a request to the bucket is tried again before the run stops",
        unit="s",
        default=60.0,
        low=1,
        high=3600,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.url is not None:
            object.__setattr__(self, "url", check_url(self.url))


@dataclass(frozen=True)
class Registration(Checked):
    """Where and when a protocol was published."""

    url: str | None = parameter("address of the published protocol, as https://…", default=None)
    date: str | None = parameter("day on which it was published, as 2026-01-31", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.url is not None and not ADDRESS.fullmatch(self.url):
            raise InvalidInput("url", self.url, "must be an address, as https://doi.org/10.…")
        if self.date is not None and not _is_day(self.date):
            raise InvalidInput("date", self.date, "must be a day, as 2026-01-31")


def _is_day(text: str) -> bool:
    """Whether a text is a day of the calendar."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@dataclass(frozen=True)
class Settings(Checked):
    """How to run: nothing here can change a number."""

    task: str = parameter("what to do", default="run", choices=tuple(TASKS))
    outputs: str = parameter("folder that holds one folder per study", default="outputs")
    stop_after: float | None = parameter(
        "stop after this long, keep what is done", unit="s", default=None, above=0
    )
    retry_failed: bool = parameter("run failed units again", default=False)
    most_failures: int = parameter(
        "failed units with errors of one kind after which a run stops, if a tenth of its units "
        "failed so; 0 for never",
        default=20,
        low=0,
    )
    most_seconds: float | None = parameter(
        "a unit that takes longer fails, and the sweep goes on; null: 100 times its predicted "
        "time, 10 min at least",
        unit="s",
        default=None,
        above=0,
    )
    repair: bool = parameter("with verify: mark damaged units as not run", default=False)
    accept_code: bool = parameter(
        "go on though the code or arithmetic computes other numbers; this is recorded",
        default=False,
    )
    formats: str = parameter(
        "formats of figures besides csv, with commas between: svg, png, pdf", default="svg"
    )
    results: str | None = parameter(
        "with verify: a copy of results.zarr, checked without its study", default=None
    )
    studies: str | None = parameter(
        "with compare and remove: names of studies, with commas between", default=None
    )
    sure: bool = parameter("with remove: do it", default=False)
    unit: str | None = parameter("with replay: the unit, as a failure printed it", default=None)
    save: str | None = parameter(
        "with protocol: a file of Markdown for it, as protocol.md", default=None
    )
    origin: str | None = parameter(
        "with merge, also written as from=…: a folder of outputs, that of the study, or s3://…, "
        "with units of another person",
        default=None,
    )
    recompute: int = parameter(
        "with merge: units of every writer there that are simulated here again", default=20, low=1
    )
    contributor: str | None = parameter(
        "with merge: whose units these are, as the report names them", default=None
    )
    shard: str | None = parameter(
        "simulate one share of the units only, as 3/20, and leave sealing and the report to a run "
        "without it",
        default=None,
    )
    shards: int | None = parameter(
        "with submit: tasks of the job array, at most one for each unit; null: as many as work "
        "for an hour",
        default=None,
        low=1,
        high=100_000,
    )
    on_end: str | None = parameter(
        "command of the shell to call once at the end, which gets PIPELINE_EXIT_CODE, "
        "PIPELINE_OUTPUTS and PIPELINE_STUDIES",
        default=None,
    )
    protocol: Registration = field(
        default=Registration(), metadata={"meaning": "where a protocol was published"}
    )
    store: Storage = field(default=Storage(), metadata={"meaning": "where the arrays go"})

    @property
    def figure_formats(self) -> tuple[str, ...]:
        """Formats of figures: the page needs svg."""
        return tuple(dict.fromkeys(("svg", *self.formats.split(","))))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_values()
        self._check_task()

    @property
    def shard_numbers(self) -> tuple[int, int]:
        """(number from 0, how many) of the shard; (0, 1) where there is none."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", "1/1" if self.shard is None else self.shard)
        return (int(match[1]) - 1, int(match[2])) if match else (0, 0)

    def _check_values(self) -> None:
        """Raise InvalidInput for a text of a form that is not allowed."""
        if not isinstance(self.store, Storage):
            raise InvalidInput("store", self.store, "must be a Storage")
        if not isinstance(self.protocol, Registration):
            raise InvalidInput("protocol", self.protocol, "must be a Registration")
        path_of(self.outputs, "outputs")
        if is_url(self.outputs):
            raise InvalidInput(
                "outputs",
                f"{self.outputs.partition(':')[0]}://…",
                "must be a folder of this machine, as outputs=/tmp/outputs: reports and records "
                "of sessions go there; numbers go elsewhere by store.url=…",
            )
        longest = max(len(name.encode()) for name in self.outputs.split("/"))
        if not self.outputs.strip() or longest > LONGEST:
            raise InvalidInput(
                "outputs",
                self.outputs,
                f"must be a folder, of names up to {LONGEST} bytes; outputs=. is this one",
            )
        if not set(self.figure_formats) <= set(FORMATS):
            raise InvalidInput(
                "formats", self.formats, f"must be of {', '.join(FORMATS)}, with commas between"
            )
        number, count = self.shard_numbers
        if not 0 <= number < count:
            raise InvalidInput("shard", self.shard, "must be K/N with K from 1 to N, as 3/20")

    def _check_task(self) -> None:
        """Raise InvalidInput for a setting that the task has no use for."""
        for name, field_ in fields(type(self)).items():
            tasks = tasks_with(name)
            value = getattr(self, name)
            if tasks and value != field_.default and self.task not in tasks:
                takers = " or ".join(tasks)
                allowed = f"goes with task={takers} only, not task={self.task}"
                raise InvalidInput(name, value, allowed)
        if self.results is not None and self.repair:
            raise InvalidInput(
                "repair",
                True,
                "cannot be combined with results=…; a damaged copy must be copied again",
            )
