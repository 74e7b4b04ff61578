"""Extrinsic evaluation: the paper's GLUE classifiers and NER tagger, trained over word vectors.

A search is an embedding, a task and a seed; its trials are random draws of dropout and learning rate. The calling
process reads data and vectors (`glue.py`, `conll.py`), writes them as numbers (`inputs.py`), decides what to train
(`plan.py`, `search.py`) and reports (`report.py`). It never imports torch, which comes with `mumon[extrinsic]`.

Trials are sent as lines of JSON to other processes (`process_pool.py`, `trial_process.py`), which train the networks
(`training.py`, `networks.py`). Each process has one thread: the steps of these networks are too small for more, and the
order of every sum stays the same, so results do not depend on the number of processes. `multiprocessing` is not used:
it needs the user's script to be importable and passes objects by pickle.

The key of a trial is a digest of everything its result depends on, including the rows of vectors and the data.
`KEY.dev.json` is a finished trial, `KEY.test.json` a tested one. Weights are kept until a search is decided, states of
long trials until they end. The random numbers of an epoch depend only on the seed and the epoch, so a state consists
of weights, Adam's moments and a few numbers.

Precision, recall and accuracy are one statistic. Every item counts labels that are right, predicted and true, and
2 · right / (predicted + true) is the F1 of entities or, where each item has one label, the accuracy. So one bootstrap
serves all tasks. `docs/extrinsic.md` describes the networks and the measurements.
"""

from mumon.experiments.extrinsic.evaluate import evaluate_extrinsic
from mumon.experiments.extrinsic.plan import BUDGETS, Budget
from mumon.experiments.extrinsic.report import ExtrinsicReport, ExtrinsicScore

__all__ = ["BUDGETS", "Budget", "ExtrinsicReport", "ExtrinsicScore", "evaluate_extrinsic"]
