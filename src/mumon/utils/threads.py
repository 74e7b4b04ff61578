"""How many threads to start, and how to keep libraries from starting more."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from mumon.errors import OptionError

T = TypeVar("T")


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS from starting threads besides ours, which would then wait for each other."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")  # type: ignore[no-any-return]


def start_threads(threads: Sequence[threading.Thread]) -> None:
    """Start threads; raise an OptionError with their number if a limit of the system allows only some."""
    for started, thread in enumerate(threads):
        try:
            thread.start()
        except RuntimeError:
            raise OptionError(
                f"the system started {started:,} of {len(threads):,} threads and no more; ask for fewer (--threads)"
            ) from None


def work_ahead(function: Callable[[], object], name: str) -> threading.Thread | None:
    """Do in a thread of its own, now, what will be needed soon, such as loading a library.

    Parameters
    ----------
    function
        What to do. Its errors are dropped: the code that needs the result will meet them.
    name
        Of the thread.

    Returns
    -------
    Thread or None
        The thread, which may be waited for; None if the system starts no more.
    """

    def run() -> None:
        with suppress(Exception):
            function()

    thread = threading.Thread(target=run, name=name)
    try:
        thread.start()
    except RuntimeError:
        return None
    return thread


def share_work(function: Callable[[T], object], items: Iterable[T], workers: int, report: Callable[[T], None]) -> None:
    """Call a function for each item, in this thread and in others; fewer if the system does not start as many.

    Parameters
    ----------
    function
        What to do with an item; it should leave the GIL to others most of the time.
    items
        Of any order.
    workers
        The number of threads, this one included.
    report
        Called in this thread with every item that is done.
    """
    waiting, lock = iter(items), threading.Lock()
    done: SimpleQueue[T] = SimpleQueue()
    failures: list[BaseException] = []

    def take() -> list[T]:
        with lock:
            return [] if failures else list(itertools.islice(waiting, 1))

    def help_out() -> None:
        try:
            while item := take():
                function(item[0])
                done.put(item[0])
        except BaseException as error:
            failures.append(error)

    helpers = [work_ahead(help_out, f"mumon-share-{number}") for number in range(1, workers)]
    try:
        while item := take():
            function(item[0])
            done.put(item[0])
            while not done.empty():
                report(done.get())
    except BaseException as error:
        failures.append(error)
    for helper in helpers:
        if helper is not None:
            helper.join()
    if failures:
        raise failures[0]
    while not done.empty():
        report(done.get())
