"""Small vectors and checks that the tests of files share."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.errors import FormatError

WORDS = ["the", "naïve", "🙂", "of"]
VECTORS = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
COUNTS = np.array([9, 7, 3, 0], np.int64)
NAMES = {"mumon": "v.mumon", "word2vec-text": "v.txt", "word2vec-bin": "v.bin", "glove": "v.glove"}


def refused(call, *patterns, error=FormatError):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for pattern in patterns:
        assert re.search(pattern, message), message
    assert "\n" not in message
    return message


def left_over(path):
    return sorted(entry.name for entry in path.iterdir())


def files_of(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def small(sentences, **options):
    """A model of little text, trained at once and the same every time."""
    defaults = {"vector_size": 24, "min_count": 1, "sample": 0, "epochs": 12, "workers": 1, "progress": False}
    return Word2Vec(sentences, **{**defaults, **options})


KINDS = ("good", "bad", "person", "place", "other")  # of words, each with a number from 0 to 39


def write_extrinsic_mirror(home):
    """GLUE and CoNLL-2003 in small, in which the words of the test never occur in training: only good vectors help."""
    random = np.random.default_rng(1)
    for name in ("glue/SST-2", "glue/QNLI", "glue/MNLI", "ner"):
        (home / name).mkdir(parents=True)

    def text(kinds, numbers):
        return " ".join(f"{kind}{random.choice(numbers)}" for kind in kinds)

    for part, count, numbers in (("train", 240, range(20)), ("dev", 60, range(20, 30)), ("test", 60, range(30, 40))):
        sentences, pairs, tagged = [], [], []
        for _ in range(count):
            filling = ["other"] * int(random.integers(1, 5))
            mood, second = random.choice(["good", "bad"], 2)
            sentences.append(f"{text([mood, *filling], numbers)}\t{int(mood == 'good')}")
            pairs.append((text([*filling, mood], numbers), text([second, "other"], numbers), mood == second))
            kinds = random.choice(["person", "place", "other"], 2 + len(filling))
            tags = [{"person": "I-PER", "place": "I-LOC", "other": "O"}[kind] for kind in kinds]
            for place in range(1, len(tags)):  # IOB1: neighbours of one type are parted by B-
                if tags[place][2:] and tags[place][2:] == tags[place - 1][2:]:
                    tags[place] = f"B-{tags[place][2:]}"
            tagged += [f"{text([kind], numbers)} NN I-NP {tag}" for kind, tag in zip(kinds, tags, strict=True)] + [""]
        _write_glue(home / f"glue/SST-2/{part}.tsv", "sentence\tlabel", sentences)
        for task, header, labels in (
            ("QNLI", "index\tquestion\tsentence\tlabel", ("not_entailment", "entailment")),
            ("MNLI", "index\tsentence1\tsentence2\tgold_label", ("contradiction", "neutral")),
        ):
            lines = [f"{number}\t{a}\t{b}\t{labels[same]}" for number, (a, b, same) in enumerate(pairs)]
            tests = ("test_matched", "test_mismatched") if task == "MNLI" else ("test",)
            for name in tests if part == "test" else (part,):
                _write_glue(home / f"glue/{task}/{name}.tsv", header, lines)
        name = {"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"}[part]
        (home / "ner" / name).write_text("\n".join(["-DOCSTART- -X- O O", "", *tagged]))


def _write_glue(path, header, lines):
    path.write_text("\n".join([header, *lines]) + "\n")
