"""Connected components of the graph that links the items of a study."""

from collections.abc import Sequence

import numpy as np
import scipy

from pipeline.study.arrays import Integers


def unconnected(first: Integers, second: Integers, nodes: int, names: Sequence[str]) -> list[str]:
    """Names of the items outside the largest component, the one with most items.

    Empty if all are connected. first, second: (edges,), the two nodes of
    each edge. nodes: their number; the items come first, and persons may
    follow. names: of items. O(nodes + edges).
    """
    graph = scipy.sparse.coo_array(
        (np.ones(len(first), bool), (first, second)), shape=(nodes, nodes)
    )
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return outside_largest(component[: len(names)], names)


def outside_largest(component: Integers, names: Sequence[str]) -> list[str]:
    """Names of the items outside the largest component, of several the first.

    component: (items,), labels.
    """
    largest = np.bincount(component).argmax()
    labels = zip(names, component, strict=True)
    return [name for name, label in labels if label != largest]
