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
from numba.core import cgutils, types
from numba.extending import intrinsic

from mumon.kernels import simd
from mumon.kernels.jit import inlined
from mumon.kernels.layout import CACHE_LINE, PADDING

Row: TypeAlias = Any  # a matrix and an index in a call; the values of some columns in an expression
Band: TypeAlias = Any  # a row that has only the columns of a band
Each: TypeAlias = Any  # in a scan, the row of the step
Carry: TypeAlias = Any  # in a scan, what a step hands to the next
Scalar: TypeAlias = Any

SCAN_WIDTH = 3 if simd.REGISTER_COUNT == 32 else 2  # registers of columns that a scan works on at a time
LOCATED = ("Row", "Band")  # what a table says of each step
SCAN_ARGUMENTS = {"Row": [""], "Each": [""], "Band": [""], "Carry": ["", "_index"], "Scalar": []}  # of an operand
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


def scan_operation(body: Callable[..., Any]) -> Callable[..., None]:
    """Make an operation on a band of columns of one row after another; a decorator.

    Parameters
    ----------
    body
        The expression of one step. Its parameters are annotated, and those that it replaces come first:
        Carry: what a step hands to the next, a matrix and the index of a row, which is read before the first step and
        written after the last; Row: a matrix, of which each step has a row; Band: the same of a matrix that has only
        the columns of the band; Each: a matrix whose row r is that of step r; Scalar: a number for each step. Rows that
        one step replaces must differ.

    Returns
    -------
    function
        An operation for kernels. It takes the matrices in order, then an array (steps, rows) of what `locate` returns
        for the rows of each step, an array (steps, scalars), a slot, the number of steps, the first column of the band
        and its end. The arrays may have the rows and scalars of several calls side by side: `slot` says which to take.
        The band must be a multiple of `layout.PADDING`.
    """
    parameters = inspect.signature(body).parameters
    roles = [parameter.annotation for parameter in parameters.values()]
    if numba.config.DISABLE_JIT:
        return _make_plain_scan(body, roles)

    def operation(typingctx: Any, *kinds: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            *matrices, places, scalars, slot, steps, begin, end = simd.unpack_arguments(
                context, builder, signature, values
            )
            width, wide = matrices[0].lanes, SCAN_WIDTH
            whole = builder.sub(end, builder.urem(builder.sub(end, begin), end.type(wide * width)))
            parts = [(begin, whole, wide)] + ([(whole, end, 1)] if PADDING % (wide * width) else [])
            for first, upto, registers in parts:
                with simd.loop(builder, first, upto, registers * width) as (column, _):
                    scan = _Scan(builder, roles, matrices, begin, column, width, registers)
                    with simd.loop(builder, column.type(0), steps, 1) as (r, _):
                        scan.step(body, r, places, scalars, slot)
                    scan.finish()
            return context.get_dummy_value()

        return types.void(*kinds), codegen

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [f"{name}{part}" for name, role in zip(parameters, roles, strict=True) for part in SCAN_ARGUMENTS[role]]
    names = ["typingctx", *names, "places", "scalars", "slot", "steps", "band_begin", "band_end"]
    operation.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return intrinsic(operation)  # type: ignore[no-any-return]


def _count(roles: list[str], counted: tuple[str, ...]) -> int:
    return sum(role in counted for role in roles)


def _make_plain_scan(body: Callable[..., Any], roles: list[str]) -> Callable[..., None]:
    """Return a scan in plain Python, on NumPy rows."""

    def operation(*arguments: Any) -> None:
        *matrices, places, scalars, slot, steps, begin, end = arguments
        for r in range(steps):
            given, values = iter(matrices), []
            located, numbers = _count(roles, LOCATED), _count(roles, ("Scalar",))
            rows, factors = iter(places[r, slot * located :]), iter(scalars[r, slot * numbers :])
            for role in roles:
                if role == "Scalar":
                    values.append(next(factors))
                elif role == "Band":
                    values.append(next(given)[next(rows), : end - begin])
                else:
                    matrix = next(given)
                    row = next(given) if role == "Carry" else next(rows) if role == "Row" else r
                    values.append(matrix[row, begin:end])
            for row, result in zip(values, [np.array(value) for value in _as_tuple(body(*values))], strict=False):
                row[:] = result

    return operation


class _Scan:
    """All steps of a scan for as many columns as fit into some registers, while they are emitted."""

    def __init__(
        self, builder: Any, roles: list[str], matrices: list[Any], begin: Any, column: Any, width: int, registers: int
    ) -> None:
        given = iter(matrices)
        self.builder, self.begin, self.column, self.width, self.roles = builder, begin, column, width, roles
        self.offsets = [v * width for v in range(registers)]
        self.matrices: list[Any] = []
        self.carried: dict[int, tuple[Any, list[Any]]] = {}  # by operand: the row, and where its registers are kept
        for k, role in enumerate(roles):
            self.matrices.append(None if role == "Scalar" else next(given))
            if role == "Carry":
                row = self.matrices[k].row(next(given))
                values = [row.load(column, width, plus).value for plus in self.offsets]
                self.carried[k] = row, [cgutils.alloca_once_value(builder, value) for value in values]

    def step(self, body: Callable[..., Any], r: Any, places: Any, scalars: Any, slot: Any) -> None:
        """Emit step r."""
        intp, roles = r.type, self.roles
        place, number = places.row(r), scalars.row(r)
        first_place = self.builder.mul(slot, intp(_count(roles, LOCATED)))
        first_number = self.builder.mul(slot, intp(_count(roles, ("Scalar",))))
        rows: list[Any] = []
        for k, role in enumerate(roles):
            if role == "Scalar":
                value = number.load(first_number, 1, roles[:k].count(role)).value
                rows.append(simd.broadcast(self.builder, value, self.width))
            elif role in LOCATED:
                rows.append(self.matrices[k].row_at(place.load(first_place, 1, _count(roles[:k], LOCATED)).value))
                if role == "Band":
                    rows[-1].shift(self.begin)
            else:
                rows.append(self.carried[k][0] if role == "Carry" else self.matrices[k].row(r))
        results = []
        for v, plus in enumerate(self.offsets):
            values = []
            for k, row in enumerate(rows):
                if k in self.carried:
                    values.append(simd.Lanes(self.builder, self.builder.load(self.carried[k][1][v])))
                else:
                    values.append(row.load(self.column, self.width, plus) if isinstance(row, simd.Row) else row)
            results.append(_as_tuple(body(*values)))
        for v, plus in enumerate(self.offsets):
            for k, value in enumerate(results[v]):
                if k in self.carried:
                    self.builder.store(value.value, self.carried[k][1][v])
                else:
                    rows[k].store(self.column, value, plus)

    def finish(self) -> None:
        """Emit what follows the last step."""
        for row, places in self.carried.values():
            for place, plus in zip(places, self.offsets, strict=True):
                row.store(self.column, simd.Lanes(self.builder, self.builder.load(place)), plus)


@row_operation
def copy_row(a: Row, b: Row) -> Row:
    """Set a = b."""
    return b


@row_operation
def add_row(a: Row, scale: Scalar, b: Row) -> Row:
    """Add scale · b to a."""
    return a + scale * b


@scan_operation
def add_rows(total: Carry, row: Row, scale: Scalar) -> Carry:
    """Add scale · row to a total."""
    return total + scale * row


@scan_operation
def add_to_rows(row: Row, added: Row, scale: Scalar) -> Row:
    """Add scale · added to each row."""
    return row + scale * added


if numba.config.DISABLE_JIT:

    def dot(a: Any, i: Any, b: Any, j: Any) -> Any:
        """Return a[i] · b[j]."""
        return np.dot(a[i], b[j])

    def locate(matrix: Any, row: Any) -> Any:
        """Return where a row of a matrix is, for the table of a scan."""
        return row

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
                    plus = place * width
                    simd.accumulate(builder, chain, left.load(column, width, plus) * right.load(column, width, plus))
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
    def locate(typingctx: Any, matrix: Any, row: Any) -> Any:
        """Return where a row of a matrix is, for the table of a scan, which keeps the matrix alive as its argument."""

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            matrix, row = simd.unpack_arguments(context, builder, signature, values)
            return builder.ptrtoint(matrix.row(row).start, row.type)

        return types.intp(matrix, row), codegen

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
    return allocate_bands(rows, like.shape[1], like)


@inlined
def allocate_bands(rows: Any, columns: Any, like: Any) -> Any:
    """Allocate a number of rows of `columns` numbers of the kind of `like`, on cache lines."""
    itemsize = like.itemsize
    memory = np.empty(rows * columns + CACHE_LINE // itemsize, like.dtype)
    start = (-memory.ctypes.data % CACHE_LINE) // itemsize
    return memory[start : start + rows * columns].reshape(rows, columns)
