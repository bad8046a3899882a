"""The file of a unit: what it says is compared with what is asked for, also where its checksum is right."""

import numpy as np
import pytest

from pipeline.storage.replications import Store
from pipeline.storage.units import Damaged, decode, describe, encode
from pipeline.study.status import FAILED, NOT_CONVERGED, OK
from tests.helpers.engine import advance, study

VALUES = {
    "error": np.array([0.5, 1.5, 2.5]),
    "kendall": np.array([0.0, np.nan, 1.0]),
    "status": np.array([OK, NOT_CONVERGED, OK], np.int8),
}
GRID = {"m": [3], "L": [20], "epsilon": [0.5], "estimator": ["debiased"]}
CELL = b'"cell":{}}\n'


def test_what_is_encoded_is_decoded():
    content = encode(describe(CELL, 7), VALUES, "0123456789abcdef")
    found = decode(content, describe(CELL, 7), 2, 3)
    assert found.metrics.tobytes() == np.stack([VALUES["error"], VALUES["kendall"]]).tobytes()
    assert found.status.tolist() == [OK, NOT_CONVERGED, OK] and not found.failed
    assert (found.writer, found.error) == ("0123456789abcdef", "")
    failed = decode(
        encode(
            describe(CELL, 7), VALUES | {"status": np.full(3, FAILED, np.int8)}, "0" * 16, "why"
        ),
        describe(CELL, 7),
        2,
        3,
    )
    assert failed.failed and failed.error == "why"


def test_the_file_of_another_unit_is_damaged():
    """Of the next block, which has a description of the same length."""
    content = encode(describe(CELL, 7), VALUES, "0" * 16)
    with pytest.raises(Damaged, match="is the file of another unit"):
        decode(content, describe(CELL, 8), 2, 3)


@pytest.mark.parametrize("status", sorted({*range(-1, 9), 127} - {OK, NOT_CONVERGED, FAILED}))
def test_a_status_without_meaning_is_damaged(status):
    """Wherever it stands, and whatever the others are."""
    for place in range(3):
        content = encode(
            describe(CELL, 7), VALUES | {"status": np.insert([OK, OK], place, status)}, "0" * 16
        )
        with pytest.raises(Damaged, match="has a status without meaning"):
            decode(content, describe(CELL, 7), 2, 3)


@pytest.mark.parametrize("failed", [False, True])
def test_a_name_that_says_the_wrong_end_is_damaged(failed, tmp_path):
    """A unit with numbers under the name of one that failed, and the other way round."""
    what = study(grid=GRID, replications=20)
    advance(what, tmp_path)
    store = Store(what, tmp_path)
    if failed:
        store.forget(0, 0)
        store.fail(0, 0, "Traceback", "0" * 16)
    assert store.read(0, 0).failed == failed
    (path,) = (path for path in (tmp_path / "replications/units").rglob("*") if path.is_file())
    path.rename(path.with_suffix("" if failed else ".failed"))
    with pytest.raises(Damaged, match="its name does not say whether it failed"):
        store.read(0, 0)
