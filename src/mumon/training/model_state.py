"""The state of a model: its vocabulary and two matrices, kept in step with each other."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Bags
from mumon.corpus.vocabulary import Counts, Vocabulary
from mumon.errors import FormatError, MumonError, OptionError
from mumon.formats.directory import LoadedModel
from mumon.training.memory import check_memory
from mumon.training.settings import Settings
from mumon.training.weights import (
    FillProgress,
    Matrix,
    ModelMatrices,
    add_scaled_rows,
    allocate_matrix,
    copy_rows,
    fill_initial_rows,
    find_unchanged_rows,
    make_shared_weights,
    move_rows,
)
from mumon.utils.progress import Progress, choose_progress
from mumon.vectors.word_vectors import WordVectors


class NoVocabularyError(OptionError, AttributeError):
    """A model is asked for what it has only with a vocabulary; an `AttributeError`, so that `hasattr` works."""


class RowsToCopy:
    """Rows on their way into a copy of a model, which lays them out itself: a deep copy would only be thrown away."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    def __deepcopy__(self, memo: dict[int, Any]) -> RowsToCopy:
        return self


class ModelState:
    """A vocabulary, its vectors (`wv`) and its output vectors (`output`), row by row, and weights that all words share.

    What users get are vectors from both sides of the model: source + λ · target rows, with the target weight λ. They
    take the place of the source rows when training ends, and give it back when more training begins (`combine`), so
    that no third matrix is needed. Rows that the user has frozen stay as they are: nothing is added to them, and
    nothing is subtracted once they may move again.

    Users may change `wv`: add words, sort it, set counts or another matrix. `take_over_changes` then makes that the
    state of the model, before the next training, saving or question to the output matrix.

    Parameters
    ----------
    vector_size
        Columns of both matrices.
    settings
        Of training: its seed decides the first values of rows, and all of it how much memory training takes.
    on_disk
        Whether the matrices are files, mapped into memory.
    progress
        What the user chose to see: True, False, None, or a `Progress`.
    """

    vocabulary: Vocabulary | None
    source: Matrix  # rows are padded and begin on cache lines; the first `vector_size` columns are used
    target: Matrix
    weights: Matrix | None = None  # rows are padded, too; None if the objective has none, or before there are words
    bags: Bags | None = None  # the source rows of each word, where it has several

    def __init__(
        self, vector_size: int, settings: Settings, on_disk: bool, progress: bool | Progress | None = None
    ) -> None:
        self.vector_size, self.settings, self.on_disk, self.progress = vector_size, settings, on_disk, progress
        self.vocabulary = None
        self.combined_with = 0.0  # the λ in the rows of `wv`; 0 during training, when they are the source rows
        self._uncombined: NDArray[np.bool_] | None = None  # rows that do not contain it, because they were frozen
        self._wv: WordVectors
        self._view: Matrix | None = None  # the source rows without padding, as `wv` has them

    def __getstate__(self) -> dict[str, Any]:
        """Return the rows alone, without padding: for copies and for users' own pickles."""
        state = self.__dict__.copy()
        if self.vocabulary is not None:
            self.take_over_changes()
            wv = copy.copy(self.wv)  # with lists of its own, for copies that are not deep
            wv.index_to_key, wv.key_to_index = list(wv.index_to_key), dict(wv.key_to_index)
            wv.expandos = {name: values.copy() for name, values in wv.expandos.items()}
            wv.vectors = np.zeros((0, self.vector_size), np.float32)
            state.update(source=RowsToCopy(self.wv.vectors), target=RowsToCopy(self.output), _view=None, _wv=wv)
            state["weights"] = None if self.weights is None else self.weights.copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lay the rows out as training needs them, and let `wv` have the rows of this model."""
        self.__dict__.update(state)
        if self.vocabulary is not None:
            self.source, self.target = (self._lay_out(state[name].matrix) for name in ("source", "target"))
            self._wv.vectors = self._view = self.source[:, : self.vector_size]

    @property
    def wv(self) -> WordVectors:
        """The vectors and the questions they answer."""
        self.require_vocabulary()
        return self._wv

    @wv.setter
    def wv(self, vectors: WordVectors) -> None:
        if vectors.vector_size != self.vector_size:
            raise OptionError(
                f"the vectors have {vectors.vector_size} numbers where the model has {self.vector_size}; give others"
            )
        if self.vocabulary is None:
            words = [str(key) for key in vectors.index_to_key]
            self.adopt(words, vectors.counts, None, vectors.vectors, None, vectors.integer_keys)
        else:
            before, self._wv = self._wv, vectors
            try:
                self.take_over_changes()
            except MumonError:
                self._wv = before
                raise

    @property
    def output(self) -> Matrix:
        """The output (target) vectors, row by row beside `wv.vectors`."""
        self.take_over_changes()
        return self.target[:, : self.vector_size]

    def require_vocabulary(self) -> Vocabulary:
        """Return the vocabulary; raise an error if there is none yet."""
        if self.vocabulary is None:
            raise NoVocabularyError(
                "the model has no vocabulary yet; give the constructor a corpus or call build_vocab first"
            )
        return self.vocabulary

    def reset_weights(self) -> None:
        """Give both matrices, and weights that all words share, their first values again, for the same words."""
        self.take_over_changes()
        rows = np.arange(len(self.require_vocabulary()))
        fill_initial_rows(self.source, self.vector_size, rows, self.settings.seed, workers=self.settings.workers)
        self.target[:] = 0
        if self.weights is not None:
            self.weights[:] = 1
        self.fit_shared_weights()
        self.combined_with, self._uncombined = 0.0, None
        self._wv.fill_norms(force=True)

    def predict_words(self, rows: list[int]) -> NDArray[np.float32]:
        """Return the probability of every word to be the centre of context words, by the softmax of CBOW's scores.

        Weights of positions are left out: the words of a bag are at no position.
        """
        source, output = self.wv.vectors[rows], self.output
        combined = None if self._uncombined is None else ~self._uncombined[rows]
        add_scaled_rows(source, output[rows], -self.combined_with, combined)
        h = source.sum(axis=0, dtype=np.float64)
        scores = output @ (h / len(rows) if self.settings.cbow_mean else h).astype(np.float32)
        weights = np.exp(scores - scores.max())  # gensim's overflow where scores are large
        return np.asarray(weights / weights.sum(), np.float32)

    # ---- words and rows

    def set_vocabulary(
        self,
        vocabulary: Vocabulary,
        vectors: Matrix | None = None,
        output: Matrix | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Make room for a vocabulary; words that had rows keep them, in both matrices. Nothing changes if it fails.

        Parameters
        ----------
        vocabulary
            The words to have rows.
        vectors, output
            Rows for all of them, in place of those that the words had.
        progress
            Where to report; by default as the user chose for the model.
        """
        old, columns = self.vocabulary, self.vector_size
        known = np.full(len(vocabulary), -1) if old is None else old.rows_of(vocabulary.words)
        with choose_progress(self.progress) if progress is None else nullcontext(progress) as shown:
            check_memory(len(vocabulary), columns, self.settings, shown, self.on_disk)
            source, target = (allocate_matrix(len(vocabulary), columns, self.on_disk) for _ in range(2))
            stays = old is not None and vectors is None
            filled = FillProgress(source, 1 + stays + (output is not None or old is not None), shown)
            if vectors is not None:
                copy_rows(vectors, source, columns, filled)
            else:
                new, settings = np.flatnonzero(known < 0), self.settings
                fill_initial_rows(source, columns, new, settings.seed, filled, settings.workers)
            if output is not None:
                copy_rows(output, target, columns, filled)
            elif old is not None:
                move_rows(self.target, target, known, filled)
            if stays:
                move_rows(self.source, source, known, filled)
            filled.finish()
        # The counts are copied: setting one through `wv` should not change those of another model.
        wv = WordVectors(vocabulary.keys, source[:, :columns], vocabulary.counts.copy())
        if old is None:
            self._wv = wv
        else:
            self._carry_attributes(wv, np.arange(len(vocabulary)) if vectors is not None else known)
            self._wv.__dict__.update(wv.__dict__)  # the same object: programs hold on to `model.wv`
        self.vocabulary, self.source, self.target, self._view = vocabulary, source, target, self._wv.vectors
        if self._uncombined is not None:
            self._uncombined = np.where(known < 0, False, self._uncombined[known])
        if old is None:
            self.weights = None  # those of words that were forgotten
            self.fit_shared_weights()

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
        """Take words and rows from elsewhere, in their order.

        Parameters
        ----------
        words, counts
            One of each per row; counts may be unknown.
        unk
            The word for all others, if it is one of them.
        vectors, output
            Their rows; without `output`, output rows begin at zero.
        integers
            Whether users know the words as integers.
        combined_with
            The target weight that the rows of `vectors` contain.
        weights
            The weights that all words share, without padding; by default they begin at 1, if the objective has any.
        uncombined_rows
            Rows of `vectors` that do not contain the target weight, because they were frozen.
        """
        rows = self._count_shared_weights()
        if weights is not None and weights.shape != (rows, self.vector_size):
            raise FormatError(
                f"the model has weights of {len(weights)} positions where its settings ask for {rows}; save it again"
            )
        counts = np.zeros(len(words), np.int64) if counts is None else counts
        self._uncombined = None
        self.set_vocabulary(Vocabulary(words, counts, unk, integers), vectors, output)
        self.combined_with, self.weights = combined_with, None
        if len(uncombined_rows):
            self._uncombined = np.zeros(len(words), bool)
            self._uncombined[list(uncombined_rows)] = True
        self.fit_shared_weights()
        if weights is not None and self.weights is not None:
            self.weights[:, : self.vector_size] = weights

    def restore(
        self,
        loaded: LoadedModel,
        unk: str | None,
        integers: bool,
        combined_with: float = 0.0,
        uncombined_rows: Sequence[int] = (),
    ) -> None:
        """Take everything from a model directory.

        Parameters
        ----------
        loaded
            The directory.
        unk, integers, combined_with, uncombined_rows
            As for `adopt`.
        """
        rows = loaded.vectors, loaded.output
        weight = 0.0 if loaded.output is None else combined_with
        self.adopt(loaded.words, loaded.counts, unk, *rows, integers, weight, loaded.positions, uncombined_rows)

    def matrices(self) -> ModelMatrices:
        """Return what a checkpoint or a saved model has of the matrices."""
        return ModelMatrices(self.wv.vectors, self.output, self.shared_weights)

    def match_corpus(self, corpus: EncodedCorpus, progress: Progress) -> Vocabulary:
        """Return the vocabulary, with integers as keys if the corpus has them, and with counts if it had none."""
        vocabulary = self.require_vocabulary()
        matched = vocabulary.for_tokens_of(corpus)
        if not matched.counts.any():  # the words of a bare vectors file
            matched = matched.counted_on(corpus)
        elif matched.unk is not None and not matched.counts[matched.index[matched.unk]]:
            matched = matched.counted_on(corpus, only=matched.unk)
        if matched is not vocabulary:
            self.set_vocabulary(matched, progress=progress)
        return matched

    def take_over_changes(self) -> None:
        """Make it the model's if `wv` was given other words, counts, another order or another matrix."""
        old, wv = self.require_vocabulary(), self._wv
        same_rows, same_words = wv.vectors is self._view, wv.index_to_key == old.keys
        if same_rows and same_words and (wv.counts is None or np.array_equal(wv.counts, old.counts)):
            return
        changed = self._read_vocabulary(wv)
        if same_rows:
            self.vocabulary = changed
        else:
            self.set_vocabulary(changed, wv.vectors)

    def take_over_values(self, words: list[str]) -> None:
        """Take over other values of the rows during a training; refuse other words than those it began with."""
        if self.vocabulary is None or self._read_vocabulary(self._wv).words != words:
            raise OptionError(
                f"the {len(words)} words of the model were changed by a callback; change them between trainings"
            )
        if self._wv.vectors is not self._view:
            assert self._view is not None
            self._view[:] = self._wv.vectors
            self._wv.vectors = self._view

    # ---- weights that all words share

    @property
    def shared_weights(self) -> Matrix | None:
        """The weights that all words share, without padding, as training would find them; None if there are none."""
        rows, weights = self._count_shared_weights(), self.weights
        if self.vocabulary is None or not rows:
            return None
        if weights is None or len(weights) != rows:  # of other settings, which the user may yet come back to
            weights = make_shared_weights(rows, self.vector_size)
        return weights[:, : self.vector_size]

    def fit_shared_weights(self, progress: Progress | None = None) -> None:
        """Make weights that all words share as many as the settings ask for: if there were others, they begin at 1.

        Parameters
        ----------
        progress
            Where to say that weights which were trained begin again.
        """
        before, rows = 0 if self.weights is None else len(self.weights), self._count_shared_weights()
        if self.vocabulary is None or rows == before:
            return
        self.weights = make_shared_weights(rows, self.vector_size) if rows else None
        if before and progress is not None:
            now = f"new ones for {rows} groups begin at 1" if rows else "training continues without them"
            progress.note(f"the learned weights of {before} groups of positions are dropped; {now}")

    def _count_shared_weights(self) -> int:
        return self.settings.objective_record.weight_rows(self.settings)

    # ---- both sides of the model

    def combine(self, weight: float | None = None, progress: Progress | None = None) -> None:
        """Make the rows of `wv` source + weight · target rows, in place, whatever weight they contain now.

        Parameters
        ----------
        weight
            0 gives the source rows, which training needs; None what the settings ask for.
        progress
            Where to report, for large matrices.
        """
        self.take_over_changes()
        if weight is None:
            weight = self.settings.used_target_weight
        moving = self._find_moving_rows()
        if self._uncombined is not None:  # they contain nothing yet, and may move again
            add_scaled_rows(self.source, self.target, weight, _intersect(self._uncombined, moving))
        if weight != self.combined_with:
            doing, done = "combining both sides of the model", "combined the {:,} rows of both sides"
            filled = FillProgress(self.source, 1, progress or Progress(), doing, done)
            combined = None if self._uncombined is None else ~self._uncombined
            add_scaled_rows(self.source, self.target, weight - self.combined_with, _intersect(combined, moving), filled)
            filled.finish()
            self._uncombined = None if moving is None or not weight else ~moving
        elif self._uncombined is not None:
            self._uncombined = None if moving is None else self._uncombined & ~moving
        self.combined_with = weight
        self._wv.fill_norms(force=True)

    def set_output(self, rows: Matrix) -> None:
        """Set the output rows; the source rows stay what they are, and `wv` has its share of the new output rows."""
        weight = self.combined_with
        self.combine(0.0)
        self.target[:, : self.vector_size] = rows
        self.combine(weight)

    @property
    def uncombined_rows(self) -> list[int]:
        """The rows of `wv` that do not contain the target weight, because they were frozen."""
        return [] if self._uncombined is None else np.flatnonzero(self._uncombined).tolist()

    @contextmanager
    def shown_combined(self) -> Iterator[None]:
        """Let the user's code see, during a training, the vectors that it would get if the training ended now.

        Training then continues with the same source rows to the bit, but for rows that the code has changed. That
        takes a copy of the source rows for as long as the code runs.
        """
        weight, moving, source, before = self.settings.used_target_weight, self._find_moving_rows(), self.source, None
        if weight:
            before = allocate_matrix(len(source), self.vector_size, self.on_disk)
            before[:] = source
            self.combine(weight)
        try:
            yield
        finally:
            if self.source is not source:  # other words, which end the training
                if before is not None:
                    source[:] = before  # a checkpoint still needs them
            else:
                if self.combined_with != weight:  # the code has set another
                    self.combine(weight)
                if before is not None:
                    self._take_back(before, weight, moving)

    def _take_back(self, before: Matrix, weight: float, moving: NDArray[np.bool_] | None) -> None:
        """Make the rows of `wv` source rows again: those from before, to the bit, where they have not been changed."""
        still_moving = self._find_moving_rows()
        chosen = np.ones(len(before), bool) if still_moving is None else still_moving
        same = find_unchanged_rows(self.source, self.target, weight, before, moving)
        move_rows(before, self.source, np.where(same & chosen, np.arange(len(before)), -1))
        combined = np.ones(len(before), bool) if self._uncombined is None else ~self._uncombined
        add_scaled_rows(self.source, self.target, -weight, ~same & chosen & combined)
        self.combined_with, self._uncombined = 0.0, None
        self._wv.fill_norms(force=True)

    def _find_moving_rows(self) -> NDArray[np.bool_] | None:
        """Return which rows are not frozen; None if none is."""
        locks = self.read_locks()
        return None if locks is None else locks > 0

    # ---- locks

    def read_locks(self) -> NDArray[np.float32] | None:
        """Return what share of its steps each source row takes (`wv.vectors_lockf`); None if all take them whole."""
        words = len(self._wv)
        locks = np.asarray(self._wv.vectors_lockf, np.float32)
        if locks.shape not in ((1,), (words,)) or not np.isfinite(locks).all() or (locks < 0).any():
            raise OptionError(
                f"wv.vectors_lockf has shape {locks.shape} for {words} words; give one number of at least 0 to each"
            )
        return None if (locks == 1).all() else np.broadcast_to(locks, words)

    def digest_locks(self) -> dict[str, str]:
        """Return what a checkpoint has to remember of frozen rows."""
        locks = None if self.vocabulary is None else self.read_locks()
        return {} if locks is None else {"vectors_lockf": f"{zlib.crc32(np.ascontiguousarray(locks).data):08x}"}

    # ---- details

    def _lay_out(self, rows: Matrix) -> Matrix:
        """Copy rows into a matrix as training needs it."""
        matrix = allocate_matrix(len(rows), self.vector_size, self.on_disk)
        copy_rows(rows, matrix, self.vector_size)
        return matrix

    def _carry_attributes(self, wv: WordVectors, known: NDArray[np.int64]) -> None:
        """Copy what users have set for words: row known[i] of the present vectors is row i of the new ones."""
        self._carry_locks(wv, known)
        for name, values in self._wv.expandos.items():
            if name != "count":
                moved = np.zeros((len(known), *values.shape[1:]), values.dtype)
                there = (known >= 0) & (known < len(values))
                moved[there] = values[known[there]]
                wv.expandos[name] = moved

    def _carry_locks(self, wv: WordVectors, known: NDArray[np.int64]) -> None:
        """Copy which rows are frozen, as `_carry_attributes` does."""
        locks = self.read_locks()
        if locks is not None:
            wv.vectors_lockf = np.where(known < 0, 1, locks[known]).astype(np.float32)

    def _read_vocabulary(self, wv: WordVectors) -> Vocabulary:
        """Return the words and counts of vectors that the user has changed; refuse them if they do not fit together."""
        old, rows = self.require_vocabulary(), len(wv.index_to_key)
        if wv.vectors.shape != (rows, self.vector_size) or len(wv.key_to_index) != rows:
            raise OptionError(
                f"wv has {rows} words, {len(wv.key_to_index)} of them with a row, and a matrix of {wv.vectors.shape} "
                f"where the model has {self.vector_size} numbers for each; give as many rows as words"
            )
        if wv.counts is not None and wv.counts.shape != (rows,):
            raise OptionError(f"wv has {rows} words and counts of shape {wv.counts.shape}; give one count to each")
        words = [str(key) for key in wv.index_to_key]
        unk = old.unk if old.unk in wv.key_to_index else None
        counts = np.zeros(rows, np.int64) if wv.counts is None else wv.counts.copy()
        return Vocabulary(words, counts, unk, wv.integer_keys)


def _intersect(a: NDArray[np.bool_] | None, b: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return the rows that both choose; None chooses all."""
    return b if a is None else a if b is None else a & b
