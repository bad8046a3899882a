"""Simulated controls: what a claim says of a wrong world.

In such a world a part of every cell is wrong, and nobody knows it.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import xarray as xr

from pipeline.analysis.claims import (
    CONTRADICTED,
    HELD,
    SUPPORTED,
    Check,
    Claim,
    SimulatedControl,
    check_of,
)
from pipeline.analysis.selection import NUMBER, InsufficientEvidence, planning
from pipeline.analysis.summary import REPLICATION
from pipeline.study.arrays import Integers
from pipeline.study.parameters import InvalidInput, printable
from pipeline.study.status import OK
from pipeline.study.study import Study
from pipeline.study.wrong_worlds import WrongWorld

AS_IT_MUST = "as it must"
OTHERWISE = "otherwise"
UNDECIDED = "undecided"  # what claims say of their wrong worlds
CELL_OUTSIDE = -1  # number of a combination of levels that is no cell of the grid


def checks_of_wrong_worlds(
    claims: Sequence[Claim], study: Study, blank: xr.Dataset
) -> Iterator[tuple[Claim, Check]]:
    """Every claim that has a wrong world, with the decision on it. Arguments as in
    `wrong_world`.

    Claims with one control share its simulations; one world is in memory at a time.
    """
    for control, sharing in _by_control(claims).items():
        results = wrong_world(sharing, control, study, blank)
        for claim in sharing:
            yield claim, check_of(claim, results)


def as_expected(claim: Claim, check: Check) -> bool:
    """Whether a claim says of its wrong world what it must.

    That is contradicted, or that it holds where it should there.
    """
    control = claim.simulated
    assert isinstance(control, SimulatedControl)
    expected = claim.best if control.verdict == SUPPORTED else control.verdict
    return check.verdict == expected


def outcome(claim: Claim, check: Check) -> str:
    """`AS_IT_MUST`; `OTHERWISE` for a world that is judged the wrong way.

    `UNDECIDED` where the data do not decide.
    """
    if as_expected(claim, check):
        return AS_IT_MUST
    return OTHERWISE if check.verdict in (*HELD, CONTRADICTED) else UNDECIDED


def _by_control(claims: Iterable[Claim]) -> dict[SimulatedControl, list[Claim]]:
    sharing: dict[SimulatedControl, list[Claim]] = {}
    for claim in claims:
        if isinstance(claim.simulated, SimulatedControl):
            sharing.setdefault(claim.simulated, []).append(claim)
    return sharing


def wrong_world(
    claims: Sequence[Claim],
    control: SimulatedControl,
    study: Study,
    blank: xr.Dataset,
) -> xr.Dataset:
    """The results of a wrong world, in the cells that the claims read; elsewhere
    `status` is 0.

    study: its seed and replications are used. blank: the study's results before
    anything was run, (grid axes…, replication), with all coordinates. What a claim
    reads is recorded on placeholders, and again with the simulated cells in their
    place, until it wants no other cell. Raises InvalidInput, which names the claim,
    where the change or a part that it gives fails.
    """
    world = WrongWorld.of(study, control.change)
    results = blank.copy(deep=True)
    numbers = cell_numbers(study)
    simulated: set[int] = set()
    missing = _wanted(claims, results, numbers)
    while missing:
        with _named_in_errors(claims[0], control):
            _fill(results, world, numbers, missing)
        simulated |= missing
        missing = _wanted(claims, results, numbers) - simulated
    return results


def changes_nothing(claim: Claim, study: Study) -> bool:
    """Whether a claim's wrong world has the declared parts in every cell.

    As by a misspelled parameter. Raises InvalidInput as `wrong_world` does.
    """
    control = claim.simulated
    assert isinstance(control, SimulatedControl)
    world = WrongWorld.of(study, control.change)
    with _named_in_errors(claim, control):
        return all(world.components(labels) == study.components(labels) for labels in study.grid)


@contextmanager
def _named_in_errors(claim: Claim, control: SimulatedControl) -> Iterator[None]:
    """Say of an error that it is of a claim's wrong world; the machine's are as they are."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        fault = printable(f"{type(error).__name__}: {error}")
        fails = f"its wrong world, {control.description}, cannot be simulated: {fault}"
        raise InvalidInput("claim", claim.id, fails) from error


def cell_numbers(study: Study) -> Integers:
    """(grid…) number of every combination of levels.

    Numbers are in the order of the grid's cells, −1 for a combination that is no cell.
    """
    axes = study.grid.axes
    numbers = np.full([len(levels) for levels in axes.values()], CELL_OUTSIDE)
    for number, labels in enumerate(study.grid):
        position = tuple(levels.index(labels[axis]) for axis, levels in axes.items())
        numbers[position] = number
    return numbers


def _wanted(
    claims: Iterable[Claim],
    results: xr.Dataset,
    numbers: Integers,
) -> set[int]:
    """Numbers of the cells that claims read, as far as the cells that were run tell."""
    trial = _with_placeholders(results, numbers)
    wanted: set[int] = set()
    for claim in claims:
        wanted |= _wanted_by(claim, trial, numbers)
    return wanted


def _wanted_by(claim: Claim, trial: xr.Dataset, numbers: Integers) -> set[int]:
    """Numbers of the cells that a claim reads. trial: with placeholders."""
    untestable = False
    with planning() as wanted, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            claim.measured(trial)
        except InsufficientEvidence:
            untestable = True
        except Exception:  # of placeholders a measure may make no sense
            pass
    if wanted or untestable:
        return wanted
    return {*numbers.ravel().tolist()} - {CELL_OUTSIDE}  # it reads without `select`


def _with_placeholders(results: xr.Dataset, numbers: Integers) -> xr.Dataset:
    """Results with numbers of cells, and with values in cells that were not run.

    These are finite, in the cells of the grid.
    """
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    inside = xr.DataArray(numbers != CELL_OUTSIDE, dims=axes)
    not_run = (results["status"] == 0) & inside
    noise = np.random.default_rng(0).uniform(0.1, 0.9, results.sizes[REPLICATION])
    placeholder = xr.DataArray(noise, dims=[REPLICATION])
    trial = results.assign(status=results["status"].where(~not_run, OK))
    for name, values in results.data_vars.items():
        if name != "status" and REPLICATION in values.dims:
            trial[name] = values.where(~not_run, placeholder).transpose(*values.dims)
    return trial.assign({NUMBER: (axes, numbers)})


def _fill(
    results: xr.Dataset,
    world: WrongWorld,
    numbers: Integers,
    cells: set[int],
) -> None:
    """Simulate some cells and put them into results."""
    for number, columns in world.simulated(cells).items():
        position = tuple(int(index[0]) for index in np.nonzero(numbers == number))
        for name, values in columns.items():
            results[name].values[position] = values
