"""Corpora on disk as restartable iterables of token lists, under gensim's names.

Reading follows `mumon.corpus`, so that training on the files themselves gives the same result: compressed files are
recognised by their content (gzip, bzip2, xz, zstd), bytes that are not UTF-8 become U+FFFD, a byte order mark is not
part of the first word, and words are separated by whatever `str.split` takes for white space. Each class has an
attribute `files`: the paths that `corpus_from_files` encodes to exactly these sentences, which is faster, or None.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from mumon.corpus.encode import MAX_SENTENCE
from mumon.errors import CorpusError
from mumon.utils.validation import check_integer


class LineSentence:
    """The sentences of a file, one per line, words between white space.

    Parameters
    ----------
    source
        A path, or a file object that can be rewound.
    max_sentence_length
        Longer lines are cut after this many words. A line of any length needs no more memory than one sentence.
    limit
        The number of lines to read; by default all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = text.write_text("the cat sat\\n\\nthe end\\n")
    >>> list(LineSentence(text)), list(LineSentence(text, max_sentence_length=2, limit=1))
    ([['the', 'cat', 'sat'], ['the', 'end']], [['the', 'cat'], ['sat']])
    """

    def __init__(self, source: Any, max_sentence_length: int = MAX_SENTENCE, limit: int | None = None) -> None:
        self.source, self.limit = source, _check_limit(limit)
        self.max_sentence_length = check_integer("max_sentence_length", max_sentence_length)

    def __iter__(self) -> Iterator[list[str]]:
        if isinstance(self.source, str | os.PathLike):
            return _read_sentences(os.fspath(self.source), self.max_sentence_length, self.limit)
        return self._read_object()

    def _read_object(self) -> Iterator[list[str]]:
        try:
            self.source.seek(0)
        except (AttributeError, io.UnsupportedOperation):
            kind = type(self.source).__name__
            raise CorpusError(f"a {kind} is neither a path nor a file that can be read again; give a path") from None
        for line in islice(self.source, self.limit):
            text = line if isinstance(line, str) else line.decode("utf-8", "replace")
            yield from _cut(text.split(), self.max_sentence_length)

    @property
    def files(self) -> list[str] | None:
        """The path, if encoding it gives exactly these sentences, or else None."""
        if not isinstance(self.source, str | os.PathLike):
            return None
        return _check_encodable([os.fspath(self.source)], self.max_sentence_length, self.limit)


class PathLineSentences:
    """The sentences of all files of a folder (not of the folders in it), in the order of their names.

    Parameters
    ----------
    source
        The folder, or a single file.
    max_sentence_length
        Longer lines are cut after this many words. A line of any length needs no more memory than one sentence.
    limit
        The number of lines to read of each file; by default all.
    """

    def __init__(
        self, source: str | os.PathLike[str], max_sentence_length: int = MAX_SENTENCE, limit: int | None = None
    ) -> None:
        self.source, self.limit = os.fspath(source), _check_limit(limit)
        self.max_sentence_length = check_integer("max_sentence_length", max_sentence_length)
        if Path(self.source).is_file():
            self.input_files = [self.source]
        elif Path(self.source).is_dir():
            self.source = os.path.join(self.source, "")  # noqa: PTH118  # gensim's has the slash, too
            self.input_files = _list_files(self.source)
        else:
            raise CorpusError(f"{self.source} is neither a file nor a folder; check the path")

    def __iter__(self) -> Iterator[list[str]]:
        for name in self.input_files:
            yield from _read_sentences(name, self.max_sentence_length, self.limit)

    @property
    def files(self) -> list[str] | None:
        """The paths, if encoding them gives exactly these sentences, or else None."""
        return _check_encodable(self.input_files, self.max_sentence_length, self.limit)


class Text8Corpus:
    """A text without sentences, such as text8; line ends mean nothing.

    Parameters
    ----------
    fname
        The path.
    max_sentence_length
        The text is cut into sentences of this many words.
    """

    def __init__(self, fname: str | os.PathLike[str], max_sentence_length: int = MAX_SENTENCE) -> None:
        self.fname = fname
        self.max_sentence_length = check_integer("max_sentence_length", max_sentence_length)

    def __iter__(self) -> Iterator[list[str]]:
        waiting: list[str] = []
        for data in _read_blocks(os.fspath(self.fname)):
            waiting += data.decode("utf-8", "replace").split()
            whole = len(waiting) - len(waiting) % self.max_sentence_length
            yield from _cut(waiting[:whole], self.max_sentence_length)
            del waiting[:whole]
        if waiting:
            yield waiting

    @property
    def files(self) -> list[str] | None:
        """The path, if the text is a single line, which is checked: only then does encoding cut it in the same way."""
        files = _check_encodable([os.fspath(self.fname)], self.max_sentence_length, None)
        if files is None:
            return None
        ended = False
        for data in _read_blocks(files[0]):
            line, newline, rest = data.partition(b"\n")
            if (ended and data.strip()) or rest.strip():
                return None
            ended = ended or bool(newline and line.strip())
        return files


class BrownCorpus:
    """The Brown corpus as in NLTK's data: a folder of files, a sentence per line, tokens `Word/tag`.

    A token becomes `word/ta`, in lower case and with the first two letters of its tag. Tokens whose tag does not begin
    with letters (punctuation) are left out, and so are sentences that consist of such tokens. Files are read in the
    order of their names.

    Parameters
    ----------
    dirname
        The folder.
    """

    files = None  # the encoder knows nothing about tags

    def __init__(self, dirname: str | os.PathLike[str]) -> None:
        self.dirname = dirname

    def __iter__(self) -> Iterator[list[str]]:
        folder = os.fspath(self.dirname)
        if not Path(folder).is_dir():
            raise CorpusError(f"{folder} is not a folder; name the one that has the files of the Brown corpus")
        for name in _list_files(os.path.join(folder, "")):  # noqa: PTH118
            for text in _read_lines(name):
                pairs = [token.split("/") for token in text.split()]
                tagged = [(pair[0].lower(), pair[1][:2]) for pair in pairs if len(pair) == 2]
                if words := [f"{word}/{tag}" for word, tag in tagged if tag.isalpha()]:
                    yield words


def _check_limit(limit: int | None) -> int | None:
    return None if limit is None else check_integer("limit", limit, least=0)


def _list_files(folder: str) -> list[str]:
    """List the files of a folder whose name ends in a slash, including hidden ones, as gensim does."""
    return sorted(folder + path.name for path in Path(folder).iterdir() if path.is_file())


def _check_encodable(names: list[str], length: int, limit: int | None) -> list[str] | None:
    """Return the paths, or None if `corpus_from_files` would read or cut them in another way."""
    from mumon.corpus.sources import is_json_lines
    from mumon.corpus.text import TextOptions

    plain = all(Path(name).is_file() and name != "-" and not is_json_lines(name, TextOptions()) for name in names)
    return list(names) if plain and names and length == MAX_SENTENCE and limit is None else None


def _read_blocks(name: str) -> Iterator[bytes]:
    """Read a file in pieces that never end within a word."""
    from mumon.corpus.sources import read_pieces
    from mumon.corpus.text import TextOptions

    for piece in read_pieces(os.path.join(".", name) if name == "-" else name, TextOptions(), lambda _: None):  # noqa: PTH118
        yield piece.data


def _read_lines(name: str) -> Iterator[str]:
    """Read the lines of a file, each of which must fit into memory."""
    waiting: list[bytes] = []
    for data in _read_blocks(name):
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield b"".join([*waiting, line]).decode("utf-8", "replace")
            waiting = []
        waiting.append(rest)
    yield b"".join(waiting).decode("utf-8", "replace")


def _cut(words: list[str], length: int) -> Iterable[list[str]]:
    if 0 < len(words) <= length:  # nearly always
        return (words,)
    return (words[first : first + length] for first in range(0, len(words), length))


def _read_sentences(name: str, length: int, limit: int | None) -> Iterator[list[str]]:
    """Read the sentences of a file; those of a line longer than a piece come as soon as they are complete."""
    waiting: list[str] = []
    number = 0
    for data in _read_blocks(name):
        *lines, rest = data.decode("utf-8", "replace").split("\n")
        for line in lines:
            if number == limit:
                return
            number += 1
            words = line.split()
            if waiting:
                words, waiting = waiting + words, []
            yield from _cut(words, length)
        if number == limit:
            return
        waiting += rest.split()
        whole = len(waiting) - len(waiting) % length
        yield from _cut(waiting[:whole], length)
        del waiting[:whole]
    if waiting and number != limit:
        yield waiting
