"""Laws: whatever goes in comes back, in every format and encoding, or is refused in a sentence before it is written."""

from __future__ import annotations

import itertools
import logging
import os
import string
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mumon import Word2Vec
from mumon.corpus import TextOptions, corpus_from_files, corpus_from_sentences
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import CorpusError, FormatError
from mumon.formats import detect, glove, read_vectors, write_vectors
from tests.samples import NAMES, left_over

EXAMPLES = int(os.environ.get("MUMON_EXAMPLES", "100"))  # 20,000 are a night watch, 100 a round
laws = settings(max_examples=EXAMPLES, deadline=None)

# ---- formats

# What separates fields and lines somewhere, what numbers are made of, and what announces other kinds of file.
ODD = " \t\r\n\x00\x0b\x0c\x1c\x85\u00a0\u2028\u3000\ufeff\u200d_BZh" + string.digits + ".eE+-"
TELLING = [
    *("", " ", "7", "1 2", "windows 95", "x nan", "inf", "1_0", "BZh9", "BZh91AY", "PAR1", "[UNK]", "e\u0301", "שלום"),
    *("👩\u200d👧", "\ud800", "a\udfff"),
]
any_word = st.one_of(st.text(max_size=5), st.text(ODD, max_size=5), st.sampled_from(TELLING))


def floats_of(four_bytes):
    """float32 numbers with such bytes: in a binary file they may look like text."""
    return four_bytes.map(lambda data: np.frombuffer(data, "<f4")[0]).filter(np.isfinite)


any_number = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38]).map(np.float32),
    floats_of(st.binary(min_size=4, max_size=4)),
    floats_of(st.text("0123456789. eE+-\n\t\r_", min_size=4, max_size=4).map(str.encode)),
)


@st.composite
def models(draw):
    words = draw(st.lists(any_word, min_size=1, max_size=5, unique=True))
    return words, draw(hnp.arrays(np.float32, (len(words), draw(st.integers(1, 4))), elements=any_number))


def comes_back(path, words, vectors, format=None):
    loaded = read_vectors(path, format)
    assert loaded.words == words
    assert loaded.vectors.dtype == np.float32 and loaded.vectors.tobytes() == vectors.tobytes()


@pytest.mark.parametrize("format", NAMES)
@laws
@given(models())
def test_what_is_written_is_known_and_comes_back_to_the_bit_or_was_refused(format, model):
    logging.disable()  # of words with spaces, once per example
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAMES[format]
        try:
            write_vectors(path, *model)
        except FormatError as error:
            assert "\n" not in str(error) and not left_over(Path(folder))
            assert format != "mumon" or "UTF-8" in str(error)  # which holds every other word
        else:
            assert detect(path).name == format
            comes_back(path, *model)
            comes_back(path, *model, format)
        finally:
            logging.disable(logging.NOTSET)


@pytest.mark.parametrize("format", ["word2vec-text", "glove"])
def test_a_first_word_longer_than_what_is_looked_at_comes_back(tmp_path, format):
    words = ["\x01" * 200_000, "b"]
    write_vectors(tmp_path / NAMES[format], words, np.eye(2, dtype=np.float32))
    assert detect(tmp_path / NAMES[format]).name == format
    comes_back(tmp_path / NAMES[format], words, np.eye(2, dtype=np.float32))


def test_rows_too_long_to_vote_on_the_dimension_are_not_written_with_words_that_end_in_numbers(tmp_path, monkeypatch):
    words, vectors = ["windows 95", "b", "c"], np.eye(3, dtype=np.float32)
    write_vectors(tmp_path / "v.glove", words, vectors)
    comes_back(tmp_path / "v.glove", words, vectors)
    monkeypatch.setattr(glove, "BLOCK_BYTES", 16)  # a row to a block, as if it had a hundred thousand numbers
    with pytest.raises(FormatError, match="end in a number"):
        write_vectors(tmp_path / "v.glove", words, vectors)


@pytest.mark.parametrize("numbers", ["0.5 12", "1 2", "1000 2.25", "0.25 " * 300, "-0.125000 " * 1000, "1 " * 99_999])
def test_text_that_is_called_binary_is_still_read_as_text(tmp_path, numbers):
    (tmp_path / "v.bin").write_text(f"2 {len(numbers.split())}\na {numbers}\nb {numbers}\n")
    assert read_vectors(tmp_path / "v.bin").vectors[1].tolist() == [float(number) for number in numbers.split()]


# ---- encoding


def decoded(corpus, vocabulary):
    """The sentences as the trainer sees them: rows of the vocabulary, words without one passed over."""
    rows, bounds = vocabulary.lookup(corpus), corpus.offsets.tolist()
    sentences = (rows[corpus.read(begin, end)] for begin, end in itertools.pairwise(bounds))
    return [[vocabulary.words[row] for row in sentence if row >= 0] for sentence in sentences]


limits = st.fixed_dictionaries(
    {"min_count": st.integers(0, 4), "max_final_vocab": st.none() | st.integers(1, 5)},
    optional={"unk": st.sampled_from(["<unk>", "a", ""])},
)


def check_kept(corpus, sentences, limits):
    """Kept words are where they were, all others are `unk` or nowhere, and every count is the number of places."""
    try:
        vocabulary = Vocabulary.from_corpus(corpus, **limits)
    except CorpusError as error:
        counts = Counter(itertools.chain.from_iterable(sentences))
        assert "no word is left" in str(error) and max(counts.values()) < limits["min_count"]
        return
    kept, unk = vocabulary.index, limits.get("unk")
    expected = [[w if w in kept else unk for w in sentence if w in kept or unk is not None] for sentence in sentences]
    assert decoded(corpus, vocabulary) == expected
    seen = Counter(itertools.chain.from_iterable(expected))
    assert dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)) == {**dict.fromkeys(kept, 0), **seen}
    if limits["max_final_vocab"] is not None:
        assert len(vocabulary) <= limits["max_final_vocab"] + (unk is not None)


few_words = st.sampled_from(["a", "b", "ab", "é", "e\u0301", "🙂", "BZh9", "a" * 17, "a" * 17 + "b", "\u200d", "<unk>"])


@laws
@given(st.lists(st.lists(few_words | any_word.filter(bool), max_size=8), min_size=1, max_size=6), limits)
def test_frequent_words_of_files_come_back_where_they_were(sentences, limits):
    text = "\n".join(" ".join(sentence) for sentence in sentences)
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\0", "")
    words = [line.split() for line in text.removeprefix("\ufeff").split("\n")]
    words = [sentence for sentence in words if sentence]
    if not words or text.startswith("PAR1"):
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_bytes(text.encode())
        check_kept(corpus_from_files([Path(folder) / "a.txt"], reuse=False, workers=2), words, limits)


@laws
@given(st.lists(st.lists(few_words | any_word, min_size=1, max_size=8), min_size=1, max_size=6), limits)
def test_frequent_tokens_of_lists_come_back_where_they_were(sentences, limits):
    repaired = [[w.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for w in words] for words in sentences]
    check_kept(corpus_from_sentences(sentences), repaired, limits)


@pytest.mark.parametrize("options", [{}, {"lowercase": True}, {"tokenize": True}])
def test_text_that_begins_like_a_packed_file_is_text(tmp_path, options):
    (tmp_path / "a.txt").write_text("BZh9 and BZh are words")
    assert corpus_from_files([tmp_path / "a.txt"], TextOptions(**options), reuse=False).tokens == 5


# ---- vocabularies

counted = st.dictionaries(few_words | any_word, st.integers(0, 2**55), min_size=1, max_size=8)
texts = st.lists(st.lists(few_words, min_size=1, max_size=6), min_size=1, max_size=5)


def contents(vocabulary):
    return dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


@laws
@given(counted)
def test_a_vocabulary_file_gives_back_what_it_took_or_it_refused(counts):
    vocabulary = Vocabulary.from_counts(counts)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        try:
            vocabulary.save(path)
        except FormatError as error:
            assert "\n" not in str(error) and not left_over(Path(folder))
            bad = [w for w in counts if not w or "\n" in w or "\r" in w or not w.isascii()]
            assert bad
        else:
            loaded = Vocabulary.load(path)
            assert loaded.words == vocabulary.words and contents(loaded) == counts


def test_a_number_too_long_for_python_is_no_count(tmp_path):
    (tmp_path / "v.txt").write_text("a " + "9" * 5000)
    with pytest.raises(FormatError, match="line 1 is not a word and its count"):
        Vocabulary.load(tmp_path / "v.txt")


@laws
@given(counted, texts, texts)
def test_counting_adds_in_any_order_and_keeps_the_words(counts, one, other):
    vocabulary = Vocabulary.from_counts(counts)
    first, second = corpus_from_sentences(one), corpus_from_sentences(other)
    both = vocabulary.counted_on(first).counted_on(second)
    seen = Counter(itertools.chain.from_iterable([*one, *other]))
    assert contents(both) == {word: count + seen[word] for word, count in counts.items()}
    for same in (
        vocabulary.counted_on(second).counted_on(first),
        vocabulary.counted_on(corpus_from_sentences(one + other)),
    ):
        assert same.words == both.words and contents(same) == contents(both)


@laws
@given(counted, st.lists(any_word), st.lists(any_word))
def test_joining_words_is_a_union(counts, some, more):
    vocabulary = Vocabulary.from_counts(counts)
    joined = vocabulary.with_words(some).with_words(more)
    assert contents(joined) == {**dict.fromkeys([*some, *more], 0), **counts}
    assert joined.words == vocabulary.with_words([*more, *some]).words
    assert joined.with_words(joined.words).words == joined.words
    assert vocabulary.with_words([], unk="").unk == ""


@laws
@given(texts, texts, st.sampled_from(["old", "new", "union"]), st.integers(1, 2), st.sampled_from([None, "<unk>"]))
def test_merging_moves_rows_with_their_words_and_adds_counts(before, after, how, min_count, unk):
    model = Word2Vec(vector_size=3, min_count=min_count, unk=unk, workers=1, progress=False)
    seen = Counter(itertools.chain.from_iterable(after))
    if min_count > max(*seen.values(), 0) or min_count > max(Counter(itertools.chain.from_iterable(before)).values()):
        return
    model.build_vocab(before)
    random = np.random.default_rng(0)
    model.wv.vectors[:] = random.random(model.wv.vectors.shape)
    model.syn1neg[:] = random.random(model.wv.vectors.shape)
    old, old_counts = model.vocabulary, contents(model.vocabulary)
    rows = {word: (model.wv[word].copy(), model.syn1neg[row].copy()) for word, row in old.index.items()}
    fresh = Vocabulary.from_corpus(corpus_from_sentences(after), min_count=min_count, unk=unk)
    model.build_vocab(after, merge_vocab=how)

    merged = model.vocabulary
    wanted = {"old": set(old.words), "new": set(fresh.words), "union": {*old.words, *fresh.words}}[how]
    assert set(merged.words) == wanted and len(merged) == len(wanted) and merged.unk == unk
    for word, (source, target) in rows.items():
        if word in merged.index:
            assert (model.wv[word] == source).all() and (model.syn1neg[merged.index[word]] == target).all()
    for word in wanted - rows.keys():
        assert np.abs(model.wv[word]).max() <= 0.5 / 3 and not model.syn1neg[merged.index[word]].any()
    if how == "new":
        assert contents(merged) == contents(fresh)
    else:
        found = Counter({word: count for word, count in seen.items() if word in wanted})
        if unk is not None:
            found[unk] += seen.total() - found.total()
        assert contents(merged) == {word: old_counts.get(word, 0) + found[word] for word in wanted}
    model.build_vocab(before, merge_vocab="union")
    assert set(model.vocabulary.words) == wanted | set(old.words)
    again = list(model.vocabulary.words)
    model.build_vocab(before, merge_vocab="union")
    assert set(model.vocabulary.words) == set(again)
