"""Training on a Ray cluster is as good as on one machine, and no part of the text is left untrained if nodes are lost.

The cluster has two nodes of one CPU, both on this machine. The matrices themselves show what was trained: a test node
marks each block in a frequent and in a rare row, so that a lost stretch would be a missing mark.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

from mumon import Checkpoints, Word2Vec, corpus_from_files
from mumon.distributed import Cluster, node_pool
from mumon.distributed.epoch import ClusterEpoch
from mumon.errors import CorpusError, OptionError, TrainingError
from mumon.training.engine import cut_blocks
from mumon.utils.progress import Progress
from mumon.utils.signals import Interrupted
from tests.conftest import planted_accuracy, planted_sentences
from tests.samples import refused

ray = pytest.importorskip("ray", reason="training on a cluster needs ray")

DIM, FILES, SYNC = 24, 6, 1024
# Marks are counted in source rows, so the vectors are these.
OPTIONS = {"vector_size": DIM, "min_count": 1, "sample": 0, "epochs": 2, "target_weight": 0}
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
GRACE = 30


class Calls(Progress):
    """Calls a function when a stage has done `at` units; remembers the notes, and which nodes reported."""

    def __init__(self, at=0, call=None, stage="training"):
        self.at, self.call, self.when, self.notes, self.nodes = at, call, stage, [], set()

    def start(self, stage, total, unit):
        self.stage = stage
        self._reach(0)

    def update(self, done, **fields):
        self._reach(done)

    def update_node(self, name, done, share, speed):
        if done:
            self.nodes.add(name)

    def note(self, text):
        self.notes.append(text)

    def _reach(self, done):
        if self.stage == self.when and done >= self.at and self.call is not None:
            call, self.call = self.call, None
            call()


class Machines:
    """Two nodes, the second of which can be killed and added again."""

    def __init__(self, folder):
        from ray.cluster_utils import Cluster as Nodes

        head = {**NODE, "temp_dir": folder, "include_dashboard": False}
        self._nodes = Nodes(initialize_head=True, head_node_args=head, shutdown_at_exit=False)
        self.address, self.second = self._nodes.address, None

    def kill(self):
        if self.second is not None:
            self._nodes.remove_node(self.second, allow_graceful=False)
            self.second = None
            self.notice()  # or a short training may be over before Ray has noticed

    def add(self):
        if self.second is None:
            self.second = self._nodes.add_node(**NODE)
            self._nodes.wait_for_nodes()

    def notice(self):
        """Wait until Ray knows which nodes are alive."""
        until = time.monotonic() + 60
        while sum(node["Alive"] for node in ray.nodes()) != 1 + (self.second is not None):
            assert time.monotonic() < until
            time.sleep(0.1)

    def shutdown(self):
        ray.shutdown()
        self._nodes.shutdown()


@pytest.fixture(scope="module")
def machines(own_cache):
    from mumon.kernels import jit

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(jit.cache_directory().parent))  # compiled kernels, which nodes inherit
        patch.setenv("RAY_IGNORE_UNHANDLED_ERRORS", "1")
        folder = tempfile.mkdtemp(prefix="ray-")  # short: it becomes part of the names of sockets
        both = Machines(folder)
        try:
            both.add()
            ray.init(address=both.address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
            yield both
        finally:
            both.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(machines):
    """Both nodes, whatever the test before has done to them."""
    machines.add()
    machines.notice()
    return machines


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The planted language, and words so rare that their rows are exchanged in one round of 16."""
    sentences = planted_sentences(4800) + [[f"rare{i}", f"rare{i + 1}"] for i in range(0, 80, 2)]
    folder = tmp_path_factory.mktemp("text")
    for i in range(FILES):
        (folder / f"{i}.txt").write_text("\n".join(map(" ".join, sentences[i::FILES])) + "\n")
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def fresh(files):
    """A model before training, made on one machine."""
    model = Word2Vec(**OPTIONS, progress=False)
    model.build_vocab(corpus_file=files)
    return model


@pytest.fixture
def started(monkeypatch):
    """The nodes of a training, in the order in which they were started."""
    nodes, start = [], node_pool.NodePool._start_node
    monkeypatch.setattr(node_pool.NodePool, "_start_node", lambda self: nodes.append(start(self)) or nodes[-1])
    return nodes


def on(**options):
    return Cluster(sync_every=SYNC, grace=GRACE, **options)


def trained(text, backend=None, **options):
    corpus = {"corpus_file": text} if isinstance(text[0], os.PathLike) else {"sentences": text}
    return Word2Vec(**corpus, **{"progress": False, **OPTIONS, **options}, backend=backend or on())


def kill(*nodes):
    for node in nodes:
        ray.kill(node.actor, no_restart=False)  # as when a process dies: Ray restarts it


def are_gone(nodes):
    for node in nodes:
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(node.actor.ping.remote(), timeout=60)
    return True


def witness():
    """A node trainer that marks each block instead of training it. Made in a function, so that Ray sends its code."""
    from mumon.distributed.node_trainer import NodeTrainer

    class Witness(NodeTrainer):
        def _train_stretch(self, task, part):
            from mumon.training.run_state import BlockResult

            if task.stretch is None:
                return None
            self._open_part(part)
            for block in range(part[2] + task.stretch.first, part[2] + task.stretch.last):
                row, column = divmod(block, self._replica.columns)
                for matrix in self._replica.current:
                    matrix[row, column] += 1
                    matrix[-1 - row, column] += 1
            tokens = task.stretch.tokens
            return BlockResult(tokens, tokens, float(tokens), tokens)

    return Witness


@pytest.fixture
def marked(monkeypatch, files, fresh):
    """Train with marks, and return how often each block was trained, from its marks in frequent and in rare rows."""
    monkeypatch.setattr(node_pool, "NodeTrainer", witness())
    blocks = sum(len(cut_blocks(corpus_from_files([file], progress=False).offsets)) - 1 for file in files)
    rows, columns = np.divmod(np.arange(blocks), DIM)

    def train(**options):
        model = trained(files, **options)
        assert [epoch.tokens for epoch in model.history] == [fresh.corpus_total_words] * model.epochs
        pairs = (model.wv.vectors, fresh.wv.vectors), (model.syn1neg, fresh.syn1neg)
        changes = [after - before for after, before in pairs]
        return np.round([change[place, columns] for change in changes for place in (rows, -1 - rows)], 2)

    return train


def test_a_cluster_learns_what_one_machine_learns(cluster, files, started, tmp_path):
    one = Word2Vec(corpus_file=files, **{**OPTIONS, "epochs": 5}, workers=1, progress=False)
    model = trained(files, epochs=5)
    assert model.wv.index_to_key == one.wv.index_to_key
    assert model.vocabulary.counts.tolist() == one.vocabulary.counts.tolist()
    for seen in ("epoch", "tokens", "trained_tokens", "alpha"):
        assert [getattr(e, seen) for e in model.history] == [getattr(e, seen) for e in one.history]
    assert planted_accuracy(model.wv) > planted_accuracy(one.wv) - 0.05
    assert are_gone(started) and len(started) == 2
    model.save(tmp_path / "m")
    loaded = Word2Vec.load(tmp_path / "m", progress=False)
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    loaded.train(corpus_file=files, epochs=1)
    assert len(loaded.history) == 6 and loaded.history[-1].loss < model.history[0].loss


@contextlib.contextmanager
def before_flush(act):
    """Do something once, just before the nodes exchange everything."""
    flush, left = ClusterEpoch.flush, [act]

    def acting(self):
        if left:
            left.pop()()
        flush(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterEpoch, "flush", acting)
        yield


@pytest.mark.parametrize("who", [[0], [0, 1]], ids=["one", "both"])
def test_a_killed_node_leaves_no_block_untrained(cluster, marked, started, fresh, who):
    seen = Calls(0.6 * fresh.corpus_total_words, lambda: kill(*(started[i] for i in who)))
    counts = marked(progress=seen)
    assert (counts >= 2).all() and counts.max() <= 3
    assert [note for note in seen.notes if "lost" in note]


def test_nodes_killed_as_an_epoch_ends_leave_no_block_untrained(cluster, marked, started):
    seen = Calls()
    with before_flush(lambda: kill(*started)):
        assert (marked(progress=seen) >= 2).all()
    assert [note for note in seen.notes if "lost" in note]


class Between:
    """A callback that does something once, after the first epoch."""

    def __init__(self, act):
        self.act = act

    def on_epoch_end(self, model):
        act, self.act = self.act, lambda *_: None
        act(model)


def test_nodes_killed_between_epochs_are_waited_for(cluster, marked, started):
    seen = Calls()
    counts = marked(progress=seen, callbacks=[Between(lambda model: kill(*started))])
    assert (counts == 2).all() and len(started) == 2


def test_training_continues_without_a_machine_that_is_killed(cluster, marked, fresh):
    seen = Calls(0.6 * fresh.corpus_total_words, cluster.kill)
    backend = Cluster(sync_every=SYNC, grace=2)  # the machine does not come back
    counts = marked(progress=seen, backend=backend)
    assert (counts >= 2).all() and counts.max() <= 3
    assert [note for note in seen.notes if "1 continue" in note]


def test_a_machine_that_joins_between_epochs_is_used(machines, marked):
    machines.kill()
    machines.notice()
    seen = Calls()
    assert (marked(progress=seen, callbacks=[Between(lambda model: machines.add())]) == 2).all()
    assert seen.nodes == {"node 0", "node 1"} and [note for note in seen.notes if "joined: now 2" in note]


def test_a_machine_that_is_replaced_trains_within_the_same_epoch(cluster, files, fresh):
    def replace():
        cluster.kill()
        cluster.add()

    seen = Calls(0.3 * fresh.corpus_total_words, replace)
    model = trained(files, epochs=5, progress=seen)
    assert [note for note in seen.notes if "2 continue" in note]
    assert [epoch.tokens for epoch in model.history] == [fresh.corpus_total_words] * 5
    assert planted_accuracy(model.wv) > 0.9


def test_a_stopped_run_resumes_with_another_number_of_nodes(cluster, marked, files, fresh, tmp_path):
    checkpoints = Checkpoints(tmp_path / "kept", "never", resume=True)
    stop = Calls(0.6 * fresh.corpus_total_words, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(Interrupted) as caught:
        marked(checkpoints=checkpoints, progress=stop)
    assert caught.value.checkpoint is not None
    on_one = {**OPTIONS, "progress": False, "checkpoints": checkpoints}
    refused(lambda: Word2Vec(corpus_file=files, **on_one), "unfinished run has backend 'ray'", error=OptionError)
    other = {**on_one, "backend": Cluster(sync_every=2 * SYNC)}
    refused(lambda: Word2Vec(corpus_file=files, **other), f"sync_every {SYNC} where {2 * SYNC}", error=OptionError)
    seen = Calls()
    assert (marked(checkpoints=checkpoints, progress=seen, backend=on(nodes=1)) == 2).all()
    assert seen.nodes == {"node 0"}


def test_token_lists_train_by_skip_gram(cluster, planted):
    model = trained(planted, sg=1, epochs=3)
    assert planted_accuracy(model.wv) > 0.9


def test_integers_train_exactly(cluster, planted):
    numbers = {word: 1000 + i for i, word in enumerate(sorted({word for sentence in planted for word in sentence}))}
    model = trained([[numbers[word] for word in sentence] for sentence in planted], exact=True, update="faulty")
    assert set(model.wv.index_to_key) == set(numbers.values())
    assert model.history[-1].loss < model.history[0].loss
    assert model.wv.similarity(numbers["capital1"], numbers["topic1.1"]) > model.wv.similarity(
        numbers["capital1"], numbers["topic2.1"]
    )


def test_what_is_frozen_stays_and_what_a_callback_changes_arrives(cluster, files):
    model = Word2Vec(**OPTIONS, progress=False)
    model.build_vocab(corpus_file=files)
    model.backend = on()
    model.wv.vectors_lockf = np.ones(len(model.wv), np.float32)
    model.wv.vectors_lockf[[3, 5]] = 0
    before = model.wv.vectors.copy()

    def change(model):
        model.wv.vectors[5] = 7  # frozen: the nodes must receive it to send it back

    model.train(corpus_file=files, epochs=2, callbacks=[Between(change)])
    np.testing.assert_array_equal(model.wv.vectors[3], before[3])
    np.testing.assert_array_equal(model.wv.vectors[5], np.full(DIM, 7, np.float32))
    assert (np.delete(model.wv.vectors != before, [3, 5], 0)).any(1).all()


def test_rates_that_run_away_are_named(cluster, files, started):
    refused(lambda: trained(files, alpha=1e6), "stopped being finite in epoch 1", "lower alpha", error=TrainingError)
    assert are_gone(started)


MISTAKES = {
    "a file that vanished": ("a.txt", b"some words\n", {}, "a.txt"),
    "a missing field": ("a.jsonl", b'{"text": "some words"}\n', {"text_field": "body"}, "body"),
    "a binary file": ("a.txt", bytes(range(256)) * 50, {}, "a.txt"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_that_a_task_meets_is_one_sentence(cluster, tmp_path, mistake):
    name, content, options, named = MISTAKES[mistake]
    (tmp_path / name).write_bytes(content)
    seen = Calls(0, (tmp_path / name).unlink if "vanished" in mistake else None, "reading")
    refused(lambda: trained([tmp_path / name], progress=seen, **options), named, error=CorpusError)


def program(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


def test_without_ray_one_sentence_names_the_extra():
    code = "import sys; sys.modules['ray'] = None; from mumon import Word2Vec; Word2Vec([['a', 'b']], backend='ray')"
    ended = program(code)
    assert ended.stderr.splitlines()[-1].endswith("pip install 'mumon[ray]'")
    assert "OptionError" in ended.stderr.splitlines()[-1]


def test_where_no_cluster_answers_one_sentence_says_so(tmp_path):
    (tmp_path / "a.txt").write_text("some words\n")
    command = [sys.executable, "-m", "mumon", "train", str(tmp_path / "a.txt"), "-o", str(tmp_path / "m")]
    ended = subprocess.run([*command, "--ray", "127.0.0.1:1"], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1 and "127.0.0.1:1" in ended.stderr and len(ended.stderr.strip().splitlines()) == 1


def test_the_command_line_trains_on_the_cluster(cluster, files, kernels, tmp_path):
    options = ["--dim", "24", "--min-count", "1", "--sample", "0", "--epochs", "5", "--sync-every", "1k"]
    target = ["-o", str(tmp_path / "m"), "--ray", cluster.address, "--nodes", "2"]
    command = [sys.executable, "-m", "mumon", "train", *map(str, files), *target, *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=kernels)
    assert ended.returncode == 0, ended.stderr
    assert "2 nodes" in ended.stderr
    assert not [noise for noise in ("raylet", "ray::", "Traceback", ".cc:") if noise in ended.stdout + ended.stderr]
    assert planted_accuracy(Word2Vec.load(tmp_path / "m", progress=False).wv) > 0.9
