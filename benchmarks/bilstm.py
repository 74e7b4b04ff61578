"""Cost of the networks of the extrinsic tasks: reversed sequences compared with packed ones, and the full widths.

    python benchmarks/bilstm.py

One thread, forward and backward, best of ten interleaved rounds. Results go to benchmarks/results/bilstm.json.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from common import describe_run
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mumon.experiments.extrinsic.networks import BiLSTM

RESULTS = Path(__file__).parent / "results" / "bilstm.json"
BATCH, DIM, ROUNDS = 32, 100, 10
SST2_SENTENCES, SST2_WORDS = 67_349, 9  # of the training data; words per sentence


def time_step(run: Callable[[], Tensor]) -> float:
    """Measure the seconds of one step."""
    started = time.perf_counter()
    run().sum().backward()
    return time.perf_counter() - started


def compare(width: int, layers: int, mean: int, spread: int) -> dict[str, float]:
    """Measure milliseconds per batch of both ways."""
    torch.manual_seed(0)
    lengths = torch.randint(mean - spread, mean + spread + 1, (BATCH,))
    x = torch.randn(BATCH, int(lengths.max()), DIM)
    packed_lstm = nn.LSTM(DIM, width, layers, batch_first=True, bidirectional=True)
    reversed_lstm = BiLSTM(DIM, width, layers)

    def run_packed() -> Tensor:
        packs = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(packed_lstm(packs)[0], batch_first=True)[0]

    times = [(time_step(run_packed), time_step(lambda: reversed_lstm(x, lengths))) for _ in range(ROUNDS)]
    best = [1e3 * min(column) for column in zip(*times, strict=True)]
    case = {"width": width, "layers": layers, "words": mean, "spread": spread}
    return {
        **case,
        "packed_ms": round(best[0], 2),
        "reversed_ms": round(best[1], 2),
        "ratio": round(best[0] / best[1], 2),
    }


def main() -> None:
    """Measure all cases and write the results."""
    torch.set_num_threads(1)
    cases = [compare(width, layers, *length) for width, layers in ((64, 2), (128, 1)) for length in ((12, 3), (28, 2))]
    full = compare(1024, 2, SST2_WORDS, 0)
    minutes = full["reversed_ms"] / 1e3 * SST2_SENTENCES / BATCH / 60
    record = {
        "about": describe_run(),
        "torch": torch.__version__,
        "cases": cases,
        "full_sst2_epoch_minutes": round(minutes),
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
