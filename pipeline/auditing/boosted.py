"""A score from boosted trees, which sees how numbers depend on each other; by scikit-learn, where
that is installed.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from pipeline.auditing.scores import Score, TableScore, finite
from pipeline.study.arrays import Floats

LEAST = 2_000  # samples of either data set, from which on trees are learned
MOST = 40_000
FEWEST_OUTPUTS = 1_000  # up to which a table tells all
MOST_COLUMNS = 64
TREES = 40
LEAVES = 16
RATE = 0.2


@dataclass(frozen=True, eq=False)
class BoostedScore(Score):
    """What trees give: log odds that an output is of the first data set."""

    trees: Any

    def __call__(self, outputs: Floats) -> Floats:
        """The log odds of each output."""
        with _one_thread():
            scores: Floats = np.asarray(self.trees.decision_function(finite(outputs)), float)
        return scores

    def describe(self) -> str:
        """The trees, in words."""
        return "boosted trees of all numbers"


def boosted(first: Floats, second: Floats, table: TableScore | None) -> list[Score]:
    """The score that trees learn; none where a table tells all, or scikit-learn is missing."""
    columns = first.shape[1]
    enough = min(len(first), len(second)) >= LEAST
    if not enough or not 1 < columns <= MOST_COLUMNS or find_spec("sklearn") is None:
        return []
    if table is not None and len(table.keys) <= FEWEST_OUTPUTS:
        return []
    from sklearn.ensemble import HistGradientBoostingClassifier  # a second to import

    trees = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        early_stopping=False,
        random_state=0,
    )
    outputs = finite(np.concatenate([first[:MOST], second[:MOST]]))
    is_first = np.arange(len(outputs)) < len(first[:MOST])
    with _one_thread():
        trees.fit(X=outputs, y=is_first)
    return [BoostedScore(trees)]


def _one_thread() -> AbstractContextManager[object]:
    """Within, OpenMP has one thread: a forked process must not start more."""
    limits: AbstractContextManager[object] = _pools().limit(limits=1, user_api="openmp")
    return limits


@cache
def _pools() -> Any:  # noqa: ANN401 - threadpoolctl has no types
    """The pools of threads of this process: to look for them takes as long as to learn a tree."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()
