"""A process that trains: `python -m mumon.evaluation.extrinsic.worker INPUTS FOLDER`.

It reads jobs as lines of JSON from standard input and answers with lines of JSON: an epoch each, then the result.
Separate processes, because each trial is a sequence of small steps for which threads only get in each other's way.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from mumon.errors import one_line
from mumon.evaluation.extrinsic.inputs import Inputs, read_inputs
from mumon.evaluation.extrinsic.plan import Trial
from mumon.evaluation.extrinsic.shelf import Shelf


def main() -> None:
    """Do the jobs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal: who started us decides
    inputs, folder = map(Path, sys.argv[1:])
    import torch

    torch.set_num_threads(1)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            _answer({"result": do(job, inputs, Shelf(folder), _answer)})
        except BrokenPipeError:  # nobody listens any more
            return
        except Exception as error:
            _answer({"failed": f"{type(error).__name__}: {one_line(error)}"})


def do(
    job: dict[str, Any], inputs_folder: Path, shelf: Shelf, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Train a trial and keep its best weights, or test one."""
    from safetensors.torch import load_file

    from mumon.evaluation.extrinsic.training import Training, new_network, outcomes, sample, write_tensors

    trial = Trial.from_json(job["trial"])
    inputs = _inputs(inputs_folder, trial.data, trial.vectors)
    if job["job"] == "train":
        training = Training(trial, inputs)
        result = training.run(shelf.state(trial), report)
        write_tensors(training.best, shelf.weights(trial))
        return result
    network = new_network(trial, inputs)
    network.load_state_dict(load_file(shelf.weights(trial)))
    tests = [name for name in inputs.parts if name not in ("train", "dev")]
    return {
        name: outcomes(network, inputs, inputs.parts[name], sample(inputs.parts[name], None, 0), trial).tolist()
        for name in tests
    }


@lru_cache(maxsize=4)
def _inputs(folder: Path, data: str, vectors: str) -> Inputs:
    return read_inputs(folder, data, vectors)


def _answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
