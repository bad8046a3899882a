"""What a worker does with a bundle of units: call the sweep's runner, and report how that ended."""

import pickle
import time
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from pipeline.execution.bundles import Bundle
from pipeline.execution.errors import Unfit
from pipeline.execution.sight import NeedsStores
from pipeline.study.parameters import InvalidInput, shorten

TOPIC = "pipeline"  # of Dask's events that say how bundles ended

# In a worker: the runners of the sweeps that it takes part in, and the sweeps that start nothing
# more.
_RUNNERS: dict[str, "UnitFunction"] = {}
_HALTED: set[str] = set()


class UnitFunction(Protocol):
    """A runner: computes and stores a list of units, and returns something tiny for each."""

    def __call__(self, units: list[Any], /) -> list[Any]:
        """Compute and store units."""
        ...


@runtime_checkable
class TakesBundles(Protocol):
    """A runner that gets whole bundles: how many workers died of one, how long it should take."""

    def careful(self, bundle: Bundle) -> list[Any]:
        """Compute and store the units of a bundle; something tiny for each."""
        ...


class Ending(NamedTuple):
    """How a bundle ended.

    `value`: what the runner returned if done; the error if failed (InvalidInput or one line); one
    line if lost with its worker; the reason if the worker is unfit; nothing if it is unprepared,
    without the runner. `seconds` in the runner; `worker`: address.
    """

    state: Literal["done", "failed", "lost", "unfit", "unprepared", "halted"]
    value: Any = None
    seconds: float = 0.0
    worker: str = ""


def install(sweep: str, content: bytes) -> None:
    """Give this worker the runner of a sweep. Raises Unfit where it must not compute.

    content: a pickle of the runner and of `admit`, which says why a worker must not compute, or is
    None.
    """
    try:
        runner, admit = pickle.loads(content)
    except Exception as error:
        raise Unfit(f"cannot load the runner ({one_line(error)})") from None
    if admit is not None:
        reason = admit()
        if reason:
            raise Unfit(reason)
    if isinstance(runner, NeedsStores):
        runner.check_sight()
    _RUNNERS[sweep] = runner


async def forget(sweep: str) -> None:
    """Keep nothing of a sweep here."""
    _RUNNERS.pop(sweep, None)
    _HALTED.discard(sweep)


async def halt(sweep: str) -> None:
    """Start no further bundle of a sweep here.

    It runs in the worker's event loop, as all its threads may compute.
    """
    _HALTED.add(sweep)


def compute(sweep: str, number: int, bundle: Bundle) -> Ending:
    """Compute a bundle in a Dask worker, and say at once how it ended.

    An event goes along with the message that the bundle is done. Who fetches the result asks the
    scheduler, and that the worker: more messages than all others for a bundle.
    """
    from distributed import get_worker

    if sweep in _HALTED:
        ending = Ending("halted")
    elif sweep not in _RUNNERS:
        ending = Ending("unprepared")
    else:
        ending = attempt(_RUNNERS[sweep], bundle)
    ending = ending._replace(worker=get_worker().address)
    get_worker().log_event(TOPIC, (sweep, number, pickle.dumps(ending)))
    return ending


def attempt(runner: UnitFunction, bundle: Bundle) -> Ending:
    """Call the runner and catch whatever it raises.

    As text, since the exception itself may not survive pickling.
    """
    start = time.perf_counter()
    try:
        if isinstance(runner, TakesBundles):
            values = runner.careful(bundle)
        else:
            values = runner(bundle.units)
        return Ending("done", values, time.perf_counter() - start)
    except Unfit as error:
        return Ending("unfit", error.reason)
    except InvalidInput as error:
        return Ending("failed", error)
    except Exception as error:
        return Ending("failed", one_line(error))


def one_line(error: BaseException) -> str:
    """An error in one line.

    Without its type if it comes from the disk or the network, whose messages are clear.
    """
    message = shorten(error, 300)
    if isinstance(error, OSError) and str(error):
        return message
    return f"{type(error).__name__}: {message}"
