"""`mumon paper subwords`: correct and faulty updates with n-grams, on all items and on those of known words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mumon.evaluation.tasks import MEAN
from mumon.experiments.paper import estimate, generated, subwords
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.runs import find_program, train_peer
from mumon.experiments.paper.scales import find_scale
from mumon.experiments.paper.sides import train_sides
from mumon.fasttext import make_model
from mumon.utils.progress import Progress
from mumon.vectors.fasttext_vectors import FastTextVectors

pytestmark = pytest.mark.timeout(300)
BUCKETS = {"bucket": 2000}


def with_unknown_words(task):
    """The same pairs, every third of them with a form of its first word that is not in the text."""
    items = [(first + "zzz", *rest) if i % 3 == 0 else (first, *rest) for i, (first, *rest) in enumerate(task.items)]
    return replace(task, items=tuple(items))


@pytest.fixture
def context(tmp_path):
    text = generated.write_text(tmp_path / "text.txt", sentences=400)
    tasks = [with_unknown_words(task) if task.kind == "similarity" else task for task in generated.make_questions()]
    scale = replace(find_scale("small"), buckets=2000, epochs=2, seeds=2)
    return ExperimentContext(scale, [str(text)], tasks, tmp_path / "cache", 1, Progress())


def test_every_weight_of_a_model_with_ngrams_composes_unknown_words(context):
    part = context.part(None)
    runs = train_sides(context, "CBOW correct, subwords", part, seed=2, alpha=0.3, **BUCKETS)
    options = context.options(alpha=0.3, min_n=3, max_n=6, **BUCKETS)
    model = make_model(part.corpus, seed=2, workers=1, target_weight=1, progress=False, **options)
    task = next(task for task in context.tasks if task.kind == "similarity")
    assert all(run.outcomes[task.name].found.all() for run in runs.values())
    expected = [model.wv.similarity(*item) for item in task.items]
    np.testing.assert_allclose(runs[1.0].outcomes[task.name].values, expected, atol=1e-4)
    assert np.abs(runs[0.0].outcomes[task.name].values - expected).max() > 1e-3


def test_unknown_words_count_as_zero_only_where_there_are_no_ngrams(context, monkeypatch):
    systems = (subwords.WORDS, "CBOW correct, subwords", "CBOW faulty, subwords")
    monkeypatch.setattr(subwords, "OURS", systems)
    monkeypatch.setattr(subwords, "PEERS", ())
    data = subwords.measure(context)
    assert [text["name"] for text in data["texts"]] == ["the corpus"]
    rows = {row["system"]: row for row in data["texts"][0]["rows"]}
    assert list(rows) == list(systems) and all(row["seeds"] == 2 for row in rows.values())
    part, words = context.part(context.scale.table_sentences), rows[subwords.WORDS]
    task = next(task for task in context.tasks if task.kind == "similarity")
    scored = []
    for seed in (2, 3):
        run = train_sides(context, subwords.WORDS, part, seed=seed, alpha=words["rate"], window=5)[words["weight"]]
        outcome, half = run.outcomes[task.name], task.fold("test")
        assert not outcome.values[~outcome.found].any() and 0.5 < outcome.found.mean() < 0.8
        scored.append((outcome.select(half).score(skip_missing=False), outcome.select(half & outcome.found).score()))
    every, known = np.mean(scored, axis=0)
    assert words["all"][task.name]["value"] == pytest.approx(every)
    assert words["known"][task.name]["value"] == pytest.approx(known)
    pair = next(pair for pair in data["texts"][0]["pairs"] if pair["a"] == subwords.WORDS)
    gap = rows[pair["b"]]["all"][MEAN]["value"] - words["all"][MEAN]["value"]
    assert pair["all"][MEAN]["value"] == pytest.approx(gap)


def test_a_german_text_is_measured_beside_the_corpus(context, monkeypatch):
    monkeypatch.setattr(subwords, "OURS", (subwords.WORDS, "SG correct, subwords", "SG faulty, subwords"))
    monkeypatch.setattr(subwords, "PEERS", ())
    asked = []
    german = [replace(task, name=f"de-{task.name}") for task in context.tasks]
    monkeypatch.setattr("mumon.evaluation.load_tasks", lambda names, progress: asked.append(names) or german)
    context.german = context.inputs
    data = subwords.measure(context)
    assert asked == [subwords.GERMAN_TASKS]
    assert [text["name"] for text in data["texts"]] == ["English", "German"]
    assert data["texts"][1]["tasks"] == [task.name for task in german]
    section = subwords.build_section(data)
    assert len({table.name for table in section.tables}) == 4
    assert {"(English)", "(German)"} == {verdict.claim.split()[-1].rstrip(".") for verdict in section.verdicts}
    tokens = [
        sum(each[2] for each in estimate._list_trainings(context.scale, estimate.GENERATED_SIZE, None, 1, 0, more)
            if each[0] == "subwords")
        for more in (0, 1000)
    ]  # fmt: skip
    trainings = 3 * (3 + context.scale.seeds)
    assert tokens[1] - tokens[0] == 1000 * context.scale.epochs * trainings


@pytest.mark.parametrize("system", subwords.PEERS)
def test_peers_keep_their_ngrams(context, system):
    pytest.importorskip({"gensim": "gensim", "fastText": "fasttext"}[find_program(system)])
    vectors = train_peer(system, context.part(None).path, context.options(**BUCKETS), 1, seed=1)
    assert isinstance(vectors, FastTextVectors) and (vectors.min_n, vectors.max_n, vectors.bucket) == (3, 6, 2000)
    known = str(vectors.index_to_key[1])
    assert vectors[known + "zzz"].any() and vectors.vector_size == context.scale.dim
