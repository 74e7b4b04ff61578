"""Reading CoNLL-2003, and counting entities as the conlleval script does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mumon.errors import DataError, FormatError
from mumon.experiments.extrinsic.examples import Examples, Split, read_raw_lines

OUTSIDE_TAG = "O"
TAG_PREFIXES = ("B-", "I-", "E-", "S-")
DOCUMENT_MARK = "-DOCSTART-"
FILE_NAMES = (  # train, dev, test
    ("eng.train", "eng.testa", "eng.testb"),
    ("train.txt", "valid.txt", "test.txt"),
    ("train.txt", "dev.txt", "test.txt"),
)


def read_conll(folder: Path) -> Examples:
    """Read train, dev (testa) and test (testb) from a folder, in any tag scheme; the network learns IOB2.

    Parameters
    ----------
    folder
        Has the three files, under one of the names that are in use.

    Returns
    -------
    Examples
        The sentences and tags; the test split is called "ner".

    Raises
    ------
    DataError
        If a file is missing.
    FormatError
        If a file has other tags than the training data, or is no file of tags.
    """
    names = next((names for names in FILE_NAMES if all((folder / name).is_file() for name in names)), None)
    if names is None:
        listed = " or ".join(", ".join(names) for names in FILE_NAMES)
        raise DataError(f"{folder} does not have all 3 of {listed}; put the files of CoNLL-2003 there")
    parts = dict(zip(("train", "dev", "ner"), (_read_sentences(folder / name) for name in names), strict=True))
    labels = sorted({tag for _, tags in parts["train"] for tag in tags})
    numbers = {tag: number for number, tag in enumerate(labels)}
    splits = {}
    for name, sentences in parts.items():
        unknown = sorted({tag for _, tags in sentences for tag in tags} - set(labels))
        if unknown:
            raise FormatError(
                f"{folder} has {len(unknown)} tags that its training data lack, such as {unknown[0][:40]!r}; are these "
                "the files of one corpus?"
            )
        splits[name] = Split(
            [[words for words, _ in sentences]], [[numbers[tag] for tag in tags] for _, tags in sentences]
        )
    return Examples("tags", labels, splits)


def _read_sentences(path: Path) -> list[tuple[tuple[str, ...], list[str]]]:
    """Read words and IOB2 tags: the first and the last column, with empty lines between sentences."""
    sentences: list[tuple[tuple[str, ...], list[str]]] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate([*read_raw_lines(path), ""], 1):
        fields = line.split()
        if fields and fields[0] != DOCUMENT_MARK:
            tag = fields[-1]
            if len(fields) < 2 or not (tag == OUTSIDE_TAG or tag.startswith(TAG_PREFIXES)):
                raise FormatError(
                    f"{path} has no word with a tag of IOB1, IOB2 or IOBES in line {number}: {line[:60]!r}; convert it"
                )
            words.append(fields[0])
            tags.append(tag)
        elif words:
            sentences.append((tuple(words), convert_to_iob2(tags)))
            words, tags = [], []
    if not sentences:
        raise FormatError(f"{path} holds 0 sentences; fetch it again")
    return sentences


def find_entities(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Find the entities of a tagged sentence, (type, first, last), as conlleval does in IOB1, IOB2 and IOBES.

    >>> find_entities(["I-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-ORG"])
    [('PER', 0, 1), ('LOC', 3, 3), ('LOC', 4, 4), ('ORG', 5, 5)]
    """
    from seqeval.metrics.sequence_labeling import get_entities

    return list(get_entities(list(tags)))


def convert_to_iob2(tags: Sequence[str]) -> list[str]:
    """Convert tags so that each entity begins with B-.

    >>> convert_to_iob2(["I-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC', 'B-LOC']
    """
    result = [OUTSIDE_TAG] * len(tags)
    for kind, first, last in find_entities(tags):
        result[first : last + 1] = [f"B-{kind}", *[f"I-{kind}"] * (last - first)]
    return result


def count_entities(gold: Sequence[str], predicted: Sequence[str]) -> tuple[int, int, int]:
    """Count the entities of a sentence that are right (type and both ends), that are predicted, and that are true.

    >>> count_entities(["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "O", "B-LOC"])
    (1, 2, 2)
    """
    found, wanted = set(find_entities(predicted)), set(find_entities(gold))
    return len(found & wanted), len(found), len(wanted)
