"""Word2Vec: the one public trainer, with gensim's names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mumon.checkpoints import CheckpointKeeper, Checkpoints
from mumon.corpus import EncodedCorpus, TextOptions, corpus_from_files, corpus_from_sentences
from mumon.corpus.sources import STDIN
from mumon.errors import FormatError, OptionError, TrainingError, one_line
from mumon.formats.checkpoint import State
from mumon.formats.directory import LoadedModel
from mumon.matrices import Matrix, initial_rows, move_rows, new_matrix
from mumon.memory import check_memory
from mumon.position import Epoch, Position
from mumon.progress import Progress, chosen_progress
from mumon.resume import (
    refuse_changed_corpus,
    refuse_changed_options,
    standing,
    start_digest,
    subject_of,
)
from mumon.sampling import heaviest_share
from mumon.settings import Schedule, Settings, finite_number, whole_number
from mumon.threads import available_cores
from mumon.training import Trainer, block_bounds
from mumon.vectors import WordVectors
from mumon.vocab import Counts, TrimRule, Vocabulary

LARGE_CORPUS = 10**9  # how many tokens vectors of unknown origin are taken to have seen
LONG_SENTENCES = 200  # more words than that on average are a sign that running text has no full stops
MODEL_OPTIONS = ("alpha", "min_alpha", "epochs", "min_count", "max_final_vocab", "unk")
# What a saved model tells the constructor.
SAVED_OPTIONS = (
    *(field.name for field in fields(Settings) if field.name != "objective"),
    *(field.name for field in fields(TextOptions)),
    *MODEL_OPTIONS,
)
Sentences = str | os.PathLike[str] | Iterable[Iterable[Any]] | EncodedCorpus
Merge = Literal["old", "new", "union"]
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Word2Vec:
    """Word vectors by CBOW or skip-gram with negative sampling.

    Given a corpus, the constructor builds the vocabulary and trains; without one, call `build_vocab` and `train`.

    Parameters
    ----------
    sentences
        The path of a text file, or any iterable of token lists. It is read once, so a one-shot iterator will do.
    corpus_file
        One or several files, folders or globs: plain, .gz, .bz2, .xz or .zst text with one sentence per line, JSON
        lines or Parquet.
    vector_size, window, min_count, max_final_vocab, trim_rule, sample, negative, ns_exponent, epochs, seed, sg,
    cbow_mean, shrink_windows, min_alpha
        As in gensim 4.
    alpha
        The first learning rate; by default a rule chooses it by tokens × epochs (see `Settings.default_alpha`).
    workers
        Threads; by default one for each core. One thread makes a run repeatable to the bit.
    update
        "correct" is the gradient of CBOW's loss; "faulty" is what word2vec.c, gensim and fastText do instead.
    exact
        True takes one SGD step per window with fresh noise words, as the paper does. False (the default) shares
        `shared_negatives` noise words among `batch` windows (CBOW: 16 among 8, skip-gram: 32 among 32): the same
        gradient in expectation, with less noise, at a cost per word that, for CBOW, hardly grows with the window.
    rate_exponent
        Words learn at alpha times a power of their share of the text, share^-rate_exponent, so that rare words take
        larger steps than frequent ones: by default 0.25, and with `exact` 0 (all alike).
    unk
        A word that stands for all words outside the vocabulary; by default they are passed over.
    vocab
        A fixed vocabulary (or its file) in place of the corpus's own.
    tokenize, lowercase, text_field
        How files become words: see `mumon.corpus.TextOptions`.
    shuffle
        Visit the sentences in another order each epoch.
    total_epochs
        The length of the rate schedule if it is longer than `epochs`: a later `train` goes on along it.
    checkpoints
        A folder in which to keep the state of training every ten minutes, or `Checkpoints`, which can also resume.
    progress
        True for a progress bar, False for silence; by default a bar on a terminal.

    Examples
    --------
    >>> from mumon import Word2Vec
    >>> sentences = [["the", "cat", "sat"], ["the", "dog", "sat"]] * 50
    >>> model = Word2Vec(sentences, vector_size=16, min_count=1, epochs=20, workers=1)
    >>> sorted(model.wv.index_to_key)
    ['cat', 'dog', 'sat', 'the']
    >>> model.wv["cat"].shape
    (16,)
    """

    def __init__(
        self,
        sentences: Sentences | None = None,
        corpus_file: Files | None = None,
        *,
        vector_size: int = 100,
        alpha: float | None = None,
        window: int = 5,
        min_count: int = 5,
        sample: float = 1e-3,
        seed: int = 1,
        workers: int | None = None,
        min_alpha: float = 1e-4,
        sg: int = 0,
        hs: int = 0,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        epochs: int = 5,
        trim_rule: TrimRule | None = None,
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
        update: Literal["correct", "faulty"] = "correct",
        exact: bool = False,
        shared_negatives: int | None = None,
        batch: int | None = None,
        rate_exponent: float | None = None,
        unk: str | None = None,
        vocab: Vocabulary | str | os.PathLike[str] | None = None,
        tokenize: bool = False,
        lowercase: bool = False,
        text_field: str | None = None,
        shuffle: bool = False,
        total_epochs: int | None = None,
        checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
        progress: bool | Progress | None = None,
    ) -> None:
        if hs:
            raise OptionError("hs=1 (hierarchical softmax) is not offered; mumon trains with negative sampling only")
        self.settings = Settings(
            objective="sg" if sg else "cbow",
            update=update,
            cbow_mean=bool(cbow_mean),
            exact=exact,
            window=window,
            shrink_windows=shrink_windows,
            negative=negative,
            shared_negatives=shared_negatives,  # type: ignore[arg-type]
            batch=batch,  # type: ignore[arg-type]
            ns_exponent=ns_exponent,
            rate_exponent=rate_exponent,
            sample=sample,
            shuffle=shuffle,
            seed=seed,
            workers=available_cores() if workers is None else workers,
        )
        self.vector_size, self.epochs = whole_number("vector_size", vector_size), whole_number("epochs", epochs)
        self.min_count = whole_number("min_count", min_count, least=0)
        self.max_final_vocab = None if max_final_vocab is None else whole_number("max_final_vocab", max_final_vocab)
        try:
            (unk or "").encode()
        except UnicodeEncodeError:
            raise OptionError(f"unk is {unk!r}, which cannot be written as UTF-8; choose another word") from None
        self.trim_rule, self.unk = trim_rule, unk
        self.text = TextOptions(bool(tokenize), bool(lowercase), text_field)
        self.history: list[Epoch] = []
        self._schedule = Schedule(alpha, min_alpha, self.epochs if total_epochs is None else total_epochs)
        self._alpha, self.min_alpha = self._schedule.alpha, self._schedule.min_alpha
        self._tokens_before = 0  # trained elsewhere, before this model's history
        self._schedule.check_left(self.epochs)
        self.corpus_count = self.corpus_total_words = 0
        self._progress = progress
        self._kept: tuple[Any, EncodedCorpus] | None = None
        self.vocabulary: Vocabulary | None = None
        if vocab is not None:
            given = vocab if isinstance(vocab, Vocabulary) else Vocabulary.load(vocab)
            self._set_vocabulary(given if unk is None else given.with_words([], unk))
        self._checkpoints = checkpoints
        self._finished: list[Checkpoints] = []  # of runs that are over, until their model is saved
        if sentences is not None or corpus_file is not None:
            merge_vocab: Merge | None = "new" if self.vocabulary is None else None
            self.train(sentences, corpus_file, merge_vocab=merge_vocab)

    def __repr__(self) -> str:
        words = 0 if self.vocabulary is None else len(self.vocabulary)
        return f"Word2Vec<vocab={words}, vector_size={self.vector_size}, alpha={self.alpha}>"

    @property
    def alpha(self) -> float | None:
        """The first learning rate: the one given, or the one that was chosen for the corpus; None until then."""
        return self._schedule.alpha if self._alpha is None else self._alpha

    @alpha.setter
    def alpha(self, value: float | None) -> None:
        if self._schedule.done == 0:  # it has not begun: this is its rate
            self._schedule = replace(self._schedule, alpha=value)
        self._alpha = value if value is None else finite_number("alpha", value, above=0)

    @property
    def wv(self) -> WordVectors:
        """The trained vectors and the questions they answer."""
        self._require_vocabulary()
        return self._wv

    @property
    def syn1neg(self) -> Matrix:
        """The output (target) vectors, row by row beside `wv.vectors`."""
        self._require_vocabulary()
        return self._target[:, : self.vector_size]

    def build_vocab(
        self,
        sentences: Sentences | None = None,
        corpus_file: Files | None = None,
        update: bool = False,
        *,
        merge_vocab: Merge | None = None,
    ) -> None:
        """Read a corpus and choose the vocabulary.

        A model that has one keeps the rows of words in both. `merge_vocab` says whose words it then has: the "old"
        ones, the "new" ones (the default), or the "union", for which gensim says `update=True`. "old" and "union" add
        the new counts to the old.
        """
        merge_vocab = "union" if update and merge_vocab is None else merge_vocab
        if merge_vocab not in (None, "old", "new", "union"):
            raise OptionError(f"merge_vocab is {merge_vocab!r}; it must be old, new or union")
        with chosen_progress(self._progress) as progress:
            corpus = self._read(sentences, corpus_file, progress)
        self.corpus_count, self.corpus_total_words = corpus.sentences, corpus.tokens
        old = self.vocabulary
        if old is not None and merge_vocab == "old":
            self._set_vocabulary(old.counted_on(corpus))
            return
        new = Vocabulary.from_corpus(
            corpus,
            min_count=self.min_count,
            max_final_vocab=self.max_final_vocab,
            trim_rule=self.trim_rule,
            unk=self.unk,
        )
        if old is not None and merge_vocab == "union":
            new = old.with_words(new.words, new.unk).counted_on(corpus)
        self._set_vocabulary(new)

    def train(
        self,
        sentences: Sentences | None = None,
        corpus_file: Files | None = None,
        *,
        total_examples: int | None = None,
        total_words: int | None = None,
        epochs: int | None = None,
        total_epochs: int | None = None,
        start_alpha: float | None = None,
        end_alpha: float | None = None,
        merge_vocab: Merge | None = None,
        checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
    ) -> list[Epoch]:
        """Train on a corpus, the first time or further; returns what was added to `history`.

        The rate goes on along a schedule that is not finished (see `total_epochs` of the class), by default to its end;
        otherwise, or when a rate or `total_epochs` is given, it starts a new one. New words are passed over unless
        `merge_vocab` is "new" or "union". `total_examples` and `total_words` are gensim's way of knowing how far along
        it is; mumon counts for itself. `checkpoints` are as in the class.
        """
        schedule, epochs = self._plan(epochs, total_epochs, start_alpha, end_alpha)
        checkpoints = self._checkpoints if checkpoints is None else checkpoints
        kept = checkpoints if checkpoints is None or isinstance(checkpoints, Checkpoints) else Checkpoints(checkpoints)
        plan = {} if kept is None else self._run_plan(schedule, epochs, merge_vocab)
        with chosen_progress(self._progress) as progress, kept.held() if kept else nullcontext():
            finished = [earlier.run_id for earlier in self._finished]
            found = None if kept is None else kept.start(progress, finished)
            if found is not None:
                refuse_changed_options(found[1], plan)
            corpus = self._read(sentences, corpus_file, progress)
            position = Position()
            if found is not None:
                schedule, position = self._restore(*found, corpus, progress)
            elif merge_vocab is not None:
                self.build_vocab(corpus, merge_vocab=merge_vocab)
            vocabulary = self._counted(corpus)
            self._schedule = self._with_rate(schedule, corpus, progress)
            lookup = vocabulary.lookup(corpus)
            trainer = Trainer(corpus, lookup, vocabulary.counts, self._source, self._target, self.settings, progress)
            keeper = None if kept is None else self._keeper(kept, trainer, plan, position, progress)
            try:
                added = trainer.run(epochs, self._schedule, len(self.history), position, keeper)
            except TrainingError as error:
                raise TrainingError(f"{error}{'' if keeper is None else keeper.last_good()}") from None
            finally:
                if keeper is not None:
                    keeper.finish()
                self._wv.fill_norms(force=True)
                self._kept = None
        self.history += added
        self._schedule = replace(self._schedule, done=self._schedule.done + epochs)
        if kept is not None:
            self._finished.append(kept)
        return added

    def _run_plan(self, schedule: Schedule, epochs: int, merge_vocab: Merge | None) -> dict[str, Any]:
        """Everything but the corpus that decides what a run of training comes to."""
        plan = self._config(schedule)
        for name in ("schedule", "row_exponent", "workers"):  # how many threads there are decides only the speed
            del plan[name]
        rates = {"alpha": schedule.alpha, "min_alpha": schedule.min_alpha, "total_epochs": schedule.total}
        trained = self._source if self.history or self._tokens_before else None  # else it follows from the seed
        start = {"merge_vocab": merge_vocab, "vocab or from": start_digest(self.vocabulary, trained)}
        before = {"epochs_before": len(self.history), "schedule_done": schedule.done, **start}
        return {**plan, "vector_size": self.vector_size, "epochs": epochs, **rates, **before}

    def _keeper(
        self, checkpoints: Checkpoints, trainer: Trainer, plan: dict[str, Any], position: Position, progress: Progress
    ) -> CheckpointKeeper:
        subject = subject_of(
            self._require_vocabulary(),
            self.wv.vectors,
            self.syn1neg,
            self._config,
            self.history,
            plan,
            self._schedule,
            trainer.corpus,
            len(trainer.bounds) - 1,
        )
        return CheckpointKeeper(checkpoints, subject, progress, position.tokens)

    def _restore(
        self, loaded: LoadedModel, state: State, corpus: EncodedCorpus, progress: Progress
    ) -> tuple[Schedule, Position]:
        """Take over words, matrices and history from a checkpoint; gives its schedule and where in it to go on."""
        refuse_changed_corpus(state, corpus, len(block_bounds(corpus.offsets)) - 1)
        self.history, schedule, position = standing(loaded, state)
        self.corpus_count, self.corpus_total_words = corpus.sentences, corpus.tokens
        unk = self.unk if self.unk in loaded.words else None
        self._adopt(loaded.words, loaded.counts, unk, loaded.vectors, loaded.output)
        share = 100 * position.tokens / (corpus.tokens * int(state.plan["epochs"]))
        progress.note(f"going on at {share:.1f} % of the run, in epoch {len(position.history) + 1}")
        return schedule, position

    def _plan(
        self, epochs: int | None, total_epochs: int | None, start_alpha: float | None, end_alpha: float | None
    ) -> tuple[Schedule, int]:
        """The schedule to walk (a new one if that is asked for or the old one is finished), and for how many epochs."""
        schedule = self._schedule
        if epochs is not None:
            epochs = whole_number("epochs", epochs)
        if schedule.left == 0 or any(value is not None for value in (total_epochs, start_alpha, end_alpha)):
            schedule = Schedule(
                self._alpha if start_alpha is None else start_alpha,
                self.min_alpha if end_alpha is None else end_alpha,
                (epochs or self.epochs) if total_epochs is None else total_epochs,
            )
        if epochs is None:
            epochs = schedule.left if schedule.done else min(self.epochs, schedule.left)
        schedule.check_left(epochs)
        return schedule, epochs

    def _with_rate(self, schedule: Schedule, corpus: EncodedCorpus, progress: Progress) -> Schedule:
        """A schedule whose rate, if nobody gave one, is chosen by all tokens that the model will then have seen."""
        if schedule.alpha is not None:
            return schedule
        seen = self._tokens_before + sum(epoch.tokens for epoch in self.history) + corpus.tokens * schedule.total
        counts, settings = self._require_vocabulary().counts, self.settings
        share, length = heaviest_share(counts, settings.sample, settings.row_exponent), corpus.usual_length
        alpha = settings.default_alpha(seen, share, length)
        usual = settings.default_alpha(seen, sentence=length)
        lowered = ", lowered because few words make up the text" if alpha < usual else ""
        progress.note(f"learning rate {alpha:.3g}, by the rule for {seen:,} tokens in all epochs{lowered}")
        return replace(schedule, alpha=alpha)

    def _counted(self, corpus: EncodedCorpus) -> Vocabulary:
        """The vocabulary, with the frequencies of this corpus where nothing is known of them yet."""
        vocabulary = self._require_vocabulary()
        if not vocabulary.counts.any():  # the words of a bare vectors file
            self._set_vocabulary(vocabulary.counted_on(corpus))
        elif vocabulary.unk is not None and not vocabulary.counts[vocabulary.index[vocabulary.unk]]:
            self._set_vocabulary(vocabulary.counted_on(corpus, only=vocabulary.unk))
        return self._require_vocabulary()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a folder that mumon, model2vec and sentence-transformers load.

        The checkpoints of the training that made it are then removed.
        """
        from mumon.formats.directory import save_model

        vocabulary, history = self._require_vocabulary(), [epoch.to_json() for epoch in self.history]
        config = self._config(self._schedule)
        save_model(path, vocabulary.words, vocabulary.counts, self.wv.vectors, self.syn1neg, config, history)
        for finished in self._finished:
            finished.discard()
        self._finished.clear()

    def _config(self, schedule: Schedule) -> dict[str, Any]:
        """What a saved model says of its training."""
        return {
            **asdict(self.settings),
            **asdict(self.text),
            **{name: getattr(self, name) for name in MODEL_OPTIONS},
            "alpha": self._alpha,  # null if the rule chose it: it will again
            "schedule": asdict(schedule),
            "tokens_before": self._tokens_before,
            "row_exponent": self.settings.row_exponent,  # for people: what rate_exponent null came to
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, progress: bool | Progress | None = None) -> Word2Vec:
        """A model written by `save`, ready for questions and for more training, on no more cores than there are."""
        from mumon.formats.directory import load_model

        loaded = load_model(path)
        saved = loaded.config
        options: dict[str, Any] = {name: saved[name] for name in SAVED_OPTIONS if name in saved}
        try:
            _check_saved(saved)
            options["workers"] = min(saved["workers"], available_cores())
            model = cls(
                vector_size=loaded.vectors.shape[1], sg=int(saved["objective"] == "sg"), progress=progress, **options
            )
            model._schedule = Schedule(**saved["schedule"])
            model._tokens_before = whole_number("tokens_before", saved.get("tokens_before", 0), least=0)
            model.history = [Epoch.from_json(epoch) for epoch in loaded.history]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{os.fspath(path)} does not say how it was trained ({one_line(error)}); load it with WordVectors.load"
            ) from None
        unk = model.unk if model.unk in loaded.words else None
        model._adopt(loaded.words, loaded.counts, unk, loaded.vectors, loaded.output)
        return model

    @classmethod
    def from_vectors(cls, vectors: WordVectors | str | os.PathLike[str], **options: Any) -> Word2Vec:
        """A model that starts from existing vectors (any readable file) and is then trained further.

        The words and rows are those of the file; output vectors start at zero. `options` are the constructor's.

        >>> import numpy as np
        >>> start = WordVectors(["cat", "dog"], np.ones((2, 8), np.float32))
        >>> model = Word2Vec.from_vectors(start, min_count=1, workers=1, epochs=1)
        >>> _ = model.train([["cat", "dog", "bird"]] * 20, merge_vocab="union")
        >>> len(model.wv)
        3
        """
        if "vector_size" in options:
            raise OptionError("vector_size comes with the vectors; leave it out")
        wv = vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
        model = cls(vector_size=wv.vector_size, **options)
        model._tokens_before = LARGE_CORPUS  # rates for a fresh start would undo what the vectors know
        model._adopt(wv.index_to_key, wv.counts, model.unk if model.unk in wv else None, wv.vectors, None)
        return model

    def _read(self, sentences: Any, corpus_file: Files | None, progress: Progress) -> EncodedCorpus:
        """Encode a corpus; what can be read only once is kept from `build_vocab` for the `train` that follows."""
        given: Any = corpus_file if sentences is None else sentences
        if given is None:
            raise OptionError("there is nothing to read: give sentences (token lists) or corpus_file (paths)")
        if sentences is not None and corpus_file is not None:
            raise OptionError("give sentences or corpus_file, not both")
        if isinstance(given, EncodedCorpus):
            return given
        if self._kept is not None and self._kept[0] is given:
            return self._kept[1]
        files = _as_files(given, corpus_file is not None)
        if files is None:
            corpus = corpus_from_sentences(given, progress=progress)
        else:
            corpus = corpus_from_files(files, self.text, workers=self.settings.workers, progress=progress)
        for note in corpus.notes():
            progress.note(note)
        if self.text.tokenize and corpus.tokens > LONG_SENTENCES * corpus.sentences:
            progress.note(
                f"sentences have {corpus.tokens // corpus.sentences:,} words on average; if each line of the text is a "
                "sentence, leave out tokenize"
            )
        if isinstance(given, Iterator) or (files is not None and STDIN in files):
            self._kept = (given, corpus)
        return corpus

    def _set_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Make room for a vocabulary; words that had rows keep them, in both matrices."""
        old, old_source, old_target = self.vocabulary, getattr(self, "_source", None), getattr(self, "_target", None)
        with chosen_progress(self._progress) as progress:
            check_memory(len(vocabulary), self.vector_size, self.settings, progress)
        self._source = new_matrix(len(vocabulary), self.vector_size)
        self._target = new_matrix(len(vocabulary), self.vector_size)
        known = np.full(len(vocabulary), -1) if old is None else old.rows_of(vocabulary.words)
        initial_rows(self._source, self.vector_size, np.flatnonzero(known < 0), self.settings.seed)
        if old_source is not None and old_target is not None:
            move_rows(old_source, self._source, known)
            move_rows(old_target, self._target, known)
        self.vocabulary = vocabulary
        self._wv = WordVectors(vocabulary.words, self._source[:, : self.vector_size], vocabulary.counts)

    def _adopt(
        self, words: list[str], counts: Counts | None, unk: str | None, vectors: Matrix, output: Matrix | None
    ) -> None:
        """Take over rows from elsewhere, in their order."""
        self._set_vocabulary(Vocabulary(words, np.zeros(len(words), np.int64) if counts is None else counts, unk))
        self._source[:, : self.vector_size] = vectors
        if output is not None:
            self._target[:, : self.vector_size] = output

    def _require_vocabulary(self) -> Vocabulary:
        if self.vocabulary is None:
            raise OptionError(
                "the model has no vocabulary yet; give the constructor a corpus or call build_vocab first"
            )
        return self.vocabulary


def _check_saved(saved: dict[str, Any]) -> None:
    """Refuse what the constructor, which trusts its caller, would take as it is."""
    if saved["objective"] not in ("cbow", "sg"):
        raise OptionError("objective is neither cbow nor sg")
    for name in ("unk", "text_field"):
        if not isinstance(saved.get(name), str | None):
            raise OptionError(f"{name} is neither a word nor null")
    for name in ("tokenize", "lowercase"):
        if not isinstance(saved.get(name, False), bool):
            raise OptionError(f"{name} is neither true nor false")


def _as_files(given: Any, certain: bool) -> list[str | os.PathLike[str]] | None:
    """The paths that a corpus argument names, or None if it is an iterable of sentences."""
    if isinstance(given, str | os.PathLike):
        return [given]
    if certain or (isinstance(given, list | tuple) and given and all(isinstance(item, Path) for item in given)):
        return list(given)
    return None
