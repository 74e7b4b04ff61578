"""The three products of a batch of h with its noise words, whose rows stay where they are in the target matrix:

    score_noise         scores = h · noiseᵀ                    noise row m is target[words[m]]
    exchange_gradients  dh = scores · noise                    scores have become gradients meanwhile
                        noise row m += rates[words[m]] · (scoresᵀ · h)[m]

A BLAS would need the noise rows copied together and their changes copied back. Here the sums of a tile stay in
registers (8 rows × 3 vectors with AVX-512; the tile fits the machine's registers), and every step of a tile prefetches
one cache line of the next batch, so that memory is read during the arithmetic. The second and third product alternate
every few columns, which the third then finds in the first-level cache. Columns must be a multiple of `layout.PADDING`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from mumon.kernels import simd
from mumon.kernels.jit import inlined
from mumon.kernels.layout import CACHE_LINE
from mumon.kernels.row_ops import dot

# A tile has as many sums as there are registers besides those for its operands.
TALL, WIDE = (8, 3) if simd.REGISTER_COUNT == 32 else (4, 3)  # rows × registers of columns
H_ROWS, NOISE_ROWS = (4, 4) if simd.REGISTER_COUNT == 32 else (2, 4)


if numba.config.DISABLE_JIT:

    def score_noise(scores: Any, rows: Any, h: Any, target: Any, words: Any, source: Any, ids: Any, ahead: Any) -> None:
        """Compute scores[r, m] = h[r] · target[words[m]] for the first `rows` rows."""
        scores[:rows] = h[:rows] @ target[words].T

    def exchange_gradients(
        dh: Any,
        h: Any,
        rows: Any,
        scores: Any,
        target: Any,
        words: Any,
        rates: Any,
        next_words: Any,
        ids: Any,
        ahead: Any,
    ) -> None:
        """Compute dh = scores · noise, then target[words[m]] += rates[words[m]] · Σ_r scores[r, m] h[r]."""
        dh[:rows] = scores[:rows] @ target[words]
        np.add.at(target, words, rates[words, None] * (scores[:rows].T @ h[:rows]))

else:

    def _unpack_arguments(context: Any, builder: Any, signature: Any, values: Any) -> list[Any]:
        """Wrap the arrays and indices that an intrinsic is called with."""
        ready: list[Any] = []
        for kind, value in zip(signature.args, values, strict=True):
            if isinstance(kind, types.Array):
                ready.append((simd.Matrix if kind.ndim == 2 else simd.Vector)(context, builder, kind, value))
            else:
                ready.append(simd.cast_index(context, builder, kind, value))
        return ready

    @intrinsic  # type: ignore[misc]
    def _score_tile(
        typingctx: Any, h: Any, r: Any, target: Any, words: Any, m: Any, scores: Any, source: Any, ahead: Any
    ) -> Any:
        """Compute the scores of H_ROWS rows of h from r on with NOISE_ROWS words from m on; prefetch source[ahead]."""

        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            h, r, target, words, m, scores, source, ahead = _unpack_arguments(context, builder, signature, values)
            intp, width = r.type, h.lanes
            left = [h.row(builder.add(r, intp(k))) for k in range(H_ROWS)]
            right = []
            for k in range(NOISE_ROWS):
                word = builder.sext(words.at(builder.add(m, intp(k))), intp)
                right.append(target.row(word))
            following = source.row(ahead)
            totals = [simd.allocate_sum(builder, h.element, width) for _ in range(H_ROWS * NOISE_ROWS)]
            for total in totals:
                simd.reset(builder, total)
            with simd.loop(builder, intp(0), h.columns, width) as (column, _):
                loaded = [row.load(column, width) for row in right]
                for k, row in enumerate(left):
                    value = row.load(column, width)
                    for q, other in enumerate(loaded):
                        simd.accumulate(builder, totals[k * NOISE_ROWS + q], value * other)
                following.prefetch(column)
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

    def _make_tile(tall: int, wide: int) -> tuple[Any, Any]:
        """Make the intrinsics of the second and third product for `tall` rows × `wide` registers of columns."""

        def empty(builder: Any, matrix: Any) -> list[list[Any]]:
            totals = [
                [simd.allocate_sum(builder, matrix.element, matrix.lanes) for _ in range(wide)] for _ in range(tall)
            ]
            for row in totals:
                for total in row:
                    simd.reset(builder, total)
            return totals

        def add(builder: Any, totals: Any, row: Any, column: Any, width: int, factors: list[Any]) -> None:
            loaded = [row.load(builder.add(column, column.type(v * width)), width) for v in range(wide)]
            for sums, factor in zip(totals, factors, strict=True):
                everywhere = simd.broadcast(builder, factor.value, width)
                for total, value in zip(sums, loaded, strict=True):
                    simd.accumulate(builder, total, everywhere * value)

        def fetch(builder: Any, row: Any, begin: Any, end: Any) -> None:
            with simd.loop(builder, begin, end, CACHE_LINE // row.itemsize) as (column, _):
                row.prefetch(column)

        @intrinsic  # type: ignore[misc]
        def collect(
            typingctx: Any,
            dh: Any,
            r: Any,
            scores: Any,
            target: Any,
            words: Any,
            column: Any,
            ahead: Any,
            begin: Any,
            end: Any,
        ) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                arguments = _unpack_arguments(context, builder, signature, values)
                dh, r, scores, target, words, column, ahead, begin, end = arguments
                intp, width = r.type, dh.lanes
                totals = empty(builder, dh)
                left = [scores.row(builder.add(r, intp(k))) for k in range(tall)]
                with simd.loop(builder, intp(0), words.columns, 1) as (m, _):
                    row = target.row(builder.sext(words.at(m), intp))
                    add(builder, totals, row, column, width, [factors.load(m, 1) for factors in left])
                    fetch(builder, target.row(builder.sext(ahead.at(m), intp)), begin, end)
                for k, sums in enumerate(totals):
                    for v, total in enumerate(sums):
                        place = builder.add(column, intp(v * width))
                        dh.row(builder.add(r, intp(k))).store(place, simd.Lanes(builder, builder.load(total)))
                return context.get_dummy_value()

            return types.void(dh, r, scores, target, words, column, ahead, begin, end), codegen

        @intrinsic  # type: ignore[misc]
        def apply(
            typingctx: Any,
            target: Any,
            words: Any,
            m: Any,
            rates: Any,
            scores: Any,
            h: Any,
            rows: Any,
            column: Any,
            ids: Any,
            ahead: Any,
            begin: Any,
            end: Any,
        ) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                arguments = _unpack_arguments(context, builder, signature, values)
                target, words, m, rates, scores, h, rows, column, ids, ahead, begin, end = arguments
                intp, width = m.type, h.lanes
                totals = empty(builder, h)
                last = builder.sub(ids.columns, intp(1))
                with simd.loop(builder, intp(0), rows, 1) as (r, _):
                    row = scores.row(r)
                    factors = [row.load(builder.add(m, intp(k)), 1) for k in range(tall)]
                    add(builder, totals, h.row(r), column, width, factors)
                    place = builder.add(ahead, r)
                    place = builder.select(builder.icmp_signed("<", place, last), place, last)
                    fetch(builder, target.row(builder.sext(ids.at(place), intp)), begin, end)
                for k, sums in enumerate(totals):
                    word = builder.sext(words.at(builder.add(m, intp(k))), intp)
                    row, rate = target.row(word), simd.broadcast(builder, rates.at(word), width)
                    for v, total in enumerate(sums):
                        place = builder.add(column, intp(v * width))
                        row.store(place, row.load(place, width) + rate * simd.Lanes(builder, builder.load(total)))
                return context.get_dummy_value()

            return types.void(target, words, m, rates, scores, h, rows, column, ids, ahead, begin, end), codegen

        return collect, apply

    _collect_large, _apply_large = _make_tile(TALL, WIDE)
    _collect_narrow, _apply_narrow = _make_tile(TALL, 1)
    _collect_flat, _apply_flat = _make_tile(1, WIDE)
    _collect_small, _apply_small = _make_tile(1, 1)

    @inlined
    def score_noise(scores: Any, rows: Any, h: Any, target: Any, words: Any, source: Any, ids: Any, ahead: Any) -> None:
        """Compute scores[r, m] = h[r] · target[words[m]] for the first `rows` rows; prefetch source[ids[ahead:]]."""
        shared, last = words.shape[0], ids.shape[0] - 1
        tall, wide = rows - rows % H_ROWS, shared - shared % NOISE_ROWS
        tile = 0
        for m in range(0, wide, NOISE_ROWS):
            for r in range(0, tall, H_ROWS):
                _score_tile(h, r, target, words, m, scores, source, ids[min(ahead + tile, last)])
                tile += 1
        for r in range(rows):
            for m in range(wide if r < tall else 0, shared):
                scores[r, m] = dot(h, r, target, words[m])

    @inlined
    def _count_prefetch(D: Any, width: Any, line: Any, rows: Any) -> Any:
        """Return how many columns of a row each tall tile prefetches, so that all tiles together fetch it whole."""
        tiles = (D // (WIDE * width) + (D % (WIDE * width)) // width) * (rows // TALL)
        return line * -(-D // (line * max(tiles, 1)))

    @inlined
    def exchange_gradients(
        dh: Any,
        h: Any,
        rows: Any,
        scores: Any,
        target: Any,
        words: Any,
        rates: Any,
        next_words: Any,
        ids: Any,
        ahead: Any,
    ) -> None:
        """Compute dh = scores · noise, then target[words[m]] += rates[words[m]] · Σ_r scores[r, m] h[r].

        Both are done for a few columns at a time, which then are still in the first-level cache for the second.
        Prefetches target[next_words] and target[ids[ahead:]].
        """
        width, D, line, shared = simd.REGISTER_BYTES // h.itemsize, h.shape[1], CACHE_LINE // h.itemsize, words.shape[0]
        tall_h, tall_noise, wide = rows - rows % TALL, shared - shared % TALL, D - D % (WIDE * width)
        some, few = _count_prefetch(D, width, line, rows), _count_prefetch(D, width, line, shared)  # columns per tile
        noise, own = 0, 0  # columns fetched so far of rows of next_words and of ids
        for column in range(0, wide, WIDE * width):
            for r in range(0, tall_h, TALL):
                _collect_large(dh, r, scores, target, words, column, next_words, noise, min(noise + some, D))
                noise += some
            for r in range(tall_h, rows):
                _collect_flat(dh, r, scores, target, words, column, next_words, 0, 0)
            for m in range(0, tall_noise, TALL):
                _apply_large(target, words, m, rates, scores, h, rows, column, ids, ahead, own, min(own + few, D))
                own += few
            for m in range(tall_noise, shared):
                _apply_flat(target, words, m, rates, scores, h, rows, column, ids, ahead, 0, 0)
        for column in range(wide, D, width):
            for r in range(0, tall_h, TALL):
                _collect_narrow(dh, r, scores, target, words, column, next_words, noise, min(noise + some, D))
                noise += some
            for r in range(tall_h, rows):
                _collect_small(dh, r, scores, target, words, column, next_words, 0, 0)
            for m in range(0, tall_noise, TALL):
                _apply_narrow(target, words, m, rates, scores, h, rows, column, ids, ahead, own, min(own + few, D))
                own += few
            for m in range(tall_noise, shared):
                _apply_small(target, words, m, rates, scores, h, rows, column, ids, ahead, 0, 0)
