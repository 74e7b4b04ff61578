"""fastText's .bin: the vectors of its words and of words it never saw are those that fastText's own code gives."""

from __future__ import annotations

import gzip
import struct
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon import FastText, WordVectors
from mumon.corpus.subwords import Subwords
from mumon.errors import MissingWordError
from mumon.formats import check_target, detect, read_vectors
from mumon.vectors.fasttext_vectors import FastTextVectors
from tests.samples import refused

WORDS = ["king", "queen", "naïve", "größe", "日本語", "ab", "🙂"]
UNSEEN = ["kings", "großen", "日本", "unheard-of", "🙂🙂", "x", "xy"]


def naive_rows(word, minn, maxn, bucket):
    """The rows of a word's n-grams, as fastText's loops find them, a byte after the other."""
    text, rows = b"<" + word + b">", []
    for start in range(len(text)):
        if text[start] & 0xC0 == 0x80:
            continue
        end = start
        for size in range(1, maxn + 1):
            if end >= len(text):
                break
            end += 1
            while end < len(text) and text[end] & 0xC0 == 0x80:
                end += 1
            if size >= minn and not (size == 1 and (start == 0 or end == len(text))):
                number = 2166136261
                for byte in text[start:end]:
                    signed = byte | 0xFFFFFF00 if byte >= 128 else byte
                    number = (number ^ signed) * 16777619 % 2**32
                rows.append(number % bucket)
    return rows


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.text(max_size=6).map(str.encode), st.binary(max_size=8)), min_size=1, max_size=5),
    st.integers(0, 4), st.integers(0, 6), st.integers(1, 50),
)  # fmt: skip
def test_ngrams_are_those_of_the_loops(words, minn, maxn, bucket):
    ids, owners = Subwords(np.zeros((bucket, 1), np.float32), minn, maxn).find_ngrams(words)
    for number, word in enumerate(words):
        expected = [] if word == b"</s>" else naive_rows(word, minn, maxn, bucket)
        assert sorted(ids[owners == number].tolist()) == sorted(expected)
    assert owners.tolist() == sorted(owners.tolist())


@pytest.mark.parametrize("batch", [1, 20, 1 << 16])
def test_batches_of_any_size_give_the_same_means(monkeypatch, batch):
    from mumon.corpus import subwords

    rows = np.random.default_rng(0).random((97, 4), np.float32)
    words = [word.encode() for word in WORDS]
    expected = [rows[naive_rows(word, 2, 4, 97)].mean(axis=0) for word in words]
    monkeypatch.setattr(subwords, "BATCH_BYTES", batch)
    monkeypatch.setattr(subwords, "BATCH_NUMBERS", batch)
    means, counts = Subwords(rows, 2, 4).average_rows(words)
    np.testing.assert_allclose(means, expected, rtol=1e-5)
    assert counts.tolist() == [len(naive_rows(word, 2, 4, 97)) for word in words]


# ---- gensim writes and reads the same files


@pytest.fixture(scope="module")
def gensims(tmp_path_factory):
    """A model that gensim trained and wrote as fastText would, and gensim's own reading of it."""
    fasttext = pytest.importorskip("gensim.models.fasttext")
    path = tmp_path_factory.mktemp("fasttext") / "cc.xx.8.bin"
    sentences = [WORDS, WORDS[::-1], ["king", "queen", "king"]] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fasttext.FastText(sentences, vector_size=8, min_count=1, bucket=500, min_n=2, max_n=5, epochs=2)
    fasttext.save_facebook_model(model, str(path))
    return path, fasttext.load_facebook_vectors(str(path))


def test_words_and_unseen_words_have_gensims_vectors(gensims):
    path, theirs = gensims
    assert detect(path).name == "fasttext-bin"
    ours = WordVectors.load(path)
    assert ours.index_to_key == theirs.index_to_key
    assert [ours.get_vecattr(word, "count") for word in ours] == [theirs.get_vecattr(w, "count") for w in ours]
    for word in [*WORDS, *UNSEEN]:
        np.testing.assert_allclose(ours[word], theirs[word], atol=1e-6)
    np.testing.assert_allclose(ours[["kings", "king"]], theirs[["kings", "king"]], atol=1e-6)


def test_questions_about_unseen_words_have_gensims_answers(gensims):
    path, theirs = gensims
    ours = FastTextVectors.load(path)
    for question in ({"positive": "kings"}, {"positive": ["kings", "queen"], "negative": ["großen"]}):
        found, expected = ours.most_similar(**question, topn=3), theirs.most_similar(**question, topn=3)
        assert [word for word, _ in found] == [word for word, _ in expected]
        np.testing.assert_allclose([s for _, s in found], [s for _, s in expected], atol=1e-5)
    assert ours.similarity("kings", "日本") == pytest.approx(theirs.similarity("kings", "日本"), abs=1e-5)
    assert ours.similar_by_word("kings", topn=2) == ours.most_similar(["kings"], topn=2)
    assert ours.most_similar_cosmul(["kings"], ["queen"], topn=1)[0][0] in WORDS
    np.testing.assert_allclose(
        ours.get_mean_vector(["kings", "queen"], pre_normalize=False), (ours["kings"] + ours["queen"]) / 2, atol=1e-6
    )


def test_what_is_asked_of_many_words_includes_unseen_ones_as_in_gensim(gensims):
    path, theirs = gensims
    ours = FastTextVectors.load(path)
    words = ["kings", "king", "queen", "großen"]
    found, expected = ours.rank_by_centrality(words), theirs.rank_by_centrality(words)
    assert [word for _, word in found] == [word for _, word in expected]
    np.testing.assert_allclose([s for s, _ in found], [s for s, _ in expected], atol=1e-5)
    assert ours.doesnt_match(words) == theirs.doesnt_match(words)
    for norm in (True, False):
        documents = ["kings", "日本", "kings"], ["king", "queen", "großen"]
        assert ours.wmdistance(*documents, norm) == pytest.approx(theirs.wmdistance(*documents, norm), abs=1e-5)
    np.testing.assert_allclose(ours.get_mean_vector(words), theirs.get_mean_vector(words), atol=1e-6)
    assert ours.n_similarity(words[:1], words[3:]) == pytest.approx(theirs.n_similarity(words[:1], words[3:]), abs=1e-5)


@pytest.mark.parametrize("inference", [True, False])
def test_vectors_of_chosen_words_include_unseen_ones_as_in_gensim(gensims, inference):
    path, theirs = gensims
    ours = FastTextVectors.load(path)
    words = ["kings", "king", "großen", "king"]
    mine, others = (wv.vectors_for_all(words, inference, copy_vecattrs=True) for wv in (ours, theirs))
    assert mine.index_to_key == others.index_to_key == (["kings", "king", "großen"] if inference else ["king"])
    np.testing.assert_allclose(mine.vectors, others.vectors, atol=1e-6)
    assert mine.get_vecattr("king", "count") == others.get_vecattr("king", "count")
    assert not inference or mine.get_vecattr("kings", "count") == 0  # where gensim makes one up


def test_a_word_without_a_row_is_in_the_vectors_and_has_no_index(gensims):
    path, theirs = gensims
    ours = FastTextVectors.load(path)
    assert "kings" in ours and "kings" in theirs and "king" in ours
    assert ours.has_index_for("king") and not ours.has_index_for("kings") and not theirs.has_index_for("kings")
    assert 10**6 not in ours and 2 in ours
    with pytest.raises(MissingWordError, match="did you mean 'king'"):
        ours.get_index("kings")
    with pytest.raises(ValueError, match="read-only"):
        ours["kings"][0] = 1


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=5), st.just("</s>")), st.integers(0, 7), st.integers(0, 7), st.integers(0, 2))
def test_any_word_is_in_vectors_with_ngrams_and_is_zero_without_any_of_its_own(word, minn, maxn, bucket):
    subwords = Subwords(np.ones((bucket, 2), np.float32), minn, maxn)
    wv = FastTextVectors(["a row"], np.ones((1, 2)), subwords=subwords)
    assert (word in wv) is (bucket > 0 and max(minn, 1) <= maxn)
    if word in wv:
        own = subwords.compute_vector(word)
        assert wv[word].tolist() == ([0, 0] if own is None else [1, 1])
        assert subwords.has_ngrams(word) is (own is not None)


def test_a_packed_model_and_the_first_rows_of_one_are_the_same(gensims, tmp_path, monkeypatch):
    from mumon.formats import fasttext

    monkeypatch.setattr(fasttext, "CHUNK_BYTES", 100)  # so that words and rows are cut
    monkeypatch.setattr(fasttext, "ROWS_AT_ONCE", 2)
    (tmp_path / "model.gz").write_bytes(gzip.compress(gensims[0].read_bytes()))
    whole = FastTextVectors.load(gensims[0])
    for part in (FastTextVectors.load(tmp_path / "model.gz"), FastTextVectors.load(gensims[0], limit=3)):
        np.testing.assert_array_equal(part.vectors, whole.vectors[: len(part)])
        np.testing.assert_array_equal(part["kings"], whole["kings"])
    assert len(part) == 3


def test_a_model_converts_to_any_format_with_its_words_vectors(gensims, tmp_path, run):
    assert run("convert", gensims[0], "v.vec")[0] == 0
    np.testing.assert_array_equal(read_vectors("v.vec").vectors, read_vectors(gensims[0]).vectors)


def test_an_old_model_may_be_replaced_as_other_vectors_may(gensims):
    check_target(gensims[0])


# ---- files made by hand


def model(words=(b"a", b"</s>"), labels=(), dim=2, bucket=3, minn=1, maxn=2, kind=2, version=12, **changes):
    """A fastText model; row i of its matrix is (i, i + 0.5)."""
    magic, pruned = changes.get("magic", 793712314), changes.get("pruned", -1)
    nwords, rows = changes.get("nwords", len(words)), changes.get("rows", len(words) + bucket)
    head = struct.pack("<ii12id", magic, version, dim, 5, 5, 1, 5, 1, 1, kind, bucket, minn, maxn, 100, 1e-4)
    head += struct.pack("<3i2q", changes.get("size", nwords + len(labels)), nwords, len(labels), 9, pruned)
    for number, word in enumerate([*words, *labels]):
        head += word + b"\0" + struct.pack("<qb", changes.get("count", 7), number >= len(words))
    head += struct.pack("<?2q", changes.get("quantised", False), rows, changes.get("columns", dim))
    numbers = np.arange(len(words) + bucket, dtype="<f4")[:, None] + np.array([0, 0.5], "<f4")
    return head + changes.get("numbers", numbers.tobytes()) + struct.pack("<?2q", False, 0, dim)


def test_the_end_of_a_sentence_has_no_ngrams(tmp_path):
    (tmp_path / "m.bin").write_bytes(model())
    wv = FastTextVectors.load(tmp_path / "m.bin")
    assert wv.index_to_key == ["a", "</s>"] and wv["</s>"].tolist() == [1, 1.5]
    rows = [0, *(2 + row for row in naive_rows(b"a", 1, 2, 3))]
    np.testing.assert_allclose(wv["a"], [np.mean(rows), np.mean(rows) + 0.5], rtol=1e-6)


def test_the_words_of_a_classifier_are_read_without_its_labels(tmp_path):
    (tmp_path / "m.bin").write_bytes(model(labels=[b"__label__x"], kind=3))
    assert read_vectors(tmp_path / "m.bin").words == ["a", "</s>"]


def test_the_first_files_which_had_no_version_are_read_and_trained_further(tmp_path):
    new = model(kind=1).replace(struct.pack("<iii", 1, 1, 1), struct.pack("<iii", 1, 2, 1))  # negative sampling
    sizes = new.index(struct.pack("<3i2q", 2, 2, 0, 9, -1)) + struct.calcsize("<3iq")
    numbers = new.index(struct.pack("<?2q", False, 5, 2))
    old = new[8:sizes] + new[sizes + 8 : numbers] + new[numbers + 1 : -17] + struct.pack("<2q", 2, 2) + bytes(16)
    (tmp_path / "new.bin").write_bytes(new)
    (tmp_path / "old.bin").write_bytes(old)
    both = [FastTextVectors.load(tmp_path / name, "fasttext-bin") for name in ("new.bin", "old.bin")]
    assert both[0].vectors.tobytes() == both[1].vectors.tobytes() and (both[0]["kings"] == both[1]["kings"]).all()
    trained = FastText.from_facebook(tmp_path / "old.bin", progress=False, workers=1, sample=0)
    trained.train([["a", "</s>"]] * 50, total_examples=50, epochs=1)
    assert trained.syn1neg.any() and (trained.wv["a"] != both[1]["a"]).any()
    refused(lambda: read_vectors(tmp_path / "old.bin"))  # by its content alone it could be anything


@pytest.mark.parametrize(("kind", "ngrams"), [(3, False), (2, True)])
def test_old_classifiers_have_no_ngrams(tmp_path, kind, ngrams):
    (tmp_path / "m.bin").write_bytes(model(kind=kind, version=11))
    assert (FastTextVectors.load(tmp_path / "m.bin")["a"].tolist() != [0, 0.5]) is ngrams


@pytest.mark.parametrize("changes", [{"bucket": 0}, {"maxn": 0}])
def test_without_ngrams_an_unseen_word_is_missing(tmp_path, changes):
    (tmp_path / "m.bin").write_bytes(model(**changes))
    wv = FastTextVectors.load(tmp_path / "m.bin")
    assert wv["a"].tolist() == [0, 0.5]
    assert "a" in wv and "kings" not in wv
    assert wv.wmdistance(["kings"], ["a"]) == float("inf")
    with pytest.raises(MissingWordError, match="'kings' is not among the 2 words"):
        wv["kings"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (model(version=13), "version 13; mumon reads 11 and 12"),
        (model(quantised=True), "is quantised"),
        (model(pruned=5), "is quantised"),
        (model(dim=-1), "vectors of -1 numbers"),
        (model(bucket=-3, rows=0), "-3 rows of n-grams"),
        (model(maxn=1 << 30), "1 to 1073741824 characters"),
        (model(nwords=0), "0 words"),
        (model(nwords=1 << 30), "does not end|ends at byte"),
        (model(size=7), "2 words and 0 labels in 7 entries"),
        (model(rows=1 << 40), "matrix of 1099511627776 x 2 where 5 x 2"),
        (model(columns=3), "matrix of 5 x 3 where 5 x 2"),
        (model(words=[b"x" * 70_000]), "word 1 at byte 92 has more than 65536 bytes"),
        (model(count=-1), "count of 'a' is -1"),
        (model(count=2**62), r"add up to 2\^63"),
        (model(numbers=b"\xff" * 40), "row 1 holds nan or inf"),
        (model(numbers=b"")[:-17], r"\d+ bytes where its 5 rows of 2 numbers need at least|ends after 0 of its 5 rows"),
        (b"\xba\x16\x4f\x2f", "ends at byte 4, before its numbers begin"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path, data, sentence):
    (tmp_path / "m.bin").write_bytes(data)
    refused(lambda: read_vectors(tmp_path / "m.bin"), sentence)
    (tmp_path / "packed").write_bytes(gzip.compress(data))
    refused(lambda: read_vectors(tmp_path / "packed"), sentence)


def test_another_file_is_not_one_of_fasttexts(tmp_path):
    (tmp_path / "m.bin").write_bytes(model(magic=1))
    refused(lambda: read_vectors(tmp_path / "m.bin", "fasttext-bin"), "793712314")


@pytest.mark.parametrize("cut", range(0, 140, 6))
def test_no_cut_of_a_model_is_read_as_whole(tmp_path, cut):
    whole = model()
    (tmp_path / "m.bin").write_bytes(whole[: min(cut, len(whole) - 18)])
    refused(lambda: read_vectors(tmp_path / "m.bin", "fasttext-bin"))


def test_ngrams_that_are_no_numbers_are_noticed_when_they_are_asked_for(tmp_path):
    numbers = np.full((5, 2), np.nan, "<f4")
    numbers[:2] = 1
    (tmp_path / "m.bin").write_bytes(model(words=[b"</s>", b""], minn=3, maxn=3, numbers=numbers.tobytes()))
    wv = FastTextVectors.load(tmp_path / "m.bin")
    refused(lambda: wv["kings"], "the n-grams of 'kings' hold nan or inf")
