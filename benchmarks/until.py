"""Stopping when claims are decided: errors over all looks, and replications against today's fixed
numbers.

First 2,000 synthetic studies of each kind of value, of one cell and of four: in how many the
interval of a cell misses its true value at any look, at which it would then decide the cell; at the
levels of the looks, and at one level (peeking); and at the last look alone, for a number fixed in
advance. Then the experiments of the four suites, with their numbers of replications as the most:
where each cell ends when the claims are judged at looks that the fixed numbers decide. Looks are
multiples of 50 replications; a run needs `block=50` for them, here larger blocks are simulated and
read in part, which gives numbers of the same law.

Run it as `python -m benchmarks.until` with arguments: `errors` for the first part alone; `quick`
for the quick sizes; names of experiments, without which all with 200 replications at least are run.
"""

import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

import pipeline as pl
from pipeline.analysis.claims import INCONCLUSIVE, NOT_TESTED, Claim, judge
from pipeline.analysis.looks import Ends
from pipeline.analysis.measures import CONFIDENCE, mean_cells, ratio_cells, spending
from pipeline.cli.compose import compose
from pipeline.identity.registry import problems
from pipeline.study.parameters import InvalidInput
from pipeline.study.until import FUNCTIONS, Look, Until
from pipeline.workflow.config import read_experiment

STUDIES, CELLS, BLOCK, MOST = 2000, 4, 50, 2000
SUITES = ("xu", "nguyen", "banerjee", "wang")
LEAST = 200  # replications of a fixed number that leave room for looks: claims need 100


def synthetic() -> Iterator[tuple[str, xr.Dataset, float]]:
    """Kind of value, studies as cells of one dataset, and the true mean or ratio.

    One in memory at a time.
    """
    rng, shape, dims = np.random.default_rng(17), (STUDIES * CELLS, MOST), ("cell", "replication")

    def made(**values: np.ndarray) -> xr.Dataset:
        columns = values | {"status": np.ones(shape, np.int8)}
        return xr.Dataset(
            {name: (dims, one) for name, one in columns.items()}, {"cell": np.arange(shape[0])}
        )

    yield "normal", made(x=rng.standard_normal(shape)), 0.0
    yield "exponential", made(x=rng.exponential(size=shape)), 1.0
    yield "share of 30 %", made(x=(rng.random(shape) < 0.3).astype(float)), 0.3
    yardstick = rng.gamma(9.0, 1 / 9, shape)
    yield (
        "ratio to a yardstick",
        made(x=np.sqrt(yardstick * rng.exponential(size=shape)), risk=yardstick),
        1.0,
    )


def missed(
    data: xr.Dataset, truth: float, looks: tuple[Look, ...], cells: int, peeking: bool
) -> float:
    """Share of the studies in which the interval of a cell misses the truth at any look: it then
    decides the cell.

    cells: of a study, whose intervals have a claim's error together.
    """
    data = data.isel(cell=slice(STUDIES * cells))
    wrong = np.zeros(STUDIES * cells, bool)
    for look in looks:
        part = data.isel(replication=slice(look.replications))
        with spending(1.0 if peeking else look.share):
            found = (
                ratio_cells(part, "x", "risk", error_share=STUDIES)
                if "risk" in data
                else mean_cells(part, "x", error_share=STUDIES)
            )
        wrong |= [not one.covers(truth) for one in found.values()]
    return float(wrong.reshape(STUDIES, cells).any(1).mean())


def errors() -> None:
    """Print the error over all looks, of each kind of value, spending function, and number of
    cells.
    """
    for kind, data, truth in synthetic():
        for name, cells in itertools.product(FUNCTIONS, (1, CELLS)):
            looks = Until(name, most=MOST).looks(BLOCK)
            kept, peeked = (missed(data, truth, looks, cells, peeking) for peeking in (False, True))
            fixed = missed(data, truth, looks[-1:], cells, peeking=True)
            print(
                f"{kind:22s} {name:15s} {len(looks)} looks, {cells} cells: wrong in {kept:.2%} of "
                f"{STUDIES:,} studies, promised {1 - CONFIDENCE:.0%}; with a fixed number "
                f"{fixed:.2%}, peeking {peeked:.2%}",
                flush=True,
            )


def experiments() -> dict[str, list[Claim]]:
    """Experiments of the suites -> their claims, without those about people's files."""
    names = dict.fromkeys(one["name"] for suite in SUITES for one in compose([f"suite={suite}"]))
    claims = [
        claim
        for one in problems().values()
        for claim in one.load(one.claims)
        if claim.recorded is None
    ]
    found = {name: [claim for claim in claims if claim.experiment == name] for name in names}
    return {name: own for name, own in found.items() if own}


class Stop(NamedTuple):
    """What looks do for an experiment.

    fixed, used: replications of all cells; decided: of how many claims; ends: replications -> how
    many cells ended there; by: claim -> how many replications of cells it needed last; differ:
    other verdicts.
    """

    fixed: int
    used: int
    claims: int
    decided: int
    ends: Counter[int]
    by: Counter[str]
    differ: list[str]


def stops(name: str, claims: list[Claim], size: str) -> Stop:
    """Where each cell ends when the claims are judged at looks that the fixed number of
    replications decides.
    """
    study = read_experiment(
        compose([f"experiment={name}", *[f"size={size}"] * bool(size)])[0]
    ).study
    most, cells = study.replications, len(study.grid)
    if most < LEAST:
        return Stop(most * cells, most * cells, len(claims), 0, Counter(), Counter(), [])
    data = pl.simulate(name, **{"size": size} if size else {})
    verdicts = {claim.id: judge(claim, data).check.verdict for claim in claims}
    wanted = [claim for claim in claims if verdicts[claim.id] not in (INCONCLUSIVE, NOT_TESTED)]
    there = (data["status"] > 0).any("replication").values
    found = Ends(wanted, Until(most=most).looks(BLOCK), there.shape)
    while not found.over:
        found.look(data)
    differ = [
        f"{one.claim.id}: {verdicts[one.claim.id]}, {one.check.verdict} by looks"
        for one in found.claims
        if one.check.verdict != verdicts[one.claim.id] or not one.sound
    ]
    by: Counter[str] = Counter()
    ends = found.ends[there].tolist()
    for end, k in zip(ends, found.by[there].tolist(), strict=True):
        by[wanted[k].id if k >= 0 else "none"] += end
    return Stop(most * cells, sum(ends), len(claims), len(wanted), Counter(ends), by, differ)


def main(*arguments: str) -> None:
    """Print errors over all looks, then the replications of every experiment, or of those named,
    and of all.
    """
    size, names = ("quick" if "quick" in arguments else ""), {*arguments} - {"quick"}
    with threadpool_limits(1):
        if not names or names == {"errors"}:
            errors()
        total = np.zeros(2, int)
        for name, claims in experiments().items():
            if names and name not in names:
                continue
            start = time.perf_counter()
            try:
                found = stops(name, claims, size)
            except InvalidInput as error:  # it is about a person's file
                print(f"{name:26s} not run: {error}")
                continue
            total += np.array([found.fixed, found.used]) * bool(found.decided)
            print(
                f"{name:26s} {found.decided} of {found.claims} claims decided by {found.fixed:,} "
                f"replications of all cells, by looks by {found.used:,}, "
                f"{found.fixed / found.used:.2f} times fewer; cells end after "
                + ", ".join(f"{end:,} ({count})" for end, count in sorted(found.ends.items()))
                + "; for "
                + ", ".join(f"{claim} {used:,}" for claim, used in found.by.most_common())
                + "".join(f"; {one}" for one in found.differ)
                + f"; {time.perf_counter() - start:.0f} s",
                flush=True,
            )
        print(
            f"all with decided claims: {total[0]:,} replications fixed, {total[1]:,} by looks, "
            f"{total[0] / max(total[1], 1):.2f} times fewer"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
