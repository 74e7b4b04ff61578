"""The numbers of the paper beside ours: they are copied without a slip, and every table shows them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from mumon.experiments.paper import intrinsic
from mumon.experiments.paper.published import PAPER_ROWS, SOURCE_NORMS, TABLE_1, TABLE_2, TABLE_3, TARGET_NORMS
from mumon.experiments.paper.scales import WINDOWS

TABLES = Path(__file__).parents[2] / "docs" / "paper-report" / "tables"


@pytest.mark.parametrize("row", TABLE_1.rows)
@pytest.mark.parametrize("fold", ["dev", "test"])
def test_the_means_of_table_1_are_those_of_its_cells(row, fold):
    cells = [TABLE_1.find(row, task, fold) for task in TABLE_1.columns[:-1]]
    assert np.mean(cells) == pytest.approx(TABLE_1.find(row, "mean", fold), abs=0.06)  # printed with one digit


@pytest.mark.parametrize("table", [TABLE_1, TABLE_2, TABLE_3], ids=lambda table: table.name)
def test_every_row_has_every_column(table):
    assert all(len(cells) == len(table.columns) for cells in table.rows.values())
    assert all(0 < score < 100 for cells in table.rows.values() for both in cells for score in both)


def test_what_the_paper_says_in_words_is_in_its_tables():
    ner = {row: TABLE_3.find(row, "ner") for row in TABLE_3.rows}
    assert abs(ner["kōan CBOW correct"] - ner["gensim SG"]) < 1 and ner["gensim SG"] - ner["gensim CBOW"] == 4
    assert (
        TABLE_1.compare("kōan SG", "kōan CBOW correct", "rw")
        > 0
        < TABLE_1.compare("kōan SG", "kōan CBOW correct", "syn")
    )
    for norms in (SOURCE_NORMS, TARGET_NORMS):
        assert all(len(by_width) == len(WINDOWS) for by_width in norms.values())


def test_every_system_has_a_row_of_the_paper_and_a_missing_cell_is_none():
    assert set(PAPER_ROWS) == set(intrinsic.TABLE_SYSTEMS) and set(PAPER_ROWS.values()) <= set(TABLE_1.rows)
    assert TABLE_2.find("kōan CBOW faulty", "sst2") is None is TABLE_1.find("kōan SG", "similarity")
    assert TABLE_2.compare("kōan CBOW faulty", "kōan CBOW correct", "sst2") is None


def read(name):
    with (TABLES / f"{name}.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    return head, {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def test_the_committed_tables_show_the_papers_cells():
    _, table1 = read("table1-test")
    for name, row in TABLE_1.rows.items():
        if not name.endswith("C4"):
            shown = table1[f"{name}, paper"]
            assert [shown[column] for column in TABLE_1.columns] == [f"{test:.1f}" for _, test in row]
    _, differences = read("table1-differences")
    assert differences["kōan CBOW correct less kōan SG, paper"]["mean"] == "+2.9"
    _, table2 = read("table2")
    assert table2["mumon CBOW"]["MNLI-mm, paper"] == "68.6" and table2["mumon CBOW, faulty"]["SST-2, paper"] == "–"
    _, table3 = read("table3")
    assert [table3["gensim CBOW"][f"{name}, paper"] for name in ("NER", "NER, tuned")] == ["84.4", "85.3"]
    _, norms = read("norms")
    for update, expected in TARGET_NORMS.items():
        assert list(norms[f"target, {update}, paper"].values())[1:] == [f"{norm:.2f}" for norm in expected]
