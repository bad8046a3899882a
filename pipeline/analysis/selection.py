"""What a claim may use of a sealed dataset.

That is some variables, at some levels, with enough valid replications.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from pipeline.analysis.summary import REPLICATION
from pipeline.analysis.tolerances import INCONCLUSIVE, NOT_TESTED
from pipeline.study.arrays import Integers
from pipeline.study.status import OK

NUMBER = "number of the cell"  # variable over the axes of the grid, while `recording`
_USED: ContextVar[set[int] | None] = ContextVar(
    "numbers of the cells that `select` gave out", default=None
)
_NAMED: ContextVar[set[str] | None] = ContextVar(
    "names of the variables that `select` was asked for", default=None
)
_MAY_BE_LOST: ContextVar[bool] = ContextVar(
    "whether replications of a cell may be left out as lost", default=False
)
_GIVEN_OUT: ContextVar[list[xr.Dataset] | None] = ContextVar("what `select` gave out", default=None)
_WANTED: ContextVar[set[int] | None] = ContextVar(
    "numbers of the cells that `select` may give out", default=None
)
# Replications in a cell: with fewer, t intervals of skewed errors cover too rarely.
LEAST = 100
Level = str | float
Condition = Callable[[xr.Dataset], xr.DataArray]  # true in the cells that are used


class InsufficientEvidence(Exception):
    """The data do not decide the claim; the message is the reason."""

    verdict = INCONCLUSIVE


class LostReplications(InsufficientEvidence):
    """Replications are lost whose values could change the verdict.

    See `pipeline.analysis.losses`.
    """


class NotTested(InsufficientEvidence):
    """The data, or the levels of the grid, that the claim is about are not there.

    The message says which.
    """

    verdict = NOT_TESTED


def select(
    results: xr.Dataset,
    *variables: str,
    at: Mapping[str, Level] | None = None,
    min_levels: Mapping[str, int] | None = None,
    within: Condition | None = None,
    least: int = LEAST,
) -> xr.Dataset:
    """`variables` and `status` of the cells that a claim is about.

    at: axes, each taken at one level, which drops the axis. min_levels: axes that stay,
    with the least number of levels each must have. Any other axis must have one level,
    and is dropped. within: condition on the cells; where it is false `status` is 0 (not
    run). least: replications that each cell used must have.

    Raises `NotTested` where an axis, level or variable is missing, where another axis
    has several levels, or where no cell meets the condition. Raises
    `InsufficientEvidence` where a cell has fewer than `least` replications, and
    `LostReplications` where one failed, did not converge or is not finite: an error has
    no upper limit, so that one replication can change any mean. Claims bound it where
    it has one, see `pipeline.analysis.losses`.
    """
    chosen = _cells(results, variables, at or {}, min_levels or {})
    _note_wanted(chosen, within)
    if within is not None:
        chosen["status"] = chosen["status"].where(within(chosen), 0)
    counts = _check_replications(chosen, variables, least)
    if _MAY_BE_LOST.get():
        chosen["status"] = chosen["status"].where(_all_known(chosen, variables), 0)
        _check_some_known(chosen, counts)
    used = _USED.get()
    if used is not None and NUMBER in chosen:
        used |= _numbers(chosen, counts > 0)
    named = _NAMED.get()
    if named is not None:
        named |= {*variables}
    chosen = chosen.drop_vars(NUMBER, errors="ignore")
    given_out = _GIVEN_OUT.get()
    if given_out is not None:
        given_out.append(chosen)
    return chosen


@contextmanager
def remembering() -> Iterator[None]:
    """Within, `remembered` has what `select` gives out."""
    token = _GIVEN_OUT.set([])
    try:
        yield
    finally:
        _GIVEN_OUT.reset(token)


def remembered() -> list[xr.Dataset]:
    """What `select` gave out so far, within `remembering`; otherwise nothing."""
    return _GIVEN_OUT.get() or []


def recording() -> AbstractContextManager[set[int]]:
    """Within, `select` adds to this set the numbers of the cells it gives out.

    The numbers are those that its results have.
    """
    return _collecting(_USED)


def planning() -> AbstractContextManager[set[int]]:
    """Within, `select` adds to this set the cells that it might give out.

    These are the numbers of cells that it would give out once they were simulated.
    Their numbers of replications do not matter, nor does a condition that reads what is
    simulated.
    """
    return _collecting(_WANTED)


def naming() -> AbstractContextManager[set[str]]:
    """Within, `select` adds to this set the names of the variables that it gives out."""
    return _collecting(_NAMED)


@contextmanager
def without_lost() -> Iterator[None]:
    """Within, `select` leaves out lost replications: those of which a variable is NaN."""
    token = _MAY_BE_LOST.set(True)
    try:
        yield
    finally:
        _MAY_BE_LOST.reset(token)


def _all_known(chosen: xr.Dataset, variables: tuple[str, ...]) -> xr.DataArray:
    known = xr.ones_like(chosen["status"], bool)
    for name in variables:
        known &= chosen[name].notnull()
    return known


def _check_some_known(chosen: xr.Dataset, ran: xr.DataArray) -> None:
    """Raise LostReplications for a cell that lost all of its replications.

    Without it a claim would be judged on the other cells. ran: (cells…) replications
    that were run.
    """
    known = (chosen["status"] > 0).sum(REPLICATION)
    wholly_lost = (ran > 0) & (known == 0)
    number = int(wholly_lost.sum())
    if not number:
        return
    cells = "a cell" if number == 1 else f"{number} cells"
    raise LostReplications(f"all replications of {cells} failed or did not converge")


@contextmanager
def _collecting(variable: ContextVar[set[Any] | None]) -> Iterator[set[Any]]:
    """Within, `select` adds to a set; at the end it is part of the set around it."""
    collected: set[Any] = set()
    token = variable.set(collected)
    try:
        yield collected
    finally:
        variable.reset(token)
        around = variable.get()
        if around is not None:
            around |= collected


def _numbers(chosen: xr.Dataset, where: xr.DataArray) -> set[int]:
    numbers = chosen[NUMBER].where(where, -1).values.astype(int)
    return {*numbers.ravel().tolist()} - {-1}


def _note_wanted(chosen: xr.Dataset, within: Condition | None) -> None:
    """Add the cells that the condition allows to the set of `planning`."""
    wanted = _WANTED.get()
    if wanted is None or NUMBER not in chosen:
        return
    columns = chosen.data_vars.items()
    simulated = [name for name, values in columns if REPLICATION in values.dims]
    inside = xr.ones_like(chosen[NUMBER], bool)
    if within is not None:
        with suppress(KeyError):  # the condition reads what is simulated
            inside = within(chosen.drop_vars(simulated)) & inside
    wanted |= _numbers(chosen, inside)


def _cells(
    results: xr.Dataset,
    variables: tuple[str, ...],
    at: Mapping[str, Level],
    min_levels: Mapping[str, int],
) -> xr.Dataset:
    """`variables` and `status` over the axes of `min_levels` and replications."""
    results = at_levels(results, at)
    for axis, least in min_levels.items():
        levels = results.sizes.get(axis, 0)
        if levels < least:
            raise NotTested(f"needs {least} levels of {axis}, has {levels}")
    needed = {*variables, "status"}
    missing = sorted(needed - set(results.variables))
    if missing:
        raise NotTested(f"needs {', '.join(missing)}")
    names = [*variables, "status"]
    if NUMBER in results.variables:
        names.append(NUMBER)
    results = results[names]
    others = [axis for axis in results.dims if axis not in (*min_levels, REPLICATION)]
    if any(results.sizes[axis] > 1 for axis in others):
        raise NotTested(f"needs one level of {', '.join(map(str, others))}")
    results = results.squeeze(others, drop=True)
    results = results.unify_chunks()  # a control may have changed them
    if results.chunks:  # it is too large for memory
        return results
    return results.compute()


def _check_replications(
    chosen: xr.Dataset,
    variables: tuple[str, ...],
    least: int,
) -> xr.DataArray:
    """Replications of every cell.

    Raises for too few, or invalid ones, in the cells that are used.
    """
    ran = chosen["status"] > 0
    lost = ran & (chosen["status"] != OK)
    for name in variables:
        unusable = ~np.isfinite(chosen[name])
        if _MAY_BE_LOST.get():
            unusable &= chosen[name].notnull()
        lost |= ran & unusable
    sums = xr.Dataset({"counts": ran.sum(REPLICATION), "lost": lost.sum()})
    sums = sums.compute()  # all of it read once
    _check_counts(sums["counts"].values, least)
    if sums["lost"]:
        raise LostReplications(
            "replications that failed, did not converge or are not finite could change "
            f"the verdict: {int(sums['lost'])} of them, of a metric without a least and a "
            "greatest value"
        )
    return sums["counts"]


def _check_counts(counts: Integers, least: int) -> None:
    """Raise where no cell has replications, or one has some but fewer than the least."""
    used = counts[counts > 0]
    if not used.size:
        raise NotTested("no cell meets the conditions")
    fewest = int(used.min())
    if fewest < least:
        replications = "replication" if fewest == 1 else "replications"
        text = f"a cell has {fewest} {replications}, {least} are needed"
        raise InsufficientEvidence(text)


def at_levels(results: xr.Dataset, levels: Mapping[str, Level]) -> xr.Dataset:
    """`results` at one level of each of these axes, which are dropped.

    `NotTested` without that level.
    """
    for axis, level in levels.items():
        if axis not in results.dims or level not in results[axis].values.tolist():
            raise NotTested(f"needs {axis}={level}")
    return results.sel(levels, drop=True)


def at_constants(results: xr.Dataset, levels: Mapping[str, Level]) -> xr.Dataset:
    """`results` at one level of each of these axes, as if the study had it as a constant.

    Raises `NotTested` without that level.
    """
    if not levels:
        return results
    chosen = at_levels(results, levels)
    study = json.loads(results.attrs.get("study", "{}"))
    study["parameters"] = {**study.get("parameters", {}), **levels}
    return chosen.assign_attrs(study=json.dumps(study))


def constant(results: xr.Dataset, name: str) -> float | str | None:
    """Value of a parameter that the whole study shares; None if it has none of that name."""
    study = json.loads(results.attrs.get("study", "{}"))
    value: float | str | None = study.get("parameters", {}).get(name)
    return value


@dataclass(frozen=True)
class RecordedData:
    """Real data that a claim is about.

    files: digest -> name of what a file holds. give: the setting to mention.
    """

    files: Mapping[str, str]
    give: str

    def require(self, results: xr.Dataset) -> None:
        """Raise `NotTested` unless the study read one of the files."""
        if constant(results, "data_path") not in self.files:
            names = " or ".join(dict.fromkeys(self.files.values()))
            raise NotTested(f"is about {names}, and these are other data: give {self.give}")
