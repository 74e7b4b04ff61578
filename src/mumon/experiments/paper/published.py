"""The numbers that the paper printed, by table, row and column, so that reports can show them beside ours.

They are of the whole English Wikipedia (or C4) in 300 (or 768) dimensions, so no score should equal one of a smaller
text. kōan is the paper's own program; it makes one SGD step per window, which is `exact=True` here.
"""

from __future__ import annotations

from dataclasses import dataclass

Halves = tuple[float, float]  # dev, test


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper.

    Parameters
    ----------
    name
        How the paper calls it.
    columns
        The columns, by the names that they have here.
    rows
        The cells of each row as (dev, test), in the order of the columns.
    """

    name: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Halves, ...]]

    def find(self, row: str | None, column: str, fold: str = "test") -> float | None:
        """Return a cell, or None if the table does not have it.

        Parameters
        ----------
        row, column
            Names of a row and a column.
        fold
            "dev" or "test".

        Returns
        -------
        float or None
            The number as it was printed.

        Examples
        --------
        >>> TABLE_1.find("kōan CBOW correct", "mean"), TABLE_1.find("kōan CBOW correct", "simlex")
        (68.9, None)
        """
        if row not in self.rows or column not in self.columns:
            return None
        return self.rows[row][self.columns.index(column)][fold == "test"]

    def compare(self, a: str | None, b: str | None, column: str) -> float | None:
        """Return how far row `b` is above row `a` in the test column, or None if a cell is missing."""
        first, second = self.find(a, column), self.find(b, column)
        return None if first is None or second is None else round(second - first, 2)


TABLE_1 = PublishedTable(
    "Table 1",
    ("ws353", "men", "rw", "syn", "mixed", "mean"),
    {
        "gensim SG": ((72.2, 61.9), (72.1, 72.5), (46.8, 44.9), (72.8, 72.4), (82.5, 81.3), (69.3, 66.6)),
        "gensim CBOW": ((61.5, 62.6), (69.2, 70.0), (43.2, 38.1), (69.9, 71.1), (79.1, 78.0), (64.6, 64.0)),
        "kōan SG": ((72.8, 62.0), (72.7, 72.0), (44.9, 43.8), (73.6, 71.8), (83.0, 80.2), (69.4, 66.0)),
        "kōan CBOW faulty": ((61.2, 62.6), (68.8, 69.4), (48.6, 39.9), (73.4, 74.7), (78.3, 76.8), (66.1, 64.7)),
        "kōan CBOW correct": ((70.6, 65.8), (74.0, 74.6), (49.0, 45.5), (76.7, 76.5), (83.8, 82.1), (70.8, 68.9)),
        "kōan CBOW faulty, C4": ((72.9, 68.0), (81.0, 79.9), (51.1, 50.3), (80.5, 79.9), (81.5, 81.1), (73.4, 71.8)),
        "kōan CBOW correct, C4": ((74.1, 68.1), (79.8, 80.2), (53.1, 54.8), (82.9, 81.6), (82.2, 81.9), (74.4, 73.3)),
    },
)
# The first rates that the paper names, of Table 1. It does not name that of its own faulty CBOW.
TABLE_1_RATES = {"gensim SG": 0.025, "gensim CBOW": 0.025, "kōan CBOW correct": 0.075}

# MNLI's dev accuracy is the mean of the matched and the mismatched half. kōan's CBOW is the correct one.
TABLE_2 = PublishedTable(
    "Table 2",
    ("sst2", "qnli", "mnli-m", "mnli-mm"),
    {
        "random": ((83.49, 81.4), (63.88, 63.9), (61.41, 60.3), (61.41, 59.6)),
        "glove": ((85.09, 83.6), (66.37, 67.7), (66.93, 66.7), (66.93, 66.1)),
        "gensim SG": ((86.93, 85.6), (69.39, 67.9), (68.02, 67.3), (68.02, 67.9)),
        "gensim CBOW": ((88.07, 86.7), (69.06, 70.7), (68.15, 68.2), (68.15, 66.9)),
        "kōan SG": ((86.24, 84.5), (69.06, 68.2), (68.20, 67.4), (68.20, 67.7)),
        "kōan CBOW correct": ((88.42, 85.3), (68.17, 68.6), (69.22, 68.4), (69.22, 68.6)),
    },
)

TABLE_3 = PublishedTable(
    "Table 3",
    ("ner", "ner-tuned"),
    {
        "random": ((83.6, 75.4), (83.0, 74.3)),
        "gensim SG": ((92.5, 88.4), (92.9, 88.2)),
        "gensim CBOW": ((90.1, 84.4), (90.0, 85.3)),
        "kōan SG": ((92.5, 88.2), (92.9, 88.0)),
        "kōan CBOW correct": ((92.3, 87.8), (92.3, 87.4)),
    },
)

# Mean norms after 5 epochs on 1 M sentences of Wikipedia, by update, at the widths of `scales.WINDOWS`. The paper plots
# them; the numbers are in its source, in a table that is not printed.
SOURCE_NORMS = {"correct": (1.99, 1.77, 1.61, 1.47, 1.38), "faulty": (3.36, 4.26, 5.17, 6.20, 7.22)}
TARGET_NORMS = {"correct": (2.83, 2.81, 2.80, 2.80, 2.80), "faulty": (3.24, 3.53, 3.55, 3.43, 3.29)}

# The paper's row for each system that is trained here. mumon's default has no counterpart: it is compared with the
# same row as the exact one.
PAPER_ROWS = {
    "gensim SG": "gensim SG",
    "gensim CBOW": "gensim CBOW",
    "SG": "kōan SG",
    "CBOW faulty": "kōan CBOW faulty",
    "CBOW correct": "kōan CBOW correct",
    "SG, exact": "kōan SG",
    "CBOW faulty, exact": "kōan CBOW faulty",
    "CBOW correct, exact": "kōan CBOW correct",
}


def quote_table_1(a: str, b: str, corpus: str = "") -> str:
    """Quote the paper's test means of two systems.

    Parameters
    ----------
    a, b
        Names of systems here.
    corpus
        ", C4" for the rows of that corpus.

    Returns
    -------
    str
        The means with their rows.

    Examples
    --------
    >>> quote_table_1("SG", "CBOW correct")
    'kōan CBOW correct 68.9, kōan SG 66.0 (mean of the test halves)'
    """
    rows = [PAPER_ROWS[system] + corpus for system in (b, a)]
    return ", ".join(f"{row} {TABLE_1.find(row, 'mean')}" for row in rows) + " (mean of the test halves)"
