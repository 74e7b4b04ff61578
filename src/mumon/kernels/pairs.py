"""Counting the pairs of a text as if they were joined, and finding them again.

A text comes as the numbers `ids` of its words, whose bytes are `words` between `bounds`, with the ends of its
sentences. Pairs are looked up in a table of strings (strings.py) by a hash that follows from those of their words; only
strings that are new to the table are ever written. A place of the table also holds the two neighbouring words that it
was last found for, and a count: one look at one cache line then counts a pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import ONE, ZERO, prefetch_line
from mumon.kernels.hash_table import COUNT, KEY, SECOND, TYPE, find_home, home_shift, same_bytes
from mumon.kernels.jit import inlined, kernel
from mumon.kernels.strings import BASE, SLACK, hash_bytes

PAIR = SECOND  # the column where a place has its neighbouring words
S32 = np.uint64(32)
BATCH = 64  # pairs whose places are prefetched before the first of them is looked up


@inlined
def hash_joined(ids: Any, first: Any, last: Any, codes: Any, powers: Any, glue_code: Any, glue_power: Any) -> Any:
    """Return the polynomial of the words first … last with the delimiter between them."""
    code = codes[ids[first]]
    for i in range(first + 1, last + 1):
        code = (code * glue_power + glue_code) * powers[ids[i]] + codes[ids[i]]
    return code


@inlined
def is_joined(
    ids: Any, first: Any, last: Any, words: Any, bounds: Any, glue: Any, arena: Any, at: Any, end: Any
) -> Any:
    """Check whether arena[at:end] holds the words first … last with the delimiter between them."""
    for i in range(first, last + 1):
        length = bounds[ids[i] + 1] - bounds[ids[i]]
        if at + length > end or not same_bytes(arena, at, words, bounds[ids[i]], length):
            return False
        at += length
        if i < last:
            if at + glue.shape[0] > end:
                return False
            for j in range(glue.shape[0]):
                if arena[at + j] != glue[j]:
                    return False
            at += glue.shape[0]
    return at == end


@inlined
def make_pair_key(ids: Any, first: Any, last: Any) -> Any:
    """Return a number for two neighbouring words, 0 where others are between them."""
    if last != first + 1:
        return ZERO
    return ((np.uint64(ids[first]) + ONE) << S32) | (np.uint64(ids[last]) + ONE)


@inlined
def find_joined(
    code: Any, pair: Any, ids: Any, first: Any, last: Any, words: Any, bounds: Any, glue: Any,
    slots: Any, shift: Any, starts: Any, arena: Any,
) -> Any:  # fmt: skip
    """Find the place of the words first … last as one string, or the free place where they belong."""
    mask = np.uint64(slots.shape[0] - 1)
    place = find_home(code, ZERO, shift)
    while slots[place, TYPE] != ZERO:
        if slots[place, KEY] == code:
            if pair != ZERO and slots[place, PAIR] == pair:
                return place
            kind = np.int64(slots[place, TYPE]) - 1
            if is_joined(ids, first, last, words, bounds, glue, arena, starts[kind], starts[kind + 1]):
                return place
        place = (place + ONE) & mask
    return place


@inlined
def write_joined(ids: Any, first: Any, last: Any, words: Any, bounds: Any, glue: Any, arena: Any, at: Any) -> Any:
    """Write the words first … last with the delimiter between them; return where they end, -1 if they do not fit."""
    for i in range(first, last + 1):
        begin = bounds[ids[i]]
        length = bounds[ids[i] + 1] - begin
        if at + length + glue.shape[0] + SLACK > arena.shape[0]:
            return -1
        for j in range(length):
            arena[at + j] = words[begin + j]
        at += length
        if i < last:
            for j in range(glue.shape[0]):
                arena[at + j] = glue[j]
            at += glue.shape[0]
    return at


@kernel
def count_pairs(
    ids: Any, ends: Any, words: Any, bounds: Any, codes: Any, powers: Any, connector: Any, word_types: Any, glue: Any,
    at: Any, sentence: Any, start: Any, slots: Any, starts: Any, arena: Any, counts: Any, types: Any, most: Any,
) -> Any:  # fmt: skip
    """Count words and joined pairs from token `at` of a text on.

    word_types[w] is the type of word w where it is known, else -1. `start` is the last word that may begin a phrase, -1
    if there is none in this sentence. Return (token, sentence, start, types, whether there are too many types): it
    stops at the end, where room is missing, and after a sentence with which there are more than `most` types.
    """
    shift, room = home_shift(slots), min(slots.shape[0] // 2, counts.shape[0]) - 2
    glue_code, glue_power = hash_bytes(glue, 0, glue.shape[0]), ONE
    for _ in range(glue.shape[0]):
        glue_power *= BASE
    begins, lasts = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    hashes, keys, places = np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64), np.empty(BATCH, np.uint64)
    while sentence < ends.shape[0]:
        ahead, ahead_start, batch, end = at, start, 0, ends[sentence]
        while ahead < end and batch < BATCH:
            if not connector[ids[ahead]]:
                begins[batch], lasts[batch], keys[batch] = ahead_start, ahead, ZERO
                if ahead_start >= 0:
                    hashes[batch] = hash_joined(ids, ahead_start, ahead, codes, powers, glue_code, glue_power)
                    keys[batch] = make_pair_key(ids, ahead_start, ahead)
                    places[batch] = find_home(hashes[batch], ZERO, shift)
                    prefetch_line(slots, places[batch])
                batch += 1
                ahead_start = ahead
            ahead += 1
        for b in range(batch):
            i, first = lasts[b], begins[b]
            if word_types[ids[i]] < 0:
                place = find_joined(codes[ids[i]], ZERO, ids, i, i, words, bounds, glue, slots, shift, starts, arena)
                if slots[place, TYPE] == ZERO:
                    written = write_joined(ids, i, i, words, bounds, glue, arena, starts[types])
                    if types > room or written < 0:
                        return i, sentence, first, types, False
                    types += 1
                    starts[types], counts[types - 1] = written, 0
                    slots[place, KEY], slots[place, TYPE] = codes[ids[i]], types
                word_types[ids[i]] = np.int64(slots[place, TYPE]) - 1
            if first >= 0:
                place = places[b]
                if keys[b] == ZERO or slots[place, PAIR] != keys[b]:
                    place = find_joined(
                        hashes[b], keys[b], ids, first, i, words, bounds, glue, slots, shift, starts, arena
                    )
                    if slots[place, TYPE] == ZERO:
                        written = write_joined(ids, first, i, words, bounds, glue, arena, starts[types])
                        if types > room or written < 0:
                            return i, sentence, first, types, False
                        types += 1
                        starts[types], counts[types - 1] = written, 0
                        slots[place, KEY], slots[place, TYPE] = hashes[b], types
                    slots[place, PAIR] = keys[b]
                slots[place, COUNT] += ONE
            counts[word_types[ids[i]]] += 1
        at, start = ahead, ahead_start
        if at == end:
            sentence += 1
            start = -1
            if types > most:
                return at, sentence, start, types, True
    return at, sentence, start, types, False


@kernel
def find_pairs(
    ids: Any, ends: Any, words: Any, bounds: Any, codes: Any, powers: Any, connector: Any, head: Any, tail: Any,
    glue: Any, slots: Any, starts: Any, arena: Any, first: Any, found: Any,
) -> None:  # fmt: skip
    """Set first[i] to where the pair that word i ends begins and found[i] to its type; -1 where the table has no such.

    Only words with `head` begin pairs, and only those with `tail` end them.
    """
    shift = home_shift(slots)
    glue_code, glue_power = hash_bytes(glue, 0, glue.shape[0]), ONE
    for _ in range(glue.shape[0]):
        glue_power *= BASE
    at = 0
    for sentence in range(ends.shape[0]):
        start = -1
        for i in range(at, ends[sentence]):
            first[i] = found[i] = -1
            if connector[ids[i]]:
                continue
            if start >= 0 and head[ids[start]] and tail[ids[i]]:
                code = hash_joined(ids, start, i, codes, powers, glue_code, glue_power)
                place = find_joined(code, ZERO, ids, start, i, words, bounds, glue, slots, shift, starts, arena)
                first[i], found[i] = start, np.int64(slots[place, TYPE]) - 1
            start = i
        at = ends[sentence]


@kernel
def choose_phrases(ends: Any, first: Any, phrase: Any, lasts: Any) -> Any:
    """Choose from left to right which phrases are joined, where phrase[i] ends with word i and begins with first[i].

    A word is part of one phrase only. `lasts` receives the last words of the phrases; return their number.
    """
    n, at = 0, 0
    for sentence in range(ends.shape[0]):
        free = at  # the first word that no phrase has taken
        for i in range(at, ends[sentence]):
            if phrase[i] and first[i] >= free:
                lasts[n] = i
                n += 1
                free = i + 1
        at = ends[sentence]
    return n
