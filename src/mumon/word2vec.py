"""Word2Vec: the one public trainer, with gensim's names."""

from __future__ import annotations

import inspect
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.corpus.inputs import Files, Sentences, choose_input, find_paths, read_corpus
from mumon.corpus.vocabulary import TrimRule, Vocabulary
from mumon.errors import OptionError, TrainingError
from mumon.training.callbacks import ModelWatcher, call, checked
from mumon.training.checkpoints import Checkpoints
from mumon.training.model_disk import ModelDisk
from mumon.training.model_runs import Merge
from mumon.training.resume import refuse_changed_blocks, refuse_changed_options
from mumon.training.run_state import Epoch, Position
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.trainer import Trainer
from mumon.utils.gensim_names import raise_missing_attribute, refuse_options
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.threads import available_cores
from mumon.utils.validation import check_integer

if TYPE_CHECKING:
    from mumon.distributed import Cluster


SHAPE = ("lanes", "sync_every")  # of the plan by which a cluster visits the text


def _setting(name: str) -> Any:
    """A property for one of the settings; a change counts from the next training on."""

    def get(model: Word2Vec) -> Any:
        value = getattr(model.settings, name)
        return int(value) if name == "cbow_mean" else value

    def put(model: Word2Vec, value: Any) -> None:
        model.settings = replace(model.settings, **{name: value})

    return property(get, put, doc=f"`{name}` of the settings.")


class Word2Vec(ModelDisk):
    """Word vectors by CBOW or skip-gram with negative sampling.

    Given a corpus, the constructor builds the vocabulary and trains; without one, call `build_vocab` and `train`.

    Parameters
    ----------
    sentences
        The path of a text file, or any iterable of token lists. It is read once, so a one-shot iterator will do.
    corpus_file
        One or several files, folders, globs or URLs (s3://, gs://, hf:// …): plain, .gz, .bz2, .xz or .zst text with
        one sentence per line, JSON lines or Parquet.
    vector_size, window, min_count, max_final_vocab, trim_rule, sample, negative, ns_exponent, epochs, sg,
    cbow_mean, shrink_windows, min_alpha, callbacks, comment
        As in gensim 4. Words are strings or, like item ids and the nodes of a graph, integers.
    max_vocab_size
        At most so many words, as `max_final_vocab`: counting itself is exact and has no need of a limit.
    compute_loss, batch_words, hashfxn
        Taken for gensim's sake, without effect: the loss is always computed, and rows begin as a function of `seed`.
    alpha
        The first learning rate; by default a rule chooses it by tokens × epochs (see `mumon.training.rates`).
    seed
        Of all random numbers; None draws one, which `model.seed` then tells.
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
    matrices
        "disk" keeps the two matrices in files, mapped into memory: they may then be larger than it, at the price of
        waiting for the disk where rows are not at hand.
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

    hs, null_word, sorted_vocab = 0, 0, 1  # gensim's others are refused
    window, negative, sample = _setting("window"), _setting("negative"), _setting("sample")
    ns_exponent, shrink_windows = _setting("ns_exponent"), _setting("shrink_windows")
    cbow_mean, seed, workers = _setting("cbow_mean"), _setting("seed"), _setting("workers")
    update, exact = _setting("update"), _setting("exact")
    compute_loss = True  # always

    def __init__(
        self,
        sentences: Sentences | None = None,
        corpus_file: Files | None = None,
        vector_size: int = 100,
        alpha: float | None = None,
        window: int = 5,
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
        matrices: Literal["memory", "disk"] = "memory",
        backend: Literal["ray"] | Cluster | None = None,
        progress: bool | Progress | None = None,
        **obsolete: Any,
    ) -> None:
        refuse_options("Word2Vec()", obsolete, inspect.signature(Word2Vec).parameters)
        _refuse_variants(hs, null_word, sorted_vocab)
        super().__init__()
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
            seed=secrets.randbits(32) if seed is None else seed,
            workers=available_cores() if workers is None else workers,
        )
        self.vector_size, self.epochs = check_integer("vector_size", vector_size), check_integer("epochs", epochs)
        self.min_count = check_integer("min_count", min_count, least=0)
        limits = {"max_final_vocab": max_final_vocab, "max_vocab_size": max_vocab_size}
        given = [check_integer(name, value) for name, value in limits.items() if value is not None]
        self.max_final_vocab, self.max_vocab_size = min(given, default=None), max_vocab_size
        try:
            (unk or "").encode()
        except UnicodeEncodeError:
            raise OptionError(f"unk is {unk!r}, which cannot be written as UTF-8; choose another word") from None
        self.trim_rule, self.unk, self.comment = trim_rule, unk, comment
        self.hashfxn, self.batch_words = hashfxn, batch_words
        if matrices not in ("memory", "disk"):
            raise OptionError(f"matrices is {matrices!r}; it must be memory or disk")
        self.matrices = matrices
        self.backend, self._threads = backend, workers
        self._cluster()  # refuses what is none
        self.text = TextOptions(bool(tokenize), bool(lowercase), text_field)
        self._planned = total_epochs
        self._schedule = Schedule(alpha, min_alpha, self.epochs if total_epochs is None else total_epochs)
        self._alpha, self.min_alpha = self._schedule.alpha, self._schedule.min_alpha
        self._schedule.check_left(self.epochs)
        self.corpus_count = self.corpus_total_words = 0
        self._progress = progress
        self._kept: tuple[Any, EncodedCorpus] | None = None
        if vocab is not None:
            fixed = vocab if isinstance(vocab, Vocabulary) else Vocabulary.load(vocab)
            self._set_vocabulary(fixed if unk is None else fixed.with_words([], unk))
        self._checkpoints = checkpoints
        self._finished: list[Checkpoints] = []  # of runs that are over, until their model is saved
        if sentences is not None or corpus_file is not None:
            merge_vocab: Merge | None = "new" if self.vocabulary is None else None
            self.train(sentences, corpus_file, callbacks=callbacks, merge_vocab=merge_vocab)

    def __repr__(self) -> str:
        words = 0 if self.vocabulary is None else len(self.vocabulary)
        return f"Word2Vec<vocab={words}, vector_size={self.vector_size}, alpha={self.alpha}>"

    def __getitem__(self, key: Any) -> Any:
        raise TypeError(f"model[{key!r}] is gensim 3's; ask the vectors: model.wv[{key!r}]")

    def __contains__(self, key: Any) -> bool:
        raise TypeError(f"{key!r} in model is gensim 3's; ask the vectors: {key!r} in model.wv")

    def __getattr__(self, name: str) -> Any:
        if name in ("wv", "syn1neg"):  # they are there; what they said was an AttributeError
            self._require_vocabulary()
        raise_missing_attribute(name)

    @property
    def sg(self) -> int:
        """1 for skip-gram, 0 for CBOW."""
        return int(self.settings.objective == "sg")

    @property
    def effective_min_count(self) -> int:
        """`min_count`, or the count of the rarest word if a limit on the number of words asked for more."""
        limited = self.vocabulary is not None and len(self.vocabulary) == self.max_final_vocab
        return max(self.min_count, int(self._require_vocabulary().counts.min())) if limited else self.min_count

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
        """Read a corpus and choose the vocabulary.

        A model that has one keeps the rows of words in both. `merge_vocab` says whose words it then has: the "old"
        ones, the "new" ones (the default), or the "union", for which gensim says `update=True`. "old" and "union" add
        the new counts to the old. `trim_rule` takes the place of the model's own; `progress_per` and `keep_raw_vocab`
        are gensim's and have no effect.
        """
        refuse_options("build_vocab()", obsolete, inspect.signature(Word2Vec.build_vocab).parameters)
        merge_vocab = "union" if update and merge_vocab is None else merge_vocab
        if merge_vocab not in (None, "old", "new", "union"):
            raise OptionError(f"merge_vocab is {merge_vocab!r}; it must be old, new or union")
        cluster = self._cluster()
        with choose_progress(self._progress) as progress, cluster.connect(progress) if cluster else nullcontext():
            corpus = self._read(corpus_iterable, corpus_file, progress)
        self.corpus_count, self.corpus_total_words = corpus.sentences, corpus.tokens
        if self.vocabulary is not None:
            self._take_over_rows()
        old = self.vocabulary
        if old is not None and merge_vocab in ("old", "union"):
            old = old.for_tokens_of(corpus, merging=merge_vocab == "union")
        if old is not None and merge_vocab == "old":
            self._set_vocabulary(old.counted_on(corpus))
            return
        new = Vocabulary.from_corpus(
            corpus,
            min_count=self.min_count,
            max_final_vocab=self.max_final_vocab,
            trim_rule=trim_rule or self.trim_rule,
            unk=self.unk,
        )
        if old is not None and merge_vocab == "union":
            new = old.with_words(new.words, new.unk).counted_on(corpus)
        self._set_vocabulary(new)

    def build_vocab_from_freq(
        self,
        word_freq: Mapping[str, int] | Mapping[int, int],
        keep_raw_vocab: bool = False,
        corpus_count: int | None = None,
        trim_rule: TrimRule | None = None,
        update: bool = False,
    ) -> None:
        """Choose the vocabulary from words that were counted elsewhere; `update` adds them to the model's own.

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
            self._take_over_rows()
            new = self.vocabulary.merged_with(new) if update else new
        self._set_vocabulary(new if self.unk is None else new.with_words([], self.unk))

    def reset_from(self, other_model: Word2Vec) -> None:
        """Begin anew with the words and counts of another model."""
        vocabulary = other_model._require_vocabulary()
        self.vocabulary = None
        self._set_vocabulary(vocabulary)
        self.history, self._run_start = [], 0
        self.corpus_count, self.corpus_total_words = other_model.corpus_count, other_model.corpus_total_words

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
        """Train on a corpus, the first time or further; returns what was added to `history`.

        The rate goes on along a schedule that is not finished (see `total_epochs` of the class), by default to its end;
        otherwise, or when a rate or `total_epochs` is given, it starts a new one. New words are passed over unless
        `merge_vocab` is "new" or "union". `callbacks` are `mumon.models.callbacks.CallbackAny2Vec` or like it, and
        `checkpoints` as in the class. `total_examples`, `total_words`, `word_count`, `queue_factor` and `report_delay`
        are gensim's way of knowing how far along it is; mumon counts for itself.
        """
        refuse_options("train()", obsolete, inspect.signature(Word2Vec.train).parameters)
        watching = checked(callbacks)
        if self.vocabulary is not None:
            self._take_over_rows()
        before, (schedule, epochs) = self._schedule, self._plan(epochs, total_epochs, start_alpha, end_alpha)
        checkpoints = self._checkpoints if checkpoints is None else checkpoints
        kept = checkpoints if checkpoints is None or isinstance(checkpoints, Checkpoints) else Checkpoints(checkpoints)
        cluster = self._cluster()
        plan = {} if kept is None else self._run_plan(schedule, epochs, merge_vocab)
        plan |= {} if cluster is None else cluster.plan
        with (
            choose_progress(self._progress) as progress,
            kept.held() if kept else nullcontext(),
            cluster.connect(progress) if cluster else nullcontext(),
        ):
            finished = [earlier.run_id for earlier in self._finished]
            found = None if kept is None else kept.start(progress, finished)
            if found is not None:
                if cluster is not None:  # it may have another size now, and the run keeps to its plan
                    plan = {**{name: found[1].plan.get(name) for name in SHAPE}, **plan}
                refuse_changed_options(found[1], plan)
            corpus = self._read(corpus_iterable, corpus_file, progress)
            position = Position()
            if found is not None:
                schedule, position = self._restore(*found, corpus, progress)
            elif merge_vocab is not None:
                self.build_vocab(corpus, merge_vocab=merge_vocab)
            vocabulary = self._matched(corpus)
            lookup = vocabulary.lookup(corpus)
            self._schedule = self._with_rate(schedule, corpus, lookup, progress)
            trainer = self._trainer(corpus, vocabulary, lookup, plan, progress)
            if found is not None:
                refuse_changed_blocks(found[1], trainer.blocks)
            keeper = None if kept is None else self._keeper(kept, trainer, plan, position, progress)
            watcher = ModelWatcher(self, trainer, watching)
            self._begin_run(position)
            try:
                watcher.tell("on_train_begin")
                added = trainer.run(epochs, self._schedule, len(watcher.before), position, keeper, watcher)
            except BaseException as error:
                self._schedule = before  # the next training plans anew, or goes on from a checkpoint
                if keeper is not None:
                    self.history, self._unfinished = watcher.before, plan["vocab or from"]
                if isinstance(error, TrainingError):
                    raise TrainingError(f"{error}{'' if keeper is None else keeper.last_good()}") from None
                raise
            finally:
                if keeper is not None:
                    keeper.finish()
                trainer.close()
                self._wv.fill_norms(force=True)
                self._kept = None
        watcher.stand_after(added)
        self.train_count, self._unfinished = self.train_count + 1, None
        self._planned = self._planned if total_epochs is None else total_epochs
        if kept is not None:
            self._finished.append(kept)
        call(watching, "on_train_end", self)
        return added

    def _cluster(self) -> Cluster | None:
        """Where to train, if not on this machine."""
        if self.backend is None:
            return None
        from mumon.distributed import Cluster

        if self.matrices == "disk":
            raise OptionError("nodes of a cluster keep 2 matrices in memory; leave out matrices='disk', or backend")
        cluster = Cluster.from_backend(self.backend)
        return replace(cluster, workers=cluster.workers or self._threads)

    def _trainer(
        self,
        corpus: EncodedCorpus,
        vocabulary: Vocabulary,
        lookup: NDArray[np.int32],
        plan: dict[str, Any],
        progress: Progress,
    ) -> Trainer:
        """Whoever trains: threads of this machine, or workers on a cluster, whose plan is then part of the run's."""
        matrices, locks, cluster = (self._source, self._target), self._locks(), self._cluster()
        if cluster is None:
            return Trainer(corpus, lookup, vocabulary.counts, *matrices, self.settings, progress, locks)
        from mumon.distributed.corpus import DistributedCorpus
        from mumon.distributed.trainer import ClusterTrainer

        shape = {name: plan[name] for name in SHAPE} if all(map(plan.get, SHAPE)) else None
        assert isinstance(corpus, DistributedCorpus)
        trainer = ClusterTrainer(
            corpus, vocabulary, *matrices, self.vector_size, self.settings, cluster, shape, progress, locks
        )
        plan |= trainer.epoch_plan
        return trainer

    def _read(self, sentences: Any, corpus_file: Files | None, progress: Progress) -> EncodedCorpus:
        """Encode a corpus; what can be read only once is kept from `build_vocab` for the `train` that follows."""
        given, cluster = choose_input(sentences, corpus_file), self._cluster()
        files = None if isinstance(given, EncodedCorpus) else find_paths(given, corpus_file is not None, self.text)
        if cluster is not None and files is not None:
            from mumon.distributed.corpus import encode_on_cluster

            return encode_on_cluster(files, self.text, progress)
        if self._kept is not None and self._kept[0] is given:
            corpus, once = self._kept[1], True
        else:
            corpus, once = read_corpus(given, corpus_file is not None, self.text, self.settings.workers, progress)
        if once:
            self._kept = (given, corpus)
        if cluster is None:
            return corpus
        from mumon.distributed.corpus import distribute_corpus

        return distribute_corpus(corpus)


def _refuse_variants(hs: int, null_word: int, sorted_vocab: int) -> None:
    """What of gensim's constructor has no counterpart."""
    if hs:
        raise OptionError("hs=1 (hierarchical softmax) is not offered; mumon trains with negative sampling only")
    if null_word:
        raise OptionError("null_word=1 serves gensim's Doc2Vec only; leave it out")
    if not sorted_vocab:
        raise OptionError("sorted_vocab=0 is not offered: words are always in the order of their counts; leave it out")
