"""A bucket that speaks S3 as a backend, through obstore.

Credentials come from the environment only.
"""

import asyncio
import os
import random
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from zarr.core.sync import sync

from pipeline.storage.backend import Item, Listed, Result, Unreachable
from pipeline.storage.url_backend import UrlBackend
from pipeline.study.parameters import InvalidInput

if TYPE_CHECKING:
    from obstore.store import S3Store

T = TypeVar("T")
ATTEMPT = 20.0  # seconds that one request may take
CONNECT = 5.0  # seconds that one connection may take
FIRST_PAUSE = 0.05  # seconds before a failed request is tried again for the first time
LONGEST_PAUSE = 5.0  # and at most
AT_ONCE = 16  # requests under way from one process
PATIENCE = 4.0  # seconds of retries before a run has begun
PAGE = 1000  # objects in one answer to a listing
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
# Set by a batch service or Kubernetes instead of keys. If one of a pair is missing,
# obstore takes the machine's keys.
OTHERS = (
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
)
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
NO_SUCH_RANGE = 416
REFUSED = {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
ELSEWHERE = {
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "PermanentRedirect",
}


class Bucket(UrlBackend):
    """The objects under `url`; a failing request is repeated for up to `timeout` seconds.

    Opened when first used.
    """

    kind = "bucket"
    scheme = "s3"
    form = "s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits and . _ = -"
    pattern = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_.=-]+)*/?"

    def check(self, write: bool = False) -> None:
        """Raise InvalidInput, in seconds, unless the bucket is there and lets us read.

        write: and write.
        """
        try:
            self._page("lock/", None, PATIENCE)
            if write:
                self.put("probe", b"", PATIENCE)
                self.delete("probe")
        except Unreachable as error:
            reason = str(error).removeprefix(f"{self.url} ")
            raise InvalidInput(self.setting, self.url, reason) from None

    def read(self, key: str, start: int = 0, stop: int | None = None) -> bytes | None:
        """Content of an object, or a part of it as of a slice; None if there is no such
        object.
        """
        options = _range(start, stop)
        try:
            content: bytes = self._sync(lambda: _get(self._store, key, options))
        except FileNotFoundError:
            return None
        return content

    def put(self, key: str, content: bytes, patience: float | None = None) -> None:
        """Write an object, in one request."""
        from obstore import put_async

        self._sync(lambda: put_async(self._store, key, content, use_multipart=False), patience)

    def create(self, key: str, content: bytes) -> bool:
        """Write an object where there is none; whether this call did."""
        from obstore import put_async
        from obstore.exceptions import AlreadyExistsError

        try:
            self._sync(lambda: put_async(self._store, key, content, mode="create"))
        except AlreadyExistsError:  # by an earlier attempt, perhaps, whose answer was lost
            return self.read(key) == content
        return True

    def listed(self, prefix: str) -> Iterator[Listed]:
        """All objects below a prefix, sorted by their keys; a page at a time."""
        folder = f"{prefix}/"
        last = None
        is_full = True
        while is_full:
            page = self._page(folder, last)
            for listed in page:
                yield Listed(listed["path"].removeprefix(folder), listed["size"])
            is_full = len(page) == PAGE
            last = page[-1]["path"] if page else None

    def delete(self, *keys: str) -> None:
        """Delete objects, many with one request."""
        from obstore import delete_async

        if keys:
            self._sync(lambda: delete_async(self._store, list(keys)))

    def stamp(self, key: str) -> str | None:
        """When an object was written last, and its entity tag; None if there is no such
        object.
        """
        from obstore import head_async

        try:
            attributes = self._sync(lambda: head_async(self._store, key))
        except FileNotFoundError:
            return None
        return f"{attributes['last_modified'].isoformat()} {attributes['e_tag']}"

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results, in order, of a function that reads or writes one object, many at a time."""
        under_way: deque[Future[Result]] = deque()
        try:
            for item in items:
                under_way.append(self._threads.submit(function, item))
                if len(under_way) >= 2 * AT_ONCE:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

    @cached_property
    def _store(self) -> "S3Store":
        return _connect(self.url)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(AT_ONCE)

    def _page(
        self, prefix: str, last: str | None, patience: float | None = None
    ) -> list[dict[str, Any]]:
        """The next objects, at most PAGE, whose keys start with a text and come after
        `last`.
        """
        store = self._store  # or what is missing: the package, credentials
        import obstore

        async def page() -> list[dict[str, Any]]:
            async for listed in obstore.list(store, prefix, offset=last, chunk_size=PAGE):
                return list(listed)
            return []

        objects: list[dict[str, Any]] = self._sync(page, patience)
        return objects

    def _sync(self, request: Callable[[], Awaitable[T]], patience: float | None = None) -> T:
        return sync(self._try(request, patience))

    async def _try(self, request: Callable[[], Awaitable[T]], patience: float | None) -> T:
        """Answer of a request, which must be harmless to repeat."""
        from obstore.exceptions import AlreadyExistsError, BaseError

        end = time.monotonic() + (self.timeout if patience is None else patience)
        pause = FIRST_PAUSE
        while True:
            self.check_lock()
            try:
                async with asyncio.timeout(max(end - time.monotonic(), CONNECT)):
                    return await request()
            except AlreadyExistsError:
                raise
            except (BaseError, FileNotFoundError, TimeoutError) as error:
                failure = _explain(error)
                if isinstance(error, FileNotFoundError) and not failure.is_of_bucket:
                    raise
                if not failure.may_pass or time.monotonic() + pause > end:
                    raise Unreachable(f"{self.url} {failure.text}") from None
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, LONGEST_PAUSE)


def _range(start: int, stop: int | None) -> dict[str, Any] | None:
    """The part of an object, as of a slice, as obstore asks for it; None for the whole."""
    if start < 0:
        return {"range": {"suffix": -start}}
    if stop is not None:
        return {"range": (start, stop)}
    if start:
        return {"range": {"offset": start}}
    return None


async def _get(store: object, key: str, options: dict[str, Any] | None) -> bytes:
    """Content of an object, or a part of it, which is empty where it begins after the end."""
    from obstore import get_async
    from obstore.exceptions import BaseError

    try:
        answer = await get_async(store, key, options=options)
    except BaseError as error:
        if options is not None and _status(str(error)) == NO_SUCH_RANGE:
            return b""
        raise
    return bytes(await answer.bytes_async())


def _connect(url: str) -> "S3Store":
    """obstore's view of the URL, from the environment.

    Raises InvalidInput naming what is missing there.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError:
        raise InvalidInput(
            "store.url", url, "a bucket needs this package: pip install obstore (or make s3)"
        ) from None
    _check_environment(url)
    endpoint = _endpoint()
    is_plain = endpoint is not None and urlsplit(endpoint).scheme == "http"
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    options: dict[str, Any] = {}
    if endpoint is not None:
        options["endpoint"] = endpoint
    try:
        return S3Store(
            bucket,
            prefix=prefix or None,
            conditional_put="etag",
            client_options={
                "allow_http": is_plain,
                "connect_timeout": timedelta(seconds=CONNECT),
                "timeout": timedelta(seconds=ATTEMPT),
            },
            retry_config={"max_retries": 0, "retry_timeout": timedelta(0)},
            **options,
        )
    except BaseError:  # its text may hold a value
        known = (*KEYS, *ENDPOINTS, *REGIONS, "AWS_SESSION_TOKEN", "AWS_ALLOW_HTTP")
        others = [name for name in os.environ if name.startswith("AWS_") and name not in known]
        suspects = ", ".join(sorted(others)) or "AWS_REGION"
        raise InvalidInput("store.url", url, f"cannot be opened; look at {suspects}") from None


def _check_environment(url: str) -> None:
    """Raise InvalidInput where credentials are missing, or hold what no server can be sent."""
    are_there = (all(map(os.environ.get, names)) for names in (KEYS, *OTHERS))
    if not any(are_there):
        raise InvalidInput(
            "store.url",
            url,
            f"credentials are needed: export {' and '.join(KEYS)}; a profile is not "
            "read, `aws configure export-credentials --format env` prints what to export",
        )
    for name in (*KEYS, "AWS_SESSION_TOKEN", *REGIONS):
        if not re.fullmatch("[!-~]*", os.environ.get(name, "")):
            raise InvalidInput(
                name, "…", "holds a blank, a line break or a letter with an accent; export it again"
            )


def _endpoint() -> str | None:
    """The server's address in the environment; None for Amazon's.

    Raises InvalidInput where it is none, or one without encryption that is not allowed.
    """
    endpoint = next(filter(None, map(os.environ.get, ENDPOINTS)), None)
    if endpoint is None:
        return None
    if not _is_address(endpoint):  # not repeated: it may hold a secret
        raise InvalidInput("AWS_ENDPOINT_URL", "…", "must be http(s)://HOST or http(s)://HOST:PORT")
    address = urlsplit(endpoint)
    is_here = address.hostname in ("127.0.0.1", "::1", "localhost")
    is_allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
    if address.scheme == "http" and not is_here and not is_allowed:
        raise InvalidInput(
            "AWS_ENDPOINT_URL",
            endpoint,
            "is not encrypted; write https://, or export "
            "AWS_ALLOW_HTTP=true where the network can be trusted",
        )
    return endpoint


def _is_address(url: str) -> bool:
    """Whether a text is the URL of a server, without anything that may be a secret."""
    try:
        parts = urlsplit(url)
        is_port = parts.port != 0
    except ValueError:  # a port that is no number, half a bracket
        return False
    is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and is_port
    holds_more = "@" in parts.netloc or bool(parts.query) or bool(parts.fragment)
    return is_server and not holds_more and re.fullmatch("[!-~]+", url) is not None


class Fault(NamedTuple):
    """Why a request failed, in words.

    may_pass: whether trying again may help.
    is_of_bucket: whether there is no bucket at all.
    """

    text: str
    may_pass: bool = False
    is_of_bucket: bool = False


def _explain(error: Exception) -> Fault:
    """Why a request failed, without the server's own text, which may contain a key."""
    text = str(error)
    code = _matched(r"<Code>(\w+)</Code>", text)
    status = _status(text)
    if code == "NoSuchBucket":
        return Fault("no such bucket; create it, or choose another", is_of_bucket=True)
    if code == "AccessDenied":
        return Fault(
            "denies access; these credentials must be allowed to list, read, write and delete there"
        )
    if code in REFUSED or status in (401, 403):
        return Fault(
            f"refuses the credentials ({code or status}); look at {', '.join(KEYS)}, "
            "AWS_SESSION_TOKEN"
        )
    if code == "RequestTimeTooSkewed":
        return Fault("refuses the clock of this machine; set it")
    if code in ELSEWHERE or status in (301, 307):
        return Fault("is in another region; export AWS_REGION")
    if status:
        name = f"{status} {code}".rstrip()
        return Fault(f"fails ({name})", may_pass=status >= 500 or status in (408, 429))
    return _explain_silence(error, text)


def _explain_silence(error: Exception, text: str) -> Fault:
    """Why there was no answer. text: of the error."""
    if isinstance(error, TimeoutError) or "kind: Timeout" in text:
        return Fault("does not answer in time; look at the network", may_pass=True)
    if "kind: Connect" in text:
        return Fault("cannot be reached; look at AWS_ENDPOINT_URL and the network", may_pass=True)
    return Fault("drops connections; look at the network", may_pass=True)


def _status(text: str) -> int:
    """The status of an answer that is an error; 0 where there was no answer."""
    return int(_matched(r"status code: (\d+)", text) or 0)


def _matched(pattern: str, text: str) -> str:
    """The first group of a pattern in a text; empty if it does not match."""
    match = re.search(pattern, text)
    return match[1] if match else ""
