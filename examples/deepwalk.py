"""DeepWalk: walks over a graph are sentences, nodes are words.

    python examples/deepwalk.py --out deepwalk.png

The graph is real and on every machine: the modules of Python's own standard library, joined where one imports the
other. Modules of a package should end up close together, although the model does not know what a package is.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path

import numpy as np
from maps import draw_bars, draw_map, project_to_plane, require_matplotlib

from mumon.corpus.walks import random_walks
from mumon.experiments.plot_style import STYLE

LARGE_PACKAGE = 8  # modules that a package must have to count
OPTIONS = {"mumon": {"batch": 8}}  # walks return to a node within a few steps, sooner than texts to a word
SHOWN_MODULES = ["json", "asyncio.events", "email.message", "xml.sax", "threading"]


def find_modules() -> dict[str, Path]:
    """Find every module of the standard library that is a file, except those of `test`, which import everything."""
    root = Path(sysconfig.get_path("stdlib"))
    files = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and parts[0] != "test" and all(part.isidentifier() for part in parts):  # site-packages is not a name
            files[".".join(parts)] = path
    return files


def find_imports(name: str, path: Path, known: set[str]) -> set[str]:
    """Find the known modules that a module names in its import statements, anywhere in the file."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # the library has a few bad files for its tests
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            inner = {alias.name: f"{base}.{alias.name}" for alias in node.names}
            found.update(whole if whole in known else base for whole in inner.values())
    return (found & known) - {name}


def build_graph() -> tuple[np.ndarray, np.ndarray]:
    """Return the names of the modules, and the pairs (by number) of which one imports the other."""
    files = find_modules()
    known = set(files) | set(sys.stdlib_module_names)  # also those in C, which import nothing
    pairs = {tuple(sorted((name, other))) for name, path in files.items() for other in find_imports(name, path, known)}
    names, edges = np.unique(sorted(pairs), return_inverse=True)
    return names, edges.reshape(-1, 2)


def find_packages(names: np.ndarray) -> np.ndarray:
    """Return the package of each module; empty for a module without one."""
    counts = Counter(name.split(".")[0] for name in names)
    return np.array([head if counts[head := name.split(".")[0]] > 1 else "" for name in names])


def train(word2vec: type, walks: list, seed: int = 1, **options):
    """Train by skip-gram, without subsampling: every node counts, and none is so frequent that it says nothing."""
    fixed = {"sg": 1, "vector_size": 64, "window": 5, "min_count": 1, "sample": 0, "alpha": 0.025, "epochs": 5}
    return word2vec(walks, workers=2, seed=seed, **fixed, **options)


def compute_purity(vectors: np.ndarray, packages: np.ndarray, topn: int = 5) -> float:
    """Compute the share of nearest modules that are in the same package, for modules of large packages."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    nearest = np.argsort(-cosines, axis=1)[:, :topn]
    return float((packages[nearest] == packages[:, None])[is_large(packages)].mean())


def is_large(packages: np.ndarray) -> np.ndarray:
    """Which modules are of packages with many."""
    sizes = Counter(packages.tolist())
    return np.array([package != "" and sizes[package] >= LARGE_PACKAGE for package in packages])


def compute_edge_purity(edges: np.ndarray, packages: np.ndarray) -> float:
    """Compute, for comparison, the share of imports that stay in the package, for modules of large packages."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    inside = np.bincount(ends[:, 0], packages[ends[:, 0]] == packages[ends[:, 1]], len(packages))
    return float((inside / np.bincount(ends[:, 0], minlength=len(packages)))[is_large(packages)].mean())


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Read the graph, walk, train, print and draw; return the shares of neighbours in the same package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("deepwalk.png"))
    parser.add_argument("--small", action="store_true", help="a fifth of the walks, a plainer map")
    options = parser.parse_args(arguments)
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    print("Reading the standard library …")
    names, edges = build_graph()
    packages, degrees = find_packages(names), np.bincount(edges.ravel())
    print(f"{len(names):,} modules, {len(edges):,} imports")
    walks = [names[walk].tolist() for walk in random_walks(edges, 4 if options.small else 20, length=40, seed=1)]
    chance = compute_purity(np.random.default_rng(1).normal(size=(len(names), 64)), packages)
    shares = {"at random": chance, "own imports": compute_edge_purity(edges, packages)}
    vectors = {}
    for library in ("mumon", "gensim"):
        if importlib.util.find_spec(library):
            begin = time.perf_counter()
            model = train(importlib.import_module(f"{library}.models").Word2Vec, walks, **OPTIONS.get(library, {}))
            print(f"Trained {library} in {time.perf_counter() - begin:.1f} s")
            vectors[library] = model.wv[names.tolist()]
            shares[library] = compute_purity(vectors[library], packages)
            if library == "mumon":
                for name in SHOWN_MODULES:
                    print(f"  near {name}: {', '.join(other for other, _ in model.wv.most_similar(name, topn=5))}")
    for name, share in shares.items():
        print(f"{name:12} {100 * share:5.1f} % of neighbours are of the same package")
    with rc_context(STYLE):
        figure = Figure(figsize=(10, 5.2), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
        known = {int(row): names[row] for row in np.argsort(-degrees)[:16] if packages[row] == ""}
        draw_map(left, project_to_plane(vectors["mumon"], options.small), packages, degrees, known)
        left.set_title("Modules of Python, by walks along imports (larger: more imports)")
        draw_bars(right, shares)
        right.set_title("Nearest five: same package (%)")
        figure.savefig(options.out, dpi=95)
    print(f"Drew {options.out}")
    return shares


if __name__ == "__main__":
    main()
