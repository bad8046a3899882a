"""What Hydra must know besides files of configs: a person's own experiments, and batch systems."""

from collections.abc import Mapping
from typing import Any

from pipeline.cli import long_lists
from pipeline.cli.long_lists import without_long_lists
from pipeline.execution.systems.registry import systems
from pipeline.study.parameters import fields
from pipeline.study.streams import digest
from pipeline.workflow.config_files import files

OFFERED = "own-"  # what names begin with by which Hydra knows experiments of a person


def offer(experiment: Mapping[str, Any]) -> str:
    """Let Hydra know an experiment; the name by which a command can ask for it."""
    from hydra.core.config_store import ConfigStore

    name = f"{OFFERED}{digest(repr(experiment), 8).hex()}"
    ConfigStore.instance().store(
        group="experiment",
        name=name,
        node=without_long_lists(experiment),
        package="_global_",
        provider="own",
    )
    return name


def forget_offers() -> None:
    """Take away from Hydra what earlier calls offered: each one that is there makes every later
    call slower.
    """
    from hydra.core.config_store import ConfigStore

    long_lists.forget()
    group = ConfigStore.instance().repo.get("experiment", {})
    for name in [name for name in group if name.startswith(OFFERED)]:
        del group[name]


def offer_systems() -> None:
    """Let Hydra know the batch systems that have no file, with what is so unless a person says
    else.
    """
    from hydra.core.config_store import ConfigStore

    there = files("cluster")
    for name, system in systems().items():
        if name not in there:
            defaults = {key: field.default for key, field in fields(system).items()}
            ConfigStore.instance().store(
                group="cluster", name=name, node={"kind": name, **defaults}
            )
