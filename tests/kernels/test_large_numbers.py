"""Positions, rates and counts beyond 2³¹, 2³² and 2⁵³, without the text that would take: files with holes in them."""

from __future__ import annotations

import json
import math
import os
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from mumon import Word2Vec
from mumon.corpus import corpus_from_files, corpus_from_sentences, encoded
from mumon.corpus import word_table as table
from mumon.corpus.encode import MAX_SENTENCE, CorpusWriter
from mumon.corpus.vocabulary import Vocabulary
from mumon.corpus.word_table import ByteTable, TokenTable, rank_tables
from mumon.errors import CorpusError, OptionError
from mumon.kernels.hash_table import COUNT
from mumon.training.engine import BLOCK_TOKENS, cut_blocks
from mumon.training.rates import compute_default_alpha, find_heaviest_share
from mumon.training.run_state import BlockResult, Epoch, EpochTotals
from mumon.training.sampling import (
    CERTAIN,
    NOISE,
    SAMPLE,
    TYPICAL_SHARE,
    build_alias_table,
    compute_keep_chances,
    compute_noise_distribution,
    compute_row_rates,
    derive_seed,
)
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.thread_runner import ThreadRunner
from mumon.training.trainer import Trainer
from mumon.training.weights import allocate_matrix, fill_initial_rows
from mumon.utils.progress import JsonProgress, Progress

TOKENS = (1 << 32) + (1 << 31) + 12_345
FAR = [(1 << 31) - 5_000, (1 << 32) - 5_000, TOKENS - 25_000]  # about 2³¹, about 2³², and the end


def with_holes(path, size):
    """Make a file of this many zeros that takes no space; skip the test where that is impossible."""
    try:
        for length in (1 << 26, size):  # a small one first: some file systems would write every byte
            path.touch()
            os.truncate(path, length)
            if getattr(path.stat(), "st_blocks", length) * 512 > 1 << 20:
                raise OSError
    except OSError:
        path.unlink()
        pytest.skip(f"this file system cannot hold {size >> 30} GB of unwritten zeros")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """6.4 billion tokens: the word "zero" throughout, but 20,000 others at each of the FAR places."""
    folder = tmp_path_factory.mktemp("large")
    with_holes(folder / "ids.i32", 4 * TOKENS)
    with (folder / "ids.i32").open("r+b") as file:
        for number, begin in enumerate(FAR):
            file.seek(4 * begin)
            file.write(np.tile(np.array([2 * number + 1, 2 * number + 2], np.int32), 10_000))
    np.append(np.arange(0, TOKENS, MAX_SENTENCE), TOKENS).astype(np.int64).tofile(folder / "offsets.i64")
    words = ["zero", "a", "b", "c", "d", "e", "f"]
    counts = np.array([TOKENS - 60_000, *[10_000] * 6], np.int64)
    columns = pa.table({"word": pa.array([word.encode() for word in words], pa.large_binary()), "count": counts})
    with pa.OSFile(str(folder / "words.arrow"), "wb") as sink, pa.ipc.new_file(sink, columns.schema) as writer:
        writer.write_table(columns)
    sentences = -(-TOKENS // MAX_SENTENCE)
    info = {"tokens": TOKENS, "sentences": sentences, "replaced": 0, "inputs": []}
    (folder / encoded.INFO_FILE).write_text(json.dumps(info))
    yield encoded._open(folder, "large", reused=True)
    (folder / "ids.i32").unlink()


class Reports(Progress):
    """What was reported: the total and the last state of a stage."""

    def start(self, stage, total, unit):
        self.total = total

    def update(self, done, **fields):
        self.done, self.fields = done, fields


@pytest.fixture
def trainer(corpus):
    vocabulary = Vocabulary.from_corpus(corpus, min_count=1)
    source, target = allocate_matrix(len(vocabulary), 16), allocate_matrix(len(vocabulary), 16)
    fill_initial_rows(source, 16, np.arange(len(vocabulary)), 1)
    lookup = vocabulary.lookup(corpus)
    runner = ThreadRunner(corpus, lookup, vocabulary.counts, source, target, Settings(sample=0))
    return Trainer(runner, Reports())


# ---- positions


def test_tokens_beyond_2_to_the_32_are_read_where_they_are(corpus):
    assert corpus.tokens == TOKENS and corpus.offsets[-1] == TOKENS
    assert f"{TOKENS:,} tokens" in repr(corpus) and f"{TOKENS:,} tokens" in corpus.notes()[0]
    for number, begin in enumerate(FAR):
        for ids in (corpus.read(begin - 2, begin + 4), corpus.ids[begin - 2 : begin + 4]):
            assert ids.tolist() == [0, 0, *[2 * number + 1, 2 * number + 2] * 2]
        assert corpus.read(begin + 19_999, begin + 20_001).tolist() == [2 * number + 2, 0]


def test_blocks_of_whole_sentences_reach_the_end_whatever_its_number(corpus):
    for offsets in (corpus.offsets, np.array([0, 9, 1 << 31, 1 << 32, 1 << 33, (1 << 33) + 7])):
        bounds = cut_blocks(offsets)
        assert bounds.dtype == np.int64 and bounds[0] == 0 and bounds[-1] == len(offsets) - 1
        assert (np.diff(bounds) > 0).all()
    lengths = np.diff(corpus.offsets[cut_blocks(corpus.offsets)])
    assert lengths.sum() == TOKENS and lengths.max() < BLOCK_TOKENS + MAX_SENTENCE


def test_a_block_beyond_2_to_the_32_trains_the_words_that_stand_there(corpus, trainer):
    runner = trainer.runner
    train = runner.make_block_trainer()
    for number, begin in enumerate(FAR):
        before = runner.source.copy()
        block = int(np.searchsorted(corpus.offsets[runner.bounds], begin + 10_000, side="right")) - 1
        done = train(0, block, 0.05)
        assert type(done.tokens) is int and done.tokens == done.trained > 0 and math.isfinite(done.loss)
        changed = {int(row) for row in np.flatnonzero((runner.source != before).any(axis=1))}
        assert {2 * number + 1, 2 * number + 2} <= changed <= {0, 2 * number + 1, 2 * number + 2}
    before = runner.source.copy()
    train(0, 0, 0.05)
    assert np.flatnonzero((runner.source != before).any(axis=1)).tolist() in ([0], [])


def test_an_epoch_over_the_last_blocks_tells_its_tokens_and_the_progress_of_all(corpus, trainer):
    runner = trainer.runner
    runner.bounds = runner.bounds[-4:]
    epoch, *_ = trainer.run(1, Schedule(0.05, 0.0, 2), first_epoch=1 << 33)
    assert epoch.tokens == TOKENS - corpus.offsets[runner.bounds[0]] and epoch.epoch == (1 << 33) + 1
    trainer.run(2, Schedule(0.05, 0.0, 2))
    assert trainer.progress.total == 2 * TOKENS and trainer.progress.done == 2 * epoch.tokens


def test_progress_writes_large_numbers_as_they_are(capsys):
    progress = JsonProgress(every=0)
    progress.start("training", 3 * TOKENS, "tokens")
    progress.update((1 << 53) + 1, speed=1e9)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0]["total"] == 3 * TOKENS and lines[1]["done"] == (1 << 53) + 1


@pytest.mark.parametrize("start", [(1 << 31) - 3, (1 << 32) - 3, 3 << 32])
def test_a_writer_beyond_2_to_the_32_tokens_cuts_numbers_and_renumbers(tmp_path, start):
    with_holes(tmp_path / "probe", 4 * start)
    writer, tables = CorpusWriter(tmp_path), [ByteTable(), ByteTable()]
    writer.tokens = writer._last_end = start
    writer._ids.seek(4 * start)
    writer.append(0, *tables[0].encode(b"b b a\n\nb "))
    writer.append(1, *tables[1].encode(b"a c\n" + b"c " * 25_000 + b"\n"))
    writer.finish(tables)
    offsets = np.fromfile(tmp_path / "offsets.i64", np.int64)
    long = start + 6
    assert offsets.tolist() == [0, start + 3, long, long + 10_000, long + 20_000, long + 25_000]
    assert writer.tokens == long + 25_000
    with (tmp_path / "ids.i32").open("rb") as file:
        file.seek(4 * start)
        ids = np.frombuffer(file.read(), np.int32)
    assert ids[:8].tolist() == [1, 1, 2, 1, 2, 0, 0, 0] and (ids[8:] == 0).all() and len(ids) == 25_006


# ---- rates and random streams


def test_blocks_and_epochs_beyond_2_to_the_32_have_random_streams_of_their_own():
    edges = [0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 33, 1 << 40, (1 << 62) + 1]
    places = {(1, epoch, block, purpose) for epoch in edges for block in edges for purpose in (SAMPLE, NOISE)}
    assert len({int(derive_seed(*place)) for place in places if place[1] < 1 << 32}) == 5 * len(edges) * 2


def test_ten_million_blocks_have_a_rate_each_down_to_the_last():
    schedule, blocks = Schedule(0.1, 0.001, total=3, done=2), 10**7
    rates = np.array([schedule.rate(ticket / blocks) for ticket in (*range(1000), *range(blocks - 1000, blocks))])
    assert (np.diff(rates) < 0).all() and rates[-1] > schedule.min_alpha
    drop = Fraction(0.1) - Fraction(0.001)
    for ticket in (0, 1, blocks // 3, blocks - 1):
        exact = Fraction(0.1) - drop * (2 + Fraction(ticket, blocks)) / 3
        assert schedule.rate(ticket / blocks) == pytest.approx(float(exact), rel=1e-12)
    assert schedule.rate(1.0) == pytest.approx(0.001, rel=1e-12)


def test_the_default_rate_is_defined_for_any_number_of_tokens():
    assert [compute_default_alpha(Settings(), tokens) for tokens in (1 << 33, 1 << 63, 10**30)] == [0.075] * 3


def test_tallies_count_whole_tokens_beyond_2_to_the_53():
    """The tokens to the last one; the mean loss to the fifteen digits of a float64."""
    totals = EpochTotals()
    totals.add(BlockResult(1 << 53, 1 << 53, 2.5 * (1 << 52), 1 << 52))
    for _ in range(3):
        totals.add(BlockResult(1, 1, 2.5, 1))
    assert totals.tokens == totals.trained == (1 << 53) + 3
    assert totals.mean_loss == pytest.approx(2.5, rel=1e-14)


def test_the_history_keeps_large_numbers():
    epoch = Epoch((1 << 33) + 1, 2.5, 0.05, (1 << 62) + 1, (1 << 61) + 1, 1e9)
    assert Epoch.from_json(json.loads(json.dumps(epoch.to_json()))) == epoch
    assert epoch.tokens_per_second == pytest.approx(2**62 / 1e9)


# ---- counts

LARGE = [(1 << 62) + 1, 1 << 61, 1 << 60, (1 << 53) + 1, (1 << 32) + 1, 1 << 32, 1 << 31, 7, 1, 0]


@pytest.fixture
def vocabulary():
    return Vocabulary.from_counts({f"w{place}": count for place, count in enumerate(LARGE)})


def test_counts_beyond_2_to_the_62_come_back_from_files_and_models(tmp_path, vocabulary):
    assert vocabulary.counts.tolist() == LARGE
    vocabulary.save(tmp_path / "v.txt")
    assert Vocabulary.load(tmp_path / "v.txt").counts.tolist() == LARGE
    model = Word2Vec(vector_size=2, vocab=vocabulary, workers=1, progress=False)
    model._run.tokens_before = 1 << 62
    model.save(tmp_path / "m.mumon")
    loaded = Word2Vec.load(tmp_path / "m.mumon")
    assert loaded.vocabulary.counts.tolist() == loaded.wv.counts.tolist() == LARGE
    assert loaded._run.tokens_before == 1 << 62


def test_counts_that_int64_cannot_hold_are_refused_and_do_not_wrap(vocabulary):
    for count in (1 << 63, 1 << 70):
        with pytest.raises(OptionError, match=rf"the counts come to {count + 1} in all, more than"):
            Vocabulary.from_counts({"a": 1, "b": count})
    corpus = corpus_from_sentences([["a", "b"]])
    with pytest.raises(OptionError, match=f"the counts come to {1 << 63} in all"):
        Vocabulary.from_counts({"a": (1 << 63) - 1}).counted_on(corpus)
    assert Vocabulary.from_counts({"a": (1 << 63) - 2}).counted_on(corpus).counts.tolist() == [(1 << 63) - 1]


def test_a_large_corpus_gives_unk_what_is_left_over(corpus):
    vocabulary = Vocabulary.from_corpus(corpus, min_count=1 << 32, unk="<unk>")
    assert vocabulary.words == ["zero", "<unk>"] and vocabulary.counts.tolist() == [TOKENS - 60_000, 60_000]
    twice = vocabulary.counted_on(corpus)
    assert twice.counts.tolist() == [2 * TOKENS - 120_000, 120_000]


def test_chances_and_rates_are_those_of_exact_arithmetic_though_the_counts_add_up_to_more_than_2_to_the_63():
    larger = [*LARGE[:-1], *LARGE[:3]]
    counts, total = np.array(larger, np.int64), sum(larger)
    assert total > 1 << 63
    shares = [Fraction(count, total) for count in larger]
    ratios = [float(Fraction(1e-3) / share) for share in shares]
    wanted = [min(math.sqrt(ratio) + ratio, 1.0) for ratio in ratios]
    np.testing.assert_allclose(compute_keep_chances(counts, 1e-3) / CERTAIN, wanted, rtol=1e-6)
    rates = [min(float(share / Fraction(TYPICAL_SHARE)) ** -0.25, 4.0) for share in shares]
    np.testing.assert_allclose(compute_row_rates(counts, 0.25), rates, rtol=1e-6)
    kept = [float(share) * chance for share, chance in zip(shares, wanted, strict=True)]
    heaviest = max(k * rate for k, rate in zip(kept, rates, strict=True)) / sum(kept)
    assert find_heaviest_share(counts, 1e-3, 0.25) == pytest.approx(heaviest, rel=1e-6)
    assert compute_default_alpha(Settings(), total, heaviest) == 0.075

    powers = [float(count) ** 0.75 for count in larger]
    noise = compute_noise_distribution(counts, 0.75)
    np.testing.assert_allclose(noise, np.array(powers) / sum(powers), rtol=1e-12)
    drawn = build_alias_table(noise)
    own = drawn[:, 0] / CERTAIN
    implied = own + np.bincount(drawn[:, 1], 1 - own, len(counts))
    np.testing.assert_allclose(implied / len(counts), noise, atol=1e-9)


def test_word_tables_count_and_merge_beyond_2_to_the_32():
    tables = [ByteTable(), ByteTable()]
    for words in tables:
        words.encode(b"a b")
        words.slots[words.slots[:, COUNT] > 0, COUNT] = np.uint64((1 << 61) + 1)
    tables[1].encode(b"b b c")
    assert tables[1].read_counts().tolist() == [(1 << 61) + 1, (1 << 61) + 3, 1]
    words, counts, _ = rank_tables(tables)
    assert words.to_pylist() == [b"b", b"a", b"c"]
    assert counts.tolist() == [(1 << 62) + 4, (1 << 62) + 2, 1]
    lists = TokenTable()
    lists._counts = np.array([1 << 61, 5], np.int64)
    lists.count(lists.encode(["x", "y", "x"]))
    assert rank_tables([lists])[1].tolist() == [(1 << 61) + 2, 6]


@pytest.mark.parametrize("workers", [1, 3])
def test_more_distinct_words_than_ids_can_tell_apart_are_refused(tmp_path, monkeypatch, workers):
    monkeypatch.setattr(table, "MOST_TYPES", 1000)
    words = [f"w{number}" for number in range(1001)]
    (tmp_path / "fits.txt").write_text(" ".join(words[:1000]))
    assert len(corpus_from_files([tmp_path / "fits.txt"], reuse=False, workers=workers).counts) == 1000
    (tmp_path / "all.txt").write_text(" ".join(words))
    (tmp_path / "last.txt").write_text(words[-1])  # so that only the merged tables have too many
    sentence = "the text has more than 1,000 distinct words"
    for files in (["all.txt"], ["fits.txt", "last.txt"]):
        with pytest.raises(CorpusError, match=sentence):
            corpus_from_files([tmp_path / name for name in files], reuse=False, workers=workers)
    assert len(corpus_from_sentences([words[:1000]]).counts) == 1000
    with pytest.raises(CorpusError, match=sentence):
        corpus_from_sentences([[word] for word in words])
