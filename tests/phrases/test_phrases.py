"""Phrases: gensim's results to the last digit, by compiled code, and files that hold nothing but text."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from gensim.models import phrases as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon import phrases as ours
from mumon.corpus.sentences import LineSentence
from mumon.errors import CorpusError, FormatError, OptionError
from mumon.kernels.strings import hash_bytes
from mumon.phrases.table import Strings, StringTable
from tests.samples import refused

STARTS = ["new", "old", "san", "los", "bank", "house", "machine", "deep", "snake_case", "naïve", "🙂"]
ENDS = ["york", "angeles", "america", "cards", "learning", "francisco", "of_note", "naïveté", "🙂"]
FILLING = "the of a in and for to saw was is with walks talks eats tree river stone".split()  # noqa: SIM905


def real_looking(count=3000, seed=0):
    """Draw Zipfian text in which some words go together, some with connectors between, some with delimiters inside."""
    random = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        numbers = random.zipf(1.4, random.integers(0, 12)) % 500
        sentence = [FILLING[i] if i < len(FILLING) else f"w{i}" for i in numbers]
        for _ in range(random.integers(0, 3)):
            pair = int(random.zipf(1.5)) % len(STARTS)
            between = [["of"], ["of", "the"], [], [], []][random.integers(5)]
            place = random.integers(len(sentence) + 1)
            sentence[place:place] = [STARTS[pair], *between, ENDS[(pair + (random.random() < 0.1)) % len(ENDS)]]
        sentences.append(sentence)
    return sentences


TEXT, OTHER_TEXT = real_looking(), real_looking(400, seed=1)
OPTIONS = [
    {"min_count": 1, "threshold": 0.5},
    {"min_count": 5, "threshold": 10.0},
    {"min_count": 2.5, "threshold": 1.0, "delimiter": "of"},
    {"min_count": 2, "threshold": 1.0, "delimiter": "__", "connector_words": theirs.ENGLISH_CONNECTOR_WORDS},
    {"min_count": 3, "threshold": 0.2, "scoring": "npmi"},
    {"min_count": 1, "threshold": -0.5, "scoring": "npmi", "connector_words": theirs.ENGLISH_CONNECTOR_WORDS},
    {"min_count": 1, "threshold": 2.0, "connector_words": frozenset({"of", "of_note", "the"})},
]


def twins(sentences, **options):
    return ours.Phrases(sentences, progress=False, **options), theirs.Phrases(sentences, **options)


def assert_same(our, their, sentences=TEXT):
    """Check that counts, phrases, scores and joined texts are the same, by every method that returns them."""
    assert dict(our.vocab) == their.vocab
    assert our.corpus_word_count == their.corpus_word_count
    assert our.export_phrases() == their.export_phrases()
    for mine, original in ((our, their), (our.freeze(), their.freeze())):
        expected = list(original[sentences])
        assert list(mine[sentences]) == expected
        assert [mine[sentence] for sentence in sentences[:50]] == expected[:50]
        analysed = [list(mine.analyze_sentence(sentence)) for sentence in sentences[:50]]
        assert analysed == [list(original.analyze_sentence(sentence)) for sentence in sentences[:50]]
        assert mine.find_phrases(sentences) == original.find_phrases(sentences)
        assert mine.find_phrases(OTHER_TEXT) == original.find_phrases(OTHER_TEXT)
        assert list(mine[OTHER_TEXT]) == list(original[OTHER_TEXT])


def test_the_names_are_gensims():
    assert set(ours.ENGLISH_CONNECTOR_WORDS) == set(theirs.ENGLISH_CONNECTOR_WORDS)
    assert ours.Phraser is ours.FrozenPhrases


@pytest.mark.parametrize("options", OPTIONS)
def test_counts_phrases_scores_and_texts_are_gensims(options):
    our, their = twins(TEXT, **options)
    assert len(our.export_phrases()) > 3  # otherwise there is nothing to compare
    assert_same(our, their)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "_", "a_", "_b", "a_b", "b_a", "of", "é"]), max_size=8), max_size=80),
    st.sampled_from(["_", "__", "a", "_a_"]),
    st.sampled_from([frozenset(), frozenset({"of"}), frozenset({"of", "a_b", "_"})]),
    st.sampled_from([("default", 0.01), ("npmi", -0.9)]),
)
def test_words_that_hold_delimiters_are_distinguished_as_in_gensim(sentences, delimiter, connectors, scoring):
    options = {"scoring": scoring[0], "threshold": scoring[1], "min_count": 1}
    our, their = twins(sentences, delimiter=delimiter, connector_words=connectors, **options)
    assert dict(our.vocab) == their.vocab
    try:
        expected = their.export_phrases()
    except ZeroDivisionError:  # gensim's npmi, where a pair is all of the text
        return
    assert our.export_phrases() == expected
    again = sentences + [["a_b", "a", "b"], ["a", "b_a", "of", "a_"]] * 50  # beyond what is done sentence by sentence
    assert list(our[again]) == list(their[again])
    assert list(our.freeze()[again]) == list(their.freeze()[again])


def test_phrases_of_phrases_are_trigrams():
    our, their = twins(TEXT, min_count=2, threshold=1.0)
    stacked, original = twins(list(our[TEXT]), min_count=2, threshold=1.0)
    assert any(name.count("_") > 1 for name in stacked.export_phrases())
    assert_same(stacked, original, list(their[TEXT]))
    assert list(stacked[our[TEXT]]) == list(original[their[TEXT]])
    assert list(our[our[TEXT]]) == list(their[their[TEXT]])


def test_a_text_may_be_added_in_parts():
    our, their = twins(TEXT[:1000], min_count=2, threshold=1.0)
    for part in (TEXT[1000:1500], [], OTHER_TEXT):
        our.add_vocab(part)
        their.add_vocab(part)
    assert_same(our, their)


@pytest.mark.parametrize("most", [1, 30, 80, 150])
def test_beyond_max_vocab_size_the_words_that_gensim_forgets_are_forgotten(most):
    our, their = twins(TEXT[:300], min_count=1, threshold=0.1, max_vocab_size=most)
    assert (dict(our.vocab), our.corpus_word_count) == (their.vocab, their.corpus_word_count)
    our.add_vocab(TEXT[300:500])
    their.add_vocab(TEXT[300:500])
    assert (dict(our.vocab), our.min_reduce) == (their.vocab, their.min_reduce)


def odd_score(worda_count, wordb_count, bigram_count, len_vocab, min_count, corpus_word_count):
    return math.sqrt(bigram_count) / (worda_count + wordb_count) * len_vocab - min_count + corpus_word_count % 7


def test_a_scoring_function_of_ones_own_is_called_by_gensims_names():
    our, their = twins(TEXT, min_count=1, threshold=1.0, scoring=odd_score)
    assert_same(our, their)
    assert our.export_phrases()


def test_a_candidate_is_scored_by_itself():
    our, their = twins(TEXT, min_count=2, threshold=1.0, connector_words=theirs.ENGLISH_CONNECTOR_WORDS)
    for candidate in (("new", "york", []), ("bank", "america", ["of", "the"]), ("york", "new", []), ("no", "such", [])):
        assert our.score_candidate(*candidate) == their.score_candidate(*candidate)
        assert our.freeze().score_candidate(*candidate) == their.freeze().score_candidate(*candidate)


def test_threshold_and_min_count_may_be_changed_later():
    our, their = twins(TEXT, min_count=5, threshold=10.0)
    list(our[TEXT])
    for model in (our, their):
        model.threshold, model.min_count = 1.5, 2
    assert_same(our, their)


@pytest.mark.parametrize("name", ["original_scorer", "npmi_scorer"])
def test_scorers_are_gensims(name):
    for counts in ((10, 20, 9, 1000, 5, 5000), (1, 1, 1, 3, 1, 7), (3, 2, 0, 10, 0, 9), (9, 9, 4, 100, 5, 999)):
        assert getattr(ours, name)(*counts) == getattr(theirs, name)(*counts)
    assert getattr(ours, name)(0, 3, 2, 10, 1, 9) == -math.inf  # where gensim's npmi divides by zero


def test_a_pair_that_is_all_of_the_text_scores_the_most():
    assert ours.npmi_scorer(2, 2, bigram_count=2, len_vocab=3, min_count=1, corpus_word_count=2) == 1
    phrases = ours.Phrases([["a_b"], ["a"], ["b"], ["a", "b"]], 1, 0.5, scoring="npmi", progress=False)
    phrases.corpus_word_count = 2
    assert phrases.export_phrases() == {"a_b": 1}


def test_a_joined_corpus_is_a_lazy_stream_that_starts_again():
    frozen = ours.Phrases(TEXT, min_count=2, threshold=1.0, progress=False).freeze()
    joined = frozen[TEXT]
    assert list(joined) == list(joined) and len(joined) == len(TEXT)
    assert joined[5] == frozen[TEXT[5]]
    asked = []

    def endless():
        while True:
            asked.append(1)
            yield ["new", "york"]

    stream = iter(frozen[endless()])
    assert next(stream) == ["new_york"] and len(asked) == 1  # a sentence comes out as soon as it is read
    assert [next(stream) for _ in range(10_000)] == [["new_york"]] * 10_000
    assert list(frozen[(word for word in ["new", "york", "x"])]) == ["new_york", "x"]
    assert list(frozen[(tuple(sentence) for sentence in TEXT)]) == list(joined)
    assert frozen[[]] == []


def test_joining_does_not_change_the_input():
    sentences = [["new", "york"], ["stone"]] * 100
    frozen = ours.Phrases(TEXT, min_count=2, threshold=1.0, progress=False).freeze()
    for sentence in frozen[sentences]:
        sentence.append("more")
    assert sentences == [["new", "york"], ["stone"]] * 100


def test_a_file_counts_and_joins_as_its_sentences_do(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(map(" ".join, TEXT)))
    sentences = [sentence for sentence in TEXT if sentence]
    by_lists = ours.Phrases(sentences, min_count=2, threshold=1.0, progress=False)
    for source in (path, str(path), LineSentence(path)):
        by_file = ours.Phrases(source, min_count=2, threshold=1.0, progress=False)
        assert dict(by_file.vocab) == dict(by_lists.vocab)
        assert by_file.corpus_word_count == by_lists.corpus_word_count
    for model in (by_lists, by_lists.freeze()):
        assert list(model[path]) == list(model[LineSentence(path)]) == list(model[sentences])
        assert model.find_phrases(path) == model.find_phrases(sentences)


def test_a_corpus_class_of_ones_own_is_iterated_over_whatever_it_has(tmp_path):
    class Corpus(LineSentence):
        files = ("not", "what", "it", "seems")

        def __iter__(self):
            return (sentence[::-1] for sentence in TEXT)

    our, their = twins(Corpus(tmp_path / "none.txt"), min_count=1, threshold=0.5)
    assert dict(our.vocab) == their.vocab
    assert list(our[Corpus(tmp_path)]) == list(their[Corpus(tmp_path)])


def test_a_very_long_sentence_is_not_cut():
    sentence = ["new", "york", "x"] * 8_000
    our, their = twins([sentence], min_count=1, threshold=0.1)
    assert dict(our.vocab) == their.vocab
    assert list(our[[sentence]]) == list(their[[sentence]])


def test_an_empty_token_is_not_lost():
    phrases = ours.Phrases(TEXT, progress=False)
    assert phrases[["", "stone", "", ""]] == ["", "stone", "", ""]


def test_saved_and_loaded_phrases_are_the_same(tmp_path):
    options = {"connector_words": ours.ENGLISH_CONNECTOR_WORDS, "scoring": "npmi"}
    phrases = ours.Phrases(TEXT, min_count=2, threshold=0.3, progress=False, **options)
    phrases.save(tmp_path / "all.json")
    phrases.freeze().save(tmp_path / "frozen.json")
    again = ours.Phrases.load(tmp_path / "all.json")
    again.add_vocab(OTHER_TEXT)
    phrases.add_vocab(OTHER_TEXT)
    assert (dict(again.vocab), again.export_phrases()) == (dict(phrases.vocab), phrases.export_phrases())
    frozen = ours.FrozenPhrases.load(tmp_path / "frozen.json")
    assert frozen.phrasegrams == ours.Phrases(TEXT, 2, 0.3, progress=False, **options).freeze().phrasegrams
    assert (frozen.connector_words, frozen.scoring) == (ours.ENGLISH_CONNECTOR_WORDS, ours.npmi_scorer)
    frozen.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "frozen.json").read_bytes()


def test_phrases_of_gensim_can_be_frozen_here():
    their = theirs.Phrases(TEXT, min_count=2, threshold=1.0)
    assert list(ours.FrozenPhrases(their)[TEXT]) == list(their.freeze()[TEXT])


def test_a_function_cannot_be_saved_but_what_it_found_can(tmp_path):
    phrases = ours.Phrases(TEXT, min_count=1, threshold=1.0, scoring=odd_score, progress=False)
    refused(lambda: phrases.save(tmp_path / "p.json"), "freeze", error=OptionError)
    assert not list(tmp_path.iterdir())
    phrases.freeze().save(tmp_path / "p.json")
    assert list(ours.FrozenPhrases.load(tmp_path / "p.json")[TEXT]) == list(phrases.freeze()[TEXT])


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"kind": "frozen"},
        {"vocab": {"a": -1}},
        {"vocab": {"a": "many"}},
        {"vocab": ["a"]},
        {"vocab": {"a": 1 << 70}},
        {"delimiter": ""},
        {"connector_words": "the"},
        {"scoring": None},
        {"scoring": ["npmi"]},
        {"min_count": 0},
        {"corpus_word_count": None},
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, change):
    path = tmp_path / "p.json"
    ours.Phrases(OTHER_TEXT, progress=False).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    refused(lambda: ours.Phrases.load(path), r"p\.json")
    path.write_text(path.read_text()[:-20])
    refused(lambda: ours.Phrases.load(path), r"p\.json is not JSON")
    refused(lambda: ours.FrozenPhrases.load(tmp_path / "none.json"), "none.json", error=FormatError)


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"min_count": 0}, "0"),
        ({"threshold": 0}, "0"),
        ({"threshold": 1.5, "scoring": "npmi"}, "1.5"),
        ({"scoring": "best"}, "best"),
        ({"scoring": lambda worda_count: 1}, "wordb_count, bigram_count"),
        ({"scoring": 3}, "int"),
        ({"delimiter": ""}, "delimiter"),
        ({"delimiter": "\ud800"}, "UTF-8"),
        ({"max_vocab_size": 0}, "0"),
    ],
)
def test_an_impossible_option_is_refused_in_a_sentence(options, number):
    refused(lambda: ours.Phrases(TEXT, progress=False, **options), number, error=OptionError)


def test_sentences_must_be_lists_of_strings():
    refused(lambda: ours.Phrases(["a string"], progress=False), "sentence 0 is a string", error=CorpusError)
    refused(lambda: ours.Phrases([["a", 3]], progress=False), "token 3 is a int", error=CorpusError)
    refused(lambda: ours.Phrases(TEXT, progress=False)["a string"], "split it first", error=OptionError)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=20), st.integers(1, 5)), max_size=60))
def test_a_table_of_strings_counts_as_a_dictionary_does(pairs):
    table, expected = StringTable(places=4), {}
    for text, count in pairs:
        table.add(Strings.from_texts([text]), np.array([count]))
        expected[text] = expected.get(text, 0) + count
    assert table.to_dict() == expected
    assert [table.get_count(text) for text in [*expected, "not there"]] == [*expected.values(), 0]
    assert table.drop_rare(3).to_dict() == {text: count for text, count in expected.items() if count >= 3}


def test_strings_of_equal_hash_stay_different(monkeypatch):
    """Thue and Morse's words collide under every polynomial modulo 2⁶⁴."""
    a, b = "a", "b"
    for _ in range(11):
        a, b = a + b, b + a
    one, other = (Strings.from_texts([text]) for text in (a, b))
    assert hash_bytes(one.data, 0, len(a)) == hash_bytes(other.data, 0, len(b))
    our, their = twins([[a, "x"], [b, "x"], [b, "x"], [a], [b]], min_count=1, threshold=0.01)
    assert dict(our.vocab) == their.vocab
    assert list(our[[[a, "x"], [b, "x"]] * 50]) == list(their[[[a, "x"], [b, "x"]] * 50])


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Run `mumon phrases` in this process, inside tmp_path."""
    import typer
    from typer.testing import CliRunner

    from mumon.cli.phrases import phrases

    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, TEXT)))
    app = typer.Typer()
    app.command()(phrases)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_learns_writes_joins_and_shows(command, tmp_path):
    options = ["--min-count", 2, "--threshold", 1.5, "--connector-words", "english"]
    run = command("text.txt", "-o", "p.json", "--apply", "joined.txt", *options, "--top", 3, "--json")
    assert run.exit_code == 0, run.output
    their = theirs.Phrases(TEXT, 2, 1.5, connector_words=theirs.ENGLISH_CONNECTOR_WORDS)
    expected = their.export_phrases()
    assert ours.FrozenPhrases.load("p.json").phrasegrams == expected
    summary = json.loads(run.stdout.splitlines()[-1])
    assert (summary["phrases"], len(summary["top"])) == (len(expected), 3)
    assert summary["top"][0]["score"] == pytest.approx(max(expected.values()))
    joined = [" ".join(sentence) for sentence in their.freeze()[TEXT] if sentence]
    assert (tmp_path / "joined.txt").read_text().splitlines() == joined


def test_the_command_spares_what_it_reads(command, tmp_path):
    before = (tmp_path / "text.txt").read_bytes()
    for arguments in (["-o", "text.txt"], ["--apply", "text.txt"], ["-o", "a.txt", "--apply", "a.txt"]):
        assert isinstance(command("text.txt", *arguments).exception, OptionError)
    assert (tmp_path / "text.txt").read_bytes() == before and len(list(tmp_path.iterdir())) == 1
    run = command("text.txt", "--scoring", "npmi", "--top", 5)
    assert run.exit_code == 0 and len(run.stdout.splitlines()) == 5
