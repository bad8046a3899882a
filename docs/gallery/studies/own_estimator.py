"""
Is an estimator of my own better?
=================================

Borda scores count how often an item wins, which takes no iterations. They are registered as an
estimator, and compared with the debiased M-estimator on the same releases.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

import pipeline as pl
from pipeline.analysis.summary import paired_difference


@dataclass(frozen=True)
class Borda(pl.Checked):
    """Score of an item: its mean share of wins over the others, a little more than ½, in logits of
    equal items.
    """

    m: int = pl.parameter("items", unit="items", low=2)
    accepts: ClassVar[type] = pl.ranking.ReleasedWins

    def fit(self, release, rng):
        first, second = np.triu_indices(self.m, 1)
        theta, lead = (
            np.zeros((len(release.wins), self.m)),
            4 * (release.debiased_mean() - 0.5) / self.m,
        )
        for pair in range(len(first)):
            theta[:, first[pair]] += lead[:, pair]
            theta[:, second[pair]] -= lead[:, pair]
        return pl.ranking.PreferenceEstimate(theta, np.full(len(theta), True), 0.0)

    def cost(self):
        return 10.0 * self.m**2


pl.register("ranking", estimators={"borda": Borda})
results = pl.simulate(
    pl.Study(
        "borda",
        "ranking",
        seed=1,
        replications=500,
        block=500,
        metrics=("error_l2", "kendall"),
        grid={"epsilon": [0.25, 0.5, 1, 2, 4], "estimator": ["borda", "debiased"]},
        parameters=dict(model="btl", m=10, L=400, mechanism="randomized_response"),
    )
)
difference = paired_difference(results, "error_l2", "estimator", "borda", "debiased")
for epsilon in results.epsilon.values:
    one = difference.sel(epsilon=epsilon)
    print(
        f"ε = {epsilon:4}: error of Borda minus debiased {one['mean'].item():+.3f} "
        f"[{one.low.item():+.3f}, {one.high.item():+.3f}] logits"
    )

# %% At a small ε both know little, and differ little. At a large one the bias of scores that are
# linear remains.

cells = pl.summarise(results)
figure, axes = plt.subplots(layout="constrained")
for name in cells.estimator.values:
    curve = cells.sel(estimator=name)
    axes.errorbar(
        curve.epsilon, curve.error_l2, 1.96 * curve.error_l2_mcse, fmt="o-", capsize=2, label=name
    )
axes.set(
    xscale="log",
    yscale="log",
    xlabel="ε of one comparison",
    ylabel="error of the preferences, logits",
)
axes.legend()
plt.show()
