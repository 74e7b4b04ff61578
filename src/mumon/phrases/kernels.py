"""Compiled loops over strings: a table of them, the pairs of a text counted as if they were joined, and found again.

A table has `slots`, places of a hash and a type + 1 (0 where it is free), and for type t the bytes
arena[starts[t] : starts[t+1]] and counts[t]. Words come as the same kind of bytes, and a text as their numbers `ids`
with the ends of its sentences. Arenas are longer than their text by 8 bytes, so that those can be loaded at once.

The hash of a string is a polynomial of its bytes, so that of joined words follows from theirs, and only new strings
are ever written. Equal hashes are not trusted; the bytes are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import load_8, prefetch_line
from mumon.kernels.jit import inlined, kernel

SLACK = 8
BATCH = 64  # strings whose places are asked for before the first of them is looked at
HASH, TYPE = 0, 1  # columns of the slots
BASE, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
ZERO, ONE, EIGHT, S29, S32 = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(29), np.uint64(32)


@inlined
def hash_bytes(text: Any, begin: Any, end: Any) -> Any:
    """The polynomial of some bytes."""
    code = ZERO
    for i in range(begin, end):
        code = code * BASE + np.uint64(text[i]) + ONE
    return code


@kernel
def hash_strings(text: Any, bounds: Any, codes: Any, powers: Any) -> None:
    """The polynomial of each string, and the power that what stands before it is multiplied by."""
    for i in range(bounds.shape[0] - 1):
        codes[i] = hash_bytes(text, bounds[i], bounds[i + 1])
        power = ONE
        for _ in range(bounds[i], bounds[i + 1]):
            power *= BASE
        powers[i] = power


@inlined
def home(code: Any, mask: Any) -> Any:
    """Where the search for a string begins: the bits of a polynomial are not alike."""
    code = (code ^ (code >> S32)) * MIX
    return (code ^ (code >> S29)) & mask


@inlined
def same_bytes(a: Any, i: Any, b: Any, j: Any, length: Any) -> Any:
    """Whether `length` bytes of `a` from `i` and of `b` from `j` are equal."""
    k = 0
    while k + 8 <= length:
        if load_8(a, i + k) != load_8(b, j + k):
            return False
        k += 8
    if k == length:
        return True
    mask = (ONE << (EIGHT * np.uint64(length - k))) - ONE
    return (load_8(a, i + k) ^ load_8(b, j + k)) & mask == ZERO


@inlined
def place_of(code: Any, text: Any, begin: Any, end: Any, slots: Any, starts: Any, arena: Any) -> Any:
    """Where in `slots` a string is, or the free place where it belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    place = home(code, mask)
    while slots[place, TYPE] != ZERO:
        if slots[place, HASH] == code:
            kind = np.int64(slots[place, TYPE]) - 1
            length = starts[kind + 1] - starts[kind]
            if length == end - begin and same_bytes(arena, starts[kind], text, begin, length):
                return place
        place = (place + ONE) & mask
    return place


@inlined
def type_of(text: Any, begin: Any, end: Any, slots: Any, starts: Any, arena: Any) -> Any:
    """The type of a string, -1 if it has none."""
    place = place_of(hash_bytes(text, begin, end), text, begin, end, slots, starts, arena)
    return np.int64(slots[place, TYPE]) - 1


@kernel
def add_strings(
    text: Any, bounds: Any, amounts: Any, at: Any, slots: Any, starts: Any, arena: Any, counts: Any, types: Any
) -> Any:
    """Enter strings from number `at` on and add to their counts; returns (where it stopped for want of room, types)."""
    room, space = min(slots.shape[0] // 2, counts.shape[0]), arena.shape[0] - SLACK
    for i in range(at, bounds.shape[0] - 1):
        begin, end = bounds[i], bounds[i + 1]
        if types >= room or starts[types] + end - begin > space:
            return i, types
        code = hash_bytes(text, begin, end)
        place = place_of(code, text, begin, end, slots, starts, arena)
        if slots[place, TYPE] == ZERO:
            base = starts[types]
            for j in range(end - begin):
                arena[base + j] = text[begin + j]
            types += 1
            starts[types] = base + end - begin
            slots[place, HASH], slots[place, TYPE] = code, types
            counts[types - 1] = 0
        counts[np.int64(slots[place, TYPE]) - 1] += amounts[i]
    return bounds.shape[0] - 1, types


@kernel
def move_slots(old: Any, new: Any) -> None:
    """Enter every string of a table's slots into other, larger and empty ones."""
    mask = np.uint64(new.shape[0] - 1)
    for i in range(old.shape[0]):
        if old[i, TYPE] != ZERO:
            place = home(old[i, HASH], mask)
            while new[place, TYPE] != ZERO:
                place = (place + ONE) & mask
            new[place, HASH], new[place, TYPE] = old[i, HASH], old[i, TYPE]


@kernel
def find_strings(text: Any, bounds: Any, slots: Any, starts: Any, arena: Any, found: Any) -> None:
    """found[i] becomes the type of string i, -1 if the table does not have it."""
    for i in range(bounds.shape[0] - 1):
        found[i] = type_of(text, bounds[i], bounds[i + 1], slots, starts, arena)


@inlined
def joined_hash(ids: Any, first: Any, last: Any, codes: Any, powers: Any, glue_code: Any, glue_power: Any) -> Any:
    """The polynomial of the words first … last with the delimiter between them."""
    code = codes[ids[first]]
    for i in range(first + 1, last + 1):
        code = (code * glue_power + glue_code) * powers[ids[i]] + codes[ids[i]]
    return code


@inlined
def is_joined(
    ids: Any, first: Any, last: Any, words: Any, bounds: Any, glue: Any, arena: Any, at: Any, end: Any
) -> Any:
    """Whether arena[at:end] are the words first … last with the delimiter between them."""
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
def joined_place(
    code: Any, ids: Any, first: Any, last: Any, words: Any, bounds: Any, glue: Any, slots: Any, starts: Any, arena: Any
) -> Any:
    """Where in `slots` the words first … last are as one string, or the free place where they belong."""
    mask = np.uint64(slots.shape[0] - 1)
    place = home(code, mask)
    while slots[place, TYPE] != ZERO:
        if slots[place, HASH] == code:
            kind = np.int64(slots[place, TYPE]) - 1
            if is_joined(ids, first, last, words, bounds, glue, arena, starts[kind], starts[kind + 1]):
                return place
        place = (place + ONE) & mask
    return place


@inlined
def write_joined(ids: Any, first: Any, last: Any, words: Any, bounds: Any, glue: Any, arena: Any, at: Any) -> Any:
    """Write the words first … last with the delimiter between them; returns where they end, -1 if they do not fit."""
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
    ids: Any, ends: Any, words: Any, bounds: Any, codes: Any, powers: Any, connector: Any, kinds: Any, glue: Any,
    at: Any, sentence: Any, start: Any, slots: Any, starts: Any, arena: Any, counts: Any, types: Any, most: Any,
) -> Any:  # fmt: skip
    """Count words and joined pairs from token `at` of a text on.

    kinds[w] is the type of word w where it is known, else -1. `start` is the last word that may begin a phrase, -1 if
    there is none in this sentence. Returns (token, sentence, start, types, whether there are too many types): it stops
    at the end, where room is missing, and at the end of a sentence where there are more than `most` types.
    """
    mask, room = np.uint64(slots.shape[0] - 1), min(slots.shape[0] // 2, counts.shape[0]) - 2
    glue_code, glue_power = hash_bytes(glue, 0, glue.shape[0]), ONE
    for _ in range(glue.shape[0]):
        glue_power *= BASE
    begins, lasts, pairs = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), np.empty(BATCH, np.uint64)
    while sentence < ends.shape[0]:
        ahead, ahead_start, batch = at, start, 0
        while ahead < ends[sentence] and batch < BATCH:
            if not connector[ids[ahead]]:
                begins[batch], lasts[batch] = ahead_start, ahead
                if ahead_start >= 0:
                    pairs[batch] = joined_hash(ids, ahead_start, ahead, codes, powers, glue_code, glue_power)
                    prefetch_line(slots, home(pairs[batch], mask))
                batch += 1
                ahead_start = ahead
            ahead += 1
        for b in range(batch):
            i = lasts[b]
            for step in range(2):  # the word, then the pair
                first = i if step == 0 else begins[b]
                if first < 0:
                    continue
                kind = kinds[ids[i]] if step == 0 else -1
                if kind < 0:
                    code = codes[ids[i]] if step == 0 else pairs[b]
                    place = joined_place(code, ids, first, i, words, bounds, glue, slots, starts, arena)
                    if slots[place, TYPE] == ZERO:
                        end = write_joined(ids, first, i, words, bounds, glue, arena, starts[types])
                        if types > room or end < 0:
                            if step == 1:  # the word will be counted again
                                counts[kinds[ids[i]]] -= 1
                            return i, sentence, begins[b], types, False
                        types += 1
                        starts[types] = end
                        slots[place, HASH], slots[place, TYPE] = code, types
                        counts[types - 1] = 0
                    kind = np.int64(slots[place, TYPE]) - 1
                    if step == 0:
                        kinds[ids[i]] = kind
                counts[kind] += 1
        at, start = ahead, ahead_start
        if at == ends[sentence]:
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
    """For each word i that ends a pair of the table, first[i] is where it begins and found[i] its type; else -1.

    Only words with `head` begin pairs, only those with `tail` end them.
    """
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
                code = joined_hash(ids, start, i, codes, powers, glue_code, glue_power)
                place = joined_place(code, ids, start, i, words, bounds, glue, slots, starts, arena)
                first[i], found[i] = start, np.int64(slots[place, TYPE]) - 1
            start = i
        at = ends[sentence]


@kernel
def choose_phrases(ends: Any, first: Any, phrase: Any, lasts: Any) -> Any:
    """From left to right, which of the phrases are joined, where phrase[i] ends in word i and begins in first[i].

    A word is part of one phrase only. lasts receives the last words; returns how many there are.
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


@kernel
def find_parts(chosen: Any, glue: Any, slots: Any, starts: Any, arena: Any, first: Any, last: Any) -> None:
    """The types of what stands before the first delimiter of each chosen string and after its last; else -1.

    Delimiters are looked for from the left and do not overlap, as in str.split.
    """
    size = glue.shape[0]
    for number in range(chosen.shape[0]):
        begin, end = starts[chosen[number]], starts[chosen[number] + 1]
        first[number] = last[number] = -1
        head, tail, i = -1, -1, begin
        while i + size <= end:
            j = 0
            while j < size and arena[i + j] == glue[j]:
                j += 1
            if j == size:
                head = i if head < 0 else head
                i += size
                tail = i
            else:
                i += 1
        if head >= 0:
            first[number] = type_of(arena, begin, head, slots, starts, arena)
            last[number] = type_of(arena, tail, end, slots, starts, arena)
