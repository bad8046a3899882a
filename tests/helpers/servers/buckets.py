"""S3 servers on loopback for the tests: an emulator that starts at once, and a real one."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.request
import uuid
from datetime import timedelta
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from tests.helpers.servers.radosgw import Unavailable, free_port, radosgw

MOTO = "import sys; from moto.server import main; main(['-H', '127.0.0.1', '-p', sys.argv[1]])"


@contextlib.contextmanager
def moto():
    """The emulator: its environment. It takes any credentials."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-c", MOTO, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url, timeout=5).close()
                break
            assert process.poll() is None, "moto did not start"
            time.sleep(0.05)
        yield {
            "AWS_ENDPOINT_URL": url,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": f"KEY{uuid.uuid4().hex}",
            "AWS_SECRET_ACCESS_KEY": f"SECRET{uuid.uuid4().hex}",
        }
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def server(kind):
    """One of "moto" and "radosgw". Where the real one cannot be had, skips aloud; in CI that is a failure."""
    with contextlib.ExitStack() as stack:
        try:
            environment = stack.enter_context(moto() if kind == "moto" else radosgw())
        except Unavailable as error:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
                f"NO REAL S3 SERVER: {error}"
            )
        yield environment


class Objects:
    """The objects of a new bucket, as its owner sees them, past all that is tested."""

    def __init__(self, environment):
        self.name = f"tests-{uuid.uuid4().hex[:12]}"
        names = {
            "AWS_ENDPOINT_URL": "endpoint",
            "AWS_REGION": "region",
            "AWS_ACCESS_KEY_ID": "access_key_id",
            "AWS_SECRET_ACCESS_KEY": "secret_access_key",
        }
        self.store = S3Store(
            self.name,
            client_options={"allow_http": True},
            **{names[key]: value for key, value in environment.items()},
        )
        made = obstore.sign(self.store, "PUT", "", timedelta(seconds=60))
        urllib.request.urlopen(urllib.request.Request(made, method="PUT")).close()

    def keys(self, part=""):
        """Keys of the objects with this in their name, sorted."""
        return sorted(
            one["path"] for page in obstore.list(self.store) for one in page if part in one["path"]
        )

    def read(self, key):
        """Content of an object."""
        return bytes(obstore.get(self.store, key).bytes())

    def write(self, key, content):
        """Write an object."""
        obstore.put(self.store, key, content)

    def delete(self, key):
        """Delete an object."""
        obstore.delete(self.store, key)

    def sealed(self):
        """Relative name -> bytes of all objects of results.zarr."""
        return {
            str(Path(key.partition("/results.zarr/")[2])): self.read(key)
            for key in self.keys("/results.zarr/")
        }
