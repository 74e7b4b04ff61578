"""The words and the two matrices of a model, kept in step with each other."""

from __future__ import annotations

import copy
import zlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mumon.corpus import EncodedCorpus
from mumon.corpus.vocabulary import Counts, Vocabulary
from mumon.errors import MumonError, OptionError
from mumon.training.memory import check_memory, training_bytes
from mumon.training.prediction import word_probabilities
from mumon.training.settings import Settings
from mumon.training.weights import Filling, Matrix, copy_rows, initial_rows, move_rows, new_matrix
from mumon.utils.progress import Progress, choose_progress
from mumon.vectors.keys import check_topn
from mumon.vectors.word_vectors import WordVectors


class NoVocabularyError(OptionError, AttributeError):
    """A model is asked for what it does not have yet; for `hasattr`, too."""


class Rows:
    """Rows on their way into another model, which lays them out anew: a deep copy would only be thrown away."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    def __deepcopy__(self, memo: dict[int, Any]) -> Rows:
        return self


class ModelRows:
    """A vocabulary, its source vectors (`wv`) and its output vectors (`syn1neg`), row by row."""

    matrices: Literal["memory", "disk"] = "memory"  # where rows are made from here on
    settings: Settings
    vector_size: int
    _progress: bool | Progress | None

    def __init__(self) -> None:
        self.vocabulary: Vocabulary | None = None
        self._source: Matrix
        self._target: Matrix
        self._wv: WordVectors

    def __getstate__(self) -> dict[str, Any]:
        """For copies and users' own pickles: the rows alone, without their padding or a corpus that waits."""
        state = {**self.__dict__, "_kept": None}
        if self.vocabulary is not None:
            self._take_over_rows()
            wv = copy.copy(self.wv)  # with lists of its own, for copies that are not deep
            wv.index_to_key, wv.key_to_index = list(wv.index_to_key), dict(wv.key_to_index)
            wv.expandos = {name: values.copy() for name, values in wv.expandos.items()}
            wv.vectors = np.zeros((0, self.vector_size), np.float32)
            state.update(_source=Rows(self.wv.vectors), _target=Rows(self.syn1neg), _view=None, _wv=wv)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lay the rows out as training needs them, and let the vectors be those of the model."""
        self.__dict__.update(state)
        if self.vocabulary is not None:
            self._source, self._target = (self._laid_out(state[name].matrix) for name in ("_source", "_target"))
            self._wv.vectors = self._view = self._source[:, : self.vector_size]

    @property
    def wv(self) -> WordVectors:
        """The trained vectors and the questions they answer; others may be put in their place."""
        self._require_vocabulary()
        return self._wv

    @wv.setter
    def wv(self, vectors: WordVectors) -> None:
        if vectors.vector_size != self.vector_size:
            raise OptionError(
                f"the vectors have {vectors.vector_size} numbers where the model has {self.vector_size}; give others"
            )
        if self.vocabulary is None:
            words = [str(key) for key in vectors.index_to_key]
            self._adopt(words, vectors.counts, None, vectors.vectors, None, vectors.integer_keys)
        else:
            before, self._wv = self._wv, vectors
            try:
                self._take_over_rows()
            except MumonError:
                self._wv = before
                raise

    @property
    def syn1neg(self) -> Matrix:
        """The output (target) vectors, row by row beside `wv.vectors`."""
        self._take_over_rows()
        return self._target[:, : self.vector_size]

    @syn1neg.setter
    def syn1neg(self, rows: Matrix) -> None:
        if np.shape(rows) != self.syn1neg.shape:
            raise OptionError(
                f"syn1neg is {self.syn1neg.shape} and {np.shape(rows)} was given; give one row to each word"
            )
        self.syn1neg[:] = rows

    @property
    def layer1_size(self) -> int:
        """gensim's other name for `vector_size`."""
        return self.vector_size

    def init_weights(self) -> None:
        """Forget what was trained: both matrices begin anew, for the same words."""
        self._take_over_rows()
        vocabulary = self._require_vocabulary()
        initial_rows(self._source, self.vector_size, np.arange(len(vocabulary)), self.settings.seed)
        self._target[:] = 0
        self._wv.fill_norms(force=True)

    def predict_output_word(
        self, context_words_list: list[str] | list[int], topn: int = 10
    ) -> list[tuple[str, float]] | list[tuple[int, float]] | None:
        """The words that most likely stand amid the given ones, with their probabilities; None if all are unknown.

        >>> from mumon import Word2Vec
        >>> model = Word2Vec([["a", "b"], ["c", "d"]] * 99, min_count=1, sample=0, epochs=9, workers=1, vector_size=8)
        >>> model.predict_output_word(["a"], topn=1)[0][0]
        'b'
        """
        if isinstance(context_words_list, str):
            raise OptionError(f"{context_words_list!r} is 1 string where a list of words is needed; put it in one")
        wv, output = self.wv, self.syn1neg
        rows = [wv.get_index(word) for word in context_words_list if wv.has_index_for(word)]
        if not rows:
            return None
        chances = word_probabilities(wv.vectors, output, rows, self.settings.cbow_mean)
        best = np.argsort(-chances, kind="stable")[: max(check_topn(topn), 0)]
        return [(wv.index_to_key[row], float(chances[row])) for row in best]  # type: ignore[return-value]

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """The bytes that training takes for so many words (by default the model's own), by what takes them.

        With matrices="disk" those of `vectors` and `syn1neg` are taken on the disk.

        >>> from mumon import Word2Vec
        >>> Word2Vec(vector_size=300, workers=1).estimate_memory(1_000_000)["vectors"]
        1216000000
        """
        from mumon.kernels.layout import row_bytes

        words = len(self._require_vocabulary()) if vocab_size is None else vocab_size
        found = {} if report is None else report
        found["vectors"] = found["syn1neg"] = words * row_bytes(self.vector_size)
        found["total"] = training_bytes(words, self.vector_size, self.settings)
        found["vocab"] = found["total"] - 2 * found["vectors"]
        return found

    def _laid_out(self, rows: Matrix) -> Matrix:
        """A copy of rows, as training needs them."""
        new = new_matrix(len(rows), self.vector_size, self.matrices == "disk")
        copy_rows(rows, new, self.vector_size)
        return new

    def _set_vocabulary(
        self, vocabulary: Vocabulary, given: Matrix | None = None, output: Matrix | None = None
    ) -> None:
        """Make room for a vocabulary; words that had rows keep them, in both matrices.

        `given` and `output` are rows for all of it, in place of those that the words had. Nothing changes if it fails.
        """
        old, columns = self.vocabulary, self.vector_size
        known = np.full(len(vocabulary), -1) if old is None else old.rows_of(vocabulary.words)
        with choose_progress(self._progress) as progress:
            on_disk = self.matrices == "disk"
            check_memory(len(vocabulary), columns, self.settings, progress, on_disk)
            source, target = (new_matrix(len(vocabulary), columns, on_disk) for _ in range(2))
            stays = old is not None and given is None
            told = Filling(source, 1 + stays + (output is not None or old is not None), progress)
            if given is not None:
                copy_rows(given, source, columns, told)
            else:
                initial_rows(source, columns, np.flatnonzero(known < 0), self.settings.seed, told)
            if output is not None:
                copy_rows(output, target, columns, told)
            elif old is not None:
                move_rows(self._target, target, known, told)
            if stays:
                move_rows(self._source, source, known, told)
            told.finish()
        # The counts are copied: whoever sets one through `wv` should not change those of another model.
        wv = WordVectors(vocabulary.keys, source[:, :columns], vocabulary.counts.copy())
        if old is None:
            self._wv = wv
        else:
            self._carry(wv, np.arange(len(vocabulary)) if given is not None else known)
            self._wv.__dict__.update(wv.__dict__)  # whoever holds the vectors goes on holding those of the model
        self.vocabulary, self._source, self._target, self._view = vocabulary, source, target, self._wv.vectors

    def _carry(self, wv: WordVectors, known: NDArray[np.int64]) -> None:
        """Bring along what users have set for words: row known[i] of the present vectors is row i of the new ones."""
        locks = self._locks()
        if locks is not None:
            wv.vectors_lockf = np.where(known < 0, 1, locks[known]).astype(np.float32)
        for name, values in self._wv.expandos.items():
            if name != "count":
                moved = np.zeros((len(known), *values.shape[1:]), values.dtype)
                there = (known >= 0) & (known < len(values))
                moved[there] = values[known[there]]
                wv.expandos[name] = moved

    def _adopt(
        self,
        words: list[str],
        counts: Counts | None,
        unk: str | None,
        vectors: Matrix,
        output: Matrix | None,
        integers: bool = False,
    ) -> None:
        """Take over rows from elsewhere, in their order."""
        counts = np.zeros(len(words), np.int64) if counts is None else counts
        self._set_vocabulary(Vocabulary(words, counts, unk, integers), vectors, output)

    def _take_over_rows(self) -> None:
        """If someone gave `wv` other words, counts, another order or another matrix, make them the model's."""
        old, wv = self._require_vocabulary(), self._wv
        same_rows, same_words = wv.vectors is self._view, wv.index_to_key == old.keys
        if same_rows and same_words and (wv.counts is None or np.array_equal(wv.counts, old.counts)):
            return
        changed = self._as_vocabulary(wv)
        if same_rows:
            self.vocabulary = changed
        else:
            self._set_vocabulary(changed, wv.vectors)

    def _as_vocabulary(self, wv: WordVectors) -> Vocabulary:
        """The words and counts of vectors that someone has changed; refused if they do not fit together."""
        old, rows = self._require_vocabulary(), len(wv.index_to_key)
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

    def _settle_rows(self, words: list[str]) -> None:
        """While a training goes on: take over other values of its rows, and refuse other words than its own."""
        if self.vocabulary is None or self._as_vocabulary(self._wv).words != words:
            raise OptionError(
                f"the {len(words)} words of the model were changed by a callback; change them between trainings"
            )
        if self._wv.vectors is not self._view:
            self._view[:] = self._wv.vectors
            self._wv.vectors = self._view

    def _locks(self) -> NDArray[np.float32] | None:
        """How much of its steps each source row takes (`wv.vectors_lockf`); None if all take them whole."""
        words = len(self._wv)
        locks = np.asarray(self._wv.vectors_lockf, np.float32)
        if locks.shape not in ((1,), (words,)) or not np.isfinite(locks).all() or (locks < 0).any():
            raise OptionError(
                f"wv.vectors_lockf has shape {locks.shape} for {words} words; give one number of at least 0 to each"
            )
        return None if (locks == 1).all() else np.broadcast_to(locks, words)

    def _locks_digest(self) -> dict[str, str]:
        """What a checkpoint has to remember of frozen rows."""
        locks = None if self.vocabulary is None else self._locks()
        return {} if locks is None else {"vectors_lockf": f"{zlib.crc32(np.ascontiguousarray(locks).data):08x}"}

    def _matched(self, corpus: EncodedCorpus) -> Vocabulary:
        """The vocabulary, with integers as keys if the corpus has them, and with its counts if none are known."""
        vocabulary = self._require_vocabulary()
        matched = vocabulary.for_tokens_of(corpus)
        if not matched.counts.any():  # the words of a bare vectors file
            matched = matched.counted_on(corpus)
        elif matched.unk is not None and not matched.counts[matched.index[matched.unk]]:
            matched = matched.counted_on(corpus, only=matched.unk)
        if matched is not vocabulary:
            self._set_vocabulary(matched)
        return matched

    def _require_vocabulary(self) -> Vocabulary:
        if self.vocabulary is None:
            raise NoVocabularyError(
                "the model has no vocabulary yet; give the constructor a corpus or call build_vocab first"
            )
        return self.vocabulary
