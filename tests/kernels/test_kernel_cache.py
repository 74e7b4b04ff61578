"""The cache of compiled kernels: its name covers everything that a kernel depends on."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mumon.kernels

SOURCES = sorted(Path(mumon.kernels.__file__).parent.glob("*.py"))
OUTSIDE = {"mumon.utils.paths"}  # says where the cache is; no compiled code depends on it


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_kernels_import_only_what_the_digest_of_the_cache_covers(path):
    """A constant of another package would stay compiled into cached kernels after it has changed."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None
            whole = node.module in ("mumon", "mumon.kernels", "mumon.utils")  # from these, modules are imported
            imported |= {f"{node.module}.{alias.name}" for alias in node.names} if whole else {node.module}
    ours = {name for name in imported if name.partition(".")[0] == "mumon"}
    assert {name for name in ours if not name.startswith("mumon.kernels.")} <= OUTSIDE
    assert all((path.parent / f"{name.split('.')[2]}.py") in SOURCES for name in ours - OUTSIDE)


def test_the_digest_changes_with_any_source(tmp_path, monkeypatch):
    from mumon.kernels import jit

    for source in SOURCES:
        (tmp_path / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    fresh = jit.cache_directory.__wrapped__  # without the memory of its first answer
    names = {fresh().name}
    assert names == {jit.cache_directory().name}
    for source in SOURCES:
        with (tmp_path / source.name).open("a") as file:
            file.write("# changed\n")
        names.add(fresh().name)
    assert len(names) == len(SOURCES) + 1


def test_a_kernel_that_cannot_be_loaded_the_short_way_is_loaded_as_numba_does(monkeypatch):
    from mumon.kernels import jit, tokens

    ids = np.zeros(1, np.int32)
    tokens.renumber(ids, ids)  # compiled, and in the cache
    kernel, load, calls = tokens.renumber, jit._Cache._load_overload, []

    def fail_once(cache, *arguments):
        calls.append(cache)
        if len(calls) == 1:
            raise AttributeError("something that another version of Numba needs")
        return load(cache, *arguments)

    monkeypatch.setattr(jit._Cache, "_load_overload", fail_once)
    assert kernel._cache.load_overload(kernel.signatures[0], kernel.targetctx) is not None
    assert len(calls) == 2


TRAIN_ALL = """
import hashlib
import numpy as np
from mumon.kernels import cbow, positions, skipgram
from mumon.training.sampling import build_alias_table

random, V, n = np.random.default_rng(1), 20, 400
ids, place = random.integers(0, V, n).astype(np.int32), np.arange(n)
windows = np.maximum(place - 3, 0).astype(np.int32), np.minimum(place + 4, n).astype(np.int32)
given = (ids, *windows, build_alias_table(np.full(V, 1 / V)), np.ones(V, np.float32), 5, 16, 8, np.float32(0.3))
for kernel, weights, more in (
    (cbow.cbow_fast, (), (True, True)),
    (positions.cbow_positions_fast, (np.ones((8, 16), np.float32),), (0.01,)),
    (skipgram.skipgram_fast, (), ()),
):
    matrices = random.normal(0, 0.3, (2, V, 16)).astype(np.float32)
    kernel(*matrices, *weights, *given, *more, np.uint64(1))
    print(hashlib.sha256(matrices.tobytes()).hexdigest())
"""


def test_a_kernel_gives_the_same_bytes_when_it_is_compiled_and_when_it_is_loaded(tmp_path):
    """Helpers are inlined: of a function that is called there would be two copies, which round differently."""
    command = [sys.executable, "-c", TRAIN_ALL]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, loaded = (subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2))
    assert compiled.returncode == 0, compiled.stderr
    assert compiled.stdout == loaded.stdout != ""
