"""Models with n-grams on disk: fastText's .bin as gensim opens it, and folders in fewer bytes."""

from __future__ import annotations

import json
import shutil
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mumon import FastText, WordVectors
from mumon.errors import FormatError
from mumon.formats import detect
from mumon.formats.conversion import convert
from mumon.formats.directory import load_model
from mumon.formats.fasttext import read_model
from mumon.models import fasttext as gensims_names
from mumon.vectors.fasttext_vectors import FastTextVectors
from tests.samples import left_over, refused

WORDS = ["king", "queen", "naïve", "größe", "日本語", "ab", "🙂", "</s>"]
UNSEEN = ["kings", "großen", "日本", "unheard-of", "🙂🙂", "x", "xy"]
SENTENCES = [WORDS, WORDS[::-1], ["king", "queen", "king"]] * 30
SMALL = {"vector_size": 8, "min_count": 1, "workers": 1, "epochs": 2, "sample": 0, "bucket": 3000, "progress": False}
FORMS = {"cbow": {}, "sg": {"sg": 1}, "words alone": {"min_n": 4, "max_n": 3}, "bigrams": {"min_n": 1, "max_n": 2}}


@pytest.fixture(scope="module")
def models():
    return {form: FastText(SENTENCES, **{**SMALL, **options}) for form, options in FORMS.items()}


@pytest.fixture(scope="module")
def peer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield pytest.importorskip("gensim.models.fasttext")


def write(model, path, way):
    if way == "save_facebook_model":
        model.save_facebook_model(path)
    elif way == "gensim's name":
        gensims_names.save_facebook_model(model, path)
    elif way == "wv.save":
        model.wv.save(path)
    else:
        model.save(path.with_suffix(".mumon"))
        convert(path.with_suffix(".mumon"), path)


WAYS = pytest.mark.parametrize("way", ["save_facebook_model", "gensim's name", "wv.save", "convert"])


@WAYS
@pytest.mark.parametrize("form", ["cbow", "sg", "bigrams"])
def test_gensim_finds_the_same_vectors_in_a_bin_however_it_was_written(models, peer, tmp_path, form, way):
    model, path = models[form], tmp_path / "m.bin"
    write(model, path, way)
    assert detect(path).name == "fasttext-bin"
    theirs = peer.load_facebook_model(str(path))
    assert theirs.wv.index_to_key == model.wv.index_to_key
    assert [theirs.wv.get_vecattr(word, "count") for word in theirs.wv.index_to_key] == model.wv.counts.tolist()
    for word in WORDS if form != "bigrams" else WORDS[:-1]:
        if word != "</s>":  # which has n-grams in gensim, and none in fastText
            np.testing.assert_allclose(theirs.wv[word], model.wv[word], atol=1e-5)
    for word in UNSEEN:
        if model.wv[word].any() or theirs.wv.min_n <= len(word) + 2:
            np.testing.assert_allclose(theirs.wv[word], model.wv[word], atol=1e-5)
    if way != "wv.save":  # vectors alone have no output matrix
        np.testing.assert_allclose(theirs.syn1neg, model.syn1neg, atol=1e-6)
        assert theirs.sg == model.sg and theirs.window == model.window and theirs.epochs == model.epochs


@pytest.mark.parametrize("form", ["cbow", "sg"])
def test_gensim_trains_on_where_mumon_ended(models, peer, tmp_path, form):
    models[form].save_facebook_model(tmp_path / "m.bin")
    theirs = peer.load_facebook_model(str(tmp_path / "m.bin"))
    before = theirs.wv["king"].copy()
    theirs.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)
    assert np.isfinite(theirs.wv["king"]).all() and not np.array_equal(theirs.wv["king"], before)


def train_peer(peer, **options):
    given = {**SMALL, **options}
    given.pop("progress")
    return peer.FastText(SENTENCES, **given)


@pytest.mark.parametrize("form", ["cbow", "sg", "bigrams", "words alone"])
def test_mumon_takes_over_what_gensim_wrote(peer, tmp_path, form):
    theirs = train_peer(peer, **FORMS[form], window=3, negative=4)
    path = tmp_path / "theirs.bin"
    peer.save_facebook_model(theirs, str(path))
    for model in (FastText.from_facebook(path, workers=1, progress=False), gensims_names.load_facebook_model(path)):
        assert model.wv.index_to_key == theirs.wv.index_to_key
        for word in [*WORDS[:-1], *(UNSEEN if form != "words alone" else [])]:
            np.testing.assert_allclose(model.wv[word], theirs.wv[word], atol=1e-5)
        np.testing.assert_allclose(model.syn1neg, theirs.syn1neg, atol=1e-6)
        assert (model.sg, model.window, model.negative, model.epochs) == (theirs.sg, 3, 4, 2)
        assert model.wv.counts.tolist() == [theirs.wv.get_vecattr(word, "count") for word in model.wv.index_to_key]
        before = model.wv["king"].copy()
        model.train([*SENTENCES, ["kingdom", "king"]], epochs=1, merge_vocab="union")
        assert model.wv.has_index_for("kingdom") and not np.array_equal(model.wv["king"], before)
    np.testing.assert_allclose(gensims_names.load_facebook_vectors(path)[WORDS[:-1]], theirs.wv[WORDS[:-1]], atol=1e-5)


def test_options_take_the_place_of_what_the_file_says(models, tmp_path):
    models["cbow"].save_facebook_model(tmp_path / "m.bin")
    model = FastText.from_facebook(tmp_path / "m.bin", window=2, epochs=7, sg=1, progress=False)
    assert (model.window, model.epochs, model.sg) == (2, 7, 1)


@WAYS
@pytest.mark.parametrize("form", FORMS)
def test_mumon_reads_its_own_bin_back(models, tmp_path, form, way):
    model, path = models[form], tmp_path / "m.bin"
    write(model, path, way)
    wv = WordVectors.load(path)
    words = [*model.wv.index_to_key, *(UNSEEN if form != "words alone" else [])]
    np.testing.assert_allclose(wv[words], model.wv[words], atol=1e-5)
    if detect(path).name == "fasttext-bin":
        assert wv.counts.tolist() == model.wv.counts.tolist()
        again = FastText.from_facebook(path, progress=False)
        np.testing.assert_allclose(again.wv[words], model.wv[words], atol=1e-5)
        again.save_facebook_model(tmp_path / "again.bin")
        np.testing.assert_allclose(WordVectors.load(tmp_path / "again.bin")[words], wv[words], atol=1e-5)
    assert not [name for name in left_over(tmp_path) if "tmp" in name]


def test_buckets_that_no_word_fell_into_are_zeros_in_the_file(models, tmp_path):
    models["cbow"].save_facebook_model(tmp_path / "m.bin")
    saved = read_model(tmp_path / "m.bin")
    np.testing.assert_array_equal(saved.subwords.rows, models["cbow"].wv.vectors_ngrams)
    assert saved.subwords.rows.shape == (3000, 8) and (~saved.subwords.rows.any(axis=1)).sum() > 2000
    np.testing.assert_array_equal(saved.output, models["cbow"].syn1neg)


def test_a_word_with_a_byte_0_is_refused_and_nothing_is_written(tmp_path):
    model = FastText([["a\0b", "king"]] * 20, **SMALL)
    refused(lambda: model.save_facebook_model(tmp_path / "m.bin"), "word . has a byte 0")
    assert left_over(tmp_path) == []


# ---- a .bin that is cut short


def test_a_bin_cut_in_its_output_matrix_is_refused_for_training_and_read_for_its_vectors(models, tmp_path):
    models["cbow"].save_facebook_model(tmp_path / "m.bin")
    data = (tmp_path / "m.bin").read_bytes()
    size = 17 + 4 * len(WORDS) * 8  # of the output matrix
    for cut in (1, size - 17, size - 5, size):
        (tmp_path / "cut.bin").write_bytes(data[:-cut])
        refused(lambda: FastText.from_facebook(tmp_path / "cut.bin"), "cut.bin")
        np.testing.assert_array_equal(WordVectors.load(tmp_path / "cut.bin")["king"], _vector(tmp_path / "m.bin"))
    (tmp_path / "cut.bin").write_bytes(data[: -size - 4])
    refused(lambda: WordVectors.load(tmp_path / "cut.bin"), "truncated")
    damaged = bytearray(data)
    damaged[-size + 1] ^= 1  # the number of its rows
    (tmp_path / "cut.bin").write_bytes(damaged)
    refused(lambda: FastText.from_facebook(tmp_path / "cut.bin"), "output matrix of 9 x 8 where 8 x 8")
    damaged = bytearray(data)
    damaged[-4:] = np.float32(np.nan).tobytes()
    (tmp_path / "cut.bin").write_bytes(damaged)
    refused(lambda: FastText.from_facebook(tmp_path / "cut.bin"), "nan")


def _vector(path):
    return WordVectors.load(path)["king"]


# ---- folders


@pytest.fixture
def folder(models, tmp_path):
    models["cbow"].save(tmp_path / "m.mumon")
    return tmp_path / "m.mumon"


@pytest.mark.parametrize("dtype, atol, share", [("float16", 1e-3, 0.6), ("int8", 0.02, 0.6)])
def test_folders_in_fewer_bytes_have_nearly_the_same_vectors(tmp_path, dtype, atol, share):
    """Of words that have as many n-grams as real ones, with 64 dimensions."""
    words = [f"{a}{b}{c}" for a in ("under", "over", "inter") for b in ("stand", "take", "view") for c in ("ing", "s")]
    model = FastText([words, words[::-1]] * 20, **{**SMALL, "vector_size": 64})
    model.save(tmp_path / "m.mumon")
    convert(tmp_path / "m.mumon", tmp_path / "plain.npz")
    convert(tmp_path / "m.mumon", tmp_path / "small.mumon", dtype=dtype)
    small = WordVectors.load(tmp_path / "small.mumon")
    assert isinstance(small, FastTextVectors) and small.index_to_key == model.wv.index_to_key
    assert (small.min_n, small.max_n, small.bucket) == (3, 6, 3000)
    asked = [*words, "understanding", "overviews", "intake"]
    scale = np.abs(model.wv.vectors_ngrams).max()
    np.testing.assert_allclose(small[asked], model.wv[asked], atol=atol * max(scale, 1))
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("small.mumon", "m.mumon")]
    assert sizes[0] < share * sizes[1]
    full = load_model(tmp_path / "m.mumon")
    rows = load_model(tmp_path / "small.mumon").subwords
    np.testing.assert_array_equal(rows.kept, full.subwords.kept)
    np.testing.assert_allclose(rows.rows, full.subwords.rows, atol=atol * max(scale, 1))
    refused(lambda: FastText.load(tmp_path / "small.mumon"), "does not say how it was trained")


def test_a_folder_becomes_a_folder_with_all_that_training_needs(folder, models, tmp_path):
    convert(folder, tmp_path / "again.mumon")
    again = FastText.load(tmp_path / "again.mumon", progress=False)
    np.testing.assert_array_equal(again.wv.vectors, models["cbow"].wv.vectors)
    np.testing.assert_array_equal(again.wv.vectors_ngrams, models["cbow"].wv.vectors_ngrams)
    np.testing.assert_array_equal(again.wv.vectors_vocab, models["cbow"].wv.vectors_vocab)


def test_a_limit_leaves_out_words_and_keeps_the_ngrams(folder, models, tmp_path):
    for name in ("few.mumon", "few.bin"):
        convert(folder, tmp_path / name, limit=3)
        few = WordVectors.load(tmp_path / name)
        assert few.index_to_key == models["cbow"].wv.index_to_key[:3]
        np.testing.assert_allclose(few[UNSEEN], models["cbow"].wv[UNSEEN], atol=1e-6)
        np.testing.assert_allclose(few.vectors, models["cbow"].wv.vectors[:3], atol=1e-5)


def test_vectors_with_ngrams_are_saved_with_them(models, tmp_path):
    wv = models["cbow"].wv
    wv.save(tmp_path / "v.mumon")
    again = FastTextVectors.load(tmp_path / "v.mumon")
    np.testing.assert_array_equal(again[[*UNSEEN, *wv.index_to_key]], wv[[*UNSEEN, *wv.index_to_key]])


def change_tensors(folder, change):
    path = folder / "model.safetensors"
    tensors = dict(load_file(path))
    change(tensors)
    save_file(tensors, path)


def change_config(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


def put(name, make):
    def change(values):
        values[name] = make(values[name])

    return change


HOSTILE = {
    "buckets twice": ("tensors", put("buckets", lambda b: np.full_like(b, b[0])), "different"),
    "a bucket below 0": ("tensors", put("buckets", lambda b: np.append([-1], b[1:]).astype(np.int32)), "different"),
    "a bucket too high": ("tensors", put("buckets", lambda b: np.append(b[:-1], 3000).astype(np.int32)), "different"),
    "fewer buckets": ("tensors", put("buckets", lambda b: b[1:]), "buckets is I32"),
    "buckets of floats": ("tensors", put("buckets", lambda b: b.astype(np.float32)), "buckets is F32"),
    "buckets of two columns": ("tensors", put("buckets", lambda b: np.stack([b, b], 1)), "buckets is I32"),
    "no buckets": ("tensors", lambda tensors: tensors.pop("buckets"), "rows of n-grams for 3000 buckets"),
    "no ngrams": ("tensors", lambda tensors: tensors.pop("ngrams"), ""),
    "no ngrams and no buckets": (
        "tensors", lambda tensors: [tensors.pop(name) for name in ("ngrams", "buckets")], "0 rows of n-grams",
    ),
    "narrower ngrams": ("tensors", put("ngrams", lambda rows: rows[:, 1:].copy()), "ngrams is F32"),
    "ngrams of one dimension": ("tensors", put("ngrams", lambda rows: rows[:, 0].copy()), "ngrams is F32"),
    "ngrams of a whole number": ("tensors", put("ngrams", lambda rows: rows.astype(np.int8)), "ngram_weights"),
    "ngrams of doubles": ("tensors", put("ngrams", lambda rows: rows.astype(np.float64)), "ngrams is F64"),
    "ngrams with nan": ("tensors", put("ngrams", lambda rows: np.full_like(rows, np.nan)), "nan or inf"),
    "fewer own rows": ("tensors", put("own", lambda rows: rows[1:].copy()), "own is F32"),
    "own rows with inf": ("tensors", put("own", lambda rows: np.full_like(rows, np.inf)), "nan or inf"),
    "fewer buckets than rows say": ("config", put("subwords", lambda s: {**s, "bucket": 5}), "different"),
    "subwords of text": ("config", put("subwords", lambda s: "3-6"), "unusable subwords"),
    "subwords of a list": ("config", put("subwords", lambda s: [3, 6]), "unusable subwords"),
    "unknown subwords": ("config", put("subwords", lambda s: {**s, "x": 1}), "unusable subwords"),
    "lengths of text": ("config", put("subwords", lambda s: {**s, "min_n": "3"}), "unusable subwords"),
    "endless lengths": ("config", put("subwords", lambda s: {**s, "max_n": 10**9}), "unusable subwords"),
    "no subwords": ("config", lambda config: config.pop("subwords"), "unusable subwords"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_damaged_folder_with_ngrams_is_refused_in_one_sentence(folder, case):
    where, change, message = HOSTILE[case]
    (change_tensors if where == "tensors" else change_config)(folder, change)
    refused(lambda: FastText.load(folder), message)
    if "own" not in case:  # which vectors alone do not read
        refused(lambda: WordVectors.load(folder), message)


def test_a_folder_without_own_rows_or_with_other_settings_is_not_trained_further(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "other.mumon")
    change_tensors(folder, lambda tensors: tensors.pop("own"))
    refused(lambda: FastText.load(folder), "own|n-grams", error=FormatError)
    change_config(
        tmp_path / "other.mumon",
        lambda config: config["training"].update(subwords={"min_n": 2, "max_n": 6, "bucket": 3000}),
    )
    refused(lambda: FastText.load(tmp_path / "other.mumon"), "n-grams", error=FormatError)
