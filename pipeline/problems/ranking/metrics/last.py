"""What several metrics, or estimators on one release, need of one release: made once."""

import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pipeline.study.frozen import frozen

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins

Value = TypeVar("Value")


@dataclass(frozen=True)
class _Memory(Generic[Value]):
    """A value, and what it was made of: truth and release by weak reference, the rest by value."""

    truth: Callable[[], Any]
    release: Callable[[], Any]
    settings: Hashable
    value: Value


class Last(Generic[Value]):
    """The last value made of a truth, a release, and the ridge and weights of an estimate."""

    def __init__(self) -> None:
        self._memory: _Memory[Value] | None = None

    def __call__(
        self,
        truth: Preferences,
        release: ReleasedWins,
        estimate: PreferenceEstimate | None,
        make: Callable[[], Value],
    ) -> Value:
        """The value: the last one if it was made of the same objects, else `make()`.

        estimate: None where the value does not depend on it.
        """
        settings = None if estimate is None else _settings(estimate)
        memory = self._memory
        if (
            memory is None
            or memory.truth() is not truth
            or memory.release() is not release
            or memory.settings != settings
        ):
            memory = _Memory(weakref.ref(truth), weakref.ref(release), settings, frozen(make()))
            self._memory = memory
        return memory.value


def _settings(estimate: PreferenceEstimate) -> Hashable:
    weights = None if estimate.weights is None else estimate.weights.tobytes()
    return estimate.ridge, weights
