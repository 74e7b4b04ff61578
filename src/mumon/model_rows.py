"""The words and the two matrices of a model, kept in step with each other."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import OptionError
from mumon.matrices import Matrix, initial_rows, move_rows, new_matrix
from mumon.memory import check_memory, training_bytes
from mumon.prediction import word_probabilities
from mumon.progress import Progress, chosen_progress
from mumon.settings import Settings
from mumon.vectors import WordVectors
from mumon.vocab import Counts, Vocabulary


class ModelRows:
    """A vocabulary, its source vectors (`wv`) and its output vectors (`syn1neg`), row by row."""

    settings: Settings
    vector_size: int
    _progress: bool | Progress | None

    def __init__(self) -> None:
        self.vocabulary: Vocabulary | None = None
        self._source: Matrix
        self._target: Matrix
        self._wv: WordVectors

    def __getstate__(self) -> dict[str, Any]:
        """For copies and users' own pickles: the rows alone, without their padding."""
        state = dict(self.__dict__)
        if self.vocabulary is not None:
            self._take_over_rows()
            state.update(_source=self.wv.vectors, _target=self.syn1neg, _view=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Lay the rows out as training needs them, and let the vectors be those of the model."""
        self.__dict__.update(state)
        if self.vocabulary is not None:
            rows = self._source, self._target
            self._source, self._target = (new_matrix(len(matrix), self.vector_size) for matrix in rows)
            for new, old in zip((self._source, self._target), rows, strict=True):
                new[:, : self.vector_size] = old
            self._wv.vectors = self._view = self._source[:, : self.vector_size]

    @property
    def wv(self) -> WordVectors:
        """The trained vectors and the questions they answer."""
        self._require_vocabulary()
        return self._wv

    @property
    def syn1neg(self) -> Matrix:
        """The output (target) vectors, row by row beside `wv.vectors`."""
        self._take_over_rows()
        return self._target[:, : self.vector_size]

    @property
    def layer1_size(self) -> int:
        """gensim's other name for `vector_size`."""
        return self.vector_size

    def init_weights(self) -> None:
        """Forget what was trained: both matrices begin anew, for the same words."""
        vocabulary = self._require_vocabulary()
        self.vocabulary = None
        self._set_vocabulary(vocabulary)

    def predict_output_word(
        self, context_words_list: list[str] | list[int], topn: int = 10
    ) -> list[tuple[str, float]] | list[tuple[int, float]] | None:
        """The words that most likely stand amid the given ones, with their probabilities; None if all are unknown.

        >>> from mumon import Word2Vec
        >>> model = Word2Vec([["a", "b"], ["c", "d"]] * 99, min_count=1, sample=0, epochs=9, workers=1, vector_size=8)
        >>> model.predict_output_word(["a"], topn=1)[0][0]
        'b'
        """
        wv, output = self.wv, self.syn1neg
        rows = [wv.get_index(word) for word in context_words_list if word in wv]
        if not rows:
            return None
        chances = word_probabilities(wv.vectors, output, rows, self.settings.cbow_mean)
        best = np.argsort(-chances, kind="stable")[:topn]
        return [(wv.index_to_key[row], float(chances[row])) for row in best]  # type: ignore[return-value]

    def estimate_memory(self, vocab_size: int | None = None, report: dict[str, int] | None = None) -> dict[str, int]:
        """The bytes that training takes for so many words (by default the model's own), by what takes them.

        >>> from mumon import Word2Vec
        >>> Word2Vec(vector_size=300, workers=1).estimate_memory(1_000_000)["vectors"]
        1216000000
        """
        from mumon.matrices import row_bytes

        words = len(self._require_vocabulary()) if vocab_size is None else vocab_size
        found = {} if report is None else report
        found["vectors"] = found["syn1neg"] = words * row_bytes(self.vector_size)
        found["total"] = training_bytes(words, self.vector_size, self.settings)
        found["vocab"] = found["total"] - 2 * found["vectors"]
        return found

    def _set_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Make room for a vocabulary; words that had rows keep them, in both matrices."""
        old = self.vocabulary
        known = np.full(len(vocabulary), -1) if old is None else old.rows_of(vocabulary.words)
        with chosen_progress(self._progress) as progress:
            check_memory(len(vocabulary), self.vector_size, self.settings, progress)
        source, target = (new_matrix(len(vocabulary), self.vector_size) for _ in range(2))
        initial_rows(source, self.vector_size, np.flatnonzero(known < 0), self.settings.seed)
        locks = None
        if old is not None:
            move_rows(self._source, source, known)
            move_rows(self._target, target, known)
            locks = self._locks()
        self.vocabulary, self._source, self._target = vocabulary, source, target
        self._wv = WordVectors(vocabulary.keys, source[:, : self.vector_size], vocabulary.counts)
        self._view = self._wv.vectors
        if locks is not None:
            self._wv.vectors_lockf = np.where(known < 0, 1, locks[known]).astype(np.float32)

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
        self._set_vocabulary(Vocabulary(words, counts, unk, integers))
        self._source[:, : self.vector_size] = vectors
        if output is not None:
            self._target[:, : self.vector_size] = output

    def _take_over_rows(self) -> None:
        """If someone gave `wv` other words, another order or another matrix, make the model's rows those."""
        old, wv = self._require_vocabulary(), self._wv
        if wv.vectors is self._view:
            return
        if wv.vectors.shape != (len(wv), self.vector_size):
            raise OptionError(
                f"wv.vectors is {wv.vectors.shape} where the model has {len(wv)} words of {self.vector_size} numbers; "
                "give it a matrix of that shape"
            )
        locks, given = wv.vectors_lockf, wv.vectors
        old_target = self._target
        words = [str(key) for key in wv.index_to_key]
        known = old.rows_of(words)
        counts = np.zeros(len(words), np.int64) if wv.counts is None else wv.counts
        unk = old.unk if old.unk in wv.key_to_index else None
        self.vocabulary = None
        self._set_vocabulary(Vocabulary(words, counts, unk, old.integers))
        self._source[:, : self.vector_size] = given
        move_rows(old_target, self._target, known)
        # Whoever holds the vectors should go on holding those of the model.
        wv.vectors, self._wv = self._wv.vectors, wv
        self._view = wv.vectors
        wv.vectors_lockf = locks

    def _locks(self) -> npt.NDArray[np.float32] | None:
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
            raise OptionError(
                "the model has no vocabulary yet; give the constructor a corpus or call build_vocab first"
            )
        return self.vocabulary
