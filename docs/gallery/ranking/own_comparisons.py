"""
How far would privacy move the ranking of my own items?
=======================================================

A file of your own says who won how often. How many pairs of items would be ranked the other way
round at each promise to a person, and which promise moves fewer than one pair in ten, if nobody is
trusted?
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.analysis.boundaries import crossing

wins = {
    "tea,coffee": 62,
    "coffee,tea": 38,
    "tea,milk": 71,
    "milk,tea": 29,
    "coffee,milk": 58,
    "milk,coffee": 42,
    "milk,water": 55,
    "water,milk": 45,
    "tea,water": 78,
    "water,tea": 22,
    "coffee,water": 66,
    "water,coffee": 34,
}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "comparisons.csv"
    path.write_text(
        "winner,loser,count\n" + "".join(f"{pair},{count}\n" for pair, count in wins.items())
    )
    results = pl.simulate("own/ranking", data={"path": path}, replications=400, block=400)
cells = pl.summarise(results)
local = cells.sel(mechanism="randomized_response")
every = local.sel(item="all items")
found = crossing(every.pairs_reversed, every.pairs_reversed_mcse, "person", 0.1)
print("without privacy:", ", ".join(str(name) for name in cells.item.values[1:]))
print(
    f"one pair in ten is reversed at {found.value.item():.2f} nats a person "
    f"[{found.low.item():.2f}, {found.high.item():.2f}]"
)

# %%
# Every item is an axis level of its own: how often does it keep its rank?

figure, axes = plt.subplots(layout="constrained")
for name in cells.item.values[1:]:
    curve = local.sel(item=name)
    axes.errorbar(
        curve.person,
        curve.rank_kept,
        1.96 * curve.rank_kept_mcse,
        fmt="o-",
        capsize=2,
        label=str(name),
    )
axes.set(
    xscale="log",
    xlabel="privacy budget of a person (nats)",
    ylabel="probability that the rank is kept",
    ylim=(0, 1),
)
axes.legend()
plt.show()
