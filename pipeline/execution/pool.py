"""Where a sweep's bundles are computed: in this process, or on the workers of a Dask client."""

import contextlib
import functools
import pickle
import queue
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters.executor import GONE, LOST, Executor
from pipeline.execution.errors import SweepError
from pipeline.execution.task import TOPIC, Ending, Runner, attempt, compute, halt, install, one_line

POLL = 0.2  # seconds between two counts of the workers
DESERTED = 5.0  # seconds without any worker after which a sweep that is stopping waits no more
ANSWERS = 10.0  # seconds in which workers answer
AT_ONCE = 100  # bundles that are handed out, or taken back, together
REGISTRATIONS = 3  # attempts to give the runner to the workers that there are


class Pool(Protocol):
    """What computes bundles. Each worker thread counts as one worker."""

    @property
    def workers(self) -> int:
        """Workers that may compute now."""
        ...

    @property
    def capacity(self) -> int:
        """Workers to plan for: those that there are, or those that were asked for if these are more."""
        ...

    @property
    def room(self) -> int:
        """Most bundles handed out at once."""
        ...

    @property
    def most(self) -> int:
        """Most workers at once so far."""
        ...

    @property
    def lost(self) -> int:
        """Workers that vanished."""
        ...

    @property
    def deserted(self) -> bool:
        """Whether the sweep is stopping and no worker is left to finish what was handed out."""
        ...

    def submit(self, bundle: Bundle) -> None:
        """Hand out a bundle."""

    def finished(self) -> Iterable[tuple[Bundle, Ending]]:
        """Bundles that ended since the last call; waits a moment for the first."""
        ...

    def halt(self) -> None:
        """Start no bundle any more; those that were handed out but not started end as halted."""

    def watch(self) -> None:
        """Count the workers and replace those that died; SweepError if there were none for too long."""


class ThisProcess:
    """Compute in this process, one bundle at a time."""

    workers, capacity, room, most, lost, deserted = 1, 1, 1, 1, 0, False

    def __init__(self, runner: Runner):
        self.runner = runner
        self.waiting: list[Bundle] = []

    def submit(self, bundle: Bundle) -> None:
        """Keep the bundle until `finished` is called."""
        self.waiting.append(bundle)

    def finished(self) -> list[tuple[Bundle, Ending]]:
        """Compute the bundle. SweepError if this process, the only worker, must not compute."""
        bundle = self.waiting.pop()
        ending = attempt(self.runner, bundle)
        if ending.state == "unfit":
            raise SweepError(ending.value)
        return [(bundle, ending)]

    def halt(self) -> None:
        """Nothing to do: no bundle waits."""

    def watch(self) -> None:
        """There are no other workers to count."""


class DaskPool:
    """Compute on the workers of a Dask client, whose number may change at any time.

    Args:
        window: bundles handed out for each worker, computing or waiting.
        worker_timeout: seconds without any worker after which the sweep fails.
        on_retired: called with one line for each worker that is retired because it must not compute.
    """

    def __init__(self, executor: Executor, runner: Runner, window: int, worker_timeout: float,
                 on_retired: Callable[[str], None]):
        self.executor, self.window, self.worker_timeout = executor, window, worker_timeout
        self.on_retired = on_retired
        self.sweep = uuid.uuid4().hex  # its name in the workers
        self.workers = self.most = self.lost = self.submitted = 0
        self.halted = self.deserted = False
        self.present: set[str] = set()  # addresses of the workers when they were last counted
        self.retired: set[str] = set()
        self.outgoing: dict[int, Bundle] = {}  # to be handed out together
        self.futures: dict[int, tuple[Any, Bundle]] = {}
        self.ready: queue.SimpleQueue[tuple[int, bytes | None]] = queue.SimpleQueue()  # number, how it ended if known
        _POOLS[self.sweep] = self
        executor.client.subscribe_topic(TOPIC, _deliver)
        self.last_count, self.last_present = 0.0, time.monotonic()
        self._install(runner)
        self.watch()

    @property
    def capacity(self) -> int:
        """Workers to plan for: those that there are, or those that were asked for if these are more."""
        return max(self.workers, self.executor.workers)

    @property
    def room(self) -> int:
        """Most bundles handed out at once: it follows the number of workers."""
        return self.window * self.capacity

    def submit(self, bundle: Bundle) -> None:
        """Hand out a bundle, soon and together with others. Dask looks for no tasks in it, as it would in a list."""
        if len(self.outgoing) >= AT_ONCE:
            self._send()
        self.submitted += 1
        self.outgoing[self.submitted] = bundle

    def _send(self) -> None:
        """Hand out what was submitted, in one message."""
        if not self.outgoing:
            return
        numbers, bundles = list(self.outgoing), list(self.outgoing.values())
        self.outgoing = {}
        futures = self.executor.client.map(
            functools.partial(compute, self.sweep), numbers, bundles,
            key=[(f"units-{self.sweep}", number) for number in numbers])
        for number, bundle, future in zip(numbers, bundles, futures, strict=True):
            self.futures[number] = future, bundle
            future.add_done_callback(lambda _, number=number: self.ready.put((number, None)))

    def finished(self) -> Iterator[tuple[Bundle, Ending]]:
        """Some bundles that ended. A worker that must not compute is retired, see `_retire`."""
        self._send()
        for waiting in range(AT_ONCE):
            try:
                number, said = self.ready.get(timeout=0 if waiting else POLL)
            except queue.Empty:
                return
            if number not in self.futures:  # it is known already
                continue
            future, bundle = self.futures[number]
            ending = _ending(future) if said is None else pickle.loads(said)
            if ending is None:  # ask again later
                self.ready.put((number, None))
                return
            del self.futures[number]
            if ending.state == "unfit":
                self._retire(ending.worker, ending.value)
            yield bundle, ending

    def halt(self) -> None:
        """Tell all workers to start no bundle any more. Calls after the first do nothing."""
        if not self.halted:
            self.halted = True
            with contextlib.suppress(*GONE):  # a worker that dies meanwhile, or is frozen, starts nothing either
                self.executor.client.run(halt, self.sweep, on_error="ignore", callback_timeout=ANSWERS)

    def watch(self) -> None:
        """Count the workers and replace those that died, if the last count is POLL seconds old."""
        now = time.monotonic()
        if self.workers and now - self.last_count < POLL:
            return
        self._count(now)
        absent = now - self.last_present
        if not self.workers and absent > self.worker_timeout:
            raise SweepError(f"no worker for {self.worker_timeout:g} s ({self.executor.description}): "
                             "look at the workers' output"
                             + ("; cluster.patience=… waits longer" if self.executor.patience else ""))
        self.deserted = self.halted and not self.workers and absent > DESERTED
        if not self.halted:
            try:
                self.executor.revive()
            except OSError as error:
                raise SweepError(str(error)) from None

    def _install(self, runner: Runner) -> None:
        """Give the runner to all workers, also to those that join later; retire those that cannot load it."""
        client, setup = self.executor.client, functools.partial(install, self.sweep, runner, self.executor.admit)
        for attempts_left in reversed(range(REGISTRATIONS)):
            try:
                client.register_worker_callbacks(setup)
                return
            except LOST:  # a worker died meanwhile
                if not attempts_left:
                    raise SweepError("workers die when they receive the runner: look at their output") from None
            except Exception:  # of the first worker that cannot load it; Dask does not name the worker
                self._count(time.monotonic())
                errors = client.run(setup, on_error="return")
                for address, error in errors.items():
                    if isinstance(error, Exception):
                        self._retire(address, f"cannot load the runner ({one_line(error)})")
                if not attempts_left:
                    raise

    def _count(self, now: float) -> None:
        threads = {address: count for address, count in self.executor.alive().items() if address not in self.retired}
        self.lost += len(self.present - threads.keys() - self.retired)
        self.present, self.last_count = set(threads), now
        self.workers = sum(threads.values())
        self.most = max(self.most, self.workers)
        if self.workers:
            self.last_present = now

    def _retire(self, address: str, reason: str) -> None:
        """End a worker that must not compute; SweepError with its reason if no other is there or to come."""
        if address in self.retired:  # a bundle that was waiting there as well
            return
        self.retired.add(address)
        others_to_come = self.executor.retire(address)
        self.present &= set(self.executor.alive())  # others that ended with it, as those of its job, are not lost
        self._count(time.monotonic())
        if not self.workers and not others_to_come:
            raise SweepError(reason)
        self.on_retired(f"worker {address} is retired: {reason}")


# Those of this process, by the names of their sweeps. All sweeps have one topic, as a scheduler forgets none.
_POOLS: weakref.WeakValueDictionary[str, DaskPool] = weakref.WeakValueDictionary()


def _deliver(event: tuple[float, tuple[str, int, bytes]]) -> None:
    """Tell the pool of a sweep how a bundle ended, if that is one of this process."""
    sweep, number, ending = event[1]
    if pool := _POOLS.get(sweep):
        pool.ready.put((number, ending))


def _ending(future: Any) -> Ending | None:
    """How a future ended; None if its worker died with the result, which is being computed again."""
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    try:
        ending: Ending = future.result(timeout=1)
        return ending
    except TimeoutError:
        return None
    except KilledWorker:
        return Ending("lost", "its worker was killed")
    except LOST as error:
        return Ending("lost", f"lost ({one_line(error)})")
    except FutureCancelledError as error:
        return Ending("failed", f"no scheduler any more ({error.reason}): look at its output")
    except Exception as error:
        return Ending("failed", one_line(error))
