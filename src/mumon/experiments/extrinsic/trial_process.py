"""A process that trains: `python -m mumon.experiments.extrinsic.trial_process INPUTS FOLDER`.

It reads jobs as lines of JSON from standard input and answers with lines of JSON: one per epoch, then the result.
Trials run in separate processes because each is a sequence of small steps, which threads would only slow down.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from mumon.errors import to_one_line
from mumon.experiments.extrinsic.examples import find_test_names
from mumon.experiments.extrinsic.inputs import Inputs, read_inputs
from mumon.experiments.extrinsic.plan import Trial
from mumon.experiments.extrinsic.trial_store import TrialStore

SendMessage = Callable[[dict[str, Any]], None]


def main() -> None:
    """Do jobs until the process that sends them ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent decides
    inputs, folder = map(Path, sys.argv[1:])
    jobs: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
    with _reserve_output() as output:

        def answer(message: dict[str, Any]) -> None:
            print(json.dumps(message), file=output, flush=True)

        while True:
            job = json.loads(jobs.get())
            try:
                answer({"result": run_job(job, inputs, TrialStore(folder), answer)})
            except Exception as error:
                message = f"{type(error).__name__}: {to_one_line(error)}"
                answer({"failed": {"kind": _classify_error(error), "message": message}})


def run_job(job: dict[str, Any], inputs_folder: Path, store: TrialStore, report: SendMessage) -> dict[str, Any]:
    """Train a trial and save its best weights, or test a trial; if its weights are gone, it is trained again first."""
    import torch

    from mumon.experiments.extrinsic.training import Training, count_outcomes, read_tensors, write_tensors

    torch.set_num_threads(1)
    trial = Trial.from_json(job["trial"])
    inputs = _read_inputs(inputs_folder, trial.data, trial.vectors)
    training = Training(trial, inputs)
    if job["job"] == "train":
        result = training.run(store.state_path(trial), report)
        write_tensors(training.best, store.weights_path(trial))
        return result
    saved = read_tensors(store.weights_path(trial))
    if saved is None:
        training.run(store.state_path(trial), report)
    training.network.load_state_dict(training.best if saved is None else saved[0])
    return {
        name: count_outcomes(training.network, inputs, name, trial).tolist() for name in find_test_names(inputs.parts)
    }


@lru_cache(maxsize=2)
def _read_inputs(folder: Path, data: str, vectors: str) -> Inputs:
    return read_inputs(folder, data, vectors)


def _reserve_output() -> IO[str]:
    """Keep standard output for messages: what libraries write there goes to standard error instead."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return output


def _listen(jobs: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        jobs.put(line)
    os._exit(0)  # at once: an epoch may take hours, and its result is no longer needed


def _classify_error(error: Exception) -> str:
    if isinstance(error, MemoryError) or "memory" in str(error):  # torch has no class for this error
        return "memory"
    return "disk" if isinstance(error, OSError) else "other"


if __name__ == "__main__":
    main()
