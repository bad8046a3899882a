"""What each promise to a person does to the ranks and labels, in sentences for the first screen."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from pipeline.reporting.findings import Extreme
from pipeline.reporting.formatting import number, percent, symbol
from pipeline.reporting.section import Facts
from pipeline.study.guarantee import CURATOR, NOBODY, SHUFFLER

KEPT = "first_kept"
REVERSED = "pairs_reversed"
LABELS = "label_kept"
ITEM = ("item", "all items")  # an axis, and its level that is the mean of all
TASK = ("task", "all tasks")
AT = 1.0  # nats: of the promises that were simulated the nearest one is told
RELIABLE = 0.95  # share of releases in which ranks are kept, or of tasks that keep their labels
NO_ORDER = 0.45  # share of pairs reversed; coins reverse one half
TRUSTED = {
    NOBODY: "with nobody trusted",
    SHUFFLER: "with a shuffler",
    CURATOR: "with a curator",
}


def promises(summary: xr.Dataset, facts: Facts) -> Iterator[Extreme]:
    """For each mechanism, what about one nat a person does to ranks, or to labels.

    Of ranks, how often the first items keep theirs; where so many pairs are reversed as if nothing
    were learned, that no order survives. Of labels, how many tasks keep theirs, with the best
    estimator. Nothing for a study without these axes and metrics.
    """
    if KEPT in summary and REVERSED in summary:
        first = facts.constants.get("first", 3)
        for trust, curve in curves(summary, KEPT, ITEM, facts):
            yield _of_ranks(curve, trust, first)
    elif LABELS in summary:
        for trust, curve in curves(summary, LABELS, TASK, facts):
            yield _of_labels(curve, trust)


def curves(
    summary: xr.Dataset,
    metric: str,
    part: tuple[str, str],
    facts: Facts,
    select: Sequence[str] | None = None,
) -> Iterator[tuple[str, xr.Dataset]]:
    """For each mechanism the trust in words, and its cells over `person`.

    part: an axis, and its level that is the mean of all, or in its place the levels of `select`. Of
    several estimators that with the largest mean; of other axes the first level.
    """
    axis, level = part
    if not {"person", "mechanism", axis} <= set(summary[metric].dims):
        return
    if level not in summary[axis].values:
        return
    of_all = summary.sel({axis: level if select is None else [*select]})
    others = set(of_all[metric].dims) - {"person", "mechanism", "estimator", axis}
    of_all = of_all.isel(dict.fromkeys(others, 0))
    trusts = _trusts(facts)
    for mechanism in of_all["mechanism"].values.tolist():
        trust = TRUSTED.get(trusts.get(mechanism, ""))
        if trust is None:
            continue
        curve = of_all.sel(mechanism=mechanism)
        words = symbol(mechanism)
        if "estimator" in curve.dims:
            of_estimator = [name for name in curve[metric].dims if name != "estimator"]
            means = curve[metric].mean(of_estimator).fillna(-math.inf)
            curve = curve.isel(estimator=int(means.argmax("estimator")))
            words = f"{words}, {symbol(curve['estimator'].item())}"
        yield f"{trust} ({words})", curve


def _trusts(facts: Facts) -> dict[str, str]:
    """Whom each mechanism trusts, by the mechanism's name."""
    return {protection.mechanism: protection.trust for protection in facts.privacy}


def _cell_of_promise(curve: xr.Dataset) -> xr.Dataset:
    """The cell of the promise that is told."""
    distance = np.abs(np.log(curve["person"].values / AT))
    return curve.isel(person=int(distance.argmin()))


def _promise(cell: xr.Dataset, trust: str) -> str:
    person = cell["person"].item()
    unit = "nat" if person == 1 else "nats"
    return f"At {number(person, 3)} {unit} a person, {trust}"


def _interval(cell: xr.Dataset, metric: str) -> str:
    low = percent(cell[f"{metric}_low"].item())
    high = percent(cell[f"{metric}_high"].item())
    return f"{low} to {high}"


def _of_ranks(curve: xr.Dataset, trust: str, first: int) -> Extreme:
    """curve: of one mechanism, over `person`."""
    cell = _cell_of_promise(curve)
    promise = _promise(cell, trust)
    share_kept = f"{percent(cell[KEPT].item())} of releases"
    are_reversed = f"{percent(cell[REVERSED].item())} of all pairs are reversed"
    if cell[f"{REVERSED}_high"].item() >= NO_ORDER:
        where = f"coins would reverse 50 %; the first {first} keep their ranks in {share_kept}"
        return Extreme(f"{promise}, no order survives", are_reversed, where)
    reliable = _reliable(curve, KEPT, f"in {percent(RELIABLE)} of releases they do")
    where = f"{_interval(cell, KEPT)}; {are_reversed}; {reliable}"
    return Extreme(f"{promise}, the first {first} keep their ranks", share_kept, where)


def _of_labels(curve: xr.Dataset, trust: str) -> Extreme:
    """curve: of one mechanism and estimator, over `person`."""
    cell = _cell_of_promise(curve)
    share_kept = f"{percent(cell[LABELS].item())} of tasks"
    reliable = _reliable(curve, LABELS, f"{percent(RELIABLE)} of them do")
    where = f"{_interval(cell, LABELS)}; coins would keep 50 %; {reliable}"
    return Extreme(f"{_promise(cell, trust)}, tasks keep their labels", share_kept, where)


def _reliable(curve: xr.Dataset, metric: str, event: str) -> str:
    """From which promise on, of those simulated, the metric is nearly always 1. event: in words."""
    persons = curve["person"].values.astype(float)
    order = np.argsort(persons)
    is_reliable = curve[metric].values[order] >= RELIABLE
    smallest = math.inf
    for person, reliable in zip(persons[order][::-1], is_reliable[::-1], strict=True):
        if not reliable:
            break
        smallest = float(person)
    if math.isinf(smallest):
        return f"{event} at no promise up to {number(persons.max(), 3)} nats"
    return f"{event} from {number(smallest, 3)} nats on"
