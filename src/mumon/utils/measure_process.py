"""Run one command and say how long it took and how much memory it needed; a program of its own: `python launch.py`.

Linux counts the memory of the process that starts a command as the command's own until the command is loaded. This
launcher therefore imports next to nothing and is started afresh for every run: what it adds is some 10 MB at most.
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
    """Wall and CPU seconds, peak memory in bytes (None where the system does not tell) and the exit code.

    The memory is that of the largest process among the command and those it started and waited for.
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
    """`launch.py REPORT`: the request as JSON on standard input, the report as JSON into the file REPORT."""

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
