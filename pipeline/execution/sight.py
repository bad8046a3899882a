"""Whether a worker sees the studies that it is to work for, before it gets its first task."""

import socket
from collections.abc import Sequence

from pipeline.execution.errors import Unfit
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput


def check_sight(store: Store) -> None:
    """Raise Unfit, with a line that names this machine, unless the study is seen from here."""
    host = socket.gethostname()
    try:
        is_there = store.exists()
    except (InvalidInput, OSError) as error:  # as without credentials for the bucket
        raise Unfit(f"{host}: {error}") from None
    if is_there:
        return
    advice = "give outputs on storage that driver and workers share, or store.url=s3://…"
    if store.url:
        advice = "it must reach the same server as the driver (AWS_ENDPOINT_URL)"
    raise Unfit(f"{host} does not see {store.backend}; {advice}")


class NeedsStores:
    """Base of what workers run that reads stored studies.

    A worker that does not see them gets no task. store: of the study, if there is one only.
    """

    store: Store

    @property
    def stores(self) -> Sequence[Store]:
        """The stores of the studies."""
        return (self.store,)

    def check_sight(self) -> None:
        """Raise Unfit unless all of the studies are seen from here."""
        for store in self.stores:
            check_sight(store)
