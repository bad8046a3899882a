"""Sealed results, from a name or a path to verdicts."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from pipeline.analysis import claims as engine
from pipeline.analysis import summary
from pipeline.analysis.claims import Claim, Judgement
from pipeline.storage import results
from pipeline.storage.datasets import REPLICATION
from pipeline.storage.folder import Folder
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.study.registry import problem
from pipeline.study.study import NAME


def open_results(what: str | os.PathLike[str], outputs: str | os.PathLike[str] = "outputs") -> xr.Dataset:
    """The sealed results of a study, (grid axes…, replication), from a path or from the name of an experiment.

    what: the study's folder, its `results.zarr` or a copy of that; or a name, which is looked for in `outputs`.
    The root document, which holds a digest of every file, is checked, and so is every chunk that is read; `pipeline
    task=verify results=PATH` checks all files. Up to 256 MiB are read at once, more on demand.
    Raises InvalidInput where there are no results, several of that name, or damaged ones.

    >>> import pipeline as pl
    >>> results = pl.run("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000, cluster="synchronous",
    ...                  progress=False)
    >>> pl.open_results("xu/lemmas").equals(results)
    True
    """
    folder = _found(os.fspath(what), os.fspath(outputs))
    backend = Folder(folder.parent)
    if wrong := results.problems_of(backend, folder.name, thorough=False):
        raise InvalidInput("results", folder, f"is damaged ({wrong[0]}); run the study again, or copy it again")
    return results.load_from(backend, folder.name)


def summarise(data: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """Means over the replications, with Monte Carlo standard errors and intervals, over the grid axes.

    Columns: see `pipeline.analysis.summary.summarise`. Raises InvalidInput for what are no results of a study.

    >>> import pipeline as pl
    >>> results = pl.simulate("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000)
    >>> "estimate_sum_mcse" in pl.summarise(results)
    True
    """
    _identity(data)
    if not 0 < confidence < 1:
        raise InvalidInput("confidence", confidence, "must be a number > 0 and < 1 (confidence of the intervals)")
    return summary.summarise(data, confidence)


def judge(data: xr.Dataset, claims: Sequence[Claim] | None = None) -> list[Judgement]:
    """Judge claims on results: by default those that the problem has on this experiment.

    Of each: `claim`, `check` (verdict, estimate, a sentence) and `control`, the same on data changed on purpose.
    Raises InvalidInput for what are no results of a study.

    >>> import pipeline as pl
    >>> results = pl.simulate("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000)
    >>> {one.check.verdict for one in pl.judge(results)} <= {"supported", "inconclusive"}
    True
    """
    identity = _identity(data)
    if claims is None:
        asked = problem(identity["problem"])
        claims = [claim for claim in asked.load(asked.claims) if claim.experiment == identity["name"]]
    return [engine.judge(claim, data) for claim in claims]


def _identity(data: xr.Dataset) -> dict[str, str]:
    """What the dataset says that its study is."""
    try:
        identity: dict[str, str] = json.loads(data.attrs["study"])
        data["status"], data[REPLICATION]
        return identity
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput("data", type(data).__name__, "must be results of a study, with their replications, status "
                           "and attributes, as run and open_results give them") from None


def _found(what: str, outputs: str) -> Path:
    """The folder of the dataset."""
    given = path_of(what, "results")
    for path in (given, given / results.SEALED):
        if (path / "zarr.json").is_file():
            return path
    root = path_of(outputs, "outputs")
    if given.is_dir() or not NAME.fullmatch(what):
        raise InvalidInput("results", what, f"has no sealed results ({results.SEALED}); run the study first")
    there = sorted(root.glob(f"{what}-{'[0-9a-f]' * 8}/{results.SEALED}/zarr.json"))
    if len(there) > 1:
        raise InvalidInput("results", what, "is there several times; give one by its path: "
                           + ", ".join(str(path.parent.parent) for path in there))
    if not there:
        raise InvalidInput("results", what, f"no sealed results of that name in {root}; run the study first, or give "
                           "another folder with outputs")
    return there[0].parent
