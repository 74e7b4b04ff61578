"""How similar pairs and sets of words are."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors import neighbours
from mumon.vectors.keys import Key, UnsupportedError, check_topn
from mumon.vectors.neighbours import Floats, compute_norms, scale_to_unit
from mumon.vectors.search import Search

log = logging.getLogger(__name__)


class Similarity(Search):
    """Cosines, distances and ranks."""

    @staticmethod
    def cosine_similarities(vector_1: NDArray[Any], vectors_all: NDArray[Any]) -> NDArray[Any]:
        """Compute the cosine of one vector with each row of a matrix.

        Parameters
        ----------
        vector_1
            D numbers.
        vectors_all
            An (N, D) matrix.

        Returns
        -------
        array of N numbers
        """
        lengths = np.linalg.norm(vector_1) * compute_norms(vectors_all)
        products: NDArray[Any] = vectors_all @ vector_1
        cosines: NDArray[Any] = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        return cosines

    def similarity(self, w1: Key, w2: Key) -> float:
        """Return the cosine of two words.

        Parameters
        ----------
        w1, w2
            The words.

        Returns
        -------
        float
            Between -1 and 1.
        """
        return float(self.get_vector(w1, norm=True) @ self.get_vector(w2, norm=True))

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> float:
        """Return the cosine of the means of two sets of words.

        Parameters
        ----------
        ws1, ws2
            Lists of words; unknown ones are ignored.

        Returns
        -------
        float
            Between -1 and 1.
        """
        means = [self.get_mean_vector(ws, pre_normalize=False, post_normalize=True) for ws in (ws1, ws2)]
        return float(means[0] @ means[1])

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """Return the cosine of two words, divided by the sum of the cosines of `wa` with its nearest words.

        Leeuwenberg et al. (2016) consider words above 0.10, with 10 nearest words, to be possible synonyms.

        Parameters
        ----------
        wa, wb
            The words.
        topn
            The number of nearest words of `wa`.

        Returns
        -------
        float
        """
        nearest = self.similar_by_key(wa, check_topn(topn))
        if not nearest:
            raise OptionError(f"there are 0 neighbours of {wa!r} to compare with (topn is {topn}); ask for at least 1")
        total = sum(score for _, score in nearest)
        return self.similarity(wa, wb) / total if total else 0.0

    def distance(self, w1: Key, w2: Key) -> float:
        """Return 1 minus the cosine of two words.

        Parameters
        ----------
        w1, w2
            The words.

        Returns
        -------
        float
            Between 0 and 2.
        """
        return 1 - self.similarity(w1, w2)

    def distances(self, word_or_vector: Key | NDArray[Any], other_words: Iterable[Key] = ()) -> Floats:
        """Return 1 minus the cosine of a word or vector with each of other words.

        Parameters
        ----------
        word_or_vector
            A word, or D numbers.
        other_words
            The words to compare with; none means every word.

        Returns
        -------
        array of float32
            In the order of `other_words`, or of the rows.
        """
        if isinstance(word_or_vector, np.ndarray):
            vector = self._check_vector(word_or_vector)
        else:
            vector = self.get_vector(word_or_vector)
        others = [self.get_index(word) for word in other_words or ()]
        if others:
            return (1 - self.cosine_similarities(vector, self.vectors[others])).astype(np.float32)
        vectors, norms, keys, _ = self._take_snapshot()
        return 1 - neighbours.score_query(vectors, norms, scale_to_unit(vector), 0, min(len(keys), len(vectors)))

    def wmdistance(self, document1: Sequence[Key], document2: Sequence[Key], norm: bool = True) -> float:
        """Compute the Word Mover's Distance (Kusner et al. 2015): the least work that turns one text into the other.

        Parameters
        ----------
        document1, document2
            Lists of words; unknown ones are ignored.
        norm
            Whether to scale the vectors to length 1 first.

        Returns
        -------
        float
            Infinite if a document has no known word.

        Examples
        --------
        >>> from mumon import WordVectors
        >>> wv = WordVectors(["hot", "warm", "tea"], np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32))
        >>> round(wv.wmdistance(["hot", "tea"], ["warm", "tea"]), 4)
        0.3162
        """
        from mumon.vectors.wmd import compute_wmd

        known = []
        for document in (document1, document2):
            if isinstance(document, str):
                raise OptionError(f"{document[:40]!r} is a string of {len(document)} letters; give a list of words")
            known.append([word for word in document if word in self])
            if len(known[-1]) < len(document):
                log.info("ignored %d words that are not in the vocabulary", len(document) - len(known[-1]))
        if not all(known):
            log.warning("a document has no word of the vocabulary: its distance is infinite")
            return float("inf")
        return compute_wmd(known[0], known[1], lambda word: self.get_vector(word, norm))

    def closer_than(self, key1: Key, key2: Key) -> list[Any]:
        """Find the words that are closer to `key1` than `key2` is.

        Parameters
        ----------
        key1, key2
            The words.

        Returns
        -------
        list of words
            In the order of their rows.
        """
        distances = self.distances(key1)
        closer = np.flatnonzero(distances[: self.next_index] < distances[self.get_index(key2)])
        return [self.index_to_key[index] for index in closer if index != self.get_index(key1)]

    def words_closer_than(self, word1: Key, word2: Key) -> list[Any]:
        """Find closer words: gensim's old name of `closer_than`, with a DeprecationWarning.

        Parameters
        ----------
        word1, word2
            The words.

        Returns
        -------
        list of words
        """
        warnings.warn("words_closer_than is gensim's old name; call closer_than", DeprecationWarning, stacklevel=2)
        return self.closer_than(word1, word2)

    def rank(self, key1: Key, key2: Key) -> int:
        """Return the rank of `key2` among the neighbours of `key1`.

        Parameters
        ----------
        key1, key2
            The words.

        Returns
        -------
        int
            1 for the nearest neighbour.
        """
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Any]) -> Any:
        """Find the word of a list that is most similar to `key1`.

        Parameters
        ----------
        key1
            The word to compare with.
        keys_list
            The words to choose from.

        Returns
        -------
        str or int
            One of `keys_list`.
        """
        if not len(keys_list):
            raise OptionError(f"0 words were given to compare {key1!r} with; give at least 1")
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def rank_by_centrality(self, words: Sequence[Any], use_norm: bool = True) -> list[tuple[float, Any]]:
        """Sort words by their similarity to the mean of them all.

        Parameters
        ----------
        words
            The words; unknown ones are ignored.
        use_norm
            Whether to scale their vectors to length 1 before taking the mean.

        Returns
        -------
        list of (float, word)
            The similarities and the words, most similar first.
        """
        used = [word for word in words if word in self]
        if not used:
            raise OptionError(f"0 of the {len(words)} words are among the {len(self)} of the vocabulary; give others")
        if len(used) < len(words):
            log.warning(
                "ignored words that are not in the vocabulary: %s", [word for word in words if word not in self]
            )
        vectors = np.array([self.get_vector(word, norm=use_norm) for word in used])
        scores = vectors @ self.get_mean_vector(vectors, post_normalize=True)
        return sorted(zip(scores.tolist(), used, strict=True), reverse=True)

    def doesnt_match(self, words: Sequence[Any]) -> Any:
        """Find the word that is least similar to the mean of all.

        Parameters
        ----------
        words
            The words; unknown ones are ignored.

        Returns
        -------
        str or int
            One of `words`.
        """
        return self.rank_by_centrality(words)[-1][1]

    def similarity_unseen_docs(self, *args: Any, **kwargs: Any) -> float:
        """Raise NotImplementedError, as in gensim, where only Doc2Vec has this method."""
        raise UnsupportedError("similarity_unseen_docs compares texts by Doc2Vec; compare lists of words by wmdistance")
