"""The state of a model with subwords: rows of words and of n-grams, and the vectors that are made of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mumon.corpus.subwords import Bags, BucketIndex, Ngrams, Subwords, encode_word
from mumon.corpus.vocabulary import Counts, Vocabulary
from mumon.errors import FormatError, OptionError
from mumon.formats.directory import LoadedModel
from mumon.training.memory import check_memory
from mumon.training.model_state import ModelState
from mumon.training.weights import (
    FillProgress,
    Matrix,
    ModelMatrices,
    add_scaled_rows,
    allocate_matrix,
    copy_rows,
    fill_initial_rows,
    move_rows,
)
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.threads import share_work
from mumon.vectors.fasttext_vectors import FastTextVectors
from mumon.vectors.word_vectors import WordVectors

WORDS_AT_ONCE = 4096  # whose vectors one thread computes


class SubwordState(ModelState):
    """A `ModelState` whose words are bags of rows: their own, and those of their character n-grams.

    `source` has a row for each word, then one for each bucket of n-grams that any word has fallen into. Rows of n-grams
    begin as zeros, so buckets without a row are as if they had one. `wv.vectors` is a matrix of its own, computed from
    these rows when training ends (`combine`); the target rows never become a part of the source rows. Users may change
    rows through `wv.vectors_vocab` and `wv.subwords.rows`, and words only through the vocabulary.
    """

    bags: Bags
    kept: NDArray[np.int32]  # the bucket of each row of n-grams: those that words have, then others, in their order
    _wv: FastTextVectors

    @property
    def ngrams(self) -> Ngrams:
        """Which n-grams words have."""
        assert self.settings.subwords is not None
        return self.settings.subwords

    def __getstate__(self) -> dict[str, Any]:
        """Return rows without padding: for copies and for users' own pickles."""
        state = self.__dict__.copy()
        if self.vocabulary is not None:
            self.take_over_changes()
            wv = copy.copy(self._wv)
            wv.index_to_key, wv.key_to_index = list(wv.index_to_key), dict(wv.key_to_index)
            wv.expandos = {name: values.copy() for name, values in wv.expandos.items()}
            wv.vectors, wv.subwords, wv._own = self._wv.vectors.copy(), None, None
            rows = self.source[:, : self.vector_size].copy()
            state.update(source=rows, target=self.output.copy(), _wv=wv, _view=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lay the rows out as training needs them, and let `wv` have the rows of this model."""
        self.__dict__.update(state)
        if self.vocabulary is not None:
            self.source, self.target = (self._lay_out(state[name]) for name in ("source", "target"))
            self._wv = copy.copy(self._wv)
            self._wv.subwords, self._wv._own = self._describe_rows(len(self.vocabulary))
            self._view = self._wv.vectors

    def set_vocabulary(
        self,
        vocabulary: Vocabulary,
        vectors: Matrix | None = None,
        output: Matrix | None = None,
        progress: Progress | None = None,
        subwords: Subwords | None = None,
    ) -> None:
        """Make room for a vocabulary; words and n-grams that had rows keep them. Nothing changes if it fails.

        Parameters
        ----------
        vocabulary
            The words to have rows.
        vectors, output
            The words' own rows and target rows, in place of those that they had.
        progress
            Where to report; by default as the user chose for the model.
        subwords
            The rows of n-grams, in place of those that there were.
        """
        old, columns, settings = self.vocabulary, self.vector_size, self.settings
        words = [encode_word(word) for word in vocabulary.words]
        kept_before = self._find_kept(old, subwords)
        found = self.ngrams.find_buckets(words)
        kept = np.concatenate([found, np.setdiff1d(kept_before, found)])
        bags = self.ngrams.build_bags(words, kept)
        known = np.full(len(words), -1) if old is None else old.rows_of(vocabulary.words)
        places = len(words) + BucketIndex(kept).find(kept_before)
        with choose_progress(self.progress) if progress is None else nullcontext(progress) as shown:
            check_memory(len(words), columns, settings, shown, self.on_disk, len(kept), len(bags.members))
            source = allocate_matrix(len(words) + len(kept), columns, self.on_disk)
            target = allocate_matrix(len(words), columns, self.on_disk)
            filled = FillProgress(source, 1, shown)
            if vectors is not None:
                copy_rows(vectors, source[: len(words)], columns, filled)
            else:
                new = np.flatnonzero(known < 0)
                fill_initial_rows(source[: len(words)], columns, new, settings.seed, filled, settings.workers)
                if old is not None:
                    move_rows(self.source, source[: len(words)], known)
            if subwords is not None:
                source[places, :columns] = subwords.rows
            elif old is not None:
                source[places] = self.source[len(old) :]
            if output is not None:
                copy_rows(output, target, columns)
            elif old is not None:
                move_rows(self.target, target, known)
            filled.finish()
        self.source, self.target, self.bags, self.kept = source, target, bags, kept
        self._make_vectors(vocabulary, known)
        self.vocabulary = vocabulary
        self.combine()

    def _find_kept(self, old: Vocabulary | None, subwords: Subwords | None) -> NDArray[np.int32]:
        """Return the buckets that have rows already."""
        if subwords is None:
            return np.zeros(0, np.int32) if old is None else self.kept
        if subwords.ngrams != self.ngrams:
            raise FormatError(
                f"the rows are of n-grams {subwords.ngrams} where the settings ask for {self.ngrams}; save it again"
            )
        return np.arange(self.ngrams.bucket, dtype=np.int32) if subwords.kept is None else subwords.kept

    def _make_vectors(self, vocabulary: Vocabulary, known: NDArray[np.int64] | None) -> None:
        """Make the vectors that users hold, or give other words to those that they hold."""
        vectors = allocate_matrix(len(vocabulary), self.vector_size, self.on_disk)[:, : self.vector_size]
        keys: Any = vocabulary.keys
        wv = FastTextVectors(keys, vectors, vocabulary.counts.copy(), *self._describe_rows(len(vocabulary)))
        if self.vocabulary is None or known is None:
            self._wv = wv
        else:
            self._carry_attributes(wv, known)
            self._wv.__dict__.update(wv.__dict__)  # the same object: programs hold on to `model.wv`
        self._view = self._wv.vectors

    def _describe_rows(self, words: int) -> tuple[Subwords, Matrix]:
        """Return the rows of n-grams and the words' own rows, without padding."""
        ngrams, rows = self.ngrams, self.source[:, : self.vector_size]
        return Subwords(rows[words:], ngrams.min_n, ngrams.max_n, self.kept, ngrams.bucket), rows[:words]

    def _carry_locks(self, wv: WordVectors, known: NDArray[np.int64]) -> None:
        """Copy which rows are frozen: row known[i] of the present words is row i of the new ones."""
        new, old = cast(FastTextVectors, wv), self._wv
        new.vectors_ngrams_lockf = old.vectors_ngrams_lockf
        for name in ("vectors_lockf", "vectors_vocab_lockf"):
            locks = np.atleast_1d(np.asarray(getattr(old, name), np.float32))
            moved = np.where(known < 0, 1, locks[known]).astype(np.float32) if len(locks) > 1 else locks
            setattr(new, name, moved)

    def adopt(
        self,
        words: list[str],
        counts: Counts | None,
        unk: str | None,
        vectors: Matrix,
        output: Matrix | None,
        integers: bool = False,
        combined_with: float = 0.0,
        weights: Matrix | None = None,
        uncombined_rows: Sequence[int] = (),
    ) -> None:
        """Take words and vectors that no n-grams are known of; the words' own rows make up for them, which are zeros.

        The parameters are those of `ModelState.adopt`, of which the last three have no meaning here.
        """
        vocabulary = Vocabulary(words, np.zeros(len(words), np.int64) if counts is None else counts, unk, integers)
        self.set_vocabulary(vocabulary, vectors, output)
        self.source[: len(words)] *= self.bags.sizes[:, None].astype(np.float32)
        self.combine()

    def restore(
        self,
        loaded: LoadedModel,
        unk: str | None,
        integers: bool,
        combined_with: float = 0.0,
        uncombined_rows: Sequence[int] = (),
    ) -> None:
        """Take everything from a model directory; the parameters are those of `ModelState.restore`."""
        if loaded.own is None or loaded.subwords is None:
            raise FormatError(f"the model of {len(loaded.words)} words has no rows of n-grams; load it with Word2Vec")
        counts = np.zeros(len(loaded.words), np.int64) if loaded.counts is None else loaded.counts
        vocabulary = Vocabulary(loaded.words, counts, unk, integers)
        self.set_vocabulary(vocabulary, loaded.own, loaded.output, subwords=loaded.subwords)

    def matrices(self) -> ModelMatrices:
        """Return what a checkpoint or a saved model has of the matrices."""
        self.combine(self.combined_with)
        V, wv = len(self.require_vocabulary()), self._wv
        own = self.source[:V, : self.vector_size]
        return ModelMatrices(wv.vectors, self.output, own=own, subwords=wv.subwords)

    def reset_weights(self) -> None:
        """Give all rows their first values again, for the same words."""
        V = len(self.require_vocabulary())
        self.source[V:] = 0
        self.target[:] = 0
        own, rows = self.source[:V], np.arange(V)
        fill_initial_rows(own, self.vector_size, rows, self.settings.seed, workers=self.settings.workers)
        self.combine()

    def take_over_changes(self) -> None:
        """Take over counts that were set through `wv`; refuse other words."""
        old, wv = self.require_vocabulary(), self._wv
        self._refuse_other_words(wv)
        if wv.counts is not None and not np.array_equal(wv.counts, old.counts):
            self.vocabulary = self._read_vocabulary(wv)

    def take_over_values(self, words: list[str]) -> None:
        """Refuse other words during a training; rows of words and n-grams may have been changed in place."""
        self._refuse_other_words(self._wv)

    def _refuse_other_words(self, wv: FastTextVectors) -> None:
        if wv.index_to_key != self.require_vocabulary().keys:
            raise OptionError(
                f"wv has {len(wv.index_to_key)} words that are not the {len(self.require_vocabulary())} of the model; "
                "with subwords, change words with build_vocab(update=True)"
            )

    def combine(self, weight: float | None = None, progress: Progress | None = None) -> None:
        """Compute the vectors of `wv` from the rows of words and n-grams, and add weight · target rows.

        Parameters
        ----------
        weight
            None for what the settings ask for. The source rows stay as they are, whatever it is.
        progress
            Accepted as in `ModelState`; this takes a moment.
        """
        from mumon.kernels.bags import compose_words

        self._refuse_other_words(self._wv)
        assert self._view is not None
        self._wv.vectors = self._view  # other values that were set there are computed again
        weight = self.settings.used_target_weight if weight is None else weight
        V, vectors, bags = len(self._wv), self._wv.vectors, self.bags

        def compose(first: int) -> None:
            last = min(first + WORDS_AT_ONCE, V)
            compose_words(self.source, bags.starts, bags.members, first, last, vectors)

        share_work(compose, range(0, V, WORDS_AT_ONCE), self.settings.workers, lambda first: None)
        if weight:
            add_scaled_rows(vectors, self.target[:, : self.vector_size], weight)
        self.combined_with = weight
        self._wv.fill_norms(force=True)

    def set_output(self, rows: Matrix) -> None:
        """Set the output rows; `wv` has its share of them."""
        self.target[:, : self.vector_size] = rows
        self.combine(self.combined_with)

    @contextmanager
    def shown_combined(self) -> Iterator[None]:
        """Let the user's code see, during a training, the vectors that it would get if the training ended now."""
        self.combine()
        yield

    def read_locks(self) -> NDArray[np.float32] | None:
        """Return what share of its steps each source row takes; None if all take them whole.

        These are `wv.vectors_vocab_lockf`, times `wv.vectors_lockf`, for words' own rows, and `wv.vectors_ngrams_lockf`
        for those of n-grams, one number or one for each bucket.
        """
        words, wv = len(self._wv), self._wv
        locks = super().read_locks()
        own = np.ones(words, np.float32) if locks is None else np.array(locks)
        own *= _check_locks("vectors_vocab_lockf", wv.vectors_vocab_lockf, words)
        ngrams = _check_locks("vectors_ngrams_lockf", wv.vectors_ngrams_lockf, self.ngrams.bucket)
        ngrams = ngrams[self.kept] if len(ngrams) > 1 else np.broadcast_to(ngrams, len(self.kept))
        every = np.concatenate([own, ngrams])
        return None if (every == 1).all() else every

    def _find_moving_rows(self) -> NDArray[np.bool_] | None:
        return None


def _check_locks(name: str, values: Any, rows: int) -> NDArray[np.float32]:
    """Return locks as an array of one number, or one for each row."""
    locks = np.atleast_1d(np.asarray(values, np.float32))
    if locks.shape not in ((1,), (rows,)) or not np.isfinite(locks).all() or (locks < 0).any():
        raise OptionError(f"wv.{name} has shape {locks.shape} for {rows} rows; give one number of at least 0 to each")
    return locks
