"""Read files as the fuzzer does, under the same limits: python fuzz/replay.py TARGET FILE…

Prints what each file did. Without arguments the files come from standard input, a line `TARGET FILE` for each.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from execution import Executor, limit_memory, on_alarm


def read_arguments() -> Iterator[tuple[str, Path]]:
    """Yield targets and files."""
    if sys.argv[1:]:
        for name in sys.argv[2:]:
            yield sys.argv[1], Path(name)
        return
    for line in sys.stdin:
        target, _, name = line.rstrip("\n").partition(" ")
        yield target, Path(name)


def main() -> None:
    logging.disable()
    signal.signal(signal.SIGALRM, on_alarm)
    from targets import TARGETS

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = [sys.argv[1]] if sys.argv[1:] else list(TARGETS)
        executors = {target: Executor(target, folder) for target in wanted}
        for executor in executors.values():
            executor.warm_up()
        limit_memory()
        for target, path in read_arguments():
            problem = executors[target].find_problem(path.read_bytes())
            answer = {"problem": problem and problem[1], "refusal": executors[target].refusal}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
