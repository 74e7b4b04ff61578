"""The processes that train, and the messages they send."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from mumon.errors import DataError, MumonError, OutOfMemoryError, TrainingError

J = TypeVar("J")
KILLED_CODES = (-9, 137)  # usually by the system, for lack of memory
# One thread, and no module of the current folder instead of a library's.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}


class ProcessPool(Generic[J]):
    """Processes that each do one job at a time; leaving the `with` block kills them.

    Parameters
    ----------
    inputs
        The folder of the inputs.
    folder
        The folder of the results.
    size
        The most processes.
    """

    def __init__(self, inputs: Path, folder: Path, size: int) -> None:
        self._folders, self._size = [str(inputs), str(folder)], size
        self._lines: SimpleQueue[tuple[subprocess.Popen[str], str]] = SimpleQueue()
        self._jobs: dict[int, J] = {}  # by process
        self._idle: list[subprocess.Popen[str]] = []
        self._all: list[subprocess.Popen[str]] = []

    def __enter__(self) -> ProcessPool[J]:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._all:
            process.kill()
        for process in self._all:
            process.wait()

    @property
    def is_busy(self) -> bool:
        """Whether a job is running."""
        return bool(self._jobs)

    @property
    def has_room(self) -> bool:
        """Whether another job can start."""
        return bool(self._idle) or len(self._all) < self._size

    def submit(self, job: J, order: dict[str, Any]) -> None:
        """Send a job to an idle process, or to a new one.

        Parameters
        ----------
        job
            What `collect` returns with the messages of this job.
        order
            The job as JSON.
        """
        process = self._idle.pop() if self._idle else self._start_process()
        self._jobs[process.pid] = job
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it died while it was idle: `collect` will raise the error
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()

    def collect(self) -> tuple[J, dict[str, Any]]:
        """Wait for the next message; after its result, a process is idle again.

        Returns
        -------
        tuple
            The job and the message.

        Raises
        ------
        MumonError
            If a process failed or died.
        """
        process, line = self._lines.get()
        if not line.endswith("\n"):  # the process ended, perhaps in the middle of a line
            raise self._explain_exit(process.wait())
        job, message = self._jobs[process.pid], json.loads(line)
        if "failed" in message:
            raise _build_error(**message["failed"])
        if "result" in message:
            del self._jobs[process.pid]
            self._idle.append(process)
        return job, message

    def _explain_exit(self, code: int) -> MumonError:
        end = f"one of {len(self._all)} processes ended with exit code {code}"
        if code in KILLED_CODES:
            fewer = "use fewer at a time (--workers) and run the command again: what is done is kept"
            return OutOfMemoryError(f"{end}, as happens when memory runs out; {fewer}")
        return TrainingError(f"{end}; its own message is above, and what is done is kept")

    def _start_process(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "mumon.experiments.extrinsic.trial_process", *self._folders]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT}
        )
        self._all.append(process)
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.put((process, line))
        self._lines.put((process, ""))


def _build_error(kind: str, message: str) -> MumonError:
    """Turn the failure that a process reported into an error with a next step."""
    if kind == "memory":
        return OutOfMemoryError(
            f"a network did not fit into memory ({message}); use fewer (--workers) or smaller ones (--width)"
        )
    if kind == "disk":
        return DataError(f"a network could not be saved ({message}); make room, or choose another place (--folder)")
    return TrainingError(f"a network could not be trained ({message}); what is done is kept")
