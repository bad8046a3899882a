"""What each promise to a person does to the ranks of items, in sentences for the first screen."""

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr

from pipeline.reporting.findings import Extreme
from pipeline.reporting.formatting import number, percent, symbol
from pipeline.reporting.section import Facts
from pipeline.study.guarantee import CURATOR, NOBODY, SHUFFLER

KEPT = "first_kept"
REVERSED = "pairs_reversed"
NEEDED = ("person", "mechanism", "item")  # axes
ALL = "all items"  # level of `item` that is the mean of all
AT = 1.0  # nats: of the promises that were simulated the nearest one is told
RELIABLE = 0.95  # share of releases in which ranks are kept
NO_ORDER = 0.45  # share of pairs reversed; coins reverse one half
TRUSTED = {
    NOBODY: "with nobody trusted",
    SHUFFLER: "with a shuffler",
    CURATOR: "with a curator",
}


def promises(summary: xr.Dataset, facts: Facts) -> Iterator[Extreme]:
    """For each mechanism, how often the first items keep their ranks at about one nat a person.

    Where so many pairs are reversed as if nothing were learned, it says that no order survives.
    Nothing for a study without these axes and metrics.
    """
    if KEPT not in summary or REVERSED not in summary:
        return
    if not set(NEEDED) <= set(summary[KEPT].dims):
        return
    if ALL not in summary["item"].values:
        return
    others = set(summary[KEPT].dims) - set(NEEDED)
    of_all = summary.sel(item=ALL).isel(dict.fromkeys(others, 0))
    persons = of_all["person"].values
    told = float(persons[np.abs(np.log(persons / AT)).argmin()])
    trusts = _trusts(facts)
    first = facts.constants.get("first", 3)
    for mechanism in of_all["mechanism"].values.tolist():
        trust = TRUSTED.get(trusts.get(mechanism, ""))
        if trust is None:
            continue
        curve = of_all.sel(mechanism=mechanism)
        yield _sentence(curve, told, f"{trust} ({symbol(mechanism)})", first)


def _trusts(facts: Facts) -> dict[str, str]:
    """Whom each mechanism trusts, by the mechanism's name."""
    return {protection.mechanism: protection.trust for protection in facts.privacy}


def _sentence(curve: xr.Dataset, told: float, trust: str, first: int) -> Extreme:
    """curve: of one mechanism, over `person`. told: the promise that is told, in nats."""
    cell = curve.sel(person=told)
    kept = f"{percent(cell[KEPT].item())} of releases"
    interval = f"{percent(cell[f'{KEPT}_low'].item())} to {percent(cell[f'{KEPT}_high'].item())}"
    are_reversed = f"{percent(cell[REVERSED].item())} of all pairs are reversed"
    unit = "nat" if told == 1 else "nats"
    promise = f"At {number(told, 3)} {unit} a person, {trust}"
    from_where = _reliable(curve)
    if cell[f"{REVERSED}_high"].item() >= NO_ORDER:
        where = f"coins would reverse 50 %; the first {first} keep their ranks in {kept}"
        return Extreme(f"{promise}, no order survives", are_reversed, where)
    statement = f"{promise}, the first {first} keep their ranks"
    return Extreme(statement, kept, f"{interval}; {are_reversed}; {from_where}")


def _reliable(curve: xr.Dataset) -> str:
    """From which promise on, of those simulated, ranks are kept nearly always."""
    persons = curve["person"].values.astype(float)
    order = np.argsort(persons)
    is_reliable = curve[KEPT].values[order] >= RELIABLE
    smallest = math.inf
    for person, reliable in zip(persons[order][::-1], is_reliable[::-1], strict=True):
        if not reliable:
            break
        smallest = float(person)
    share = f"in {percent(RELIABLE)} of releases they do"
    if math.isinf(smallest):
        return f"{share} at no promise up to {number(persons.max(), 3)} nats"
    return f"{share} from {number(smallest, 3)} nats on"
