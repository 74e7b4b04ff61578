"""A new objective is a kernel, an equation and a record: this file has all three, and nothing in mumon knows of it.

It is CBOW in which near words count more: h = Σ_j w_j v_j / Σ_j w_j with w_j = 1 / |distance|.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mumon import Checkpoints, Word2Vec
from mumon.errors import OptionError
from mumon.estimate import TrainingPlan, estimate, throughput
from mumon.experiments.sweep.space import list_configurations
from mumon.kernels.jit import kernel
from mumon.kernels.layout import row_bytes
from mumon.kernels.noise import draw_words
from mumon.kernels.numerics import minus_log_sigmoid, sigmoid, source_rate, target_rate
from mumon.kernels.reference import pair_loss
from mumon.training.gradcheck import check_gradients
from mumon.training.objectives import OBJECTIVES, Objective, RateRule, Variant, find_objective
from tests.conftest import planted_accuracy, planted_sentences

ROOT = Path(__file__).parents[2]
NAME = "cbow-near"

# ---- the kernel


@kernel
def near_fast(source, target, ids, left, right, alias, rates, negative, shared, batch, alpha, seed):
    n, columns, real, state = ids.shape[0], source.shape[1], source.dtype.type, seed
    h, dh, noise = np.zeros(columns, source.dtype), np.zeros(columns, source.dtype), np.empty(shared, np.int32)
    loss = 0.0
    for i in range(n):
        if i % batch == 0:
            state = draw_words(alias, state, noise)
        h[:], dh[:], total = 0, 0, real(0)
        for j in range(left[i], right[i]):
            if j != i:
                h += source[ids[j]] * (real(1) / real(abs(j - i)))
                total += real(1) / real(abs(j - i))
        h /= total
        for m in range(-1, shared):
            word = ids[i] if m < 0 else noise[m]
            if m >= 0 and word == ids[i]:
                continue
            score, weight = np.dot(h, target[word]), real(1) if m < 0 else real(negative) / real(shared)
            sign = real(1) if m < 0 else real(-1)
            gradient = alpha * weight * sign * sigmoid(-sign * score)
            loss += weight * minus_log_sigmoid(sign * score)
            dh += gradient * target[word]
            target[word] += target_rate(rates, word) * gradient * h
        for j in range(left[i], right[i]):
            if j != i:
                source[ids[j]] += source_rate(rates, ids[j]) / (real(abs(j - i)) * total) * dh
    return loss, n


@kernel
def near_exact(source, target, ids, left, right, alias, rates, negative, alpha, seed):
    return near_fast(source, target, ids, left, right, alias, rates, negative, negative, 1, alpha, seed)


# ---- the equation


def near_loss(source, target, window, options):
    weights = np.array([1 / abs(offset) for offset in window.offsets])
    h = weights @ source[list(window.context)] / weights.sum()
    return pair_loss(h, target, window.centre, window.noise[0], window.weights)


# ---- the record

NEAR = Objective(
    name=NAME,
    title="CBOW by distance",
    kernel=lambda exact: near_exact if exact else near_fast,
    kernel_switches=lambda options: (),
    window_loss=near_loss,
    pairs=lambda contexts: 1,
    variants=(Variant("CBOW by distance", {}),),
    updates=(),
    unused_options=("update", "cbow_mean"),
    sharing=(8, 4),
    rate_rule=lambda options: RateRule(0.05, 0.2, 0.1, 0.3, safe_crowd=1.5),
    gradients=lambda options, contexts: (1, 1),
    write_delay=lambda options, sentence: 0,
    buffer_bytes=lambda options, columns: 2 * row_bytes(columns) + 4 * options.shared_negatives,
)


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    """Offer the objective as an installed package would: by an entry point, which other processes find, too."""
    package = tmp_path / "packages" / "near-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: near\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[mumon.objectives]\n{NAME} = {__name__}:NEAR\n")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}:{ROOT}:{ROOT / 'src'}")
    yield
    OBJECTIVES.pop(NAME, None)


def near(sentences, **options):
    options = {"vector_size": 24, "min_count": 1, "sample": 0, "epochs": 8, "workers": 1, "progress": False} | options
    return Word2Vec(sentences, objective=NAME, **options)


def test_it_is_found_and_asked_by_name():
    assert find_objective(NAME) is NEAR
    model = Word2Vec(objective=NAME)
    assert (model.settings.shared_negatives, model.settings.batch, model.sg) == (8, 4, 0)
    with pytest.raises(OptionError, match="sg=1 asks for skip-gram and objective='cbow-near' for another"):
        Word2Vec(sg=1, objective=NAME)


def test_its_kernels_take_the_gradient_of_its_equation():
    checks = list(check_gradients(contexts=4, objectives=[NAME]))
    assert [check.kernel for check in checks] == ["exact", "fast"]
    assert all(check.passes for check in checks), checks
    assert {check.objective for check in checks} == {"CBOW by distance"}


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_it_trains_saves_and_loads(exact, tmp_path):
    model = near(planted_sentences(), exact=exact)
    assert planted_accuracy(model.wv) > 0.5
    assert model.history[-1].loss < model.history[0].loss
    model.save(tmp_path / "m.mumon")
    loaded = Word2Vec.load(tmp_path / "m.mumon")
    assert loaded.settings.objective == NAME
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    assert len(loaded.train(planted_sentences(200), epochs=1)) == 1


def test_it_resumes_to_the_same_bytes(tmp_path):
    class Stop:
        def on_epoch_end(self, model):
            if len(model.history) == 2:
                raise SystemExit

    text, options = planted_sentences(800), {"epochs": 4}
    whole = near(text, **options)
    with pytest.raises(SystemExit):
        near(text, callbacks=[Stop()], checkpoints=tmp_path / "kept", **options)
    resumed = near(text, checkpoints=Checkpoints(tmp_path / "kept", resume=True), **options)
    np.testing.assert_array_equal(resumed.wv.vectors, whole.wv.vectors)
    np.testing.assert_array_equal(resumed.syn1neg, whole.syn1neg)


def test_a_sweep_tries_it_beside_others():
    cells = list_configurations({"objective": ["cbow", NAME], "update": ["correct", "faulty"]})
    assert [tuple(cell.values()) for cell in cells] == [("cbow", "correct"), ("cbow", "faulty"), (NAME, "correct")]


def test_it_is_estimated_also_by_the_processes_that_an_estimate_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(throughput, "SECONDS", 0.2)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(sentence) for sentence in planted_sentences(2000)))
    model = Word2Vec(objective=NAME, vector_size=16, min_count=1, workers=1, progress=False)
    found = estimate(TrainingPlan(model, epochs=2, files=[str(text)], merge="new"))
    assert found.seconds["training"] > 0 and found.peak_memory > 0


def test_the_command_line_trains_it(run, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(" ".join(sentence) for sentence in planted_sentences(300)))
    code, _, err = run("train", "text.txt", "-o", "m.mumon", "--objective", NAME, "--min-count", 1, "--dim", 8)
    assert code == 0, err
    assert Word2Vec.load(tmp_path / "m.mumon").settings.objective == NAME
    code, _, err = run("train", "text.txt", "-o", "n.mumon", "--objective", "glove")
    assert code == 1 and "objective is 'glove'; it must be cbow or sg" in err
