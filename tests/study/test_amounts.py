"""Texts of seconds and bytes, against those of Dask."""

import dask.utils
import pytest

from pipeline.study.amounts import format_bytes, format_time

AMOUNTS = [0, 1e-6, 9.99e-4, 1e-3, 0.999, 1, 59.999, 599.9, 600, 600.1, 3599, 7200, 7200.5, 86399, 172800, 172801, 1e7]


@pytest.mark.parametrize("seconds", AMOUNTS)
def test_seconds_are_written_as_dask_writes_them(seconds):
    assert format_time(seconds) == dask.utils.format_time(seconds)


@pytest.mark.parametrize("count", [0, 1, 921, 922, 1023, 1024, 10**6, 943718, 2**30, 9 * 10**8, 10**12, 2**50, 10**17])
def test_bytes_are_written_as_dask_writes_them(count):
    assert format_bytes(count) == dask.utils.format_bytes(count)
