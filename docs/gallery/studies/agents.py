"""
How unequal does luck make people?
==================================

Everybody begins with one coin. In each step, everybody who has a coin gives one to somebody drawn
at random. This is the first example of Mesa, a package for models of agents, written here as a plain
class; a model of Mesa would take its place in the same way. What its batch run does, runs for every
level of its parameters with seeds of their own, a study does, and it can be resumed.
"""

import matplotlib.pyplot as plt
import numpy as np

import pipeline as pl


class Town:
    """People with coins."""

    def __init__(self, rng, people):
        self.rng = rng
        self.coins = [1] * people

    def step(self):
        """Everybody acts once, in an order that is drawn."""
        people = len(self.coins)
        order = self.rng.permutation(people)
        others = self.rng.integers(0, people, people)
        for giver, taker in zip(order.tolist(), others.tolist(), strict=True):
            if self.coins[giver]:
                self.coins[giver] -= 1
                self.coins[taker] += 1


def town(rng, people, steps):
    """The town after so many steps."""
    made = Town(rng, people)
    for _ in range(steps):
        made.step()
    return made


def inequality(made):
    """The Gini coefficient: 0 where all have the same, near 1 where one has all."""
    coins = np.sort(made.coins)
    count = len(coins)
    ranks = np.arange(count, 0, -1)
    return {"gini": 1 + 1 / count - 2 * (ranks @ coins) / (count * coins.sum())}


study = pl.study(
    town,
    inequality,
    name="coins",
    grid={"people": [10, 50, 200], "steps": [0, 1, 3, 10, 30, 100]},
    measures={"gini": {"long_name": "Gini coefficient", "least": 0.0, "most": 1.0}},
    replications=100,
)
cells = pl.summarise(pl.simulate(study))
for people in cells.people.values:
    last = cells.sel(people=people).isel(steps=-1)
    print(f"{people:4} people: {last.gini.item():.3f} ± {1.96 * last.gini_mcse.item():.3f}")

# %% One step makes most of the inequality, and after some ten steps it stays. In a small town it is
# a little less.

figure, axes = plt.subplots(layout="constrained")
for people in cells.people.values:
    curve = cells.sel(people=people)
    axes.errorbar(
        curve.steps,
        curve.gini,
        1.96 * curve.gini_mcse,
        fmt="o-",
        capsize=2,
        label=f"{people} people",
    )
axes.set_xscale("symlog", linthresh=1)
axes.set(xlim=(-0.1, 120), xlabel="steps", ylabel="Gini coefficient")
axes.legend()
plt.show()
