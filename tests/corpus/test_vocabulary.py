"""The vocabulary: what is kept, in which order, and how two are joined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mumon.corpus import corpus_from_sentences
from mumon.corpus.vocabulary import RULE_DEFAULT, RULE_DISCARD, RULE_KEEP, Vocabulary
from mumon.errors import CorpusError, FormatError

SENTENCES = [["b"] * 4 + ["a"] * 4 + ["é"] * 4 + ["z"] * 9 + ["rare"]]


@pytest.fixture
def corpus():
    return corpus_from_sentences(SENTENCES)


def contents(vocabulary):
    return dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


def test_words_go_by_count_then_bytes(corpus):
    vocabulary = Vocabulary.from_corpus(corpus, min_count=1)
    assert vocabulary.words == ["z", "a", "b", "é", "rare"]
    assert vocabulary.counts.tolist() == [9, 4, 4, 4, 1]
    assert vocabulary.counts.dtype == np.int64


def test_min_count_and_max_final_vocab_prune_the_tail(corpus):
    assert Vocabulary.from_corpus(corpus, min_count=4).words == ["z", "a", "b", "é"]
    assert Vocabulary.from_corpus(corpus, min_count=5).words == ["z"]
    assert Vocabulary.from_corpus(corpus, min_count=1, max_final_vocab=3).words == ["z", "a", "b"]


def test_a_trim_rule_keeps_and_drops_against_min_count(corpus):
    rules = {"rare": RULE_KEEP, "z": RULE_DISCARD}
    kept = Vocabulary.from_corpus(
        corpus, min_count=4, trim_rule=lambda word, count, least: rules.get(word, RULE_DEFAULT)
    )
    assert kept.words == ["a", "b", "é", "rare"]


def test_unk_counts_what_is_dropped_and_receives_its_tokens(corpus):
    vocabulary = Vocabulary.from_corpus(corpus, min_count=5, unk="<unk>")
    assert contents(vocabulary) == {"<unk>": 13, "z": 9}
    rows = vocabulary.lookup(corpus)[corpus.ids]
    assert [vocabulary.words[row] for row in rows] == ["<unk>"] * 12 + ["z"] * 9 + ["<unk>"]


def test_lookup_passes_over_words_outside_the_vocabulary(corpus):
    vocabulary = Vocabulary.from_counts({"a": 1, "never seen": 3})
    rows = vocabulary.lookup(corpus)
    assert dict(zip(corpus.words.to_pylist(), rows.tolist(), strict=True))[b"a"] == 1
    assert (rows >= 0).sum() == 1


def test_min_count_above_every_count_is_one_sentence_with_the_number_that_matters(corpus):
    with pytest.raises(CorpusError, match=r"'z', occurs 9 times and min_count is 10; lower it") as caught:
        Vocabulary.from_corpus(corpus, min_count=10)
    assert "\n" not in str(caught.value)


words = st.text(st.characters(exclude_categories=["Cs", "Zl", "Zp", "Cc"]), min_size=1)
vocabularies = st.dictionaries(words, st.integers(0, 2**40), min_size=1).map(Vocabulary.from_counts)


@given(vocabularies)
def test_saving_and_loading_gives_the_same_vocabulary(tmp_path_factory, vocabulary):
    path = tmp_path_factory.mktemp("vocab") / "words.txt"
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    assert loaded.words == vocabulary.words
    np.testing.assert_array_equal(loaded.counts, vocabulary.counts)


@given(vocabularies, st.lists(words))
def test_added_words_are_there_uncounted_and_the_others_as_before(vocabulary, more):
    added = vocabulary.with_words(more, unk="<unk>")
    assert contents(added) == {**dict.fromkeys([*more, "<unk>"], 0), **contents(vocabulary)}
    assert added.words == Vocabulary.from_counts(contents(added)).words and added.unk == "<unk>"


def test_counting_on_a_corpus_keeps_the_words_and_adds_occurrences(corpus):
    counted = Vocabulary.from_counts({"a": 10, "rare": 0, "unseen": 2}).counted_on(corpus)
    assert contents(counted) == {"a": 14, "unseen": 2, "rare": 1}
    with_unk = Vocabulary.from_counts({"a": 10, "<unk>": 0}, unk="<unk>").counted_on(corpus)
    assert contents(with_unk) == {"<unk>": 18, "a": 14}
    only_unk = Vocabulary.from_counts({"a": 10, "<unk>": 0}, unk="<unk>").counted_on(corpus, only="<unk>")
    assert contents(only_unk) == {"<unk>": 18, "a": 10}


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "0 words"),
        ("word\n", "line 1 is not"),
        ("a 1\nb x\n", "line 2 is not"),
        ("a 1\na 2\n", "repeats the word 'a'"),
        ("a 9223372036854775808\n", "line 1 is not"),
    ],
)
def test_a_bad_vocabulary_file_is_refused_naming_the_line(tmp_path, text, message):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(FormatError, match=message):
        Vocabulary.load(tmp_path / "v.txt")


@pytest.mark.parametrize("unk", [None, "z"])
@pytest.mark.parametrize("words", ["z a b", "z a b é rare", "a z", "z new", "b z rare"])
def test_rows_are_found_whether_or_not_the_words_are_the_frequent_ones_of_the_text(corpus, words, unk):
    words = words.split()
    vocabulary = Vocabulary(words, np.ones(len(words), np.int64), unk)
    other = -1 if unk is None else words.index(unk)
    rows = vocabulary.lookup(corpus)
    assert rows.tolist() == [vocabulary.index.get(word.decode(), other) for word in corpus.words.to_pylist()]
    assert rows.dtype == np.int32 and not rows.flags.writeable
