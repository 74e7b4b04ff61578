"""Run one command and report how long it took and how much memory it needed.

This is a program of its own, `python measure_process.py REPORT`. Linux counts the memory of the process that starts a
command as the command's own until the command is loaded. So this one imports next to nothing and is started again for
every run; it adds 10 MB at most.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any, NoReturn


def measure_command(command: list[str], log: str, folder: str | None) -> dict[str, Any]:
    """Run a command and return its wall and CPU seconds, peak memory in bytes and exit code.

    Parameters
    ----------
    command
        The program and its arguments.
    log
        A file for everything that it prints.
    folder
        Its working directory, or None for the current one.

    Returns
    -------
    dict
        `seconds`, `cpu_seconds`, `peak_bytes` and `code`. The memory is that of the largest process among the command
        and those it started and waited for. CPU seconds and memory are None where the system does not say.
    """
    with open(log, "wb") as out:  # noqa: PTH123  pathlib costs memory and time here
        started = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder)
        try:
            if not hasattr(os, "wait4"):
                code = child.wait()
                return {"seconds": time.perf_counter() - started, "cpu_seconds": None, "peak_bytes": None, "code": code}
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        seconds = time.perf_counter() - started
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * unit,
        "code": os.waitstatus_to_exitcode(status),
    }


def main() -> None:
    """Read a request as JSON from standard input and write the report as JSON to the file REPORT."""

    def stop(*_: Any) -> NoReturn:
        raise SystemExit(1)

    signal.signal(signal.SIGTERM, stop)
    request = json.load(sys.stdin)
    try:
        report = measure_command(request["command"], request["log"], request["folder"])
    except OSError as error:
        report = {"seconds": 0.0, "cpu_seconds": None, "peak_bytes": None, "code": 127, "error": str(error)}
    with open(sys.argv[1], "w") as out:  # noqa: PTH123
        json.dump(report, out)


if __name__ == "__main__":
    main()
