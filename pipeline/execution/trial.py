"""Whether parts are deterministic: small units made twice, in another order, compared step by step.

What a part makes must follow from its parameters, from what it is given and from its generator.
State between calls, time, `np.random`, `os.urandom`, `id` and `hash` of an object, and the order of
a set are none of these. Differences of the last three show in another process only, see
`pipeline.execution.trials`.
"""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.identity.fingerprints import PROGRAM
from pipeline.study.arrays import Array
from pipeline.study.contents import digest_of
from pipeline.study.handover import InputWritten
from pipeline.study.parameters import fields, shorten
from pipeline.study.protocols import Data
from pipeline.study.returned import WrongPart
from pipeline.study.study import Memo, Study
from pipeline.study.untyped import CellLabels

# Numbers of replications: the first that is no size is taken, so that no axis passes for another.
COUNTS = (3, 4, 5, 7, 11, 13, 17, 19)
EXPENSIVE = 2e7  # predicted steps of about a nanosecond: of such a replication one is enough
# What is compared, in the order in which it is made -> the part that makes it, and how.
METHODS = {
    "truth": ("model", "truth"),
    "data": ("model", "simulate"),
    "release": ("mechanism", "release"),
    "estimate": ("estimator", "fit"),
    "status": ("estimator", "fit"),
}
RULE = (
    "all randomness must come from its generator: no np.random, os.urandom, time, id(), hash(), "
    "order of a set, or state kept between calls"
)

Record = Mapping[str, str]  # what was made, such as "release" or "metric error_l2" -> its digest


@dataclass(frozen=True)
class Trial:
    """Some cells of a study, each with a few replications. cells: their numbers in the grid."""

    study: Study
    cells: tuple[int, ...]

    @classmethod
    def of(cls, study: Study, cells: Sequence[int]) -> "Trial":
        """The trial of some cells of a study."""
        labels = [study.grid.labels(cell) for cell in cells]
        sizes: set[object] = set()
        for of_cell in labels:
            sizes.update(study.values(of_cell).values())
        count = next((count for count in COUNTS if count not in sizes), COUNTS[-1])
        if max(map(study.cost, labels)) > EXPENSIVE * study.block:
            count = 1
        small = copy.copy(study)  # as it is: to check all of its cells takes longer than a unit
        for name in ("block", "replications"):
            object.__setattr__(small, name, min(count, study.block))
        return cls(small, tuple(cells))

    @property
    def parts(self) -> list[Any]:
        """Classes and derivations that make its numbers."""
        return _parts(self.study, self.cells)

    def run(self) -> list[Record]:
        """Make the units one after the other, as a sweep does, sharing what cells share.

        Raises WrongPart where a part gives what its protocol does not allow.
        """
        memo: Memo = {}
        return [_record(self.study, cell, memo) for cell in self.cells]

    def run_reversed(self) -> list[Record]:
        """Make them in the reverse order, also of metrics, and share nothing. Raises WrongPart.

        So does a mechanism that draws nothing, as it protects nobody, or tells a wrong budget.
        """
        other = copy.copy(self.study)
        object.__setattr__(other, "metrics", self.study.metrics[::-1])
        records = []
        for cell in reversed(self.cells):
            memo: Memo = {}
            records.append(_record(other, cell, memo))
            if "data" in memo:
                _check_mechanism(other, cell, memo["data"][1][1])
        return records[::-1]

    def check(
        self, records: Sequence[Record], others: Sequence[Record], elsewhere: bool = False
    ) -> None:
        """Raise WrongPart, which names a part, unless two runs made the same.

        elsewhere: whether one of them was made by another process.
        """
        for cell, record, other in zip(self.cells, records, others, strict=True):
            for step in _steps(record, other):
                if record.get(step) != other.get(step):
                    raise self._error(cell, step, elsewhere)

    def _error(self, cell: int, step: str, elsewhere: bool) -> WrongPart:
        labels = self.study.grid.labels(cell)
        where = "in another process"
        if not elsewhere:
            where = "when it is called again"
            step = _culprit(self.study, labels) or step
        maker = _Maker.of(step, self.study, labels)
        return maker.wrong(f"gives other values {where} with the same input; {RULE}")


@dataclass(frozen=True)
class _Maker:
    """The part that makes a step of a unit. method: by which it does; "it" for a function."""

    role: str
    name: Any
    method: str

    @classmethod
    def of(cls, step: str, study: Study, labels: CellLabels) -> "_Maker":
        """The maker of a step such as "release" or "metric error_l2"."""
        kind, _, name = step.partition(" ")
        if name:
            return cls(kind, name, "it")
        role, method = METHODS[kind]
        return cls(role, study.values(labels)[role], method)

    def wrong(self, fault: str) -> WrongPart:
        """The error that says what the part does wrong."""
        return WrongPart(self.role, self.name, f"{self.method} {fault}")


def own_parts(study: Study, cells: Sequence[int]) -> bool:
    """Whether any part of these cells is not the program's own."""
    return any(part.__module__.partition(".")[0] != PROGRAM for part in _parts(study, cells))


def _parts(study: Study, cells: Sequence[int]) -> list[Any]:
    """Classes and derivations that make the numbers of some cells."""
    classes: set[Any] = set()
    for cell in cells:
        classes.update(map(type, _components(study, cell)))
    derivations = [function for function, _ in study.derivations.values()]
    return [*classes, *derivations]


def _components(study: Study, cell: int) -> list[Any]:
    model, mechanism, estimator, metrics = study.components(study.grid.labels(cell))
    return [model, mechanism, estimator, *metrics]


def _record(study: Study, cell: int, memo: Memo) -> Record:
    """Make the unit of a cell, up to where a part raises what a sweep stores. Raises WrongPart."""
    labels = study.grid.labels(cell)
    derived = study.values(labels)
    record = {
        f"derivation {function}": digest_of(derived[name])
        for name, function in study.derive.items()
    }
    values: Mapping[str, Array] = {}
    generator = _GlobalGenerator()
    try:
        with np.errstate(all="ignore"), generator:
            values = study.simulate(labels, 0, memo)
    except (WrongPart, OSError):
        raise
    except InputWritten as error:  # "estimator mine writes into what it is given …"
        role, name, fault = str(error).split(maxsplit=2)
        raise WrongPart(role, name, fault) from error
    except Exception:
        memo.pop("estimate", None)  # of another cell, perhaps
    if generator.drawn and own_parts(study, [cell]):
        _refuse_global_draws(study, labels)
    if "data" in memo:
        truth, data = memo["data"][1]
        record |= {"truth": digest_of(truth), "data": digest_of(data)}
    record |= {step: digest_of(memo[step][1]) for step in ("release", "estimate") if step in memo}
    if values:
        record["status"] = digest_of(values["status"])
        record |= {f"metric {name}": digest_of(values[name]) for name in sorted(study.metrics)}
    else:
        memo.clear()  # what it shares with others may be half drawn
    return record


class _GlobalGenerator:
    """Whether something draws from `np.random` itself, which all code of a process shares.

    It is as before at the end.

    Seeding it counts, too: all blocks would then have the same numbers.
    """

    drawn = False

    def __enter__(self) -> None:
        self._before = np.random.get_state()  # noqa: NPY002
        np.random.random()  # noqa: NPY002, so that the same seed as the last time shows, too
        self._moved = self._state()

    def __exit__(self, *error: object) -> None:
        self.drawn = self._state() != self._moved
        np.random.set_state(self._before)  # noqa: NPY002

    @staticmethod
    def _state() -> str:
        return digest_of(np.random.get_state())  # noqa: NPY002


def _refuse_global_draws(study: Study, labels: CellLabels) -> None:
    """Raise WrongPart for the first part that draws from `np.random` itself.

    Returns where none does when the unit is made again.
    """
    steps = _made_steps(study, labels)
    while True:
        generator = _GlobalGenerator()
        with generator:
            step = next(steps, "")
        if not step:
            return
        if generator.drawn:
            maker = _Maker.of(step, study, labels)
            raise maker.wrong(f"draws from np.random itself; {RULE}")


def _made_steps(study: Study, labels: CellLabels) -> Iterator[str]:
    """Make a unit, and say after each step which it was; the end where a part raises an error."""
    chain = study.chain(labels)
    reps = study.block

    def start(role: str) -> np.random.Generator:
        return study.stream(role, labels, 0, chain.parts.model).generator()

    with np.errstate(all="ignore"), suppress(Exception):
        truth = chain.truth(start("truth"), reps, start("population"))
        yield "truth"
        data = chain.data(truth, start("data"), reps)
        yield "data"
        release = chain.release(data, start("noise"), reps)
        yield "release"
        estimate = chain.estimate(release, start("estimator"), reps)
        yield "estimate"
        for name, metric in zip(study.metrics, chain.parts.metrics, strict=True):
            metric(truth, release, estimate)
            yield f"metric {name}"


def _check_mechanism(study: Study, cell: int, data: Data) -> None:
    """Raise WrongPart for a mechanism that draws nothing, or whose `spent()` is no mapping."""
    labels = study.grid.labels(cell)
    chain = study.chain(labels)
    mechanism = chain.parts.mechanism
    name = chain.names["mechanism"]
    spent = mechanism.spent()
    if not isinstance(spent, Mapping) or not all(map(_is_budget, spent.items())):
        wanted = "what is released -> nats, such as {'one answer': 1.0}"
        fault = f"spent must give {wanted}, gives {shorten(spent)}"
        raise WrongPart("mechanism", name, fault)
    unlimited = math.inf in (getattr(mechanism, name) for name in fields(type(mechanism)))
    if unlimited or not mechanism.stated().protected:
        return
    generator = study.stream("noise", labels, 0, chain.parts.model).generator()
    bits: Any = generator.bit_generator
    before = repr(bits.state)
    chain.release(data, generator, study.block)
    if repr(bits.state) == before and not bits.seed_seq.n_children_spawned:
        remedy = "draw noise from rng, or say so: guarantee = pl.unprotected('why')"
        fault = f"release draws nothing from its generator, so it protects nobody; {remedy}"
        raise WrongPart("mechanism", name, fault)


def _is_budget(item: tuple[Any, Any]) -> bool:
    released, nats = item
    return isinstance(released, str) and isinstance(nats, int | float | np.number)


def _steps(record: Record, other: Record) -> list[str]:
    """All steps that were made in either of two runs, in the order in which they are made."""
    longer, shorter = sorted((record, other), key=len, reverse=True)
    return [*longer, *(step for step in shorter if step not in longer)]


def _culprit(study: Study, labels: CellLabels) -> str:
    """The first step that gives other values when it alone is made again; empty if none does."""
    try:
        with np.errstate(all="ignore"):
            return next(_unlike_steps(study, labels), "")
    except Exception:
        return ""


def _unlike_steps(study: Study, labels: CellLabels) -> Iterator[str]:
    chain = study.chain(labels)
    reps = study.block

    def start(role: str) -> np.random.Generator:
        return study.stream(role, labels, 0, chain.parts.model).generator()

    truths = [chain.truth(start("truth"), reps, start("population")) for _ in range(2)]
    if _unlike(*truths):
        yield "truth"
    data, again = (chain.data(truth, start("data"), reps) for truth in truths)
    if _unlike(data, again):
        yield "data"
    release = chain.release(data, start("noise"), reps)
    repeated = chain.release(data, start("noise"), reps)
    other = chain.release(again, start("noise"), reps)
    if _unlike(release, repeated):
        yield "release"
    if _unlike(release, other):
        yield "data"
    estimates = [chain.estimate(release, start("estimator"), reps) for _ in range(2)]
    if _unlike(*estimates):
        yield "estimate"
    values, others = (chain.values(truths[0], release, estimates[0]) for _ in range(2))
    yield from (f"metric {name}" for name in study.metrics if _unlike(values[name], others[name]))


def _unlike(values: object, others: object) -> bool:
    return digest_of(values) != digest_of(others)
