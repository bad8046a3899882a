"""Claims and figures as tasks: a worker judges a claim, or draws a figure, on sealed data that it
reads itself.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pipeline.analysis.claims import Claim
from pipeline.analysis.control_variates import controlled
from pipeline.analysis.looks import judge
from pipeline.analysis.summary import summarise_moments
from pipeline.execution import sweep
from pipeline.execution.clusters import Executor
from pipeline.execution.sight import NeedsStores
from pipeline.identity.registry import adopt, problem, registrations
from pipeline.reporting.drawn import render
from pipeline.storage import results
from pipeline.storage.replications import Store
from pipeline.workflow.experiment import Experiment

if TYPE_CHECKING:
    import xarray as xr

    from pipeline.analysis.claims import Check
    from pipeline.reporting.drawn import Drawn

# The checks of a claim and of its control; means with controls; the files of a figure.
Answer: TypeAlias = "tuple[Check, Check | None] | xr.Dataset | Drawn"
# Claims and figures of small studies that one process finishes before worker processes have
# started.
FEW = 12
CONTROLLED = "controlled"  # kind of the item of a study's means with controls
LARGE = threading.Lock()  # Dask's options are those of the process


class Item(NamedTuple):
    """One task: the number of the study, and that of its claim or of its figure.

    Or its means with controls.
    """

    study: int
    kind: str
    number: int


class Source(NamedTuple):
    """A study's data: names of the datasets of replications and of moments."""

    experiment: Experiment
    store: Store
    data: str
    summary: str


class Assess(NeedsStores):
    """Callable that judges claims and draws figures; for each, what `judge` or `render` returns.

    Of a claim only the two checks are returned, of the data and of the control: its code cannot be
    sent between processes.
    """

    def __init__(self, sources: Sequence[Source], formats: tuple[str, ...]):
        self.sources = sources
        self.formats = formats
        self.opened: dict[tuple[int, str], xr.Dataset] = {}
        self.summaries: dict[int, xr.Dataset] = {}

    def __getstate__(self) -> tuple[Any, ...]:
        """A worker learns the problems that were registered here."""
        return registrations(), self.sources, self.formats

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        brought, self.sources, self.formats = state
        self.opened = {}
        self.summaries = {}
        adopt(brought)

    @property
    def stores(self) -> list[Store]:
        """The stores of all studies whose claims and figures these are."""
        return [source.store for source in self.sources]

    def __call__(self, items: list[Item]) -> list[tuple[Item, Any]]:
        return [(item, self._apart(item)) for item in items]

    def _apart(self, item: Item) -> Answer:
        """One result; where data are read in parts, one task of the process at a time, for the sake
        of its memory.
        """
        if not results.is_large(self.sources[item.study].experiment.study):
            return self._answer(item)
        import dask

        # Parts are not tasks of the cluster, as this is one.
        with LARGE, dask.config.set(scheduler="synchronous"):
            return self._answer(item)

    def _answer(self, item: Item) -> Answer:
        source = self.sources[item.study]
        data = self._data(item.study, source.data)
        if item.kind == "claim":
            judgement = judge(claims_of(source.experiment)[item.number], data)
            return judgement.check, judgement.control
        if item.kind == CONTROLLED:
            return controlled(data)
        if item.study not in self.summaries:
            self.summaries[item.study] = summarise_moments(self._data(item.study, source.summary))
        figure = source.experiment.figures[item.number]
        return render(figure, data, self.summaries[item.study], self.formats)

    def _data(self, study: int, name: str) -> "xr.Dataset":
        """A dataset, opened once."""
        if (study, name) not in self.opened:
            self.opened[study, name] = results.load(self.sources[study].store, name)
        return self.opened[study, name]


def claims_of(experiment: Experiment) -> tuple[Claim, ...]:
    """The claims that the study's problem has on the experiment."""
    if not experiment.text.claims:
        return ()
    study = experiment.study
    claims: tuple[Claim, ...] = problem(study.problem).all_claims()
    levels = experiment.text.claims_at
    return tuple(claim.judged_at(levels) for claim in claims if claim.experiment == study.name)


def items(sources: Sequence[Source]) -> Iterator[Item]:
    """All tasks of some studies."""
    for number, source in enumerate(sources):
        for k in range(len(source.experiment.figures)):
            yield Item(number, "figure", k)
        for k in range(len(claims_of(source.experiment))):
            yield Item(number, "claim", k)
        study = source.experiment.study
        if any(study.metric(name).expected is not None for name in study.metrics):
            yield Item(number, CONTROLLED, 0)


def worth_a_cluster(sources: Sequence[Source]) -> bool:
    """Whether these tasks take longer than to start worker processes."""
    if any(results.is_large(source.experiment.study) for source in sources):
        return True
    return len([*items(sources)]) > FEW


def assess(
    sources: Sequence[Source], executor: Executor, formats: tuple[str, ...]
) -> dict[Item, Any]:
    """The result of every claim and every figure of some studies."""
    answers: dict[Item, Any] = {}

    def collect(parts: list[tuple[Item, Any]], *_: object) -> None:
        answers.update(parts)

    weighted = [(item, 1.0) for item in items(sources)]
    sweep.run(
        executor,
        Assess(sources, formats),
        weighted,
        bundling=sweep.Bundling(total_cost=float(len(weighted))),
        on_done=collect,
    )
    return answers
