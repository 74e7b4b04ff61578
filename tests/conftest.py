"""What several tests need: a cache of their own, and a small language with planted analogies."""

from __future__ import annotations

import itertools
import os
import signal
import sys

import numpy as np
import pytest

ENTITIES, FORMS = 16, ("country", "capital")


@pytest.fixture(autouse=True, scope="session")
def signals_arrive():
    """Shells ignore Ctrl-C for jobs in the background, nohup the end of the session: the programs tested must not."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)  # still nothing here, but what is caught is not inherited


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Encoded corpora of the tests go to a folder that vanishes; compiled kernels are kept where they always are."""
    from mumon.kernels import jit

    jit.cache_directory()  # resolved (and remembered) before the cache moves
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUMON_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def planted_sentences(count=6000, seed=0):
    """Sentences in which entity i's country and capital share i's topic words, and all capitals share form words."""
    random = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        entity, form = random.integers(ENTITIES), random.integers(2)
        topic = [f"topic{entity}.{i}" for i in random.integers(4, size=3)]
        shape = [f"{FORMS[form]}-word{i}" for i in random.integers(4, size=3)]
        sentence = [f"{FORMS[form]}{entity}", *topic, *shape]
        random.shuffle(sentence)
        sentences.append(sentence)
    return sentences


def planted_accuracy(wv):
    """How often country_a : capital_a :: country_b : ? is answered by capital_b; chance is 1 in 101."""
    right = [
        wv.most_similar([f"capital{a}", f"country{b}"], [f"country{a}"], topn=1)[0][0] == f"capital{b}"
        for a, b in itertools.permutations(range(ENTITIES), 2)
    ]
    return float(np.mean(right))


def write_mirror(folder):
    """A mirror of the paper's five tasks for the planted language, for MUMON_DATA to name."""
    random = np.random.default_rng(1)
    for name in ("similarity", "analogy"):
        (folder / name).mkdir()
    for name in ("EN-WS-353-ALL", "EN-MEN-TR-3k", "EN-RW-STANFORD"):
        pairs = random.integers(ENTITIES, size=(60, 2))
        lines = [f"country{a}\tcapital{b}\t{10 - abs(a - b) + random.random():.2f}" for a, b in pairs]
        (folder / f"similarity/{name}.txt").write_text("\n".join([*lines, "country1\tatlantis\t3"]))
    lines = [
        f"Country{a} capital{a} country{b} capital{b}" for a, b in itertools.combinations(reversed(range(ENTITIES)), 2)
    ]
    (folder / "analogy/questions-words.txt").write_text(": capital-world\n" + "\n".join(lines))
    (folder / "analogy/msr.txt").write_text("\n".join(line.replace(" ", "\t") for line in lines[::2]))


@pytest.fixture(scope="session")
def planted():
    return planted_sentences()


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    """Run the command line in this process, inside tmp_path; gives (exit code, standard output, standard error)."""
    from mumon import cli

    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mumon", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out = capfd.readouterr()
        return caught.value.code or 0, out.out, out.err

    return call


@pytest.fixture
def kernels():
    """The environment of a child process that finds the kernels which are compiled already: compiling takes 10 s."""
    from mumon.kernels import jit

    return {**os.environ, "NUMBA_CACHE_DIR": str(jit.cache_directory().parent)}
