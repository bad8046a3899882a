"""Targets of precision in a command: which units count, and which are still needed."""


import numpy as np

from pipeline.execution import sweep
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import Cluster, workers_of
from pipeline.execution.schedule import Limits
from pipeline.execution.stopping import Advance, Prefix, Rule, Settled, Stopping
from pipeline.storage import results
from pipeline.storage.layout import Layout, positions
from pipeline.storage.replications import Listing, Store
from pipeline.study.arrays import Booleans, Integers
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
    units: Booleans = np.arange(store.study.blocks) < _sealed_blocks(store)[:, None]
    return units


def _sealed_blocks(store: Store) -> Integers:
    """(cells,) number of blocks that the sealed results are made of."""
    study = store.study
    if not study.precision:
        return np.full(len(study.grid), study.blocks)
    if wrong := results.problems_of(store.backend, results.SUMMARY):
        raise store.invalid(f"is damaged ({wrong[0]}); task=verify repair=true removes it, and the same command makes "
                            "it again", results.SUMMARY)
    summary = results.load(store, results.SUMMARY)
    if summary.attrs["request"] != results.request(study):
        raise OSError("another driver sealed other results in between")
    run: Integers = summary["status"].sel(count="run").values.reshape(-1)
    return run[positions(study, Layout.of(study))] // study.block


def on_target(store: Store) -> str:
    """A line on how many groups of cells of sealed results met their targets; empty without targets."""
    if not store.study.precision or not results.is_sealed(store):
        return ""
    said = results.root_attributes(store.backend)
    met, groups = said["groups_on_target"], said["groups"]
    rest = "" if met == groups else f"; the others have all {store.study.replications:,} replications"
    return f"{met:,} of {groups:,} groups of cells on target{rest}"


def limits(store: Store, listing: Listing, cluster: Cluster) -> Limits | None:
    """How many blocks the cells still need, read from those that are finished; None without targets of precision."""
    if (rule := rule_of(store.study)) is None:
        return None
    if results.is_sealed(store):
        return Settled(_sealed_blocks(store), listing.done)
    prefixes: dict[int, Prefix] = {}
    groups = len(Pairing(store.study).cells)

    def collect(found: list[Prefix], bundle: Bundle, _: int) -> None:
        prefixes.update(zip(bundle.units, found, strict=True))

    with workers_of(cluster, listing.done.sum() > FEW) as executor:
        sweep.run(executor, Advance(store, rule), ((group, 1.0) for group in range(groups)), on_done=collect)
    return Stopping(store, rule, (prefixes[group] for group in range(groups)), listing.done)
