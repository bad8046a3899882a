"""Statistics of a metric over replications other than its mean.

Median, quantiles and trimmed means.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.study.parameters import InvalidInput, nearest

MEDIAN = "median"
NAME = re.compile(r"(quantile|trimmed)_(0?\.\d+)")
ALLOWED = "must be median, quantile_P with 0 < P < 1, or trimmed_P with 0 < P < 0.5"
HALF = 0.5
ATTRIBUTE = "statistics"  # of a dataset: a text that says which statistics it has
ESTIMATE = ("value", "mcse", "low", "high")  # of a statistic: with the ends of its interval
SHARED = ("units", "least", "most")  # attributes that it has of its metric


@dataclass(frozen=True)
class Statistic:
    """A statistic of a metric, by its name: `median`, `quantile_0.95`, `trimmed_0.1`.

    A trimmed mean leaves out this share of the lowest and of the highest
    values.

    >>> statistic = Statistic("error_l2", "trimmed_0.1")
    >>> statistic.variable, statistic.share, statistic.meaning
    ('error_l2_trimmed_0.1', 0.1, 'mean without the lowest and the highest 10 %')
    """

    metric: str
    name: str

    @property
    def variable(self) -> str:
        """Its name in `summary.zarr` and in summaries."""
        return f"{self.metric}_{self.name}"

    @property
    def is_trimmed(self) -> bool:
        """Whether it is a trimmed mean, and no quantile."""
        return self.name.startswith("trimmed")

    @property
    def share(self) -> float:
        """Of values that a quantile is not below, or that are trimmed at each end."""
        if self.name == MEDIAN:
            return HALF
        return float(self.name.partition("_")[2])

    @property
    def meaning(self) -> str:
        """In words."""
        if self.name == MEDIAN:
            return "median"
        if self.is_trimmed:
            return f"mean without the lowest and the highest {100 * self.share:g} %"
        return f"{100 * self.share:g} % quantile"

    def attributes(self, of_metric: Mapping[Any, Any]) -> dict[str, Any]:
        """What a dataset says of it.

        of_metric: attributes of its metric, whose unit and range it has.
        """
        shared = {name: of_metric[name] for name in SHARED if name in of_metric}
        name = of_metric.get("long_name", self.metric)
        return {
            **shared,
            "long_name": f"{name}, {self.meaning}",
            "of_metric": self.metric,
            "statistic": self.meaning,
            "interval": "from winsorised values" if self.is_trimmed else "from order statistics",
        }


def read_statistics(value: object, metrics: Sequence[str]) -> tuple[Statistic, ...]:
    """Statistics of a config's `statistics`: a mapping of metrics to names.

    In the order of the study's metrics, whose names are given. Raises
    InvalidInput, which names the key.

    >>> [each.variable for each in read_statistics({"error_l2": ["median"]}, ["error_l2"])]
    ['error_l2_median']
    """
    if isinstance(value, (list, tuple)) and all(isinstance(each, Statistic) for each in value):
        value = config_of(value)
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        allowed = "must be a mapping such as {METRIC: [median, quantile_0.95]}"
        raise InvalidInput("statistics", value, allowed)
    for metric in value:
        if metric not in metrics:
            allowed = f"is no metric of this study; {nearest(str(metric), metrics)}"
            raise InvalidInput("statistics", metric, allowed)
    statistics = []
    for metric in metrics:
        statistics += _of_metric(metric, value.get(metric, ()))
    for statistic in statistics:
        if statistic.variable in metrics:
            allowed = f"would be named {statistic.variable}, as a metric of the study is"
            raise InvalidInput(f"statistics.{statistic.metric}", statistic.name, allowed)
    return tuple(statistics)


def config_of(statistics: Iterable[Statistic]) -> dict[str, list[str]]:
    """The mapping that `read_statistics` reads."""
    config: dict[str, list[str]] = {}
    for statistic in statistics:
        config.setdefault(statistic.metric, []).append(statistic.name)
    return config


def as_attribute(statistics: Iterable[Statistic]) -> dict[str, str]:
    """What a dataset says of the statistics that it has; nothing where there are none."""
    config = config_of(statistics)
    if not config:
        return {}
    return {ATTRIBUTE: json.dumps(config)}


def _of_metric(metric: str, names: object) -> list[Statistic]:
    key = f"statistics.{metric}"
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, (list, tuple)):
        raise InvalidInput(key, names, f"is a list, of which each {ALLOWED}")
    statistics = []
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(key, name, "is given twice")
        statistics.append(_checked(Statistic(metric, str(name)), key))
    return statistics


def _checked(statistic: Statistic, key: str) -> Statistic:
    """The same statistic; InvalidInput where there is none of its name."""
    if statistic.name == MEDIAN:
        return statistic
    most = HALF if statistic.is_trimmed else 1.0
    if not NAME.fullmatch(statistic.name) or not 0 < statistic.share < most:
        raise InvalidInput(key, statistic.name, ALLOWED)
    return statistic
