"""Subclasses and copies of Word2Vec, as programs written for gensim have them."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.errors import FormatError, OptionError

SENTENCES = [["the", "cat", "sat"], ["the", "dog", "sat"]] * 50
SMALL = {"vector_size": 8, "min_count": 1, "workers": 1, "epochs": 2, "progress": False}


def test_a_subclass_has_its_own_build_vocab_called():
    class Counting(Word2Vec):
        calls = 0

        def build_vocab(self, *arguments, **options):
            self.calls += 1
            super().build_vocab(*arguments, **options)

    model = Counting(SENTENCES, **SMALL)
    assert model.calls == 1 and len(model.wv) == 4
    np.testing.assert_array_equal(model.wv.vectors, Word2Vec(SENTENCES, **SMALL).wv.vectors)


def test_a_subclass_with_another_default_loads_what_it_saved(tmp_path):
    class SkipGram(Word2Vec):
        def __init__(self, sentences=None, sg=1, **options):
            super().__init__(sentences, sg=sg, **options)

    for sg in (0, 1):
        SkipGram(SENTENCES, sg=sg, **SMALL).save(tmp_path / "m.mumon")
        assert SkipGram.load(tmp_path / "m.mumon").sg == sg


@pytest.mark.parametrize("objective", [None, 7, "missing"])
def test_a_saved_model_without_objective_is_not_taken_for_cbow(tmp_path, objective):
    Word2Vec(SENTENCES, sg=1, **SMALL).save(tmp_path / "m.mumon")
    path = tmp_path / "m.mumon" / "config.json"
    config = json.loads(path.read_text())
    if objective == "missing":
        del config["training"]["objective"]
    else:
        config["training"]["objective"] = objective
    path.write_text(json.dumps(config))
    with pytest.raises(FormatError, match="does not say how it was trained"):
        Word2Vec.load(tmp_path / "m.mumon")


def test_a_copy_has_a_history_of_its_own():
    model = Word2Vec(SENTENCES, **SMALL)
    other = copy.copy(model)
    other.history.clear()
    other.wv.vectors[:] = 0
    assert len(model.history) == 2 and model.wv.vectors.any()


def test_size_and_place_of_the_matrices_may_be_set_before_there_are_any():
    model = Word2Vec(**SMALL)
    model.vector_size, model.matrices = 12, "disk"
    model.build_vocab(SENTENCES)
    assert model.wv.vectors.shape == (4, 12) and model.matrices == "disk"
    with pytest.raises(OptionError, match="vectors of 12 numbers already"):
        model.vector_size = 5
