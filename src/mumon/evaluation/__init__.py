"""Are these vectors any good? Word similarity and analogies with dev and test halves, intervals and comparisons."""

from mumon.evaluation.analogy import solve
from mumon.evaluation.evaluate import evaluate
from mumon.evaluation.files import read_task
from mumon.evaluation.report import Comparison, Report, Score
from mumon.evaluation.tasks import SUITE, Task, load_tasks

__all__ = ["SUITE", "Comparison", "Report", "Score", "Task", "evaluate", "load_tasks", "read_task", "solve"]
