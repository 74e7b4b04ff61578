"""Mutations: cut, repeat and overwrite bytes, insert words of a dictionary, and replace nodes of JSON."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence

MAX_BYTES = 4096  # of an input; the regression tests make larger ones

NUMBERS = [
    b"0", b"-0", b"1", b"-1", b"00", b"2147483648", b"4294967296", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"18446744073709551616", b"999999999999999999", b"1" * 30, b"9" * 400, b"nan", b"NaN",
    b"inf", b"-Infinity", b"1e999", b"-1e999", b"1e-999", b"1e39", b"3.5e38", b"0x10", b"1_0", b"1.5", b"\xd9\xa1",
]  # fmt: skip
BYTES = [
    b"\0", b"\n", b"\r\n", b"\r", b" ", b"  ", b"\t", b"\x0b", b"\x1c", b"\x85", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf",
    b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"_", b",", b";", b":", b"#", b'"', b"'", b"...", b"PAR1",
    b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"../../etc/passwd", b"cos\nsystem\n(S'x'\ntR.",
    b"\x80\x04\x95", b"\\ud800", b"\\u0000", b"[" * 300, b'{"":' * 300, *(struct.pack("<Q", 1 << n) for n in (20, 40)),
    struct.pack("<I", 0xFFFFFFFF), struct.pack("<f", float("inf")), struct.pack("<f", float("nan")),
]  # fmt: skip
VALUES = [
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, 0.5, -0.5, 1e39, 1e308, float("nan"),
    float("inf"), "", "x", "nan", "1", "0..1", "1..1e999", "\ud800", "\0", "../../etc/passwd", "x" * 2000, [], [1],
    ["x"], [[[]]], [None], ["a"] * 50, {}, {"x": 1}, {"": {}}, {"format": "mumon"},
]  # fmt: skip


def mutate(data: bytes, source: random.Random, others: Sequence[bytes], most: int = MAX_BYTES) -> bytes:
    """Return `data` with one to four changes, often to the JSON in it."""
    for _ in range(source.choice((1, 1, 1, 2, 2, 4))):
        change = _replace_json if data[:1] in (b"{", b"[") and source.random() < 0.6 else source.choice(CHANGES)
        data = change(data, source, others)[:most]
    return data


def _choose_place(data: bytes, source: random.Random) -> tuple[int, int]:
    start = source.randrange(len(data) + 1)
    return start, min(len(data), start + source.choice((0, 1, 1, 2, 4, 8, source.randrange(len(data) + 1))))


def _overwrite(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _choose_place(data, source)
    return data[:start] + source.randbytes(end - start) + data[end:]


def _remove(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _choose_place(data, source)
    return data[:start] + data[end:]


def _repeat(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _choose_place(data, source)
    return data[:start] + data[start:end] * source.choice((2, 3, 100)) + data[end:]


def _insert_word(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _choose_place(data, source)
    return data[:start] + source.choice(source.choice((NUMBERS, BYTES))) + data[source.choice((start, end)) :]


def _replace_number(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    """Replace a number by another."""
    digits = [at for at in range(len(data)) if data[at : at + 1].isdigit() and not data[at - 1 : at].isdigit()]
    if not digits:
        return _insert_word(data, source, others)
    start = end = source.choice(digits)
    while data[end : end + 1].isdigit():
        end += 1
    return data[:start] + source.choice(NUMBERS) + data[end:]


def _splice(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    other = source.choice(others) if others else b""
    start, end = _choose_place(other, source)
    at = source.randrange(len(data) + 1)
    return data[:at] + other[start:end] + data[at:]


def _flip(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = source.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]


def _replace_json(data: bytes, source: random.Random, others: Sequence[bytes]) -> bytes:
    """Return the same JSON with one node replaced, removed or repeated."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return _insert_word(data, source, others)
    parent, node = None, tree
    while isinstance(node, dict | list) and node and (parent is None or source.random() < 0.8):
        parent, key = node, source.choice(list(node) if isinstance(node, dict) else range(len(node)))
        node = node[key]
    if parent is None:
        return json.dumps(source.choice(VALUES)).encode()
    if source.random() < 0.1:
        del parent[key]
    elif source.random() < 0.1 and isinstance(parent, list):
        parent.append(node)
    else:
        parent[key] = source.choice(VALUES)
    return json.dumps(tree).encode()


CHANGES: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    _overwrite, _remove, _repeat, _insert_word, _insert_word, _replace_number, _replace_number, _splice, _flip,
)  # fmt: skip
