"""Corpora on other filesystems: `scheme://…` names a file, a folder or a glob there.

This module finds such files (`find_urls`), looks up their sizes (`read_file_info`) and opens them (`open_url`).
pyarrow is used where it has a filesystem built in: then s3 and gs need nothing to be installed, and bytes do not pass
through Python. fsspec (`mumon[remote]`) has all the others, seen through pyarrow's interface.
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

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # at least two letters: C: is a drive
ARROW_SCHEMES = {"s3", "gs", "gcs", "hdfs", "viewfs"}
ARROW_URL = re.compile(r"(?P<root>\w+://[^/?]*)/*(?P<path>.*?)/*(?P<query>\?\w+=.*)?")
SECRET = re.compile(
    r"(?<=//)[^/?@\s]*:[^/?@\s]*@|(?<=[?&])([\w-]*(?:secret|token|key|sig|cred|password)[\w-]*=)[^&\s]*", re.I
)
ACCESS_DENIED = re.compile(r"access.?denied|forbidden|unauthori[sz]ed|permission|credential|\b40[13]\b", re.I)
GIVE_UP_SECONDS = 30  # without an answer; Google's library would try for 15 minutes
# Fields in which filesystems of fsspec report something that changes with a file's content, best first.
IDENTITY_FIELDS = (
    *("ETag", "etag", "blob_id", "sha", "md5Hash", "content_md5", "checksum"),
    *("LastModified", "last_modified", "mtime", "modified", "modificationTime", "updated", "created"),
)
MODEL_FILE, MODEL_SUFFIXES = "model.safetensors", {".mumon", ".checkpoints"}  # a model's folder has these
FIRST_BYTES, BUFFER_BYTES = 1 << 18, 1 << 23  # per request: each one waits for the network


def is_url(name: str) -> bool:
    """Return whether a name is a URL rather than a path.

    >>> is_url("s3://bucket/a.txt"), is_url("a.txt"), is_url("C:/a.txt")
    (True, False, False)
    """
    return URL.match(name) is not None


def to_local_path(name: str) -> str:
    """Return the path that a file:// URL names, and any other name as it is.

    >>> to_local_path("file:///tmp/a%20b.txt"), to_local_path("a.txt")
    ('/tmp/a b.txt', 'a.txt')
    """
    if not name.lower().startswith("file://"):
        return name
    from urllib.request import url2pathname

    host, slash, rest = name[len("file://") :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise CorpusError(
            f"{name} does not name a file of this machine; write file:///, with three slashes, and a whole path"
        )
    return url2pathname(slash + rest)


def hide_secrets(text: str) -> str:
    """Replace the secrets in a URL, or in a library's message about one, by an ellipsis.

    >>> hide_secrets("s3://me:hidden@bucket/a.txt?secret_key=hidden&region=eu")
    's3://…@bucket/a.txt?secret_key=…&region=eu'
    """
    return SECRET.sub(lambda found: f"{found[1] or ''}…{'' if found[1] else '@'}", text)


class FileInfo(NamedTuple):
    """What a filesystem says about a file without reading it; None where it says nothing."""

    size: int | None
    identity: str | None  # differs after every change of the file


class RemotePath(NamedTuple):
    """A path on one of pyarrow's filesystems, and the URL that names it."""

    files: Any
    path: str
    url: str
    query: str  # options of the filesystem, which are part of every URL there

    @property
    def fsspec(self) -> Any:
        """The filesystem of fsspec behind it, or None if it is one of pyarrow's own."""
        return getattr(getattr(self.files, "handler", None), "fs", None)

    def build_url(self, path: str) -> str:
        """Return the URL of a path below this one."""
        if not path.startswith(self.path):  # fsspec may have several names for it
            return str(self.fsspec.unstrip_protocol(path))
        return f"{self.url.rstrip('/')}/{path[len(self.path) :].strip('/')}{self.query}"


def read_file_info(urls: Sequence[str], fresh: bool = False) -> list[FileInfo]:
    """Look up the sizes and identities of files.

    Parameters
    ----------
    urls
        The files.
    fresh
        Whether to ask the servers again instead of using what fsspec remembers.

    Returns
    -------
    list of FileInfo
        One for each URL.
    """
    infos: list[FileInfo] = []
    places = [locate(url) for url in urls]
    for _, group in groupby(places, lambda place: id(place.fsspec or place.files)):
        infos += _read_group_info(list(group), fresh)
    return infos


def _read_group_info(places: list[RemotePath], fresh: bool) -> list[FileInfo]:
    first = places[0]
    if first.fsspec is None:  # all in one call: pyarrow makes several requests at a time
        with explain_errors(first.url):
            infos = first.files.get_file_info([place.path for place in places])
        return [FileInfo(info.size, None if info.mtime_ns is None else str(info.mtime_ns)) for info in infos]
    if fresh:
        first.fsspec.invalidate_cache()
    found = []
    for place in places:
        with explain_errors(place.url):
            details = place.fsspec.info(place.path)
        found.append(
            FileInfo(
                details.get("size"), next((str(details[key]) for key in IDENTITY_FIELDS if details.get(key)), None)
            )
        )
    return found


def locate(url: str) -> RemotePath:
    """Return the filesystem and path of a URL, by pyarrow or else by fsspec.

    Parameters
    ----------
    url
        Any URL, but not file://.

    Returns
    -------
    RemotePath
        Where it leads; whether there is a file is not asked.
    """
    scheme = URL.match(url)[1].lower()  # type: ignore[index]
    if scheme in ARROW_SCHEMES:
        parts = ARROW_URL.fullmatch(url)
        known = parts and _open_arrow(f"{parts['root']}/{parts['query'] or ''}")
        if parts and known:
            path = f"{known[1].rstrip('/')}/{parts['path']}".rstrip("/") or "/"
            return RemotePath(known[0], path, f"{parts['root']}/{parts['path']}", parts["query"] or "")
    return _locate_with_fsspec(url, scheme)


@cache
def _open_arrow(root: str) -> tuple[Any, str] | None:
    """Open pyarrow's filesystem of a URL without a path; return None if this build of pyarrow does not have it."""
    from pyarrow import fs

    if root.startswith(("gs:", "gcs:")) and "retry_limit_seconds=" not in root:
        root += f"{'&' if '?' in root else '?'}retry_limit_seconds={GIVE_UP_SECONDS}"
    with explain_errors(root.partition("?")[0]):
        try:
            files, path = fs.FileSystem.from_uri(root)
        except NotImplementedError:
            return None
        return files, path


def _locate_with_fsspec(url: str, scheme: str) -> RemotePath:
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
    """Turn whatever a filesystem's library raises (each has its own errors) into a CorpusError of one sentence."""
    shown = hide_secrets(url)
    try:
        yield
    except MumonError:
        raise
    except FileNotFoundError:
        raise CorpusError(f"there is no file {shown}; check the address") from None
    except Exception as error:
        reason = to_one_line(hide_secrets(str(error) or type(error).__name__))
        if isinstance(error, PermissionError) or ACCESS_DENIED.search(reason):
            step = "check that your credentials are set and may read it"
        else:
            step = "check the address, the network and your credentials"
        raise CorpusError(f"{shown} cannot be read ({reason}); {step}") from None


def find_urls(url: str) -> list[str]:
    """List the files that a URL names, in a fixed order.

    Parameters
    ----------
    url
        A file, a folder (all files below it) or a glob. Hidden files and models below a folder are left out, as on
        this machine.

    Returns
    -------
    list of str
        Their URLs; at least one.
    """
    with explain_errors(url):
        place = locate(url)
        kind = place.files.get_file_info(place.path).type.name
        found = [url] if kind == "File" else _list_folder(place) if kind == "Directory" else _expand_glob(place)
        if not found:
            raise FileNotFoundError(url)
        return found


def _list_folder(place: RemotePath) -> list[str]:
    found, models = {}, set()
    for info in _list_entries(place, recursive=True):
        path = PurePosixPath(info.path[len(place.path) :].strip("/"))
        if path.name == MODEL_FILE:
            models.add(path.parent)
        if info.type.name == "File" and not any(part.startswith(".") for part in path.parts):
            found[path] = place.build_url(info.path)
    shown = hide_secrets(place.url)
    if PurePosixPath() in models:
        raise CorpusError(
            f"{shown} is a model, not text; to continue its training, copy it here and name it with --from"
        )
    texts = [
        url
        for path, url in found.items()
        if not any(folder in models or folder.suffix in MODEL_SUFFIXES for folder in path.parents)
    ]
    if not texts:
        raise CorpusError(f"the folder {shown} has no file to read; name one that has text files")
    return sorted(texts)


def _expand_glob(place: RemotePath) -> list[str]:
    """List the files that a URL with wildcards names."""
    parts = place.url.split("/")
    # A question mark begins the query of a web address, and one in the middle of a path is rare.
    wild = "*" if place.url.startswith("http") else "*?["
    first = next((index for index, part in enumerate(parts) if any(sign in part for sign in wild)), 0)
    if not first:
        return []
    base = locate("/".join(parts[:first]) + "/" + place.query)
    found: list[str] = []
    for info in sorted(_match_level(base, parts[first:]), key=lambda info: str(info.path)):
        if PurePosixPath(info.path).suffix in MODEL_SUFFIXES:
            continue
        if info.type.name == "File":
            found.append(base.build_url(info.path))
        elif base.files.get_file_info(f"{info.path}/{MODEL_FILE}").type.name != "File":
            found += find_urls(base.build_url(info.path))
    return list(dict.fromkeys(found))  # a pattern may match a folder and files in it


def _match_level(place: RemotePath, pattern: list[str]) -> Iterator[Any]:
    """Match level by level, as Python's glob does: except for `**`, only folders that match are listed."""
    head, rest = pattern[0], pattern[1:]
    for info in _list_entries(place, recursive=head == "**"):
        parts = info.path[len(place.path) :].strip("/").split("/")
        folder = info.type.name == "Directory"
        if head == "**":
            if _matches(parts, pattern) and not (folder and pattern[-1] == "**"):
                yield info
        elif _matches(parts, [head]):
            if not rest:
                yield info
            elif folder:
                yield from _match_level(place._replace(path=info.path), rest)


def _matches(parts: list[str], pattern: list[str]) -> bool:
    if not parts or not pattern:
        return not parts and pattern in ([], ["**"])
    hidden = parts[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or (not hidden and _matches(parts[1:], pattern))
    return not hidden and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _list_entries(place: RemotePath, recursive: bool) -> list[Any]:
    from pyarrow import fs

    return list(place.files.get_file_info(fs.FileSelector(place.path, recursive=recursive, allow_not_found=True)))


def open_url(url: str) -> io.BufferedReader:
    """Open a file for reading.

    Parameters
    ----------
    url
        A file, as `find_urls` lists it.

    Returns
    -------
    io.BufferedReader
        The file. It can seek, unless it comes from a web server that only sends whole files.
    """
    with explain_errors(url):
        place = locate(url)
        if place.fsspec is None:
            file = place.files.open_input_file(place.path)
            return io.BufferedReader(_RemoteFile(file, file.size(), url), BUFFER_BYTES)
        streamed = url.startswith("http") and not _serves_ranges(place)
        file = place.fsspec.open(place.path, "rb", **({"block_size": 0} if streamed else {}))
        size = getattr(file, "size", None)  # some have a method of that name
        return io.BufferedReader(
            _RemoteFile(file, size if isinstance(size, int) else None, url, streamed), BUFFER_BYTES
        )


def _serves_ranges(place: RemotePath) -> bool:
    """Try whether a web server sends parts of a file: it does not say so, and fsspec notices only after 5 MB."""
    with place.fsspec.open(place.path, "rb", block_size=16) as file:
        if not getattr(file, "size", None):
            return False
        try:
            file.seek(1)
            file.read(1)
        except ValueError:
            return False
        return True


class _RemoteFile(io.RawIOBase):
    """A file of another filesystem with Python's interface; an error of its library becomes a sentence.

    The first read is short, because many callers look only at a file's beginning.
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
        """Read as many bytes as asked for, unless the file ends before: Arrow takes fewer for the end of the file."""
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
