"""A constant of an experiment that becomes an axis of its grid: claims and figures follow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.reporting.specs import KINDS

JUDGED_AT = "claims_at"
CURVES = ("curves", "ratio")  # kinds of figures with a curve for every level of an axis in `by`


def is_constant(config: Mapping[str, Any], name: str) -> bool:
    """Whether a parameter is a constant of the experiment, and no axis of its grid."""
    constants = config.get("parameters")
    if not isinstance(constants, Mapping) or constants.get(name) is None:
        return False
    return not is_axis(config, name)


def is_axis(config: Mapping[str, Any], name: str) -> bool:
    """Whether a parameter is an axis of the experiment's grid."""
    return any(name in product for product in _products(config))


def with_axis(config: Mapping[str, Any], name: str, levels: Sequence[Any]) -> dict[str, Any]:
    """The config whose constant is an axis with these levels, in every product of its grid.

    Claims are about the constant: where it is among several levels, they are judged there. Figures
    show the levels as curves, as panels, or in a figure each. See `is_constant`.

    >>> config = {"grid": {"L": [50, 400]}, "parameters": {"m": 5}, "figures": []}
    >>> with_axis(config, "m", [5, 10])["claims_at"]
    {'m': 5}
    """
    constants = dict(config["parameters"])
    constant = constants.pop(name)
    new = {**config, "parameters": constants, "grid": _grid_with(config, name, levels)}
    if len(levels) < 2:
        return new
    if constant in levels:
        new[JUDGED_AT] = {**(config.get(JUDGED_AT) or {}), name: constant}
    figures = config.get("figures")
    if isinstance(figures, list):
        new["figures"] = [
            shown for figure in figures for shown in _shown_over(figure, name, levels)
        ]
    if isinstance(config.get("common"), Mapping) and constant in levels:
        new["common"] = _common_at(config["common"], name, constant)
    return new


def _products(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The mappings of axes to levels of a grid; those that are none are refused when it is read."""
    grid = config.get("grid")
    products = grid if isinstance(grid, list) else [grid]
    return [product for product in products if isinstance(product, Mapping)]


def _grid_with(config: Mapping[str, Any], name: str, levels: Sequence[Any]) -> object:
    """The grid with one more axis, the last one, in every product."""
    products = [{**product, name: [*levels]} for product in _products(config)]
    if isinstance(config.get("grid"), list):
        return products
    return products[0] if products else {name: [*levels]}


def _shown_over(figure: object, name: str, levels: Sequence[Any]) -> Iterator[object]:
    """A figure that shows the levels, or as many figures with one of them each."""
    if not isinstance(figure, Mapping) or figure.get("kind") not in KINDS or _names(figure, name):
        yield figure
        return
    if figure["kind"] in CURVES:
        yield {**figure, "by": [*_listed(figure.get("by")), name]}
        return
    if figure["kind"] == "map" and figure.get("panels") is None:
        yield {**figure, "panels": name}
        return
    for level in levels:
        selected = {**(figure.get("select") or {}), name: level}
        title = figure.get("title")
        of_level = {**figure, "select": selected}
        if title:
            of_level["title"] = f"{title}, {name}={level}"
        yield of_level


def _names(figure: Mapping[str, Any], axis: str) -> bool:
    """Whether a figure says already how it shows an axis."""
    shown = [figure.get("along"), figure.get("across"), figure.get("panels"), figure.get("split")]
    for field in ("by", "size", "select"):
        shown += _listed(figure.get(field))
    return axis in shown


def _listed(value: object) -> list[Any]:
    """The names in a field of a figure: one, several, or none."""
    if value is None:
        return []
    if isinstance(value, (list, tuple, Mapping)):
        return [*value]
    return [value]


def _common_at(common: Mapping[str, Any], name: str, constant: object) -> dict[str, Any]:
    """The figure that studies share, with the curves of the level that was the constant."""
    series = []
    for entry in common.get("series") or ():
        if isinstance(entry, Mapping) and not _names(entry, name):
            entry = {**entry, "select": {**(entry.get("select") or {}), name: constant}}
        series.append(entry)
    return {**common, "series": series}
