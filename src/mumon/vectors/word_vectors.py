"""WordVectors: look up words and find what is similar to them: all of gensim 4's KeyedVectors, under its names.

A row of zeros is similar to nothing: it scores 0 where gensim gives nan.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mumon.errors import OptionError
from mumon.vectors.keys import KEY_TYPES, Item, Items, Key, Keys, Ranking
from mumon.vectors.mutation import Mutation
from mumon.vectors.neighbours import Floats
from mumon.vectors.similarity import Similarity

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords
    from mumon.utils.progress import Progress
    from mumon.vectors.ann_index import Index

__all__ = ["KEY_TYPES", "Floats", "Item", "Items", "Key", "Keys", "Ranking", "WordVectors"]

GENSIM_SUFFIXES = (".kv", ".wordvectors", ".model")  # of files that gensim's users save: here these are model folders
NO_PICKLE = "mumon writes safetensors and JSON, never a pickle"

log = logging.getLogger(__name__)


class WordVectors(Similarity, Mutation):
    """V words and their (V, D) float32 vectors.

    Keys are words, or integers such as item ids. An integer that is no key is a row number. As in gensim, a first
    argument that is a number reserves room for words that are added later; see the second example.

    Parameters
    ----------
    words
        V different keys: all strings, or all integers.
    vectors
        A (V, D) matrix. float32 is shared with the caller, not copied; other floats are converted.
    counts
        How often each word was seen in training, if that is known.

    Examples
    --------
    >>> wv = WordVectors(["king", "queen", "apple"], np.array([[2, 1], [2, 2], [-1, 1]], np.float32))
    >>> wv.most_similar("king", topn=1)
    [('queen', 0.9486832618713379)]
    >>> wv["queen"].tolist(), "pear" in wv, len(wv)
    ([2.0, 2.0], False, 3)

    >>> wv = WordVectors(vector_size=2)
    >>> wv[[10, 7, 3]] = np.array([[2, 1], [2, 2], [-1, 1]])
    >>> wv.most_similar(7, topn=1), wv[0].tolist()
    ([(10, 0.9486832618713379)], [2.0, 1.0])
    """

    _subword_class: ClassVar[Any] = None  # FastTextVectors, a subclass, which sets this when it is defined
    subwords: Subwords | None = None  # the n-grams that vectors of other words are made of: those of the subclass

    def vectors_for_all(
        self, keys: Iterable[Key], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> WordVectors:
        """Copy the vectors of some keys into WordVectors of their own.

        Parameters
        ----------
        keys
            The keys, in the order wanted. Repeated ones, and those without a vector, are left out.
        allow_inference
            Whether to accept row numbers as keys, and words whose vectors are composed of n-grams.
        copy_vecattrs
            Whether to copy counts and other attributes too; keys without a row get 0.

        Returns
        -------
        WordVectors
        """
        known: Any = self if allow_inference else self.key_to_index
        chosen: Any = [key for key in dict.fromkeys(keys) if key in known]
        copy = WordVectors(chosen, self[chosen])
        if copy_vecattrs:
            self.allocate_vecattrs()
            copy.allocate_vecattrs(self.expandos, [values.dtype for values in self.expandos.values()])
            places = [place for place, key in enumerate(chosen) if self.has_index_for(key)]
            rows = [self.get_index(chosen[place]) for place in places]
            for attr, values in self.expandos.items():
                copy.expandos[attr][places] = values[rows]
        return copy

    def index(
        self,
        *,
        connectivity: int = 16,
        expansion_add: int = 128,
        expansion_search: int = 64,
        dtype: str = "f32",
        progress: bool | Progress | None = None,
    ) -> Index:
        """Build an index that finds neighbours without comparing with every row.

        It is much faster for many words, and nearly always right: `Index.recall` measures how often. It needs
        `pip install 'mumon[index]'`. Without an index every answer is exact.

        Parameters
        ----------
        connectivity, expansion_add
            Higher numbers find more of the true neighbours, and take longer to build.
        expansion_search
            Higher numbers find more of the true neighbours, and take longer to search.
        dtype
            How the index holds numbers: "f32", "f16" or "i8".
        progress
            Whether to show a progress bar; None shows one in a terminal.

        Returns
        -------
        Index
            To be asked itself, or given to `most_similar` as `indexer`.
        """
        from mumon.vectors.ann_index import Index

        return Index(
            self,
            connectivity=connectivity,
            expansion_add=expansion_add,
            expansion_search=expansion_search,
            dtype=dtype,
            progress=progress,
        )

    # ---- evaluation, as gensim does it; `mumon.evaluation` has more

    def evaluate_word_pairs(
        self,
        pairs: str | os.PathLike[str],
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        """Measure how well cosines agree with human scores of similarity.

        Parameters
        ----------
        pairs
            A file of lines `word word score`.
        delimiter
            What separates the three.
        encoding
            Of the file.
        restrict_vocab
            Use only this many words from the start.
        case_insensitive
            Whether to compare words in upper case.
        dummy4unknown
            Whether to give pairs with an unknown word a similarity of 0 instead of leaving them out.

        Returns
        -------
        (pearson, spearman, unknown)
            Two correlations, each with its p-value, and the percentage of pairs with an unknown word.
        """
        from mumon.vectors.gensim_evaluation import evaluate_word_pairs

        return evaluate_word_pairs(self, pairs, delimiter, encoding, restrict_vocab, case_insensitive, dummy4unknown)

    def evaluate_word_analogies(
        self,
        analogies: str | os.PathLike[str],
        restrict_vocab: int = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[dict[str, Any]]]:
        """Measure how many analogies of a file are answered right.

        Parameters
        ----------
        analogies
            A file of lines of four words, under lines `: section`.
        restrict_vocab
            Use only this many words from the start.
        case_insensitive
            Whether to compare words in upper case.
        dummy4unknown
            Whether to count questions with an unknown word as wrong instead of leaving them out.
        similarity_function
            "most_similar" (3CosAdd) or "most_similar_cosmul" (3CosMul).

        Returns
        -------
        (accuracy, sections)
            The share of right answers and, for each section and for all together, a dictionary of the questions that
            were answered right ("correct") and wrong ("incorrect").
        """
        from mumon.vectors import gensim_evaluation

        return gensim_evaluation.evaluate_word_analogies(
            self, analogies, restrict_vocab, case_insensitive, dummy4unknown, similarity_function
        )

    @staticmethod
    def log_accuracy(section: dict[str, Any]) -> None:
        """Log how many questions of a section were answered right.

        Parameters
        ----------
        section
            One of the sections that `evaluate_word_analogies` returns.
        """
        from mumon.vectors.gensim_evaluation import log_accuracy

        log_accuracy(section)

    @staticmethod
    def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: str | os.PathLike[str]) -> None:
        """Log what `evaluate_word_pairs` returned.

        Parameters
        ----------
        pearson, spearman, oov
            The three results.
        pairs
            The name of the file.
        """
        from mumon.vectors.gensim_evaluation import log_evaluate_word_pairs

        log_evaluate_word_pairs(pearson, spearman, oov, pairs)

    def add_lifecycle_event(self, event_name: str, log_level: int = logging.INFO, **event: Any) -> None:
        """Log an event; gensim also stores it in its pickle, which mumon does not have.

        Parameters
        ----------
        event_name
            What happened.
        log_level
            A level of `logging`.
        **event
            Details to log with it.
        """
        log.log(log_level, "%s lifecycle event %s: %s", type(self).__name__, event_name, event)

    # ---- disk

    def save(
        self, path: str | os.PathLike[str], format: str | None = None, dtype: str = "float32", **options: Any
    ) -> None:
        """Write words, vectors and counts to disk.

        Attributes other than counts, and `vectors_lockf`, are left out with a warning.

        Parameters
        ----------
        path
            Where to write. The extension chooses the format; those that gensim's documentation uses (.kv, .wordvectors,
            .model) make a mumon folder.
        format
            A name in `mumon.formats.FORMATS`, if the extension should not choose.
        dtype
            How numbers are written, in formats that leave a choice. "float32" loses nothing.
        **options
            None: gensim's other options are for pickles, and are refused.
        """
        from mumon.formats import choose_subword_format, write_vectors

        if options:
            raise OptionError(f"{next(iter(options))} is for pickles, and {NO_PICKLE}; leave it out")
        if not isinstance(path, (str, os.PathLike)):
            raise OptionError(f"a {type(path).__name__} was given where the name of a file is needed; {NO_PICKLE}")
        if format is None and Path(path).suffix.lower() in GENSIM_SUFFIXES:
            format = "mumon"
        if format is None:
            format = choose_subword_format(path, self.subwords)
        lost = self._list_unsaved()
        if lost:
            log.warning("%s: left out %s: files of vectors hold words, vectors and counts only", path, ", ".join(lost))
        rows = self.next_index
        counts = None if self.counts is None else self.counts[:rows]
        keys = self._list_words()
        write_vectors(path, keys, self.vectors[:rows], counts, format, dtype, self.integer_keys, self.subwords)

    @classmethod
    def load(
        cls,
        fname: str | os.PathLike[str],
        format: str | None = None,
        limit: int | None = None,
        *,
        mmap: str | None = None,
    ) -> WordVectors:
        """Read vectors from disk, in any format that mumon knows.

        Parameters
        ----------
        fname
            The file or folder.
        format
            A name in `mumon.formats.FORMATS`; None looks at the file.
        limit
            Read only this many rows from the start.
        mmap
            Accepted because gensim has it; it changes nothing.

        Returns
        -------
        WordVectors
            From a model with n-grams a `FastTextVectors`, which also has vectors for words that it has never seen.
        """
        from mumon.formats import read_vectors

        loaded = read_vectors(fname, format, limit)
        if loaded.subwords is not None:
            composed: WordVectors = cls._subword_class.of(loaded)
            return composed
        words: Keys = list(map(int, loaded.words)) if loaded.integer_keys else loaded.words
        return cls(words, loaded.vectors, loaded.counts)

    def save_word2vec_format(
        self,
        fname: str | os.PathLike[str],
        fvocab: str | os.PathLike[str] | None = None,
        binary: bool = False,
        total_vec: int | None = None,
        write_header: bool = True,
        prefix: str = "",
        append: bool = False,
        sort_attr: str = "count",
    ) -> None:
        """Write word2vec text or binary, whatever the extension.

        Parameters
        ----------
        fname
            The file.
        fvocab
            A second file, for lines `word count`.
        binary
            Whether to write binary.
        total_vec
            The number of rows that the header says, if not the number written.
        write_header
            Whether to begin with the line `V D`.
        prefix
            Comes before every word.
        append
            Whether to keep what the file has and add to it.
        sort_attr
            Words with the highest value of this attribute come first.
        """
        from mumon.vectors import word2vec_options

        rows, words, values = self.vectors[: self.next_index], self._list_words(), None
        if sort_attr in self.expandos:
            values = self._find_vecattr(sort_attr)[: len(words)]
            if values.dtype.kind not in "biuf":
                raise OptionError(f"the {sort_attr!r} of the {len(self)} words are no numbers to sort by; name another")
            order = np.lexsort((np.arange(len(values)), -values.astype(np.float64)))
            if (np.diff(order) != 1).any():
                rows, words, values = rows[order], [words[row] for row in order.tolist()], values[order]
        if fvocab is not None:
            if values is None:
                raise OptionError(f"there is no {sort_attr!r} of the {len(self)} words for {fvocab}; leave out fvocab")
            word2vec_options.write_vocabulary(fvocab, words, values.tolist(), prefix, append)
        word2vec_options.write_word2vec(fname, words, rows, binary, total_vec, write_header, prefix, append)

    @classmethod
    def load_word2vec_format(
        cls,
        fname: str | os.PathLike[str],
        fvocab: str | os.PathLike[str] | None = None,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
        limit: int | None = None,
        datatype: Any = np.float32,
        no_header: bool = False,
    ) -> WordVectors:
        """Read word2vec text or binary, or text without a header such as GloVe's, whatever the extension.

        Parameters
        ----------
        fname
            The file.
        fvocab
            A file of lines `word count`. Without it there are no counts, where gensim makes some up.
        binary
            Whether the file is binary.
        encoding
            Of the words.
        unicode_errors
            What to do with bytes that are not in that encoding. "strict" replaces those that are not UTF-8 and warns,
            where gensim stops; others are Python's.
        limit
            Read only this many rows from the start.
        datatype
            A float type to round numbers to; they are kept as float32.
        no_header
            Whether the first line is a row already.

        Returns
        -------
        WordVectors
        """
        from mumon.vectors.word2vec_options import read_word2vec

        loaded = read_word2vec(fname, fvocab, binary, encoding, unicode_errors, limit, datatype, no_header)
        return cls(loaded.words, loaded.vectors, loaded.counts)

    def _list_unsaved(self) -> list[str]:
        """Name what no file of vectors holds."""
        lost = [f"the attribute {attr!r}" for attr in self.expandos if attr != "count"]
        return lost + (["vectors_lockf"] if (self.vectors_lockf != 1).any() else [])

    def _list_words(self) -> list[str]:
        """Return the keys as files hold them."""
        keys = self.index_to_key[: self.next_index]
        return list(map(str, keys)) if self.integer_keys else keys
