"""item2vec: sessions are sentences, items are words.

    python examples/item2vec.py --out item2vec.png                      # sessions of a simulated shop
    python examples/item2vec.py --sessions clicks.csv --session session_id --item item_id --time timestamp

Trains on the first 80 % of the sessions. For the others, it prints how often the last item is among ten guesses from
those before it: by popularity, by counting which items occur together, by mumon and, if it is installed, by gensim.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from maps import draw_bars, draw_map, project_to_plane, require_matplotlib
from pyarrow import csv
from scipy import sparse
from simulate_sessions import simulate

from mumon.experiments.plot_style import STYLE

NS_EXPONENT = 0.25  # Caselles-Dupré et al. (2018) found other values than word2vec's 0.75 better for recommendation


def read_sessions(path: Path, session: str, item: str, time: str, category: str) -> tuple[list[np.ndarray], dict]:
    """Read the items of sessions of two or more, by time, sessions in order of their end; and the items' categories."""
    table = csv.read_csv(path).sort_by([(session, "ascending"), (time, "ascending")])
    items = table[item].to_numpy()
    ends = np.flatnonzero(pc.not_equal(table[session][1:], table[session][:-1]).to_numpy()) + 1
    last = np.append(ends, len(items)) - 1
    order = np.argsort(table[time].to_numpy()[last], kind="stable")
    parts = np.split(items, ends)
    labels = table[category].to_pylist() if category in table.schema.names else [""] * len(table)
    categories = dict(zip(items.tolist(), labels, strict=True))
    return [parts[i] for i in order if len(parts[i]) > 1], categories


def train(word2vec: type, sessions: list, seed: int = 1):
    """Train by skip-gram. The window holds the whole session, so the order of its items does not matter."""
    return word2vec(
        [session.tolist() for session in sessions],
        sg=1,
        window=max(map(len, sessions)),
        shrink_windows=False,
        vector_size=64,
        min_count=1,
        sample=0,
        ns_exponent=NS_EXPONENT,
        epochs=10,
        workers=2,
        seed=seed,
    )


def build_guessers(model, sessions: list) -> dict:
    """Return three functions that score all items, given the rows of those that were seen."""
    rows = [[model.wv.key_to_index[item] for item in session.tolist()] for session in sessions]
    of = np.repeat(np.arange(len(rows)), [len(session) for session in rows])
    bags = sparse.csr_array((np.ones(len(of)), (of, np.concatenate(rows))), (len(rows), len(model.wv)))
    counts, together = bags.sum(axis=0), (bags.T @ bags).tocsr()
    return {
        "popularity": lambda seen: counts,
        "going together": lambda seen: together[seen].sum(axis=0) + 1e-6 * counts,
        # Inputs times outputs estimate log P(item | seen) - log P_noise(item), so the noise is added again.
        "vectors": lambda seen: model.wv.vectors[seen].mean(axis=0) @ model.syn1neg.T + NS_EXPONENT * np.log(counts),
    }


def compute_hit_rate(guess, tests: list, index: dict, topn: int = 10) -> float:
    """Compute how often the last item of a session is among the `topn` best guesses from those before it."""
    hits = []
    for session in tests:
        *before, last = (index.get(item, -1) for item in session.tolist())
        seen = [row for row in before if row >= 0]
        if seen:
            scores = np.array(guess(seen), float)
            scores[seen] = -np.inf  # items that were seen are not offered again
            hits.append(last in np.argpartition(-scores, topn)[:topn])
    return float(np.mean(hits))


def draw(model, categories: dict, rates: dict, path: Path, quick: bool) -> None:
    """Draw a map of the items beside the hit rates."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    items = model.wv.index_to_key
    counts = np.array([model.wv.get_vecattr(item, "count") for item in items])
    with rc_context(STYLE):
        figure = Figure(figsize=(10, 5.2), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[2.2, 1])
        kinds = np.array([categories[item] for item in items])
        draw_map(left, project_to_plane(model.wv.vectors, quick), kinds, counts, {})
        left.set_title("Items, by what they are seen with (larger: seen more often)")
        draw_bars(right, rates)
        right.set_title("Last item among ten guesses (%)")
        figure.savefig(path, dpi=95)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Read or simulate sessions, train, print and draw; return the hit rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=Path, help="a CSV file of your own; by default one is simulated")
    for name, column in (
        ("session", "session_id"),
        ("item", "item_id"),
        ("time", "timestamp"),
        ("category", "category"),
    ):
        parser.add_argument(f"--{name}", default=column, help=f"its column; by default {column}")
    parser.add_argument("--out", type=Path, default=Path("item2vec.png"))
    parser.add_argument("--small", action="store_true", help="a smaller shop, a plainer map")
    options = parser.parse_args(arguments)
    require_matplotlib()
    with tempfile.TemporaryDirectory() as folder:
        path = options.sessions or Path(folder) / "sessions.csv"
        if options.sessions is None:
            print("Simulating a shop …")
            simulate(path, *((4_000, 60) if options.small else (20_000, 250)))
        sessions, categories = read_sessions(path, options.session, options.item, options.time, options.category)
    cut = len(sessions) * 4 // 5
    print(f"{len(sessions):,} sessions of {len(categories):,} items, the last {len(sessions) - cut:,} for testing")
    rates, models = {}, {}
    for library in ("mumon", "gensim"):
        if importlib.util.find_spec(library):
            begin = time.perf_counter()
            models[library] = train(importlib.import_module(f"{library}.models").Word2Vec, sessions[:cut])
            print(f"Trained {library} in {time.perf_counter() - begin:.1f} s")
            for name, guess in build_guessers(models[library], sessions[:cut]).items():
                name = name.replace("vectors", library)
                if name not in rates:
                    rates[name] = compute_hit_rate(guess, sessions[cut:], models[library].wv.key_to_index)
                    print(f"  {name:15} {100 * rates[name]:5.1f} % of last items are among ten guesses")
    wv = models["mumon"].wv
    for item in wv.index_to_key[:3]:
        near = ", ".join(f"{other} ({categories[other]})" for other, _ in wv.most_similar(item, topn=4))
        print(f"Near {item} ({categories[item]}): {near}")
    draw(models["mumon"], categories, rates, options.out, options.small)
    print(f"Drew {options.out}")
    return rates


if __name__ == "__main__":
    main()
