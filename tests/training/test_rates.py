"""Learning rates: the rule that chooses one, the rates of single rows, and that neither runs away."""

from __future__ import annotations

import numpy as np
import pytest

from mumon import Vocabulary, Word2Vec, corpus_from_sentences, random_walks
from mumon.cli.demo import read_documentation
from mumon.errors import MumonError, OptionError, TrainingError
from mumon.training import trainer as training
from mumon.training.rates import choose_alpha, compute_default_alpha
from mumon.training.sampling import MOST_RATE, compute_row_rates
from tests.samples import small

OBJECTIVES = {"correct": {}, "faulty": {"update": "faulty"}, "sg": {"sg": 1}, "sum": {"cbow_mean": 0}}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_rule_never_raises_the_rate_with_more_tokens_and_ends_at_the_papers(objective):
    settings = Word2Vec(**OBJECTIVES[objective]).settings
    rates = [compute_default_alpha(settings, 10**power) for power in range(13)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == (0.075 if objective == "correct" else 0.025)
    assert max(rates) <= 0.6


def test_without_a_rate_the_rule_chooses_by_all_tokens_of_the_models_life(planted, tmp_path):
    model = small(planted[:500], epochs=2, total_epochs=4)
    corpus, words = corpus_from_sentences(planted[:500]), model.vocabulary
    assert model.alpha == choose_alpha(model.settings, 4 * 3500, corpus, words.counts, words.lookup(corpus))
    assert model.history[0].alpha == pytest.approx(model.alpha * 0.75, rel=0.01)
    model.save(tmp_path / "m")
    assert Word2Vec.load(tmp_path / "m", progress=False).alpha == model.alpha
    model.train(planted[:500])
    model._run.tokens_before = 10**12  # as if it had seen much more
    model.train(planted[:500], epochs=1)
    assert model.alpha == 0.075
    assert Word2Vec().alpha is None and Word2Vec(alpha=0.03).alpha == 0.03


def test_a_rate_set_before_training_is_the_rate_of_training(planted):
    model = small(None, epochs=1)
    model.build_vocab(planted[:100])
    model.alpha = 0.01
    model.train(planted[:100])
    assert model.alpha == 0.01 and model.history[0].alpha < 0.01
    with pytest.raises(OptionError, match="alpha"):
        model.alpha = -1


def test_a_failed_training_leaves_the_schedule_as_it_was(planted):
    model = small(planted[:100], epochs=1)
    with pytest.raises(MumonError):
        model.train(corpus_file="nowhere.txt", start_alpha=0.9)
    assert model.train(planted[:100])[0].alpha < 0.5


def test_rare_words_take_larger_steps_and_exact_training_treats_all_alike():
    counts = np.array([10**8, 1000, 5, 0])
    rates = compute_row_rates(counts, 0.25)
    assert (np.diff(rates) >= 0).all() and rates[-1] == MOST_RATE and rates[0] < 0.1
    assert compute_row_rates(counts, 0).tolist() == [1, 1, 1, 1]
    assert compute_row_rates(np.array([50, 100]), 0.25)[0] == 1  # among few words, the rarest learns at alpha
    exponents = [Word2Vec(**o).settings.row_exponent for o in ({}, {"sg": 1}, {"exact": True}, {"rate_exponent": 0.1})]
    assert exponents == [0.25, 0.25, 0, 0.1]


def test_vectors_of_unknown_origin_are_trained_on_at_the_rate_of_a_large_corpus(planted, tmp_path):
    wv = small(planted[:300], epochs=1).wv
    model = Word2Vec.from_vectors(wv, workers=1, min_count=1, epochs=1, progress=False)
    model.train(planted[:300])
    assert model.alpha == pytest.approx(compute_default_alpha(model.settings, 10**9), rel=1e-3)
    model.save(tmp_path / "m")
    loaded = Word2Vec.load(tmp_path / "m", progress=False)
    loaded.train(planted[:300])
    assert loaded.alpha == pytest.approx(model.alpha, rel=1e-3)


def test_a_loss_that_ran_away_is_an_error_even_if_it_is_finite(planted, monkeypatch):
    monkeypatch.setattr(training, "RUNAWAY_LOSS", 0.1)
    with pytest.raises(TrainingError, match="no training; start from a lower alpha"):
        small(planted[:100], epochs=1)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("words", "zipf", "options"),
    [
        (3, 0, {}),
        (10, 0, {}),
        (30, 2, {}),
        (100, 1, {}),
        (300, 1, {"batch": 1024}),
        (10, 0, {"window": 20, "shrink_windows": False}),
        (50, 0, {"window": 1000}),
    ],
)
def test_the_rule_is_safe_for_texts_of_few_words(objective, words, zipf, options):
    random = np.random.default_rng(0)
    chances = 1 / np.arange(1, words + 1) ** zipf
    text = random.choice(words, size=(1000, 12), p=chances / chances.sum())
    sentences = [[f"w{word}" for word in sentence] for sentence in text]
    model = small(sentences, epochs=3, **OBJECTIVES[objective], **options)
    assert model.history[-1].loss < model.history[0].loss * 1.05 and model.wv.norms.max() < 20


RANDOM = np.random.default_rng(0)
GRAPHS = {
    "ring": [(node, (node + 1) % 30) for node in range(30)],
    "path": [(node, node + 1) for node in range(999)],
    "tree": [(int(RANDOM.integers(node)), node) for node in range(1, 1000)],
    "star": [(0, node) for node in range(1, 300)],
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("window", [5, 10])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_rule_is_safe_for_walks_that_soon_come_back(objective, window, graph):
    """Their words are rare in the whole text and crowd in every part of it."""
    walks = random_walks(GRAPHS[graph], 10, 40, workers=1)
    model = small(walks, epochs=3, window=window, **OBJECTIVES[objective])
    assert model.history[-1].loss < model.history[0].loss and model.wv.norms.max() < 15


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("negative", [15, 60])
@pytest.mark.parametrize("items", [10, 50])
def test_the_rule_is_safe_for_many_noise_words(objective, negative, items):
    sessions = RANDOM.integers(0, 2000 // items, (500, 1)) * items + RANDOM.integers(0, items, (500, 50))
    model = small(sessions, epochs=3, negative=negative, **OBJECTIVES[objective])
    assert model.history[-1].loss < model.history[0].loss and model.wv.norms.max() < 15


@pytest.fixture(scope="module")
def ordinary():
    return corpus_from_sentences(read_documentation())


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_ordinary_text_keeps_the_rate_that_was_fitted_on_ordinary_text(objective, ordinary):
    corpus = ordinary
    words = Vocabulary.from_corpus(corpus)
    settings, tokens = Word2Vec(**OBJECTIVES[objective]).settings, 5 * corpus.tokens
    chosen = choose_alpha(settings, tokens, corpus, words.counts, words.lookup(corpus))
    assert chosen == compute_default_alpha(settings, tokens, sentence=corpus.usual_length)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("window", [5, 40])
def test_the_rule_is_safe_for_wide_windows_over_long_lines(objective, window):
    """Nothing cuts these windows short: a word has all its C contexts, and skip-gram takes them in one step."""
    random = np.random.default_rng(0)
    topics = random.integers(0, 40, (100, 1)) * 50 + random.integers(0, 50, (100, 1000))  # a line keeps to 50 words
    sentences = [[f"w{word}" for word in line] for line in topics]
    model = small(sentences, epochs=3, window=window, **OBJECTIVES[objective])
    assert model.history[-1].loss < model.history[0].loss and model.wv.norms.max() < 30
