"""gensim's two evaluations, with its arguments, its conventions and its results.

`mumon.evaluation.evaluate` looks up a word as it is and then in lower case. gensim compares everything in upper case,
and of several words that differ only in case it uses the most frequent. One thing differs: gensim ignores its argument
`similarity_function`; here "most_similar_cosmul" answers by 3CosMul.
"""

from __future__ import annotations

import logging
import os
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.utils.text_files import read_lines
from mumon.vectors.analogies import solve
from mumon.vectors.neighbours import compute_cosines
from mumon.vectors.search import Search

Section = dict[str, Any]
CANDIDATES = 5  # answers among which gensim looks for one that is not a question word in another case

log = logging.getLogger(__name__)


def evaluate_word_pairs(
    wv: Search,
    pairs: str | os.PathLike[str],
    delimiter: str = "\t",
    encoding: str = "utf8",
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> tuple[Any, Any, float]:
    """Return (Pearson, Spearman, percentage of pairs with unknown words); see `WordVectors.evaluate_word_pairs`."""
    from scipy import stats

    vocabulary = _index_words(wv, restrict_vocab, case_insensitive)
    rows, gold = [], []
    for line in read_lines(Path(pairs), encoding):
        fields = [field.upper() if case_insensitive else field for field in line.split(delimiter)]
        try:
            a, b, score = fields
            gold.append(float(score))
        except ValueError:  # a comment, a header, an empty line
            continue
        rows.append((vocabulary.get(a, -1), vocabulary.get(b, -1)))
    places, scores = np.array(rows, np.int64).reshape(-1, 2), np.array(gold)
    known = np.all(places >= 0, axis=1)
    values = np.zeros(len(places))
    values[known] = compute_cosines(wv.vectors, places[known, 0], places[known, 1])
    scored = np.ones_like(known) if dummy4unknown else known
    if scored.sum() < 2:
        raise FormatError(
            f"{scored.sum()} of the {len(known)} pairs in {os.fspath(pairs)} can be scored; check the delimiter, "
            "the format (word, word, score) and the vocabulary"
        )
    pearson, spearman = stats.pearsonr(scores[scored], values[scored]), stats.spearmanr(scores[scored], values[scored])
    unknown = 100 * float(np.mean(~known))
    log_evaluate_word_pairs(pearson, spearman, unknown, pairs)
    return pearson, spearman, unknown


def evaluate_word_analogies(
    wv: Search,
    analogies: str | os.PathLike[str],
    restrict_vocab: int = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
    similarity_function: str = "most_similar",
) -> tuple[float, list[Section]]:
    """Return (accuracy, sections with right and wrong answers); see `WordVectors.evaluate_word_analogies`."""
    if similarity_function not in ("most_similar", "most_similar_cosmul"):
        raise OptionError(f"similarity_function is {similarity_function!r}; it is most_similar or most_similar_cosmul")
    vocabulary = _index_words(wv, restrict_vocab, case_insensitive)
    sections, asked = _read_questions(analogies, case_insensitive)
    rows = np.array([[vocabulary.get(word, -1) for word in words] for _, words in asked], np.int64).reshape(-1, 4)
    known = np.all(rows >= 0, axis=1)
    right = np.zeros(len(asked), bool)
    multiply = similarity_function == "most_similar_cosmul"
    answers = _answer(wv, rows[known, :3], vocabulary, restrict_vocab, case_insensitive, multiply)
    right[known] = answers == rows[known, 3]
    for (section, words), correct, scored in zip(asked, right, known | dummy4unknown, strict=True):
        if scored:
            section["correct" if correct else "incorrect"].append(words)
    total: Section = {"section": "Total accuracy"}
    for verdict in ("correct", "incorrect"):
        total[verdict] = [words for section in sections for words in section[verdict]]
    for section in (*sections, total):
        log_accuracy(section)
    n = len(total["correct"]) + len(total["incorrect"])
    return (len(total["correct"]) / n if n else 0.0), [*sections, total]


def log_accuracy(section: Section) -> None:
    """Log how many questions of a section were answered right, if there were any."""
    right, wrong = len(section["correct"]), len(section["incorrect"])
    if right + wrong:
        share = 100 * right / (right + wrong)
        log.info("%s: %.1f%% (%d/%d)", section["section"], share, right, right + wrong)


def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: str | os.PathLike[str]) -> None:
    """Log how well cosines agree with human scores."""
    log.info("%s: Pearson %.4f, Spearman %.4f, %.1f%% of pairs unknown", pairs, pearson[0], spearman[0], oov)


def _index_words(wv: Search, restrict_vocab: int, case_insensitive: bool) -> dict[str, int]:
    """Map the first words to their rows; of words that are the same in upper case, only the first is used."""
    words = map(str, islice(wv, restrict_vocab))  # keys may be integers
    return {(word.upper() if case_insensitive else word): row for row, word in reversed(list(enumerate(words)))}


def _read_questions(
    path: str | os.PathLike[str], upper: bool
) -> tuple[list[Section], list[tuple[Section, tuple[str, ...]]]]:
    """Return the sections, still empty, and each question with its section; skip lines without four words."""
    sections: list[Section] = []
    asked: list[tuple[Section, tuple[str, ...]]] = []
    for number, line in enumerate(read_lines(Path(path)), 1):
        if line.startswith(": "):
            sections.append({"section": line.lstrip(": ").strip(), "correct": [], "incorrect": []})
            continue
        if not sections:
            raise FormatError(f"{os.fspath(path)} has no section before line {number}; begin it with ': name'")
        words = tuple((line.upper() if upper else line).split())
        if len(words) == 4:
            asked.append((sections[-1], words))
    return sections, asked


def _answer(
    wv: Search, questions: NDArray[np.int64], vocabulary: dict[str, int], limit: int, upper: bool, multiply: bool
) -> NDArray[np.int64]:
    """Return the row of the answer to each question; words that differ only in case count as one word."""
    answers = solve(wv, questions, "mul" if multiply else "add", limit=limit)
    for i in range(len(questions) if upper else 0):
        a, b, c = asked = questions[i].tolist()
        row = _fold_case(wv, vocabulary, answers[i])
        if row in asked:  # a question word in another case: look further
            search = wv.most_similar_cosmul if multiply else wv.most_similar
            others = search([b, c], [a], topn=CANDIDATES, restrict_vocab=limit)
            rows = (_fold_case(wv, vocabulary, wv.key_to_index[word]) for word, _ in others)
            row = next((row for row in rows if row not in asked), -1)
        answers[i] = row
    return answers


def _fold_case(wv: Search, vocabulary: dict[str, int], row: int) -> int:
    """Return the row that represents all words with the same upper case."""
    return vocabulary[str(wv.index_to_key[row]).upper()] if row >= 0 else -1
