"""What `tokenize` does to running text, by a regular expression.

Words are runs of letters, digits and marks with inner apostrophes and hyphens. Sentences end at a full stop, question
mark or the like that no lower-case letter follows, at an empty line, or with the file; a single newline is a blank.

This is the definition. It holds the GIL and reads a few MB/s, so files are split by a kernel that does the same
(characters.py); tests compare the two.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata

# A word is letters, digits and marks, with inner apostrophes and hyphens: don't, rock-solid, Müller, 3. This is the
# pattern of regular expressions whose \w includes combining marks; Python's does not, see `_build_pattern`.
WORD = r"\w+(?:['’‑-]\w+)*"
# A sentence ends at a terminator before white space that no lower-case letter follows ("e.g. this" continues), at the
# full-width terminators and dandas, which need no space, or at an empty line. The lookbehind keeps a run of full stops
# from being tried from each of them: a table of contents of n dots would take n² steps.
SENTENCE_END = r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s+[^\sa-zß-öø-ÿ]|\s*\Z)|[。！？।॥]+|\n[^\S\n]*\n"
JOINERS = "\u200c\u200d"  # inside words of Persian and of Indic scripts


@functools.cache
def _build_pattern() -> re.Pattern[str]:
    """Build the pattern of words (group 1) and sentence ends, on first use: it looks at every character of Unicode."""
    codes = range(sys.maxunicode + 2)  # the last is beyond all, to end a run
    is_mark = [unicodedata.category(chr(code))[0] == "M" for code in codes[:-1]] + [False]
    turns = [code for code in codes[1:] if is_mark[code] != is_mark[code - 1]]
    marks = "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in zip(turns[::2], turns[1::2], strict=True))
    word = WORD.replace(r"\w", rf"[\w{JOINERS}{marks}]")  # runs, because re looks at every item beyond U+FFFF in turn
    return re.compile(f"({word})|{SENTENCE_END}")


def split_sentences(text: str) -> str:
    """Split running text into sentences, one per line, of words between spaces: the definition of `tokenize`.

    >>> split_sentences("Mr Smith doesn't care, e.g. about this.  Do you?\\nYes").split("\\n")
    ["Mr Smith doesn't care e g about this", 'Do you', 'Yes ']
    """
    tokens = _build_pattern().findall(text)
    return " ".join(token or "\n" for token in tokens).replace(" \n ", "\n") + " "
