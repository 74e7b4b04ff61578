"""WordVectors: look words up and ask what is near them: the whole of gensim 4's KeyedVectors, under its names.

A row of zeros is similar to nothing: it scores 0 where gensim gives nan.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mumon.errors import OptionError
from mumon.vectors.keys import KEY_TYPES, Item, Items, Key, Keys, Ranking
from mumon.vectors.mutation import Mutation
from mumon.vectors.neighbours import Floats
from mumon.vectors.similarity import Similarity

__all__ = ["KEY_TYPES", "Floats", "Item", "Items", "Key", "Keys", "Ranking", "WordVectors"]

GENSIM_NAMES = (".kv", ".wordvectors", ".model")  # that gensim's users give to what they save: a model folder here
NO_PICKLE = "mumon writes safetensors and JSON, never a pickle"

log = logging.getLogger(__name__)


class WordVectors(Similarity, Mutation):
    """V words and their (V, D) float32 vectors, which are shared, not copied.

    >>> wv = WordVectors(["king", "queen", "apple"], np.array([[2, 1], [2, 2], [-1, 1]], np.float32))
    >>> wv.most_similar("king", topn=1)
    [('queen', 0.9486832618713379)]
    >>> wv["queen"].tolist(), "pear" in wv, len(wv)
    ([2.0, 2.0], False, 3)

    Keys may be integers instead. An integer that is no key is a row number. As in gensim, a first argument that is a
    number makes room for words to come; vectors of any other float type become float32.

    >>> wv = WordVectors(vector_size=2)
    >>> wv[[10, 7, 3]] = np.array([[2, 1], [2, 2], [-1, 1]])
    >>> wv.most_similar(7, topn=1), wv[0].tolist()
    ([(10, 0.9486832618713379)], [2.0, 1.0])
    """

    def vectors_for_all(
        self, keys: Iterable[Key], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> WordVectors:
        """The vectors of those of the keys that have one, each once, in their order, as vectors of their own.

        Without `allow_inference` row numbers are not taken for keys, and nothing is made of n-grams. `copy_vecattrs`
        takes counts and other attributes along; keys without a row have 0.
        """
        known: Any = self if allow_inference else self.key_to_index
        chosen: Any = [key for key in dict.fromkeys(keys) if key in known]
        copy = WordVectors(chosen, self[chosen])
        if copy_vecattrs:
            self.allocate_vecattrs()
            copy.allocate_vecattrs(self.expandos, [values.dtype for values in self.expandos.values()])
            there = [place for place, key in enumerate(chosen) if self.has_index_for(key)]
            rows = [self.get_index(chosen[place]) for place in there]
            for attr, values in self.expandos.items():
                copy.expandos[attr][there] = values[rows]
        return copy

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
        """How well cosines agree with people's scores in a file of lines `word word score`.

        Returns Pearson's and Spearman's correlation, each with its p-value, and the percentage of pairs with a word
        that is not among the first `restrict_vocab`; `dummy4unknown` gives those a similarity of 0.
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
        """How many analogies of a file (lines of four words, under lines `: section`) are answered right.

        Returns the accuracy and, for each section and for all, the questions that were answered right and wrong. Those
        with a word that is not among the first `restrict_vocab` are left out, or wrong with `dummy4unknown`.
        """
        from mumon.vectors.gensim_evaluation import evaluate_word_analogies

        return evaluate_word_analogies(
            self, analogies, restrict_vocab, case_insensitive, dummy4unknown, similarity_function
        )

    @staticmethod
    def log_accuracy(section: dict[str, Any]) -> None:
        """Log how many questions of a section were answered right."""
        from mumon.vectors.gensim_evaluation import log_accuracy

        log_accuracy(section)

    @staticmethod
    def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: str | os.PathLike[str]) -> None:
        """Log what `evaluate_word_pairs` returned."""
        from mumon.vectors.gensim_evaluation import log_word_pairs

        log_word_pairs(pearson, spearman, oov, pairs)

    def add_lifecycle_event(self, event_name: str, log_level: int = logging.INFO, **event: Any) -> None:
        """Log an event; gensim also keeps it in its pickle, which mumon has not."""
        log.log(log_level, "%s lifecycle event %s: %s", type(self).__name__, event_name, event)

    # ---- disk

    def save(
        self, path: str | os.PathLike[str], format: str | None = None, dtype: str = "float32", **options: Any
    ) -> None:
        """Write to disk, in the format that `format` or the extension names; see `mumon.formats.FORMATS`.

        `dtype` is how numbers are written, where the format leaves a choice: "float32" brings them back as they are.
        The extensions that gensim's documentation uses (.kv, .wordvectors, .model) stand for a mumon folder. Attributes
        other than counts and `vectors_lockf` are left out, with a warning.
        """
        from mumon.formats import write_vectors

        if options:
            raise OptionError(f"{next(iter(options))} is for pickles, and {NO_PICKLE}; leave it out")
        if not isinstance(path, (str, os.PathLike)):
            raise OptionError(f"a {type(path).__name__} was given where the name of a file is needed; {NO_PICKLE}")
        if format is None and Path(path).suffix.lower() in GENSIM_NAMES:
            format = "mumon"
        lost = self._unsaved()
        if lost:
            log.warning("%s: left out %s: files of vectors hold words, vectors and counts only", path, ", ".join(lost))
        rows = self.next_index
        counts = None if self.counts is None else self.counts[:rows]
        write_vectors(path, self._words(), self.vectors[:rows], counts, format, dtype, self.integer_keys)

    @classmethod
    def load(
        cls,
        fname: str | os.PathLike[str],
        format: str | None = None,
        limit: int | None = None,
        *,
        mmap: str | None = None,
    ) -> WordVectors:
        """Read from disk; without `format` the file itself tells what it is. gensim's `mmap` changes nothing.

        fastText's .bin becomes `FastTextVectors`, which has vectors for words that it has never seen, too.
        """
        from mumon.formats import read_vectors

        loaded = read_vectors(fname, format, limit)
        if loaded.subwords is not None:
            from mumon.vectors.fasttext_vectors import FastTextVectors

            return FastTextVectors.of(loaded)
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
        """Write word2vec text or binary, whatever the extension; words of the highest `sort_attr` first.

        `fvocab` is another file, for lines `word count`; `prefix` comes before every word; `total_vec` is the number
        that the header says, if it is to say another; `append` leaves what the file has and adds to it.
        """
        from mumon.vectors import word2vec_options

        rows, words, values = self.vectors[: self.next_index], self._words(), None
        if sort_attr in self.expandos:
            values = self._vecattrs(sort_attr)[: len(words)]
            if values.dtype.kind not in "biuf":
                raise OptionError(f"the {sort_attr!r} of the {len(self)} words are no numbers to sort by; name another")
            order = np.lexsort((np.arange(len(values)), -values.astype(np.float64)))
            if (np.diff(order) != 1).any():
                rows, words, values = rows[order], [words[row] for row in order.tolist()], values[order]
        if fvocab is not None:
            if values is None:
                raise OptionError(f"there is no {sort_attr!r} of the {len(self)} words for {fvocab}; leave out fvocab")
            word2vec_options.write_vocabulary(fvocab, words, values.tolist(), prefix, append)
        word2vec_options.write(fname, words, rows, binary, total_vec, write_header, prefix, append)

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
        """Read word2vec text or binary, or text without a header (GloVe's), whatever the extension.

        `fvocab` is a file of lines `word count`; without it there are no counts, where gensim makes some up. Bytes that
        are not UTF-8 are replaced and warned of, where gensim stops. Numbers rounded to `datatype` are kept as float32.
        """
        from mumon.vectors import word2vec_options

        loaded = word2vec_options.read(fname, fvocab, binary, encoding, unicode_errors, limit, datatype, no_header)
        return cls(loaded.words, loaded.vectors, loaded.counts)

    def _unsaved(self) -> list[str]:
        """What no file holds, by name."""
        lost = [f"the attribute {attr!r}" for attr in self.expandos if attr != "count"]
        return lost + (["vectors_lockf"] if (self.vectors_lockf != 1).any() else [])

    def _words(self) -> list[str]:
        """The keys as files hold them."""
        keys = self.index_to_key[: self.next_index]
        return list(map(str, keys)) if self.integer_keys else keys
