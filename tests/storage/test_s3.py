"""Requests to a bucket: which are tried again, and what an earlier attempt has done."""

import pytest

obstore = pytest.importorskip(
    "obstore", reason="obstore is not installed: object storage is NOT tested here"
)

from obstore.exceptions import AlreadyExistsError  # noqa: E402

from pipeline.storage.s3 import Bucket, _explain  # noqa: E402


@pytest.mark.parametrize(
    "status, again",
    [(408, True), (429, True), (500, True), (503, True), (400, False), (404, False), (409, False)],
)
def test_what_may_pass_is_tried_again(status, again):
    """RFC 9110, 15.5.9, and RFC 6585, 4: a request that timed out, and too many; and errors of the server."""
    assert _explain(Exception(f"status code: {status}")).may_pass == again


def test_an_object_that_an_earlier_attempt_made_is_ones_own(monkeypatch):
    """Its answer was lost, and the next attempt finds that the object exists."""

    def exists(self, call, patience=None):
        raise AlreadyExistsError("exists")

    monkeypatch.setattr(Bucket, "_sync", exists)
    monkeypatch.setattr(Bucket, "read", lambda self, key, *_: {"lock/1": b"mine"}[key])
    bucket = Bucket("s3://bucket/where", 5.0)
    assert bucket.create("lock/1", b"mine") and not bucket.create("lock/1", b"another's")
