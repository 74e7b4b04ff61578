"""How many threads to start, and how to keep libraries from starting more."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from mumon.errors import OptionError


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
        What to do. Its errors are dropped, because whoever needs the result will meet them.
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
