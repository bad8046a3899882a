"""Laws: a report before the end says what is known and what is missing; reductions have bounded memory."""

import numpy as np
import xarray as xr

from pipeline.__main__ import main
from pipeline.analysis.summary import paired_difference
from pipeline.execution.clusters import Executor, Threads
from pipeline.execution.reduction import Reduce
from pipeline.storage import layout, results
from pipeline.workflow import reduce
from tests.helpers.engine import advance, arguments, contents, stored, study


def test_a_report_half_way_says_what_is_missing(tmp_path, capsys):
    assert main(arguments(tmp_path, replications="20")) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    known = xr.open_zarr(folder / "results.zarr").load()
    assert main([*arguments(tmp_path), "task=report"]) == 0
    (beside,) = folder.glob("requests/*/report.html")  # that of 20 replications stays
    page = beside.read_text()
    assert (
        page.count("4 of 8 units are missing") == 2
        and "known so far: each cell has 20 of 40 replications." in page
    )
    interim = xr.open_zarr(folder / "interim.zarr").load()
    assert (interim["status"][..., 20:] == 0).all() and np.isnan(
        interim["lean_true"][..., 20:]
    ).all()
    xr.testing.assert_equal(interim.isel(replication=slice(20)), known)
    summary = xr.open_zarr(folder / "interim-summary.zarr").load()
    assert (summary["status"].sel(count="run") == 20).all() and (
        summary["lean_true"].sel(statistic="n") == 20
    ).all()
    capsys.readouterr()
    assert main([*arguments(tmp_path), "task=status"]) == 75
    assert "4 of 8 units done (50.0 %)" in capsys.readouterr().out
    assert main(arguments(tmp_path)) == 0
    assert "are missing" not in (folder / "report.html").read_text() and not beside.exists()


def test_shards_bound_what_a_reduction_has_in_memory(tmp_path, monkeypatch):
    """Shards of one block of one cell, and of one that is far larger than the study: the same numbers."""
    what, sizes, gather = study(), [], Reduce._gather

    def recorded(self, *words):
        values, status = gather(self, *words)
        sizes.append(values.nbytes + 8 * status.size)
        return values, status

    monkeypatch.setattr(Reduce, "_gather", recorded)
    advance(what, tmp_path)
    sealed = {}
    for name, most, executor in (
        ("whole", 2**26, Executor()),
        ("shards", 1280, Executor()),
        ("again", 1280, Threads(2)),
    ):
        monkeypatch.setattr(layout, "SHARD_BYTES", most)
        sizes.clear()
        results.unseal(stored(what, tmp_path).store)
        if isinstance(executor, Threads):
            with executor.open() as opened:
                reduce.seal(stored(what, tmp_path), opened)
        else:
            reduce.seal(stored(what, tmp_path), executor)
        assert max(sizes) <= most and len(sizes) == (
            1 if name == "whole" else 8 * 3
        )  # both estimators together
        files = {part: contents(tmp_path / part) for part in (results.SEALED, results.SUMMARY)}
        sealed[name] = files, *(xr.open_zarr(tmp_path / part).load() for part in files)
    assert sealed["shards"][0] == sealed["again"][0]
    xr.testing.assert_equal(sealed["whole"][1], sealed["shards"][1])
    xr.testing.assert_allclose(sealed["whole"][2], sealed["shards"][2], rtol=1e-12)


def test_the_summary_holds_what_paired_differences_need(tmp_path):
    what = study()
    advance(what, tmp_path)
    reduce.seal(stored(what, tmp_path), Executor())
    summary, data = (
        xr.open_zarr(tmp_path / name).load() for name in (results.SUMMARY, results.SEALED)
    )
    metric, (first, second) = what.metrics[0], data["estimator"].values
    pairs = summary[f"{metric}_across_estimator"]
    n, squares, cross = (
        pairs.sel(estimator=first, other_estimator=second, pair_statistic=name, drop=True)
        for name in ("n", "m2", "cross")
    )
    others = pairs.sel(estimator=second, other_estimator=first, pair_statistic="m2", drop=True)
    mcse = np.sqrt((squares + others - 2 * cross) / (n * (n - 1)))
    expected = paired_difference(data, metric, "estimator", first, second)
    np.testing.assert_allclose(mcse.transpose(*expected["mcse"].dims), expected["mcse"], rtol=1e-10)
