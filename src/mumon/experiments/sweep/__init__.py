"""Which options are best? Many trainings on one encoded corpus, chosen on the dev halves, tested once."""

from mumon.experiments.sweep.result import SweepResult, Tested, TestScore
from mumon.experiments.sweep.runs import Run
from mumon.experiments.sweep.search import sweep
from mumon.experiments.sweep.selection import Configuration
from mumon.experiments.sweep.space import DEFAULT_RATES, Range

__all__ = ["DEFAULT_RATES", "Configuration", "Range", "Run", "SweepResult", "TestScore", "Tested", "sweep"]
