"""Tables of a report: every cell and metric, every verdict, and what missing values could change."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.reporting.formatting import interval, number
from pipeline.study.texts import cell

if TYPE_CHECKING:
    from pandas import DataFrame

COUNTS = ("n_run", "n_ok", "n_not_converged", "n_failed", "n_not_finite")
ENDS = ("mcse", "low", "high", "least", "most")


def csv_of(table: "DataFrame") -> bytes:
    """A table as a CSV file that spreadsheets open safely: see `cell` for its texts.

    Numbers stay numbers.
    """
    safe = table.rename(columns=cell)
    for position, kind in enumerate(safe.dtypes):
        column = safe.iloc[:, position]
        if kind.kind not in "biufcM":
            safe.isetitem(position, column.map(cell))
    content: str = safe.to_csv(index=False)
    return content.encode()


def metrics(summary: xr.Dataset) -> list[str]:
    """Names of the metrics in a summary."""
    return [name for name in map(str, summary.data_vars) if f"{name}_mcse" in summary]


def summary_table(section: str, summary: xr.Dataset) -> "DataFrame":
    """One row per cell that was run and metric: labels, derived parameters, mean, error, interval,
    counts.
    """
    import pandas

    axes = list(summary["n_run"].dims)
    derived = [name for name in summary.coords if name not in axes]
    frames = []
    for name in metrics(summary):
        columns = {"mean": summary[name], **{end: summary[f"{name}_{end}"] for end in ENDS}}
        columns["values"] = summary[f"{name}_n"]
        columns |= {count: summary[count] for count in COUNTS}
        frame = xr.Dataset(columns).to_dataframe(dim_order=axes).reset_index()
        frame = frame[frame["n_run"] > 0][[*axes, *derived, *columns]]
        after = len(axes) + len(derived)
        frame.insert(after, "metric", name)
        frame.insert(after + 1, "unit", summary[name].attrs.get("units", "1"))
        frames.append(
            frame.astype({axis: object for axis in axes})
        )  # whole numbers stay whole in a union
    if not frames:
        return pandas.DataFrame({"section": []})
    table = pandas.concat(frames, ignore_index=True)
    table.insert(0, "section", section)
    return table


def union(tables: "Sequence[DataFrame]") -> "DataFrame":
    """Tables one below the other, all columns of all, those that every table has last."""
    import pandas

    shared = [
        name for name in tables[0] if all(name in table for table in tables) and name != "section"
    ]
    names = dict.fromkeys(name for table in tables for name in table if name not in shared)
    whole = pandas.concat([table.astype(object) for table in tables], ignore_index=True)
    return whole[[*names, *shared]]


def verdicts(section: str, judged: Sequence[Any]) -> list[dict[str, Any]]:
    """What the page says of each claim, as plain values. judged: see
    `pipeline.analysis.claims.judge`.
    """
    rows = []
    for one in judged:
        claim = one.claim
        check = one.check
        control = one.control
        estimate = one.check.estimate
        rows.append(
            {
                "section": section,
                "id": claim.id,
                "verdict": one.verdict,
                "statement": claim.statement,
                "source": claim.source,
                "conditions": claim.conditions,
                "estimand": claim.estimand,
                "estimate": None if estimate is None else estimate.value,
                "low": None if estimate is None else estimate.low,
                "high": None if estimate is None else estimate.high,
                "shown": "" if estimate is None else interval(estimate),
                "text": one.text,
                "control": claim.control_of(check.verdict).description,
                "control_verdict": control.verdict,
                "control_text": control.text,
                "control_sound": one.sound,
                "detected": check.detected,
                "tolerance": claim.claimed,
                "why": claim.why,
                "row": claim.row,
                "headline": claim.headline,
                "allowed": str(check.tolerance or ""),
                "computed": _where(claim.measure),
                "cells": [(label, interval(cell), verdict) for label, cell, verdict in check.cells],
            }
        )
    return rows


def _where(measure: Any) -> str:
    """Module and line of the code that measures a claim."""
    code = measure.compute
    return (
        f"{code.__module__}, line {code.__code__.co_firstlineno}"
        if hasattr(code, "__code__")
        else ""
    )


def verdict_table(rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
    """The verdicts as a data frame, without what is only for show."""
    import pandas

    names = (
        "section id verdict estimate low high estimand text tolerance why statement source "
        "conditions control control_verdict control_text detected"
    ).split()
    return pandas.DataFrame([{name: row[name] for name in names} for row in rows], columns=names)


def missing_effects(summary: xr.Dataset) -> list[dict[str, Any]]:
    """For every metric: in how many cells values are missing or not converged, and the furthest
    that a mean

    could move had they been at an end of the metric's range (infinite if it has none)."""
    rows = []
    for name in metrics(summary):
        mean, least, most = (summary[name + end] for end in ("", "_least", "_most"))
        moved = xr.concat([mean - least, most - mean], "end").max("end")
        affected = (summary["n_run"] > 0) & ~(moved == 0)
        if bool(affected.any()):
            reach = moved.where(affected & np.isfinite(mean)).max()
            rows.append(
                {
                    "metric": name,
                    "cells": int(affected.sum()),
                    "reach": float(reach),
                    "lost": int((affected & ~np.isfinite(mean)).sum()),
                    "unit": summary[name].attrs.get("units", "1"),
                }
            )
    return rows


def grid(summary: xr.Dataset, most: int = 24) -> list[dict[str, str]]:
    """Axes and derived parameters: name, meaning, unit, levels."""
    rows = []
    for name in (
        *summary["n_run"].dims,
        *(c for c in summary.coords if c not in summary["n_run"].dims),
    ):
        values = summary[name].values
        attributes = summary[name].attrs
        unit = attributes.get("units", "1")
        if name in summary["n_run"].dims:
            shown = ", ".join(
                v if isinstance(v, str) else number(v) for v in values[:most].tolist()
            )
            shown += f", … ({values.size} levels)" if values.size > most else ""
        elif values.dtype.kind in "iuf" and np.isfinite(values).any():
            ends = (number(f(values[np.isfinite(values)]), 4) for f in (np.min, np.max))
            shown = "derived: " + " to ".join(dict.fromkeys(ends))
        else:
            shown = "derived"
        rows.append(
            {
                "name": name,
                "meaning": attributes.get("long_name", ""),
                "unit": "" if unit in ("1", attributes.get("long_name")) else unit,
                "levels": shown,
            }
        )
    return rows


def named_levels(summary: xr.Dataset) -> list[dict[str, Any]]:
    """A table for every axis of names whose levels have numbers of their own, such as the items of
    a file.
    """
    tables = []
    for axis in summary["n_run"].dims:
        if summary[axis].dtype.kind in "iufb":
            continue
        own = {
            name: values
            for name, one in summary.coords.items()
            if (values := _along(one, axis)) is not None
        }
        if not own:
            continue
        columns = [
            (summary[name].attrs.get("long_name", str(name)), summary[name].attrs.get("units", "1"))
            for name in own
        ]
        rows = [
            [level, *(number(values[k].item(), 4) for values in own.values())]
            for k, level in enumerate(summary[axis].values.tolist())
        ]
        tables.append(
            {
                "axis": str(axis),
                "meaning": summary[axis].attrs.get("long_name", ""),
                "rows": rows,
                "head": [
                    f"{meaning} ({unit})" if unit not in ("1", meaning) else meaning
                    for meaning, unit in columns
                ],
            }
        )
    return tables


def _along(coordinate: xr.DataArray, axis: Any) -> Any:
    """(levels,) numbers that differ between the levels of an axis, and along no other, where there
    are any; or None.
    """
    if coordinate.dtype.kind not in "iuf" or axis not in coordinate.dims or coordinate.name == axis:
        return None
    others = [name for name in coordinate.dims if name != axis]
    least = coordinate.min(others).values
    greatest = coordinate.max(others).values  # without the NaN of empty cells
    return least if (least == greatest).all() and np.ptp(least) > 0 else None


def versions(results: xr.Dataset, sessions: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Distinct sets of versions that took part, oldest first, from the sessions or else the
    dataset.
    """
    sets = [s["versions"] for s in sessions if s.get("versions")]
    if not sets and isinstance(results.attrs.get("versions"), str):
        sets = [json.loads(results.attrs["versions"])]
    return [v for i, v in enumerate(sets) if v not in sets[:i]]
