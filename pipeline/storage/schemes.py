"""All backends that a person may choose by a URL, each by the scheme of its URLs.

No other list of them exists. The one of this package is found as any other: by an entry
point of the group `pipeline.backends`, which names a subclass of `UrlBackend` by its
scheme. A package that is broken, or brings a scheme that another one has, is left out,
and stops no other. A program, or a file given with --with, registers one of its own;
workers execute such a file, too, before a store is opened.
"""

import inspect
from functools import lru_cache
from importlib.metadata import EntryPoint
from typing import cast

from pipeline.identity.packages import Broken, entries_of, loaded
from pipeline.storage.url_backend import UrlBackend
from pipeline.study.parameters import InvalidInput

BACKENDS = "pipeline.backends"
ATTRIBUTES = ("scheme", "form")  # that a class must have
_REGISTERED: dict[str, type[UrlBackend]] = {}  # in this process, by their schemes


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
    scheme = _scheme_of(text)
    if ":" not in text:
        return False
    if scheme in _REGISTERED:
        return True
    return any(entry.name == scheme for entry in entries_of(BACKENDS))


def register(new: type[UrlBackend]) -> type[UrlBackend]:
    """Add a backend in this process; also as a decorator of its class.

    Raises InvalidInput where it lacks something, or its scheme is that of another one. The same
    class, executed again, takes the former one's place.
    """
    why = _lacks(new)
    if why:
        raise InvalidInput("backend", getattr(new, "__name__", str(new)), why)
    for entry in entries_of(BACKENDS):
        if entry.name == new.scheme and entry.module != new.__module__:
            raise InvalidInput("backend", new.scheme, f"is the scheme of {entry.value} already")
    other = _REGISTERED.get(new.scheme, new)
    if other.__module__ != new.__module__:
        where = f"{other.__module__}.{other.__name__}"
        raise InvalidInput("backend", new.scheme, f"is the scheme of {where} already")
    _REGISTERED[new.scheme] = new
    return new


def forget() -> None:
    """Search for installed backends again when one is needed next.

    What was registered is not known any more.
    """
    _REGISTERED.clear()
    _installed.cache_clear()


def _class_of(scheme: str) -> type[UrlBackend]:
    """The class for a scheme; InvalidInput if there is none, or if its package is broken."""
    if scheme in _REGISTERED:
        return _REGISTERED[scheme]
    return _installed(scheme)


@lru_cache(maxsize=16)  # workers ask for it again with every task
def _installed(scheme: str) -> type[UrlBackend]:
    """The class that a package brings. Raises as `_class_of`."""
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
    backends = dict(_REGISTERED)
    for entry in entries:
        backend = _load(entry)
        if not isinstance(backend, Broken):
            backends[entry.name] = backend
    return [backend.form for _, backend in sorted(backends.items())]


def _load(entry: EntryPoint) -> type[UrlBackend] | Broken:
    """The class that an entry point names, or why it is left out."""
    named = loaded(entry)
    if isinstance(named, Broken):
        return named
    reason = _lacks(named)
    if reason:
        return Broken(entry, reason)
    backend = cast(type[UrlBackend], named)
    if backend.scheme != entry.name:
        return Broken(entry, f"calls its scheme {backend.scheme}")
    return backend


def _lacks(backend: object) -> str:
    """What a class lacks to be a backend; empty if it is one."""
    if not (inspect.isclass(backend) and issubclass(backend, UrlBackend)):
        return "is no subclass of UrlBackend"
    missing = [name for name in ATTRIBUTES if not hasattr(backend, name)]
    missing += sorted(backend.__abstractmethods__)
    return f"lacks {', '.join(missing)}" if missing else ""
