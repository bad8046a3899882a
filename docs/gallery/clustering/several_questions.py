"""
One question with all of ε, or several with a part each?
========================================================

A user with ε = 8 may answer one question, ⌈ε⌉ questions with ε/⌈ε⌉ each, or the number that theory
finds best. How often are the clusters recovered, from the same number of users?
"""

import matplotlib.pyplot as plt

import pipeline as pl
from pipeline.problems.clustering.theory.sample_sizes import best_split

epsilon, asked = 8.0, [1, 2, 4, 8, 16]
results = pl.simulate(
    pl.Study(
        "questions",
        "clustering",
        seed=1,
        replications=60,
        block=30,
        metrics=("recovered",),
        grid={"Q": asked},
        parameters=dict(
            model="block_model",
            N=100,
            w=25,
            U=8000,
            epsilon=epsilon,
            alpha="1",
            beta="0.5, 0.5",
            b="0.9, 0.1",
            mechanism="multi_max_sense",
            estimator="score_clustering",
        ),
    )
)
cells = pl.summarise(results)
print("best by theory:", best_split(epsilon), "questions")
for Q in asked:
    one = cells.sel(Q=Q)
    print(
        f"{Q:2} questions: recovered with probability {one.recovered.item():.2f} "
        f"[{one.recovered_low.item():.2f}, {one.recovered_high.item():.2f}]"
    )

# %%
figure, axes = plt.subplots(layout="constrained")
axes.errorbar(asked, cells.recovered, 1.96 * cells.recovered_mcse, fmt="o-", capsize=2)
axes.axvline(best_split(epsilon), color="0.5", linestyle=":")
axes.set(
    xscale="log",
    xlabel="questions to each user",
    ylabel="probability that all clusters are recovered",
)
plt.show()
