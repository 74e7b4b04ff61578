"""CoNLL-2003's files, and entities counted as the conlleval script counts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mumon.errors import DataError, FormatError
from mumon.evaluation.extrinsic.examples import Examples, Split
from mumon.evaluation.files import read_lines

OUTSIDE = "O"
DOCUMENT = "-DOCSTART-"
NAMES = {
    "train": ("eng.train", "train.txt"),
    "dev": ("eng.testa", "valid.txt", "dev.txt"),
    "ner": ("eng.testb", "test.txt"),
}


def read_conll(folder: Path) -> Examples:
    """Train, dev (testa) and test (testb) of a folder, whatever their tag scheme; the network learns IOB2."""
    parts = {split: _sentences(_found(folder, names)) for split, names in NAMES.items()}
    labels = sorted({tag for _, tags in parts["train"] for tag in tags})
    numbers = {tag: number for number, tag in enumerate(labels)}
    splits = {}
    for name, sentences in parts.items():
        unknown = sorted({tag for _, tags in sentences for tag in tags} - set(labels))
        if unknown:
            raise FormatError(
                f"{folder} has {len(unknown)} tags that its training data lack, such as {unknown[0][:40]!r}"
            )
        splits[name] = Split(
            [[words for words, _ in sentences]], [[numbers[tag] for tag in tags] for _, tags in sentences]
        )
    return Examples("ner", "tags", labels, splits, None)


def _found(folder: Path, names: Sequence[str]) -> Path:
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataError(f"{folder} has no {' or '.join(names)}; put the files of CoNLL-2003 there")
    return path


def _sentences(path: Path) -> list[tuple[tuple[str, ...], list[str]]]:
    """Words and IOB2 tags: the first and the last column, sentences between empty lines."""
    sentences: list[tuple[tuple[str, ...], list[str]]] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate([*read_lines(path), ""], 1):
        fields = line.split()
        if fields and fields[0] != DOCUMENT:
            tag = fields[-1]
            if len(fields) < 2 or (tag != OUTSIDE and tag[1:2] != "-"):
                raise FormatError(f"{path} has no word and tag in line {number}: {line[:60]!r}; it is no CoNLL file")
            words.append(fields[0])
            tags.append(tag)
        elif words:
            sentences.append((tuple(words), iob2(tags)))
            words, tags = [], []
    if not sentences:
        raise FormatError(f"{path} holds 0 sentences; fetch it again")
    return sentences


def entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """The entities of a tagged sentence, (type, first, last): as conlleval sees them, in IOB1, IOB2 and IOBES.

    >>> entities(["I-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-ORG"])
    [('PER', 0, 1), ('LOC', 3, 3), ('LOC', 4, 4), ('ORG', 5, 5)]
    """
    from seqeval.metrics.sequence_labeling import get_entities

    return list(get_entities(list(tags)))


def iob2(tags: Sequence[str]) -> list[str]:
    """The same entities with B- at the beginning of each.

    >>> iob2(["I-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC', 'B-LOC']
    """
    result = [OUTSIDE] * len(tags)
    for kind, first, last in entities(tags):
        result[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return result


def entity_counts(gold: Sequence[str], predicted: Sequence[str]) -> tuple[int, int, int]:
    """Entities of one sentence that are right (type and both ends), that were predicted, and that there are.

    >>> entity_counts(["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"])
    (1, 2, 2)
    """
    found, wanted = set(entities(predicted)), set(entities(gold))
    return len(found & wanted), len(found), len(wanted)
