"""How every kernel is compiled: lazily, without the GIL, cached on disk under a digest of all kernel sources."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from mumon import paths

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


def is_compiled(name: str) -> bool:
    """Whether an earlier process has left this kernel compiled on this machine."""
    return any(cache_directory().rglob(f"*.{name}-*.nbc"))


def kernel(function: F) -> F:
    """Compile `function` on first call. With NUMBA_DISABLE_JIT=1 it stays plain Python."""
    saved = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        return numba.njit(nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy")(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no writable place for a cache: compile in every process rather than fail
        return numba.njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = saved


def inlined(function: F) -> F:
    """Compile a helper into the kernels that call it; LLVM does the inlining."""
    return numba.njit(nogil=True, fastmath=FASTMATH, error_model="numpy", inline="never")(function)  # type: ignore[no-any-return]
