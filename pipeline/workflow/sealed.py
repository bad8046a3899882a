"""Whether sealed results are what a study asks for, reduced by the code that is here."""

from collections.abc import Mapping
from typing import Any

from pipeline.analysis.moments import block_moments, merged
from pipeline.identity.fingerprints import fingerprint
from pipeline.storage import results
from pipeline.storage.replications import Store
from pipeline.study.study import Study


def reduced_by(study: Study) -> list[str]:
    """Fingerprints of the code that makes summaries from the values of units: no unit shows that it
    changed.
    """
    parts: list[Any] = [block_moments, merged]
    if study.precision:
        from pipeline.analysis.precision import Rule  # SciPy

        parts.append(Rule)
    if study.statistics:
        from pipeline.analysis.order_sums import OrderSums  # SciPy

        parts.append(OrderSums)
    return [fingerprint(part) for part in parts]


def is_current(store: Store, attributes: Mapping[str, Any] | None = None) -> bool:
    """Whether results.zarr and summary.zarr are what the study asks for, and what the code here
    would write.

    attributes: those of results.zarr, where they are known.
    """
    if attributes is None:
        attributes = results.attributes(store)
    study = store.study
    if attributes.get("request") != results.request(study):
        return False
    return attributes.get("reduced_by") == reduced_by(study)
