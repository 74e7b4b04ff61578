"""Named public data sets, and how they are found or downloaded.

A file is looked for in the folder that the environment variable MUMON_DATA names (a mirror, in which each file has the
path that the registry lists), then in the user's cache. If it is in neither and has a public address, it is downloaded
into the cache and verified.

>>> from mumon import datasets
>>> datasets.find("google").title
"Google's 19,544 analogies, semantic and syntactic"
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from mumon.datasets.registry import ALIASES, REGISTRY, DataFile, Dataset
from mumon.errors import DataError, MumonError, OptionError
from mumon.utils.paths import cache_directory
from mumon.utils.progress import Progress, choose_progress

__all__ = ["ALIASES", "REGISTRY", "DataFile", "Dataset", "fetch", "fetch_all", "fetch_folder", "find", "where"]

MIRROR = "MUMON_DATA"
MIRRORED, CACHED, ONLINE, BY_HAND = PLACES = ("mirror", "cache", "to download", "by hand")

# Seconds to connect and to wait for the next bytes. Every address of a host is tried in turn, and GitHub has up to
# eight: 5 s each keeps a blocked network under a minute.
TIMEOUT = (5.0, 30.0)
CHUNK_BYTES = 1 << 16


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Return the local path of a data set that is a single file, downloading it if need be.

    Parameters
    ----------
    name
        The name of the data set, or an alias of it.
    progress
        Receives the progress of the download; by default a bar, if there is a terminal.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OptionError
        If the name is unknown, or the data set has several files.
    DataError
        If the file is not on this machine and cannot be downloaded.
    """
    dataset = find(name)
    if len(dataset.files) != 1:
        raise OptionError(f"{dataset.name} has {len(dataset.files)} files; call fetch_all({dataset.name!r})")
    return fetch_all(name, progress)[0]


def fetch_all(name: str, progress: Progress | None = None) -> list[Path]:
    """Return the local paths of all files of a data set, downloading them if need be.

    A file of the mirror is used whatever it contains, since people may keep their own version there. If it is not the
    version known here, `progress` (or, without one, a Python warning) says so once.

    Parameters
    ----------
    name
        The name of the data set, or an alias of it.
    progress
        Receives the progress of the download; by default a bar, if there is a terminal.

    Returns
    -------
    list of Path
        The files, in the order of `Dataset.files`.

    Raises
    ------
    DataError
        If a file is not on this machine and cannot be downloaded.
    """
    dataset = find(name)
    local = [(file, _find_local(dataset, file, progress)) for file in dataset.files]
    missing = ", ".join(file.path for file, path in local if path is None and file.url is None)
    if missing:
        mirror = _find_mirror()
        place = f"in {mirror}" if mirror else f"in a folder and set {MIRROR} to it"
        raise DataError(f"{dataset.name} has no public download; put {missing} {place} (the original: {dataset.home})")
    return [path or _download(dataset, file, progress) for file, path in local]


def fetch_folder(name: str, progress: Progress | None = None) -> Path:
    """Return the folder that the files of a data set are in, downloading them if need be.

    This is for readers that accept other file names, too. If the mirror has the folder, it is used whichever files are
    there: people's own copy of GLUE is not the subset that is known here.

    Parameters
    ----------
    name
        The name of the data set, or an alias of it.
    progress
        Receives the progress of the download; by default a bar, if there is a terminal.

    Returns
    -------
    Path
        The folder.
    """
    dataset, mirror = find(name), _find_mirror()
    inside = Path(dataset.files[0].path).parent
    if mirror is not None and (mirror / inside).is_dir():
        return mirror / inside
    return fetch_all(name, progress)[0].parent


def find(name: str) -> Dataset:
    """Return the data set of a name or alias, in upper or lower case.

    Parameters
    ----------
    name
        One of `REGISTRY` or `ALIASES`.

    Returns
    -------
    Dataset
        Its record: files, licence, citation and home page.

    Raises
    ------
    OptionError
        If the name is unknown.
    """
    dataset = REGISTRY.get(ALIASES.get(name.lower(), name.lower()))
    if dataset is None:
        raise OptionError(f"no data set is called {name!r}; the names are {', '.join(REGISTRY)}")
    return dataset


def where(dataset: Dataset) -> str:
    """Return where a data set is now, without reading its files.

    Parameters
    ----------
    dataset
        A record, as `find` returns it.

    Returns
    -------
    str
        "mirror", "cache", "to download" or "by hand"; the last of these that is true of any of its files.
    """
    mirror = _find_mirror()

    def place(file: DataFile) -> str:
        if mirror is not None and (mirror / file.path).is_file():
            return MIRRORED
        if _cache_path(file).is_file():
            return CACHED
        return ONLINE if file.url else BY_HAND

    return max(map(place, dataset.files), key=PLACES.index)


def _find_local(dataset: Dataset, file: DataFile, progress: Progress | None) -> Path | None:
    """Return the file in the mirror, whatever it contains, or else in the cache, if it is whole."""
    mirror, cached = _find_mirror(), _cache_path(file)
    if mirror is not None and (mirrored := mirror / file.path).is_file():
        if not file.matches(mirrored):
            _note(
                progress, f"{mirrored} is not the {dataset.name} known to mumon; scores may differ from published ones"
            )
        return mirrored
    return cached if cached.is_file() and file.matches(cached) else None


def _find_mirror() -> Path | None:
    folder = os.environ.get(MIRROR)
    if not folder:
        return None
    mirror = Path(folder).expanduser()
    if not mirror.is_dir():
        raise DataError(f"{MIRROR} names {folder}, which is not a folder; correct it or unset it")
    return mirror


def _cache_path(file: DataFile) -> Path:
    return cache_directory() / "data" / file.path


def _download(dataset: Dataset, file: DataFile, progress: Progress | None) -> Path:
    """Download a file into the cache, where it appears whole and verified or not at all."""
    from pooch import HTTPDownloader

    from mumon.utils.atomic import atomic_file

    progress, target = choose_progress(progress), _cache_path(file)
    instead = f"or set {MIRROR} to a folder that has {file.path}"
    progress.start(f"downloading {dataset.name}", file.size, "bytes")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # not pooch.retrieve, which logs to the terminal on its own and leaves files that only their owner may read
        with atomic_file(target) as out:
            download = HTTPDownloader(
                progressbar=_DownloadBar(progress, file.size), chunk_size=CHUNK_BYTES, timeout=TIMEOUT
            )
            download(file.url, out, None)
            out.flush()
            if not file.matches(Path(out.name)):
                known = f"SHA-256 {file.sha256[:12]}…"
                raise DataError(f"{file.url} did not answer with {dataset.name} ({known}); try again, {instead}")
    except MumonError:
        raise
    except OSError as error:  # requests' exceptions are OSErrors, too
        sentence = f"{dataset.name} could not be downloaded from {file.url} ({_explain(error)}); try again, {instead}"
        raise DataError(sentence) from error
    finally:
        progress.close()
    progress.finish(f"downloaded {dataset.name} to {target} (licence: {dataset.licence})")
    return target


def _explain(error: OSError) -> str:
    """Return in a few words what went wrong; requests wraps urllib3's exceptions, and those wrap the system's."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code} {response.reason}"
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, TimeoutError):
            return "no answer in time"
        if words := getattr(link, "strerror", None):
            return str(words)
        link = link.__cause__ or link.__context__
    return "the connection broke"


class _DownloadBar:
    """A progress bar as pooch wants it, which reports to a Progress."""

    def __init__(self, progress: Progress, size: int) -> None:
        self._progress, self._size, self._done = progress, size, 0
        self.total = 0  # pooch sets it; with a compressed answer it is not the file's size

    def update(self, count: int) -> None:
        self._done += count
        self._progress.update(min(self._done, self._size))

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass


_noted: set[str] = set()


def _note(progress: Progress | None, text: str) -> None:
    if progress is None:
        warnings.warn(text, stacklevel=2)
    elif text not in _noted:
        _noted.add(text)
        progress.note(text)
