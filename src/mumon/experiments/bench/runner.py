"""One run of one system: its own process, timed from start to end, and a check of the vectors that it saved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon.errors import MumonError
from mumon.experiments.bench.systems import System
from mumon.experiments.bench.work import BenchCorpus, Job, Work, empty_corpus_cache
from mumon.utils import measure_process

if TYPE_CHECKING:
    from mumon.vectors.word_vectors import WordVectors

MEAN = "mean"  # the name of the mean score of all tasks
LOG_TAIL_BYTES = 65_536
LONGEST_REASON_CHARACTERS = 300
MUMON_REPORT_FIELDS = ("trained_tokens", "training_seconds", "first_rate")


@dataclass
class Run:
    """The times, memory and scores of one run. `failed` is the reason why a run failed, or None."""

    system: str
    threads: int
    repeat: int
    seed: int
    seconds: float = 0.0
    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    words: int | None = None
    trained_tokens: int | None = None  # counted by mumon itself; peers do not report it
    training_seconds: float | None = None
    first_rate: float | None = None
    scores: dict[str, float] = field(default_factory=dict)
    interval: tuple[float, float] | None = None  # of the mean score, by resampling the items
    halves: dict[str, float] = field(default_factory=dict)  # the mean score on the dev and on the test items
    failed: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields, with None for scores that are not defined."""
        fields = asdict(self)
        for name in ("scores", "halves"):
            fields[name] = {key: None if score != score else score for key, score in fields[name].items()}
        return fields


class Runner:
    """Runs systems one at a time.

    Parameters
    ----------
    folder
        A folder of its own, where vectors, logs and a separate corpus cache go.
    corpus
        The text.
    work
        The settings that every system trains with.
    """

    def __init__(self, folder: Path, corpus: BenchCorpus, work: Work) -> None:
        from mumon.kernels import jit

        self.folder, self.corpus, self.work = folder, corpus, work
        self._cache = folder / "cache"
        # Kernels that are already compiled are used: compiling is not part of the work.
        kernels = jit.cache_directory().parent
        self._environment = {"MUMON_CACHE": str(self._cache), "NUMBA_CACHE_DIR": str(kernels)}

    def warm_up(self, system: System, threads: int) -> None:
        """Make a small run that is not timed, so that kernels are compiled and programs loaded. Rare words are kept."""
        work = replace(self.work, min_count=1, sample=0)
        self._launch(system, Job(self.corpus.warm_up, self._build_output_path(system), work, threads, seed=1))

    def run(self, system: System, threads: int, repeat: int) -> tuple[Run, WordVectors | None]:
        """Run a system once.

        Parameters
        ----------
        system
            What to run.
        threads
            The number of threads.
        repeat
            The round, which is also the seed.

        Returns
        -------
        tuple
            The run and its vectors, or None if it failed.
        """
        run = Run(system.id, threads, repeat, seed=repeat)
        job = Job(self.corpus.path, self._build_output_path(system), self.work, threads, run.seed)
        report = self._launch(system, job)
        run.seconds, run.cpu_seconds, run.peak_bytes = (report[k] for k in ("seconds", "cpu_seconds", "peak_bytes"))
        if report["code"]:
            run.failed = report.get("error") or self._describe_end(report["code"])
            return run, None
        if system.ours:
            for name, value in json.loads(self._read_log().splitlines()[-1]).items():
                if name in MUMON_REPORT_FIELDS:
                    setattr(run, name, value)
        vectors = self._read_vectors(job, run)
        run.words = None if vectors is None else len(vectors)
        return run, vectors

    def _read_vectors(self, job: Job, run: Run) -> WordVectors | None:
        import numpy as np

        from mumon.vectors.word_vectors import WordVectors

        if not job.output.exists():
            run.failed = f"it ended without an error but wrote no {{output}} ({self._describe_end(0)})"
            return None
        try:
            vectors = WordVectors.load(job.output)
        except (MumonError, OSError) as error:
            run.failed = str(error).replace(f"{self.folder}{os.sep}", "")
            return None
        if not np.isfinite(vectors.vectors).all():
            run.failed = "its vectors hold nan or inf"
            return None
        return vectors

    def _launch(self, system: System, job: Job) -> dict[str, Any]:
        shutil.rmtree(job.output) if job.output.is_dir() else job.output.unlink(missing_ok=True)
        environment = dict(os.environ)
        if system.ours:
            empty_corpus_cache(self._cache)
            environment |= self._environment
        request = {
            "command": system.command(job),
            "log": str(self.folder / "log"),
            "folder": str(self.folder) if system.in_folder else None,
        }
        report = self.folder / "report.json"
        launcher = [sys.executable, "-I", "-S", measure_process.__file__, str(report)]
        with subprocess.Popen(launcher, stdin=subprocess.PIPE, env=environment) as process:
            try:
                process.communicate(json.dumps(request).encode())
            except BaseException:
                process.terminate()  # it stops the command, then itself
                raise
        answer: dict[str, Any] = json.loads(report.read_bytes())
        report.unlink()
        return answer

    def _build_output_path(self, system: System) -> Path:
        return self.folder / f"{system.id}.bin"

    def _read_log(self) -> str:
        with (self.folder / "log").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            return file.read().decode(errors="replace").strip()

    def _describe_end(self, code: int) -> str:
        lines = [line.strip() for line in self._read_log().splitlines() if line.strip()]
        ending = f"signal {-code}" if code < 0 else f"exit code {code}"
        last = lines[-1].replace(f"{self.folder}{os.sep}", "") if lines else "it wrote nothing"
        return f"{ending}: {last[:LONGEST_REASON_CHARACTERS]}"
