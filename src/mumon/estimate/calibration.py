"""Small runs of the real thing: `mumon train` on a short text, and a model of some rows that is built and saved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Ngrams
from mumon.errors import PeerError
from mumon.kernels import jit
from mumon.training.settings import Settings
from mumon.utils import measure_process

TRIAL_TOKENS = 1_500_000  # of the short text: enough to fill every buffer of reading
MIN_COUNT = 5
HARDLY_ANY = 1e-9  # subsampling that leaves next to nothing to train
SAVED_BYTES = 64 << 20  # of the model that is saved


@dataclass(frozen=True)
class TrialRun:
    """What a run needs that has next to nothing to train."""

    seconds: float
    peak_bytes: int | None  # None where the system does not say
    words: int
    types: int
    sentences: int
    tokens: int


@dataclass(frozen=True)
class RowCost:
    """What a row of the model needs: bytes on disk, seconds to prepare it and to save it."""

    bytes: float
    prepare_seconds: float
    save_seconds: float


def run_trial(sample: EncodedCorpus, columns: int, settings: Settings, encoded: bool, folder: Path) -> TrialRun:
    """Run `mumon train` on a short text, and measure it.

    Parameters
    ----------
    sample
        The text is the beginning of it.
    columns
        The dimensions of the vectors.
    settings
        Those of the training.
    encoded
        The text is encoded already: the run is repeated, and its second time, without reading, counts.
    folder
        Where the run writes its files.

    Returns
    -------
    TrialRun
        Its time, peak memory and text.

    Raises
    ------
    PeerError
        If the run fails.
    """
    text, output = folder / "text.txt", folder / "model.mumon"
    sentences = min(int(np.searchsorted(sample.offsets, TRIAL_TOKENS, side="right")), sample.sentences)
    ids = sample.read(0, int(sample.offsets[sentences]))
    _write_text(sample, ids, sentences, text)
    counts = np.bincount(ids)
    words = int(np.count_nonzero(counts >= MIN_COUNT))
    least = MIN_COUNT if words else 1
    words = words or int(np.count_nonzero(counts))
    command = [sys.executable, "-m", "mumon", "train", str(text), "-o", str(output), "--quiet", "--epochs", "1"]
    command += ["--dim", str(columns), "--sample", str(HARDLY_ANY), "--min-count", str(least)]
    command += _build_flags(settings)
    environment = {"MUMON_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": str(jit.cache_directory().parent)}
    for _ in range(2 if encoded else 1):
        report = _run_measured(command, folder, environment)
    return TrialRun(report["seconds"], report["peak_bytes"], words, int(np.count_nonzero(counts)), sentences, len(ids))


def _write_text(sample: EncodedCorpus, ids: npt.NDArray[np.int32], sentences: int, path: Path) -> None:
    words = np.array(sample.words[: int(ids.max()) + 1].to_pylist(), object)[ids].tolist()
    ends = sample.offsets[1 : sentences + 1].tolist()
    with path.open("wb") as file:
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            file.write(b" ".join(words[begin:end]) + b"\n")


def _build_flags(settings: Settings) -> list[str]:
    """Write as options the settings that decide which kernel is loaded, and its buffers."""
    chosen = asdict(settings)
    names = ("objective", "update", "positions", "window", "negative", "shared_negatives", "batch")
    flags = [word for name in names for word in (f"--{name.replace('_', '-')}", str(chosen[name]))]
    flags += ["--exact"] * settings.exact + ["--cbow-sum"] * (not settings.cbow_mean)
    if settings.subwords is not None:
        ngrams = settings.subwords
        flags += ["--subwords", f"{ngrams.min_n}-{ngrams.max_n}", "--buckets", str(ngrams.bucket)]
        flags += ["--pool-rows"] * settings.pool_rows
    return [*flags, "--workers", str(settings.workers)]


def _run_measured(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Run a command from a small process, so that the memory of this one is not counted."""
    report, log = folder / "report.json", folder / "log"
    launcher = [sys.executable, "-I", "-S", str(measure_process.__file__), str(report)]
    request = json.dumps({"command": command, "log": str(log), "folder": None}).encode()
    # In a session of its own: Ctrl-C is handled here.
    environment = {**os.environ, **environment}
    with subprocess.Popen(launcher, stdin=subprocess.PIPE, env=environment, start_new_session=True) as process:
        try:
            process.communicate(request)
        except BaseException:
            process.terminate()  # it stops the command, then itself
            raise
    measured: dict[str, Any] = json.loads(report.read_bytes())
    if measured["code"]:
        lines = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
        raise PeerError(
            f"a trial run ended with code {measured['code']} ({lines[-1][:200]}); try a small training itself"
        )
    return measured


def save_trial_model(
    words: Sequence[str],
    counts: npt.NDArray[np.int64],
    rows: int,
    columns: int,
    ending: str,
    folder: Path,
    ngrams: Ngrams | None = None,
) -> RowCost:
    """Build and save a small model, and measure it.

    Parameters
    ----------
    words, counts
        Those of the sample. Some are taken, evenly from all ranks.
    rows
        Of the real model; the small one has no more.
    columns
        The dimensions of the vectors.
    ending
        Of the file, which decides the format.
    folder
        Where it is written.
    ngrams
        The n-grams of words, in a model with subwords.

    Returns
    -------
    RowCost
        Bytes and seconds per row.
    """
    from mumon.fasttext import FastText
    from mumon.word2vec import Word2Vec

    most = max(1, min(len(words), rows, SAVED_BYTES // (8 * columns)))
    chosen = np.linspace(0, len(words) - 1, most).astype(int)
    started = time.perf_counter()
    options: dict[str, Any] = {} if ngrams is None else asdict(ngrams)
    kind = Word2Vec if ngrams is None else FastText
    model = kind(vector_size=columns, min_count=0, progress=False, **options)
    model.build_vocab_from_freq({words[row]: int(counts[row]) for row in chosen})
    built = time.perf_counter()
    path = folder / f"saved{ending}"
    model.save(path) if ending == ".mumon" else model.wv.save(path)
    seconds = time.perf_counter() - built
    files = [path] if path.is_file() else list(path.iterdir())
    size = sum(file.stat().st_size for file in files)
    return RowCost(size / most, (built - started) / most, seconds / most)
