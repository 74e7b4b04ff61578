"""Read one file under limits of memory and time, and notice what a reader must not do."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

MEMORY_BYTES = 256 << 20  # what reading may add to the address space of the process
HANG_SECONDS = 5


class Watch:
    """An audit hook while a file is read: nothing may be executed, and no other file opened."""

    FORBIDDEN = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect")

    def __init__(self, folder: Path) -> None:
        code = {Path(place).resolve() for place in (*sys.path, sys.prefix, sys.base_prefix) if place}
        self._allowed = (str(folder), *(f"{place}/" for place in code), "/proc/", "/sys/", "/etc/localtime")
        self.on, self.violation = False, ""
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in self.FORBIDDEN:
            self.violation = f"{event} {arguments!r}"
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            if not path.startswith(self._allowed):
                self.violation = f"opened {path}"


class Hang(BaseException):
    """The time limit was reached. It is no Exception, so no reader catches it."""


def on_alarm(signum: int, frame: FrameType | None) -> None:
    raise Hang


class Executor:
    """Runs one target on one input after another."""

    def __init__(self, name: str, folder: Path) -> None:
        targets = importlib.import_module("targets")
        self.examples, self.errors = importlib.import_module("examples"), importlib.import_module("mumon.errors")
        self.name, self.folder, self.refusal = name, folder, ""
        self.read, self.whole = targets.TARGETS[name].read, targets.TARGETS[name].seeds
        self.seeds = targets.load_seeds(name)
        self.watch = Watch(folder)

    def warm_up(self) -> None:
        """Read whole files once, so that imports and compilation do not count as the cost of a later file."""
        for data in self.whole:
            with contextlib.suppress(Exception):  # a real problem appears again later
                self.read(self.folder, data)

    def find_problem(self, data: bytes) -> tuple[str, str] | None:
        """Read an input; return a short name and a description of what went wrong, or None."""
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
        self.watch.on, self.watch.violation, self.refusal = True, "", ""
        try:
            try:
                self.read(self.folder, data)
            except self.errors.MumonError as error:
                self.refusal = str(error)
                self.examples.check_sentence(error)
            assert not self.watch.violation, self.watch.violation
        except MemoryError:
            return self._describe("over-allocation")
        except Hang:
            return self._describe("hang")
        except BaseException:  # a panic of Rust is no Exception
            return self._describe("crash")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.watch.on = False
        return None

    def _describe(self, kind: str) -> tuple[str, str]:
        error = sys.exc_info()[1]
        assert error is not None
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{kind} {type(error).__name__} {Path(frame.filename).name}:{frame.lineno}", traceback.format_exc()

    def shrink(self, data: bytes, name: str) -> bytes:
        """Find fewer bytes with the same problem, by leaving out parts of half the size, a quarter, and so on."""
        size = len(data) // 2
        while size and not name.startswith("hang"):
            for start in range(0, len(data), size):
                shorter = data[:start] + data[start + size :]
                problem = self.find_problem(shorter)
                if problem is not None and problem[0] == name:
                    data = shorter
                    break
            else:
                size //= 2
        return data


def limit_memory(extra: int = MEMORY_BYTES) -> None:
    """Limit the memory of this process to what it has now and `extra` bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
