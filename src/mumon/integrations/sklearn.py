"""Word vectors for scikit-learn: documents in, one row of numbers per document out; for pipelines and searches."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mumon.errors import CorpusError, OptionError

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise OptionError("mumon.sklearn needs scikit-learn; install it with pip install 'mumon[sklearn]'") from None

if TYPE_CHECKING:
    from mumon.vectors.word_vectors import WordVectors
    from mumon.word2vec import Word2Vec

TRAINING_OPTIONS = (
    "vector_size",
    "window",
    "min_count",
    "epochs",
    "sg",
    "alpha",
    "sample",
    "negative",
    "update",
    "workers",
)
NGRAM_OPTIONS = ("min_n", "max_n")


class Word2VecVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn documents into the mean, or the SIF-weighted mean, of the vectors of their words.

    A document is a string or a list of words, which are used as they are. Words without a vector are skipped; a
    document with only such words becomes a row of zeros. With n-grams (`FastText`), any word has a vector.

    Parameters
    ----------
    vector_size, window, min_count, epochs, sg, alpha, sample, negative, update, workers
        As in `mumon.Word2Vec`, which `fit` trains on the documents. With `workers=1`, results are repeatable to the
        bit.
    min_n, max_n
        Train n-grams of min_n to max_n characters, too, as `mumon.FastText` does; None for words alone.
    random_state
        The seed: a whole number, a `RandomState`, or None for a new seed at every fit.
    pooling
        "mean", or "sif": smooth inverse frequency (Arora, Liang and Ma, 2017).
    sif_a
        With "sif", a word has the weight a / (a + p), where p is its share of the training text.
    remove_component
        With "sif", whether to remove the first singular vector of the documents of `fit`, which they have in common.
    tokenizer, lowercase, token_pattern
        How a string is split into words, as in `CountVectorizer`.
    norm
        "l2" scales every row to length 1.
    vectors
        Vectors to use instead of training: `WordVectors`, a `Word2Vec`, or the path of either. Searches copy the
        estimator and with it the vectors; a path is copied only as a path.
    progress
        Whether to show a progress bar while training.

    Attributes
    ----------
    wv_
        The word vectors.
    model_
        The trained `Word2Vec` or `FastText`; missing if `vectors` were given.
    weights_
        With "sif" the weight of each word, otherwise None.
    component_
        The direction that was removed, or None.
    n_features_out_
        The number of columns.

    Examples
    --------
    >>> documents = ["the cat sat on the mat", "stocks fell and bonds rose"] * 20
    >>> vectorizer = Word2VecVectorizer(vector_size=8, min_count=1, workers=1, random_state=0)
    >>> vectorizer.fit_transform(documents).shape
    (40, 8)
    >>> bool(vectorizer.transform(["no word of it known"]).any())
    False
    """

    def __init__(
        self,
        *,
        vector_size: int = 100,
        window: int | None = None,
        min_count: int = 5,
        epochs: int = 5,
        sg: int = 0,
        alpha: float | None = None,
        sample: float = 1e-3,
        negative: int = 5,
        update: Literal["correct", "faulty"] = "correct",
        workers: int | None = None,
        min_n: int | None = None,
        max_n: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        pooling: Literal["mean", "sif"] = "mean",
        sif_a: float = 1e-3,
        remove_component: bool = True,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        lowercase: bool = True,
        token_pattern: str = r"(?u)\b\w\w+\b",
        norm: Literal["l2"] | None = None,
        vectors: WordVectors | Word2Vec | str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        self.vector_size = vector_size
        self.window = window
        self.min_count = min_count
        self.epochs = epochs
        self.sg = sg
        self.alpha = alpha
        self.sample = sample
        self.negative = negative
        self.update = update
        self.workers = workers
        self.min_n = min_n
        self.max_n = max_n
        self.random_state = random_state
        self.pooling = pooling
        self.sif_a = sif_a
        self.remove_component = remove_component
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.norm = norm
        self.vectors = vectors
        self.progress = progress

    def fit(self, X: Iterable[Any], y: Any = None) -> Word2VecVectorizer:
        """Train vectors on documents, unless `vectors` were given, and prepare the pooling.

        Parameters
        ----------
        X
            Documents: strings or lists of words; a table with one column is read as that column.
        y
            Ignored; scikit-learn passes it.

        Returns
        -------
        Word2VecVectorizer
            The estimator itself.

        Raises
        ------
        CorpusError
            If `X` is not a list of documents.
        OptionError
            If a parameter has a value that it cannot have.
        """
        self._fit(self._read_documents(X))
        return self

    def fit_transform(self, X: Iterable[Any], y: Any = None) -> npt.NDArray[np.float32]:
        """Fit, then transform the same documents, which are read only once.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        array (documents, n_features_out_)
            One row per document.
        """
        documents = self._read_documents(X)
        self._fit(documents)
        return self._transform(documents)

    def transform(self, X: Iterable[Any]) -> npt.NDArray[np.float32]:
        """Turn documents into rows.

        Parameters
        ----------
        X
            Documents, as in `fit`.

        Returns
        -------
        array (documents, n_features_out_)
            One row per document.
        """
        check_is_fitted(self, "wv_")
        return self._transform(self._read_documents(X))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Name the columns: word2vec0, word2vec1 and so on.

        Parameters
        ----------
        input_features
            Ignored; scikit-learn passes it.

        Returns
        -------
        array of str
            One name per column.
        """
        check_is_fitted(self, "wv_")
        return np.array([f"word2vec{column}" for column in range(self.n_features_out_)], object)

    def _fit(self, documents: list[list[str]]) -> None:
        from mumon.utils.validation import check_float
        from mumon.vectors.pooling import compute_sif_weights, count_words, find_common_direction, find_rows

        self._check_choices()
        wv = self._find_vectors(documents)
        self.wv_, self.n_features_out_ = wv, wv.vector_size
        self.weights_ = self.component_ = None
        if self.pooling == "sif":
            a = check_float("sif_a", self.sif_a, above=0)
            rows, _ = find_rows(documents, wv.key_to_index)
            counted = wv.counts is not None and bool(wv.counts.any())
            self.weights_ = compute_sif_weights(wv.counts if counted else count_words(rows, len(wv)), a)  # type: ignore[arg-type]
            if self.remove_component:
                self.component_ = find_common_direction(self._pool(documents))

    def _find_vectors(self, documents: list[list[str]]) -> WordVectors:
        from mumon.fasttext import make_model
        from mumon.vectors.word_vectors import WordVectors
        from mumon.word2vec import Word2Vec

        if self.vectors is None:
            options = {name: getattr(self, name) for name in TRAINING_OPTIONS}
            options |= {name: value for name in NGRAM_OPTIONS if (value := getattr(self, name)) is not None}
            self.model_ = make_model(documents, seed=self._draw_seed(), progress=self.progress, **options)
            return self.model_.wv
        self.__dict__.pop("model_", None)  # from an earlier fit
        if isinstance(self.vectors, WordVectors):
            return self.vectors
        if isinstance(self.vectors, Word2Vec):
            return self.vectors.wv
        if isinstance(self.vectors, str | os.PathLike):
            return WordVectors.load(self.vectors)
        kind = type(self.vectors).__name__
        raise OptionError(f"vectors is a {kind}; it must be WordVectors, a Word2Vec, a path or None")

    def _draw_seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _pool(self, documents: list[list[str]]) -> npt.NDArray[np.float32]:
        from mumon.vectors.pooling import compose_unknown, find_rows, pool_rows

        index, vectors, weights = self.wv_.key_to_index, self.wv_.vectors, self.weights_
        subwords = getattr(self.wv_, "subwords", None)
        if subwords is None:
            return pool_rows(*find_rows(documents, index), vectors, weights)
        numbers, composed = compose_unknown(documents, index, subwords)
        places = ChainMap({word: len(vectors) + number for word, number in numbers.items()}, index)
        rows, edges = find_rows(documents, places)
        used, rows = np.unique(rows, return_inverse=True)  # a copy of these alone
        known = int(np.searchsorted(used, len(vectors)))
        vectors = np.concatenate([vectors[used[:known]], composed[used[known:] - len(vectors)]])
        if weights is not None:  # a word that is not in the text has the share 0
            weights = np.concatenate([weights[used[:known]], np.ones(len(used) - known, np.float32)])
        return pool_rows(rows, edges, vectors, weights)

    def _transform(self, documents: list[list[str]]) -> npt.NDArray[np.float32]:
        from mumon.vectors.pooling import remove_direction, scale_rows_to_unit

        self._check_choices()
        result = self._pool(documents)
        if self.component_ is not None:
            result = remove_direction(result, self.component_)
        return scale_rows_to_unit(result) if self.norm == "l2" else result

    def _check_choices(self) -> None:
        if self.pooling not in ("mean", "sif"):
            raise OptionError(f"pooling is {self.pooling!r}; it must be mean or sif")
        if self.norm not in (None, "l2"):
            raise OptionError(f"norm is {self.norm!r}; it must be None or l2")

    def _read_documents(self, X: Any) -> list[list[str]]:
        split = compile_splitter(self.token_pattern) if self.tokenizer is None else self.tokenizer
        return split_documents(read_column(X), (lambda text: split(text.lower())) if self.lowercase else split)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "wv_")

    def __sklearn_tags__(self) -> Any:
        from mumon.utils.threads import available_cores

        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        threads = available_cores() if self.workers is None else self.workers
        tags.non_deterministic = self.vectors is None and threads != 1
        tags.transformer_tags.preserves_dtype = []
        return tags


def compile_splitter(pattern: Any) -> Callable[[str], list[str]]:
    """Compile a regular expression into a function that finds the words of a text.

    The expression may have one group, which then is the word.

    >>> compile_splitter(r"\\b\\w\\w+\\b")("I saw a cat")
    ['saw', 'cat']
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise OptionError(f"token_pattern is not a regular expression ({error}); correct it") from None
    if compiled.groups > 1:
        raise OptionError(f"token_pattern has {compiled.groups} groups; it must have at most 1")
    return compiled.findall


def split_documents(documents: Iterable[Any], split: Callable[[str], Iterable[str]]) -> list[list[str]]:
    """Split documents into words: strings by `split`; lists of words stay as they are."""
    lists: list[list[str]] = []
    for number, document in enumerate(documents):
        if isinstance(document, bytes):
            document = document.decode("utf-8", "replace")
        is_text = isinstance(document, str)
        if not is_text and not (isinstance(document, Iterable) and not isinstance(document, Mapping)):
            kind = type(document).__name__
            raise CorpusError(f"document {number} is a {kind}, not text or a list of words; fill it in or drop it")
        tokens = list(split(document) if is_text else document)
        for token in tokens:
            if not isinstance(token, str):
                raise CorpusError(
                    f"document {number} holds {token!r}, a {type(token).__name__} and not a word; convert it with str()"
                )
        lists.append(tokens)
    return lists


def read_column(X: Any) -> Iterable[Any]:
    """Return the documents one by one; a table with one column is read as that column."""
    if isinstance(X, str | bytes):
        raise CorpusError("a single string was given instead of a list of documents; put it into a list")
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        if len(shape) != 2 or shape[1] != 1 or hasattr(X, "tocsr"):
            raise CorpusError(f"a table of shape {shape} is not a list of documents; give one column of text")
        return np.asarray(X, object)[:, 0]
    if not isinstance(X, Iterable):
        raise CorpusError(
            f"a {type(X).__name__} is not a list of documents; give an iterable of strings or token lists"
        )
    return X
