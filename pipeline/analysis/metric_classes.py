"""What the class of a metric says of its values, found by the study that results are of."""

import dis
import inspect
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pipeline.identity.registry import problem
from pipeline.study.metric import Formula
from pipeline.study.parameters import InvalidInput
from pipeline.study.protocols import Metric


def metric_class(attributes: Mapping[Any, Any], name: str) -> type[Metric] | None:
    """The class of a metric, from the attributes of results.

    None where its study or problem is not known.
    """
    study = json.loads(attributes.get("study", "{}"))
    try:
        return problem(study["problem"]).metric(name)
    except (KeyError, InvalidInput):
        return None


def is_exact(attributes: Mapping[Any, Any], name: str) -> bool:
    """Whether a metric is computed, the same number in all replications of a cell.

    Its class then says `exact = True`.
    """
    metric = metric_class(attributes, name)
    return metric is not None and bool(metric.exact)


def reads_estimate(attributes: Mapping[Any, Any], name: str) -> bool:
    """Whether a metric reads the estimate: if not, it does not matter to it whether
    that converged.

    True where the metric is not known, or not written in Python.
    """
    metric = metric_class(attributes, name)
    if metric is None:
        return True
    if issubclass(metric, Formula):
        return "estimate" in metric.inputs
    return _loads_last_argument(metric)


@cache
def _loads_last_argument(metric: type[Metric]) -> bool:
    """Whether the code of a metric reads its last argument, the estimate."""
    code = metric.__call__
    try:
        *_, last = inspect.signature(code).parameters
        instructions = [*dis.get_instructions(code)]
    except (TypeError, ValueError):  # not written in Python
        return True
    for instruction in instructions:
        names = instruction.argval
        if last == names or isinstance(names, tuple) and last in names:
            return True
    return False
