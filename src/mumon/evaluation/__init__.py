"""Are these vectors any good? Word similarity and analogies with dev and test halves, intervals and comparisons."""

from mumon.evaluation.evaluate import evaluate
from mumon.evaluation.report import Comparison, Report, Score
from mumon.evaluation.task_files import SUITE, load_tasks, read_task
from mumon.evaluation.tasks import Task
from mumon.vectors.analogies import solve

__all__ = ["SUITE", "Comparison", "Report", "Score", "Task", "evaluate", "load_tasks", "read_task", "solve"]
