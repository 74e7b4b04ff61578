"""From D dimensions to the two of a map: PCA, which is fast, and UMAP, which is slow."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors.neighbours import Floats, compute_norms, find_nearest

ROWS_AT_A_TIME = 8192  # rows that are converted to float64 at a time
NEIGHBOURS = 15  # of each word, which UMAP keeps near it
KINDS = ("pca", "umap")


@dataclass(frozen=True)
class Plane:
    """The plane through `mean` along the two `axes` (D, 2) in which unit vectors vary most.

    `share` is the part of the variance that lies in the plane.
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    share: float

    def place(self, vectors: Floats) -> Floats:
        """Project vectors onto the plane, (N, 2); also vectors of words that the plane was not computed from."""
        return np.asarray((unit_rows(vectors) - self.mean) @ self.axes, np.float32)


def unit_rows(vectors: Floats) -> Floats:
    """Scale each row to length 1; rows of zeros stay."""
    lengths = compute_norms(vectors)[:, None]
    units: Floats = np.divide(vectors, lengths, out=np.zeros(vectors.shape, np.float32), where=lengths > 0)
    return units


def fit_pca(vectors: Floats) -> Plane:
    """Compute the plane of the two largest principal components of the unit vectors.

    The sign of an axis means nothing; it is chosen so that the largest of its numbers is positive.

    >>> fit_pca(np.array([[3, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], np.float32)).share
    1.0
    """
    rows, D = vectors.shape
    total, products = np.zeros(D), np.zeros((D, D))
    for begin in range(0, rows, ROWS_AT_A_TIME):
        block = unit_rows(vectors[begin : begin + ROWS_AT_A_TIME]).astype(np.float64)
        total += block.sum(axis=0)
        products += block.T @ block
    mean = total / max(1, rows)
    covariance = products / max(1, rows) - np.outer(mean, mean)
    variances, vectors_of = np.linalg.eigh(covariance)  # the largest last
    axes = np.zeros((D, 2))
    axes[:, : min(2, D)] = vectors_of[:, ::-1][:, :2]
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    axes *= np.where(largest < 0, -1.0, 1.0)
    shown, total_variance = variances[::-1][:2].clip(0).sum(), variances.clip(0).sum()
    return Plane(mean, axes, float(min(1.0, shown / total_variance)) if total_variance > 0 else 0.0)


def fit_umap(vectors: Floats) -> Floats:
    """Compute UMAP's layout of the rows, (N, 2): neighbours stay together, distances between groups say little.

    UMAP gets exact neighbours. Its own search for them takes longer, mostly because it is compiled first.
    """
    require_umap()
    from umap import UMAP  # type: ignore[import-untyped,import-not-found]

    units = unit_rows(vectors)
    count = min(NEIGHBOURS, len(units) - 1)
    if count < 3:
        raise OptionError(f"UMAP needs at least 4 words, and the map has {len(units)}; use --projection pca")
    ones = compute_norms(units)
    others = [[row] for row in range(len(units))]
    rows, cosines = find_nearest(
        units, ones, units, count - 1, others
    )  # UMAP counts a point as its own first neighbour
    rows = np.hstack([np.arange(len(units))[:, None], rows]).astype(np.int32)
    distances = np.hstack([np.zeros((len(units), 1)), (1 - cosines).clip(0)]).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about features that are not used here, and about one thread
        layout = UMAP(
            n_neighbors=count,
            min_dist=0.1,
            metric="cosine",
            init="spectral" if len(units) > 50 else "random",
            random_state=1,
            n_jobs=1,
            precomputed_knn=(rows, distances, None),
        ).fit_transform(units)
    return np.asarray(layout, np.float32)


def has_umap() -> bool:
    """Return whether UMAP is installed, without importing it, which takes seconds."""
    return importlib.util.find_spec("umap") is not None


def require_umap() -> None:
    """Raise an error that says what to install if umap-learn is missing."""
    if not has_umap():
        raise OptionError("UMAP needs a library that is not installed: pip install 'mumon[umap]', or use PCA")


def find_rotation(points: Floats, like: Floats) -> NDArray[np.float64]:
    """Find the rotation or reflection (2, 2) that brings centred `points` nearest to centred `like`, row by row.

    Two models have no axes in common. After the rotation, their maps can be compared by eye.

    >>> square = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1.5]], np.float32)
    >>> aside = square @ np.array([[0, 1], [-1, 0]])
    >>> bool(np.allclose(aside @ find_rotation(aside, square), square))
    True
    """
    if not len(points):
        return np.eye(2)
    a, b = (side - side.mean(axis=0) for side in (np.asarray(points, np.float64), np.asarray(like, np.float64)))
    left, _, right = np.linalg.svd(a.T @ b)
    rotation: NDArray[np.float64] = left @ right
    return rotation
