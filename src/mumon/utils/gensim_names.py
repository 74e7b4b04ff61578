"""Names of gensim that `Word2Vec` does not have: what to write instead, or why there is no such thing.

`docs/compatibility.md` lists all names; a test compares it with gensim itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from mumon.errors import OptionError

# Options of gensim 3 and what gensim 4 and mumon call them.
RENAMED_OPTIONS = {
    "size": "vector_size",
    "iter": "epochs",
    "sentences": "corpus_iterable",
    "input_streams": "corpus_iterable",
    "docvecs": "wv",
}
# Attributes of gensim 3, most of which gensim 4 has dropped as well.
RENAMED_ATTRIBUTES = {
    "iter": "epochs",
    "size": "vector_size",
    "syn0": "wv.vectors",
    "syn0norm": "wv.get_normed_vectors()",
    "syn0_lockf": "wv.vectors_lockf",
    "vocab": "wv.key_to_index",
    "index2word": "wv.index_to_key",
    "trainables": "syn1neg, wv.vectors_lockf and the like",
    "running_loss": "running_training_loss",
}
_INTERNAL = "a step inside gensim's build_vocab; call build_vocab, which does all of them"
_HIERARCHICAL = "hierarchical softmax is not offered; mumon trains with negative sampling only"
# What gensim 4 has and mumon does not, and why.
REFUSED = {
    "score": f"it needs hierarchical softmax, and {_HIERARCHICAL}",
    "create_binary_tree": _HIERARCHICAL,
    "syn1": _HIERARCHICAL,
    "scan_vocab": _INTERNAL,
    "prepare_vocab": _INTERNAL,
    "prepare_weights": _INTERNAL,
    "update_weights": _INTERNAL,
    "make_cum_table": "noise words come from an alias table, built when training begins",
    "cum_table": "noise words come from an alias table, built when training begins",
    "add_null_word": "only gensim's Doc2Vec needs a null word",
    "seeded_vector": "initial rows are a function of seed and row; init_weights() makes new ones",
    "init_sims": "lengths are computed when they are needed; wv.unit_normalize_all() changes the vectors",
    "random": "random numbers are a function of seed, epoch and block, so there is no generator to share",
    "raw_vocab": "the encoded corpus keeps the counts of all words; see mumon.corpus_from_files",
    "lifecycle_events": "model.history shows what each epoch did, and the saved config with which options",
    "add_lifecycle_event": "model.history shows what each epoch did, and the saved config with which options",
}
# What gensim 3 asked of the model and gensim 4 asks of its vectors.
_MOVED = ("most_similar", "similarity", "doesnt_match", "n_similarity", "wmdistance", "similar_by_word", "accuracy")


def refuse_options(where: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse keywords that a function does not take.

    Parameters
    ----------
    where
        The function, as Python names it in a TypeError.
    options
        The keywords that were passed and are not known.
    known
        The keywords that the function takes, to suggest the closest.

    Raises
    ------
    OptionError
        For a name of gensim 3, with the new one.
    TypeError
        For any other name, as Python would.
    """
    for name in options:
        if name in RENAMED_OPTIONS:
            raise OptionError(f"{name}= is gensim 3's; gensim 4 and mumon call it {RENAMED_OPTIONS[name]}=")
        near = difflib.get_close_matches(name, list(known), 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"{where} got an unexpected keyword argument {name!r}{hint}")


def raise_missing_attribute(name: str) -> NoReturn:
    """Raise an AttributeError that says why a model has no such attribute."""
    if name in RENAMED_ATTRIBUTES:
        raise AttributeError(f"model.{name} is gensim 3's; it is now model.{RENAMED_ATTRIBUTES[name]}")
    if name in _MOVED:
        raise AttributeError(f"model.{name} is gensim 3's; ask the vectors: model.wv.{name}")
    if name in REFUSED:
        raise AttributeError(f"model.{name} is not offered: {REFUSED[name]}")
    raise AttributeError(f"'Word2Vec' object has no attribute {name!r}")
