"""Word2Vec: the one public trainer, with gensim's names."""

from __future__ import annotations

import copy
import inspect
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.corpus.inputs import Files, Sentences
from mumon.corpus.vocabulary import TrimRule, Vocabulary
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.kernels.layout import row_bytes
from mumon.training.backend import Backend, CorpusReader, ThreadBackend
from mumon.training.callbacks import check_callbacks
from mumon.training.checkpoints import Checkpoints
from mumon.training.memory import compute_training_bytes
from mumon.training.model_options import (
    MODEL_OPTIONS,
    SAVED_OPTIONS,
    check_matrices,
    check_merge,
    check_saved,
    check_unk,
    choose_objective,
    refuse_variants,
)
from mumon.training.model_state import ModelState
from mumon.training.objectives import CBOW, SKIPGRAM
from mumon.training.run_state import Epoch, RunState
from mumon.training.schedule import Schedule
from mumon.training.session import COUNTERS, Merge, TrainingRequest, TrainingSession
from mumon.training.settings import Settings
from mumon.training.weights import Matrix
from mumon.utils.gensim_names import raise_missing_attribute, refuse_options
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.threads import available_cores
from mumon.utils.validation import check_float, check_integer
from mumon.vectors.keys import check_topn
from mumon.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from typing_extensions import Self

    from mumon.distributed import Cluster

LARGE_CORPUS = 10**9  # how many tokens vectors of unknown origin are taken to have seen


def _setting(name: str) -> Any:
    """Make a property of one of the settings; a change counts from the next training on."""

    def get(model: Word2Vec) -> Any:
        value = getattr(model.settings, name)
        return int(value) if name == "cbow_mean" else value

    def put(model: Word2Vec, value: Any) -> None:
        model.settings = replace(model.settings, **{name: value})

    return property(get, put, doc=f"`{name}` of the settings.")


class Word2Vec:
    """Word vectors by CBOW or skip-gram with negative sampling.

    With a corpus, the constructor builds the vocabulary and trains. Without one, call `build_vocab` and `train`.

    Parameters
    ----------
    sentences
        The path of a text file, or any iterable of token lists. The corpus is read once, so a generator works too.
        Tokens are strings or, like item ids and the nodes of a graph, integers.
    corpus_file
        One or several files, folders, globs or URLs (s3://, gs://, hf:// …): plain, .gz, .bz2, .xz or .zst text with
        one sentence per line, JSON lines or Parquet.
    vector_size
        Dimensions of the vectors.
    alpha
        The first learning rate; by default a rule chooses it by tokens × epochs (`mumon.training.rates`).
    window
        The most words to each side that are the context of a word. By default 10 for CBOW, whose cost hardly grows
        with it, and 5 for skip-gram, with `exact`, for the faulty update and for sums (`cbow_mean=0`).
    min_count
        Words that occur less often get no vector.
    max_vocab_size
        Keep at most this many words, like `max_final_vocab`: counting itself is exact and needs no limit.
    sample
        The threshold above which frequent words are subsampled; 0 keeps all.
    seed
        Of all random numbers; None draws one, which `model.seed` then has.
    workers
        Threads; by default one for each core. One thread makes a run repeatable to the bit.
    min_alpha
        The last learning rate.
    sg
        1 trains skip-gram, 0 CBOW.
    hs, null_word, sorted_vocab
        As in gensim, where only the defaults are offered here.
    negative
        Noise words per target.
    ns_exponent
        Noise words are drawn in proportion to their count to this power.
    cbow_mean
        1 averages the context vectors, 0 adds them up.
    hashfxn, batch_words, compute_loss
        Accepted for gensim's sake, without effect: rows start as a function of `seed`, and the loss is always computed.
    epochs
        Passes over the corpus.
    trim_rule
        A function of a word, its count and `min_count` that decides whether to keep the word, as in gensim.
    callbacks
        Objects with some of the methods of `mumon.models.callbacks.CallbackAny2Vec`.
    comment
        Saved with the model.
    max_final_vocab
        Keep at most this many words, the most frequent ones.
    shrink_windows
        Whether each window has a random size from 1 to `window`; otherwise it always has the full size.
    objective
        The name of the objective: "cbow", "sg", or that of another package's (see `mumon.training.objectives`). By
        default `sg` decides.
    update
        "correct" is the gradient of CBOW's loss; "faulty" is what word2vec.c, gensim and fastText do instead.
    positions
        How many groups of distances to each side have learned weights of their own, column by column: with 4 the
        groups are the distances 1, 2, 3-4 and all others. 0 (the default) weighs all context words alike, as the paper
        does. For CBOW with the correct update, on one machine; a little better at analogies, much worse where vectors
        of sentences are averaged (docs/explanation/positions.md). A model that is trained further with another number
        of groups begins with weights of 1 again.
    exact
        True takes one SGD step per window with fresh noise words, as the paper does. False (the default) shares
        `shared_negatives` noise words among `batch` windows: the same gradient in expectation, with less noise, at a
        cost per word that, for CBOW, hardly grows with the window.
    shared_negatives, batch
        See `exact`. By default 16 noise words among 8 windows for CBOW, and 32 among 32 for skip-gram.
    rate_exponent
        Words learn at alpha times share^-rate_exponent, where share is their share of the text, so that rare words take
        larger steps than frequent ones: by default 0.25, and with `exact` 0 (all words alike).
    target_weight
        The λ of the vectors that you get, source + λ · target rows; 0 gives the source rows alone, as word2vec does. By
        default 0.25 for CBOW (0.5 with `positions`), and 0 for skip-gram, with `exact`, for the faulty update and for
        sums. Training itself does not depend on it, so it can be changed afterwards: `model.target_weight = 0`.
    unk
        A word that stands for all words outside the vocabulary; by default those are left out.
    vocab
        A fixed vocabulary (or its file) in place of the corpus's own.
    tokenize, lowercase, text_field
        How files become words: see `mumon.corpus.TextOptions`.
    shuffle
        Visit the sentences in another order each epoch.
    total_epochs
        The length of the rate schedule if it is longer than `epochs`: a later `train` continues along it.
    checkpoints
        A folder in which to keep the state of training every ten minutes, or `Checkpoints`, which can also resume.
    matrices
        "disk" keeps the two matrices in files, mapped into memory: they may then be larger than it, at the price of
        waiting for the disk where rows are not in memory.
    backend
        "ray" trains on a Ray cluster (`pip install 'mumon[ray]'`); `mumon.distributed.Cluster` says which, and on how
        many nodes. `workers` are then the threads of each node; by default all its CPUs.
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

    hs, null_word, sorted_vocab = 0, 0, 1  # gensim's other values are refused
    window, negative, sample = _setting("window"), _setting("negative"), _setting("sample")
    ns_exponent, shrink_windows = _setting("ns_exponent"), _setting("shrink_windows")
    cbow_mean, seed, workers = _setting("cbow_mean"), _setting("seed"), _setting("workers")
    update, exact, positions = _setting("update"), _setting("exact"), _setting("positions")
    compute_loss = True  # always

    def __init__(
        self,
        sentences: Sentences | None = None,
        corpus_file: Files | None = None,
        vector_size: int = 100,
        alpha: float | None = None,
        window: int | None = None,
        min_count: int = 5,
        max_vocab_size: int | None = None,
        sample: float = 1e-3,
        seed: int | None = 1,
        workers: int | None = None,
        min_alpha: float = 1e-4,
        sg: int = 0,
        hs: int = 0,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        hashfxn: Callable[[str], int] = hash,
        epochs: int = 5,
        null_word: int = 0,
        trim_rule: TrimRule | None = None,
        sorted_vocab: int = 1,
        batch_words: int = 10_000,
        compute_loss: bool = False,
        callbacks: Iterable[Any] = (),
        comment: str | None = None,
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
        *,
        objective: str | None = None,
        update: Literal["correct", "faulty"] = "correct",
        positions: int = 0,
        exact: bool = False,
        shared_negatives: int | None = None,
        batch: int | None = None,
        rate_exponent: float | None = None,
        target_weight: float | None = None,
        unk: str | None = None,
        vocab: Vocabulary | str | os.PathLike[str] | None = None,
        tokenize: bool = False,
        lowercase: bool = False,
        text_field: str | None = None,
        shuffle: bool = False,
        total_epochs: int | None = None,
        checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
        matrices: Literal["memory", "disk"] = "memory",
        backend: Literal["ray"] | Cluster | None = None,
        progress: bool | Progress | None = None,
        **obsolete: Any,
    ) -> None:
        refuse_options("Word2Vec()", obsolete, inspect.signature(Word2Vec).parameters)
        refuse_variants(hs, null_word, sorted_vocab)
        settings = self._make_settings(
            objective=choose_objective(objective, sg),
            update=update,
            cbow_mean=bool(cbow_mean),
            positions=positions,
            exact=exact,
            window=window,  # type: ignore[arg-type]
            shrink_windows=shrink_windows,
            negative=negative,
            shared_negatives=shared_negatives,  # type: ignore[arg-type]
            batch=batch,  # type: ignore[arg-type]
            ns_exponent=ns_exponent,
            rate_exponent=rate_exponent,
            target_weight=target_weight,
            sample=sample,
            shuffle=shuffle,
            seed=secrets.randbits(32) if seed is None else seed,
            workers=available_cores() if workers is None else workers,
        )
        columns, self.epochs = check_integer("vector_size", vector_size), check_integer("epochs", epochs)
        self.min_count = check_integer("min_count", min_count, least=0)
        limits = {"max_final_vocab": max_final_vocab, "max_vocab_size": max_vocab_size}
        checked = [check_integer(name, value) for name, value in limits.items() if value is not None]
        self.max_final_vocab, self.max_vocab_size = min(checked, default=None), max_vocab_size
        check_unk(unk)
        self.trim_rule, self.unk, self.comment = trim_rule, unk, comment
        self.hashfxn, self.batch_words = hashfxn, batch_words
        self._state = self._make_state(columns, settings, check_matrices(matrices), progress)
        self.backend, self._given_workers = backend, workers
        self._make_backend()  # refuses an unknown one
        self.text = TextOptions(bool(tokenize), bool(lowercase), text_field)
        self._run = RunState(alpha, min_alpha, self.epochs, total_epochs)
        self._reader = CorpusReader()
        self.corpus_count = self.corpus_total_words = 0
        if vocab is not None:
            fixed = vocab if isinstance(vocab, Vocabulary) else Vocabulary.load(vocab)
            self._state.set_vocabulary(fixed if unk is None else fixed.with_words([], unk))
        self._checkpoints = checkpoints
        self._finished: list[Checkpoints] = []  # of runs that are over, until their model is saved
        if sentences is not None or corpus_file is not None:
            merge_vocab: Merge | None = "new" if self.vocabulary is None else None
            self.train(sentences, corpus_file, callbacks=callbacks, merge_vocab=merge_vocab)

    def _make_settings(self, **options: Any) -> Settings:
        """Make the settings of training; a subclass adds its own."""
        return Settings(**options)

    def _make_state(
        self, columns: int, settings: Settings, on_disk: bool, progress: bool | Progress | None
    ) -> ModelState:
        """Make the state of the model; that of a subclass may have more than two matrices."""
        return ModelState(columns, settings, on_disk, progress)

    def __repr__(self) -> str:
        words = 0 if self.vocabulary is None else len(self.vocabulary)
        return f"{type(self).__name__}<vocab={words}, vector_size={self.vector_size}, alpha={self.alpha}>"

    def __getitem__(self, key: Any) -> Any:
        raise TypeError(f"model[{key!r}] is gensim 3's; ask the vectors: model.wv[{key!r}]")

    def __contains__(self, key: Any) -> bool:
        raise TypeError(f"{key!r} in model is gensim 3's; ask the vectors: {key!r} in model.wv")

    def __getattr__(self, name: str) -> Any:
        if name in ("wv", "syn1neg"):  # these exist, and raised an AttributeError themselves
            self._state.require_vocabulary()
        raise_missing_attribute(name)

    def __getstate__(self) -> dict[str, Any]:
        """Return a state with rows and history of its own, for copies and for users' own pickles."""
        run = copy.copy(self._run)
        run.history = list(run.history)
        own = {
            "_state": (type(self._state), self._state.__getstate__()),
            "_run": run,
            "_reader": CorpusReader(),
            "_finished": [],
        }
        return {**self.__dict__, **own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        kind, rows = state["_state"]
        self._state = kind.__new__(kind)
        self._state.__setstate__(rows)

    # ---- what the model has

    @property
    def settings(self) -> Settings:
        """Everything that decides what training does, apart from data and rates."""
        return self._state.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._state.settings = settings

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words that have rows; None before there are any."""
        return self._state.vocabulary

    @property
    def wv(self) -> WordVectors:
        """The trained vectors and the questions they answer; other vectors may be set in their place."""
        return self._state.wv

    @wv.setter
    def wv(self, vectors: WordVectors) -> None:
        self._state.wv = vectors

    @property
    def target_weight(self) -> float | None:
        """The λ in the vectors of `wv`, source + λ · target rows; None before training, if none was given."""
        return self._state.combined_with if self._run.history else self.settings.target_weight

    @target_weight.setter
    def target_weight(self, weight: float | None) -> None:
        self.settings = replace(self.settings, target_weight=weight)
        if self.vocabulary is not None:
            self._state.combine()

    @property
    def syn1neg(self) -> Matrix:
        """The output (target) vectors, row by row beside `wv.vectors`.

        Other rows can be set (`model.syn1neg = rows`). While `wv` contains a share of these, they cannot be changed in
        place: set `model.target_weight = 0` before that.
        """
        rows = self._state.output
        if self._state.combined_with:
            rows.flags.writeable = False  # `wv` would not follow, and the next training would begin from other rows
        return rows

    @syn1neg.setter
    def syn1neg(self, rows: Matrix) -> None:
        if np.shape(rows) != self.syn1neg.shape:
            raise OptionError(
                f"syn1neg is {self.syn1neg.shape} and {np.shape(rows)} was given; give one row to each word"
            )
        self._state.set_output(rows)

    @property
    def position_weights(self) -> Matrix | None:
        """The learned weights of positions, a row for each group of distances; None for a model without `positions`.

        The rows are in the order of the text: the words furthest to the left come first, and the two rows in the middle
        are the neighbours of the centre.
        """
        return self._state.shared_weights

    @property
    def vector_size(self) -> int:
        """Dimensions of the vectors."""
        return self._state.vector_size

    @vector_size.setter
    def vector_size(self, columns: int) -> None:
        if self.vocabulary is not None:
            raise OptionError(f"the model has vectors of {self.vector_size} numbers already; make another model")
        self._state.vector_size = check_integer("vector_size", columns)

    @property
    def layer1_size(self) -> int:
        """gensim's other name for `vector_size`."""
        return self.vector_size

    @property
    def matrices(self) -> Literal["memory", "disk"]:
        """Where the matrices of the next vocabulary are put."""
        return "disk" if self._state.on_disk else "memory"

    @matrices.setter
    def matrices(self, place: Literal["memory", "disk"]) -> None:
        self._state.on_disk = check_matrices(place)

    @property
    def objective(self) -> str:
        """The name of the objective."""
        return self.settings.objective

    @property
    def sg(self) -> int:
        """1 for skip-gram, 0 for CBOW."""
        return int(self.objective == SKIPGRAM.name)

    @property
    def effective_min_count(self) -> int:
        """`min_count`, or the count of the rarest word if a limit on the number of words asked for more."""
        if self.vocabulary is None or len(self.vocabulary) != self.max_final_vocab:
            return self.min_count
        return max(self.min_count, int(self.vocabulary.counts.min()))

    # ---- what the model knows of its training

    @property
    def history(self) -> list[Epoch]:
        """What each epoch did: its loss, rate, tokens and seconds."""
        return self._run.history

    @history.setter
    def history(self, epochs: list[Epoch]) -> None:
        self._run.history = epochs

    @property
    def alpha(self) -> float | None:
        """The first learning rate: the one given, or the one that was chosen for the corpus; None until then."""
        return self._run.alpha

    @alpha.setter
    def alpha(self, value: float | None) -> None:
        self._run.given_alpha = value if value is None else check_float("alpha", value, above=0)

    @property
    def min_alpha(self) -> float:
        """The last learning rate."""
        return self._run.min_alpha

    @min_alpha.setter
    def min_alpha(self, value: float) -> None:
        self._run.min_alpha = value

    @property
    def min_alpha_yet_reached(self) -> float | None:
        """The lowest rate so far; None before the first epoch."""
        return min((epoch.alpha for epoch in self.history), default=None)

    @property
    def train_count(self) -> int:
        """How often `train` has finished."""
        return self._run.train_count

    @property
    def total_train_time(self) -> float:
        """The seconds that all epochs took."""
        return sum(epoch.seconds for epoch in self.history)

    @property
    def running_training_loss(self) -> float:
        """The loss of all tokens since the latest training began, in float64; some of gensim's users set it to 0."""
        return self._run.loss

    @running_training_loss.setter
    def running_training_loss(self, value: float) -> None:
        self._run.loss = value

    def get_latest_training_loss(self) -> float:
        """Return the loss of the latest training, summed over its tokens and epochs; `history` has it per token."""
        return self._run.loss

    # ---- vocabulary

    def build_vocab(
        self,
        corpus_iterable: Sentences | None = None,
        corpus_file: Files | None = None,
        update: bool = False,
        progress_per: int = 10_000,
        keep_raw_vocab: bool = False,
        trim_rule: TrimRule | None = None,
        *,
        merge_vocab: Merge | None = None,
        **obsolete: Any,
    ) -> None:
        """Read a corpus and choose the vocabulary. Words that had rows before keep them.

        Parameters
        ----------
        corpus_iterable, corpus_file
            One of them, as in the class. A corpus that can be read only once is kept for the `train` that follows.
        update
            gensim's way to say `merge_vocab="union"`.
        trim_rule
            In place of the model's own.
        merge_vocab
            Whose words a model that has some will have: the "old" ones, the "new" ones (the default), or the "union".
            "old" and "union" add the new counts to the old.
        progress_per, keep_raw_vocab
            gensim's; without effect.
        """
        refuse_options("build_vocab()", obsolete, inspect.signature(Word2Vec.build_vocab).parameters)
        merge_vocab = "union" if update and merge_vocab is None else merge_vocab
        check_merge(merge_vocab)
        backend = self._make_backend()
        with choose_progress(self._state.progress) as progress, backend.connect(progress):
            corpus = self._reader.read(
                corpus_iterable, corpus_file, self.text, self.settings.workers, backend, progress
            )
            self._choose_vocabulary(corpus, merge_vocab, progress, trim_rule)

    def build_vocab_from_freq(
        self,
        word_freq: Mapping[str, int] | Mapping[int, int],
        keep_raw_vocab: bool = False,
        corpus_count: int | None = None,
        trim_rule: TrimRule | None = None,
        update: bool = False,
    ) -> None:
        """Choose the vocabulary from words that were counted elsewhere.

        Parameters
        ----------
        word_freq
            How often each word occurs.
        keep_raw_vocab
            gensim's; without effect.
        corpus_count
            The number of sentences, where it is known.
        trim_rule
            In place of the model's own.
        update
            Whether to add the words to the model's own.

        >>> model = Word2Vec(min_count=2)
        >>> model.build_vocab_from_freq({"cat": 9, "dog": 5, "emu": 1})
        >>> model.wv.index_to_key
        ['cat', 'dog']
        """
        new = Vocabulary.from_frequencies(
            word_freq,
            min_count=self.min_count,
            max_final_vocab=self.max_final_vocab,
            trim_rule=trim_rule or self.trim_rule,
        )
        self.corpus_count, self.corpus_total_words = corpus_count or 0, int(sum(word_freq.values()))
        if self.vocabulary is not None:
            self._state.take_over_changes()
            new = self.vocabulary.merged_with(new) if update else new
        self._state.set_vocabulary(new if self.unk is None else new.with_words([], self.unk))

    def reset_from(self, other_model: Word2Vec) -> None:
        """Start again with the words and counts of another model.

        Parameters
        ----------
        other_model
            Its vectors are not taken over.
        """
        vocabulary = other_model._state.require_vocabulary()
        self._state.vocabulary = None
        self._state.set_vocabulary(vocabulary)
        self._run.forget_history()
        self.corpus_count, self.corpus_total_words = other_model.corpus_count, other_model.corpus_total_words

    def init_weights(self) -> None:
        """Forget what was trained: matrices, history and rates start again, for the same words."""
        self._state.reset_weights()
        self._run.reset(self.epochs)

    # ---- training

    def train(
        self,
        corpus_iterable: Sentences | None = None,
        corpus_file: Files | None = None,
        total_examples: int | None = None,
        total_words: int | None = None,
        epochs: int | None = None,
        start_alpha: float | None = None,
        end_alpha: float | None = None,
        word_count: int = 0,
        queue_factor: int = 2,
        report_delay: float = 1.0,
        compute_loss: bool = False,
        callbacks: Iterable[Any] = (),
        *,
        total_epochs: int | None = None,
        merge_vocab: Merge | None = None,
        checkpoints: Checkpoints | str | os.PathLike[str] | None = None,
        **obsolete: Any,
    ) -> list[Epoch]:
        """Train on a corpus, the first time or further.

        The rate continues along a schedule that is not finished, by default to its end. Otherwise, or when a rate or
        `total_epochs` is given, a new schedule starts.

        Parameters
        ----------
        corpus_iterable, corpus_file
            One of them, as in the class.
        epochs
            Passes over the corpus; by default what is left of the schedule, or the model's own number.
        start_alpha, end_alpha
            The first and last learning rate of a new schedule.
        callbacks
            As in the class.
        total_epochs
            The length of a new schedule, if it is longer than this training.
        merge_vocab
            What becomes of new words: None leaves them out; "new" and "union" give them rows (see `build_vocab`).
        checkpoints
            As in the class.
        total_examples, total_words, word_count, queue_factor, report_delay, compute_loss
            gensim's way of knowing how far along it is; without effect, because mumon counts for itself.

        Returns
        -------
        list of Epoch
            What was added to `history`.
        """
        refuse_options("train()", obsolete, inspect.signature(Word2Vec.train).parameters)
        listed = check_callbacks(callbacks)
        check_merge(merge_vocab)
        if self.vocabulary is not None:
            self._state.take_over_changes()
        schedule, epochs = self._run.plan(self.epochs, epochs, total_epochs, start_alpha, end_alpha)
        checkpoints = self._checkpoints if checkpoints is None else checkpoints
        if checkpoints is not None and not isinstance(checkpoints, Checkpoints):
            checkpoints = Checkpoints(checkpoints)
        request = TrainingRequest(corpus_iterable, corpus_file, schedule, epochs, merge_vocab, listed)
        session = TrainingSession(self, request, self._make_backend(), checkpoints, self._finished)
        added = session.run()
        self._run.planned = self._run.planned if total_epochs is None else total_epochs
        if checkpoints is not None:
            self._finished.append(checkpoints)
        session.finish()
        return added

    # ---- disk

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a folder that mumon, model2vec and sentence-transformers load.

        The checkpoints of the training that made it are then removed.

        Parameters
        ----------
        path
            The folder to write; a model there is replaced.
        """
        from mumon.formats.directory import save_model

        self._state.take_over_changes()
        vocabulary, history = self._state.require_vocabulary(), [epoch.to_json() for epoch in self.history]
        matrices = self._state.matrices()
        training = self._describe_training(self._run.schedule)
        save_model(
            path,
            vocabulary.words,
            vocabulary.counts,
            matrices.vectors,
            matrices.output,
            training,
            history,
            matrices.positions,
            matrices.own,
            matrices.subwords,
        )
        for finished in self._finished:
            finished.discard()
        self._finished.clear()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        matrices: Literal["memory", "disk"] = "memory",
        progress: bool | Progress | None = None,
    ) -> Self:
        """Load a model written by `save`, ready for questions and for more training.

        Parameters
        ----------
        path
            The folder.
        matrices, progress
            As in the class: a saved model does not say where its matrices were.

        Returns
        -------
        Word2Vec
            With no more threads than this machine has cores.
        """
        from mumon.formats.directory import has_integer_keys, load_model

        check_matrices(matrices)
        loaded = load_model(path)
        saved = loaded.config
        options: dict[str, Any] = {name: saved[name] for name in SAVED_OPTIONS if name in saved}
        try:
            check_saved(saved)
            options["workers"] = min(saved["workers"], available_cores())
            if saved["objective"] in (CBOW.name, SKIPGRAM.name):  # as gensim's subclasses know it
                options["sg"] = int(options.pop("objective") == SKIPGRAM.name)
            columns = loaded.vectors.shape[1]
            model = cls(vector_size=columns, matrices=matrices, progress=progress, **cls._translate_saved(options))
            model._given_workers = None  # those of the machine that saved it say nothing of a cluster's
            model._run.restore(saved, loaded.history, model.epochs)
            model.corpus_count = check_integer("corpus_count", saved.get("corpus_count", 0), least=0)
            words = check_integer("corpus_total_words", saved.get("corpus_total_words", 0), least=0)
            model.corpus_total_words = words
            combined_with = check_float("combined_with", saved.get("combined_with", 0.0), least=0)
            uncombined = [check_integer("uncombined_rows", row, least=0) for row in saved.get("uncombined_rows", [])]
            if max(uncombined, default=-1) >= len(loaded.words):
                raise ValueError(f"uncombined_rows has row {max(uncombined)} of {len(loaded.words)}")
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{os.fspath(path)} does not say how it was trained ({to_one_line(error)}); load it with "
                "WordVectors.load"
            ) from None
        unk = model.unk if model.unk in loaded.words else None
        integers = has_integer_keys(saved, loaded.words, path)
        model._state.restore(loaded, unk, integers, combined_with, uncombined)
        return model

    @classmethod
    def _translate_saved(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a saved model as the constructor takes them."""
        if options.pop("subwords", None) is not None:
            raise OptionError("it has subwords: mumon.FastText.load loads it")
        options.pop("pool_rows", None)
        return options

    @classmethod
    def from_vectors(cls, vectors: WordVectors | str | os.PathLike[str], **options: Any) -> Self:
        """Make a model that starts from existing vectors and is then trained further.

        Parameters
        ----------
        vectors
            `WordVectors`, or any file of vectors that mumon reads. The words and rows are theirs; output vectors start
            at zero.
        **options
            The constructor's. With matrices="disk" the rows go from file to file and are never all in memory.

        Returns
        -------
        Word2Vec

        >>> import numpy as np
        >>> from mumon import Word2Vec
        >>> start = WordVectors(["cat", "dog"], np.ones((2, 8), np.float32))
        >>> model = Word2Vec.from_vectors(start, min_count=1, workers=1, epochs=1)
        >>> _ = model.train([["cat", "dog", "bird"]] * 20, merge_vocab="union")
        >>> len(model.wv)
        3
        """
        if "vector_size" in options:
            raise OptionError("vector_size comes with the vectors; leave it out")
        on_disk = options.get("matrices") == "disk"
        wv = vectors if isinstance(vectors, WordVectors) else _load_vectors(vectors, on_disk)
        model = cls(vector_size=wv.vector_size, **options)
        model._run.tokens_before = LARGE_CORPUS  # rates for a fresh start would undo what the vectors know
        words, unk = [str(key) for key in wv.index_to_key], model.unk if model.unk in wv.key_to_index else None
        model._state.adopt(words, wv.counts, unk, wv.vectors, None, wv.integer_keys)
        return model

    # ---- questions to the model

    def predict_output_word(
        self, context_words_list: list[str] | list[int], topn: int = 10
    ) -> list[tuple[str, float]] | list[tuple[int, float]] | None:
        """Find the words that are most likely at the centre of some context words.

        The words are taken as a bag: in a model with `positions`, whose weights need places, all weigh alike.

        Parameters
        ----------
        context_words_list
            The context; unknown words are left out.
        topn
            How many words to return.

        Returns
        -------
        list of (word, probability), or None
            None if all context words are unknown.

        >>> from mumon import Word2Vec
        >>> model = Word2Vec([["a", "b"], ["c", "d"]] * 99, min_count=1, sample=0, epochs=9, workers=1, vector_size=8)
        >>> model.predict_output_word(["a"], topn=1)[0][0]
        'b'
        """
        if isinstance(context_words_list, str):
            raise OptionError(f"{context_words_list!r} is 1 string where a list of words is needed; put it in one")
        wv = self.wv
        rows = [wv.get_index(word) for word in context_words_list if wv.has_index_for(word)]
        if not rows:
            return None
        chances = self._state.predict_words(rows)
        best = np.argsort(-chances, kind="stable")[: max(check_topn(topn), 0)]
        return [(wv.index_to_key[row], float(chances[row])) for row in best]  # type: ignore[return-value]

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """Return the bytes that training takes, by what takes them.

        Parameters
        ----------
        vocab_size
            The number of words; by default the model's own.
        report
            A dictionary to add to, as in gensim.

        Returns
        -------
        dict
            With matrices="disk", `vectors` and `syn1neg` are taken on the disk.

        >>> from mumon import Word2Vec
        >>> Word2Vec(vector_size=300, workers=1).estimate_memory(1_000_000)["vectors"]
        1216000000
        """
        words = len(self._state.require_vocabulary()) if vocab_size is None else vocab_size
        parts = {} if report is None else report
        parts["vectors"] = parts["syn1neg"] = words * row_bytes(self.vector_size)
        parts["total"] = compute_training_bytes(words, self.vector_size, self.settings)
        parts["vocab"] = parts["total"] - 2 * parts["vectors"]
        return parts

    # ---- what a training session asks

    def _make_backend(self) -> Backend:
        """Return where to train: this machine, or a cluster."""
        if self.backend is None:
            return ThreadBackend()
        from mumon.distributed.backend import ClusterBackend
        from mumon.distributed.cluster import Cluster

        if self._state.on_disk:
            raise OptionError("nodes of a cluster keep 2 matrices in memory; leave out matrices='disk', or backend")
        if self.settings.subwords is not None:
            raise OptionError(
                f"nodes of a cluster exchange rows of words, not those of n-grams in {self.settings.subwords.bucket:,} "
                "buckets; leave out backend, or train without subwords"
            )
        if self.settings.positions:
            raise OptionError(
                f"positions is {self.settings.positions} and nodes of a cluster do not exchange weights of positions; "
                "leave out backend, or choose positions=0"
            )
        cluster = Cluster.from_backend(self.backend)
        return ClusterBackend(replace(cluster, workers=cluster.workers or self._given_workers))

    def _count_corpus(self, corpus: EncodedCorpus) -> None:
        self.corpus_count, self.corpus_total_words = corpus.sentences, corpus.tokens

    def _build_vocab_to_train(self, corpus: EncodedCorpus, merge: Merge, progress: Progress) -> None:
        """Choose the vocabulary as a step of `train`; a subclass's own `build_vocab` is called, as gensim does."""
        if type(self).build_vocab is not Word2Vec.build_vocab:
            self.build_vocab(corpus, merge_vocab=merge)
        else:
            self._choose_vocabulary(corpus, merge, progress)

    def _choose_vocabulary(
        self, corpus: EncodedCorpus, merge: Merge | None, progress: Progress, trim_rule: TrimRule | None = None
    ) -> None:
        """Choose which words of the corpus and of the model get rows."""
        self._count_corpus(corpus)
        if self.vocabulary is not None:
            self._state.take_over_changes()
        old = self.vocabulary
        if old is not None and merge in ("old", "union"):
            old = old.for_tokens_of(corpus, merging=merge == "union")
        if old is not None and merge == "old":
            self._state.set_vocabulary(old.counted_on(corpus), progress=progress)
            return
        new = Vocabulary.from_corpus(
            corpus,
            min_count=self.min_count,
            max_final_vocab=self.max_final_vocab,
            trim_rule=trim_rule or self.trim_rule,
            unk=self.unk,
        )
        if old is not None and merge == "union":
            new = old.with_words(new.words, new.unk).counted_on(corpus)
        self._state.set_vocabulary(new, progress=progress)

    def _describe_training(self, schedule: Schedule) -> dict[str, Any]:
        """Return what a saved model says of its training."""
        return {
            **self.settings.to_json(),
            **asdict(self.text),
            **{name: getattr(self, name) for name in MODEL_OPTIONS},
            "alpha": self._run.given_alpha,  # null if the rule chose it: it will again
            "schedule": asdict(schedule),
            "tokens_before": self._run.tokens_before,
            "planned_epochs": self._run.planned,
            **{name: getattr(self, name) for name in COUNTERS},
            "comment": self.comment,
            "integer_keys": self.vocabulary is not None and self.vocabulary.integers,
            "row_exponent": self.settings.row_exponent,  # for people: what rate_exponent null came to
            "combined_with": self._state.combined_with,  # the target weight in the saved vectors
            "uncombined_rows": self._state.uncombined_rows,  # but not in these
        }


def _load_vectors(path: str | os.PathLike[str], on_disk: bool) -> WordVectors:
    if not on_disk:
        return WordVectors.load(path)
    from mumon.formats import open_vectors
    from mumon.training.mmap_matrix import gather_on_disk

    with open_vectors(path) as source:
        loaded = gather_on_disk(source)
    words: Any = list(map(int, loaded.words)) if loaded.integer_keys else loaded.words
    return WordVectors(words, loaded.vectors, loaded.counts)
