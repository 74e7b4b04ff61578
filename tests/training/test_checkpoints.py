"""Checkpoints: a run that was stopped goes on as if it had not been, and nothing but the same run does."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mumon import Checkpoints, Vocabulary, Word2Vec, WordVectors
from mumon.corpus import EncodedCorpus, corpus_from_sentences
from mumon.errors import FormatError, MumonError, OptionError, TrainingError
from mumon.formats.checkpoint import STATE_NAME, read_checkpoint
from mumon.training import thread_runner
from mumon.training.checkpoints import Every
from mumon.training.thread_runner import ThreadRunner
from mumon.utils.progress import Progress
from mumon.utils.signals import Interrupted
from tests.conftest import planted_accuracy
from tests.samples import files_of, left_over, refused, small

EPOCHS = 3
KERNELS = {
    f"{'sg' if sg else 'cbow'}-{'exact' if exact else 'fast'}-{'shuffled' if shuffle else 'in order'}": {
        "sg": sg,
        "exact": exact,
        "shuffle": shuffle,
    }
    for sg, exact, shuffle in [(0, False, False), (0, True, True), (1, False, True), (1, True, False)]
}


class Calls(Progress):
    """Calls a function once training has read so many tokens; remembers the notes."""

    def __init__(self, tokens=0, call=None):
        self.tokens, self.call, self.notes = tokens, call, []

    def start(self, stage, total, unit):
        self.stage = stage

    def update(self, done, **fields):
        if self.stage == "training" and done >= self.tokens and self.call is not None:
            call, self.call = self.call, None
            call()

    def note(self, text):
        self.notes.append(text)


@pytest.fixture(autouse=True)
def look_often(monkeypatch):
    monkeypatch.setattr(thread_runner, "POLL_SECONDS", 0.001)


@pytest.fixture(scope="module")
def corpus(planted):
    return corpus_from_sentences(planted)


def stop(signum=signal.SIGINT):
    return lambda: signal.raise_signal(signum)


def trained(corpus, folder, tokens=0, call=None, every="never", resume=False, **options):
    kept = Checkpoints(folder, every, resume=resume)
    return small(corpus, **{"epochs": EPOCHS, **options}, checkpoints=kept, progress=Calls(tokens, call))


def stopped(corpus, folder, tokens, **options):
    with pytest.raises(Interrupted) as caught:
        trained(corpus, folder, tokens, stop(), **options)
    assert caught.value.checkpoint.parent == folder and "--resume" in str(caught.value)
    return caught.value.checkpoint


@pytest.mark.parametrize("kernel", KERNELS)
def test_with_one_thread_a_stopped_run_ends_in_the_same_bytes(corpus, tmp_path, kernel):
    options = KERNELS[kernel]
    small(corpus, **options, epochs=EPOCHS).save(tmp_path / "whole")
    for share in (0.1, 0.5, 0.9):
        stopped(corpus, tmp_path / "kept", share * EPOCHS * corpus.tokens, resume=True, **options)
    model = trained(corpus, tmp_path / "kept", resume=True, **options)
    assert [epoch.tokens for epoch in model.history] == [corpus.tokens] * EPOCHS
    model.save(tmp_path / "resumed")
    whole, resumed = files_of(tmp_path / "whole"), files_of(tmp_path / "resumed")
    losses = [[e["loss"] for e in json.loads(files.pop("history.json"))["epochs"]] for files in (whole, resumed)]
    assert whole == resumed and losses[0] == losses[1]
    assert left_over(tmp_path) == ["resumed", "whole"]  # the checkpoints went when the model was saved


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shares=st.lists(st.floats(0, 0.999), min_size=1, max_size=4), every=st.sampled_from(["never", "9k", "0.01s"]))
def test_wherever_and_however_often_it_is_stopped(corpus, tmp_path, shares, every):
    shutil.rmtree(tmp_path / "kept", ignore_errors=True)
    model = None
    for tokens in (share * EPOCHS * corpus.tokens for share in sorted(shares)):
        with suppress(Interrupted):  # a run that was stopped at its very end has nothing left to be stopped in
            model = trained(corpus, tmp_path / "kept", tokens, stop(), resume=True, every=every)
            break
        assert Checkpoints(tmp_path / "kept").find()
    model = model or trained(corpus, tmp_path / "kept", resume=True, every=every)
    np.testing.assert_array_equal(model.wv.vectors, small(corpus, epochs=EPOCHS).wv.vectors)


def test_with_many_threads_a_stopped_run_learns_as_well(corpus, tmp_path):
    losses = [small(corpus, workers=2, seed=seed).history[-1].loss for seed in range(5)]
    for share in (0.2, 0.6):
        stopped(corpus, tmp_path / "kept", share * 12 * corpus.tokens, resume=True, epochs=12, workers=2)
    model = trained(corpus, tmp_path / "kept", resume=True, epochs=12, workers=3)  # threads may change
    assert planted_accuracy(model.wv) > 0.7
    assert abs(model.history[-1].loss - np.mean(losses)) < 4 * np.std(losses)


def test_continued_training_resumes_too(planted, corpus, tmp_path):
    more = corpus_from_sentences([["topic1.1", "newcomer", "capital1"]] * 3000)
    small(corpus, epochs=1, total_epochs=4).save(tmp_path / "first")

    def go_on(**how):
        model = Word2Vec.load(tmp_path / "first", progress=how.pop("progress", False))
        model.train(more, merge_vocab="union", epochs=2, **how)
        return model

    kept = Checkpoints(tmp_path / "kept", "never", resume=True)
    with pytest.raises(Interrupted):
        go_on(checkpoints=kept, progress=Calls(more.tokens * 3 // 2, stop()))
    resumed, whole = go_on(checkpoints=kept), go_on()
    assert resumed.wv.index_to_key == whole.wv.index_to_key and "newcomer" in resumed.wv
    np.testing.assert_array_equal(resumed.syn1neg, whole.syn1neg)
    assert [epoch.epoch for epoch in resumed.history] == [1, 2, 3]
    assert resumed._run.schedule == whole._run.schedule


CHANGES = {
    "vector_size": ({"vector_size": 25}, r"vector_size 24 where 25 is asked for"),
    "two options": ({"window": 4, "alpha": 0.5}, r"window 10, alpha None where 4, 0\.5 is asked for"),
    "epochs": ({"epochs": 9}, "epochs 3"),
    "objective": ({"sg": 1}, "objective 'cbow'"),
    "min_count": ({"min_count": 2}, "min_count 1"),
    "seed": ({"seed": 2}, "seed 1"),
    "unk": ({"unk": "<unk>"}, "unk None"),
    "vocab": ({"vocab": "words.txt"}, "vocab or from None"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_option_is_refused_by_name(corpus, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("capital1 9\ncountry1 9\n")
    kept = stopped(corpus, tmp_path / "kept", corpus.tokens)
    options, message = CHANGES[case]
    refused(lambda: trained(corpus, tmp_path / "kept", resume=True, **options), message, "--restart", error=OptionError)
    assert kept.exists()


def test_a_changed_vocabulary_is_refused(corpus, tmp_path):
    few, fewer = (Vocabulary.from_counts({f"topic{i}.1": 9 for i in range(count)}) for count in (9, 7))
    stopped(corpus, tmp_path / "kept", corpus.tokens, vocab=few)
    resume = {"resume": True, "folder": tmp_path / "kept"}
    refused(
        lambda: trained(corpus, **resume, vocab=fewer),
        "vocab or from '[0-9a-f]{8}' where '[0-9a-f]{8}'",
        error=OptionError,
    )
    assert len(trained(corpus, **resume, vocab=few).wv) == 9


def test_a_changed_corpus_is_refused_with_the_number_of_its_tokens(planted, corpus, tmp_path):
    stopped(corpus, tmp_path / "kept", corpus.tokens)

    def resume(sentences):
        return lambda: trained(sentences, tmp_path / "kept", resume=True)

    refused(resume([*planted, ["a", "b"]]), "has 42,002 tokens where .* had 42,000", error=OptionError)
    swapped = [planted[1], planted[0], *planted[2:]]
    refused(resume(swapped), "still has 42,000 tokens but they are not those", error=OptionError)
    resume(iter(planted))()  # the same text from elsewhere is the same corpus


def test_an_unfinished_run_is_not_thrown_away_unasked(corpus, tmp_path):
    kept = stopped(corpus, tmp_path / "kept", corpus.tokens)
    refused(lambda: trained(corpus, tmp_path / "kept"), "1 checkpoint of an unfinished run", error=OptionError)
    assert kept.exists()
    anew = Checkpoints(tmp_path / "kept", restart=True)
    with pytest.raises(MumonError):
        Word2Vec(corpus_file=tmp_path / "no such file", checkpoints=anew)
    assert kept.exists()  # a slip must not cost it
    restarted = small(corpus, epochs=1, vector_size=8, checkpoints=anew)
    assert kept.exists()  # it is all there is, until there is something newer
    restarted.save(tmp_path / "m")
    assert left_over(tmp_path) == ["m"]
    refused(lambda: Checkpoints("x", resume=True, restart=True), "one of the two", error=OptionError)


def test_a_new_checkpoint_takes_the_place_of_those_of_a_run_that_was_restarted(corpus, tmp_path):
    for share in (0.3, 0.6):
        stopped(corpus, tmp_path / "kept", share * EPOCHS * corpus.tokens, resume=True)
    with pytest.raises(Interrupted) as caught:
        kept = Checkpoints(tmp_path / "kept", "never", restart=True)
        small(corpus, epochs=9, checkpoints=kept, progress=Calls(corpus.tokens, stop()))
    assert Checkpoints(tmp_path / "kept").find() == [caught.value.checkpoint]
    assert read_checkpoint(caught.value.checkpoint)[1].plan["epochs"] == 9


def test_a_run_restarted_and_stopped_where_the_old_one_was_keeps_its_own_state(corpus, tmp_path):
    end = EPOCHS * corpus.tokens  # where both stop after the last block, whatever the machine does meanwhile
    old = stopped(corpus, tmp_path / "kept", end, seed=1)
    with pytest.raises(Interrupted) as caught:
        kept = Checkpoints(tmp_path / "kept", "never", restart=True)
        small(corpus, epochs=EPOCHS, seed=2, checkpoints=kept, progress=Calls(end, stop()))
    assert caught.value.checkpoint == old and left_over(tmp_path / "kept") == [old.name]
    resumed = trained(corpus, tmp_path / "kept", resume=True, seed=2)
    np.testing.assert_array_equal(resumed.wv.vectors, small(corpus, epochs=EPOCHS, seed=2).wv.vectors)


def test_saving_removes_the_checkpoints_of_that_model_and_no_others(corpus, tmp_path):
    first = trained(corpus, tmp_path / "kept", every="20k")

    def save_first_and_stop():
        first.save(tmp_path / "first")
        signal.raise_signal(signal.SIGINT)

    kept = Checkpoints(tmp_path / "kept", "20k", restart=True)
    with pytest.raises(Interrupted) as caught:
        small(corpus, epochs=9, checkpoints=kept, progress=Calls(2 * corpus.tokens, save_first_and_stop))
    first.save(tmp_path / "first")
    assert caught.value.checkpoint.exists()


def test_a_second_training_of_the_model_begins_a_run_of_its_own(corpus, tmp_path):
    model = trained(corpus, tmp_path / "kept", every="20k", resume=True)
    model.train(corpus, epochs=1)
    model.train(corpus, epochs=1, checkpoints=tmp_path / "kept")
    assert len(model.history) == EPOCHS + 2
    model.save(tmp_path / "m")
    assert left_over(tmp_path) == ["m"]


def test_checkpoints_given_to_the_constructor_are_those_of_the_training_that_follows(corpus, tmp_path):
    model = small(None, checkpoints=Checkpoints(tmp_path / "kept", "20k"))
    model.build_vocab(corpus)
    model.train(corpus)
    assert len(left_over(tmp_path / "kept")) == 2


def test_a_folder_of_the_users_and_what_is_in_it_stay(corpus, tmp_path):
    (tmp_path / "mine" / ".precious.tmp").mkdir(parents=True)
    trained(corpus, tmp_path / "mine").save(tmp_path / "m")
    assert left_over(tmp_path / "mine") == [".precious.tmp"]


@pytest.mark.parametrize("error", [SystemExit(7), BrokenPipeError(), RuntimeError("of a progress bar")])
def test_whatever_ends_a_run_its_state_is_kept(corpus, tmp_path, error):
    def fail():
        raise error

    with pytest.raises(type(error)):
        trained(corpus, tmp_path / "kept", corpus.tokens, fail)
    model = trained(corpus, tmp_path / "kept", resume=True)
    np.testing.assert_array_equal(model.wv.vectors, small(corpus, epochs=EPOCHS).wv.vectors)


def test_after_a_block_that_failed_there_is_no_position_to_keep(corpus, tmp_path, monkeypatch):
    def fail(self, begin, end):
        raise MemoryError

    with pytest.raises(MemoryError):
        reads = lambda: monkeypatch.setattr(EncodedCorpus, "read", fail)  # noqa: E731
        trained(corpus, tmp_path / "kept", corpus.tokens, reads)
    assert not (tmp_path / "kept").exists()


def test_another_model_to_go_on_from_is_refused(corpus, tmp_path):
    models = [small(corpus, epochs=1, seed=seed) for seed in (1, 1)]
    models[1].wv.vectors[3, 3] += 1  # as another training would have it
    for number, model in enumerate(models):
        model.save(tmp_path / f"m{number}")

    def go_on(number, progress=False):
        kept = Checkpoints(tmp_path / "kept", "never", resume=True)
        Word2Vec.load(tmp_path / f"m{number}", progress=progress).train(corpus, epochs=2, checkpoints=kept)

    with pytest.raises(Interrupted):
        go_on(0, Calls(corpus.tokens, stop()))
    refused(lambda: go_on(1), "vocab or from", error=OptionError)
    go_on(0)


def test_the_last_two_are_kept_and_each_is_a_model(corpus, tmp_path):
    seen = []
    kept = tmp_path / "kept"
    look = Calls(0, None)
    look.update = lambda done, **fields: seen.append(sorted(kept.glob("epoch-*")))
    small(corpus, epochs=20, checkpoints=Checkpoints(kept, "50k"), progress=look)
    # 3 for a moment. A busy machine looks less often, but more than there are at a time.
    assert max(map(len, seen)) == 3 and len({path for paths in seen for path in paths}) > 3
    assert len(left_over(kept)) == 2
    newest = Checkpoints(kept).find()[0]
    assert len(WordVectors.load(newest)) == 104
    model = Word2Vec.load(newest, progress=False)
    assert model._run.schedule.done == len(model.history) > 10
    assert planted_accuracy(model.wv) > 0.5


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(corpus, tmp_path):
    for share in (0.3, 0.6):
        stopped(corpus, tmp_path / "kept", share * EPOCHS * corpus.tokens, resume=True)
    newest, before = Checkpoints(tmp_path / "kept").find()
    tensors = newest / "model.safetensors"
    data = bytearray(tensors.read_bytes())
    data[len(data) // 2] ^= 1
    tensors.write_bytes(data)
    progress = Calls()
    model = small(corpus, epochs=EPOCHS, progress=progress, checkpoints=Checkpoints(tmp_path / "kept", resume=True))
    assert any("checksum" in note and before.name in note for note in progress.notes)
    np.testing.assert_array_equal(model.wv.vectors, small(corpus, epochs=EPOCHS).wv.vectors)
    model.save(tmp_path / "m")
    assert left_over(tmp_path) == ["m"]


def damaged_states(state):
    yield "not JSON", "{"
    yield "a list", "[]"
    yield "nested deeply", "[" * 100_000
    yield "another version", json.dumps({**state, "format_version": 99})
    for name in state:
        yield f"without {name}", json.dumps({key: value for key, value in state.items() if key != name})
        if name != "mumon_version":
            yield f"{name} of another kind", json.dumps({**state, name: 1.5})
    yield "negative first epoch", json.dumps({**state, "first_epoch": -1})
    yield "epochs that are not there", json.dumps({**state, "first_epoch": 10**30})
    yield "a file elsewhere", json.dumps({**state, "checksums": {"../model.safetensors": 0}})
    yield "another vocabulary", json.dumps({**state, "vocabulary": "0" * 32})
    for value in (-1, 0.5, None, 10**400, "x"):
        yield f"tally {value!r:.9}", json.dumps({**state, "tally": {**state["tally"], "blocks": value}})
    yield "schedule", json.dumps({**state, "schedule": {"total": 3}})
    yield "no epochs", json.dumps({**state, "plan": {**state["plan"], "epochs": "x"}})


def test_a_damaged_state_is_one_sentence(corpus, tmp_path):
    kept = stopped(corpus, tmp_path / "kept", corpus.tokens)
    state = json.loads((kept / STATE_NAME).read_text())
    read_checkpoint(kept)
    for case, text in damaged_states(state):
        if case == "without mumon_version":
            continue
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "copy")
        (tmp_path / "copy" / kept.name / STATE_NAME).write_text(text)
        try:
            trained(corpus, tmp_path / "copy", resume=True)
        except (FormatError, OptionError) as error:
            assert "\n" not in str(error), case
        else:
            pytest.fail(case)


def test_a_full_disk_costs_a_checkpoint_not_the_run(corpus, tmp_path):
    """The limit on file sizes stands for the disk: it fails in the same place, with the same kind of error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    progress = Calls(1, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard)))
    try:
        model = small(corpus, epochs=EPOCHS, progress=progress, checkpoints=Checkpoints(tmp_path / "kept", "20k"))
        assert any("no checkpoint could be written (File too large); training continues" in n for n in progress.notes)
        assert not (tmp_path / "kept").exists()
        with pytest.raises(Interrupted, match="could not write a checkpoint") as caught:
            trained(corpus, tmp_path / "kept", corpus.tokens, stop())
        assert caught.value.checkpoint is None and left_over(tmp_path) == []
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    np.testing.assert_array_equal(model.wv.vectors, small(corpus, epochs=EPOCHS).wv.vectors)


def test_weights_that_are_not_finite_stop_the_run_and_the_last_good_checkpoint_stays(corpus, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(ThreadRunner, "__init__", _recording(ThreadRunner.__init__, made))

    def spoil():
        made[0].target[3, 3] = np.nan

    with pytest.raises(TrainingError, match=r"stopped being finite.*lower alpha; .*kept.* is the last good state"):
        trained(corpus, tmp_path / "kept", 2 * corpus.tokens, spoil, every="20k")
    good = Checkpoints(tmp_path / "kept").find()[0]
    assert np.isfinite(Word2Vec.load(good, progress=False).syn1neg).all()


def test_weights_that_are_not_finite_are_not_kept_whatever_ends_the_run(corpus, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(ThreadRunner, "__init__", _recording(ThreadRunner.__init__, made))

    def spoil_and_leave():
        made[0].target[3, 3] = np.nan
        raise SystemExit

    with pytest.raises(SystemExit):
        trained(corpus, tmp_path / "kept", 2 * corpus.tokens, spoil_and_leave)
    assert not (tmp_path / "kept").exists()


def _recording(method, made):
    def init(self, *arguments, **options):
        made.append(self)
        method(self, *arguments, **options)

    return init


def test_two_runs_do_not_share_a_folder(corpus, tmp_path):
    def second():
        refused(lambda: trained(corpus, tmp_path / "kept"), "another run is training with", error=OptionError)

    trained(corpus, tmp_path / "kept", corpus.tokens, second)


def test_what_a_killed_run_left_half_written_is_cleared(corpus, tmp_path):
    (tmp_path / "kept" / ".epoch-1-block-3.mumon.tmp").mkdir(parents=True)
    trained(corpus, tmp_path / "kept", epochs=1)
    assert left_over(tmp_path) == []


def test_a_thread_of_the_users_trains_with_checkpoints_and_signals_stay_with_the_main_thread(corpus, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    results = []
    thread = threading.Thread(target=lambda: results.append(trained(corpus, tmp_path / "kept", every="20k")))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(results[0].wv.vectors, small(corpus, epochs=EPOCHS).wv.vectors)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_the_user_handles_is_left_to_the_user(corpus, tmp_path):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append("seen"))
    try:
        trained(corpus, tmp_path / "kept", corpus.tokens, stop(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == ["seen"]


@pytest.mark.parametrize(
    ("text", "seconds", "tokens"),
    [
        ("30s", 30, np.inf),
        ("10m", 600, np.inf),
        (" 1.5 h", 5400, np.inf),
        ("50M", np.inf, 5e7),
        ("never", np.inf, np.inf),
    ],
)
def test_intervals_are_times_or_tokens(text, seconds, tokens):
    assert Every.parse(text) == Every(seconds, tokens)


@pytest.mark.parametrize("text", ["", "10", "0s", "-5m", "10 minutes", "1e3s", "nan", "m"])
def test_an_interval_that_is_neither_is_refused(text):
    refused(lambda: Checkpoints("x", text or "?"), "write a time", error=OptionError)
