"""What Hydra must know besides files of configs: clusters, which their own fields declare."""

from dataclasses import MISSING
from typing import Any

from pipeline.execution.clusters import CLUSTERS
from pipeline.execution.systems.registry import systems
from pipeline.study.parameters import fields
from pipeline.workflow.config_files import files


def offer_cluster(name: str) -> None:
    """Let Hydra know a cluster that has no file: its kind, with what is so unless a person says
    else.
    """
    from hydra.core.config_store import ConfigStore

    known: dict[str, type] = {**systems(), **CLUSTERS}
    if name not in known or name in files("cluster"):
        return
    node: dict[str, Any] = {"kind": name}
    for key, declared in fields(known[name]).items():
        node[key] = None if declared.default is MISSING else declared.default
    ConfigStore.instance().store(group="cluster", name=name, node=node)
