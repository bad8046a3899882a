"""What a worker does with units: compare its arithmetic once, then simulate and store."""

import os
import socket
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.execution.environment import environment, versions
from pipeline.execution.errors import Unfit
from pipeline.execution.limits import GRACE, TimeLimit, limited
from pipeline.execution.schedule import Schedule, Unit, unit_name
from pipeline.storage import agreement
from pipeline.storage.agreement import Writer
from pipeline.storage.replications import Store
from pipeline.storage.units import Damaged, Record
from pipeline.study.arrays import Array
from pipeline.study.checks import ROLES
from pipeline.study.fingerprints import fingerprint, modules, third_parties
from pipeline.study.parameters import InvalidInput
from pipeline.study.registry import SCRIPT, adopt, registered
from pipeline.study.study import Study

ACCEPTED = "accept_code=yes"


def parts(study: Study) -> dict[str, Any]:
    """All that computes a study's numbers: name -> class or function."""
    named: dict[str, Any] = {"the engine": Study}
    for role in ROLES:
        for name in study.grid.axes.get(role, (study.parameters.get(role),)):
            named[f"{role} {name}"] = study.part(role, name)
    named |= {f"metric {name}": study.part("metric", name) for name in study.metrics}
    return named | {f"derivation {name}": function for name, (function, _) in study.derivations.items()}


def writer(study: Study, brought: Mapping[str, str] | None = None) -> Writer:
    """What would compute the study's numbers in this process. brought: fingerprints of parts sent by another."""
    named, brought = parts(study), brought or {}
    code = {name: brought.get(name) or fingerprint(part) for name, part in named.items()}
    own = [part for name, part in named.items() if name not in brought]
    return Writer(code, versions(third_parties(own) - {"numpy", "scipy"}) | environment(), modules(own))


class Runner:
    """Callable that simulates and stores units; for each, True if it failed.

    A unit that raises is stored as failed with its traceback. MemoryError and OSError propagate: the machine is at
    fault, the unit stays pending. Before its first unit each process makes sure that its numbers are those that are
    stored: its `writer` is recorded as agreeing, or makes the `references` again and is then recorded. Raises
    InvalidInput where they come out differently, unless `accept` says that a person wants that.

    most_seconds: that a unit may take; None: any time. One that takes longer fails. Where compiled code does not return
    either, a worker process stores that and ends itself; its other units are lost.
    """

    _writer: str | None = None
    grace = GRACE

    def __init__(self, store: Store, references: tuple[Unit, ...] = (), accept: bool = False,
                 most_seconds: float | None = None):
        self.study, self.store, self.references, self.accept = store.study, store, references, accept
        self.brought: Mapping[str, str] = {}
        self.most_seconds, self.driver = most_seconds, (socket.gethostname(), os.getpid())

    def __getstate__(self) -> tuple[Any, ...]:  # a worker learns the problems that were registered here
        scripted = {name: fingerprint(part) for name, part in parts(self.study).items() if part.__module__ == SCRIPT}
        brought = {**scripted, **self.brought}
        return registered(), self.store, self.references, self.accept, brought, self.most_seconds, self.driver

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        brought, self.store, self.references, self.accept, self.brought, self.most_seconds, self.driver = state
        adopt(brought)
        self.study = self.store.study

    def __call__(self, units: list[Unit]) -> list[bool]:
        if self._writer is None:
            self._writer = self._admitted()
        memo: dict[str, Any] = {}
        return [self._run(unit, memo, self._writer) for unit in units]

    def _admitted(self) -> str:
        """The name of this process's writer. Raises Unfit where this process must not compute units of the study."""
        if not self.store.exists():
            raise Unfit(f"{socket.gethostname()} does not see {self.store.folder}; "
                        "give outputs on storage that driver and workers share")
        try:
            return self.agree()
        except InvalidInput as error:
            raise Unfit(str(error)) from None

    def check(self, units: list[Unit]) -> list[bool]:
        """Like a call, but only `agree` and simulate none of the units."""
        self.agree(compare_only=True)
        return [False for _ in units]

    def agree(self, compare_only: bool = False) -> str:
        """Make sure that numbers made here are those that are stored; the name of this process's writer.

        Reference units that are not there yet are made and stored. compare_only: they are left out, and the writer is
        recorded only if none was. Raises InvalidInput.
        """
        me = writer(self.study, self.brought)
        if not agreement.agrees(self.store, me):
            with self.store.locked():  # others of the same kind wait, and find it recorded
                if not agreement.agrees(self.store, me):
                    self._admit(me, compare_only)
        return me.id

    def _admit(self, me: Writer, compare_only: bool) -> None:
        references = self._comparable()
        units = [unit for unit in references if not compare_only or self.store.holds(*unit)]
        different = [name for unit in units for name in self._compare(unit, me)]
        if different and not self.accept:
            raise self._refusal(me, different)
        if different or len(units) == len(references):
            reason = f"{ACCEPTED}, {agreement.changes(self.store, me)}" if different else ""
            agreement.record(self.store, me, reason)

    def _comparable(self) -> tuple[Unit, ...]:
        """The references; where one failed since they were chosen, others that hold numbers."""
        if any(self.store.has_failed(*unit) for unit in self.references):
            return Schedule(self.study, self.store.listing()).references
        return self.references

    def knows_code(self) -> bool:
        """Whether the code of this process, on whatever machine, is that of a recorded writer."""
        code = writer(self.study, self.brought).code
        return any(dict(one.writer.code) == code for one in agreement.recorded(self.store))

    def _run(self, unit: Unit, memo: dict[str, Any], writer_id: str) -> bool:
        if self.most_seconds and self.store.has_failed(*unit):  # its worker ended itself
            return True
        try:
            values = self._limited(unit, memo, writer_id)
        except (MemoryError, OSError):
            raise
        except Exception:
            memo.clear()  # what it shares with others may be half drawn
            self.store.fail(unit.cell, unit.block, traceback.format_exc(), writer_id)
            return True
        self.store.write(unit.cell, unit.block, values, writer_id)
        return False

    def _limited(self, unit: Unit, memo: dict[str, Any], writer_id: str) -> dict[str, Array]:
        if self.most_seconds is None:
            return self._simulate(unit, memo)
        return limited(lambda: self._simulate(unit, memo), self.most_seconds,
                       lambda thread: self._give_up(unit, thread, writer_id), self.grace)

    def _give_up(self, unit: Unit, thread: int, writer_id: str) -> None:
        """Store a unit that does not end as failed, and end this process, unless it is the driver."""
        if self.driver != (socket.gethostname(), os.getpid()):
            try:
                where = "".join(traceback.format_stack(sys._current_frames().get(thread)))
                error = f"{TimeLimit.__module__}.{TimeLimit.__name__}: longer than {self.most_seconds:g} s"
                self.store.fail(unit.cell, unit.block, f"{where}{error}, in code that cannot be interrupted", writer_id)
            finally:
                os._exit(1)

    def _simulate(self, unit: Unit, memo: dict[str, Any] | None = None) -> dict[str, Array]:
        with np.errstate(all="ignore"):  # a replication's status records what went wrong
            return self.study.simulate(self.study.grid.labels(unit.cell), unit.block, memo)

    def _compare(self, unit: Unit, me: Writer) -> list[str]:
        """Simulate a unit; variables, with the unit's name, that differ from those stored. Stores one that is
        missing."""
        name, there = unit_name(self.study, unit), self.store.holds(unit.cell, unit.block)
        try:  # one that was finished before may take its time here
            values = self._simulate(unit) if there else self._limited(unit, {}, me.id)
        except (MemoryError, OSError):
            raise
        except Exception:
            values = None
        if not self.store.holds(unit.cell, unit.block):
            if values is not None:
                self.store.write(unit.cell, unit.block, values, me.id)
            return []
        try:
            stored = self.store.read(unit.cell, unit.block)
        except Damaged as error:
            raise self.store.invalid(f"unit {name} is damaged ({error}); run task=verify repair=true") from None
        if stored.failed:  # it holds no numbers to compare
            return []
        return [f"{variable} of unit {name}" for variable in self._unlike(values, stored)]

    def _unlike(self, values: dict[str, Array] | None, stored: Record) -> list[str]:
        if values is None:
            return ["status"]
        again = [np.asarray(values[name], "<f8").tobytes() for name in self.study.metrics]
        pairs = zip(self.study.metrics, again, (row.tobytes() for row in stored.metrics), strict=True)
        different = [name for name, one, other in pairs if one != other]
        return different + (["status"] if values["status"].tobytes() != stored.status.tobytes() else [])

    def _refusal(self, me: Writer, different: list[str]) -> InvalidInput:
        more = f" and {len(different) - 1} more" if len(different) > 1 else ""
        return self.store.invalid(
            f"numbers come out differently on {socket.gethostname()}: {different[0]}{more}; "
            f"{agreement.changes(self.store, me)}; go on with the code and versions that it was begun "
            "with, start anew in another folder with outputs=…, or mix the two with accept_code=yes")
