"""The model directory: it comes back whole, refuses what does not fit together, and loads in other libraries."""

from __future__ import annotations

import json
import os
import tracemalloc

import numpy as np
import pytest

from mumon.errors import OptionError
from mumon.formats import read_vectors
from mumon.formats.directory import load_model, save_model
from tests.samples import COUNTS, VECTORS, WORDS, files_of, left_over, refused


def test_a_model_comes_back_with_output_counts_and_settings(tmp_path):
    padded = np.zeros((4, 16), np.float32)
    padded[:, :3] = VECTORS
    save_model(tmp_path / "m", WORDS, COUNTS, padded[:, :3], padded[:, 3:6], {"window": 5, "unk": None})
    model = load_model(tmp_path / "m")
    assert model.words == WORDS and model.counts.tolist() == COUNTS.tolist()
    assert model.config == {"window": 5, "unk": None}
    np.testing.assert_array_equal(model.vectors, VECTORS)
    np.testing.assert_array_equal(model.output, np.zeros((4, 3)))
    assert model.vectors.flags.writeable and model.output.flags.writeable
    assert load_model(tmp_path / "m", output=False).output is None


def test_saving_and_loading_make_no_copy_of_the_matrices(tmp_path):
    words, vectors = [f"w{i}" for i in range(8000)], np.ones((8000, 512), np.float32)
    tracemalloc.start()
    try:
        save_model(tmp_path / "m", words, None, vectors, vectors)
        saving = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        model = load_model(tmp_path / "m")
        loading = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(saving, loading) < vectors.nbytes / 2
    model.vectors[0] = 7  # in memory, as ever, and not in the file
    assert load_model(tmp_path / "m").vectors[0, 0] == 1


def test_a_model_can_be_replaced_while_its_vectors_are_in_use(tmp_path):
    save_model(tmp_path / "m", WORDS, COUNTS, VECTORS)
    model = load_model(tmp_path / "m")
    save_model(tmp_path / "m", model.words, model.counts, 2 * model.vectors)
    np.testing.assert_array_equal(model.vectors, VECTORS)
    np.testing.assert_array_equal(load_model(tmp_path / "m").vectors, 2 * VECTORS)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        save_model(tmp_path / name, WORDS, COUNTS, VECTORS, VECTORS, {"window": 5, "lowercase": True})
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert left_over(tmp_path / "one") == [
        "config.json", "model.safetensors", "modules.json", "tokenizer.json", "vocab.json",
    ]  # fmt: skip


def test_the_tensors_are_what_the_safetensors_library_reads(tmp_path):
    from safetensors.numpy import load_file

    save_model(tmp_path / "m", WORDS, COUNTS, VECTORS, 2 * VECTORS)
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    np.testing.assert_array_equal(tensors["embeddings"], np.vstack([VECTORS, np.zeros((1, 3))]))
    np.testing.assert_array_equal(tensors["output"], 2 * VECTORS)


def test_settings_that_json_cannot_hold_are_refused(tmp_path):
    for value in (object(), float("nan")):
        refused(
            lambda value=value: save_model(tmp_path / "m", WORDS, None, VECTORS, config={"a": value}),
            "1 settings",
            error=OptionError,
        )
    refused(lambda: save_model(tmp_path / "m", WORDS, COUNTS[:2], VECTORS), "4 whole numbers")
    refused(lambda: save_model(tmp_path / "m", WORDS, -COUNTS, VECTORS), "word 1 is -9, below 0")
    refused(lambda: save_model(tmp_path / "m", WORDS, COUNTS, VECTORS, VECTORS[:, :2]), r"output is \(4, 2\)")
    refused(lambda: save_model(tmp_path / "m", WORDS, COUNTS, VECTORS, VECTORS * np.nan), "row 1 of output")
    assert left_over(tmp_path) == []


def change(name, **values):
    def apply(folder):
        content = json.loads((folder / name).read_text())
        content.update(values)
        (folder / name).write_text(json.dumps(content))

    return apply


def tensors(**arrays):
    def apply(folder):
        from safetensors.numpy import save_file

        save_file({name: np.asarray(array) for name, array in arrays.items()}, folder / "model.safetensors")

    return apply


E = np.vstack([VECTORS, np.zeros((1, 3), np.float32)])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda f: (f / "config.json").unlink(), "has no config.json"),
        (lambda f: (f / "vocab.json").unlink(), "has no vocab.json"),
        (lambda f: (f / "model.safetensors").unlink(), "has no model.safetensors"),
        (lambda f: (f / "config.json").write_text("{"), "config.json cannot be read as JSON"),
        (lambda f: (f / "config.json").write_text("[]"), "holds a list"),
        (lambda f: (f / "vocab.json").write_bytes(b'{"words": ["\xff"]}'), "vocab.json cannot be read as JSON"),
        (lambda f: (f / "vocab.json").write_text("[" * 100_000), "cannot be read as JSON"),
        (change("config.json", format="other"), "not a mumon model"),
        (change("config.json", format_version=2), "version 2 where this mumon reads 1"),
        (change("config.json", vocab_size="4"), "vocab_size '4'"),
        (change("config.json", vocab_size=True), "vocab_size True"),
        (change("config.json", vector_size=-3), "vector_size -3"),
        (change("config.json", vocab_size=5), "4 words where config.json says 5"),
        (change("config.json", vector_size=4), r"F32 \(5, 3\) where F32 \(5, 4\)"),
        (change("config.json", unknown_row=False), r"F32 \(5, 3\) where F32 \(4, 3\)"),
        (change("config.json", unknown_row=None), "unknown_row"),
        (change("config.json", training=[]), "training"),
        (change("vocab.json", words="abcd"), "no list of words"),
        (change("vocab.json", words=["a", "b", "c", 4]), "no list of words"),
        (change("vocab.json", words=["a", "b", "c", "b"]), "'b' as word 2 and 4"),
        (change("vocab.json", counts=[1, 2, 3]), "4 whole numbers"),
        (change("vocab.json", counts=[1, 2, 3, 0.5]), "4 whole numbers"),
        (change("vocab.json", counts=[1, 2, 3, 2**70]), "4 whole numbers"),
        (change("vocab.json", counts=[1, 2, 3, -4]), "word 4 is -4"),
        (change("vocab.json", counts=[1, 2, [3], 4]), "4 whole numbers"),
        (tensors(other=E), "no tensor 'embeddings'"),
        (tensors(embeddings=E[:4]), r"\(4, 3\) where F32 \(5, 3\)"),
        (tensors(embeddings=E.astype(np.float64)), r"F64 \(5, 3\) where F32"),
        (tensors(embeddings=E, output=E), r"output is F32 \(5, 3\) where F32 \(4, 3\)"),
        (tensors(embeddings=E + 1), "row 5 of embeddings, for unknown words"),
        (tensors(embeddings=np.where(np.equal(E, E[2, 1]), np.nan, E)), "row 3 of embeddings holds nan"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "cannot be read"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 100), "cannot be read"),
        (
            lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-4]),
            "cannot be read",
        ),
    ],
)
def test_files_that_do_not_fit_together_are_refused(tmp_path, damage, sentence):
    save_model(tmp_path / "m", WORDS, COUNTS, VECTORS)
    damage(tmp_path / "m")
    refused(lambda: load_model(tmp_path / "m"), sentence)
    refused(lambda: read_vectors(tmp_path / "m"), sentence)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a matter of POSIX")
def test_a_pipe_or_device_instead_of_a_file_is_refused_at_once(tmp_path):
    save_model(tmp_path / "m", WORDS, COUNTS, VECTORS)
    for name, sentence in (("vocab.json", "has no vocab.json"), ("config.json", "has no config.json")):
        (tmp_path / "m" / name).unlink()
        os.mkfifo(tmp_path / "m" / name)
        refused(lambda: load_model(tmp_path / "m"), sentence)
    (tmp_path / "m" / "config.json").unlink()
    (tmp_path / "m" / "config.json").symlink_to("/dev/zero")
    refused(lambda: load_model(tmp_path / "m"), "has no config.json")


def test_a_model_that_is_not_there_is_refused(tmp_path):
    refused(lambda: load_model(tmp_path / "none"), "no model directory")


# ---- other libraries


def static_model(path):
    return pytest.importorskip("model2vec").StaticModel.from_pretrained(path)


def test_model2vec_encodes_a_sentence_to_the_mean_of_its_known_words(tmp_path):
    save_model(tmp_path / "m", WORDS, COUNTS, VECTORS, output=VECTORS)
    model = static_model(tmp_path / "m")
    np.testing.assert_allclose(model.encode("the naïve 🙂 unheard-of"), VECTORS[:3].mean(axis=0), atol=1e-6)
    assert not model.encode("THE").any()
    long = "the " * 5000 + "of"
    expected = (5000 * VECTORS[0].astype(np.float64) + VECTORS[3]) / 5001
    np.testing.assert_allclose(model.encode(long), expected, atol=1e-4)


def test_model2vec_follows_the_settings_of_the_text(tmp_path):
    save_model(tmp_path / "m", ["the", "of", "don't"], None, VECTORS[:3], config={"lowercase": True, "tokenize": True})
    model = static_model(tmp_path / "m")
    np.testing.assert_allclose(model.encode("(The), DON'T!"), VECTORS[[0, 2]].mean(axis=0), atol=1e-6)


def test_a_trained_unknown_word_takes_the_place_of_the_row_of_zeros(tmp_path):
    save_model(tmp_path / "m", ["a", "<unk>"], None, VECTORS[:2], config={"unk": "<unk>"})
    model = load_model(tmp_path / "m")
    assert model.words == ["a", "<unk>"] and model.vectors.shape == (2, 3)
    tokenizer = json.loads((tmp_path / "m" / "tokenizer.json").read_text())
    assert tokenizer["model"] == {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}
    assert static_model(tmp_path / "m").embedding.shape == (2, 3)


def test_the_unknown_token_is_never_one_of_the_words(tmp_path):
    save_model(tmp_path / "m", ["[UNK]", "[UNK1]"], None, VECTORS[:2])
    tokenizer = json.loads((tmp_path / "m" / "tokenizer.json").read_text())
    assert tokenizer["model"]["unk_token"] == "[UNK2]" and tokenizer["model"]["vocab"]["[UNK2]"] == 2
    np.testing.assert_array_equal(load_model(tmp_path / "m").vectors, VECTORS[:2])
    np.testing.assert_allclose(static_model(tmp_path / "m").encode("[UNK] x"), VECTORS[0], atol=1e-6)
