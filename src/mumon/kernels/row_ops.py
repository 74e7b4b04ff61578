"""Operations on rows of matrices, written with `simd`.

Numba's own loops over rows of 300 floats run half as fast: they use half-width vectors, and check for overlap.
`@row_operation` turns an expression over values into a loop over the columns of rows, compiled as vectors or, with
NUMBA_DISABLE_JIT=1, run on NumPy rows. Rows are passed as matrix and index, because a slice would touch Numba's shared
reference counts:

    @row_operation
    def add_row(a: Row, scale: Scalar, b: Row) -> Row:   # called as add_row(matrix, i, scale, other, j)
        return a + scale * b                             # what it returns replaces the first rows
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from mumon.kernels import simd
from mumon.kernels.jit import inlined
from mumon.kernels.layout import CACHE_LINE

Row: TypeAlias = Any  # a matrix and an index in a call; the values of some columns in an expression
Scalar: TypeAlias = Any

CHAINS = 4  # independent sums in a dot product: as many as the cycles of an addition


def _make_plain(body: Callable[..., Any], are_rows: list[bool]) -> Callable[..., None]:
    """Return the operation in plain Python, on NumPy rows."""

    def operation(*arguments: Any) -> None:
        passed = iter(arguments)
        values = [next(passed)[next(passed)] if is_row else next(passed) for is_row in are_rows]
        rows = [value for value, is_row in zip(values, are_rows, strict=True) if is_row]
        results = body(*values)
        # Copied first: a row may appear twice, and an expression may return an argument as it is.
        for row, result in zip(rows, [np.array(r) for r in _as_tuple(results)], strict=False):
            row[:] = result

    return operation


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def row_operation(body: Callable[..., Any]) -> Callable[..., None]:
    """Make an operation that replaces its first rows by what an expression returns for their values; a decorator.

    Parameters
    ----------
    body
        The expression; its parameters are annotated as Row or Scalar.

    Returns
    -------
    function
        An operation for kernels, which takes a matrix and an index for each row.
    """
    parameters = inspect.signature(body).parameters
    are_rows = [parameter.annotation == "Row" for parameter in parameters.values()]
    if numba.config.DISABLE_JIT:
        return _make_plain(body, are_rows)

    def operation(typingctx: Any, *kinds: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            passed = iter(zip(signature.args, values, strict=True))
            dtype = next(kind.dtype for kind in signature.args if isinstance(kind, types.Array))
            operands: list[Any] = []
            for is_row in are_rows:
                kind, value = next(passed)
                if is_row:
                    matrix = simd.Matrix(context, builder, kind, value)
                    index_kind, index = next(passed)
                    operands.append(matrix.row(simd.cast_index(context, builder, index_kind, index)))
                else:
                    operands.append(context.cast(builder, value, kind, dtype))
            rows = [operand for operand, is_row in zip(operands, are_rows, strict=True) if is_row]
            columns = matrix.columns
            whole = builder.and_(columns, columns.type(-matrix.lanes))
            for begin, end, step in ((columns.type(0), whole, matrix.lanes), (whole, columns, 1)):
                ready: list[Any] = [
                    o if is_row else simd.broadcast(builder, o, step)
                    for o, is_row in zip(operands, are_rows, strict=True)
                ]
                with simd.loop(builder, begin, end, step) as (column, _):
                    loaded = [o.load(column, step) if is_row else o for o, is_row in zip(ready, are_rows, strict=True)]
                    for row, result in zip(rows, _as_tuple(body(*loaded)), strict=False):
                        row.store(column, result)
            return context.get_dummy_value()

        return types.void(*kinds), codegen

    names = [name for p, is_row in zip(parameters, are_rows, strict=True) for name in ([p, f"{p}_index"][: 1 + is_row])]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    operation.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("typingctx", *names)])  # type: ignore[attr-defined]
    return intrinsic(operation)  # type: ignore[no-any-return]


@row_operation
def copy_row(a: Row, b: Row) -> Row:
    """Set a = b."""
    return b


@row_operation
def add_row(a: Row, scale: Scalar, b: Row) -> Row:
    """Add scale · b to a."""
    return a + scale * b


@row_operation
def exchange(row: Row, dh: Row, gradient: Scalar, step: Scalar, h: Row) -> tuple[Row, Row]:
    """Update dh by the target row as it was, and the target row by h at its own rate: one logistic unit."""
    return row + step * h, dh + gradient * row


if numba.config.DISABLE_JIT:

    def dot(a: Any, i: Any, b: Any, j: Any) -> Any:
        """Return a[i] · b[j]."""
        return np.dot(a[i], b[j])

    def prefetch(matrix: Any, row: Any) -> None:
        """Do nothing: plain Python has no use for it."""

else:

    @intrinsic  # type: ignore[misc]
    def dot(typingctx: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
        """Return a[i] · b[j]."""

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kinds = signature.args
            matrices = [simd.Matrix(context, builder, kinds[k], values[k]) for k in (0, 2)]
            left, right = (
                matrix.row(simd.cast_index(context, builder, kinds[k], values[k]))
                for matrix, k in zip(matrices, (1, 3), strict=True)
            )
            columns, width = matrices[0].columns, matrices[0].lanes
            chains = [simd.allocate_sum(builder, left.element, width) for _ in range(CHAINS)]
            whole = builder.and_(columns, columns.type(-width))
            chained = builder.sub(whole, builder.urem(whole, columns.type(width * CHAINS)))
            for chain in chains:
                simd.reset(builder, chain)
            with simd.loop(builder, columns.type(0), chained, width * CHAINS) as (column, _):
                for place, chain in enumerate(chains):
                    at = builder.add(column, columns.type(place * width))
                    simd.accumulate(builder, chain, left.load(at, width) * right.load(at, width))
            with simd.loop(builder, chained, whole, width) as (column, _):
                simd.accumulate(builder, chains[0], left.load(column, width) * right.load(column, width))
            vector = simd.Lanes(builder, builder.load(chains[0]))
            for chain in chains[1:]:
                vector = vector + simd.Lanes(builder, builder.load(chain))
            total = simd.allocate_sum(builder, left.element, 1)
            builder.store(builder.extract_element(simd.sum_vectors(builder, [vector.value]), simd.INT32(0)), total)
            with simd.loop(builder, whole, columns, 1) as (column, _):
                simd.accumulate(builder, total, left.load(column, 1) * right.load(column, 1))
            return builder.load(total)

        return a.dtype(a, i, b, j), codegen

    @intrinsic  # type: ignore[misc]
    def prefetch(typingctx: Any, matrix: Any, row: Any) -> Any:
        """Fetch the cache lines of `matrix[row]` before they are needed."""

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            matrix = simd.Matrix(context, builder, signature.args[0], values[0])
            wanted = matrix.row(simd.cast_index(context, builder, signature.args[1], values[1]))
            line = CACHE_LINE // matrix.itemsize
            with simd.loop(builder, matrix.columns.type(0), matrix.columns, line) as (column, _):
                wanted.prefetch(column)
            return context.get_dummy_value()

        return types.void(matrix, row), codegen


@inlined
def allocate_rows(rows: Any, like: Any) -> Any:
    """Allocate a number of rows as long as those of `like`, on cache lines."""
    columns, itemsize = like.shape[1], like.itemsize
    memory = np.empty(rows * columns + CACHE_LINE // itemsize, like.dtype)
    start = (-memory.ctypes.data % CACHE_LINE) // itemsize
    return memory[start : start + rows * columns].reshape(rows, columns)
