"""A process that trains: `python -m mumon.evaluation.extrinsic.worker FOLDER`.

It reads jobs as lines of JSON from standard input and answers with lines of JSON: an epoch each, then the result.
Separate processes, because each trial is a sequence of small steps for which threads only get in each other's way.
"""

from __future__ import annotations

import json
import signal
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from mumon.errors import one_line


def main() -> None:
    """Do the jobs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal: who started us decides
    folder = Path(sys.argv[1])
    import torch

    torch.set_num_threads(1)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            _answer({"result": do(job, folder, _answer)})
        except BrokenPipeError:  # nobody listens any more
            return
        except Exception as error:
            _answer({"failed": f"{type(error).__name__}: {one_line(error)}"})


def do(job: dict[str, Any], folder: Path, report: Any) -> dict[str, Any]:
    """Train a trial and keep its best weights, or test one."""
    import torch
    from safetensors.torch import load_file

    from mumon.evaluation.extrinsic.plan import Trial
    from mumon.evaluation.extrinsic.shelf import Shelf
    from mumon.evaluation.extrinsic.training import Training, new_network, outcomes, sample, write_tensors

    trial, shelf = Trial.from_json(job["trial"]), Shelf(folder)
    inputs = _inputs(folder, trial.data, trial.vectors)
    if job["job"] == "train":
        training = Training(trial, inputs)
        result = training.run(shelf.state(trial), report)
        write_tensors(training.best, shelf.weights(trial))
        return result
    network = new_network(trial, inputs)
    network.load_state_dict(load_file(shelf.weights(trial)))
    tests = [name for name in inputs.parts if name not in ("train", "dev")]
    torch.manual_seed(trial.seed)
    return {
        name: outcomes(network, inputs, inputs.parts[name], sample(inputs.parts[name], None, 0), trial).tolist()
        for name in tests
    }


@lru_cache(maxsize=4)
def _inputs(folder: Path, data: str, vectors: str) -> Any:
    from mumon.evaluation.extrinsic.inputs import read_inputs

    return read_inputs(folder, data, vectors)


def _answer(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
