"""What a run of some studies would do, study by study; nothing is stored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.execution import plan
from pipeline.execution.clusters import Cluster, default_workers
from pipeline.execution.plan import Prediction
from pipeline.storage.layout import counted
from pipeline.study.study import Study
from pipeline.workflow import statements
from pipeline.workflow.studies import StoredStudy


@dataclass(frozen=True)
class StudyPlan:
    """What is left to do of one study. storage: where it lies; kind: of the storage.

    units: all of them; done: of these. at_most: whether targets of precision may need fewer.
    expected: what is left, with the time and the memory that it takes. workers: among whom it is
    shared out. bytes: of the whole study when complete, about. remarks: mechanism -> what readers
    must know of its cells.
    """

    study: Study
    storage: str
    kind: str
    units: int
    done: int
    at_most: bool
    expected: Prediction
    workers: int
    bytes: int
    remarks: Mapping[str, Sequence[str]]

    @property
    def seconds(self) -> float | None:
        """Predicted time on all workers; None where it could not be measured."""
        if self.expected.seconds is None:
            return None
        return self.expected.seconds / self.workers


def planned(studies: Sequence[StoredStudy], cluster: Cluster) -> Iterator[StudyPlan]:
    """The plan of each study, from at most a second of simulation each.

    Raises WrongPart where a part of one's own is not deterministic, or gives what its protocol does
    not allow.
    """
    for stored in studies:
        store = stored.store
        study = stored.study
        listing = plan.listing_of(store)
        wanted = counted(study)
        yield StudyPlan(
            study=study,
            storage=str(store.backend),
            kind=store.backend.kind,
            units=int(wanted.sum()),
            done=int((listing.done & wanted).sum()),
            at_most=bool(study.precision),
            expected=plan.predict(store, listing),
            workers=cluster.workers or default_workers(),
            bytes=plan.stored_bytes(study),
            remarks=statements.remarks(study),
        )
