"""The maps of the models: each is computed once and sent in a compact form; UMAP runs in its own thread."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.integrations.explore.models import Model
from mumon.integrations.explore.projection import KINDS, Plane, find_rotation, fit_pca, fit_umap, has_umap
from mumon.vectors.neighbours import Floats

GRID = 65_535  # places are whole numbers up to this one, two bytes each


@dataclass(frozen=True)
class Map:
    """Rows of a model and their places (N, 2) on a map; for PCA also the plane, and how it was rotated."""

    rows: NDArray[np.int64]
    points: Floats
    plane: Plane | None = None
    rotation: NDArray[np.float64] | None = None

    def place_on_grid(self, points: Floats) -> NDArray[np.int64]:
        """Convert places to whole numbers; those outside the map lie outside the grid."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        side = float((high - low).max()) or 1.0
        middle = (low + high) / 2
        grid: NDArray[np.int64] = np.rint((points - middle) / side * GRID + GRID / 2).astype(np.int64)
        return grid

    def to_json(self, model: Model) -> dict[str, Any]:
        """Return words by frequency, x and y as little-endian 16-bit numbers in base64: an eighth of their digits."""
        grid = self.place_on_grid(self.points).clip(0, GRID).astype("<u2")
        counts = model.wv.counts
        return {
            "words": [model.words[row] for row in self.rows],
            "counts": None if counts is None else counts[self.rows].tolist(),
            "x": base64.b64encode(grid[:, 0].tobytes()).decode(),
            "y": base64.b64encode(grid[:, 1].tobytes()).decode(),
            "share": None if self.plane is None else round(self.plane.share, 4),
        }

    def find_places(self, model: Model, words: Sequence[str]) -> list[list[int] | None]:
        """Find the places of words: a plane has one for every word, a UMAP layout only for the words it was made of."""
        found: list[list[int] | None] = []
        where = {int(row): place for place, row in enumerate(self.rows)}
        for word in words:
            row = model.find_row(word) if word in model else -1
            if row in where:
                points = self.points[where[row]][None]
            elif row >= 0 and self.plane is not None:
                points = self.plane.place(model.select_vectors(np.array([row])))
                points = points if self.rotation is None else (points @ self.rotation).astype(np.float32)
            else:
                found.append(None)
                continue
            found.append([int(number) for number in self.place_on_grid(points)[0]])
        return found


class Maps:
    """The maps of all models.

    Parameters
    ----------
    models
        The models, one or two.
    words
        The number of words on a map, the most frequent ones.
    notify
        Called with a sentence when long work begins and ends.
    """

    def __init__(self, models: Sequence[Model], words: int, notify: Callable[[str], None] = lambda text: None) -> None:
        self._models, self._most, self._notify = models, words, notify
        self._made: dict[tuple[str, int], Map] = {}
        self._lock = threading.RLock()
        self._began: float | None = None
        self._error: str | None = None

    @property
    def kinds(self) -> list[str]:
        """The projections that can be asked for."""
        return [kind for kind in KINDS if kind != "umap" or has_umap()]

    def get(self, kind: str, index: int) -> Map | None:
        """Return a map, or None while UMAP is running; the first request starts it."""
        if kind not in self.kinds:
            raise OptionError(f"{kind!r} is not one of the {len(self.kinds)} projections: {', '.join(self.kinds)}")
        with self._lock:
            if (kind, index) not in self._made and kind == "pca":
                self._make_pca(index)
            if (kind, index) not in self._made and kind == "umap":
                if self._error is not None:
                    raise OptionError(self._error)
                self.start_umap()
            return self._made.get((kind, index))

    def prepare(self, umap: bool = False) -> None:
        """Begin with what the page asks for first, while the browser is still opening."""
        threading.Thread(target=self._prepare, name="maps", daemon=True).start()
        if umap:
            self.start_umap()

    def _prepare(self) -> None:
        for index, model in enumerate(self._models):
            self.get("pca", index)
            model.wv.fill_norms()
            model.complete("a", 1)

    def measure_seconds(self) -> float:
        """Return for how many seconds UMAP has been running."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def start_umap(self) -> None:
        """Start UMAP in a thread that does not keep the program from ending."""
        with self._lock:
            if self._began is None:
                self._began = time.monotonic()
                threading.Thread(target=self._make_umap, name="umap", daemon=True).start()

    def _choose_rows(self, index: int) -> NDArray[np.int64]:
        return self._models[index].by_frequency[: self._most]

    def _make_pca(self, index: int) -> None:
        rows = self._choose_rows(index)
        vectors = self._models[index].select_vectors(rows)
        plane = fit_pca(vectors)
        self._keep("pca", index, Map(rows, plane.place(vectors), plane))

    def _make_umap(self) -> None:
        for index, model in enumerate(self._models):
            rows = self._choose_rows(index)
            self._notify(f"laying out {len(rows):,} words of {model.name} by UMAP …")
            try:
                points = fit_umap(model.select_vectors(rows))
            except Exception as error:  # from a library; the page shows it, and PCA still works
                self._error = str(error) if isinstance(error, OptionError) else f"UMAP failed ({error}); use PCA"
                self._notify(self._error)
                return
            self._keep("umap", index, Map(rows, points))
        self._notify(f"UMAP is ready, after {self.measure_seconds():.0f} s")

    def _keep(self, kind: str, index: int, made: Map) -> None:
        """Keep a map; that of the second model is rotated to match the first, because its own axes mean nothing."""
        with self._lock:
            if index > 0:
                first = self.get(kind, 0)
                assert first is not None  # UMAP lays the models out in order
                rotation = self._find_rotation(made, first, index)
                points = (made.points @ rotation).astype(np.float32)
                made = Map(made.rows, points, made.plane, rotation)
            self._made[kind, index] = made

    def _find_rotation(self, made: Map, first: Map, index: int) -> NDArray[np.float64]:
        places = {self._models[0].words[row]: place for place, row in enumerate(first.rows)}
        words = [self._models[index].words[row] for row in made.rows]
        pairs = [(here, places[word]) for here, word in enumerate(words) if word in places]
        here, there = np.array(pairs, np.int64).reshape(-1, 2).T
        return find_rotation(made.points[here], first.points[there])
