"""Integers as words: item ids and the nodes of graphs stay what they are, as in gensim."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon.errors import FormatError, OptionError
from tests.pets import SENTENCES, small

gensim = pytest.importorskip("gensim")


# ---- integers as words

NODES = [[10, 7, 3, 7], [3, 10, 12], [12, 7, 10]] * 30


@pytest.mark.parametrize(
    "walks", [NODES, [np.array(walk) for walk in NODES], [[np.int32(node) for node in walk] for walk in NODES]]
)
def test_integers_stay_integers_as_in_gensim(walks):
    ours = small(walks)
    theirs = gensim.models.Word2Vec(NODES, min_count=1, vector_size=8)
    assert set(ours.wv.index_to_key) == set(theirs.wv.index_to_key) == {10, 7, 3, 12}
    assert all(type(key) is int for key in ours.wv.index_to_key)
    assert 7 in ours.wv and "7" not in ours.wv.key_to_index
    assert (ours.wv[7] == ours.wv.vectors[ours.wv.key_to_index[7]]).all()
    assert {key for key, _ in ours.wv.most_similar(7)} == {10, 3, 12}
    assert ours.predict_output_word([7], topn=1)[0][0] in {10, 7, 3, 12}


def test_integers_are_trained_as_their_decimals_would_be():
    texts = small([[str(node) for node in walk] for walk in NODES])
    assert (small(NODES).wv.vectors == texts.wv.vectors).all()


def test_integers_come_back_from_disk_and_train_on(tmp_path):
    model = small(NODES)
    model.save(tmp_path / "nodes.mumon")
    loaded = Word2Vec.load(tmp_path / "nodes.mumon")
    assert loaded.wv.index_to_key == model.wv.index_to_key
    loaded.train([[7, 99, 3]] * 20, merge_vocab="union")
    assert 99 in loaded.wv and (loaded.wv[99] == loaded.wv.vectors[loaded.wv.key_to_index[99]]).all()


def test_a_file_of_integers_may_follow_integers(tmp_path):
    (tmp_path / "more.txt").write_text("7 10 3\n" * 30)
    model = small(NODES)
    model.train(corpus_file=tmp_path / "more.txt", epochs=1, merge_vocab="union")
    assert model.wv.index_to_key == sorted(model.wv.index_to_key, key=lambda key: -model.wv.get_vecattr(key, "count"))
    assert 7 in model.wv.key_to_index


@pytest.mark.parametrize(("first", "then"), [(NODES, SENTENCES), (SENTENCES, NODES)])
def test_integers_and_words_do_not_mix(first, then):
    model = small(first)
    with pytest.raises(OptionError, match="convert the tokens to one kind"):
        model.train(then, merge_vocab="union")


def test_an_unknown_word_among_integers_is_refused():
    with pytest.raises(OptionError, match="the tokens are integers"):
        small(NODES, unk="<unk>")


def test_a_trim_rule_is_asked_with_the_integers():
    asked = []
    small(NODES, trim_rule=lambda key, count, least: asked.append(key) or 0)
    assert set(asked) == {10, 7, 3, 12}


def test_vectors_with_integer_keys_come_back_from_a_folder(tmp_path):
    model = small(NODES)
    model.save(tmp_path / "model.mumon")
    model.wv.save(tmp_path / "vectors.kv")
    for folder in ("model.mumon", "vectors.kv"):
        loaded = WordVectors.load(tmp_path / folder)
        assert loaded.index_to_key == model.wv.index_to_key and (loaded[7] == model.wv[7]).all()
    begun = Word2Vec.from_vectors(tmp_path / "vectors.kv", min_count=1, workers=1)
    begun.train(NODES, epochs=1)
    assert begun.wv.index_to_key == model.wv.index_to_key


@pytest.mark.parametrize("lie", [[[[]]], True, "yes"])
def test_a_folder_whose_words_are_no_integers_is_not_believed(tmp_path, lie):
    small().save(tmp_path / "lies.mumon")
    config = json.loads((tmp_path / "lies.mumon/config.json").read_text())
    config["training"]["integer_keys"] = lie
    (tmp_path / "lies.mumon/config.json").write_text(json.dumps(config))
    if lie is True:
        with pytest.raises(FormatError, match="has integers as words, but word 1 is 'a'"):
            Word2Vec.load(tmp_path / "lies.mumon")
        with pytest.raises(FormatError, match="has integers as words"):
            WordVectors.load(tmp_path / "lies.mumon")
    else:
        assert "cat" in Word2Vec.load(tmp_path / "lies.mumon").wv


@pytest.mark.parametrize("load", [Word2Vec.load, WordVectors.load])
def test_gensims_pickles_are_told_how_to_come_over(tmp_path, load):
    theirs = gensim.models.Word2Vec(SENTENCES, min_count=1, vector_size=8)
    theirs.save(str(tmp_path / "g.model"))
    theirs.wv.save(str(tmp_path / "g.kv"))
    for name in ("g.model", "g.kv"):
        with pytest.raises(FormatError, match=r"is a pickle, perhaps gensim's.*save_word2vec_format"):
            load(tmp_path / name)
