"""What several metrics, or estimators on one release, need of one release: made once."""

import weakref
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from pipeline.study.frozen import frozen

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins

Value = TypeVar("Value")


class Last(Generic[Value]):
    """The last value that was made of a truth, a release, and what an estimate says of its ridge and weights."""

    def __init__(self) -> None:
        self._kept: tuple[Callable[[], Any], Callable[[], Any], Hashable, Any] = (
            _nothing,
            _nothing,
            None,
            None,
        )

    def __call__(
        self,
        truth: Preferences,
        release: ReleasedWins,
        estimate: PreferenceEstimate | None,
        make: Callable[[], Value],
    ) -> Value:
        """The value: the last one if it was made of the same objects, else `make()`. estimate None: it does not count."""
        weights = None if estimate is None else estimate.weights
        key = estimate and estimate.ridge, None if weights is None else weights.tobytes()
        of_truth, of_release, known, value = self._kept
        if of_truth() is not truth or of_release() is not release or known != key:
            value = frozen(make())
            self._kept = weakref.ref(truth), weakref.ref(release), key, value
        found: Value = value
        return found


def _nothing() -> None:
    return None
