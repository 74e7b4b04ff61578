"""Finding the files that a URL names: a folder's by the rules of local folders, a glob's by those of Python's."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from mumon.corpus.filesystem import Place, place_of, sentences, shown_url
from mumon.errors import CorpusError

MODEL, MODEL_FOLDERS = "model.safetensors", {".mumon", ".checkpoints"}


def find_urls(url: str) -> list[str]:
    """Every file that a URL names, in a fixed order: a file, a folder (all files below), a glob.

    Hidden files and models below a folder are left out, as on this machine.
    """
    with sentences(url):
        place = place_of(url)
        kind = place.files.get_file_info(place.path).type.name
        found = [url] if kind == "File" else _below(place) if kind == "Directory" else _globbed(place)
        if not found:
            raise FileNotFoundError(url)
        return found


def _below(place: Place) -> list[str]:
    found, models = {}, set()
    for info in _listed(place, recursive=True):
        path = PurePosixPath(info.path[len(place.path) :].strip("/"))
        if path.name == MODEL:
            models.add(path.parent)
        if info.type.name == "File" and not any(part.startswith(".") for part in path.parts):
            found[path] = place.url_of(info.path)
    shown = shown_url(place.url)
    if PurePosixPath() in models:
        raise CorpusError(f"{shown} is a model, not text; to go on training it, copy it here and name it with --from")
    kept = [
        url
        for path, url in found.items()
        if not any(folder in models or folder.suffix in MODEL_FOLDERS for folder in path.parents)
    ]
    if not kept:
        raise CorpusError(f"the folder {shown} holds no file to read; name one that holds text")
    return sorted(kept)


def _globbed(place: Place) -> list[str]:
    """What a URL with wildcards names."""
    parts = place.url.split("/")
    # A question mark begins the query of a web address, and one in the middle of a path is rare.
    wild = "*" if place.url.startswith("http") else "*?["
    first = next((index for index, part in enumerate(parts) if any(sign in part for sign in wild)), 0)
    if not first:
        return []
    base = place_of("/".join(parts[:first]) + "/" + place.query)
    found: list[str] = []
    for info in sorted(_matching(base, parts[first:]), key=lambda info: str(info.path)):
        if PurePosixPath(info.path).suffix in MODEL_FOLDERS:
            continue
        if info.type.name == "File":
            found.append(base.url_of(info.path))
        elif base.files.get_file_info(f"{info.path}/{MODEL}").type.name != "File":
            found += find_urls(base.url_of(info.path))
    return list(dict.fromkeys(found))  # a pattern may match a folder and files in it


def _matching(place: Place, pattern: list[str]) -> Iterator[Any]:
    """As Python's glob: level by level, so that one folder in a thousand is looked into, but for `**`."""
    head, rest = pattern[0], pattern[1:]
    for info in _listed(place, recursive=head == "**"):
        parts = info.path[len(place.path) :].strip("/").split("/")
        folder = info.type.name == "Directory"
        if head == "**":
            if _matches(parts, pattern) and not (folder and pattern[-1] == "**"):
                yield info
        elif _matches(parts, [head]):
            if not rest:
                yield info
            elif folder:
                yield from _matching(place._replace(path=info.path), rest)


def _matches(parts: list[str], pattern: list[str]) -> bool:
    if not parts or not pattern:
        return not parts and pattern in ([], ["**"])
    hidden = parts[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or (not hidden and _matches(parts[1:], pattern))
    return not hidden and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _listed(place: Place, recursive: bool) -> list[Any]:
    from pyarrow import fs

    return list(place.files.get_file_info(fs.FileSelector(place.path, recursive=recursive, allow_not_found=True)))
