"""How every kernel is compiled: lazily, without the GIL, cached on disk under a digest of all kernel sources."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

from mumon.utils import paths

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation lets sums vectorise; "nnan" and "ninf" are left out so that a diverging run is seen, not optimised away.
FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}


@functools.cache
def cache_directory() -> Path:
    """Where compiled kernels live.

    Numba invalidates a function's cache when *its* file changes but not when a function it calls does, so the
    directory carries a digest of every kernel source.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(base) if base else paths.cache_directory()) / f"kernels-{digest.hexdigest()[:16]}"


@functools.cache
def _is_writable() -> bool:
    """Whether compiled kernels can be kept. If not, Numba would keep them beside the sources, under no digest."""
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_directory()):
            return True
    except OSError:
        return False


def is_compiled(name: str) -> bool:
    """Whether an earlier process has left this kernel compiled on this machine."""
    return any(cache_directory().rglob(f"*.{name}-*.nbc"))


def kernel(function: F) -> F:
    """Compile `function` on first call. With NUMBA_DISABLE_JIT=1 it stays plain Python."""
    compiled = numba.njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
    if numba.config.DISABLE_JIT or not _is_writable():  # compile in every process rather than fail
        return compiled  # type: ignore[no-any-return]
    saved = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        compiled._cache = _Cache(function)
    except (RuntimeError, OSError):  # the disk has just become full, say
        pass
    finally:
        numba.config.CACHE_DIR = saved
    return compiled  # type: ignore[no-any-return]


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, of which a damaged file or a full disk costs only the time to compile."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file can raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # no room, or the index is damaged: begin a new one, for the next process
            with contextlib.suppress(Exception):
                self.flush()


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it; LLVM does the inlining."""
    return numba.njit(nogil=True, fastmath=FASTMATH, error_model="numpy", inline="never")(function)  # type: ignore[no-any-return]
