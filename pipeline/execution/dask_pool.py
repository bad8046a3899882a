"""A sweep's bundles on the workers of a Dask client, whose scheduler may be another person's."""

import asyncio
import contextlib
import functools
import pickle
import queue
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters.executor import Executor
from pipeline.execution.clusters.lost import GONE, LOST
from pipeline.execution.errors import SweepError, Unfit
from pipeline.execution.task import (
    TOPIC,
    Ending,
    UnitFunction,
    compute,
    forget,
    halt,
    install,
    one_line,
)

if TYPE_CHECKING:
    import distributed

POLL = 0.2  # seconds between two counts of the workers
DESERTED = 5.0  # seconds without any worker after which a sweep that is stopping waits no more
ANSWERS = 10.0  # seconds in which workers answer
FAREWELL = 2.0  # seconds in which they forget a sweep
AT_ONCE = 100  # bundles that are handed out, or taken back, together
IMPORT = f"import {install.__module__}"  # a worker that runs this can be given the runner
ANSWERED = 0  # in place of a bundle's number: a worker has said whether it may compute


class _Gone:
    """In place of a future, where the client is gone: done, and without a result."""

    status = "cancelled"

    def done(self) -> bool:
        return True


@dataclass(frozen=True)
class _Handed:
    """A bundle that was handed out.

    among: addresses of the workers of which Dask may choose; empty: of all.
    """

    future: Any
    bundle: Bundle
    among: frozenset[str]


class DaskPool:
    """Compute on the workers of a Dask client, whose number may change at any time.

    Each worker gets the runner by a task of its own as soon as it is seen, and says whether it may
    compute. Nothing is registered with the scheduler, which may be another person's: a plugin would
    outlive a driver that is killed, and keep workers from joining that cannot load it. There,
    bundles are restricted to workers that have the runner, as a worker of Dask's ends when it gets
    a task whose code it cannot import; for the same reason it is first asked, in Python alone, to
    import. On other clusters a worker that gets a bundle before the runner gives it back.

    Args:
        window: bundles handed out for each worker, computing or waiting.
        worker_timeout: seconds without any worker after which the sweep fails, unless a process of
            this machine is still starting that is at least half as old.
        on_retired: called with one line for each worker that must not compute.
    """

    def __init__(
        self,
        executor: Executor,
        runner: UnitFunction,
        window: int,
        worker_timeout: float,
        on_retired: Callable[[str], None],
    ):
        from distributed.protocol.pickle import dumps

        self.executor = executor
        self.window = window
        self.worker_timeout = worker_timeout
        self.on_retired = on_retired
        self.sweep = uuid.uuid4().hex  # its name in the workers
        self.content: bytes = dumps((runner, executor.admit))
        self.workers = 0
        self.most = 0
        self.lost = 0
        self.submitted = 0
        self.halted = False
        self.deserted = False
        self.there = set(executor.unfit)  # addresses of all workers when they were last counted
        self.present: set[str] = set()  # of those that may compute, as far as is known
        self.fit: set[str] = set()  # of those that have the runner
        self.unfit = executor.unfit
        # By address, the futures of workers that are to import this package, and of those that
        # were sent the runner.
        self.imports: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}
        self.knock: Any = None  # future that asks an adaptive scheduler for a first worker
        self.outgoing: dict[int, Bundle] = {}  # to be handed out together
        self.handed: dict[int, _Handed] = {}
        # Numbers of bundles that ended, each with how, where that is known.
        self.ready: queue.SimpleQueue[tuple[int, bytes | None]] = queue.SimpleQueue()
        _POOLS[self.sweep] = self
        executor.client.subscribe_topic(TOPIC, _deliver)
        self.last_count = 0.0
        self.last_present = time.monotonic()
        self.watch()

    @property
    def capacity(self) -> int:
        """Workers to plan for: those that there are, or those that are wanted if these are more."""
        return max(self.workers, self.executor.workers)

    @property
    def room(self) -> int:
        """Most bundles handed out at once: it follows the number of workers."""
        return self.window * self.capacity

    def submit(self, bundle: Bundle) -> None:
        """Hand out a bundle, soon and together with others.

        Dask looks for no tasks in it, as it would in a list.
        """
        if len(self.outgoing) >= AT_ONCE:
            self._send()
        self.submitted += 1
        self.outgoing[self.submitted] = bundle

    def _send(self) -> None:
        """Hand out what was submitted, in one message.

        Nothing while workers are there and none has answered.
        """
        among = self._among()
        if not self.outgoing or among == []:
            return
        where = {}
        if among is not None:
            where = {"workers": among}
        numbers = list(self.outgoing)
        bundles = list(self.outgoing.values())
        self.outgoing = {}
        futures = self.executor.client.map(
            functools.partial(compute, self.sweep),
            numbers,
            bundles,
            key=[(f"units-{self.sweep}", number) for number in numbers],
            **where,
        )
        for number, bundle, future in zip(numbers, bundles, futures, strict=True):
            self.handed[number] = _Handed(future, bundle, frozenset(among or ()))
            future.add_done_callback(lambda _, number=number: self.ready.put((number, None)))

    def _among(self) -> list[str] | None:
        """Workers of which Dask may choose; None: of all, also of those that join later."""
        if self.executor.guest:
            return sorted(self.fit & self.present)
        if self.fit or not self.present:
            return None
        return []

    def finished(self) -> Iterator[tuple[Bundle, Ending]]:
        """Some bundles that ended. A worker that must not compute is retired, see `_retire`."""
        self._see_answers()
        if self.halted:
            unsent = self.outgoing
            self.outgoing = {}
            for bundle in unsent.values():
                yield bundle, Ending("halted")
        self._send()
        patience = POLL
        for _ in range(AT_ONCE):
            try:
                number, report = self.ready.get(timeout=patience)
            except queue.Empty:
                return
            patience = 0.0  # what else has ended by now is there already
            if number not in self.handed:  # it is known already
                continue
            handed = self.handed[number]
            ending = _ending(handed.future, report)
            if ending is None:  # look again later
                self.ready.put((number, None))
                return
            del self.handed[number]
            self._heed(ending)
            yield handed.bundle, ending

    def _heed(self, ending: Ending) -> None:
        """Do what the end of a bundle says of its worker."""
        if ending.state == "unfit":
            self._retire(ending.worker, ending.value)
        elif ending.state == "unprepared":
            self.fit.discard(ending.worker)  # a new process at the address of one that died
            self.last_count = 0.0  # look for it at once

    def halt(self) -> None:
        """Tell all workers to start no bundle any more. Calls after the first do nothing."""
        if not self.halted:
            self.halted = True
            # A worker that dies meanwhile, or is frozen, starts nothing either.
            self._tell(halt, ANSWERS)

    def close(self) -> None:
        """Leave nothing behind in workers that go on, and in their scheduler."""
        del _POOLS[self.sweep]
        self.handed.clear()
        self.answers.clear()
        self.imports.clear()
        self.knock = None
        client = self.executor.client
        if self.executor.guest:
            self._tell(forget, FAREWELL)
            with contextlib.suppress(*GONE, ValueError):
                if not any(pool.executor.client is client for pool in _POOLS.values()):
                    client.unsubscribe_topic(TOPIC)

    def watch(self) -> None:
        """Count the workers and replace those that died, if the last count is POLL seconds old."""
        now = time.monotonic()
        if self.workers and now - self.last_count < POLL:
            return
        self._count(now)
        absent = now - self.last_present
        if not self.workers and absent > self.worker_timeout and not self._is_one_starting():
            raise self._without_workers()
        self.deserted = self.halted and not self.workers and absent > DESERTED
        if not self.halted:
            try:
                self.executor.revive()
            except OSError as error:
                raise SweepError(str(error)) from None

    def _is_one_starting(self) -> bool:
        """Whether a process of this machine is only slow to become a worker.

        Processes that die young, one after the other, are not.
        """
        return self.executor.starting() >= self.worker_timeout / 2

    def _without_workers(self) -> SweepError:
        advice = "look at the workers' output"
        if self.executor.patience:
            advice += "; cluster.patience=… waits longer"
        return SweepError(
            f"no worker for {self.worker_timeout:g} s ({self.executor.description}): {advice}"
        )

    def _tell(self, function: Callable[[str], Any], seconds: float) -> None:
        """Call a function with the sweep's name in all workers that have its runner."""
        workers = sorted(self.fit & self.present)
        if workers:
            with contextlib.suppress(*GONE):
                self.executor.client.run(
                    function,
                    self.sweep,
                    workers=workers,
                    on_error="ignore",
                    callback_timeout=seconds,
                )

    def _count(self, now: float) -> None:
        there = self.executor.alive()
        self.lost += len(self.present - there.keys() - self.unfit)
        self.fit &= there.keys()
        for futures in (self.imports, self.answers):
            for address in futures.keys() - there.keys():
                del futures[address]
        # A worker that is new may be another process, at the address of one that is gone.
        self.unfit -= there.keys() - self.there
        self.there = set(there)
        threads = {address: count for address, count in there.items() if address not in self.unfit}
        self.present = set(threads)
        self.last_count = now
        self.workers = sum(threads.values())
        self.most = max(self.most, self.workers)
        if self.workers:
            self.last_present = now
        self._take_back()
        self._widen()
        if not self.halted:
            self._welcome()

    def _welcome(self) -> None:
        """Let new workers import this package; knock at a scheduler that has no worker yet."""
        for address in self.present - self.fit - self.imports.keys() - self.answers.keys():
            self.imports[address] = self._ask(address, exec, IMPORT)
        if not self.executor.guest or self.present:
            return
        if self.knock is None or self.knock.done():
            self.knock = self._ask(None, exec, "pass")

    def _take_back(self) -> None:
        """End bundles that would wait for ever: of the workers that may have them none is left."""
        for number, handed in list(self.handed.items()):
            if not handed.among or not handed.among.isdisjoint(self.fit):
                continue
            self.handed[number] = _Handed(handed.future, handed.bundle, frozenset())
            ending = Ending("lost", "its worker ended")
            if handed.among <= self.unfit:
                ending = Ending("unprepared")
            self.ready.put((number, pickle.dumps(ending)))
            with contextlib.suppress(*GONE):
                handed.future.cancel()

    def _ask(
        self, address: str | None, function: Callable[..., None], *arguments: object
    ) -> "distributed.Future | _Gone":
        """The future of a call in a worker, before all else that waits there.

        address: of the worker; None: any worker.
        """
        where = {}
        if address is not None:
            where = {"workers": [address]}
        with contextlib.suppress(*GONE):
            future = self.executor.client.submit(
                function,
                *arguments,
                priority=1,
                key=f"runner-{self.sweep}-{uuid.uuid4().hex}",
                **where,
            )
            future.add_done_callback(lambda _: self.ready.put((ANSWERED, None)))
            return future
        return _Gone()

    def _see_answers(self) -> None:
        """Send the runner to workers that could import this package, and note which have it.

        Those that could not, or must not compute, are retired.
        """
        for address in self._answered(self.imports):
            self.answers[address] = self._ask(address, install, self.sweep, self.content)
        self.fit.update(self._answered(self.answers))

    def _answered(self, futures: dict[str, Any]) -> list[str]:
        """Take out the futures that are done; addresses of the workers that did what they should.

        The others are retired.
        """
        done = {address: future for address, future in futures.items() if future.done()}
        for address in done:
            del futures[address]
        for address, future in done.items():
            if future.status == "error":
                self._refused(address, future.exception())
        return [address for address, future in done.items() if future.status == "finished"]

    def _widen(self) -> None:
        """Let workers that answered meanwhile take over bundles that only others could have."""
        fit = frozenset(self.fit & self.present)
        narrow = self._narrow(fit)
        if not narrow:
            return
        client = self.executor.client
        keys = {self.handed[number].future.key: sorted(fit) for number in narrow}
        try:
            client.sync(client.scheduler.set_restrictions, worker=keys)
        except (*GONE, KeyError):
            return  # a bundle has just ended, or is on its way: the next time
        for number in narrow:
            handed = self.handed[number]
            self.handed[number] = _Handed(handed.future, handed.bundle, fit)

    def _narrow(self, fit: frozenset[str]) -> list[int]:
        """Numbers of bundles that some of the fit workers may have, and more should.

        While workers still answer, only where that doubles them: each message to the scheduler is
        as long as all bundles times all workers.
        """
        settled = not self.imports and not self.answers
        restricted = {
            number: len(handed.among)
            for number, handed in self.handed.items()
            if handed.among and handed.among < fit
        }
        return [number for number, few in restricted.items() if settled or 2 * few <= len(fit)]

    def _refused(self, address: str, error: BaseException) -> None:
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker | asyncio.CancelledError):
            return  # if it is still there, it is welcomed again
        if isinstance(error, Unfit):
            self._retire(address, error.reason)
        else:
            self._retire(address, f"cannot load this package ({one_line(error)}); install it there")

    def _retire(self, address: str, reason: str) -> None:
        """Do without a worker that must not compute.

        SweepError with its reason if no other is there or to come.
        """
        if address in self.unfit:  # a bundle that was waiting there as well
            return
        self.unfit.add(address)
        self.fit.discard(address)
        others_to_come = self.executor.retire(address)
        # Others that ended with it, as those of its job, are not lost.
        self.present &= set(self.executor.alive())
        self._count(time.monotonic())
        if not self.workers and not others_to_come:
            raise SweepError(reason)
        fate = "is retired"
        if self.executor.guest:
            fate = "is left alone"
        line = f"worker {address} {fate}: {reason}"
        if line not in _NAMED:  # sealing and judging are sweeps of their own, which see it again
            _NAMED.add(line)
            self.on_retired(line)


# Lines on workers that must not compute which this process has printed.
_NAMED: set[str] = set()
# The pools of this process, by the names of their sweeps. All sweeps have one topic, as a
# scheduler forgets none.
_POOLS: weakref.WeakValueDictionary[str, DaskPool] = weakref.WeakValueDictionary()


def _deliver(event: tuple[float, tuple[str, int, bytes]]) -> None:
    """Tell the pool of a sweep how a bundle ended, if that is one of this process."""
    sweep, number, report = event[1]
    pool = _POOLS.get(sweep)
    if pool is not None:
        pool.ready.put((number, report))


def _ending(future: "distributed.Future", report: bytes | None) -> Ending | None:
    """How a bundle ended, by its worker's report, or else by its future.

    None if its worker died with the result, which is being computed again.
    """
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    if report is not None:
        reported: Ending = pickle.loads(report)
        return reported
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
