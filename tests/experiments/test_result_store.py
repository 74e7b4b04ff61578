"""Results are found under the names they have always had, and a damaged one counts as missing."""

from __future__ import annotations

import numpy as np
import pytest

from mumon.evaluation import Task
from mumon.experiments.extrinsic.plan import build_trials, choose_budget
from mumon.experiments.paper.experiment_context import name_result
from mumon.experiments.result_store import ResultStore
from mumon.experiments.sweep.plan import digest_task
from mumon.experiments.sweep.runs import make_run_key


def test_the_names_of_earlier_versions_have_not_changed():
    """Finished sweeps, trials and measurements on users' disks are looked up by these."""
    assert name_result("x", {"b": [1, None, 2.5], "a": {"z": "é", "y": True}}) == "x-02815aba744e6c2c92e1"
    assert make_run_key({"window": 5, "alpha": 0.1}, 2) == "79edacade774"
    task = Task("t", "similarity", (("le", "là"),) * 3, ("",) * 3, np.arange(3.0))
    assert digest_task(task) == "93d608b439c4f4af454cc759c7ff72c8"
    assert build_trials("ner", "d", "v", 3, choose_budget("small"), "2.1")[1].key == "e5d994bc0aacda276b0f73c3"


@pytest.mark.parametrize("damaged", [b"", b'{"score": ', b"[1]", b'{"score": NaN}'])
def test_a_record_is_read_back_and_a_damaged_one_is_missing(tmp_path, damaged):
    store = ResultStore(tmp_path / "new")
    assert store.read("a") is None
    store.write("a", {"score": 3, "word": "é"})
    assert store.read("a") == {"score": 3, "word": "é"}
    store.path("a", "json").write_bytes(damaged)
    assert store.read("a") is None


def test_arrays_are_read_back_and_objects_are_refused(tmp_path):
    store = ResultStore(tmp_path)
    assert store.read_arrays("a") is None
    store.write_arrays("a", {"values": np.arange(3), "found": np.array([True, False])})
    assert {name: array.tolist() for name, array in (store.read_arrays("a") or {}).items()} == {
        "values": [0, 1, 2],
        "found": [True, False],
    }
    np.savez(store.path("b", "npz"), objects=np.array([{}], dtype=object))
    assert store.read_arrays("b") is None
