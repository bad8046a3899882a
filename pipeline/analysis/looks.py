"""Claims judged at looks, until each is decided.

See `pipeline.study.until` for what a look may err.

A claim about single cells is decided cell by cell, each at the first look at which its
own interval decides it; any other claim as a whole. A cell needs no more replications
once all that reads it is decided. The probability that any interval misses that a
verdict is made of is at most the sum over looks and cells, which is the claim's error.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import numpy as np
import xarray as xr

from pipeline.analysis import claims
from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_TESTED,
    Check,
    Claim,
    InsufficientEvidence,
    Judgement,
    Make,
    control_check,
)
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.intervals import more_may_follow
from pipeline.analysis.measures import CONFIDENCE, Measured, spending
from pipeline.analysis.reads import Parts, cells_read
from pipeline.analysis.summary import REPLICATION
from pipeline.analysis.tolerances import Tolerance, finite, open_for_good
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.until import Look, recorded

UNTIL = "until"  # attribute of results that stop when claims are decided
SKEWED = (
    "; the values are so skewed that the interval of this last look may miss more often than that"
)
WHOLE = "all of it"  # label of a claim that is decided as a whole


class AtLooks:
    """A claim, judged at one look after the other.

    check, control: the decisions so far. decided: label -> number of the look at which
    it was, from 0, or at which it turned out that no number of replications could
    decide it. skewed: whether the last look decided on values that are too skewed for
    any look before it, so that its interval may miss more often than it should.
    """

    def __init__(self, claim: Claim, looks: Sequence[Look]):
        self.claim = claim
        self.looks = looks
        self.number = -1  # of the look
        self.controlled = -1  # number of the look at which the control was judged
        self.measured: dict[str, Mapping[str, Measured]] = {}  # by label, then by part
        self.decided: dict[str, int] = {}
        self.skewed = False
        self.check = Check(INCONCLUSIVE, None, "no look so far")
        self.control = self.check
        self.reads: dict[str, Booleans] | None = None
        self.of_control: Booleans  # cells that the control reads

    @property
    def sound(self) -> bool:
        """Whether the control was decided as it must be."""
        return Judgement(self.claim, self.check, self.control).sound

    @property
    def certain(self) -> bool:
        """Whether no further replications are needed.

        The verdict and that on the control are decided, or further replications would
        not bring them. The latter where data or levels are not there, or where the
        levels are too far apart.
        """
        if self.check.verdict == INCONCLUSIVE:
            return self.check.estimate is not None and self.decided.keys() >= self.measured.keys()
        return self.check.verdict == NOT_TESTED or self.sound

    def look(self, part: xr.Dataset) -> None:
        """Judge at the next look, on the replications up to there."""
        self.number += 1
        with self._this_look():  # all intervals of data and control
            self.check = self._checked(part)
            self.skewed = self._is_skewed(part)
            if self._may_judge_control():
                self.control = control_check(self.claim, self.check.verdict, part)
                self.controlled = self.number

    def _is_skewed(self, part: xr.Dataset) -> bool:
        """Whether this is the last look, and what it decides had no interval at another."""
        now = [label for label, number in self.decided.items() if number == self.number]
        if self.number + 1 < len(self.looks) or len(self.looks) == 1 or not now:
            return False
        with more_may_follow():
            earlier = _flattened(self._parts(part))
        there = _flattened(self.measured)
        for label in now:
            for estimate, without_end in zip(there[label], earlier.get(label, ()), strict=False):
                if finite(estimate) and not finite(without_end):
                    return True
        return False

    def _may_judge_control(self) -> bool:
        """Whether the control is to be judged at this look.

        A positive control shows that what is contradicted can be supported, so the
        verdict comes first.
        """
        if self.check.estimate is None or self.sound:
            return False
        return self.claim.positive is None or self.check.verdict != INCONCLUSIVE

    @contextmanager
    def _this_look(self) -> Iterator[None]:
        """Within, intervals are those of this look."""
        last = self.number + 1 == len(self.looks)
        with spending(self.looks[self.number].share), more_may_follow(not last):
            yield

    def needs(self, part: xr.Dataset) -> Booleans:
        """(grid…) which cells need the replications of the next look.

        part: of all cells that needed this one.
        """
        sizes = part["status"].sizes
        no_cell = np.zeros([sizes[axis] for axis in sizes if axis != REPLICATION], bool)
        if self.certain:
            return no_cell
        # Unknown is what a claim reads that cannot be measured, or a control that depends
        # on the verdict.
        if self.check.estimate is None or self.claim.positive and not self.sound:
            return ~no_cell
        if self.reads is None:
            try:
                self.reads = self._cells_read(part, no_cell)
            except InsufficientEvidence:
                return ~no_cell
        needed = no_cell
        for label in self.measured:
            if label not in self.decided:
                needed = needed | self.reads.get(label, ~no_cell)
        if not self.sound:
            needed = needed | self.of_control
        return needed

    def _cells_read(
        self,
        part: xr.Dataset,
        no_cell: Booleans,
    ) -> dict[str, Booleans]:
        """Label -> cells that the claim reads; sets those of the control.

        Raises InsufficientEvidence.
        """
        with self._this_look():
            self.of_control = no_cell
            if not self.sound:
                of_label = cells_read(self._estimates_of_control, part)
                self.of_control = np.logical_or.reduce([no_cell, *of_label.values()])
            return cells_read(self._estimates, part)

    def judgement(self) -> Judgement:
        """The judgement of the looks so far, which says when what decides it was decided."""
        check = self.check
        if check.estimate is None:
            return Judgement(self.claim, check, check)
        used = sorted({self.decided.get(label, self.number) for label in self.measured})
        most = (1 - CONFIDENCE) * max(self.looks[number].share for number in used)
        text = f"{self._when(check.estimate, used)}: {check.text}"
        if self.skewed:
            text += SKEWED
        check = replace(check, text=text, confidence=1 - most)
        return Judgement(self.claim, check, self.control)

    def _when(self, decisive: Estimate, used: Sequence[int]) -> str:
        """At which looks the claim was decided. used: their numbers, rising."""
        error = (1 - CONFIDENCE) * self.looks[self._number_of(decisive)].share
        replications = _from_to(f"{self.looks[number].replications:,}" for number in used)
        numbers = _from_to(str(number + 1) for number in used)
        control = ""
        if self.controlled > used[-1]:
            control = f", its control at look {self.controlled + 1}"
        return (
            f"after {replications} replications (look {numbers} of {len(self.looks)}{control}, "
            f"error probability {error:.2g})"
        )

    def _number_of(self, decisive: Estimate) -> int:
        """Number of the look at which the label of an estimate was decided."""
        for label, estimates in _flattened(self.measured).items():
            if any(estimate is decisive for estimate in estimates):
                return self.decided.get(label, self.number)
        raise ValueError("the estimate is not among those of the claim")

    def _estimates(self, data: xr.Dataset) -> Parts:
        return _flattened(self._parts(data))

    def _estimates_of_control(self, data: xr.Dataset) -> Parts:
        return _flattened(self._parts(data, self.claim.control.make))

    def _checked(self, part: xr.Dataset) -> Check:
        """The decision at this look; what was decided before stays as it was."""
        try:
            for label, measured in self._parts(part).items():
                if label in self.decided:
                    continue
                self.measured[label] = measured
                if self._is_over(label):
                    self.decided[label] = self.number
            return self.claim.decision(self._together())
        except InsufficientEvidence as reason:
            return Check(reason.verdict, None, str(reason))

    def _parts(
        self, part: xr.Dataset, make: Make | None = None
    ) -> dict[str, Mapping[str, Measured]]:
        """What is measured, by label and then by part: all parts of a cell are decided together."""
        measured = self.claim.measured(part, make)
        parts = cast(Mapping[str, Measured], {"": measured})
        if isinstance(self.claim.tolerance, Mapping):
            parts = cast(Mapping[str, Measured], measured)
        by_cell = {name: cells for name, cells in parts.items() if isinstance(cells, Mapping)}
        labels = [tuple(cells) for cells in by_cell.values()]
        # A part with cells of its own may be there to be judged beside the others.
        if len(by_cell) < len(parts) or len({*labels}) > 1:
            return {WHOLE: parts}
        by_label: dict[str, Mapping[str, Measured]] = {}
        for label in labels[0]:
            by_label[label] = {name: cells[label] for name, cells in by_cell.items()}
        return by_label

    def _together(self) -> Measured | Mapping[str, Measured]:
        """What was measured, as the claim's measure returns it.

        Each part is that of the look at which it was decided.
        """
        tolerance = self.claim.tolerance
        names = [""]
        if isinstance(tolerance, Mapping):
            names = [*tolerance]
        parts: Mapping[str, Measured] = self.measured.get(WHOLE, {})
        if not parts:
            parts = {name: self._by_label(name) for name in names}
        if isinstance(tolerance, Mapping):
            return parts
        return parts[""]

    def _by_label(self, name: str) -> Measured:
        """The estimates of a part, by label."""
        return {label: cast(Estimate, parts[name]) for label, parts in self.measured.items()}

    def _is_over(self, label: str) -> bool:
        """Whether a label is decided: by one estimate that contradicts or by all; or cannot be."""
        estimates = 0
        can_be_decided = False
        for name, measured in self.measured[label].items():
            tolerance = self._tolerance(name)
            for estimate in _flat(measured):
                estimates += 1
                verdict = tolerance.verdict(estimate)
                if verdict == CONTRADICTED:
                    return True
                if verdict == INCONCLUSIVE and not open_for_good(estimate, tolerance):
                    can_be_decided = True
        return estimates > 0 and not can_be_decided

    def _tolerance(self, name: str) -> Tolerance:
        """The tolerance of a part."""
        tolerance = self.claim.tolerance
        if isinstance(tolerance, Mapping):
            return tolerance[name]
        return tolerance


def _flat(measured: Measured) -> tuple[Estimate, ...]:
    """All estimates, without their labels."""
    if isinstance(measured, Estimate):
        return (measured,)
    return tuple(cell for cell in measured.values() if isinstance(cell, Estimate))


def _flattened(measured: Mapping[str, Mapping[str, Measured]]) -> Parts:
    """All estimates of a label, whatever their part."""
    flattened = {}
    for label, parts in measured.items():
        of_parts = [_flat(part) for part in parts.values()]
        flattened[label] = tuple(itertools.chain(*of_parts))
    return flattened


def _from_to(texts: Iterable[str]) -> str:
    """The first and the last text, or the only one."""
    first, *others = texts
    if not others or others[-1] == first:
        return first
    return f"{first} to {others[-1]}"


class Ends:
    """Where every cell of a study ends.

    That is at the first look at which all that reads it is decided. ends: (grid…)
    replications of a cell so far, or those of the next look where it goes on. by:
    (grid…) the claim that needed them, −1 where none did, at the first look.
    """

    def __init__(self, claims: Sequence[Claim], looks: Sequence[Look], shape: tuple[int, ...]):
        self.claims = [AtLooks(claim, looks) for claim in claims]
        self.looks = looks
        self.number = 0
        self.ends: Integers = np.full(shape, looks[0].replications)
        self.by: Integers = np.full(shape, -1)
        self.over = False

    def known(self, results: xr.Dataset, cells: Booleans) -> bool:
        """Whether results hold all that the next look needs. cells: (grid…), those of the study."""
        return bool((_first(results) >= self.ends)[cells].all())

    def look(self, results: xr.Dataset) -> None:
        """Judge at the next look: which cells go on to the one after it. results: may hold more."""
        look = self.looks[self.number]
        part = results.isel({REPLICATION: slice(look.replications)})
        ends = xr.DataArray(self.ends, dims=part["status"].dims[:-1])
        numbers = xr.DataArray(np.arange(part.sizes[REPLICATION]), dims=REPLICATION)
        part = part.assign(status=part["status"].where(numbers < ends, 0))
        needed = np.full(self.ends.shape, -1)
        for k, claim in enumerate(self.claims):
            if not claim.certain:
                claim.look(part)
                needed[claim.needs(part) & (needed < 0)] = k
        goes_on = needed >= 0
        self.number += 1
        self.over = self.number == len(self.looks) or not goes_on.any()
        if not self.over:
            self.by = np.where(goes_on, needed, self.by)
            self.ends = np.where(goes_on, self.looks[self.number].replications, self.ends)


def judge(claim: Claim, results: xr.Dataset) -> Judgement:
    """Decide a claim on results, once or at looks.

    At looks where their study stops when claims are decided. Then each part is decided
    at the first look at which it can be, else at the last one that the results reach,
    on the replications up to there alone: those that were simulated later for other
    claims do not change it.
    """
    if UNTIL not in results.attrs:
        return claims.judge(claim, results)
    block = json.loads(results.attrs["study"])["block"]
    whole = complete(results)
    looks = recorded(results.attrs[UNTIL]).looks(block)
    if looks[0].replications > whole:
        first = f"{looks[0].replications:,}"
        text = f"a cell has {whole} replications, the first look is after {first}"
        check = Check(INCONCLUSIVE, None, text)
        return Judgement(claim, check, check)
    judged = AtLooks(claim, looks)
    for look in looks:
        if look.replications <= whole and not judged.certain:
            judged.look(results.isel({REPLICATION: slice(look.replications)}))
    return judged.judgement()


def complete(results: xr.Dataset) -> int:
    """Replications that were run in all cells of the study, from the first on.

    Cells that had ended before do not count.
    """
    first = _first(results)
    cells = first > 0
    if int(cells.sum()) < results.attrs.get("cells", 0):
        return 0
    most = results.sizes[REPLICATION]
    ends = np.full(first.shape, most)
    if UNTIL in results.attrs:
        stops = recorded(results.attrs[UNTIL]).stops
        if stops:
            ends = np.array([end for end, _ in stops]).reshape(first.shape)
    runs = np.where(first < ends, first, most)
    return int(runs[cells].min(initial=most))


def _first(results: xr.Dataset) -> Integers:
    """(grid…) from the first on, replications that were run in every cell."""
    run = (results["status"] > 0).transpose(..., REPLICATION)
    return np.asarray(run.cumprod(REPLICATION).sum(REPLICATION).values, int)
