"""Parsing and answering what is typed on the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mumon.errors import OptionError
from mumon.integrations.explore.models import Model

MINUS = "-−–"  # the hyphen, the minus sign, and the dash that some keyboards write
TERM = re.compile(r'"([^"]+)"|([^\s,]+)')
SIGNS = re.compile(rf"([+{re.escape(MINUS)}])")
MOST_TERMS = 100


@dataclass(frozen=True)
class Question:
    """Words to be near to (+) and far from (-), in the order in which they were typed."""

    terms: tuple[tuple[str, str], ...]

    def words(self, signs: str = "+-") -> list[str]:
        """Return the words with one of these signs."""
        return [word for sign, word in self.terms if sign in signs]


def read_question(text: str, known: Callable[[str], bool]) -> Question:
    """Parse words with blanks, commas, plus or minus between them; quotes keep a word with blanks together.

    If the text as a whole is a word of the vocabulary, it is that word: words may contain signs, commas and blanks.

    >>> read_question("king - man + woman", {"king", "man", "woman"}.__contains__)
    Question(terms=(('+', 'king'), ('-', 'man'), ('+', 'woman')))
    >>> read_question("e-mail", {"e-mail", "e", "mail"}.__contains__)
    Question(terms=(('+', 'e-mail'),))
    """
    for whole in (text, text.strip()):
        if known(whole):
            return Question((("+", whole),))
    terms: list[tuple[str, str]] = []
    minus = False
    for quoted, bare in TERM.findall(text):
        for sign, word in [("+", quoted)] if quoted else _split_signs(bare, known):
            if word:
                terms.append(("-" if minus != (sign == "-") else "+", word))
                minus = False
            else:
                minus = sign == "-"
    if not terms:
        raise OptionError("0 words were given; type at least 1")
    if len(terms) > MOST_TERMS:
        raise OptionError(f"{len(terms)} words were given; ask with at most {MOST_TERMS}")
    if all(sign == "-" for sign, _ in terms):
        raise OptionError(f"0 words to be near to were given, and {len(terms)} to be far from; add at least 1")
    return Question(tuple(terms))


def _split_signs(term: str, known: Callable[[str], bool]) -> Iterable[tuple[str, str]]:
    """Split a term into signs and words: `-man`, or `king-man+woman` if all three are words; a lone sign has none."""
    if term in ("+", *MINUS):
        return [(_normalise_sign(term), "")]
    if known(term):
        return [("+", term)]
    if term[0] in "+" + MINUS and (known(term[1:]) or not SIGNS.search(term[1:])):
        return [(_normalise_sign(term[0]), term[1:])]
    parts = SIGNS.split(term if term[0] in "+" + MINUS else f"+{term}")[1:]
    pairs = [(_normalise_sign(sign), word) for sign, word in zip(parts[::2], parts[1::2], strict=True)]
    return pairs if all(known(word) for _, word in pairs) else [("+", term)]


def _normalise_sign(sign: str) -> str:
    return "-" if sign in MINUS else sign


def find_neighbours(model: Model, asked: Question, topn: int) -> dict[str, Any]:
    """Find the nearest words and, if two words were given, their cosine."""
    positive, negative = ([model.find_key(word) for word in asked.words(sign)] for sign in "+-")
    ranking = model.wv.most_similar(positive, negative, topn=topn)
    answer: dict[str, Any] = {
        "terms": [{"sign": sign, **_describe_word(model, word)} for sign, word in asked.terms],
        "neighbours": _describe_ranking(model, ranking),
    }
    if len(asked.terms) == 2:
        answer["cosine"] = compute_similarity(model, *asked.words())
    return answer


def solve_analogy(model: Model, a: str, b: str, c: str, topn: int, mul: bool) -> dict[str, Any]:
    """Find the words that are to C as B is to A, by sums of cosines (3CosAdd) or by products (3CosMul)."""
    for name, word in (("first", a), ("second", b), ("third", c)):
        if not word:
            raise OptionError(f"the {name} of the 3 words of the analogy is missing; type it")
    ask = model.wv.most_similar_cosmul if mul else model.wv.most_similar
    ranking = ask([model.find_key(b), model.find_key(c)], [model.find_key(a)], topn=topn)
    return {"a": a, "b": b, "c": c, "answers": _describe_ranking(model, ranking)}


def compute_similarity(model: Model, first: str, second: str) -> float:
    """Compute the cosine of two words."""
    return round(float(model.wv.similarity(model.find_key(first), model.find_key(second))), 6)


def _describe_word(model: Model, word: str) -> dict[str, Any]:
    if model.composes(word):
        return {"word": word, "rank": None, "count": None}
    row = model.find_row(word)
    return {"word": word, "rank": int(model.ranks[row]) + 1, "count": model.find_count(row)}


def _describe_ranking(model: Model, ranking: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{**_describe_word(model, str(key)), "score": round(float(score), 6)} for key, score in ranking]
