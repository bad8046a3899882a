"""
When does a t test err too often?
=================================

A t test of equal variances is to reject in 5 % of cases where two means are equal. With groups of
unequal sizes and spreads it does not, and Welch's test does. These are the 36 conditions of the
example of SimDesign for R, as two plain functions: nothing here is about privacy.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pipeline as pl


def two_groups(rng, reps, size, ratio, spread):
    """Data sets of all replications, (reps, people) each: equal means, unequal spreads."""
    second = int(size / (ratio + 1))
    return rng.normal(size=(reps, size - second)), spread * rng.normal(size=(reps, second))


def both_tests(data):
    """Whether each test rejects at 5 %, (reps,)."""
    return {
        "student": stats.ttest_ind(*data, axis=1).pvalue < 0.05,
        "welch": stats.ttest_ind(*data, axis=1, equal_var=False).pvalue < 0.05,
    }


SHARE = {"least": 0.0, "most": 1.0}
study = pl.study(
    two_groups,
    both_tests,
    name="t_tests",
    grid={"size": [30, 60, 90, 120], "ratio": [0.5, 1.0, 2.0], "spread": [1.0, 4.0, 8.0]},
    measures={
        "student": {"long_name": "rejected by Student's test", **SHARE},
        "welch": {"long_name": "rejected by Welch's test", **SHARE},
    },
    replications=1000,
)
start = time.process_time()
cells = pl.summarise(pl.simulate(study))
print(f"{study.replications * len(study.grid):,} data sets in {time.process_time() - start:.2f} s")
for test in ("student", "welch"):
    worst = cells.isel(size=-1).sel(ratio=2.0, spread=8.0)
    low, high = worst[f"{test}_low"].item(), worst[f"{test}_high"].item()
    print(f"{test:8} rejects {worst[test].item():.3f} [{low:.3f}, {high:.3f}] of equal means")

# %% The smaller group has the larger spread where the ratio is 2: Student's test errs too often
# there, and too seldom where the larger group has it.

figure, axes = plt.subplots(layout="constrained")
for test, marker in (("student", "o"), ("welch", "s")):
    for ratio in cells.ratio.values:
        curve = cells.sel(size=120, ratio=ratio)
        axes.plot(curve.spread, curve[test], f"{marker}-", label=f"{test}, {ratio:g} : 1")
axes.axhline(0.05, color="black", linestyle="dotted")
axes.set(xlabel="spread of the second group, over that of the first", ylabel="share rejected")
axes.set_yscale("log")
axes.set_xticks(np.unique(cells.spread))
figure.legend(loc="outside lower center", ncols=3)
plt.show()
