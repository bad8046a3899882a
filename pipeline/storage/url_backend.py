"""What backends share that a person chooses by a URL; see `backend` for what they promise."""

import re
from typing import ClassVar

from pipeline.storage.backend import Backend
from pipeline.storage.lease import LeasedLocks
from pipeline.study.parameters import InvalidInput

LONGEST = 500  # characters of a URL: S3 allows keys of 1,024, a study adds its own


class UrlBackend(LeasedLocks, Backend):
    """A backend that a person chooses by its URL: `store.url=SCHEME://…`.

    Every process makes its own from the URL: pickles hold nothing else, so neither
    connections nor credentials, which come from the environment of each process.

    Class attributes:
        scheme: of its URLs.
        form: the URLs in words, for help and errors, such as `s3://BUCKET/PREFIX`.
        pattern: of a whole URL; by default the scheme, and names joined by "/".

    Args:
        url: as `check_url` gives it; each study adds two names to that of a person.
        timeout: seconds for which a request that fails is tried again, where that may help.
    """

    setting = "store.url"
    scheme: ClassVar[str]
    form: ClassVar[str]
    pattern: ClassVar[str] = r"[a-z0-9]+://(/?[A-Za-z0-9_.=-]+)+/?"

    def __init__(self, url: str, timeout: float):
        self.url = url
        self.timeout = timeout

    def __str__(self) -> str:
        return self.url

    def __reduce__(self) -> tuple[type["UrlBackend"], tuple[str, float]]:
        return type(self), (self.url, self.timeout)

    @classmethod
    def check_url(cls, url: str) -> str:
        """The URL without "/" at its end; InvalidInput unless it is of the backend's form."""
        climbs = not {".", ".."}.isdisjoint(url.split("/"))
        if climbs or len(url) > LONGEST or not re.fullmatch(cls.pattern, url):
            raise InvalidInput("url", url, f"must be {cls.form}")
        return url.rstrip("/")
