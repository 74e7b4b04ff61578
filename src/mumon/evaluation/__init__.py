"""Intrinsic evaluation of word vectors: similarity, analogies, categories and outliers, with intervals and comparisons.

A word of a task is looked up as it is, then in lower case, then (possessives) with the other apostrophe. Every task has
a dev and a test half. The dev half consists of the items with the smallest hashes, so it depends only on the items and
the seed. Items with missing words are skipped in one set of scores and count as 0 in the other; both are computed.

Vectors with subwords compose one for almost any word, so hardly an item is missing. Their scores come over all items
and over the items of known words, which have rows of their own: those are what a model without subwords could answer.

Intervals come from resampling the items. The resamples depend on the task, the fold and the seed, but not on the model.
So the resampled scores of two models can be subtracted, which is the paired comparison. Spearman's ranks are not sorted
again for every resample: an item's rank is a cumulative sum of how often the items before it were drawn.

`tasks.py` defines a task, `task_files.py` reads tasks, `word_lookup.py` finds their words, `evaluate.py` asks models,
`bootstrap.py` resamples the answers and `report.py` holds the scores. `sentences.py` scores pairs of sentences, which
`sentence_files.py` reads.
"""

from mumon.evaluation.evaluate import evaluate
from mumon.evaluation.report import Comparison, Report, Score
from mumon.evaluation.sentence_files import SENTENCE_SUITE, load_sentence_tasks, read_sentence_task
from mumon.evaluation.sentences import SentenceScore, SentenceTask, score_sentences
from mumon.evaluation.task_files import GERMAN, SUITE, is_task, load_tasks, read_task
from mumon.evaluation.tasks import Task
from mumon.vectors.analogies import solve

__all__ = [
    "GERMAN",
    "SENTENCE_SUITE",
    "SUITE",
    "Comparison",
    "Report",
    "Score",
    "SentenceScore",
    "SentenceTask",
    "Task",
    "evaluate",
    "is_task",
    "load_sentence_tasks",
    "load_tasks",
    "read_sentence_task",
    "read_task",
    "score_sentences",
    "solve",
]
