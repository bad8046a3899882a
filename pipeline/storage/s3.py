"""A bucket that speaks S3 as a backend, through obstore.

Credentials come from the environment only.
"""

import asyncio
import copy
import os
import random
import re
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, urlsplit

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import ObjectStore

from pipeline.storage.backend import KEYS, Item, Result, Unreachable
from pipeline.storage.lease import Lease
from pipeline.study.parameters import InvalidInput

ATTEMPT = 20.0  # seconds that one request may take
CONNECT = 5.0  # seconds that one connection may take
PAUSES = 0.05, 5.0  # seconds before a failed request is tried again: the first time, and at most
AT_ONCE = 16  # requests under way from one process
PATIENCE = 4.0  # seconds of retries before a run has begun
PAGE = 1000  # objects in one answer to a listing
# Set by a batch service or Kubernetes instead of keys. If one of a pair is missing, obstore takes
# the machine's keys.
OTHERS = (
    ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
)
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
REFUSED = {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
ELSEWHERE = {
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "PermanentRedirect",
}


class Bucket:
    """The objects under `url`; a failing request is repeated for up to `timeout` seconds.

    Opened when first used.

    Pickles and texts hold the URL alone: every process reads the credentials from its own
    environment.
    """

    setting = "store.url"

    def __init__(self, url: str, timeout: float):
        self.url = url
        self.timeout = timeout
        self.lease = Lease(self)
        self.holds = False

    def __str__(self) -> str:
        return self.url

    def __reduce__(self) -> tuple[type["Bucket"], tuple[str, float]]:
        return Bucket, (self.url, self.timeout)

    def check(self, write: bool = False) -> None:
        """Raise InvalidInput unless the bucket is there and lets us read, and write if asked to.

        In seconds.
        """
        try:
            self._page("lock/", None, PATIENCE)
            if write:
                self.put("probe", b"", PATIENCE)
                self.delete("probe")
        except Unreachable as error:
            raise InvalidInput(
                self.setting, self.url, str(error).removeprefix(f"{self.url} ")
            ) from None

    def read(self, key: str, start: int = 0, stop: int | None = None) -> bytes | None:
        """Content of an object, or a part of it as of a slice, `start` perhaps from its end.

        None if there is none.
        """
        part: ByteRequest | None = None
        if start or stop is not None:
            part = (
                SuffixByteRequest(-start)
                if start < 0
                else OffsetByteRequest(start)
                if stop is None
                else RangeByteRequest(start, stop)
            )
        content = sync(self._objects.get(key, default_buffer_prototype(), part))
        return None if content is None else content.to_bytes()

    def put(self, key: str, content: bytes, patience: float | None = None) -> None:
        """Write an object."""
        from obstore import put_async

        self._sync(
            lambda: put_async(self._objects.store, key, content, use_multipart=False), patience
        )

    def create(self, key: str, content: bytes) -> bool:
        """Write an object where there is none; whether this call did.

        `content` must differ between callers.
        """
        from obstore import put_async
        from obstore.exceptions import AlreadyExistsError

        try:
            self._sync(lambda: put_async(self._objects.store, key, content, mode="create"))
            return True
        except AlreadyExistsError:  # by an earlier attempt, perhaps, whose answer was lost
            return self.read(key) == content

    def keys(self, prefix: str) -> Iterator[str]:
        """Keys of the objects below a prefix, relative to it, sorted; a page at a time."""
        last = None
        page = [""] * PAGE
        while len(page) == PAGE:
            page = self._page(f"{prefix}/", last)
            yield from (key.removeprefix(f"{prefix}/") for key in page)
            last = page[-1] if page else None

    def sizes(self, prefix: str) -> dict[str, int]:
        """Size in bytes of every object below a prefix, by its key relative to the prefix."""
        sizes: dict[str, int] = {}
        last = None
        full = True
        while full:
            page = self._listed(f"{prefix}/", last)
            sizes |= {one["path"].removeprefix(f"{prefix}/"): one["size"] for one in page}
            last = page[-1]["path"] if page else None
            full = len(page) == PAGE
        return sizes

    def delete(self, *keys: str) -> None:
        """Delete objects, all at once; missing ones are no error."""
        from obstore import delete_async

        if keys:
            self._sync(lambda: delete_async(self._objects.store, list(keys)))

    def remove(self, name: str) -> None:
        """Delete a Zarr hierarchy.

        Its root document first, so that half of it never passes for the whole.
        """
        self.delete(f"{name}/zarr.json")
        while page := self._page(f"{name}/", None):
            self.delete(*page)

    def stage(self, name: str) -> str:
        """Key under which a new Zarr hierarchy is built: its own, as nothing can be renamed in a
        bucket.
        """
        self.remove(name)
        return name

    def publish(self, staged: str, name: str, root: bytes) -> None:
        """Publish what was built by writing its root document."""
        self.put(f"{name}/zarr.json", root)

    def stamp(self, key: str) -> str | None:
        """What changes whenever an object is written again; None if there is none."""
        from obstore import head_async

        try:
            attributes = self._sync(lambda: head_async(self._objects.store, key))
        except FileNotFoundError:
            return None
        return f"{attributes['last_modified'].isoformat()} {attributes['e_tag']}"

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results of a function that reads or writes one object, in order, many at a time."""
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

    @contextmanager
    def locked(self, owner: str) -> Iterator[None]:
        """One process at a time, on any machine; writes of one that lost the lock are refused."""
        with self.lease.held(owner):
            self.holds = True
            try:
                yield
            finally:
                self.holds = False

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """While objects are written; several processes may do so at once."""
        yield

    def left_over(self, prefix: str) -> list[str]:
        """Unfinished writes: none, since an object appears only when it is complete."""
        return []

    @cached_property
    def _objects(self) -> "Objects":
        return Objects(_connect(self.url), self._try)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(AT_ONCE)

    def _page(self, prefix: str, last: str | None, patience: float | None = None) -> list[str]:
        return [one["path"] for one in self._listed(prefix, last, patience)]

    def _listed(
        self, prefix: str, last: str | None, patience: float | None = None
    ) -> list[dict[str, Any]]:
        store = self._objects.store  # or what is missing: the package, credentials
        import obstore

        async def page() -> list[dict[str, Any]]:
            async for listed in obstore.list(store, prefix, offset=last, chunk_size=PAGE):
                return list(listed)
            return []

        listed: list[dict[str, Any]] = self._sync(page, patience)
        return listed

    def _sync(self, request: Callable[[], Awaitable[Any]], patience: float | None = None) -> Any:
        return sync(self._try(request, patience))

    async def _try(
        self, request: Callable[[], Awaitable[Any]], patience: float | None = None
    ) -> Any:
        """Answer of a request, which must be harmless to repeat."""
        from obstore.exceptions import AlreadyExistsError, BaseError

        end = time.monotonic() + (self.timeout if patience is None else patience)
        pause, most = PAUSES
        while True:
            if self.holds and not self.lease.valid():
                raise Unreachable(
                    f"{self.url} was out of reach for so long that another driver may have taken "
                    "over"
                )
            try:
                async with asyncio.timeout(max(end - time.monotonic(), CONNECT)):
                    return await request()
            except AlreadyExistsError:
                raise
            except (BaseError, FileNotFoundError, TimeoutError) as error:
                text, passes = _explain(error)
                if isinstance(error, FileNotFoundError) and "bucket" not in text:
                    raise
                if not passes or time.monotonic() + pause > end:
                    raise Unreachable(f"{self.url} {text}") from None
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, most)


class Objects(ObjectStore[Any]):
    """Zarr's store of objects, with requests that are tried again and errors of one line."""

    def __init__(self, store: Any, attempt: Callable[..., Awaitable[Any]]):
        super().__init__(store)
        self.attempt = attempt

    def with_read_only(self, read_only: bool = False) -> "Objects":
        """The same, for reading only or not."""
        store = copy.copy(self)
        store._read_only = read_only
        return store

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Content of an object or a range of it, None if there is none."""
        return await self.attempt(lambda: ObjectStore.get(self, key, prototype, byte_range))

    async def set(self, key: str, value: Any) -> None:
        """Write an object."""
        from obstore import put_async

        await self.attempt(
            lambda: put_async(self.store, key, value.as_buffer_like(), use_multipart=False)
        )

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        """Write an object where there is none."""
        await self.attempt(lambda: ObjectStore.set_if_not_exists(self, key, value))

    async def exists(self, key: str) -> bool:
        """Whether there is an object of a key."""
        return bool(await self.attempt(lambda: ObjectStore.exists(self, key)))

    async def delete(self, key: str) -> None:
        """Delete an object; one that is missing is no error."""
        await self.attempt(lambda: ObjectStore.delete(self, key))

    async def delete_dir(self, prefix: str) -> None:
        """Delete all objects below a prefix."""
        await self.attempt(lambda: ObjectStore.delete_dir(self, prefix))

    async def list_dir(self, prefix: str) -> AsyncGenerator[str, None]:
        """Names directly below a prefix."""

        async def names() -> list[str]:
            return [name async for name in ObjectStore.list_dir(self, prefix)]

        for name in await self.attempt(names):
            yield name


def _connect(url: str) -> Any:
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
    if not any(all(map(os.environ.get, names)) for names in (KEYS, *OTHERS)):
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
    endpoint = next(filter(None, map(os.environ.get, ENDPOINTS)), None)
    address = _endpoint(endpoint or "https://amazonaws.com")
    allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
    if (
        address.scheme == "http"
        and address.hostname not in ("127.0.0.1", "::1", "localhost")
        and not allowed
    ):
        raise InvalidInput(
            "AWS_ENDPOINT_URL",
            endpoint,
            "is not encrypted; write https://, or export "
            "AWS_ALLOW_HTTP=true where the network can be trusted",
        )
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    try:
        return S3Store(
            bucket,
            prefix=prefix or None,
            **({"endpoint": endpoint} if endpoint else {}),
            conditional_put="etag",
            client_options={
                "allow_http": address.scheme == "http",
                "connect_timeout": timedelta(seconds=CONNECT),
                "timeout": timedelta(seconds=ATTEMPT),
            },
            retry_config={"max_retries": 0, "retry_timeout": timedelta(0)},
        )
    except BaseError:  # its text may hold a value
        known = (*KEYS, *ENDPOINTS, *REGIONS, "AWS_SESSION_TOKEN", "AWS_ALLOW_HTTP")
        names = sorted(name for name in os.environ if name.startswith("AWS_") and name not in known)
        raise InvalidInput(
            "store.url", url, f"cannot be opened; look at {', '.join(names) or 'AWS_REGION'}"
        ) from None


def _endpoint(url: str) -> SplitResult:
    """The parts of the URL. Raises InvalidInput without repeating it: it may hold a secret."""
    try:
        parts = urlsplit(url)
        if (
            parts.scheme in ("http", "https")
            and parts.hostname
            and re.fullmatch("[!-~]+", url)
            and parts.port != 0
            and not ("@" in parts.netloc or parts.query or parts.fragment)
        ):
            return parts
    except ValueError:  # a port that is no number, half a bracket
        pass
    raise InvalidInput("AWS_ENDPOINT_URL", "…", "must be http(s)://HOST or http(s)://HOST:PORT")


def _explain(error: Exception) -> tuple[str, bool]:
    """What is wrong, without the server's own text (it may hold a key), and whether trying again
    may help.
    """
    text = str(error)
    matches = [
        re.search(pattern, text) for pattern in (r"<Code>(\w+)</Code>", r"status code: (\d+)")
    ]
    code, status = (match[1] if match else "" for match in matches)
    number = int(status or 0)
    if code == "NoSuchBucket":
        return "no such bucket; create it, or choose another", False
    if code == "AccessDenied":
        return (
            "denies access; these credentials must be allowed to list, read, write and delete "
            "there",
            False,
        )
    if code in REFUSED or number in (401, 403):
        return (
            f"refuses the credentials ({code or number}); look at {', '.join(KEYS)}, "
            "AWS_SESSION_TOKEN",
            False,
        )
    if code == "RequestTimeTooSkewed":
        return "refuses the clock of this machine; set it", False
    if code in ELSEWHERE or number in (301, 307):
        return "is in another region; export AWS_REGION", False
    if number:
        return f"fails ({number} {code})".replace(" )", ")"), number >= 500 or number in (408, 429)
    if isinstance(error, TimeoutError) or "kind: Timeout" in text:
        return "does not answer in time; look at the network", True
    if "kind: Connect" in text:
        return "cannot be reached; look at AWS_ENDPOINT_URL and the network", True
    return "drops connections; look at the network", True
