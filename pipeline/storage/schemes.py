"""All backends that a person may choose by a URL, each by the scheme of its URLs.

No other list of them exists. The one of this package is found as any other: by an entry
point of the group `pipeline.backends`, which names a subclass of `UrlBackend` by its
scheme. A package that is broken, or brings a scheme that another one has, is left out,
and stops no other.
"""

import inspect
import sys
from contextlib import redirect_stdout
from functools import lru_cache
from importlib.metadata import EntryPoint

from pipeline.identity.packages import Broken, broken_by, entries_of
from pipeline.storage.url_backend import UrlBackend
from pipeline.study.parameters import InvalidInput

BACKENDS = "pipeline.backends"
ATTRIBUTES = ("scheme", "form")  # that a class must have


def check_url(url: str) -> str:
    """The URL as it is kept, without "/" at its end.

    Raises InvalidInput if it is none, without repeating it where it may hold a secret.
    """
    if any(character in url for character in "@?#"):
        raise InvalidInput(
            "url", "…", "must not hold credentials: they are read from the environment alone"
        )
    return _class_of(_scheme_of(url)).check_url(url)


def open_backend(url: str, timeout: float) -> UrlBackend:
    """The backend of a URL, which is connected to when it is first used.

    timeout: seconds for which a request that fails is tried again.
    """
    return _class_of(_scheme_of(url))(url, timeout)


def is_url(text: str) -> bool:
    """Whether a text starts like the URL of a backend."""
    return ":" in text and any(entry.name == _scheme_of(text) for entry in entries_of(BACKENDS))


def forget() -> None:
    """Let the next question find what was installed, or taken away, since the first."""
    _class_of.cache_clear()


@lru_cache(maxsize=16)  # workers ask for it again with every task
def _class_of(scheme: str) -> type[UrlBackend]:
    """The class for a scheme; InvalidInput if there is none, or if its package is broken."""
    entries = entries_of(BACKENDS)
    if not entries:
        raise InvalidInput(
            "url",
            f"{scheme}:…",
            "no backend is installed, so neither is this program as it is now: make setup",
        )
    named = [entry for entry in entries if entry.name == scheme]
    if not named:
        raise InvalidInput("url", f"{scheme}:…", f"must be {' or '.join(_forms(entries))}")
    targets = sorted({entry.value for entry in named})
    if len(targets) > 1:
        places = " and by ".join(targets)
        raise InvalidInput(
            "url", f"{scheme}:…", f"this scheme is brought by {places}; uninstall one of them"
        )
    backend = _load(named[0])
    if isinstance(backend, Broken):
        raise InvalidInput("url", f"{scheme}:…", str(backend))
    return backend


def _scheme_of(url: str) -> str:
    return url.partition(":")[0]


def _forms(entries: list[EntryPoint]) -> list[str]:
    """The URLs of all sound backends, in words, sorted by their schemes."""
    backends: dict[str, type[UrlBackend]] = {}
    for entry in entries:
        backend = _load(entry)
        if not isinstance(backend, Broken):
            backends[entry.name] = backend
    return [backend.form for _, backend in sorted(backends.items())]


def _load(entry: EntryPoint) -> type[UrlBackend] | Broken:
    """The class that an entry point names, or why it is left out."""
    try:
        with redirect_stdout(sys.stderr):  # what it prints belongs to no answer
            backend = entry.load()
    except (MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return broken_by(entry, error)
    reason = _lacks(backend)
    if not reason and backend.scheme != entry.name:
        reason = f"calls its scheme {backend.scheme}"
    return Broken(entry, reason) if reason else backend


def _lacks(backend: object) -> str:
    """Why something is no backend; empty if it is one."""
    if not (inspect.isclass(backend) and issubclass(backend, UrlBackend)):
        return "is no subclass of UrlBackend"
    missing = [name for name in ATTRIBUTES if not hasattr(backend, name)]
    missing += sorted(backend.__abstractmethods__)
    return f"lacks {', '.join(missing)}" if missing else ""
