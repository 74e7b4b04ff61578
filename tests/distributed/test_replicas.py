"""Replicas without a cluster: what they exchange, how it adds up, who trains what, and that many learn like one."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon import Word2Vec, corpus_from_files, corpus_from_sentences
from mumon.corpus import TextOptions
from mumon.corpus.shards import find_shards
from mumon.distributed import Cluster, parts
from mumon.distributed.replica import Changes, Replica, combine, compute_paces
from mumon.distributed.rounds import TIER_PERIODS, Tiers, choose_sync_every, plan_epoch
from mumon.distributed.simulation import Simulation
from mumon.errors import OptionError
from mumon.kernels import exchange
from mumon.training.engine import Engine
from mumon.training.rates import choose_alpha
from mumon.training.settings import Settings
from mumon.utils.progress import Progress
from tests.conftest import planted_accuracy
from tests.samples import refused

FLOATS = st.floats(-(2.0**99), 2.0**99, width=32, allow_subnormal=False)


def narrowed(values):
    wide = np.array(values, np.float32)
    found = np.empty(len(wide), np.uint16)
    exchange.narrow(wide, found)
    return found


def widened(values):
    wide = np.empty(len(values), np.float32)
    exchange.widen(np.asarray(values, np.uint16), wide)
    return wide


@settings(deadline=None)  # the first call compiles
@given(st.lists(FLOATS, min_size=1, max_size=40))
def test_bfloat16_is_the_nearest_number_of_eight_bits(values):
    wide = np.array(values, np.float32)
    codes = narrowed(wide)
    near = widened(codes).astype(np.float64)
    for step in (-1, 1):  # neither neighbour is nearer
        other = widened((codes.astype(np.int64) + step).clip(0, 0xFFFF).astype(np.uint16)).astype(np.float64)
        usable = np.isfinite(other)
        assert (np.abs(near - wide)[usable] <= np.abs(other - wide)[usable]).all()
    assert (narrowed(near.astype(np.float32)) == codes).all()


def test_ties_go_to_the_even_number():
    assert widened(narrowed([1 + 2**-8, 1 + 3 * 2**-8])).tolist() == [1.0, 1 + 2**-6]


def made_replicas(count=3, words=300, columns=10, seed=0, **options):
    """Replicas that began alike, each with other random changes."""
    random = np.random.default_rng(seed)
    counts = np.sort(random.integers(1, 1000, words))[::-1].copy()
    chosen = Settings(**options)
    start = [np.zeros((words, 16), np.float32) for _ in range(2)]
    for matrix in start:
        matrix[:, :columns] = random.standard_normal((words, columns))
    replicas = [Replica(Engine(counts, *(m.copy() for m in start), chosen), columns) for _ in range(count)]
    for replica in replicas:
        for matrix, updates in zip(replica.current, replica.updates, strict=True):
            touched = random.random(words) < 0.6
            updates[touched] = random.integers(1, 200, touched.sum())
            matrix[touched, :columns] += random.standard_normal((touched.sum(), columns)) * 0.1
    return replicas


def phi(x):
    return (1 - np.exp(-x)) / x


def naive(replicas, alpha):
    """The result of `combine`, one row after the other, in float64."""
    totals = []
    for which, pace in enumerate(compute_paces(replicas[0].engine, alpha, 1)):
        total = np.zeros((len(pace), replicas[0].columns))
        for row, c in enumerate(pace.astype(float)):
            n = [float(r.updates[which][row]) for r in replicas]
            for r, own in zip(replicas, n, strict=True):
                change = (r.current[which] - r.agreed[which])[row, : r.columns].astype(float)
                if own:
                    total[row] += change * phi(c * sum(n)) / phi(c * own)
        totals.append(total)
    return totals


@pytest.mark.parametrize("shares", [1, 2, 3])
def test_changes_add_up_as_the_formula_says_with_any_number_of_shares(shares):
    replicas, alpha = made_replicas(), 0.2
    expected = naive(replicas, alpha)
    before = [matrix.copy() for matrix in replicas[0].agreed]
    words = len(before[0])
    sent = [replica.take_changes(words, shares, alpha, 1) for replica in replicas]
    pace = compute_paces(replicas[0].engine, alpha, 1)
    combined = [combine([s[share] for s in sent], share, shares, words, pace) for share in range(shares)]
    for replica in replicas:
        replica.apply(combined)
    for old, new, total in zip(before, replicas[0].agreed, expected, strict=True):
        assert np.allclose(new[:, :10] - old[:, :10], total, rtol=2e-2, atol=2e-2 * np.abs(total).max())
    for replica in replicas[1:]:
        for mine, theirs in zip(replica.agreed, replicas[0].agreed, strict=True):
            assert (mine == theirs).all()  # to the bit: else they would drift apart


def test_few_updates_add_up_and_many_are_averaged_by_their_number():
    damp = [phi(1e-9 * 3) / phi(1e-9), phi(1e9 * 4) / phi(1e9 * 1), phi(1e9 * 4) / phi(1e9 * 3)]
    assert damp == pytest.approx([1, 1 / 4, 3 / 4])


def test_what_rounding_leaves_out_is_sent_the_next_time():
    [replica] = made_replicas(1)
    words, wanted = len(replica.agreed[0]), [matrix.copy() for matrix in replica.current]
    gaps = []
    for _ in range(3):
        sent = replica.take_changes(words, 1, 0.2, 1)
        replica.apply([combine(sent, 0, 1, words, compute_paces(replica.engine, 0.2, 1))])
        gaps.append(max(float(np.abs(a - c).max()) for a, c in zip(replica.agreed, replica.current, strict=True)))
    assert gaps[0] > 1e-5 and gaps[2] < gaps[0] / 50
    for current, was in zip(replica.current, wanted, strict=True):  # alone, it is disturbed by rounding only
        assert np.abs(current - was).max() < 2**-7 * 0.5


def test_only_changed_rows_travel_and_only_those_asked_for():
    [replica] = made_replicas(1)
    changed = [np.flatnonzero((c != a).any(1)) for c, a in zip(replica.current, replica.agreed, strict=True)]
    [both] = replica.take_changes(20, 1, 0.1, 1)
    for changes, rows in zip(both, changed, strict=True):
        assert changes.rows.tolist() == [row for row in rows if row < 20] and changes.values.dtype == np.uint16
        assert changes.nbytes == len(changes.rows) * (4 + 4 + 2 * 10)


def test_changes_that_did_not_arrive_are_sent_again():
    one, other = made_replicas(1)[0], made_replicas(1)[0]
    one.take_changes(300, 2, 0.1, 1)
    one.withdraw()
    for again, first in zip(one.take_changes(300, 1, 0.1, 1)[0], other.take_changes(300, 1, 0.1, 1)[0], strict=True):
        assert (again.rows == first.rows).all() and (again.updates == first.updates).all()
        assert (again.values == first.values).all()


def test_a_replica_that_missed_an_exchange_ends_where_the_others_are():
    replicas = made_replicas(2)
    sent = [replica.take_changes(300, 1, 0.2, 1)[0] for replica in replicas]
    combined = [combine(sent, 0, 1, 300, compute_paces(replicas[0].engine, 0.2, 1))]
    late = replicas[1]
    late.current[0][3, :10] += 1  # trained since it sent
    replicas[0].apply(combined)
    late.adopt(tuple(matrix[:, :10] for matrix in replicas[0].agreed))
    twin = made_replicas(2)[1]
    twin.take_changes(300, 1, 0.2, 1)
    twin.current[0][3, :10] += 1
    twin.apply(combined)
    for which in range(2):
        assert np.allclose(late.agreed[which], twin.agreed[which], atol=1e-6)
        assert np.allclose(late.current[which], twin.current[which], atol=1e-5)


def test_updates_of_rows_are_counted_as_they_are_trained(planted):
    model = Word2Vec(vector_size=16, min_count=1, sample=0, workers=1, progress=False)
    corpus = corpus_from_sentences(planted[:200])
    model.build_vocab(corpus)
    vocabulary = model.vocabulary
    replica = Replica(Engine(vocabulary.counts, model._state.source, model._state.target, model.settings), 16)
    replica.make_block_trainer(corpus, vocabulary.lookup(corpus), np.array([0, corpus.sentences]))(0, 0, 0.1)
    [(source, target)] = replica.take_changes(len(vocabulary), 1, 0.1, 1)
    assert dict(zip(source.rows.tolist(), source.updates.tolist(), strict=True)) == dict(enumerate(vocabulary.counts))
    noise = replica.engine.noise[target.rows] * model.negative * corpus.tokens
    assert np.allclose(target.updates, vocabulary.counts[target.rows] + noise, rtol=1e-4)


BLOCKS = st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=12), min_size=1, max_size=9)


@given(BLOCKS, st.integers(1, 5), st.integers(1, 200))
def test_a_plan_has_every_block_once(blocks, lanes, period):
    plan = plan_epoch([np.array(piece) for piece in blocks], lanes, period)
    dealt = [(stretch.part, block) for stretch in plan for block in range(stretch.first, stretch.last)]
    assert sorted(dealt) == [(piece, block) for piece, own in enumerate(blocks) for block in range(len(own))]
    assert [s.before for s in plan] == np.cumsum([0, *(s.tokens for s in plan)])[:-1].tolist()
    assert all(s.tokens == sum(blocks[s.part][s.first : s.last]) > 0 for s in plan)


def test_nodes_take_turns_on_different_parts():
    plan = plan_epoch([np.full(8, 10)] * 4, lanes=2, sync_every=20)
    assert [s.part for s in plan] == [0, 1] * 4 + [2, 3] * 4


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(1, 10**6))
def test_every_row_is_exchanged_and_frequent_ones_more_often(counts, period):
    tiers = Tiers.from_counts(np.sort(np.array(counts, np.int64))[::-1], 1e-3, period)
    exchanged = [tiers.rows_after(number) for number in range(2 * TIER_PERIODS[-1])]
    assert exchanged[TIER_PERIODS[-1] - 1] == exchanged[2 * TIER_PERIODS[-1] - 1] == len(counts)
    assert list(tiers.ends) == sorted(tiers.ends)
    assert exchanged.count(len(counts)) >= 2 and min(exchanged) == tiers.ends[0]


def test_more_nodes_exchange_sooner_and_large_vocabularies_later():
    few, many = (choose_sync_every(80_000, 10**7, nodes, workers=4) for nodes in (2, 64))
    assert few > many
    assert (
        choose_sync_every(5_000_000, 10**11, 8, 4)
        > choose_sync_every(80_000, 10**11, 8, 4)
        > choose_sync_every(80_000, 10**11, 8, 1)
    )


def simulated(sentences, replicas, period=600, **options):
    model = Word2Vec(vector_size=24, min_count=1, sample=0, epochs=8, workers=1, progress=False, **options)
    corpus = corpus_from_sentences(sentences)
    model.build_vocab(corpus)
    vocabulary, lookup = model.vocabulary, model.vocabulary.lookup(corpus)
    schedule = model._run.schedule
    tokens = schedule.total * corpus.tokens
    alpha = choose_alpha(model.settings, tokens, corpus, vocabulary.counts, lookup)
    schedule = replace(schedule, alpha=alpha)
    matrices = model._state.source, model._state.target
    simulation = Simulation(corpus, lookup, vocabulary.counts, *matrices, 24, model.settings, replicas, period)
    simulation.run(8, replace(schedule, total=8), Progress())
    model.wv.fill_norms(force=True)
    return model, simulation


@pytest.mark.parametrize(("replicas", "sg"), [(2, 0), (4, 0), (2, 1)])
def test_replicas_learn_what_one_process_learns(planted, replicas, sg):
    model, simulation = simulated(planted, replicas, sg=sg)
    assert planted_accuracy(model.wv) > 0.9
    for replica in simulation.replicas:  # after the last exchange they agree, but for rounding
        assert np.allclose(replica.current[0], replica.agreed[0], atol=0.05)


def test_parts_of_shards_hold_the_text_of_the_files_and_their_words_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_TOKENS", 300)
    random = np.random.default_rng(1)
    lines = [" ".join(f"w{i}" for i in random.zipf(1.5, random.integers(0, 9)).clip(max=500)) for _ in range(900)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines))
    found, tables = [], []
    for shard in find_shards([path], size=4000):
        emitted = list(parts.encode_shard(shard, TextOptions()))
        for words, data, metadata in zip(emitted[::3], emitted[1::3], emitted[2::3], strict=True):
            names = [word.decode() for word in words.column("word").to_pylist()]
            found += [[names[i] for i in data.ids[a:b]] for a, b in zip(data.offsets, data.offsets[1:], strict=False)]
            assert metadata.tokens == len(data.ids) == metadata.blocks.sum()
            assert metadata.tokens == words.column("count").to_numpy().sum()
            tables.append(words)
    assert found == [line.split() for line in lines if line]
    merged = parts.merge_words(parts.merge_words(*tables[:3]), *tables[3:])
    counted = Counter(word for line in lines for word in line.split())
    assert (
        dict(zip([w.decode() for w in merged["word"].to_pylist()], merged["count"].to_pylist(), strict=True)) == counted
    )
    assert len(tables) > 4


def test_a_corpus_is_cut_into_parts_without_losing_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_TOKENS", 50)
    corpus = corpus_from_sentences([["a"] * n for n in range(1, 30)])
    cut = list(parts.cut_corpus(corpus))
    assert [int(n) for data in cut for n in np.diff(data.offsets)] == list(range(1, 30)) and len(cut) > 5


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_an_empty_exchange_changes_nothing(seed, shares):
    [replica] = made_replicas(1, seed=seed)
    for current, agreed in zip(replica.current, replica.agreed, strict=True):
        current[:] = agreed
    parts_ = replica.take_changes(300, shares, 0.1, 1)
    assert all(isinstance(c, Changes) and not len(c.rows) for both in parts_ for c in both)
    combined = [combine([p], s, shares, 300, compute_paces(replica.engine, 0.1, 1)) for s, p in enumerate(parts_)]
    before = [matrix.copy() for matrix in replica.current]
    replica.apply(combined)
    assert all((a == b).all() for a, b in zip(before, replica.current, strict=True))


def test_files_and_sentences_are_read_alike(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("the cat sat\nthe dog sat\n")
    corpus = corpus_from_files([path], reuse=False)
    [data] = parts.cut_corpus(corpus)
    metadata = parts.describe_part(data, corpus.words)
    assert (metadata.tokens, metadata.sentences, metadata.squares) == (6, 2, 18.0)


def test_another_word_makes_another_part(tmp_path):
    digests = []
    for word in ("dog", "emu"):
        corpus = corpus_from_sentences([["the", "cat"]] * 5000 + [["a", word]] * 2)
        [data] = parts.cut_corpus(corpus)
        digests.append(parts.describe_part(data, corpus.words).digest)
    assert digests[0] != digests[1]


def test_threads_exchange_what_one_thread_exchanges():
    with ThreadPoolExecutor(4) as pool:
        one, other = made_replicas(2), made_replicas(2)
        for replica in other:
            replica._map = pool.map
        for replicas in (one, other):
            sent = [replica.take_changes(300, 3, 0.2, 2) for replica in replicas]
            pace = compute_paces(replicas[0].engine, 0.2, 2)
            combined = [combine([s[share] for s in sent], share, 3, 300, pace) for share in range(3)]
            for replica in replicas:
                replica.apply(combined)
    for mine, theirs in zip(one, other, strict=True):
        assert all(
            (a == b).all() for a, b in zip(mine.current + mine.agreed, theirs.current + theirs.agreed, strict=True)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "spark"}, "backend is 'spark'"),
        ({"backend": "ray", "matrices": "disk"}, "keep 2 matrices in memory"),
    ],
)
def test_a_backend_that_cannot_be_is_refused_at_once(options, message):
    refused(lambda: Word2Vec(**options), message, error=OptionError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": ""}, "address of the cluster is ''"),
        ({"address": "ray://head:10001"}, "ray job submit"),
        ({"nodes": 0}, "nodes"),
        ({"workers": 0}, "workers"),
        ({"grace": -1.0}, "grace"),
        ({"sync_every": 1.5}, "sync_every"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(options, message):
    refused(lambda: Cluster(**options), message, error=OptionError)


def test_a_loaded_model_brings_no_threads_to_a_cluster(tmp_path, planted):
    Word2Vec(planted[:50], vector_size=4, min_count=1, workers=1, progress=False).save(tmp_path / "m")
    model = Word2Vec.load(tmp_path / "m")
    model.backend = "ray"
    assert model._make_backend().cluster.workers is None
    assert Word2Vec(workers=3, backend="ray")._make_backend().cluster.workers == 3
