"""Targets of precision at work: which units of a study still count."""

from typing import Any

import numpy as np

from pipeline.execution import sweep
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import workers_of
from pipeline.execution.stopping import Advance, Prefix, Rule, Stopping
from pipeline.storage import results
from pipeline.storage.layout import Layout, positions
from pipeline.storage.replications import Listing, Store
from pipeline.study.arrays import Booleans
from pipeline.study.pairing import Pairing
from pipeline.study.study import Study

FEW = 20_000  # units that are read before worker processes have started


def rule_of(study: Study) -> Rule | None:
    """When cells need no more replications; None where the study asks for a number of them."""
    if not study.precision:
        return None
    from pipeline.analysis.precision import Rule  # SciPy

    return Rule(study, Pairing(study))


def counted(store: Store) -> Booleans:
    """(cells, blocks): units that the sealed results are made of."""
    study = store.study
    if not study.precision:
        return np.ones((len(study.grid), study.blocks), bool)
    run = results.load(store, results.SUMMARY)["status"].sel(count="run").values
    blocks = run.reshape(-1)[positions(study, Layout.of(study))] // study.block
    units: Booleans = np.arange(study.blocks) < blocks[:, None]
    return units


def limits(store: Store, listing: Listing, cluster: Any) -> Stopping | None:
    """How many blocks the cells still need, read from those that are finished; None without targets of precision."""
    if (rule := rule_of(store.study)) is None:
        return None
    prefixes: dict[int, Prefix] = {}
    groups = len(Pairing(store.study).cells)

    def collect(found: list[Prefix], bundle: Bundle, _: int) -> None:
        prefixes.update(zip(bundle.units, found, strict=True))

    with workers_of(cluster, listing.done.sum() > FEW) as executor:
        sweep.run(executor, Advance(store, rule), ((group, 1.0) for group in range(groups)), on_done=collect)
    return Stopping(store, rule, (prefixes[group] for group in range(groups)), listing.done)
