"""A process that fuzzes one target and saves what broke it."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import logging
import mmap
import os
import pkgutil
import random
import signal
import struct
import sys
import time
from pathlib import Path

from execution import Executor, limit_memory, on_alarm

STATE_BYTES = 1 << 16
STATE_FIELDS = struct.Struct("<QQQ")  # executions, findings, the length of the input that follows


class State:
    """Counts and the current input, in a file, so that they outlive the process."""

    def __init__(self, path: Path, create: bool = False) -> None:
        if create:
            path.write_bytes(bytes(STATE_BYTES))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), STATE_BYTES)
        self.executions, self.findings, _ = STATE_FIELDS.unpack_from(self._map)

    def begin(self, data: bytes) -> None:
        self.executions += 1
        stored = data[: STATE_BYTES - STATE_FIELDS.size]
        STATE_FIELDS.pack_into(self._map, 0, self.executions, self.findings, len(stored))
        self._map[STATE_FIELDS.size : STATE_FIELDS.size + len(stored)] = stored

    def count_finding(self) -> None:
        self.findings += 1
        struct.pack_into("<Q", self._map, 8, self.findings)

    @property
    def input(self) -> bytes:
        return self._map[STATE_FIELDS.size : STATE_FIELDS.size + STATE_FIELDS.unpack_from(self._map)[2]]


class Fuzzer(Executor):
    """Counts the executions, and saves the first input of each kind of problem."""

    def __init__(self, name: str, folder: Path, found: Path) -> None:
        super().__init__(name, folder)
        self.state, self.found = State(folder / "state"), found
        self._known: set[str] = set()

    def __call__(self, data: bytes) -> None:
        self.state.begin(data)
        problem = self.find_problem(data)
        if problem is not None:
            self.state.count_finding()
            if problem[0] not in self._known:
                self._known.add(problem[0])
                save_finding(self.found, self.name, self.shrink(data, problem[0]), problem[1])


def save_finding(found: Path, target: str, data: bytes, description: str) -> None:
    """Write an input, and what it did beside it."""
    found.mkdir(parents=True, exist_ok=True)
    path = found / f"{target}-{hashlib.sha256(data).hexdigest()[:10]}"
    path.write_bytes(data)
    path.with_name(path.name + ".why").write_bytes(description.encode("utf-8", "backslashreplace"))


def run_mutations(execute: Fuzzer, executions: int, end: float, seed: int) -> None:
    """Read mutated seeds: the engine that needs nothing installed."""
    from mutations import mutate

    source, seeds = random.Random(seed), execute.seeds
    while execute.state.executions < executions and time.monotonic() < end:
        execute(mutate(source.choice(seeds), source, seeds))


def run_atheris(execute: Fuzzer, executions: int, seconds: float, seed: int) -> None:
    """Run libFuzzer through atheris, which prefers inputs that reach new code; half the mutations are ours.

    Does not return.
    """
    import atheris
    from mutations import MAX_BYTES, mutate

    corpus = execute.folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(execute.seeds):
        (corpus / str(number)).write_bytes(data)

    def choose_mutation(data: bytes, most: int, seed: int) -> bytes:
        source = random.Random(seed)
        if source.random() < 0.5:
            return mutate(data, source, execute.seeds, most)
        return atheris.Mutate(data, most)

    options = {
        "runs": executions - execute.state.executions, "max_total_time": int(seconds), "seed": seed,
        "max_len": MAX_BYTES, "timeout": 0, "rss_limit_mb": 0, "malloc_limit_mb": 0, "detect_leaks": 0,
        "len_control": 0, "verbosity": 0, "reload": 0, "artifact_prefix": f"{execute.folder}/",
    }  # fmt: skip
    arguments = [f"-{name}={value}" for name, value in options.items()]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], execute, custom_mutator=choose_mutation)
    atheris.Fuzz()


def list_kernels() -> list[str]:
    """List the modules that Numba compiles from their bytecode, which must not be instrumented."""
    spec = importlib.util.find_spec("mumon.kernels")
    assert spec is not None and spec.submodule_search_locations is not None
    return [f"mumon.kernels.{module.name}" for module in pkgutil.iter_modules(spec.submodule_search_locations)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    for name in ("folder", "found"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--engine", choices=["atheris", "mutations"], required=True)
    parser.add_argument("--executions", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    logging.disable()
    if options.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["mumon"], exclude=list_kernels()):
            importlib.import_module("targets")
    signal.signal(signal.SIGALRM, on_alarm)
    execute = Fuzzer(options.target, options.folder, options.found)
    execute.warm_up()
    limit_memory()
    for data in execute.seeds:
        execute(data)
    started = time.monotonic()
    if options.engine == "atheris":
        run_atheris(execute, options.executions, options.seconds, options.seed)
    run_mutations(execute, options.executions, started + options.seconds, options.seed)
    os._exit(0)  # without waiting for threads of Arrow


if __name__ == "__main__":
    main()
