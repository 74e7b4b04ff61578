"""Labelled sentences for the extrinsic tasks: official layouts are read, entities are counted as conlleval counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon import WordVectors, datasets
from mumon.errors import DataError, FormatError
from mumon.experiments.extrinsic.conll import convert_to_iob2, count_entities, find_entities, read_conll
from mumon.experiments.extrinsic.evaluate import load_examples
from mumon.experiments.extrinsic.glue import read_glue, split_words
from mumon.experiments.extrinsic.inputs import read_inputs, write_examples, write_vectors
from mumon.experiments.extrinsic.plan import SMALL, Budget, build_trials, choose_budget, choose_tasks, draw_points
from mumon.experiments.extrinsic.report import compute_f1

conlleval = pytest.importorskip("conlleval")
pytest.importorskip("seqeval")

TAGS = ["O", *(f"{place}-{kind}" for place in "BI" for kind in ("PER", "LOC"))]
SENTENCE = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8)


@settings(deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=4))
def test_f1_is_conllevals_whatever_the_tags(sentences):
    lines = [line for pairs in sentences for line in [*(f"w {gold} {given}" for gold, given in pairs), ""]]
    theirs = conlleval.evaluate(lines)["overall"]["chunks"]
    counts = np.array([count_entities(*zip(*pairs, strict=True)) for pairs in sentences])
    right, given_, there = counts.sum(axis=0)
    assert theirs["stats"] == {"correct": right, "pred": given_, "gold": there}
    assert compute_f1(counts) == pytest.approx(100 * theirs["evals"]["f1"])


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("I-PER I-PER", [("PER", 0, 1)]),  # IOB1: I- begins
        ("I-PER B-PER", [("PER", 0, 0), ("PER", 1, 1)]),  # IOB1: B- parts neighbours of one type
        ("B-PER B-PER", [("PER", 0, 0), ("PER", 1, 1)]),  # IOB2
        ("B-PER I-LOC", [("PER", 0, 0), ("LOC", 1, 1)]),  # another type inside begins another entity
        ("O I-LOC O", [("LOC", 1, 1)]),
        ("B-PER O I-PER", [("PER", 0, 0), ("PER", 2, 2)]),
        ("B-PER I-PER E-PER S-LOC", [("PER", 0, 2), ("LOC", 3, 3)]),  # IOBES
        ("O O", []),
    ],
)
def test_entities_in_every_scheme(tags, found):
    assert find_entities(tags.split()) == found
    assert find_entities(convert_to_iob2(tags.split())) == found


def test_conll_files_give_the_same_data_in_every_scheme(tmp_path):
    schemes = {
        "iob1": "I-PER I-PER B-PER O I-LOC",
        "iob2": "B-PER I-PER B-PER O B-LOC",
        "iobes": "B-PER E-PER S-PER O S-LOC",
    }
    read = []
    for scheme, tags in schemes.items():
        folder = tmp_path / scheme
        folder.mkdir()
        names = ("eng.train", "eng.testa", "eng.testb") if scheme == "iob1" else ("train.txt", "valid.txt", "test.txt")
        words = ("Ann", "Lee", "Bob", "saw", "Rome")
        rows = [f"{word} NN I-NP {tag}" for word, tag in zip(words, tags.split(), strict=True)]
        for name in names:
            (folder / name).write_text("\n".join(["-DOCSTART- -X- O O", "", *rows, "", *rows[:3], ""]))
        read.append(read_conll(folder))
    assert read[0] == read[1] == read[2]
    assert read[0].labels == ["B-LOC", "B-PER", "I-PER", "O"] and list(read[0].splits) == ["train", "dev", "ner"]
    assert [len(words) for words in read[0].splits["train"].columns[0]] == [5, 3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "0 sentences"), ("word\n", "line 1"), ("word tag\n", "line 1"), ("Ann B-PER\nLee L-PER\n", "line 2")],
)
def test_a_file_that_is_not_conll_is_refused(tmp_path, text, sentence):
    for name in ("train.txt", "valid.txt", "test.txt"):
        (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=sentence):
        read_conll(tmp_path)
    (tmp_path / "train.txt").unlink()
    with pytest.raises(DataError, match=r"all 3 of eng.train, eng.testa, eng.testb or train.txt"):
        read_conll(tmp_path)


def test_words_keep_their_apostrophes_and_hyphens():
    text = "I can't, wo n’t; the left-wing 3.5 % 2,500 AT&T and/or it 's Mr. O'Brien's."
    words = "I|can't|,|won’t|;|the|left-wing|3.5|%|2,500|AT&T|and/or|it's|Mr|.|O'Brien's|."
    assert "|".join(split_words(text)) == words


def test_a_word_with_a_clitic_is_one_vector_or_two(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.tsv").write_text(rows("sentence|label", "we do n't|1", "it's not so|0"))
    examples = read_glue("sst2", tmp_path)
    words = examples.words()
    data = write_examples(examples, words, tmp_path)

    def seen(*known):
        wv = WordVectors(list(known), np.arange(1, len(known) + 1, dtype=np.float32)[:, None])
        inputs = read_inputs(tmp_path, data, write_vectors(wv, words, tmp_path, whole=False).digest)
        return [inputs.vectors[text, 0].tolist() for text in (inputs.parts["train"].columns[0][i] for i in (0, 1))]

    assert seen("we", "don't", "it's", "not", "so") == [[1, 2], [3, 4, 5]]
    assert seen("we", "do", "n't", "it", "not", "so") == [[1, 2, 3], [4, 0, 5, 6]]
    assert seen("we", "so") == [[1, 0, 0], [0, 0, 0, 2]]


def rows(*lines):
    return "\n".join("\t".join(line.split("|")) for line in lines) + "\n"


def test_official_glue_has_no_test_labels_so_dev_is_the_test(tmp_path):
    header = "index|promptID|sentence1_binary_parse|sentence1|sentence2|label1|gold_label"
    train = [f'{i}|p|( x )|one "two {i}|three|neutral|{("neutral", "entailment")[i % 2]}' for i in range(40)]
    (tmp_path / "train.tsv").write_text(rows(header, *train))
    for part, count in (("matched", 3), ("mismatched", 2)):
        items = [f"{i}|p|( x )|a|b|neutral|neutral" for i in range(count)]
        (tmp_path / f"dev_{part}.tsv").write_text(
            rows(header, *items, "9|p|( x )|a|b|neutral|-")
        )  # the annotators disagreed
        (tmp_path / f"test_{part}.tsv").write_text(rows("index|sentence1|sentence2", "0|a|b"))
    examples = read_glue("mnli", tmp_path)
    assert {name: len(split) for name, split in examples.splits.items()} == {
        "train": 36, "dev": 4, "mnli-m": 3, "mnli-mm": 2,
    }  # fmt: skip
    assert "dev files are the test, and 4 training items" in (examples.note or "")
    assert examples.splits["train"].columns[0][0][:2] == ("one", '"')  # quotation marks are text
    train_words, dev_words = ({text[-1] for text in examples.splits[name].columns[0]} for name in ("train", "dev"))
    assert not train_words & dev_words and len(train_words | dev_words) == 40


def test_labelled_test_files_are_the_test(tmp_path):
    for name, count in (("train", 5), ("dev", 3), ("test", 2)):
        (tmp_path / f"{name}.tsv").write_text(rows("sentence|label", *(f"good {i}|{i % 2}" for i in range(count))))
    examples = read_glue("sst2", tmp_path)
    assert [len(split) for split in examples.splits.values()] == [5, 3, 2] and examples.note is None


@pytest.mark.parametrize(
    ("task", "train", "sentence"),
    [
        ("sst2", rows("text|label", "good|1"), "none is called sentence"),
        ("sst2", rows("sentence|label", "good|1|2"), "3 columns in line 2 and 2 in its header"),
    ],
)
def test_a_file_that_is_not_glue_is_refused(tmp_path, task, train, sentence):
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.tsv").write_text(train)
    with pytest.raises(FormatError, match=sentence):
        read_glue(task, tmp_path)


@pytest.mark.parametrize("train", [rows("sentence|mark", "good|1"), rows("sentence|label"), ""])
def test_training_files_without_labels_are_refused(tmp_path, train):
    (tmp_path / "train.tsv").write_text(train or "sentence\tlabel")
    with pytest.raises(DataError, match=r"no train.tsv with labels"):
        read_glue("sst2", tmp_path)


def test_test_labels_of_minus_one_are_none(tmp_path):
    for name, label in (("train", None), ("dev", None), ("test", -1)):
        lines = [f"good {i}|{i % 2 if label is None else label}" for i in range(10)]
        (tmp_path / f"{name}.tsv").write_text(rows("sentence|label", *lines))
    assert [len(split) for split in read_glue("sst2", tmp_path).splits.values()] == [9, 1, 10]


def test_only_line_feeds_end_a_line(tmp_path):
    odd = "good\x0bbad\u2028so\x85on"
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.tsv").write_bytes(f"sentence\tlabel\r\n{odd}\t1\r\nbad\t0\r\n".encode())
    assert [len(split) for split in read_glue("sst2", tmp_path).splits.values()] == [2, 2, 2]


def test_a_label_that_training_lacks_is_refused(tmp_path):
    for name, label in (("train", "1"), ("dev", "1"), ("test", "2")):
        (tmp_path / f"{name}.tsv").write_text(rows("sentence|label", f"good|{label}"))
    with pytest.raises(FormatError, match="the label '2'"):
        read_glue("sst2", tmp_path)


def test_the_mirror_is_where_data_are_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"put glue/SST-2"):
        load_examples("sst2")
    (tmp_path / "glue" / "SST-2").mkdir(parents=True)
    assert datasets.fetch_folder("sst2") == tmp_path / "glue" / "SST-2"
    with pytest.raises(DataError, match=r"no train.tsv with labels"):
        load_examples("sst2")


def test_missing_words_are_row_zero_and_spellings_share_a_row(tmp_path):
    (tmp_path / "own").mkdir()
    for name in ("train.txt", "valid.txt", "test.txt"):
        (tmp_path / "own" / name).write_text("Rome O\nrome O\nunheard O\nis O\n")
    examples = read_conll(tmp_path / "own")
    wv = WordVectors(["is", "rome", "never"], np.arange(6, dtype=np.float32).reshape(3, 2) + 1)
    words = examples.words()
    written = write_vectors(wv, words, tmp_path, whole=True)
    inputs = read_inputs(tmp_path, write_examples(examples, words, tmp_path), written.digest)
    rows_ = inputs.parts["train"].columns[0][0]
    assert written.found == 9 and rows_[0] == rows_[1] and rows_[2] == 0
    assert inputs.vectors[rows_].tolist() == [[3, 4], [3, 4], [0, 0], [1, 2]]
    assert len(inputs.vectors) == 3  # `never` is in no sentence
    everything = WordVectors(["Rome", "rome", "unheard", "is"], np.ones((4, 2), np.float32))
    complete = read_inputs(
        tmp_path,
        write_examples(examples, words, tmp_path),
        write_vectors(everything, words, tmp_path, whole=True).digest,
    )
    assert complete.parts["ner"].columns[0][0].tolist() == [1, 2, 3, 4] and not complete.vectors[0].any()


def test_draws_are_the_same_for_every_embedding_and_within_limits():
    budget = Budget(draws=2000)
    points = draw_points(budget, seed=3)
    dropouts, rates = (np.array([getattr(point, name) for point in points]) for name in ("dropout", "rate"))
    assert 0 <= dropouts.min() < 0.01 and 0.69 < dropouts.max() <= 0.7 and abs(dropouts.mean() - 0.35) < 0.02
    assert 1e-6 <= rates.min() < 1.1e-6 and 0.9e-2 < rates.max() <= 1e-2
    assert abs(np.log10(rates).mean() + 4) < 0.1  # log-uniform: the middle of 10⁻⁶ … 10⁻² is 10⁻⁴
    a, b = (build_trials("sst2", "data", vectors, 3, SMALL, "2") for vectors in ("a", "b"))
    assert [trial.draw for trial in a] == [trial.draw for trial in b] and not {t.key for t in a} & {t.key for t in b}
    assert draw_points(budget, seed=4) != points


def test_the_full_budget_is_the_papers():
    full = choose_budget("full")
    assert (full.draws, full.dropout, full.rate, full.epochs, full.patience) == (10, (0.0, 0.7), (1e-6, 1e-2), 100, 2)
    assert (full.encoder_width, full.tagger_width, full.hidden) == (1024, 256, 512)
    assert full.train_sentences is full.dev_sentences is full.longest is None
    assert choose_tasks(["NER"]) == ["ner", "ner-tuned"]
