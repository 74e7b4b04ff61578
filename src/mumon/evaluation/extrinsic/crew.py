"""The processes that train, and what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from mumon.errors import OutOfMemoryError, TrainingError

J = TypeVar("J")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Crew(Generic[J]):
    """Workers that each do one job at a time; leaving the block ends them, whatever they are at."""

    def __init__(self, inputs: Path, folder: Path, size: int) -> None:
        self._folders, self._size = [str(inputs), str(folder)], size
        self._said: SimpleQueue[tuple[subprocess.Popen[str], str]] = SimpleQueue()
        self._jobs: dict[int, J] = {}  # by process
        self._idle: list[subprocess.Popen[str]] = []
        self._all: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Crew[J]:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._all:
            process.kill()
        for process in self._all:
            process.wait()

    @property
    def busy(self) -> bool:
        """Whether anyone is at work."""
        return bool(self._jobs)

    @property
    def free(self) -> bool:
        """Whether another job can begin."""
        return bool(self._idle) or len(self._all) < self._size

    def give(self, job: J, order: dict[str, Any]) -> None:
        """Let someone who is free carry out an order."""
        process = self._idle.pop() if self._idle else self._start()
        self._jobs[process.pid] = job
        assert process.stdin is not None
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()

    def hear(self) -> tuple[J, dict[str, Any]]:
        """Wait for the next message, and tell of which job it is; after its result a worker is free again."""
        process, line = self._said.get()
        job = self._jobs[process.pid]
        if not line:
            raise OutOfMemoryError(
                f"one of {len(self._all)} workers ended with exit code {process.wait()}, as happens when memory runs "
                "out; ask for fewer at once (--threads), and go on: what is done is kept"
            )
        message: dict[str, Any] = json.loads(line)
        if "failed" in message:
            raise TrainingError(f"a network could not be trained: {message['failed']}")
        if "result" in message:
            del self._jobs[process.pid]
            self._idle.append(process)
        return job, message

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "mumon.evaluation.extrinsic.worker", *self._folders]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
        )
        self._all.append(process)
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said.put((process, line))
        self._said.put((process, ""))
