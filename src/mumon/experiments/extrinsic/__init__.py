"""Extrinsic evaluation: the paper's GLUE classifiers and NER tagger, trained over word vectors.

Labelled sentences (`glue.py`, `conll.py`) become numbers (`inputs.py`); a search (`search.py`) hands trials (`plan.py`)
to processes (`crew.py`, `worker.py`) that train networks (`networks.py`, `training.py`); those best on dev are tested
and told of (`report.py`). Only the workers import torch, from the extra `mumon[extrinsic]`.
"""

from mumon.experiments.extrinsic.evaluate import evaluate_extrinsic
from mumon.experiments.extrinsic.plan import BUDGETS, Budget
from mumon.experiments.extrinsic.report import ExtrinsicReport, ExtrinsicScore

__all__ = ["BUDGETS", "Budget", "ExtrinsicReport", "ExtrinsicScore", "evaluate_extrinsic"]
