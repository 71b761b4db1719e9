"""A lane: a queue of jobs and the few threads that serve it, started when needed, gone when closed or forked."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakSet

from playhead.store.concurrency.hop import Job

Serve = Callable[["Queue"], None]
"""Does the jobs of a queue until it ends; opens what it needs, closes it at the end."""

_PATIENCE = 5.0


def _endless() -> None:
    """Wait for as long as it takes."""


class Queue:
    """The jobs of a lane, in order, for the threads that serve it."""

    __slots__ = ("_finished", "_jobs", "_lock", "_put")

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._put = 0
        self._finished = 0

    @property
    def unfinished(self) -> int:
        """How many jobs wait or are being done."""
        return self._put - self._finished

    def put(self, job: Job | None) -> None:
        """Add a job, or None, which ends one thread."""
        if job is not None:
            with self._lock:
                self._put += 1
        self._jobs.put(job)

    def __iter__(self) -> Iterator[Job]:
        """Yield one job after the other, each finished when the next is asked for."""
        while (job := self._jobs.get()) is not None:
            yield job
            with self._lock:
                self._finished += 1

    def groups(self, most: int, *, patience: Callable[[], float | None] = _endless) -> Iterator[list[Job]]:
        """Yield all jobs that wait, up to `most` at a time, and none after so many seconds without any; only where a single thread serves the queue."""
        jobs = self._jobs
        while True:
            try:
                job = jobs.get(timeout=patience())
            except Empty:
                yield []
                continue
            if job is None:
                return
            group = [job]
            while len(group) < most and jobs.qsize() and (job := jobs.get_nowait()) is not None:
                group.append(job)
            yield group
            self._finished += len(group)
            if job is None:
                return

    def __len__(self) -> int:
        return self._jobs.qsize()


class Lane:
    """Serves jobs by at most `size` threads; a task that awaits `run` costs one hop.

    Before the process forks the threads end and close what they hold, as neither may cross a fork;
    the next job starts them anew, in the parent and in the child.
    """

    def __init__(self, serve: Serve, *, size: int, name: str) -> None:
        self._serve = serve
        self._size = size
        self._name = name
        self._renew()
        _lanes.add(self)

    def _renew(self) -> None:
        self._lock = threading.RLock()  # a store may be collected, and so stop its lanes, in the middle of anything
        self._queue = Queue()
        self._threads: set[threading.Thread] = set()

    async def run(self, work: Any) -> Any:
        """Have the work done and return its result or raise its error; a cancelled wait leaves it done or not done."""
        return await self._put(work).ticket

    def post(self, work: Any) -> None:
        """Have the work done, in a task that does not wait for it."""
        self._put(work)

    def _put(self, work: Any) -> Job:
        job = Job(work)
        self._queue.put(job)
        if len(self._threads) < self._size:
            with self._lock:
                if len(self._threads) < min(self._size, self._queue.unfinished):
                    self._start()
        return job

    def start(self) -> None:
        """Start a thread where none runs, to do what needs no job."""
        with self._lock:
            if not self._threads:
                self._start()

    def stop(self) -> list[threading.Thread]:
        """End the threads once they have done what waits; return them."""
        with self._lock:
            for _ in self._threads:
                self._queue.put(None)
            return list(self._threads)

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        try:
            self._serve(self._queue)
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
                if not self._threads and len(self._queue):
                    self._start()


_lanes: WeakSet[Lane] = WeakSet()


def stop_and_wait(*lanes: Lane, patience: float | None = None) -> None:
    """Stop lanes from any thread but their own, and wait until they have closed what they hold, or for so many seconds each."""
    threads = [thread for lane in lanes for thread in lane.stop()]
    for thread in threads:
        thread.join(patience)


def _before_fork() -> None:
    stop_and_wait(*_lanes, patience=_PATIENCE)


def _after_fork_in_child() -> None:
    for lane in _lanes:
        lane._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
