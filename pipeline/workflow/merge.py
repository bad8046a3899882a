"""`task=merge`: take in units of the same study that another person simulated.

Nothing is taken in before all is checked: units that both have must hold the same numbers, and of
each writer some units, drawn by a number that this machine makes, are simulated here again. Each
unit is then written whole, where there is none. So a merge that was killed goes on, and two at once
wait for each other.
"""

import dataclasses
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from pipeline.execution.clusters import workers_of
from pipeline.execution.schedule import COST_OF_A_SECOND, Unit, unit_in_words
from pipeline.storage import agreement, contributions
from pipeline.storage.agreement import Agreed
from pipeline.storage.contributions import ENTRY, Contribution, VerifiedWriter
from pipeline.storage.replications import Store
from pipeline.storage.schemes import check_url, is_url, open_backend
from pipeline.storage.units import Damaged, Record
from pipeline.study.arrays import Array, Booleans
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow.archived_numbers import units_of
from pipeline.workflow.events import Merged, UnitsVerified
from pipeline.workflow.job import Job
from pipeline.workflow.recomputed_units import Compared, Numbered, compare
from pipeline.workflow.studies import StoredStudy

DESCRIPTION = "replications/study.json"
NOTHING = "nothing is merged"
FEW_SECONDS = 20.0  # of predicted work, for which no workers are started


def merge(job: Job, nonce: str | None = None) -> list[Merged]:
    """Take in the units of other people of each study of a job.

    nonce: draws the units that are simulated again; None: made here, as it should be. Raises
    InvalidInput where something is false, differs or is not there; OSError for a full disk: the
    same request goes on.
    """
    nonce = nonce or secrets.token_hex(16)
    merged = []
    with job.taking_notices():
        for stored in job.studies:
            result = _merged(stored, job, nonce)
            job.tell(result)
            merged.append(result)
    return merged


def _merged(stored: StoredStudy, job: Job, nonce: str) -> Merged:
    """Take in the units of one study, while nobody else merges or seals it."""
    theirs = _other_store(stored, job.settings.origin)
    stored.store.begin()
    with stored.store.locked():
        return _Merge(stored, theirs, job, nonce).run()


def has_study(stored: StoredStudy, origin: str) -> bool:
    """Whether a place, as of `from=`, has units of a study. Raises InvalidInput."""
    return _store_at(stored, origin).exists()


def _other_store(stored: StoredStudy, origin: str | None) -> Store:
    """The same study elsewhere: in a folder of outputs or in its own folder; in a bucket alike."""
    if origin is None:
        raise InvalidInput("from", None, "is needed with task=merge: a folder, or s3://…")
    store = _store_at(stored, origin)
    try:
        is_there = store.exists()
    except InvalidInput as error:
        raise InvalidInput("from", origin, f"{error.allowed}; {NOTHING}") from None
    if not is_there:
        raise InvalidInput("from", origin, f"has no study {_name_of(stored)}; {NOTHING}")
    if str(store.backend) == str(stored.store.backend) or _is_same_folder(store, stored.store):
        raise InvalidInput("from", origin, "is the study itself")
    return store


def _store_at(stored: StoredStudy, origin: str) -> Store:
    """Where a study is in a place, if it is there."""
    study = stored.study
    if is_url(origin):
        url = check_url(origin)
        backend = open_backend(url, stored.store.timeout)
        backend.check()
        is_its_own = backend.read(DESCRIPTION) is not None
        address = url if is_its_own else f"{url}/{_name_of(stored)}"
        return Store(study, None, address, stored.store.timeout)
    folder = path_of(origin, "from")
    is_its_own = (folder / DESCRIPTION).is_file()
    return Store(study, folder if is_its_own else folder / _name_of(stored))


def _name_of(stored: StoredStudy) -> str:
    return f"{stored.study.name}-{stored.study.key}"


def _is_same_folder(first: Store, second: Store) -> bool:
    """Whether two stores are one folder."""
    if first.url or second.url:
        return False
    return Path(first.folder).resolve() == Path(second.folder).resolve()


class _Merge:
    """One merge: checks everything, then takes in."""

    def __init__(self, stored: StoredStudy, theirs: Store, job: Job, nonce: str):
        self.study = stored.study
        self.ours = stored.store
        self.theirs = theirs
        self.job = job
        self.nonce = nonce
        self._seen: dict[Unit, bytes] = {}  # digests of files that were read there
        self.origin = str(job.settings.origin)
        self.contributor = job.settings.contributor or self.origin.rstrip("/").rpartition("/")[2]

    def run(self) -> Merged:
        """Check, and take in what is new."""
        here = self.ours.listing()
        there = self.theirs.listing()
        good = there.done & ~there.failed
        self._check_shared(good & here.done & ~here.failed)
        new = good & (~here.done | here.failed)
        by_writer = self._by_writer(new)
        records = self._records_of(by_writer)
        verified = [self._verified(writer, units) for writer, units in sorted(by_writer.items())]
        units = int(new.sum())
        if units:
            self._take(new, records, verified)
        shared = int((good & here.done).sum())
        return Merged(self.study.name, self.contributor, units, shared, tuple(verified))

    def _check_shared(self, shared: Booleans) -> None:
        """Raise InvalidInput where a unit that both have holds other numbers."""
        different = []
        for unit in units_of(shared):
            mine = self.ours.read(*unit, failed=False)
            other = self._read(unit)
            is_same = mine.metrics.tobytes() == other.metrics.tobytes()
            if not is_same or mine.status.tobytes() != other.status.tobytes():
                different.append(unit)
        if different:
            names = _in_words(different, self._words)
            many = f"{len(different):,} units that are here hold other numbers there"
            raise InvalidInput("from", self.origin, f"{many}: {names}; {NOTHING}")

    def _read(self, unit: Unit) -> Record:
        """What is stored there of a unit; InvalidInput where it is damaged."""
        try:
            return self.theirs.decoded(*unit, self._content(unit))
        except Damaged as error:
            where = self._words(unit)
            allowed = f"{where} {error}; task=verify there says more; {NOTHING}"
            raise InvalidInput("from", self.origin, allowed) from None

    def _content(self, unit: Unit) -> bytes | None:
        """The file of a unit there; InvalidInput where it is not what was read of it before.

        Else whoever writes there could let other numbers in than those that were checked.
        """
        content = self.theirs.content(*unit)
        if content is None:
            return None
        digest = hashlib.sha256(content).digest()
        if self._seen.setdefault(unit, digest) != digest:
            allowed = f"{self._words(unit)} was changed while it was merged; merge again later"
            raise InvalidInput("from", self.origin, allowed)
        return content

    def _words(self, unit: Unit) -> str:
        return unit_in_words(self.study, unit)

    def _by_writer(self, new: Booleans) -> dict[str, list[Unit]]:
        """The new units of every writer, all of which are read."""
        by_writer: dict[str, list[Unit]] = {}
        for unit in units_of(new):
            by_writer.setdefault(self._read(unit).writer, []).append(unit)
        return by_writer

    def _records_of(self, by_writer: Mapping[str, Sequence[Unit]]) -> list[Agreed]:
        """Records of the writers; InvalidInput where one has none."""
        known = {agreed.writer.id: agreed for agreed in agreement.recorded(self.theirs)}
        for writer, units in by_writer.items():
            if writer not in known:
                allowed = (
                    f"no record says what computed {self._words(units[0])} and "
                    f"{len(units) - 1:,} more units; {NOTHING}"
                )
                raise InvalidInput("from", self.origin, allowed)
        return [known[writer] for writer in by_writer]

    def _verified(self, writer: str, units: Sequence[Unit]) -> VerifiedWriter:
        """Simulate some units of a writer here. Raises InvalidInput where they are others."""
        drawn = _drawn(units, self.job.settings.recompute, f"{self.nonce} {writer}")
        costs = [self.study.costs[unit.cell] for unit in drawn]
        seconds = float(sum(costs)) / COST_OF_A_SECOND
        with workers_of(self.job.cluster, seconds > FEW_SECONDS) as executor:
            compared = compare(
                [self.study],
                [Numbered(0, unit) for unit in drawn],
                lambda numbered: self._read(numbered.unit),
                executor,
                len(units),
            )
        self._check(writer, compared)
        verified = VerifiedWriter(
            writer, len(units), compared.drawn, compared.close, compared.most_false
        )
        self.job.tell(UnitsVerified(self.study.name, verified))
        return verified

    def _check(self, writer: str, compared: Compared) -> None:
        """Raise InvalidInput where units that were simulated here are others."""
        if compared.false:
            names = ", ".join(compared.false[:3])
            allowed = (
                f"{len(compared.false):,} of {compared.drawn:,} units of writer {writer} that were "
                f"simulated here come out differently: {names}; {NOTHING}"
            )
            raise InvalidInput("from", self.origin, allowed)
        if compared.close and not self.job.settings.accept_code:
            allowed = (
                f"{compared.close:,} of {compared.drawn:,} units of writer {writer} come out here "
                "within 1e-9, and not to the last bit: their arithmetic is another; mix the two "
                f"with accept_code=yes; {NOTHING}"
            )
            raise InvalidInput("from", self.origin, allowed)

    def _take(
        self, new: Booleans, records: Sequence[Agreed], verified: Sequence[VerifiedWriter]
    ) -> None:
        """Take in the new units: first what says where they come from, then each of them."""
        before = contributions.find(self.ours, self.contributor)
        interrupted = contributions.planned(self.ours, self.contributor)
        planned = np.union1d(interrupted, self._entries(new))
        contributions.plan(self.ours, self.contributor, planned)
        earlier = before.units - len(interrupted) if before else 0
        contributions.record(
            self.ours,
            Contribution(
                contributor=self.contributor,
                date=datetime.now(UTC).isoformat(timespec="seconds"),
                nonce=self.nonce,
                units=earlier + len(planned),
                writers=_together(before, verified, len(interrupted) > 0),
            ),
        )
        self._record_writers(records, verified)
        for unit in units_of(new):
            content = self._content(unit)
            if content is None:
                allowed = f"{self._words(unit)} was taken away; the same command goes on"
                raise InvalidInput("from", self.origin, allowed)
            self.ours.take(*unit, content)
        contributions.forget_plan(self.ours, self.contributor)

    def _entries(self, new: Booleans) -> Array:
        """The units of a table, as a plan has them."""
        names = self.study.grid.digests()
        cells, blocks = np.nonzero(new)
        entries = np.zeros(len(cells), ENTRY)
        entries["block"] = blocks
        entries["cell"] = names[cells]
        return entries

    def _record_writers(
        self, records: Sequence[Agreed], verified: Sequence[VerifiedWriter]
    ) -> None:
        """Record the writers, whose numbers agree or were accepted."""
        close = {writer.writer: writer.close for writer in verified}
        for agreed in records:
            if agreement.find(self.ours, agreed.writer) is not None:
                continue
            accepted = agreed.accepted
            if close[agreed.writer.id]:
                accepted = "accept_code=yes, units of another arithmetic were merged"
            # Without what they say of trials of parts: here none of these was made.
            agreement.record(self.ours, agreed.writer, accepted)


def _together(
    before: Contribution | None, verified: Sequence[VerifiedWriter], goes_on: bool
) -> tuple[VerifiedWriter, ...]:
    """The checks of all writers of a contributor.

    goes_on: whether an earlier merge was interrupted, whose units are counted again.
    """
    checks = {writer.writer: writer for writer in before.writers} if before else {}
    for writer in verified:
        earlier = checks.get(writer.writer)
        if earlier is not None and not goes_on:
            writer = dataclasses.replace(writer, units=earlier.units + writer.units)
        elif earlier is not None:
            writer = dataclasses.replace(writer, units=max(earlier.units, writer.units))
        checks[writer.writer] = writer
    return tuple(checks[name] for name in sorted(checks))


def _drawn(units: Sequence[Unit], wanted: int, nonce: str) -> list[Unit]:
    """Some units, drawn without replacement by a nonce."""
    seed = [*nonce.encode()]
    count = min(wanted, len(units))
    chosen = np.random.default_rng(seed).choice(len(units), count, replace=False)
    return [units[int(place)] for place in np.sort(chosen)]


def _in_words(units: Sequence[Unit], words: Callable[[Unit], str]) -> str:
    """The first few units in words, and how many more there are."""
    shown = ", ".join(words(unit) for unit in units[:3])
    more = len(units) - 3
    return f"{shown} and {more:,} more" if more > 0 else shown
