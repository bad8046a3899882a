"""Targets of precision in a command: which units count, and which are still needed."""

import numpy as np

from pipeline.execution import sweep
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import FEW_FILES, Cluster, workers_of
from pipeline.execution.schedule import NeededBlocks
from pipeline.execution.stopping import Prefix, PrefixReader, Rule, Settled, Stopping
from pipeline.storage import results
from pipeline.storage.layout import Layout, counted, positions
from pipeline.storage.replications import Listing, Store
from pipeline.study.study import Study
from pipeline.workflow.events import OnTarget
from pipeline.workflow.sealed import is_current


def rule_of(study: Study) -> Rule | None:
    """When cells need no more replications; None where the study asks for a number of them."""
    if not study.precision:
        return None
    from pipeline.analysis.precision import Rule  # SciPy

    return Rule(study)


def all_done(study: Study, listing: Listing, needed: NeededBlocks | None) -> bool:
    """Whether every unit that counts is there."""
    if needed is None:
        return bool(listing.done[counted(study)].all())
    return bool(listing.done[np.arange(listing.done.shape[1]) < needed.predicted[:, None]].all())


def settled(store: Store, listing: Listing) -> Settled | None:
    """What counts of sealed results; None without targets of precision."""
    study = store.study
    if not study.precision:
        return None
    name = results.place(store) + results.SUMMARY
    summary = results.load(store, name)
    if summary.attrs["request"] != results.request(study):
        raise OSError("another driver sealed other results in between")
    run = summary["status"].sel(count="run").values.reshape(-1)
    return Settled(run[positions(study, Layout.of(study))] // study.block, listing.done)


def on_target(store: Store) -> OnTarget | None:
    """How many groups of cells of sealed results met their targets; None without targets."""
    study = store.study
    if not study.precision:
        return None
    attributes = results.attributes(store)
    if not is_current(store, attributes):
        return None
    return OnTarget(
        study=study.name,
        groups_on_target=attributes["groups_on_target"],
        groups=attributes["groups"],
        replications=study.replications,
    )


def needed_blocks(store: Store, listing: Listing, cluster: Cluster) -> NeededBlocks | None:
    """How many blocks the cells still need, read from those that are finished.

    None without targets of precision.
    """
    rule = rule_of(store.study)
    if rule is None:
        return None
    if is_current(store):
        return settled(store, listing)
    prefixes: dict[int, Prefix] = {}
    groups = len(rule.pairing.cells)

    def collect(read: list[Prefix], bundle: Bundle, _: int) -> None:
        prefixes.update(zip(bundle.units, read, strict=True))

    with workers_of(cluster, listing.done.sum() > FEW_FILES) as executor:
        sweep.run(
            executor,
            PrefixReader(store, rule),
            ((group, 1.0) for group in range(groups)),
            on_done=collect,
        )
    return Stopping(store, rule, (prefixes[group] for group in range(groups)), listing.done)
