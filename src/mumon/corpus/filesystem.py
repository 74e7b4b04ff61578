"""Corpora on other filesystems: `scheme://…` names a file, a folder or a glob there.

pyarrow comes first where it has a filesystem built in: then s3 and gs need nothing to be installed, and bytes arrive
without Python's doing. fsspec (`mumon[remote]`) has all the others, seen through pyarrow's interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from mumon.errors import CorpusError, MumonError, OptionError, one_line

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


def is_url(name: str) -> bool:
    """Whether a name is a URL rather than a path.

    >>> is_url("s3://bucket/a.txt"), is_url("a.txt"), is_url("C:/a.txt")
    (True, False, False)
    """
    return URL.match(name) is not None


def local_path(name: str) -> str:
    """The path that a file:// URL names; any other name as it is.

    >>> local_path("file:///tmp/a%20b.txt"), local_path("a.txt")
    ('/tmp/a b.txt', 'a.txt')
    """
    if not name.lower().startswith("file://"):
        return name
    from urllib.request import url2pathname

    host, slash, rest = name[len("file://") :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise CorpusError(f"{name} names no file of this machine; write file:///, with three slashes, and a whole path")
    return url2pathname(slash + rest)


def shown_url(text: str) -> str:
    """A URL, or what a library says of one, without the secrets that it may hold.

    >>> shown_url("s3://me:hidden@bucket/a.txt?secret_key=hidden&region=eu")
    's3://…@bucket/a.txt?secret_key=…&region=eu'
    """
    return SECRET.sub(lambda found: f"{found[1] or ''}…{'' if found[1] else '@'}", text)


class About(NamedTuple):
    """What a filesystem tells of a file without reading it, as far as it does."""

    size: int | None
    identity: str | None  # another one after every change


class Place(NamedTuple):
    """A path on one of pyarrow's filesystems, and the URL that names it."""

    files: Any
    path: str
    url: str
    query: str  # options of the filesystem, which all URLs there need

    @property
    def fsspec(self) -> Any:
        """The filesystem of fsspec that is behind it, if one is."""
        return getattr(getattr(self.files, "handler", None), "fs", None)

    def url_of(self, path: str) -> str:
        """The URL of a path below."""
        if not path.startswith(self.path):  # fsspec may know a place by several names
            return str(self.fsspec.unstrip_protocol(path))
        return f"{self.url.rstrip('/')}/{path[len(self.path) :].strip('/')}{self.query}"


def look_at(urls: Sequence[str], fresh: bool = False) -> list[About]:
    """What is known of files; `fresh` asks their servers again for what may be remembered here."""
    told: list[About] = []
    places = [place_of(url) for url in urls]
    for _, group in groupby(places, lambda place: id(place.fsspec or place.files)):
        told += _look(list(group), fresh)
    return told


def _look(places: list[Place], fresh: bool) -> list[About]:
    first = places[0]
    if first.fsspec is None:  # all at once: pyarrow asks for several at a time
        with sentences(first.url):
            infos = first.files.get_file_info([place.path for place in places])
        return [About(info.size, None if info.mtime_ns is None else str(info.mtime_ns)) for info in infos]
    if fresh:
        first.fsspec.invalidate_cache()
    told = []
    for place in places:
        with sentences(place.url):
            detail = place.fsspec.info(place.path)
        told.append(About(detail.get("size"), next((str(detail[key]) for key in IDENTITIES if detail.get(key)), None)))
    return told


def place_of(url: str) -> Place:
    """Where a URL leads, by pyarrow's filesystem or else by fsspec's."""
    scheme = URL.match(url)[1].lower()  # type: ignore[index]
    if scheme in ARROW:
        parts = ARROW_URL.fullmatch(url)
        known = parts and _arrow(f"{parts['root']}/{parts['query'] or ''}")
        if parts and known:
            path = f"{known[1].rstrip('/')}/{parts['path']}".rstrip("/") or "/"
            return Place(known[0], path, f"{parts['root']}/{parts['path']}", parts["query"] or "")
    return _place_of_fsspec(url, scheme)


@cache
def _arrow(root: str) -> tuple[Any, str] | None:
    """pyarrow's filesystem and its path of a URL without a path; None if this build of it does not have it."""
    from pyarrow import fs

    if root.startswith(("gs:", "gcs:")) and "retry_limit_seconds=" not in root:
        root += f"{'&' if '?' in root else '?'}retry_limit_seconds={GIVE_UP}"
    with sentences(root.partition("?")[0]):
        try:
            files, path = fs.FileSystem.from_uri(root)
        except NotImplementedError:
            return None
        return files, path


def _place_of_fsspec(url: str, scheme: str) -> Place:
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
    with sentences(url):
        try:
            files, path = fsspec.core.url_to_fs(url)
        except ImportError as error:
            module = getattr(error.__cause__, "name", None) or error.name or "the package of that filesystem"
            raise OptionError(
                f"{scheme}:// needs a package that is not installed ({one_line(error)}); pip install "
                f"{module.partition('.')[0]}"
            ) from None
        return Place(fs.PyFileSystem(fs.FSSpecHandler(files)), path, url, "")


@contextmanager
def sentences(url: str) -> Iterator[None]:
    """Whatever a filesystem's library raises (each has errors of its own) becomes a sentence."""
    shown = shown_url(url)
    try:
        yield
    except MumonError:
        raise
    except FileNotFoundError:
        raise CorpusError(f"there is no file {shown}; check the address") from None
    except Exception as error:
        said = one_line(shown_url(str(error) or type(error).__name__))
        if isinstance(error, PermissionError) or REFUSAL.search(said):
            step = "check that your credentials are set and may read it"
        else:
            step = "check the address, the network and your credentials"
        raise CorpusError(f"{shown} cannot be read ({said}); {step}") from None
