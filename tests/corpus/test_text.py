"""Running text and lower case: for any text, the kernels return what a regular expression and str.lower return."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mumon.corpus.characters import build_tables
from mumon.corpus.running_text import split_sentences
from mumon.corpus.text import Piece, TextOptions, prepare

RUNNING, LOWER = TextOptions(tokenize=True), TextOptions(lowercase=True)
BOTH = TextOptions(tokenize=True, lowercase=True)
SURROGATES = range(0xD800, 0xE000)
# Whatever has a meaning of its own: ends of sentences, quotes, hyphens, blanks, marks and joiners, letters whose lower
# case depends on their neighbours, is longer or shorter in UTF-8, or is two characters.
MEANINGFUL = [*".!?…。！？।॥\"'”’)]-‑_,:;¡", *"\n\n\n \t\r\x0b\x1c\x85\xa0\u2003\u2028\u3000", *"abzABZ019ßÖöøÿĀāж語ªⒶ"]
MEANINGFUL += [
    *"ΣσςİıIȺⱥ\u2c6f\u212a\u1e9eǅ\u0345",
    "\u0301",
    "\u0307",
    "\u200c",
    "\u200d",
    "\u00ad",
    "ि",
    "😀",
    "𝐀",
    "𐐀",
]
MEANINGFUL += ["\0", "\x7f", "\ufeff", "\uffff", "\U000e0101", "\U000f0000", "\U0010ffff"]
CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.lists(st.sampled_from(MEANINGFUL), max_size=60).map("".join) | st.text(CHARACTERS, max_size=60)
ENGLISH = (
    "It's 3 p.m. in São Paulo… Dr. O'Neil said: “Don't\nworry!” (Well—worry, e.g. about rock-solid code.) “Why?” "
    "asked I.B.M.\r\n\r\nA title without a stop\n \t\nWait... what?! No!!! See http://a.b/c_d?e=f. end' 'tis -- x-.\n"
)
WORLD = (
    "Das kostet 3,50 €. „Schön!“, sagte sie. ÄRGER in GRÖẞE. Ça va ? Où ça… Étienne.\n"
    "Ο ΔΡΟΜΟΣ ΤΟΥ ΟΔΥΣΣΕΑ. «Πού πας;» ρώτησε. Σ. ΑΣ, ΑΣ'Β ΑΣ-Β.\n\nМосква. Ещё раз! Да?\n"
    "東京は大きい。はい！本当？\u3000はい。हिन्दी भाषा। नमस्ते॥ می‌خواهم. İSTANBUL'da DİYARBAKIR. Iğdır.\n"
    "नहीं... ठीक है? \u201cनहीं\u201d 1.000 हज़ार\u2029ÑANDÚ. ¿Qué? 𝐀𝐁. 𐐀𐐁. 🙂. Tiếng Việt. e\u0301a. \u0301. a\u200d. ة؟"
)


def read(text, options):
    data, replaced = prepare(Piece(text.encode(), "here"), options)
    assert replaced == 0
    return data.decode()


def check(text):
    split = split_sentences(text)
    assert read(text, RUNNING) == split
    assert read(text, BOTH) == split.lower()
    assert read(text, LOWER) == text.lower()
    size = len(text.encode())  # kernels write without a look at the bounds: these are what they rely on
    assert len(split.encode()) <= size + 2 and len(text.lower().encode()) <= size + size // 2


@settings(max_examples=1000, deadline=None)
@given(TEXTS)
@example("a!")
@example("!\n\n! !\n\n!")
@example("Ⱥ" * 40)
@example("İ" * 40)
def test_any_text_is_split_and_lowered_as_python_does(text):
    check(text)


@pytest.mark.parametrize("text", [ENGLISH, WORLD, "", "\n", ".", "a", "a'", "x" * 100 + "."])
def test_texts_of_the_world_are_split_and_lowered_as_python_does(text):
    check(text)
    for end in range(len(text)):  # every end is once the end of a piece
        check(text[:end])
        check(text[-end:])


def test_every_character_alone_is_split_and_lowered_as_python_does():
    """At the end of a text, which ends a sentence as well; those beyond are between others, in the next test."""
    for code in range(0x3100):
        for text in (chr(code), f"a{chr(code)}b", f"A. {chr(code)}", f"A.{chr(code)}"):
            assert read(text, BOTH) == split_sentences(text).lower()


@pytest.mark.parametrize("plane", range(17))
def test_every_character_is_split_and_lowered_as_python_does(plane):
    for first in range(plane << 16, (plane + 1) << 16, 1 << 12):
        characters = [chr(code) for code in range(first, first + (1 << 12)) if code not in SURROGATES]
        text = "".join(f"{c} a{c}B-{c} x. {c}y!{c}Z. a\n{c}\n" for c in characters)
        split = split_sentences(text)
        assert read(text, RUNNING) == split
        assert read(text, BOTH) == split.lower()
        text = "".join(f"{c} aΣ{c} aΣ{c}a {c}Σ a{c}Σ " for c in characters)
        assert read(text, LOWER) == text.lower()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | TEXTS.map(lambda text: text.encode("utf-16")), st.booleans(), st.booleans())
def test_bytes_that_are_no_utf8_are_replaced_before_they_are_split(data, tokenize, lowercase):
    text = data.decode("utf-8", "replace")
    count = text.count("\ufffd") - data.count("\ufffd".encode())
    text = split_sentences(text) if tokenize else text
    text = text.lower() if lowercase else text
    assert prepare(Piece(data, "here"), TextOptions(tokenize, lowercase)) == (text.encode(), count)


def test_marks_are_found_wherever_unicode_has_them():
    """The tables skip planes that have no letters, so that they are built fast: a later Unicode may need more."""
    from mumon.kernels.characters import WORD

    tables = build_tables()
    codes = np.arange(sys.maxunicode + 1)
    known = tables.classes[tables.blocks[codes >> 6] + (codes & 63)] & WORD > 0
    marks = [unicodedata.category(chr(code))[0] == "M" for code in codes]
    assert known[marks].all()


def test_text_is_split_without_compilation_as_well():
    code = """
import numpy as np
np.seterr(over="ignore")  # NumPy warns when eight bytes wrap around
from tests.corpus.test_text import ENGLISH, WORLD, check
check(ENGLISH)
check(WORLD)
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
