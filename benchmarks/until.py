"""Stopping when claims are decided: errors over all looks, and replications against today's fixed numbers.

First 2,000 synthetic studies of each kind of value: how many have an interval that misses at any look, at the levels of
the looks, and at one level (peeking); and at the last look alone, for a number fixed in advance. Then the experiments
of the four suites, with their numbers of replications as the most: at which of the looks all claims are decided that
the fixed numbers decide. Looks are multiples of 50 replications; a run needs `block=50` for them, here larger blocks
are simulated and read in part, which gives numbers of the same law.

Arguments: `quick` for the quick sizes, names of experiments; without names, those with 200 replications at least.
"""

import itertools
import json
import sys
import time
from collections import Counter
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

import pipeline as pl
from pipeline.analysis.claims import INCONCLUSIVE, NOT_TESTED, Claim, judge
from pipeline.analysis.looks import judge_at
from pipeline.analysis.measures import CONFIDENCE, mean_cells, ratio_cells, spending
from pipeline.cli.compose import compose
from pipeline.cli.config import read_experiment
from pipeline.study.parameters import InvalidInput
from pipeline.study.registry import problems
from pipeline.study.until import FUNCTIONS, Look, Until

STUDIES, BLOCK, MOST = 2000, 50, 2000
SUITES = ("xu", "nguyen", "banerjee", "wang")
LEAST = 200  # replications of a fixed number that leave room for looks: claims need 100


def synthetic() -> dict[str, tuple[xr.Dataset, float]]:
    """Kind of value -> studies, as cells of one dataset, and the true mean or ratio."""
    rng = np.random.default_rng(17)
    shape = (STUDIES, MOST)
    normal, skewed, share = rng.standard_normal(shape), rng.exponential(size=shape), rng.random(shape) < 0.3
    yardstick = rng.gamma(9.0, 1 / 9, shape)
    squares = {"x": np.sqrt(yardstick * skewed), "risk": yardstick}
    kinds = {"normal": ({"x": normal}, 0.0), "exponential": ({"x": skewed}, 1.0), "share of 30 %": ({"x": share}, 0.3),
             "ratio to a yardstick": (squares, 1.0)}
    dims = ("cell", "replication")
    return {name: (xr.Dataset({key: (dims, one.astype(float)) for key, one in values.items()}
                              | {"status": (dims, np.ones(shape, np.int8))}, {"cell": np.arange(STUDIES)}), truth)
            for name, (values, truth) in kinds.items()}


def missed(data: xr.Dataset, truth: float, looks: tuple[Look, ...], peeking: bool) -> float:
    """Share of the studies in which an interval misses the truth at any look, each study with a claim's whole error."""
    wrong = np.zeros(STUDIES, bool)
    for look in looks:
        part = data.isel(replication=slice(look.replications))
        with spending(1.0 if peeking else look.share):
            cells = (ratio_cells(part, "x", "risk", error_share=STUDIES) if "risk" in data
                     else mean_cells(part, "x", error_share=STUDIES))
        wrong |= [not one.covers(truth) for one in cells.values()]
    return float(wrong.mean())


def errors() -> None:
    """Print the error over all looks, of each kind of value and spending function."""
    for (kind, (data, truth)), name in itertools.product(synthetic().items(), FUNCTIONS):
        looks = Until(name, most=MOST).looks(BLOCK)
        kept, peeked = (missed(data, truth, looks, peeking) for peeking in (False, True))
        fixed = missed(data, truth, looks[-1:], peeking=True)
        print(f"{kind:22s} {name:15s} {len(looks)} looks: an interval misses in {kept:.2%} of {STUDIES:,} studies, "
              f"promised {1 - CONFIDENCE:.0%}; with a fixed number {fixed:.2%}, peeking {peeked:.2%}", flush=True)


def experiments() -> dict[str, list[Claim]]:
    """Experiments of the suites -> their claims, without those about people's files."""
    names = dict.fromkeys(one["name"] for suite in SUITES for one in compose([f"suite={suite}"]))
    claims = [claim for one in problems().values() for claim in one.load(one.claims) if claim.recorded is None]
    found = {name: [claim for claim in claims if claim.experiment == name] for name in names}
    return {name: own for name, own in found.items() if own}


class Stop(NamedTuple):
    """What looks do for an experiment. ends: claim -> replications at which it is decided; differ: other verdicts."""

    cells: int
    most: int
    claims: int
    ends: dict[str, int]
    differ: list[str]


def stops(name: str, claims: list[Claim], size: str) -> Stop:
    """At which look each claim is decided that the fixed number of replications decides."""
    study = read_experiment(compose([f"experiment={name}", *[f"size={size}"] * bool(size)])[0]).study
    most = study.replications
    if most < LEAST:
        return Stop(len(study.grid), most, len(claims), {}, [])
    data = pl.simulate(name, **{"size": size} if size else {})
    data = data.assign_attrs(until=json.dumps(asdict(Until(most=most))), cells=len(study.grid))
    ends, differ = {}, []
    for claim in claims:
        fixed = judge(claim, data).check.verdict
        if fixed in (INCONCLUSIVE, NOT_TESTED):
            continue
        looks = Until(most=most).looks(BLOCK)
        first = next(((look, one) for look in looks if (one := judge_at(claim, data, look))), None)
        ends[claim.id] = first[0].replications if first else most
        if (verdict := first[1].check.verdict if first else INCONCLUSIVE) != fixed:
            differ.append(f"{claim.id}: {fixed}, {verdict} by looks")
    return Stop(len(study.grid), most, len(claims), ends, differ)


def main(*arguments: str) -> None:
    """Print errors over all looks, then the replications of every experiment, or of those named, and of all."""
    size, names = ("quick" if "quick" in arguments else ""), {*arguments} - {"quick"}
    with threadpool_limits(1):
        if not names:
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
            used = max(found.ends.values(), default=found.most)
            total += found.cells * np.array([found.most, used]) * bool(found.ends)
            ends = Counter(found.ends.values())
            print(f"{name:26s} {found.cells:4d} cells: {len(found.ends)} of {found.claims} claims decided by "
                  f"{found.most:,} replications, by looks after "
                  + ", ".join(f"{end:,} ({count})" for end, count in sorted(ends.items()))
                  + "".join(f"; {one}" for one in found.differ)
                  + f"; {time.perf_counter() - start:.0f} s", flush=True)
        print(f"all with decided claims: {total[0]:,} replications fixed, {total[1]:,} by looks, "
              f"{total[0] / max(total[1], 1):.2f} times fewer")


if __name__ == "__main__":
    main(*sys.argv[1:])
