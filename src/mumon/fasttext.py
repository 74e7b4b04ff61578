"""FastText: Word2Vec whose words have character n-grams, with gensim's names."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mumon.corpus.inputs import Files, Sentences
from mumon.corpus.subwords import Ngrams
from mumon.corpus.vocabulary import TrimRule, Vocabulary
from mumon.errors import OptionError
from mumon.formats.directory import load_model
from mumon.kernels.layout import row_bytes
from mumon.training.memory import MEMBER_BYTES, compute_training_bytes, guess_ngrams
from mumon.training.model_state import ModelState
from mumon.training.settings import Settings
from mumon.training.subword_state import SubwordState
from mumon.utils.gensim_names import refuse_options
from mumon.utils.progress import Progress
from mumon.vectors.fasttext_vectors import FastTextVectors
from mumon.word2vec import Word2Vec

if TYPE_CHECKING:
    from typing_extensions import Self

BUCKETS = 2_000_000  # fastText's and gensim's
NGRAM_OPTIONS = {"min_n", "max_n", "bucket", "pool_rows"}


class FastText(Word2Vec):
    """Word vectors with character n-grams: any word has a vector, and rare words learn from similar ones.

    The vector of a word is the mean of its own row and the rows of its n-grams, which are those of fastText. CBOW and
    skip-gram are trained with the gradient of their loss, divided by every number that divided on the way in; fastText
    and gensim leave these divisions out (`update="faulty"`).

    Parameters
    ----------
    sentences, corpus_file, sg, hs, vector_size, alpha, window, min_count, max_vocab_size, sample, seed, workers, \
min_alpha, negative, ns_exponent, cbow_mean, hashfxn, epochs, null_word, sorted_vocab, trim_rule, batch_words, \
callbacks, max_final_vocab, shrink_windows
        As in `Word2Vec`.
    word_ngrams
        1, as in gensim, where other values do nothing either.
    min_n, max_n
        The least and greatest length of n-grams, in characters of <word>. A `max_n` below `min_n` trains without.
    bucket
        How many buckets n-grams are hashed into. Only those that words fall into take memory.
    pool_rows
        Whether CBOW averages all rows of all context words alike, as fastText does, so that long words count for more;
        by default it averages the vectors of words.
    **options
        All other options of `Word2Vec`: update, exact, target_weight, checkpoints, vocab, progress …

    Examples
    --------
    >>> from mumon import FastText
    >>> sentences = [["the", "cat", "sat"], ["the", "dogs", "sat"]] * 50
    >>> model = FastText(sentences, vector_size=16, min_count=1, epochs=5, workers=1, bucket=1000)
    >>> model.wv["doggy"].shape, "doggy" in model.wv, model.wv.has_index_for("doggy")
    ((16,), True, False)
    """

    _state: SubwordState
    word_ngrams = 1

    def __init__(
        self,
        sentences: Sentences | None = None,
        corpus_file: Files | None = None,
        sg: int = 0,
        hs: int = 0,
        vector_size: int = 100,
        alpha: float | None = None,
        window: int | None = None,
        min_count: int = 5,
        max_vocab_size: int | None = None,
        word_ngrams: int = 1,
        sample: float = 1e-3,
        seed: int | None = 1,
        workers: int | None = None,
        min_alpha: float = 1e-4,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        hashfxn: Callable[[str], int] = hash,
        epochs: int = 5,
        null_word: int = 0,
        min_n: int = 3,
        max_n: int = 6,
        sorted_vocab: int = 1,
        bucket: int = BUCKETS,
        trim_rule: TrimRule | None = None,
        batch_words: int = 10_000,
        callbacks: Iterable[Any] = (),
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
        *,
        pool_rows: bool = False,
        **options: Any,
    ) -> None:
        known = {**inspect.signature(FastText).parameters, **inspect.signature(Word2Vec).parameters}
        refuse_options("FastText()", {name: value for name, value in options.items() if name not in known}, known)
        if word_ngrams != 1:
            raise OptionError(f"word_ngrams is {word_ngrams}; n-grams of words are not offered, so choose 1")
        self._ngrams = Ngrams(min_n, max_n, bucket if min_n <= max_n else 0)
        self._pool_rows = pool_rows
        super().__init__(
            sentences,
            corpus_file,
            vector_size,
            alpha,
            window,
            min_count,
            max_vocab_size,
            sample,
            seed,
            workers,
            min_alpha,
            sg,
            hs,
            negative,
            ns_exponent,
            cbow_mean,
            hashfxn,
            epochs,
            null_word,
            trim_rule,
            sorted_vocab,
            batch_words,
            callbacks=callbacks,
            max_final_vocab=max_final_vocab,
            shrink_windows=shrink_windows,
            **options,
        )

    def _make_settings(self, **options: Any) -> Settings:
        return Settings(**options, subwords=self._ngrams, pool_rows=self._pool_rows)

    def _make_state(
        self, columns: int, settings: Settings, on_disk: bool, progress: bool | Progress | None
    ) -> ModelState:
        return SubwordState(columns, settings, on_disk, progress)

    @property  # type: ignore[override]
    def wv(self) -> FastTextVectors:
        """The trained vectors; any word has one."""
        return self._state.wv  # type: ignore[return-value]

    @wv.setter
    def wv(self, vectors: Any) -> None:
        raise OptionError("wv of a model with subwords cannot be set; load the model, or build its vocabulary")

    @property
    def min_n(self) -> int:
        """The least length of an n-gram."""
        return self._ngrams.min_n

    @property
    def max_n(self) -> int:
        """The greatest length of an n-gram."""
        return self._ngrams.max_n

    @property
    def bucket(self) -> int:
        """The number of buckets that n-grams are hashed into."""
        return self._ngrams.bucket

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """Return the bytes that training takes, by what takes them.

        Parameters
        ----------
        vocab_size
            The number of words; by default the model's own. For another number, that of n-grams is a guess.
        report
            A dictionary to add to, as in gensim.

        Returns
        -------
        dict
            The parts and their "total": "vectors", which are made of the words' own rows ("syn0_vocab") and of those of
            n-grams ("syn0_ngrams", only for buckets that words fall into), the lists of which rows belong to which word
            ("buckets_word"), the target rows ("syn1neg"), and all else ("vocab").

        >>> parts = FastText(vector_size=100, workers=1).estimate_memory(1_000_000)
        >>> 2 * parts["total"] == sum(parts.values()), round(parts["syn0_ngrams"] / parts["vectors"], 1)
        (True, 1.8)
        """
        parts = super().estimate_memory(vocab_size, report)
        if vocab_size is None:
            words, ngrams, members = len(self.wv), len(self._state.kept), len(self._state.bags.members)
        else:
            words, (ngrams, members) = vocab_size, guess_ngrams(vocab_size, self._ngrams)
        parts["syn0_vocab"] = parts["vectors"]
        parts["syn0_ngrams"] = ngrams * row_bytes(self.vector_size)
        parts["buckets_word"] = members * MEMBER_BYTES
        parts["total"] = compute_training_bytes(words, self.vector_size, self.settings, ngrams, members)
        matrices = 3 * parts["vectors"] + parts["syn0_ngrams"]
        parts["vocab"] = parts["total"] - matrices - parts["buckets_word"]
        return parts

    @classmethod
    def _translate_saved(cls, options: dict[str, Any]) -> dict[str, Any]:
        ngrams = options.pop("subwords", None)
        if not isinstance(ngrams, dict):
            raise OptionError("it has no subwords: mumon.Word2Vec.load loads it")
        return {**options, **ngrams}

    @classmethod
    def from_facebook(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Make a model from fastText's own .bin, with all that further training needs.

        Its vectors are the file's, and stay means of rows when they are trained further or saved: `target_weight` is 0
        unless you give it.

        Parameters
        ----------
        path
            The file.
        **options
            The constructor's, in place of what the file says.

        Returns
        -------
        FastText
        """
        from mumon.formats.fasttext import SKIPGRAM_MODEL, read_model

        saved = read_model(Path(path))
        settings = saved.settings
        names = ("window", "epochs", "min_count", "negative", "bucket", "min_n", "max_n", "sample")
        read = {name: settings[name] for name in names} | {"sg": int(settings["model"] == SKIPGRAM_MODEL)}
        read["target_weight"] = 0.0
        model = cls(vector_size=int(settings["dim"]), **{**read, **options})  # type: ignore[arg-type]
        rows = saved.subwords
        there = np.flatnonzero(rows.rows.any(axis=1)).astype(np.int32)  # the others are as if they had no row
        subwords = replace(rows, rows=rows.rows[there], kept=there, bucket=rows.ngrams.bucket)
        model._state.set_vocabulary(Vocabulary(saved.words, saved.counts), saved.own, saved.output, subwords=subwords)
        model._state.combine(0.0)
        model._run.tokens_before = int(saved.counts.sum()) * model.epochs
        model.corpus_total_words = max(saved.tokens, 0)
        return model

    def save_facebook_model(self, path: str | os.PathLike[str]) -> None:
        """Write fastText's own .bin, which fastText and gensim open and train further.

        Parameters
        ----------
        path
            The file to write.
        """
        from mumon.formats.base import LoadedVectors, make_source
        from mumon.formats.fasttext import write_source

        matrices, vocabulary = self._state.matrices(), self._state.require_vocabulary()
        loaded = LoadedVectors(vocabulary.words, matrices.vectors, vocabulary.counts, matrices.subwords)
        own = None if self._state.combined_with else matrices.own  # else they have to hold the target rows' share
        training, source = self._describe_training(self._run.schedule), make_source(Path(path), loaded)
        write_source(Path(path), replace(source, own=own, output=matrices.output, training=training))


def load_trained(path: str | os.PathLike[str], **options: Any) -> Word2Vec:
    """Load a model folder as the class that trained it.

    Parameters
    ----------
    path
        The folder.
    **options
        Those of `Word2Vec.load`.

    Returns
    -------
    Word2Vec or FastText
    """
    has_subwords = load_model(path, output=False).config.get("subwords") is not None
    return (FastText if has_subwords else Word2Vec).load(path, **options)


def choose_class(options: Mapping[str, Any]) -> type[Word2Vec]:
    """Return the class that options ask for: `FastText` if one of them is about n-grams.

    Parameters
    ----------
    options
        Keyword arguments.
    """
    return FastText if NGRAM_OPTIONS & options.keys() else Word2Vec


def make_model(sentences: Sentences | None = None, **options: Any) -> Word2Vec:
    """Make a model of the class that the options ask for.

    Parameters
    ----------
    sentences
        As in `Word2Vec`.
    **options
        Those of `Word2Vec` or `FastText`.
    """
    return choose_class(options)(sentences, **options)
