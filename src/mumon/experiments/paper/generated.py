"""Text and questions for a report without a corpus: a small made-up language whose meanings are known.

Words are stems with endings, such as *kato*, *katos*, *katoed*, *katoing*. A stem belongs to a topic, and each sentence
has one topic. Each ending has its own companions, as tenses and numbers do. So pairs of words have a true similarity,
and analogies (*kato* is to *katos* as *belu* is to …) have a true answer.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mumon.evaluation.sentences import SentenceTask
from mumon.evaluation.tasks import Task

SENTENCES = 8_000
TOPICS, STEMS_PER_TOPIC = 10, 8
ENDINGS = ("", "s", "ed", "ing")
FILLERS = 300
PAIRS, QUESTIONS = 600, 1200
SENTENCE_PAIRS, SENTENCE_WORDS = 300, 5
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def make_stems(seed: int = 1) -> list[str]:
    """Make different stems of two syllables, topic after topic."""
    random = np.random.default_rng(seed)
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    pairs = random.permutation(len(syllables) ** 2)[: TOPICS * STEMS_PER_TOPIC]
    return [syllables[pair // len(syllables)] + syllables[pair % len(syllables)] for pair in pairs]


def write_text(path: Path, sentences: int = SENTENCES, seed: int = 1) -> Path:
    """Write sentences of the language, one per line.

    Parameters
    ----------
    path
        The file to write.
    sentences
        Number of sentences.
    seed
        Decides the text.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> text = write_text(Path(tempfile.mkdtemp()) / "text.txt", sentences=2).read_text()
    >>> len(text.splitlines())
    2
    """
    random, names = np.random.default_rng(seed), make_stems()
    fillers = 1 / np.arange(1, FILLERS + 1)
    fillers /= fillers.sum()
    lines = []
    for _ in range(sentences):
        topic, words = int(random.integers(TOPICS)), []
        for _ in range(int(random.integers(7, 12))):
            stem = names[topic * STEMS_PER_TOPIC + int(random.integers(STEMS_PER_TOPIC))]
            ending = int(random.integers(len(ENDINGS)))
            # A companion of the ending, the word, a companion of the topic, and words without meaning.
            words += [f"c{ending}x{random.integers(3)}", stem + ENDINGS[ending], f"t{topic}x{random.integers(4)}"]
            words += [f"f{filler}" for filler in random.choice(FILLERS, size=int(random.integers(1, 3)), p=fillers)]
        lines.append(" ".join(words))
    path.write_text("\n".join(lines) + "\n")
    return path


def make_questions(seed: int = 2) -> list[Task]:
    """Make similarities and analogies of the language, with their true answers."""
    random, names = np.random.default_rng(seed), make_stems()
    pairs, gold = [], []
    for _ in range(PAIRS):
        topic, near = int(random.integers(TOPICS)), random.random() < 0.5
        a, b = random.integers(STEMS_PER_TOPIC, size=2)
        other = topic if near else int(random.integers(TOPICS))
        endings = random.integers(len(ENDINGS), size=2)
        first, second = names[topic * STEMS_PER_TOPIC + a], names[other * STEMS_PER_TOPIC + b]
        pairs.append((first + ENDINGS[endings[0]], second + ENDINGS[endings[1]]))
        gold.append(2.0 * (topic == other) + (endings[0] == endings[1]) + 2.0 * (first == second))
    asked: list[tuple[str, ...]] = []
    while len(asked) < QUESTIONS:
        a, b = random.permutation(len(names))[:2]
        x, y = random.permutation(len(ENDINGS))[:2]
        asked.append(tuple(names[stem] + ENDINGS[ending] for stem in (a, b) for ending in (x, y)))
    return [
        Task("similarity", "similarity", tuple(pairs), ("",) * len(pairs), np.array(gold)),
        Task("analogies", "analogy", tuple(asked), ("",) * len(asked)),
    ]


def make_sentence_tasks(seed: int = 3) -> list[SentenceTask]:
    """Make pairs of sentences whose similarity is known: 3 for the same topic, and 1 for each stem that both have."""
    random, names = np.random.default_rng(seed), make_stems()
    tasks = []
    for task in ("sentences-dev", "sentences-test"):
        pairs, gold = [], []
        for _ in range(SENTENCE_PAIRS):
            topic = int(random.integers(TOPICS))
            topics = (topic, topic if random.random() < 0.5 else int(random.integers(TOPICS)))
            stems = [random.integers(STEMS_PER_TOPIC, size=SENTENCE_WORDS) + each * STEMS_PER_TOPIC for each in topics]
            endings = random.integers(len(ENDINGS), size=(2, SENTENCE_WORDS))
            first, second = (
                " ".join(
                    [names[stem] + ENDINGS[end] for stem, end in zip(*both, strict=True)] + [f"f{random.integers(9)}"]
                )
                for both in zip(stems, endings, strict=True)
            )
            pairs.append((first, second))
            gold.append(3.0 * (topics[0] == topics[1]) + len(np.intersect1d(stems[0], stems[1])))
        tasks.append(SentenceTask(task, tuple(pairs), np.array(gold)))
    return tasks
