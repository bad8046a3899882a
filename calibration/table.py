"""Rates of wrong verdicts, coverage and power, from the verdicts and estimates of many seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from pipeline.analysis.claims import CONTRADICTED, HELD, SUPPORTED, Claim, SimulatedControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import CONFIDENCE
from pipeline.analysis.power import beyond, detected
from pipeline.analysis.tolerances import Tolerance
from tools.statements import asked

Records = Sequence[Mapping[str, Any]]
HEAD = """# Calibration: how often verdicts are wrong

Every claim below was judged on many independent simulations of its experiment, and on as many of its controls, with
the replications of the whole experiment (where that stops at a precision, the least that every cell has), on the grid
of its quick size, or the whole one where that is said. `make calibrate` runs this in hours and goes on where it was
stopped, `make calibrate ARGS="crowd seeds=200"` some of it; `make calibrate ARGS=docs` writes this page from what was
run, and leaves other tables. Claims about files of real answers are not here: there is nothing to simulate.

- *claimed*: the values that support the claim, as in [the statements](statements.md).
- *truth*: whether it holds at this size, by the mean of each estimate over all seeds: yes, no, or *border*, where such
  a mean is within six of its standard errors of an end, or some seeds have no estimate. *identity*: by construction.
- *verdicts*: seeds that supported the claim (or did not refute a bound that no plausible data could support) /
  contradicted it / left it undecided, as a small grid may. Wrong are those of the second kind where the truth is yes,
  and those of the first where it is no. None of 20, 40 or 100 seeds says that the rate is at most 16.8, 8.8 or 3.6 %.
- *controls*: seeds that judged the control as they should / the other way, which is wrong / not at all.
- *wrong worlds*: the same of a world with changed parts under labels that stay, such as a mechanism that spends twice
  its ε: the claim must be contradicted there, or hold where it is contradicted here. *none*: no such world can be
  simulated. A dash: not run. They may have other seeds, and the whole grid where the small one leaves them undecided.
- *covered*: seeds in which all intervals of the claim cover the means over all seeds. Promised: 99 %.
- *spread*: standard deviation of the estimates over the seeds, over the root mean square of the errors that they
  report: median over the cells, smallest and largest. Above 1.4 (100 seeds) or 2 (20) is beyond chance; below 1 where
  errors contain the misfit of a law that holds in a limit only.
- *power*: the true value nearest to the tolerance that is contradicted with a chance of 90 %, in the most precise cell;
  of several parts in the order of *claimed*.

Where fewer than 20 seeds were run again, rows of unchanged claims stay, and the heading names both codes.

"""
COLUMNS = (
    "claim",
    "claimed",
    "truth",
    "verdicts",
    "controls",
    "wrong worlds",
    "covered",
    "spread",
    "power",
)
CLAIMED, VERDICTS, WORLD = (COLUMNS.index(name) for name in ("claimed", "verdicts", "wrong worlds"))
FEWEST = (
    20  # seeds from which on a row takes the place of one of more seeds, made with an older code
)
OTHER_ROWS = "; rows of fewer seeds: "  # in a heading
CHANCE = (
    4e-8  # of a larger spread over error than `far_spread`, of normal estimates with a right error
)
KNOWN = 0.9  # share of seeds whose interval must be finite for a cell to tell of power


class Found(NamedTuple):
    """What was judged of an experiment's claims: records of seeds of itself, and of the claims'
    wrong worlds.
    """

    claims: tuple[Claim, ...]
    records: Records
    worlds: Records


def document(found: Mapping[str, Found], former: str = "") -> str:
    """The page: a table for each experiment. former: a page whose tables and columns stay where
    nothing was run.
    """
    sections = {
        section.partition(",")[0]: section for section in former.rstrip("\n").split("\n\n## ")[1:]
    }
    for experiment, one in found.items():
        if one.records or one.worlds:
            sections[experiment] = _section(experiment, one, sections.get(experiment, ""))
    tables = "\n\n".join(f"## {sections[experiment]}" for experiment in sorted(sections)) + "\n"
    return f"{HEAD}{in_short(tables)}\n\n{tables}"


def _section(experiment: str, found: Found, former: str) -> str:
    """Heading and table of an experiment. former: its section so far, of which the columns that
    were not run stay.

    Rows of more seeds stay where fewer than `FEWEST` were run now, unless something else is
    claimed.
    """
    before = {cells[0]: cells for cells in rows_of(former)}
    former_heading = former.partition("\n")[0].partition(OTHER_ROWS)[0]
    is_few = bool(found.records) and len(found.records) < FEWEST
    rows, replaced = [], 0
    for claim in found.claims:
        empty = [f"`{claim.id}`", *["–"] * (len(COLUMNS) - 1)]
        kept = before.get(empty[0], empty)
        stays = (
            is_few
            and sum(numbers_of(kept[VERDICTS])) > len(found.records)
            and kept[CLAIMED] == _claimed(claim)
        )
        is_new = bool(found.records) and not stays
        cells = row(claim, found.records) if is_new else list(kept)
        cells[WORLD] = world(claim, found.worlds) if found.worlds else kept[WORLD]
        rows.append(f"| {' | '.join(cells)} |")
        replaced += is_new
    heading = former_heading or experiment
    if replaced == len(rows):
        heading = f"{experiment}, {made_of(found.records)}"
    elif replaced:
        heading += f"{OTHER_ROWS}{made_of(found.records)}"
    return "\n".join(
        [heading, "", f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}", *rows]
    )


def made_of(records: Records) -> str:
    """What was run: seeds, replications, grid and code."""
    first = records[0]
    grid = {"quick": "small", "paper": "whole"}[first["size"]]
    return (
        f"{len(records)} seeds of {first['replications']:,} replications, {grid} grid, code "
        f"{first['code']}"
    )


def rows_of(tables: str) -> list[list[str]]:
    """Cells of all rows, in the order of `COLUMNS`; a column that a table lacks has dashes."""
    columns, rows = list(COLUMNS), []
    for line in tables.splitlines():
        if line.startswith("| claim |"):
            columns = line[2:-2].split(" | ")
        elif line.startswith("| `"):
            cells = dict(zip(columns, line[2:-2].split(" | "), strict=True))
            rows.append([cells.get(name, "–") for name in COLUMNS])
    return rows


def in_short(tables: str) -> str:
    """All tables in a few sentences."""
    rows = [dict(zip(COLUMNS, cells, strict=True)) for cells in rows_of(tables)]
    few, wide, undecided = [], [], []
    wrong, missed, hits = Total(), Total(), Total()
    for one in rows:
        supported, contradicted, left = verdicts = numbers_of(one["verdicts"])
        truth = one["truth"].partition(",")[0]
        if truth in ("yes", "no") and supported + contradicted:
            wrong.add(contradicted if truth == "yes" else supported, sum(verdicts))
        right, other, _ = controls = numbers_of(one["controls"])
        if right + other:
            missed.add(other, sum(controls))
        if "/" in one["covered"]:
            covered, seeds = map(int, one["covered"].split("/"))
            hits.add(covered, seeds)
            if stats.binom.cdf(covered, seeds, CONFIDENCE) < 0.01 / len(rows):
                few.append(one["claim"])
        largest = float(one["spread"].rpartition(" ")[2].strip("]–") or 0)
        if largest > far_spread(sum(verdicts)):
            wide.append(one["claim"])
        if left > supported + contradicted:
            undecided.append(one["claim"])
    return (
        f"**In short**: {len(rows)} claims. Wrong: {wrong} verdicts on claims whose truth is "
        f"known, {missed} on controls. {_worlds(rows)} Covered: {hits}; too few for 99 %, at a "
        "level of 1 % over all claims: "
        f"{', '.join(few) or 'none'}. Spread beyond chance: {', '.join(wide) or 'none'}. "
        f"Undecided in more than half of the seeds: {', '.join(undecided) or 'none'}."
    )


def _worlds(rows: Sequence[Mapping[str, str]]) -> str:
    """What became of all wrong worlds."""
    worlds = [numbers_of(one["wrong worlds"]) for one in rows]
    seen, unseen, left = np.array([[0, 0, 0], *worlds]).sum(axis=0).tolist()
    return (
        f"Of {seen + unseen + left:,} wrong worlds of {sum(map(any, worlds))} claims, {seen:,} were "
        f"judged as they must be and {unseen:,} the other way."
    )


@dataclass
class Total:
    """Hits and seeds of many claims."""

    hits: int = 0
    seeds: int = 0

    def add(self, hits: int, seeds: int) -> None:
        """Count one claim's."""
        self.hits += hits
        self.seeds += seeds

    def __str__(self) -> str:
        """How many of how many."""
        return f"{self.hits:,} of {self.seeds:,}"


def row(claim: Claim, records: Records) -> list[str]:
    """What became of one claim over all seeds, in the order of `COLUMNS`."""
    own = [record["claims"][claim.id] for record in records]
    cells = collected(own)
    truth = truth_of(claim, cells, len(own))
    supported, contradicted = (
        sum(one["verdict"] in verdicts for one in own) for verdicts in (HELD, {CONTRADICTED})
    )
    right = sum(one["sound"] for one in own)
    missed = sum(not one["sound"] and one["control"] in {*HELD, CONTRADICTED} for one in own)
    named = f"{truth}, identity" if claim.by_construction else truth
    return [
        f"`{claim.id}`",
        _claimed(claim),
        named,
        counts(supported, contradicted, len(own)),
        counts(right, missed, len(own)),
        "–",
        coverage(own, cells),
        spread(cells),
        power(claim, cells, len(own)),
    ]


def _claimed(claim: Claim) -> str:
    return asked(claim).replace("|", "\\|")


def world(claim: Claim, records: Records) -> str:
    """What became of the wrong world of one claim over all seeds."""
    if not isinstance(claim.simulated, SimulatedControl):
        return "none"
    own = [record["claims"][claim.id] for record in records]
    right = sum(one["right"] for one in own)
    wrong = sum(not one["right"] and one["verdict"] in {*HELD, CONTRADICTED} for one in own)
    return counts(right, wrong, len(own))


def numbers_of(cell: str) -> list[int]:
    """The three numbers of a cell made by `counts`; zeros for a cell that has none."""
    return [int(number) for number in cell.split("/")] if "/" in cell else [0, 0, 0]


def far_spread(seeds: int) -> float:
    """Largest ratio of spread and error that chance explains: 1.4 at 100 seeds, 2.4 at 10."""
    degrees = max(seeds - 1, 1)
    return float((stats.chi2.isf(CHANCE, degrees) / degrees) ** 0.5)


def counts(first: int, second: int, n: int) -> str:
    """Two counts and what is left of n."""
    return f"{first}/{second}/{n - first - second}"


def collected(own: Records) -> dict[tuple[str, str], np.ndarray]:
    """(part, cell) -> (seeds, 4): value, low, high and standard error, of the seeds that have a
    value.
    """
    rows: dict[tuple[str, str], list[list[float]]] = {}
    for one in own:
        for part, cells in one["estimates"].items():
            for cell, numbers in cells.items():
                if math.isfinite(numbers[0]):
                    rows.setdefault((part, cell), []).append(numbers)
    return {key: np.array(numbers) for key, numbers in rows.items()}


def tolerance_of(claim: Claim, part: str) -> Tolerance:
    """Of one part, or of the claim."""
    return claim.tolerance[part] if isinstance(claim.tolerance, Mapping) else claim.tolerance


def truth_of(claim: Claim, cells: Mapping[tuple[str, str], np.ndarray], seeds: int) -> str:
    """yes, no or border: see the page; a dash where no seed has an estimate."""
    verdicts = []
    for (part, _), numbers in cells.items():
        mean, error = numbers[:, 0].mean(), math.inf
        if len(numbers) == seeds > 1:
            # The page compares thousands of means: Student's t with 99 degrees exceeds 6 with a
            # chance of 3·10⁻⁸.
            error = 6 * numbers[:, 0].std(ddof=1) / seeds**0.5
        verdicts.append(
            tolerance_of(claim, part).verdict(Estimate(mean, mean - error, mean + error))
        )
    if not verdicts:
        return "–"
    if CONTRADICTED in verdicts:
        return "no"
    return "yes" if {*verdicts} == {SUPPORTED} else "border"


def coverage(own: Records, cells: Mapping[tuple[str, str], np.ndarray]) -> str:
    """Seeds in which all intervals cover the means over all seeds."""
    means = {key: numbers[:, 0].mean() for key, numbers in cells.items()}
    hits = []
    for one in own:
        intervals = [
            (means[part, cell], numbers)
            for part, of_part in one["estimates"].items()
            for cell, numbers in of_part.items()
            if (part, cell) in means
        ]
        if intervals:
            hits.append(
                all(
                    low - 1e-9 * abs(mean) <= mean <= high + 1e-9 * abs(mean)
                    for mean, (_, low, high, _) in intervals
                )
            )
    return f"{sum(hits)}/{len(hits)}" if hits else "–"


def spread(cells: Mapping[tuple[str, str], np.ndarray]) -> str:
    """Spread of the estimates over their standard errors: median over the cells, smallest and
    largest.
    """
    errors = {
        key: np.mean(numbers[:, 3] ** 2) ** 0.5
        for key, numbers in cells.items()
        if len(numbers) > 1
    }
    ratios = [
        cells[key][:, 0].std(ddof=1) / error
        for key, error in errors.items()
        if 0 < error < math.inf
    ]
    return f"{np.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]" if ratios else "–"


def power(claim: Claim, cells: Mapping[tuple[str, str], np.ndarray], seeds: int) -> str:
    """Part by part, the nearest values below and above the tolerance that are contradicted with a
    chance of 90 %.
    """
    ends: dict[str, list[tuple[float, float]]] = {}
    for (part, _), numbers in cells.items():
        numbers = numbers[np.isfinite(numbers[:, 1:3]).all(axis=1)]
        if len(numbers) < max(KNOWN * seeds, 2):
            continue
        ends.setdefault(part, []).append(detected(typical(numbers), tolerance_of(claim, part)))
    parts: Iterable[str] = claim.tolerance if isinstance(claim.tolerance, Mapping) else ends
    texts = []
    for part in parts:
        said = ""
        if part in ends:
            below, above = zip(*ends[part], strict=True)
            low = np.fmax.reduce(below, initial=-math.inf)
            high = np.fmin.reduce(above, initial=math.inf)
            said = beyond(float(low), float(high), tolerance_of(claim, part))
        texts.append(said or "–")
    if {*texts} <= {"–"}:
        return "–"
    return "; ".join(texts)


def typical(numbers: np.ndarray) -> Estimate:
    """Mean value and interval over the seeds, with the spread of the values as standard error.

    Of ratios, whose intervals are symmetric in the logarithm, these are means and the spread of
    logarithms, so that `detected` moves them in the logarithm, too.
    """
    values, low, high, _ = numbers.T
    if (low > 0).all() and np.allclose(low * high, values**2, rtol=1e-9, atol=0):
        value, low, high = np.exp(np.log(numbers[:, :3]).mean(axis=0))
        return Estimate(value, low, high, value * np.log(values).std(ddof=1))
    return Estimate(*numbers[:, :3].mean(axis=0), values.std(ddof=1))
