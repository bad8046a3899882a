"""Claims judged at looks, until each is decided.

See `pipeline.study.until` for what a look may err.

A claim about single cells is decided cell by cell, each at the first look at which its own interval
decides it; any other claim as a whole. A cell needs no more replications once all that reads it is
decided. The probability that any interval misses that a verdict is made of is at most the sum over
looks and cells, which is the claim's error.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
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
from pipeline.analysis.tolerances import open_for_good
from pipeline.study.arrays import Booleans, Integers
from pipeline.study.until import Look, recorded

UNTIL = "until"  # attribute of results that stop when claims are decided
WHOLE = "all of it"  # label of a claim that is decided as a whole


class AtLooks:
    """A claim, judged at one look after the other.

    check, control: the decisions so far. decided: label -> number of the look at which it was, from
    0, or at which it turned out that no number of replications could decide it.
    """

    def __init__(self, claim: Claim, looks: Sequence[Look]):
        self.claim, self.looks, self.number, self.controlled = claim, looks, -1, -1
        self.kept: dict[str, Mapping[str, Measured]] = {}  # label -> part -> what was measured
        self.decided: dict[str, int] = {}
        self.check = self.control = Check(INCONCLUSIVE, None, "no look so far")
        self.reads: dict[str, Booleans] | None = None
        self.of_control: Booleans  # cells that the control reads

    @property
    def sound(self) -> bool:
        """Whether the control was decided as it must be."""
        return Judgement(self.claim, self.check, self.control).sound

    @property
    def certain(self) -> bool:
        """Whether the verdict and that on the control are decided, or further replications would
        not bring them.

        The latter where data or levels are not there, or where the levels are too far apart.
        """
        if self.check.verdict == INCONCLUSIVE:
            return self.check.estimate is not None and self.decided.keys() >= self.kept.keys()
        return self.check.verdict == NOT_TESTED or self.sound

    def look(self, part: xr.Dataset) -> None:
        """Judge at the next look, on the replications up to there."""
        self.number += 1
        with self._this_look():  # all intervals of data and control
            self.check = self._checked(part)
            # A positive control shows that what is contradicted can be supported, so the verdict
            # comes first.
            first = self.claim.positive is None or self.check.verdict != INCONCLUSIVE
            if self.check.estimate is not None and first and not self.sound:
                self.control, self.controlled = (
                    control_check(self.claim, self.check.verdict, part),
                    self.number,
                )

    @contextmanager
    def _this_look(self) -> Iterator[None]:
        """Within, intervals are those of this look."""
        last = self.number + 1 == len(self.looks)
        with spending(self.looks[self.number].share), more_may_follow(not last):
            yield

    def needs(self, part: xr.Dataset) -> Booleans:
        """(grid…) which cells need the replications of the next look. part: of all cells that
        needed this one.
        """
        none = np.zeros(
            [size for axis, size in part["status"].sizes.items() if axis != REPLICATION], bool
        )
        if self.certain:
            return none
        # Unknown is what a claim reads that cannot be measured, or a control that depends on the
        # verdict.
        if self.check.estimate is None or self.claim.positive and not self.sound:
            return ~none
        if self.reads is None:
            try:
                with self._this_look():
                    control = (
                        {}
                        if self.sound
                        else cells_read(
                            lambda data: self._measured(data, self.claim.control.make), part
                        )
                    )
                    self.of_control = np.logical_or.reduce([none, *control.values()])
                    self.reads = cells_read(self._measured, part)
            except InsufficientEvidence:
                return ~none
        own = [self.reads.get(label, ~none) for label in self.kept if label not in self.decided]
        needed: Booleans = np.logical_or.reduce([none, *own, *[self.of_control] * (not self.sound)])
        return needed

    def judgement(self) -> Judgement:
        """The judgement of the looks so far, which says when what decides it was decided."""
        check, last = self.check, self.number
        if check.estimate is None:
            return Judgement(self.claim, check, check)
        used = sorted({self.decided.get(label, last) for label in self.kept})
        worst = next(
            self.decided.get(label, last)
            for label, ones in _estimates(self.kept).items()
            if any(one is check.estimate for one in ones)
        )
        ends = [f"{self.looks[number].replications:,}" for number in (used[0], used[-1])]
        numbers = [str(number + 1) for number in (used[0], used[-1])]
        error, most = (
            (1 - CONFIDENCE) * share
            for share in (self.looks[worst].share, max(self.looks[number].share for number in used))
        )
        control = f", its control at look {self.controlled + 1}" * (self.controlled > used[-1])
        text = (
            f"after {' to '.join(dict.fromkeys(ends))} replications (look "
            f"{' to '.join(dict.fromkeys(numbers))} of {len(self.looks)}{control}, error "
            f"probability {error:.2g}): {check.text}"
        )
        return Judgement(self.claim, replace(check, text=text, confidence=1 - most), self.control)

    def _measured(self, data: xr.Dataset, make: Make | None = None) -> Parts:
        return _estimates(self._parts(data, make))

    def _checked(self, part: xr.Dataset) -> Check:
        try:
            for label, ones in self._parts(part).items():
                if label not in self.decided:
                    self.kept[label] = ones
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
        parts = cast(
            Mapping[str, Measured],
            measured if isinstance(self.claim.tolerance, Mapping) else {"": measured},
        )
        cells = {name: one for name, one in parts.items() if isinstance(one, Mapping)}
        labels = [tuple(one) for one in cells.values()]
        if len(cells) < len(parts) or len({*labels}) > 1:
            return {
                WHOLE: parts
            }  # a part with cells of its own may be there to be judged beside the others
        return {label: {name: one[label] for name, one in cells.items()} for label in labels[0]}

    def _together(self) -> Measured | Mapping[str, Measured]:
        """What was measured, as the claim's measure returns it, each part at the look at which it
        was decided.
        """
        several = self.claim.tolerance if isinstance(self.claim.tolerance, Mapping) else None
        parts = self.kept.get(WHOLE) or {
            name: {label: cast(Estimate, ones[name]) for label, ones in self.kept.items()}
            for name in several or [""]
        }
        return parts[""] if several is None else cast(Measured, parts)

    def _is_over(self, label: str) -> bool:
        """Whether a label is decided: by one estimate that contradicts or by all; or cannot be."""
        tolerances = self.claim.tolerance
        pairs = [
            (one, tolerances[name] if isinstance(tolerances, Mapping) else tolerances)
            for name, measured in self.kept[label].items()
            for one in _flat(measured)
        ]
        verdicts = [tolerance.verdict(one) for one, tolerance in pairs]
        if CONTRADICTED in verdicts:
            return True
        undecided = [
            pair for pair, verdict in zip(pairs, verdicts, strict=True) if verdict == INCONCLUSIVE
        ]
        return bool(pairs) and all(open_for_good(*pair) for pair in undecided)


def _flat(measured: Measured) -> tuple[Estimate, ...]:
    ones = measured.values() if isinstance(measured, Mapping) else [measured]
    return tuple(one for one in ones if isinstance(one, Estimate))


def _estimates(parts: Mapping[str, Mapping[str, Measured]]) -> Parts:
    return {
        label: tuple(one for measured in ones.values() for one in _flat(measured))
        for label, ones in parts.items()
    }


class Ends:
    """Where every cell of a study ends: at the first look at which all that reads it is decided.

    ends: (grid…) replications of a cell so far, or those of the next look where it goes on. by:
    (grid…) the claim that needed them, −1 where none did, at the first look.
    """

    def __init__(self, claims: Sequence[Claim], looks: Sequence[Look], shape: tuple[int, ...]):
        self.claims, self.looks, self.number = [AtLooks(claim, looks) for claim in claims], looks, 0
        self.ends: Integers = np.full(shape, looks[0].replications)
        self.by: Integers = np.full(shape, -1)
        self.over = False

    def known(self, results: xr.Dataset, cells: Booleans) -> bool:
        """Whether results hold all that the next look needs. cells: (grid…), those that there are."""
        return bool((_first(results) >= self.ends)[cells].all())

    def look(self, results: xr.Dataset) -> None:
        """Judge at the next look: which cells go on to the one after it. results: may hold more."""
        look = self.looks[self.number]
        part = results.isel({REPLICATION: slice(look.replications)})
        ends = xr.DataArray(self.ends, dims=part["status"].dims[:-1])
        counts = xr.DataArray(np.arange(part.sizes[REPLICATION]), dims=REPLICATION) < ends
        part = part.assign(status=part["status"].where(counts, 0))
        needed = np.full(self.ends.shape, -1)
        for k, claim in enumerate(self.claims):
            if not claim.certain:
                claim.look(part)
                needed[claim.needs(part) & (needed < 0)] = k
        self.number += 1
        self.over = self.number == len(self.looks) or not (needed >= 0).any()
        if not self.over:
            self.by = np.where(needed >= 0, needed, self.by)
            self.ends = np.where(needed >= 0, self.looks[self.number].replications, self.ends)


def judge(claim: Claim, results: xr.Dataset) -> Judgement:
    """Decide a claim on results: once or, where their study stops when claims are decided, at its
    looks.

    Then each part is decided at the first look at which it can be, else at the last one that the
    results reach, on the replications up to there alone: those that were simulated later for other
    claims do not change it.
    """
    if UNTIL not in results.attrs:
        return claims.judge(claim, results)
    block, whole = json.loads(results.attrs["study"])["block"], complete(results)
    looks = recorded(results.attrs[UNTIL]).looks(block)
    if looks[0].replications > whole:
        check = Check(
            INCONCLUSIVE,
            None,
            f"a cell has {whole} replications, the first look is after {looks[0].replications:,}",
        )
        return Judgement(claim, check, check)
    judged = AtLooks(claim, looks)
    for look in looks:
        if look.replications <= whole and not judged.certain:
            judged.look(results.isel({REPLICATION: slice(look.replications)}))
    return judged.judgement()


def complete(results: xr.Dataset) -> int:
    """From the first on, replications that were run in all cells of the study, but for those that
    had ended before.
    """
    first = _first(results)
    cells = first > 0
    if int(cells.sum()) < results.attrs.get("cells", 0):
        return 0
    stops = recorded(results.attrs[UNTIL]).stops if UNTIL in results.attrs else ()
    most = results.sizes[REPLICATION]
    ends = np.array([end for end, _ in stops]).reshape(first.shape) if stops else most
    return int(np.where(first < ends, first, most)[cells].min(initial=most))


def _first(results: xr.Dataset) -> Integers:
    """(grid…) from the first on, replications that were run in every cell."""
    run = (results["status"] > 0).transpose(..., REPLICATION)
    return np.asarray(run.cumprod(REPLICATION).sum(REPLICATION).values, int)
