"""What a training will need: seconds, memory and disk, by their parts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from mumon.corpus.cache import cache_folder, create_folder
from mumon.corpus.encode import MAX_ENCODERS
from mumon.corpus.word_table import FIRST_PLACES, SLOT_BYTES
from mumon.estimate.calibration import RowCost, TrialRun, run_trial, save_trial_model
from mumon.estimate.text import Text, examine_text
from mumon.estimate.throughput import Speed, measure_speed
from mumon.formats import format_for
from mumon.kernels.layout import row_bytes
from mumon.training.checkpoints import CHECKPOINTS_KEPT, Every
from mumon.training.memory import compute_training_bytes
from mumon.training.session import Merge
from mumon.training.settings import Settings
from mumon.utils.memory import available_memory
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

HOT_SHARE = 0.9  # of the tokens should find their rows in memory if matrices are on disk
SPARE_PLACES = 128  # of a word table: the words that it looks up together (kernels/tokens.py)
MERGE_BYTES = 100  # that a distinct word needs while all are sorted; measured with 0.3 and 0.8 M of them
TYPES_POWER = 0.6  # by which distinct words grow with the text, for the part that one thread reads
MOST_UNRELEASED = 64 << 20  # bytes of a table: larger blocks go back to the system at once
HISTORY_BYTES = 190  # of an epoch in a saved model
JSON_BYTES = 12  # of a word and its count in vocab.json, beside the word itself


@dataclass(frozen=True)
class TrainingPlan:
    """A training that is to be estimated.

    Parameters
    ----------
    model
        Has the options, and words if it continues from others.
    epochs
        The number of passes over the text.
    files
        The corpus.
    merge
        What becomes of the words of the model and of those of the text.
    tokens, words
        Used instead of what the files hold; needed without files.
    output
        The path of the model, whose ending decides the format.
    every
        How often checkpoints are written.
    nodes
        The number of machines like this one.
    """

    model: Word2Vec
    epochs: int
    files: list[str] = field(default_factory=list)
    merge: Merge | None = None
    tokens: int | None = None
    words: int | None = None
    output: str | None = None
    every: Every = field(default_factory=Every)
    nodes: int = 1


@dataclass(frozen=True)
class Estimate:
    """The figures of a training on this machine, in seconds and bytes, by their parts."""

    plan: TrainingPlan
    text: Text
    speed: Speed
    seconds: dict[str, float]
    memory: dict[str, int]  # at one time; the peak is the larger of reading and training
    disk: dict[str, int]
    free_memory: int | None
    free_disk: dict[Path, int]  # by folder: that of the cache, and that of the model

    @property
    def peak_memory(self) -> int:
        """The most memory of the process at one time."""
        needed, mapped = self.needed_memory, self.memory["mapped"]
        return needed + (mapped if self.free_memory is None else min(mapped, max(self.free_memory - needed, 0)))

    @property
    def needed_memory(self) -> int:
        """The peak without the mapped part of the encoded text, which the system takes back when memory is short."""
        return max(self.memory["reading"], self.memory["training"])

    @property
    def peak_disk(self) -> int:
        """The most disk space at one time, on all disks together."""
        return sum(self.disk.values())


def estimate(plan: TrainingPlan, progress: Progress | None = None) -> Estimate:
    """Estimate time, memory and disk of a training: measure for about twenty seconds, and compute the rest.

    Parameters
    ----------
    plan
        The training.
    progress
        Where the measurements are reported; by default nowhere.

    Returns
    -------
    Estimate
        The figures. Nothing is trained, and no files are left.
    """
    progress = progress or Progress()
    model, settings, columns = plan.model, plan.model.settings, plan.model.vector_size
    text = examine_text(model, plan.files, plan.merge, plan.tokens, plan.words, progress)
    sample, corpus = text.sample, text.sample.corpus
    needed = plan.epochs * text.tokens
    speed = measure_speed(corpus, text.project, text.words, columns, settings, needed, progress)
    progress.note("a trial run …")
    with create_folder() as (folder, _):
        started = run_trial(corpus, columns, settings, sample.encoded, folder)
        names = [word.decode() for word in corpus.words[: text.words].to_pylist()]
        ending = find_ending(plan.output)
        saved = save_trial_model(names, corpus.counts, text.words, columns, ending, folder, settings.subwords)
    seconds = _estimate_seconds(plan, text, speed, started, saved)
    disk = _estimate_disk(plan, text, saved, seconds["training"])
    memory = _estimate_memory(plan, text, started)
    folders = {cache_folder().parent: 0, Path(plan.output or ".").absolute().parent: 0}
    free_disk = {place: shutil.disk_usage(_find_existing(place)).free for place in folders}
    return Estimate(plan, text, speed, seconds, memory, disk, available_memory(), free_disk)


def find_ending(output: str | None) -> str:
    """Return the ending of a model's name, which decides the format."""
    if output is None or format_for(output).name == "mumon":
        return ".mumon"
    return "".join(Path(output).suffixes[-2:]) if Path(output).suffix in (".gz", ".zst") else Path(output).suffix


def _estimate_seconds(
    plan: TrainingPlan, text: Text, speed: Speed, started: TrialRun, saved: RowCost
) -> dict[str, float]:
    sample = text.sample
    per_token = sample.read_seconds / sample.corpus.tokens
    reading = per_token * text.tokens + sample.rank_seconds * text.types / len(sample.corpus.counts)
    small = per_token * started.tokens + started.words * (saved.prepare_seconds + saved.save_seconds)
    return {
        "starting": max(started.seconds - small, 0.0),
        "reading": reading,
        "preparing": saved.prepare_seconds * text.words,
        "training": plan.epochs * text.tokens / speed.tokens_per_second / plan.nodes,
        "saving": saved.save_seconds * text.words,
    }


def _estimate_memory(plan: TrainingPlan, text: Text, started: TrialRun) -> dict[str, int]:
    """Add the words and matrices of this training, by formula, to what the trial run needed beside its own."""
    model, settings = plan.model, plan.model.settings
    columns, length = model.vector_size, text.word_bytes
    types = started.types, text.types
    tables = [_sum_table_bytes(each, length, settings) for each in types]
    unreleased = [0 if text.sample.encoded else _sum_unreleased_bytes(each, length, settings) for each in types]
    small = compute_training_bytes(started.words, columns, settings)
    small += _sum_mapped_bytes(started.sentences, started.types, length)
    fixed = max((started.peak_bytes or 0) - max(small + unreleased[0], tables[0]), 0)
    rows = 2 * text.words * row_bytes(columns)
    words = compute_training_bytes(text.words, columns, settings) - rows + unreleased[1]
    if model.matrices == "disk":
        rows = 2 * text.project(text.words).count_hot_rows(HOT_SHARE) * row_bytes(columns)
    if plan.nodes > 1:  # each node has its own, and a copy that all nodes agree on
        rows *= 2
    if model.vocabulary is not None and plan.merge in ("new", "union"):  # the old rows, until they have been copied
        rows += 2 * len(model.vocabulary) * row_bytes(columns)
    reading = 0 if text.sample.encoded else fixed + tables[1]
    mapped = _sum_mapped_bytes(text.sentences, text.types, length)
    both = {"reading": reading, "training": fixed + words + rows}
    return {"Python": fixed, "words": words, "matrices": rows, "mapped": mapped, **both}


def _sum_mapped_bytes(sentences: int, types: int, length: float) -> int:
    """Count the bytes of an encoded text that are read again and again, and so stay in memory."""
    return 8 * sentences + round(types * (length + 16 + 8))


def _sum_table_bytes(types: int, length: float, settings: Settings) -> int:
    """Count the bytes of the word tables while a text is read: those of the threads, and the merged one."""
    encoders, each = _size_tables(types, length, settings)
    return round(encoders * each + SLOT_BYTES * _count_places(types) + MERGE_BYTES * types)


def _sum_unreleased_bytes(types: int, length: float, settings: Settings) -> int:
    """Count the bytes of the tables, and of smaller ones before they grew, that the C library does not give back."""
    encoders, each = _size_tables(types, length, settings)
    return round(encoders * min(1.5 * each, MOST_UNRELEASED))


def _size_tables(types: int, length: float, settings: Settings) -> tuple[int, float]:
    """Return how many threads number words, and the bytes of the table of each."""
    encoders = max(1, min(settings.workers, MAX_ENCODERS))
    own: float = types * float(encoders) ** -TYPES_POWER
    return encoders, SLOT_BYTES * _count_places(own) + own * (length + 9)


def _count_places(words: float) -> int:
    doubled = 2 * (int(words) + SPARE_PLACES) - 1
    return max(FIRST_PLACES, 1 << doubled.bit_length())


def _estimate_disk(plan: TrainingPlan, text: Text, saved: RowCost, training: float) -> dict[str, int]:
    model = plan.model
    written = int(
        min(max(training / plan.every.seconds, plan.epochs * text.tokens / plan.every.tokens), CHECKPOINTS_KEPT + 1)
    )
    checkpoint = 4 * model.vector_size * (2 * text.words + 1) + round(text.words * (text.word_bytes + JSON_BYTES))
    whole = round(saved.bytes * text.words) + HISTORY_BYTES * plan.epochs
    # One more than stays while the newest is written, or those that stay while the model is written.
    beside = max(written * checkpoint - whole, min(written, CHECKPOINTS_KEPT) * checkpoint)
    encoding = 4 * text.tokens + 8 * (text.sentences + 1) + round(text.types * (text.word_bytes + 16))
    return {
        "encoded text": 0 if text.sample.encoded else encoding,
        "model": whole,
        "checkpoints": beside,
        "matrices": 2 * text.words * row_bytes(model.vector_size) if model.matrices == "disk" else 0,
    }


def _find_existing(place: Path) -> Path:
    while not place.exists() and place != place.parent:
        place = place.parent
    return place
