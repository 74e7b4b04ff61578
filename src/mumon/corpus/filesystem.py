"""Corpora on other filesystems: `scheme://…` names a file, a folder or a glob there.

pyarrow comes first where it has a filesystem built in: then s3 and gs need nothing to be installed, and bytes arrive
without Python's doing. fsspec (`mumon[remote]`) has all the others, seen through pyarrow's interface.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from mumon.errors import CorpusError, MumonError, OptionError, to_one_line

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # two letters at least: C: is a drive
ARROW = {"s3", "gs", "gcs", "hdfs", "viewfs"}
ARROW_URL = re.compile(r"(?P<root>\w+://[^/?]*)/*(?P<path>.*?)/*(?P<query>\?\w+=.*)?")
SECRET = re.compile(
    r"(?<=//)[^/?@\s]*:[^/?@\s]*@|(?<=[?&])([\w-]*(?:secret|token|key|sig|cred|password)[\w-]*=)[^&\s]*", re.I
)
REFUSAL = re.compile(r"access.?denied|forbidden|unauthori[sz]ed|permission|credential|\b40[13]\b", re.I)
GIVE_UP = 30  # seconds without an answer; Google's library would try for 15 minutes
# What filesystems of fsspec tell that changes with a file's content, best first.
IDENTITIES = (
    *("ETag", "etag", "blob_id", "sha", "md5Hash", "content_md5", "checksum"),
    *("LastModified", "last_modified", "mtime", "modified", "modificationTime", "updated", "created"),
)
MODEL_FILE, MODEL_SUFFIXES = "model.safetensors", {".mumon", ".checkpoints"}  # a model's folder has these
FIRST_BYTES, BUFFER_BYTES = 1 << 18, 1 << 23  # asked for at once: every request waits for the network


def is_url(name: str) -> bool:
    """Whether a name is a URL rather than a path.

    >>> is_url("s3://bucket/a.txt"), is_url("a.txt"), is_url("C:/a.txt")
    (True, False, False)
    """
    return URL.match(name) is not None


def to_local_path(name: str) -> str:
    """The path that a file:// URL names; any other name as it is.

    >>> to_local_path("file:///tmp/a%20b.txt"), to_local_path("a.txt")
    ('/tmp/a b.txt', 'a.txt')
    """
    if not name.lower().startswith("file://"):
        return name
    from urllib.request import url2pathname

    host, slash, rest = name[len("file://") :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise CorpusError(f"{name} names no file of this machine; write file:///, with three slashes, and a whole path")
    return url2pathname(slash + rest)


def hide_secrets(text: str) -> str:
    """A URL, or what a library says of one, without the secrets that it may hold.

    >>> hide_secrets("s3://me:hidden@bucket/a.txt?secret_key=hidden&region=eu")
    's3://…@bucket/a.txt?secret_key=…&region=eu'
    """
    return SECRET.sub(lambda found: f"{found[1] or ''}…{'' if found[1] else '@'}", text)


class FileInfo(NamedTuple):
    """What a filesystem tells of a file without reading it, as far as it does."""

    size: int | None
    identity: str | None  # another one after every change


class RemotePath(NamedTuple):
    """A path on one of pyarrow's filesystems, and the URL that names it."""

    files: Any
    path: str
    url: str
    query: str  # options of the filesystem, which all URLs there need

    @property
    def fsspec(self) -> Any:
        """The filesystem of fsspec that is behind it, if one is."""
        return getattr(getattr(self.files, "handler", None), "fs", None)

    def build_url(self, path: str) -> str:
        """The URL of a path below."""
        if not path.startswith(self.path):  # fsspec may know a place by several names
            return str(self.fsspec.unstrip_protocol(path))
        return f"{self.url.rstrip('/')}/{path[len(self.path) :].strip('/')}{self.query}"


def read_file_info(urls: Sequence[str], fresh: bool = False) -> list[FileInfo]:
    """What is known of files; `fresh` asks their servers again for what may be remembered here."""
    told: list[FileInfo] = []
    places = [locate(url) for url in urls]
    for _, group in groupby(places, lambda place: id(place.fsspec or place.files)):
        told += _look(list(group), fresh)
    return told


def _look(places: list[RemotePath], fresh: bool) -> list[FileInfo]:
    first = places[0]
    if first.fsspec is None:  # all at once: pyarrow asks for several at a time
        with explain_errors(first.url):
            infos = first.files.get_file_info([place.path for place in places])
        return [FileInfo(info.size, None if info.mtime_ns is None else str(info.mtime_ns)) for info in infos]
    if fresh:
        first.fsspec.invalidate_cache()
    told = []
    for place in places:
        with explain_errors(place.url):
            detail = place.fsspec.info(place.path)
        told.append(
            FileInfo(detail.get("size"), next((str(detail[key]) for key in IDENTITIES if detail.get(key)), None))
        )
    return told


def locate(url: str) -> RemotePath:
    """Where a URL leads, by pyarrow's filesystem or else by fsspec's."""
    scheme = URL.match(url)[1].lower()  # type: ignore[index]
    if scheme in ARROW:
        parts = ARROW_URL.fullmatch(url)
        known = parts and _arrow(f"{parts['root']}/{parts['query'] or ''}")
        if parts and known:
            path = f"{known[1].rstrip('/')}/{parts['path']}".rstrip("/") or "/"
            return RemotePath(known[0], path, f"{parts['root']}/{parts['path']}", parts["query"] or "")
    return _place_of_fsspec(url, scheme)


@cache
def _arrow(root: str) -> tuple[Any, str] | None:
    """pyarrow's filesystem and its path of a URL without a path; None if this build of it does not have it."""
    from pyarrow import fs

    if root.startswith(("gs:", "gcs:")) and "retry_limit_seconds=" not in root:
        root += f"{'&' if '?' in root else '?'}retry_limit_seconds={GIVE_UP}"
    with explain_errors(root.partition("?")[0]):
        try:
            files, path = fs.FileSystem.from_uri(root)
        except NotImplementedError:
            return None
        return files, path


def _place_of_fsspec(url: str, scheme: str) -> RemotePath:
    try:
        import fsspec
    except ImportError:
        raise OptionError(f"{scheme}:// needs fsspec, which is not installed; pip install 'mumon[remote]'") from None
    from fsspec.registry import registry
    from pyarrow import fs

    if scheme not in {*fsspec.available_protocols(), *registry}:
        raise CorpusError(
            f"{scheme}:// is a filesystem that neither mumon nor fsspec knows; use file, s3, gs, hf, https …, or "
            "download the text"
        )
    with explain_errors(url):
        try:
            files, path = fsspec.core.url_to_fs(url)
        except ImportError as error:
            module = getattr(error.__cause__, "name", None) or error.name or "the package of that filesystem"
            raise OptionError(
                f"{scheme}:// needs a package that is not installed ({to_one_line(error)}); pip install "
                f"{module.partition('.')[0]}"
            ) from None
        return RemotePath(fs.PyFileSystem(fs.FSSpecHandler(files)), path, url, "")


@contextmanager
def explain_errors(url: str) -> Iterator[None]:
    """Whatever a filesystem's library raises (each has errors of its own) becomes a sentence."""
    shown = hide_secrets(url)
    try:
        yield
    except MumonError:
        raise
    except FileNotFoundError:
        raise CorpusError(f"there is no file {shown}; check the address") from None
    except Exception as error:
        said = to_one_line(hide_secrets(str(error) or type(error).__name__))
        if isinstance(error, PermissionError) or REFUSAL.search(said):
            step = "check that your credentials are set and may read it"
        else:
            step = "check the address, the network and your credentials"
        raise CorpusError(f"{shown} cannot be read ({said}); {step}") from None


def find_urls(url: str) -> list[str]:
    """Every file that a URL names, in a fixed order: a file, a folder (all files below), a glob.

    Hidden files and models below a folder are left out, as on this machine.
    """
    with explain_errors(url):
        place = locate(url)
        kind = place.files.get_file_info(place.path).type.name
        found = [url] if kind == "File" else _below(place) if kind == "Directory" else _globbed(place)
        if not found:
            raise FileNotFoundError(url)
        return found


def _below(place: RemotePath) -> list[str]:
    found, models = {}, set()
    for info in _listed(place, recursive=True):
        path = PurePosixPath(info.path[len(place.path) :].strip("/"))
        if path.name == MODEL_FILE:
            models.add(path.parent)
        if info.type.name == "File" and not any(part.startswith(".") for part in path.parts):
            found[path] = place.build_url(info.path)
    shown = hide_secrets(place.url)
    if PurePosixPath() in models:
        raise CorpusError(f"{shown} is a model, not text; to go on training it, copy it here and name it with --from")
    kept = [
        url
        for path, url in found.items()
        if not any(folder in models or folder.suffix in MODEL_SUFFIXES for folder in path.parents)
    ]
    if not kept:
        raise CorpusError(f"the folder {shown} holds no file to read; name one that holds text")
    return sorted(kept)


def _globbed(place: RemotePath) -> list[str]:
    """What a URL with wildcards names."""
    parts = place.url.split("/")
    # A question mark begins the query of a web address, and one in the middle of a path is rare.
    wild = "*" if place.url.startswith("http") else "*?["
    first = next((index for index, part in enumerate(parts) if any(sign in part for sign in wild)), 0)
    if not first:
        return []
    base = locate("/".join(parts[:first]) + "/" + place.query)
    found: list[str] = []
    for info in sorted(_matching(base, parts[first:]), key=lambda info: str(info.path)):
        if PurePosixPath(info.path).suffix in MODEL_SUFFIXES:
            continue
        if info.type.name == "File":
            found.append(base.build_url(info.path))
        elif base.files.get_file_info(f"{info.path}/{MODEL_FILE}").type.name != "File":
            found += find_urls(base.build_url(info.path))
    return list(dict.fromkeys(found))  # a pattern may match a folder and files in it


def _matching(place: RemotePath, pattern: list[str]) -> Iterator[Any]:
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


def _listed(place: RemotePath, recursive: bool) -> list[Any]:
    from pyarrow import fs

    return list(place.files.get_file_info(fs.FileSelector(place.path, recursive=recursive, allow_not_found=True)))


def open_url(url: str) -> io.BufferedReader:
    """A file to read."""
    with explain_errors(url):
        place = locate(url)
        if place.fsspec is None:
            file = place.files.open_input_file(place.path)
            return io.BufferedReader(_Remote(file, file.size(), url), BUFFER_BYTES)
        streamed = url.startswith("http") and not _serves_ranges(place)
        file = place.fsspec.open(place.path, "rb", **({"block_size": 0} if streamed else {}))
        size = getattr(file, "size", None)  # of some it is a method
        return io.BufferedReader(_Remote(file, size if isinstance(size, int) else None, url, streamed), BUFFER_BYTES)


def _serves_ranges(place: RemotePath) -> bool:
    """Whether a web server sends parts of a file; they do not say so, and fsspec finds out after the first 5 MB."""
    with place.fsspec.open(place.path, "rb", block_size=16) as file:
        if not getattr(file, "size", None):
            return False
        try:
            file.seek(1)
            file.read(1)
        except ValueError:
            return False
        return True


class _Remote(io.RawIOBase):
    """A file of another filesystem as Python's own; an error of its library becomes a sentence.

    The first time a buffer gets little: many look at no more than a file's beginning.
    """

    def __init__(self, file: Any, size: int | None, url: str, streamed: bool = False) -> None:
        self._file, self.size, self._url, self._streamed = file, size, url, streamed
        self._ahead, self._over = FIRST_BYTES, False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return not self._streamed

    def readinto(self, buffer: Any) -> int:
        data = self.read(min(len(buffer), self._ahead))
        self._ahead = BUFFER_BYTES
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """All that was asked for, unless the file ends before: Arrow would take less for the end of a Parquet file."""
        parts: list[bytes] = []
        with explain_errors(self._url):
            while size and not self._over:
                parts.append(bytes(self._file.read(size) if size > 0 else self._file.read()))
                size -= len(parts[-1]) if size > 0 else 0
                self._over = not parts[-1]
        return b"".join(parts)

    def seek(self, offset: int, whence: int = 0) -> int:
        with explain_errors(self._url):
            self._file.seek(offset, whence)
            self._over = False
            return int(self._file.tell())

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
