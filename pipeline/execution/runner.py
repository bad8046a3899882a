"""What a worker does with units: compare its arithmetic once, then simulate and store."""

import os
import socket
import sys
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.execution import programs, time_limit
from pipeline.execution.amounts import format_bytes
from pipeline.execution.bundles import Bundle
from pipeline.execution.environment import environment, versions
from pipeline.execution.errors import Unfit
from pipeline.execution.looks import Looks
from pipeline.execution.refusal import refusal
from pipeline.execution.schedule import COST_OF_A_SECOND, Schedule, Unit, unit_in_words, unit_name
from pipeline.execution.sight import check_sight
from pipeline.execution.suspects import NOBODY, Notes
from pipeline.execution.time_limit import GRACE, TimeLimit, limited
from pipeline.execution.trials import check_parts
from pipeline.execution.unit_work import Measured, UnitWork, peak
from pipeline.identity.fingerprints import (
    fingerprint,
    kernel_libraries,
    modules,
    own_digests,
    replacements,
    third_parties,
)
from pipeline.identity.patches import at_one_moment
from pipeline.identity.registry import SCRIPT, adopt, registrations
from pipeline.storage import agreement, efforts
from pipeline.storage.agreement import Writer
from pipeline.storage.in_work import Driver
from pipeline.storage.replications import Store
from pipeline.storage.units import Damaged, Record
from pipeline.study.arrays import Array
from pipeline.study.checks import ROLES
from pipeline.study.parameters import InvalidInput
from pipeline.study.returned import WrongPart
from pipeline.study.slices import BYTES
from pipeline.study.study import Study

ACCEPTED = "accept_code=yes"
# Bytes of the slices of a unit: the next smaller ones are tried where memory is short.
SLICES = (BYTES, BYTES // 4, BYTES // 16, BYTES // 64)
# How many times its predicted seconds a unit may take: a machine may be 20 times slower, a
# prediction wrong.
SLOW = 100.0
LEAST_SECONDS = 600.0  # of such a limit
# How many times that limit a unit may take while none has ended, by which a predicted cost would
# be known in seconds.
UNMEASURED = 10.0
TRIES = len(SLICES)  # processes that end while they make a reference unit, until it is given up
TRIAL = "trial"  # noted in place of a unit while parts are tried


def parts(study: Study) -> dict[str, Any]:
    """All that computes a study's numbers: name -> class or function."""
    named: dict[str, Any] = {"the engine": Study}
    for role in ROLES:
        for name in study.grid.axes.get(role, (study.parameters.get(role),)):
            named[f"{role} {name}"] = study.part(role, name)
    named |= {f"metric {name}": study.part("metric", name) for name in study.metrics}
    return named | {
        f"derivation {name}": function for name, (function, _) in study.derivations.items()
    }


@at_one_moment()
def writer(study: Study, brought: Mapping[str, str] | None = None) -> Writer:
    """What would compute the study's numbers in this process.

    brought: fingerprints of parts that another process sent.
    """
    named = parts(study)
    brought = brought or {}
    code = {name: brought.get(name) or fingerprint(part) for name, part in named.items()}
    local = [part for name, part in named.items() if name not in brought]
    packages = versions(third_parties(local) - {"numpy", "scipy"})
    libraries = environment() | kernel_libraries(local)
    around = packages | libraries | own_digests() | replacements(local)
    around |= programs.versions(named.values())
    return Writer(code, around, modules(local))


@dataclass(frozen=True)
class _Luggage:
    """What of a runner travels to a worker: its arguments, and what the driver registered.

    registered: problems and parts. brought: fingerprints of parts of the driver's script.
    """

    registered: Any
    store: Store
    references: tuple[Unit, ...]
    accept: bool
    brought: Mapping[str, str]
    most_seconds: float | None
    trials: tuple[tuple[int, ...], ...]
    driver: tuple[str, int]
    noted: Driver | None


class Runner:
    """Callable that simulates and stores units, and says of each whether it failed.

    A unit that another driver has done meanwhile is left as it is. One that raises is stored as
    failed with its traceback; one out of memory is tried in smaller slices before. An OSError
    propagates: the machine is at fault, the unit stays pending. Before its first unit each process
    makes sure that its numbers are those that are stored: its `writer` is recorded as agreeing, or
    makes the `references` again and is then recorded. Raises InvalidInput where they come out
    differently, unless `accept` says that a person wants that.

    A reference unit in which `most_tries` processes end is given up: one that nobody finished
    fails, and others are compared; where another kind of process has finished it, this kind must
    not compute.

    trials: cells by which the process of a new writer makes sure, before all else, that all
    combinations of parts are deterministic and give what they must (`trials`): once for its kind.
    Raises WrongPart where they do not.

    noted: the driver in whose name units are noted before they begin (`suspects`); None: they are
    not.

    most_seconds: that a unit may take; None: `SLOW` times what it should take, and `LEAST_SECONDS`
    at least. One that takes longer fails. Where compiled code does not return either, a worker
    process stores that and ends itself; its other units are lost.
    """

    _writer: str | None = None
    grace = GRACE
    most_tries = TRIES
    slice_bytes = BYTES

    def __init__(
        self,
        store: Store,
        references: tuple[Unit, ...] = (),
        accept: bool = False,
        most_seconds: float | None = None,
        trials: tuple[tuple[int, ...], ...] = (),
        noted: Driver | None = None,
    ):
        self.study = store.study
        self.store = store
        self.references = references
        self.accept = accept
        self.trials = trials
        self.brought: Mapping[str, str] = {}
        self.most_seconds = most_seconds
        self.driver = (socket.gethostname(), os.getpid())
        # By a unit that was blamed: tries of references at that time.
        self.tries: dict[Unit, list[tuple[str, int]]] = {}
        self.looks = Looks(store)
        self.notes = Notes(store, noted)

    def __getstate__(self) -> _Luggage:
        scripted = {
            name: fingerprint(part)
            for name, part in parts(self.study).items()
            if part.__module__ == SCRIPT
        }
        return _Luggage(
            registered=registrations(),
            store=self.store,
            references=self.references,
            accept=self.accept,
            brought={**scripted, **self.brought},
            most_seconds=self.most_seconds,
            trials=self.trials,
            driver=self.driver,
            noted=self.notes.driver,
        )

    def __setstate__(self, luggage: _Luggage) -> None:
        adopt(luggage.registered)
        self.store = luggage.store
        self.study = luggage.store.study
        self.references = luggage.references
        self.accept = luggage.accept
        self.brought = luggage.brought
        self.most_seconds = luggage.most_seconds
        self.trials = luggage.trials
        self.driver = luggage.driver
        self.tries = {}
        self.looks = Looks(self.store)
        self.notes = Notes(self.store, luggage.noted)

    def __call__(self, units: list[Unit]) -> list[bool]:
        return [work.failed for work in self.careful(Bundle(units, 0.0))]

    def careful(self, bundle: Bundle) -> list[UnitWork]:
        """For each unit of a bundle whether it failed and what it took.

        Within a time limit, and in smaller slices after its workers died.
        """
        if self._writer is None:
            self._writer = self._admitted()
        self.slice_bytes = min(self.slice_bytes, SLICES[min(bundle.kills, len(SLICES) - 1)])
        memo: dict[str, Any] = {}
        limit = self._limit_of(bundle)
        measured = Measured()
        self.notes.begin(bundle, self.looks.simulating)
        for unit in bundle.units:
            before = self.looks.simulating
            failed = self._run(unit, memo, self._writer, limit, bundle.kills > 0)
            seconds = self.looks.simulating - before
            measured.ended(failed, seconds or None)
        return measured.works()

    def _limit_of(self, bundle: Bundle) -> float | None:
        """Seconds that a unit of a bundle may take; None: any number."""
        if bundle.expected is None:
            return self._unmeasured(bundle.cost)
        return self._limit(bundle.expected)

    def _limit(self, seconds: float) -> float:
        """Seconds that a unit may take. seconds: that are expected."""
        if self.most_seconds is not None:
            return self.most_seconds
        return max(LEAST_SECONDS, SLOW * seconds)

    def _unmeasured(self, cost: float) -> float | None:
        """Seconds that a unit of a predicted cost may take; None where no pace is known either."""
        if self.most_seconds is not None:
            return self.most_seconds
        if not cost:
            return None
        return UNMEASURED * self._limit(cost / COST_OF_A_SECOND)

    def blame(self, unit: Unit, event: str) -> UnitWork | None:
        """In the driver: store a unit that killed its workers as failed, unless it is done.

        event: how it did so, such as "its worker was killed 4 times". Returns what became of the
        unit; None where workers ended in a reference unit since its last call: these may have had
        it, and not begun it.
        """
        tries = agreement.tries(self.store)
        if tries and tries != self.tries.get(unit):
            self.tries[unit] = tries
            return None
        if not self.store.holds(*unit):
            self.store.fail(
                *unit,
                f"worker killed: {event} by this unit, also while nothing else ran, and in smaller "
                "slices; give workers more memory unless code of your own ends the process, then "
                "retry_failed=true",
                NOBODY,
            )
        return UnitWork(self.store.has_failed(*unit))

    def _admitted(self) -> str:
        """The name of this process's writer.

        Raises Unfit where this process must not compute units of the study.
        """
        try:
            check_sight(self.store)
            return self.agree()
        except WrongPart:  # wherever it runs
            raise
        except (InvalidInput, MemoryError) as error:
            raise Unfit(str(error)) from None
        except OSError as error:  # as without permission to write there
            raise Unfit(f"{socket.gethostname()}: {error}") from None

    def check(self, units: list[Unit]) -> list[bool]:
        """Like a call, but only `agree`: none of the units is simulated."""
        self.agree(compare_only=True)
        return [False for _ in units]

    def agree(self, compare_only: bool = False) -> str:
        """Make sure that numbers made here are those that are stored.

        The name of this process's writer.

        Reference units that are not there yet are made and stored. compare_only: they are left out,
        and the writer is recorded only if none was. Raises InvalidInput.
        """
        me = writer(self.study, self.brought)
        if self._settled(me, compare_only):
            return me.id
        with self.store.locked():  # others of the same kind wait, and then see it recorded
            if self._settled(me, compare_only):
                return me.id
            tried: tuple[str, ...] = ()
            if not compare_only:
                tried = self._try_parts(me)
            self._admit(me, compare_only, tried)
        return me.id

    def _settled(self, me: Writer, compare_only: bool) -> bool:
        """Whether nothing is left to compare or to try."""
        known = agreement.find(self.store, me)
        if known is None:
            return False
        return compare_only or self._combinations().keys() <= {*known.tried}

    def _combinations(self) -> dict[str, tuple[int, ...]]:
        """Names of a model, a mechanism and an estimator -> the cells by which they are tried."""
        named = {}
        for cells in self.trials:
            values = self.study.values(self.study.grid.labels(cells[0]))
            named[" ".join(str(values[role]) for role in ROLES)] = cells
        return named

    def _try_parts(self, me: Writer) -> tuple[str, ...]:
        """Make sure that parts are deterministic.

        Returns names of the combinations that need not be tried again. Where this ended a
        process, it is given up, and what the units do decides. Raises WrongPart.
        """
        known = agreement.find(self.store, me)
        combinations = self._combinations()
        before: Iterable[str] = ()
        if known is not None:
            before = known.tried
        new = [cells for name, cells in combinations.items() if name not in before]
        begun = agreement.trying(self.store, me.id)
        if begun is None:
            agreement.begin(self.store, me.id, TRIAL)
        try:
            if new and (begun is None or begun[0] != TRIAL):
                check_parts(self.study, new)
        finally:
            if begun is None or begun[0] == TRIAL:
                agreement.forget_tries(self.store, me.id)
        return (*before, *combinations)

    def _admit(self, me: Writer, compare_only: bool, tried: tuple[str, ...]) -> None:
        known = agreement.find(self.store, me)
        if known is not None:
            agreement.record(self.store, me, known.accepted, {*known.tried, *tried})
            return
        references = self._comparable()
        units = [unit for unit in references if not compare_only or self.store.holds(*unit)]
        different = self._differences(units, me)
        if different and not self.accept:
            raise refusal(self.store, me, different)
        if different:
            reason = f"{ACCEPTED}, {agreement.changes(self.store, me)}"
            agreement.record(self.store, me, reason, tried)
        elif len(units) == len(references):
            agreement.record(self.store, me, "", tried)

    def _differences(self, units: Iterable[Unit], me: Writer) -> list[str]:
        """Simulate some units; variables of them, in words, that differ from those stored."""
        # Where a process ended before, the next is to see in which unit.
        watched = agreement.trying(self.store, me.id) is not None
        if not watched:
            agreement.begin(self.store, me.id, "")
        different: list[str] = []
        try:
            for unit in units:
                different += self._compare(unit, me, watched)
        finally:
            trying = agreement.trying(self.store, me.id)
            if trying is None or trying[1] <= self.most_tries:
                agreement.forget_tries(self.store, me.id)
        return different

    def _comparable(self) -> tuple[Unit, ...]:
        """The references; where one failed since they were chosen, others that hold numbers."""
        if any(self.store.has_failed(*unit) for unit in self.references):
            return Schedule(self.study, self.store.listing()).references
        return self.references

    def knows_code(self) -> bool:
        """Whether a recorded writer, on whatever machine, had the code of this process."""
        code = writer(self.study, self.brought).code
        recorded = agreement.recorded(self.store)
        return any(dict(agreed.writer.code) == code for agreed in recorded)

    def _run(
        self, unit: Unit, memo: dict[str, Any], writer_id: str, limit: float | None, again: bool
    ) -> bool:
        is_reference = unit in self.references
        may_have_failed = again or is_reference  # as its worker ended, or was ended
        if may_have_failed and self.store.has_failed(*unit):
            return True
        made_to_compare = is_reference and self.store.holds(*unit)
        if made_to_compare or self.looks.is_done(unit):
            return False
        start = time.perf_counter()
        try:
            values = self._limited(unit, memo, writer_id, limit)
        except OSError:
            raise
        except Exception as error:
            memo.clear()  # what it shares with others may be half drawn
            self.store.fail(unit.cell, unit.block, _text(error), writer_id)
            return True
        finally:
            self.looks.simulating += time.perf_counter() - start
        self.store.write(unit.cell, unit.block, values, writer_id)
        return False

    def _limited(
        self, unit: Unit, memo: dict[str, Any], writer_id: str, limit: float | None
    ) -> dict[str, Array]:
        if limit is None:
            return self._simulate(unit, memo)
        late = self._late(limit)
        try:
            return limited(
                lambda: self._simulate(unit, memo),
                limit,
                lambda thread: self._give_up(unit, thread, writer_id, late),
                self.grace,
            )
        except TimeLimit as error:
            error.args = (late,)
            raise

    def _late(self, limit: float) -> str:
        """What is said of a unit that took longer."""
        longer = f"longer than {limit:g} s"
        if self.most_seconds:
            return longer
        return (
            f"{longer}, and than {SLOW:g} times its predicted time; "
            "retry_failed=true most_seconds=… gives it more"
        )

    def _give_up(self, unit: Unit, thread: int, writer_id: str, late: str) -> None:
        """Store a unit that does not end as failed, and end this process, unless it is the driver.

        thread: number of the one in which it is simulated. late: what is said of such a unit.
        """
        if self.driver == (socket.gethostname(), os.getpid()):
            return
        try:
            where = "".join(traceback.format_stack(sys._current_frames().get(thread)))
            kind = f"{TimeLimit.__module__}.{TimeLimit.__name__}"
            error = f"{kind}: in code that cannot be interrupted, {late}"
            if self._writer is None and self.store.holds(*unit):  # it was to be compared
                name = unit_name(self.study, unit)
                agreement.begin(self.store, writer_id, name, before=self.most_tries)
            else:
                self.store.fail(unit.cell, unit.block, f"{where}{error}", writer_id)
        finally:
            os._exit(1)

    def _simulate(self, unit: Unit, memo: dict[str, Any] | None = None) -> dict[str, Array]:
        """Simulate a unit; out of memory, in smaller slices.

        This process keeps to these afterwards if they help.
        """
        memo = {} if memo is None else memo
        labels = self.study.grid.labels(unit.cell)
        for slice_bytes in [size for size in SLICES if size <= self.slice_bytes]:
            try:
                with np.errstate(all="ignore"):  # a replication's status records what went wrong
                    values = self.study.simulate(labels, unit.block, memo, slice_bytes)
            except MemoryError as error:
                memo.clear()
                if slice_bytes == SLICES[-1]:
                    raise MemoryError(
                        f"{error}, also in slices of {format_bytes(slice_bytes)}; give workers "
                        "more memory, then retry_failed=true"
                    ) from error
            else:
                self.slice_bytes = slice_bytes
                return values
        raise AssertionError  # the last of the slices returns or raises

    def _compare(self, unit: Unit, me: Writer, watched: bool) -> list[str]:
        """Simulate a unit; variables of it, in words, that differ from those stored.

        Stores a unit that is missing. watched: whether to note which unit it is, as a process has
        ended here.
        """
        name = unit_name(self.study, unit)
        there = self.store.holds(unit.cell, unit.block)
        if self.store.has_failed(*unit):  # it holds no numbers to compare
            return []
        tries = 0
        if watched:
            tries = agreement.begin(self.store, me.id, name)
        if tries >= self.most_tries:
            return self._do_without(unit, name, there, me)
        self.slice_bytes = min(self.slice_bytes, SLICES[min(tries, len(SLICES) - 1)])
        limit = self._limit_of_reference(unit, there)
        start = time.perf_counter()
        try:
            values = self._limited(unit, {}, me.id, limit)
        except OSError:
            raise
        except Exception as error:
            if there and isinstance(error, TimeLimit):
                agreement.begin(self.store, me.id, name, before=self.most_tries)
                return self._do_without(unit, name, there, me)
            if there and isinstance(error, MemoryError):  # enough elsewhere
                raise
            values = None
        if self.store.holds(unit.cell, unit.block):
            return self._unlike_stored(unit, values)
        if values is not None:
            self.store.write(unit.cell, unit.block, values, me.id)
            effort = efforts.UnitEffort(time.perf_counter() - start, peak())
            efforts.record(self.store, name, unit, effort)
        return []

    def _limit_of_reference(self, unit: Unit, there: bool) -> float | None:
        """Seconds that a reference unit may take; None without a limit. there: whether it ended
        before, somewhere.
        """
        if there and self.most_seconds is not None:
            return max(self.most_seconds, UNMEASURED * LEAST_SECONDS)
        return self._unmeasured(self.study.cost(self.study.grid.labels(unit.cell)))

    def _unlike_stored(self, unit: Unit, values: dict[str, Array] | None) -> list[str]:
        """Variables of a unit, in words, that differ from those stored.

        values: of the unit as it is simulated here; None where it raised an error. InvalidInput
        where what is stored is damaged.
        """
        try:
            stored = self.store.read(unit.cell, unit.block)
        except Damaged as error:
            name = unit_name(self.study, unit)
            raise self.store.invalid(
                f"unit {name} is damaged ({error}); run task=verify repair=true"
            ) from None
        if stored.failed:  # since a moment
            return []
        words = unit_in_words(self.study, unit)
        return [f"{variable} of {words}" for variable in self._unlike(values, stored)]

    def _do_without(self, unit: Unit, name: str, there: bool, me: Writer) -> list[str]:
        """Give up a reference unit that ends processes, or does not end.

        there: whether it is finished: then InvalidInput, unless a person accepts other numbers.
        """
        if there and not self.accept:
            raise self.store.invalid(
                f"unit {name} was finished before, and must be made again to compare its numbers, "
                f"but does not end on {socket.gethostname()}, or ended {self.most_tries} "
                "processes; give workers more memory or most_seconds=…, then retry_failed=true, "
                "or do without the comparison with accept_code=yes"
            )
        agreement.begin(self.store, me.id, "")
        if there:
            return [f"status of {unit_in_words(self.study, unit)}"]
        self.store.fail(
            *unit,
            f"worker killed: {self.most_tries} processes ended while they made this unit, before "
            "their first, also in smaller slices; give workers more memory unless code of your own "
            "ends the process, then retry_failed=true",
            NOBODY,
        )
        return []

    def _unlike(self, values: dict[str, Array] | None, stored: Record) -> list[str]:
        """Names of variables whose bytes differ; `status` where there are no values."""
        if values is None:
            return ["status"]
        different: list[str] = []
        for name, row in zip(self.study.metrics, stored.metrics, strict=True):
            again = np.asarray(values[name], "<f8")
            if again.tobytes() != row.tobytes():
                different.append(name)
        if values["status"].tobytes() != stored.status.tobytes():
            different.append("status")
        return different


def _text(error: Exception) -> str:
    """An error with its traceback, from the study's code on: the calls before that differ with
    limits and retries.
    """
    ours = (__file__, time_limit.__file__)
    where = error.__traceback__
    while where and where.tb_next and where.tb_frame.f_code.co_filename in ours:
        where = where.tb_next
    return "".join(traceback.format_exception(type(error), error, where))
