"""What a training will take: seconds, memory and disk, by their parts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from mumon.corpus.cache import cache_folder, create_folder
from mumon.corpus.encode import MAX_ENCODERS
from mumon.estimate.calibration import RowCost, TrialRun, run_trial, save_trial_model
from mumon.estimate.text import Text, examine_text
from mumon.estimate.throughput import Speed, measure_speed
from mumon.formats import format_for
from mumon.kernels.layout import row_bytes
from mumon.training.checkpoints import KEPT, Every
from mumon.training.memory import training_bytes
from mumon.training.model_runs import Merge
from mumon.training.settings import Settings
from mumon.utils.memory import available_memory
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

HOT = 0.9  # of the tokens are to find their rows in memory where matrices are on disk
SLOT_BYTES, FEWEST_PLACES, SPARE_PLACES = 32, 1 << 16, 128  # of a word table (corpus/table.py)
MERGE_BYTES = 100  # that a distinct word takes while all are sorted; measured over 0.3 and 0.8 M of them
GROWTH = 0.6  # the power by which distinct words grow with the text, for the part that one thread sees
MOST_LEFT = 64 << 20  # of a table: larger blocks come straight from the system, and go back to it
HISTORY_BYTES = 190  # of an epoch in a saved model
JSON_BYTES = 12  # of a word and its count in vocab.json, beside the word itself


@dataclass(frozen=True)
class TrainingPlan:
    """A training that is to be estimated: `model` has its options, and its words if it goes on from others."""

    model: Word2Vec
    epochs: int
    files: list[str] = field(default_factory=list)
    merge: Merge | None = None
    tokens: int | None = None  # in place of what the files hold
    words: int | None = None
    output: str | None = None
    every: Every = field(default_factory=Every)
    nodes: int = 1


@dataclass(frozen=True)
class Estimate:
    """Figures of a training on this machine; seconds and bytes."""

    plan: TrainingPlan
    text: Text
    speed: Speed
    seconds: dict[str, float]
    memory: dict[str, int]  # at once; the peak is the larger of reading and training
    disk: dict[str, int]
    free_memory: int | None
    free_disk: dict[Path, int]  # by place: that of the cache, and that of the model

    @property
    def peak_memory(self) -> int:
        """The most that the process has at once."""
        needed, mapped = self.needed_memory, self.memory["mapped"]
        return needed + (mapped if self.free_memory is None else min(mapped, max(self.free_memory - needed, 0)))

    @property
    def needed_memory(self) -> int:
        """The peak without what is mapped of the encoded text, which the system takes back where memory is short."""
        return max(self.memory["reading"], self.memory["training"])

    @property
    def peak_disk(self) -> int:
        """The most that is taken at once, on all disks together."""
        return sum(self.disk.values())


def estimate(plan: TrainingPlan, progress: Progress | None = None) -> Estimate:
    """Measure what there is to measure, in about twenty seconds, and reckon the rest."""
    progress = progress or Progress()
    model, settings, columns = plan.model, plan.model.settings, plan.model.vector_size
    text = examine_text(model, plan.files, plan.merge, plan.tokens, plan.words, progress)
    sample, corpus = text.sample, text.sample.corpus
    needed = plan.epochs * text.tokens
    speed = measure_speed(corpus, text.alike, text.words, columns, settings, needed, progress)
    progress.note("a trial run …")
    with create_folder() as (folder, _):
        started = run_trial(corpus, columns, settings, sample.encoded, folder)
        names = [word.decode() for word in corpus.words[: text.words].to_pylist()]
        saved = save_trial_model(names, corpus.counts, text.words, columns, ending_of(plan.output), folder)
    seconds = _seconds(plan, text, speed, started, saved)
    disk = _disk(plan, text, saved, seconds["training"])
    memory = _memory(plan, text, started)
    places = {cache_folder().parent: 0, Path(plan.output or ".").absolute().parent: 0}
    free_disk = {place: shutil.disk_usage(_existing(place)).free for place in places}
    return Estimate(plan, text, speed, seconds, memory, disk, available_memory(), free_disk)


def ending_of(output: str | None) -> str:
    """What a model of that name ends with: it says which format is written."""
    if output is None or format_for(output).name == "mumon":
        return ".mumon"
    return "".join(Path(output).suffixes[-2:]) if Path(output).suffix in (".gz", ".zst") else Path(output).suffix


def _seconds(plan: TrainingPlan, text: Text, speed: Speed, started: TrialRun, saved: RowCost) -> dict[str, float]:
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


def _memory(plan: TrainingPlan, text: Text, started: TrialRun) -> dict[str, int]:
    """What the trial run took beside its own words and text is what every run takes; these are known by formula."""
    model, settings = plan.model, plan.model.settings
    columns, length = model.vector_size, text.word_bytes
    tables = _table_bytes(started.types, length, settings), _table_bytes(text.types, length, settings)
    small = training_bytes(started.words, columns, settings) + _mapped_bytes(started.sentences, started.types, length)
    left = [0 if text.sample.encoded else _left_bytes(types, length, settings) for types in (started.types, text.types)]
    fixed = max((started.peak_bytes or 0) - max(small + left[0], tables[0]), 0)
    rows = 2 * text.words * row_bytes(columns)
    words = training_bytes(text.words, columns, settings) - rows + left[1]
    if model.matrices == "disk":
        rows = 2 * text.alike(text.words).hot_rows(HOT) * row_bytes(columns)
    if plan.nodes > 1:  # each worker has them as it trains them, and as all agree on them
        rows *= 2
    if model.vocabulary is not None and plan.merge in ("new", "union"):  # until their rows have moved
        rows += 2 * len(model.vocabulary) * row_bytes(columns)
    reading = 0 if text.sample.encoded else fixed + tables[1]
    mapped = _mapped_bytes(text.sentences, text.types, length)
    both = {"reading": reading, "training": fixed + words + rows}
    return {"Python": fixed, "words": words, "matrices": rows, "mapped": mapped, **both}


def _mapped_bytes(sentences: int, types: int, length: float) -> int:
    """What of an encoded text is looked at again and again, and so stays in memory."""
    return 8 * sentences + round(types * (length + 16 + 8))


def _table_bytes(types: int, length: float, settings: Settings) -> int:
    """What the word tables take while a text is read, each thread's and all together."""
    encoders, each = _tables(types, length, settings)
    return round(encoders * each + SLOT_BYTES * _places(types) + MERGE_BYTES * types)


def _left_bytes(types: int, length: float, settings: Settings) -> int:
    """What of the tables the C library does not give back at once: of smaller ones they have outgrown, and of them."""
    encoders, each = _tables(types, length, settings)
    return round(encoders * min(1.5 * each, MOST_LEFT))


def _tables(types: int, length: float, settings: Settings) -> tuple[int, float]:
    """How many threads number words, and what the table of each takes."""
    encoders = max(1, min(settings.workers, MAX_ENCODERS))
    own: float = types * float(encoders) ** -GROWTH
    return encoders, SLOT_BYTES * _places(own) + own * (length + 9)


def _places(words: float) -> int:
    doubled = 2 * (int(words) + SPARE_PLACES) - 1
    return max(FEWEST_PLACES, 1 << doubled.bit_length())


def _disk(plan: TrainingPlan, text: Text, saved: RowCost, training: float) -> dict[str, int]:
    model = plan.model
    written = int(min(max(training / plan.every.seconds, plan.epochs * text.tokens / plan.every.tokens), KEPT + 1))
    checkpoint = 4 * model.vector_size * (2 * text.words + 1) + round(text.words * (text.word_bytes + JSON_BYTES))
    whole = round(saved.bytes * text.words) + HISTORY_BYTES * plan.epochs
    # One more than are kept while the newest is written, or those that are kept while the model is.
    beside = max(written * checkpoint - whole, min(written, KEPT) * checkpoint)
    encoding = 4 * text.tokens + 8 * (text.sentences + 1) + round(text.types * (text.word_bytes + 16))
    return {
        "encoded text": 0 if text.sample.encoded else encoding,
        "model": whole,
        "checkpoints": beside,
        "matrices": 2 * text.words * row_bytes(model.vector_size) if model.matrices == "disk" else 0,
    }


def _existing(place: Path) -> Path:
    while not place.exists() and place != place.parent:
        place = place.parent
    return place
