"""LLVM's vectors, with which `row_ops` and `products` write their loops.

These functions run while a kernel is compiled: they emit instructions. None of them runs with NUMBA_DISABLE_JIT=1.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.codegen import get_host_cpu_features

INT32, BYTES = ir.IntType(32), ir.IntType(8).as_pointer()
CONTRACT = ("contract",)  # a product and a sum may become one instruction


def _find_registers() -> tuple[int, int]:
    """Return the bytes of a vector register of the machine that Numba compiles for, and the number of registers."""
    chosen = get_host_cpu_features() if numba.config.CPU_FEATURES is None else numba.config.CPU_FEATURES
    features = {name[1:] for name in chosen.split(",") if name.startswith("+")}
    if "avx512f" in features:
        return 64, 32
    if "avx" in features:
        return 32, 16
    return 16, 32 if platform.machine().lower() in ("aarch64", "arm64") else 16


REGISTER_BYTES, REGISTER_COUNT = _find_registers()


class Lanes:
    """The values of some columns: one vector of LLVM, or a single value."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fadd(self.value, other.value, flags=CONTRACT))

    def __sub__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fsub(self.value, other.value, flags=CONTRACT))

    def __mul__(self, other: Lanes) -> Lanes:
        return Lanes(self.builder, self.builder.fmul(self.value, other.value, flags=CONTRACT))


class Row:
    """A row of a matrix, of which several columns are loaded or stored at a time.

    Addresses are pointers with offsets, not sums of integers: LLVM then folds constant offsets into instructions.
    """

    def __init__(self, matrix: Matrix, start: Any) -> None:
        self.builder, self.element, self.itemsize = matrix.builder, matrix.element, matrix.itemsize
        self.start = start

    def shift(self, first: Any) -> None:
        """Count columns from `first` on: the first element of the row is column `first`."""
        offset = self.builder.mul(first, first.type(-self.itemsize))
        self.start = self.builder.gep(self.start, [offset])

    def address(self, column: Any, kind: Any, plus: int = 0) -> Any:
        """Return a pointer of a kind to a column, `plus` a number of columns."""
        place = self.builder.gep(self.start, [self.builder.mul(column, column.type(self.itemsize))])
        if plus:
            place = self.builder.gep(place, [column.type(plus * self.itemsize)])
        return self.builder.bitcast(place, kind.as_pointer())

    def load(self, column: Any, lanes: int, plus: int = 0) -> Lanes:
        """Load the values of some columns from `column` + `plus` on."""
        kind = ir.VectorType(self.element, lanes) if lanes > 1 else self.element
        return Lanes(self.builder, self.builder.load(self.address(column, kind, plus), align=self.itemsize))

    def store(self, column: Any, lanes: Lanes, plus: int = 0) -> None:
        """Store values from `column` + `plus` on."""
        self.builder.store(lanes.value, self.address(column, lanes.value.type, plus), align=self.itemsize)

    def prefetch(self, column: Any, plus: int = 0) -> None:
        """Fetch the cache line of a column before it is needed."""
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(ir.VoidType(), [BYTES, INT32, INT32, INT32]), "llvm.prefetch.p0i8"
        )
        address = self.address(column, ir.IntType(8), plus)
        self.builder.call(function, [address, INT32(1), INT32(3), INT32(1)])  # to write, in all levels, data


class Matrix:
    """A matrix that an intrinsic is called with. Its last axis must be contiguous."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.context, self.builder, self.element = context, builder, context.get_value_type(kind.dtype)
        self.itemsize = context.get_abi_sizeof(self.element)
        self.lanes = REGISTER_BYTES // self.itemsize
        self.data = builder.bitcast(array.data, BYTES)
        self.stride = cgutils.unpack_tuple(builder, array.strides)[0]
        self.columns = cgutils.unpack_tuple(builder, array.shape)[-1]

    def row(self, index: Any) -> Row:
        """Return a row."""
        return Row(self, self.builder.gep(self.data, [self.builder.mul(index, self.stride)]))

    def row_at(self, address: Any) -> Row:
        """Return the row that begins at an address."""
        return Row(self, self.builder.inttoptr(address, BYTES))


class Vector(Matrix):
    """A one-dimensional array that an intrinsic is called with."""

    def at(self, index: Any) -> Any:
        """Load one value."""
        return Row(self, self.data).load(index, 1).value


def cast_index(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Convert an integer of any width to one that addresses memory."""
    return context.cast(builder, value, kind, types.intp)


def unpack_arguments(context: Any, builder: Any, signature: Any, values: Any) -> list[Any]:
    """Wrap the arrays and indices that an intrinsic is called with."""
    ready: list[Any] = []
    for kind, value in zip(signature.args, values, strict=True):
        if isinstance(kind, types.Array):
            ready.append((Matrix if kind.ndim == 2 else Vector)(context, builder, kind, value))
        else:
            ready.append(cast_index(context, builder, kind, value))
    return ready


def broadcast(builder: Any, value: Any, lanes: int) -> Lanes:
    """Put a scalar into every lane."""
    if lanes == 1:
        return Lanes(builder, value)
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, value, INT32(0))
    return Lanes(builder, _shuffle(builder, first, undefined, [0] * lanes))


def loop(builder: Any, begin: Any, end: Any, step: int) -> Any:
    """Emit a loop: `with loop(…) as (index, _)`."""
    return cgutils.for_range_slice(builder, begin, end, begin.type(step), begin.type)


def allocate_sum(builder: Any, element: Any, lanes: int) -> Any:
    """Allocate a sum, initially 0, which LLVM keeps in a register."""
    kind = ir.VectorType(element, lanes) if lanes > 1 else element
    return cgutils.alloca_once_value(builder, ir.Constant(kind, [0.0] * lanes if lanes > 1 else 0.0))


def reset(builder: Any, total: Any) -> None:
    """Set a sum to 0."""
    kind = total.type.pointee
    builder.store(ir.Constant(kind, [0.0] * kind.count), total)


def accumulate(builder: Any, total: Any, term: Lanes) -> None:
    """Add a term to a sum."""
    builder.store((Lanes(builder, builder.load(total)) + term).value, total)


def _shuffle(builder: Any, a: Any, b: Any, order: Sequence[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT32, len(order)), list(order)))


def sum_vectors(builder: Any, vectors: list[Any]) -> Any:
    """Return the sums of the lanes of vectors, whose number is a power of two, in order, as one vector.

    Halves of neighbours are added until every group of lanes that belongs to one vector has shrunk to one lane.
    """
    group = lanes = vectors[0].type.count
    while len(vectors) > 1:
        if group == 1:  # more vectors than lanes: what is left is put side by side
            low, high = list(range(2 * vectors[0].type.count)), []
        else:
            low = [i for first in range(0, 2 * lanes, group) for i in range(first, first + group // 2)]
            high = [i + group // 2 for i in low]
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = [_shuffle(builder, a, b, low) for a, b in pairs]
        if high:
            upper = [_shuffle(builder, a, b, high) for a, b in pairs]
            vectors = [builder.fadd(a, b) for a, b in zip(vectors, upper, strict=True)]
            group //= 2
    vector = vectors[0]
    while group > 1:  # more lanes than vectors: the groups shrink, and so does the vector
        lanes = vector.type.count
        low = [i for first in range(0, lanes, group) for i in range(first, first + group // 2)]
        upper = _shuffle(builder, vector, vector, [i + group // 2 for i in low])
        vector = builder.fadd(_shuffle(builder, vector, vector, low), upper)
        group //= 2
    return vector


def take_lanes(builder: Any, vector: Any, first: int, count: int) -> Lanes:
    """Return some consecutive lanes of a vector."""
    return Lanes(builder, _shuffle(builder, vector, vector, range(first, first + count)))
