"""What a Dask client raises when a worker, or its scheduler, is gone.

A module of its own, as asyncio is 60 files, which a driver without Dask need not read.
"""

import asyncio

# When a worker dies while a client waits for its answer. A wait that is cancelled inside Dask comes
# out of its `sync` as UnboundLocalError.
LOST = (OSError, asyncio.CancelledError, UnboundLocalError)
# The same, and what a client raises once it has closed, which it does some time after its scheduler
# is gone.
GONE = (*LOST, RuntimeError)
