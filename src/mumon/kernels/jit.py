"""How every kernel is compiled: lazily, without the GIL, cached on disk under a digest of all kernel sources."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

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


if numba.config.DISABLE_JIT:

    def prefetch(matrix: Any, row: int) -> None:
        """Do nothing: plain Python has no cache to warm."""

else:

    @intrinsic  # type: ignore[misc]
    def prefetch(typingctx: Any, matrix: Any, row: Any) -> Any:
        """Ask the memory system for the cache lines of `matrix[row]` before they are needed."""
        signature = types.void(matrix, row)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            array = context.make_array(sig.args[0])(context, builder, args[0])
            intp = context.get_value_type(types.intp)
            index = context.cast(builder, args[1], sig.args[1], types.intp)
            stride, columns = (
                cgutils.unpack_tuple(builder, array.strides)[0],
                cgutils.unpack_tuple(builder, array.shape)[1],
            )
            start = builder.add(builder.ptrtoint(array.data, intp), builder.mul(index, stride))
            width = builder.mul(columns, array.itemsize)
            void_pointer, int32 = ir.IntType(8).as_pointer(), ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [void_pointer, int32, int32, int32]),
                "llvm.prefetch.p0i8",
            )
            with cgutils.for_range_slice(builder, intp(0), width, intp(64), intp) as (offset, _):
                address = builder.inttoptr(builder.add(start, offset), void_pointer)
                builder.call(function, [address, int32(1), int32(3), int32(1)])  # write, keep in all levels, data
            return context.get_dummy_value()

        return signature, codegen
