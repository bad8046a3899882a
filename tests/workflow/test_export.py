"""Results as tidy tables and as netCDF, by the command and from Python; and read by R."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pipeline as pl
from pipeline.__main__ import main
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import export
from tests.helpers.engine import ROOT

GRID = {"m": [2], "L": [50], "epsilon": [0.5, 1.0, 3.0]}


@pytest.fixture(scope="module")
def results():
    return pl.simulate("xu/lemmas", grid=GRID, replications=2000)


def test_a_row_for_each_replication(results):
    table = pl.table(results)
    assert [*table.columns[:4]] == ["m", "L", "epsilon", "replication"]
    assert len(table) == 6000 and set(table["status"]) == {"ok"}
    means = table.groupby("epsilon")["lean_true"].mean()
    assert np.allclose(means, results["lean_true"].mean("replication").values.ravel(), rtol=1e-12)


def test_replications_that_did_not_run_have_no_row(results):
    data = results.copy(deep=True)
    data["status"][0, 0, 0, :5] = 0
    data["status"][0, 0, 1, :7] = 2
    table = pl.table(data)
    assert len(table) == 5995 and (table["status"] == "not_converged").sum() == 7


def test_a_row_for_each_metric_of_each_cell_of_a_summary(results):
    summary = pl.summarise(results)
    table = pl.table(summary)
    row = table[(table["metric"] == "lean_true") & (table["epsilon"] == 1.0)].iloc[0]
    cell = summary.sel(epsilon=1.0).squeeze()
    for column, name in (("mean", "lean_true"), ("low", "lean_true_low"), ("n_ok", "n_ok")):
        assert row[column] == cell[name].item()
    assert not any(name.startswith("lean") for name in table.columns)


def test_other_datasets_are_tables_of_cells(results):
    boundary = pl.boundary(results, "epsilon", "error_debiased_squared", 2)
    table = pl.table(boundary)
    assert len(table) == 1 and {"m", "L", "value", "says"} <= {*table.columns}


def test_xarray_writes_whatever_the_library_gives(results, tmp_path):
    """Datasets, and one replication, metric or curve of them: attributes are texts and numbers."""
    boundary = pl.boundary(results, "epsilon", "error_debiased_squared", 2)
    one = results.isel(replication=0)
    given = (results, pl.summarise(results), boundary, one, one["lean_true"], boundary["says"])
    for number, data in enumerate(given):
        data.to_netcdf(tmp_path / f"{number}.nc")
    with xr.open_dataset(tmp_path / "3.nc") as written:
        assert written["lean_true"].equals(one["lean_true"]) and written.attrs == one.attrs


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_files_hold_the_table(name, results, tmp_path):
    pl.export(pl.summarise(results), tmp_path / name)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[name.split(".")[1]](tmp_path / name)
    expected = pl.table(pl.summarise(results))
    assert [*read.columns] == [*expected.columns]
    assert np.array_equal(read["mean"], expected["mean"]) and [*read["metric"]] == [
        *expected["metric"]
    ]


def test_the_same_of_a_finished_study_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    stored = pl.run(
        "xu/lemmas", grid=GRID, replications=2000, cluster="synchronous", progress=False
    )
    [study] = [shelved.name for shelved in pl.list_studies()]
    for name, more in (
        ("replications.csv", ()),
        ("results.nc", ()),
        ("summary.csv", ("table=summary",)),
    ):
        assert main(["export", study, f"save={name}", *more]) == 0
    assert "wrote results.nc" in capsys.readouterr().out
    assert len(pd.read_csv("replications.csv")) == 6000
    with xr.open_dataset("results.nc") as opened:
        assert np.array_equal(opened["lean_true"], stored["lean_true"])
    if shutil.which("Rscript"):
        _read_by_r(tmp_path)


def _read_by_r(folder):
    """The documented programs in R, on these files."""
    codes = re.findall(r"^```r\n(.*?)^```$", (ROOT / "docs/r.md").read_text(), re.M | re.S)
    assert len(codes) == 2
    for code in codes:
        package = re.search(r"library\((\w+)\)", code)
        if (
            package
            and subprocess.run(["Rscript", "-e", package[0]], capture_output=True).returncode
        ):
            continue
        read = subprocess.run(
            ["Rscript", "--vanilla", "-e", code], cwd=folder, capture_output=True, text=True
        )
        assert read.returncode == 0, read.stderr
        print(read.stdout)


MISTAKES = [
    (["export", "save=a.csv"], "studies"),
    (["export", "a-1"], "save"),
    (["export", "a-1", "save=a.txt"], ".csv, .parquet, .nc"),
    (["export", "a-1", "save=no/a.csv"], "in a folder"),
    (["export", "a-1", "save=a.csv", "table=both"], "replications, summary"),
    (["export", "a-1", "save=a.csv"], "no such study"),
    (["export", "a-1", "save=a.csv", "as=csv"], "is no word of task=export"),
]


@pytest.mark.parametrize(("words", "text"), MISTAKES)
def test_mistakes_are_one_line(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    line = capsys.readouterr().err
    assert text in line and line.count("\n") == 1 and line.startswith("error: ")


def test_parquet_without_its_package_is_one_line(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    with pytest.raises(InvalidInput, match="pip install fastparquet"):
        export.write(results, str(tmp_path / "a.parquet"))
