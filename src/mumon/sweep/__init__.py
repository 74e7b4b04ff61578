"""Which options are best? Many trainings on one encoded corpus, chosen on the dev halves, tested once."""

from mumon.sweep.choice import Configuration
from mumon.sweep.result import SweepResult, Tested, TestScore
from mumon.sweep.runs import Run
from mumon.sweep.search import sweep
from mumon.sweep.space import DEFAULT_RATES, Range

__all__ = ["DEFAULT_RATES", "Configuration", "Range", "Run", "SweepResult", "TestScore", "Tested", "sweep"]
