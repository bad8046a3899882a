"""Rates of wrong verdicts, coverage and power, from the verdicts and estimates of many seeds."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from pipeline.analysis.claims import CONTRADICTED, HELD, SUPPORTED, Claim, SimulatedControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import CONFIDENCE
from pipeline.analysis.power import beyond, detected
from pipeline.analysis.tolerances import Tolerance

Records = Sequence[Mapping[str, Any]]
HEAD = """# Calibration: how often verdicts are wrong

Every claim below was judged on many independent simulations of its experiment, and on as many of its controls. They
have the replications of the whole experiment, or where that stops at a precision, the least that every cell has (what
stopping does to verdicts is not judged here); and the grid of its small size (`size=quick`), or the whole grid where
the small one leaves a claim undecided. Each table says which, and with which code it was made. `make calibrate` runs
this for all claims, in hours, and goes on where it was stopped; `make calibrate ARGS="crowd seeds=200"` for some;
`make calibrate ARGS=docs` writes this page from what was run; tables of other experiments stay. Claims about files of
real answers are not here: there is nothing to simulate.

- *truth*: whether the claim holds at this size, by the mean of each estimate over all seeds: yes, no, or *border*,
  where such a mean is within six of its standard errors of an end of the tolerance, or some seeds have no estimate.
- *verdicts*: how many seeds supported the claim (or did not refute a bound that no plausible data could support), how
  many contradicted it, and how many left it undecided, as a small grid may.
- *wrong*: seeds that contradicted the claim though the truth is yes, or supported it though it is no, with the 95 %
  interval of the rate. A dash where no seed decided: that says nothing of wrong verdicts.
- *controls*: how many seeds judged the control as they should, a negative one contradicted and a positive one
  supported; how many the other way, which is wrong; and how many left it undecided.
- *wrong control*: the rate of the second of these.
- *wrong worlds*: how many seeds judged the claim's wrong world as they should; how many the other way; and how many
  left it undecided, or untested. In a wrong world parts of every cell are changed, such as a mechanism that spends
  twice the ε of its label, and simulated under labels that stay: the claim must be contradicted there, or hold where it
  is contradicted here. *none* where no such world can be simulated; the claim says why. A dash: not run so far. They
  may have other numbers of seeds than the experiment, and the whole grid where the small one leaves them undecided.
- *covered*: seeds in which all intervals of the claim cover the means over all seeds. Promised: 99 %. This is about
  the scatter of the estimates; whether their mean is what the claim is about is tested elsewhere, on known truths.
- *spread*: standard deviation of the estimates over the seeds, over the root mean square of the standard errors that
  they report: median over the cells, the smallest and the largest. Above 1, errors are larger than reported; 1.4 is
  beyond chance at 100 seeds, 2 at 20. Below 1, as where they contain the misfit of a law that holds in a limit only,
  smaller.
- *power*: the true value nearest to the tolerance that is contradicted with a chance of 90 %, in the most precise cell,
  by the widths of the intervals and the spread of the estimates over the seeds.

A claim that holds by construction is an *identity*: its truth is no finding. Counts say how many seeds a row has: where
fewer than 20 were run again, rows of unchanged claims stay as they were, and the heading names both codes.

"""
COLUMNS = (
    "claim",
    "claimed",
    "truth",
    "verdicts",
    "wrong",
    "controls",
    "wrong control",
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
            and kept[CLAIMED] == claim.claimed
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

    def shares(column: str) -> dict[str, tuple[int, int]]:
        found = {row["claim"]: re.match(r"(\d+) of (\d+)", row[column]) for row in rows}
        return {name: (int(one[1]), int(one[2])) for name, one in found.items() if one}

    def total(column: str) -> str:
        hits, seeds = np.array([(0, 0), *shares(column).values()]).sum(axis=0).tolist()
        return f"{hits:,} of {seeds:,}"

    few = [
        name
        for name, (hits, seeds) in shares("covered").items()
        if stats.binom.cdf(hits, seeds, CONFIDENCE) < 0.01 / len(rows)
    ]
    counted = {row["claim"]: numbers_of(row["verdicts"]) for row in rows}
    wide = [
        row["claim"]
        for row in rows
        if float(row["spread"].rpartition(" ")[2].strip("]–") or 0)
        > far_spread(sum(counted[row["claim"]]))
    ]
    worlds = [numbers_of(row["wrong worlds"]) for row in rows]
    seen, unseen, open_worlds = np.array([[0, 0, 0], *worlds]).sum(axis=0).tolist()
    undecided = [name for name, (*decided, left) in counted.items() if left > sum(decided)]
    return (
        f"**In short**: {len(rows)} claims. Wrong: {total('wrong')} verdicts on claims whose "
        f"truth is known, {total('wrong control')} on controls. Of "
        f"{seen + unseen + open_worlds:,} wrong worlds of {sum(map(any, worlds))} claims, "
        f"{seen:,} were judged as they must be and {unseen:,} the other way. Covered: "
        f"{total('covered')}; too few for 99 %, at a level of 1 % over all claims: "
        f"{', '.join(few) or 'none'}. Spread beyond chance: {', '.join(wide) or 'none'}. "
        f"Undecided in more than half of the seeds: {', '.join(undecided) or 'none'}."
    )


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
    wrong = {"yes": contradicted, "no": supported}.get(truth) if supported + contradicted else None
    named = f"{truth}, identity" if claim.by_construction else truth
    return [
        f"`{claim.id}`",
        claim.claimed.replace("|", "\\|"),
        named,
        counts(supported, contradicted, len(own)),
        "–" if wrong is None else rate(wrong, len(own)),
        counts(right, missed, len(own)),
        rate(missed, len(own)) if right + missed else "–",
        "–",
        coverage(own, cells),
        spread(cells),
        power(claim, cells, len(own)),
    ]


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
    return [int(number) for number in cell.split(" / ")] if " / " in cell else [0, 0, 0]


def far_spread(seeds: int) -> float:
    """Largest ratio of spread and error that chance explains: 1.4 at 100 seeds, 2.4 at 10."""
    degrees = max(seeds - 1, 1)
    return float((stats.chi2.isf(CHANCE, degrees) / degrees) ** 0.5)


def counts(first: int, second: int, n: int) -> str:
    """Two counts and what is left of n."""
    return f"{first} / {second} / {n - first - second}"


def rate(k: int, n: int) -> str:
    """k of n with Clopper and Pearson's 95 % interval, in per cent."""
    if not n:
        return "–"
    low, high = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    return f"{k} of {n} [{100 * low:.1f}, {100 * high:.1f}] %"


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
    return rate(sum(hits), len(hits))


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
    texts = []
    for part, pairs in ends.items():
        below, above = zip(*pairs, strict=True)
        nearest = np.fmax.reduce(below, initial=-math.inf), np.fmin.reduce(above, initial=math.inf)
        said = beyond(*map(float, nearest), tolerance_of(claim, part))
        texts.append(f"{part}: " * bool(part) + (said or "–"))
    return "; ".join(texts) or "–"


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
