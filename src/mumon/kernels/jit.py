"""How every kernel is compiled: on its first call, without the GIL, and cached on disk.

Compiling all kernels takes about 10 s, once per machine.
"""

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
from numba.core.runtime import rtsys

from mumon.utils import paths

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation lets sums vectorise. "nnan" and "ninf" are left out so that a diverging run is noticed.
FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}


@functools.cache
def cache_directory() -> Path:
    """Return the folder of compiled kernels.

    Numba invalidates a function's cache when *its* file changes but not when a function it calls does, so the name of
    the folder has a digest of every source in this package. Everything that kernels depend on must be here: no kernel
    imports constants from other packages.
    """
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(base) if base else paths.cache_directory()) / f"kernels-{digest.hexdigest()[:16]}"


@functools.cache
def _is_writable() -> bool:
    """Return whether the folder can be written. If not, Numba would use one next to the sources, without a digest."""
    try:
        cache_directory().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_directory()):
            return True
    except OSError:
        return False


def is_compiled(name: str) -> bool:
    """Return whether an earlier process has compiled the kernel of this name on this machine."""
    return any(cache_directory().rglob(f"*.{name}-*.nbc"))


def kernel(function: F) -> F:
    """Compile a function on its first call; a decorator.

    Parameters
    ----------
    function
        A function of arrays and scalars.

    Returns
    -------
    function
        The kernel; with NUMBA_DISABLE_JIT=1, the plain Python function.
    """
    compiled = numba.njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
    if numba.config.DISABLE_JIT or not _is_writable():  # compile in every process instead of failing
        return compiled  # type: ignore[no-any-return]
    saved = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        compiled._cache = _Cache(function)
    except (RuntimeError, OSError):  # for example, the disk has just become full
        pass
    finally:
        numba.config.CACHE_DIR = saved
    return compiled  # type: ignore[no-any-return]


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, where a damaged file or a full disk costs only the time to compile."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled kernel without what only compiling needs.

        Numba would first import all it knows of strings, sets, NumPy's functions and SciPy's BLAS, which takes longer
        than anything else before training. Machine code needs only the runtime, which allocates arrays.
        """
        try:
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # unpickling a damaged file can raise anything
            pass
        try:
            return super().load_overload(sig, target_context)  # in case another version of Numba needs more
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception:  # no space, or the index is damaged: begin a new one, for the next process
            with contextlib.suppress(Exception):
                self.flush()


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it; a decorator.

    LLVM has to inline it. Otherwise a call can lead to one copy of the helper where a kernel has just been compiled,
    and to another, which rounds differently, where it is loaded from the cache.
    """
    options = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy", "inline": "never", "forceinline": True}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]
