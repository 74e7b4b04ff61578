"""The three products of a batch of h with its noise words, whose rows stay where they are in the target matrix:

    score_noise     scores = h · noiseᵀ                        noise row m is target[words[m]]
    collect_noise   dh = scores · noise                        scores have become gradients meanwhile
    update_noise    noise row m += rates[words[m]] · (scoresᵀ · h)[m]

A BLAS would need the noise rows copied together and their changes copied back. Here the sums of a tile stay in
registers. Only the first product needs whole rows. The others are called for a band of columns at a time, so that a
kernel can do everything else that these columns need while they are in the first-level cache. Columns must be a
multiple of `layout.PADDING`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from mumon.kernels import simd
from mumon.kernels.jit import inlined
from mumon.kernels.layout import CACHE_LINE, PADDING
from mumon.kernels.row_ops import dot

# A tile has as many sums as there are registers besides those for its operands: LLVM loads the factors of all rows
# before it uses them, and with 4 × 3 sums in 16 registers it keeps some of the sums in memory.
TALL, WIDE = (8, 3) if simd.REGISTER_COUNT == 32 else (4, 2)  # rows × registers of columns
H_ROWS, NOISE_ROWS = (4, 4) if simd.REGISTER_COUNT == 32 else (2, 4)


if numba.config.DISABLE_JIT:

    def score_noise(scores: Any, rows: Any, h: Any, target: Any, words: Any, source: Any, ahead: Any) -> None:
        """Compute scores[r, m] = h[r] · target[words[m]] for the first `rows` rows."""
        scores[:rows] = h[:rows] @ target[words].T

    def collect_noise(
        dh: Any, place: Any, rows: Any, scores: Any, target: Any, words: Any, begin: Any, end: Any, ahead: Any
    ) -> None:
        """Compute dh = scores · noise for the columns begin … end - 1, which are those of dh from `place` on."""
        dh[:rows, place : place + end - begin] = scores[:rows] @ target[words, begin:end]

    def update_noise(
        target: Any, words: Any, rates: Any, scores: Any, h: Any, rows: Any, begin: Any, end: Any, ahead: Any
    ) -> None:
        """Add rates[words[m]] · Σ_r scores[r, m] h[r] to target[words[m]], in the columns begin … end - 1."""
        steps = rates[words, None] * (scores[:rows].T @ h[:rows, begin:end])
        np.add.at(target[:, begin:end], words, steps)

else:

    @intrinsic  # type: ignore[misc]
    def _score_tile(
        typingctx: Any, h: Any, r: Any, target: Any, words: Any, m: Any, scores: Any, source: Any, ahead: Any
    ) -> Any:
        """Compute the scores of H_ROWS rows of h from r on with NOISE_ROWS words from m on; prefetch source[ahead]."""

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            h, r, target, words, m, scores, source, ahead = simd.unpack_arguments(context, builder, signature, values)
            intp, width = r.type, h.lanes
            left = [h.row(builder.add(r, intp(k))) for k in range(H_ROWS)]
            right = []
            for k in range(NOISE_ROWS):
                word = builder.sext(words.at(builder.add(m, intp(k))), intp)
                right.append(target.row(word))
            totals = [simd.allocate_sum(builder, h.element, width) for _ in range(H_ROWS * NOISE_ROWS)]
            for total in totals:
                simd.reset(builder, total)
            following = source.row(ahead)
            with simd.loop(builder, intp(0), h.columns, PADDING) as (first, _):
                for plus in range(0, PADDING, width):
                    loaded = [row.load(first, width, plus) for row in right]
                    for k, row in enumerate(left):
                        value = row.load(first, width, plus)
                        for q, other in enumerate(loaded):
                            simd.accumulate(builder, totals[k * NOISE_ROWS + q], value * other)
                following.prefetch(first)
            sums = [builder.load(total) for total in totals]
            # As many vectors as a vector has lanes give one vector of sums: a few rows of the tile.
            together = max(width, NOISE_ROWS)
            for first in range(0, len(sums), together):
                vector = simd.sum_vectors(builder, sums[first : first + together])
                for q in range(first, min(first + together, len(sums)), NOISE_ROWS):
                    row = scores.row(builder.add(r, intp(q // NOISE_ROWS)))
                    row.store(m, simd.take_lanes(builder, vector, q - first, NOISE_ROWS))
            return context.get_dummy_value()

        return types.void(h, r, target, words, m, scores, source, ahead), codegen

    class _Tile:
        """Sums of `tall` rows × `wide` registers of columns, kept in registers while they are emitted."""

        def __init__(self, builder: Any, matrix: Any, column: Any, tall: int, wide: int) -> None:
            self.builder, self.column, self.width, self.tall, self.wide = builder, column, matrix.lanes, tall, wide
            kind = matrix.element, matrix.lanes
            self.totals = [[simd.allocate_sum(builder, *kind) for _ in range(wide)] for _ in range(tall)]
            for row in self.totals:
                for total in row:
                    simd.reset(builder, total)

        def add(self, row: Any, factors: list[Any], ahead: Any = None) -> None:
            """Add a row times a factor to each row of the sums; prefetch the same columns of row `ahead`, if given."""
            loaded = [row.load(self.column, self.width, v * self.width) for v in range(self.wide)]
            for sums, factor in zip(self.totals, factors, strict=True):
                everywhere = simd.broadcast(self.builder, factor.value, self.width)
                for total, value in zip(sums, loaded, strict=True):
                    simd.accumulate(self.builder, total, everywhere * value)
            if ahead is not None:
                for plus in range(0, self.wide * self.width, CACHE_LINE // row.itemsize):
                    ahead.prefetch(self.column, plus)

        def read(self, k: int, v: int) -> simd.Lanes:
            """Return the sums of register v of row k."""
            return simd.Lanes(self.builder, self.builder.load(self.totals[k][v]))

    def _emit_tiles(builder: Any, rows: Any, begin: Any, end: Any, width: int, emit: Callable[..., None]) -> None:
        """Emit loops over all tiles of `rows` rows and the columns begin … end - 1, with smaller ones at the edges.

        `emit` gets row, column, tall, wide, and whether the tile is the first of its columns.
        """
        intp = rows.type
        tall = builder.sub(rows, builder.urem(rows, intp(TALL)))
        whole = builder.sub(end, builder.urem(builder.sub(end, begin), intp(WIDE * width)))
        parts = [(begin, whole, WIDE)] + ([(whole, end, 1)] if PADDING % (WIDE * width) else [])
        for first, upto, wide in parts:
            with simd.loop(builder, first, upto, wide * width) as (column, _):
                with builder.if_then(builder.icmp_signed(">", tall, intp(0))):
                    emit(intp(0), column, TALL, wide, True)
                with simd.loop(builder, intp(TALL), tall, TALL) as (row, _):
                    emit(row, column, TALL, wide, False)
                with simd.loop(builder, tall, rows, 1) as (row, _):
                    emit(row, column, 1, wide, False)

    @intrinsic  # type: ignore[misc]
    def collect_noise(
        typingctx: Any,
        dh: Any,
        place: Any,
        rows: Any,
        scores: Any,
        target: Any,
        words: Any,
        begin: Any,
        end: Any,
        ahead: Any,
    ) -> Any:
        """Compute dh = scores · noise for the columns begin … end - 1, which are those of dh from `place` on.

        Prefetches these columns of target[ahead], which has as many words as `words`.
        """

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arguments = simd.unpack_arguments(context, builder, signature, values)
            dh, place, rows, scores, target, words, begin, end, ahead = arguments
            intp, skipped = rows.type, builder.sub(begin, place)

            def emit(r: Any, column: Any, tall: int, wide: int, first: bool) -> None:
                tile = _Tile(builder, dh, column, tall, wide)
                left = [scores.row(builder.add(r, intp(k))) for k in range(tall)]
                with simd.loop(builder, intp(0), words.columns, 1) as (m, _):
                    row = target.row(builder.sext(words.at(m), intp))
                    later = target.row(builder.sext(ahead.at(m), intp)) if first else None
                    tile.add(row, [factors.load(m, 1) for factors in left], later)
                for k in range(tall):
                    row = dh.row(builder.add(r, intp(k)))
                    row.shift(skipped)
                    for v in range(wide):
                        row.store(column, tile.read(k, v), v * dh.lanes)

            _emit_tiles(builder, rows, begin, end, dh.lanes, emit)
            return context.get_dummy_value()

        return types.void(dh, place, rows, scores, target, words, begin, end, ahead), codegen

    @intrinsic  # type: ignore[misc]
    def update_noise(
        typingctx: Any,
        target: Any,
        words: Any,
        rates: Any,
        scores: Any,
        h: Any,
        rows: Any,
        begin: Any,
        end: Any,
        ahead: Any,
    ) -> Any:
        """Add rates[words[m]] · Σ_r scores[r, m] h[r] to target[words[m]], in the columns begin … end - 1.

        Prefetches these columns of target[ahead], which has at least `rows` words.
        """

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arguments = simd.unpack_arguments(context, builder, signature, values)
            target, words, rates, scores, h, rows, begin, end, ahead = arguments
            intp, width = rows.type, h.lanes

            def emit(m: Any, column: Any, tall: int, wide: int, first: bool) -> None:
                tile = _Tile(builder, h, column, tall, wide)
                with simd.loop(builder, intp(0), rows, 1) as (r, _):
                    later = target.row(builder.sext(ahead.at(r), intp)) if first else None
                    row = scores.row(r)
                    tile.add(h.row(r), [row.load(m, 1, k) for k in range(tall)], later)
                for k in range(tall):
                    word = builder.sext(words.at(builder.add(m, intp(k))), intp)
                    row, rate = target.row(word), simd.broadcast(builder, rates.at(word), width)
                    for v in range(wide):
                        changed = row.load(column, width, v * width) + rate * tile.read(k, v)
                        row.store(column, changed, v * width)

            _emit_tiles(builder, words.columns, begin, end, width, emit)
            return context.get_dummy_value()

        return types.void(target, words, rates, scores, h, rows, begin, end, ahead), codegen

    @inlined
    def score_noise(scores: Any, rows: Any, h: Any, target: Any, words: Any, source: Any, ahead: Any) -> None:
        """Compute scores[r, m] = h[r] · target[words[m]] for the first `rows` rows; prefetch source[ahead]."""
        shared, later = words.shape[0], ahead.shape[0] - 1
        tall, wide = rows - rows % H_ROWS, shared - shared % NOISE_ROWS
        tile = 0
        for m in range(0, wide, NOISE_ROWS):
            for r in range(0, tall, H_ROWS):
                _score_tile(h, r, target, words, m, scores, source, ahead[min(tile, later)])
                tile += 1
        for r in range(rows):
            for m in range(wide if r < tall else 0, shared):
                scores[r, m] = dot(h, r, target, words[m])
